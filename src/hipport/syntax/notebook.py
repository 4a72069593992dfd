# SPDX-License-Identifier: Apache-2.0
"""Jupyter notebooks: JSON with cells of Python, which are one program.

Cells share their names, so the code cells are one Python source, one after the other. IPython's extensions of Python
appear in it as the calls that IPython makes of them: `!ls` is `get_ipython().system("ls")`. Such text is not in the
file, and is not edited. A cell in another language is left out.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from hipport.core.edits import Edit, Span
from hipport.core.group import Group
from hipport.core.source import BYTE_ORDER_MARK, Embedded, Source
from hipport.syntax.python_script import Python, compiles
from hipport.syntax.shell import Shell

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
# A character in a JSON string: an escaped surrogate pair, another escape, or a literal character.
_CHARACTER = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\\x80-\xff]+|[^\\]",
    re.DOTALL,
)

# IPython's extensions of Python.
_CELL_MAGIC = re.compile(rb"\s*%%(\w+|!)[^\r\n]*(?:\r?\n|\Z)")
_LINE_MAGIC = re.compile(rb"%(\w+)[ \t]*")
_COMMAND = re.compile(rb"(?:\\\r?\n|[^\r\n])*")
_ASSIGNED = re.compile(rb"[A-Za-z_][\w., \t\[\]]*=[ \t]*(?=[!%][^=])")
_HELP = re.compile(rb"\?\??[\w.*]+[ \t]*(?=[\r\n]|\Z)|%{0,2}[\w.*]+\?\??[ \t]*(?=[\r\n]|\Z)")
_BARE = re.compile(rb"(?:pip3?|conda|mamba|cd|mkdir|cp|mv|rm|cat)[ \t]+[A-Za-z./~-][^=\r\n]*(?=[\r\n]|\Z)")
#: Magics whose argument, or whose cell, is plain Python.
_RUNS_PYTHON = frozenset({b"time", b"timeit", b"prun", b"capture", b"python", b"python3", b"py"})
#: Magics whose argument, or whose cell, is for the shell.
_RUNS_SHELL = frozenset({b"system", b"sx"})
#: A cell that is a script for the shell: `%%bash`, `%%sh`, `%%script bash`, `%%sx`, `%%!`.
_SHELL_CELL = re.compile(
    rb"\s*%%(?:(?:bash|sh|system|sx|!)(?!\w)|script[ \t]+(?:-[\w-]+(?:[= \t]\w+)?[ \t]+)*(?:\S*/)?(?:env[ \t]+)?"
    rb"(?:ba|z|da)?sh(?![\w-]))"
)
_GIVEN_TO_SHELL = re.compile(
    rb"^[ \t]*(?:(?:[A-Za-z_][\w., \t\[\]]*=[ \t]*)?(?:!!?(?!=)|%(?:system|sx)[ \t]+)"
    rb"|%(?=(?:pip|conda|mamba|uv|cd)\b)|(?=(?:pip3?|conda|mamba)[ \t]+\w))"
    rb"((?:\\\r?\n|[^\r\n])+(?:\r?\n)?)",
    re.MULTILINE,
)
_TOKEN = re.compile(
    rb"(?P<comment>#[^\r\n]*)|(?P<long>'''|\"\"\")|(?P<short>'|\")|(?P<open>[(\[{])|(?P<close>[)\]}])"
    rb"|(?P<joined>\\\r?\n)|(?P<line>\r\n|\n|\r)|[^#'\"()\[\]{}\\\r\n]+|\\"
)
_STRINGS = {
    quote: re.compile(rb"(?:\\.|[^\\" + (b"\\r\\n" if len(quote) == 1 else b"") + rb"])*?" + quote, re.DOTALL)
    for quote in (b"'", b'"', b"'''", b'"""')
}


class _Unreadable(ValueError):
    """The text is not a notebook."""


@dataclass(frozen=True)
class _Cell:
    """A code cell: its number among all cells, its code, and where each byte of that begins and ends in the file."""

    number: int
    code: bytes
    begins: Sequence[int]
    ends: Sequence[int]
    #: The text between two strings of the source; None if the source is one string.
    between: bytes | None


@dataclass(frozen=True)
class Notebook(Source):
    """An .ipynb file: JSON with cells of Python in it."""

    group: ClassVar[Group] = Group.DOCUMENTS

    embeds: ClassVar[tuple[type[Source], ...]] = (Python,)

    @cached_property
    def _cells(self) -> tuple[_Cell, ...] | None:
        """The code cells; None if the text is not a notebook."""
        try:
            return tuple(_cells(self.text))
        except (_Unreadable, ValueError, IndexError, RecursionError):
            return None

    @cached_property
    def _laid(self) -> tuple[Embedded, int]:
        """The program, and the number of cells that are not in it."""
        layout = _Layout(self.text.isascii())
        unread = 0
        for cell in self._cells or ():
            pieces = _pieces(cell.code)
            if pieces is None:
                continue  # in another language, which the cell names
            text = b"".join(piece for piece, _, _ in pieces)
            if compiles(text):
                layout.add(cell, pieces)
            else:
                unread += 1
        return Embedded(Python(self.path, bytes(layout.text)), layout), unread

    @property
    def embedded(self) -> tuple[Embedded, ...]:
        """The program, if there is one."""
        program = self._laid[0]
        return (program,) if program.source.text else ()

    @cached_property
    def commands(self) -> Embedded:
        """The shell commands in cells: lines with `!`, `%pip` and similar magics, and cells of `%%bash`."""
        layout = _Layout(self.text.isascii())
        for cell in self._cells or ():
            pieces = _commands(cell.code)
            if pieces:
                layout.add(cell, pieces)
        return Embedded(Shell(self.path, bytes(layout.text)), layout)

    @cached_property
    def magics(self) -> tuple[tuple[str, str, Span, bytes], ...]:
        """The cell magics: the name, the rest of the line, the place of both, and the cell."""
        found = []
        for cell in self._cells or ():
            first = _CELL_MAGIC.match(cell.code)
            if first is not None:
                line = first.group().rstrip()
                start, end = cell.code.index(b"%%"), len(line)
                rest = line[first.end(1) :].decode("utf-8", "replace").strip()
                where = Span(cell.begins[start], cell.ends[end - 1])
                found.append((first[1].decode(errors="replace"), rest, where, cell.code[first.end() :]))
        return tuple(found)

    @cached_property
    def errors(self) -> int:
        """The number of cells that are not Python; a huge number if the text is not a notebook."""
        return len(self.text) + 1 if self._cells is None else self._laid[1]


class _Layout:
    """A mapping between the program of a notebook and its file."""

    def __init__(self, ascii_only: bool) -> None:
        self.ascii_only = ascii_only
        self.text = bytearray()
        self._begins: list[int] = []
        self._ends: list[int] = []
        #: For each byte of the program its cell, or -1 for text that is not in the file, and its offset in the cell's
        #: code.
        self._of: list[int] = []
        self._at: list[int] = []
        self._cells: list[_Cell] = []
        self._starts: list[int] = []

    def add(self, cell: _Cell, pieces: Sequence[tuple[bytes, int, int]]) -> None:
        """Add a cell: its pieces, each with its place in the cell's code."""
        self._starts.append(len(self.text))
        for text, start, end in pieces:
            if text == cell.code[start:end]:
                self._begins += cell.begins[start:end]
                self._ends += cell.ends[start:end]
                self._of += [len(self._cells)] * len(text)
                self._at += range(start, end)
            else:
                self._begins += [cell.begins[start]] * len(text)
                self._ends += [cell.ends[end - 1] if end > start else cell.begins[start]] * len(text)
                self._of += [-1] * len(text)
                self._at += [start] * len(text)
            self.text += text
        # Each cell begins on a line of its own.
        end = cell.begins[-1]
        self.text += b"\n"
        self._begins.append(end)
        self._ends.append(end)
        self._of.append(-1)
        self._at.append(len(cell.code))
        self._cells.append(cell)

    def span(self, span: Span) -> Span:
        begins = [*self._begins[span.start : span.start + 1], *self._begins[-1:]][0]
        return Span(begins, max(begins, self._ends[span.end - 1])) if len(span) else Span(begins, begins)

    def place(self, offset: int) -> str:
        index = max(0, bisect_right(self._starts, offset) - 1)
        cell = self._cells[index]
        line = cell.code.count(b"\n", 0, bisect_left(cell.begins, self._begins[offset])) + 1
        return f"cell {cell.number}, line {line}"

    def edit(self, edit: Edit) -> Edit | None:
        start, end, new = edit.span.start, edit.span.end, edit.new
        index = bisect_right(self._starts, start) - 1
        if index < 0:
            return None
        last = self._starts[index + 1] - 1 if index + 1 < len(self._starts) else len(self.text) - 1
        if end == last + 1 and start <= last:
            # A line includes its end, but the last line of a cell has none in the file.
            if new and not new.endswith(b"\n"):
                return None
            end, new = last, new.removesuffix(b"\n")
            if new.endswith(b"\r"):
                return None
        around = {*self._of[start:end]} if start < end else {*self._of[max(0, start - 1) : start + 1]}
        if end > last or start > last or (around and index not in around):
            return None
        if start < end and (around != {index} or self._at[end - 1] - self._at[start] != end - 1 - start):
            return None
        # At the first character of a string, not after the last character of the string before; but not beyond text
        # that is not in the program.
        stop = self._begins[end]
        if start < end and self._at[end] != self._at[end - 1] + 1:
            stop = self._ends[end - 1]
        cell = self._cells[index]
        text = json.dumps(new.decode("utf-8"), ensure_ascii=self.ascii_only)[1:-1].encode("utf-8")
        if cell.between is not None:
            # One string for each line, like the others.
            at_end = stop == cell.begins[-1]
            parts = re.findall(rb"(?:\\.|[^\\])*?\\n|(?:\\.|[^\\])+", text)
            if parts and parts[-1].endswith(b"\\n") and not at_end:
                parts.append(b"")
            if parts and self._begins[start] == cell.begins[-1] and cell.code.endswith(b"\n"):
                parts.insert(0, b"")
            text = (b'"' + cell.between + b'"').join(parts)
        return Edit(Span(self._begins[start], stop), text, edit.on_top)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Yield key, beginning and end of the value, for each member of the JSON object at `at`."""
    if text[at] != "{":
        raise _Unreadable
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] != ":":
            raise _Unreadable
        begin = _skip(text, at + 1)
        _, end = _DECODER.raw_decode(text, begin)
        yield key, begin, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _items(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield beginning and end of each item of the JSON array at `at`."""
    if text[at] != "[":
        raise _Unreadable
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _cells(file: bytes) -> Iterator[_Cell]:
    """Yield the Python code cells of a notebook. Raises ValueError and IndexError for other text."""
    # One character for each byte, so that places in both agree; JSON's own signs are ASCII.
    text = file.decode("latin-1")
    begin = _skip(text, len(BYTE_ORDER_MARK) if file.startswith(BYTE_ORDER_MARK) else 0)
    # The whole text must be JSON.
    _, end = _DECODER.raw_decode(text, begin)
    if _skip(text, end) != len(text):
        raise _Unreadable
    members = {key: (start, stop) for key, start, stop in _members(text, begin)}
    if not _in_python(text[slice(*members["metadata"])] if "metadata" in members else "{}"):
        return
    lists = [members["cells"][0]] if "cells" in members else []
    if "worksheets" in members:  # up to format 3
        for sheet, _ in _items(text, members["worksheets"][0]):
            lists += [start for key, start, _ in _members(text, sheet) if key == "cells"]
    number = 0
    for each in lists:
        for at, _ in _items(text, each):
            number += 1
            parts = {key: (start, stop) for key, start, stop in _members(text, at)}
            if "cell_type" not in parts or text[slice(*parts["cell_type"])] != '"code"':
                continue
            source = parts.get("source") or parts.get("input")
            if source is not None and (cell := _cell(file, text, number, source)) is not None:
                yield cell


def _in_python(metadata: str) -> bool:
    known = json.loads(metadata)
    for key, name in (("kernelspec", "language"), ("language_info", "name")):
        said = known.get(key)
        if isinstance(said, dict) and isinstance(said.get(name), str):
            return "python" in said[name].lower()
    return True


def _cell(file: bytes, text: str, number: int, source: tuple[int, int]) -> _Cell | None:
    """Return the cell with that source; None if it is empty or not text."""
    between = None
    if text[source[0]] == "[":
        strings = list(_items(text, source[0]))
        between = file[strings[0][1] : strings[1][0]] if len(strings) > 1 else None
        if between is None and strings:
            between = b"," + (file[source[0] + 1 : strings[0][0]] or b" ")
    else:
        strings = [source]
    code = bytearray()
    begins: list[int] = []
    ends: list[int] = []
    for begin, end in strings:
        if text[begin] != '"':
            return None
        for match in _CHARACTER.finditer(file, begin + 1, end - 1):
            part = match.group()
            start, stop = match.span()
            if part[:1] != b"\\":
                code += part
                if len(part) > 1 or part < b"\x80":
                    begins += range(start, stop)
                    ends += range(start + 1, stop + 1)
                elif part >= b"\xc0" or not begins:
                    begins.append(start)
                    ends.append(stop)
                else:  # a character of several bytes is one character
                    begins.append(begins[-1])
                    ends.append(stop)
                continue
            try:
                character = json.loads(b'"' + part + b'"').encode("utf-8")
            except UnicodeEncodeError:
                return None  # half of a surrogate pair
            code += character
            begins += [start] * len(character)
            ends += [stop] * len(character)
    if not code:
        return None
    return _Cell(number, bytes(code), (*begins, strings[-1][1] - 1), ends, between)


def _commands(code: bytes) -> list[tuple[bytes, int, int]]:
    """Return the commands in a cell, each with its place in `code`."""
    first = _CELL_MAGIC.match(code)
    if first is not None and first[1] not in _RUNS_PYTHON:
        start = first.end()
        return [(code[start:], start, len(code))] if _SHELL_CELL.match(code) and code[start:] else []
    found = []
    for match in _GIVEN_TO_SHELL.finditer(code):
        found.append((match[1], match.start(1), match.end(1)))
        if not match[1].endswith(b"\n"):
            found.append((b"\n", match.end(1), match.end(1)))
    return found


def _pieces(code: bytes) -> list[tuple[bytes, int, int]] | None:
    """Return a cell's Python in pieces, each with its place in `code`; None if the cell is not in Python."""
    found: list[tuple[bytes, int, int]] = []
    at = kept = depth = 0
    first = _CELL_MAGIC.match(code)
    if first is not None:
        if first[1] not in _RUNS_PYTHON:
            return None
        at = kept = first.end()
    fresh = True
    while at < len(code):
        if fresh and not depth:
            indent = re.compile(rb"[ \t]*").match(code, at)
            assert indent is not None
            said = _call(code, indent.end())
            if said is not None:
                call, start, end = said
                found += [(code[kept:start], kept, start), (call, start, end)]
                at = kept = end
                fresh = False
                continue
        fresh = False
        match = _TOKEN.match(code, at)
        assert match is not None
        at = match.end()
        if match["long"] or match["short"]:
            string = _STRINGS[match.group()].match(code, at)
            at = string.end() if string is not None else len(code) if match["long"] else at
        elif match["open"]:
            depth += 1
        elif match["close"]:
            depth = max(0, depth - 1)
        elif match["line"]:
            fresh = True
    found.append((code[kept:], kept, len(code)))
    return [piece for piece in found if piece[0] or piece[1] < piece[2]]


def _call(code: bytes, at: int) -> tuple[bytes, int, int] | None:
    """Return the call that IPython makes of a line that is not Python, and its span; None for a line of Python."""
    assigned = _ASSIGNED.match(code, at)
    start = assigned.end() if assigned is not None else at
    if not assigned and (helped := _HELP.match(code, at)) and code[at : helped.end()].strip(b"?%"):
        return b"pass", at, helped.end()
    match code[start : start + 1]:
        case b"!":
            command = _COMMAND.match(code, start)
            assert command is not None
            text = command.group().lstrip(b"!").strip()
            name = "getoutput" if assigned else "system"
            return _called(name, text), start, command.end()
        case b"%":
            magic = _LINE_MAGIC.match(code, start)
            if magic is None:
                return None
            rest = _COMMAND.match(code, magic.end())
            assert rest is not None
            if magic[1] in _RUNS_SHELL and rest.group().strip():
                # The call returns the output, assigned or not.
                return _called("getoutput", rest.group().strip()), start, rest.end()
            if magic[1] in _RUNS_PYTHON and rest.group().strip() and not rest.group().startswith(b"-"):
                return b"", start, magic.end()
            return _called("run_line_magic", magic[1], rest.group().strip()), start, rest.end()
    bare = _BARE.match(code, at) if not assigned else None
    return (_called("system", bare.group().strip()), at, bare.end()) if bare else None


def _called(name: str, *arguments: bytes) -> bytes:
    given = ", ".join(repr(argument.decode("utf-8", "replace")) for argument in arguments)
    return f"get_ipython().{name}({given})".encode()
