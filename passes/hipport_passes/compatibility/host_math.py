# SPDX-License-Identifier: Apache-2.0
"""Give host code the `max` and `min` that it has in CUDA, and protect `std::max(a, b)` from PyTorch's hipify.

nvcc declares `max` and `min` without a namespace for all types of numbers, on the host too. HIP has them there for
`int` only, and `max(0.5f, 0.0f)` silently becomes 0: files whose host code calls them get the other overloads from one
of hipport's headers. The same holds for functions that CUDA has for the host too, and HIP for the device only:
`rsqrt`, `normcdf`, `erfcinv` and others, computed by C's functions. `isnan` and its like come from math.h, which
CUDA's headers include and HIP's do not.

PyTorch's build removes `std::` from calls of some functions in `.cu` and `.cuh` files, in host code as well. On the
device `::max` has the overloads of `std::max`. In parentheses, `(std::max)(a, b)`, the call means the same, and hipify
leaves it alone. hipify converts the files that are connected to PyTorch's headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.analysis.functions import DEVICE, HOST
from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include, line_of, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import heads
from hipport_passes.names.pytorch_headers import includes_pytorch

_WORDS = Words.read(Path(__file__).with_name("compatibility_words.toml"), general=NAMES)
# torch/utils/hipify/cuda_to_hip_mappings.py of PyTorch 2.13, MATH_TRANSPILATIONS; only if a parenthesis follows
# directly.
_RENAMED = tuple(_WORDS["renamed"].split())
_CALL = _WORDS.compile(rb"(?<![\w:])(?:::)?(?&std)::(?&renamed)(?=\()")
_BEHIND = re.compile(rb"\s*\(")
_MIN_MAX = LibraryNames(frozenset((b"min", b"max")), _BEHIND)
# From crt/math_functions.h of CUDA 13.0: functions for the host that HIP lacks, and C's library before C23.
_FUNCTIONS = LibraryNames(
    frozenset(
        name + single
        for name in b"rsqrt rcbrt sinpi cospi sincospi normcdf normcdfinv erfinv erfcinv erfcx".split()
        for single in (b"", b"f")
    ),
    _BEHIND,
)
# Macros of C that <cmath> removes, and functions that math.h declares again in the global namespace.
_CLASSES = LibraryNames(
    frozenset(b"isnan isinf isfinite isnormal signbit fpclassify isgreater isless islessgreater isunordered".split()),
    _BEHIND,
)
_STD = _WORDS.compile(rb"using(?<!\wusing)\s+(?:namespace\s+(?&std)\b|(?&std)\s*::\s*is\w+)")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per call that host code may execute."""
    if not source.is_hipport_header:
        yield from _std(source, project)
        yield from _global(source, project)


def _std(source: Cpp, project: Project) -> Iterator[Finding]:
    if source.path.suffix not in (".cu", ".cuh") or b"std::" not in source.code:
        return
    if not project.union_over(source, includes_pytorch):
        return
    for match in _CALL.finditer(source.code):
        start, end = match.span()
        if _only_device(source, start) or source.ported(start):
            continue
        name = match.group().decode()
        edits = (Edit(Span(start, start), b"("), Edit(Span(end, end), b")"))
        yield Finding(Span(start, end), "std", f"{name} → ({name}), which PyTorch's hipify leaves alone", edits)


def _global(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find the first host call of each kind in files that are compiled as CUDA."""
    if source.for_host or project.union_over(source, _compiled_as) != {"cuda"}:
        return
    for wanted, kind, message in (
        (_MIN_MAX, "min_max", "{} of the host is for int only in HIP: the other overloads are in hipport/host_math.h"),
        (_FUNCTIONS, "function", "{} is for the device only in HIP: the host's is in hipport/host_math.h"),
    ):
        for span, name in wanted.uses(source, project):
            if _only_device(source, span.start):
                continue
            need, header = include(source, project, "host_math.h")
            if need is not None:
                yield Finding(span, kind, message.format(name.decode()), (need,), creates=with_included_headers(header))
            return  # That header includes math.h.
    if project.union_over(source, _has_classes):
        return
    for span, name in _CLASSES.uses(source, project):
        if not _only_device(source, span.start):
            point = line_of(source, "math.h")
            edits = (Edit(Span(point, point), b"#include <math.h>" + source.newline),)
            yield Finding(span, "math_h", f"{name.decode()} without std:: is a function of math.h: include it", edits)
            break


def _compiled_as(source: Cpp) -> frozenset[str]:
    """Return `cuda` for a source of CUDA's, and `hip` if somebody has ported it."""
    found = {"hip"} if any(each.path.startswith("hip/") for each in source.includes) else set()
    return frozenset(found | {"cuda"} if isinstance(source, Cuda) else found)


def _has_classes(source: Cpp) -> frozenset[str]:
    """Return the reasons why the functions for classes of numbers are declared."""
    found = {each.path for each in source.includes if each.path == "math.h"}
    return frozenset(found | {"std"} if _STD.search(source.code) else found)


def _only_device(source: Cpp, offset: int) -> bool:
    """Return whether `offset` is in a function or lambda that the host never calls."""
    for head in heads(source, offset):
        text = source.code[head.start : head.end]
        if DEVICE.search(text):
            return HOST.search(text) is None
    return False


PASS = Pass(Cpp, find)
