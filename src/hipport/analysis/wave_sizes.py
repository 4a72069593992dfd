# SPDX-License-Identifier: Apache-2.0
"""The wavefront's size as a value: the value of an expression in each world, and the definitions that it comes from.

    sizes = component.fact(WaveSizes)
    sizes.of(source, b"2 * kHalf", offset)  # [Size(cuda=32, wave32=64, wave64=64, way=(kHalf, ...))]

There are three worlds: CUDA, an AMD GPU with wavefronts of 32 lanes, and one with 64. A value consists of its numbers
in all three, so every expression of the size is exact, whether it is linear, shifted, a remainder or selected by a
condition:

    7                   (7, 7, 7)       a number
    hipport::warp_size  (32, 32, 32)    32 by CUDA's convention
    W                   (32, 32, 64)    the device's: `warpSize` in code for AMD, `at::cuda::warp_size()`
    64 for AMD          (32, 64, 64)    hard-wired: `#ifdef USE_ROCM`, `#define LANES 64`
    log2(W), 1024 / W   (5, 5, 6), (32, 32, 16)
    None                                not known in that world, or not there

Names are followed through macros, constants, enumerators, members, functions that return a constant, specialised
classes and aliases of types, each with the worlds that see its definition; and through arguments of templates and of
functions, and their defaults. If a world sees several definitions of a name, one in the same function takes precedence,
then the one that the fewest worlds see. If several of these are left, the value is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import product
from typing import NamedTuple, TypeAlias

from hipport.analysis.constant_values import ConstantExpression, placed, size
from hipport.analysis.functions import Function, function_at
from hipport.analysis.template_arguments import texts
from hipport.core.edits import Span
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp, within


class World(IntEnum):
    """A compilation that may see code."""

    CUDA = 0
    WAVE32 = 1
    WAVE64 = 2


_ALL = frozenset(World)
_HIP = frozenset((World.WAVE32, World.WAVE64))
#: Names that mean the wavefront's size everywhere; `warpSize` does only in code for AMD, because hipport replaces
#: others.
_ALWAYS = frozenset(
    b"__AMDGCN_WAVEFRONT_SIZE __AMDGCN_WAVEFRONT_SIZE__ C10_WARP_SIZE HIPCUB_WARP_THREADS HIPCUB_DEVICE_WARP_THREADS "
    b"ROCPRIM_WARP_SIZE at::cuda::warp_size() cuda::warp_size() at::cuda::warp_size __builtin_amdgcn_wavefrontsize() "
    b"rocprim::device_warp_size() rocprim::warp_size() rocprim::arch::wavefront::max_size() "
    b"hipport::native::wave_size()".split()
)
_OF_WAVEFRONT = (32, 32, 64)
_ALIAS = re.compile(
    rb"\busing\s+(?P<using>\w+)\s*=\s*(?P<of>[\w:][\w:<>, \t]*?)\s*;|"
    rb"\btypedef\s+(?P<type>[\w:][\w:<>, \t]*?)\s+(?P<def>\w+)\s*;"
)
_CONDITIONAL = re.compile(
    rb"(?:typename\s+)?(?:\w+\s*::\s*)?conditional(?:_t)?\s*<(?P<if>[^<>,]*),(?P<yes>[^<>,]*),(?P<no>[^<>,]*)>"
    rb"(?:\s*::\s*\w+)?"
)
# `std::integral_constant<int, 64>`
_INTEGRAL = re.compile(rb"(?:\w+\s*::\s*)?\w+_constant\s*<(?:[^<>,]*,)?(?P<value>[^<>,]*)>")
#: `Lanes<Current>::value`
_OF_CLASS = re.compile(rb"\b(?P<of>\w+)\s*(?P<given><[\w\s:,]*>)?\s*::\s*(?P<name>[A-Za-z_]\w*)\b(?!\s*(?:::|<))")
_TYPE = rb"(?:const\s+)?(?:unsigned|int|long|short|(?:\w+::)?\w+_t)(?:\s+(?:int|long))*"
_CAST = re.compile(
    rb"\bstatic_cast\s*<[\w\s:]*>\s*(?=\()|\(\s*" + _TYPE + rb"\s*\)\s*(?=[\w(])|\b" + _TYPE + rb"\s*(?=\()"
)
_WORD = re.compile(rb"(?<![\w.>])[A-Za-z_]\w*")
_CALL = re.compile(rb"\s*(?:<[^<>;(){}]*>\s*)?(?:<<<[^;]*?>>>\s*)?\(")
# Limits: alternatives for one parameter, and steps from a call to its caller.
_MOST = 16
_FAR = 3


class Origin(NamedTuple):
    """A definition, or an argument, that a value comes from: the place of its expression, and its name."""

    source: Cpp
    span: Span
    name: bytes

    @property
    def text(self) -> bytes:
        """The expression."""
        return self.source.code[self.span.start : self.span.end]


class Size(NamedTuple):
    """The value of an expression in each world, and the definitions that it comes from on a GPU with 64 lanes."""

    cuda: int | None
    wave32: int | None
    wave64: int | None
    way: tuple[Origin, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether it is one known number in all worlds."""
        return self.cuda is not None and self.cuda == self.wave32 == self.wave64

    @property
    def pair(self) -> tuple[int | None, int | None]:
        """Its values for CUDA, and where a wavefront has 64 lanes."""
        return self.cuda, self.wave64


class _Definition(NamedTuple):
    origin: Origin
    worlds: frozenset[World]
    #: The function that a constant is local to.
    function: Function | None


@dataclass(frozen=True)
class _Expression:
    """An expression: its place, and the arguments for the parameters in it."""

    origin: Origin
    bound: _Bound = field(default_factory=dict)


_Bound: TypeAlias = Mapping[bytes, _Expression]


class WaveSizes:
    """The values, in each world, of the expressions of a component."""

    def __init__(self, component: Component) -> None:
        self._component = component
        self._files = [each for each in component if isinstance(each, Cpp)]
        #: The values, in each world, that builds define names as.
        self.assumed: Mapping[bytes, tuple[int, int, int]] = {}
        self.definitions: dict[bytes, list[_Definition]] = {}
        self._aliases: dict[bytes, list[_Definition]] = {}
        for source in self._files:
            for each in source.fact(placed):
                # A function's result is known wherever the function is called.
                function = function_at(source, each.value.start) if each.name[-1:] != b")" else None
                of = _Definition(Origin(source, each.value, each.name), worlds(source, each.value.start), function)
                for name in dict.fromkeys((each.name, *each.qualified)):
                    self.definitions.setdefault(name, []).append(of)
            for match in _ALIAS.finditer(source.code):
                name, group = (match["using"], "of") if match["using"] else (match["def"], "type")
                origin = Origin(source, Span(*match.span(group)), name)
                of = _Definition(origin, worlds(source, match.start()), function_at(source, match.start()))
                self._aliases.setdefault(name, []).append(of)

    def assuming(self, name: bytes, number: tuple[int, int, int]) -> WaveSizes:
        """Return these sizes, with the values in each world of a name that a build defines."""
        found = copy(self)
        found.assumed = {**self.assumed, name: number}
        return found

    def of(self, source: Cpp, text: bytes, at: int) -> list[Size]:
        """Return the possible values of an expression at a place: one size for each choice of arguments."""
        found: dict[tuple[int | None, ...], Size] = {}
        for bound in self._bindings(source, text, at, 0):
            size = self._size(source, text, at, bound)
            found.setdefault(size[:3], size)
        return list(found.values())

    def of_definition(self, origin: Origin) -> Size:
        """Return the value that a definition's name has at the place of the definition."""
        return self._size(origin.source, origin.name, origin.span.start, {})

    def of_origin(self, origin: Origin) -> Size:
        """Return the value of the expression itself, at its place."""
        return self._size(origin.source, origin.text, origin.span.start, {})

    def alias(self, name: bytes, world: World) -> Origin | None:
        """Return the type that an alias stands for in a world, if it is only one."""
        found = {each.origin.text: each.origin for each in self._aliases.get(name, ()) if world in each.worlds}
        return next(iter(found.values())) if len(found) == 1 else None

    def _size(self, source: Cpp, text: bytes, at: int, bound: _Bound) -> Size:
        values: list[int | None] = []
        way: list[Origin] = []
        for world in World:
            way = []
            try:
                values.append(
                    _InWorld(self, _Expression(Origin(source, Span(at, at), text), bound), world, way).value()
                )
            except (IndexError, ValueError, ZeroDivisionError, RecursionError):
                values.append(None)
        return Size(values[0], values[1], values[2], tuple(dict.fromkeys(way)))

    def definition(self, name: bytes, world: World, source: Cpp, at: int) -> Origin | None:
        """Return the only definition of a name in a world, as seen from a place."""
        found = [each for each in self.definitions.get(name, ()) if world in each.worlds]
        here = function_at(source, at)
        local = [each for each in found if each.function is not None and each.function is here]
        found = local or [each for each in found if each.function is None]
        # A definition for fewer worlds precedes a default, and one for the remaining worlds.
        fewest = min((len(each.worlds) for each in found), default=0)
        different = {each.origin.text: each.origin for each in found if len(each.worlds) == fewest}
        return next(iter(different.values())) if len(different) == 1 else None

    # ---- parameters

    def _bindings(self, source: Cpp, text: bytes, at: int, depth: int) -> Iterator[_Bound]:
        """Yield the possible arguments for the parameters in an expression, of the function around its place."""
        function = function_at(source, at)
        words = set(_WORD.findall(text)) if function is not None and depth < _FAR else set()
        chosen: list[list[tuple[bytes, _Expression]]] = []
        if function is not None:
            for name in sorted(words):
                if self._hidden(function, name, at):
                    continue
                passed = list(self._arguments_for(function, name, depth))
                if passed and len(passed) <= _MOST:
                    chosen.append([(name, each) for each in passed])
        for choice in product(*chosen):
            yield dict(choice)

    @staticmethod
    def _hidden(function: Function, name: bytes, at: int) -> bool:
        """Whether the name is that of a variable of the function, and not of a parameter."""
        variable = function.locals.named(name, at)
        return variable is not None and variable.start >= function.body.start_byte

    def _arguments_for(self, function: Function, name: bytes, depth: int) -> Iterator[_Expression]:
        origins: list[Origin] = []
        if name in function.template_parameters:
            for source, span in texts(self._component, function, name):
                origins.append(Origin(source, span, name))
        elif name and name in function.parameters:
            origins += self._arguments(function, function.parameters.index(name), name)
        for origin in origins:
            for bound in self._bindings(origin.source, origin.text, origin.span.start, depth + 1):
                yield _Expression(origin, bound)

    def _arguments(self, function: Function, position: int, name: bytes) -> Iterator[Origin]:
        """Yield the arguments that calls and launches of a function pass at a position."""
        for source in self._files:
            for span, _ in source.names({function.name}) if function.name in source.words else ():
                called = _CALL.match(source.code, span.end)
                if called is None or function_at(source, span.start) is None:
                    continue  # It is declared there.
                if source is function.source and function.node.start_byte <= span.start < function.body.start_byte:
                    continue
                given = source.arguments(called.end() - 1)
                if given and position < len(given):
                    yield Origin(source, given[position], name)


class _InWorld(ConstantExpression):
    """An expression as one world sees it from its place; records the definitions that its value comes from."""

    def __init__(
        self, sizes: WaveSizes, expression: _Expression, world: World, way: list[Origin], depth: int = 0
    ) -> None:
        self.sizes, self.expression, self.world, self.way = sizes, expression, world, way
        self.depth = depth
        self._members: dict[bytes, int] = {}
        origin = expression.origin
        text = origin.text if len(origin.span) else origin.name
        super().__init__(_OF_CLASS.sub(self._member, _CAST.sub(b"", text)), {}, depth)

    def named(self, name: bytes) -> int:
        """Return the value of a name in the world."""
        if name in self._members:
            return self._members[name]
        source, at = self.expression.origin.source, self.expression.origin.span.start
        if name in _ALWAYS or (name == b"warpSize" and World.CUDA not in worlds(source, at)):
            return _OF_WAVEFRONT[self.world]
        if name == b"warpSize":
            return _OF_WAVEFRONT[World.CUDA]
        argument = self.expression.bound.get(name)
        if argument is not None:
            return self._of(argument)
        if name in self.sizes.assumed:
            function = function_at(source, at)
            if function is None or function.locals.named(name, at) is None:
                return self.sizes.assumed[name][self.world]
        found = self._defined(name)
        if found is None and b"::" in name:
            found = self._defined(b"::".join(name.split(b"::")[-2:]).removeprefix(b"::"))
        if found is None:
            raise ValueError(name)
        return self._of(_Expression(found))

    def element(self, name: bytes, index: int) -> int:
        """Return an element of an array of constants."""
        found = self._defined(name + b"[]")
        parts = found.text.split(b",") if found is not None else []
        if found is None or not 0 <= index < len(parts):
            raise ValueError(name)
        start = found.span.start + sum(len(each) + 1 for each in parts[:index])
        return self._of(_Expression(Origin(found.source, Span(start, start + len(parts[index])), name + b"[]")))

    def size_of(self, text: bytes) -> int | None:
        """Return the size of a type in bytes, by its meaning in the world."""
        return size(self._alias(text.strip()))

    def _defined(self, name: bytes) -> Origin | None:
        origin = self.expression.origin
        return self.sizes.definition(name, self.world, origin.source, origin.span.start)

    def _of(self, expression: _Expression) -> int:
        if self.world not in worlds(expression.origin.source, expression.origin.span.start):
            raise ValueError(expression.origin.name)
        self.way.append(expression.origin)
        return _InWorld(self.sizes, expression, self.world, self.way, self.depth + 1).value()

    def _alias(self, name: bytes) -> bytes:
        """Return the type that an alias stands for; any other name unchanged."""
        argument = self.expression.bound.get(name)
        found = argument.origin if argument is not None else self.sizes.alias(name, self.world)
        for _ in range(_FAR):
            if found is None:
                break
            self.way.append(found)
            name = self._chosen(found)
            found = self.sizes.alias(name, self.world)
        return name

    def _chosen(self, of: Origin) -> bytes:
        """Return the type that `std::conditional_t<condition, one, other>` selects; any other text unchanged."""
        choice = _CONDITIONAL.fullmatch(of.text)
        if choice is None:
            return of.text
        start, end = choice.span("if")
        condition = Origin(of.source, Span(of.span.start + start, of.span.start + end), of.name)
        return choice["yes" if self._of(_Expression(condition)) else "no"].strip()

    def _member(self, match: re.Match[bytes]) -> bytes:
        """Replace the name of a class's member, with the arguments and aliases that the class has in the world."""
        of, name = match["of"] + (match["given"] or b""), match["name"]
        alias = self._alias(of)
        integral = _INTEGRAL.fullmatch(alias)
        if integral is not None and name == b"value":
            if alias != of:
                last = self.way[-1]
                start, end = integral.span("value")
                number = last.source.trimmed(Span(last.span.start + start, last.span.start + end))
                self.way.append(Origin(last.source, number, of + b"::value"))
            return b"(" + integral["value"] + b")"
        of, _, arguments = b"".join(alias.split()).partition(b"<")
        if not arguments:
            return of + b"::" + name
        given = b",".join(map(self._alias, arguments[:-1].split(b",")))
        # A specialization for these arguments precedes the template.
        found = self._defined(of + b"<" + given + b">::" + name) or self._defined(of + b"::" + name)
        if found is None:
            raise ValueError(match.group())
        known = b"%b__%d" % (name, len(self._members))
        self._members[known] = self._of(_Expression(found))
        return known


def worlds(source: Cpp, at: int) -> frozenset[World]:
    """Return the worlds that see a place of a file."""
    if within(at, source.cuda_only):
        return frozenset((World.CUDA,))
    found = _HIP if source.begun_as_hip or within(at, source.hip_only) else _ALL
    only_32, only_64 = source.by_waves
    if within(at, only_32):
        return found - {World.WAVE64}
    if within(at, only_64):
        return frozenset((World.WAVE64,))
    return found
