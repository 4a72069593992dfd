# SPDX-License-Identifier: Apache-2.0
"""Macros with a barrier in each branch of an `if` at which the threads of one wavefront may diverge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hipport.analysis import grounds
from hipport.analysis.exclusive_conditions import squeezed, with_arguments
from hipport.analysis.functions import DEFINE, Function
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import Ground, Scope, missing
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport_passes.device.barriers.waiting import Waiting

_WORDS = re.compile(rb"[A-Za-z_]\w*")
_IF = re.compile(rb"\bif\s*\(")
_SPLICED = re.compile(rb"(?:\s|\\(?=\s))*")
_ELSE = re.compile(_SPLICED.pattern + rb"else\b")


def in_macros(
    function: Function, project: Project, kernels: Kernels, waiting: Waiting, widest: int
) -> Iterator[Finding]:
    """Yield a finding per use of a macro that has a divergent `if` with barriers in both branches."""
    source = function.source
    branching = project.component(source).fact(_branching)
    lambdas: set[bytes] = set()
    if branching and not branching.keys().isdisjoint(function.called):
        lambdas.update(waiting.lambdas(function))
    for call in function.calls(branching.keys() & function.called) if branching else ():
        for parameters, condition, branches in branching[call.name]:
            values = dict(zip(parameters, map(function.text, call.arguments), strict=False))
            made = [set(_WORDS.findall(_WORDS.sub(_replaced(values), branch))) for branch in branches]
            if not all(words & lambdas or waiting.in_words(words) for words in made):
                continue
            asked = with_arguments(squeezed(condition), parameters, tuple(values.values()))
            if kernels.uniformity_of_text(function, asked, call.node) >= widest:
                continue
            text = b" ".join(condition.replace(b"\\", b" ").split()).decode("utf-8", "replace")
            reason = f"`{text}`, which {call.name.decode()} asks, may vary between lanes"
            where = grounds.place(source, call.node.start_byte)
            proof = (Ground("all threads of a block reach it together", Scope.BLOCK, reason, *where, proven=False),)
            yield Finding(
                Span(call.node.start_byte, call.node.start_byte + len(call.name)),
                "divergent",
                f"threads of one wavefront diverge at `{text}` in {call.name.decode()} and wait at a barrier in each "
                "of its branches: on CUDA they meet there, but an AMD wavefront waits at both, one after the other; "
                "write one barrier that all threads reach, with the code around it under the condition"
                f"{missing(proof)}",
                certainty=Certainty.MANUAL,
                proof=proof,
            )
            break


def _replaced(values: dict[bytes, bytes]) -> Callable[[re.Match[bytes]], bytes]:
    """Return the replacement of a word in a macro that is called with such arguments."""
    return lambda match: values.get(match.group(), match.group())


class _Branching(NamedTuple):
    """An `if` with two branches in a macro with these parameters."""

    parameters: tuple[bytes, ...]
    condition: bytes
    branches: tuple[bytes, bytes]


def _branching(component: Component) -> dict[bytes, list[_Branching]]:
    """Return the macros of a component that have an `if` with two branches, by their names."""
    found: dict[bytes, list[_Branching]] = {}
    for name, each in {each for source in component if isinstance(source, Cpp) for each in source.fact(_branches)}:
        found.setdefault(name, []).append(each)
    return found


def _branches(source: Cpp) -> frozenset[tuple[bytes, _Branching]]:
    found = set()
    for directive in source.directives if {b"define", b"else"} <= source.words else ():
        define = DEFINE.match(source.code, directive.start, directive.end)
        if define is None or not define[2] or b"else" not in define[3]:
            continue
        parameters = tuple(part.strip() for part in define[2][1:-1].split(b","))
        for match in _IF.finditer(source.code, define.start(3), define.end(3)):
            closing = source.closing(match.end() - 1)
            middle = _statement_end(source, closing + 1, define.end(3)) if closing is not None else None
            other = _ELSE.match(source.code, middle, define.end(3)) if middle is not None else None
            end = _statement_end(source, other.end(), define.end(3)) if other is not None else None
            if closing is not None and other is not None and end is not None:
                condition = source.code[match.end() : closing]
                branches = source.code[closing + 1 : other.start()], source.code[other.end() : end]
                found.add((define[1], _Branching(parameters, condition, branches)))
    return frozenset(found)


def _statement_end(source: Cpp, start: int, limit: int) -> int | None:
    """Return the end of the statement that begins at `start`, after white space: after its brace or semicolon."""
    first = _SPLICED.match(source.code, start, limit)
    start = first.end() if first is not None else start
    if source.code[start : start + 1] == b"{":
        closing = source.closing(start)
        return closing + 1 if closing is not None and closing < limit else None
    end = source.code.find(b";", start, limit)
    # In the last statement, the use of the macro supplies the semicolon.
    return end + 1 if end >= 0 else limit
