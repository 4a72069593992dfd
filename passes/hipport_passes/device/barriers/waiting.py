# SPDX-License-Identifier: Apache-2.0
"""Places where device code waits at a barrier: at CUDA's barriers, and in functions of the program that reach one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from hipport.analysis.functions import DEFINE, Call, Function, arguments, call_of, nodes
from hipport.analysis.implicit_calls import makes_object, operator_uses
from hipport.analysis.indirect_calls import Pointed, indirect_calls, may_call, pointed, targets
from hipport.analysis.kernels import Kernels
from hipport.analysis.transitive_callers import Text, TransitiveCallers, extent, transitive_callers
from hipport.analysis.word_index import leading_to
from hipport.core.edits import Span
from hipport.core.tables import Words, one_of
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES

if TYPE_CHECKING:
    from tree_sitter import Node

#: CUDA's barriers for all threads of a block that also vote.
VOTES = frozenset((b"__syncthreads_count", b"__syncthreads_and", b"__syncthreads_or"))
_NAMES = VOTES | {b"__syncthreads"}
_KNOWN = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_BARRIER = re.compile(one_of(_KNOWN["barriers"], r"\w+").encode())
_PLAIN = re.compile(rb"\s*" + one_of(_KNOWN["plain"]).encode() + rb"\s*\(\s*\)\s*;?\s*")
# The expansion of a macro that is a plain barrier.
_STANDS_FOR = re.compile(rb"\s*(?:do\s*\{)?" + _PLAIN.pattern + rb"(?:\}\s*while\s*\(\s*0\s*\))?;?\s*")
_CALLED = re.compile(rb"\s*(\w+)\s*(?:\(\s*\))?\s*;\s*")
_WORDS = re.compile(rb"[A-Za-z_]\w*")
_LAMBDA = re.compile(rb"=\s*\[")
# A lambda, in a variable or as an argument.
_HANDED = re.compile(rb"[(,=]\s*\[")
_BEHIND = re.compile(rb"\s*(?:<[^;(){}]*>\s*)?\(")
_THIS_BLOCK = _KNOWN.compile(rb"\s*(?:\w+\s*::\s*)*(?&this_block)\s*\(\s*\)\s*")
# Waits with any number of arguments.
_ANY = 1 << 16
_PARTS_OF_A_TYPE = ("template_type", "qualified_identifier")
_MAKE = ("declaration", "compound_literal_expression", "new_expression")


class Waiting:
    """The functions and macros of a component that wait."""

    def __init__(self, source: Cpp, project: Project, kernels: Kernels) -> None:
        self._kernels = kernels
        macros = project.union_over(source, macros_by_words)
        found = leading_to(_NAMES, macros)
        names = b"|".join(map(re.escape, sorted(found)))
        #: The names of barriers: CUDA's, and the program's macros for them.
        self.pattern = re.compile(_BARRIER.pattern + b"|" + names) if found else _BARRIER
        # Macros that are just `__syncthreads()`, however they are defined.
        self._plain = frozenset(found - project.union_over(source, _more_than_barriers))
        self._files = [
            each for each in project.component(source) if isinstance(each, Cpp) and not each.is_hipport_header
        ]
        self._sites: dict[Function, tuple[Call, ...]] = {}
        #: What calls by pointers and operators in functions may call, by their nodes.
        self._not_named: dict[Function, dict[int, list[tuple[Function, Node]]]] = {}
        self._places: dict[PurePath, list[tuple[Span, bytes]]] = {}
        #: The functions and macros that wait, with the greatest number of arguments with which they do: a default
        #: argument may contain the barrier.
        self._waiting: dict[Function | Text, int] = {}
        #: Functions that wait and may be called by pointer or as objects.
        self.pointed = Pointed()
        #: The lambdas in which threads wait, with their functions, by the functions and parameters that get them.
        self._handed: Mapping[tuple[Function, bytes], list[tuple[Function, Node]]] = {}
        self.names: frozenset[bytes] = frozenset()
        self._transitive_callers = TransitiveCallers()
        wanted = frozenset(chain.from_iterable(file.matched(self.pattern) for file in self._files))
        if any(b"thread_block" in file.words and b"sync" in file.words for file in self._files):
            wanted |= {b"sync"}
        self._solve(wanted)
        self.pointed = pointed(
            self._files, [each for each in self._waiting if isinstance(each, Function) and not each.kernel]
        )
        #: Parameters that receive lambdas in which threads wait.
        handed: dict[tuple[Function, bytes], list[tuple[Function, Node]]] = {}
        for of, parameter, by, lambda_ in chain.from_iterable(map(self._hands, self._files)):
            handed.setdefault((of, parameter), []).append((by, lambda_))
        self._handed = handed
        if self.pointed or self._handed:
            by_pointer = [
                function
                for file in self._files
                for function in kernels.functions(file)
                if function not in self._waiting and not function.kernel and any(self._by_pointer(function))
            ]
            if by_pointer:
                self._solve(wanted, by_pointer)
        #: The names of macros and functions that wait, without CUDA's.
        self.names = frozenset(each.name for each in self._waiting)

    @staticmethod
    def of(source: Cpp, project: Project, kernels: Kernels) -> Waiting:
        """Return the functions and macros that wait, in the component of `source`."""
        known = project.component(source).fact(_known)
        if not known:
            known.append(Waiting(source, project, kernels))
        return known[0]

    def _solve(self, wanted: frozenset[bytes], known: Sequence[Function] = ()) -> None:
        """Find the functions and macros that wait, directly or through others, to a fixed point.

        `known`: functions that are known to wait for another reason.
        """
        self._transitive_callers = transitive_callers(
            self._files, self._kernels.functions, wanted | {each.name for each in known}
        )
        for each in known:
            self._waiting[each] = _ANY
            self._transitive_callers.named.setdefault(each.name, []).append(each)
        self._places = {}
        open_ = list(self._transitive_callers.units)
        while open_:
            found = [unit for unit in open_ if self._waits(unit)]
            # Those with a barrier come first, and their callers after them.
            open_ = [unit for unit in open_ if unit not in self._waiting] if found else []
        self._sites = {}

    def _waits(self, unit: Function | Text) -> bool:
        most = -1
        if isinstance(unit, Function):
            for each in self._find(unit):
                most = max(most, _position(unit, each.node))
                if most == _ANY:
                    break
        elif any(True for _ in self._in_text(unit)):
            most = _ANY
        if most >= 0:
            self._waiting[unit] = most
        return most >= 0

    def may_wait(self, source: Cpp) -> bool:
        """Return whether a function in a file may wait; a quick test before its functions are analyzed."""
        return bool(
            self.pointed
            or self._handed
            or self._transitive_callers.operators
            or not (self.names | {b"sync"}).isdisjoint(source.words)
            or source.matched(self.pattern)
        )

    def is_plain(self, text: bytes) -> bool:
        """Return whether a statement is `__syncthreads();`, or a macro for it."""
        called = _CALLED.fullmatch(text)
        return _PLAIN.fullmatch(text) is not None or (called is not None and called[1] in self._plain)

    def in_words(self, words: set[bytes]) -> bool:
        """Return whether one of the words is the name of a function or macro that waits."""
        return not self.names.isdisjoint(words) or any(map(self.pattern.fullmatch, words))

    def sites(self, function: Function) -> tuple[Call, ...]:
        """Return the places in a function's body at which threads wait, in order."""
        if function not in self._sites:
            found = [each for each in self._find(function) if each.node.start_byte >= function.body.start_byte]
            found += self._by_pointer(function)
            unique = {(each.node.start_byte, each.node.end_byte): each for each in found}
            self._sites[function] = tuple(sorted(unique.values(), key=lambda each: each.node.start_byte))
        return self._sites[function]

    def lambda_of(self, function: Function, call: Call) -> Node | None:
        """Return the lambda in a variable that a call calls, if threads wait in it."""
        called = call.node.child_by_field_name("function")
        return self._lambda_named(function, called, frozenset(self.lambdas(function))) if called is not None else None

    @staticmethod
    def _lambda_named(function: Function, name: Node, lambdas: frozenset[bytes]) -> Node | None:
        """The lambda in a variable, if it is one of those in which threads wait."""
        text = function.text(name)
        variable = function.locals.named(text, name.start_byte) if text in lambdas else None
        if variable is None:
            return None
        values = [value for each in function.locals.definitions.get(variable, ()) for value in each.values]
        found = [each for each in values if each.type == "lambda_expression"]
        return found[0] if len(found) == 1 else None

    def lambdas(self, function: Function) -> Iterator[bytes]:
        """Yield the variables of a function that are lambdas in which threads wait."""
        if not function.mentions(_LAMBDA):
            return
        for node in nodes(function.body, frozenset(("lambda_expression",))):
            outer = node.parent
            variable = outer.child_by_field_name("declarator") if outer and outer.type == "init_declarator" else None
            named = variable is not None and variable.type == "identifier"
            if variable is None or not named:
                continue
            if self._waits_by(set(_WORDS.findall(function.text(node)))) or any(
                node.start_byte <= each.node.start_byte < node.end_byte and waits_as_group(each)
                for each in function.calls({b"sync"})
            ):
                yield function.text(variable)

    def callees(self, function: Function, site: Call) -> Iterator[tuple[Function, Node]]:
        """Yield what a call at a site may call that waits: functions with their bodies, or with lambdas in them."""
        if site.name and self.pattern.fullmatch(site.name):
            return
        lambda_ = self.lambda_of(function, site)
        if lambda_ is not None:
            yield function, lambda_
            return
        named = [each for each in self._waiting_by(site.name) if isinstance(each, Function)] if site.name else []
        if named:
            yield from ((each, each.body) for each in named if not each.kernel and each is not function)
            return
        if function not in self._not_named:
            found: dict[int, list[tuple[Function, Node]]] = {}
            self._not_named[function] = found
            for each in indirect_calls(function) if self.pointed or self._handed else ():
                of = [(callee, callee.body) for callee in targets(each, function, self.pointed, self._kernels)]
                of += self._handed.get((function, function.text(each.callee)), ())
                found.setdefault(each.call.id, []).extend(of)
            operators = self._transitive_callers.operators
            for node, used in operator_uses(function, operators) if operators else ():
                found.setdefault(node.id, []).extend((each, each.body) for each in used if each in self._waiting)
        every = self._not_named[function].get(site.node.id, ())
        yield from ((of, body) for of, body in every if not of.kernel or body != of.body)

    def _hands(self, file: Cpp) -> Iterator[tuple[Function, bytes, Function, Node]]:
        """Yield the parameters, with their functions, that receive lambdas from a file in which threads wait.

        And the lambda, with the function that it is in.
        """
        if not _HANDED.search(file.code) or not self.may_wait(file):
            return
        for function in self._kernels.functions(file):
            lambdas = frozenset(self.lambdas(function))
            for call in function.calls():
                for i, given in enumerate(call.arguments):
                    words = set(_WORDS.findall(function.text(given)))
                    lambda_: Node | None = given
                    if given.type == "lambda_expression":
                        waits = self._waits_by(words)
                    else:
                        waits = given.type == "identifier" and not words.isdisjoint(lambdas)
                        lambda_ = self._lambda_named(function, given, lambdas) if waits else None
                    for of in self._kernels.definitions(file, call.name) if waits else ():
                        if i < len(of.parameters):
                            yield of, of.parameters[i], function, lambda_ if lambda_ is not None else given

    def _waits_by(self, words: set[bytes]) -> bool:
        return any(map(self.pattern.fullmatch, words)) or any(map(self._waiting_by, words))

    def _by_pointer(self, function: Function) -> Iterator[Call]:
        for each in indirect_calls(function) if self.pointed or self._handed else ():
            name = function.text(each.callee)
            if (function, name) in self._handed or targets(each, function, self.pointed, self._kernels):
                yield Call(function, b"", each.call, ())

    def _waiting_by(self, name: bytes) -> list[Function | Text]:
        return [each for each in self._transitive_callers.named.get(name, ()) if each in self._waiting]

    def _in_text(self, text: Text) -> Iterator[bytes]:
        """Yield the names that wait in the expansion of a name."""
        code = text.source.code
        for match in _WORDS.finditer(code, text.start, text.end):
            name, end = match.group(), match.end()
            if self.pattern.fullmatch(name):
                yield name
            for each in self._waiting_by(name):
                made = name in self._transitive_callers.classes
                if makes_object(text.source, end) if made else isinstance(each, Text) or _BEHIND.match(code, end):
                    yield name

    def _named_in(self, source: Cpp) -> list[tuple[Span, bytes]]:
        """Return the places of names that may wait in a file, in order."""
        if source.path not in self._places:
            wanted = self._transitive_callers.named.keys() | source.matched(self.pattern) | {b"sync"}
            self._places[source.path] = [*source.names(wanted)]
        return self._places[source.path]

    def _find(self, function: Function) -> Iterator[Call]:
        """Yield the places at which threads wait, those in front of the body among them."""
        start, end = extent(function)
        lambdas = frozenset(self.lambdas(function))
        code = function.source.code
        places = self._named_in(function.source)
        if lambdas - self._transitive_callers.named.keys():
            places = [*function.source.names({name for _, name in places} | lambdas)]
        first = bisect_left(places, start, key=lambda place: place[0].start)
        for span, name in islice(places, first, None):
            if span.start >= end:
                break
            if function.source.directive(span.start):
                continue
            node = function.node.descendant_for_byte_range(span.start, span.end)
            if node is None:
                continue
            if name in self._transitive_callers.classes and self._waiting_by(name):
                made = self._made(node)
                if made is not None and makes_object(function.source, span.end):
                    yield Call(function, name, made, ())
                    continue
            call = call_of(node) if _BEHIND.match(code, span.end) else None
            if call is not None:
                each = Call(function, name, call, arguments(call))
                if name in lambdas or self._is_barrier(each):
                    yield each
            elif (
                node.parent is not None
                and node.parent.type == "expression_statement"
                and (self.pattern.fullmatch(name) or any(isinstance(each, Text) for each in self._waiting_by(name)))
            ):
                # A macro without parentheses.
                yield Call(function, name, node, ())
        for node, of in (
            operator_uses(function, self._transitive_callers.operators) if self._transitive_callers.operators else ()
        ):
            if any(each in self._waiting for each in of):
                yield Call(function, b"", node, ())

    @staticmethod
    def _made(name: Node) -> Node | None:
        """Return the place where an object of the named class is made."""
        outer = name.parent
        while outer is not None and outer.type in _PARTS_OF_A_TYPE:
            outer = outer.parent
        if outer is None:
            return None
        if outer.type == "call_expression" or outer.type == "template_function":
            return call_of(name)
        # A parameter that is not a reference is constructed for the call, and destroyed with it.
        return name if outer.type in _MAKE or outer.type == "parameter_declaration" else None

    def _is_barrier(self, call: Call) -> bool:
        function = call.node.child_by_field_name("function")
        if self.pattern.fullmatch(call.name):
            # A member of that name is not CUDA's function.
            return function is None or function.type != "field_expression"
        if call.name == b"sync" and waits_as_group(call):
            return True
        return any(
            isinstance(each, Text)
            or (
                each is not call.function
                and len(call.arguments) <= self._waiting[each]
                and may_call(call, each, self._kernels)
            )
            for each in self._waiting_by(call.name)
        )


def waits_as_group(call: Call) -> bool:
    """Return whether a call of `sync` is one of the block as a cooperative group."""
    function = call.node.child_by_field_name("function")
    field = function is not None and function.type == "field_expression"
    if not field and len(call.arguments) != 1:
        return False
    group = function.child_by_field_name("argument") if field and function is not None else None
    group = group or next(iter(call.arguments), None)
    return group is not None and _is_block(call.function, group)


def _is_block(function: Function, group: Node) -> bool:
    """Return whether a cooperative group is the block, by its type or by its initializer."""
    text = function.text(group)
    if _THIS_BLOCK.fullmatch(text):
        return True
    head = function.source.code[function.node.start_byte : function.body.start_byte]
    if text in function.parameters:
        return re.search(rb"\bthread_block\b[\s&]*(?:const\b[\s&]*)?\b" + re.escape(text) + rb"\b", head) is not None
    variable = function.locals.named(text, group.start_byte)
    return any(
        _THIS_BLOCK.fullmatch(function.text(value))
        for each in function.locals.assignments
        if each.variable == variable
        for value in each.values
    )


def _position(function: Function, node: Node) -> int:
    """Return the index of the optional parameter whose default contains `node`; _ANY if it is elsewhere."""
    outer: Node | None = node if node.start_byte < function.body.start_byte else None
    while outer is not None and outer.parent is not None:
        if outer.type == "optional_parameter_declaration":
            given = [each for each in outer.parent.named_children if each.type.endswith("declaration")]
            return given.index(outer)
        outer = outer.parent
    return _ANY


def _known(component: Component) -> list[Waiting]:
    """Return a cache of the functions of these files that wait."""
    return []


def macros_by_words(source: Cpp) -> frozenset[tuple[bytes, frozenset[bytes]]]:
    """Return the file's macros, each with the names in its expansion."""
    if b"define" not in source.words:
        return frozenset()
    directives = (DEFINE.match(source.code, each.start, each.end) for each in source.directives)
    return frozenset((match[1], frozenset(_WORDS.findall(match[3]))) for match in directives if match)


def _more_than_barriers(source: Cpp) -> frozenset[bytes]:
    """Return the file's macros, without those that expand to a plain barrier."""
    if b"define" not in source.words:
        return frozenset()
    directives = (DEFINE.match(source.code, each.start, each.end) for each in source.directives)
    found = (match for match in directives if match)
    return frozenset(match[1] for match in found if not _STANDS_FOR.fullmatch(match[3].replace(b"\\", b" ")))
