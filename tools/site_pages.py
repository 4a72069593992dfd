# SPDX-License-Identifier: Apache-2.0
"""Pages of the site that are generated from code and fixtures when it is built: commands, passes, rules, pitfalls.

mkdocs calls `on_files` (see `hooks` in mkdocs.yml). The pages are not written to disk, so they are never stale.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

import click

import decisions as written
from hipport import cli, testing
from hipport.core.tables import load
from hipport.engine.outcomes import Reported
from hipport.engine.pipeline import Pass
from hipport.reporting.explainer import FAILED, RuleText, rule_texts
from hipport_passes import PASSES

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
TABLES = ROOT / "passes" / "hipport_passes"

#: Longer fixtures are shown only around the first place that the rule finds.
_LINES = 40
_AROUND = 8
_CERTAINTIES = {
    "safe": "SAFE: the change means the same on every input.",
    "review": "REVIEW: the change is right if the stated assumption holds.",
    "manual": "MANUAL: hipport changes nothing here; a person has to act.",
}


def pages() -> dict[str, str]:
    """Return the text of each generated page by its path below docs/."""
    made = {"reference/commands.md": commands(), "reference/pitfalls.md": pitfalls(), "decisions/index.md": decisions()}
    made["reference/tables.md"] = tables()
    made.update(rules())
    return made


def commands() -> str:
    """Return the page with the help of every command."""
    parts = ["# Commands", "Each command prints this text with `--help`."]
    for name, command in _commands(cli.main, "hipport"):
        with click.Context(command, info_name=name, max_content_width=100, terminal_width=100) as context:
            parts += [f"## {name}", f"```text\n{command.get_help(context)}\n```"]
    return "\n\n".join(parts) + "\n"


def _commands(group: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, group
    if isinstance(group, click.Group):
        for word, command in group.commands.items():
            yield from _commands(command, f"{name} {word}")


def pitfalls() -> str:
    """Return the page of pitfalls."""
    entries: list[dict[str, Any]] = load(TABLES / "pitfalls.toml")["entry"]
    parts = [
        "# What breaks on AMD, and how it ends",
        "*rewritten*: passes change the code. *reported*: passes say what a person has to do. *nothing*: nothing has "
        "to be done, and the text says why (`tests/needs_nothing/` shows it). Each entry names the fixtures that have "
        "the pitfall, the lines where it comes through a macro or a template, and the fixtures that only look like it.",
    ]
    for entry in entries:
        lines = [f"## {entry['number']}. {entry['title']}", f"**{entry['ends']}.** {entry['says']}"]
        if entry["ends"] != "nothing":
            shown = [", ".join(f"[{name}](rules/{name}/index.md)" for name in entry["passes"])]
            shown += [", ".join(f"`{each}`" for each in entry[key]) for key in ("fixtures", "through", "look_alikes")]
            lines.append("Passes: {}. Fixtures: {}. Through a macro or template: {}. Look-alikes: {}.".format(*shown))
        parts.append("\n\n".join(lines))
    return "\n\n".join(parts) + "\n"


def tables() -> str:
    """Return the page that lists the tables of the passes, with the first sentence of their comments."""
    parts = [
        "# Tables",
        "What the passes know is in tables, by folder of `passes/hipport_passes`. `hipport explain NAME` names the one "
        "that has a row for a name, and the comment at the top of each table explains its fields. "
        "[Add a row](../how-to/add-a-row.md) says how.",
    ]
    for folder in sorted({path.parent for path in TABLES.rglob("*.toml")}):
        below = folder.relative_to(TABLES).as_posix()
        rows = [f"* `{path.name}`: {_about(path)}" for path in sorted(folder.glob("*.toml"))]
        parts += [f"## {below if below != '.' else 'all passes'}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _about(table: Path) -> str:
    """Return the first sentence of the comment at the top of a table."""
    lines = table.read_text(encoding="utf-8").split("\n")
    comment = takewhile(lambda line: line.startswith("#"), dropwhile(lambda line: not line.startswith("#"), lines))
    return _first(" ".join(line.lstrip("# ") for line in comment))


def rules() -> dict[str, str]:
    """Return a page for each pass and for each rule of it, and their index."""
    made: dict[str, str] = {}
    index = [
        "# Rules",
        "A rule is one kind of finding of one pass, `pass/kind`. Passes run in the order of this page. Write "
        "`// hipport: ignore[pass/kind] reason` in front of a line to keep a rule from it. `hipport explain pass/kind` "
        "prints what stands on the page of a rule.",
    ]
    texts = rule_texts(TABLES)
    for each in PASSES:
        examples = _examples(each)
        untested = [rule.partition("/")[2] for rule in texts if rule.partition("/")[0] == each.name]
        kinds = sorted((*examples, *untested))
        links = ", ".join(f"[{kind}]({each.name}/{kind}.md)" for kind in kinds)
        index.append(f"## [{each.name}]({each.name}/index.md)\n\n{_first(each.doc)} {links}")
        own = "\n".join(f"* [`{each.name}/{kind}`]({kind}.md)" for kind in kinds)
        made[f"reference/rules/{each.name}/index.md"] = f"# {each.name}\n\n{_plain(each.doc)}\n\n## Rules\n\n{own}\n"
        for kind, (fixture, reported) in examples.items():
            made[f"reference/rules/{each.name}/{kind}.md"] = _rule(each, kind, fixture, reported)
        for kind in untested:
            made[f"reference/rules/{each.name}/{kind}.md"] = _told(each, kind, texts[f"{each.name}/{kind}"])
    index.append("## [failed](failed.md)\n\nEvery pass has the rule `pass/failed`, for a defect of hipport.")
    made["reference/rules/failed.md"] = f"# failed\n\n{FAILED}\n"
    made["reference/rules/index.md"] = "\n\n".join(index) + "\n"
    return made


@cache
def rule_names() -> dict[str, list[Path]]:
    """Return every rule in the fixtures, with its fixtures, the shortest first."""
    shown: dict[str, set[Path]] = defaultdict(set)
    for expected in sorted(FIXTURES.glob("*/*.findings")):
        before = next(expected.parent.glob(f"{expected.name.removesuffix('.findings')}.before.*"))
        for line in expected.read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                shown[f"{expected.parent.name}/{line.split()[1]}"].add(before)
    return {rule: sorted(paths, key=lambda path: (path.stat().st_size, path)) for rule, paths in sorted(shown.items())}


def _examples(each: Pass[Any]) -> dict[str, tuple[testing.Fixture, list[Reported]]]:
    """Return the shortest fixture of each kind, with its findings of that kind."""
    done: dict[Path, tuple[testing.Fixture, Sequence[Reported]]] = {}
    found: dict[str, tuple[testing.Fixture, list[Reported]]] = {}
    for rule, paths in rule_names().items():
        name, _, kind = rule.partition("/")
        if name != each.name:
            continue
        path = paths[0]
        if path not in done:
            fixture = testing.fixture(path)
            ported = testing.port(each, fixture.before, skipped=fixture.skipped, beside=fixture.beside)
            done[path] = fixture, ported.reported
        fixture, reported = done[path]
        found[kind] = fixture, [one for one in reported if one.rule == rule]
    return found


def _rule(each: Pass[Any], kind: str, fixture: testing.Fixture, reported: Sequence[Reported]) -> str:
    language = {".py": "python", ".sh": "bash", ".cmake": "cmake", ".toml": "toml", ".json": "json", ".mk": "make"}.get(
        fixture.before.path.suffix, "cuda" if fixture.before.path.suffix in (".cu", ".cuh", ".inl") else "text"
    )
    if fixture.before.path.suffix in (".c", ".h", ".hpp", ".cpp"):
        language = "cpp"
    before, after = (text.decode("utf-8", "replace").rstrip("\n") for text in (fixture.before.text, fixture.after))
    certainties = sorted({one.certainty.name.lower() for one in reported}, key=list(_CERTAINTIES).index)
    messages = list(dict.fromkeys(f"* line {one.line}, {one.certainty.name}: {_code(one.message)}" for one in reported))
    parts = [
        f"# {each.name}/{kind}",
        "  \n".join(_CERTAINTIES[one] for one in certainties),
        f"{_first(each.doc)} See the pass [{each.name}](index.md).",
        "## Messages",
        "\n".join(messages[:6]) + ("\n* …" if len(messages) > 6 else ""),
        "## Example",
        f"From `fixtures/{fixture.name}`, the shortest fixture with this rule:",
    ]
    was, now = excerpts(before, after, min((one.line for one in reported), default=1))
    parts.append(_fence(language, was))
    parts += ["becomes", _fence(language, now)] if after != before else ["stays as it is."]
    return "\n\n".join([*parts, *_ignoring(each, kind)]) + "\n"


def _told(each: Pass[Any], kind: str, text: RuleText) -> str:
    """Return the page of a rule that no fixture shows."""
    parts = [
        f"# {each.name}/{kind}",
        _CERTAINTIES[text.certainty],
        f"{_first(each.doc)} See the pass [{each.name}](index.md).",
        _plain(text.says),
    ]
    return "\n\n".join([*parts, *_ignoring(each, kind)]) + "\n"


def _ignoring(each: Pass[Any], kind: str) -> Iterator[str]:
    yield "## To keep it out"
    yield f"```text\nhipport: ignore[{each.name}/{kind}] reason\n```"
    yield "Write this as a comment on the line, or alone on the line before it."


def excerpts(before: str, after: str, line: int) -> tuple[str, str]:
    """Return a text before and after, or of long ones the parts around the change that is nearest to a finding."""
    old, new = before.split("\n"), after.split("\n")
    steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changes = [(i, j, k) for tag, i, j, k, _ in steps if tag != "equal"]
    if not changes:
        return _part(before, line), _part(after, line)
    start, end, there = min(changes, key=lambda each: max(each[0] - (line - 1), line - each[1], 0))
    # Of a long change, the part at the finding.
    here = min(max(line, start + 1), max(end, start + 1))
    return _part(before, here), _part(after, there + 1 + min(here - start - 1, _AROUND))


def _part(text: str, line: int) -> str:
    lines = text.split("\n")
    if len(lines) <= _LINES:
        return text
    start = max(0, min(line - 1 - _AROUND, len(lines) - 2 * _AROUND))
    shown = lines[start : start + 2 * _AROUND + 1]
    return "\n".join((["…"] if start else []) + shown + (["…"] if start + len(shown) < len(lines) else []))


def _fence(language: str, text: str) -> str:
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{ticks}{language}\n{text}\n{ticks}"


def _code(message: str) -> str:
    """Return a message as plain text in Markdown: nothing in it is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", " ".join(message.split()))


def _plain(doc: str) -> str:
    """Return a docstring as Markdown: its `code` stays, and text that looks like HTML or a link is escaped."""
    parts = re.split(r"(`[^`]*`)", doc)
    return "".join(part if index % 2 else re.sub(r"([<\[\]*_])", r"\\\1", part) for index, part in enumerate(parts))


def _first(doc: str) -> str:
    return _plain(re.split(r"(?<=[.!?])\s", " ".join(doc.split()), maxsplit=1)[0])


def decisions() -> str:
    """Return the index of decisions by area."""
    by_area: dict[str, list[str]] = defaultdict(list)
    for path, head in written.pages():
        note = "" if head["status"] == "accepted" else f" ({head['status']})"
        by_area[head["area"]].append(f"* [{head['title']}]({path.name}){note}")
    parts = [
        "# Decisions",
        "Each page says why a mechanism is as it is: the context, the decision, and what was rejected. A decision "
        "that no longer explains anything is removed; one that was replaced names the page that replaced it.",
    ]
    for area, lines in by_area.items():
        parts += [f"## {area}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to the site; pages of single rules are in the search and in links, not in the menu."""
    from mkdocs.structure.files import File, InclusionLevel

    for path, text in pages().items():
        single = path.startswith("reference/rules/") and path != "reference/rules/index.md"
        level = InclusionLevel.NOT_IN_NAV if single or path == "decisions/index.md" else InclusionLevel.INCLUDED
        files.append(File.generated(config, path, content=text, inclusion=level))
    for file in files.documentation_pages():
        if re.match(r"decisions/\d", file.src_uri):
            file.inclusion = InclusionLevel.NOT_IN_NAV
    return files
