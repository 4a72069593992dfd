# SPDX-License-Identifier: Apache-2.0
"""Bytes, and changes to them.

A file is a `Source`; applying edits gives a new `Source` that remembers the one it came from, so that every later
finding can be reported at the line the user wrote. Code in another language inside a file is a `Source` of its own,
`Embedded` in the file.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import PurePath
from typing import Any, ClassVar, Protocol, TypeVar

from hipport.core.edits import Conflict, Edit, Span
from hipport.core.edits import place as _place
from hipport.core.facts import Facts
from hipport.core.finding import Certainty, Finding
from hipport.core.group import Group

#: The byte-order mark that a file may begin with. It belongs to no line, and readers skip it.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_LINE_END = re.compile(rb"\r?\n")
#: The end of a line, where a lone carriage return ends one too.
ANY_LINE_END = re.compile(rb"\r\n|\n|\r")


SourceT = TypeVar("SourceT", bound="Source")
T = TypeVar("T")


@dataclass(frozen=True)
class Source(Facts):
    """The bytes of one file, and the edits that made them.

    `before` and `edits` say which text these bytes were made from; both are empty for a file as it was read.
    Whatever a subclass derives from the text is cached on the instance and dropped when it is pickled.
    """

    path: PurePath
    text: bytes
    before: Source | None = field(default=None, repr=False)
    edits: tuple[Edit, ...] = field(default=(), repr=False)

    def __getitem__(self, span: Span) -> bytes:
        return self.text[span.start : span.end]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("path", "text", "before", "edits")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.carry(state)

    def forget(self) -> None:
        """Drop everything that was derived from the text; it is derived again on demand."""
        self.drop(self.__getstate__())

    #: The group of a finding in this kind of file; by default the packages and environment that a program runs with.
    group: ClassVar[Group] = Group.PACKAGES

    #: Facts that are still needed after a text was edited: its lines, and its origin.
    lasting: ClassVar[tuple[str, ...]] = ("_line_starts", "_written")

    def settle(self) -> None:
        """Drop what was derived from the text, except facts that are needed after it was edited."""
        self.drop((*self.__getstate__(), *self.lasting))

    #: Facts that follow from the text alone, and that nothing adds to: what its parser reads.
    parsed: ClassVar[tuple[str, ...]] = ()

    def read_again(self: SourceT) -> SourceT:
        """Return the same text as a run reads it that begins with it.

        Facts are dropped, because passes add to some of them while they decide; what follows from the text alone stays.
        """
        result = replace(self)
        result.carry(self.known(*self.lasting, *self.parsed))
        return result

    def steps_from(self, before: Source) -> tuple[tuple[Edit, ...], ...]:
        """Return the edits that led from `before` to this text, step by step; empty if `before` is not an ancestor."""
        steps: list[tuple[Edit, ...]] = []
        step: Source = self
        while step.before is not None and step.text != before.text:
            steps.append(step.edits)
            step = step.before
        return tuple(reversed(steps)) if step.text == before.text else ()

    def apply(self: SourceT, edits: Iterable[Edit]) -> SourceT:
        """Return the source with `edits` made. Raises Conflict; with no edits, returns itself."""
        ordered: list[Edit] = []
        pieces: list[bytes] = []
        done = 0
        previous: Edit | None = None
        for edit in sorted(edits, key=_place):
            span = edit.span
            if edit == previous:
                continue
            if span.end > len(self.text):
                raise Conflict(f"{self.path}: {edit} lies outside the text of {len(self.text)} bytes")
            # Of two equal spans that survive de-duplication, both replace or both insert.
            apart = previous is None or span.start >= previous.span.end
            if previous is not None and span == previous.span:
                apart = not len(span) and previous.on_top and not edit.on_top
            if not apart:
                raise Conflict(f"{self.path}: {previous} and {edit} conflict")
            pieces += (self.text[done : span.start], edit.new)
            done = span.end
            previous = edit
            ordered.append(edit)
        if not ordered:
            return self
        pieces.append(self.text[done:])
        return replace(self, text=b"".join(pieces), before=self, edits=tuple(ordered))

    @property
    def beginning(self) -> int:
        """The offset of the first line: behind a byte-order mark, or several, which joined files may have."""
        at = 0
        while self.text.startswith(BYTE_ORDER_MARK, at):
            at += len(BYTE_ORDER_MARK)
        return at

    @property
    def first(self) -> Source:
        """The source as it was read."""
        source: Source = self
        while source.before is not None:
            source = source.before
        return source

    def origin(self, span: Span) -> Span:
        """Return where `span` of this text was in the file as it was read.

        Text that an edit wrote comes from the whole span that the edit replaced: a span that starts in it starts
        where that span starts, and one that ends in it ends where that span ends.
        """
        source: Source = self
        while source.before is not None:
            span = source._origin_before(span)
            source = source.before
        return span

    def line_read(self, offset: int) -> int:
        """Return the line of a byte in the file as it was read, for messages: this text may have other lines."""
        return self.first.position(self.origin(Span(offset, offset + 1)).start)[0]

    @cached_property
    def _written(self) -> tuple[list[int], list[int]]:
        """For each edit, where the text that it wrote starts and ends in this text."""
        starts: list[int] = []
        ends: list[int] = []
        shift = 0
        for edit in self.edits:
            starts.append(edit.span.start + shift)
            ends.append(starts[-1] + len(edit.new))
            shift += len(edit.new) - len(edit.span)
        return starts, ends

    def _origin_before(self, span: Span) -> Span:
        starts, ends = self._written
        # The last edit whose text starts at or before the start of the span, which is inside that text or after it.
        i = bisect_right(starts, span.start) - 1
        if i < 0:
            start = span.start
        elif span.start < ends[i]:
            start = self.edits[i].span.start
        else:
            start = span.start - ends[i] + self.edits[i].span.end
        if not len(span):
            inside = i >= 0 and starts[i] < span.start < ends[i]
            return self.edits[i].span if inside else Span(start, start)
        # The first edit whose text ends at or after the end of the span, which is inside that text or before it.
        j = bisect_left(ends, span.end)
        if j < len(self.edits) and starts[j] < span.end:
            end = self.edits[j].span.end
        elif j == 0:
            end = span.end
        else:
            end = span.end - ends[j - 1] + self.edits[j - 1].span.end
        return Span(start, max(start, end))

    @cached_property
    def _line_starts(self) -> Sequence[int]:
        lines = self.text.splitlines(keepends=True)
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            lines.pop()
        # Kept for every file: an array takes an eighth of the memory of a list.
        return array("I", [0, *accumulate(map(len, lines))])

    def line_start(self, offset: int) -> int:
        """Return where the line of `offset` starts, by the line ends of this language."""
        start = self.text.rfind(b"\n", 0, offset) + 1
        return start if self.line_end is _LINE_END else self.text.rfind(b"\r", start, offset) + 1 or start

    def indent(self, offset: int) -> bytes | None:
        """Return the indentation of the line up to `offset`; None if other text precedes `offset`."""
        start = self.line_start(offset)
        return self.text[start:offset] if not self.text[start:offset].strip() else None

    def position(self, offset: int) -> tuple[int, int]:
        """Return (line, column) of a byte, both from 1; the column counts bytes, as compilers do."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return the byte at `line` and `column` (both from 1), or the nearest one on that line."""
        starts = self._line_starts
        if line > len(starts):
            return len(self.text)
        end = starts[line] if line < len(starts) else len(self.text)
        return min(starts[line - 1] + column - 1, end)

    def line(self, number: int) -> bytes:
        """Return line `number` (from 1) without its line ending; empty past the end."""
        starts = self._line_starts
        if number > len(starts):
            return b""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip(b"\r\n")

    def quoted(self, offset: int) -> bool:
        """Whether the byte is known to be inside a string. The base class knows no strings."""
        return False

    #: The end of a line in this language: in few, a lone carriage return ends one.
    line_end: ClassVar[re.Pattern[bytes]] = _LINE_END

    @cached_property
    def newline(self) -> bytes:
        """The line ending for inserted lines: the first one in the file, or a line feed.

        A lone carriage return is used only if the file has no other line ending.
        """
        match = _LINE_END.search(self.text) or self.line_end.search(self.text)
        return match.group() if match else b"\n"

    @property
    def errors(self) -> int:
        """The number of places that the parser of the language does not understand."""
        return 0

    @classmethod
    def prepare(cls) -> None:
        """Load the parser of this language, so that forked processes share it."""

    #: The languages of code that is embedded in files of this one.
    embeds: ClassVar[tuple[type[Source], ...]] = ()

    @property
    def embedded(self) -> tuple[Embedded, ...]:
        """The embedded code in other languages."""
        return ()

    def reads_the_same(self, result: Source) -> bool:
        """Say whether text outside the edits is lexed as before: no string or comment ends elsewhere."""
        return True

    def harmless(self, edit: Edit) -> bool:
        """Say whether `edit` provably leaves `errors` as it is, so that nothing has to be parsed again."""
        return False

    def same_shape(self, edits: Sequence[Edit]) -> bool:
        """Say whether `edits` keep the shape of the text. This replaces `errors` for a text that already has errors.

        There, the parse of one place depends on all others, so the number of errors means nothing.
        """
        return False


class Layout(Protocol):
    """A mapping between code and the file that contains it."""

    def span(self, span: Span) -> Span:
        """Return the span in the file of the code at `span`."""
        ...

    def edit(self, edit: Edit) -> Edit | None:
        """Return the edit of the file that makes `edit` of the code; None if there is none."""
        ...

    def place(self, offset: int) -> str:
        """Describe the place of the code at `offset`, as users see the file."""
        ...


@dataclass(frozen=True)
class Embedded:
    """Code inside a file, as a source of its own, and its layout in the file."""

    source: Source
    layout: Layout

    def carried(self, finding: Finding) -> Finding:
        """Return a finding in the code as a finding in the file.

        If its edits cannot be made there, the finding becomes MANUAL.
        """
        message = f"{finding.message} ({self.layout.place(finding.span.start)})"
        span = self.layout.span(finding.span)
        edits = [self.layout.edit(edit) for edit in finding.edits]
        made = tuple(edit for edit in edits if edit is not None)
        if len(made) < len(edits):
            message += "; hipport cannot edit it in this form; change it by hand"
            return Finding(span, finding.kind, message, (), Certainty.MANUAL)
        return replace(finding, span=span, message=message, edits=made)
