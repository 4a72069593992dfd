# SPDX-License-Identifier: Apache-2.0
"""Turn assembly for GPUs that nothing has made C++ of into a fault that names it.

A program that comes by such a statement ends there; one that does not, runs. The assembly of CPUs is left alone: its
instructions have no types behind dots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Finding
from hipport.languages.cpp import Cpp
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

_ASM = re.compile(rb"\b(?:__asm__|__asm|asm)\b\s*(?:(?:volatile|__volatile__|__volatile|goto|inline)\b\s*)*\(")
_LITERAL = re.compile(rb'"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
# `mma.sync`, `ld.global`; also with the type in a hole or in another literal: `shfl.`
_PTX = re.compile(rb"(?:^|[\s;{}@])(?:trap|exit|brkpt|[a-z]\w*\.(?:[a-z]\w*|\Z))")
_MOST = 60


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per statement of assembly that no CPU has."""
    if b"asm" not in source.code:
        return
    for match in _ASM.finditer(source.code):
        end = source.closing(match.end() - 1)
        if end is None:
            continue
        inside = source.text[match.end() : end]
        # The text ends where the first operands begin.
        operands = source.code.find(b":", match.end(), end)
        text = b"".join(_LITERAL.findall(inside[: operands - match.end() if operands >= 0 else None]))
        if not _PTX.search(text.replace(b"\\n", b" ").replace(b"\\t", b" ")):
            continue
        shown = b" ".join(text.replace(b"\\n", b" ").replace(b"\\t", b" ").split())[:_MOST].replace(b"\\", b"")
        lines = b"".join(re.findall(rb"\\?\r?\n", source.text[match.start() : end + 1]))
        new = b'::simt::fault("unsupported", {__FILE__, __LINE__}, "%s", "assembly: ' + shown + b'")' + lines
        message = f"{shown.decode(errors='replace')}: ends the program that comes here"
        yield Finding(Span(match.start(), end + 1), "left", message, (Edit(Span(match.start(), end + 1), new),))


PASS = Pass(Cpp, find)
