# SPDX-License-Identifier: Apache-2.0
"""The transitive callers of some names: functions, macros, classes and operators, by the names in their text.

    found = transitive_callers(files, kernels.functions, frozenset((b"__syncthreads",)))
    found.named[b"stage"]  # the functions, macros and classes of that name that may reach one

Names decide, so the result is an upper bound: callers of this module check the places themselves.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import accumulate, chain
from pathlib import PurePath

from hipport.analysis.functions import Function
from hipport.analysis.implicit_calls import (
    RANGE,
    aliases,
    class_of,
    defaults,
    makes_object,
    members,
    operator_uses,
    operators,
)
from hipport.analysis.word_index import Holders
from hipport.syntax.cpp import Cpp

_DEFINE = re.compile(rb"[ \t]*define[ \t]+(\w+)(?:\(([^()]*)\))?")
_WORD = re.compile(rb"\w+")
_LAST = re.compile(rb"(?<!\w)([A-Za-z_]\w*)\s*(?:<[^;<>]*(?:<[^;<>]*>[^;<>]*)*>)?\s*\Z")


@dataclass(frozen=True, eq=False)
class Text:
    """Code outside functions that a name stands for: a macro, members of a class, or default arguments.

    `of_class`: whether the name is that of a class.
    """

    source: Cpp
    name: bytes
    parameters: tuple[bytes, ...]
    start: int
    end: int
    of_class: bool = False


@dataclass
class TransitiveCallers:
    """The transitive callers of some names: `units`, and by name those that may be named elsewhere."""

    units: list[Function | Text] = field(default_factory=list)
    named: dict[bytes, list[Function | Text]] = field(default_factory=dict)
    #: The classes whose objects reach one of the names in their construction or destruction.
    classes: set[bytes] = field(default_factory=set)
    #: The operators that reach one, by their signs.
    operators: dict[str, list[Function]] = field(default_factory=dict)


def transitive_callers(
    files: Sequence[Cpp], functions: Callable[[Cpp], Sequence[Function]], names: AbstractSet[bytes]
) -> TransitiveCallers:
    """Return the code that may call one of the names, directly or through other transitive callers.

    `functions` returns those of a file that count.
    """
    found = TransitiveCallers()
    wanted = set(names)
    found_operators: list[Function] = []
    seen: set[tuple[PurePath, int]] = set()
    holders = Holders(files)
    units_of: dict[PurePath, _Units] = {}
    while wanted or found_operators:
        sought, wanted = wanted, set()
        used, found_operators = operators(found_operators), []
        for file in files if used else holders.of(sought):
            places = [each for each in holders.places(file, sought) if _may_use(file, each, found.classes)]
            if not places and not used:
                continue
            units = units_of.get(file.path)
            if units is None:
                units = units_of[file.path] = _Units(file, functions(file))
            named = units.with_places(places)
            for i in range(len(units.every)) if used else sorted(named):
                unit = units.every[i]
                start, _ = extent(unit)
                if (file.path, start) in seen or not (
                    i in named or (isinstance(unit, Function) and any(True for _ in operator_uses(unit, used)))
                ):
                    continue
                seen.add((file.path, start))
                found.units.append(unit)
                if isinstance(unit, Function) and operators((unit,)):
                    found_operators.append(unit)
                    found.operators = operators((*found_operators, *chain(*found.operators.values())))
                    if unit.name in RANGE:
                        found.named.setdefault(unit.name, []).append(unit)
                        wanted.add(unit.name)
                elif isinstance(unit, Text) or not unit.kernel:
                    # An object is constructed, and destroyed, where its class is named.
                    made = class_of(unit) if isinstance(unit, Function) else unit.name if unit.of_class else b""
                    if made:
                        found.classes.add(made)
                    name = made or unit.name
                    found.named.setdefault(name, []).append(unit)
                    wanted.add(name)
    return found


def _may_use(file: Cpp, place: int, classes: AbstractSet[bytes]) -> bool:
    """Whether the name at a place may be a use: a class is used only where an object is made."""
    word = _WORD.match(file.code, place) if classes else None
    return word is None or word[0] not in classes or makes_object(file, word.end())


class _Units:
    """The macros, texts and functions of a file, and which of them contain a place."""

    def __init__(self, source: Cpp, functions: Sequence[Function]) -> None:
        self.every: list[Function | Text] = []
        #: For each kind: the beginnings in order, the unit of each, and the farthest end up to it.
        self._in_order: list[tuple[list[int], list[int], list[int]]] = []
        kinds: tuple[Sequence[Function | Text], ...]
        kinds = source.fact(_macros), source.fact(_texts), functions
        for kind in kinds:
            first = len(self.every)
            self.every += kind
            extents = sorted((*extent(unit), first + i) for i, unit in enumerate(kind))
            reach = list(accumulate((end for _, end, _ in extents), max))
            self._in_order.append(([start for start, _, _ in extents], [i for _, _, i in extents], reach))

    def with_places(self, places: Iterable[int]) -> set[int]:
        found = set()
        for place in places:
            for starts, which, reach in self._in_order:
                i = bisect_right(starts, place) - 1
                while i >= 0 and reach[i] > place:
                    if place < extent(self.every[which[i]])[1]:
                        found.add(which[i])
                    i -= 1
        return found


def extent(unit: Function | Text) -> tuple[int, int]:
    """Return where a unit's code begins and ends.

    For a function from the end of its name, because initializers and default arguments are executed, too.
    """
    if isinstance(unit, Text):
        return unit.start, unit.end
    return unit.node.start_byte + len(unit.head) + len(unit.name), unit.body.end_byte


def _macros(source: Cpp) -> tuple[Text, ...]:
    found = []
    for directive in source.directives:
        match = _DEFINE.match(source.code, directive.start + 1, directive.end)
        if match is not None:
            parameters = tuple(word.strip() for word in (match[2] or b"").split(b","))
            found.append(Text(source, match[1], parameters, match.end(), directive.end))
    return tuple(found)


def _texts(source: Cpp) -> tuple[Text, ...]:
    """Return members of objects of classes, aliases of classes, and default arguments."""
    found = [Text(source, each.name, (), each.start, each.end, True) for each in members(source)]
    for each in aliases(source):
        # The class itself, not its template arguments, and not its namespace.
        match = _LAST.search(source.code, each.start, each.end)
        if match is not None and match[1] != each.name:
            found.append(Text(source, each.name, (), *match.span(1), True))
    found += (Text(source, each.name, (), each.start, each.end) for each in defaults(source))
    return tuple(found)
