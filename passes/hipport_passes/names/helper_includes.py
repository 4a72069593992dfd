# SPDX-License-Identifier: Apache-2.0
"""Include hipport's headers again where their lines were lost, for example when a person resolved a merge.

Upstream's changes among the includes conflict with the lines that a port put there. If upstream's lines win, the code
still has `hipport::shfl_sync`, and nothing declares it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import PurePath

from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import (
    FOLDER,
    INSTEAD,
    asked_for,
    first_code,
    include,
    included,
    names,
    text,
    with_included_headers,
)
from hipport.program.own_headers import header as placed
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.lexing import lex

#: One of hipport's names.
USE = NAMES.compile(rb"(?<!\w::)(?<!\w)(?&hipport)\s*::\s*(?:\w+\s*::\s*)*\w+")
_LINE = re.compile(rb"[ \t]*#[ \t]*include[ \t]*\"[^\"\r\n]+\"[ \t]*(?:\r\n|\n|\r)")
_NAMESPACE = re.compile(rb"namespace\s+(\w+)\s*$")
_WORD = re.compile(rb"[A-Za-z_]\w*|[{}]")
_MACRO = re.compile(rb"#[ \t]*define[ \t]+\w+\(([^()]*)\)((?:[^\\\r\n]|\\(?:\r\n|[\s\S]))*)")
_PASTED = re.compile(rb"\w+(?:[ \t]*##[ \t]*\w+)+")
_ENUMERATION = re.compile(rb"\benum[ \t]+\w+[ \t]*\{([^{}]*)\}")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per include that finds no file or is now a repetition, and one for lost or late includes."""
    if source.is_hipport_header or FOLDER.encode() not in source.words:
        return
    yield from _moved(source, project)
    behind = list(_late(source))
    late = dict(reversed(behind))  # The first of each.
    there = project.union_over(source, _included, but={source.path}) | _with_brought(_names(source) - late.keys())
    lost: dict[str, Span] = {}
    for match in USE.finditer(source.code):
        header = _of(b"".join(match.group().split()))
        if header is None or header in there or within(match.start(), source.cuda_only):
            continue
        if all(match.start() < line.start for name, line in late.items() if header in _with_brought({name})):
            lost.setdefault(header, Span(*match.span()))
    # Late includes without a use before them move up as well, to their usual place; except those that replace an
    # include of the program.
    for name, line in late.items():
        if name not in INSTEAD and not included(source, name):
            lost.setdefault(name, line)
    wanted = sorted(lost.keys() - frozenset[str]().union(*(_brought(header) for header in lost)))
    lines: dict[int, bytes] = {}
    files: dict[PurePath, NewFile] = {}
    for header in wanted:
        need, file = include(source, project, header)
        if need is not None:
            lines[need.span.start] = lines.get(need.span.start, b"") + need.new
            files |= {each.path: each for each in with_included_headers(file)}
    if lines:
        which = ", ".join(f"{FOLDER}/{header}" for header in wanted)
        message = f"its declarations are used, but no longer included before their use: {which}"
        edits = tuple(Edit(Span(point, point), text) for point, text in lines.items())
        yield Finding(min(lost.values()), "lost", message, edits, creates=tuple(files.values()))
    there = _with_brought(frozenset(wanted))
    for name, line in behind:
        if name in there or included(source, name):
            yield Finding(line, "twice", f"{FOLDER}/{name} is already included above", (Edit(line, b""),))


def _moved(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield the includes that find no file since upstream has moved the file or its component."""
    root = project.root
    if root is None:
        return
    whole = (root / ".git").exists() or not any((folder / ".git").exists() for folder in root.parents)
    for each, place in asked_for(source):
        # Outside of the given files, another run may create it.
        if place in project.by_path or (root / place).is_file() or (place.parts[:1] == ("..",) and not whole):
            continue
        path, file = placed(source, project, place.name)
        if path.strip(b'"') != each.path.encode("utf-8", "surrogateescape") and not source.ported(each.directive.start):
            message = f"{each.path} → {path.decode()[1:-1]}, the folder of hipport's headers for this file"
            yield Finding(
                each.target, "moved", message, (Edit(each.target, path),), creates=with_included_headers(file)
            )


def _late(source: Cpp) -> Iterator[tuple[str, Span]]:
    """Yield includes of hipport's headers after code that upstream put before them, with their lines."""
    code = source.fact(first_code)
    for each in source.includes:
        folder, _, name = each.path.rpartition("/")
        if each.directive.start <= code or within(each.directive.start, source.conditional):
            continue
        line = _LINE.match(source.text, source.line_start(each.directive.start))
        if f"/{folder}".endswith(f"/{FOLDER}") and name in names() and line is not None:
            yield name, Span(*line.span())


def _included(source: Cpp) -> frozenset[str]:
    """Return hipport's headers that the file includes, directly or through each other."""
    return _with_brought(_names(source))


def _names(source: Cpp) -> frozenset[str]:
    found = (each.path.rpartition("/") for each in source.includes)
    return frozenset(name for folder, _, name in found if f"/{folder}".endswith(f"/{FOLDER}") and name in names())


def _with_brought(direct: AbstractSet[str]) -> frozenset[str]:
    return frozenset(direct).union(*(_brought(name) for name in direct))


@cache
def _brought(name: str) -> frozenset[str]:
    found: set[str] = set()
    for each in re.findall(rb'#include "(\w+\.h)"', text(name)):
        found |= {each.decode()} | _brought(each.decode())
    return frozenset(found)


@cache
def _of(name: bytes) -> str | None:
    """Return the header that declares a name of hipport's namespaces."""
    # Macros make most of the functions for PTX.
    there = declaring().get(name) or ("ptx.h" if name.startswith(b"hipport::ptx::") else None)
    if there is not None:
        return there
    word = name.removeprefix(b"hipport::")
    made = (header for header in sorted(names()) if header.endswith(".h") and _makes(header, word))
    header = next(made, None)
    return "ptx.h" if header is not None and header.startswith("ptx_") else header


def _makes(header: str, word: bytes) -> bool:
    """Whether a header's macros paste this name together, or it is one of its enumerators."""
    words, enumerators, pasted = _pieces(header)
    return word in enumerators or any(
        all(part in words or _makes(header, part) for part in made.groups())
        for pattern in pasted
        if (made := pattern.fullmatch(word)) is not None
    )


@cache
def _pieces(header: str) -> tuple[frozenset[bytes], frozenset[bytes], tuple[re.Pattern[bytes], ...]]:
    """Return a header's words, its enumerators, and what its macros paste, with their parameters as groups."""
    code = lex(text(header))[0]
    enumerators = frozenset(word for each in _ENUMERATION.finditer(code) for word in _WORD.findall(each[1]))
    pasted: dict[bytes, re.Pattern[bytes]] = {}
    for macro in _MACRO.finditer(code):
        parameters = _WORD.findall(macro[1])
        for each in _PASTED.findall(macro[2]):
            parts = re.split(rb"[ \t]*##[ \t]*", each)
            if not set(parts) <= set(parameters):
                pattern = b"".join(rb"(\w+)" if part in parameters else re.escape(part) for part in parts)
                pasted.setdefault(pattern, re.compile(pattern))
    return frozenset(_WORD.findall(code)), enumerators, tuple(pasted.values())


@cache
def declaring() -> dict[bytes, str]:
    """Return the header that declares each name of hipport's namespaces."""
    found: dict[bytes, str] = {}
    for header in sorted(names(), key=lambda name: (name != "warp.h", name)):
        for name in _qualified_declared(text(header)):
            found.setdefault(name, "ptx.h" if header.startswith("ptx_") else header)
    return found


def _qualified_declared(header: bytes) -> Iterator[bytes]:
    """Yield the qualified names that a header declares in namespaces."""
    code = lex(header)[0]
    stack: list[bytes] = []
    for match in _WORD.finditer(code):
        word = match.group()
        if word == b"{":
            named = _NAMESPACE.search(code, max(0, match.start() - 80), match.start())
            stack.append(named[1] if named else b"")
        elif word == b"}":
            stack = stack[:-1]
        elif stack and all(stack) and stack[0] == b"hipport":
            yield b"::".join([*stack, word])


PASS = Pass(Cpp, find)
