# SPDX-License-Identifier: Apache-2.0
"""The value of an expression for each compute capability, computed as Python does: `max(capability)`, `major - 8`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import libcst as cst

from hipport_passes.python.runtime.arithmetic import UNARY, calculated, is_small, power
from hipport_passes.python.runtime.capability_values import AMD, GENERATIONS, Capability
from hipport_passes.python.runtime.origins import EACH, Origins
from hipport_passes.python.runtime.python_program import PythonProgram

#: The value of an expression, by the capability of the GPU.
Results = Mapping[Capability, Any]
#: All capabilities that are considered.
EVERY = tuple(dict.fromkeys((*GENERATIONS, *AMD)))
#: Built-in functions that are computed.
_BUILT_IN: dict[str, Callable[..., object]] = {
    "max": max,
    "min": min,
    "sum": sum,
    "int": int,
    "float": float,
    "str": str,
    "abs": abs,
    "round": round,
    "tuple": tuple,
    "list": tuple,
    "divmod": divmod,
    "pow": power,
    "sorted": lambda values: tuple(sorted(values)),
}


_LONGEST = 64
# The depth of nested calls; handwritten programs stay below it.
_DEEPEST = 8


def same(value: object) -> Results:
    """Return the results of a value that is the same on each GPU."""
    return dict.fromkeys(EVERY, value)


class Working:
    """The results of a file's expressions. `known` are those of capabilities, values made from them, and constants."""

    def __init__(
        self, program: PythonProgram, origins: Origins, known: Callable[[cst.BaseExpression], Results | None]
    ) -> None:
        self.program, self.origins, self.known = program, origins, known
        self._found: dict[cst.BaseExpression, Results | None] = {}

    def results(self, node: cst.BaseExpression, depth: int = 0) -> Results | None:
        """Return the value of an expression for each capability; None if it cannot be computed."""
        if depth > _DEEPEST:
            return None
        if node not in self._found:
            self._found[node] = None  # A cycle has no value.
            known = self.known(node)
            self._found[node] = known if known is not None else self._results(node, depth + 1)
        return self._found[node]

    def _results(self, node: cst.BaseExpression, depth: int) -> Results | None:
        match node:
            case cst.Call(func=cst.Name(name) as function) if name in _BUILT_IN and not self.program.bound(function):
                given = [self.results(argument.value, depth) for argument in node.args]
                known = [found for found in given if found is not None]
                stars = [argument.star for argument in node.args]
                if len(known) != len(given) or any(argument.keyword is not None for argument in node.args):
                    return None
                if stars == ["*"]:
                    return _each(lambda values: _BUILT_IN[name](*values), known)
                return _each(_BUILT_IN[name], known) if not any(stars) else None
            case cst.BinaryOperation(left=left, right=right):
                return _of_operator(node.operator, self.results(left, depth), self.results(right, depth))
            case cst.NamedExpr(value=value):
                return self.results(value, depth)
            case cst.UnaryOperation(operator=sign, expression=value) if type(sign) in UNARY:
                found = self.results(value, depth)
                return _each(UNARY[type(sign)], [found]) if found is not None else None
            case cst.Subscript(value=of, slice=[cst.SubscriptElement(cst.Index(cst.Integer(index)))]):
                return _part(self.results(of, depth), int(index, 0))
            case cst.Subscript(value=cst.List() | cst.Tuple() as row, slice=[cst.SubscriptElement(cst.Index(key))]):
                rows, keys = self.known(row), self.results(key, depth)
                return _each(operator.getitem, [rows, keys]) if rows is not None and keys is not None else None
            case cst.Name() | cst.Attribute() | cst.Call():
                match self.origins.of(node):
                    case [(value, None)]:
                        return self.results(value, depth)
                    case [(value, part)] if part != EACH:
                        return _part(self.results(value, depth), part)
        return None


def _part(results: Results | None, part: int | str | None) -> Results | None:
    return _each(lambda value: value[part], (results,)) if results is not None else None


def _each(function: Callable[..., object], arguments: Sequence[Results]) -> Results | None:
    """Return the results of a function; None if it fails, or its result is too large, for any capability."""
    try:
        found = {of: function(*(argument[of] for argument in arguments)) for of in EVERY}
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return None
    return found if all(_is_small(value) for value in found.values()) else None


def _of_operator(sign: cst.BaseBinaryOp, left: Results | None, right: Results | None) -> Results | None:
    """Return the results of an operator between numbers."""
    if left is None or right is None:
        return None
    found = {of: calculated(sign, left[of], right[of]) for of in EVERY}
    return None if None in found.values() else found


def _is_small(value: object) -> bool:
    if isinstance(value, int | float):
        return is_small(value)
    return isinstance(value, str | tuple) and len(value) <= _LONGEST
