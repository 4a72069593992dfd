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
# What the end of a body becomes that has no braces.
_END = b" " + SYNCWARP + b" }"


def at(source: Cpp, start: int) -> tuple[Edit, ...]:
    """Put the call where a statement begins: on a line of its own but for macros."""
    indent = None if source.directive(start) else source.indent(start)
    if indent is None:
        return (Edit(Span(start, start), SYNCWARP + b" "),)
    line = start - len(indent)
    return (Edit(Span(line, line), indent + SYNCWARP + source.newline),)


def in_front(source: Cpp, node: Node) -> tuple[Edit, ...]:
    """Put the call in front of a statement, and of the `#pragma` and the comment that are for it."""
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
    """Return where the comments begin that have the lines above what begins a line; itself where there are none."""
    line = source.line_start(start)
    while source.indent(start) is not None and line > 0:
        end = line - 1 - source.text.endswith(b"\r\n", 0, line)
        above = source.line_start(end)
        if source.code[above:line].strip() or not source.text[above:line].strip():
            break
        line, start = above, above + len(source.text[above:line]) - len(source.text[above:line].lstrip())
    return start


def at_the_end(source: Cpp, body: Node, least: int = 0) -> tuple[Edit, ...]:
    """Put the call at the end of a loop's body, which reaches to `least`: a macro need not have a semicolon."""
    if body.type != "compound_statement":
        start, end = body.start_byte, max(body.end_byte, least)
        return Edit(Span(start, start), b"{ "), Edit(Span(end, end), _END)
    last = body.named_children[-1]
    indent = source.indent(last.start_byte)
    line = source.text.find(source.newline, last.end_byte)
    # What follows on the line is a comment on the statement, or the brace.
    if indent is None or line < 0 or source.code[last.end_byte : line].strip():
        return (Edit(Span(last.end_byte, last.end_byte), b" " + SYNCWARP),)
    return (Edit(Span(line, line), source.newline + indent + SYNCWARP),)


def joined(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return edits with one for what is put at one place: first what ends bodies, each its own, then what follows."""
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
