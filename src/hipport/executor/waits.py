# SPDX-License-Identifier: Apache-2.0
"""Find where lanes may wait in a loop for actions of others: loops that poll memory, and their transitive callers.

The search is textual, because macros count as well, and it is conservative: making lanes converge at a loop that does
not wait costs time and changes nothing else (see held_lanes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

from hipport.analysis.functions import DEFINE
from hipport.core.tables import load, one_of
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp
from hipport.syntax.lexing import PARENTHESES

_WORDS = load(Path(__file__).with_suffix(".toml"))


def _functions(names: str) -> bytes:
    return one_of(_WORDS[names]).encode()


LOOP = re.compile(rb"\b(?P<word>for|while)\s*(?:constexpr\s*)?\(")
_FUNCTION = re.compile(
    rb"\b(?P<name>[A-Za-z_]\w*)\s*" + PARENTHESES + rb"\s*(?:const\s*|noexcept\s*|->\s*[\w:<>]+(?![\w:<>])\s*)*\{"
)
_OPERATOR = re.compile(rb"\boperator\s*(?:\(\s*\)|[^\s(]+|[\w:]+\s*[*&]*)\s*" + PARENTHESES + rb"[^;{}()]*\{")
_LAMBDA = re.compile(rb"\b(?P<name>\w+)\s*=\s*\[[^\]]*\]\s*(?:" + PARENTHESES + rb")?[^;{}()]*\{")
_CLASS = re.compile(rb"\b(?:class|struct)\s+(?P<name>\w+)[^;{}()=]*\{")
_KEYWORDS = frozenset(b"if for while switch catch return sizeof decltype alignof".split())
# A variable, parameter or member: `volatile T* p`, `T volatile p[2]`. Not assembly, a cast, or a member function.
_VOLATILE = re.compile(
    rb"\bvolatile\b(?:\s+(?:__shared__|const|unsigned|signed|long|short|struct|typename))*(?:\s+[\w:]+(?:\s*<[^;<>(){}]*>)?)?"
    rb"\s*(?:[*&]|\bconst\b|__restrict__|\s)*\(?\s*[*&]?\s*\b(?P<name>[A-Za-z_]\w*)\s*\)?\s*(?=[\[,;=){])"
)
# Several variables: `volatile int flag, other;`
_VOLATILES = re.compile(rb"\bvolatile\b[^;(){}=]*?,[^;(){}=]*;")
# In a file without these, no GPU thread waits.
DEVICE = re.compile(rb"\b" + _functions("device") + rb"\b")
_PARTS = re.compile(rb"[()\[\]{};]")
# How a lane polls memory: functions, methods of atomic objects, hipport's own functions, casts to volatile.
_COMPARES = re.compile(rb"\batomicCAS(?:_block|_system)?\s*(?=\()")
_LOOKS = re.compile(
    rb"\b"
    + _functions("looks")
    + rb"(?:_block|_system)?\s*[(<]|[.>]"
    + _functions("looking_methods")
    + rb"\s*\("
    + rb"|\batomic(?:Add|Or|Sub)(?:_block|_system)?\s*\([^;]*,\s*0[uUlL]*\s*\)|[(<]\s*(?:const\s+)?volatile\b"
)
# After these, memory is read again.
FENCES = re.compile(rb"\b" + _functions("fences") + rb"\s*\(")
_BARRIER = re.compile(rb"\b(?:__syncthreads\w*|\w*[bB]arrier\w*|\w*sync_?grid|\w*grid_?sync)\s*\(|[.>]sync\s*\(")
_FIXED = re.compile(rb"[\s()]*(?:\d+[uUlL]*|true|false|[A-Z][A-Z0-9_]*)[\s()]*")
_COUNTS = re.compile(rb"[<>]|!=")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_FLAG = re.compile(rb"[\s!()]*(?:true|1|(?:[\w:]+\s*\(\s*)?!?\s*[A-Za-z_]\w*)?[\s()]*")
_MEMORY = re.compile(rb"[\[(*.]|->")
_EXIT = re.compile(rb"\b(?:break|return|goto)\b")


def alternatives(names: Iterable[bytes]) -> bytes:
    """Return a pattern of any of `names`; one that matches nothing if there are none."""
    return b"|".join([rb"(?!)", *map(re.escape, sorted(names))])


class Body(NamedTuple):
    """The entity of a name: a function, lambda or macro of a file, or a class that has such a function."""

    name: bytes
    source: Cpp
    start: int
    end: int
    of_class: bool = False  # a constructor, destructor or operator, which every user of an object calls
    macro: bool = False

    @property
    def text(self) -> bytes:
        """Its code, without comments."""
        return self.source.code[self.start : self.end]


def _own_files(component: Component) -> list[Cpp]:
    return [each for each in component if isinstance(each, Cpp) and not each.is_hipport_header]


def _bodies(component: Component) -> tuple[Body, ...]:
    return tuple(body for source in _own_files(component) for body in _bodies_of(source))


def _bodies_of(source: Cpp) -> Iterator[Body]:
    code = source.code
    classes = [
        (match["name"], match.end(), end)
        for match in _CLASS.finditer(code)
        if (end := source.closing(match.end() - 1)) is not None
    ]
    names = {name for name, _, _ in classes}

    def around(at: int) -> bytes | None:
        inside = [(start, name) for name, start, end in classes if start <= at < end]
        return max(inside)[1] if inside else None

    for pattern in (_FUNCTION, _LAMBDA, _OPERATOR):
        for match in pattern.finditer(code):
            end = source.closing(match.end() - 1)
            name = match["name"] if pattern is not _OPERATOR else around(match.start())
            if end is None or name is None or name in _KEYWORDS:
                continue
            # A member initializer stands before the body of its constructor.
            if code[: match.start()].rstrip()[-1:] in (b":", b",") and (of := around(match.start())) is not None:
                name = of
            yield Body(name, source, match.end(), end, of_class=pattern is _OPERATOR or name in names)
    for match in DEFINE.finditer(code):
        yield Body(match[1], source, match.start(3), match.end(3), macro=True)


def callers(
    component: Component, operation: re.Pattern[bytes], plain: frozenset[bytes] = frozenset()
) -> frozenset[bytes]:
    """Return the functions of the program that contain such an operation, or call one that does.

    hipport's own functions in `plain` are left out, because a call of one counts as an operation.
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
    return frozenset(found - (plain - written))


def any_volatile(component: Component) -> frozenset[bytes]:
    """Return the names of volatile variables; other variables may have the same names."""
    files = [source for source in component if isinstance(source, Cpp)]
    names = {match["name"] for source in files for match in _VOLATILE.finditer(source.code)}
    for source in files:
        for match in _VOLATILES.finditer(source.code):
            names.update(
                name for each in match[0].split(b",")[1:] if (found := _NAME.search(each)) for name in [found[0]]
            )
    return frozenset(names)


def looks(component: Component) -> re.Pattern[bytes]:
    """Return the pattern of how a lane of this program may poll memory."""
    names = alternatives(component.fact(any_volatile))
    direct = re.compile(_LOOKS.pattern + rb"|\b(?:" + names + rb")\b")
    found: frozenset[bytes] = frozenset()
    pattern = direct
    # A short function that polls may be called by another one.
    while (more := _short_callers(component, pattern)) != found:
        found = more
        calls = alternatives(found)
        pattern = re.compile(direct.pattern + rb"|\b(?:" + calls + rb")\s*(?:<[\w\s,]*>\s*)?\(")
    return pattern


def _short_callers(component: Component, looks: re.Pattern[bytes]) -> frozenset[bytes]:
    """Return the functions and macros that only poll: they have no loop, and return a result."""
    return frozenset(
        body.name
        for body in component.fact(_bodies)
        if body.end - body.start < 600
        and not body.of_class
        and (b"return" in (text := body.text) or body.macro)
        and not LOOP.search(text)
        and looks.search(text)
    )


def _barriers(component: Component) -> frozenset[bytes]:
    return callers(component, _BARRIER)


class WaitingLoop(NamedTuple):
    """A loop: where it starts, the text of its condition and of its body, and whether it counts iterations."""

    start: int
    end: int
    condition: bytes
    body: bytes
    counts: bool


def _waits(source: Cpp, component: Component) -> Iterator[WaitingLoop]:
    """Yield the loops of a file in which a lane may wait for an action of another one."""
    if source.is_hipport_header or not DEVICE.search(source.code):
        return
    pattern = component.fact(looks)
    barrier = re.compile(_BARRIER.pattern + rb"|\b(?:" + alternatives(component.fact(_barriers)) + rb")\s*[(<]")
    for loop in _all_loops(source):
        text = source.code[loop.start : loop.end]
        if _is_wait(loop, pattern) and not barrier.search(text) and not _only_updates(source, loop, pattern):
            yield loop


def _is_wait(loop: WaitingLoop, looks: re.Pattern[bytes]) -> bool:
    condition, body = loop.condition, loop.body
    if condition.strip(b" ()\t\r\n") in (b"0", b"false"):
        return False  # the body of a macro
    if looks.search(condition):
        return True
    if not body.strip(b" \t\r\n;{}"):
        return not loop.counts and bool(_MEMORY.search(condition))
    if loop.counts:
        return False
    if not looks.search(body):
        # A variable that the loop does not assign is read again after each fence.
        return bool(FENCES.search(body)) and not any(_assigned(name, body) for name in set(_NAME.findall(condition)))
    if (
        _FLAG.fullmatch(condition)
        or _EXIT.search(body)
        or re.search(rb"\bif\s*\([^;{}]*(?:" + looks.pattern + rb")", body)
    ):
        return True
    return any(
        re.search(rb"\b" + re.escape(name) + rb"\s*=(?!=)[^;{}]*(?:" + looks.pattern + rb")", body)
        for name in set(_NAME.findall(condition))
    )


def _assigned(name: bytes, text: bytes) -> bool:
    pattern = rb"(?:\+\+|--)\s*%b\b|\b%b\s*(?:\+\+|--|(?:[-+*/%%&|^]|<<|>>)?=(?!=))" % (name, name)
    return re.search(pattern, text) is not None


def _only_updates(source: Cpp, loop: WaitingLoop, looks: re.Pattern[bytes]) -> bool:
    """Whether the loop only polls whether a value that it has just read was changed (a compare-and-swap loop)."""
    found = False
    for match in looks.finditer(source.code, loop.start, loop.end):
        call = _COMPARES.match(source.code, match.start())
        given = source.arguments(call.end()) if call is not None else None
        if not given or len(given) != 3 or _FIXED.fullmatch(source.code, given[1].start, given[1].end):
            return False
        found = True
    return found


def _all_loops(source: Cpp) -> Iterator[WaitingLoop]:
    code = source.code
    ends: set[int] = set()
    for match in re.finditer(rb"\bdo\b", code):
        end = statement_end(source, match.end())
        tail = re.compile(rb"\s*(while)\s*(\()").match(code, end) if end is not None else None
        last = source.closing(tail.start(2)) if tail is not None else None
        if tail is None or last is None:
            continue
        ends.add(tail.start(1))
        yield WaitingLoop(match.start(), last + 1, code[tail.end(2) : last], code[match.end() : end], False)
    for match in LOOP.finditer(code):
        closing = source.closing(match.end() - 1)
        end = statement_end(source, closing + 1) if closing is not None else None
        if closing is None or end is None or match.start() in ends:
            continue
        condition, counts = code[match.end() : closing], False
        if match["word"] == b"for":
            cuts = semicolons(code, match.end(), closing)
            if len(cuts) != 2:
                continue
            step = code[cuts[1] + 1 : closing].strip()
            condition = code[cuts[0] + 1 : cuts[1]]
            counts = bool(step and _COUNTS.search(condition))
        yield WaitingLoop(match.start(), end, condition, code[closing + 1 : end], counts)


def waiting_loops(component: Component) -> dict[PurePath, tuple[WaitingLoop, ...]]:
    """Return the loops of each file in which a lane may wait for an action of another one."""
    return {each.path: tuple(_waits(each, component)) for each in component if isinstance(each, Cpp)}


class Waiters(NamedTuple):
    """Names that wait when used: functions, lambdas and macros that are called, and classes with their objects."""

    called: frozenset[bytes]
    mentioned: frozenset[bytes]
    macros: frozenset[bytes]

    @property
    def pattern(self) -> re.Pattern[bytes]:
        """The pattern of their uses."""
        called, mentioned = alternatives(self.called), alternatives(self.mentioned)
        return re.compile(rb"\b(?:(?:" + called + rb")\s*[(<]|(?:" + mentioned + rb")\b)")


def waiters(component: Component) -> Waiters:
    """Return everything that waits in a loop, or by recursion, or calls something that does."""
    bodies = component.fact(_bodies)
    loops = component.fact(waiting_loops)
    looking = component.fact(looks)
    found = [
        any(body.start <= loop.start < body.end for loop in loops[body.source.path])
        or (
            not body.macro
            and (calls_itself(body.name, text := body.text) or b"goto" in text)
            and looking.search(text) is not None
        )
        for body in bodies
    ]
    while True:
        named = _named([body for body, waits in zip(bodies, found, strict=True) if waits], component)
        calls = named.pattern
        more = [waits or calls.search(body.text) is not None for body, waits in zip(bodies, found, strict=True)]
        if more == found:
            return named
        found = more


def calls_itself(name: bytes, text: bytes) -> bool:
    """Whether a function's body calls a function of its own name."""
    return re.search(rb"(?<![.>:\w])" + re.escape(name) + rb"\s*[(<]", text) is not None


def _named(found: list[Body], component: Component) -> Waiters:
    called = frozenset(body.name for body in found if not body.of_class)
    classes = frozenset(body.name for body in found if body.of_class)
    if not classes:
        return Waiters(called, classes, frozenset(body.name for body in found if body.macro))
    declared = re.compile(rb"\b(?:" + alternatives(classes) + rb")\b(?:\s*<[^;{}()]*>)?[\s&*]+(?P<name>[A-Za-z_]\w*)\b")
    objects = {match["name"] for source in _own_files(component) for match in declared.finditer(source.code)}
    return Waiters(called, classes | objects, frozenset(body.name for body in found if body.macro))


def semicolons(code: bytes, start: int, end: int) -> list[int]:
    """Return the places of semicolons outside brackets."""
    depth = 0
    found = []
    for match in _PARTS.finditer(code, start, end):
        if match.group() == b";":
            if not depth:
                found.append(match.start())
        else:
            depth += 1 if match.group() in b"([{" else -1
    return found


def statement_end(source: Cpp, start: int) -> int | None:
    """Return where the statement that begins at `start` ends, without its `else`: enough to search it."""
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
