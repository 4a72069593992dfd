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
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hipport.finding import Finding
from hipport.languages.cpp import Cpp
from hipport.languages.kernels import LED
from hipport.pipeline import Pass
from hipport.project import Component, Project
from hipport.source import Edit, Span

_PRESENT = rb"__activemask|coalesced_threads|__(?:ballot|any|all|shfl(?:_up|_down|_xor)?)(?=\s*\()"
# In originals, what asm statements ask of the lanes that are there.
_CUDA = re.compile(rb"\b(?:" + _PRESENT + rb"|hipport::ptx::(?:activemask_b32|elect_sync|(?:vote|shfl)_(?!sync)\w+))")
_HIP = re.compile(
    rb"\b(?:"
    + _PRESENT
    + rb"|__(?:ballot|any|all|shfl(?:_up|_down|_xor)?|match_any|match_all|reduce_\w+?)_sync|__ballot64|__activemask64"
    rb"|hipport::(?:ptx::)?\w*(?:ballot|any|all|uni|shfl|match|reduce|redux|vote|activemask|elect|shuffle)\w*"
    rb"|__builtin_amdgcn_(?:ballot|readfirstlane|readlane|ds_bpermute|ds_permute|ds_swizzle|mov_dpp|update_dpp|mbcnt)\w*"
    rb"|__lastbit|one_by_one|this_wave)"
)
_LOOP = re.compile(rb"\b(?P<word>for|while)\s*(?:constexpr\s*)?\(")
_DO = re.compile(rb"\bdo\s*\{")
_FUNCTION = re.compile(rb"\b(?P<name>[A-Za-z_]\w*)\s*\([^;{}]*\)\s*(?:const\s*|noexcept\s*|->\s*[\w:<>]+\s*)*\{")
_KEYWORDS = frozenset(b"if for while switch catch return sizeof decltype alignof".split())
_CONDITION = re.compile(rb"\b(?:if|continue|switch|goto|for|while|do|case)\b|\?|&&|\|\|")
# A variable, parameter or member: `volatile T* p`, `T volatile p[2]`. Not assembly, a cast, or a member function.
_VOLATILE = re.compile(
    rb"\bvolatile\b(?:\s+(?:__shared__|const|unsigned|signed|long|short|struct|typename))*(?:\s+[\w:]+(?:\s*<[^;<>(){}]*>)?)?"
    rb"\s*(?:[*&]|\bconst\b|__restrict__|\s)*\(?\s*[*&]?\s*\b(?P<name>[A-Za-z_]\w*)\s*\)?\s*(?=[\[,;=)])"
)
_PARTS = re.compile(rb"[()\[\]{};]")


def _callers(component: Component, operation: re.Pattern[bytes]) -> frozenset[bytes]:
    """Return the functions of the program that have such an operation in them, or call one that has."""
    if not any(isinstance(source, Cpp) and operation.search(source.code) for source in component):
        return frozenset()
    bodies: list[tuple[bytes, bytes]] = []
    for source in component:
        if isinstance(source, Cpp):
            for match in _FUNCTION.finditer(source.code):
                end = source.closing(match.end() - 1)
                if match["name"] not in _KEYWORDS and end is not None:
                    bodies.append((match["name"], source.code[match.end() : end]))
    found: set[bytes] = {name for name, body in bodies if operation.search(body)}
    waiting = set(found)
    while waiting:
        calls = re.compile(rb"\b(?:" + b"|".join(map(re.escape, sorted(waiting))) + rb")\s*[(<]")
        waiting = {name for name, body in bodies if name not in found and calls.search(body)}
        found |= waiting
    return frozenset(found)


def _cuda_callers(component: Component) -> frozenset[bytes]:
    return _callers(component, _CUDA)


def _hip_callers(component: Component) -> frozenset[bytes]:
    return _callers(component, _HIP)


def _volatile(component: Component) -> frozenset[bytes]:
    """Return the names of volatile variables of a program that shares any; another variable may have one, too."""
    files = [source for source in component if isinstance(source, Cpp)]
    if not any(b"__shared__" in source.first.text for source in files):
        return frozenset()
    return frozenset(match["name"] for source in files for match in _VOLATILE.finditer(source.code))


def _accesses(component: Component) -> re.Pattern[bytes]:
    """Return what may be an access to a volatile variable."""
    names = b"|".join([rb"(?!)", *map(re.escape, sorted(component.fact(_volatile)))])
    return re.compile(rb"\b(?:" + names + rb")\s*(?:\[|->|[-+*/&|^]?=)|[*=(]\s*(?:" + names + rb")\b")


def _accessors(component: Component) -> frozenset[bytes]:
    return _callers(component, component.fact(_accesses)) if component.fact(_volatile) else frozenset()


def find_cuda(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per loop where lanes have to wait for each other."""
    yield from _find(source, project.component(source), _CUDA, _cuda_callers)
    for match in LED.finditer(source.code) if b"atomic" in source.code else ():
        places = (match.start("atomic"), match.start("load"))
        edits = tuple(Edit(Span(place, place), b"SIMT_NEXT_TURN; ") for place in places)
        yield Finding(Span(*match.span("atomic")), "led", "", edits)


def find_hip(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per loop where lanes have to wait for each other."""
    yield from _find(source, project.component(source), _HIP, _hip_callers)


def _find(
    source: Cpp,
    component: Component,
    operation: re.Pattern[bytes],
    callers: Callable[[Component], frozenset[bytes]],
) -> Iterator[Finding]:
    code = source.code
    kinds = [(operation, component.fact(callers), b"SIMT_NEXT_TURN")]
    if component.fact(_volatile):
        kinds.append((component.fact(_accesses), component.fact(_accessors), b"SIMT_LOCKSTEP_TURN"))
    looked_for = [
        (what, re.compile(rb"\b(?:" + b"|".join([rb"(?!)", *map(re.escape, sorted(by))]) + rb")\s*[(<]"), new)
        for what, by, new in kinds
        if what.search(code) or any(name in code for name in by)
    ]
    if not looked_for:
        return

    def asks(start: int, end: int) -> bytes:
        """Return what the loop with this body gets; nothing for most."""
        body = code[start:end]
        for what, calls, new in looked_for:
            if calls.search(body) or (what.search(body) and _CONDITION.search(body)):
                return new
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
