# SPDX-License-Identifier: Apache-2.0
"""The uniformity of an expression of device code, given that of its variables.

The dependences of an expression are read from its syntax once. The uniformity is computed again whenever more is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from hipport.analysis import group_types
from hipport.analysis.block_shapes import BlockShape
from hipport.analysis.built_ins import (
    BY_BLOCK,
    BY_THREAD,
    BY_WARP,
    COUNTS_THREADS,
    FOUND_GROUP,
    GRID_GROUP,
    SHUFFLES,
    TILE_SIZE,
)
from hipport.analysis.functions import (
    Call,
    Function,
    Locals,
    Variable,
    arguments,
    called_name,
    exits_past,
    functions,
    joined,
    nodes,
    operator_of,
)
from hipport.analysis.macros import Macro
from hipport.analysis.uniform_values import BLOCK, WARP, Numbering
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node


_CAST = re.compile(rb"static_cast\s*<[^()]*>|(?:unsigned|int|long|short|u?int(?:16|32|64)_t|size_t|uint|std::size_t)")
_COUNTED = re.compile(rb"\bfor\s*\(\s*[^;()=]*?\b([A-Za-z_]\w*)\s*[=:(]")
_WORD = re.compile(rb"[A-Za-z_]\w*")
# The shape of an unknown block.
_ANY = BlockShape(None, None, None)
_SAME_FOR_ALL = frozenset(("lambda_expression", "sizeof_expression", "type_descriptor", "template_argument_list"))
# The maximum number of assignments to follow back from a variable.
_STEPS = 6


class Form(NamedTuple):
    """The inputs of the uniformity of an expression: it is the least of theirs."""

    bound: int
    #: Variables, and the places where they are read.
    variables: tuple[tuple[Variable, Node], ...]
    #: Functions that are called, whose results count.
    functions: tuple[Function, ...]
    #: Subexpressions with a lower bound of their uniformity, whatever they contain.
    parts: tuple[tuple[int, Form], ...]


class CallInMacro(NamedTuple):
    """A use `node` of a macro in `function` that expands to a call of it; with the arguments, None if not seen."""

    function: Function
    node: Node
    arguments: tuple[bytes, ...] | None


class DeviceCode(Protocol):
    """What the uniformity of an expression depends on outside of it; implemented by `Kernels`."""

    def definitions(self, source: Cpp, name: bytes) -> tuple[Function, ...]:
        """Return the device functions of that name that `source` is connected to."""
        ...

    def callers(self, function: Function) -> tuple[Call, ...]:
        """Return the calls of the function."""
        ...

    def calls_in_macros(self, function: Function) -> tuple[CallInMacro, ...]:
        """Return the calls of the function that macros make."""
        ...

    def by_arguments(self, function: Function) -> bool:
        """Whether its result varies only as its arguments do."""
        ...

    def blocks(self, function: Function) -> tuple[BlockShape, ...] | None:
        """Return the shapes of the blocks that reach it; None if not all are seen."""
        ...

    def assumes(self, function: Function, numbering: Numbering, size: int) -> None:
        """Record an assumption about the launches."""
        ...

    def constant(self, function: Function, node: Node, depth: int = 4) -> int | None:
        """Return the value of a constant expression."""
        ...

    def numbers(self, function: Function, node: Node, depth: int = 4) -> frozenset[int]:
        """Return the values that an expression may have."""
        ...

    def form(self, function: Function, node: Node, shown: bool) -> Form:
        """Return the inputs of the uniformity of an expression."""
        ...

    def numbering(self, function: Function, node: Node, depth: int = 4) -> Numbering | None:
        """Return how an expression numbers threads."""
        ...

    def macros(self, source: Cpp) -> Mapping[bytes, tuple[Macro, ...]]:
        """Return the macros that `source` is connected to."""
        ...

    def loop_macros(self, source: Cpp) -> frozenset[bytes]:
        """Return the macros that begin a loop."""
        ...

    def expanded(self, source: Cpp, name: bytes, given: Sequence[bytes] | None) -> list[bytes]:
        """Return the possible expansions of a macro."""
        ...


class Expressions:
    """The uniformity of the expressions of a function."""

    def __init__(self, kernels: DeviceCode, function: Function, shown: bool) -> None:
        self._kernels = kernels
        self._function = function
        self._shown = shown
        self._macros = kernels.macros(function.source)
        self._forms: dict[int, Form] = {}
        self._before: dict[tuple[Variable, int], tuple[Form, ...] | None] = {}
        self._kept: dict[Variable, bool] = {}
        self._elsewhere: dict[Variable, tuple[tuple[Function, Form], ...]] = {}

    def given(self, variable: Variable) -> Iterator[Form]:
        """Yield the definitions of the variable, and the conditions that select them; none for a shared variable."""
        if variable in self._function.locals.shared:
            return
        for each in self._function.locals.given.get(variable, ()):
            yield from map(self.form, each.values)
            # Only some threads may reach the definition; outside the variable's own scope that makes no difference.
            for condition in self._function.conditions(each.node) if not each.declares else ():
                if condition.statement.start_byte >= variable.start:
                    yield self.form(condition.expression)
            for past in exits_past(self._function, each.node, variable.start) if not each.declares else ():
                for condition in self._function.conditions(past):
                    if condition.statement.start_byte >= variable.start:
                        yield self.form(condition.expression)

    def changed_elsewhere(self, variable: Variable) -> tuple[tuple[Function, Form], ...]:
        """Return the values that the variable gets through another name, each with the function that assigns it.

        The other name is a reference or a pointer, in the function itself or in one that it is passed to.
        """
        if variable not in self._elsewhere:
            found = tuple(self._find_elsewhere(variable)) if variable not in self._function.locals.shared else ()
            self._elsewhere[variable] = found
        return self._elsewhere[variable]

    def _find_elsewhere(self, variable: Variable) -> Iterator[tuple[Function, Form]]:
        function, name = self._function, re.escape(variable.name)
        # The name means the variable only in its scope.
        begin, end = max(function.body.start_byte, variable.start), min(function.body.end_byte, variable.end)
        code = function.source.code[begin:end]
        for match in re.finditer(rb"([&*])\s*(\w+)\s*=\s*(&?)\s*" + name + rb"\s*[;,]", code):
            by_pointer = match[1] == b"*"
            other = function.locals.named(match[2], begin + match.end())
            if other is None or other == variable or by_pointer != bool(match[3]):
                continue
            if by_pointer:
                yield from ((function, self.form(value)) for value in _stored_through(function, match[2]))
            else:
                yield function, Form(BLOCK, ((other, function.body),), (), ())
        if not re.search(rb"[(,]\s*&?\s*" + name + rb"\s*[,)]", code):
            return
        for call in function.calls():
            for i, argument in enumerate(call.arguments if begin <= call.node.start_byte < end else ()):
                pointer = argument.type == "pointer_expression" and function.text(argument).startswith(b"&")
                given = argument.named_children[0] if pointer and argument.named_children else argument
                if given.type != "identifier" or function.text(given) != variable.name:
                    continue
                if function.locals.named(variable.name, given.start_byte) != variable:
                    continue
                for of in self._kernels.definitions(function.source, call.name):
                    parameter = of.parameters[i] if i < len(of.parameters) else b""
                    if pointer and parameter:
                        yield from (
                            (of, self._kernels.form(of, value, self._shown)) for value in _stored_through(of, parameter)
                        )
                    elif parameter and of.takes_reference(i):
                        inner = of.locals.named(parameter, of.body.start_byte)
                        if inner is not None:
                            yield of, Form(BLOCK, ((inner, of.body),), (), ())

    def returned(self) -> Iterator[Form]:
        """Yield the values that the function returns, and the conditions that select the `return` statement."""
        for statement in self._function.returns:
            yield from map(self.form, statement.named_children)
            for condition in self._function.conditions(statement):
                yield self.form(condition.expression)

    def read(self, form: Form, steps: int) -> Iterator[tuple[Function, Variable | None]]:
        """Yield the variables on which the uniformity of `form` depends, and the functions (with None)."""
        yield from ((function, None) for function in form.functions)
        for variable, node in form.variables:
            yield self._function, variable
            for each in (self._last(variable, node) or ()) if steps > 0 else ():
                yield from self.read(each, steps - 1)
        for _, inner in form.parts:
            yield from self.read(inner, steps)

    def least(self, form: Form, variables: Mapping[Variable, int], results: Mapping[Function, int], steps: int) -> int:
        """Return the uniformity of `form`, given those of variables and of functions' results.

        Variables and results that are not given count as uniform. A variable is followed to its reaching definition, up
        to `steps` deep.
        """
        least = form.bound
        for function in form.functions:
            least = min(least, results.get(function, BLOCK))
        for variable, node in form.variables:
            agreed = variables.get(variable, BLOCK)
            if agreed >= least:
                continue
            if steps > 0:
                last = self._last(variable, node)
                if last is not None:
                    given = [self.least(each, variables, results, steps - 1) for each in last]
                    agreed = max(agreed, min(given, default=BLOCK))
            least = min(least, agreed)
        for floor, inner in form.parts:
            if floor < least:
                least = min(least, max(floor, self.least(inner, variables, results, steps)))
        return least

    def _last(self, variable: Variable, node: Node) -> tuple[Form, ...] | None:
        """The only reaching definition of a thread's own variable at a place."""
        key = (variable, node.start_byte)
        if key not in self._before:
            of = self._function.locals
            changed = variable in of.shared or bool(self.changed_elsewhere(variable))
            last = None if changed else of.last(variable, node)
            if (
                last is not None
                and not last.declares
                and any(each.type == "goto_statement" for each in exits_past(self._function, last.node, variable.start))
            ):
                last = None
            if last is not None:
                self._before[key] = tuple(map(self.form, last.values))
            else:
                self._before[key] = None if changed else self._of_branches(variable, node)
        return self._before[key]

    def _of_branches(self, variable: Variable, node: Node) -> tuple[Form, ...] | None:
        """The phi of a variable at a place: its reaching definitions, also in branches, and the conditions."""
        if b"goto" in self._function.source.words and b"goto" in self._function.text(self._function.body):
            return None
        found = joined(self._function, variable, node)
        if found is None:
            return None
        values = [value for each in found.assignments for value in each.values]
        return tuple(map(self.form, (*values, *found.conditions)))

    def form(self, node: Node) -> Form:
        """Return the inputs of the uniformity of an expression."""
        form = self._forms.get(node.id)
        if form is None:
            form = self._forms[node.id] = Form(1, (), (), ()) if self._function.tangled else self._read(node)
        return form

    def _read(self, root: Node) -> Form:
        bound = BLOCK
        variables: dict[Variable, list[Node]] = {}
        called: dict[Function, None] = {}
        parts: list[tuple[int, Form]] = []
        stack = [root]
        while stack and bound > 1:
            node = stack.pop()
            kind = node.type
            name = self._macro(node)
            if name:
                parts += [(0, form) for form in self._of_macro(node, name)]
            elif kind in ("identifier", "field_identifier"):
                bound = min(bound, self._name(node, self._function.text(node), variables))
            elif kind == "field_expression" and self._function.text(node) in (b"threadIdx.y", b"threadIdx.z"):
                bound = min(bound, self._rows(self._function.text(node)[-1:]))
            elif kind == "call_expression":
                bound = min(bound, self._call(node, variables, called, stack))
            elif kind == "binary_expression":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                floor = 0
                if left is not None and right is not None:
                    floor = self._floor(left, operator_of(node, self._function.source.code), right)
                if floor > 1:
                    assert left is not None and right is not None
                    parts += [(floor, self.form(left)), (floor, self.form(right))]
                else:
                    stack.extend(node.named_children)
            elif kind not in _SAME_FOR_ALL:
                stack.extend(node.named_children)
        if bound <= 1:
            return Form(1, (), (), ())
        read = tuple((variable, node) for variable, nodes in variables.items() for node in nodes)
        return Form(bound, read, tuple(called), tuple(parts))

    def _macro(self, node: Node) -> bytes:
        """The name of the macro that an expression uses; empty if it uses none."""
        if not self._macros or node.type not in ("identifier", "call_expression"):
            return b""
        name = node.child_by_field_name("function") if node.type == "call_expression" else node
        text = self._function.text(name) if name is not None and name.type == "identifier" else b""
        return text if text in self._macros and self._function.locals.named(text, node.start_byte) is None else b""

    def _of_macro(self, node: Node, name: bytes) -> Iterator[Form]:
        """Yield the inputs of the uniformity of a macro's use, for each of its definitions."""
        if BY_WARP.fullmatch(name) or BY_THREAD.fullmatch(name) or BY_BLOCK.fullmatch(name):
            # A macro that has the name of a CUDA function: its meaning is known.
            variables: dict[Variable, list[Node]] = {}
            called: dict[Function, None] = {}
            stack: list[Node] = []
            bound = self._call(node, variables, called, stack) if node.type == "call_expression" else _built_in(name)
            read = tuple((variable, each) for variable, places in variables.items() for each in places)
            yield Form(bound or BLOCK, read, tuple(called), tuple((0, self.form(each)) for each in stack))
            return
        given = [self._function.text(each) for each in arguments(node)] if node.type == "call_expression" else None
        for text in self._kernels.expanded(self._function.source, name, given):
            words = frozenset(_WORD.findall(text))
            named = [self._function.locals.named(word, node.start_byte) for word in words]
            called_there = [each for word in words for each in self._kernels.definitions(self._function.source, word)]
            if not any(named) and not called_there and not any((_built_in(word) or BLOCK) < BLOCK for word in words):
                continue
            inner = _expression(self._function, text)
            if inner is not None:
                expressions = _OfMacro(self._kernels, inner[0], self, node)
                yield expressions.moved(expressions.form(inner[1]))
                continue
            # Not an expression: its value may be that of anything in it.
            read = tuple((variable, node) for variable in named if variable is not None)
            yield Form(1 if any(map(varies, words)) else BLOCK, read, tuple(called_there), ())

    def of_text(self, text: bytes, node: Node) -> Form:
        """Return the inputs of the uniformity of an expression in a macro's expansion at `node`."""
        inner = _expression(self._function, text)
        if inner is None:
            return Form(1, (), (), ())
        expressions = _OfMacro(self._kernels, inner[0], self, node)
        return expressions.moved(expressions.form(inner[1]))

    @cached_property
    def _looping(self) -> dict[bytes, list[bytes]]:
        """The declarations of macros that begin a loop, by the declared name: `LOOP(i, n) …`"""
        source, body = self._function.source, self._function.body
        names = self._kernels.loop_macros(source) & source.words
        found: dict[bytes, list[bytes]] = {}
        for span, name in source.names(names) if names else ():
            if not body.start_byte <= span.start < body.end_byte or source.directive(span.start):
                continue
            given = source.given(span.end)
            texts = [source.code[each.start : each.end] for each in given or ()]
            for text in self._kernels.expanded(source, name, texts):
                for match in _COUNTED.finditer(text):
                    found.setdefault(match[1], []).append(text)
        return found

    def counted_by_macros(self, name: bytes) -> bool:
        """Whether a loop that a macro begins declares that name."""
        return name in self._looping

    def blocks(self) -> tuple[BlockShape, ...] | None:
        """The blocks that execute the function, as far as they are known."""
        return self._kernels.blocks(self._function)

    def _rows(self, dimension: bytes) -> int:
        """For how many threads the index of the row, or of the layer, is the same: for all in a row or layer."""
        blocks = self.blocks()
        agreed = BLOCK
        for block in blocks or ():
            if (block.y if dimension == b"y" else block.z) == 1:
                continue
            of_layer = 1 if dimension == b"y" else block.y
            agreed = min(agreed, _aligned(block.x * of_layer) if block.x and of_layer else 1)
        return agreed if blocks else 1

    def _name(self, node: Node, name: bytes, variables: dict[Variable, list[Node]]) -> int:
        variable = self._function.locals.named(name, node.start_byte)
        if variable is not None:
            variables.setdefault(variable, []).append(node)
            return BLOCK
        for text in self._looping.get(name, ()):
            if any(map(varies, _WORD.findall(text))):
                return 1
            for word in _WORD.findall(text):
                inner = self._function.locals.named(word, node.start_byte)
                if inner is not None:
                    variables.setdefault(inner, []).append(node)
        built_in = _built_in(name)
        if name == b"meta_group_rank":
            return self._tile(node)
        return built_in or BLOCK

    def _call(
        self, node: Node, variables: dict[Variable, list[Node]], called: dict[Function, None], stack: list[Node]
    ) -> int:
        name = called_name(node, self._function.source.code)
        given = arguments(node)
        if BY_BLOCK.fullmatch(name):
            return BLOCK
        function = node.child_by_field_name("function")
        method = function is not None and function.type == "field_expression"
        masked = name.endswith(b"_sync")
        if name in SHUFFLES and len(given) > 1:
            stack.append(given[1 + masked] if len(given) > 1 + masked else given[-1])
            if method:
                return self._tile(node)
            # The lanes of each part of that width get a value of their own.
            width = given[2 + masked] if len(given) > 2 + masked else None
            return WARP if width is None else min(WARP, self._kernels.constant(self._function, width) or 1)
        found = self._name(node, name, variables)
        if found < BLOCK:
            if found == WARP and method:
                return self._tile(node)  # `tile.any(…)`
            if found == WARP and masked and given:
                stack.append(given[0])  # with different masks, lanes vote in different groups
            return found
        definitions = self._kernels.definitions(self._function.source, name) if name else ()
        if definitions and not method and all(map(self._kernels.by_arguments, definitions)):
            # Other calls count as their arguments.
            stack += given
            return BLOCK
        if definitions:
            # Of the functions with this name, any may be called.
            called.update(dict.fromkeys(definitions))
            # The result of a method varies as its object does.
            stack += function.named_children[:1] if function is not None and method else []
            # Calls in macros are not among the known callers of a function.
            stack += given if isinstance(self, _OfMacro) else ()
            return BLOCK
        # `object.method(…)`: the object counts like an argument.
        stack += function.named_children[:1] if function is not None and method else []
        stack += given
        return BLOCK

    def _tile(self, node: Node) -> int:
        """The uniformity of the result of a group's method that `node` calls or names."""
        outer: Node | None = node if node.type == "call_expression" else node.parent
        called = outer.child_by_field_name("function") if outer and outer.type == "call_expression" else outer
        group = called.child_by_field_name("argument") if called and called.type == "field_expression" else None
        return self._tile_of(self._function.text(group) if group is not None else b"")

    def _tile_of(self, group: bytes) -> int:
        least = group_types.least(self._function, group)
        return self._function.source.fact(_smallest_tile) if least is None else least

    def _floor(self, left: Node, operator: str, right: Node) -> int:
        """A lower bound of the uniformity of a comparison or quotient of threads' numbers; 0 for other expressions."""
        if operator not in (">>", "/", "<", ">=", ">", "<=", "&"):
            return 0
        numbers = self._kernels.numbers(self._function, right)
        return min((self._floor_by(left, operator, number) for number in numbers), default=0)

    def _floor_by(self, left: Node, operator: str, number: int) -> int:
        period = 0
        if operator == "&":
            # Below the lowest bit of the mask, differences between threads do not matter.
            number &= -number
        else:
            left, period = self._within(left)
            if operator == ">>":
                number = 1 << min(number, 16)
            # `>` and `<=` are like `>=` and `<` with the next number.
            number += operator in (">", "<=")
            if period:
                number = min(_aligned(number), _aligned(period))
        numbering = self.numbering(left) if number else None
        if numbering is None:
            return 0
        aligned = _aligned(number)
        blocks = self.blocks()
        agreed = [_agreed(numbering, number, block) for block in blocks or (_ANY,)]
        known = [each for each in agreed if each is not None]
        if len(known) == len(agreed):
            return min(known)
        self._assume(numbering, aligned)
        return 1 if self._shown else aligned

    def _within(self, node: Node) -> tuple[Node, int]:
        """The operand and divisor of a remainder: `t % 64`, `t & 63`; the node itself and 0 for other expressions."""
        inner = node
        while inner.type == "parenthesized_expression" and inner.named_children:
            inner = inner.named_children[0]
        left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
        sign = operator_of(inner, self._function.source.code) if inner.type == "binary_expression" else ""
        if sign not in ("%", "&") or left is None or right is None:
            return node, 0
        number = self._kernels.constant(self._function, right) or 0
        period = number + (sign == "&")
        return (left, period) if number > 0 and (sign == "%" or not number & period) else (node, 0)

    def numbering(self, node: Node, depth: int = 4) -> Numbering | None:
        """Return how `node` numbers threads; None if it does not.

        At most `depth` assignments and calls are followed.
        """
        text = b"".join(self._function.text(node).split()).strip(b"()")
        counted = COUNTS_THREADS.fullmatch(text)
        if counted is not None:
            if counted["row"] or counted["rows"] or counted["grid"]:
                return Numbering.ROW if counted["row"] else Numbering.ROWS if counted["rows"] else Numbering.GRID
            return self._of_group(counted["group"])
        if node.type == "cast_expression" and self._function.text(node.named_children[0]) == b"bool":
            return None
        if node.type == "cast_expression" or (node.type == "parenthesized_expression" and node.named_children):
            return self.numbering(node.named_children[-1], depth)
        if node.type == "call_expression":
            # `static_cast<int>(threadIdx.x)`, `int(threadIdx.x)`
            called, passed = node.child_by_field_name("function"), arguments(node)
            if called is not None and _CAST.fullmatch(self._function.text(called)):
                return self.numbering(passed[0], depth) if len(passed) == 1 else None
        if node.type == "binary_expression" and depth:
            # `blockIdx.x * blockDim.x + tid`
            right = node.child_by_field_name("right")
            if right is None or right.type != "identifier":
                return None
            offset = self._function.text(node)[: right.start_byte - node.start_byte]
            whole = COUNTS_THREADS.fullmatch(b"".join(offset.split()) + b"threadIdx.x")
            inner = self.numbering(right, depth - 1) if whole is not None else None
            if whole is None or inner is None:
                return None
            return Numbering.ROWS if whole["rows"] and inner is Numbering.ROW else Numbering.GRID
        if not depth:
            return None
        name = self._macro(node)
        if name:
            return self._macro_numbering(node, name, depth)
        return self.numbering_named(text, node.start_byte, depth) if node.type == "identifier" else None

    def _macro_numbering(self, node: Node, name: bytes, depth: int) -> Numbering | None:
        given = [self._function.text(each) for each in arguments(node)] if node.type == "call_expression" else None
        found: set[Numbering | None] = set()
        for text in self._kernels.expanded(self._function.source, name, given):
            inner = _expression(self._function, text)
            if inner is None:
                return None
            found.add(_OfMacro(self._kernels, inner[0], self, node).numbering(inner[1], depth - 1))
        return found.pop() if len(found) == 1 else None

    def _assume(self, numbering: Numbering, size: int) -> None:
        self._kernels.assumes(self._function, numbering, size)

    def numbering_named(self, text: bytes, offset: int, depth: int) -> Numbering | None:
        """Return how the variable or parameter with that name at `offset` numbers threads."""
        of = self._function.locals
        variable = of.named(text, offset)
        if variable is not None and not self._keeps_values(variable):
            return None
        given = [each.values for each in of.given.get(variable, ())] if variable is not None else []
        if given:
            return self.numbering(given[0][0], depth - 1) if len(given) == 1 and len(given[0]) == 1 else None
        if text not in self._function.parameters:
            return None
        position = self._function.parameters.index(text)
        packed = self._function.packed and position == len(self._function.parameters) - 1
        if packed or self._kernels.calls_in_macros(self._function):
            return None
        calls = [call for call in self._kernels.callers(self._function) if len(call.arguments) > position]
        found = {self._kernels.numbering(call.function, call.arguments[position], depth - 1) for call in calls}
        if not found or None in found:
            return None
        return found.pop() if len(found) == 1 else Numbering.GRID

    def _of_group(self, name: bytes | None) -> Numbering | None:
        """How a rank in the group of that name numbers threads; None for a rank among the active lanes."""
        code = self._function.source.code
        if name is None or b"(" in name:
            made = name or b""
            return None if b"coalesced" in made else Numbering.GRID if b"grid" in made else Numbering.GROUP
        escaped = re.escape(name)
        if re.search(FOUND_GROUP.pattern.replace(b"@", escaped), code):
            return None
        grid = re.search(GRID_GROUP.pattern.replace(b"@", escaped), code)
        return Numbering.GROUP if grid is None else Numbering.GRID

    def _keeps_values(self, variable: Variable) -> bool:
        """Whether the variable keeps any number that it is assigned: it is not a `bool`, and nothing else changes it.

        References to it, and functions that take one, may change it. Of unseen functions, only `swap` is known to.
        """
        known = self._kept.get(variable)
        if known is None:
            known = self._kept[variable] = not self._is_changed(variable)
        return known

    def _is_changed(self, variable: Variable) -> bool:
        function, name = self._function, re.escape(variable.name)
        code = function.source.code[function.node.start_byte : function.body.end_byte]
        if b"bool" in code and re.search(rb"bool\b[\s\w&]*?\b" + name + rb"\b", code):
            return True
        for match in re.finditer(rb"&\s*\w+\s*[={]\s*" + name + rb"\s*[;,}]", code):
            before = re.split(rb"[;{}()]", code[: match.start()])[-1]
            if b"const" not in before.split():
                return True
        if not re.search(rb"[(,]\s*" + name + rb"\s*[,)]", code):
            return False
        return any(
            call.name == b"swap"
            or any(each.takes_reference(i) for each in self._kernels.definitions(function.source, call.name))
            for call in function.calls()
            for i, argument in enumerate(call.arguments)
            if argument.type == "identifier" and function.text(argument) == variable.name
        )


class _OfMacro(Expressions):
    """The expressions in a macro's expansion where `node` of `outer`'s function uses it."""

    def __init__(self, kernels: DeviceCode, function: Function, outer: Expressions, node: Node) -> None:
        super().__init__(kernels, function, outer._shown)
        self._outer = outer
        self._node = node
        self._macros = {}  # all are expanded
        function.carry({"locals": _Seen(outer._function.locals, node.start_byte)})

    def blocks(self) -> tuple[BlockShape, ...] | None:
        return self._outer.blocks()

    def _tile_of(self, group: bytes) -> int:
        return self._outer._tile_of(group)

    def _assume(self, numbering: Numbering, size: int) -> None:
        self._outer._assume(numbering, size)

    def numbering_named(self, text: bytes, offset: int, depth: int) -> Numbering | None:
        return self._outer.numbering_named(text, self._node.start_byte, depth)

    def moved(self, form: Form) -> Form:
        """The form with its variables read at the macro's use."""
        read = tuple((variable, self._node) for variable, _ in form.variables)
        return form._replace(variables=read, parts=tuple((floor, self.moved(inner)) for floor, inner in form.parts))


class _Seen(Locals):
    """The variables of a function as visible at a place, for text that stands elsewhere."""

    def __init__(self, of: Locals, offset: int) -> None:
        super().__init__(of.variables, of.shared, ())
        object.__setattr__(self, "_of", of)
        object.__setattr__(self, "_offset", offset)

    def named(self, name: bytes, offset: int) -> Variable | None:
        return self._of.named(name, self._offset)  # type: ignore[attr-defined, no-any-return]


def _expression(function: Function, text: bytes) -> tuple[Function, Node] | None:
    """Parse the expansion of a macro as an expression; None if it is not one."""
    code = b"__device__ void f() {\n(" + text + b");\n}\n"
    source = type(function.source)(function.source.path, code)
    if source.tree.root_node.has_error:
        return None
    found = functions(source)
    statement = found[0].body.named_children[0] if len(found) == 1 and found[0].body.named_children else None
    if statement is None or statement.type != "expression_statement" or len(statement.named_children) != 1:
        return None
    return found[0], statement.named_children[0]


class Agreements:
    """The uniformity of variables, and of functions' results, over connected files.

    It is computed on demand, with everything that it depends on: callers and callees.
    """

    def __init__(self, kernels: DeviceCode, shown: bool) -> None:
        self._kernels = kernels
        self._shown = shown
        self._expressions: dict[Function, Expressions] = {}
        self._variables: dict[Function, dict[Variable, int]] = {}
        self._results: dict[Function, int] = {}

    def of(self, function: Function, node: Node) -> int:
        """Return the uniformity of the expression `node` of the function."""
        return self._of(function, self.expressions(function).form(node))

    def of_text(self, function: Function, text: bytes, node: Node) -> int:
        """Return the uniformity of an expression in a macro's expansion at `node` of the function."""
        return self._of(function, self.expressions(function).of_text(text, node))

    def _of(self, function: Function, form: Form) -> int:
        expressions = self.expressions(function)
        self._solve(expressions.read(form, _STEPS))
        return expressions.least(form, self._variables.get(function, {}), self._results, _STEPS)

    def variables(self, function: Function) -> Mapping[Variable, int]:
        """Return the uniformity of each parameter and local variable."""
        self._solve((function, variable) for variable in function.locals.variables)
        return self._variables.get(function, {})

    def result(self, function: Function) -> int:
        """Return the uniformity of what the function returns, over all its calls."""
        self._solve([(function, None)])
        return self._results[function]

    def expressions(self, function: Function) -> Expressions:
        """Return the analysis of the expressions of the function."""
        if function not in self._expressions:
            self._expressions[function] = Expressions(self._kernels, function, self._shown)
        return self._expressions[function]

    def _solve(self, wanted: Iterable[tuple[Function, Variable | None]]) -> None:
        """Compute the uniformity of variables, and (with None) of functions' results.

        All are uniform at first. Where one turns out to be less, its uses are computed again, until nothing changes:
        before that, a uniformity is an assumption and not a result.
        """
        terms: dict[tuple[Function, Variable | None], list[tuple[Function, Form, int]]] = {}
        users: dict[tuple[Function, Variable | None], list[tuple[Function, Variable | None]]] = {}
        stack = list(wanted)
        while stack:
            key = stack.pop()
            function, variable = key
            if key in terms or (
                function in self._results if variable is None else variable in self._variables.get(function, ())
            ):
                continue
            terms[key] = list(self._terms(function, variable))
            for of, form, steps in terms[key]:
                for read in self.expressions(of).read(form, steps):
                    users.setdefault(read, []).append(key)
                    stack.append(read)
        for function, variable in terms:
            if variable is None:
                self._results[function] = BLOCK
            else:
                self._variables.setdefault(function, {})[variable] = BLOCK
        # Not a set: the order does not change the result, but a trace should be reproducible.
        open_ = dict.fromkeys(terms)
        while open_:
            key = next(iter(open_))
            del open_[key]
            function, variable = key
            known = self._results[function] if variable is None else self._variables[function][variable]
            least = known
            for of, form, steps in terms[key]:
                if least > 1:
                    values = self._variables.get(of, {})
                    least = min(least, self.expressions(of).least(form, values, self._results, steps))
            if least < known:
                if variable is None:
                    self._results[function] = least
                else:
                    self._variables[function][variable] = least
                open_.update(dict.fromkeys(users.get(key, ())))

    def _terms(self, function: Function, variable: Variable | None) -> Iterator[tuple[Function, Form, int]]:
        """Yield the inputs of the uniformity of a variable, or of the function's result, with their functions.

        Each comes with the number of assignments by which its variables may be followed back.
        """
        expressions = self.expressions(function)
        if variable is None:
            yield from ((function, form, _STEPS) for form in expressions.returned())
            return
        yield from ((function, form, 0) for form in expressions.given(variable))
        yield from ((of, form, 0) for of, form in expressions.changed_elsewhere(variable))
        if function.kernel or function.locals.named(variable.name, function.body.start_byte) != variable:
            return
        for position, name in enumerate(function.parameters):
            for call in self._kernels.callers(function) if name == variable.name else ():
                for passed in function.passed(call.arguments, position):
                    yield call.function, self.expressions(call.function).form(passed), _STEPS
            for made in self._kernels.calls_in_macros(function) if name == variable.name else ():
                if made.arguments is None:
                    yield made.function, Form(1, (), (), ()), 0
                for text in function.passed(made.arguments or (), position):
                    yield made.function, self.expressions(made.function).of_text(text, made.node), _STEPS


def _stored_through(function: Function, pointer: bytes) -> Iterator[Node]:
    """Yield the values that a function stores through one of its pointers, and the conditions for these stores."""
    for node in nodes(function.body):
        left = node.child_by_field_name("left") if node.type == "assignment_expression" else None
        value = node.child_by_field_name("right")
        if left is None or value is None:
            continue
        at = b"".join(function.text(left).split()).strip(b"()")
        if re.match(rb"\*\(?" + re.escape(pointer) + rb"\b|" + re.escape(pointer) + rb"\)?(?:\[|->)", at):
            yield value
            yield from (condition.expression for condition in function.conditions(node))


def _aligned(number: int) -> int:
    """The largest power of two that divides a number, up to BLOCK."""
    return min(number & -number or BLOCK, BLOCK)


def _agreed(numbering: Numbering, number: int, block: BlockShape) -> int | None:
    """For how many threads the quotient of their numbers by `number`, or a comparison with it, is the same.

    Threads are numbered through the block, row after row. None if too little is known of the block.
    """
    aligned = _aligned(number)
    one_row = block.y == block.z == 1
    if numbering is Numbering.GROUP or (numbering is Numbering.ROW and one_row):
        return aligned
    if numbering is Numbering.ROWS:
        if block.z == 1:
            return aligned
        return min(aligned, _aligned(block.x * block.y)) if block.x and block.y else None
    if block.x is None:
        return None
    if numbering is Numbering.ROW and number >= block.x:
        return BLOCK
    return min(aligned, _aligned(block.x))


@lru_cache(maxsize=4096)
def _built_in(name: bytes) -> int | None:
    """Return the uniformity of a name that is not a variable; None if it is certainly uniform in the block."""
    if BY_BLOCK.fullmatch(name):
        return None
    if varies(name):
        return 1
    return WARP if BY_WARP.fullmatch(name) else BLOCK


def varies(name: bytes) -> bool:
    """Whether a name of CUDA or HIP has a value for each thread."""
    return BY_THREAD.fullmatch(name) is not None


def _smallest_tile(source: Cpp) -> int:
    """The number of lanes of the smallest tile in the file, for which a rank in a larger group is the same."""
    sizes = [of_type or given for of_type, given in TILE_SIZE.findall(source.code)]
    return min((int(size) if size.isdigit() else 1 for size in sizes), default=WARP)
