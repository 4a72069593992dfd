# SPDX-License-Identifier: Apache-2.0
"""Find Python files that name no GPU, but are needed to follow how other modules ask for capabilities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

_ASKS = re.compile(rb"\bget_device_(?:capability|properties)\b")
_COUNTS = re.compile(rb"\bnum_(?:warps|ctas)[\"']?[ \t]*[=:][ \t]*[A-Za-z_]")
_IMPORT = re.compile(
    rb"^[ \t]*(?:from\b[^\n#;]*\bimport\b[ \t]*(?:\([^()]*\)|[^\n#;]*)|import\b[^\n#;]*)", re.MULTILINE
)
_WORD = re.compile(rb"[A-Za-z_]\w*")


def imported(text: bytes) -> frozenset[bytes]:
    """Return the words of a Python file's imports: modules, parts of their names, and imported names."""
    return frozenset(word for match in _IMPORT.finditer(text) for word in _WORD.findall(match[0]))


def concerned(read: Sequence[tuple[PurePath, bytes]], others: Mapping[str, frozenset[bytes]]) -> list[str]:
    """Return which of `others`, given by the words of their imports, import a module that asks for a capability.

    A package that re-exports such a module counts as well, because files that import it from there do not name the
    module. So do modules that an asking module imports: the constant that it compares with may be theirs.
    """
    asking = [(path, text) for path, text in read if _ASKS.search(text)]
    counting = asking + [(path, text) for path, text in read if _COUNTS.search(text)]
    by_word: dict[bytes, list[str]] = {}
    for name, words in others.items() if asking else ():
        for word in words:
            by_word.setdefault(word, []).append(name)
    found: set[str] = set()
    waiting = [_module(path) for path, _ in asking]
    while waiting:
        for name in by_word.pop(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                path = PurePath(name)
                waiting += [_module(path)] if path.stem == "__init__" else []
    wanted = frozenset[bytes]().union(*(imported(text) for _, text in counting))
    return sorted(found | {name for name in others if _module(PurePath(name)) in wanted})


def _module(path: PurePath) -> bytes:
    return (path.parent.name if path.stem == "__init__" else path.stem).encode("utf-8", "surrogateescape")
