# SPDX-License-Identifier: Apache-2.0
"""Report the gaps of a program's own backend for HIP.

A program may have code for HIP beside CUDA's, or reach HIP through names of its own (`#define cudaMalloc hipMalloc`).
Both sides then stay as their authors wrote them: a rename would break the build for CUDA. The gaps of that backend are
reported instead: CUDA's names that HIP compiles and the program does not map, masks of 32 bits for HIP's intrinsics,
which take 64, and CUDA sources without a counterpart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.hip_backends import CUDA_NAME, counterpart, mapped
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.declarations import declarations, member_or_qualified
from hipport_passes.device.waves.kinds import narrow_mask
from hipport_passes.device.waves.sizes import MASKED
from hipport_passes.names.api_names import table

_DIRECTIVE = re.compile(rb"#[ \t]*(?:define|undef|if|ifdef|ifndef|elif)\b")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per name that is not covered, once per file, and one for a source without a counterpart."""
    if source.side == "cuda" and source.path.suffix in (".cu", ".cpp", ".cc", ".cxx"):
        if not counterpart(source, project):
            message = (
                "this is on CUDA's side of a program with a HIP side, which has no counterpart; write one there, "
                "with HIP's includes"
            )
            yield Finding(Span(0, 0), "alone", message, certainty=Certainty.MANUAL)
    elif source.side == "both":
        yield from _names(source, project)
        yield from _masks(source, project)
    elif not source.side and project.fact(_of_cuda):
        for include in source.includes:
            others = [other.path for other in project.included(source, include)]
            # Under a condition it may be the selection itself: `#ifdef ENABLE_CUDA`.
            seen = not within(include.directive.start, source.conditional)
            if others and seen and set(others) <= project.fact(_of_cuda):
                message = (
                    f"{include.path} is on CUDA's side of a program with a HIP side, and stays; include the file "
                    "that chooses between the two, or HIP's counterpart where HIP is compiled"
                )
                yield Finding(include.target, "alone", message, certainty=Certainty.MANUAL)


def _of_cuda(project: Project) -> frozenset[PurePath]:
    return frozenset(each.path for each in project.sources if isinstance(each, Cpp) and each.side == "cuda")


def _names(source: Cpp, project: Project) -> Iterator[Finding]:
    known = project.union_over(source, mapped) | project.union_over(source, _declared)
    said: set[bytes] = set()
    for span, name in source.names(CUDA_NAME):
        if name in known or name in said or source.ported(span.start) or member_or_qualified(source.code, span.start):
            continue
        directive = source.directive(span.start)
        if name not in table() or (directive and _DIRECTIVE.match(source.code, directive.start)):
            continue
        said.add(name)
        row = table()[name]
        where = min((other.path.as_posix() for other in project.component(source) if _maps(other)), default="it")
        advice = f"add `#define {name.decode()} {row.hip}` to {where}" if row.hip else row.advice
        yield Finding(
            span,
            "unmapped",
            f"the program does not map {name.decode()} to HIP's name: {advice}, or hide this code from HIP",
            certainty=Certainty.MANUAL,
        )


def _masks(source: Cpp, project: Project) -> Iterator[Finding]:
    own = project.union_over(source, _own_intrinsics)
    for span, name in source.names(MASKED):
        ported = name in own or source.ported(span.start) or source.directive(span.start)
        if not ported and narrow_mask(source, span):
            yield Finding(
                span,
                "mask",
                f"{name.decode()} with a mask of 32 bits: HIP's takes 64, and the program does not map the name; "
                "give it a mask for the whole wavefront on HIP, or map it like other names",
                certainty=Certainty.MANUAL,
            )


def _maps(source: object) -> bool:
    return isinstance(source, Cpp) and any(CUDA_NAME.fullmatch(name) for name in source.fact(mapped))


def _declared(source: Cpp) -> frozenset[bytes]:
    """Return the names of that form that the program declares itself."""
    return frozenset(each.name for each in declarations(source, source.names(CUDA_NAME)))


def _own_intrinsics(source: Cpp) -> frozenset[bytes]:
    """Return the intrinsics of which the program has its own versions."""
    return frozenset(each.name for each in declarations(source, source.names(MASKED)))


PASS = Pass(Cpp, find, at_backends=True)
