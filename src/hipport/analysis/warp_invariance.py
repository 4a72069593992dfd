# SPDX-License-Identifier: Apache-2.0
"""Warp-invariant values: the same in every warp of a block, lane by lane, computed from the lane and uniform values.

A vote on such a value, or a shuffle of it, is uniform in the block: `__ballot_sync(~0u, base + threadIdx.x < n)` in
blocks whose rows are warps.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hipport.analysis.built_ins import BY_WARP, LANES, SHUFFLES, varies
from hipport.analysis.functions import Function, Variable, arguments, called_name, exits_past
from hipport.analysis.uniform_values import BLOCK

if TYPE_CHECKING:
    from tree_sitter import Node

    from hipport.analysis.kernels import Kernels


def is_warp_invariant(function: Function, node: Node, kernels: Kernels) -> bool:
    """Whether an expression certainly has the same value in each lane as in the same lane of the block's other warps.

    The rows of the blocks must be seen to be warps.
    """
    blocks = kernels.blocks(function)
    return (
        bool(blocks)
        and all(block.x == LANES for block in blocks or ())
        and _made_invariant(function, node, kernels, set())
    )


def _made_invariant(function: Function, root: Node, kernels: Kernels, seen: set[Variable]) -> bool:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "field_expression" and function.text(node) == b"threadIdx.x":
            continue
        if node.type == "call_expression":
            called, name = node.child_by_field_name("function"), called_name(node, function.source.code)
            known = BY_WARP.fullmatch(name) or name in SHUFFLES
            if called is None or called.type == "field_expression" or (varies(name) and not known):
                return False
            if kernels.definitions(function.source, name) or name in kernels.macros(function.source):
                return False
            stack += arguments(node)
        elif node.type == "identifier":
            name = function.text(node)
            variable = function.locals.named(name, node.start_byte)
            if kernels.uniformity(function, node) >= BLOCK:
                continue
            if variable is None and not _stands_for_lane(function, name, kernels):
                return False
            if variable is not None and not _invariant_definitions(function, variable, kernels, seen):
                return False
        elif node.type == "lambda_expression":
            return False
        else:
            stack += node.named_children
    return True


def _stands_for_lane(function: Function, name: bytes, kernels: Kernels) -> bool:
    """Whether a macro expands to just the number of the thread in its row."""
    if name not in kernels.macros(function.source):
        return False
    return set(kernels.expanded(function.source, name, None)) <= {b"threadIdx.x", b"(threadIdx.x)"}


def _invariant_definitions(function: Function, variable: Variable, kernels: Kernels, seen: set[Variable]) -> bool:
    """Whether all definitions of a variable are such values, under such conditions."""
    if variable in seen:
        return True
    seen.add(variable)
    definitions = function.locals.definitions.get(variable, ())
    if not definitions or _changed_elsewhere(function, variable.name, kernels):
        return False
    for each in definitions:
        made = [*each.values]
        if not each.declares:
            places = [each.node, *exits_past(function, each.node, variable.start)]
            conditions = [condition for place in places for condition in function.conditions(place)]
            made += [each.expression for each in conditions if each.statement.start_byte >= variable.start]
        if not all(_made_invariant(function, value, kernels, seen) for value in made):
            return False
    return True


def _changed_elsewhere(function: Function, name: bytes, kernels: Kernels) -> bool:
    """Whether a variable may be assigned through another name, or by a function that it is passed to."""
    named = re.escape(name) + rb"\b"
    if re.search(
        rb"(?:[(,=?:{;]|\breturn)\s*&\s*" + named + rb"|&\s*\w+\s*[={(]\s*" + named, function.text(function.body)
    ):
        return True
    return any(
        function.text(argument) == name and of.takes_reference(i)
        for call in function.calls()
        for i, argument in enumerate(call.arguments)
        for of in kernels.definitions(function.source, call.name)
    )
