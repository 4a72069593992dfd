# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on lanes, warps and masks, and comparisons with them, in warps as wide as the wavefront."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipport.analysis.uniform_values import WARP
from hipport.analysis.value_propagation import span
from hipport.core.edits import Span
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.wide_warps.masks import inner_nodes
from hipport_passes.device.wide_warps.widening_notes import NATIVE, SIZE, Notes

if TYPE_CHECKING:
    from tree_sitter import Node

_GRID = NAMES.compile(rb"\b(?&of_grid)\.[xyz]\s*\Z|\A\s*(?&of_grid)\.[xyz]\b(?!\s*\*\s*(?&block_size))")
#: `blockDim.x / 32.f`
_REAL = re.compile(rb"32\.0*([fF]?)")
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_COMPARES = ("<", ">=", "==", "!=", ">", "<=")


@dataclass(frozen=True)
class _Operands:
    """The left operand of an operator, and the number on its right."""

    left: Node
    sign: Node
    right: Node
    number: int | None
    #: The left operand: counts threads or lanes, is the size of a block, is a lane, or is the same for a warp.
    counts: bool
    sized: bool
    lane: bool
    warp: bool


class Arithmetic(Notes):
    """The work on the operators in one function."""

    def binary(self, node: Node) -> None:
        """Widen an operator on lanes, warps or masks, or refuse it."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None or self._of_mask(node, left, sign.type, right):
            return
        flow, function = self.flow, self.function
        first, number = flow.number(function, left), flow.number(function, right)
        if sign.type in _TURNED and number is None:
            why = self.by_number(right, _TURNED[sign.type], first)
            if why:
                self.refuse(node, why)
                return
        if first in (16, 31, 32) and number is None:
            self.from_the_left(node, left, sign.type, right)
            return
        if self.share(left, sign.type, number) or (sign.type == "*" and self.share(right, "*", first)):
            self.refuse(node, "the work of a warp per step")
            return
        why = self.by_number(left, sign.type, number)
        if why:
            self.refuse(node, why)
            return
        self._by_size(node, left, sign, right, number)

    def _of_mask(self, node: Node, left: Node, sign: str, right: Node) -> bool:
        """Widen an operator on masks, or refuse it; return whether it is one."""
        function, flow = self.function, self.flow
        if flow.lane_shift(function, node):
            digit = function.text(left).rstrip(b"uU")
            ones = digit not in (b"1", b"2")
            self.settled.update(child.start_byte for child in (left, *inner_nodes(left)))
            self.edit(span(left), b"~" * ones + NATIVE + b"lane_mask(" + (b"0" if ones else digit) + b")")
            return True
        carried = flow.carries(function, left), flow.carries(function, right)
        if any(carried) and sign in ("&", "|", "^", "==", "!="):
            other = right if carried[0] else left
            if not all(carried):
                if self.is_full(other):
                    self.settle(other, NATIVE + b"full_mask()")
                elif flow.number(function, other) not in (0, 1):
                    self.refuse(other, "a mask of 32 bits")
            return True
        known = flow.number(function, right)
        shifted = sign in ("<<", ">>") and known
        ordered = sign in ("<", ">", "<=", ">=") and (sign, known) != (">", 0)
        if carried[0] and known is not None and (shifted or ordered):
            # `mask >> 16`, and `mask < 0`, which tests lane 31.
            self.refuse(node, "some of the lanes by number")
            return True
        return False

    def _by_size(self, node: Node, left: Node, sign: Node, right: Node, number: int | None) -> None:
        """Widen an operation with the size of a warp, with the last lane's number, or with a shift by 5."""
        function, flow = self.function, self.flow
        real = _REAL.fullmatch(function.text(right)) if sign.type == "/" else None
        if right.start_byte in self.settled or (real is None and number not in (5, 16, 31, 32, -32, 0xFFFFFFE0)):
            return
        if _GRID.search(function.text(left)) and (sign.type, number) in (("*", 32), ("<<", 5)):
            self.refuse(node, "the grid is computed with 32")
            return
        sized = b"blockDim" in function.text(left) and b"threadIdx" not in function.text(left)
        counts = flow.is_thread(function, left)
        lane = flow.is_lane(function, left)
        warp = not sized and self.uniformity(left) == WARP
        of = _Operands(left, sign, right, number, counts, sized, lane, warp)
        if not self._split_by_size(node, of, real):
            self._compared_with_size(node, of)

    def _split_by_size(self, node: Node, of: _Operands, real: re.Match[bytes] | None) -> bool:
        """Widen a computation that splits threads into warps and lanes, or joins these; return whether it is one."""
        left, sign, right, number = of.left, of.sign, of.right, of.number
        if number == 32 and sign.type in ("%", "/") and (of.counts or of.sized):
            self.settle(right, SIZE)
        elif real is not None:
            if of.counts or of.sized:
                self.settle(right, b"static_cast<" + (b"float" if real[1] else b"double") + b">(" + SIZE + b")")
        elif number == 32 and sign.type == "/" and self.flow.number(self.function, left) is not None:
            self.count(node, right)
        elif number == 31 and sign.type == "&" and of.counts:
            self.settle(right, b"(" + SIZE + b" - 1)")
        elif number == 31 and sign.type == "+" and of.sized:
            self.settle(right, SIZE + b" - 1")
        elif number == 32 and sign.type == "+" and of.sized and self.less_one(node):
            self.settle(right, SIZE)
        elif number == 5 and sign.type == ">>" and (of.counts or of.sized):
            self.shift(left, sign, right, b"/")
        elif number == 5 and sign.type == "<<" and of.warp:
            self.shift(left, sign, right, b"*")
        else:
            return False
        return True

    def _compared_with_size(self, node: Node, of: _Operands) -> None:
        """Widen products and comparisons with the size, or with the last lane; refuse other questions about lanes."""
        sign, number, lane, counts, warp = of.sign.type, of.number, of.lane, of.counts, of.warp
        if number == 32 and (warp if sign == "*" else (counts or lane) and sign in _COMPARES):
            self.settle(of.right, SIZE)
        elif number == 31 and sign in _COMPARES and (counts or lane):
            self.settle(of.right, SIZE + b" - 1")
        elif (
            lane
            or (counts and number not in (16, 32) and sign in ("&", "^", ">>", "<<"))
            or (counts and number in (16, 32) and sign in ("+", "-"))
            or (warp and sign in (*_COMPARES, "%", "/"))
        ):
            self.refuse(node, "")

    def by_number(self, left: Node, sign: str, number: int | None) -> str:
        """Return why a statement about numbered lanes, warps or threads does not hold for a wavefront; else nothing."""
        flow, function = self.flow, self.function
        if number is None:
            return ""
        if sign in ("/", ">>") and number > 0 and flow.is_lane(function, left):
            return "groups of this many lanes"
        if sign in _COMPARES:
            if flow.is_thread(function, left) and number % 64 == 32 and (number > 32 or sign in ("==", "!=")):
                return "a part of a wavefront"
            # `warp == 0` and `warp < 1` mean the first warp, however many there are.
            first = number == 0 if sign in ("==", "!=", ">", "<=") else number in (0, 1)
            if not first and self.numbers_warps(left):
                return "warps by their numbers"
        return ""

    def share(self, warp: Node, sign: str, number: int | None) -> bool:
        """Return whether it is the start of a warp that handles several items per lane: `warp * 128`."""
        return sign in ("*", "<<") and (number or 0) > (32 if sign == "*" else 5) and self.numbers_warps(warp)

    def numbers_warps(self, node: Node, depth: int = 4) -> bool:
        """Return whether it is the number of a warp, in its block or in the grid."""
        flow, function = self.flow, self.function
        while node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
            node = node.named_children[-1]
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is not None and right is not None and sign is not None:
            if (sign.type, flow.number(function, right)) in (("/", 32), (">>", 5)):
                return flow.is_thread(function, left)
            return sign.type == "+" and any(self.numbers_warps(each, depth) for each in (left, right))
        if node.type != "identifier" or not depth:
            return False
        variable = function.locals.named(function.text(node), node.start_byte)
        definitions = function.locals.definitions.get(variable, []) if variable is not None else []
        return any(self.numbers_warps(value, depth - 1) for each in definitions for value in each.values)

    def from_the_left(self, node: Node, left: Node, sign: str, right: Node) -> None:
        """Widen `31 - lane`, `32 * warp` and the like."""
        if left.start_byte in self.settled:
            return
        if _GRID.search(self.function.text(right)) and sign == "*":
            self.refuse(node, "the grid is computed with 32")
            return
        number = self.flow.number(self.function, left)
        lane, counts = self.flow.is_lane(self.function, right), self.flow.is_thread(self.function, right)
        warp = self.uniformity(right) == WARP
        if number == 32 and (
            (lane and sign == "-") or (warp and sign == "*") or (sign in _COMPARES and (lane or counts))
        ):
            self.settle(left, SIZE)
        elif number == 31 and ((lane and sign == "-") or (sign in _COMPARES and (lane or counts))):
            self.settle(left, SIZE + b" - 1")
        elif lane or (counts and sign in ("+", *_COMPARES)) or (warp and sign in _COMPARES):
            self.refuse(node, "")

    def less_one(self, node: Node) -> bool:
        """Return whether 1 is subtracted from `node`, as in `blockDim.x + WARP_SIZE - 1`, which rounds up."""
        outer = node.parent
        if outer is None or outer.type != "binary_expression" or outer.child_by_field_name("left") != node:
            return False
        sign, right = outer.child_by_field_name("operator"), outer.child_by_field_name("right")
        return (
            sign is not None and sign.type == "-" and right is not None and self.flow.number(self.function, right) == 1
        )

    def count(self, node: Node, right: Node) -> None:
        """Widen `256 / 32`: the number of warps in a block. An array may have room for more."""
        outer = node.parent
        while outer is not None and outer != self.function.body:
            if outer.type in ("array_declarator", "template_argument_list"):
                return
            if outer.type == "declaration" and re.match(rb"\s*(?:static\s+)?constexpr\b", self.function.text(outer)):
                self.refuse(node, "a constant")
                return
            outer = outer.parent
        self.settle(right, SIZE)

    def shift(self, left: Node, sign: Node, right: Node, new: bytes) -> None:
        self.settled.add(right.start_byte)
        self.edit(Span(sign.start_byte, right.end_byte), new + b" " + SIZE)
        if left.type == "binary_expression":
            self.edit(Span(left.start_byte, left.start_byte), b"(")
            self.edit(Span(left.end_byte, left.end_byte), b")")
