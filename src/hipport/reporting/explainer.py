# SPDX-License-Identifier: Apache-2.0
"""Say what hipport does with a name, and why: a pass, a rule, a pitfall, a fault, or any name in a program.

Nothing is written a second time for this. Passes have docstrings and tables; rules have fixtures, or a text in
rules.toml if a fixture cannot show them; the treatment of a program's name is shown by porting small programs that use
it. Findings that also occur for an unknown name in its place are not about the name, and are left out.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hipport import testing
from hipport.core.source import Source
from hipport.core.tables import LastChecked, as_checked, checked, load
from hipport.engine.outcomes import Ported, Reported
from hipport.engine.pipeline import Pass

#: A name that is in no table.
_NOBODY = "hipport_nobody_knows"

_CUDA = "#include <cuda_runtime.h>\n"
#: Small programs with a name in them, with the file names to be shown; the line that counts is the last but one.
_IN_CPP = (
    "void f() {{\n    {}(a, b);\n}}\n",
    "__global__ void k(int *p) {{\n    {}();\n}}\n",
    "__global__ void k(int *p) {{\n    {}(p, 1);\n}}\n",
    "__global__ void k(int *p) {{\n    p[0] = {}(~0u, p[0], 1);\n}}\n",
    "__global__ void k(int *p) {{\n    p[0] = {};\n}}\n",
    "__global__ void k(int *p) {{\n    {} value;\n}}\n",
    "__global__ void k(int *p) {{\n    {}<int, 4> value;\n}}\n",
)
#: Operands of an instruction, one of which fits, and types by their last letter and number.
_OPERANDS = ("%0, %1", "%0, %1, %2", "%0, %1, %2, %3", "%0, %1, %2, %3, 1", "%0, [%4]", "[%4], %1", "[%4]", "")
_TYPES = {"f32": ("float", "f"), "f64": ("double", "d"), "64": ("long long", "l"), "16": ("short", "h")}
_IN_PYTHON = tuple(
    f"import torch\n{line}\n\n"
    for line in (
        "value = {}",
        "value = {}()",
        "import {}",
        'major = {}.split(".")[0]',
        "fast = {}() >= (9, 0)",
        "fast = {}()[0] >= 9",
    )
)
_IN_CMAKE = tuple(
    f"cmake_minimum_required(VERSION 3.18)\nproject(one LANGUAGES CXX CUDA)\nadd_library(one one.cu)\n{line}\n\n"
    for line in (
        "find_package(CUDA REQUIRED)\n{}(two two.cu)",
        "target_link_libraries(one {})",
        "find_package({})",
        'set({} "${{{}}} -O3")',
        "message(${{{}}})",
    )
)
_IN_SETUP = (
    "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n"
    'setup(ext_modules=[CUDAExtension("x", ["x.cu"], extra_compile_args={{"nvcc": ["{}"]}})])\n\n'
)

#: Tables about hipport itself, which have no rows about names of programs.
_OWN_TABLES = ("pitfalls.toml", "rules.toml")

#: The text about the rule `failed`, which every pass has.
FAILED = """A pass raised an error on a file, or made edits that contradict each other. That is a defect of hipport.

Nothing of the tree is written then, and the exit status is 2: what the pass would have ported is missing, and passes
behind it may have counted on it. Please report it with the file, or as little of it as fails alone. To port all else
meanwhile, leave the file out: `exclude = ["path/of/the/file"]` in hipport.toml."""

#: The fields of rows that are shown; others only steer a pass.
_SAID = ("is", "hip", "since", "certainty", "review", "why", "instead", "torch", "listed")


@dataclass(frozen=True)
class Example:
    """A finding: a piece of a program before and after, and the message. `source` is the fixture."""

    before: str
    after: str
    rule: str
    certainty: str
    message: str
    source: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row of a table: `table` is its file, `section` its place in it, `values` its fields.

    `checked` is the date of the last check, and the release of ROCm; empty for generated tables.
    """

    table: str
    section: str
    values: Mapping[str, str]
    checked: str = ""


@dataclass(frozen=True)
class Pitfall:
    """One thing that breaks on AMD, and how hipport handles it."""

    number: int
    title: str
    ends: str
    says: str
    passes: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """The explanation of `name`, which is a `pass`, a `rule`, a `pitfall`, a `fault` of the executor or a
    `name` of a program.

    `text` is the docstring of a pass, or of the pass of a rule. `rules` are those of the pass; `passes` are other
    passes that concern it, each with its first sentence.
    """

    name: str
    kind: str
    text: str = ""
    rules: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    rows: tuple[TableRow, ...] = ()
    passes: Mapping[str, str] = field(default_factory=dict)
    pitfalls: tuple[Pitfall, ...] = ()


class Unknown(Exception):
    """An unknown name. `near` are names with a similar spelling."""

    def __init__(self, name: str, near: Sequence[str]) -> None:
        super().__init__(name, near)
        self.name = name
        self.near = tuple(near)

    def __str__(self) -> str:
        advice = (
            f"Did you mean: {', '.join(self.near)}?"
            if self.near
            else "To port it, add a row to a table: docs/how-to/add-a-row.md."
        )
        return (
            f"{self.name}: no pass, rule, pitfall or fault has this name, and no table has a row for it. hipport does "
            f"not change it. {advice}"
        )


def explain(
    name: str,
    passes: Sequence[Pass[Any]],
    tables: Path,
    cases: Path,
    port: Callable[[Mapping[str, bytes]], Ported],
) -> Explanation:
    """Return the explanation of `name`.

    `tables` is the folder with the tables of `passes` and pitfalls.toml, `cases` that of their fixtures, and `port`
    ports texts by path. Raises Unknown.
    """
    name = name.strip()
    by_name = {each.name: each for each in passes}
    pitfalls = tuple(_pitfalls(tables))
    rules = _rules(cases)
    texts = rule_texts(tables)
    number = re.fullmatch(r"(?:pitfall\s*|#)?(\d+)", name, re.IGNORECASE)
    if number and int(number[1]) in {each.number for each in pitfalls}:
        found = tuple(each for each in pitfalls if each.number == int(number[1]))
        about = {each: first_sentence(by_name[each].doc) for each in found[0].passes}
        return Explanation(name, "pitfall", passes=about, pitfalls=found)
    if name in by_name:
        own = tuple(rule for rule in sorted({*rules, *texts}) if rule.partition("/")[0] == name)
        shown = tuple(_shown(by_name[name], [rule for rule in own if rule in rules], rules, 3))
        told = tuple(each for each in pitfalls if name in each.passes)
        return Explanation(name, "pass", by_name[name].doc, own, shown, pitfalls=told)
    owner, _, kind = name.partition("/")
    if kind == "failed" and owner in by_name:
        return Explanation(name, "rule", FAILED, (name,), passes={owner: first_sentence(by_name[owner].doc)})
    known = sorted({*rules, *texts})
    named = [rule for rule in known if name in (rule, rule.partition("/")[2]) and rule.partition("/")[0] in by_name]
    examples, rows = tuple(_ported(name, port)), tuple(_rows(name, tables))
    if name in _faults():
        found_by_executor = TableRow("faults.toml", "fault", _faults()[name])
        if not (examples or rows or named):
            return Explanation(name, "fault", rows=(found_by_executor,))
        # For example an instruction of the same name.
        rows = (*rows, found_by_executor)
    if named and not (examples or rows):
        shown = tuple(
            each
            for rule in named
            if rule in rules
            for each in _shown(by_name[rule.partition("/")[0]], (rule,), {rule: rules[rule]}, 4)
        )
        told_by = [f"{texts[rule].certainty}  [{rule}]\n{texts[rule].says}" for rule in named if rule in texts]
        about = {rule.partition("/")[0]: first_sentence(by_name[rule.partition("/")[0]].doc) for rule in named}
        return Explanation(", ".join(named), "rule", "\n\n".join(told_by), tuple(named), shown, passes=about)
    mentions = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") if re.search(r"[^a-z]", name) else None
    owners = {example.rule.partition("/")[0] for example in examples} | {row.table.split(".")[0] for row in rows}
    owners |= {each.name for each in passes if mentions and mentions.search(each.doc)}
    told = tuple(each for each in pitfalls if mentions and mentions.search(f"{each.title} {each.says}"))
    if not (examples or rows or owners or told):
        raise Unknown(name, _near(name, [*by_name, *known, *_faults()], tables))
    about = {each.name: first_sentence(each.doc) for each in passes if each.name in owners}
    return Explanation(name, "name", examples=examples, rows=rows, passes=about, pitfalls=told)


class RuleText(NamedTuple):
    """The text of a rule that no fixture shows, and the certainty of its findings."""

    certainty: str
    says: str


@cache
def rule_texts(tables: Path) -> dict[str, RuleText]:
    """Return the rules that no fixture shows, from the table rules.toml in the folder of tables."""
    return {rule: RuleText(row["certainty"], row["says"]) for rule, row in load(tables / "rules.toml")["rule"].items()}


@cache
def _faults() -> Mapping[str, Mapping[str, str]]:
    """Return the executor's faults by kind."""
    table: Mapping[str, Mapping[str, str]] = load(Path(__file__).parents[1] / "executor/faults.toml")["fault"]
    return table


def first_sentence(doc: str) -> str:
    """Return the first sentence of a docstring, on one line."""
    return re.split(r"(?<=[.!?])\s", " ".join(doc.split()), maxsplit=1)[0]


def _pitfalls(tables: Path) -> Iterator[Pitfall]:
    for entry in load(tables / "pitfalls.toml")["entry"]:
        yield Pitfall(entry["number"], entry["title"], entry["ends"], entry["says"], tuple(entry.get("passes", ())))


@cache
def _rules(cases: Path) -> dict[str, tuple[Path, ...]]:
    """Each rule with the fixtures in which it has a finding, the shortest first."""
    found: dict[str, set[Path]] = {}
    for said in sorted(cases.glob("*/*.findings")):
        before = next(said.parent.glob(f"{said.name.removesuffix('.findings')}.before.*"), None)
        for line in said.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if before is not None and len(words) >= 3 and not line.startswith("#"):
                found.setdefault(f"{said.parent.name}/{words[1]}", set()).add(before)
    return {rule: tuple(sorted(paths, key=lambda p: (p.stat().st_size, p))) for rule, paths in sorted(found.items())}


def _shown(
    each: Pass[Any], rules: Sequence[str], cases: Mapping[str, tuple[Path, ...]], most: int
) -> Iterator[Example]:
    """The first findings of `rules` in their shortest fixtures, without repeated messages."""
    for rule in rules:
        said: set[str] = set()
        for before in cases[rule]:
            fixture = testing.fixture(before)
            ported = testing.port(each, fixture.before, skipped=fixture.skipped, beside=fixture.beside)
            for reported in ported.reported:
                if reported.rule == rule and reported.message not in said and len(said) < most:
                    said.add(reported.message)
                    yield _example(reported, fixture.before, ported.project.sources[0], fixture.name)
            if len(said) >= most or len(rules) > 1:
                break


def _example(reported: Reported, before: Source, after: Source, source: str = "") -> Example:
    old, new = (each.text.decode("utf-8", "replace").split("\n") for each in (before, after))
    line = reported.line - 1
    was, now = old[line], old[line]
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "insert" and i in (line, line + 1) and now == was:
            # Added lines before or after the line are shown with it.
            now = "\n".join([*new[k:m], was] if i == line else [was, *new[k:m]])
        elif tag != "equal" and i <= line < j:
            # A block with as many lines as before is shown line by line; any other as a whole, if it is short.
            if j - i == m - k:
                now = new[k + line - i]
            else:
                was, now = "\n".join(old[i:j]), "\n".join(new[k:m])
    if len(was.splitlines()) > 8 or len(now.splitlines()) > 8:
        was, now = old[line], old[line]
    return Example(was, now, reported.rule, str(reported.certainty), reported.message, source)


def _programs(name: str) -> dict[str, bytes]:
    """Small programs that use `name`, by path."""
    texts: dict[str, str] = {}
    if name.startswith("-"):
        texts["setup.py"] = _IN_SETUP.format(name)
        texts["value/setup.py"] = _IN_SETUP.format(f"{name}=1")
    elif re.fullmatch(r"[\w./+-]+\.(?:h|hpp|hxx|cuh|inl)", name):
        texts["include.cu"] = f"{_CUDA}#include <{name}>\n\n"
    else:
        if re.fullmatch(r"[A-Za-z_][\w:]*", name):
            # A warp function takes a mask first.
            order = _IN_CPP if not name.endswith("_sync") else _IN_CPP[3:] + _IN_CPP[:3]
            texts |= {f"cpp{number}.cu": _CUDA + text.format(name) for number, text in enumerate(order)}
        if re.fullmatch(r"[a-z][\w.:]*", name):
            texts |= {f"ptx{number}.cu": text for number, text in enumerate(_in_ptx(name))}
        if re.fullmatch(r"[A-Za-z_][\w.]*", name):
            texts |= {f"python{number}.py": text.format(name) for number, text in enumerate(_IN_PYTHON)}
        if re.fullmatch(r"[A-Za-z_][\w:]*", name):
            texts |= {f"{n}/CMakeLists.txt": text.format(name, name) for n, text in enumerate(_IN_CMAKE)}
        if re.fullmatch(r"[A-Za-z][\w.-]*(?:[<>=!~]=?.*)?", name):
            texts["requirements.txt"] = f"{name}\n\n"
    return {path: text.encode() for path, text in texts.items()}


def _in_ptx(name: str) -> Iterator[str]:
    last = name.rpartition(".")[2]
    kind, letter = _TYPES.get(last, _TYPES.get(last[1:], ("unsigned", "r")))
    inputs = ", ".join(f'"{letter}"(p[{number}])' for number in (1, 2, 3))
    for operands in _OPERANDS:
        statement = f'asm volatile("{f"{name} {operands}".strip()};" : "={letter}"(p[0]) : {inputs}, "l"(p));'
        yield f"{_CUDA}__global__ void k({kind} *p) {{\n    {statement}\n}}\n"


def _ported(name: str, port: Callable[[Mapping[str, bytes]], Ported]) -> Iterator[Example]:
    """Yield the findings for `name` in programs, without those for other names in its place, without duplicates."""
    texts = _programs(name)
    if not texts:
        return
    nobody = _NOBODY
    if name.startswith("-"):
        nobody = f"-{_NOBODY}"
    elif "include.cu" in texts:
        nobody = f"{_NOBODY}.h"
    elif "." in name:
        nobody = ".".join([_NOBODY] * (name.count(".") + 1))
    others = {path: text.replace(name.encode(), nobody.encode()) for path, text in texts.items()}
    common = {_neutral(each, nobody) for each in port(others).reported}
    ported = port(texts)
    before, after = ported.before.by_path, ported.project.by_path
    seen = set()
    # Of the programs that guess at operands or values one is right: one in which something is changed, if there is one.
    # The finding that a name is in no table says nothing about it.
    known = (each for each in ported.reported if each.rule.partition("/")[0] != "unknown_names")
    told = sorted(known, key=lambda each: each.certainty if _is_guess(each) else -1)
    for each in told:
        line = before[each.path].text.split(b"\n")[each.line - 1]
        key = ("guess",) if _is_guess(each) else (each.rule, each.message)
        if name.encode() in line and key not in seen and _neutral(each, name) not in common:
            seen.add(key)
            yield _example(each, before[each.path], after[each.path])


def _is_guess(reported: Reported) -> bool:
    return reported.path.name.startswith(("ptx", "setup"))


def _neutral(reported: Reported, name: str) -> tuple[str, str, str]:
    return reported.path.name, reported.rule, reported.message.replace(name, "…")


def _tables(folder: Path) -> list[Path]:
    """Return the tables of passes, ordered by name: they lie beside the passes, and fixtures lie deeper."""
    return sorted((*folder.glob("*.toml"), *folder.glob("*/*.toml")), key=lambda path: path.name)


def _names_in_table(path: Path) -> dict[str, Any]:
    """Return a table without `words`, which only serves to search files."""
    return {section: rows for section, rows in load(path).items() if section != "words"}


def _rows(name: str, tables: Path) -> Iterator[TableRow]:
    for path in _tables(tables):
        if path.name not in _OWN_TABLES:
            for section, values in _found(name, _names_in_table(path), ()):
                # Names that a release of ROCm introduced stand below its number.
                release = section[-1] if section and re.fullmatch(r"\d+\.\d+", section[-1]) else ""
                more = {"since": release} if release else {}
                seen = _checked(load(path), (*section, name)) or checked(path)
                when = (
                    "" if seen is None else str(seen.date) if seen.rocm == "any" else f"{seen.date}, ROCm {seen.rocm}"
                )
                yield TableRow(path.name, ".".join(section[:-1] if release else section), {**values, **more}, when)


def _checked(table: Any, where: tuple[str, ...]) -> LastChecked | None:
    """Return the date of the last check of a row, or of its section, if given."""
    found = None
    for key in where:
        table = table.get(key) if isinstance(table, dict) else None
        if isinstance(table, dict) and "checked" in table:
            found = as_checked(table["checked"], key)
    return found


def _found(name: str, value: Any, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Yield each place in a table where `name` is a key, or a word of a list."""
    if isinstance(value, dict):
        lists = [key for key, each in value.items() if key not in _SAID and name in _words(each)]
        if lists:
            # The fields beside a list of names apply to all of them.
            said = _row(value)
            yield where, said if any(key in said for key in ("hip", "why", "instead")) else {"listed": lists[0]}
        for key, inner in value.items():
            if key == name:
                yield where, _row(inner)
            elif key not in lists:
                yield from _found(name, inner, (*where, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _found(name, inner, where)


def _words(value: Any) -> list[Any]:
    """The names in a list, or in a text that is a single name; prose has none."""
    if isinstance(value, str):
        return [] if re.search(r"[.,:;] ", value) else value.split()
    return value if isinstance(value, list) else []


def _row(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {"is": _plain(value)}
    return {key: _plain(value[key]) for key in _SAID if key in value and not isinstance(value[key], dict)}


def _plain(value: Any) -> str:
    return " ".join(map(_plain, value)) if isinstance(value, list) else str(value)


def _near(name: str, own: Sequence[str], tables: Path) -> list[str]:
    """Names with a spelling similar to `name`, hipport's own first."""
    known = set()
    for path in _tables(tables):
        if path.name not in _OWN_TABLES:
            known |= _names(_names_in_table(path))
    lower = {each.lower(): each for each in (*sorted(known), *own)}
    wanted = name.lower()
    near = [lower[wanted]] if wanted in lower else []
    # Long names that share only their first letters are similar by chance.
    near += [lower[each] for each in difflib.get_close_matches(wanted, lower, 5, 0.8)]
    near += [lower[each] for each in sorted(lower) if len(wanted) > 3 and each.startswith(wanted)][:5]
    near += [each for each in own if len(wanted) > 3 and wanted in each]
    near += [each for each in own if each.startswith(f"{wanted.partition('/')[0]}/")]
    return list(dict.fromkeys(near))[:6]


def _names(value: Any) -> set[str]:
    """All keys of a table, and words of its lists, that may be names."""
    if isinstance(value, dict):
        return {key for key in value if re.search(r"\w{3}", key)}.union(*map(_names, value.values()))
    if isinstance(value, list):
        return set().union(*map(_names, value))
    words = value.split() if isinstance(value, str) else []
    return {word for word in words if re.fullmatch(r"-{0,2}[A-Za-z_]\w*(?:[_A-Z0-9]\w*)", word)}
