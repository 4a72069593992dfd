# SPDX-License-Identifier: Apache-2.0
"""Turn assembly for GPUs that no pass has turned into C++ into a fault that names it.

A program that reaches such a statement ends there; one that does not, runs. Assembly for CPUs is left alone: its
instructions have no types after dots, as PTX has, and no underscores, as AMD's have.

In originals, barriers with a number become the runtime's: PTX's `bar.sync`, `bar.arrive` and their longer forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_ASM = re.compile(rb"\b(?:__asm__|__asm|asm)\b\s*(?:(?:volatile|__volatile__|__volatile|goto|inline)\b\s*)*\(")
_LITERAL = re.compile(
    rb'R"(?P<mark>[^\s()\\"]{0,16})\((?P<raw>.*?)\)(?P=mark)"|"(?P<plain>(?:[^"\\\n]|\\.)*)"', re.DOTALL
)
# `mma.sync`, `ld.global`; also with the type in a macro or in another literal: `shfl.`. Then AMD's, by the prefixes in
# LLVM's AMDGPU operand syntax: `s_nop`, `v_mov_b32`, `ds_read_b32`.
_OF_GPUS = re.compile(
    rb"(?:^|[\s;{}@])(?:trap|exit|brkpt|[a-z]\w*\.(?:[a-z]\w*|\Z)"
    rb"|(?:s|v|ds|buffer|global|flat|scratch|image|tbuffer)_[a-z]\w*)"
)
_MOST = 60
_BARRIER = re.compile(
    rb"\s*bar(?:rier)?(?:\.cta)?\.(?P<what>sync|arrive)(?:\.aligned)?\s+(?P<number>%?\w+|%\[\w+\])\s*"
    rb"(?:,\s*(?P<threads>%?\w+|%\[\w+\])\s*)?;?\s*"
)
_INPUT = re.compile(rb'\s*(?:\[\s*(?P<name>\w+)\s*\]\s*)?"[^"\n]*"\s*\(')


def find_cuda(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each assembly statement that is not for a CPU, in a CUDA program."""
    yield from _find(source, barriers=True)


def find_hip(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each assembly statement that is not for a CPU, in a HIP program."""
    yield from _find(source, barriers=False)


def _find(source: Cpp, *, barriers: bool) -> Iterator[Finding]:
    if b"asm" not in source.code:
        return
    for match in _ASM.finditer(source.code):
        end = source.closing(match.end() - 1)
        if end is None:
            continue
        inside = source.text[match.end() : end]
        # The text ends where the operands begin.
        operands = source.code.find(b":", match.end(), end)
        text = b"".join(map(_written, _LITERAL.finditer(inside[: operands - match.end() if operands >= 0 else None])))
        if not _OF_GPUS.search(text.replace(b"\\n", b" ").replace(b"\\t", b" ")):
            continue
        span = Span(match.start(), end + 1)
        shown = b" ".join(text.replace(b"\\n", b" ").replace(b"\\t", b" ").split())[:_MOST].replace(b"\\", b"")
        lines = b"".join(re.findall(rb"\\?\r?\n", source.text[span.start : span.end]))
        barrier = _barrier(source, text, operands, end) if barriers else None
        if barrier is not None:
            yield Finding(span, "barrier", "", (Edit(span, barrier + lines),))
            continue
        new = b'::simt::fault("unsupported", {__FILE__, __LINE__}, "%s", "assembly: ' + shown + b'")' + lines
        message = f"{shown.decode(errors='replace')}: a program that reaches this stops"
        yield Finding(span, "left", message, (Edit(span, new),))


def _written(literal: re.Match[bytes]) -> bytes:
    """Return the text of a literal as in a plain one: line ends become `\\n`."""
    raw = literal["raw"]
    return literal["plain"] if raw is None else b"\\n".join(raw.replace(b'"', b"'").splitlines())


def _barrier(source: Cpp, text: bytes, operands: int, end: int) -> bytes | None:
    """Return the runtime's barrier for a statement with that text, whose operands end at `end`."""
    match = _BARRIER.fullmatch(text.replace(b"\\n", b" ").replace(b"\\t", b" "))
    if match is None:
        return None
    named: dict[bytes, bytes] = {}
    if operands >= 0:
        # There are no outputs: the operand follows the second colon.
        colon = source.code.find(b":", operands + 1, end)
        if source.code[operands + 1 : colon if colon >= 0 else end].strip():
            return None
        at = colon + 1 if colon >= 0 else end
        while (given := _INPUT.match(source.text, at, end)) is not None:
            closing = source.closing(given.end() - 1)
            if closing is None:
                return None
            expression = b"(" + b" ".join(source.text[given.end() : closing].split()) + b")"
            named[b"%" + str(len(named)).encode()] = expression
            if given["name"]:
                named[b"%[" + given["name"] + b"]"] = expression
            comma = re.compile(rb"\s*,").match(source.code, closing + 1, end)
            if comma is None:
                break
            at = comma.end()
    values = []
    for word in (match["number"], match["threads"] or b"0"):
        value = named.get(word) if word.startswith(b"%") else word if word.isdigit() else None
        if value is None:
            return None
        values.append(value)
    arrives = b"true" if match["what"] == b"arrive" else b"false"
    return b"::simt::barrier_of(" + b", ".join([*values, arrives]) + b", {__FILE__, __LINE__})"


CUDA = Pass(Cpp, find_cuda)
HIP = Pass(Cpp, find_hip)
