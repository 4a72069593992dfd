# SPDX-License-Identifier: Apache-2.0
"""Makefiles: logical lines, and the conditionals around them.

Lines are classified as in the manual of GNU make 4.4 (chapter "Writing Makefiles"). Nothing is expanded, so a line that
becomes a rule or an assignment only when make runs is `other`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from hipport.core.edits import Span
from hipport.core.group import Group
from hipport.core.source import Source
from hipport.syntax.enclosing import EnclosingBlock, around

_ASSIGNMENT = re.compile(
    rb"[ ]*(?:(?:export|override|private|unexport)[ \t]+)*(?P<name>[^\s:#=+?!$]+)[ \t]*(?P<op>:{0,3}=|\?=|\+=|!=)[ \t]*"
)
_FOR_TARGETS = re.compile(rb"[^\t#=][^#=]*?:{1,2}[ \t]*(?=[\w.-]+[ \t]*(?::|\+|\?)?=)")
_RULE = re.compile(rb"[^\t#=][^#=]*?::?(?!=)")
_DIRECTIVE = re.compile(rb"[ \t]*(?P<word>ifeq|ifneq|ifdef|ifndef|else|endif|define|endef|-?include|sinclude|vpath)\b")
_COMMENT = re.compile(rb"(?<!\\)#")


def without_references(text: bytes) -> bytes:
    """Return `text` with each `$(…)` and `${…}` replaced by a word of equal length, so that its colons do not count."""
    masked = bytearray(text)
    closing: list[int] = []
    for at, byte in enumerate(text):
        if closing and byte == closing[-1]:
            closing.pop()
        elif byte in b"({" and (closing or text[at - 1 : at] == b"$"):
            if closing:
                masked[at] = ord("x")
            closing.append(ord(")") if byte == ord("(") else ord("}"))
            continue
        if closing:
            masked[at] = ord("x")
    return bytes(masked)


@dataclass(frozen=True)
class MakeLine:
    """A logical line, with its continuation lines; `span` excludes the line end.

    `kind` is `assignment`, `recipe`, `rule`, `comment`, `blank`, `other`, `define` (also for lines inside one) or the
    directive itself: `ifeq`, `else`, `include` and so on. `value` is the value of an assignment, the command of a
    recipe, or the line.
    """

    kind: str
    span: Span
    value: Span
    name: str = ""
    operator: str = ""


@dataclass(frozen=True)
class Makefile(Source):
    """A makefile."""

    group: ClassVar[Group] = Group.BUILD
    parsed = ("_parsed",)

    @cached_property
    def _parsed(self) -> tuple[tuple[MakeLine, ...], dict[MakeLine, EnclosingBlock[MakeLine] | None], int]:
        lines: list[MakeLine] = []
        innermost: dict[MakeLine, EnclosingBlock[MakeLine] | None] = {}
        block: EnclosingBlock[MakeLine] | None = None
        wrong = defines = opened = 0
        in_rule = False
        for span in self._logical():
            line = self._line(span, bool(defines), in_rule)
            word = line.kind
            if word == "define" and not (defines and line.name != "define"):
                defines += 1
            elif word == "endef":
                wrong += not defines
                defines = max(0, defines - 1)
            if word == "endif":
                if block is not None:
                    block, opened = block.outer, opened - 1
                else:
                    wrong += 1
            elif word == "else":
                wrong += block is None
                if block is not None:
                    innermost[line] = block.outer
                    block = EnclosingBlock(line, block.first, block, block.outer)
            innermost.setdefault(line, block)
            if word in ("ifeq", "ifneq", "ifdef", "ifndef"):
                block, opened = EnclosingBlock(line, line, None, block), opened + 1
            if word == "rule":
                in_rule = True
            elif word in ("assignment", "other"):
                in_rule = False
            lines.append(line)
        return tuple(lines), innermost, wrong + opened + defines

    def _logical(self) -> Iterator[Span]:
        at = self.beginning
        while at < len(self.text):
            end = at
            while True:
                end = self.text.find(b"\n", end)
                if end < 0:
                    end = len(self.text)
                    break
                before = self.text[at:end].removesuffix(b"\r")
                if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
                    break
                end += 1
            line = self.text[at:end]
            # What is put behind the last line may begin with a line end.
            line = line.removesuffix(b"\r") if end < len(self.text) else line.rstrip(b"\r")
            yield Span(at, at + len(line))
            at = end + 1

    def _line(self, span: Span, in_define: bool, in_rule: bool) -> MakeLine:
        text = self[span]
        directive = _DIRECTIVE.match(text)
        word = directive["word"].decode() if directive else ""
        if in_define:
            if word in ("define", "endef"):
                return MakeLine(word, span, span, word)
            return MakeLine("define", span, span)
        if not text.strip():
            return MakeLine("blank", span, span)
        if text.startswith(b"\t") and in_rule:
            return MakeLine("recipe", span, Span(span.start + 1, span.end))
        if text.lstrip().startswith(b"#"):
            return MakeLine("comment", span, span)
        if directive and not _ASSIGNMENT.match(text):
            return MakeLine(word, span, span, word)
        start = 0
        plain = without_references(text)
        if for_targets := _FOR_TARGETS.match(plain):
            start = for_targets.end()
        assignment = _ASSIGNMENT.match(plain, start) or _ASSIGNMENT.match(plain.lstrip())
        if assignment is not None:
            begin = assignment.end() + (len(text) - len(text.lstrip()) if assignment.string is not plain else 0)
            comment = _COMMENT.search(text, begin)
            end = comment.start() if comment else len(text)
            end -= len(text[begin:end]) - len(text[begin:end].rstrip())
            value = Span(span.start + begin, span.start + max(begin, end))
            return MakeLine(
                "assignment", span, value, assignment["name"].decode("utf-8", "replace"), assignment["op"].decode()
            )
        if _RULE.match(plain) and not plain.lstrip().startswith(b"$("):
            return MakeLine("rule", span, span)
        if re.match(rb"\$[({]\w+[)}][^=]*:(?!=)", plain):
            return MakeLine("rule", span, span)
        return MakeLine("other", span, span)

    @property
    def lines(self) -> tuple[MakeLine, ...]:
        """The logical lines, in order."""
        return self._parsed[0]

    def around(self, line: MakeLine) -> tuple[tuple[MakeLine, ...], ...]:
        """Return the conditionals around `line`, the outermost first: `(ifeq,)`, or `(ifeq, else)`."""
        return around(self.block(line))

    def block(self, line: MakeLine) -> EnclosingBlock[MakeLine] | None:
        """Return the innermost conditional around `line`, without one that it begins or divides."""
        return self._parsed[1][line]

    @property
    def errors(self) -> int:
        """The number of conditionals and definitions without an end or a beginning."""
        return self._parsed[2]
