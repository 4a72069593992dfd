# SPDX-License-Identifier: Apache-2.0
"""Have lanes wait for each other where an iteration of a loop ends, as they do on a GPU.

An operation without a mask acts on the lanes that come to it together. In a loop where some lanes pass it by, those
would come to it in their next turn while others wait there in this one, and be taken for one group; on a GPU, lanes
that are done with a turn wait at its end. So `SIMT_NEXT_TURN` is put where `continue` leads: into the step of a `for`,
into the condition of a `do`; a `while` becomes a `for`. Only loops with such an operation, or a call of a function that
has one, under a condition get one: it costs a meeting in each turn. CUDA promises this of no operation; there it is
only done for those that ask who is there.

The same goes for volatile variables in programs with shared ones, where lanes meet as code from before `__syncwarp` has
it; `SIMT_LOCKSTEP_TURN` is nothing where they do not. And lanes of CUDA meet around an atomic operation on what one of
them stores before it and loads behind it, which its GPUs do as well, and ported code says.

Lanes that wait for each other in loops are the matter of held_lanes. Those that pass such a loop by in a turn are not
to meet those that wait in it in their next, which `SIMT_LOOP_TURN` is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

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


_PRESENT = _functions("present") + rb"|" + _functions("without_a_mask") + rb"(?=\s*\()"
# In originals, what asm statements ask of the lanes that are there.
_CUDA = re.compile(rb"\b(?:" + _PRESENT + rb"|" + _functions("ptx") + rb"|hipport::ptx::(?:vote|shfl)_(?!sync)\w+)")
_HIP = re.compile(
    rb"\b(?:"
    + rb"|".join((_PRESENT, _functions("of_ports"), rb"hipport::(?:ptx::)?\w*" + _functions("of_hipport") + rb"\w*"))
    + rb")"
)
# hipport's own functions in which all lanes that come to them come to the same operations, one after the other: as
# operations themselves.
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
    """Return the names of volatile variables of a program that shares any."""
    shares = any(isinstance(source, Cpp) and b"__shared__" in source.first.text for source in component)
    return component.fact(waits.any_volatile) if shares else frozenset()


def _is_volatile(component: Component) -> bool:
    """Whether a program that shares memory has some that is volatile, by a variable or by a cast."""
    files = [source for source in component if isinstance(source, Cpp)]
    return bool(component.fact(_volatile)) or (
        any(b"__shared__" in source.first.text for source in files)
        and any(_CAST.search(source.code) for source in files)
    )


def _accesses(component: Component) -> re.Pattern[bytes]:
    """Return what may be an access to volatile memory."""
    names = b"|".join([rb"(?!)", *map(re.escape, sorted(component.fact(_volatile)))])
    named = rb"\b(?:" + names + rb")\s*(?:\[|->|[-+*/&|^]?=)|[*=(]\s*(?:" + names + rb")\b"
    return re.compile(named + rb"|" + _CAST.pattern)


def _accessors(component: Component) -> frozenset[bytes]:
    return waits.callers(component, component.fact(_accesses), _PLAIN) if component.fact(_is_volatile) else frozenset()


def find_cuda(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per loop where lanes have to wait for each other."""
    yield from _find(source, project.component(source), _CUDA, _cuda_callers)
    for match in LED.finditer(source.code) if b"atomic" in source.code else ():
        places = (match.start("atomic"), match.start("load"))
        edits = tuple(Edit(Span(place, place), b"SIMT_NEXT_TURN; ") for place in places)
        yield Finding(Span(*match.span("atomic")), "led", "", edits)


def find_hip(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per loop where lanes have to wait for each other."""
    component = project.component(source)
    yield from _find(source, component, _HIP, _hip_callers, component.fact(waits.waiters))
    for edit in held_lanes.edits(source, component):
        yield Finding(edit.span, "waits", "", (edit,))


def _find(
    source: Cpp,
    component: Component,
    operation: re.Pattern[bytes],
    callers: Callable[[Component], frozenset[bytes]],
    waiters: waits.Waiters | None = None,
) -> Iterator[Finding]:
    code = source.code
    kinds = [(operation, component.fact(callers), b"SIMT_NEXT_TURN")]
    if component.fact(_is_volatile):
        kinds.append((component.fact(_accesses), component.fact(_accessors), b"SIMT_LOCKSTEP_TURN"))
    looked_for = [
        (what, re.compile(rb"\b(?:" + b"|".join([rb"(?!)", *map(re.escape, sorted(by))]) + rb")\s*[(<]"), new)
        for what, by, new in kinds
        if what.search(code) or any(name in code for name in by)
    ]
    starts = [loop.start for loop in component.fact(waits.waiting_loops)[source.path]] if waiters is not None else []
    calls = waiters.pattern if waiters is not None else None
    if calls is not None and not calls.search(code):
        calls = None
    if not looked_for and not starts and calls is None:
        return

    def asks(start: int, end: int) -> bytes:
        """Return what the loop with this body gets; nothing for most."""
        body = code[start:end]
        for what, by, new in looked_for:
            if by.search(body) or (what.search(body) and _CONDITION.search(body)):
                return new
        # Those that pass such a loop by in this turn are not to meet those that wait in it in their next.
        if any(start <= each < end for each in starts) or (calls is not None and calls.search(body)):
            return b"SIMT_LOOP_TURN"
        return b""

    ends: set[int] = set()  # the words `while` that end a `do`
    for match in _DO.finditer(code):
        closing = source.closing(match.end() - 1)
        tail = re.compile(rb"\s*(while)\s*(\()").match(code, closing + 1) if closing is not None else None
        if closing is None or tail is None:
            continue
        ends.add(tail.start(1))
        if turn := asks(match.end(), closing):
            place = tail.end(2)
            yield Finding(Span(match.start(), match.end()), "do", "", (Edit(Span(place, place), turn + b", "),))
    for match in waits.LOOP.finditer(code):
        opening = match.end() - 1
        closing = source.closing(opening)
        if closing is None or match.start() in ends:
            continue
        end = waits.statement_end(source, closing + 1)
        turn = asks(closing + 1, end) if end is not None else b""
        if not turn:
            continue
        if match["word"] == b"while":
            edits = (
                Edit(Span(*match.span("word")), b"for"),
                Edit(Span(opening + 1, opening + 1), b"; "),
                Edit(Span(closing, closing), b"; " + turn),
            )
            yield Finding(Span(match.start(), opening), "while", "", edits)
            continue
        cuts = waits.semicolons(code, opening + 1, closing)
        if len(cuts) == 2:
            step = code[cuts[1] + 1 : closing].strip(b" \t\r\n\\")
            new = (b", " if step else b" ") + turn
            yield Finding(Span(match.start(), opening), "for", "", (Edit(Span(closing, closing), new),))


CUDA = Pass(Cpp, find_cuda)
HIP = Pass(Cpp, find_hip)
