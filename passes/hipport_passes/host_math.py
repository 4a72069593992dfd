# SPDX-License-Identifier: Apache-2.0
"""Protect `std::max(a, b)` in host code from PyTorch's hipify: `(std::max)(a, b)`.

PyTorch's build takes `std::` from calls of some functions in `.cu` and `.cuh` files, wherever they stand. On the
device `::max` has the overloads of `std::max`. On the host HIP has it for `int`, and `std::max(0.5f, 0.0f)` becomes 0
without a word. In parentheses the call means the same and is left alone. Files that are connected to PyTorch's headers
are the ones that are hipified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Finding
from hipport.languages.cpp import Cpp, within
from hipport.languages.declarations import heads
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

# torch/utils/hipify/cuda_to_hip_mappings.py of PyTorch 2.13, MATH_TRANSPILATIONS; only what a bracket follows directly.
_CALL = re.compile(rb"\bstd::(?:max|min|ceil|floor|exp|log|pow|fabs|fmod|remainder|frexp)(?=\()")
_DEVICE = re.compile(rb"\b__(?:device|global)__\b")
_HOST = re.compile(rb"\b__host__\b")
_PYTORCH = ("torch/", "ATen/", "c10/")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per call that host code may execute."""
    if source.path.suffix not in (".cu", ".cuh") or b"std::" not in source.code:
        return
    if not project.together(source, _includes_pytorch):
        return
    for match in _CALL.finditer(source.code):
        start, end = match.span()
        if _only_device(source, start) or within(start, source.hip_only) or within(start, source.cuda_only):
            continue
        name = match.group().decode()
        edits = (Edit(Span(start, start), b"("), Edit(Span(end, end), b")"))
        yield Finding(Span(start, end), "std", f"{name} → ({name}), which PyTorch's hipify leaves alone", edits)


def _includes_pytorch(source: Cpp) -> frozenset[bool]:
    return frozenset({True}) if any(each.path.startswith(_PYTORCH) for each in source.includes) else frozenset()


def _only_device(source: Cpp, offset: int) -> bool:
    """Say whether `offset` is in a function, or lambda, that the host never calls."""
    for head in heads(source, offset):
        text = source.code[head.start : head.end]
        if _DEVICE.search(text):
            return _HOST.search(text) is None
    return False


PASS = Pass(Cpp, find)
