# SPDX-License-Identifier: Apache-2.0
"""Keep docs/decisions/: one page for each decision, numbered in the order they were written, with an area and a status.

    python tools/decisions.py new AREA "Title"     an empty page with the next number
    python tools/decisions.py take AREA < TEXT     a page for each section `## Title` of TEXT, as somebody wrote it
    python tools/decisions.py areas                the existing areas
    python tools/decisions.py rename               each file gets the name of its title, and links to it are updated

A page reads:

    # Title

    Area: Engine · Status: accepted

    **Context.** … **Decision.** … **Rejected.** …

The status of one that was replaced is `superseded by NNNN`. The index is made when the site is built.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_FOLDER = Path("docs/decisions")
PAGES = ROOT / _FOLDER
#: The greatest length of a title in the name of a file.
_LONGEST = 60
#: Files that link to decisions.
_LINKING = ("*.md", "bench/*.md", "docs/**/*.md", "passes/*.md", "tests/*.py", "tools/*.py")
_LINK = re.compile(r"\b\d{4}-[a-z0-9-]+\.md\b")
_HEAD = re.compile(
    r"# (?P<title>.+)\n\nArea: (?P<area>[\w, +]+) · Status: (?P<status>accepted|superseded by \d{4})\n\n"
)


def pages(root: Path = ROOT) -> Iterator[tuple[Path, re.Match[str]]]:
    """Yield each page with its head. Raises ValueError for a page in another form."""
    for path in sorted((root / _FOLDER).glob("[0-9]*.md")):
        head = _HEAD.match(path.read_text(encoding="utf-8"))
        if head is None:
            raise ValueError(f"{path.name} has to begin with: # Title, a blank line, Area: … · Status: accepted")
        yield path, head


def write(title: str, area: str, text: str) -> Path:
    """Write a page with the next number."""
    number = max((int(path.name[:4]) for path in PAGES.glob("[0-9]*.md")), default=0) + 1
    path = PAGES / file_name(f"{number:04}", title)
    path.write_text(f"# {title}\n\nArea: {area} · Status: accepted\n\n{text.strip()}\n", encoding="utf-8")
    return path


def file_name(number: str, title: str) -> str:
    """Return the name of the file of a decision: its number and its title."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower().replace("'", "")).strip("-")
    # A title is cut at a word.
    short = words if len(words) <= _LONGEST else words[: _LONGEST + 1].rpartition("-")[0]
    return f"{number}-{short}.md"


def rename(root: Path = ROOT) -> dict[str, str]:
    """Rename the files of decisions to their titles, and update the links to them; return the new names by the old."""
    new = {path.name: file_name(path.name[:4], head["title"]) for path, head in pages(root)}
    new = {old: name for old, name in new.items() if old != name}
    for old, name in new.items():
        (root / _FOLDER / old).rename(root / _FOLDER / name)
    linking = [path for pattern in _LINKING for path in root.glob(pattern)]
    for path in linking if new else ():
        text = path.read_text(encoding="utf-8")
        linked = _LINK.sub(lambda match: new.get(match.group(), match.group()), text)
        if linked != text:
            path.write_text(linked, encoding="utf-8")
    return new


def main(arguments: list[str]) -> int:
    areas = sorted({head["area"] for _, head in pages()})
    match arguments:
        case ["areas"]:
            print("\n".join(areas))
        case ["rename"]:
            print("\n".join(f"{old} -> {name}" for old, name in rename().items()))
        case ["new", area, title] if area in areas:
            print(write(title, area, "**Context.** …\n\n**Decision.** …\n\n**Rejected.** …"))
        case ["take", area] if area in areas:
            for section in re.split(r"^## ", sys.stdin.read(), flags=re.MULTILINE)[1:]:
                title, _, text = section.partition("\n")
                decided, _, rejected = text.strip().partition("Rejected: ")
                more = f"\n\n**Rejected.** {rejected}" if rejected else ""
                print(write(title.strip(), area, f"**Decision.** {decided.strip()}{more}"))
        case ["new" | "take", area, *_] if area not in areas:
            print(f"there is no area {area!r}; there are: {', '.join(areas)}", file=sys.stderr)
            return 2
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
