# SPDX-License-Identifier: Apache-2.0
"""Replace arithmetic on the halves and bytes of a word, which HIP does not declare, by hipport's helpers.

`__vaddss4(a, b)` becomes `hipport::vaddss4(a, b)`, and `__dp4a(a, b, c)` becomes `hipport::dp4a(a, b, c)`. Each helper
returns the same bits as the CUDA function, for all arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit
from hipport.core.finding import Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp


@cache
def names() -> frozenset[str]:
    """Return the names of CUDA's functions that `hipport/simd.h` has."""
    groups = load(Path(__file__).with_suffix(".toml"))["helpers"].values()
    return frozenset(name for group in groups for name in group.split())


@cache
def _uses() -> LibraryNames:
    return LibraryNames(frozenset(name.encode() for name in names()))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of such a function."""
    for span, name in _uses().uses(source, project):
        helper = b"hipport::" + name[2:]
        need, header = include(source, project, "simd.h")
        yield Finding(
            span,
            "simd",
            f"{name.decode()} → {helper.decode()}",
            (Edit(span, helper), *((need,) if need else ())),
            creates=(header,),
        )


PASS = Pass(Cpp, find)
