# SPDX-License-Identifier: Apache-2.0
"""Findings on commands in a CMake script, and the branches of a command: one for HIP, one for CUDA.

A command can have several findings. Those that edit words in it are independent. Those that write lines around it
(`if(USE_HIP)`, a copy for HIP, `else()`, the command, `endif()`) are joined into one finding, because their edits would
conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.syntax.cmake_script import CMake, CMakeCommand
from hipport_passes.build_files.build_scripts.cmake_flags import FlagCopy


@dataclass
class BranchSaid:
    """A finding about a command, before findings that write lines around it are joined.

    `copy` holds the replacements in the copy for HIP, if there is one. `instead` are the lines that replace the
    command for HIP (none: it gets nothing). `after` are lines that follow the command.
    """

    span: Span
    kind: str
    message: str
    certainty: Certainty = Certainty.SAFE
    edits: tuple[Edit, ...] = ()
    instead: tuple[bytes, ...] | None = None
    after: tuple[bytes, ...] = ()
    copy: tuple[tuple[Span, bytes], ...] | None = None


def findings(source: CMake, command: CMakeCommand, all_said: Sequence[BranchSaid]) -> Iterator[Finding]:
    """Join the findings on a command: those that write lines around it become one."""
    said_all = [said for said in all_said if said.certainty is not Certainty.MANUAL]
    for said in all_said:
        if said.certainty is Certainty.MANUAL:
            yield Finding(said.span, said.kind, said.message, (), Certainty.MANUAL)
    # Where HIP has a command of its own, edits are made in that copy instead of the other one.
    copies = [said for said in said_all if said.copy is not None]
    several = [said for said in said_all if copies or said.instead is not None or said.after]
    for said in said_all:
        if said not in several:
            yield Finding(said.span, said.kind, said.message, said.edits, said.certainty)
    if not several:
        return
    first, *others = several
    for other in others:
        first.message += f"; {other.message}"
        first.certainty = max(first.certainty, other.certainty)
        first.after += other.after
        first.edits += other.edits
        first.instead = other.instead if first.instead is None else first.instead
    if copies:
        puts = [*(put for said in copies for put in said.copy or ()), *((edit.span, edit.new) for edit in first.edits)]
        first.instead = tuple(split(source, command, FlagCopy(puts=dict(puts)).text(source, command.span)))
        first.edits = ()
    edits = (*first.edits, *_lines(source, command, first))
    yield Finding(first.span, first.kind, first.message, edits, first.certainty)


def _lines(source: CMake, command: CMakeCommand, said: BranchSaid) -> Iterator[Edit]:
    start = command.span.start
    line = source.line_start(start)
    before = source.text[line:start]
    indent = before if not before.strip() else b""
    inner = indent + (b"\t" if indent.startswith(b"\t") else b"  ")
    newline = source.newline
    end = source.text.find(b"\n", command.span.end)
    end = len(source.text) if end < 0 else end
    if source.text[:end].endswith(b"\r"):
        end -= 1
    step = inner[len(indent) :]
    behind = [indent + (step + each[2:] if each.startswith(b"  ") else each) for each in said.after]
    if said.instead is not None:
        opening = [b"if(USE_HIP)", *(inner + each for each in said.instead), indent + b"else()"]
        if not said.instead:
            opening = [b"if(NOT USE_HIP)"]
        yield Edit(Span(start, start), newline.join([*opening, inner]))
        behind = [indent + b"endif()", *behind]
        # Continuation lines keep their indentation.
        for token in source.tokens_in(command.inner):
            if token.kind == "space" and (breaks := source[token.span].rfind(b"\n")) >= 0:
                at = token.span.start + breaks + 1
                yield Edit(Span(at, at), step)
    yield Edit(Span(end, end), b"".join(newline + each for each in behind))


def split(source: CMake, command: CMakeCommand, line: bytes) -> Iterator[bytes]:
    """Yield the lines of a copied command, without the indentation of its first line."""
    begin = source.line_start(command.span.start)
    indent = source.text[begin : command.span.start]
    for i, each in enumerate(line.split(b"\n")):
        bare = each.removesuffix(b"\r")
        yield bare.removeprefix(indent) if i else bare
