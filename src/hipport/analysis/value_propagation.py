# SPDX-License-Identifier: Apache-2.0
"""Propagate values of one kind from the functions that create them to variables, parameters, results and members.

Computed on syntax trees, by names, over the files that are connected by includes, like `Kernels`: members of one name
are not distinguished, and neither are overloads. A value keeps its kind through `& | ^ ~`, shifts, sums, conditionals,
casts and arrays; a comparison makes another kind of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import Function, Variable, arguments, called_name, nodes
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Span
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within

if TYPE_CHECKING:
    from tree_sitter import Node

_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?:\(([^()]*)\))?[ \t]+(.*)", re.DOTALL)
_ALIAS = re.compile(
    rb"\busing\s+(?P<using>\w+)\s*=\s*(?P<is>[^;{}()]+);|\btypedef\s+(?P<was>[^;{}()]+?)\s*\b(?P<typedef>\w+)\s*;"
)
_CAST = re.compile(rb"\w+_cast\s*<(.*)>", re.DOTALL)
_MEMBER = frozenset(("field_declaration",))
_PASSED_ON = frozenset("parenthesized_expression initializer_list comma_expression argument_list".split())
_KEEPS = frozenset(("&", "|", "^", "+", "-", "bitand", "bitor", "xor"))
_NUMBER = re.compile(rb"\(*\s*(0[xX][0-9a-fA-F]+|[1-9]\d*|0)[uUlL]*\s*\)*")
_QUALIFIERS = re.compile(
    rb"\b(?:const|volatile|constexpr|static|register|inline|extern|typename|__shared__|__restrict__|__device__)\b|\bstd\s*::"
)
_BITS = {
    32: b"int|unsigned|unsigned int|signed|signed int|uint|uint32_t|int32_t|u32|i32",
    64: b"long long|unsigned long long|unsigned long long int|long long int|uint64_t|int64_t|unsigned long|long|size_t|"
    b"unsigned long int|long int|u64|i64|ulong|ullong",
    16: b"short|unsigned short|uint16_t|int16_t",
    8: b"char|unsigned char|signed char|uint8_t|int8_t|bool",
}
_WIDTH = {name: bits for bits, names in _BITS.items() for name in names.split(b"|")}


class Declared(NamedTuple):
    """A variable, parameter, member or result with a type: the place of the type, and its declarator."""

    source: Cpp
    type: Node
    declarator: Node | None
    name: bytes


@dataclass(frozen=True)
class Kind:
    """A kind of values: results of functions that `made` matches, or that return an argument (`handed`).

    `made` matches whole names. `handed` has the position of the argument by the name of the function. A value that is
    stored to a type of fewer than `bits` bits is another value. Code that only CUDA sees creates none.
    """

    made: re.Pattern[bytes]
    handed: tuple[tuple[re.Pattern[bytes], int], ...] = ()
    bits: int = 0


class Flow:
    """The values of a kind in the files that `source` is connected to."""

    def __init__(self, project: Project, source: Cpp, kind: Kind) -> None:
        self.kernels = Kernels.of(project)
        self.project = project
        self.kind = kind
        self.files = [
            other for other in project.component(source) if isinstance(other, Cpp) and not other.is_hipport_header
        ]
        self.variables: dict[Function, set[Variable]] = {}
        self.members: set[bytes] = set()
        self.results: set[bytes] = set()
        #: The arrays and variables outside functions, and macros, that hold such values.
        self.macros: set[bytes] = set()
        self._solve()

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The device functions in those files."""
        return tuple(function for file in self.files for function in self.kernels.functions(file))

    def carries(self, function: Function, node: Node | None) -> bool:
        """Whether the expression `node` is such a value."""
        if node is None:
            return False
        kind = node.type
        converted = self.conversion(function, node)
        if converted is not None:
            bits, value = converted
            return not (bits and bits < self.kind.bits) and self.carries(function, value)
        if kind == "identifier":
            name = function.text(node)
            variable = self._seen_by_hip(function, name, node.start_byte)
            if variable is not None:
                return variable in self.variables.get(function, ())
            return name in self.macros or name in self.members
        if kind == "field_expression":
            field = node.child_by_field_name("field")
            return field is not None and function.text(field) in self.members
        if kind == "call_expression":
            return self._call(function, node)
        if kind == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            if sign is not None and sign.type in ("<<", ">>"):
                return self.carries(function, left)
            if sign is not None and sign.type == "&" and self._fits(function, left, right):
                return False
            return (
                sign is not None
                and sign.type in _KEEPS
                and (self.carries(function, left) or self.carries(function, right))
            )
        if kind in ("unary_expression", "pointer_expression"):
            return function.text(node)[:1] in (b"~", b"-", b"*", b"+") and self.carries(
                function, node.child_by_field_name("argument")
            )
        if kind == "assignment_expression":
            return self.carries(function, node.child_by_field_name("right"))
        if kind == "subscript_expression":
            return self.carries(function, node.child_by_field_name("argument"))
        if kind == "conditional_expression":
            return self.carries(function, node.child_by_field_name("consequence")) or self.carries(
                function, node.child_by_field_name("alternative")
            )
        if kind in _PASSED_ON:
            return any(self.carries(function, child) for child in node.named_children)
        return False

    @staticmethod
    def _seen_by_hip(function: Function, name: bytes, offset: int) -> Variable | None:
        """Return the variable that a name is; behind a branch of the preprocessor, that of HIP's which it declares."""
        found = function.locals.named(name, offset)
        if found is not None or not function.source.hip_only:
            return found
        for each in function.locals.variables:
            if each.name == name and each.end <= offset and within(each.start, function.source.hip_only):
                between = function.source.code[each.end : offset]
                if between.count(b"{") >= between.count(b"}"):
                    return each
        return None

    def _fits(self, function: Function, *operands: Node | None) -> bool:
        """Whether an operand of `&` is a number that selects some low bits: `& 1`, `& 0xffff`, not all 32."""
        numbers = [_NUMBER.fullmatch(function.text(each)) for each in operands if each is not None]
        return any(int(number[1], 0) < 0xFFFFFFFF for number in numbers if number is not None and self.kind.bits > 32)

    def _call(self, function: Function, node: Node) -> bool:
        name = called_name(node, function.source.code)
        given = arguments(node)
        if within(node.start_byte, function.source.cuda_only):
            return False
        if self.kind.made.fullmatch(name) or name in self.results or name in self.macros:
            return True
        return any(
            pattern.fullmatch(name) and position < len(given) and self.carries(function, given[position])
            for pattern, position in self.kind.handed
        )

    def conversion(self, function: Function, node: Node) -> tuple[int | None, Node] | None:
        """Return the width of the type that `node` converts to, and its operand; None if it is not a conversion."""
        if node.type == "cast_expression":
            type_, value = node.child_by_field_name("type"), node.child_by_field_name("value")
            return (
                None if type_ is None or value is None else (self.width(function.source, function.text(type_)), value)
            )
        if node.type != "call_expression":
            return None
        called, given = node.child_by_field_name("function"), arguments(node)
        if called is None or len(given) != 1:
            return None
        text = function.text(called)
        cast = _CAST.fullmatch(text)
        bits = self.width(function.source, cast[1] if cast else text)
        return (bits, given[0]) if cast or bits else None

    def declared(self, function: Function, variable: Variable) -> Declared | None:
        """Return how a variable or parameter of the function is declared."""
        return _declarations(function).get(variable)

    def members_named(self, name: bytes) -> Iterator[Declared]:
        """Yield the members of that name in the structures of these files."""
        for file in self.files:
            if name in file.code:
                yield from (each for each in file.fact(_members) if each.name == name)

    def bits(self, declared: Declared) -> int | None:
        """Return the width of the declared type in bits; None if unknown, 0 for `auto`."""
        return self.width(declared.source, declared.source.code[declared.type.start_byte : declared.type.end_byte])

    def width(self, source: Cpp, text: bytes, depth: int = 4) -> int | None:
        """Return the width in bits of an integer type by its name; None if unknown, 0 for `auto`."""
        name = b" ".join(_QUALIFIERS.sub(b" ", text).split()).rstrip(b"&* ")
        if name in (b"auto", b"decltype(auto)"):
            return 0
        if name in _WIDTH:
            return _WIDTH[name]
        stands_for = [is_ for alias, is_ in self.project.union_over(source, _aliases) if alias == name] if depth else []
        widths = {self.width(source, each, depth - 1) for each in stands_for}
        # A type that a condition selects for each wavefront size is as wide as necessary.
        return widths.pop() if len(widths) == 1 else None

    def _solve(self) -> None:
        for file in self.files:
            for name, body in file.fact(_macro_calls):
                if self.kind.made.fullmatch(body):
                    self.macros.add(name)
        gifts = [(function, list(_gifts(function)), list(function.calls())) for function in self.functions]
        by_name: dict[bytes, list[Function]] = {}
        for function in self.functions:
            by_name.setdefault(function.name, []).append(function)
        changed = True
        while changed:
            changed = False
            for function, given, calls in gifts:
                for target, value in given:
                    if self.carries(function, value):
                        changed |= self._receive(function, target)
                for call in calls:
                    for called in by_name.get(call.name, ()):
                        for parameter, argument in zip(called.parameters, call.arguments, strict=False):
                            if parameter and self.carries(function, argument):
                                variable = called.locals.named(parameter, called.body.start_byte)
                                changed |= variable is not None and self._add(called, variable)

    def _receive(self, function: Function, target: Node | None) -> bool:
        """Record that `target`, or the result of the function if it is None, holds such a value."""
        if target is None:
            declared = result_of(function)
            new = function.name not in self.results and not (declared is not None and self._cuts(declared))
            if new:
                self.results.add(function.name)
            return new
        node: Node | None = target
        while node is not None:
            if node.type in ("identifier", "field_identifier"):
                name = function.text(node)
                variable = function.locals.named(name, node.start_byte) or function.locals.named(name, node.end_byte)
                if variable is not None and node.type == "identifier":
                    return self._add(function, variable)
                new = name not in self.members
                self.members.add(name)
                return new
            node = (
                node.child_by_field_name("field")
                or node.child_by_field_name("argument")
                or node.child_by_field_name("declarator")
                or next(iter(node.named_children), None)
            )
        return False

    def _add(self, function: Function, variable: Variable) -> bool:
        known = self.variables.setdefault(function, set())
        declared = self.declared(function, variable)
        new = variable not in known and not (declared is not None and self._cuts(declared))
        if new:
            known.add(variable)
        return new

    def _cuts(self, declared: Declared) -> bool:
        """Whether a value stored there becomes another value."""
        return 0 < (self.bits(declared) or 0) < self.kind.bits


def _gifts(function: Function) -> Iterator[tuple[Node | None, Node]]:
    """Yield the assignments in a function: the target, None for its result, and the value."""
    for node in nodes(function.body):
        if node.type == "init_declarator":
            target, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
            if target is not None and value is not None:
                yield target, value
        elif node.type == "assignment_expression":
            target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
            if target is not None and value is not None:
                yield target, value
        elif node.type == "return_statement":
            for value in node.named_children:
                yield None, value
        elif node.type == "call_expression" and called_name(node, function.source.code).startswith(b"atomic"):
            given = arguments(node)
            if len(given) > 1:
                yield given[0], given[1]


def _declarations_of(source: Cpp) -> dict[int, Mapping[Variable, Declared]]:
    """A cache of declarations, by the place of their function."""
    return {}


def _declarations(function: Function) -> Mapping[Variable, Declared]:
    known = function.source.fact(_declarations_of)
    start = function.node.start_byte
    if start not in known:
        found: dict[Variable, Declared] = {}
        for variable, declared in _find_declarations(function):
            found.setdefault(variable, declared)  # parameters of a lambda come after those of the function
        known[start] = found
    return known[start]


def _find_declarations(function: Function) -> Iterator[tuple[Variable, Declared]]:
    by_place = {(variable.name, variable.start): variable for variable in function.locals.variables}
    for node in nodes(function.node):
        if node.type not in ("declaration", "parameter_declaration", "optional_parameter_declaration"):
            continue
        type_ = node.child_by_field_name("type")
        if type_ is None:
            continue
        for declarator in node.children_by_field_name("declarator"):
            name = _name_in(declarator)
            if name is None:
                continue
            start = declarator.start_byte if node.type == "declaration" else function.node.start_byte
            variable = by_place.get((function.text(name), start))
            if variable is not None:
                yield variable, Declared(function.source, type_, declarator, function.text(name))


def _members(source: Cpp) -> tuple[Declared, ...]:
    found = []
    stack = [source.tree.root_node]
    while stack:
        node = stack.pop()
        if node.type in _MEMBER:
            type_ = node.child_by_field_name("type")
            for declarator in node.children_by_field_name("declarator"):
                name = _name_in(declarator)
                if type_ is not None and name is not None:
                    text = source.code[name.start_byte : name.end_byte]
                    found.append(Declared(source, type_, declarator, text))
        elif node.type != "function_definition":
            stack.extend(node.named_children)
    return tuple(found)


def result_of(function: Function) -> Declared | None:
    """Return how the type of a function's result is declared."""
    type_ = function.node.child_by_field_name("type")
    return None if type_ is None else Declared(function.source, type_, None, function.name)


def _name_in(declarator: Node) -> Node | None:
    node: Node | None = declarator
    while node is not None and node.type not in ("identifier", "field_identifier"):
        node = node.child_by_field_name("declarator") or next(
            (child for child in node.named_children if child.type.endswith(("declarator", "identifier"))), None
        )
    return node


def _aliases(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    found = set()
    for match in _ALIAS.finditer(source.code):
        if within(match.start(), source.cuda_only):
            continue
        found.add((match["using"] or match["typedef"], b" ".join((match["is"] or match["was"]).split())))
    for directive in source.directives:
        define = _DEFINE.fullmatch(source.code, directive.start, directive.end)
        if define is not None and define[2] is None and not within(directive.start, source.cuda_only):
            found.add((define[1], b" ".join(define[3].split())))
    return frozenset(found)


def _macro_calls(source: Cpp) -> tuple[tuple[bytes, bytes], ...]:
    """The macros whose text is a call, or a name, with the name that they use."""
    found = []
    for directive in source.directives:
        define = _DEFINE.fullmatch(source.code, directive.start, directive.end)
        call = re.match(rb"\(*\s*(?:\(\s*\w[\w ]*\)\s*)?(\w+)\s*(?=\(|\)*\s*\Z)", define[3]) if define else None
        if define is not None and call is not None:
            found.append((define[1], call[1]))
    return tuple(found)


def span(node: Node) -> Span:
    """Return the bytes of a node."""
    return Span(node.start_byte, node.end_byte)
