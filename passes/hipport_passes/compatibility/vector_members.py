# SPDX-License-Identifier: Apache-2.0
"""Let programs name the members of vector types like those of structures.

CUDA's `float4` is a structure. HIP's has its members in a union of a base class, and has constructors. So neither
structured bindings, `auto [x, y] = make_float2(1, 2)`, nor designated initializers, `float4{.x = 1}`, compile. The
first compile with one of hipport's headers, which files that have bindings and such types include; elsewhere it changes
nothing. The second, which C++20 allows in the order of the members, become lists without designators, and members
without one become 0, as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.cuda_names import NAMES

_TYPE = NAMES.composed(rb"(?:u?(?:char|short|int|long|(?&long_long))|float|double)")
_VECTOR = NAMES.compile(rb"(?&make)?" + _TYPE + rb"[2-4]")
_BOUND = re.compile(rb"auto(?<!\wauto)\s*(?:const\s*)?&{0,2}\s*\[\s*\w+(?:\s*,\s*\w+){1,3}\s*\]\s*[=({:]")
_NAMED = re.compile(rb"(?<!\w)" + _TYPE + rb"(?P<size>[1-4])(?:\s+\w+)?\s*=?\s*(?P<brace>\{)\s*(?=\.\s*[xyzw]\s*[={])")
_LIST = re.compile(rb"\{\s*\.\s*[xyzw]\s*[={]")
_NAME = re.compile(rb"\.\s*([xyzw])\s*=\s*")
_MEMBERS = b"xyzw"


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per designated initializer, and for the first structured binding."""
    if not isinstance(source, Cuda) or source.is_hipport_header or not source.matched(_VECTOR):
        return
    yield from _bound(source, project)
    # Searching for the brace first is many times faster than searching for the text before it.
    for match in _NAMED.finditer(source.code) if _LIST.search(source.code) else ():
        if source.ported(match.start()):
            continue
        edits = _in_order(source, match.start("brace"), int(match["size"]))
        if edits:
            message = "HIP's vector types have no members that can be initialized by name: they are in order"
            yield Finding(Span(*match.span()), "names", message, edits)


def _bound(source: Cuda, project: Project) -> Iterator[Finding]:
    for match in _BOUND.finditer(source.code):
        if source.ported(match.start()):
            continue
        need, header = include(source, project, "bindings.h")
        if need is not None:
            message = "hipport/bindings.h lets names be bound to members of HIP's vector types"
            yield Finding(Span(*match.span()), "bindings", message, (need,), creates=with_included_headers(header))
        return


def _in_order(source: Cuda, brace: int, size: int) -> tuple[Edit, ...]:
    """Return the edits that remove the designators; none if the list is not understood."""
    given = source.arguments(brace)
    if not given:
        return ()
    edits = []
    place = 0
    for each in given:
        if not len(each):
            continue  # After a trailing comma.
        name = _NAME.match(source.code, each.start, each.end)
        at = _MEMBERS.index(name[1]) if name else -1
        if name is None or at < place or at >= size:
            return ()
        edits.append(Edit(Span(each.start, name.end()), b"0, " * (at - place)))
        place = at + 1
    if place < size:
        end = max(each.end for each in given if len(each))
        edits.append(Edit(Span(end, end), b", 0" * (size - place)))
    return tuple(edits)


PASS = Pass(Cpp, find)
