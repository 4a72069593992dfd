# SPDX-License-Identifier: Apache-2.0
"""Operators of Python between numbers, computed within bounds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

_HIGHEST = 8
# No size on a GPU is larger, and larger numbers take long to compute.
_WIDEST = 40
_MOST = 1 << _WIDEST
# Handwritten sums are shorter.
_DEEPEST = 16


def power(of: float, by: float) -> object:
    """Return a power; ValueError if it would take long."""
    if abs(by) > _HIGHEST:
        raise ValueError
    return of**by


_OPERATORS: dict[type[cst.BaseBinaryOp], Callable[[Any, Any], object]] = {
    cst.Add: operator.add,
    cst.Subtract: operator.sub,
    cst.Multiply: operator.mul,
    cst.Divide: operator.truediv,
    cst.FloorDivide: operator.floordiv,
    cst.Modulo: operator.mod,
    cst.LeftShift: operator.lshift,
    cst.RightShift: operator.rshift,
    cst.BitOr: operator.or_,
    cst.BitAnd: operator.and_,
    cst.BitXor: operator.xor,
    cst.Power: power,
}
#: Operators before one value.
UNARY: dict[type[cst.BaseUnaryOp], Callable[[Any], object]] = {
    cst.Not: operator.not_,
    cst.Minus: operator.neg,
    cst.Plus: operator.pos,
}


def is_small(number: float) -> bool:
    """Return whether a number may be a size on a GPU."""
    return abs(number) <= _MOST


def calculated(sign: cst.BaseBinaryOp, left: object, right: object) -> Any:
    """Return the result of an operator; None if it is not one between numbers, fails, or would take long."""
    function = _OPERATORS.get(type(sign))
    if function is None or not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    if isinstance(sign, cst.LeftShift | cst.RightShift) and not 0 <= right < _WIDEST:
        return None
    try:
        found = function(left, right)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return found if isinstance(found, int | float) and is_small(found) else None


def folded(node: cst.BaseExpression, depth: int = 0) -> Any:
    """Return the value of an expression of literal integers; None for any other."""
    match node:
        case cst.Integer():
            return int(node.value.replace("_", ""), 0)
        case cst.BinaryOperation(left=left, right=right) if depth < _DEEPEST:
            return calculated(node.operator, folded(left, depth + 1), folded(right, depth + 1))
    return None
