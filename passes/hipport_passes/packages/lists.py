# SPDX-License-Identifier: Apache-2.0
"""Remove items from lists in Python and TOML, with one or several items per line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hipport.core.edits import Edit, Span

_BLANK = re.compile(rb"[ \t]*")
_COMMENT_OR_COMMA = re.compile(rb"#[^\r\n]*|,")
_AFTER = re.compile(rb"[ \t]*,?[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)")
_COMMA = re.compile(rb"\s*,[ \t]*")
# After a comment.
_COMMA_LATER = re.compile(rb"(?:\s|#[^\r\n]*(?=[\r\n]))*,")


def without(
    text: bytes, items: Sequence[Span], going: Mapping[int, str], *, is_tuple: bool = False
) -> dict[int, tuple[Edit, ...]]:
    """Return the edits that remove items from a list, each with a note on the reason.

    An item on a line of its own becomes a comment with the note, so that readers of the list see what was removed.
    Within a line it is deleted with a comma. The edits of two items do not touch each other, whichever are accepted.
    """
    found: dict[int, tuple[Edit, ...]] = {}
    tail = max((number for number in range(len(items)) if number not in going), default=len(items)) + 1
    for number, note in sorted(going.items()):
        span = items[number]
        line = text.rfind(b"\n", 0, span.start) + 1
        own = _of_its_own(text, span, last=number + 1 == len(items))
        if own is not None:
            found[number] = commented(own, note)
            tail = len(items) if number >= tail else tail  # The comma before the next item is now in a comment.
            continue
        if number >= tail and not is_tuple:
            # At the end of the list, the preceding comma is removed, but no comment in between.
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
                # The last item of a line is removed with the space before it; the space before a comment stays.
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
    """Return an item that is alone on its lines, with its comma; only the last may lack it, or have it before it."""
    line = text.rfind(b"\n", 0, item.start) + 1
    after = _AFTER.match(text, item.end)
    if after is None or not _BLANK.fullmatch(text[line : item.start]) or b"\n" in text[item.start : item.end]:
        return None
    return Span(item.start, after.end()) if last or b"," in after.group() else None


def commented(line: Span, note: str) -> tuple[Edit, ...]:
    """Return the edits that comment out the rest of a line, with a note after it."""
    return (
        Edit(Span(line.start, line.start), b"# "),
        Edit(Span(line.end, line.end), b"  # ROCm: " + note.encode()),
    )
