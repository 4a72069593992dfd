# SPDX-License-Identifier: Apache-2.0
"""Keep the comments that stand in what a finding replaces.

A pass looks at code, in which comments are blanks, and writes code. What somebody has said within a call, or between
the lines of an `asm`, says why it is there, and is written down again behind what takes its place.
"""

from __future__ import annotations

import re
from dataclasses import replace

from hipport.finding import Finding
from hipport.languages.asked import MARK
from hipport.languages.cpp import Cpp
from hipport.source import Edit, Span

# hipport's own, which says that what it stands behind is hipport's.
_MARK = MARK.strip()
_BEGIN = re.compile(rb"//|/\*")
_LINE = re.compile(rb"//(?:[^\\\r\n]|\\[ \t\f\v]*(?:\r\n?|\n)|\\)*")


def keeping_comments(source: Cpp, finding: Finding) -> Finding:
    """Return the finding with the comments that its edits would take away behind what they write."""
    lost: list[list[bytes]] = []
    cut: dict[Edit, Edit] = {}
    for edit in finding.edits:
        whole, bodies = _comments(source, edit.span)
        lost.append(bodies)
        if whole != edit.span:
            cut[edit] = Edit(whole, edit.new, edit.on_top)
    if cut:
        finding = replace(finding, edits=tuple(cut.get(edit, edit) for edit in finding.edits))
    if not any(lost):
        return finding
    # What moves text elsewhere takes its comments along.
    written = b"\n".join(edit.new for edit in finding.edits)
    kept = {body: written.count(body) for each in lost for body in each}
    edits = []
    for edit, bodies in zip(finding.edits, lost, strict=True):
        again = []
        for body in bodies:
            if kept[body] > 0:
                kept[body] -= 1
            else:
                again.append(_block(body))
        edits.append(Edit(edit.span, _behind(edit.new, b" ".join(again))) if again else edit)
    return replace(finding, edits=tuple(edits))


def _comments(source: Cpp, span: Span) -> tuple[Span, list[bytes]]:
    """Return a stretch without a comment that goes on behind it, and the comments that lie whole in it."""
    found: list[bytes] = []
    text, code = source.text, source.code
    if not len(span) or text[span.start : span.end] == code[span.start : span.end]:
        return span, found
    at = span.start
    while match := _BEGIN.search(text, at, span.end):
        start = match.start()
        at = match.end()
        if code[start:at].strip() or source.quoted(start):
            continue
        if match.group() == b"//":
            line = _LINE.match(text, start)
            end = line.end() if line else at
        else:
            closing = text.find(b"*/", at)
            end = closing + 2 if closing >= 0 else len(text)
        # An include's path is blank in the code as well.
        if (
            code[start:end].strip()
            or text[start:end] == _MARK
            or any(each.target.start <= start < each.target.end for each in source.includes)
        ):
            continue
        if end > span.end:
            return Span(span.start, start), found
        found.append(text[start:end])
        at = end
    return span, found


def _block(comment: bytes) -> bytes:
    """A comment that ends before its line does."""
    if comment.startswith(b"/*"):
        return comment
    return b"/* " + comment[2:].strip().replace(b"*/", b"* /") + b" */"


def _behind(new: bytes, comments: bytes) -> bytes:
    """Put comments behind code, on its last line."""
    body = new.rstrip(b"\r\n")
    if not body:
        return comments + new
    last = body[max(body.rfind(b"\n"), body.rfind(b"\r")) + 1 :]
    if b"//" in last and not last.lstrip().startswith(b"#"):
        return comments + b" " + new
    return body + b" " + comments + new[len(body) :]
