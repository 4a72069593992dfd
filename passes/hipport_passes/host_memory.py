# SPDX-License-Identifier: Apache-2.0
"""Which pointers lead to memory that the host shares: managed or pinned, by whatever way they come.

A program's files are read together, by names: what allocates such memory, and where its pointer goes from there, by
assignments, members, arguments, results of functions, pairs, macros and launches. Members are told apart by their
names alone, whatever they are members of.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hipport.languages.cpp import Cpp
from hipport.languages.functions import DEFINE, Function, function_at, functions
from hipport.project import Component

#: A place that a pointer is in: its kind, its name, and where its function begins, or which parameter it is.
Place = tuple[str, bytes, int]

_OF_HOST = re.compile(
    rb"(?:cuda|hip)(?:MallocManaged|HostAlloc|MallocHost|HostMalloc|HostGetDevicePointer|HostRegister)"
)
_ALLOCATION = re.compile(rb"\b(" + _OF_HOST.pattern + rb")\s*(?:<[^<>;]*>\s*)?\(")
_MANAGED = re.compile(rb"\b__managed__\s[^;={}()]*?(\w+)\s*(?:\[[^;{}]*)?[;={]")
_BY_NAME = re.compile(rb"(?i)\w*(?:managed|pinned|unified_?mem|mapped_?mem|zero_?copy|host_?alloc)\w*")
_CAST = re.compile(
    rb"\(\s*(?:const\s+|volatile\s+|struct\s+|unsigned\s+|long\s+)*[\w:]+(?:\s*<[^<>]*>)?\s*(?:const\s*)?(?:\*\s*(?:const\s*|__restrict__\s*)?)+\)"
)
_NAMED_CAST = re.compile(rb"(?:reinterpret|static|const|dynamic)_cast\s*<[^()]*?>\s*(?=\()")
_CALLED = re.compile(rb"(?:::)?(?:\w+\s*::\s*)*(~?\w+)\s*(?:<[^()]*>)?\s*(?=\()")
_METHOD = re.compile(rb"(?P<of>.+?)\s*(?:\.|->)\s*(?P<name>\w+)\s*(?:<[^()]*>)?\s*\(\s*[^()]*\)\s*", re.DOTALL)
_MEMBER = re.compile(rb"(?:[\w:]+(?:\s*\[[^\]]*\])*\s*(?:\.|->)\s*)+(\w+)\s*(?:[\[+-].*)?", re.DOTALL)
_NAME = re.compile(rb"(?:\w+\s*::\s*)*(\w+)\s*(?:[\[+-].*)?", re.DOTALL)
_ADDRESS = re.compile(rb"&\s*(?:\(\s*)?(\w+)\s*(?P<rest>\[|->|\.|\)?\s*$)")
_NEW = re.compile(rb"new\s+(?:\([^()]*\)\s*)?(?:\w+\s*::\s*)*(\w+)")
_ASSIGNED = re.compile(
    rb"(?P<target>(?<![\w\])])(?:[\w\]\)]+\s*(?:\.|->)\s*)*\b(?!auto\b)\w+|\*\s*\w+|\[[\w\s,]+\])\s*(?:\[[^\]=;]*\]\s*)?=(?!=)(?P<value>[^;]+)"
)
_MADE = re.compile(rb"\b(?P<name>[A-Za-z_]\w*)\s*(?P<open>[({])(?P<value>[^;{}]*)[)}]\s*[;,{]")
_RETURN = re.compile(rb"\breturn\b(?P<value>[^;]*)")
_LAUNCH = re.compile(rb"\b(\w+)\s*(?:<[^<>;]*>\s*)?<<<[^;]*?>>>\s*\(")
_LAUNCHED = re.compile(rb"\b(?:cuda|hip)LaunchKernel(?:GGL)?\s*\(")
_CALL = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]*>\s*)?\(")
_ARRAY = re.compile(rb"\b(\w+)\s*\[[^\]]*\]\s*=\s*\{([^;]*)\}")
_CLASS = re.compile(rb"\b(?:struct|class)\s+(?:\w+\s+)?(\w+)\s*(?:final\s*)?(?::(?P<bases>[^;{}()]*))?\{")
_OPERATOR_NEW = re.compile(rb"\boperator\s+new\b")
_HOLDS = frozenset((b"get", b"data", b"begin", b"pointer", b"ptr"))
_PASSES_ON = frozenset(
    (b"move", b"forward", b"make_pair", b"make_tuple", b"tie", b"pair", b"tuple", b"raw_pointer_cast", b"launder")
)
_NO_CALL = frozenset(b"if for while switch return sizeof alignof decltype defined new delete catch else".split())


class Origin(NamedTuple):
    """What a pointer is of: the name that allocates it, and where."""

    name: bytes
    source: Cpp
    offset: int


def mentions(source: Cpp) -> bool:
    """Say whether a file has anything of memory that the host shares."""
    return b"__managed__" in source.words or bool(source.matched(_OF_HOST) or source.matched(_BY_NAME))


def shared(component: Component) -> dict[Place, Origin]:
    """Return the places of the program's pointers to such memory, and where each comes from."""
    files = [each for each in component if isinstance(each, Cpp)]
    if not any(mentions(each) for each in files):
        return {}
    ways = [each.fact(_ways) for each in files]
    following: dict[Place, list[Place]] = {}
    for way in ways:
        for start, end in way.edges:
            following.setdefault(start, []).append(end)
    found: dict[Place, Origin] = {}
    waiting: deque[Place] = deque()
    for way in ways:
        for place, origin in way.sources:
            # Of a function that is only named so: not where it is seen what it does.
            if place[0] != "result" or origin.name != place[1] or not any(place[1] in each.named for each in ways):
                found.setdefault(place, origin)
    waiting.extend(found)
    while waiting:
        place = waiting.popleft()
        for other in following.get(place, ()):
            if other not in found:
                found[other] = found[place]
                waiting.append(other)
    return found


def roots(source: Cpp, offset: int, expression: bytes) -> list[Place]:
    """Return the places that a pointer at `offset`, written as `expression`, is one of, or leads from."""
    return list(source.fact(_ways).roots(function_at(source, offset), expression))


def _ways(source: Cpp) -> _Ways:
    return _Ways(source)


class _Ways:
    """What a file says: where such memory comes from, and where pointers go from there."""

    def __init__(self, source: Cpp) -> None:
        self.source = source
        self.sources: list[tuple[Place, Origin]] = []
        self.edges: list[tuple[Place, Place]] = []
        self.named = frozenset(function.name for function in functions(source))
        self._locals: dict[int, frozenset[bytes]] = {}
        code = source.code
        self._allocating = dict(self._macros())
        for match in _MANAGED.finditer(code) if b"__managed__" in source.words else ():
            self.sources.append((("variable", match[1], 0), Origin(b"__managed__", source, match.start(1))))
        for name, offset in self._managed_classes():
            self.sources.append((("class", name, 0), Origin(b"operator new", source, offset)))
        for function in functions(source):
            for index, parameter in enumerate(function.parameters):
                inner, outer = self._place(function, parameter), ("parameter", function.name, index)
                self.edges.append((outer, inner))
                if _gives_back(function, index):
                    self.edges.append((inner, ("given back", function.name, index)))
        self._read(_ALLOCATION, self._allocated)
        self._read(_ASSIGNED, self._assigned)
        self._read(_MADE, self._made)
        self._read(_RETURN, self._returned)
        self._read(_LAUNCH, self._launched)
        self._read(_LAUNCHED, self._launched_by_call)
        self._read(_CALL, self._called)

    def _read(self, pattern: re.Pattern[bytes], each: Callable[[Function | None, re.Match[bytes]], None]) -> None:
        for match in pattern.finditer(self.source.code):
            each(function_at(self.source, match.start()), match)

    def _place(self, function: Function | None, name: bytes) -> Place:
        if function is not None:
            start = function.body.start_byte
            if start not in self._locals:
                self._locals[start] = frozenset(each.name for each in function.locals.variables)
            if name in self._locals[start]:
                return (f"local of {self.source.path}", name, start)
        return ("member", name, 0)

    # What expressions lead from

    def roots(self, function: Function | None, text: bytes, depth: int = 0) -> Iterator[Place]:
        """Yield the places that the value of an expression is one of, or leads from."""
        text = text.strip()
        if depth > 6 or not text or len(text) > 400:
            return
        inner = _uncast(text)
        if inner != text:
            yield from self.roots(function, inner, depth + 1)
            return
        if text[:1] == b"{" and text.endswith(b"}"):
            for part in _split(text[1:-1]):
                yield from self.roots(function, part, depth + 1)
            return
        question = text.find(b"?")
        if question > 0 and b":" in text[question:]:
            for part in text[question + 1 :].rsplit(b":", 1):
                yield from self.roots(function, part, depth + 1)
            return
        if match := _ADDRESS.match(text):
            if match["rest"].strip() in (b"", b")"):
                yield ("variable", match[1], 0)
            else:
                yield self._place(function, match[1])
                yield ("variable", match[1], 0)
            return
        if text[:1] == b"*":
            text = text[1:].strip()
        if match := _NEW.match(text):
            yield ("class", match[1], 0)
            return
        match = _CALLED.match(text)
        opening = match.end() if match else -1
        if match is not None and _closing(text, opening) == len(text) - 1:
            if match[1] in _PASSES_ON:
                for part in _split(text[opening + 1 : -1]):
                    yield from self.roots(function, part, depth + 1)
            else:
                yield ("result", match[1], 0)
            return
        if match := _METHOD.fullmatch(text):
            yield ("result", match["name"], 0)
            if match["name"] in _HOLDS:
                yield from self.roots(function, match["of"], depth + 1)
        elif match := _MEMBER.fullmatch(text):
            yield ("member", match[1], 0)
        elif match := _NAME.fullmatch(text):
            yield self._place(function, match[1])
            yield ("variable", match[1], 0)

    def _target(self, function: Function | None, text: bytes) -> list[Place]:
        """The places that something is put into: what `&p`, `*p`, `s->p` or `[p, n]` is."""
        text = text.strip().removeprefix(b"std::addressof")
        while (inner := _uncast(text)) != text:
            text = inner
        if text[:1] == b"[":
            return [self._place(function, name) for name in re.findall(rb"\w+", text)]
        text = text.lstrip(b"&* ")
        while text[:1] == b"(" and text[-1:] == b")":
            text = text[1:-1].strip().lstrip(b"&* ")
        if match := _MEMBER.fullmatch(text):
            return [("member", match[1], 0)]
        match = _NAME.fullmatch(text)
        return [self._place(function, match[1])] if match else []

    def _flow(self, function: Function | None, value: bytes, target: Place) -> None:
        self.edges += ((root, target) for root in self.roots(function, value))

    # What a file says

    def _arguments(self, opening: int) -> list[bytes]:
        return [self.source.code[each.start : each.end] for each in self.source.arguments(opening) or ()]

    def _allocated(self, function: Function | None, match: re.Match[bytes]) -> None:
        if given := self._arguments(match.end() - 1):
            origin = Origin(match[1], self.source, match.start())
            at = 1 if match[1].endswith(b"Register") else 0
            places = [*self.roots(function, given[0])] if at else self._target(function, given[0])
            self.sources += ((place, origin) for place in places)

    def _assigned(self, function: Function | None, match: re.Match[bytes]) -> None:
        for target in self._target(function, match["target"]):
            self._flow(function, match["value"], target)

    def _made(self, function: Function | None, match: re.Match[bytes]) -> None:
        """`T* p(make());`, `T* p{make()};`, and what a constructor puts into members: `: p(make()), n(0) {`."""
        if match["name"] not in _NO_CALL:
            self._flow(function, match["value"], self._place(function, match["name"]))

    def _returned(self, function: Function | None, match: re.Match[bytes]) -> None:
        if function is not None:
            self._flow(function, match["value"], ("result", function.name, 0))

    def _launched(self, function: Function | None, match: re.Match[bytes]) -> None:
        for index, value in enumerate(self._arguments(match.end() - 1)):
            self._flow(function, value, ("parameter", match[1], index))

    def _launched_by_call(self, function: Function | None, match: re.Match[bytes]) -> None:
        given = self._arguments(match.end() - 1)
        if not given:
            return
        kernel = re.findall(rb"\w+", re.sub(rb"<[^<>]*>|\([^()]*\*\)", b"", given[0]))
        if kernel and b"GGL" in match[0]:
            for index, value in enumerate(given[5:]):
                self._flow(function, value, ("parameter", kernel[-1], index))
        elif kernel and function is not None:
            # The arguments are an array of the addresses of variables.
            words = {word for value in given[1:] for word in re.findall(rb"\w+", value)}
            for array in _ARRAY.finditer(self.source.code, function.body.start_byte, match.start()):
                for index, value in enumerate(_split(array[2]) if array[1] in words else ()):
                    for place in self._target(function, value):
                        self.edges.append((place, ("parameter", kernel[-1], index)))

    def _called(self, function: Function | None, match: re.Match[bytes]) -> None:
        name = match[1]
        if name in _NO_CALL or _ALLOCATION.match(match[0]) or function is None:
            return
        given = self._arguments(match.end() - 1)
        if (index := self._allocating.get(name)) is not None and index < len(given):
            origin = Origin(name, self.source, match.start())
            self.sources += ((place, origin) for place in self._target(function, given[index]))
        if _BY_NAME.fullmatch(name) and not _OF_HOST.fullmatch(name):
            self.sources.append((("result", name, 0), Origin(name, self.source, match.start())))
        for index, value in enumerate(given):
            if value.strip():
                self._flow(function, value, ("parameter", name, index))
                for place in self._target(function, value) if re.match(rb"[\s(]*[&\w]", value) else ():
                    self.edges.append((("given back", name, index), place))

    def _macros(self) -> Iterator[tuple[bytes, int]]:
        """The macros that allocate, and which of their parameters they do it for."""
        for match in DEFINE.finditer(self.source.code):
            call = _ALLOCATION.search(match[3]) if match[2] else None
            for index, name in enumerate(re.findall(rb"\w+", match[2] or b"") if call else ()):
                if call and re.match(rb"[\s(&*\w]*\b" + name + rb"\b", match[3][call.end() :].partition(b",")[0]):
                    yield match[1], index

    def _managed_classes(self) -> Iterator[tuple[bytes, int]]:
        """The classes whose objects `new` makes in such memory, and those that are made of them."""
        if not _OPERATOR_NEW.search(self.source.code):
            return
        known: set[bytes] = set()
        for match in _CLASS.finditer(self.source.code):
            end = self.source.closing(match.end() - 1)
            body = self.source.code[match.end() : end] if end is not None else b""
            own = _OPERATOR_NEW.search(body)
            if (own and _ALLOCATION.search(body, own.end())) or known & set(re.findall(rb"\w+", match["bases"] or b"")):
                known.add(match[1])
                yield match[1], match.start(1)


def _gives_back(function: Function, index: int) -> bool:
    """Say whether what a function puts into a parameter is the caller's: a pointer to a pointer, or a reference."""
    if function.takes_reference(index):
        return True
    name = function.parameters[index]
    begin = function.node.start_byte + len(function.head)
    head = function.source.code[begin : function.body.start_byte]
    return bool(name) and re.search(rb"\*\s*\*\s*" + re.escape(name) + rb"\b", head) is not None


def _closing(text: bytes, opening: int) -> int:
    """Where the bracket at `opening` is closed; -1 if it is not."""
    depth = 0
    for i in range(opening, len(text)):
        if text[i] in b"([{":
            depth += 1
        elif text[i] in b")]}":
            depth -= 1
            if not depth:
                return i
    return -1


def _split(text: bytes) -> list[bytes]:
    """The parts of a list, at the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for i, byte in enumerate(text):
        depth += (byte in b"([{<") - (byte in b")]}>")
        if byte == 0x2C and depth <= 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _uncast(text: bytes) -> bytes:
    """Return what is cast, or in brackets, at the outermost; the text itself where it is neither."""
    named = _NAMED_CAST.match(text)
    if named is not None and _closing(text, named.end()) == len(text) - 1:
        return text[named.end() + 1 : -1].strip()
    cast = _CAST.match(text)
    if cast is not None and cast.end() < len(text):
        return text[cast.end() :].strip()
    if text[:1] == b"(" and _closing(text, 0) == len(text) - 1:
        return text[1:-1].strip()
    return text
