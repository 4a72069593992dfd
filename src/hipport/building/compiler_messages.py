# SPDX-License-Identifier: Apache-2.0
"""clang's messages as values, at the places that the user knows.

A compiler reads a copy of the tree, after hipport's rewriting and PyTorch's hipify, and reports lines of that copy, or
of its own headers. `parse` reads its output; `SourcePlaces` maps places back to the lines that the user wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from os.path import normpath
from pathlib import Path, PurePath

from hipport.core import tables
from hipport.core.edits import Span
from hipport.core.reading import read_or_nothing
from hipport.core.source import Source

_KNOWN_FAULTS = Path(__file__).with_name("known_faults.toml")
_LOCATED = re.compile(
    r"(?P<path>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<severity>fatal error|error|warning|note|remark|internal compiler error): (?P<text>.*)"
)
_INCLUDED = re.compile(r"In file included from (?P<path>.+?):(?P<line>\d+)[:,]")
_BARE = re.compile(r"(?:(?P<tool>[\w.+/-]+): )?(?P<severity>fatal error|error|warning): (?P<text>.*)")
# The back end prints the place after the severity.
_BACKEND = re.compile(r"(?P<path>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<text>in function .*)")
_OPTION = re.compile(r" \[(?P<option>-W[^\]]+)\]$")
_COUNT = re.compile(r"\d+ (?:errors?|warnings?)(?: and \d+ errors?)? generated")

#: There may be hundreds of candidate overloads; more notes than this do not help.
_MOST_NOTES = 12


@dataclass(frozen=True, slots=True)
class Note:
    """A note that a compiler adds to a message; line 0 if it has no place."""

    path: PurePath
    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a compiler.

    `path` is relative to the tree's root for a file of the tree, else absolute; `line` and `column` count from 1, the
    column in bytes, and are 0 if there is no place. `severity` is `error`, `warning` or `remark`; `option` is the
    switch of a warning. If the compiler's own place is outside the tree, the message has the place in the tree that led
    there, and `at` has the compiler's.
    """

    path: PurePath
    line: int
    column: int
    severity: str
    text: str
    option: str = ""
    notes: tuple[Note, ...] = ()
    at: str = ""
    inside: bool = False
    included_from: tuple[Note, ...] = field(default=(), repr=False)


def parse(output: str, source: PurePath) -> tuple[Message, ...]:
    """Return the messages in the output of clang (or hipcc, or lld below it) without carets.

    Paths are as the compiler wrote them; a message without a place gets `source`.
    """
    messages: list[Message] = []
    stack: list[Note] = []
    for line in output.splitlines():
        if included := _INCLUDED.match(line):
            stack.append(Note(PurePath(included["path"]), int(included["line"]), 0, "included from here"))
        elif located := _LOCATED.fullmatch(line):
            where = PurePath(located["path"]), int(located["line"]), int(located["column"] or 0)
            if located["severity"] == "note":
                if messages and len(messages[-1].notes) < _MOST_NOTES:
                    messages[-1] = _with_note(messages[-1], Note(*where, located["text"]))
            else:
                messages.append(_message(*where, located["severity"], located["text"], tuple(reversed(stack))))
            stack = []
        elif line.startswith(">>> ") and messages:
            messages[-1] = _with_note(messages[-1], Note(source, 0, 0, line.removeprefix(">>> ")))
        elif (bare := _BARE.fullmatch(line)) and not _COUNT.match(line):
            text = bare["text"]
            if "too many errors" in text or ("command failed" in text and messages):
                continue
            if behind := _BACKEND.fullmatch(text):
                where = PurePath(behind["path"]), int(behind["line"]), int(behind["column"])
                messages.append(_message(*where, bare["severity"], behind["text"], ()))
            else:
                messages.append(_message(source, 0, 0, bare["severity"], text, ()))
    return tuple(messages)


def script_advice(problem: str) -> str:
    """Return what to do about the error of a setup.py; empty if it is not known."""
    rows = tables.load(_KNOWN_FAULTS)["script"]
    return next((str(row["advice"]) for row in rows if row["text"] in problem), "")


def _known_cause(message: Message) -> str:
    """Return the cause of an error in a header of others, and what to do; empty if it is not known."""
    for row in tables.load(_KNOWN_FAULTS)["fault"]:
        if message.text == row["text"] and message.path.as_posix().endswith(row["file"]):
            return str(row["advice"])
    return ""


def _message(
    path: PurePath, line: int, column: int, severity: str, text: str, included_from: tuple[Note, ...]
) -> Message:
    option = _OPTION.search(text)
    if severity == "internal compiler error":
        # The text alone ("in gimplify_expr, at gimplify.cc:1") does not say that the compiler is at fault.
        severity, text = "error", f"{severity}: {text}"
    return Message(
        path,
        line,
        column,
        "error" if severity == "fatal error" else severity,
        text[: option.start()] if option else text,
        option["option"] if option else "",
        included_from=included_from,
    )


def _with_note(message: Message, note: Note) -> Message:
    return replace(message, notes=(*message.notes, note))


@dataclass(frozen=True, slots=True)
class EmbeddedLines:
    """`count` lines from line `first`, which come from a string in `script` that begins on line `line`."""

    first: int
    count: int
    script: Path
    line: int


@dataclass(frozen=True)
class SourcePlaces:
    """The mapping from compiled files to those that the user wrote.

    Paths are relative to `root`. `copies` are copied folders, as {copy: original}; `made` maps each file that PyTorch's
    hipify made to its source; `embedded` are lines that come from a string in another file; `sources` are the files
    that hipport rewrote, by their paths.
    """

    root: Path
    copies: Mapping[Path, Path] = field(default_factory=dict)
    made: Mapping[Path, Path] = field(default_factory=dict)
    embedded: Mapping[Path, tuple[EmbeddedLines, ...]] = field(default_factory=dict)
    sources: Mapping[Path, Source] = field(default_factory=dict)

    def locate(self, path: PurePath, line: int, column: int, folder: Path) -> tuple[PurePath, int, int, bool]:
        """Return the origin of `path`:`line`:`column`, and whether it is in the tree.

        A relative path is one below `folder`, where the compiler ran.
        """
        absolute = Path(normpath(folder / path))
        before = self.made.get(absolute)
        if before is not None:
            line, column = self._aligned(before, absolute).place(line, column)
            absolute = before
        for stretch in self.embedded.get(absolute, ()):
            if stretch.first <= line < stretch.first + stretch.count:
                absolute, line = stretch.script, stretch.line + line - stretch.first
                break
        for copy, original in self.copies.items():
            if absolute.is_relative_to(copy):
                absolute = original / absolute.relative_to(copy)
        if not absolute.is_relative_to(self.root):
            return absolute, line, column, False
        source = self.sources.get(absolute)
        if source is not None and line:
            offset = source.offset(line, max(column, 1))
            line, column = source.first.position(source.origin(Span(offset, offset)).start)
        return absolute.relative_to(self.root), line, column, True

    def located(self, messages: Iterable[Message], folder: Path) -> tuple[Message, ...]:
        """Return `messages` at the user's places, without warnings that do not concern the tree."""
        return tuple(self._located(messages, folder))

    def _located(self, messages: Iterable[Message], folder: Path) -> Iterator[Message]:
        for message in messages:
            path, line, column, inside = self.locate(message.path, message.line, message.column, folder)
            notes = [self._note(note, folder) for note in message.notes]
            at = ""
            if not inside:
                # `requested here`, the nearest first, then the includes, the nearest first. A file that includes a
                # header of others is not responsible for warnings in it.
                led = notes
                if message.severity == "error":
                    led = [*notes, *(self._note(note, folder) for note in message.included_from)]
                mine = next((note for note, known in led if known and note.line), None)
                if mine is not None:
                    at = f"{path}:{line}:{column}"
                    path, line, column = mine.path, mine.line, mine.column
                    inside = True
                elif message.severity != "error":
                    continue
            kept = tuple(note for note, _ in notes)
            text = f"{message.text}: {why}" if at and (why := _known_cause(message)) else message.text
            yield replace(
                message,
                path=path,
                line=line,
                column=column,
                text=text,
                notes=kept,
                at=at,
                inside=inside,
                included_from=(),
            )

    def _note(self, note: Note, folder: Path) -> tuple[Note, bool]:
        path, line, column, inside = self.locate(note.path, note.line, note.column, folder)
        return Note(path, line, column, note.text), inside

    @cached_property
    def _alignments(self) -> dict[Path, Alignment]:
        return {}

    def _aligned(self, before: Path, after: Path) -> Alignment:
        if after not in self._alignments:
            self._alignments[after] = Alignment(_lines(before), _lines(after))
        return self._alignments[after]


@dataclass(frozen=True)
class Alignment:
    """Maps lines of a changed text to those of the text before."""

    before: tuple[str, ...]
    after: tuple[str, ...]

    @cached_property
    def _blocks(self) -> Sequence[tuple[str, int, int, int, int]]:
        # PyTorch's hipify inserts lines at the top and replaces words: then no search is necessary.
        shift = len(self.after) - len(self.before)
        if shift >= 0 and all(line.startswith(("// !!!", "#include")) for line in self.after[:shift]):
            size = len(self.before)
            return [("insert", 0, 0, 0, shift), ("replace", 0, size, shift, shift + size)]
        return SequenceMatcher(None, self.before, self.after, autojunk=False).get_opcodes()

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Return the place of `line`:`column` (from 1) of the changed text in the text before."""
        if not line:
            return line, column
        for _, before, before_end, after, after_end in self._blocks:
            if after <= line - 1 < after_end:
                was = min(before + line - 1 - after, max(before, before_end - 1))
                if was >= len(self.before):
                    break
                return was + 1, _column(self.before[was], self.after[line - 1], column)
        return max(1, len(self.before)), 1


def _column(before: str, after: str, column: int) -> int:
    if before == after or not column:
        return column
    for kind, start, end, now, now_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if now <= column - 1 < now_end:
            return (start + column - 1 - now if kind == "equal" else min(start, max(0, end - 1))) + 1
    return len(before) + 1


def _lines(path: Path) -> tuple[str, ...]:
    # Bytes as characters: columns count bytes.
    return tuple(read_or_nothing(path).decode("latin-1").split("\n"))
