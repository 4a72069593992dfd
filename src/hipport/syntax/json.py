# SPDX-License-Identifier: Apache-2.0
"""JSON, also with the comments and trailing commas that editors allow, with the places of strings and members."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from hipport.core.edits import Span
from hipport.core.group import Group
from hipport.core.source import Source

_STRING = rb'"(?:[^"\\\n]|\\.)*"'
_LINE, _BLOCK = rb"//[^\r\n]*(?:\r?\n|\r|\Z)", rb"/\*(?:(?!\*/).)*\*/"
_APART = re.compile(
    rb"(?P<string>" + _STRING + rb")|//[^\r\n]*|" + _BLOCK + rb"|,(?=(?:\s|" + _LINE + rb"|" + _BLOCK + rb")*[\]}])",
    re.DOTALL,
)
_SIGN = re.compile(rb"\s*(?:(?P<string>" + _STRING + rb")|(?P<sign>[{}\[\]:,])|(?P<other>[^\s{}\[\]:,\"]+))")

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class JsonEntry:
    """A member of an object or an item of an array: its keys from the root, and the place of its value.

    Numbers count items. `value` is the text of a string, None for any other value. `span` is a string with its quotes,
    or the opening sign of an object or array; `key` is the place of a member's name, or of an item's value.
    """

    path: Path
    value: str | None
    span: Span
    key: Span


@dataclass(frozen=True)
class Json(Source):
    """A JSON file, perhaps with comments."""

    @cached_property
    def _bare(self) -> bytes:
        """The text with comments and trailing commas blanked."""
        return _APART.sub(lambda match: match["string"] or b" " * len(match.group()), self.text)

    @cached_property
    def document(self) -> Any:
        """The value of the file, or None when it is not JSON."""
        try:
            return json.loads(self._bare.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return None

    @property
    def errors(self) -> int:
        """1 when the text is not JSON, else 0."""
        return 0 if self.document is not None else 1

    @cached_property
    def entries(self) -> tuple[JsonEntry, ...]:
        """The members and items, in the order of the text. Of duplicate members, the last, as in other readers."""
        found = tuple(self._entries()) if self.document is not None else ()
        last = {each.path: number for number, each in enumerate(found)}
        if len(last) == len(found):
            return found
        return tuple(
            each
            for number, each in enumerate(found)
            if all(last[each.path[: length + 1]] <= number for length in range(len(each.path)))
        )

    def _entries(self) -> Iterator[JsonEntry]:
        # For each enclosing object and array: its path, and the number of the next item, or None in an object.
        around: list[tuple[Path, int | None]] = []
        name: tuple[str, Span] | None = None
        at = self.beginning
        while match := _SIGN.match(self._bare, at):
            at = match.end()
            sign = match["sign"]
            if sign in (b":", b","):
                if sign == b"," and around[-1][1] is not None:
                    around[-1] = (around[-1][0], around[-1][1] + 1)
                continue
            if sign in (b"}", b"]"):
                around.pop()
                continue
            span = Span(*match.span("string" if match["string"] else "sign" if sign else "other"))
            said = json.loads(match["string"]) if match["string"] else None
            if around and around[-1][1] is None and name is None:
                assert said is not None
                name = said, span
                continue
            path: Path = ()
            key = span
            if around:
                path, number = around[-1]
                if number is None:
                    assert name is not None
                    path, key = (*path, name[0]), name[1]
                else:
                    path = (*path, number)
                yield JsonEntry(path, said, span, key)
            name = None
            if sign == b"{":
                around.append((path, None))
            elif sign == b"[":
                around.append((path, 0))

    def is_plain(self, entry: JsonEntry) -> bool:
        """Say whether a string is written without escapes."""
        return entry.value is not None and self[entry.span][1:-1] == entry.value.encode("utf-8")


@dataclass(frozen=True)
class Devcontainer(Json):
    """The container that an editor runs in: devcontainer.json."""


@dataclass(frozen=True)
class CMakePresets(Json):
    """CMakePresets.json and CMakeUserPresets.json."""

    group: ClassVar[Group] = Group.BUILD
