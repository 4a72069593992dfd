# SPDX-License-Identifier: Apache-2.0
"""Write launches in clang's form: join brackets, `k << <grid, block>> >(x)`, and replace grids and blocks in braces.

nvcc accepts `<< <` and `>> >` as the brackets of a launch. clang does not, and PyTorch's hipify does not recognize such
a launch. In C++ no operand starts with `<`, so `<< <` and `< <<` have no other meaning, except after `operator`. The
brackets decide where the launch ends: at the last `> > >` in front of an argument list, outside of parentheses, before
the statement (or the macro) ends or another launch begins.

A grid or block in braces, `k<<<{x, y}, 32>>>(x)`, is a `dim3` for nvcc and an error for clang. `dim3(x, y)` is the
same and, like nvcc, accepts numbers that braces would reject as narrowing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda import launch_closing, launch_openings

_PART = re.compile(rb"[()\[\]{},]")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per launch whose opening or closing bracket is split."""
    if b"<" not in source.text or b">" not in source.text:
        return
    code = source.code
    for opening in launch_openings(source):
        if within(opening.start, source.hip_only):
            continue
        closing = launch_closing(source, opening.end)
        if closing is None:
            if len(opening) > 3:
                yield Finding(
                    opening,
                    "unclosed",
                    "this looks like a launch, but the end of its configuration was not found: write it as "
                    "kernel<<<grid, block>>>(arguments)",
                    certainty=Certainty.MANUAL,
                )
            continue
        for braces in _in_braces(code, Span(opening.end, closing.start)):
            inside = (
                Edit(Span(braces.start, braces.start + 1), b"dim3("),
                Edit(Span(braces.end - 1, braces.end), b")"),
            )
            yield Finding(braces, "braces", "{…} → dim3(…), because clang accepts no braces there", inside)
        if len(opening) == 3 and len(closing) == 3:
            continue
        brackets = [(opening, b"<<<"), (closing, b">>>")]
        if any(source[span].translate(None, b"<> \t\r\n\\") for span, _ in brackets):
            yield Finding(
                Span(opening.start, closing.end),
                "comment",
                "a comment stands between the brackets of this launch: join them by hand to <<< and >>>",
                certainty=Certainty.MANUAL,
            )
            continue
        edits = tuple(Edit(span, new) for span, new in brackets if len(span) > 3)
        yield Finding(Span(opening.start, closing.end), "spaced", "<< < … >> > → <<< … >>>", edits)


def _in_braces(code: bytes, configuration: Span) -> Iterator[Span]:
    """Yield the grid and the block of `configuration` where they are lists in braces."""
    depth, start = 0, configuration.start
    parts: list[Span] = []
    for match in _PART.finditer(code, configuration.start, configuration.end):
        if match.group() != b",":
            depth += 1 if match.group() in b"([{" else -1
        elif not depth:
            parts.append(Span(start, match.start()))
            start = match.end()
    for part in (*parts, Span(start, configuration.end))[:2]:
        text = code[part.start : part.end]
        if text.lstrip().startswith(b"{") and text.rstrip().endswith(b"}"):
            yield Span(part.end - len(text.lstrip()), part.start + len(text.rstrip()))


PASS = Pass(Cpp, find)
