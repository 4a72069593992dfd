# SPDX-License-Identifier: Apache-2.0
"""Compare the results of two versions of hipport on the same code: the ported bytes, and the findings' places.

    python tools/compare_ports.py record before.json.gz [TREE…]     with one version: the fixtures, and these trees
    python tools/compare_ports.py record after.json.gz [TREE…]      with the other
    python tools/compare_ports.py compare before.json.gz after.json.gz

A finding is its rule, place, certainty and outcome; its text does not count, unless `--messages` is given. Its edits
show in the bytes. The exit status of `compare` is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypedDict

from hipport import api
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.testing import fixtures
from hipport_passes import PASSES

FIXTURES = Path(__file__).parent.parent / "fixtures"
#: The number of printed lines of one text's difference.
_MOST_LINES = 40


class Made(TypedDict):
    """The results for a tree: the texts of the files that changed or were made, by path, and the findings."""

    texts: dict[str, str]
    found: list[list[str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, or compare two records."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="port the fixtures and TREEs, and keep what was made in FILE")
    recording.add_argument("file", type=Path, metavar="FILE")
    recording.add_argument("trees", nargs="*", type=Path, metavar="TREE")
    comparing = commands.add_parser("compare", help="print in what two FILEs differ")
    comparing.add_argument("before", type=Path, metavar="FILE")
    comparing.add_argument("after", type=Path, metavar="FILE")
    comparing.add_argument("--messages", action="store_true", help="words of findings count as well")
    asked = parser.parse_args(arguments)
    if asked.command == "record":
        with gzip.open(asked.file, "wt", encoding="utf-8") as file:
            json.dump(dict(_recorded(asked.trees)), file)
        return 0
    return compare(_read(asked.before), _read(asked.after), messages=asked.messages)


def _recorded(trees: Sequence[Path]) -> Iterator[tuple[str, Made]]:
    for folder in sorted(FIXTURES.iterdir()):
        for case in fixtures(folder):
            ported = run(Project((case.before, *case.beside), Target(), case.skipped), PASSES)
            yield f"fixture {case.name}", _made(ported)
    for tree in trees:
        print(tree, file=sys.stderr, flush=True)
        yield f"tree {tree.name}", _made(api.rewrite(tree))


def _made(ported: Ported) -> Made:
    texts = {str(each.path): each.text.decode("latin-1") for each in ported.changed}
    texts |= {str(each.path): each.text.decode("latin-1") for each in ported.created}
    found = [
        [str(each.path), f"{each.line}:{each.column}", each.rule, str(each.certainty), str(each.outcome), each.message]
        for each in ported.reported
    ]
    return {"texts": texts, "found": found}


def _read(path: Path) -> dict[str, Made]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return dict(json.load(file))


def compare(before: dict[str, Made], after: dict[str, Made], *, messages: bool) -> int:
    """Print the differences, and return 1 if there are any."""
    differing = 0
    for name in sorted({*before, *after}):
        lines = list(_differences(before.get(name), after.get(name), messages=messages))
        differing += bool(lines)
        for line in lines:
            print(f"{name}: {line}")
    print(f"{differing} of {len({*before, *after})} differ")
    return int(differing > 0)


def _differences(before: Made | None, after: Made | None, *, messages: bool) -> Iterator[str]:
    if before is None or after is None:
        yield "only in one of the two"
        return
    texts, others = before["texts"], after["texts"]
    for path in sorted({*texts, *others}):
        one, two = texts.get(path, ""), others.get(path, "")
        if one != two:
            lines = difflib.unified_diff(one.splitlines(), two.splitlines(), path, path, n=1, lineterm="")
            yield "\n".join([f"{path} comes out otherwise", *islice(lines, _MOST_LINES)])
    found, told = (_findings(each, messages=messages) for each in (before, after))
    for sign, some in (("-", found - told), ("+", told - found)):
        for finding, times in sorted(some.items()):
            yield f"{sign} {' '.join(finding)}{f' ({times} times)' if times > 1 else ''}"


def _findings(made: Made, *, messages: bool) -> Counter[tuple[str, ...]]:
    return Counter(tuple(each if messages else each[:-1]) for each in made["found"])


if __name__ == "__main__":
    sys.exit(main())
