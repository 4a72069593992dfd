# SPDX-License-Identifier: Apache-2.0
"""Make a PyTorch extension take CPU tensors for tensors on its GPU: `x.is_cuda()` → `x.is_cpu()`.

Only for the executor, whose tensors are all in CPU memory. Code that names a device gets the CPU, and operators
registered for CUDA become the CPU's. Operators registered for the CPU beside them would be duplicates, and go to an
unused dispatch key. PyTorch's half numbers, compiled before the vendor's are known, are cast to them. Tests whether a
tensor is on the CPU are not changed: the driver reports a case in which no kernel runs.
`torch::cuda::…` becomes the executor's own, in `simt/torch.h`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_LISTS = Words.read(Path(__file__).with_suffix(".toml"))
_GAP = rb"[ \t\r\n]*"
#: The replacement of each name; if several match at one place, the first counts.
_NAMES: tuple[tuple[re.Pattern[bytes], bytes], ...] = (
    (_LISTS.compile(rb"(?<=[.>])(?&type)\(\)\s*\.\s*(?&asks)(?=" + _GAP + rb"\()"), b"is_cpu"),
    (_LISTS.compile(rb"\bk(?&gpus)\b"), b"kCPU"),
    (_LISTS.compile(rb"(?<=[.>])(?&asks)(?=" + _GAP + rb"\()"), b"is_cpu"),
    (_LISTS.compile(rb"(?<=[.>])(?&moves)(?=" + _GAP + rb"\(" + _GAP + rb"\))"), b"cpu"),
    # It returns -1 on the CPU, which no CUDA function accepts; this is 0.
    (_LISTS.compile(rb"(?<=[.>])(?&device_number)(?=" + _GAP + rb"\(" + _GAP + rb"\))"), b"device().has_index"),
    (_LISTS.compile(rb"(?:(?<=(?&device)\(\)\.)|(?<=[Dd]evice\.))(?&index)(?=" + _GAP + rb"\(" + _GAP + rb"\))"),
     b"has_index"),
    (_LISTS.compile(rb"(?<=(?&types)::)(?&gpus)\b"), b"CPU"),
    (_LISTS.compile(rb"(?<=(?&keys)::)(?&gpus)\b"), b"CPU"),
    (_LISTS.compile(rb"(?<=(?&backends)::)(?&gpus)\b"), b"CPU"),
    (_LISTS.compile(rb"\b(?&space)::(?=(?&of_cuda))"),
     b"::simt::torch_cuda::"),
)  # fmt: skip
_REGISTRATION = _LISTS.compile(rb"\b(?&registers)" + _GAP + rb"\([^,()]*," + _GAP + rb"((?&places))" + _GAP + rb",")
_DEVICE = re.compile(rb"\b[Dd]evice\b" + _GAP + rb"(?:\w+" + _GAP + rb")?[({]" + _GAP + rb"(?=\"(?P<text>[^\"]*)\")")
_HALF = _LISTS.compile(rb"\b(?P<value>[A-Za-z_]\w*)\.operator\s+(?P<type>(?&halves))" + _GAP + rb"\(" + _GAP + rb"\)")
_STRING = _LISTS.compile(rb"\"(?&moves)(?::\d+)?\"")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each name of the GPU."""
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
