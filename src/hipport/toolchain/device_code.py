# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of device code as values: functions, their blocks and branches, and the places of their calls.

Only the needed facts are read: the calls in a block, its terminator, and the places of both in the sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from hipport.core.tables import load

#: The name of a function or of another global value.
NAME = re.compile(r'@("[^"]*"|[-\w.$]+)')
_TEXT = load(Path(__file__).with_suffix(".toml"))
_DEFINED, _LABEL, _TO, _ALWAYS, _CALL, _INDIRECT, _NUMBER, _AT = (
    re.compile(_TEXT[each]) for each in ("defined", "block", "to", "always", "call", "indirect", "number", "at")
)
_DESCRIBED = _TEXT["metadata"]
_METADATA = re.compile(_DESCRIBED, re.M)
_LINE, _COLUMN, _SCOPE, _INLINED, _FILE, _FILENAME, _DIRECTORY = (
    re.compile(_TEXT[each]) for each in ("line", "column", "scope", "inlined", "file", "filename", "directory")
)
#: The maximum number of inlined functions around a place that are followed.
_MOST_FRAMES = 200


class CompiledPlace(NamedTuple):
    """A place as the compiler reports it: a file, a line and a column from 1; 0 if there is none."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class CodeCall:
    """A call of the function `callee`, with its place and those of the calls it was inlined through, innermost first.

    `first` is the first argument if that is a number.
    """

    callee: str
    places: tuple[CompiledPlace, ...]
    first: int | None = None


@dataclass
class CodeBlock:
    """A block: its successors, its calls, and the place of its branch, if it has one.

    `indirect`: it has a call through a pointer.
    """

    following: tuple[int, ...] = ()
    calls: list[CodeCall] = field(default_factory=list)
    branch: tuple[CompiledPlace, ...] = ()
    indirect: bool = False


@dataclass(frozen=True)
class CodeFunction:
    """A function with a body: `first` is the line of `define` in the text, `last` that of `}`."""

    name: str
    kernel: bool
    first: int
    last: int


class CompiledDeviceCode:
    """The IR of one compilation of a unit, as text.

    With `-S -emit-llvm`, from clang or from opt, with line tables (`-gline-tables-only`).
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    @cached_property
    def functions(self) -> Mapping[str, CodeFunction]:
        """The functions that have a body, by name."""
        found: dict[str, CodeFunction] = {}
        first = 0
        for i, line in enumerate(self.lines):
            if line.startswith("define "):
                first = i
            elif line == "}":
                head = self.lines[first]
                defined = _DEFINED.match(head)
                if defined is not None:
                    name = defined[1].strip('"')
                    found[name] = CodeFunction(name, " amdgpu_kernel " in head, first, i)
        return found

    def mentioned(self, function: CodeFunction) -> frozenset[str]:
        """Return the functions and globals that a function mentions."""
        text = "\n".join(self.lines[function.first + 1 : function.last])
        return frozenset(name.strip('"') for name in NAME.findall(text))

    def blocks(self, function: CodeFunction) -> list[CodeBlock]:
        """Return the blocks of a function, the entry first."""
        labels: dict[str, int] = {}
        statements: list[list[str]] = []
        for line in self._statements(function):
            label = _LABEL.match(line)
            if label is not None:
                labels[label[1].strip('"')] = len(statements)
                statements.append([])
            elif line.startswith("  "):
                if not statements:
                    statements.append([])
                statements[-1].append(line)
        return [self._block(each, labels) for each in statements]

    def _statements(self, function: CodeFunction) -> Iterator[str]:
        """Yield the lines of a function; a `switch` becomes one line."""
        lines = iter(self.lines[function.first + 1 : function.last])
        for line in lines:
            if line.lstrip().startswith("switch ") and line.endswith("["):
                for more in lines:
                    line += " " + more.strip()
                    if more.lstrip().startswith("]"):
                        break
            yield line

    def _block(self, statements: list[str], labels: Mapping[str, int]) -> CodeBlock:
        block = CodeBlock()
        for line in statements:
            block.indirect |= _INDIRECT.search(line) is not None
            if (call := _CALL.search(line)) is not None:
                number = _NUMBER.match(line, call.end())
                first = int(number[1]) if number is not None else None
                block.calls.append(CodeCall(call[1].strip('"'), self._places(line), first))
        last = statements[-1].strip() if statements else ""
        if last.startswith(("br ", "switch ", "indirectbr ")):
            targets = [labels[label.strip('"')] for label in _TO.findall(last)]
            if always := _ALWAYS.match(last):
                targets = targets[:1] if always[1] == "true" else targets[1:]
            block.following = tuple(dict.fromkeys(targets))
            block.branch = self._places(last) if len(block.following) > 1 else ()
        return block

    def _places(self, line: str) -> tuple[CompiledPlace, ...]:
        at = _AT.search(line)
        found: list[CompiledPlace] = []
        number = int(at[1]) if at is not None else None
        while number is not None and len(found) < _MOST_FRAMES:
            kind, text = self._metadata.get(number, ("", ""))
            if kind != "DILocation":
                break
            row, column, scope = _LINE.search(text), _COLUMN.search(text), _SCOPE.search(text)
            file = self._file_of(int(scope[1])) if scope is not None else ""
            found.append(CompiledPlace(file, int(row[1]) if row else 0, int(column[1]) if column else 0))
            outer = _INLINED.search(text)
            number = int(outer[1]) if outer is not None else None
        return tuple(found)

    @cached_property
    def _metadata(self) -> Mapping[int, tuple[str, str]]:
        return {int(each[1]): (each[2], each[3]) for each in _METADATA.finditer(self.text)}

    @cached_property
    def _files(self) -> dict[int, str]:
        return {}

    def _file_of(self, scope: int) -> str:
        """Return the file of a debug scope."""
        if scope not in self._files:
            self._files[scope] = ""
            _, text = self._metadata.get(scope, ("", ""))
            file, outer = _FILE.search(text), _SCOPE.search(text)
            if file is not None:
                told = self._metadata.get(int(file[1]), ("", ""))[1]
                named, below = _FILENAME.search(told), _DIRECTORY.search(told)
                if named is not None:
                    self._files[scope] = str(Path(below[1] if below is not None else "") / named[1])
            elif outer is not None:
                self._files[scope] = self._file_of(int(outer[1]))
        return self._files[scope]
