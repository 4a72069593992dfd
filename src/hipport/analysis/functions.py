# SPDX-License-Identifier: Apache-2.0
"""Functions that run on the device, as written: parameters and variables, calls, conditions and exits.

Computed from the syntax tree of one file, by names. Analyses over several files are in hipport.analysis.kernels.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

from hipport.core.facts import Facts
from hipport.syntax.cpp import Cpp, word_before

if TYPE_CHECKING:
    from tree_sitter import Node

# Macros before a function, and how far back they may begin.
_MACROS_BEFORE = re.compile(rb"(?<![\w#])[A-Z][A-Z0-9_]+(?:\s{1,80}[A-Z][A-Z0-9_]+)*\s{1,80}\Z")
_LONGEST_MACROS = 200
#: Marks a function of the device. A search by first letters is many times as fast as one with `\b` before them.
DEVICE = re.compile(rb"__(?<!\w__)(?:device|global)__\b")
#: Marks it as a function of the host as well.
HOST = re.compile(rb"\b__host__\b")
#: A macro: its name, its parameters, its text.
DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)(\([^)]*\))?((?:[^\\\r\n]|\\[ \t]*(?:\r\n?|\n)|\\)*)")
_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\b\s*(?=[(<])")
_HOLDS_FUNCTIONS = frozenset(
    "translation_unit template_declaration namespace_definition declaration_list linkage_specification "
    "class_specifier struct_specifier union_specifier field_declaration_list preproc_if preproc_ifdef preproc_else "
    "preproc_elif preproc_elifdef ERROR declaration field_declaration type_definition friend_declaration".split()
)
_AROUND_FUNCTIONS = frozenset(
    "template_declaration class_specifier struct_specifier union_specifier friend_declaration".split()
)
#: The loops of the syntax tree.
LOOPS = frozenset(("for_statement", "while_statement", "do_statement", "for_range_loop"))
_EXITS = frozenset(("return_statement", "break_statement", "continue_statement", "goto_statement"))
_OF_LOOPS = frozenset(("break_statement", "continue_statement"))
_EXIT = re.compile(rb"\b(?:return|break|continue|goto)\b")
_CASE = re.compile(rb"\bcase\b")
_CASES = frozenset(("case_statement",))
_GOTO = re.compile(rb"\bgoto\b")
_LABELED = frozenset(("labeled_statement",))
# Precedes a parenthesis or `<` without being a call.
_NO_CALLS = frozenset(
    b"if for while switch return sizeof static_cast reinterpret_cast const_cast else and or not".split()
)
#: Nodes that declare or change variables of a function: all that `_locals` looks at.
_GIVES = frozenset(("declaration", "for_range_loop", "assignment_expression", "update_expression", "call_expression"))
_VALUE_TYPE = re.compile(
    rb"\b(?:auto|bool|u?char\d?|u?short\d?|u?int\d?|u?long\d?|float\d?|double\d?|unsigned|size_t|u?int\d+_t|dim3)\b"
)
# A template's pack among the parameters, or a C variadic parameter.
_PACK = re.compile(rb"\.\.\.\s*\w*\s*\)")
#: Conditionals of the preprocessor, which keeps one side.
CONDITIONALS = frozenset(("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef"))
_SHARED = re.compile(rb"\s*(?:(?:static|volatile|extern)\s+)*__shared__(?:\s+(?:static|volatile|extern))*\s*")
# Statements that add a level of nesting or leave one, and expressions that may be nested as deeply.
_NESTS = re.compile(rb"\b(?:if|for|while|switch|do|else|return|break|continue|goto)\b|[{?]")
_STATEMENTS = re.compile(rb"[;{}]")
_LONG = 2048
# Clang accepts 256 levels of brackets; each is two levels of the tree, a statement and its block. The number of exits
# has the same limit.
_DEEPEST = 512
_AROUND_MEMBER = re.compile(rb"\s*(\.|->)\s*(?=\w)")
_AROUND_SIGNS = re.compile(rb"\s+(?=\W)|(?<=\W)\s+")
_NAMES = frozenset(("identifier", "field_identifier", "type_identifier", "operator_name", "destructor_name"))


class Condition(NamedTuple):
    """A condition on which a place is control dependent: `expression` of `statement`.

    `taken`: whether it must hold; None for the value of a `switch`, and for a loop over a range.
    """

    expression: Node
    statement: Node
    taken: bool | None

    @property
    def loop(self) -> bool:
        """Whether it decides how often, not only whether."""
        return self.statement.type in LOOPS


class Call(NamedTuple):
    """A call of `name`, without its namespace, object and template arguments, in `function`."""

    function: Function
    name: bytes
    node: Node
    arguments: tuple[Node, ...]

    @property
    def line(self) -> int:
        """Its line in the file as it was read."""
        return self.function.source.line_read(self.node.start_byte)


class Variable(NamedTuple):
    """A local variable, parameter or array: its name, and the part of the file in which it is visible."""

    name: bytes
    start: int
    end: int


class Assignment(NamedTuple):
    """A definition of a variable at `node`, computed from `values`; perhaps its declaration."""

    node: Node
    variable: Variable
    values: tuple[Node, ...]
    declares: bool

    @property
    def plain(self) -> bool:
        """Whether it is `variable = …` and assigns the whole variable."""
        if self.node.type != "assignment_expression" or len(self.values) != 1:
            return False
        operator, left = self.node.child_by_field_name("operator"), self.node.child_by_field_name("left")
        return operator is not None and operator.type == "=" and left is not None and left.type == "identifier"


@dataclass(frozen=True, eq=False)
class Locals:
    """The variables of a function. `shared` ones belong to the block."""

    variables: tuple[Variable, ...]
    shared: frozenset[Variable]
    assignments: tuple[Assignment, ...]

    @cached_property
    def _by_name(self) -> Mapping[bytes, list[Variable]]:
        by_name: dict[bytes, list[Variable]] = {}
        for each in sorted(self.variables, key=lambda each: each.start, reverse=True):
            by_name.setdefault(each.name, []).append(each)
        return by_name

    @cached_property
    def definitions(self) -> Mapping[Variable, list[Assignment]]:
        """The definitions of each variable that has any."""
        definitions: dict[Variable, list[Assignment]] = {}
        for each in self.assignments:
            definitions.setdefault(each.variable, []).append(each)
        return definitions

    def named(self, name: bytes, offset: int) -> Variable | None:
        """Return the variable that `name` means at `offset`: the innermost one."""
        for each in self._by_name.get(name, ()):
            if each.start <= offset < each.end:
                return each
        return None

    def reaching_definition(self, variable: Variable, node: Node) -> Assignment | None:
        """Return the only reaching definition of the variable at `node`, if that is certain."""
        definitions = self.definitions.get(variable, [])
        before = [each for each in definitions if each.node.end_byte <= node.start_byte]
        last = max(before, key=lambda each: each.node.start_byte, default=None)
        if last is None or not last.values or (not last.declares and not last.plain):
            return None
        block = last.node.parent
        while block is not None and block.type in ("expression_statement", "comma_expression"):
            block = block.parent
        if block is None or block.type != "compound_statement" or not contains(block, node):
            return None
        # In a loop around `node` but not around the definition, a later definition reaches `node` in the next
        # iteration.
        loop = _loop_of(node, block, node.type)
        while loop is not None:
            if any(contains(loop, each.node) for each in definitions):
                return None
            loop = _loop_of(loop, block, loop.type)
        return last


@dataclass(frozen=True, eq=False)
class Function(Facts):
    """A function with a body. `head` is the text before its name, `parameters` are names ("" for none)."""

    source: Cpp
    name: bytes
    head: bytes
    parameters: tuple[bytes, ...]
    node: Node
    body: Node
    #: The classes, template heads and friend declarations around it, the innermost first. tree-sitter finds a parent by
    #: descending from the root, so that following parents takes the square of the depth.
    outer: tuple[Node, ...]

    @cached_property
    def kernel(self) -> bool:
        """Whether the host launches it."""
        return b"__global__" in self.head

    @cached_property
    def shared_words(self) -> frozenset[bytes]:
        """The macros that may stand for `__shared__` in the function."""
        return frozenset()

    @cached_property
    def packed(self) -> bool:
        """Whether the last parameter is a pack, which takes all remaining arguments."""
        behind = self.source.code.find(self.name, self.node.start_byte)
        return _PACK.search(self.source.code, behind, self.body.start_byte) is not None

    def takes(self, count: int) -> bool:
        """Whether a call with that number of arguments may call the function: some arguments are optional."""
        return count <= len(self.parameters) or self.packed

    @cached_property
    def template_parameters(self) -> frozenset[bytes]:
        """The words in the template heads of the function, or of a class around it, with the names of parameters."""
        found: set[bytes] = set()
        for outer in self.outer:
            given = outer.child_by_field_name("parameters") if outer.type == "template_declaration" else None
            found.update(re.findall(rb"[A-Za-z_]\w*", self.text(given)) if given is not None else ())
        return frozenset(found)

    @cached_property
    def labels(self) -> dict[bytes, Node]:
        """The first statement with each label."""
        found: dict[bytes, Node] = {}
        for node in nodes(self.body, _LABELED) if self.mentions(_GOTO) else ():
            found.setdefault(self.text(node.named_children[0]), node)
        return found

    def text(self, node: Node) -> bytes:
        """The code of `node`, with comments blanked; of a member access, without blanks around the operator."""
        text = self.source.code[node.start_byte : node.end_byte]
        return _AROUND_MEMBER.sub(rb"\1", text) if node.type == "field_expression" else text

    def takes_reference(self, position: int) -> bool:
        """Whether the parameter at `position` is a reference through which the function may change its argument."""
        name = self.parameters[position] if position < len(self.parameters) else b""
        head = self.source.code[self.node.start_byte + len(self.head) : self.body.start_byte]
        # Most functions take none, and each name needs a pattern of its own, which is slow to compile.
        declared = re.search(rb"([^,(]*)&\s*" + name + rb"\b", head) if name and b"&" in head else None
        return declared is not None and b"const" not in declared[1].split()

    def mentions(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether the body has a match: a cheap test before walking its tree."""
        return pattern.search(self.source.code, self.body.start_byte, self.body.end_byte) is not None

    def calls(self, wanted: re.Pattern[bytes] | AbstractSet[bytes] | None = None) -> Iterator[Call]:
        """Yield the calls in the body, in order; only of names that are `wanted`, or that it matches as a whole."""
        matches = (
            bool if wanted is None else wanted.fullmatch if isinstance(wanted, re.Pattern) else wanted.__contains__
        )
        for start, name in self._names_called:
            if matches(name):
                if start not in self._calls:
                    node = call_of(self.body.descendant_for_byte_range(start, start + len(name)))
                    self._calls[start] = None if node is None else Call(self, name, node, arguments(node))
                call = self._calls[start]
                if call is not None:
                    yield call

    @cached_property
    def _calls(self) -> dict[int, Call | None]:
        """A cache of calls by the places of their names; None for a name that is not called."""
        return {}

    @cached_property
    def _names_called(self) -> tuple[tuple[int, bytes], ...]:
        found = _CALLED.finditer(self.source.code, self.body.start_byte, self.body.end_byte)
        return tuple((match.start(1), match[1]) for match in found if match[1] not in _NO_CALLS)

    @cached_property
    def called(self) -> frozenset[bytes]:
        """The names that may be called in the body: a cheap test before searching for calls in its tree."""
        return frozenset(name for _, name in self._names_called)

    @cached_property
    def _exits(self) -> tuple[Node, ...]:
        """The exits in the body, also those of lambdas and of statements in expressions."""
        words = sum(1 for _ in _EXIT.finditer(self.source.code, self.body.start_byte, self.body.end_byte))
        found = tuple(statements(self.body, _EXITS)) if words else ()
        # Expressions are walked only if they have exits.
        return found if len(found) == words else tuple(nodes(self.body, _EXITS))

    @cached_property
    def tangled(self) -> bool:
        """Whether it is nested more deeply, or has more exits, than is followed; only generated code is.

        Examples are a chain of 256 `else if`, or a switch of 512 cases. Control dependence is not computed then,
        because each place would be compared with each exit.
        """
        nests = _NESTS.finditer(self.source.code, self.body.start_byte, self.body.end_byte)
        may_be = next(islice(nests, _DEEPEST // 2, None), None) is not None or any(
            len(each) >= _LONG for each in _STATEMENTS.split(self.text(self.body))
        )
        return may_be and (len(self._exits) >= _DEEPEST or depth(self.body) > _DEEPEST)

    @cached_property
    def enters_inside(self) -> bool:
        """Whether a `switch` has a `case` in another statement, such as a loop: threads enter it there, too."""
        return self.mentions(_CASE) and any(
            (block := case.parent) is not None
            and block.type != "case_statement"
            and (block.parent is None or block.parent.type != "switch_statement")
            and block.type not in CONDITIONALS
            for case in nodes(self.body, _CASES)
        )

    @cached_property
    def _left_by(self) -> dict[tuple[int, bool], tuple[Node, Node | None, Node | None]]:
        """A cache of what exits leave; see `_left`."""
        return {}

    def exits(self) -> tuple[Node, ...]:
        """Return all exits in the body."""
        return self._exits

    def left_by(self, exit_: Node, kind: str) -> Node:
        """Return what an exit of some kind leaves at least: a loop, a lambda or the body of the function."""
        lambda_, _, inner = self._left(exit_, kind)
        return inner if inner is not None and kind in _OF_LOOPS else lambda_

    def _left(self, exit_: Node, kind: str) -> tuple[Node, Node | None, Node | None]:
        """The lambda around an exit, or the body, and the outermost and innermost loop there that it may leave.

        `LOOP(i, n) { … }` may be a loop, and is parsed as a function.
        """
        key = exit_.id, kind == "break_statement"
        if key not in self._left_by:
            around = self.around(exit_)
            lambda_ = next((each for each in around if each.type == "lambda_expression"), self.body)
            loop = _loop_of(exit_, lambda_, kind)
            within = takewhile(lambda each: each not in (lambda_, loop), around)
            maybe = [each for each in within if each.type == "function_definition"]
            inner = maybe[0] if maybe else loop
            self._left_by[key] = lambda_, loop if loop is not None or not maybe else maybe[-1], inner
        return self._left_by[key]

    @cached_property
    def locals(self) -> Locals:
        """Its parameters and variables, with their definitions."""
        return _locals(self)

    def conditions(self, node: Node, until: Node | None = None) -> Iterator[Condition]:
        """Yield the conditions on which `node` is control dependent, the innermost first.

        Up to the body of the function, or the statement `until`. Earlier exits are not included; see `exits_before`.
        """
        if until is None and node.start_byte < self.body.start_byte:
            # An initializer of a constructor.
            inner, outer = node, node.parent
            while outer is not None and inner.id != self.node.id:
                own = _condition(outer, inner)
                if own is not None:
                    yield own
                inner, outer = outer, outer.parent
        elif until is None:
            path = self._path(node)
            known = self._conditions
            # Those of the enclosing node, and perhaps one more.
            first = next((i for i in range(len(path) - 1, -1, -1) if path[i].id in known), 0)
            found = known.setdefault(path[first].id, ()) if path else ()
            for outer, inner in pairwise(path[first:]):
                own = _condition(outer, inner)
                found = known[inner.id] = found if own is None else (own, *found)
            yield from found
        else:
            yield from self._find_conditions(node, until)

    @cached_property
    def _conditions(self) -> dict[int, tuple[Condition, ...]]:
        """A cache of the conditions of places, and of the nodes around them."""
        return {}

    def around(self, node: Node) -> Sequence[Node]:
        """Return the nodes around a node of the body, the innermost first and the body last; empty for other nodes."""
        return self._path(node)[-2::-1]

    def _path(self, node: Node) -> list[Node]:
        """The nodes from the body to `node`; empty for a node outside.

        The search starts from the body, because tree-sitter finds a parent by descending from the root, and reuses the
        common part of the last path: in deep nesting, places are asked about in order.
        """
        path = self._last_path
        # A node of the same extent may be inside it.
        while len(path) > 1 and (not contains(path[-1], node) or contains(node, path[-1])):
            path.pop()
        while path[-1] != node:
            following = path[-1].child_with_descendant(node)
            if following is None:
                return []
            path.append(following)
        return list(path)

    @cached_property
    def _last_path(self) -> list[Node]:
        return [self.body]

    def _find_conditions(self, node: Node, until: Node | None) -> Iterator[Condition]:
        path = self._path(node)
        for outer, inner in zip(path[-2::-1], path[:0:-1], strict=True):
            if inner == until:
                return
            found = _condition(outer, inner)
            if found is not None:
                yield found

    def exits_before(self, node: Node) -> Iterator[Node]:
        """Yield the `return`, `break`, `continue` and `goto` by which a thread may miss `node`.

        These are the exits before it and, in a loop around `node`, also those after it; a `break` or `continue` counts
        if its loop contains `node`.
        """
        yield from (each for each in self._exits if self.may_miss(node, each, each.type))

    def may_miss(self, node: Node, exit_: Node, kind: str) -> bool:
        """Whether a thread that takes an exit of some kind at another place may miss `node`; see `exits_before`."""
        if exit_.start_byte <= node.start_byte < exit_.end_byte:
            return False
        lambda_, loop, _ = self._left(exit_, kind)
        if lambda_ != self.body and not contains(lambda_, node):
            return False
        if kind in _OF_LOOPS:
            if loop is None or not contains(loop, node):
                return False
        elif exit_.start_byte > node.start_byte and not _shared_loop(loop, node, lambda_):
            return False
        return not exclusive(exit_, node)


def exits_past(function: Function, node: Node, start: int) -> Iterator[Node]:
    """Yield the `break`, `continue` and `goto` by which a thread may miss `node`, and continue in the function.

    Only those after which the declaration at `start` is still in scope, so that threads may compare its value.
    """
    for statement in function.exits_before(node):
        if statement.type == "goto_statement":
            if comes_by_label(function, statement, node) is not None:
                yield statement
            continue
        loop = _loop_of(statement, function.body, statement.type)
        if statement.type == "return_statement" or loop is None:
            continue
        body = loop.child_by_field_name("body")
        # A `continue` skips nothing after the loop's body, and a thread that has left a loop is not in it.
        if statement.type == "continue_statement" and body is not None and not contains(body, node):
            continue
        if statement.type == "break_statement" and start >= loop.start_byte:
            continue
        yield statement


def functions(source: Cpp) -> tuple[Function, ...]:
    """Return all functions with a body in the file, also those of the host, in order."""
    return source.fact(_functions)


def function_at(source: Cpp, offset: int) -> Function | None:
    """Return the function whose body contains `offset`."""
    found = functions(source)
    i = bisect_right(found, offset, key=lambda function: function.body.start_byte) - 1
    return found[i] if i >= 0 and offset < found[i].body.end_byte else None


def called_name(call: Node, code: bytes) -> bytes:
    """Return the name that a call expression calls, without namespace, object and template arguments, or b""."""
    node = call.child_by_field_name("function")
    while node is not None:
        if node.type in _NAMES:
            return _name(code, node)
        following = node.child_by_field_name("name") or node.child_by_field_name("field")
        if following is None and node.type == "dependent_name" and node.named_children:
            following = node.named_children[-1]
        node = following
    return b""


def _name(code: bytes, node: Node) -> bytes:
    """Return a name; an operator's `operator ()` becomes `operator()`."""
    name = code[node.start_byte : node.end_byte]
    return _AROUND_SIGNS.sub(b"", name) if node.type == "operator_name" else name


def arguments(call: Node) -> tuple[Node, ...]:
    """Return the arguments of a call expression."""
    given = call.child_by_field_name("arguments")
    return tuple(given.named_children) if given is not None else ()


def is_method(function: Function) -> bool:
    return b"::" in function.head or any(
        outer.type in ("struct_specifier", "class_specifier") for outer in function.outer
    )


def nodes(node: Node, kinds: frozenset[str] | None = None) -> Iterator[Node]:
    """Yield `node` and all named nodes in it, or those of some kinds, in preorder."""
    # A cursor builds no lists of children.
    cursor = node.walk()
    inwards, onwards, outwards = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    while True:
        current = cursor.node
        if current is not None and (current.is_named if kinds is None else current.type in kinds):
            yield current
        if inwards():
            continue
        while not onwards():
            if not outwards():
                return


def comes_by_label(function: Function, leaving: Node, node: Node) -> bool | None:
    """Whether lanes that take an exit reach a place: a `goto` to a label before it that others do not pass.

    None if both do.
    """
    label = _label(function, leaving)
    if label is None or not leaving.start_byte < label.start_byte <= node.start_byte:
        return False
    before = label.prev_named_sibling
    if before is None or before.type not in _EXITS:
        return None
    over = _label(function, before)
    return None if over is not None and over.start_byte <= node.start_byte else True


def _label(function: Function, leaving: Node) -> Node | None:
    """The target statement of a `goto`."""
    if leaving.type != "goto_statement" or not leaving.named_children:
        return None
    return function.labels.get(function.text(leaving.named_children[0]))


def exclusive(one: Node, other: Node) -> bool:
    """Whether a thread that reaches one of two places cannot reach the other before it reaches the first one again.

    This holds for the two sides of an `if`, and of an `#if`, of which a compilation has one. The cases of a `switch`
    may fall through.
    """
    outer = one.parent
    inner = one
    while outer is not None and not contains(outer, other):
        inner, outer = outer, outer.parent
    if outer is not None and outer.type in CONDITIONALS:
        alternative = outer.child_by_field_name("alternative")
        return alternative is not None and contains(alternative, one) != contains(alternative, other)
    if outer is None or outer.type != "if_statement":
        return False
    condition = outer.child_by_field_name("condition")
    return not (condition is not None and (contains(condition, one) or contains(condition, other))) and inner != outer


def device_macros(source: Cpp) -> frozenset[bytes]:
    """The macros of the file that expand to `__device__` or `__global__`, perhaps with other words."""
    return frozenset(name for name, _ in source.fact(_device_macros))


def kernel_macros(source: Cpp) -> frozenset[bytes]:
    """The macros of the file that expand to `__global__`, perhaps with other words, wherever they are defined."""
    found = source.fact(_device_macros)
    return frozenset(name for name, text in found if b"__global__" in text) - {
        name for name, text in found if b"__global__" not in text
    }


def shared_macros(source: Cpp) -> frozenset[bytes]:
    """The macros of the file that expand to `__shared__`, perhaps with other words."""
    if b"__shared__" not in source.text or b"define" not in source.words:
        return frozenset()
    found = (match for match in DEFINE.finditer(source.code) if not match[2])
    return frozenset(match[1] for match in found if _SHARED.fullmatch(match[3]))


def _device_macros(source: Cpp) -> tuple[tuple[bytes, bytes], ...]:
    return tuple(
        (match[1], match[3])
        for match in DEFINE.finditer(source.code)
        if not match[2] and DEVICE.search(match[3]) and b"(" not in match[3].replace(b"__attribute__((", b"")
    )


def _functions(source: Cpp) -> tuple[Function, ...]:
    found = []
    stack: list[tuple[Node, tuple[Node, ...]]] = [(source.tree.root_node, ())]
    while stack:
        node, outer = stack.pop()
        kind = node.type
        if kind == "function_definition":
            function = _function(source, node, outer)
            if function is not None:
                found.append(function)
        elif kind in _HOLDS_FUNCTIONS:
            around = (node, *outer) if kind in _AROUND_FUNCTIONS else outer
            stack.extend((each, around) for each in node.named_children)
    return tuple(sorted(found, key=lambda function: function.body.start_byte))


def _function(source: Cpp, node: Node, outer: tuple[Node, ...]) -> Function | None:
    body = node.child_by_field_name("body")
    declarator = node.child_by_field_name("declarator")
    if declarator is not None and declarator.type == "operator_cast":
        return _conversion(source, node, declarator, body, outer)
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (child for child in declarator.named_children if child.type.endswith("_declarator")), None
        )
    if body is None or declarator is None or body.type != "compound_statement":
        return None
    name = declarator.child_by_field_name("declarator")
    while name is not None and name.type not in _NAMES:
        name = name.child_by_field_name("name")
    if name is None:
        return None
    given = declarator.child_by_field_name("parameters")
    code = source.code
    parameters = declared_parameters(given, code)
    return Function(
        source,
        _name(code, name),
        _head(code, node.start_byte, name.start_byte),
        tuple(declared_name(parameter, code) for parameter in parameters),
        node,
        body,
        outer,
    )


def _head(code: bytes, start: int, end: int) -> bytes:
    """Return the text before a function's name, with the macros in front of it, which are removed for the parser."""
    before = _MACROS_BEFORE.search(code, max(0, start - _LONGEST_MACROS), start)
    return code[before.start() if before else start : end]


def declared_parameters(listed: Node | None, code: bytes) -> list[Node]:
    """Return the declarations in a list of parameters: none in `(void)`."""
    found = [each for each in listed.named_children if each.type.endswith("declaration")] if listed is not None else []
    alone = len(found) == 1 and found[0].type == "parameter_declaration"
    return [] if alone and code[found[0].start_byte : found[0].end_byte] == b"void" else found


def _conversion(
    source: Cpp, node: Node, declarator: Node, body: Node | None, outer: tuple[Node, ...]
) -> Function | None:
    """`operator int() const { … }`"""
    type_ = declarator.child_by_field_name("type")
    if body is None or type_ is None or body.type != "compound_statement":
        return None
    name = source.code[declarator.start_byte : type_.end_byte]
    return Function(source, name, _head(source.code, node.start_byte, declarator.start_byte), (), node, body, outer)


def declared_name(node: Node, code: bytes) -> bytes:
    """The name that a declaration or declarator introduces."""
    declarator: Node | None = node
    while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type.endswith("_declarator"):
            inner = next(
                (child for child in declarator.named_children if child.type.endswith(("_declarator", "identifier"))),
                None,
            )
        declarator = inner
    return code[declarator.start_byte : declarator.end_byte] if declarator is not None else b""


def _locals(function: Function) -> Locals:
    code = function.source.code
    start, end = function.node.start_byte, function.node.end_byte
    variables = [Variable(name, start, end) for name in function.parameters if name]
    shared: set[Variable] = set()
    # Arrays of one thread; a store through a pointer does not change the pointer.
    arrays: set[Variable] = set()
    given: list[tuple[Node, Node, tuple[Node, ...]]] = []
    assignments: list[Assignment] = []
    for node in nodes(function.body, _GIVES):
        kind = node.type
        if kind == "declaration":
            for declarator, variable in _declared(node, function):
                value = _initializer(node, declarator, code)
                variables.append(variable)
                if b"__shared__" in code[node.start_byte : variable.start] or (
                    function.shared_words and word_before(code, node.start_byte) in function.shared_words
                ):
                    shared.add(variable)
                elif b"[" in code[variable.start : value.start_byte if value else declarator.end_byte]:
                    arrays.add(variable)
                assignments.append(Assignment(node, variable, (value,) if value is not None else (), True))
        elif kind == "for_range_loop":
            # `for (int x : values)`
            element, right = node.child_by_field_name("declarator"), node.child_by_field_name("right")
            name = declared_name(element, code) if element is not None else b""
            if element is not None and right is not None and name:
                variable = Variable(name, element.start_byte, node.end_byte)
                variables.append(variable)
                assignments.append(Assignment(node, variable, (right,), True))
        elif kind == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None and right is not None:
                given.append((node, left, (right,)))
            # tree-sitter finds a parent by descending from the root, so only a node after a parenthesis is asked for
            # it.
            opening = code.rfind(b"(", start, node.start_byte)
            loop = node.parent if opening >= 0 and not code[opening + 1 : node.start_byte].strip() else None
            if left is not None and loop is not None and loop.child_by_field_name("initializer") == node:
                # `for (i = 0; …)`: in the loop, the earlier value of i is irrelevant.
                variables.append(Variable(declared_name(left, code), node.start_byte, loop.end_byte))
        elif kind == "update_expression" and node.named_children:
            given.append((node, node.named_children[0], ()))
        elif kind == "call_expression":
            given.extend(_assigned_by_call(node, code))
    found = Locals(tuple(variables), frozenset(shared), ())
    for node, target, values in given:
        name, indices = _target(target, code)
        changed = found.named(name, target.start_byte)
        if changed is not None and (changed in arrays or not indices):
            assignments.append(Assignment(node, changed, (*values, *indices), False))
    return Locals(found.variables, found.shared, tuple(assignments))


def _declared(declaration: Node, function: Function) -> Iterator[tuple[Node, Variable]]:
    """Yield the declarators of a declaration, and their variables."""
    code, scope = function.source.code, declaration.parent
    end = scope.end_byte if scope else function.node.end_byte
    for each in declaration.children_by_field_name("declarator"):
        yield each, Variable(declared_name(each, code), each.start_byte, end)


def _initializer(declaration: Node, declarator: Node, code: bytes) -> Node | None:
    """Return the initial value of a variable; None if it has none, or is made by a constructor, which is not known."""
    value = declarator.child_by_field_name("value")
    if value is None or value.type != "argument_list":
        return value
    return value if _VALUE_TYPE.search(code, declaration.start_byte, declarator.start_byte) else None


def _assigned_by_call(call: Node, code: bytes) -> Iterator[tuple[Node, Node, tuple[Node, ...]]]:
    """Yield the variables that a call may assign to, `f(&x, y)`, and its other arguments."""
    passed = arguments(call) if b"&" in code[call.start_byte : call.end_byte] else ()
    for each in passed:
        if each.type == "pointer_expression" and code[each.start_byte : each.start_byte + 1] == b"&":
            for x in each.named_children:
                yield call, x, tuple(y for y in passed if y != each)


def _target(node: Node, code: bytes) -> tuple[bytes, tuple[Node, ...]]:
    """The variable that an assignment to `node` changes, at least in part, and the indices of the part."""
    indices: list[Node] = []
    current: Node | None = node
    while current is not None:
        if current.type == "identifier":
            return code[current.start_byte : current.end_byte], tuple(indices)
        sign = current.child_by_field_name("operator")
        if current.type == "pointer_expression" or (sign is not None and sign.type == "->"):
            return b"", ()  # the target of a pointer is not the variable
        if current.type == "subscript_expression":
            given = current.child_by_field_name("indices")
            indices += given.named_children if given is not None else []
        current = current.child_by_field_name("argument") or (
            current.named_children[0] if current.type == "parenthesized_expression" and current.named_children else None
        )
    return b"", ()


def call_of(name: Node | None) -> Node | None:
    """Return the call expression that calls the function named by `name`."""
    node = name
    while node is not None and node.parent is not None:
        parent = node.parent
        if parent.type == "call_expression":
            return parent if parent.child_by_field_name("function") == node else None
        if parent.type not in (
            "template_function",
            "qualified_identifier",
            "field_expression",
            "dependent_name",
            "template_method",
        ):
            return None
        # The object before `.` and template arguments are not the callee.
        if node not in (parent.child_by_field_name("name"), parent.child_by_field_name("field")) and (
            parent.type != "dependent_name"
        ):
            return None
        node = parent
    return None


def _condition(outer: Node, inner: Node) -> Condition | None:
    """The condition of `outer` on which its part `inner` is control dependent."""
    kind = outer.type
    if kind in ("if_statement", "conditional_expression", "while_statement", "do_statement", "for_statement"):
        expression = outer.child_by_field_name("condition")
        if expression is None or expression == inner:
            return None
        if kind == "for_statement" and outer.child_by_field_name("initializer") == inner:
            return None
        return Condition(bare(expression), outer, outer.child_by_field_name("alternative") != inner)
    if kind == "switch_statement":
        expression = outer.child_by_field_name("condition")
        return None if expression is None or expression == inner else Condition(bare(expression), outer, None)
    if kind == "for_range_loop":
        expression = outer.child_by_field_name("right")
        return None if expression is None or expression == inner else Condition(expression, outer, None)
    if kind == "binary_expression" and outer.child_by_field_name("right") == inner:
        operator, left = outer.child_by_field_name("operator"), outer.child_by_field_name("left")
        if operator is not None and left is not None and operator.type in ("&&", "||", "and", "or"):
            return Condition(left, outer, operator.type in ("&&", "and"))
    return None


def operator_of(node: Node, code: bytes) -> str:
    """Return the operator of an expression as written, "" if it has none.

    The node's type may be the other one of `<` and `>`: see `Cpp.tree`.
    """
    sign = node.child_by_field_name("operator")
    return code[sign.start_byte : sign.end_byte].decode("ascii", "replace") if sign is not None else ""


def bare(node: Node) -> Node:
    """Return an expression without the parentheses that the statement needs."""
    if node.type in ("condition_clause", "parenthesized_expression") and len(node.named_children) == 1:
        return node.named_children[0]
    return node


def statements(body: Node, kinds: frozenset[str]) -> Iterator[Node]:
    """The nodes of such kinds in `body`, in order, without those in lambdas."""
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type in kinds:
            yield node
        if node.type.endswith("expression"):
            continue
        stack.extend(reversed(node.named_children))


def depth(node: Node) -> int:
    """The depth of nesting in `node`."""
    cursor = node.walk()
    most = now = 0
    while True:
        if cursor.goto_first_child():
            now += 1
            most = max(most, now)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return most
            now -= 1


def _loop_of(node: Node, body: Node, kind: str) -> Node | None:
    """The innermost loop (or, for a `break`, `switch`) around a statement of some kind."""
    ends = LOOPS | {"switch_statement"} if kind == "break_statement" else LOOPS
    outer = node.parent
    while outer is not None and outer != body:
        if outer.type in ends:
            return outer
        outer = outer.parent
    return None


def _shared_loop(loop: Node | None, node: Node, within: Node) -> bool:
    """Whether `loop`, or a loop around it, also contains `node`; up to the statement `within`."""
    while loop is not None and loop != within:
        if loop.type in LOOPS and contains(loop, node):
            return True
        loop = loop.parent
    return False


def contains(outer: Node, inner: Node) -> bool:
    """Whether `inner` is in `outer`, or is the same node."""
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte
