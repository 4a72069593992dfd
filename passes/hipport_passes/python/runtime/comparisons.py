# SPDX-License-Identifier: Apache-2.0
"""The operands of a comparison, by an operator or by a function with the same effect."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import libcst as cst

from hipport_passes.python.runtime import elsewhere
from hipport_passes.python.runtime.origins import Origins
from hipport_passes.python.runtime.python_program import PythonProgram

Sign = type[cst.BaseCompOp]

#: The meanings of operators.
SIGNS: dict[Sign, Callable[[Any, Any], bool]] = {
    cst.GreaterThanEqual: operator.ge,
    cst.GreaterThan: operator.gt,
    cst.LessThanEqual: operator.le,
    cst.LessThan: operator.lt,
    cst.Equal: operator.eq,
    cst.Is: operator.eq,
    cst.NotEqual: operator.ne,
    cst.IsNot: operator.ne,
    cst.In: lambda value, among: value in among,
    cst.NotIn: lambda value, among: value not in among,
}
# The standard library's `operator`, the special methods, and NumPy's functions.
_FUNCTIONS: dict[str, Sign] = {
    "ge": cst.GreaterThanEqual,
    "gt": cst.GreaterThan,
    "le": cst.LessThanEqual,
    "lt": cst.LessThan,
    "eq": cst.Equal,
    "ne": cst.NotEqual,
    "is_": cst.Is,
    "is_not": cst.IsNot,
    "contains": cst.In,
}
_NUMPY: dict[str, Sign] = {
    "greater_equal": cst.GreaterThanEqual,
    "greater": cst.GreaterThan,
    "less_equal": cst.LessThanEqual,
    "less": cst.LessThan,
    "equal": cst.Equal,
    "not_equal": cst.NotEqual,
}
_METHODS = {f"__{name}__": sign for name, sign in _FUNCTIONS.items() if "is_" not in name}
_MODULES = {"operator": {**_FUNCTIONS, **_METHODS}, "numpy": _NUMPY}


class Compared(NamedTuple):
    """The operands of operators, from left to right; `a in b` has its container on the right."""

    operands: tuple[cst.BaseExpression, ...]
    signs: tuple[Sign, ...]


def compared(program: PythonProgram, origins: Origins, node: cst.CSTNode) -> Compared | None:
    """Return the operands compared at `node`; None if it is not a comparison, or one by an unknown function."""
    match node:
        case cst.Comparison(left=left, comparisons=targets):
            signs = tuple(type(each.operator) for each in targets)
            return Compared((left, *(each.comparator for each in targets)), signs)
        case cst.Call(func=cst.Attribute(value=left, attr=cst.Name(name)), args=[cst.Arg(right)]) if name in _METHODS:
            return _sides(_METHODS[name], (left, right))
        case cst.Call(args=[_] | [_, _]) if (given := _given(node)) is not None:
            sign, before = _function(program, origins, node.func)
            return _sides(sign, (*before, *given)) if sign is not None else None
    return None


def _sides(sign: Sign, operands: tuple[cst.BaseExpression, ...]) -> Compared | None:
    if len(operands) != 2:
        return None
    return Compared(operands[::-1] if sign is cst.In else operands, (sign,))


def _given(call: cst.Call) -> tuple[cst.BaseExpression, ...] | None:
    plain = all(each.keyword is None and not each.star for each in call.args)
    return tuple(each.value for each in call.args) if plain else None


def _function(
    program: PythonProgram, origins: Origins, called: cst.BaseExpression, depth: int = 0
) -> tuple[Sign | None, tuple[cst.BaseExpression, ...]]:
    """Return the operator that a function stands for, and its bound arguments: `partial(operator.le, 9)`."""
    match called:
        case cst.Name(name) if (statement := program.imported(called)) is not None:
            module = program.code(statement.module) if statement.module is not None else ""
            return _MODULES.get(module, {}).get(elsewhere.called(program, statement, name)), ()
        case cst.Attribute(value=cst.Name() as owner, attr=cst.Name(name)) if elsewhere.is_imported(program, owner):
            return _MODULES.get(elsewhere.owner_of(program, owner), {}).get(name), ()
        case cst.Call(func=cst.Name() | cst.Attribute() as made, args=[cst.Arg(first), *_]) if (
            program.code(made).rpartition(".")[2] == "partial" and (given := _given(called)) is not None
        ):
            sign, before = _function(program, origins, first, depth + 1) if depth < 4 else (None, ())
            return sign, (*before, *given[1:])
    values = origins.of(called) if depth < 4 else []
    if len(values) != 1 or values[0][1] is not None:
        return None, ()
    return _function(program, origins, values[0][0], depth + 1)
