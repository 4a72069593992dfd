# SPDX-License-Identifier: Apache-2.0
"""Take items out of what is written as a list, one on a line or several, in Python and in TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hipport.core.edits import Edit, Span

_BLANK = re.compile(rb"[ \t]*")
_COMMENT_OR_COMMA = re.compile(rb"#[^\r\n]*|,")
_AFTER = re.compile(rb"[ \t]*,?[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)")
_COMMA = re.compile(rb"\s*,[ \t]*")
# Behind a comment.
_COMMA_LATER = re.compile(rb"(?:\s|#[^\r\n]*(?=[\r\n]))*,")


def without(
    text: bytes, items: Sequence[Span], going: Mapping[int, str], *, is_tuple: bool = False
) -> dict[int, tuple[Edit, ...]]:
    """Return the edits that take out the items that go, each with a note on why.

    An item on a line of its own becomes a comment with the note: whoever reads the list sees what is not in it. From
    the midst of a line it is deleted with a comma. The edits of one do not touch another's, whichever are made.
    """
    found: dict[int, tuple[Edit, ...]] = {}
    tail = max((number for number in range(len(items)) if number not in going), default=len(items)) + 1
    for number, note in sorted(going.items()):
        span = items[number]
        line = text.rfind(b"\n", 0, span.start) + 1
        own = _of_its_own(text, span, last=number + 1 == len(items))
        if own is not None:
            found[number] = commented(own, note)
            tail = len(items) if number >= tail else tail  # the comma in front of the next one is a comment now
            continue
        if number >= tail and not is_tuple:
            # At the end of the list, the comma in front goes, and no comment between.
            before = items[number - 1].end
            if b"#" in text[before : span.start]:
                commas = [match for match in _COMMENT_OR_COMMA.finditer(text, before, span.start) if match[0] == b","]
                found[number] = (*(Edit(Span(*match.span()), b"") for match in commas), Edit(span, b""))
            else:
                found[number] = (Edit(Span(before, span.end), b""),)
        elif comma := _COMMA.match(text, span.end):
            start, end = span.start, comma.end()
            behind = len(comma.group()) - len(comma.group().rstrip(b" \t"))
            before = len(text[line:start]) - len(text[line:start].rstrip(b" \t"))
            follows = text[end : end + 1]
            if follows in (b"\r", b"\n", b"", b"#") and number and number - 1 not in going:
                # The last of its line goes with the space in front of it, and leaves what is in front of a comment.
                start -= before
                end -= behind if follows == b"#" else 0
            elif follows == b"#":
                end -= max(0, behind - before)
            found[number] = (Edit(Span(start, end), b""),)
        elif comma := _COMMA_LATER.match(text, span.end):
            found[number] = (Edit(span, b""), Edit(Span(comma.end() - 1, comma.end()), b""))
        else:
            found[number] = (Edit(span, b""),)
    return found


def _of_its_own(text: bytes, item: Span, *, last: bool = False) -> Span | None:
    """Return an item that has its lines for itself, with its comma, which only the last may lack, or have in front."""
    line = text.rfind(b"\n", 0, item.start) + 1
    after = _AFTER.match(text, item.end)
    if after is None or not _BLANK.fullmatch(text[line : item.start]) or b"\n" in text[item.start : item.end]:
        return None
    return Span(item.start, after.end()) if last or b"," in after.group() else None


def commented(line: Span, note: str) -> tuple[Edit, ...]:
    """Return the edits that make a comment of the rest of a line, with a note behind it."""
    return (
        Edit(Span(line.start, line.start), b"# "),
        Edit(Span(line.end, line.end), b"  # ROCm: " + note.encode()),
    )
