# SPDX-License-Identifier: Apache-2.0
"""The barriers at which threads wait instead of another one, because they diverge at a statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hipport.analysis.functions import Call, contains

if TYPE_CHECKING:
    from tree_sitter import Node

_LEFT_BY_JUMPS = frozenset(("for_statement", "while_statement", "do_statement", "for_range_loop", "switch_statement"))


def instead_of(barrier: Call, barriers: Sequence[Call], statement: Node) -> list[Call] | None:
    """Return the barriers at which threads may wait instead of `barrier` because they diverge at `statement`."""
    if statement.type == "switch_statement":
        here = _case(statement, barrier.node)
        found = [each for each in barriers if _case(statement, each.node) not in (None, here)]
        return found or None
    if statement.type not in ("if_statement", "conditional_expression"):
        return None
    branches = [statement.child_by_field_name("consequence"), statement.child_by_field_name("alternative")]
    inside = [branch for branch in branches if branch is not None and contains(branch, barrier.node)]
    other = [branch for branch in branches if branch is not None and branch not in inside]
    if other:
        found = [each for each in barriers if each is not barrier and contains(statement, each.node)]
        return found if any(contains(other[0], each.node) for each in found) else None
    if not inside or not _leaving_kind(inside[0]):
        return None
    # `if (…) { …barrier…; return; }`: the code after it is the other branch; a `continue` limits it to its loop.
    end = _end_of_loop(statement) if _leaving_kind(inside[0]) != "return_statement" else barriers[-1].node.end_byte
    found = [each for each in barriers if statement.end_byte <= each.node.start_byte < end]
    return found or None


def parts(statement: Node) -> bool:
    """Return whether threads that diverge at a statement may reach different barriers, as far as its text shows."""
    if statement.type == "switch_statement":
        return True
    if statement.type not in ("if_statement", "conditional_expression"):
        return False
    branch = statement.child_by_field_name("consequence")
    return statement.child_by_field_name("alternative") is not None or (
        branch is not None and bool(_leaving_kind(branch))
    )


def _end_of_loop(statement: Node) -> int:
    """Return the end of the loop or `switch` around a statement; 0 if there is none."""
    outer = statement.parent
    while outer is not None and outer.type not in _LEFT_BY_JUMPS:
        outer = outer.parent
    return outer.end_byte if outer is not None else 0


def _case(statement: Node, node: Node) -> int | None:
    if not contains(statement, node):
        return None
    outer: Node | None = node
    while outer is not None and outer != statement:
        if outer.type == "case_statement" and outer.parent is not None and outer.parent.parent == statement:
            return outer.id
        outer = outer.parent
    return None


def _leaving_kind(branch: Node) -> str:
    """Return the kind of the statement that leaves a branch at its end; empty if none does."""
    last = branch if branch.type != "compound_statement" else (branch.named_children or [branch])[-1]
    return last.type if last.type in ("return_statement", "continue_statement", "break_statement") else ""
