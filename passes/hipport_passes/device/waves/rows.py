# SPDX-License-Identifier: Apache-2.0
"""Find code that uses a thread's index in a row of 32 as its lane, in kernels that use AMD's whole wavefront."""

from __future__ import annotations

from collections.abc import Iterator

from hipport.analysis.block_shapes import shapes
from hipport.analysis.references import Mentions
from hipport.core.edits import Span
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import opened_before
from hipport_passes.device.waves.marks import Mark, may_be_native, native_marks, own_names

#: The first thread of a row, a bit for each of its threads, and a variable that is named as a lane.
_AS_LANE = NAMES.compile(
    rb"\b%(x)b\s*==\s*0\b|\b0\s*==\s*%(x)b\b|!\s*%(x)b\b|(?:<<|>>)\s*%(x)b\b"
    rb"|\b(?i:\w*(?&lane)\w*)\s*=\s*%(x)b\s*(?=[;,)])" % {b"x": rb"(?&thread_index)\s*\.\s*x"}
)
_OTHER_ROW = NAMES.compile(rb"\b(?&thread_index)\s*\.\s*[yz]\b")


def taken_for_lanes(source: Cpp, project: Project) -> Iterator[tuple[Mark, Mark]]:
    """Yield each such place, with the mark for wavefronts, for kernels whose blocks have several rows of 32."""
    if b"threadIdx" not in source.words or not _AS_LANE.search(source.code):
        return
    component = project.component(source)
    files = [file for file in component if isinstance(file, Cpp)]
    if not any(file.fact(may_be_native) for file in files):
        return
    own, mentions = own_names(files), component.fact(Mentions)
    for kernel in mentions.definitions:
        if kernel.source is not source or kernel.function is None or not kernel.function.kernel:
            continue
        places = [Span(*match.span()) for match in kernel.matches(_AS_LANE) if _is_of_row(source, match.start())]
        if not places:
            continue
        native = next((mark for each in mentions.reached(kernel) for mark in native_marks(each, own)), None)
        blocks = shapes(kernel.function, project) if native is not None else None
        if native is not None and any(block.x == 32 and (block.y, block.z) != (1, 1) for block in blocks or ()):
            yield from ((Mark(kernel, place), native) for place in places)


def _is_of_row(source: Cpp, at: int) -> bool:
    """Return whether the code at a place is not a person's port, and tests no other dimension."""
    if within(at, source.hip_only):
        return False
    opening = opened_before(source.code, max(0, at - 300), at)
    closing = source.closing(opening) if opening is not None else None
    return opening is None or not _OTHER_ROW.search(source.code, opening, closing or at)
