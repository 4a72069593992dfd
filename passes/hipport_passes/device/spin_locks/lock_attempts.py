# SPDX-License-Identifier: Apache-2.0
"""The effect of one iteration of a loop that tries to take a lock, for a result of the attempt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis.functions import Function, arguments, called_name
from hipport.core.tables import Words
from hipport.syntax.cuda_names import NAMES, SLEEP

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
# The body of a loop that only waits, and operations that order memory.
WAITS = _WORDS.compile(
    rb"(?:\s|[;{}]|(?:(?&hipport)::)?(?:__)?(?:" + SLEEP + rb"|(?&thread_fences)\w*)\s*\([^()]*\)\s*;)*"
)


class _Unknown(Exception):
    """The text does not show the effect of an iteration of a loop."""


def is_last(function: Function, loop: Node, attempt: Node, free: bytes, result: bytes) -> bool | None:
    """Return whether an iteration is the last if the attempt to take the lock gives `result`; None if unknown.

    The iteration does nothing else, and it takes place. `free` is the result of an attempt that takes the lock.
    """
    iteration = _Iteration(function, loop, attempt, free, result)
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    try:
        if loop.type != "do_statement" and condition is not None and not iteration.truth(condition):
            return None  # The loop may have no iteration.
        left = iteration.leaves(body) if body is not None else None
        return left if left else condition is not None and not iteration.truth(condition)
    except _Unknown:
        return None


class _Iteration:
    """Executes the statements of an iteration."""

    def __init__(self, function: Function, loop: Node, attempt: Node, free: bytes, result: bytes) -> None:
        self._function, self._loop = function, loop
        self._attempt, self._free, self._result = attempt, free, result
        # The values of variables that the iteration has assigned to.
        self._known: dict[bytes, bytes] = {}

    def leaves(self, node: Node) -> bool | None:
        """Return whether a statement leaves the loop, or (False) the iteration; None if the next statement follows."""
        if node.type in ("compound_statement", "else_clause"):
            return next((left for each in node.named_children if (left := self.leaves(each)) is not None), None)
        if node.type in ("break_statement", "continue_statement"):
            return node.type == "break_statement"
        if node.type == "if_statement":
            asked, yes = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
            if asked is None or yes is None:
                raise _Unknown
            branch = yes if self.truth(asked) else node.child_by_field_name("alternative")
            return self.leaves(branch) if branch is not None else None
        if node.type == "declaration":
            self._declare(node)
        elif not WAITS.fullmatch(self._function.text(node)):
            if node.type != "expression_statement" or not node.named_children:
                raise _Unknown
            self._value(node.named_children[0])
        return None

    def truth(self, node: Node) -> bool:
        """Return whether an expression is true."""
        text = self._value(node)
        if text == self._result and not text[:1].isdigit() and text != self._free:
            return True  # The value of a taken lock is not 0.
        if not text.lstrip(b"-").isdigit():
            raise _Unknown
        return int(text) != 0

    def _declare(self, node: Node) -> None:
        for each in node.children_by_field_name("declarator"):
            name, given = each.child_by_field_name("declarator"), each.child_by_field_name("value")
            if name is None or given is None:
                raise _Unknown
            self._known[self._function.text(name)] = self._value(given)

    def _value(self, node: Node) -> bytes:
        """Return the value of an expression: a number, or the name of a constant."""
        if node == self._attempt:
            return self._result
        text, parts = self._function.text(node).strip(), node.named_children
        match node.type:
            case "condition_clause" | "parenthesized_expression" | "cast_expression" if parts:
                return self._value(parts[-1])
            case "number_literal" | "true" | "false":
                return {b"true": b"1", b"false": b"0"}.get(text, text.rstrip(b"uUlL"))
            case "identifier":
                return self._of_name(node, text)
            case "unary_expression" if text.startswith(b"!"):
                return b"0" if self.truth(parts[-1]) else b"1"
            case "call_expression" if called_name(node, self._function.source.code) == b"opaque":
                return self._value(arguments(node)[0])
            case "assignment_expression" | "binary_expression":
                return self._of_operator(node)
        raise _Unknown

    def _of_name(self, node: Node, text: bytes) -> bytes:
        variable = self._function.locals.named(text, node.start_byte)
        if text in self._known:
            return self._known[text]
        if variable is None:
            return text  # A constant.
        before = self._function.locals.reaching_definition(variable, self._loop)
        if before is None or len(before.values) != 1:
            raise _Unknown
        return self._value(before.values[0])

    def _of_operator(self, node: Node) -> bytes:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            raise _Unknown
        if node.type == "assignment_expression" and sign.type == "=" and left.type == "identifier":
            given = self._value(right)
            self._known[self._function.text(left)] = given
            return given
        if node.type == "binary_expression" and sign.type in ("==", "!="):
            return b"1" if (self._value(left) == self._value(right)) == (sign.type == "==") else b"0"
        raise _Unknown
