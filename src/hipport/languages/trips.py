# SPDX-License-Identifier: Apache-2.0
"""Whether the threads of a block go round a loop equally often though each counts from a number of its own.

`for (i = threadIdx.x; i < n; i += blockDim.x)` does where `n` is a multiple of `blockDim.x`: by what it is worked out
from, `(m + blockDim.x - 1) / blockDim.x * blockDim.x`, or as a constant, where the blocks that are launched are known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hipport.languages.agreement import Numbering
from hipport.languages.exclusion import squeezed
from hipport.languages.functions import Function, Variable, arguments, called_name, operator_of
from hipport.languages.kernels import Kernels

if TYPE_CHECKING:
    from tree_sitter import Node

_ROW = b"blockDim.x"
_ROUNDS_UP = re.compile(rb"(?i:\w*(?:round|align|pad)\w*)")
# How many variables are followed.
_STEPS = 4


def equal_trips(kernels: Kernels, function: Function, loop: Node, size: int) -> bool:
    """Whether `size` neighbouring threads leave a `for` together that counts up from the number of each."""
    condition, update = loop.child_by_field_name("condition"), loop.child_by_field_name("update")
    if loop.type != "for_statement" or condition is None or condition.type != "binary_expression":
        return False
    counter, bound = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if counter is None or bound is None or update is None or operator_of(condition, function.source.code) != "<":
        return False
    variable = function.locals.named(function.text(counter), counter.start_byte)
    given = function.locals.given.get(variable, []) if variable is not None else []
    first = [each for each in given if each.node != update]
    # In front of the loop at the latest, and in its head alone after that.
    if variable is None or len(given) != 2 or len(first) != 1 or first[0].node.start_byte >= condition.start_byte:
        return False
    start, step = first[0].values, _step(function, variable, update)
    if len(start) != 1 or step is None:
        return False
    numbering = kernels.numbering(function, start[0])
    if numbering not in (Numbering.ROW, Numbering.GRID):
        return False
    # A block of one row leaves together where all are multiples of the row; neighbours, where all are of their number.
    widths = {block.x if block.y == block.z == 1 else None for block in kernels.blocks(function) or ()}
    row = widths.pop() if len(widths) == 1 else None
    if all(_multiple(kernels, function, each, row, _STEPS) for each in (bound, step)):
        return True
    return numbering is Numbering.ROW and all(
        number % size == 0 for each in (bound, step) for number in kernels.numbers(function, each) or (1,)
    )


def _step(function: Function, variable: Variable, update: Node) -> Node | None:
    """What `i += …` or `i = i + …` counts by."""
    value = update.child_by_field_name("right")
    if update.type != "assignment_expression" or value is None:
        return None
    operator = operator_of(update, function.source.code)
    if operator == "+=":
        return value
    if operator == "=" and value.type == "binary_expression" and operator_of(value, function.source.code) == "+":
        left, right = value.child_by_field_name("left"), value.child_by_field_name("right")
        if left is not None and function.text(left) == variable.name:
            return right
    return None


def _multiple(kernels: Kernels, function: Function, node: Node, row: int | None, steps: int) -> bool:
    """Whether a value is a multiple of the length of the block's row."""
    while node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
        node = node.named_children[-1]
    if squeezed(function.text(node)) == _ROW:
        return True
    numbers = kernels.numbers(function, node)
    if numbers:
        return row is not None and all(number % row == 0 for number in numbers)
    if node.type == "binary_expression":
        parts = [node.child_by_field_name(name) for name in ("left", "right")]
        found = [each is not None and _multiple(kernels, function, each, row, steps) for each in parts]
        operator = operator_of(node, function.source.code)
        return any(found) if operator == "*" else operator in ("+", "-") and all(found)
    if node.type == "call_expression":
        given = arguments(node)
        name = called_name(node, function.source.code)
        return (
            len(given) == 2
            and _ROUNDS_UP.fullmatch(name) is not None
            and _multiple(kernels, function, given[1], row, steps)
        )
    variable = function.locals.named(function.text(node), node.start_byte) if node.type == "identifier" else None
    made = function.locals.given.get(variable, []) if variable is not None else []
    if not steps or len(made) != 1 or not made[0].declares or len(made[0].values) != 1:
        return False
    return _multiple(kernels, function, made[0].values[0], row, steps - 1)
