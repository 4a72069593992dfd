# SPDX-License-Identifier: Apache-2.0
"""What may come to calls of some names: functions, macros, classes and operators, by the names that stand in them.

    found = carriers(files, kernels, frozenset((b"__syncthreads",)))
    found.named[b"stage"]  # the functions, macros and classes of that name that may come to one

Names decide, and so more is found than there is: who asks looks at the places themselves.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePath

from hipport.languages.cpp import Cpp
from hipport.languages.functions import Function
from hipport.languages.implicit import aliases, class_of, defaults, members, operator_uses, operators
from hipport.languages.kernels import Kernels

_DEFINE = re.compile(rb"[ \t]*define[ \t]+(\w+)(?:\(([^()]*)\))?")
_LAST = re.compile(rb"(?<!\w)([A-Za-z_]\w*)\s*(?:<[^;<>]*(?:<[^;<>]*>[^;<>]*)*>)?\s*\Z")


@dataclass(frozen=True, eq=False)
class Text:
    """Code in no function that a name stands for: a macro, what a class has in it, arguments that need not be given.

    `of_class`: whether the name is a class's.
    """

    source: Cpp
    name: bytes
    parameters: tuple[bytes, ...]
    start: int
    end: int
    of_class: bool = False


@dataclass
class Carriers:
    """What may come to a call: `units`, and what of that may be named elsewhere, by its name."""

    units: list[Function | Text] = field(default_factory=list)
    named: dict[bytes, list[Function | Text]] = field(default_factory=dict)
    #: The classes whose objects come to one when they come to be or go.
    classes: set[bytes] = field(default_factory=set)
    #: The operators that do, by their signs.
    operators: dict[str, list[Function]] = field(default_factory=dict)


def carriers(files: Iterable[Cpp], kernels: Kernels, names: AbstractSet[bytes]) -> Carriers:
    """Return what may come to a call of one of the names, by way of it or of another carrier's."""
    found = Carriers()
    wanted = set(names)
    found_operators: list[Function] = []
    seen: set[tuple[PurePath, int]] = set()
    files = list(files)
    while wanted or found_operators:
        sought, wanted = wanted, set()
        used, found_operators = operators(found_operators), []
        for file in files:
            places = [span.start for span, _ in file.names(sought)]
            if not places and not used:
                continue
            units: list[Function | Text] = [*file.fact(_macros), *file.fact(_texts), *kernels.functions(file)]
            for unit in units:
                start, end = extent(unit)
                first = bisect_left(places, start)
                named = first < len(places) and places[first] < end
                if (file.path, start) in seen or not (
                    named or (isinstance(unit, Function) and any(True for _ in operator_uses(unit, used)))
                ):
                    continue
                seen.add((file.path, start))
                found.units.append(unit)
                if isinstance(unit, Function) and operators((unit,)):
                    found_operators.append(unit)
                    found.operators = operators((*found_operators, *chain(*found.operators.values())))
                elif isinstance(unit, Text) or not unit.kernel:
                    # An object comes to be, and goes, where its class is named.
                    made = class_of(unit) if isinstance(unit, Function) else unit.name if unit.of_class else b""
                    if made:
                        found.classes.add(made)
                    name = made or unit.name
                    found.named.setdefault(name, []).append(unit)
                    wanted.add(name)
    return found


def extent(unit: Function | Text) -> tuple[int, int]:
    """Return where a unit's code begins and ends.

    Of a function from behind its name: initializers and arguments that need not be given are run, too.
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
    """What the objects of classes have in them, other names of classes, and arguments that need not be given."""
    found = [Text(source, each.name, (), each.start, each.end, True) for each in members(source)]
    for each in aliases(source):
        # The class itself, not what it is given, or what it is in.
        match = _LAST.search(source.code, each.start, each.end)
        if match is not None and match[1] != each.name:
            found.append(Text(source, each.name, (), *match.span(1), True))
    found += (Text(source, each.name, (), each.start, each.end) for each in defaults(source))
    return tuple(found)
