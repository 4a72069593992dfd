# SPDX-License-Identifier: Apache-2.0
"""The references between functions, macros and constants of a component, as HIP sees them.

    mentions = component.fact(Mentions)
    mentions.reached(definition)  # all that it uses, directly or through others, itself first

By names: a function is used where its name is called, launched, or passed on; a macro, a constant and an alias of a
type or a namespace are used where they are mentioned. A name with several definitions uses all of them. Constructors,
destructors, operators, members, and their initializers are used where their class is mentioned: `Lane lane;` calls a
constructor without its name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from hipport.analysis.device_program import class_name_of
from hipport.analysis.functions import DEFINE, Function, functions, is_method
from hipport.analysis.implicit_calls import aliases, classes_around, defaults, members
from hipport.core.edits import Span
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.vocabulary import places_of, words_of

if TYPE_CHECKING:
    from hipport.program.project import Component

_WORD = re.compile(rb"\b[A-Za-z_]\w*")
_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*[(<]")
# Up to this many definitions, users are searched by name; for more, those of all definitions are found together.
_MOST_ALONE = 64
_BEHIND = re.compile(rb"\s*[(<]")
# A constant, an enumeration, an alias of a type or a namespace: `constexpr int kHalf = kLanes / 2;`
_VALUE = re.compile(
    rb"\b(?:constexpr|const|using|namespace|enum)\b[^;{}()]*?\b(?P<name>\w+)\s*(?:=[^;{}]*|\{[^;{}]*\})\s*;|"
    rb"\benum\b[^;{}()]*\{(?P<names>[^{}]*)\}"
)


class NamedDefinition:
    """A function, macro or constant: its names, its place, and the function if it is one."""

    def __init__(self, source: Cpp, span: Span, names: tuple[bytes, ...], function: Function | None = None) -> None:
        self.source = source
        self.span = span
        self.function = function
        #: For a constructor, a destructor or an operator, the class that uses it implicitly; else b"".
        self.used_by_class = _class_of(function) if function is not None else b""
        self.names = names if self.used_by_class in (b"", *names) else (*names, self.used_by_class)

    @property
    def place(self) -> tuple[PurePath, Span, tuple[bytes, ...]]:
        """Its file, its place there, and its names."""
        return self.source.path, self.span, self.names

    @property
    def name(self) -> str:
        """The name by which it is mentioned."""
        return self.names[0].decode("utf-8", "replace") if self.names else "?"

    @property
    def kernel(self) -> bool:
        """Whether the host launches it."""
        return self.function is not None and self.function.kernel

    @cached_property
    def method(self) -> bool:
        """Whether it is a member of a class."""
        return self.function is not None and is_method(self.function)

    def to_be_called(self, name: bytes) -> bool:
        """Whether only a call of this name uses it, not any other mention."""
        return self.method and name != self.used_by_class

    def around(self, source: Cpp, at: int) -> bool:
        """Whether a place of a file is in it."""
        return self.source is source and self.span.start <= at < self.span.end

    def matches(self, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
        """Yield the matches of a pattern in the code of it that HIP sees."""
        unseen = self.source.cuda_only
        found = pattern.finditer(self.source.code, self.span.start, self.span.end)
        return (match for match in found if not within(match.start(), unseen)) if unseen else found

    @property
    def words(self) -> set[bytes]:
        """The words in the code of it that HIP sees."""
        if self.source.cuda_only:
            return self.said(_WORD)
        return set(words_of(self.source.code[self.span.start : self.span.end]))

    def said(self, pattern: re.Pattern[bytes]) -> set[bytes]:
        """Return the matches of a pattern, or of its only group, in the code of it that HIP sees."""
        if self.source.cuda_only:
            return {match[match.re.groups] for match in self.matches(pattern)}
        return set(pattern.findall(self.source.code, self.span.start, self.span.end))


class Mentions:
    """The definitions of a component, and which of them use which, computed on demand."""

    def __init__(self, component: Component) -> None:
        self._files = [file for file in component if isinstance(file, Cpp)]
        self.definitions = [each for file in self._files for each in definitions(file)]
        #: By place, as a file that is read again has definitions of its own.
        self._number = {each.place: number for number, each in enumerate(self.definitions)}
        self._by_name: dict[bytes, list[NamedDefinition]] = {}
        for each in self.definitions:
            for name in each.names:
                self._by_name.setdefault(name, []).append(each)
        #: Without methods, whose names other entities have as well, such as `load` or `size`: a method has to be
        #: called.
        self._plain = {
            name: [each for each in found if not each.to_be_called(name)]
            if len(found) > 1 or found[0].method
            else found
            for name, found in self._by_name.items()
        }
        self._uses: dict[NamedDefinition, list[NamedDefinition]] = {}
        self._users: dict[NamedDefinition, list[NamedDefinition]] = {}

    def named(self, name: bytes) -> list[NamedDefinition]:
        """Return the definitions with a name."""
        return self._by_name.get(name, [])

    def having(self, places: Callable[[Cpp], Iterable[int]]) -> list[NamedDefinition]:
        """Return the definitions that contain such places in their files."""
        found = {
            self._number[each.place]
            for file in self._files
            for at in places(file)
            for each in file.fact(_Layout).around(at)
        }
        return [self.definitions[number] for number in sorted(found)]

    @cached_property
    def _with_word(self) -> Mapping[bytes, list[Cpp]]:
        """The files that contain the name of a definition, by name."""
        found: dict[bytes, list[Cpp]] = {}
        for file in self._files:
            for word in file.words & self._by_name.keys():
                found.setdefault(word, []).append(file)
        return found

    def _used_by(self, definition: NamedDefinition) -> list[NamedDefinition]:
        """Return the definitions that a definition mentions directly."""
        if definition not in self._uses:
            self._uses[definition] = self._said(definition)
        return self._uses[definition]

    def _users_of(self, definition: NamedDefinition) -> list[NamedDefinition]:
        """Return the definitions that mention a definition directly."""
        known = self._users.get(definition)
        if known is None and len(self._users) >= _MOST_ALONE:
            self._find_users()
            known = self._users[definition]
        if known is None:
            found: dict[NamedDefinition, None] = {}
            for name in definition.names:
                for file in self._with_word.get(name, ()):
                    found.update(self._saying(file, name, called=definition.to_be_called(name)))
            found.pop(definition, None)
            known = self._users[definition] = sorted(found, key=lambda each: self._number[each.place])
        return known

    def users_among(self, definitions: Iterable[NamedDefinition]) -> Mapping[NamedDefinition, list[NamedDefinition]]:
        """Return the users of each definition, within the given ones."""
        users: dict[NamedDefinition, list[NamedDefinition]] = {each: [] for each in definitions}
        for each in list(users):
            for other in self._used_by(each):
                if other in users:
                    users[other].append(each)
        return users

    def _find_users(self) -> None:
        """Find the users of all definitions at once, which is soon faster than searching for each by its name."""
        self._users = dict(self.users_among(self.definitions))

    @staticmethod
    def _saying(file: Cpp, name: bytes, *, called: bool) -> dict[NamedDefinition, None]:
        layout, unseen = file.fact(_Layout), file.cuda_only
        return {
            each: None
            for at, _ in places_of(file.code, frozenset((name,)))
            if not (unseen and within(at, unseen)) and not (called and not _BEHIND.match(file.code, at + len(name)))
            for each in layout.around(at)
        }

    def _said(self, definition: NamedDefinition) -> list[NamedDefinition]:
        words = definition.words & self._by_name.keys()
        if not words:
            return []
        called = definition.said(_CALLED)
        found: dict[NamedDefinition, None] = {}
        for word in sorted(words):
            found.update(dict.fromkeys((self._by_name if word in called else self._plain)[word]))
        found.pop(definition, None)
        return list(found)

    def reached(self, definition: NamedDefinition) -> list[NamedDefinition]:
        """Return all that a definition uses, directly or not, itself first."""
        return list(self.following_from(definition))

    def reached_from_any(self, definitions: Iterable[NamedDefinition]) -> list[NamedDefinition]:
        """Return all that one of the definitions uses, directly or not, these first."""
        return list(_following(definitions, self._used_by))

    def following_from(
        self, definition: NamedDefinition, but: Collection[NamedDefinition] = ()
    ) -> Iterator[NamedDefinition]:
        """Yield all that a definition uses, itself first, as it is found, but not through the excluded ones."""
        return _following((definition,), self._used_by, but)

    def transitive_users(self, definition: NamedDefinition) -> list[NamedDefinition]:
        """Return all that uses a definition, directly or not, itself first."""
        return list(_following((definition,), self._users_of))

    @staticmethod
    def transitive_users_by(
        definition: NamedDefinition, users: Mapping[NamedDefinition, list[NamedDefinition]]
    ) -> Iterator[NamedDefinition]:
        """Yield all that uses a definition through `users` alone, itself first."""
        return _following((definition,), users.__getitem__)

    def transitive_users_of_any(self, definitions: Iterable[NamedDefinition]) -> list[NamedDefinition]:
        """Return all that uses one of the definitions, these first."""
        return list(_following(definitions, self._users_of))


def _class_of(function: Function) -> bytes:
    """Return the class of a constructor, a destructor or an operator; b"" for any other function."""
    # A friend that is defined in a class belongs to it as well.
    around = class_name_of(function).encode("latin1") or min(classes_around(function), default=b"")
    return around if function.name == around or function.name.startswith((b"~", b"operator")) else b""


def _following(
    start: Iterable[NamedDefinition],
    following: Callable[[NamedDefinition], list[NamedDefinition]],
    but: Collection[NamedDefinition] = (),
) -> Iterator[NamedDefinition]:
    found = dict.fromkeys(start)
    yield from list(found)
    waiting = list(found)
    while waiting:
        for other in following(waiting.pop()):
            if other not in found and other not in but:
                found[other] = None
                waiting.append(other)
                yield other


class _Layout:
    """The places of the definitions of a file."""

    def __init__(self, source: Cpp) -> None:
        self._each = sorted(definitions(source), key=lambda each: each.span.start)
        self._starts = [each.span.start for each in self._each]
        #: For each definition, the index of the one that contains it; -1 for none.
        self._outer: list[int] = []
        open_: list[int] = []
        for number, each in enumerate(self._each):
            while open_ and self._each[open_[-1]].span.end <= each.span.start:
                open_.pop()
            self._outer.append(open_[-1] if open_ else -1)
            open_.append(number)

    def around(self, offset: int) -> Iterator[NamedDefinition]:
        """Yield the definitions that contain an offset."""
        number = bisect_right(self._starts, offset) - 1
        while number >= 0:
            if offset < self._each[number].span.end:
                yield self._each[number]
            number = self._outer[number]


def definitions(source: Cpp) -> tuple[NamedDefinition, ...]:
    """Return the functions, macros and constants that a file defines."""
    return source.fact(_definitions)


def _definitions(source: Cpp) -> tuple[NamedDefinition, ...]:
    return tuple(_found(source))


def _found(source: Cpp) -> Iterator[NamedDefinition]:
    every = functions(source)
    starts = [function.node.start_byte for function in every]
    for function in every:
        yield NamedDefinition(
            source, Span(function.node.start_byte, function.node.end_byte), (function.name,), function
        )
    for directive in source.directives:
        macro = DEFINE.match(source.code, directive.start, directive.end)
        if macro is not None and not within(directive.start, source.cuda_only):
            yield NamedDefinition(source, directive, (macro[1],))
    for match in _VALUE.finditer(source.code):
        last = bisect_right(starts, match.start()) - 1
        inside = last >= 0 and match.start() < every[last].node.end_byte
        if inside or within(match.start(), source.cuda_only) or source.directive(match.start()) is not None:
            continue
        names = (match["name"],) if match["name"] else tuple(re.findall(rb"(\w+)\s*(?:=[^,]*)?(?:,|$)", match["names"]))
        yield NamedDefinition(source, Span(*match.span()), names)
    for member in (*members(source), *aliases(source), *defaults(source)):
        if not within(member.start, source.cuda_only):
            yield NamedDefinition(source, Span(member.start, member.end), (member.name,))
