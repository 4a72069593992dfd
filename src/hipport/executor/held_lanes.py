# SPDX-License-Identifier: Apache-2.0
"""Make lanes of a wavefront converge around waiting loops as they do on AMD.

On AMD, lanes that leave a loop wait after it for the lanes of their wavefront that are still in it. Lanes that skip a
branch wait after it for those in it, and one side of a branch runs before the other. So a lane that waits for another
lane's action after the loop, or in the other branch, waits forever, while the executor's lanes, which run
independently, would continue. `SIMT_TOGETHER` before a loop that waits, and before each loop and branch around it or
around a call that may wait, makes lanes wait as on a GPU; see Together in core.h. `SIMT_SIDE` begins a branch of such a
statement. A function that waits has one where it may return before its end, or calls itself; for `goto` backwards it
starts at the label.

A loop contains only what leads back to its condition. Compilers move an exit such as `if (taken) { …; break; }` after
the loop, and also the code that sets the flag in the loop's condition (clang 21 for gfx942, seen in the assembly).
`SIMT_LEAVES` is put there. `hipport::opaque` hides a flag from the compiler, and a branch of the other lanes with an
effect keeps the exit inside the loop.

Loops that only wait for a compare-and-swap of a value that they have just read get nothing: lanes hold no lock there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import DEFINE, LOOPS, nodes
from hipport.core.edits import Edit, Span
from hipport.executor import loop_exits, waits
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

_STATEMENTS = LOOPS | {"if_statement", "switch_statement"}
_FUNCTIONS = frozenset(("function_definition", "lambda_expression"))
_GOTOS = frozenset(("goto_statement",))
_RETURNS = frozenset(("return_statement", *_FUNCTIONS))
_MACROS = frozenset(("preproc_def", "preproc_function_def"))
# A macro that may be a statement with its own condition.
_CONTROLS = re.compile(rb"\s*(?:\\\s*)*(?:if|for|while|do|switch)\b|\s*\{")
# The order of insertions at one place.
_CLOSES, _SIDE, _LEAVES, _DECLARES, _TOGETHER = range(5)


class _Put(NamedTuple):
    at: int
    order: int
    outer: int  # of two with the same order, that of the statement that begins first or ends last comes first
    text: bytes


def edits(source: Cpp, component: Component) -> Iterator[Edit]:
    """Yield the edits that make lanes converge in a file."""
    if source.is_hipport_header or not waits.DEVICE.search(source.code):
        return
    loops = component.fact(waits.waiting_loops)[source.path]
    calls = component.fact(waits.waiters)
    found = _Statements(source, component, calls)
    for loop in loops:
        found.add_loop(loop)
    pattern = calls.pattern
    for match in pattern.finditer(source.code):
        found.add_call(match)
    for function in found.functions():
        found.add_function(function, pattern)
    puts = sorted(found.puts())
    for at in dict.fromkeys(each.at for each in puts):
        yield Edit(Span(at, at), b"".join(each.text for each in puts if each.at == at))


class _Statements:
    """The statements of a file at which lanes must converge, and the insertions there."""

    def __init__(self, source: Cpp, component: Component, calls: waits.Waiters) -> None:
        self.source = source
        self.code = source.code
        self.calls = calls
        self.looks = component.fact(waits.looks)
        self.volatile = component.fact(waits.any_volatile)
        self.macros: Mapping[bytes, bytes] = {match[1]: match[3] for match in DEFINE.finditer(self.code)}
        self._found: dict[tuple[int, int, str], Node] = {}
        self._functions: dict[tuple[int, int], Node] = {}
        self._puts: list[_Put] = []
        self._number = 0

    def add_loop(self, loop: waits.WaitingLoop) -> None:
        """Handle a loop that waits."""
        node = self._at(loop.start)
        while node is not None and node.type not in LOOPS and node.start_byte == loop.start:
            node = node.parent
        if node is not None and node.type in LOOPS and node.start_byte == loop.start:
            self._add_around(node)
        else:
            # In a macro, or in code that the parser does not understand.
            self._put(loop.start, _TOGETHER, -loop.end, b"SIMT_TOGETHER(%d) " % self._next())
            if (around := self._at(loop.start)) is not None and not self._in_macro(around):
                self._add_around(around)

    def add_call(self, match: re.Match[bytes]) -> None:
        """Handle a call of something that may wait."""
        node = self._at(match.start())
        if node is None or self._in_macro(node):
            return
        self._add_around(node)
        name = re.match(rb"\w+", match[0])
        is_macro = name is not None and name[0] in self.calls.macros
        statement, on_condition = _statement_of(node, self.code)
        if statement is None:
            return
        if statement.type == "expression_statement":
            macro = is_macro and statement.start_byte == match.start() and self._controls(name[0] if name else b"")
            if on_condition or macro:
                self._found[statement.start_byte, -statement.end_byte, "expression"] = statement
        elif on_condition and statement.type == "declaration" and _parent_type(statement) == "compound_statement":
            self._found[statement.start_byte, -statement.end_byte, "declaration"] = statement

    def _controls(self, macro: bytes) -> bool:
        return _CONTROLS.match(self.macros.get(macro, b"")) is not None

    def functions(self) -> list[Node]:
        """Functions that contain something that waits, or may wait: a jump back to a label."""
        if b"goto" in self.code:
            for each in nodes(self.source.tree.root_node, _GOTOS):
                function = _function_of(each)
                if function is not None:
                    self._functions[function.start_byte, function.end_byte] = function
        for match in self.looks.finditer(self.code):
            function = _function_of(self._at(match.start()))
            if function is not None and self._is_recursive(function):
                self._functions[function.start_byte, function.end_byte] = function
        return list(self._functions.values())

    def _is_recursive(self, function: Node) -> bool:
        body = function.child_by_field_name("body")
        head = self.code[function.start_byte : body.start_byte] if body is not None else b""
        name = re.search(rb"([A-Za-z_]\w*)\s*\(", head)
        return (
            body is not None
            and name is not None
            and waits.calls_itself(name[1], self.code[body.start_byte : body.end_byte])
        )

    def add_function(self, function: Node, calls: re.Pattern[bytes]) -> None:
        """Make lanes converge at the end of a function if some may return before others."""
        body = function.child_by_field_name("body")
        if body is None or body.type != "compound_statement":
            return
        head = self.code[function.start_byte : body.start_byte]
        if re.search(rb"\bconstexpr\b|\bconsteval\b", head):
            return
        self._add_labels(body)
        if b"__global__" in head or not (self._is_recursive(function) or _returns_early(body)):
            return
        text = b"SIMT_TOGETHER_FROM_HERE(%d) " % self._next()
        self._put(body.start_byte + 1, _DECLARES, 0, text)

    def _add_labels(self, body: Node) -> None:
        gotos = list(nodes(body, _GOTOS)) if b"goto" in self.code[body.start_byte : body.end_byte] else []
        for label in nodes(body, frozenset(("labeled_statement",))) if gotos else ():
            name = label.child_by_field_name("label")
            if name is None or _parent_type(label) != "compound_statement":
                continue
            back = [each for each in gotos if each.start_byte > label.start_byte and _leads_to(each, name, self.code)]
            last = back[-1] if back else None
            if last is None or not self.looks.search(self.code, label.start_byte, last.end_byte):
                continue
            end: Node | None = label
            while end is not None and end.end_byte < last.end_byte:
                end = end.next_named_sibling
            if end is None:
                continue
            number = self._next()
            self._put(body.start_byte + 1, _DECLARES, 0, b"SIMT_TOGETHER_LATER(%d) " % number)
            self._put(label.start_byte, _DECLARES, 0, b"SIMT_ENTERS(%d) " % number)
            self._put(end.end_byte, _CLOSES, 0, b" SIMT_LEAVES(%d)" % number)
            way_out = loop_exits.of_label(end, name, self.code)
            if way_out is not None:
                self._put_exit(way_out, number)
            self._add_around(label)

    def _add_around(self, node: Node) -> None:
        """Make lanes converge that are in a statement around a place, or skip it."""
        each: Node | None = node
        while each is not None and each.type not in _FUNCTIONS:
            if each.type in _STATEMENTS and not self._is_constant(each):
                self._found[each.start_byte, -each.end_byte, each.type] = each
            each = each.parent
        if each is not None:
            self._functions[each.start_byte, each.end_byte] = each

    def _is_constant(self, node: Node) -> bool:
        return node.type == "if_statement" and b"constexpr" in self.code[node.start_byte : node.start_byte + 20]

    def puts(self) -> list[_Put]:
        """Return all insertions."""
        for (start, end, kind), node in sorted(self._found.items(), key=lambda each: each[0]):
            number = self._next()
            if kind == "declaration":
                self._put(start, _DECLARES, end, b"SIMT_TOGETHER_FROM_HERE(%d) " % number)
                self._put(-end, _CLOSES, end, b" SIMT_LEAVES(%d)" % number)
                continue
            self._put(start, _TOGETHER, end, b"SIMT_TOGETHER(%d) " % number)
            for at, side, prefix in _sides(node):
                text = b"SIMT_SIDE(%d, %d)" % (number, side)
                self._put(at, _SIDE, end, text + b" " if prefix else b" " + text + b";")
            if kind in LOOPS:
                for way_out in loop_exits.of_loop(node, self.code, self.volatile):
                    self._put_exit(way_out, number)
        return self._puts

    def _put_exit(self, way_out: loop_exits.WayOut, number: int) -> None:
        leaves = b"SIMT_LEAVES(%d) " % number
        if way_out.closes is None:
            self._put(way_out.at, _LEAVES, 0, leaves)
        else:
            self._put(way_out.at, _LEAVES, 0, b"{ " + leaves)
            self._put(way_out.closes, _CLOSES, 0, b" }")

    def _put(self, at: int, order: int, outer: int, text: bytes) -> None:
        self._puts.append(_Put(at, order, outer, text))

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _at(self, offset: int) -> Node | None:
        return self.source.tree.root_node.descendant_for_byte_range(offset, offset + 1)

    def _in_macro(self, node: Node) -> bool:
        each: Node | None = node
        while each is not None:
            if each.type in _MACROS:
                return True
            each = each.parent
        return False


def _parent_type(node: Node) -> str:
    return node.parent.type if node.parent is not None else ""


def _function_of(node: Node | None) -> Node | None:
    while node is not None and node.type not in _FUNCTIONS:
        node = node.parent
    return node


def _statement_of(node: Node, code: bytes) -> tuple[Node | None, bool]:
    """Return the statement that contains an expression, and whether only some lanes may reach the expression."""
    on_condition = False
    each: Node | None = node
    while each is not None and not each.type.endswith("_statement") and each.type != "declaration":
        if each.type in _FUNCTIONS:
            return None, False
        parent = each.parent
        if parent is not None and parent.type == "conditional_expression":
            on_condition = on_condition or parent.child_by_field_name("condition") != each
        elif parent is not None and parent.type == "binary_expression":
            operator, left = parent.child_by_field_name("operator"), parent.child_by_field_name("left")
            shortens = operator is not None and code[operator.start_byte : operator.end_byte] in (b"&&", b"||")
            on_condition = on_condition or (shortens and left != each)
        each = parent
    return each, on_condition


def _returns_early(body: Node) -> bool:
    """Whether a function may return before its last statement."""
    last = body.named_children[-1] if body.named_children else None
    for each in nodes(body, _RETURNS):
        if each.type != "return_statement" or each == last:
            continue
        if _function_of(each) == _function_of(body):
            return True
    return False


def _leads_to(goto: Node, label: Node, code: bytes) -> bool:
    given = goto.child_by_field_name("label")
    return given is not None and code[given.start_byte : given.end_byte] == code[label.start_byte : label.end_byte]


def _sides(node: Node) -> Iterator[tuple[int, int, bool]]:
    """Yield the beginnings of branches, their numbers, and whether the insertion precedes a statement."""
    if node.type == "if_statement":
        taken, other = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if taken is None or other is None:
            return
        if other.type == "else_clause":
            other = other.named_children[-1]
        yield taken.start_byte, 0, True
        yield other.start_byte, 1, True
    elif node.type == "switch_statement":
        body = node.child_by_field_name("body")
        cases = [each for each in body.named_children if each.type == "case_statement"] if body is not None else []
        for number, case in enumerate(cases):
            colon = next((each for each in case.children if each.type == ":"), None)
            # A case without a statement shares that of the next.
            if colon is not None and case.end_byte > colon.end_byte:
                yield colon.end_byte, number, False
