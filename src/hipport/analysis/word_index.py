# SPDX-License-Identifier: Apache-2.0
"""An index of words in files, for repeated searches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from hipport.syntax.cpp import Cpp
from hipport.syntax.vocabulary import IDENTIFIER

# The first searches go through the files one by one. Most chains of calls are shorter; an index reads each word once.
_MOST_ROUNDS = 8


class Holders:
    """Files, and the words that they contain."""

    def __init__(self, files: Sequence[Cpp]) -> None:
        self._files = files
        self._rounds = 0
        self._with: dict[bytes, list[int]] = {}

    def of(self, words: AbstractSet[bytes]) -> list[Cpp]:
        """Return the files that contain one of the words, in order."""
        self._rounds += 1
        if self._rounds <= _MOST_ROUNDS:
            return [file for file in self._files if not words.isdisjoint(file.words)]
        if not self._with:
            for i, file in enumerate(self._files):
                for word in file.words:
                    self._with.setdefault(word, []).append(i)
        return [self._files[i] for i in sorted({i for word in words for i in self._with.get(word, ())})]

    def places(self, file: Cpp, words: AbstractSet[bytes]) -> list[int]:
        """Return the places of the words in a file, in order."""
        if self._rounds <= _MOST_ROUNDS:
            return [span.start for span, _ in file.names(words)]
        known = file.fact(_places)
        return sorted(place for word in words for place in known.get(word, ()))


def _places(file: Cpp) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for span, name in file.names(IDENTIFIER):
        found.setdefault(name, []).append(span.start)
    return found


def leading_to(names: AbstractSet[bytes], units: Iterable[tuple[bytes, AbstractSet[bytes]]]) -> frozenset[bytes]:
    """Return the names of the units whose words include one of `names`, or, transitively, the name of such a unit."""
    having: dict[bytes, list[bytes]] = {}
    for name, words in units:
        for word in words:
            having.setdefault(word, []).append(name)
    found: set[bytes] = set()
    waiting = set(names)
    while waiting:
        more = set(having.pop(waiting.pop(), ())) - found
        found |= more
        waiting |= more
    return frozenset(found)
