# SPDX-License-Identifier: Apache-2.0
"""Find code of a function that is missing on AMD because a condition on NVIDIA's architecture excludes it.

Such a function compiles and does nothing. A caller that chooses it by a compute capability, which AMD's GPUs meet by
accident, silently gets wrong results. The findings on the choice and on the condition name each other.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePath
from typing import NamedTuple

from hipport.analysis.functions import function_at
from hipport.core.edits import Span
from hipport.core.tables import Words
from hipport.program.project import Component, Project
from hipport.syntax import preprocessor_values
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.preprocessor import Conditional
from hipport.syntax.python_script import Misplaced, Python
from hipport.syntax.vocabulary import IDENTIFIER

_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
_ARCHITECTURE = _WORDS.compile(rb"(?&arch)\s*(>=|>)\s*(\d{3,4})\b|(?&arch)\s*(<=|<)\s*(\d{3,4})\b")
_ON_AMD = frozenset((b"__HIPCC__", b"__HIP_DEVICE_COMPILE__", b"__HIP_PLATFORM_AMD__", b"__HIP__", b"USE_ROCM"))
# Code that replaces the missing code.
_NOTHING = _WORDS.compile(
    rb"\s*(?:(?:return|break|(?:__)?asm(?:__)?\s+(?:__)?volatile(?:__)?\s*\(\s*\"[^\"]*\"\s*\)"
    rb"|[\w:]+(?<=(?&trap))\s*\(\s*\)"
    rb"|(?=[\w:]*(?&reports))(?![\w:]*(?&trap)\s*\(\s*\))[\w:]+\s*\([^;]*\)"
    rb"|\(\s*void\s*\)\s*\w+)\s*;\s*)*"
)
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?!\()((?:[^\\\r\n]|\\\r?\n|\\.)*)")
# Values of a macro that mean false.
_FALSE = (b"0", b"false")
# Names in a condition that may be macros.
_MAY_STAND = re.compile(rb"\bdefined[ \t]*(?:\([ \t]*)?(\w+)(?:[ \t]*\))?|\b([A-Za-z_]\w*)")
# The depth of macros that expand to macros, and the length of a condition with macros replaced.
_DEEPEST = 4
_LONGEST = 10_000
_ENDS = _WORDS.compile(rb"\breturn\b|(?&ends)|\basm\b")
_DIRECTIVE = re.compile(rb"^[ \t]*#[^\r\n]*", re.MULTILINE)
_CODE = re.compile(rb"[;{]")
# Tests of the capability in Python: `capability >= 750`, `major >= 7`, `(7, 5)`.
_ASKED = _WORDS.compile(
    rb"(?i)\b(?=\w*(?:(?&about_capability)|\bsm|\bcc\b))[\w.\[\]()]+\s*>=?\s*(?:(?P<number>\d{1,4})\b(?!\.\d)|"
    rb"(?P<decimal>\d{1,2}\.\d)\b|\(\s*(?P<major>\d{1,2})\s*,\s*(?P<minor>\d)\s*\))"
)
_READS = _WORDS.compile(rb"(?&reads_capability)")
# Tests in host code: `prop.major >= 7`.
_ASKED_BY_HOST = _WORDS.compile(rb"\b(?&major)\s*(?P<sign>>=?)\s*(?P<number>\d{1,2})\b")


class Lost(NamedTuple):
    """Code that GPUs from `capability` on have, and AMD lacks: the place of its condition, and the condition's text."""

    capability: tuple[int, int]
    path: PurePath
    line: int
    offset: int
    condition: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.condition})"


class _OnAmd(NamedTuple):
    """The macros of AMD's device code for conditions; all others are undefined."""

    def defined(self, name: bytes) -> bool:
        return name in _ON_AMD

    def number(self, name: bytes) -> int:
        return int(name in _ON_AMD)


def lost(component: Component) -> tuple[Lost, ...]:
    """Return the code in functions of a program that AMD lacks without a replacement. A fact of the program."""
    files = [each for each in component if isinstance(each, Cpp)]
    if not any(b"__CUDA_ARCH__" in each.words for each in files):
        return ()
    macros = _macros(files)
    return tuple(
        each
        for source in files
        if b"__CUDA_ARCH__" in source.words or not source.words.isdisjoint(macros)
        for group in source.conditionals
        if (each := _lost(source, group, macros)) is not None
    )


def of_project(project: Project) -> tuple[Lost, ...]:
    """Return the code of all programs that AMD lacks without a replacement. A fact of the tree."""
    components = {
        id(each): each for file in project.sources if isinstance(file, Cpp) for each in [project.component(file)]
    }
    found = (each for component in components.values() for each in component.fact(lost))
    return tuple(sorted({*found}, key=lambda each: (each.path, each.offset)))


class _Macro(NamedTuple):
    """A macro that expands to a condition on the architecture, and the place of that condition."""

    condition: bytes
    source: Cpp
    place: Span


def _macros(files: Sequence[Cpp]) -> dict[bytes, _Macro]:
    """Return the macros that are such a condition, or are defined under one, and have no other definition."""
    found: dict[bytes, _Macro] = {}
    defined: dict[bytes, set[tuple[PurePath, Span]]] = {}
    for source in files:
        defines = [*_DEFINE.finditer(source.code)]
        starts = [match.start() for match in defines]
        under: dict[int, tuple[Conditional, ...]] = {}
        for group in source.conditionals if defines else ():
            # A condition without a number is true on AMD, too, as `arch_guards` ports it.
            if _ARCHITECTURE.search(group[0].asked):
                first, end = group[0].span.start, group[-1].span.start
                for start in starts[bisect_left(starts, first) : bisect_left(starts, end)]:
                    under.setdefault(start, group)
        for match in defines:
            name, value, place = match[1], match[2].strip(), Span(*match.span())
            if _ARCHITECTURE.search(value):
                found[name] = _Macro(value, source, place)
            elif (of := under.get(place.start)) is not None:
                place = of[0].span
                if match.start() < of[1].span.start and value.strip(b"()") not in _FALSE:
                    found[name] = _Macro(of[0].asked, source, place)
            defined.setdefault(name, set()).add((source.path, place))
    return {name: each for name, each in found.items() if len(defined[name]) == 1}


def _lost(source: Cpp, group: tuple[Conditional, ...], macros: Mapping[bytes, _Macro]) -> Lost | None:
    first = group[0].span
    whole = source.code[first.start : group[-1].span.end]
    by = next((macros[word] for part in group for word in IDENTIFIER.findall(part.asked) if word in macros), None)
    # A quick test of the whole group: one outside of all functions may contain the rest of the file.
    if (
        (by is None and not _ARCHITECTURE.search(whole))
        or function_at(source, first.start) is None
        or source.ported(first.start)
    ):
        return None
    asked = [*_ARCHITECTURE.finditer(by.condition if by is not None else whole)]
    branches = [(part, Span(part.span.end, following.span.start)) for part, following in pairwise(group)]
    taken: Span | None = None
    for part, branch in branches:
        holds = 1 if part.word == b"else" else _value(part.condition, macros)
        if holds is None:
            return None
        if holds:
            taken = branch
            break
    here = source.code[taken.start : taken.end] if taken is not None else b""
    if not _NOTHING.fullmatch(_DIRECTIVE.sub(b"", here)):
        return None
    others = [branch for _, branch in branches if branch is not taken]
    if _ENDS.search(here) and (function := function_at(source, first.start)) is not None:
        # `#if __CUDA_ARCH__ < 750`, `return;`, `#endif`, and the code. A body without an end ends with the directive.
        end = group[-1].span.end
        others.append(Span(end, max(end, function.body.end_byte - 1)))
    if not any(_CODE.search(_DIRECTIVE.sub(b"", source.code[each.start : each.end])) for each in others):
        return None
    bounds = [int(each[2] or each[4]) + ((each[1] or each[3]) in (b">", b"<=")) for each in asked]
    least = min(bounds)
    # A person decides at the test of the architecture.
    if by is not None:
        source, first = by.source, by.place
    line = source.line_read(first.start)
    condition = " ".join(source.code[first.start : first.end].decode("utf-8", "replace").split())
    return Lost((least // 100, least // 10 % 10), source.path, line, first.start, condition[:100])


def _value(condition: bytes, macros: Mapping[bytes, _Macro]) -> int | None:
    """Return the value of a condition on AMD, with macros replaced; None if it is not known.

    A macro that names itself, or others, many times would make a text that grows with each of them.
    """
    for _ in range(_DEEPEST):
        written = _MAY_STAND.sub(
            lambda match: (
                b"(" + macros[match[1] or match[2]].condition + b")" if (match[1] or match[2]) in macros else match[0]
            ),
            condition,
        )
        if written == condition:
            break
        if len(written) > _LONGEST:
            return None
        condition = written
    return preprocessor_values.value(preprocessor_values.tokens(condition), _OnAmd())


def chosen_elsewhere(source: Cpp, project: Project, group: tuple[Conditional, ...]) -> str:
    """Return where Python chooses code that AMD lacks because of a condition; nothing if no choice is found."""
    return chosen_by_capability(source, project, group[0].span)


def chosen_by_capability(source: Cpp, project: Project, place: Span) -> str:
    """Return where Python chooses code that AMD lacks because of the code at a place."""
    for each in project.component(source).fact(lost):
        known = project.fact(_choices)
        # Host code tests only the first part.
        where = known.get(each.capability) or known.get((each.capability[0], None))
        if each.path == source.path and place.start <= each.offset < place.end and where:
            return (
                f"; without this code a function does nothing, and {where} selects that function by a compute "
                "capability, a test that AMD GPUs pass by accident"
            )
    return ""


def _choices(project: Project) -> dict[tuple[int, int | None], str]:
    """Return where Python tests a capability, or host code its first part: the first place for each."""
    found: dict[tuple[int, int | None], str] = {}
    for source in project.sources:
        if isinstance(source, Python):
            for capability, offset in (*_followed(source), *_asked(source.text)):
                found.setdefault(capability, f"{source.path}:{source.line_read(offset)}")
        elif isinstance(source, Cpp) and b"DeviceProp" in source.code:
            for match in _ASKED_BY_HOST.finditer(source.code):
                line = source.line_read(match.start())
                major = int(match["number"]) + (match["sign"] == b">")
                found.setdefault((major, None), f"{source.path}:{line}")
    return found


def _followed(source: Python) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the conditions that distinguish GPUs from older ones: the first capability, and the place."""
    if not _READS.search(source.text) or source.module is None:
        return
    # Imported late: loading the parser takes longer than porting most trees.
    from hipport_passes.python.runtime.capability_kinds import Elsewhere
    from hipport_passes.python.runtime.capability_reader import Reader
    from hipport_passes.python.runtime.python_program import PythonProgram

    program = source.fact(PythonProgram)
    reader = Reader(program, Elsewhere({}, {}))
    with contextlib.suppress(Misplaced):
        for node in program.nodes:
            least = reader.least(node)
            if least is not None and program.runs(node).both:
                yield least[0], source.span(node).start


def _asked(text: bytes) -> Iterator[tuple[tuple[int, int], int]]:
    if not _READS.search(text):
        return
    for match in _ASKED.finditer(text):
        if match["decimal"]:
            major, minor = map(int, match["decimal"].split(b"."))
        elif match["major"]:
            major, minor = int(match["major"]), int(match["minor"])
        else:
            number = int(match["number"])
            major, minor = (number, 0) if number < 20 else divmod(number // 10 if number >= 200 else number, 10)
        yield (major, minor), match.start()
