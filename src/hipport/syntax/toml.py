# SPDX-License-Identifier: Apache-2.0
"""TOML files: the place of each string in the text, and its key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hipport.core.edits import Span
from hipport.core.source import BYTE_ORDER_MARK, Source
from hipport.core.tables import TOMLDecodeError, parse

_SPACE = re.compile(rb"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(rb"[ \t]*")
_KEY = re.compile(rb"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(
    rb'"""(?:[^\\]|\\.)*?"""(?:""?(?!"))?|\'\'\'.*?\'\'\'(?:\'\'?(?!\'))?|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_OTHER = re.compile(rb"[^,\]\}\n#]+")

Path = tuple[str | int, ...]


class _Unread(Exception):
    """This reader cannot read the text; the file is left alone."""


@dataclass(frozen=True)
class TomlEntry:
    """A string: its keys from the root (numbers count items of arrays), its text, and its place with quotes.

    `key` is where its line `key = …` starts.
    """

    path: Path
    value: str
    span: Span
    key: int

    def inside(self, start: int, end: int) -> Span:
        """Return where characters `start` to `end` of `value` are; only for a string that `is_plain`."""
        return Span(self.span.start + 1 + start, self.span.start + 1 + end)


@dataclass(frozen=True)
class Toml(Source):
    """A TOML file."""

    @cached_property
    def document(self) -> dict[str, Any] | None:
        """The value of the file, or None if it is not TOML."""
        try:
            return parse(self.text.decode("utf-8-sig"))
        except (TOMLDecodeError, UnicodeDecodeError, RecursionError):
            return None

    @property
    def errors(self) -> int:
        """1 if the text is not TOML, else 0."""
        return 0 if self.document is not None else 1

    @cached_property
    def entries(self) -> tuple[TomlEntry, ...]:
        """The strings, in the order of the text; empty if their places are not certain."""
        if self.document is None:
            return ()
        try:
            found = tuple(_Reader(self.text).read())
        except (_Unread, RecursionError, IndexError, ValueError):
            return ()
        # The strings that were read must be those that tomllib finds in the same text.
        wanted = sorted(_strings(self.document, ()), key=repr)
        return found if sorted(((e.path, e.value) for e in found), key=repr) == wanted else ()

    def is_plain(self, entry: TomlEntry) -> bool:
        """Say whether a string is on one line and has no escapes, so that offsets in it and in the file agree."""
        return self[entry.span][1:-1] == entry.value.encode("utf-8") and entry.value.isascii()


def _strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _strings(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _strings(each, (*path, number))


class _Reader:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
        self.counts: dict[Path, int] = {}

    def read(self) -> Iterator[TomlEntry]:
        table: Path = ()
        while True:
            self._skip(_SPACE)
            if self.at >= len(self.text):
                return
            if self._take(b"[["):
                table = self._resolved(self._keys())
                self.counts[table] = self.counts.get(table, -1) + 1
                table = (*table, self.counts[table])
                self._expect(b"]]")
            elif self._take(b"["):
                table = self._resolved(self._keys())
                self._expect(b"]")
            else:
                start = self.at
                path = (*table, *self._keys())
                self._expect(b"=")
                yield from self._value(path, start)

    def _resolved(self, keys: Path) -> Path:
        """Return the path of a table, which enters the last item of each array of tables on the way."""
        path: Path = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self.counts:
                path = (*path, self.counts[path])
        return (*path, keys[-1])

    def _value(self, path: Path, key: int) -> Iterator[TomlEntry]:
        self._skip(_BLANK)
        character = self.text[self.at : self.at + 1]
        if character in (b'"', b"'"):
            match = _STRING.match(self.text, self.at)
            if match is None:
                raise _Unread
            self.at = match.end()
            value = parse("v = " + match.group().decode("utf-8"))["v"]
            yield TomlEntry(path, value, Span(*match.span()), key)
        elif character == b"[":
            self.at += 1
            number = 0
            while True:
                self._skip(_SPACE)
                if self._take(b"]"):
                    return
                yield from self._value((*path, number), key)
                number += 1
                self._skip(_SPACE)
                if not self._take(b","):
                    self._expect(b"]")
                    return
        elif character == b"{":
            self.at += 1
            while True:
                self._skip(_SPACE)
                if self._take(b"}"):
                    return
                inner = (*path, *self._keys())
                self._expect(b"=")
                yield from self._value(inner, key)
                self._skip(_SPACE)
                if not self._take(b","):
                    self._expect(b"}")
                    return
        else:
            match = _OTHER.match(self.text, self.at)
            if match is None:
                raise _Unread
            self.at = match.end()

    def _keys(self) -> Path:
        keys: list[str] = []
        while True:
            self._skip(_BLANK)
            match = _KEY.match(self.text, self.at)
            if match is None:
                raise _Unread
            self.at = match.end()
            text = match.group().decode("utf-8")
            keys.append(parse(f"v = {text}")["v"] if text[0] in "\"'" else text)
            self._skip(_BLANK)
            if not self._take(b"."):
                return tuple(keys)

    def _skip(self, pattern: re.Pattern[bytes]) -> None:
        match = pattern.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _take(self, token: bytes) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def _expect(self, token: bytes) -> None:
        self._skip(_BLANK)
        if not self._take(token):
            raise _Unread
