# SPDX-License-Identifier: Apache-2.0
"""Mark deduction guides as for host and device.

nvcc also uses a program's guides for its class templates, `overload(Fs...) -> overload<Fs...>;`, in device code. To
clang a guide without attributes is for the host only (clang 14 and 21, tried): device code that relies on deduction,
`overload{…}`, does not compile, or uses another guide. With the attributes clang uses the guide in both. A guide
generates no code, and nothing else changes.

Guides in files without device code stay, because a host compiler may read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import SPACE

_GUIDE = re.compile(
    rb"(?:\bexplicit\s+)?(?<![\w:.>])(?P<name>[A-Za-z_]\w*)\s*\([^;{}]*\)\s*->\s*(?P=name)\s*<[^;{}]*>\s*;"
)
_DEVICE = re.compile(rb"\b" + SPACE + rb"\b")
_ATTRIBUTES = b"__host__ __device__ "
_COMPILED_FOR_DEVICE = frozenset((".cu", ".cuh", ".hip"))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per deduction guide that device code may use."""
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
        message = "clang treats a deduction guide without attributes as host-only: this one becomes __host__ __device__"
        yield Finding(Span(*match.span("name")), "guide", message, (Edit(Span(start, start), _ATTRIBUTES),))


PASS = Pass(Cpp, find)
