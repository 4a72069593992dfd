# SPDX-License-Identifier: Apache-2.0
"""Which pointers point to memory that the host shares: managed or pinned, wherever they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hipport.analysis.functions import DEFINE, function_at, functions
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp
from hipport_passes.device.value_flow import CALL, NO_CALL, Place, reached, ways

_OF_HOST = re.compile(
    rb"(?:cuda|hip)(?:MallocManaged|HostAlloc|MallocHost|HostMalloc|HostGetDevicePointer|HostRegister)"
)
_ALLOCATION = re.compile(rb"\b(" + _OF_HOST.pattern + rb")\s*(?:<[^<>;]*>\s*)?\(")
_MANAGED = re.compile(rb"\b__managed__\s[^;={}()]*?(\w+)\s*(?:\[[^;{}]*)?[;={]")
# Thrust's containers of managed, or pinned, memory.
_UNIVERSAL = re.compile(rb"\b(universal_(?:host_pinned_)?vector)\s*<[^;{}()]*>\s*&?\s*(\w+)")
_BY_NAME = re.compile(rb"(?i)\w*(?:managed|pinned|unified_?mem|mapped_?mem|zero_?copy|host_?alloc)\w*")
_CLASS = re.compile(rb"\b(?:struct|class)\s+(?:\w+\s+)?(\w+)\s*(?:final\s*)?(?::(?P<bases>[^;{}()]*))?\{")
_OPERATOR_NEW = re.compile(rb"\boperator\s+new\b")


class Origin(NamedTuple):
    """What a pointer is of: the name that allocates it, and where."""

    name: bytes
    source: Cpp
    offset: int


def shared(component: Component) -> dict[Place, Origin]:
    """Return the places of the program's pointers to such memory, and where each comes from."""
    files = [each for each in component if isinstance(each, Cpp)]
    if not any(_mentions(each) for each in files):
        return {}
    start: dict[Place, Origin] = {}
    for each in files:
        for place, origin in _sources(each):
            # Of a function that is only named so: not where it is seen what it does.
            if place[0] != "result" or not any(place[1] in other.fact(_named) for other in files):
                start.setdefault(place, origin)
    return reached(component, start)


def _named(source: Cpp) -> frozenset[bytes]:
    return frozenset(function.name for function in functions(source))


def roots(source: Cpp, offset: int, expression: bytes) -> list[Place]:
    """Return the places that a pointer at `offset`, written as `expression`, is one of, or leads from."""
    return list(ways(source).roots(function_at(source, offset), expression))


def _mentions(source: Cpp) -> bool:
    held = not source.words.isdisjoint((b"__managed__", b"universal_vector", b"universal_host_pinned_vector"))
    return held or bool(source.matched(_OF_HOST) or source.matched(_BY_NAME))


def _sources(source: Cpp) -> Iterator[tuple[Place, Origin]]:
    """What allocates such memory in a file, and the places that its pointers are put into."""
    if not _mentions(source) and not _OPERATOR_NEW.search(source.code):
        return
    code, known = source.code, ways(source)
    for match in _MANAGED.finditer(code) if b"__managed__" in source.words else ():
        yield ("variable", match[1], 0), Origin(b"__managed__", source, match.start(1))
    for match in _UNIVERSAL.finditer(code):
        for place in known.target(function_at(source, match.start()), match[2]):
            yield place, Origin(match[1], source, match.start())
    for name, offset in _managed_classes(source):
        yield ("class", name, 0), Origin(b"operator new", source, offset)
    for match in _ALLOCATION.finditer(code):
        function, given = function_at(source, match.start()), known.arguments(match.end() - 1)
        if given:
            registers = match[1].endswith(b"Register")
            places = [*known.roots(function, given[0])] if registers else known.target(function, given[0])
            for place in places:
                yield place, Origin(match[1], source, match.start())
    allocating = dict(_macros(source))
    for match in CALL.finditer(code):
        name = match[1]
        index = allocating.get(name)
        if index is not None:
            given = known.arguments(match.end() - 1)
            for place in known.target(function_at(source, match.start()), given[index]) if index < len(given) else ():
                yield place, Origin(name, source, match.start())
        elif _BY_NAME.fullmatch(name) and not _OF_HOST.fullmatch(name) and name not in NO_CALL:
            yield ("result", name, 0), Origin(name, source, match.start())


def _macros(source: Cpp) -> Iterator[tuple[bytes, int]]:
    """The macros that allocate, and which of their parameters they do it for."""
    for match in DEFINE.finditer(source.code):
        call = _ALLOCATION.search(match[3]) if match[2] else None
        for index, name in enumerate(re.findall(rb"\w+", match[2] or b"") if call else ()):
            if call and re.match(rb"[\s(&*\w]*\b" + name + rb"\b", match[3][call.end() :].partition(b",")[0]):
                yield match[1], index


def _managed_classes(source: Cpp) -> Iterator[tuple[bytes, int]]:
    """The classes whose objects `new` makes in such memory, and those that are made of them."""
    if not _OPERATOR_NEW.search(source.code):
        return
    known: set[bytes] = set()
    for match in _CLASS.finditer(source.code):
        end = source.closing(match.end() - 1)
        body = source.code[match.end() : end] if end is not None else b""
        own = _OPERATOR_NEW.search(body)
        if (own and _ALLOCATION.search(body, own.end())) or known & set(re.findall(rb"\w+", match["bases"] or b"")):
            known.add(match[1])
            yield match[1], match.start(1)
