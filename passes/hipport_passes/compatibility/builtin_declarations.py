# SPDX-License-Identifier: Apache-2.0
"""Delete declarations of names that CUDA has built in.

Some programs declare `threadIdx` or `__syncthreads` again, for an editor or a compiler that does not know them. For
nvcc this is redundant. With HIP it does not compile: HIP's `threadIdx` has a type of its own, and HIP has no
`__device_builtin__`, by which CUDA's headers mark such declarations. HIP's headers declare all of these names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES, VARIABLE

_WORDS = Words.read(Path(__file__).with_name("compatibility_words.toml"), general=NAMES)
_VARIABLE = _WORDS.compile(
    rb"\bextern\s+(?:(?:const|(?&declaring))\s+)*(?:(?&of_variables)|int)\s+(?:(?:const|(?&device_builtin))\s+)?"
    rb"(?:" + VARIABLE + rb"|(?&warp_size))\s*;"
)
_FUNCTION = _WORDS.compile(
    rb"\bextern\s+(?:[\w*]+\s+)*?(?&device_builtin)\s+(?:[\w*]+\s+)*\**\s*\w+\s*\([^(){};]*\)\s*(?:throw\s*\(\s*\)\s*)?;"
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
