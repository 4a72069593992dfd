# SPDX-License-Identifier: Apache-2.0
"""Find code that uses a thread's index in a row of 32 as its lane, in kernels that use AMD's whole wavefront."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.analysis.block_shapes import shapes
from hipport.analysis.references import Mentions, NamedDefinition
from hipport.core.edits import Span
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import ROW
from hipport.syntax.declarations import opened_before
from hipport_passes.device.waves.marks import Mark, may_be_native, native_marks, own_names

#: The first thread of a row, a bit for each of its threads, and a variable that is named as a lane.
_INDEX = re.compile(rb"\bthreadIdx\s*\.\s*x\b")
_FIRST = rb"%(x)b\s*==\s*0\b|\b0\s*==\s*%(x)b|!\s*%(x)b|(?:<<|>>)\s*%(x)b"
_AS_LANE = re.compile((_FIRST + rb"|\b(?i:\w*lane\w*)\s*=\s*%(x)b\s*(?=[;,)])") % {b"x": _INDEX.pattern})
# A variable that holds the index; one that is named as a lane was found already.
_HELD = re.compile(rb"\b(?P<name>[A-Za-z_]\w*)\s*[=({]\s*" + _INDEX.pattern + rb"\s*[;,)}]")
# Another variable may hold the row.
_OTHER_ROW = re.compile(rb"\bthreadIdx\s*\.\s*[yz]\b|\b(?i:" + ROW + rb")\b")


def taken_for_lanes(source: Cpp, project: Project) -> Iterator[tuple[Mark, Mark]]:
    """Yield each such place, with the mark for wavefronts, for kernels whose blocks have several rows of 32.

    The place may be in a function or macro that a kernel uses, or test a variable that holds the index.
    """
    if b"threadIdx" not in source.words or not _INDEX.search(source.code):
        return
    component = project.component(source)
    files = [file for file in component if isinstance(file, Cpp)]
    if not any(file.fact(may_be_native) for file in files):
        return
    own, mentions = own_names(files), component.fact(Mentions)
    marks: dict[NamedDefinition, Mark | None] = {}
    for definition in mentions.definitions:
        places = list(_places(definition)) if definition.source is source else []
        kernels = (each for each in mentions.transitive_users(definition) if each.kernel) if places else ()
        for kernel in kernels:
            if kernel not in marks:
                marks[kernel] = _by_wavefront(kernel, mentions, own, project)
            native = marks[kernel]
            if native is not None:
                yield from ((Mark(definition, place), native) for place in places)
                break


def _by_wavefront(kernel: NamedDefinition, mentions: Mentions, own: frozenset[bytes], project: Project) -> Mark | None:
    """Return the first mark for wavefronts that a kernel uses, if its blocks have several rows of 32."""
    native = next((mark for each in mentions.reached(kernel) for mark in native_marks(each, own)), None)
    blocks = shapes(kernel.function, project) if native is not None and kernel.function is not None else None
    return native if any(block.x == 32 and (block.y, block.z) != (1, 1) for block in blocks or ()) else None


def _places(definition: NamedDefinition) -> Iterator[Span]:
    """Yield where a definition takes the index in the row, or a variable that holds it, for the lane."""
    source = definition.source
    for match in definition.matches(_AS_LANE):
        if _is_of_row(source, match.start()):
            yield Span(*match.span())
    for held in definition.matches(_HELD):
        if b"lane" in held["name"].lower():
            continue
        first = re.compile(_FIRST % {b"x": rb"\b" + held["name"] + rb"\b(?!\s*[.\[(])"})
        for match in definition.matches(first):
            if match.start() > held.end() and _is_of_row(source, match.start()):
                yield Span(*match.span())


def _is_of_row(source: Cpp, at: int) -> bool:
    """Return whether the code at a place is not a person's port, and tests no other dimension."""
    if within(at, source.hip_only):
        return False
    opening = opened_before(source.code, max(0, at - 300), at)
    closing = source.closing(opening) if opening is not None else None
    return opening is None or not _OTHER_ROW.search(source.code, opening, closing or at)
