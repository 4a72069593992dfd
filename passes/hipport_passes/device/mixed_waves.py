# SPDX-License-Identifier: Apache-2.0
"""Report code for AMD's whole wavefront that is used together with code for warps of 32 lanes.

A kernel may have a branch of its own for AMD, in which it votes on up to 64 lanes, but count lanes by a helper, a
constant or a group of 32. On GPUs with wavefronts of 64 lanes there are then two leaders, and each adds the votes of
both halves. Nothing is changed, because the code does not show which of the two is meant. Uses are followed through
functions, macros and constants, over the whole component, in the code that the other passes wrote: with warps of 32
lanes where CUDA's intrinsics had them. If blocks have rows of 32 threads, `threadIdx.x` is the lane in CUDA, but not in
a wavefront that has two of the rows. Hosts that count by a constant of 32 for kernels that calculate with
`warpSize`, and blocks of 32 threads of such kernels, are reported as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport_passes.device.waves.host_sizes import of_hosts
from hipport_passes.device.waves.marks import Mark, mixed
from hipport_passes.device.waves.rows import taken_for_lanes


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for the first place of each function, macro or constant that relies on wavefronts."""
    for native, logical, user in project.component(source).fact(mixed):
        if native.definition.source is not source:
            continue
        both = "" if user is native.definition else f", both in {user.name}"
        message = (
            f"{native.text} beside {_where(logical, source)}{both}: the first acts on AMD's whole wavefront, the "
            "other on 32 lanes, and they differ where a wavefront has 64; count lanes by the wavefront "
            "throughout (warpSize, __lane_id(), masks of 64 bits), or by 32 (hipport::ballot, hipport::warp_size)"
        )
        yield Finding(native.span, "mixed", message, certainty=Certainty.MANUAL)
    for lane, native in taken_for_lanes(source, project):
        message = (
            f"{lane.text} beside {_where(native, source)}: blocks of this kernel have rows of 32 threads, and a "
            "wavefront of 64 lanes has two rows, so a thread's place in its row is not its lane; use __lane_id() "
            "for the lane, or count by 32 lanes (hipport::ballot)"
        )
        yield Finding(lane.span, "rows", message, certainty=Certainty.MANUAL)
    for host in of_hosts(source, project):
        if host.blocks:
            message = (
                f"{host.place.text} in {host.place.definition.name}: the program launches blocks of 32 threads, which "
                "are half of a wavefront of 64 lanes: launch a multiple of the device's warpSize, or count by 32 "
                "lanes (hipport::warp_size)"
            )
        else:
            message = (
                f"{host.place.text} in {host.place.definition.name} is 32 on the host, and "
                f"{_where(host.native, source)} is the device's wavefront, which may have 64 lanes: ask the device for "
                "its warpSize, or count by 32 lanes in the kernel, too (hipport::warp_size)"
            )
        yield Finding(host.place.span, "host", message, certainty=Certainty.MANUAL)


def _where(mark: Mark, source: Cpp) -> str:
    """Return a description of a mark: the code, its function, file and line."""
    of = mark.definition
    place = f"line {mark.line}" if of.source.path == source.path else f"{of.source.path.as_posix()}, line {mark.line}"
    return f"{mark.text} in {of.name} ({place})"


PASS = Pass(Cpp, find, at_backends=True)
