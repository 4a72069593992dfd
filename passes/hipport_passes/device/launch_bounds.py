# SPDX-License-Identifier: Apache-2.0
"""Remove the arguments of `__launch_bounds__` after the number of threads: HIP reads them differently.

In CUDA the second argument is the number of blocks that a multiprocessor should hold. HIP passes it to the compiler as
the number of waves that a SIMD must hold, and `(256, 8)` makes it spill registers. The argument changes no result, so
it is removed; so is the third, for clusters, which HIP does not compile. `1` has no effect and stays. More than 1024
threads in a block are reported, and so are launches with 2^32 threads or more in one dimension, which CUDA supports and
HIP does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.analysis.constant_values import value
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import launches
from hipport.syntax.cuda_names import NAMES

_BOUNDS = NAMES.compile(rb"(?&launch_bounds)(?<!\w(?&launch_bounds))\s*\(")
_NO_BRACKETS = re.compile(rb"<<|[<>]=|->")
_FIRST = NAMES.compile(rb"(?&dim3)\s*[({](.*)[)}]", re.DOTALL)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per bound with another meaning, and per limit that is exceeded."""
    if b"__launch_bounds__" in source.code:
        yield from _bounds(source, project)
    if b"<<<" in source.code:
        yield from _grids(source, project)


def _bounds(source: Cpp, project: Project) -> Iterator[Finding]:
    hip = source.begun_as_hip
    end = 0
    for match in _BOUNDS.finditer(source.code):
        pieces = source.arguments(match.end() - 1)
        arguments = _joined(source, pieces)
        # A bound inside the arguments of another is ignored.
        if not arguments or match.start() < end or source.ported(match.start()):
            continue
        end = arguments[-1].end
        if pieces and pieces[0] != arguments[0] and (len(arguments) == 1 or not hip):
            message = "HIP's __launch_bounds__ splits its argument at commas between template arguments: in parentheses"
            start, end_of_first = arguments[0].start, arguments[0].end
            edits = (Edit(Span(start, start), b"("), Edit(Span(end_of_first, end_of_first), b")"))
            yield Finding(arguments[0], "commas", message, edits)
        threads = value(source, project, source.code[arguments[0].start : arguments[0].end])
        if threads is not None and threads > 1024:
            message = f"{threads} threads in a block: a block has at most 1024 on AMD"
            yield Finding(arguments[0], "threads", message, certainty=Certainty.MANUAL)
        if len(arguments) < 2 or hip or (len(arguments) == 2 and source[arguments[1]] == b"1"):
            continue
        comma = source.code.index(b",", arguments[0].end)
        edit = Edit(Span(comma, arguments[-1].end), b"")
        message = (
            "HIP reads the second argument of __launch_bounds__, the blocks of a multiprocessor, as waves of a SIMD"
        )
        yield Finding(Span(arguments[1].start, arguments[-1].end), "blocks", message, (edit,))


def _joined(source: Cpp, arguments: tuple[Span, ...] | None) -> tuple[Span, ...]:
    """Join parts that commas between template arguments separate: `most<A, B>::value` is one argument."""
    joined: list[Span] = []
    first, depth = None, 0
    for argument in arguments or ():
        text = _NO_BRACKETS.sub(b"", source.code[argument.start : argument.end])
        depth += text.count(b"<") - text.count(b">")
        first = argument.start if first is None else first
        if depth <= 0:
            joined.append(Span(first, argument.end))
            first, depth = None, 0
    # A `<` without a closing bracket is a comparison.
    return tuple(joined) if first is None else arguments or ()


def _grids(source: Cpp, project: Project) -> Iterator[Finding]:
    for launch in launches(source):
        if len(launch.configuration) < 2 or source.ported(launch.brackets.start):
            continue
        sizes = [_along_x(source, project, span) for span in launch.configuration[:2]]
        if None not in sizes and (sizes[0] or 0) * (sizes[1] or 0) >= 1 << 32:
            message = "2^32 or more threads along x: HIP launches fewer; let each thread process several elements"
            yield Finding(launch.configuration[0], "grid", message, certainty=Certainty.MANUAL)


def _along_x(source: Cpp, project: Project, span: Span) -> int | None:
    text = source.code[span.start : span.end]
    vector = _FIRST.fullmatch(text)
    return value(source, project, vector[1].split(b",")[0] if vector else text)


PASS = Pass(Cpp, find)
