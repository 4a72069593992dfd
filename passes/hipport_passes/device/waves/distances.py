# SPDX-License-Identifier: Apache-2.0
"""The range of shuffles: one by `lane ^ k` stays in the lane's half of a wavefront if `k` is below 32.

Its result is the same on wavefronts of 32 and of 64 lanes, so it is compatible with code that counts 32.
"""

from __future__ import annotations

import re

from hipport.analysis import constant_values
from hipport.analysis.functions import function_at
from hipport.analysis.references import NamedDefinition
from hipport.core.edits import Span
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp, within

_LANES = 32
_WORD = re.compile(rb"[A-Za-z_]\w*")
_HALF = re.compile(rb"([A-Za-z_]\w*)\s*(?:/\s*2|>>\s*1)")
_EQUAL = re.compile(rb"\s*([A-Za-z_]\w*)\s*==\s*(\d+)\s*")
# A parameter in a function's declaration: its type and its name.
_DECLARED = re.compile(rb"(?:[A-Za-z_][\w:]*(?:\s+|\s*[*&]+\s*))+[A-Za-z_]\w*")
_CHANGES = rb"(?:\+\+|--|&)\s*%b\b|\b%b\s*(?:\+\+|--|(?:[-+*/%%&|^]|<<|>>)?=(?!=))"
# The number of bytes that are searched backwards for a size or the head of a loop.
_NEAR = 1000


def stays_in_half(component: Component, definition: NamedDefinition, distance: Span) -> bool:
    """Return whether a number of lanes in `definition` is known to be below 32.

    By its value, by the loop that halves it, as half of a number that an assertion limits to 32, and for a parameter by
    the arguments of all calls.
    """
    source = definition.source
    text = source.code[distance.start : distance.end].strip()
    function = definition.function
    if function is None:
        return _is_small(component, source, text, distance.start)
    declared = source.code[function.node.start_byte : function.body.start_byte].rstrip()
    head = re.search(rb"([A-Za-z_]\w*)\s*\(([^()]*)\)\s*\Z", declared)
    if head is None:
        return False
    names = [_WORD.findall(each)[-1:] for each in head[2].split(b",")]
    if [text] not in names:
        return _is_small(component, source, text, distance.start)
    place = names.index([text])
    calls = [
        (file, span)
        for file in component
        if isinstance(file, Cpp)
        for span, _ in file.names({head[1]})
        if not within(span.start, file.cuda_only)
        and not (file is source and function.node.start_byte <= span.start < function.body.start_byte)
    ]
    return bool(calls) and all(_gives_small(component, file, span, place) for file, span in calls)


def _gives_small(component: Component, source: Cpp, call: Span, place: int) -> bool:
    """Return whether a call's argument is below 32, or the call is only a declaration of the function."""
    opening = re.compile(rb"\s*\(").match(source.code, call.end)
    given = source.arguments(opening.end() - 1) if opening is not None else None
    if given is None or place >= len(given):
        return False
    text = source.code[given[place].start : given[place].end].strip()
    caller = function_at(source, call.start)
    if caller is None:
        return _DECLARED.fullmatch(text) is not None
    taken = source.code[caller.node.start_byte : caller.body.start_byte]
    return not re.search(rb"\b%b\b" % re.escape(text), taken) and _is_small(component, source, text, given[place].start)


def _is_small(component: Component, source: Cpp, text: bytes, offset: int) -> bool:
    function = function_at(source, offset)
    begin = max(function.node.start_byte if function is not None else 0, offset - _NEAR)
    before = source.code[begin:offset]
    # An assertion may stand in the class around the function.
    near = source.code[max(0, offset - _NEAR) : offset]
    if half := _HALF.fullmatch(text):
        return _is_at_most(component, near, half[1])
    # The nearest definition counts, before definitions of the same name elsewhere.
    made = list(re.finditer(rb"\b%b\s*=(?!=)\s*([^;,]*);" % re.escape(text), before)) if _WORD.fullmatch(text) else []
    if not made:
        known = constant_values.value_in(component, text)
        return known is not None and 0 <= known < _LANES
    first, behind = made[-1][1].strip(), before[made[-1].end() :]
    loop = re.match(
        rb"[^;]*;\s*(?:%b\s*(?:>>=\s*1|/=\s*2)|%b\s*=\s*%b\s*(?:>>\s*1|/\s*2))\s*\)" % ((text,) * 3), behind
    )
    if loop is None and not re.search(rb"\bconst(?:expr)?\b[^;]*\Z", before[: made[-1].start()]):
        return False
    # Other changes of it, or possible changes through its address.
    if loop is not None and re.search(_CHANGES % ((text,) * 2), behind[loop.end() :]):
        return False
    known = constant_values.value_in(component, first)
    if known is not None:
        return 0 <= known < _LANES
    half = _HALF.fullmatch(first)
    return half is not None and _is_at_most(component, near, half[1])


def _is_at_most(component: Component, before: bytes, name: bytes) -> bool:
    """Return whether a size is at most 32: by its value, or by an assertion."""
    known = constant_values.value_in(component, name)
    if known is not None:
        return 0 <= known <= _LANES
    for asserted in re.finditer(rb"\bstatic_assert\s*\(([^;]*?)(?:,[^;,]*)?\)\s*;", before):
        parts = [_EQUAL.fullmatch(each) for each in asserted[1].split(b"||")]
        if all(each is not None and each[1] == name and int(each[2]) <= _LANES for each in parts) and _is_open(
            before[asserted.end() :]
        ):
            return True
    return False


def _is_open(code: bytes) -> bool:
    """Return whether the braces around the start of some code are still open at its end."""
    depth = 0
    for brace in re.findall(rb"[{}]", code):
        depth += 1 if brace == b"{" else -1
        if depth < 0:
            return False
    return True
