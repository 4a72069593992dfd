# SPDX-License-Identifier: Apache-2.0
"""Set for CMake's HIP what is set for CUDA outside of its scripts: in pyproject.toml, presets, setup.py, shell scripts.

`-DCMAKE_CUDA_FLAGS=--use_fast_math`, a table of scikit-build-core, an argument in setup.py: once a CMake script has the
option USE_HIP, these have no effect for HIP, and CMake gives no warning. The setting for HIP is put beside them, and
the one for CUDA stays. Only for trees whose CMake scripts hipport has ported. A file that already sets one for HIP is
left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.cmake_script import CMake
from hipport.syntax.holes import HOLE
from hipport.syntax.json import CMakePresets
from hipport.syntax.python_script import Misplaced, Python
from hipport.syntax.shell import Definition, Dockerfile, Shell
from hipport.syntax.toml import Toml, TomlEntry
from hipport_passes.build_files.nvcc_flags import FlagChange, translate, worded

_WORDS = Words.read(Path(__file__).with_name("cmake.toml"), general=NAMES)
# A setting before its value, in a table of its own and in one on a line.
_OWN = _WORDS.compile(rb"([\w.\"'-]*)(?&of_cmake_for_cuda)\w+([\"']?[ \t]*=[ \t]*)")
_INLINE = _WORDS.compile(rb"[{,]\s*([\"']?)(?&of_cmake_for_cuda)\w+\1([ \t]*=[ \t]*)\Z")
_MENTIONS = _WORDS.compile(rb"(?&of_cmake_for_cuda)(?&settings)")
_NAME = _WORDS.compile(r"(?&of_cmake_for_cuda)((?&settings)(?:(?<=FLAGS)_[A-Z]+)?)")
# CMake's variables for the language CUDA that have a counterpart for HIP ("CMAKE_<LANG>_…", CMake 3.21).
_OPTION = re.compile(rf"(-D)?({_NAME.pattern})(?::\w+)?=(.*)", re.DOTALL)
# Tables of scikit-build-core 0.11 and py-build-cmake 0.4.
_SCIKIT, _PY_BUILD = r"scikit-build/(?:overrides/\d+/)?cmake", r"py-build-cmake/(?:\w+/)?cmake"
_TABLE = re.compile(rf"tool/(?:{_SCIKIT}/define|{_PY_BUILD}/options)/([^/]+)")
_LIST = re.compile(rf"tool/(?:{_SCIKIT}|{_PY_BUILD})/args/\d+")
_OTHER = _WORDS.compile(r"tool/(?&build_tools)/.*")


@dataclass(frozen=True)
class _Beside:
    """The setting in CMake for HIP: `name` and `value`, or None for `value` where a person has to choose."""

    name: str
    value: str | None
    message: str
    certainty: Certainty


def find(source: Source, project: Project) -> Iterator[Finding]:
    """Yield a finding per setting that CMake for HIP does not read."""
    if not isinstance(source, (Toml, CMakePresets, Python, Shell, Dockerfile, Definition)) or not _MENTIONS.search(
        source.text
    ):
        return
    if not any(isinstance(each, CMake) and b"hipport/hipport.cmake" in each.text for each in project.sources):
        return
    match source:
        case Toml():
            yield from _in_toml(source, project)
        case CMakePresets():
            yield from _in_presets(source, project)
        case Python():
            if source.module is not None:
                try:
                    yield from list(_in_python(source, project))
                except Misplaced:
                    return
        case Shell() | Dockerfile() | Definition():
            yield from _in_commands(source, project)


def _beside(around: str, name: str, value: str, project: Project) -> _Beside | None:
    """Return the setting for HIP, or None if there is none, or if `around` already has it."""
    ours = name.replace("CUDA", "HIP")
    if re.search(ours + r"(?!\w)", around):
        return None
    what = name.removeprefix("CMAKE_CUDA_")
    if what == "ARCHITECTURES":
        archs = ";".join(project.target.archs)
        message = f"{name} is not read where USE_HIP is ON: {ours}={archs} beside it; assumes that these are the GPUs"
        return _Beside(ours, archs, message, Certainty.REVIEW)
    if what == "STANDARD":
        message = f"{name} is not read where USE_HIP is ON: {ours} beside it"
        known = value if HOLE not in value and "$" not in value else None
        return _Beside(ours, known, message, Certainty.SAFE if known else Certainty.MANUAL)
    if not value.strip():
        return None
    message = f"{name} is not read where USE_HIP is ON"
    if HOLE in value or re.search(r"[\"'\\$`%{}]", value):
        return _Beside(ours, None, f"{message}: set {ours} to the same for hipcc", Certainty.MANUAL)
    changes = translate(value.split(), rocm=project.target.rocm).changes
    said = f"; {worded(changes)}" if changes else ""
    if any(change.certainty is Certainty.MANUAL for change in changes):
        return _Beside(ours, None, f"{message}: set {ours} to the same for hipcc{said}", Certainty.MANUAL)
    kept = " ".join(translate(value.split(), rocm=project.target.rocm).kept)
    if not kept:
        return None
    return _Beside(ours, kept, f"{message}: {ours}={kept} beside it{said}", _worst(changes))


def _worst(changes: tuple[FlagChange, ...]) -> Certainty:
    return max((change.certainty for change in changes), default=Certainty.SAFE)


def _finding(span: Span, beside: _Beside, new: bytes | None, at: int) -> Finding:
    if new is None or beside.value is None:
        by_hand = "" if beside.value is None else "; hipport cannot edit it in this form; change it by hand"
        return Finding(span, "setting", beside.message + by_hand, (), Certainty.MANUAL)
    return Finding(span, "setting", beside.message, (Edit(Span(at, at), new),), beside.certainty)


# pyproject.toml


def _in_toml(source: Toml, project: Project) -> Iterator[Finding]:
    for entry in source.entries:
        where = "/".join(map(str, entry.path))
        around = " ".join(
            f"{each.path[-1]} {each.value}" for each in source.entries if each.path[:-1] == entry.path[:-1]
        )
        if table := _TABLE.fullmatch(where):
            if _NAME.fullmatch(table[1]) and (beside := _beside(around, table[1], entry.value, project)):
                yield _finding(entry.span, beside, *_key(source, entry, beside))
        elif (option := _OPTION.fullmatch(entry.value)) and _LIST.fullmatch(where):
            if beside := _beside(around, option[2], option[4], project):
                new = f', "-D{beside.name}={beside.value}"'.encode()
                yield _finding(entry.span, beside, new if source.is_plain(entry) else None, entry.span.end)
        elif (
            _OTHER.fullmatch(where)
            and (named := _NAME.search(f"{entry.path[-2]} {entry.value}"))
            and (beside := _beside(around, named[0], HOLE, project))
        ):
            # `{env = "…", default = "…"}`, a variable of cibuildwheel's.
            yield _finding(entry.span, beside, None, entry.span.end)


def _key(source: Toml, entry: TomlEntry, beside: _Beside) -> tuple[bytes | None, int]:
    """Return the same key for HIP, and its place: a line of its own, or the same inline table."""
    value = f'"{beside.value}"'.encode()
    before = source.text[entry.key : entry.span.start]
    own = _OWN.fullmatch(before)
    if own is not None:
        line = source.line_start(entry.key)
        indent = source.text[line : entry.key]
        rest = re.compile(rb"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)").match(source.text, entry.span.end)
        if indent.strip() or rest is None:
            return None, 0
        return source.newline + indent + own[1] + beside.name.encode() + own[2] + value, rest.end()
    inline = _INLINE.search(before)
    return None if inline is None else b", " + beside.name.encode() + inline[2] + value, entry.span.end


# CMakePresets.json


def _in_presets(source: CMakePresets, project: Project) -> Iterator[Finding]:
    for entry in source.entries:
        *table, name = entry.path[:4]
        if entry.path[2:3] != ("cacheVariables",) or len(entry.path) < 4 or not _NAME.fullmatch(str(name)):
            continue
        around = " ".join(
            str(each.path[3]) for each in source.entries if each.path[:3] == tuple(table) and each.path[3:]
        )
        # A person decides about `{"type": "STRING", "value": "…"}`.
        if entry.value is None or len(entry.path) > 4:
            value = entry.value if entry.path[4:] == ("value",) else None
            beside = _beside(around, str(name), value, project) if value is not None else None
            if beside is not None:
                yield _finding(entry.span, beside, None, 0)
        elif (beside := _beside(around, str(name), entry.value, project)) is not None:
            line = source.line_start(entry.key.start)
            indent = source.text[line : entry.key.start]
            gap = source.newline + indent if not indent.strip() and line else b" "
            new = b"," + gap + f'"{beside.name}": "{beside.value}"'.encode()
            yield _finding(entry.span, beside, new, entry.span.end)


# setup.py


def _in_python(source: Python, project: Project) -> Iterator[Finding]:
    import libcst as cst

    from hipport.program.script_names import lone_call
    from hipport_passes.build_files.build_scripts.script import Script

    script = source.fact(Script)
    for node in script.nodes:
        if not isinstance(node, (cst.SimpleString, cst.FormattedString)):
            continue
        option = _OPTION.fullmatch(script.text(node))
        above = script.parent[node]
        if option is None or not option[1] or not script.runs(node).both:
            continue
        whole: cst.CSTNode = node
        if isinstance(above, cst.BinaryOperation) and above.left is node:
            # `"-DCMAKE_CUDA_FLAGS=" + flags`
            whole, above = above, script.parent[above]
            option = _OPTION.fullmatch(script.text(whole).replace("\n", " ")) or option
        statement = script.statement(node)
        block = script.module if statement is None else script.parent[statement]
        beside = _beside(script.code(block), option[2], option[4], project)
        if beside is None:
            continue
        span = source.span(whole)
        literal = f'"-D{beside.name}={beside.value}"'.encode()
        new: bytes | None = None
        at = span.end
        if isinstance(above, cst.Element) and isinstance(script.parent[above], (cst.List, cst.Tuple)):
            new = b", " + literal
        elif isinstance(above, cst.Arg) and (line := script.statement(above)) is not None:
            call = lone_call(line)
            if call is script.parent[above] and re.fullmatch(r"[\w.]+\.append", script.code(call.func)):
                start = source.span(line.body[0]).start
                indent = source.text[source.line_start(start) : start]
                at = source.span(line.body[0]).end
                new = source.newline + indent + script.code(call.func).encode() + b"(" + literal + b")"
        yield _finding(span, beside, new, at)


# Commands


def _in_commands(source: Shell | Dockerfile | Definition, project: Project) -> Iterator[Finding]:
    for command in source.commands:
        words = [*command.assigned, *command.words]
        around = " ".join(word.text for word in words)
        for before, word in pairwise([None, *words]):
            assert word is not None
            option = _OPTION.fullmatch(word.text)
            named = _NAME.search(word.text)
            if option is not None and (option[1] or (before is not None and before.text == "-D")):
                beside = _beside(around, option[2], option[4], project)
                if beside is not None:
                    quote = b"'" if '"' in command.quotes else b'"'
                    new = b" " + quote + f"-D{beside.name}={beside.value}".encode() + quote
                    given = quote.decode() not in command.quotes
                    yield _finding(word.span, beside, new if given else None, word.span.end)
            elif (
                named is not None
                and word.text.startswith("CMAKE_ARGS=")
                and (beside := _beside(around, named[0], HOLE, project))
            ):
                # Several settings in one word, for a build that pip calls.
                yield _finding(word.span, beside, None, word.span.end)


PASS = Pass(Source, find)
