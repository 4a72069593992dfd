# SPDX-License-Identifier: Apache-2.0
"""Conditions as text: which exclude each other (`x < n`, `x >= n`), and which a place in a macro depends on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

from hipport.analysis.macros import branches
from hipport.analysis.transitive_callers import Text

# Longer conditions are not followed into functions.
_LONGEST = 200
WORD = re.compile(rb"[A-Za-z_]\w*")
_COMPARISON = re.compile(rb"([^<>=!&|]+)(<=|>=|==|!=|<|>)([^<>=!&|]+)")
_OPPOSITE = {b"<": b">=", b">=": b"<", b">": b"<=", b"<=": b">", b"==": b"!=", b"!=": b"=="}
_MIRRORED = {b"<": b">", b"<=": b">=", b">": b"<", b">=": b"<=", b"==": b"==", b"!=": b"!="}
#: Stands for a condition that is not known: any other condition may exclude it.
MORE = b"\0"
_NUMBER = re.compile(rb"-?\d\w*|true|false|NULL|nullptr")


def exclude(one: bytes, other: bytes) -> bool:
    """Whether two conditions look as if they cannot both hold."""
    if MORE in (one, other):
        return True
    first, second = compared(one), compared(other)
    if _excludes(first, second):
        return True
    # `a < b` and `b <= a`; but equal numbers as operands do not show that the conditions are related.
    numbers = _NUMBER.fullmatch(first[2]) or _NUMBER.fullmatch(second[2])
    return not numbers and (_excludes(_mirrored(first), second) or _excludes(first, _mirrored(second)))


@lru_cache(maxsize=1 << 14)
def _mirrored(comparison: tuple[bytes, bytes, bytes]) -> tuple[bytes, bytes, bytes]:
    left, sign, right = comparison
    return right, _MIRRORED[sign], left


def _excludes(one: tuple[bytes, bytes, bytes], other: tuple[bytes, bytes, bytes]) -> bool:
    (left, sign, right), (other_left, other_sign, other_right) = one, other
    if left != other_left:
        return False
    if right == other_right:
        return other_sign == _OPPOSITE.get(sign) or {sign, other_sign} in ({b"<", b">"}, {b"==", b"<"}, {b"==", b">"})
    return sign == other_sign == b"==" or sorted((sign[:1], other_sign[:1])) == [b"<", b">"]


@lru_cache(maxsize=1 << 14)
def compared(condition: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the left operand of a comparison, its operator and the right operand; a lone `x` is compared with 0."""
    text, holds = squeezed(condition), True
    while text.startswith(b"!") and not text.startswith(b"!="):
        text, holds = squeezed(text[1:]), not holds
    left, sign, right = _comparison(text)
    left, right = squeezed(left), squeezed(right)
    if _NUMBER.fullmatch(left):
        # `0 < x` is `x > 0`.
        left, sign, right = right, _MIRRORED[sign], left
    right = b"0" if right in (b"false", b"NULL", b"nullptr") else right
    if right == b"true" and sign in (b"==", b"!="):
        right, holds = b"0", not holds
    return left, sign if holds else _OPPOSITE[sign], right


def _comparison(text: bytes) -> tuple[bytes, bytes, bytes]:
    """Split a comparison into its parts; other text is compared with 0."""
    # The contents of parentheses are skipped, but kept.
    outermost = bytearray(text)
    depth = 0
    for i, each in enumerate(text):
        depth -= each in b")]"
        if depth > 0:
            outermost[i] = 0x5F
        depth += each in b"(["
    match = _COMPARISON.fullmatch(outermost)
    if match is None:
        return text, b"!=", b"0"
    return text[: match.end(1)], match[2], text[match.start(3) :]


@lru_cache(maxsize=1 << 14)
def with_arguments(condition: bytes, parameters: tuple[bytes, ...], given: tuple[bytes, ...]) -> bytes:
    """Return a condition with parameters replaced by arguments; empty if it gets too long, or one is not seen."""
    words = set(parameters).intersection(WORD.findall(condition))
    values = dict(zip(parameters, given, strict=False))
    if not words <= values.keys():
        return b""
    text = WORD.sub(lambda match: values.get(match.group(), match.group()), condition)
    return text if len(text) <= _LONGEST else b""


def conditions_of(macro: Text, place: int) -> Iterator[bytes]:
    """Yield the conditions of the `if`s in a macro on which `place` is control dependent."""
    for each in branches(macro.source.code[macro.start : macro.end].replace(b"\\", b" ")):
        for sign, (start, end) in ((b"", each.yes), (b"!", each.no)):
            if start <= place - macro.start < end:
                yield sign + squeezed(each.condition)


def squeezed(text: bytes) -> bytes:
    """Return code without white space, and without enclosing parentheses."""
    squeezed = b"".join(text.split())
    while squeezed.startswith(b"(") and squeezed.endswith(b")"):
        depths = list(accumulate((byte == 0x28) - (byte == 0x29) for byte in squeezed))
        if 0 in depths[:-1]:
            break
        squeezed = squeezed[1:-1]
    return squeezed
