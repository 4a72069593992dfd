# SPDX-License-Identifier: Apache-2.0
"""Branches of an `if` that are divided at their barriers, so that all threads meet at one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import Call, Function, contains
from hipport.core.edits import Edit, Span
from hipport.syntax.cpp import Cpp
from hipport_passes.device.barriers.waiting import Waiting

if TYPE_CHECKING:
    from tree_sitter import Node

#: The variable for the condition that chooses the branch.
SIDE = b"hipport_side"
_WORDS = re.compile(rb"[A-Za-z_]\w*")


class _Branch(NamedTuple):
    """A branch in braces, and the statements in it that are barriers."""

    block: Node
    barriers: list[Node]


def divided(
    function: Function, statement: Node, barriers: list[Call], waiting: Waiting, earlier: int
) -> tuple[Edit, ...]:
    """Return the edits that divide both branches of an `if` at their barriers; none if that is impossible.

    `earlier`: the number of statements divided before in the function, each with its own variable.
    """
    source, parent = function.source, statement.parent
    condition, sides = statement.child_by_field_name("condition"), _sides(function, statement, barriers, waiting)
    if not sides or condition is None or len(condition.named_children) != 1:
        return ()
    if parent is None or parent.type not in ("compound_statement", "case_statement"):
        return ()
    written = {b"".join(function.text(each).split()) for _, direct in sides for each in direct}
    # The program's own spelling of the barrier stays.
    same = written.pop() if len(written) == 1 else b""
    word = same if waiting.is_plain(same) else b"__syncthreads();"
    pieces = [_pieces(source, branch, direct) for branch, direct in sides]
    indent = source.indent(statement.start_byte)
    if indent is None:
        return ()
    if len(sides[0].barriers) == 1 and not any(source.code[side[-1].start : side[-1].end].strip() for side in pieces):
        # Both branches end with the barrier, so it moves behind them.
        after = Edit(Span(statement.end_byte, statement.end_byte), source.newline + indent + word)
        return (*(Edit(_whole_line(source, direct[0]), b"") for _, direct in sides), after)
    if any(_crosses(function, branch, direct) for branch, direct in sides):
        return ()
    if parent.type == "case_statement":
        return ()  # The next case would jump over the variable.
    asked = source[Span(*_range(condition.named_children[0]))]
    # Each `if` needs its own variable: in one block the name would be declared twice.
    side = SIDE + (b"_%d" % (earlier + 1) if earlier else b"")
    while side in source.text:
        side += b"_"
    text = b"const bool " + side + b" = " + asked + b";" + _between_barriers(source, side, pieces, indent, word)
    return (Edit(Span(statement.start_byte, statement.end_byte), text),)


def _sides(function: Function, statement: Node, barriers: list[Call], waiting: Waiting) -> tuple[_Branch, ...]:
    """Return both branches of an `if`, with the same number of barriers directly in each; none if it is otherwise."""
    source = function.source
    yes, clause = statement.child_by_field_name("consequence"), statement.child_by_field_name("alternative")
    no = clause.named_children[-1] if clause is not None and clause.named_children else None
    sides = []
    for branch in (yes, no):
        if branch is None or branch.type != "compound_statement" or _has_jumps(branch):
            return ()
        direct = [
            each
            for each in branch.named_children
            if waiting.is_plain(function.text(each)) or _is_group_barrier(function, each, barriers)
        ]
        if any(source.parts(Span(each.start_byte, each.end_byte)) for each in (statement, branch)):
            return ()  # The parser reads it as if the condition held.
        if len(direct) != sum(contains(branch, each.node) for each in barriers):
            return ()
        sides.append(_Branch(branch, direct))
    return tuple(sides) if len(sides[0].barriers) == len(sides[1].barriers) else ()


def _between_barriers(source: Cpp, side: bytes, pieces: list[list[Span]], indent: bytes, barrier: bytes) -> bytes:
    """Return the text that executes, between two barriers, the piece of the branch that the variable `side` chooses."""
    text, line = b"", source.newline + indent
    for number, (first, second) in enumerate(zip(*pieces, strict=True)):
        if number:
            text += line + barrier
        here, there = _block(source, first, indent), _block(source, second, indent)
        if source.code[second.start : second.end].strip():
            text += line + b"if (" + side + b") " + here + b" else " + there
        elif source.code[first.start : first.end].strip():
            text += line + b"if (" + side + b") " + here
    return text


def _is_group_barrier(function: Function, statement: Node, barriers: Sequence[Call]) -> bool:
    """Return whether a statement is just `block.sync();` of the block."""
    inner = (
        statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else None
    )
    return inner is not None and any(each.node == inner and each.name == b"sync" for each in barriers)


def _pieces(source: Cpp, branch: Node, barriers: list[Node]) -> list[Span]:
    """Return the text before, between and after the barriers of a branch, without its braces."""
    cuts = [branch.start_byte + 1]
    for barrier in barriers:
        cuts += [barrier.start_byte, barrier.end_byte]
    cuts.append(branch.end_byte - 1)
    return [Span(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=True)]


def _block(source: Cpp, piece: Span, indent: bytes) -> bytes:
    return b"{" + source[piece].rstrip() + source.newline + indent + b"}"


def _crosses(function: Function, branch: Node, barriers: list[Node]) -> bool:
    """Return whether a declaration before a barrier of the branch is used after it."""
    code = function.source.code
    for child in branch.named_children:
        behind = [barrier for barrier in barriers if barrier.start_byte >= child.end_byte]
        if child.type.startswith("preproc") and child.type != "preproc_call":
            return True
        if not behind or child.type not in ("declaration", "type_definition", "alias_declaration", "using_declaration"):
            continue
        rest = set(_WORDS.findall(code, behind[0].end_byte, branch.end_byte))
        if (
            child.type != "declaration"
            or {each.name for each in function.locals.variables if child.start_byte <= each.start < child.end_byte}
            & rest
        ):
            return True
    return False


def _has_jumps(node: Node) -> bool:
    return node.type in ("goto_statement", "labeled_statement") or any(map(_has_jumps, node.named_children))


def _whole_line(source: Cpp, node: Node) -> Span:
    """Return the span of the statement, with its line if it stands alone there."""
    start = source.line_start(node.start_byte)
    end = source.text.find(source.newline, node.end_byte)
    alone = not source.text[start : node.start_byte].strip() and not source.text[node.end_byte : end].strip()
    return Span(start, end + len(source.newline)) if alone and end >= 0 else Span(*_range(node))


def _range(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte
