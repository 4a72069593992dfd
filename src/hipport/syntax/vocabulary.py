# SPDX-License-Identifier: Apache-2.0
"""The words of C++ text, and which of them match a pattern."""

from __future__ import annotations

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from functools import lru_cache

IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
# Maps every byte that is not part of a word to a space. Parts of a word are 0-9 A-Z _ a-z, and the bytes of longer
# UTF-8 characters, which an identifier may contain.
WORDS = bytes(byte if (chr(byte).isalnum() and byte < 128) or byte == 0x5F else 0x20 for byte in range(256))
IN_WORD = bytes(WORDS[byte] != 0x20 or byte >= 128 for byte in range(256))
_RUN = re.compile(b"[%s]+" % b"".join(rb"\x%02x" % byte for byte in range(256) if IN_WORD[byte]))
# A vocabulary with more words is replaced by a new one.
_MOST_WORDS = 1 << 18
# Up to this many words are searched one by one, which is fast; for more, each word of the text is looked up.
_MOST_SOUGHT = 64


class Vocabulary:
    """The words of many files, and which of them match a pattern. Each word is tried only once for a pattern."""

    def __init__(self) -> None:
        self._words: set[bytes] = set()
        #: Words that were added together, separated by line feeds: one search is many times as fast as many.
        self._lines: list[bytes] = []
        #: For each pattern, the number of words that it was tried on, and its matches among them.
        self._tried: dict[tuple[bytes, int], tuple[int, set[bytes]]] = {}

    def __len__(self) -> int:
        return len(self._words)

    def add(self, words: frozenset[bytes]) -> None:
        new = words - self._words
        if new:
            self._lines.append(b"\n%s\n" % b"\n".join(new))
            self._words |= new

    def matched(self, pattern: re.Pattern[bytes]) -> AbstractSet[bytes]:
        """Return the words that the pattern matches whole."""
        # The hash of a pattern is computed on each call, that of its text once.
        key = pattern.pattern, pattern.flags
        tried, matched = self._tried.get(key, (0, set[bytes]()))
        if tried < len(self._lines):
            search = _of_lines(*key).finditer
            for lines in self._lines[tried:]:
                matched.update(found.group()[1:] for found in search(lines))
            self._tried[key] = len(self._lines), matched
        return matched


@lru_cache(maxsize=1024)
def _of_lines(pattern: bytes, flags: int) -> re.Pattern[bytes]:
    """Return a pattern that finds the lines which `pattern` matches as a whole, with the line feed before each."""
    return re.compile(rb"\n(?:" + pattern.removeprefix(b"(?i)") + rb")(?=\n)", flags)


#: The last one is that to which words are added.
_vocabularies = [Vocabulary()]


def vocabulary_with(words: frozenset[bytes]) -> Vocabulary:
    """Return a vocabulary that contains all of `words`, and others; it is reused while it is not too large."""
    if len(_vocabularies[-1]) > _MOST_WORDS:
        _vocabularies[:] = [Vocabulary()]
    _vocabularies[-1].add(words)
    return _vocabularies[-1]


def words_of(code: bytes) -> Collection[bytes]:
    return code.translate(WORDS).split()


def places_of(code: bytes, words: AbstractSet[bytes]) -> list[tuple[int, bytes]]:
    """Return the places of each of the words as a whole word, in order."""
    if len(words) > _MOST_SOUGHT:
        return [(match.start(), match.group()) for match in _RUN.finditer(code) if match.group() in words]
    find, size, inside = code.find, len(code), IN_WORD
    places = []
    for word in words:
        width = len(word)
        start = find(word)
        while start >= 0:
            end = start + width
            if not (start and inside[code[start - 1]]) and not (end < size and inside[code[end]]):
                places.append((start, word))
            start = find(word, end)
    places.sort()
    return places
