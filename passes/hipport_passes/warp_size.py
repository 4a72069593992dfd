# SPDX-License-Identifier: Apache-2.0
"""Replace `warpSize` by the 32 that CUDA code means.

On AMD `warpSize` is the size of the wavefront: 64 on CDNA, where the program's warps still have 32 lanes, and since
ROCm 7 it is no constant expression. `hipport::warp_size` is 32 everywhere, and a constant. The member of the device's
properties follows where host code computes with it; where it is only printed it stays what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Certainty, Finding
from hipport.headers import include
from hipport.languages.cpp import Cpp, within
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

_NAME = re.compile(rb"\bwarpSize\b")
_DECLARED = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+warpSize\b"
    # After a type; after a name and `*` only a built-in type tells a declaration from a product.
    rb"|\b(?:(?!(?:return|case|else|throw|delete|sizeof|and|or|not)\b)[A-Za-z_]\w*[ \t]+"
    rb"|(?:int|unsigned|long|short|auto|size_t|u?int\d+_t)[ \t]*[&*][ \t]*)warpSize[ \t]*[;=,){\[]",
    re.MULTILINE,
)
# The expression in front of `.warpSize`, read backwards: names, calls and subscripts, joined by dots and arrows.
_OBJECT = re.compile(rb"(?:(?:::)?[A-Za-z_]\w*(?:\[[^\[\]]*\]|\([^()]*\))*(?:\s*(?:\.|->)\s*))+$")
_PRINTS = re.compile(rb"(?:printf|<<|\bcout\b|\bprint\w*|\blog\w*)", re.IGNORECASE)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per `warpSize` that is CUDA's."""
    if b"warpSize" not in source.text:
        return
    if any(isinstance(other, Cpp) and other.fact(_declares) for other in project.component(source)):
        return
    code = source.code
    need, header = include(source, project, "warp.h")
    for span, _ in source.names(_NAME):
        if within(span.start, source.hip_only) or within(span.start, source.cuda_only):
            continue
        before = code[max(0, span.start - 200) : span.start]
        certainty, message = Certainty.SAFE, "warpSize → hipport::warp_size, which is 32"
        if before.rstrip().endswith((b".", b"->")):
            object_ = _OBJECT.search(before)
            statement = re.split(rb"[;{}]", before)[-1]
            if object_ is None or _PRINTS.search(statement) or re.match(rb"\s*=[^=]", code[span.end :]):
                continue
            span = Span(span.start - len(before) + object_.start(), span.end)
            certainty = Certainty.REVIEW
            name = source[span].decode("utf-8", "replace")
            message = f"{name} → hipport::warp_size: assumes that the program's warps are meant"
        elif before.rstrip().endswith(b"::"):
            continue
        edits = (Edit(span, b"hipport::warp_size"), *((need,) if need else ()))
        yield Finding(span, "logical", message, edits, certainty, (header,))


def _declares(source: Cpp) -> bool:
    return _DECLARED.search(source.code) is not None


PASS = Pass(Cpp, find)
