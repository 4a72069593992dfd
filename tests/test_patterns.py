# SPDX-License-Identifier: Apache-2.0
"""No pattern takes exponential time: a malicious tree could keep hipport busy for ever.

If the same text can match an unbounded repetition in two ways, a failing match tries them all. Such text is searched in
the automaton of each pattern, and the pattern is tried with more and more of it, because its context may exclude the
second way.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import hipport
import hipport_passes

try:
    from re import _constants as constants
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as constants
    import sre_parse as parser

_ALL = (1 << 256) - 1
# The number of pairs of places that are searched for each place.
_PAIRS = 3000
# The time limit for so little text, in seconds; and the number of repetitions of the text.
_SHORT = 0.1
_TIMES = range(8, 28, 2)
_BEHIND = (b"\x01\x02", b"\n\x01", b";", b")")


class _Automaton:
    """The places of a pattern that consume a character, the places that follow each, and the number of ways."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self.flags = pattern.flags
        self.taken: list[int] = []
        self.following: list[dict[int, int]] = []
        flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
        _, self.first, _ = self._sequence(parser.parse(pattern.pattern, flags))

    def ambiguous(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield texts that lead to a place, each with a text that leads back to it in two ways."""
        for place, before in self._reached().items():
            back = self._two_ways(place)
            if back is not None:
                yield bytes(_some(self.taken[each]) for each in before), back

    def _reached(self) -> dict[int, list[int]]:
        known = {place: [place] for place in self.first if self.taken[place]}
        waiting = [*known]
        for place in waiting:
            for each in self.following[place]:
                if self.taken[each] and each not in known:
                    known[each] = [*known[place], each]
                    waiting.append(each)
        return known

    def _two_ways(self, place: int) -> bytes | None:
        start = (place, place, False)
        came: dict[tuple[int, int, bool], tuple[tuple[int, int, bool], int] | None] = {start: None}
        waiting = [start]
        for state in waiting:
            one, other, parted = state
            if len(came) > _PAIRS:
                return None
            for a, ways in self.following[one].items():
                for b in self.following[other]:
                    taken = self.taken[a] & self.taken[b]
                    new = (a, b, parted or a != b or (one == other and ways > 1))
                    if not taken:
                        continue
                    if new == (place, place, True):
                        text = [_some(taken)]
                        while (step := came[state]) is not None:
                            state, taken = step
                            text.append(_some(taken))
                        return bytes(reversed(text))
                    if new not in came:
                        came[new] = state, taken
                        waiting.append(new)
        return None

    def _sequence(self, items: Any) -> tuple[bool, list[int], list[int]]:
        """Add items in order; return whether they may be empty, and their first and last places."""
        empty, first, last = True, list[int](), list[int]()
        for item in items:
            may, begins, ends = self._item(*item)
            self._link(last, begins)
            first += begins if empty else []
            last = last + ends if may else ends
            empty = empty and may
        return empty, first, last

    def _item(self, kind: Any, value: Any) -> tuple[bool, list[int], list[int]]:
        if kind in (constants.LITERAL, constants.NOT_LITERAL, constants.ANY, constants.IN):
            self.taken.append(self._characters(kind, value))
            self.following.append({})
            place = [len(self.taken) - 1]
            return False, place, place
        if kind is constants.BRANCH:
            empty, first, last = False, list[int](), list[int]()
            for each in value[1]:
                may, begins, ends = self._sequence(each)
                empty, first, last = empty or may, first + begins, last + ends
            return empty, first, last
        if kind is constants.SUBPATTERN:
            return self._sequence(value[-1])
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            least, most, body = value
            if most > 30:
                may, begins, ends = self._sequence(body)
                self._link(ends, begins)
                return may or not least, begins, ends
            return self._sequence([(None, (body, number >= least)) for number in range(min(most, 3))])
        if kind is None:
            may, begins, ends = self._sequence(value[0])
            return may or value[1], begins, ends
        return True, [], []

    def _link(self, ends: list[int], begins: list[int]) -> None:
        for end in ends:
            for begin in begins:
                self.following[end][begin] = self.following[end].get(begin, 0) + 1

    def _characters(self, kind: Any, value: Any) -> int:
        if kind is constants.ANY:
            return _ALL if self.flags & re.DOTALL else _ALL & ~(1 << 10)
        items = value if kind is constants.IN else [(constants.LITERAL, value)]
        found = 0
        for each, said in items:
            if each is constants.LITERAL:
                found |= 1 << min(said, 255)
            elif each is constants.RANGE:
                found |= sum(1 << code for code in range(said[0], min(said[1], 255) + 1))
            elif each is constants.CATEGORY:
                found |= _category(str(said))
        negated = kind is constants.NOT_LITERAL or items[0][0] is constants.NEGATE
        return _ALL & ~found if negated else found


def _category(name: str) -> int:
    what = next(pattern for word, pattern in (("DIGIT", r"\d"), ("SPACE", r"\s"), ("WORD", r"\w")) if word in name)
    found = sum(1 << code for code in range(256) if re.match(what, chr(code), re.ASCII))
    return _ALL & ~found if "NOT_" in name else found


def _some(taken: int) -> int:
    return next(code for code in (*b"a 1<(,", *range(32, 127), *range(256)) if taken >> code & 1)


def _nested(items: Any, inside: bool = False) -> bool:
    """Return whether an unbounded repetition contains another one, or a choice."""
    for kind, value in items:
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            if inside or _nested(value[2], value[1] > 30):
                return True
        elif kind is constants.BRANCH:
            if inside or any(_nested(each) for each in value[1]):
                return True
        elif kind is constants.SUBPATTERN and _nested(value[-1], inside):
            return True
    return False


def _patterns() -> Iterator[tuple[str, re.Pattern[Any], bool]]:
    """Yield the patterns of all modules, with their names, and whether they must match a whole text."""
    seen: set[int] = set()
    for package in (hipport, hipport_passes):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.endswith("__main__"):
                continue
            try:
                module = importlib.import_module(found.name)
            except KeyError:
                continue  # The code of a child process, which reads its environment.
            for name, value in vars(module).items():
                for pattern in _within(value):
                    if id(pattern) not in seen:
                        seen.add(id(pattern))
                        yield f"{found.name}.{name}", pattern, f"{name}.fullmatch(" in _text(module)


def _within(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (tuple, list, frozenset, dict)) and depth < 2:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _within(each, depth + 1)


def _text(module: ModuleType) -> str:
    return inspect.getsource(module)


def _takes_long(pattern: re.Pattern[Any], whole: bool) -> bytes | None:
    """Return a text for which a pattern takes too long."""
    if not _nested(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)):
        return None
    for before, again in _Automaton(pattern).ambiguous():
        for behind in _BEHIND:
            for times in _TIMES:
                text: Any = before + again * times + behind
                text = text if isinstance(pattern.pattern, bytes) else text.decode("latin-1")
                start = time.process_time()
                pattern.search(text)
                pattern.match(text)
                if whole:
                    pattern.fullmatch(text)
                if time.process_time() - start > _SHORT:
                    return before + again * times + behind
    return None


def test_no_pattern_takes_exponential_time() -> None:
    found = [*_patterns()]
    assert len(found) > 1000
    slow = {name: text for name, pattern, whole in found if (text := _takes_long(pattern, whole)) is not None}
    assert slow == {}


@pytest.mark.parametrize("pattern", [rb"(?:\w+|::)+;", rb"(?:a|aa)*;", rb"(?:a+)+;"])
def test_ambiguous_patterns_are_found(pattern: bytes) -> None:
    assert _takes_long(re.compile(pattern), whole=False) is not None


def test_unambiguous_patterns_are_not_found() -> None:
    assert _takes_long(re.compile(rb"(?:\w+(?!\w)|::)+;"), whole=True) is None


@pytest.mark.parametrize(
    ("name", "head", "unit", "count"),
    [
        ("a.cu", "__global__ void k();\n", "<<<(", 3000),
        ("a.cu", "__global__ void k();\n", "<<<", 8000),
        ("a.cu", "__global__ void k();\n", "{", 30_000),
        ("setup.py", "from torch.utils.cpp_extension import CUDAExtension\n", "from x import ", 3000),
    ],
    ids=lambda value: str(value).strip()[:12],
)
def test_what_never_ends_is_not_looked_for_from_each_place(name: str, head: str, unit: str, count: int) -> None:
    hipport.rewrite({name: head.encode()}, jobs=1)
    start = time.process_time()
    hipport.rewrite({name: f"{head}{unit * count}\nx\n".encode()}, jobs=1)
    assert time.process_time() - start < 3
