# SPDX-License-Identifier: Apache-2.0
"""Report kernels that launch kernels, and calls of CUDA's runtime in device code: AMD's GPUs do neither.

Such a launch does not compile with hipcc. Calls that CUDA's runtime also answers on the device, for example
`cudaGetErrorString` and `cudaDeviceSynchronize`, are host functions in HIP. Code in lambdas and host functions is left
alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.analysis.functions import DEVICE, HOST
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import launches
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import heads

_CALL = re.compile(rb"\s*\(")
# Functions of CUDA's runtime for the device.
_RUNTIME = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES).compile(rb"(?&platforms)(?&runtime)")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per launch and per call of the runtime in device code."""
    code = source.code
    if b"__global__" not in code and b"__device__" not in code:
        return
    if b"<<<" in code:
        for launch in launches(source):
            if _on_device(source, launch.brackets.start):
                message = (
                    "a kernel cannot launch a kernel on AMD: launch it from the host, after this kernel has stored "
                    "its size, or put the work into a queue from which the blocks of one kernel take it"
                )
                yield Finding(launch.brackets, "launch", message, certainty=Certainty.MANUAL)
    for span, called in source.names(_RUNTIME, _CALL):
        if _on_device(source, span.start, only_device=True):
            name = called.decode()
            advice = "print the number" if "GetError" in name else "call it on the host"
            message = f"{name} is a host function in HIP: {advice}"
            yield Finding(span, "runtime", message, certainty=Certainty.MANUAL)


def _on_device(source: Cpp, offset: int, only_device: bool = False) -> bool:
    """Return whether `offset` is in device code; with `only_device`, not in code for the host too."""
    if source.directive(offset) or source.ported(offset):
        return False
    for head in heads(source, offset):
        text = source.code[head.start : head.end]
        if DEVICE.search(text):
            return not (only_device and HOST.search(text)) and not _for_one_side(source, head.end, offset)
    return False


def _for_one_side(source: Cpp, start: int, offset: int) -> bool:
    """Return whether a condition in the function selects device or host code, such as `#ifndef __CUDA_ARCH__`."""
    return any(
        start <= group[0].span.start
        and group[0].span.end <= offset < group[-1].span.start
        and any(b"__CUDA_ARCH__" in part.condition or b"__HIP_DEVICE_COMPILE__" in part.condition for part in group)
        for group in source.conditionals
    )


PASS = Pass(Cpp, find)
