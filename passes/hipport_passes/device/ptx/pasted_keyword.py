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
# The arguments of a macro, the first of which is a beginning of the keyword. The name before them is looked for only
# there: a search from each word of a file takes long.
_GIVEN = re.compile(rb"\(\s*(?P<parts>(?:__?|(?:__)?as?|__asm_?)\s*(?:,\s*\w+\s*)+)\)")
_NAME = re.compile(rb"(?<!\w)[A-Za-z_]\w*\s*\Z")
_OPERATOR = re.compile(rb"\b(?:__?|(?:__)?as?|__asm_?)(?:\s*##\s*\w+)+")
#: The greatest length of a macro's name with the blanks after it.
_LONGEST = 200
_PART = re.compile(rb"\w+")


def pasted_keywords(source: Cpp) -> Iterator[Span]:
    """Yield the places where the parts of asm are passed to a macro, or stand beside ##."""
    code = source.code
    for match in _GIVEN.finditer(code):
        name = _NAME.search(code[max(match.start() - _LONGEST, 0) : match.start()])
        if name is not None and _makes_one(match["parts"]):
            yield from _seen(source, Span(match.start() - len(name[0]), match.end()))
    for match in _OPERATOR.finditer(code) if b"##" in code else ():
        if _makes_one(match[0]):
            yield from _seen(source, Span(*match.span()))


def _makes_one(parts: bytes) -> bool:
    return b"".join(_PART.findall(parts)) in _KEYWORDS


def _seen(source: Cpp, span: Span) -> Iterator[Span]:
    # Code that only AMD's compiler sees is for its assembler.
    if not source.ported(span.start) and not within(span.start, source.hip_only):
        yield span
