# SPDX-License-Identifier: Apache-2.0
"""Include hipport's headers again where their lines have got lost, in a merge that a person resolved, say.

What upstream changes among the includes is in conflict with what a port has put there. Whoever takes upstream's lines
has `hipport::shfl_sync` in the code and nothing that declares it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePath

from hipport.finding import Finding
from hipport.headers import FOLDER, first_code, include, names, own, text, together
from hipport.languages.cpp import Cpp, within
from hipport.languages.lexing import lex
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, NewFile, Span

_USE = re.compile(rb"\bhipport\s*::\s*(?:\w+\s*::\s*)*\w+")
_LINE = re.compile(rb"[ \t]*#[ \t]*include[ \t]*\"[^\"\r\n]+\"[ \t]*(?:\r\n|\n|\r)")
_NAMESPACE = re.compile(rb"namespace\s+(\w+)\s*$")
_WORD = re.compile(rb"[A-Za-z_]\w*|[{}]")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield one finding for the names of hipport's headers that the program does not include."""
    if own(source) or FOLDER.encode() not in source.words:
        return
    yield from _twice(source)
    there = project.together(source, _included)
    lost: dict[str, Span] = {}
    for match in _USE.finditer(source.code):
        header = _of(b"".join(match.group().split()))
        if header is not None and header not in there and not source.ported(match.start()):
            lost.setdefault(header, Span(*match.span()))
    brought = frozenset[str]().union(*(_brought(header) for header in lost))
    lines: dict[int, bytes] = {}
    files: dict[PurePath, NewFile] = {}
    for header in sorted(lost.keys() - brought):
        need, file = include(source, project, header)
        if need is not None:
            lines[need.span.start] = lines.get(need.span.start, b"") + need.new
            files |= {each.path: each for each in together(file)}
    if lines:
        which = ", ".join(f"{FOLDER}/{header}" for header in sorted(lost.keys() - brought))
        message = f"what is declared there is used, and nothing includes it any more: {which}"
        edits = tuple(Edit(Span(point, point), text) for point, text in lines.items())
        yield Finding(min(lost.values()), "lost", message, edits, creates=tuple(files.values()))


def _twice(source: Cpp) -> Iterator[Finding]:
    """Yield the includes that came too late for what upstream has put in front of them, and are above by now."""
    code = source.fact(first_code)
    above = {include.path for include in source.includes if include.directive.start <= code}
    for include in source.includes:
        late = include.directive.start > code and not within(include.directive.start, source.conditional)
        if late and include.path in above and f"/{include.path}".rpartition("/")[0].endswith(f"/{FOLDER}"):
            line = _LINE.match(source.text, source.line_start(include.directive.start))
            if line is not None:
                yield Finding(
                    include.directive, "twice", f"{include.path} is included above", (Edit(Span(*line.span()), b""),)
                )


def _included(source: Cpp) -> frozenset[str]:
    """hipport's headers that the file includes, and those that come with them."""
    found = [include.path.rpartition("/") for include in source.includes]
    direct = {name for folder, _, name in found if f"/{folder}".endswith(f"/{FOLDER}") and name in names()}
    return frozenset(direct).union(*(_brought(name) for name in direct))


@cache
def _brought(name: str) -> frozenset[str]:
    found: set[str] = set()
    for each in re.findall(rb'#include "(\w+\.h)"', text(name)):
        found |= {each.decode()} | _brought(each.decode())
    return frozenset(found)


def _of(name: bytes) -> str | None:
    # Macros make most of the functions that stand for PTX.
    return declaring().get(name) or ("ptx.h" if name.startswith(b"hipport::ptx::") else None)


@cache
def declaring() -> dict[bytes, str]:
    """Return which of hipport's headers is included for a name of its namespaces."""
    found: dict[bytes, str] = {}
    for header in sorted(names(), key=lambda name: (name != "warp.h", name)):
        for name in _declared(text(header)):
            found.setdefault(name, "ptx.h" if header.startswith("ptx_") else header)
    return found


def _declared(header: bytes) -> Iterator[bytes]:
    """Yield the names that a header says in namespaces, with these in front."""
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
