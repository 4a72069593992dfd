# SPDX-License-Identifier: Apache-2.0
"""Indirect calls: through pointers to functions, function objects and virtual functions.

A function may be called indirectly if its name is used without a call; an `operator()` may be called wherever an object
is. The possible callees of a call are those named where its pointer or object is created, if those places are known.
Otherwise, for a pointer, they are all functions with as many parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.device_program import class_name_of
from hipport.analysis.functions import Call, Function, arguments, called_name, functions, is_method, nodes
from hipport.analysis.implicit_calls import classes_around
from hipport.analysis.kernels import Kernels
from hipport.core.source import Source
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

#: The function by which an object can be called.
CALLED = b"operator()"
_NOT_AN_ADDRESS = re.compile(rb"\s*(?:\(|<|::)")
_TABLE = re.compile(rb"\b(\w+)\s*\[[^\]]*\]\s*=\s*\{([^{}]*)\}")
_CALLED_PART = re.compile(rb"[\])}]\s*\(|(?:\.|->)\s*\w+\s*\(")
_TEMPORARY = frozenset(("call_expression", "compound_literal_expression"))
_NAME = re.compile(rb"[A-Za-z_]\w*")
# `typedef R (*Name)(…)`, `using Name = R (*)(…)`
_ALIAS = re.compile(rb"\btypedef\b[^;()]*\(\s*\*\s*(\w+)\s*\)|\busing\s+(\w+)\s*=[^;()]*\(\s*\*\s*\)")
_NOT_NAMES = frozenset((b"threadIdx", b"blockIdx", b"blockDim", b"x", b"y", b"z", b"auto", b"const"))
_NAMED = re.compile(rb"\busing\s+(\w+)\s*=|\btypedef\b[^;(){}]*\b(\w+)\s*;")
_OF_TYPE = rb"\b([A-Za-z_]\w*)\s*(?:<[^;(){}]*>\s*)?(?:const\s*)?(?:&&?\s*)?\b%s\s*[,)=;{\[]"
_DERIVED = re.compile(rb"\b(?:struct|class)\s+(\w+)\s*(?:final\s*)?:([^{};]*)\{")
_FIELD = re.compile(rb"[\w>]\s+&?([A-Za-z_]\w*)\s*(?:\{[^{};]*\}\s*)?;")
# Precedes the name of a method that is defined outside its class.
_OUTSIDE = re.compile(rb"\b(\w+)\s*(?:<[^;(){}]*>\s*)?::\s*\Z")
_ANY_TYPE = frozenset((b"auto", b"typename", b"decltype"))
# Used as the name of a lambda, which has none.
_LAMBDA = b"[]"
_VIRTUAL = re.compile(rb"\b(?:virtual|override)\b")
_CALLS = frozenset(("call_expression",))


class Indirect(NamedTuple):
    """A call, and the expression that selects the callee: a pointer, an object or, for a virtual call, its object."""

    call: Node
    callee: Node
    given: int


def indirect_calls(function: Function) -> Iterator[Indirect]:
    """Yield the calls in a function by pointers and objects in variables, parameters or arrays."""
    # A cheap test before walking the tree.
    members = function.source.fact(_fields) & function.called if is_method(function) else frozenset()
    if (
        not members
        and not _CALLED_PART.search(function.text(function.body))
        and function.called.isdisjoint(
            (*function.parameters, *(variable.name for variable in function.locals.variables))
        )
    ):
        return
    lambdas = {
        each.variable.name
        for each in function.locals.assignments
        if each.declares and any(value.type == "lambda_expression" for value in each.values)
    }
    for node in nodes(function.body, _CALLS):
        callee = node.child_by_field_name("function")
        while callee is not None and callee.type in ("parenthesized_expression", "pointer_expression"):
            callee = callee.named_children[-1] if callee.named_children else None
        if callee is None:
            continue
        if callee.type in _TEMPORARY:
            pass  # `Sum()(x)`, `Sum{}(x)`
        elif callee.type == "field_expression":
            # `sums.first(x)`, if no function is called `first`: an object in an object.
            field = callee.child_by_field_name("field")
            if field is None or field.type != "field_identifier":
                continue
            callee = field
        elif callee.type == "identifier":
            name = function.text(callee)
            variable = function.locals.named(name, callee.start_byte)
            if (variable is None and name not in function.parameters and name not in members) or name in lambdas:
                continue
        elif callee.type != "subscript_expression":
            continue
        yield Indirect(node, callee, len(arguments(node)))


def virtual_calls(function: Function, names: Iterable[bytes]) -> Iterator[Indirect]:
    """Yield the calls in a function of methods with such names through a pointer or reference to an object."""
    wanted = frozenset(names)
    if wanted.isdisjoint(function.called):
        return
    for node in nodes(function.body, _CALLS):
        called = node.child_by_field_name("function")
        if called is None or called.type != "field_expression":
            continue
        thing = called.child_by_field_name("argument")
        if thing is not None and called_name(node, function.source.code) in wanted:
            yield Indirect(node, thing, len(arguments(node)))


class _Declared:
    """The declarations of names in files, each computed once."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.sources = frozenset(source for source in sources if isinstance(source, Cpp))
        self._types: dict[bytes, frozenset[bytes]] = {}

    def types(self, name: bytes) -> frozenset[bytes]:
        """Return the words before `name` where the files may declare it."""
        if name not in self._types:
            self._types[name] = frozenset().union(
                *(_declared_in(source, name, 0, len(source.code)) for source in self.sources if name in source.words)
            )
        return self._types[name]

    @cached_property
    def other_names(self) -> frozenset[bytes]:
        """The type aliases in the files."""
        return frozenset().union(*(source.fact(_other_names) for source in self.sources))

    @cached_property
    def bases(self) -> Mapping[bytes, AbstractSet[bytes]]:
        """The bases of the classes in the files."""
        return _by_class(chain.from_iterable(source.fact(_bases) for source in self.sources))


class Pointed:
    """The functions that may be called by pointer or as objects, with facts about all of them computed once."""

    def __init__(self, functions: Iterable[Function] = ()) -> None:
        self.functions = list(functions)
        self.declared = _Declared(of.source for of in self.functions)
        self.names = frozenset(of.name for of in self.functions)
        self.by_count: dict[int, list[Function]] = {}
        for of in self.functions:
            self.by_count.setdefault(len(of.parameters), []).append(of)

    def __bool__(self) -> bool:
        return bool(self.functions)

    @cached_property
    def classes(self) -> frozenset[bytes]:
        """The classes whose objects are called."""
        return frozenset().union(*(source.fact(_classes) for source in self.declared.sources))

    @cached_property
    def pointer_types(self) -> frozenset[bytes]:
        """The aliases of pointer-to-function types in these files."""
        return frozenset().union(*(source.fact(_pointer_types) for source in self.declared.sources))


def pointed(files: Iterable[Cpp], among: Iterable[Function]) -> Pointed:
    """Return those of the functions that may be called by pointer or as objects."""
    among = [function for function in among if not function.kernel]
    names = {function.name for function in among} - {CALLED}
    taken = {
        name
        for file in (files if names else ())
        for span, name in file.names(names)
        if not _NOT_AN_ADDRESS.match(file.code, span.end)
        and file.code[: span.start].rstrip()[-1:] not in (b".", b">")
        and not file.directive(span.start)
    }
    return Pointed(function for function in among if function.name in taken or function.name == CALLED)


def may_call(call: Call, of: Function, kernels: Kernels) -> bool:
    """Whether a call by the name of `of` may call it, by its arguments and its object."""
    declared = of.source.code[of.node.start_byte : of.body.start_byte]
    if len(call.arguments) > len(of.parameters) and b"..." not in declared:
        return False
    callee = call.node.child_by_field_name("function")
    while callee is not None and callee.type in ("template_function", "dependent_name"):
        callee = callee.child_by_field_name("name") or callee.named_children[-1]
    outside = _OUTSIDE.search(of.head)
    own = classes_around(of) | ({outside[1]} if outside else set())
    if callee is None:
        return True
    if callee.type == "identifier":
        # Without an object a method is called only in methods; outside its class the name may be in a namespace, too.
        return not classes_around(of) or is_method(call.function)
    if callee.type == "qualified_identifier":
        scope = callee.child_by_field_name("scope")
        words = _NAME.findall(call.function.text(scope)) if scope is not None else []
        return not own or _may_be(frozenset(words[-1:]), own, of, call.function, kernels)
    if not own:
        return False
    thing = callee.child_by_field_name("argument") if callee.type == "field_expression" else None
    if thing is None:
        return True
    if thing.type == "this" or call.function.text(thing) == b"*this":
        return _may_be(frozenset(classes_around(call.function)), own, of, call.function, kernels)
    if thing.type == "field_expression":
        thing = thing.child_by_field_name("field") or thing
    types = _types(thing, call.function, kernels.of_component(of.source, _Declared))
    return _may_be(types, own, of, call.function, kernels)


def _may_be(types: frozenset[bytes], own: set[bytes], of: Function, function: Function, kernels: Kernels) -> bool:
    """Whether something declared with such words may be of one of the classes `own`, for its method `of`."""
    declared = kernels.of_component(of.source, _Declared)
    other = function.template_parameters | _ANY_TYPE | declared.other_names
    bases = declared.bases
    if not types or not types.isdisjoint(other | own):
        return True
    return not _with_bases(types, bases).isdisjoint(own) or (
        virtual(of) and not _with_bases(own, bases).isdisjoint(types)
    )


def _with_bases(names: Iterable[bytes], *bases: Mapping[bytes, AbstractSet[bytes]]) -> frozenset[bytes]:
    found: set[bytes] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += (base for each in bases for base in each.get(name, ()))
    return frozenset(found)


def _by_class(bases: Iterable[tuple[bytes, bytes]]) -> Mapping[bytes, AbstractSet[bytes]]:
    found: dict[bytes, set[bytes]] = {}
    for name, base in bases:
        found.setdefault(name, set()).add(base)
    return found


def targets(each: Indirect, function: Function, among: Pointed, kernels: Kernels) -> list[Function]:
    """Return which of the functions that may be called indirectly a call in `function` may reach."""
    fitting = [of for of in among.by_count.get(each.given, ()) if of is not function]
    if not fitting:
        return []
    words = _made_from(each.callee, function, kernels, 3)
    # A method is called by its name, unless there is also an object of that name.
    by_name = _of_object(each.callee, function) and bool(
        kernels.definitions(function.source, function.text(each.callee))
    )
    types = _types(each.callee, function, among.declared)
    if types:
        own = {} if function.source in among.declared.sources else _by_class(function.source.fact(_bases))
        types = _with_bases(types, among.declared.bases, own)
        # The type may be any if it is a template parameter or an alias.
        own_names = function.source.fact(_other_names)
        other = function.template_parameters | _ANY_TYPE | among.declared.other_names | own_names
        unknown = (
            not by_name
            and not types.isdisjoint(other)
            and words.isdisjoint(among.classes)
            and words.isdisjoint(function.source.fact(_classes))
        )
        objects = [of for of in fitting if of.name == CALLED and (unknown or _class(of) in types)]
        if objects:
            return objects
    if by_name:
        return []
    named = [of for of in fitting if (_class(of) if of.name == CALLED else of.name) in words]
    if not named and not words:
        return [of for of in fitting if of.name != CALLED] if _is_pointer(each, function, among) else []
    known = function.source.fact(_classes) | among.names
    every = bool(words) and all(
        word in known or word == _LAMBDA or kernels.definitions(function.source, word)
        for word in words
        if word not in _NOT_NAMES
    )
    if named or every or not _is_pointer(each, function, among):
        return named
    return [of for of in fitting if of.name != CALLED]


def _types(callee: Node, function: Function, among: _Declared) -> frozenset[bytes]:
    """Return the words of the possible types of a callee; empty if no declaration is seen."""
    text = function.text(callee)
    if callee.type in _TEMPORARY:
        return frozenset(_NAME.findall(text)[:1])
    root = _NAME.search(text)
    if root is None:
        return frozenset()
    name = root.group()
    if not _of_object(callee, function):
        found = _declared_in(function.source, name, function.node.start_byte, function.body.end_byte)
    elif function.source in among.sources:
        found = among.types(name)
    else:
        found = among.types(name) | _declared_in(function.source, name, 0, len(function.source.code))
    return found - {b"return", b"const", b"else", b"new", b"case"}


def _declared_in(source: Cpp, name: bytes, start: int, end: int) -> frozenset[bytes]:
    """The words before `name` where it may be declared there."""
    declared = re.compile(_OF_TYPE % re.escape(name))
    return frozenset(match[1] for match in declared.finditer(source.code[start:end]))


def _of_object(callee: Node, function: Function) -> bool:
    """Whether the callee is a member, of an object or of the method's own object."""
    if callee.type != "identifier":
        return callee.type == "field_identifier"
    name = function.text(callee)
    return name not in function.parameters and function.locals.named(name, callee.start_byte) is None


def _bases(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """The classes of the file and their bases."""
    return frozenset(
        (match[1], word)
        for match in _DERIVED.finditer(source.code)
        for word in _NAME.findall(match[2])
        if word not in (b"public", b"private", b"protected", b"virtual")
    )


def _fields(source: Cpp) -> frozenset[bytes]:
    """The names of possible members that have a named type."""
    return frozenset(_FIELD.findall(source.code))


def _other_names(source: Cpp) -> frozenset[bytes]:
    """The type aliases of the file."""
    return frozenset(word for pair in _NAMED.findall(source.code) for word in pair if word)


def _is_pointer(each: Indirect, function: Function, among: Pointed) -> bool:
    """Whether the callee is declared as a pointer to a function, or by an alias of such a type."""
    root = _NAME.search(function.text(each.callee))
    if root is None:
        return False
    name, code = re.escape(root.group()), function.source.code
    if re.search(rb"\(\s*\*+\s*(?:const\s+)?" + name + rb"\b", code):
        return True
    types = set(re.findall(rb"\b(\w+)\s+(?:const\s+)?" + name + rb"\s*[\[,)=;{]", code))
    return not types.isdisjoint(among.pointer_types) or not types.isdisjoint(function.source.fact(_pointer_types))


def _tables(source: Cpp) -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
    """The arrays of the file with an initializer, with the names in it."""
    return tuple((match[1], tuple(_NAME.findall(match[2]))) for match in _TABLE.finditer(source.code))


def _pointer_types(source: Cpp) -> frozenset[bytes]:
    """The aliases of pointer-to-function types in the file."""
    return frozenset(word for pair in _ALIAS.findall(source.code) for word in pair if word)


def _classes(source: Cpp) -> frozenset[bytes]:
    """The classes of the file whose objects are called."""
    if CALLED not in b"".join(source.code.split()):
        return frozenset()
    return frozenset(_class(function) for function in functions(source) if function.name == CALLED)


def _made_from(node: Node, function: Function, kernels: Kernels, depth: int) -> AbstractSet[bytes]:
    """Return the names in the definitions of a pointer or object; empty if these are not seen."""
    known = kernels.of_component(function.source, _made)
    key = (function, node.start_byte, depth)
    if key not in known:
        known[key] = frozenset(_find_made_from(node, function, kernels, depth))
    return known[key]


def _made(component: Component) -> dict[tuple[Function, int, int], frozenset[bytes]]:
    """Return a cache of the targets of pointers and objects: by function, place and depth."""
    return {}


def _find_made_from(node: Node, function: Function, kernels: Kernels, depth: int) -> set[bytes]:
    root = _NAME.search(function.text(node))
    if root is None or not depth:
        return set()
    name, source = root.group(), function.source
    variable = function.locals.named(name, node.start_byte)
    if variable is None:
        return set(dict(source.fact(_tables)).get(name, ()))
    found: set[bytes] = set()
    tables = dict(source.fact(_tables))
    for assignment in function.locals.assignments:
        if assignment.variable != variable:
            continue
        if any(value.type == "lambda_expression" for value in assignment.values):
            found.add(_LAMBDA)
            continue
        text = function.text(assignment.node)
        for word in {word for value in assignment.values for word in _NAME.findall(function.text(value))} or set(
            _NAME.findall(text)
        ):
            found |= set(tables.get(word, (word,)))
    if name in function.parameters:
        position = function.parameters.index(name)
        for call in kernels.callers(function):
            if position < len(call.arguments):
                value = call.arguments[position]
                if value.type == "lambda_expression":
                    found.add(_LAMBDA)
                elif value.type == "identifier" and call.function.locals.named(
                    call.function.text(value), value.start_byte
                ):
                    found |= _made_from(value, call.function, kernels, depth - 1)
                else:
                    found |= set(_NAME.findall(call.function.text(value)))
    return found


def _class(function: Function) -> bytes:
    return class_name_of(function).encode("latin1")


def virtual(function: Function) -> bool:
    """Whether a method is declared virtual, or overrides one that is."""
    code = function.source.code
    return _VIRTUAL.search(code, function.node.start_byte, function.body.start_byte) is not None
