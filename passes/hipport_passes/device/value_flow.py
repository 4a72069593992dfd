# SPDX-License-Identifier: Apache-2.0
"""Follow values in C++: through assignments, members, arguments, results of functions, pairs and launches.

A program's files are read together, by names; nothing is evaluated. Members are identified by their names alone,
whatever their class, and the arguments of all calls of a function are joined.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from hipport.analysis.functions import Function, function_at, functions
from hipport.analysis.word_index import Holders
from hipport.core.tables import Words
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES

#: A place that may hold a value: its kind, its name, and the start of its function, or the index of the parameter.
Place = tuple[str, bytes, int]
_Said = TypeVar("_Said")

_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
_CAST = _WORDS.compile(
    rb"\(\s*(?:const\s+|volatile\s+|struct\s+|unsigned\s+|long\s+)*[\w:]+(?:\s*<[^<>]*>)?\s*(?:const\s*)?(?:\*\s*(?:const\s*|(?&restrict)\s*)?)+\)"
)
_NAMED_CAST = _WORDS.compile(rb"(?&all_casts)\s*<[^()]*?>\s*(?=\()")
_CALLED = re.compile(rb"(?:::)?(?:\w+\s*::\s*)*(~?\w+)\s*(?:<[^()]*>)?\s*(?=\()")
_METHOD = re.compile(rb"(?P<of>.+?)\s*(?:\.|->)\s*(?P<name>\w+)\s*(?:<[^()]*>)?\s*\(\s*[^()]*\)\s*", re.DOTALL)
_MEMBER = re.compile(rb"(?:[\w:]+(?:\s*\[[^\]]*\])*\s*(?:\.|->)\s*)+(\w+)\s*(?:[\[+-].*)?", re.DOTALL)
_MEMBER_OF_ANY = re.compile(rb"(?:[\w:]+\s*(?:\.|->)\s*)*[\w:]+\s*\([^=;]*\)\s*(?:\.|->)\s*(\w+)\s*", re.DOTALL)
_NAME = re.compile(rb"(?:\w+\s*::\s*)*(\w+)\s*(?:[\[+-].*)?", re.DOTALL)
_ADDRESS = re.compile(rb"&\s*(?:\(\s*)?(\w+)\s*(?P<rest>\[|->|\.|\)?\s*$)")
_NEW = re.compile(rb"new\s+(?:\([^()]*\)\s*)?(?:\w+\s*::\s*)*(\w+)")
_ASSIGNED = _WORDS.compile(
    rb"(?P<target>(?<![\w\])])(?:[\w\]\)]+\s*(?:\.|->)\s*)*\b(?!auto\b)\w+|\*\s*\w+|\[[\w\s,]+\]|\b(?&tie)\s*\([\w\s,.>-]+\))\s*(?:\[[^\]=;]*\]\s*)?=(?!=)(?P<value>[^;]+)"
)
# The pattern allows nested parentheses: a constructor's arguments are not those of its members' initializers.
_MADE = re.compile(
    rb"\b(?P<name>[A-Za-z_]\w*)\s*(?P<open>[({])"
    rb"(?P<value>(?:[^;{}()]|\((?:[^;{}()]|\((?:[^;{}()]|\([^;{}()]*\))*\))*\))*)[)}]\s*[;,{]"
)
# `thrust::device_vector<int> w(v)` copies into memory of its own.
_COPIES = _WORDS.compile(rb"\b(?&vectors)\s*<[^;{}()]*>\s*\Z")
# A value that is put into a container is read from it again.
_PUT = _WORDS.compile(rb"\b(\w+)\s*(?:\.|->)\s*(?&puts)\s*\(")
# `[device, number = properties.major] (…) { … }`
_CAPTURED = re.compile(rb"[\[,]\s*&?(?P<target>\w+)\s*=(?!=)\s*(?P<value>[^][,=;{}]+)(?=(?:,[^][;{}]*)?\]\s*[({])")
_RETURN = re.compile(rb"\breturn\b(?P<value>[^;]*)")
_LAUNCH = re.compile(rb"\b(\w+)\s*(?:<[^<>;]*>\s*)?<<<[^;]*?>>>\s*\(")
_LAUNCHED = _WORDS.compile(rb"\b(?&platforms)(?&launches)\s*\(")
CALL = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]*>\s*)?\(")
_ARRAY = re.compile(rb"\b(\w+)\s*\[[^\]]*\]\s*=\s*\{([^;]*)\}")
# Objects that hold a pointer, and PyTorch's views, whose memory is the tensor's.
_HOLDS = frozenset(
    b"get data begin pointer ptr data_ptr mutable_data_ptr const_data_ptr packed_accessor32 packed_accessor64 accessor "
    b"contiguous view reshape flatten slice select narrow squeeze unsqueeze detach".split()
)
_PASSES_ON = frozenset(
    b"move forward make_pair make_tuple tie pair tuple launder raw_pointer_cast device_pointer_cast device_ptr "
    b"unique_ptr shared_ptr span".split()
)
NO_CALL = frozenset(b"if for while switch return sizeof alignof decltype defined new delete catch else".split())


def ways(source: Cpp) -> Ways:
    """Return the flow of values in a file. A fact of the file."""
    return source.fact(_ways)


def _ways(source: Cpp) -> Ways:
    return Ways(source)


def reached(component: Component, start: Mapping[Place, _Said]) -> dict[Place, _Said]:
    """Return the places that values reach from some places of the program, with the facts about these."""
    holders = Holders([each for each in component if isinstance(each, Cpp)])
    found = dict(start)
    waiting = deque(found)
    while waiting:
        place = waiting.popleft()
        # A value leaves a place only where its name occurs: most files need not be read for it.
        for file in holders.of({place[1]}):
            for other in ways(file).following.get(place, ()):
                if other not in found:
                    found[other] = found[place]
                    waiting.append(other)
    return found


class Ways:
    """The flow of values in a file, and the places that its members are read into."""

    def __init__(self, source: Cpp) -> None:
        self.source = source
        #: The targets of members by name, each with the object that it is read from.
        self.read: dict[bytes, list[tuple[bytes, Place]]] = {}
        self.edges: list[tuple[Place, Place]] = []
        self.named = frozenset(function.name for function in functions(source))
        self._locals: dict[int, frozenset[bytes]] = {}
        for function in functions(source):
            for index, parameter in enumerate(function.parameters):
                inner, outer = self.place(function, parameter), ("parameter", function.name, index)
                self.edges.append((outer, inner))
                if _gives_back(function, index):
                    self.edges.append((inner, ("given back", function.name, index)))
        self._read(_ASSIGNED, self._assigned)
        self._read(_CAPTURED, self._assigned)
        self._read(_MADE, self._made)
        self._read(_RETURN, self._returned)
        self._read(_LAUNCH, self._launched)
        self._read(_LAUNCHED, self._launched_by_call)
        self._read(CALL, self._called)
        self._read(_PUT, self._put)

    @cached_property
    def following(self) -> Mapping[Place, list[Place]]:
        """Return the targets of values from each place."""
        following: dict[Place, list[Place]] = {}
        for one, other in self.edges:
            following.setdefault(one, []).append(other)
        return following

    def _read(self, pattern: re.Pattern[bytes], each: Callable[[Function | None, re.Match[bytes]], None]) -> None:
        for match in pattern.finditer(self.source.code):
            each(function_at(self.source, match.start()), match)

    def place(self, function: Function | None, name: bytes) -> Place:
        if function is not None:
            start = function.body.start_byte
            if start not in self._locals:
                self._locals[start] = frozenset(each.name for each in function.locals.variables)
            if name in self._locals[start]:
                return (f"local of {self.source.path}", name, start)
        return ("member", name, 0)

    # Sources of expressions

    def roots(self, function: Function | None, text: bytes, depth: int = 0) -> Iterator[Place]:
        """Yield the places that the value of an expression comes from, or is derived from."""
        text = text.strip()
        if depth > 6 or not text or len(text) > 400:
            return
        if (parts := _sources_of(text)) is not None:
            for part in parts:
                yield from self.roots(function, part, depth + 1)
            return
        if match := _ADDRESS.match(text):
            if match["rest"].strip() in (b"", b")"):
                yield ("variable", match[1], 0)
            else:
                yield self.place(function, match[1])
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
        elif (match := _MEMBER.fullmatch(text)) or (match := _MEMBER_OF_ANY.fullmatch(text)):
            yield ("member", match[1], 0)
        elif match := _NAME.fullmatch(text):
            yield self.place(function, match[1])
            yield ("variable", match[1], 0)

    def target(self, function: Function | None, text: bytes) -> list[Place]:
        """Return the places that an assignment to the expression changes: of `&p`, `*p`, `s->p` or `[p, n]`."""
        text = text.strip().removeprefix(b"std::addressof")
        while (inner := _uncast(text)) != text:
            text = inner
        if text[:1] == b"[":
            return [self.place(function, name) for name in re.findall(rb"\w+", text)]
        if text.startswith(b"tie") and text.endswith(b")"):
            parts = text.partition(b"(")[2][:-1].split(b",")
            return [place for part in parts for place in self.target(function, part)]
        text = text.lstrip(b"&* \t\r\n")
        while text[:1] == b"(" and text[-1:] == b")":
            text = text[1:-1].strip().lstrip(b"&* \t\r\n")
        if match := _MEMBER.fullmatch(text):
            return [("member", match[1], 0)]
        match = _NAME.fullmatch(text)
        return [self.place(function, match[1])] if match else []

    def _flow(self, function: Function | None, value: bytes, target: Place) -> None:
        for root in self.roots(function, value):
            self.edges.append((root, target))
            if root[0] == "member":
                self.read.setdefault(root[1], []).append((value, target))

    # The contents of a file

    def arguments(self, opening: int) -> list[bytes]:
        return [self.source.code[each.start : each.end] for each in self.source.arguments(opening) or ()]

    def _put(self, function: Function | None, match: re.Match[bytes]) -> None:
        for value in self.arguments(match.end() - 1):
            self._flow(function, value, self.place(function, match[1]))

    def _assigned(self, function: Function | None, match: re.Match[bytes]) -> None:
        value, *others = _split(_within(match["value"]))
        for target in self.target(function, match["target"]):
            self._flow(function, value, target)
        # `int a = x, b = y;`
        for each in others:
            if (other := _ASSIGNED.fullmatch(each.strip())) is not None:
                self._assigned(function, other)

    def _made(self, function: Function | None, match: re.Match[bytes]) -> None:
        """Read `T* p(make());`, `T* p{make()};`, and the initializers of a constructor: `: p(make()), n(0) {`."""
        if match["name"] not in NO_CALL and not _COPIES.search(self.source.code, match.start() - 200, match.start()):
            self._flow(function, match["value"], self.place(function, match["name"]))

    def _returned(self, function: Function | None, match: re.Match[bytes]) -> None:
        if function is not None:
            self._flow(function, match["value"], ("result", function.name, 0))

    def _launched(self, function: Function | None, match: re.Match[bytes]) -> None:
        for index, value in enumerate(self.arguments(match.end() - 1)):
            self._flow(function, value, ("parameter", match[1], index))

    def _launched_by_call(self, function: Function | None, match: re.Match[bytes]) -> None:
        given = self.arguments(match.end() - 1)
        if not given:
            return
        kernel = re.findall(rb"\w+", re.sub(rb"<[^<>]*>|\([^()]*\*\)", b"", given[0]))
        if kernel and b"GGL" in match[0]:
            for index, value in enumerate(given[5:]):
                self._flow(function, value, ("parameter", kernel[-1], index))
        elif kernel and function is not None:
            # The arguments are an array with the addresses of variables.
            words = {word for value in given[1:] for word in re.findall(rb"\w+", value)}
            for array in _ARRAY.finditer(self.source.code, function.body.start_byte, match.start()):
                for index, value in enumerate(_split(array[2]) if array[1] in words else ()):
                    for place in self.target(function, value):
                        self.edges.append((place, ("parameter", kernel[-1], index)))

    def _called(self, function: Function | None, match: re.Match[bytes]) -> None:
        name = match[1]
        if name in NO_CALL or function is None:
            return
        given = self.arguments(match.end() - 1)
        for index, value in enumerate(given):
            if value.strip():
                self._flow(function, value, ("parameter", name, index))
                for place in self.target(function, value) if re.match(rb"[\s(]*[&\w]", value) else ():
                    self.edges.append((("given back", name, index), place))


def _gives_back(function: Function, index: int) -> bool:
    """Return whether a store to a parameter reaches the caller: the parameter is a pointer or a reference."""
    if function.takes_reference(index):
        return True
    name = function.parameters[index]
    body = function.source.code[function.body.start_byte : function.body.end_byte]
    if name and re.search(rb"\*\s*" + re.escape(name) + rb"\s*=(?!=)", body):
        return True
    begin = function.node.start_byte + len(function.head)
    head = function.source.code[begin : function.body.start_byte]
    return bool(name) and re.search(rb"\*\s*\*\s*" + re.escape(name) + rb"\b", head) is not None


def _closing(text: bytes, opening: int) -> int:
    """Return the place of the bracket that closes the one at `opening`; -1 if there is none."""
    depth = 0
    for i in range(opening, len(text)):
        if text[i] in b"([{":
            depth += 1
        elif text[i] in b")]}":
            depth -= 1
            if not depth:
                return i
    return -1


def _sources_of(text: bytes) -> Sequence[bytes] | None:
    """Return the expressions that an expression may take its value from (cast, `{a, b}`, `c ? a : b`); else None."""
    inner = _uncast(text)
    if inner != text:
        return [inner]
    if text[:1] == b"{" and text.endswith(b"}"):
        return _split(text[1:-1])
    question = text.find(b"?")
    if question > 0 and b":" in text[question:]:
        return text[question + 1 :].rsplit(b":", 1)
    return None


def _within(text: bytes) -> bytes:
    """Return a text up to the bracket that closes the one around it: `[n = x](int y) { … }`."""
    depth = 0
    for match in re.finditer(rb"[][(){}]", text):
        depth += 1 if match[0] in b"[({" else -1
        if depth < 0:
            return text[: match.start()]
    return text


def _split(text: bytes) -> list[bytes]:
    """Return the parts of a list, split at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, byte in enumerate(text):
        depth += (byte in b"([{<") - (byte in b")]}>")
        if byte == 0x2C and depth <= 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _uncast(text: bytes) -> bytes:
    """Return the operand of an outer cast or parentheses; the text itself if there is neither."""
    named = _NAMED_CAST.match(text)
    if named is not None and _closing(text, named.end()) == len(text) - 1:
        return text[named.end() + 1 : -1].strip()
    cast = _CAST.match(text)
    if cast is not None and cast.end() < len(text):
        return text[cast.end() :].strip()
    if text[:1] == b"(" and _closing(text, 0) == len(text) - 1:
        return text[1:-1].strip()
    return text
