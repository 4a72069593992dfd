# SPDX-License-Identifier: Apache-2.0
"""Declarators: each name that a declaration introduces, its form, and its initial value.

    [each.name for each in declarators(b"int a, *p = f(x, y), b[n] = {0};", 3)]  # [b"a", b"p", b"b"]

Works on the text, so it works in macros and in code that the parser misreads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hipport.core.edits import Span

_NAMED = re.compile(
    rb"(?P<made>(?:\s|[*&]|\bconst\b|\bvolatile\b|\b__restrict(?:__)?\b|\[\[[^]]*\]\])*)"
    rb"(?!(?:const|volatile|__restrict__|__restrict)\b)\b(?P<name>[A-Za-z_]\w*)\s*(?=(?P<next>[=,;\[{()]|\Z))"
)
_BRACKET = re.compile(rb"[][(){},;]")
_OPENING = (b"(", b"[", b"{")
# The beginning of a statement, up to its type.
_BEGINS = re.compile(
    rb"(?:[;{}]|\bfor\s*\(|\A)\s*(?:(?:const|static|volatile|constexpr|register|unsigned|signed|long|short|inline|extern"
    rb"|__device__|__constant__|__shared__|std\s*::)\s*)*\Z"
)
# A type, up to the first name that it declares.
_TYPE = re.compile(
    rb"\s*(?P<type>(?:[A-Za-z_][\w:]*(?:\s*<[^;{}()<>]*>)?\s+)*?[A-Za-z_][\w:]*(?:\s*<[^;{}()<>]*>)?)"
    rb"(?=[\s*&]+[A-Za-z_]\w*\s*[=,\[(;])"
)
_NO_TYPES = frozenset(b"return else case goto throw delete new using namespace typename operator do".split())
# A longer declaration is not read to its end.
_LONGEST = 2_000


class Declarator(NamedTuple):
    """A declared name: its `*`s and `&`s, whether it is an array, and its initializer."""

    name: bytes
    span: Span
    made: bytes
    array: bool
    #: The text after `=`, or in the brackets of the initializer; None for no initial value.
    value: Span | None
    #: The sign that begins the initializer: `=`, `{` or `(`; b"" for none.
    opening: bytes
    #: The text after the declarator.
    end: bytes


def declarators(code: bytes, start: int, end: int | None = None) -> Iterator[Declarator]:
    """Yield the declarators after the type that ends at `start`; of a parameter or a function only the first."""
    end = len(code) if end is None else end
    at, first = start, True
    while True:
        match = _NAMED.match(code, at, end)
        # After a comma, a name before a closing bracket is an argument.
        if match is None or (not first and match["next"] in (b")", b"")):
            return
        at, array, value = match.end(), False, None
        while code[at : at + 1] == b"[" and at < end:
            array, at = True, _closed(code, at, end)
            at += len(code[at:end]) - len(code[at:end].lstrip()) if at < end else 0
        sign = code[at : at + 1]
        if sign == b"=":
            stop = _ends(code, at + 1, end)
            value, at = Span(at + 1, stop), stop
        elif sign in (b"{", b"("):
            stop = _closed(code, at, end)
            value = Span(at + 1, max(at + 1, stop - 1))
            at = _ends(code, stop, end)
        made = b"".join(match["made"].split())
        yield Declarator(
            match["name"],
            Span(*match.span("name")),
            made,
            array,
            value,
            sign if value is not None else b"",
            code[at : at + 1],
        )
        if code[at : at + 1] != b",":
            return
        at, first = at + 1, False


def begins(code: bytes, offset: int) -> bool:
    """Say whether a statement begins at the type at an offset, so that names after a comma are declared too."""
    return _BEGINS.search(code, max(0, offset - 80), offset) is not None


def behind(code: bytes, name: int) -> Span | None:
    """Return the type of a name that is not the first of its declaration: `int` for `b` in `int a = 1, b;`."""
    start = max(code.rfind(sign, 0, name) for sign in (b";", b"{", b"}", b"#")) + 1
    head = _TYPE.match(code, max(start, name - _LONGEST), name)
    if head is None or head["type"].split()[0] in _NO_TYPES:
        return None
    found = declarators(code, head.end("type"))
    return Span(*head.span("type")) if any(each.span.start == name for each in found) else None


def types_behind(code: bytes, name: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each type with which a name is declared after others, and its `*`s and `&`s."""
    for match in re.finditer(rb",(?P<made>[\s*&]*)\b(?P<name>%b)\s*[=;,\[{(]" % re.escape(name), code):
        kind = behind(code, match.start("name"))
        if kind is not None:
            yield code[kind.start : kind.end], b"".join(match["made"].split())


def _closed(code: bytes, at: int, end: int) -> int:
    """Return the place after the partner of the bracket at `at`; `end` if it has none."""
    depth = 0
    for match in _BRACKET.finditer(code, at, end):
        sign = match.group()
        if sign in _OPENING:
            depth += 1
        elif sign not in (b",", b";"):
            depth -= 1
            if not depth:
                return match.end()
    return end


def _ends(code: bytes, at: int, end: int) -> int:
    """Return where a value ends: at a comma, a semicolon, or the closing bracket around it."""
    depth = braces = 0
    for match in _BRACKET.finditer(code, at, end):
        sign = match.group()
        if sign in _OPENING:
            depth += 1
            braces += sign == b"{"
        elif sign in (b",", b";"):
            # A lambda contains statements.
            if not depth or (sign == b";" and not braces):
                return match.start()
        elif not depth:
            return match.start()
        else:
            depth -= 1
            braces -= sign == b"}"
    return end
