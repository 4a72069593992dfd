# SPDX-License-Identifier: Apache-2.0
"""Make lanes converge at the end of each loop iteration, as they do on a GPU.

A maskless operation acts on the lanes that reach it together. In a loop where some lanes skip it, those would reach it
in their next iteration while others wait there in this one, and count as one group; on a GPU, lanes that have finished
an iteration wait at its end. So `SIMT_ITERATION_END` is inserted where `continue` leads: in the step of a `for`, in the
condition of a `do`; a `while` becomes a `for`. It is inserted only in loops with such an operation, or a call of a
function that has one, under a condition, because it costs a convergence in each iteration. CUDA promises this for no
operation; in CUDA it is done only for operations that ask for the active lanes.

The same holds for volatile variables in programs with shared ones, at which lanes converge as code from before
`__syncwarp` expects; `SIMT_LOCKSTEP_ITERATION` is empty if they do not. And lanes of CUDA converge around an atomic
operation on a place that one of them stores to before and loads from after it. CUDA's GPUs do that as well, and ported
code makes it explicit.

Module held_lanes handles lanes that wait for each other in loops. Lanes that skip such a loop in one iteration must not
converge with lanes that wait in it in their next one; `SIMT_LOOP_ITERATION` prevents that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from hipport.analysis.kernels import LED
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.tables import load, one_of
from hipport.engine.pipeline import Pass
from hipport.executor import held_lanes, waits
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp

_WORDS = load(Path(__file__).with_suffix(".toml"))


def _functions(names: str) -> bytes:
    return one_of(_WORDS[names]).encode()


_PRESENT = _functions("present") + rb"|" + _functions("maskless") + rb"(?=\s*\()"
# In originals, asm statements that ask for the active lanes.
_CUDA = re.compile(rb"\b(?:" + _PRESENT + rb"|" + _functions("ptx") + rb"|hipport::ptx::(?:vote|shfl)_(?!sync)\w+)")
_HIP = re.compile(
    rb"\b(?:"
    + rb"|".join((_PRESENT, _functions("of_ports"), rb"hipport::(?:ptx::)?\w*" + _functions("of_hipport") + rb"\w*"))
    + rb")"
)
# hipport's own functions in which all active lanes execute the same operations in order: they count as operations.
_PLAIN = frozenset(
    b"shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync ballot_sync any_sync all_sync activemask syncwarp".split()
)
_DO = re.compile(rb"\bdo\s*\{")
_CONDITION = re.compile(rb"\b(?:if|continue|switch|goto|for|while|do|case)\b|\?|&&|\|\|")
# `*(volatile int *)p`, `static_cast<volatile int &>(x)`.
_CAST = re.compile(rb"\(\s*(?:const\s+)?volatile\b[^;(){}]*[*&]\s*\)|_cast\s*<\s*(?:const\s+)?volatile\b")


def _cuda_callers(component: Component) -> frozenset[bytes]:
    return waits.callers(component, _CUDA, _PLAIN)


def _hip_callers(component: Component) -> frozenset[bytes]:
    return waits.callers(component, _HIP, _PLAIN)


def _volatile(component: Component) -> frozenset[bytes]:
    """Return the names of volatile variables, in a program that has shared variables."""
    shares = any(isinstance(source, Cpp) and b"__shared__" in source.first.text for source in component)
    return component.fact(waits.any_volatile) if shares else frozenset()


def _is_volatile(component: Component) -> bool:
    """Whether a program with shared memory has volatile memory, by a variable or by a cast."""
    files = [source for source in component if isinstance(source, Cpp)]
    return bool(component.fact(_volatile)) or (
        any(b"__shared__" in source.first.text for source in files)
        and any(_CAST.search(source.code) for source in files)
    )


def _accesses(component: Component) -> re.Pattern[bytes]:
    """Return a pattern of possible accesses to volatile memory."""
    names = b"|".join([rb"(?!)", *map(re.escape, sorted(component.fact(_volatile)))])
    named = rb"\b(?:" + names + rb")\s*(?:\[|->|[-+*/&|^]?=)|[*=(]\s*(?:" + names + rb")\b"
    return re.compile(named + rb"|" + _CAST.pattern)


def _accessors(component: Component) -> frozenset[bytes]:
    return waits.callers(component, component.fact(_accesses), _PLAIN) if component.fact(_is_volatile) else frozenset()


def find_cuda(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each loop in which lanes have to converge."""
    yield from _find(source, project.component(source), _CUDA, _cuda_callers)
    for match in LED.finditer(source.code) if b"atomic" in source.code else ():
        places = (match.start("atomic"), match.start("load"))
        edits = tuple(Edit(Span(place, place), b"SIMT_ITERATION_END; ") for place in places)
        yield Finding(Span(*match.span("atomic")), "led", "", edits)


def find_hip(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each loop in which lanes have to converge."""
    component = project.component(source)
    yield from _find(source, component, _HIP, _hip_callers, component.fact(waits.waiters))
    for edit in held_lanes.edits(source, component):
        yield Finding(edit.span, "waits", "", (edit,))


class _Kind(NamedTuple):
    """An operation, the functions that reach it, and the macro for loops that have it."""

    operation: re.Pattern[bytes]
    callers: frozenset[bytes]
    macro: bytes


class _Iterations:
    """Which macro each iteration of a loop has to ask."""

    def __init__(
        self, kinds: Iterable[_Kind], source: Cpp, component: Component, waiters: waits.Waiters | None
    ) -> None:
        code = source.code
        self._code = code
        self._looked_for = [
            (
                kind.operation,
                re.compile(rb"\b(?:" + b"|".join([rb"(?!)", *map(re.escape, sorted(kind.callers))]) + rb")\s*[(<]"),
                kind.macro,
            )
            for kind in kinds
            if kind.operation.search(code) or any(name in code for name in kind.callers)
        ]
        loops = component.fact(waits.waiting_loops)[source.path] if waiters is not None else ()
        self._starts = [loop.start for loop in loops]
        calls = waiters.pattern if waiters is not None else None
        self._calls = calls if calls is not None and calls.search(code) else None
        self.possible = bool(self._looked_for or self._starts or self._calls is not None)

    def macro(self, start: int, end: int) -> bytes:
        """Return the macro for a loop with this body; empty for most."""
        body = self._code[start:end]
        for operation, callers, macro in self._looked_for:
            if callers.search(body) or (operation.search(body) and _CONDITION.search(body)):
                return macro
        # Lanes that skip such a loop in this iteration must not converge with those that wait in it in the next.
        if any(start <= each < end for each in self._starts) or (self._calls is not None and self._calls.search(body)):
            return b"SIMT_LOOP_ITERATION"
        return b""


def _find(
    source: Cpp,
    component: Component,
    operation: re.Pattern[bytes],
    callers: Callable[[Component], frozenset[bytes]],
    waiters: waits.Waiters | None = None,
) -> Iterator[Finding]:
    code = source.code
    kinds = [_Kind(operation, component.fact(callers), b"SIMT_ITERATION_END")]
    if component.fact(_is_volatile):
        kinds.append(_Kind(component.fact(_accesses), component.fact(_accessors), b"SIMT_LOCKSTEP_ITERATION"))
    iterations = _Iterations(kinds, source, component, waiters)
    if not iterations.possible:
        return
    ends: set[int] = set()  # the `while`s that end a `do`
    for match in _DO.finditer(code):
        closing = source.closing(match.end() - 1)
        tail = re.compile(rb"\s*(while)\s*(\()").match(code, closing + 1) if closing is not None else None
        if closing is None or tail is None:
            continue
        ends.add(tail.start(1))
        if iteration := iterations.macro(match.end(), closing):
            place = tail.end(2)
            yield Finding(Span(match.start(), match.end()), "do", "", (Edit(Span(place, place), iteration + b", "),))
    for match in waits.LOOP.finditer(code):
        opening = match.end() - 1
        closing = source.closing(opening)
        if closing is None or match.start() in ends:
            continue
        end = waits.statement_end(source, closing + 1)
        iteration = iterations.macro(closing + 1, end) if end is not None else b""
        if not iteration:
            continue
        if match["word"] == b"while":
            edits = (
                Edit(Span(*match.span("word")), b"for"),
                Edit(Span(opening + 1, opening + 1), b"; "),
                Edit(Span(closing, closing), b"; " + iteration),
            )
            yield Finding(Span(match.start(), opening), "while", "", edits)
            continue
        cuts = waits.semicolons(code, opening + 1, closing)
        if len(cuts) == 2:
            step = code[cuts[1] + 1 : closing].strip(b" \t\r\n\\")
            new = (b", " if step else b" ") + iteration
            yield Finding(Span(match.start(), opening), "for", "", (Edit(Span(closing, closing), new),))


CUDA = Pass(Cpp, find_cuda)
HIP = Pass(Cpp, find_hip)
