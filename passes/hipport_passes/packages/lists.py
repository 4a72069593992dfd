# SPDX-License-Identifier: Apache-2.0
"""Take items out of what is written as a list, one on a line or several, in Python and in TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hipport.source import Edit, Span

_BLANK = re.compile(rb"[ \t]*")
_AFTER = re.compile(rb"[ \t]*,?[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)")
_COMMA = re.compile(rb"\s*,[ \t]*")


def without(
    text: bytes, items: Sequence[Span], going: Mapping[int, str], *, is_tuple: bool = False
) -> dict[int, tuple[Edit, ...]]:
    """Return the edits that take out the items that go, each with a note on why.

    An item on a line of its own becomes a comment with the note: whoever reads the list sees what is not in it. From
    the midst of a line it is deleted with a comma. The edits of one do not touch another's, whichever are made.
    """
    found: dict[int, tuple[Edit, ...]] = {}
    for number, note in going.items():
        span = items[number]
        line = text.rfind(b"\n", 0, span.start) + 1
        after = _AFTER.match(text, span.end)
        if _BLANK.fullmatch(text[line : span.start]) and after and b"\n" not in text[span.start : span.end]:
            found[number] = commented(Span(span.start, after.end()), note)
            continue
        comma = _COMMA.match(text, span.end)
        if comma is not None:
            start = span.start
            if text[comma.end() : comma.end() + 1] in (b"\r", b"\n", b"") and number and number - 1 not in going:
                # The last of its line goes with the space in front of it.
                start -= len(text[line:start]) - len(text[line:start].rstrip(b" \t"))
            found[number] = (Edit(Span(start, comma.end()), b""),)
        elif number and number - 1 not in going and not is_tuple:
            found[number] = (Edit(Span(items[number - 1].end, span.end), b""),)
        else:
            found[number] = (Edit(span, b""),)
    return found


def commented(line: Span, note: str) -> tuple[Edit, ...]:
    """Return the edits that make a comment of the rest of a line, with a note behind it."""
    return (
        Edit(Span(line.start, line.start), b"# "),
        Edit(Span(line.end, line.end), b"  # ROCm: " + note.encode()),
    )
