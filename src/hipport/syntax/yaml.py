# SPDX-License-Identifier: Apache-2.0
"""YAML files that say how something is built or run: their keys and items with their places, line by line.

Flow mappings in braces, anchors and tags on one line are not parsed: such a value is text. That is enough to find keys
in the files that people write, and every place is one in the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hipport.core.edits import Span
from hipport.core.source import Source
from hipport.syntax.shell import Command, commands_in

_LINE = re.compile(
    rb"(?P<indent>[ ]*)(?P<dashes>(?:-[ ]+|-(?=\r?$))*)"
    rb"(?:(?P<key>\"[^\"\n]*\"|'[^'\n]*'|[^\s#:,{}\[\]&*!|>'\"%@`-][^\s:,{}\[\]]*|<<)[ ]*:(?=[ \r]|$))?"
    rb"[ ]*(?P<value>[^\r\n]*?)[ ]*\r?$"
)
_BLOCK = re.compile(rb"(?:[&!]\S+[ ]+)*[|>][0-9+-]*(?:[ ]+#.*)?")
_COMMENT = re.compile(rb"(?:^|[ ])#.*$")
#: Keys of workflows whose values are shell scripts.
_SCRIPTS = frozenset(("run", "script", "before_script", "after_script", "before_install", "install", "command"))


@dataclass(frozen=True)
class YamlEntry:
    """A key with its value, or an item of a list without a key.

    `keys` is the path of enclosing keys, with an empty key for each item. `value` is its text without quotes and
    comment, or all lines of a block (`|`). `span` is from the key, or the value, to the end of everything below it.
    """

    key: str
    keys: tuple[str, ...]
    value: Span
    span: Span
    #: the indentation of the key
    indent: int
    #: where the line starts
    line: int
    block: bool = False


@dataclass(frozen=True)
class Yaml(Source):
    """A file in YAML."""

    parsed = ("entries",)

    @cached_property
    def entries(self) -> tuple[YamlEntry, ...]:
        """The keys and items, in their order."""
        return tuple(self._entries())

    def _entries(self) -> Iterator[YamlEntry]:
        found: list[tuple[str, tuple[str, ...], Span, int, int, int, bool]] = []
        above: list[tuple[int, str]] = []
        at = self.beginning
        while at < len(self.text):
            start, at = at, self._end(at)
            match = _LINE.match(self.text[start:at].rstrip(b"\r\n"))
            if match is None or not (match["dashes"] or match["key"]) or match["dashes"].startswith(b"---"):
                continue
            column = len(match["indent"])
            for dash in re.finditer(rb"-[ ]*", match["dashes"]):
                above = [each for each in above if each[0] < column or (each[0] == column and each[1])]
                above.append((column, ""))
                column += len(dash.group())
            key = (match["key"] or b"").strip(b"\"'").decode("utf-8", "replace")
            kept = [each for each in above if each[0] < column]
            above = kept if match["key"] else above
            text = match["value"]
            block = _BLOCK.fullmatch(text) is not None
            value = self._value(start + match.start("value"), text)
            if block:
                value = Span(at, at := self._block_end(at, column if match["key"] else column - 1))
            keys = tuple(name for _, name in (kept if match["key"] else above[:-1]))
            place = start + (match.start("key") if match["key"] else match.start("value"))
            found.append((key, keys, value, place, column if match["key"] else len(match["indent"]), start, block))
            if match["key"]:
                above.append((column, key))
        for i, (key, keys, value, place, column, line, block) in enumerate(found):
            last = value.end
            for k in range(i + 1, len(found)):
                other = found[k]
                if other[4] < column or (other[4] == column and other[3] > place and not (key and not other[0])):
                    break
                last = max(last, other[2].end)
            yield YamlEntry(key, keys, value, Span(place, max(last, place + len(key))), column, line, block)

    def _end(self, at: int) -> int:
        end = self.text.find(b"\n", at)
        return len(self.text) if end < 0 else end + 1

    def _block_end(self, at: int, column: int) -> int:
        end = at
        while at < len(self.text):
            start, at = at, self._end(at)
            line = self.text[start:at]
            if line.strip():
                if len(line) - len(line.lstrip(b" ")) <= column:
                    break
                end = at
        return end

    def _value(self, start: int, text: bytes) -> Span:
        if text[:1] in (b'"', b"'") and (end := text.find(text[:1], 1)) > 0:
            return Span(start + 1, start + end)
        comment = _COMMENT.search(text)
        bare = text[: comment.start()].rstrip() if comment else text
        return Span(start, start + len(bare))


@dataclass(frozen=True)
class Workflow(Yaml):
    """A workflow of continuous integration, of GitHub or others."""

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands that it gives to a shell, in order."""
        return tuple(
            command
            for each in self.entries
            if each.key in _SCRIPTS or (not each.key and set(each.keys) & _SCRIPTS)
            for command in commands_in(self.text, each.value)
        )


@dataclass(frozen=True)
class Compose(Yaml):
    """Containers and their base images: compose.yaml, and Cog's cog.yaml."""


@dataclass(frozen=True)
class Manifest(Yaml):
    """Settings of a cluster: manifests of Kubernetes, and values of Helm charts."""
