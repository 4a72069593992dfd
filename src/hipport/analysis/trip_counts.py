# SPDX-License-Identifier: Apache-2.0
"""Whether the trip count of a loop is uniform although each thread starts from its own number.

`for (t = a + i; t < b + i; t += c)` has a uniform trip count if `a`, `b` and `c` are uniform, whatever `i` is: all
threads have the same distance to the end.

`for (i = threadIdx.x; i < n; i += blockDim.x)` has one if `n` is a multiple of `blockDim.x`: by its definition,
`(m + blockDim.x - 1) / blockDim.x * blockDim.x`, or as a constant if the shapes of the launched blocks are known.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from hipport.analysis.exclusive_conditions import squeezed
from hipport.analysis.functions import Function, Variable, arguments, called_name, nodes, operator_of
from hipport.analysis.kernels import Kernels
from hipport.analysis.uniform_values import Numbering

if TYPE_CHECKING:
    from tree_sitter import Node

_ROW = b"blockDim.x"
_ROUNDS_UP = re.compile(rb"(?i:\w*(?:round|align|pad)\w*)")
_COMPARES = ("<", "<=", ">", ">=", "!=")
_CHANGES = frozenset(
    ("call_expression", "subscript_expression", "pointer_expression", "assignment_expression", "update_expression")
)
_IDENTIFIERS = frozenset(("identifier",))
#: The terms of a sum, by text and variables, and how often each is added.
_Terms: TypeAlias = "frozenset[tuple[tuple[bytes, tuple[Variable | None, ...]], int]]"
# The maximum number of variables to follow.
_STEPS = 4


def equal_trip_counts(kernels: Kernels, function: Function, loop: Node, size: int) -> bool:
    """Whether the trip count of a `for` is the same for `size` neighbouring threads although they start differently."""
    return in_step(kernels, function, loop, size) is not None or _by_multiples(kernels, function, loop, size)


def in_step(kernels: Kernels, function: Function, loop: Node, size: int) -> tuple[Variable, _Terms] | None:
    """Return the counter of a `for`, and the varying terms of its start, if its end has the same terms.

    None if `size` neighbouring threads may leave the loop separately. The counter is assumed not to overflow: a program
    in which it does for some threads is wrong on CUDA, too.
    """
    condition, update = loop.child_by_field_name("condition"), loop.child_by_field_name("update")
    if loop.type != "for_statement" or condition is None or condition.type != "binary_expression" or update is None:
        return None
    sides = [condition.child_by_field_name(name) for name in ("left", "right")]
    if operator_of(condition, function.source.code) not in _COMPARES:
        return None
    for counter, bound in (sides, sides[::-1]):
        if counter is None or bound is None or counter.type != "identifier":
            continue
        variable = function.locals.named(function.text(counter), counter.start_byte)
        definitions = function.locals.definitions.get(variable, []) if variable is not None else []
        first = [each for each in definitions if each.node != update]
        if variable is None or len(definitions) != 2 or len(first) != 1 or len(first[0].values) != 1:
            continue
        if first[0].node.start_byte >= condition.start_byte or first[0].values[0] == bound:
            continue
        step = _step(function, variable, update)
        if update.type != "update_expression" and (step is None or kernels.uniformity(function, step) < size):
            continue
        start = _differing(kernels, function, first[0].values[0], size, None, _STEPS)
        end = _differing(kernels, function, bound, size, None, _STEPS)
        if start is not None and start == end:
            return variable, start
    return None


def uniform_in_iterations(kernels: Kernels, function: Function, expression: Node, loop: Node, size: int) -> bool:
    """Whether a condition is uniform in each iteration of a loop with a uniform trip count."""
    counted = in_step(kernels, function, loop, size)
    return counted is not None and _uniform_in_iteration(kernels, function, expression, size, counted)


def _uniform_in_iteration(
    kernels: Kernels, function: Function, node: Node, size: int, counted: tuple[Variable, _Terms]
) -> bool:
    while node.type in ("parenthesized_expression", "condition_clause") and node.named_children:
        node = node.named_children[-1]
    if kernels.uniformity(function, node) >= size:
        return True
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type != "binary_expression" or left is None or right is None:
        return False
    operator = operator_of(node, function.source.code)
    if operator in ("&&", "||"):
        return all(_uniform_in_iteration(kernels, function, each, size, counted) for each in (left, right))
    if operator not in (*_COMPARES, "=="):
        return False
    one, other = (_differing(kernels, function, each, size, counted, _STEPS) for each in (left, right))
    return one is not None and one == other


def _differing(
    kernels: Kernels,
    function: Function,
    node: Node,
    size: int,
    counted: tuple[Variable, _Terms] | None,
    steps: int,
) -> _Terms | None:
    """Return the varying terms of a sum, each with how often it is added; None if they may change."""
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[-1]
    if node.type == "identifier":
        variable = function.locals.named(function.text(node), node.start_byte)
        if counted is not None and variable == counted[0]:
            return counted[1]
        definitions = function.locals.definitions.get(variable, []) if variable is not None else []
        if steps and len(definitions) == 1 and definitions[0].declares and len(definitions[0].values) == 1:
            found = _differing(kernels, function, definitions[0].values[0], size, counted, steps - 1)
            if found is not None:
                return found
    if kernels.uniformity(function, node) >= size:
        return frozenset()
    if node.type == "binary_expression" and (operator := operator_of(node, function.source.code)) in ("+", "-"):
        sign = 1 if operator == "+" else -1
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        one = _differing(kernels, function, left, size, counted, steps) if left is not None else None
        other = _differing(kernels, function, right, size, counted, steps) if right is not None else None
        if one is None or other is None:
            return None
        counts = Counter(dict(one))
        for term, count in other:
            counts[term] += sign * count
        return frozenset((term, count) for term, count in counts.items() if count)
    # A call or a load may give another value each time.
    if any(nodes(node, _CHANGES)):
        return None
    variables = []
    for each in nodes(node, _IDENTIFIERS):
        variable = function.locals.named(function.text(each), each.start_byte)
        if variable is not None and len(function.locals.definitions.get(variable, [])) > 1:
            return None
        variables.append(variable)
    return frozenset((((squeezed(function.text(node)), tuple(variables)), 1),))


def _by_multiples(kernels: Kernels, function: Function, loop: Node, size: int) -> bool:
    """Whether threads leave a loop together because its end and step are multiples of the row, or of `size`."""
    condition, update = loop.child_by_field_name("condition"), loop.child_by_field_name("update")
    if loop.type != "for_statement" or condition is None or condition.type != "binary_expression":
        return False
    counter, bound = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if counter is None or bound is None or update is None or operator_of(condition, function.source.code) != "<":
        return False
    variable = function.locals.named(function.text(counter), counter.start_byte)
    definitions = function.locals.definitions.get(variable, []) if variable is not None else []
    first = [each for each in definitions if each.node != update]
    # The start precedes the loop or is in its head, and only the head changes the counter afterwards.
    if variable is None or len(definitions) != 2 or len(first) != 1 or first[0].node.start_byte >= condition.start_byte:
        return False
    start, step = first[0].values, _step(function, variable, update, ("+=",))
    if len(start) != 1 or step is None:
        return False
    numbering = kernels.numbering(function, start[0])
    if numbering is None or numbering.axis not in (Numbering.ROW, Numbering.GRID):
        return False
    # A block of one row leaves together if all are multiples of the row; neighbours if all are multiples of `size`.
    widths = {block.x if block.y == block.z == 1 else None for block in kernels.blocks(function) or ()}
    row = widths.pop() if len(widths) == 1 else None
    if all(_multiple(kernels, function, each, row, _STEPS) for each in (bound, step)):
        return True
    return numbering.axis is Numbering.ROW and all(
        number % size == 0 for each in (bound, step) for number in kernels.numbers(function, each) or (1,)
    )


def _step(function: Function, variable: Variable, update: Node, signs: tuple[str, ...] = ("+=", "-=")) -> Node | None:
    """Return the step of `i += …` or `i = i + …`."""
    value = update.child_by_field_name("right")
    if update.type != "assignment_expression" or value is None:
        return None
    operator = operator_of(update, function.source.code)
    if operator in signs:
        return value
    if (
        operator == "="
        and value.type == "binary_expression"
        and operator_of(value, function.source.code) + "=" in signs
    ):
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
    definitions = function.locals.definitions.get(variable, []) if variable is not None else []
    if not steps or len(definitions) != 1 or not definitions[0].declares or len(definitions[0].values) != 1:
        return False
    return _multiple(kernels, function, definitions[0].values[0], row, steps - 1)
