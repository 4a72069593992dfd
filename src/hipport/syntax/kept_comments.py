# SPDX-License-Identifier: Apache-2.0
"""Keep the comments inside code that a finding replaces.

A pass sees code with comments blanked, and writes code. A comment inside a call, or between the lines of an `asm`,
explains the code, so it is written again after the replacement.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from dataclasses import replace
from functools import singledispatch

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.source import Source
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.own_guards import MARK
from hipport.syntax.python_script import Python

# hipport's mark, which belongs to the text before it.
_MARK = MARK.strip()
_BEGIN = re.compile(rb"//|/\*")
_LINE = re.compile(rb"//(?:[^\\\r\n]|\\[ \t\f\v]*(?:\r\n?|\n)|\\)*")
_COMMENT = re.compile(_LINE.pattern + rb"|/\*.*?\*/", re.DOTALL)


@singledispatch
def keeping_comments(source: Source, finding: Finding) -> Finding:
    """Return the finding such that comments that its edits would delete follow the text that they write."""
    return finding


@keeping_comments.register
def _of_cpp(source: Cpp, finding: Finding) -> Finding:
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
    # An edit that moves text takes its comments along.
    written = b"\n".join(edit.new for edit in finding.edits)
    # A pass may have written a line comment as one that ends before its line does.
    kept = Counter(_said(body) for body in _COMMENT.findall(written))
    for body in dict.fromkeys(body for each in lost for body in each):
        kept[_said(body)] = max(kept[_said(body)], written.count(body))
    edits = []
    for edit, bodies in zip(finding.edits, lost, strict=True):
        again = []
        for body in bodies:
            if kept[_said(body)] > 0:
                kept[_said(body)] -= 1
            else:
                again.append(_block(body))
        edits.append(Edit(edit.span, _behind(edit.new, b" ".join(again))) if again else edit)
    return replace(finding, edits=tuple(edits))


@keeping_comments.register
def _of_python(source: Python, finding: Finding) -> Finding:
    """A Python comment ends with its line, so a line end follows it, which the brackets around the edit allow."""
    if not any(b"#" in source[edit.span] for edit in finding.edits):
        return finding
    written = b"\n".join(edit.new for edit in finding.edits)
    comments = [(span, opened) for span, opened in _python_comments(source.text) if source[span] not in written]
    edits = []
    for edit in finding.edits:
        again = [
            source[span]
            for span, opened in comments
            if edit.span.start < span.start and span.end < edit.span.end and 0 <= opened < edit.span.start
        ]
        new = edit.new + b"".join(b"  " + comment + source.newline for comment in again)
        edits.append(replace(edit, new=new) if again and edit.new else edit)
    return replace(finding, edits=tuple(edits))


@keeping_comments.register
def _of_cmake(source: CMake, finding: Finding) -> Finding:
    """In CMake a comment may stand between any two words; a line comment needs a line end behind it."""
    if not any(b"#" in source[edit.span] for edit in finding.edits):
        return finding
    written = b"\n".join(edit.new for edit in finding.edits)
    edits = []
    for edit in finding.edits:
        tokens = [token for token in source.tokens_in(edit.span) if token.kind == "comment"]
        lost = [source[token.span] for token in tokens if source[token.span] not in written]
        kept = b"".join(b" " + each + (b"" if each.startswith(b"#[") else source.newline) for each in lost)
        edits.append(replace(edit, new=edit.new + kept) if kept else edit)
    return replace(finding, edits=tuple(edits))


def _python_comments(text: bytes) -> list[tuple[Span, int]]:
    """Return the comments of Python, each with the place of the innermost bracket around it, or -1 without one.

    Empty for text that is not Python.
    """
    starts = [0]
    for line in text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    found: list[tuple[Span, int]] = []
    opened: list[int] = []
    try:
        for token in tokenize.tokenize(io.BytesIO(text).readline):
            if token.type == tokenize.OP and token.string in "([{":
                opened.append(starts[token.start[0] - 1] + len(token.line[: token.start[1]].encode()))
            elif token.type == tokenize.OP and token.string in ")]}" and opened:
                opened.pop()
            elif token.type == tokenize.COMMENT:
                start = starts[token.start[0] - 1] + len(token.line[: token.start[1]].encode())
                found.append((Span(start, start + len(token.string.encode())), opened[-1] if opened else -1))
    except (SyntaxError, tokenize.TokenError, UnicodeDecodeError, IndexError):
        return []
    return found if all(text[span.start : span.start + 1] == b"#" for span, _ in found) else []


def _comments(source: Cpp, span: Span) -> tuple[Span, list[bytes]]:
    """Return the span without a comment that extends beyond it, and the comments that lie completely in it."""
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
        # The path of an include is blank in the code as well.
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
    """Return a comment as one that ends before its line does."""
    if comment.startswith(b"/*"):
        return comment
    return b"/* " + comment[2:].strip().replace(b"*/", b"* /") + b" */"


def _said(comment: bytes) -> bytes:
    """Return the words of a comment, whatever its form."""
    return b" ".join(_block(comment)[2:-2].split())


def _behind(new: bytes, comments: bytes) -> bytes:
    """Put comments after code, on its last line."""
    body = new.rstrip(b"\r\n")
    if not body:
        return comments + new
    last = body[max(body.rfind(b"\n"), body.rfind(b"\r")) + 1 :]
    if b"//" in last and not last.lstrip().startswith(b"#"):
        return comments + b" " + new
    return body + b" " + comments + new[len(body) :]
