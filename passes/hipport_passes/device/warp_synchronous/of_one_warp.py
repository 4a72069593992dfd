# SPDX-License-Identifier: Apache-2.0
"""Grounds that the lanes which exchange values are of one warp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipport.analysis import grounds
from hipport.analysis.functions import Condition, Function
from hipport.analysis.kernels import Kernels
from hipport.core.proof import Ground, Scope
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

_CLAIM = "lanes that exchange values are of one warp"


def shown(kernels: Kernels, function: Function, node: Node, assumes: bool) -> tuple[Ground, ...]:
    """Return the grounds for a step of a function: a condition, those of its callers, or its indices."""
    where = grounds.place(function.source, node.start_byte)
    if assumes:
        return unseen(function.source, node.start_byte)
    condition = kernels.one_warp_by(function, node)
    if condition is not None:
        where = grounds.place(function.source, condition.expression.start_byte)
        reason = f"{_quoted(function, condition)} lets only lanes of one warp reach it"
    elif kernels.one_warp(function, node):
        called = ((caller, kernels.one_warp_by(caller, at)) for caller, at in kernels.called_at(function))
        caller, by = next(((caller, by) for caller, by in called if by is not None), (function, None))
        reason = "lanes of other warps have left before, or do not reach the calls of its function"
        if by is not None:
            where = grounds.place(caller.source, by.expression.start_byte)
            reason = f"only lanes of one warp call its function, because of {_quoted(caller, by)}"
    else:
        reason = "the indices give each lane elements of its own warp"
    return (Ground(_CLAIM, Scope.WARP, reason, *where),)


def _quoted(function: Function, condition: Condition) -> str:
    return grounds.quoted(function.text(condition.expression))


def of_uses(source: Cpp, start: int, assumes: bool) -> tuple[Ground, ...]:
    """Return the grounds for a macro with steps."""
    if assumes:
        return unseen(source, start)
    reason = "conditions let only lanes of one warp reach its uses"
    return (Ground(_CLAIM, Scope.WARP, reason, *grounds.place(source, start)),)


def unseen(source: Cpp, start: int) -> tuple[Ground, ...]:
    """Return the ground that nothing shows it."""
    return (
        Ground(_CLAIM, Scope.WARP, "no condition and no index shows it", *grounds.place(source, start), proven=False),
    )
