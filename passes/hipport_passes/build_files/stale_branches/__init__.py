# SPDX-License-Identifier: Apache-2.0
"""Report lines for HIP in a makefile or a CMake script that lag behind the lines for CUDA beside them.

A port puts a line for HIP beside one that is right for nvcc alone. Upstream later changes the latter, and a merge
brings that in without a conflict: a build for HIP does the same as before. So the lines for CUDA are ported again, and
the result must be among the lines for HIP. A person decides which of the two is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cmake_script import CMake
from hipport.syntax.make import Makefile
from hipport_passes.build_files.stale_branches import cmake_scripts, makefiles


def find(source: Source, project: Project) -> Iterator[Finding]:
    """Yield a finding per conditional in which HIP lacks a part that CUDA has."""
    behind: Iterator[tuple[Span, Sequence[bytes]]] = iter(())
    if isinstance(source, Makefile):
        behind = makefiles.behind(source, project)
    elif isinstance(source, CMake):
        behind = cmake_scripts.behind(source, project)
    for span, missing in behind:
        named = " ".join(word.decode("utf-8", "replace") for word in missing[:4]) + " …" * bool(missing[4:])
        message = (
            f"{named}: the lines for CUDA have this now, and the lines for HIP do not; copy upstream's change to them"
        )
        yield Finding(span, "behind", message, (), Certainty.MANUAL)


PASS = Pass(Source, find)
