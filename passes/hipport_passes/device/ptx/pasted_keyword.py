# SPDX-License-Identifier: Apache-2.0
"""Find places where the keyword asm is pasted together: `CAT(as, m)("…")`, `as##m`. Only the compiler sees its
statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Span
from hipport.syntax.cpp import Cpp, within

_KEYWORDS = frozenset((b"asm", b"__asm__", b"__asm"))
# The arguments of a macro, the first of which is a beginning of the keyword.
_GIVEN = re.compile(rb"\b(?P<name>[A-Za-z_]\w*)\s*\(\s*(?P<parts>(?:__?|(?:__)?as?|__asm_?)\s*(?:,\s*\w+\s*)+)\)")
_OPERATOR = re.compile(rb"\b(?:__?|(?:__)?as?|__asm_?)(?:\s*##\s*\w+)+")
_PART = re.compile(rb"\w+")


def pasted_keywords(source: Cpp) -> Iterator[Span]:
    """Yield the places where the parts of asm are passed to a macro, or stand beside ##."""
    for pattern in (_GIVEN, _OPERATOR):
        for match in pattern.finditer(source.code):
            parts = match["parts"] if pattern is _GIVEN else match[0]
            if b"".join(_PART.findall(parts)) not in _KEYWORDS:
                continue
            # Code that only AMD's compiler sees is for its assembler.
            if not source.ported(match.start()) and not within(match.start(), source.hip_only):
                yield Span(*match.span())
