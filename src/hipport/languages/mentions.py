# SPDX-License-Identifier: Apache-2.0
"""What functions, macros and constants of files that belong together say of each other, as HIP sees them.

    mentions = component.fact(Mentions)
    mentions.reached(definition)  # all that it uses, whatever lies between, itself first

By names: a function is used where its name is called, launched, or given on; a macro, a constant and another name for a
type or a namespace are used where they are said. Of several definitions of one name all are meant.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from hipport.languages.cpp import Cpp, within
from hipport.languages.functions import DEFINE, Function, functions, is_method
from hipport.source import Span

if TYPE_CHECKING:
    from hipport.project import Component

_WORD = re.compile(rb"[A-Za-z_]\w*")
_CALLED = re.compile(rb"([A-Za-z_]\w*)\s*[(<]")
# A constant, an enumeration, another name for a type or a namespace: `constexpr int kHalf = kLanes / 2;`
_VALUE = re.compile(
    rb"\b(?:constexpr|const|using|namespace|enum)\b[^;{}()]*?\b(?P<name>\w+)\s*(?:=[^;{}]*|\{[^;{}]*\})\s*;|"
    rb"\benum\b[^;{}()]*\{(?P<names>[^{}]*)\}"
)


class Definition:
    """A function, macro or constant: its names, where it stands, and the function if it is one."""

    def __init__(self, source: Cpp, span: Span, names: tuple[bytes, ...], function: Function | None = None) -> None:
        self.source = source
        self.span = span
        self.names = names
        self.function = function

    @property
    def name(self) -> str:
        """The name as it is said."""
        return self.names[0].decode("utf-8", "replace") if self.names else "?"

    @property
    def kernel(self) -> bool:
        """Whether the host launches it."""
        return self.function is not None and self.function.kernel

    def matches(self, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
        """Yield what a pattern matches in it, of what HIP sees."""
        unseen = self.source.cuda_only
        found = pattern.finditer(self.source.code, self.span.start, self.span.end)
        return (match for match in found if not within(match.start(), unseen)) if unseen else found

    def said(self, pattern: re.Pattern[bytes]) -> set[bytes]:
        """Return what a pattern with one group or none finds in it, of what HIP sees."""
        if self.source.cuda_only:
            return {match[match.re.groups] for match in self.matches(pattern)}
        return set(pattern.findall(self.source.code, self.span.start, self.span.end))


class Mentions:
    """The definitions of a component, and which of them use which."""

    def __init__(self, component: Component) -> None:
        self.definitions = [each for file in component if isinstance(file, Cpp) for each in _definitions(file)]
        self._by_name: dict[bytes, list[Definition]] = {}
        for each in self.definitions:
            for name in each.names:
                self._by_name.setdefault(name, []).append(each)

    def named(self, name: bytes) -> list[Definition]:
        """Return the definitions of a name."""
        return self._by_name.get(name, [])

    @cached_property
    def uses(self) -> Mapping[Definition, list[Definition]]:
        """What each definition says itself."""
        return {each: self._said(each) for each in self.definitions}

    @cached_property
    def users(self) -> Mapping[Definition, list[Definition]]:
        """By what each definition is said."""
        users: dict[Definition, list[Definition]] = {each: [] for each in self.definitions}
        for each, said in self.uses.items():
            for other in said:
                users[other].append(each)
        return users

    def _said(self, definition: Definition) -> list[Definition]:
        words = definition.said(_WORD) & self._by_name.keys()
        if not words:
            return []
        called = definition.said(_CALLED)
        found: dict[Definition, None] = {}
        for word in sorted(words):
            for other in self._by_name[word]:
                # Methods have the names of other things: `load`, `size`.
                if other is not definition and (
                    word in called or other.function is None or not is_method(other.function)
                ):
                    found[other] = None
        return list(found)

    def reached(self, definition: Definition) -> list[Definition]:
        """Return what a definition uses, itself first."""
        return _closed((definition,), self.uses)

    def reaching(self, definition: Definition) -> list[Definition]:
        """Return what uses a definition, itself first."""
        return _closed((definition,), self.users)

    def reaching_any(self, definitions: Iterable[Definition]) -> list[Definition]:
        """Return what uses one of some definitions, these first."""
        return _closed(definitions, self.users)


def _closed(start: Iterable[Definition], following: Mapping[Definition, list[Definition]]) -> list[Definition]:
    found = dict.fromkeys(start)
    waiting = list(found)
    while waiting:
        for other in following[waiting.pop()]:
            if other not in found:
                found[other] = None
                waiting.append(other)
    return list(found)


def _definitions(source: Cpp) -> Iterator[Definition]:
    every = functions(source)
    starts = [function.node.start_byte for function in every]
    for function in every:
        yield Definition(source, Span(function.node.start_byte, function.node.end_byte), (function.name,), function)
    for directive in source.directives:
        macro = DEFINE.match(source.code, directive.start, directive.end)
        if macro is not None and not within(directive.start, source.cuda_only):
            yield Definition(source, directive, (macro[1],))
    for match in _VALUE.finditer(source.code):
        last = bisect_right(starts, match.start()) - 1
        inside = last >= 0 and match.start() < every[last].node.end_byte
        if inside or within(match.start(), source.cuda_only) or source.directive(match.start()) is not None:
            continue
        names = (match["name"],) if match["name"] else tuple(re.findall(rb"(\w+)\s*(?:=[^,]*)?(?:,|$)", match["names"]))
        yield Definition(source, Span(*match.span()), names)
