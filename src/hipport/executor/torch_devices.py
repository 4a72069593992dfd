# SPDX-License-Identifier: Apache-2.0
"""Have a PyTorch extension take tensors on the CPU for tensors on its GPU: `x.is_cuda()` → `x.is_cpu()`.

For the executor only, where all tensors lie in the CPU's memory. What asks for a device by name gets the CPU, and
operators registered for CUDA are the CPU's; those registered for the CPU beside them would be the same ones twice, and
go to a key that nothing has. PyTorch's half numbers, compiled before there are the vendor's, convert to them by a cast.
What asks whether a tensor is on the CPU is not changed: a case in which no kernel runs is reported by the driver.
`torch::cuda::…` becomes the executor's own, in `simt/torch.h`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_GAP = rb"[ \t\r\n]*"
#: What a name becomes; of those that match at one place, the first.
_NAMES: tuple[tuple[re.Pattern[bytes], bytes], ...] = (
    (re.compile(rb"(?<=[.>])type\(\)\s*\.\s*(?:is_cuda|is_hip)(?=" + _GAP + rb"\()"), b"is_cpu"),
    (re.compile(rb"\bk(?:CUDA|HIP)\b"), b"kCPU"),
    (re.compile(rb"(?<=[.>])(?:is_cuda|is_hip)(?=" + _GAP + rb"\()"), b"is_cpu"),
    (re.compile(rb"(?<=[.>])(?:cuda|hip)(?=" + _GAP + rb"\(" + _GAP + rb"\))"), b"cpu"),
    # -1 on the CPU, which no CUDA function takes; this is 0.
    (re.compile(rb"(?<=[.>])get_device(?=" + _GAP + rb"\(" + _GAP + rb"\))"), b"device().has_index"),
    (re.compile(rb"(?:(?<=device\(\)\.)|(?<=[Dd]evice\.))index(?=" + _GAP + rb"\(" + _GAP + rb"\))"), b"has_index"),
    (re.compile(rb"(?<=DeviceType::)(?:CUDA|HIP)\b"), b"CPU"),
    (re.compile(rb"(?<=DispatchKey::)(?:CUDA|HIP)\b"), b"CPU"),
    (re.compile(rb"(?<=Backend::)(?:CUDA|HIP)\b"), b"CPU"),
    (re.compile(rb"\btorch::cuda::(?=(?:is_available|cudnn_is_available|device_count|manual_seed|synchronize))"),
     b"::simt::torch_cuda::"),
)  # fmt: skip
_REGISTRATION = re.compile(
    rb"\bTORCH_LIBRARY_IMPL(?:_UNIQUE)?" + _GAP + rb"\([^,()]*," + _GAP + rb"(CUDA|HIP|CPU)" + _GAP + rb","
)
_DEVICE = re.compile(rb"\b[Dd]evice\b" + _GAP + rb"(?:\w+" + _GAP + rb")?[({]" + _GAP + rb"(?=\"(?P<text>[^\"]*)\")")
_HALF = re.compile(
    rb"\b(?P<value>[A-Za-z_]\w*)\.operator\s+(?P<type>__half|__nv_bfloat16)" + _GAP + rb"\(" + _GAP + rb"\)"
)
_STRING = re.compile(rb"\"(?:cuda|hip)(?::\d+)?\"")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per name of the GPU."""
    code = source.code
    taken: list[tuple[int, int]] = []
    for pattern, new in _NAMES:
        for match in pattern.finditer(code):
            if not any(start < match.end() and match.start() < end for start, end in taken):
                taken.append(match.span())
                yield _finding(match.span(), new)
    for match in _HALF.finditer(code):
        yield _finding(match.span(), b"static_cast<" + match["type"] + b">(" + match["value"] + b")")
    for match in _REGISTRATION.finditer(code):
        if match[1] != b"CPU":
            yield _finding(match.span(1), b"CPU")
        elif any(_on_gpu(other) for other in project.sources if isinstance(other, Cpp)):
            yield _finding(match.span(1), b"Vulkan")
    for match in _DEVICE.finditer(code):
        if text := _STRING.match(source.text, match.end()):
            yield _finding(text.span(), b'"cpu"')


def _on_gpu(source: Cpp) -> bool:
    return any(match[1] != b"CPU" for match in _REGISTRATION.finditer(source.code))


def _finding(where: tuple[int, int], new: bytes) -> Finding:
    span = Span(*where)
    return Finding(span, "device", "tensors of the executor are on the CPU", (Edit(span, new),))


PASS = Pass(Cpp, find)
