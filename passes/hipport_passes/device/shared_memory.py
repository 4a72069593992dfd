# SPDX-License-Identifier: Apache-2.0
"""Report shared memory beyond a block's limit on AMD: 64 KiB, and 160 KiB on gfx950.

CUDA's blocks have 48 KiB, and up to 227 KiB where `cudaFuncSetAttribute` asks for it. The pass finds arrays in
`__shared__` variables of a function, the third argument of a launch, and the size that the attribute is set to, if
they are constants, or variables that were declared with one and not changed. Static arrays that are too large do not
compile for AMD. The others fail at run time, and only a later call reports the failed launch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.analysis.constant_values import size, value
from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda import launches
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import heads

# LLVM, AMDGPU usage guide: local memory of a work-group, in bytes; only gfx950 has more.
_BYTES = 65536
_BYTES_OF = {"gfx950": 163840}
_ATTRIBUTE = frozenset((b"cudaFuncSetAttribute", b"hipFuncSetAttribute"))
_CALL = re.compile(rb"\s*\(")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
_DYNAMIC = _WORDS.compile(rb"\b(?&platforms)(?&shared_limit)\b")
_ARRAY = _WORDS.compile(
    rb"(?&shared)(?<!\w(?&shared))\s+(?:(?&align)\s*\([^()]*\)\s*|alignas\s*\([^()]*\)\s*|volatile\s+)*"
    rb"(?P<type>[A-Za-z_][\w:\s]*?(?:\s*\*)?)\s*\b(?P<name>[A-Za-z_]\w*)\s*(?P<extents>(?:\[[^\[\]]+\]\s*)+);"
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per function, launch and attribute that requests more than one of the targets has."""
    if b"__shared__" in source.code:
        yield from _arrays(source, project)
    for span, _ in source.names(_ATTRIBUTE, _CALL):
        arguments = source.arguments(source.code.index(b"(", span.end)) or ()
        if len(arguments) == 3 and _DYNAMIC.search(source.code, arguments[1].start, arguments[1].end):
            yield from _checked(source, project, arguments[2], "dynamic")
    for launch in launches(source):
        if len(launch.configuration) > 2:
            yield from _checked(source, project, launch.configuration[2], "dynamic")


def _checked(source: Cpp, project: Project, span: Span, kind: str) -> Iterator[Finding]:
    text = source.code[span.start : span.end]
    amount = value(source, project, text)
    if amount is None and (given := _given(source, span)) is not None:
        amount = value(source, project, given)
    if amount is not None:
        yield from _too_much(source, project, span, kind, amount)


def _given(source: Cpp, use: Span) -> bytes | None:
    """Return the initial value of a function's variable, if it certainly still has it at the use."""
    name = source.code[use.start : use.end].strip()
    if not _NAME.fullmatch(name):
        return None
    code = source.code[: use.start]
    declared = list(
        # With or without other declarators before and after it.
        re.finditer(
            rb"\b(?:int|unsigned|size_t|long|auto|u?int\d+_t)\s+(?:[^;{}]*,\s*)?" + name + rb"\s*=\s*([^;,]+)[;,]", code
        )
    )
    if not declared:
        return None
    between = code[declared[-1].end() :]
    depth = 0
    for bracket in re.findall(rb"[{}]", between):
        depth += 1 if bracket == b"{" else -1
        if depth < 0:
            return None  # The variable belongs to another block.
    changed = rb"(?:\+\+|--|&)\s*\b" + name + rb"\b|\b" + name + rb"\b\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
    return None if re.search(changed, between) else declared[-1][1]


def _too_much(source: Cpp, project: Project, span: Span, kind: str, amount: int) -> Iterator[Finding]:
    lacking = [arch for arch in project.target.archs if amount > _BYTES_OF.get(arch.partition(":")[0], _BYTES)]
    if not lacking or source.ported(span.start):
        return
    message = (
        f"{amount} bytes of shared memory: a block has {_BYTES} on {', '.join(lacking)}; use smaller tiles, or keep a "
        "part in registers or in global memory"
    )
    yield Finding(span, kind, message, certainty=Certainty.MANUAL)


def _arrays(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find functions whose arrays are together too large."""
    found: list[tuple[re.Match[bytes], int]] = []
    for match in _ARRAY.finditer(source.code):
        amount = size(match["type"])
        for extent in re.findall(rb"\[([^\[\]]+)\]", match["extents"]):
            number = value(source, project, extent)
            amount = None if amount is None or number is None else amount * number
        # The branches of an #if exclude each other.
        if amount is not None and not within(match.start(), source.conditional):
            found.append((match, amount))
    if sum(amount for _, amount in found) <= _BYTES:
        return  # The sum is within the limit, however it is divided among functions.
    totals: dict[int, int] = {}
    for match, amount in found:
        function = _function_start(source, match.start())
        before = totals.get(function, 0)
        totals[function] = before + amount
        if before <= _BYTES:
            yield from _too_much(source, project, Span(*match.span("name")), "static", totals[function])


def _function_start(source: Cpp, offset: int) -> int:
    """Return the start of the function around `offset`, 0 if there is none."""
    return min((head.start for head in heads(source, offset)), default=0)


PASS = Pass(Cpp, find)
