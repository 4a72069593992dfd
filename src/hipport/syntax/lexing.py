# SPDX-License-Identifier: Apache-2.0
"""Find the code of C++: all bytes except comments, literals, include paths and the messages of `#error`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter

from hipport.core.edits import Span
from hipport.core.source import BYTE_ORDER_MARK

# A backslash at the end of a line joins it to the next one before any other lexing: also in comments, also after
# another backslash, and (gcc, clang) also with white space after it.
SPLICE = rb"\\[ \t\f\v]*(?:\r\n?|\n)"
#: Parentheses with up to two levels of nested ones, such as those around parameters.
PARENTHESES = rb"\([^;{}()]*(?:\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)[^;{}()]*)*\)"
_PARENTHESIS = re.compile(rb"[()]")
_PIECE = 2_000
# A comment on one line.
_SHORT_COMMENT = rb"/\*(?:[^*\r\n]|\*(?!/))*\*/"
# Each token that a search for names skips starts with one of these.
_LEAD = re.compile(
    rb"""
      //[^\\\r\n]*(?:(?:%(splice)s|\\)[^\\\r\n]*)*
    | /\*
    | "(?P<text>[^"\\\r\n]*(?:(?:%(splice)s|\\(?:%(splice)s)*[^\r\n])[^"\\\r\n]*)*\\?)"?
    | '(?P<character>[^'\\\r\n]*(?:(?:%(splice)s|\\(?:%(splice)s)*[^\r\n])[^'\\\r\n]*)*)'
    | \#(?P<between>(?:[ \t]|%(comment)s)*)(?:(?P<include>include(?:_next)?|import)|error|warning)\b
    """
    % {b"splice": SPLICE, b"comment": _SHORT_COMMENT},
    re.VERBOSE | re.DOTALL,
)
_RAW_PREFIX = re.compile(rb"(?:\A|[^0-9A-Za-z_\x80-\xff])(?:u8|[uUL])?R\Z")
_RAW_OPENING = re.compile(rb"\"([^()\\\s]{0,16})\(")
_NUMBER_BEFORE = re.compile(rb"(?:\A|[^0-9A-Za-z_.\x80-\xff])\.?[0-9][0-9A-Za-z_.\x80-\xff]*\Z")
_NUMBER_AFTER = re.compile(rb"(?:'[0-9A-Za-z_]|[0-9A-Za-z_.\x80-\xff])+")
_PATH = re.compile(rb"(?:[ \t]|" + _SHORT_COMMENT + rb")*(?:<([^>\r\n]*)>|\"([^\"\r\n]*)\")")
_TESTED_PATH = re.compile(rb"\b__has_include(?:_next)?[ \t]*\([ \t]*<([^>\r\n]*)>")
# The message of an #error is prose, with unpaired apostrophes.
_PROSE = re.compile(rb"(?:[^\\\r\n/]|/(?![/*])|%s|\\)*" % SPLICE)
# Everything but the two bytes that end lines becomes a space.
_BLANK = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))
# The start and end of comments, literals, directives and lines, and names that decide how the following text is lexed.
_LEXICAL = re.compile(
    rb"[\"'/\\#\r\n]|\b(?:include|include_next|import|error|warning|__has_include|__has_include_next)\b"
)
_WHOLE_TOKENS = re.compile(rb"[^\s0-9](?:.*[^\s])?")
_start = attrgetter("start")
SPLICED_BEFORE = re.compile(SPLICE + rb"\Z")


def lex(text: bytes) -> tuple[bytes, tuple[Span, ...]]:  # noqa: C901  # one loop over tokens, which calls would slow
    """Return the code of a text, as `Cpp.code` has it, and the comments that reach over the end of a line."""
    code = bytearray(b"   " + text[3:] if text.startswith(BYTE_ORDER_MARK) else text)
    long: list[Span] = []
    endless: set[bytes] = set()  # delimiters of raw strings that have no end from here on
    search = _LEAD.search
    match = search(text)
    while match is not None:
        start, end = match.span()
        lead = text[start]
        if lead == 0x2F:  # a slash
            if text[start + 1] == 0x2A:
                close = text.find(b"*/", end)
                end = len(text) if close < 0 else close + 2
            blank = text[start:end].translate(_BLANK)
            if b"\n" in blank or b"\r" in blank:
                long.append(Span(start, end))
            code[start:end] = blank
        elif lead == 0x22:  # a double quote
            inside = match.span("text")
            if text[start - 1 : start] == b"R" and _RAW_PREFIX.search(text[max(0, start - 4) : start]):
                opening = _RAW_OPENING.match(text, start)
                if opening and opening[1] not in endless:
                    close = text.find(b")" + opening[1] + b'"', opening.end())
                    if close < 0:
                        endless.add(opening[1])
                    else:
                        end = close + len(opening[1]) + 2
                        inside = start + 1, end - 1
            code[inside[0] : inside[1]] = text[inside[0] : inside[1]].translate(_BLANK)
        elif lead == 0x27:  # an apostrophe
            number = _NUMBER_AFTER.match(text, start) if text[start - 1 : start].isalnum() else None
            if number and _NUMBER_BEFORE.search(text[max(0, start - 64) : start]):
                end = number.end()
            else:
                inside = match.span("character")
                code[inside[0] : inside[1]] = text[inside[0] : inside[1]].translate(_BLANK)
        else:
            between = match.end("between")
            code[start + 1 : between] = text[start + 1 : between].translate(_BLANK)
            if not first_on_line(code, start, long):
                match = search(text, end)
                continue
            found = (_PATH if match["include"] else _PROSE).match(text, end)
            if found is not None:
                inside = found.span(found.lastindex or 0)
                if match["include"]:
                    code[end : inside[0] - 1] = b" " * (inside[0] - 1 - end)
                code[inside[0] : inside[1]] = text[inside[0] : inside[1]].translate(_BLANK)
                end = found.end()
        match = search(text, end)
    if b"__has_include" in text:
        for match in _TESTED_PATH.finditer(code):
            code[match.start(1) : match.end(1)] = b" " * len(match[1])
    return bytes(code), tuple(long)


def first_on_line(code: bytes | bytearray, offset: int, long: Sequence[Span] = ()) -> bool:
    """Say whether only white space precedes `offset` on its line, and the line does not continue another.

    A comment is white space, and a line goes on behind one of the comments in `long`.
    """
    while True:
        start = code.rfind(b"\n", 0, offset) + 1
        start = code.rfind(b"\r", start, offset) + 1 or start
        if code[start:offset].strip() or SPLICED_BEFORE.search(code, max(0, start - 80), start):
            return False
        i = bisect_left(long, start, key=_start) - 1
        if i < 0 or long[i].end < start:
            return True
        offset = long[i].start


@lru_cache(maxsize=1 << 14)
def lexed_apart(text: bytes) -> bool:
    """Whether the text is whole tokens, and none of them changes how the surrounding text is lexed."""
    return _WHOLE_TOKENS.fullmatch(text) is not None and not _LEXICAL.search(text)


def opening_of(code: bytes, closing: int) -> int | None:
    """Return where the parenthesis opens that closes at `closing`; None if it opens before the text."""
    depth, end = 0, closing + 1
    while end > 0:
        # In pieces, so that a near one is found without a look at the whole text.
        start = max(0, end - _PIECE)
        for match in _PARENTHESIS.finditer(code[start:end][::-1]):
            depth += 1 if match[0] == b")" else -1
            if not depth:
                return end - 1 - match.start()
        end = start
    return None
