# SPDX-License-Identifier: Apache-2.0
"""Mark deduction guides as for host and device.

nvcc looks at the guides that a program writes for its class templates, `overload(Fs...) -> overload<Fs...>;`, in device
code too. clang takes one without attributes for the host's (clang 14 and 21, tried): device code that leaves a class's
arguments to it, `overload{…}`, does not compile, or gets what another guide says. With the attributes clang looks at it
in both. A guide makes no code, and nothing else changes.

Left alone: guides in files that know no device code, which a host compiler may read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_GUIDE = re.compile(
    rb"(?:\bexplicit\s+)?(?<![\w:.>])(?P<name>[A-Za-z_]\w*)\s*\([^;{}]*\)\s*->\s*(?P=name)\s*<[^;{}]*>\s*;"
)
_DEVICE = re.compile(rb"\b__(?:host|device|global)__\b")
_ATTRIBUTES = b"__host__ __device__ "
_COMPILED_FOR_DEVICE = frozenset((".cu", ".cuh", ".hip"))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per deduction guide that device code may look at."""
    code = source.code
    if b"->" not in code or (source.path.suffix not in _COMPILED_FOR_DEVICE and not _DEVICE.search(code)):
        return
    for match in _GUIDE.finditer(code):
        start = match.start()
        declaration = max(code.rfind(end, 0, start) for end in (b";", b"{", b"}")) + 1
        if source.directive(start) is not None or _DEVICE.search(code, declaration, start):
            continue
        if source.ported(start):
            continue
        message = "clang takes a deduction guide without attributes for the host only: this one is for both"
        yield Finding(Span(*match.span("name")), "guide", message, (Edit(Span(start, start), _ATTRIBUTES),))


PASS = Pass(Cpp, find)
