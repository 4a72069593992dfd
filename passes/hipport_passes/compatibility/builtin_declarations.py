# SPDX-License-Identifier: Apache-2.0
"""Delete declarations of names that CUDA has built in.

Some programs declare `threadIdx` or `__syncthreads` again, for an editor or a compiler that does not know them. For
nvcc this is redundant. With HIP it does not compile: HIP's `threadIdx` has a type of its own, and HIP has no
`__device_builtin__`, by which CUDA's headers mark such declarations. HIP's headers declare all of these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import VARIABLE

_VARIABLE = re.compile(
    rb"\bextern\s+(?:(?:const|__device__|__device_builtin__)\s+)*(?:uint3|dim3|int)\s+(?:(?:const|__device_builtin__)\s+)?"
    rb"(?:" + VARIABLE + rb"|warpSize)\s*;"
)
_FUNCTION = re.compile(
    rb"\bextern\s+(?:[\w*]+\s+)*?__device_builtin__\s+(?:[\w*]+\s+)*\**\s*\w+\s*\([^(){};]*\)\s*(?:throw\s*\(\s*\)\s*)?;"
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per declaration of a variable or a function that is built in."""
    if b"extern" not in source.words:
        return
    for pattern in (_VARIABLE, _FUNCTION):
        for match in pattern.finditer(source.code):
            span = Span(*match.span())
            if source.directive(span.start) is not None or within(span.start, source.hip_only):
                continue
            if within(span.start, source.cuda_only):
                continue
            yield Finding(span, "again", "HIP's headers already declare it", (Edit(span, b""),))


PASS = Pass(Cpp, find)
