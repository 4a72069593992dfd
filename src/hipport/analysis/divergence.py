# SPDX-License-Identifier: Apache-2.0
"""Find where lanes diverge in a function, and which sides they take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.built_ins import varies
from hipport.analysis.exclusive_conditions import WORD, exclude, squeezed, with_arguments
from hipport.analysis.functions import LOOPS, Function, Variable, arguments, comes_by_label, contains, nodes
from hipport.analysis.kernels import Kernels
from hipport.analysis.macro_exits import conditions_around, exits_by_macros
from hipport.analysis.macros import Macro, choices, loop_counters

if TYPE_CHECKING:
    from tree_sitter import Node

_IF = re.compile(rb"\bif\b")
# In a macro's condition: a load, a call, an assignment, or a condition that is not known.
_CHANGES = re.compile(rb"[\[*({\0]|->|\+\+|--|(?<![=!<>])=(?!=)")
_CALLS = frozenset(("call_expression",))
_PARTS = frozenset(("if_statement", "conditional_expression", "switch_statement"))


class Side(NamedTuple):
    """A side of a statement at which lanes diverge: from `start` to `end`.

    `way`: which side. `often`: the statement decides how often, not whether. `left`: lanes that took the other side
    have left the loop, the lambda or the function, which begins at `leaves`. `meaning`: the condition, with variables
    replaced by their only definition.
    """

    statement: tuple[int, int]
    way: object
    condition: bytes
    start: int
    end: int
    often: bool
    left: bool
    meaning: bytes = b""
    leaves: int = -1

    def ends(self, function: Function) -> bool:
        """Whether lanes that took the other side have ended."""
        return function.kernel and self.left and self.leaves == function.body.start_byte

    def skips(self, loop: Node) -> bool:
        """Whether lanes that took the other side are still in the loop, and may come in another iteration."""
        if self.often:
            return self.statement[0] > loop.start_byte
        return not self.left or self.leaves > loop.start_byte


def sides_of(kernels: Kernels, function: Function, node: Node, size: int, shown: bool) -> Iterator[Side]:
    """Yield the sides at which `size` neighbouring lanes diverge, and that lanes which reach `node` take.

    `shown`: without assumptions about blocks whose launches are not seen.
    """
    for condition in function.conditions(node):
        if not kernels.may_differ(function, condition.expression, size, shown=shown):
            continue
        statement = condition.statement
        child = _child_with(statement, node)
        way = condition.taken
        if statement.type == "switch_statement":
            case = _child_with(child, node)
            yield side_of(statement, case.start_byte, b"", case.start_byte, case.end_byte, False, False)
            continue
        text = squeezed(function.text(condition.expression))
        text = text if way else b"!" + text
        span = (statement if condition.loop else child).start_byte, child.end_byte
        side = side_of(statement, way, text, *span, condition.loop, False)
        yield side._replace(meaning=meaning(function, text, statement))
    yield from _in_macros(kernels, function, node, size, shown)
    yield from _under_macros(kernels, function, node, size, shown)
    yield from _left_by_macros(kernels, function, node, size, shown)
    for leaving in function.exits_before(node):
        if leaving.start_byte > node.start_byte:
            continue
        for condition in function.conditions(leaving):
            statement = condition.statement
            if statement.type not in _PARTS or statement.start_byte <= node.start_byte < statement.end_byte:
                break
            comes = comes_by_label(function, leaving, node)
            if comes is None:
                continue
            if kernels.may_differ(function, condition.expression, size, shown=shown):
                block = statement.parent
                text = squeezed(function.text(condition.expression))
                left = leaving.type not in ("continue_statement", "goto_statement")
                end = block.end_byte if block is not None else statement.end_byte
                way = None if condition.taken is None else condition.taken == comes
                side = side_of(statement, way, text if way else b"!" + text, statement.end_byte, end, False, left)
                yield side._replace(leaves=function.left_by(leaving, leaving.type).start_byte)


def _in_macros(kernels: Kernels, function: Function, node: Node, size: int, shown: bool) -> Iterator[Side]:
    """Yield the sides of conditions in macros with `node` in an argument: `SELECT(x, f(y), f(z))`."""
    macros = kernels.macros(function.source)
    inner = node
    for outer in function.around(node)[:-1] if macros else ():
        called = outer.child_by_field_name("function") if outer.type == "call_expression" else None
        name = function.text(called) if called is not None and called.type == "identifier" else b""
        if name in macros and called != inner:
            given = arguments(outer)
            position = next((i for i, each in enumerate(given) if contains(each, node)), -1)
            texts = tuple(map(function.text, given))
            for way, condition in _chosen(macros[name], position, texts):
                if kernels.uniformity_of_text(function, condition, outer, shown=shown) < size:
                    at = given[position]
                    text = condition if way else b"!" + condition
                    yield side_of(outer, way, text, at.start_byte, at.end_byte, False, False)
        inner = outer


def _under_macros(kernels: Kernels, function: Function, node: Node, size: int, shown: bool) -> Iterator[Side]:
    """Yield the sides of macros with `node` in the block after them that may stand for an `if`: `IF(x) { … }`."""
    macros, source = kernels.macros(function.source), function.source
    for outer in function.around(node)[:-1]:
        if outer.type != "function_definition":
            continue
        # It is parsed as a function.
        declarator = outer.child_by_field_name("declarator")
        name = declarator.child_by_field_name("declarator") if declarator is not None else None
        given = source.given(name.end_byte) if name is not None else None
        if name is None or given is None or len(given) != 1:
            continue
        of = macros.get(function.text(name))
        if of is not None and not any(_IF.search(macro.text) for macro in of):
            continue
        text = source.code[given[0].start : given[0].end]
        if kernels.uniformity_of_text(function, text, outer, shown=shown) < size:
            yield side_of(outer, True, squeezed(text), outer.start_byte, outer.end_byte, False, False)


def _left_by_macros(kernels: Kernels, function: Function, node: Node, size: int, shown: bool) -> Iterator[Side]:
    """Yield the sides of lanes that a macro before `node` does not let leave: `RETURN_IF(x)`."""
    for leaving in exits_by_macros(kernels, function, node):
        if leaving.node.start_byte > node.start_byte:
            continue
        texts = [leaving.text] if leaving.differs(kernels, function, size, shown=shown) else []
        outermost = leaving.node
        for condition in conditions_around(function, leaving, node):
            outermost = condition.statement
            if kernels.may_differ(function, condition.expression, size, shown=shown):
                text = squeezed(function.text(condition.expression))
                texts.append(text if condition.taken is False else b"!" + text)
        block = outermost.parent
        while block is not None and block.type != "compound_statement":
            block = block.parent
        end = block.end_byte if block is not None else outermost.end_byte
        for text in texts:
            left = leaving.kind != "continue_statement"
            side = side_of(leaving.node, True, text, outermost.end_byte, end, False, left)
            yield side._replace(leaves=function.left_by(leaving.node, leaving.kind).start_byte)


def _chosen(macros: Iterable[Macro], position: int, given: tuple[bytes, ...]) -> Iterator[tuple[bool, bytes]]:
    """Yield each condition of a macro, and its side, that contains every use of an argument."""
    for macro in macros:
        if macro.parameters is None or not 0 <= position < len(macro.parameters):
            continue
        used = [match.start() for match in re.finditer(rb"\b%s\b" % re.escape(macro.parameters[position]), macro.text)]
        for choice in choices(macro.text):
            condition = with_arguments(squeezed(choice.condition), macro.parameters, given)
            for way, (start, end) in ((True, choice.yes), (False, choice.no)):
                if condition and used and all(start <= each < end for each in used):
                    yield way, condition


def relation(function: Function, one: tuple[Side, ...], two: tuple[Side, ...]) -> tuple[str, Side, Side]:
    """Return the relation between lanes on the sides `one` and those on `two`, and the sides where they diverge."""
    nowhere = Side((0, 0), None, b"", 0, 0, False, False)
    ways = {side.statement: side for side in two}
    for side in one:
        other = ways.get(side.statement)
        if other is not None and other.way != side.way:
            return "branch", side, other
    # Lanes that have left a kernel make no other calls.
    shared = frozenset(one).intersection(two)
    own = [side for side in one if side not in shared and not side.ends(function)]
    others = [side for side in two if side not in shared and not side.ends(function)]
    for side in own:
        for other in others:
            if exclude(side.condition, other.condition) or (
                side.meaning and other.meaning and exclude(side.meaning, other.meaning)
            ):
                return "apart", side, other
            # `(x && …) || …`
            (start, end), within = side.statement, other.statement
            if other.way is False and within[0] <= start < end <= other.start < within[1] and not other.often:
                return "apart", side, other
    return "", nowhere, nowhere


def meaning(function: Function, condition: bytes, node: Node) -> bytes:
    """Return a condition with variables replaced by their definition, if they have only one."""
    for _ in range(3):
        inner = condition.strip(b"!()")
        if not WORD.fullmatch(inner):
            break
        variable = function.locals.named(inner, node.start_byte)
        definitions = function.locals.definitions.get(variable, ()) if variable is not None else ()
        if len(definitions) != 1 or not definitions[0].declares or len(definitions[0].values) != 1:
            break
        value = b"(" + squeezed(function.text(definitions[0].values[0])) + b")"
        condition = condition.replace(inner, value)
    return condition


def may_change(function: Function, side: Side, loop: Node, kernels: Kernels) -> bool:
    """Whether the condition at which lanes diverge may have another value in another iteration of the loop."""
    statement = function.body.descendant_for_byte_range(*side.statement)
    expression = statement.child_by_field_name("condition") if statement is not None else None
    if expression is None and statement is not None:
        expression = statement.child_by_field_name("left")
    if expression is None:
        return text_changes(function, side.condition, loop, kernels)
    return changes(function, expression, loop, kernels)


def text_changes(function: Function, text: bytes, loop: Node, kernels: Kernels) -> bool:
    """Whether a condition of a macro that is used in the loop may have another value in another iteration."""
    if not text or _CHANGES.search(text):
        return True
    for word in WORD.findall(text):
        variable = function.locals.named(word, loop.end_byte - 1)
        if variable is not None and _assigned_in(function, variable, loop):
            return True
        if variable is None and not varies(word) and kernels.named_constant(function.source, word) is None:
            return True  # such as a variable that is declared in the loop, or another macro
    return False


def changes(function: Function, expression: Node, loop: Node, kernels: Kernels) -> bool:
    """Whether an expression may have another value in another iteration of the loop."""
    stack = [expression]
    while stack:
        node = stack.pop()
        stack.extend(node.named_children)
        if node.type in ("subscript_expression", "pointer_expression", "update_expression", "assignment_expression"):
            return True
        if node.type == "call_expression":
            return True
        if node.type == "identifier":
            variable = function.locals.named(function.text(node), node.start_byte)
            if variable is not None and _assigned_in(function, variable, loop):
                return True
            if variable is None and (
                _counts_in_macro(function, function.text(node), kernels) or _given(function, node, loop)
            ):
                return True
    return False


def _counts_in_macro(function: Function, name: bytes, kernels: Kernels) -> bool:
    """Whether a loop that a macro begins in the function counts by that name."""
    source, body = function.source, function.body
    names = kernels.loop_macros(source) & source.words
    for span, macro in source.names(names) if names else ():
        if body.start_byte <= span.start < body.end_byte and source.directive(span.start) is None:
            given = [source.code[each.start : each.end] for each in source.given(span.end) or ()]
            if any(name in loop_counters(text) for text in kernels.expanded(source, macro, given)):
                return True
    return False


def _given(function: Function, name: Node, loop: Node) -> bool:
    """Whether the macro that begins the loop has the name in its arguments, and so may declare it."""
    declarator = loop.child_by_field_name("declarator") if loop.type == "function_definition" else None
    return declarator is not None and function.text(name) in WORD.findall(function.text(declarator))


def _assigned_in(function: Function, variable: Variable, loop: Node) -> bool:
    return any(
        each.variable == variable and loop.start_byte <= each.node.start_byte < loop.end_byte
        for each in function.locals.assignments
    )


def side_of(statement: Node, way: object, condition: bytes, start: int, end: int, often: bool, left: bool) -> Side:
    """Return the side of a statement from `start` to `end`; see Side."""
    return Side((statement.start_byte, statement.end_byte), way, condition, start, end, often, left)


def loops_around(function: Function, node: Node, kernels: Kernels) -> Iterator[Node]:
    """Yield the loops around a place, the innermost first, including those that macros begin, or may begin.

    Of a loop by `goto`, the block around it; and a lambda that calls itself.
    """
    yield from _by_labels(function, node)
    for outer in function.around(node)[:-1]:
        if outer.type == "lambda_expression" and calls_itself(function, outer):
            yield outer
        if outer.type == "function_definition":
            # `LOOP(i, n) { … }` is parsed as a function.
            declarator = outer.child_by_field_name("declarator")
            name = declarator.child_by_field_name("declarator") if declarator is not None else None
            macro = function.text(name) if name is not None else b""
            if macro in kernels.loop_macros(function.source) or macro not in kernels.macros(function.source):
                yield outer
        if outer.type in LOOPS:
            condition = outer.child_by_field_name("condition")
            # `do … while (0)` is not a loop.
            if condition is None or function.text(condition).strip(b"() \t\r\n") not in (b"0", b"false"):
                yield outer


def _by_labels(function: Function, node: Node) -> Iterator[Node]:
    """Yield the blocks around a `goto` and its label with a place between them, to which threads may come again."""
    for exit_ in function.exits() if function.labels else ():
        if exit_.type != "goto_statement" or exit_.end_byte < node.end_byte or not exit_.named_children:
            continue
        label = function.labels.get(function.text(exit_.named_children[0]))
        if label is not None and label.start_byte <= node.start_byte:
            yield next((each for each in function.around(exit_) if contains(each, label)), function.body)


def calls_itself(function: Function, lambda_: Node) -> bool:
    """Whether a lambda calls one of its parameters with that parameter: `self(self, i + 1)`."""
    for call in nodes(lambda_, _CALLS):
        called = call.child_by_field_name("function")
        if called is not None and called.type == "identifier":
            name = function.text(called)
            if any(each.type == "identifier" and function.text(each) == name for each in arguments(call)):
                return True
    return False


def _child_with(outer: Node, inner: Node) -> Node:
    """Return the part of `outer` that contains `inner`."""
    return next(
        (child for child in outer.children if child.start_byte <= inner.start_byte < child.end_byte),
        outer,
    )
