# SPDX-License-Identifier: Apache-2.0
"""Have lanes wait for each other where a turn of a loop ends, as they do on a GPU.

An operation without a mask acts on the lanes that come to it together. In a loop where some lanes pass it by, those
would come to it in their next turn while others wait there in this one, and be taken for one group; on a GPU, lanes
that are done with a turn wait at its end. So `SIMT_NEXT_TURN` is put where `continue` leads: into the step of a `for`,
into the condition of a `do`; a `while` becomes a `for`. Only loops with such an operation, or a call of a function that
has one, under a condition get one: it costs a meeting in each turn. CUDA promises this of no operation; there it is
only done for those that ask who is there.

The same goes for volatile variables in programs with shared ones, where lanes meet as code from before `__syncwarp` has
it; `SIMT_LOCKSTEP_TURN` is nothing where they do not. And lanes of CUDA meet around an atomic operation on what one of
them stores before it and loads behind it, which its GPUs do as well, and ported code says.

On AMD the lanes that leave a loop wait behind it for those of their wavefront that are still in it. So who waits in a
loop for a lock that a lane gives back behind it waits forever, while the executor's lanes, which run each on its own,
would go on. `SIMT_WAITING_LOOP` in front of a loop that waits for memory has them wait as on a GPU; see WaitingLoop in
core.h. Loops that only wait for a compare-and-swap of what they have just read get none: lanes hold nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

from hipport.analysis.kernels import LED
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.tables import load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.lexing import PARENTHESES

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
_LOOP = re.compile(rb"\b(?P<word>for|while)\s*(?:constexpr\s*)?\(")
_DO = re.compile(rb"\bdo\s*\{")
_FUNCTION = re.compile(
    rb"\b(?P<name>[A-Za-z_]\w*)\s*" + PARENTHESES + rb"\s*(?:const\s*|noexcept\s*|->\s*[\w:<>]+(?![\w:<>])\s*)*\{"
)
_KEYWORDS = frozenset(b"if for while switch catch return sizeof decltype alignof".split())
_CONDITION = re.compile(rb"\b(?:if|continue|switch|goto|for|while|do|case)\b|\?|&&|\|\|")
# A variable, parameter or member: `volatile T* p`, `T volatile p[2]`. Not assembly, a cast, or a member function.
_VOLATILE = re.compile(
    rb"\bvolatile\b(?:\s+(?:__shared__|const|unsigned|signed|long|short|struct|typename))*(?:\s+[\w:]+(?:\s*<[^;<>(){}]*>)?)?"
    rb"\s*(?:[*&]|\bconst\b|__restrict__|\s)*\(?\s*[*&]?\s*\b(?P<name>[A-Za-z_]\w*)\s*\)?\s*(?=[\[,;=)])"
)
# `*(volatile int *)p`, `static_cast<volatile int &>(x)`.
_CAST = re.compile(rb"\(\s*(?:const\s+)?volatile\b[^;(){}]*[*&]\s*\)|_cast\s*<\s*(?:const\s+)?volatile\b")
# In files without these no thread of a GPU waits.
_DEVICE = re.compile(rb"\b(?:__global__|__device__|threadIdx|atomicCAS|atomicExch)\b")
_PARTS = re.compile(rb"[()\[\]{};]")
# How a lane looks for what others do: functions, methods of atomic objects, hipport's own, casts to volatile.
_COMPARES = re.compile(rb"\batomicCAS(?:_block|_system)?\s*(?=\()")
_LOOKS = re.compile(
    rb"\b"
    + _functions("looks")
    + rb"(?:_block|_system)?\s*[(<]|[.>]"
    + _functions("looking_methods")
    + rb"\s*\("
    + rb"|\batomic(?:Add|Or|Sub)(?:_block|_system)?\s*\([^;]*,\s*0[uUlL]*\s*\)|\(\s*(?:const\s+)?volatile\b"
)
_BARRIER = re.compile(rb"\b(?:__syncthreads\w*|\w*[bB]arrier\w*|\w*sync_?grid|\w*grid_?sync)\s*\(|[.>]sync\s*\(")
_FIXED = re.compile(rb"[\s()]*(?:\d+[uUlL]*|true|false|[A-Z][A-Z0-9_]*)[\s()]*")
_COUNTS = re.compile(rb"[<>]|!=")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_FLAG = re.compile(rb"[\s!()]*(?:true|1|(?:hipport::opaque\s*\(\s*)?!?\s*[A-Za-z_]\w*)?[\s()]*")
_MEMORY = re.compile(rb"[\[(*.]|->")


def _callers(component: Component, operation: re.Pattern[bytes]) -> frozenset[bytes]:
    """Return the functions of the program that have such an operation in them, or call one that has.

    Those of `_PLAIN` that are hipport's are left out, as a call of one is an operation.
    """
    if not any(isinstance(source, Cpp) and operation.search(source.code) for source in component):
        return frozenset()
    bodies: list[tuple[bytes, bytes]] = []
    written: set[bytes] = set()  # by the user
    for source in component:
        if isinstance(source, Cpp):
            for match in _FUNCTION.finditer(source.code):
                end = source.closing(match.end() - 1)
                if match["name"] not in _KEYWORDS and end is not None:
                    bodies.append((match["name"], source.code[match.end() : end]))
                    if not source.is_hipport_header:
                        written.add(match["name"])
    found: set[bytes] = {name for name, body in bodies if operation.search(body)}
    waiting = set(found)
    while waiting:
        calls = re.compile(rb"\b(?:" + b"|".join(map(re.escape, sorted(waiting))) + rb")\s*[(<]")
        waiting = {name for name, body in bodies if name not in found and calls.search(body)}
        found |= waiting
    return frozenset(found - (_PLAIN - written))


def _cuda_callers(component: Component) -> frozenset[bytes]:
    return _callers(component, _CUDA)


def _hip_callers(component: Component) -> frozenset[bytes]:
    return _callers(component, _HIP)


def _any_volatile(component: Component) -> frozenset[bytes]:
    """Return the names of volatile variables; another variable may have one, too."""
    files = [source for source in component if isinstance(source, Cpp)]
    return frozenset(match["name"] for source in files for match in _VOLATILE.finditer(source.code))


def _volatile(component: Component) -> frozenset[bytes]:
    """Return the names of volatile variables of a program that shares any."""
    shares = any(isinstance(source, Cpp) and b"__shared__" in source.first.text for source in component)
    return component.fact(_any_volatile) if shares else frozenset()


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


def _looks(component: Component) -> re.Pattern[bytes]:
    """Return how a lane of this program may look for what others do."""
    names = b"|".join([rb"(?!)", *map(re.escape, sorted(component.fact(_any_volatile)))])
    direct = re.compile(_LOOKS.pattern + rb"|\b(?:" + names + rb")\b")
    calls = b"|".join([rb"(?!)", *map(re.escape, sorted(_short_callers(component, direct)))])
    return re.compile(direct.pattern + rb"|\b(?:" + calls + rb")\s*(?:<[\w\s,]*>\s*)?\(")


def _short_callers(component: Component, looks: re.Pattern[bytes]) -> frozenset[bytes]:
    """Return the functions of the program that do little but to look: without a loop, and with a result."""
    return frozenset(
        match["name"]
        for source in component
        if isinstance(source, Cpp) and not source.is_hipport_header
        for match in _FUNCTION.finditer(source.code)
        if match["name"] not in _KEYWORDS
        and (end := source.closing(match.end() - 1)) is not None
        and end - match.end() < 600
        and b"return" in (body := source.code[match.end() : end])
        and not _LOOP.search(body)
        and looks.search(body)
    )


def _barriers(component: Component) -> frozenset[bytes]:
    return _callers(component, _BARRIER)


class _Loop(NamedTuple):
    """A loop from its first word on: where it starts, its condition's text, its body's, and whether it counts turns."""

    start: int
    end: int
    condition: bytes
    body: bytes
    counts: bool


def _waits(source: Cpp, component: Component) -> Iterator[_Loop]:
    """Yield the loops of a file in which a lane may wait for what another does."""
    if source.is_hipport_header or not _DEVICE.search(source.code):
        return
    looks = component.fact(_looks)
    names = b"|".join([rb"(?!)", *map(re.escape, sorted(component.fact(_barriers)))])
    barrier = re.compile(_BARRIER.pattern + rb"|\b(?:" + names + rb")\s*[(<]")
    for loop in _all_loops(source):
        text = source.code[loop.start : loop.end]
        if _is_wait(loop, looks) and not barrier.search(text) and not _only_updates(source, loop, looks):
            yield loop


def _is_wait(loop: _Loop, looks: re.Pattern[bytes]) -> bool:
    condition, body = loop.condition, loop.body
    if condition.strip(b" ()\t\r\n") in (b"0", b"false"):
        return False  # a macro's body
    if looks.search(condition):
        return True
    if not body.strip(b" \t\r\n;{}"):
        return not loop.counts and bool(_MEMORY.search(condition))
    if loop.counts or not looks.search(body):
        return False
    if _FLAG.fullmatch(condition) or re.search(rb"\bif\s*\([^;{}]*(?:" + looks.pattern + rb")", body):
        return True
    return any(
        re.search(rb"\b" + re.escape(name) + rb"\s*=(?!=)[^;{}]*(?:" + looks.pattern + rb")", body)
        for name in set(_NAME.findall(condition))
    )


def _only_updates(source: Cpp, loop: _Loop, looks: re.Pattern[bytes]) -> bool:
    """Whether all the loop looks for is that nobody has changed what it has just read."""
    found = False
    for match in looks.finditer(source.code, loop.start, loop.end):
        call = _COMPARES.match(source.code, match.start())
        given = source.arguments(call.end()) if call is not None else None
        if not given or len(given) != 3 or _FIXED.fullmatch(source.code, given[1].start, given[1].end):
            return False
        found = True
    return found


def _all_loops(source: Cpp) -> Iterator[_Loop]:
    code = source.code
    ends: set[int] = set()
    for match in re.finditer(rb"\bdo\b", code):
        end = _statement_end(source, match.end())
        tail = re.compile(rb"\s*(while)\s*(\()").match(code, end) if end is not None else None
        last = source.closing(tail.start(2)) if tail is not None else None
        if tail is None or last is None:
            continue
        ends.add(tail.start(1))
        yield _Loop(match.start(), last + 1, code[tail.end(2) : last], code[match.end() : end], False)
    for match in _LOOP.finditer(code):
        closing = source.closing(match.end() - 1)
        end = _statement_end(source, closing + 1) if closing is not None else None
        if closing is None or end is None or match.start() in ends:
            continue
        condition, counts = code[match.end() : closing], False
        if match["word"] == b"for":
            cuts = _semicolons(code, match.end(), closing)
            if len(cuts) != 2:
                continue
            step = code[cuts[1] + 1 : closing].strip()
            condition = code[cuts[0] + 1 : cuts[1]]
            counts = bool(step and _COUNTS.search(condition))
        yield _Loop(match.start(), end, condition, code[closing + 1 : end], counts)


def _waiting_loops(component: Component) -> dict[PurePath, tuple[_Loop, ...]]:
    return {each.path: tuple(_waits(each, component)) for each in component if isinstance(each, Cpp)}


def _waiters(component: Component) -> frozenset[bytes]:
    """Return the functions of the program that wait in a loop, or call one that does."""
    found = component.fact(_waiting_loops)
    direct = {
        match["name"]
        for source in component
        if isinstance(source, Cpp) and (loops := found[source.path])
        for match in _FUNCTION.finditer(source.code)
        if match["name"] not in _KEYWORDS
        and (end := source.closing(match.end() - 1)) is not None
        and any(match.end() <= loop.start < end for loop in loops)
    }
    if not direct:
        return frozenset()
    calls = re.compile(rb"\b(?:" + b"|".join(map(re.escape, sorted(direct))) + rb")\s*[(<]")
    return frozenset(direct) | _callers(component, calls)


def _accessors(component: Component) -> frozenset[bytes]:
    return _callers(component, component.fact(_accesses)) if component.fact(_is_volatile) else frozenset()


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
    yield from _find(source, component, _HIP, _hip_callers, component.fact(_waiters))
    for loop in component.fact(_waiting_loops)[source.path]:
        edit = Edit(Span(loop.start, loop.start), b"SIMT_WAITING_LOOP ")
        yield Finding(Span(loop.start, loop.start + 1), "waits", "", (edit,))


def _find(
    source: Cpp,
    component: Component,
    operation: re.Pattern[bytes],
    callers: Callable[[Component], frozenset[bytes]],
    waiters: frozenset[bytes] = frozenset(),
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
    waits = [loop.start for loop in component.fact(_waiting_loops)[source.path]] if waiters else []
    if waiters and any(name in code for name in waiters):
        calls = re.compile(rb"\b(?:" + b"|".join(map(re.escape, sorted(waiters))) + rb")\s*[(<]")
    else:
        calls = None
    if not looked_for and not waits and calls is None:
        return

    def asks(start: int, end: int) -> bytes:
        """Return what the loop with this body gets; nothing for most."""
        body = code[start:end]
        for what, by, new in looked_for:
            if by.search(body) or (what.search(body) and _CONDITION.search(body)):
                return new
        # Those that pass such a loop by in this turn are not to meet those that wait in it in their next.
        if any(start <= each < end for each in waits) or (calls is not None and calls.search(body)):
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
    for match in _LOOP.finditer(code):
        opening = match.end() - 1
        closing = source.closing(opening)
        if closing is None or match.start() in ends:
            continue
        end = _statement_end(source, closing + 1)
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
        cuts = _semicolons(code, opening + 1, closing)
        if len(cuts) == 2:
            step = code[cuts[1] + 1 : closing].strip(b" \t\r\n\\")
            new = (b", " if step else b" ") + turn
            yield Finding(Span(match.start(), opening), "for", "", (Edit(Span(closing, closing), new),))


def _semicolons(code: bytes, start: int, end: int) -> list[int]:
    depth = 0
    found = []
    for match in _PARTS.finditer(code, start, end):
        if match.group() == b";":
            if not depth:
                found.append(match.start())
        else:
            depth += 1 if match.group() in b"([{" else -1
    return found


def _statement_end(source: Cpp, start: int) -> int | None:
    """Return where the statement ends that begins at `start`, its `else` left out: enough to see what is in it."""
    depth = 0
    for match in _PARTS.finditer(source.code, start):
        token = match.group()
        if token == b";":
            if not depth:
                return match.end()
        elif token in b"([{":
            depth += 1
        else:
            depth -= 1
            if depth < 0:
                return match.start()
            if not depth and token == b"}" and not re.compile(rb"\s*else\b").match(source.code, match.end()):
                return match.end()
    return None


CUDA = Pass(Cpp, find_cuda)
HIP = Pass(Cpp, find_hip)
