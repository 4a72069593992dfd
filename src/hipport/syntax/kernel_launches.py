# SPDX-License-Identifier: Apache-2.0
"""Launches as written, part by part: from the first byte of the kernel to the bracket after the arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.syntax.cpp import Cpp, template_arguments
from hipport.syntax.cuda import launch_closing, launch_openings

#: White space, and the backslashes that splice the lines of a macro.
_BLANK = b" \t\r\n\\"
_WORD = re.compile(rb"\w*\Z")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+\w+(\([^()]*\))?")
_OPEN = {b")": b"(", b"]": b"[", b"}": b"{"}
_NEXT = re.compile(rb"(?:[ \t\r\n]|\\(?=\s))*\(")
_TOKEN = re.compile(rb"[()\[\]{},<]")
#: Words that cannot begin an operand.
_KEYWORDS = frozenset(b"if for while switch return else do case catch co_return co_yield co_await throw goto".split())


class WrittenLaunch(NamedTuple):
    """`kernel<<<configuration>>>(arguments)`.

    `kernel` is the whole operand, trimmed; None where its beginning was not found. `arguments` is the pair of brackets
    with its contents; None if none follow, as in `k<<<1, 1>>> args` in a macro. `floor` is where the text that contains
    the launch begins: after a directive, or after the name of a macro.
    """

    kernel: Span | None
    opening: Span
    configuration: tuple[Span, ...]
    closing: Span
    arguments: Span | None
    floor: int


def written(source: Cpp) -> Iterator[WrittenLaunch | Span]:
    """Yield the launches of `source`, also in macros; only the opening bracket where no closing one was found."""
    code = source.code
    for opening in launch_openings(source):
        closing = launch_closing(source, opening.end, anywhere_in_macros=True)
        if closing is None:
            yield opening
            continue
        floor = _floor(source, opening.start)
        called = _NEXT.match(code, closing.end)
        end = source.closing(called.end() - 1) if called else None
        yield WrittenLaunch(
            _kernel(source, opening.start, floor),
            opening,
            tuple(_parts(source, Span(opening.end, closing.start))),
            closing,
            Span(called.end() - 1, end + 1) if called and end is not None else None,
            floor,
        )


def back(code: bytes, offset: int, floor: int) -> int:
    """Return where the text before `offset` ends, ignoring blanks."""
    while offset > floor and code[offset - 1] in _BLANK:
        offset -= 1
    return offset


def _floor(source: Cpp, offset: int) -> int:
    directive = source.directive_before(offset)
    if directive is None or offset >= directive.end:
        return directive.end if directive else 0
    define = _DEFINE.match(source.code, directive.start, offset)
    return define.end() if define else directive.start


def _parts(source: Cpp, span: Span) -> Iterator[Span]:
    """Yield the parts of a configuration between its commas, ignoring those in template arguments."""
    code, depth, start = source.code, 0, span.start
    passed = span.start
    for match in _TOKEN.finditer(code, span.start, span.end):
        token = match.group()
        if match.start() < passed:
            continue
        if token == b"<":
            end = _template_end(code, match.start(), span.end)
            passed = end or passed
        elif token == b",":
            if not depth:
                yield source.trimmed(Span(start, match.start()))
                start = match.end()
        else:
            depth += 1 if token in b"([{" else -1
    yield source.trimmed(Span(start, span.end))


def _template_end(code: bytes, opening: int, limit: int) -> int | None:
    """Return the end of the template arguments at `opening`; None if no name precedes them or no use follows."""
    before, after = code[opening - 1 : opening], code[opening + 1 : opening + 2]
    if not (before.isalnum() or before == b"_") or after in (b"<", b"="):
        return None
    arguments = template_arguments(code, opening)
    if arguments is None:
        return None
    end = code.find(b">", arguments[-1].end) + 1
    return end if end <= limit and re.compile(rb"\s*(?:[({:,)]|$)").match(code, end, limit) else None


def _kernel(source: Cpp, end: int, floor: int) -> Span | None:
    """Return the operand that ends at `end`: names with their namespaces and arguments, members, elements, calls."""
    code = source.code
    at = last = back(code, end, floor)
    while True:
        token = code[at - 1 : at] if at > floor else b""
        if token == b">":
            opening = _template(code, at - 1, floor)
            at = back(code, opening, floor) if opening is not None else floor
            start = _word(code, at, floor)
            if start == at:
                return None
        elif token in (b")", b"]"):
            opening = _opening(code, at - 1, floor)
            if opening is None:
                return None
            before = back(code, opening, floor)
            start = _word(code, before, floor)
            word = code[start:before]
            ends = code[before - 1 : before] if before > floor else b""
            if token == b"]" or (word and word not in _KEYWORDS) or ends in (b">", b"]"):
                # An element, or the result of a call.
                if ends not in (b">", b"]", b")") and not word:
                    return None
                at = before
                continue
            start = opening
        else:
            start = _word(code, at, floor)
            if start == at or code[start:at] in _KEYWORDS or code[start : start + 1].isdigit():
                return None
        before = back(code, start, floor)
        if code[floor:before].endswith((b"##", b".", b"->")):
            at = back(code, before - (1 if code[before - 1 : before] == b"." else 2), floor)
        elif code[floor:before].endswith(b"::"):
            start = before - 2
            at = back(code, start, floor)
            word = code[_word(code, at, floor) : at]
            if not (word and word not in _KEYWORDS) and code[at - 1 : at] != b">":
                return Span(start, last)
        else:
            return Span(start, last)


def _word(code: bytes, end: int, floor: int) -> int:
    match = _WORD.search(code, max(floor, end - 200), end)
    return match.start() if match else end


def _opening(code: bytes, closing: int, floor: int) -> int | None:
    """Return the partner of the bracket at `closing`."""
    wanted: list[bytes] = []
    for at in range(closing, max(floor, closing - 4000) - 1, -1):
        token = code[at : at + 1]
        if token in _OPEN:
            wanted.append(_OPEN[token])
        elif token in (b"(", b"[", b"{"):
            if wanted.pop() != token:
                return None
            if not wanted:
                return at
    return None


def _template(code: bytes, closing: int, floor: int) -> int | None:
    """Return the `<` of the template arguments that end at `closing`."""
    depth = 0
    at = closing
    while at >= max(floor, closing - 4000):
        token = code[at : at + 1]
        if token in _OPEN:
            opening = _opening(code, at, floor)
            if opening is None:
                return None
            at = opening
        elif token == b">" and code[at - 1 : at] != b"-":
            depth += 1
        elif token == b"<" and code[at + 1 : at + 2] != b"=":
            depth -= 1
            if not depth:
                return at
        elif token in (b";", b"(", b"[", b"{"):
            return None
        at -= 1
    return None
