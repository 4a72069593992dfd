# SPDX-License-Identifier: Apache-2.0
"""Find pointers to memory that the host shares, managed or pinned, through any chain of values.

Within a component they are followed by all names. From one translation unit of a program to another, and from its
Python, they are followed through the arguments of functions whose bodies are elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from hipport.analysis.functions import DEFINE, function_at, functions
from hipport.core.source import Source
from hipport.core.tables import Words, one_of
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.python_script import Python
from hipport_passes.device.value_flow import CALL, NO_CALL, Place, reached, ways

_NAMES = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_OF_HOST = _NAMES.compile(rb"(?&allocate)")
_ALLOCATION = re.compile(rb"\b(" + _OF_HOST.pattern + rb")\s*(?:<[^<>;]*>\s*)?\(")
_MANAGED = _NAMES.compile(rb"\b(?&managed)\s[^;={}()]*?(\w+)\s*(?:\[[^;{}]*)?[;={]")
# Thrust's containers of managed, or pinned, memory.
_UNIVERSAL = _NAMES.compile(rb"\b((?&universal_vectors))\s*<[^;{}()]*>\s*&?\s*(\w+)")
_WORDS = one_of(_NAMES["by_name"]).encode()
_BY_NAME = re.compile(rb"(?i)\w*(?:" + _WORDS + rb")\w*")
# An option of PyTorch for tensors: `options.pinned_memory(true)`.
_OPTION = _NAMES.compile(rb"\b(?&option)\s*\(\s*(?:true|1)\s*\)")
_STATEMENT = re.compile(rb"(?:(?P<target>\b\w+)\s*=(?!=)|\breturn\b)(?P<value>(?:[^;{}]|\{[^;{}]*\})*)\Z")
_MAKES = _NAMES.compile(rb"\b(?&tensors)(?&tensor_endings)?\s*\(")
# The name of a function in Python.
_BOUND = _NAMES.compile(rb"\.\s*(?&bind_methods)\s*\(\s*(?=\")")
_BOUND_TO = _NAMES.compile(rb"(?:&\s*|\b(?&bound_macro)\s*\(\s*)?(?:\w+\s*::\s*)*(\w+)(?:\s*\))?")
_NAME = re.compile(rb"\"(?:\w+::)*(\w+)[\"(]")
#: Signs that a file takes part: allocations, atomic operations that may be lost, and bindings to Python.
TOGETHER = _NAMES.compile(
    rb"(?i:(?&universal)\w*(?&vector)|(?&makes)|" + _WORDS + rb")|\b(?&atomic)(?!(?&kept)\b)[A-Z]|\b(?&binds)"
)
_MAIN = _NAMES.compile(rb"\b(?&main)\s*\(")
# The longest text of a statement.
_LONGEST = 400
# The number of steps from one unit to another.
_MOST_UNITS = 4
_CLASS = re.compile(rb"\b(?:struct|class)\s+(?:\w+\s+)?(\w+)\s*(?:final\s*)?(?::(?P<bases>[^;{}()]*))?\{")
# A lambda with a name: `auto allocate = [](size_t n) {`.
_LAMBDA = re.compile(rb"\b(\w+)\s*=\s*\[[^\[\]{}();]*\]\s*(?:\([^(){};]*\)[^(){};=]*)?\{")
_RETURNS = re.compile(rb"\breturn\b")
_OPERATOR_NEW = re.compile(rb"\boperator\s+new\b")


class MemoryOrigin(NamedTuple):
    """The allocation of a pointer: the name of the allocating function, and its place."""

    name: bytes
    source: Source
    offset: int


def shared_in(source: Cpp, project: Project) -> dict[Place, MemoryOrigin]:
    """Return the places of pointers to such memory in a file's component, from all units of its program."""
    component = project.component(source)
    return project.fact(_across).get(component[0].path) or component.fact(shared)


def _may_be_together(source: Cpp) -> bool:
    return TOGETHER.search(source.text) is not None


def _across(project: Project) -> dict[PurePath, dict[Place, MemoryOrigin]]:
    """Return the places by the first files of components, for components that receive values from elsewhere."""
    components = {
        component[0].path: component
        for source in project.sources
        if isinstance(source, Cpp) and source.fact(_may_be_together)
        for component in (project.component(source),)
    }
    programs: dict[object, list[Component]] = {}
    for path, component in components.items():
        programs.setdefault(project.includes.program(path) or path.parent, []).append(component)
    found: dict[PurePath, dict[Place, MemoryOrigin]] = {}
    for program, members in programs.items():
        given = _from_python(project, members) if isinstance(program, str) or len(programs) == 1 else {}
        places = {each[0].path: each.fact(shared) for each in members}
        for _ in range(_MOST_UNITS):
            handed = dict(given)
            for each in members:
                for place in _handed_on(each, places[each[0].path]):
                    handed.setdefault(place, places[each[0].path][place])
            more = False
            for each in members:
                known = places[each[0].path]
                start = {
                    place: origin
                    for place, origin in handed.items()
                    if place not in known and place[1] in each.fact(_defined) and origin.source not in each
                }
                if start and not (
                    each.fact(_has_main) and any(_has_main_of(project, o.source) for o in start.values())
                ):
                    places[each[0].path] = found[each[0].path] = {**reached(each, start), **known}
                    more = True
            if not more:
                break
    return found


def _handed_on(component: Component, places: Mapping[Place, MemoryOrigin]) -> Iterator[Place]:
    """Yield the arguments of functions whose bodies are not among the files."""
    own = component.fact(_defined) if places else frozenset()
    return (place for place in places if place[0] == "parameter" and place[1] not in own)


def _defined(component: Component) -> frozenset[bytes]:
    return frozenset[bytes]().union(*(each.fact(_named) for each in component if isinstance(each, Cpp)))


def _has_main(component: Component) -> bool:
    return any(isinstance(each, Cpp) and _MAIN.search(each.code) for each in component)


def _has_main_of(project: Project, source: Source) -> bool:
    return isinstance(source, Cpp) and project.component(source).fact(_has_main)


def _from_python(project: Project, components: Sequence[Component]) -> dict[Place, MemoryOrigin]:
    """Return the arguments that Python passes to functions, by their names in C++."""
    if not any(isinstance(each, Python) and b"pin_memory" in each.text for each in project.sources):
        return {}
    # Imported late: loading the parser takes longer than porting most trees.
    from hipport_passes.python.runtime.pinned import pinned

    bound: dict[bytes, set[bytes]] = {}
    for source in (each for component in components for each in component if isinstance(each, Cpp)):
        for match in _BOUND.finditer(source.code):
            arguments = source.arguments(source.code.index(b"(", match.start())) or ()
            name = _NAME.match(source[arguments[0]]) if arguments else None
            to = _BOUND_TO.fullmatch(source[arguments[1]].strip()) if len(arguments) > 1 else None
            if name is not None and to is not None:
                bound.setdefault(name[1], set()).add(to[1])
    return {
        ("parameter", of, given.parameter): MemoryOrigin(given.name, source, given.offset)
        for source in project.sources
        if isinstance(source, Python) and b"pin_memory" in source.text
        for given in source.fact(pinned)
        for of in bound.get(given.function, {given.function})
    }


def shared(component: Component) -> dict[Place, MemoryOrigin]:
    """Return the places of the program's pointers to such memory, with their origins."""
    files = [each for each in component if isinstance(each, Cpp)]
    if not any(_mentions(each) for each in files):
        return {}
    start: dict[Place, MemoryOrigin] = {}
    for each in files:
        for place, origin in _sources(each):
            # An allocation that is recognized by the function's name counts only if its body is not in the files.
            if place[0] != "result" or not any(place[1] in other.fact(_named) for other in files):
                start.setdefault(place, origin)
    return reached(component, start)


def _named(source: Cpp) -> frozenset[bytes]:
    return frozenset(function.name for function in functions(source))


def roots(source: Cpp, offset: int, expression: bytes) -> list[Place]:
    """Return the places that hold the pointer `expression` at `offset`, or that it is derived from."""
    return list(ways(source).roots(function_at(source, offset), expression))


def _mentions(source: Cpp) -> bool:
    held = not source.words.isdisjoint((b"__managed__", b"universal_vector", b"universal_host_pinned_vector"))
    return held or bool(source.matched(_OF_HOST) or source.matched(_BY_NAME))


def _sources(source: Cpp) -> Iterator[tuple[Place, MemoryOrigin]]:
    """Yield the allocations of such memory in a file, with the places that hold their pointers."""
    if not _mentions(source) and not _OPERATOR_NEW.search(source.code):
        return
    code, known = source.code, ways(source)
    for match in _MANAGED.finditer(code) if b"__managed__" in source.words else ():
        yield ("variable", match[1], 0), MemoryOrigin(b"__managed__", source, match.start(1))
    for match in _UNIVERSAL.finditer(code):
        for place in known.target(function_at(source, match.start()), match[2]):
            yield place, MemoryOrigin(match[1], source, match.start())
    yield from _tensors(source)
    for name, offset in _managed_classes(source):
        yield ("class", name, 0), MemoryOrigin(b"operator new", source, offset)
    for match in _ALLOCATION.finditer(code):
        function, given = function_at(source, match.start()), known.arguments(match.end() - 1)
        if given:
            registers = match[1].endswith(b"Register")
            places = [*known.roots(function, given[0])] if registers else known.target(function, given[0])
            for place in places:
                yield place, MemoryOrigin(match[1], source, match.start())
    yield from _lambdas(source)
    allocating = dict(_macros(source))
    for match in CALL.finditer(code):
        name = match[1]
        index = allocating.get(name)
        if index is not None:
            given = known.arguments(match.end() - 1)
            for place in known.target(function_at(source, match.start()), given[index]) if index < len(given) else ():
                yield place, MemoryOrigin(name, source, match.start())
        elif _BY_NAME.fullmatch(name) and not _OF_HOST.fullmatch(name) and name not in NO_CALL:
            yield ("result", name, 0), MemoryOrigin(name, source, match.start())


def _tensors(source: Cpp) -> Iterator[tuple[Place, MemoryOrigin]]:
    """Yield the tensors that PyTorch makes with the option: the option itself, or a variable that holds it."""
    code, known = source.code, ways(source)
    options: dict[tuple[int, bytes], MemoryOrigin] = {}

    def put(at: int, origin: MemoryOrigin) -> Iterator[tuple[Place, MemoryOrigin]]:
        function = function_at(source, at)
        match = _STATEMENT.search(code, max(0, at - _LONGEST), at)
        if match is None or function is None:
            return
        if match["target"] is None:
            yield ("result", function.name, 0), origin
        elif _MAKES.search(match["value"]):
            for place in known.target(function, match["target"]):
                yield place, origin
        else:
            options[function.body.start_byte, match["target"]] = origin

    for match in _OPTION.finditer(code) if b"pinned_memory" in source.words else ():
        yield from put(match.start(), MemoryOrigin(b"pinned_memory", source, match.start()))
    for (start, name), origin in list(options.items()):
        end = (source.closing(start) if code[start : start + 1] == b"{" else None) or len(code)
        for match in re.finditer(rb"[,(]\s*" + name + rb"\s*(?=[,)])", code[start:end]):
            yield from put(start + match.end(), origin)


def _lambdas(source: Cpp) -> Iterator[tuple[Place, MemoryOrigin]]:
    """Yield the results of lambdas with a name that allocate and return."""
    for match in _LAMBDA.finditer(source.code):
        end = source.closing(match.end() - 1) or match.end()
        allocation = _ALLOCATION.search(source.code, match.end(), end)
        if allocation is not None and _RETURNS.search(source.code, allocation.end(), end):
            yield ("result", match[1], 0), MemoryOrigin(allocation[1], source, allocation.start())


def _macros(source: Cpp) -> Iterator[tuple[bytes, int]]:
    """Yield the macros that allocate, each with the index of the parameter that receives the pointer."""
    for match in DEFINE.finditer(source.code):
        call = _ALLOCATION.search(match[3]) if match[2] else None
        for index, name in enumerate(re.findall(rb"\w+", match[2] or b"") if call else ()):
            if call and re.match(rb"[\s()&*\w]*\b" + name + rb"\b", match[3][call.end() :].partition(b",")[0]):
                yield match[1], index


def _managed_classes(source: Cpp) -> Iterator[tuple[bytes, int]]:
    """Yield the classes whose objects `new` puts into such memory, and the classes derived from them."""
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
