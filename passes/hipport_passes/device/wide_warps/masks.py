# SPDX-License-Identifier: Apache-2.0
"""Follow masks of lanes, and find values that are numbers of lanes or of threads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from hipport.analysis import constant_values
from hipport.analysis.functions import Function, Variable, called_name
from hipport.analysis.library_names import LibraryNames
from hipport.analysis.value_propagation import Flow, Kind
from hipport.core.tables import Words, load
from hipport.program.project import Project
from hipport.syntax import cuda_names
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_MADE = _WORDS.compile(rb"(?&ballot)(?&masked)?|(?&active_mask)|__" + cuda_names.MATCH + rb"(?&masked)")
SHUFFLE = _WORDS.compile(rb"__" + cuda_names.SHUFFLE + rb"(?&masked)?")
_SHIFTED = re.compile(rb"[12][uU]?|-1|~0[uU]?|0[xX][fF]{8}[uU]?")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
_PARAMETERS = re.compile(rb"\A\([^()]*\)")
_WARPS = _WORDS.compile(rb"\b__(?&functions_of_lanes)\w*|\b(?&hipport)::(?!(?&native)\b)\w+")


@cache
def helpers() -> dict[bytes, bytes]:
    """Return the replacement of each intrinsic of warps in hipport's headers."""
    rows = load(Path(__file__).parent.with_name("warp_intrinsics.toml"))["helper"]
    return {name.encode(): helper.encode() for name, helper in rows.items()}


@cache
def intrinsic() -> re.Pattern[bytes]:
    """Return a pattern for the names of `helpers`."""
    return re.compile(b"|".join(sorted(helpers(), reverse=True)))


def macros_of_warps(source: Cpp) -> frozenset[bytes]:
    """Return the macros that contain intrinsics, or their replacements for warps of 32 lanes."""
    found = set()
    for directive in source.directives:
        match = _DEFINE.match(source.code, directive.start, directive.end)
        if match and _WARPS.search(source.code, match.end(), directive.end):
            found.add(match[1])
    return frozenset(found)


def macro_bodies(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return the expansions of the file's macros, also of those with parameters."""
    found = set()
    for directive in source.directives:
        match = _DEFINE.match(source.code, directive.start, directive.end)
        if match:
            found.add((match[1], _PARAMETERS.sub(b"", source.code[match.end() : directive.end], count=1)))
    return frozenset(found)


class Masks(Flow):
    """Masks of lanes: those that functions make or receive, and a bit shifted by a lane."""

    def __init__(self, project: Project, source: Cpp, only: Collection[Function]) -> None:
        self.only = only
        self._library: dict[PurePath, frozenset[int]] = {}
        self._lanes: dict[tuple[PurePath, int, int], bool] = {}
        self._threads: dict[tuple[PurePath, int, int], bool] = {}
        super().__init__(project, source, Kind(_MADE, ((SHUFFLE, 1),)))

    @property
    def functions(self) -> tuple[Function, ...]:
        return tuple(self.only)

    def library(self, source: Cpp) -> frozenset[int]:
        """Return the file's uses of intrinsics that the program does not define itself."""
        if source.path not in self._library:
            uses = LibraryNames(intrinsic()).uses(source, self.project)
            self._library[source.path] = frozenset(where.start for where, _ in uses)
        return self._library[source.path]

    def carries(self, function: Function, node: Node | None) -> bool:
        return node is not None and (self.lane_shift(function, node) or super().carries(function, node))

    def lane_shift(self, function: Function, node: Node) -> bool:
        """Whether `node` is `1 << lane`, `2u << lane`, `-1 << lane` or the like."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        return (
            node.type == "binary_expression"
            and sign is not None
            and sign.type == "<<"
            and left is not None
            and right is not None
            and _SHIFTED.fullmatch(function.text(left)) is not None
            and self.is_lane(function, right)
        )

    def is_lane(self, function: Function, node: Node, depth: int = 4) -> bool:
        """Whether `node` is the number of a lane in its warp."""
        key = (function.source.path, node.start_byte, node.end_byte)
        if key not in self._lanes:
            self._lanes[key] = False  # The answer for a recursive query.
            self._lanes[key] = self._is_lane(function, node, depth)
        return self._lanes[key]

    def _is_lane(self, function: Function, node: Node, depth: int) -> bool:
        while node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
            node = node.named_children[-1]
        text = function.text(node)
        if node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            if left is None or right is None or sign is None:
                return False
            number = self.number(function, right)
            if (sign.type, number) in (("%", 32), ("&", 31)):
                return self.is_thread(function, left)
            # `m & (m - 1)` is not a lane; `__ffs(m) - 1` is one.
            return (
                sign.type == "-"
                and number == 1
                and left.type == "call_expression"
                and (called_name(left, function.source.code) == b"__ffs")
            )
        if node.type == "identifier" and depth:
            variable = function.locals.named(text, node.start_byte)
            return variable is not None and self._all_given(function, variable, "is_lane", depth)
        if node.type == "call_expression" and depth:
            called = self.kernels.definitions(function.source, called_name(node, function.source.code))
            values = [(each, value) for each in called for value in returned(each.body)]
            return bool(values) and all(self.is_lane(each, value, depth - 1) for each, value in values)
        return False

    def is_thread(self, function: Function, node: Node, depth: int = 4) -> bool:
        """Return whether `node` counts threads: `threadIdx.x`, `blockIdx.x * blockDim.x + threadIdx.x`, a variable of
        it.
        """
        key = (function.source.path, node.start_byte, node.end_byte)
        if key not in self._threads:
            self._threads[key] = False  # The answer for a recursive query.
            self._threads[key] = self._is_thread(function, node, depth)
        return self._threads[key]

    def _is_thread(self, function: Function, node: Node, depth: int) -> bool:
        while node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
            node = node.named_children[-1]
        text = b"".join(function.text(node).split())
        if text == b"threadIdx.x":
            return True
        if node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            if left is None or right is None or sign is None or sign.type != "+":
                return False
            whole = _WORDS.compile(
                rb"\(?(?&indices)\.[xyz]\*(?&block_size)\.x\)?|\(?(?&block_size)\.x\*(?&indices)\.[xyz]\)?"
            )
            for one, other in ((left, right), (right, left)):
                if whole.fullmatch(b"".join(function.text(one).split())) and self.is_thread(function, other, depth):
                    return True
            return False
        if node.type == "identifier" and depth:
            variable = function.locals.named(text, node.start_byte)
            return variable is not None and self._all_given(function, variable, "is_thread", depth)
        return False

    def number(self, function: Function, node: Node) -> int | None:
        text = function.text(node).strip(b"() \t\r\n")
        if text.startswith(b"~"):
            inner = constant_values.value(function.source, self.project, text[1:].strip())
            return None if inner is None else ~inner
        if function.locals.named(text, node.start_byte) is not None and not self._is_constant(function, node, text):
            return None
        return 32 if text == b"warpSize" else constant_values.value(function.source, self.project, text)

    def _is_constant(self, function: Function, node: Node, name: bytes) -> bool:
        variable = function.locals.named(name, node.start_byte)
        declared = self.declared(function, variable) if variable is not None else None
        outer = declared.type.parent if declared is not None else None
        return outer is not None and re.search(rb"\bconst(?:expr)?\b", function.text(outer)) is not None

    def _all_given(self, function: Function, variable: Variable, what: str, depth: int) -> bool:
        test = getattr(self, what)
        given = [each for each in function.locals.assignments if each.variable == variable and each.values]
        if given:
            return all(len(each.values) == 1 and test(function, each.values[0], depth - 1) for each in given)
        if variable.name not in function.parameters or function.kernel:
            return False
        position = function.parameters.index(variable.name)
        calls = [call for call in self.kernels.callers(function) if len(call.arguments) > position]
        return bool(calls) and all(test(call.function, call.arguments[position], depth - 1) for call in calls)


def inner_nodes(node: Node) -> Iterator[Node]:
    stack = list(reversed(node.named_children))
    while stack:
        each = stack.pop()
        yield each
        stack.extend(reversed(each.named_children))


def returned(body: Node) -> Iterator[Node]:
    for node in inner_nodes(body):
        if node.type == "return_statement":
            yield from node.named_children
