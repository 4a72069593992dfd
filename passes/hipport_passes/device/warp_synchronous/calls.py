# SPDX-License-Identifier: Apache-2.0
"""Place `hipport::syncwarp()`: in front of a statement, or at the end of a loop's body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hipport.core.edits import Edit, Span
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

SYNCWARP = b"hipport::syncwarp();"
# The end of a loop's body without braces.
_END = b" " + SYNCWARP + b" }"


def at(source: Cpp, start: int) -> tuple[Edit, ...]:
    """Return the edit that puts the call at the start of a statement: on its own line, except in macros."""
    indent = None if source.directive(start) else source.indent(start)
    if indent is None:
        return (Edit(Span(start, start), SYNCWARP + b" "),)
    line = start - len(indent)
    return (Edit(Span(line, line), indent + SYNCWARP + source.newline),)


def in_front(source: Cpp, node: Node) -> tuple[Edit, ...]:
    """Return the edit that puts the call before a statement, and before its `#pragma` and comment."""
    start = _commented(source, node.start_byte)
    previous = node.prev_named_sibling
    while previous is not None and previous.type == "preproc_call" and source.indent(previous.start_byte) is not None:
        start, previous = _commented(source, previous.start_byte), previous.prev_named_sibling
    indent, ahead = source.indent(node.start_byte), source.indent(start)
    if indent is None or ahead is None:
        return (Edit(Span(start, start), SYNCWARP + b" "),)
    line = start - len(ahead)
    return (Edit(Span(line, line), indent + SYNCWARP + source.newline),)


def _commented(source: Cpp, start: int) -> int:
    """Return the start of the comments in the lines above a place that begins a line; the place if there are none."""
    line = source.line_start(start)
    while source.indent(start) is not None and line > 0:
        end = line - 1 - source.text.endswith(b"\r\n", 0, line)
        above = source.line_start(end)
        if source.code[above:line].strip() or not source.text[above:line].strip():
            break
        line, start = above, above + len(source.text[above:line]) - len(source.text[above:line].lstrip())
    return start


def at_the_end(source: Cpp, body: Node, least: int = 0) -> tuple[Edit, ...]:
    """Return the edit that puts the call at the end of a loop's body; the body reaches at least to `least`, because a
    macro may lack a semicolon.
    """
    if body.type != "compound_statement":
        start, end = body.start_byte, max(body.end_byte, least)
        return Edit(Span(start, start), b"{ "), Edit(Span(end, end), _END)
    last = body.named_children[-1]
    indent = source.indent(last.start_byte)
    line = source.text.find(source.newline, last.end_byte)
    # The rest of the line is a comment on the statement, or the brace.
    if indent is None or line < 0 or source.code[last.end_byte : line].strip():
        return (Edit(Span(last.end_byte, last.end_byte), b" " + SYNCWARP),)
    return (Edit(Span(line, line), source.newline + indent + SYNCWARP),)


def joined(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits with those at one place joined: first the ends of bodies, then the rest."""
    ends: dict[Span, list[bytes]] = {}
    rest: dict[Span, list[bytes]] = {}
    for edit in edits:
        known = (ends if edit.new == _END else rest).setdefault(edit.span, [])
        if edit.new == _END or edit.new not in known:
            known.append(edit.new)
    return tuple(
        Edit(span, b" ".join(filter(None, (b"".join(ends.get(span, ())), b"".join(rest.get(span, ()))))))
        for span in sorted({*ends, *rest})
    )
