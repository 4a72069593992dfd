# SPDX-License-Identifier: Apache-2.0
"""Steps that are uses of macros, and macros that are several steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from hipport.analysis.functions import DEFINE, LOOPS, Function
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import missing
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport_passes.device.warp_synchronous import of_one_warp
from hipport_passes.device.warp_synchronous.accesses import (
    ELEMENT,
    HALVES,
    STORE,
    WORD,
    has_order,
    index_text,
    ordering_macros,
    step_macros,
)
from hipport_passes.device.warp_synchronous.arrays import Arrays, arrays_of
from hipport_passes.device.warp_synchronous.calls import SYNCWARP, at_the_end, joined

if TYPE_CHECKING:
    from tree_sitter import Node

_OPENING = re.compile(rb"\s*\(")
_STATEMENT = re.compile(rb"(?:\s|\\(?=\s)|;)*()")
_LOOP_HEAD = re.compile(rb"(?:for|while)\s*\(")
# The text between two steps of a macro: nothing, or `if (lane < 8)`, before which the call fits.
_CONDITION = re.compile(rb"[\s\\;]*(?P<if>if\s*\((?:[^()]|\([^()]*\))*\)[\s\\]*)?")


def of_macros(
    function: Function,
    kernels: Kernels,
    project: Project,
    arrays: Arrays,
    orders: list[int],
    in_macros: dict[bytes, bytes],
) -> Iterator[Finding]:
    """Find steps that are uses of macros, in a row without an operation that orders accesses."""
    source, code = function.source, function.source.code
    edits: list[Edit] = []
    places: list[Span] = []
    assumes, end = False, -1
    turning: set[int] = set()
    for match in WORD.finditer(code, function.body.start_byte, function.body.end_byte):
        if match.group() not in in_macros or source.directive(match.start()):
            continue
        opening = _OPENING.match(code, match.end())
        closing = source.closing(opening.end() - 1) if opening else None
        words = {in_macros[match.group()], *WORD.findall(code, match.end(), closing or match.end())}
        met = words & arrays.keys()
        node = function.body.descendant_for_byte_range(match.start(), match.end())
        if not met or node is None:
            continue
        before = end
        end = (closing if closing is not None else match.end() - 1) + 1
        one_warp = kernels.one_warp(function, node)
        if not one_warp and not any(arrays[name][1] for name in met):
            continue
        body = _turns(function, node, orders)
        if body is not None and body.id not in turning:
            turning.add(body.id)
            assumes = assumes or not one_warp
            places.append(Span(match.start(), match.end()))
            edits += at_the_end(source, body, end)
        between = code[before : match.start()].strip() if before >= 0 else b"{"
        # Not `if (lane < 8) STEP(8)`: the call does not fit before it.
        if b"{" in between or between[-1:] not in (b"", b";", b"}"):
            continue
        if any(before <= place < match.start() for place in orders):
            continue
        assumes = assumes or not one_warp
        places.append(Span(match.start(), match.end()))
        indent = source.indent(match.start())
        apart = b" " if indent is None else source.newline + indent
        edits.append(Edit(Span(match.start(), match.start()), SYNCWARP + apart))
    if not edits:
        return
    need, header = include(source, project, "warp.h")
    lines = dict.fromkeys(str(source.line_read(each.start)) for each in places)
    message = f"hipport::syncwarp() between steps of a macro (line {', '.join(lines)})"
    proof = of_one_warp.of_uses(source, places[0].start, assumes)
    if assumes:
        message += f"; assumes that lanes which exchange values are of one warp{missing(proof)}"
    certainty = Certainty.REVIEW if assumes else Certainty.SAFE
    every = (*joined(edits), *((need,) if need else ()))
    yield Finding(places[0], "lockstep", message, every, certainty, (header,), proof=proof)


def of_several_steps(source: Cpp, project: Project, kernels: Kernels) -> Iterator[Finding]:
    """Find macros that are several steps: the call is put between them, in the macro's definition."""
    component = project.component(source)
    macros = component.fact(step_macros)
    known: dict[Function, Arrays] = {}
    for directive in source.directives if macros else ():
        define = DEFINE.match(source.code, directive.start, directive.end)
        if define is None or within(directive.start, source.cuda_only):
            continue
        # A step, several steps, or uses of macros that are steps.
        used = [each for each in WORD.finditer(source.code, *define.span(3)) if each.group() in macros]
        if define[1] not in macros and not used:
            continue
        if within(directive.start, source.hip_only) or has_order(define[3], component.fact(ordering_macros)):
            continue
        edits = list(_between_steps(source, *define.span(3)))
        for before, each in pairwise(used):
            opening = _OPENING.match(source.code, before.end())
            ended = source.closing(opening.end() - 1) if opening else before.end() - 1
            between = _CONDITION.fullmatch(source.code, ended + 1, each.start()) if ended is not None else None
            if between is not None:
                at = between.start("if") if between["if"] else each.start()
                edits.append(Edit(Span(at, at), SYNCWARP + b" "))
        if not edits:
            continue
        uses = [
            (kernels.one_warp(call.function, call.node), any(arrays[name][1] for name in met))
            for file in component
            if isinstance(file, Cpp) and define[1] in file.words
            for function in kernels.functions(file)
            for call in function.calls({define[1]})
            if (arrays := arrays_of(function, kernels, project, known))
            and (met := arrays.keys() & {macros.get(define[1], b""), *WORD.findall(function.text(call.node))})
        ]
        if not any(one_warp or volatile for one_warp, volatile in uses):
            continue
        need, header = include(source, project, "warp.h")
        message = f"hipport::syncwarp() between the steps of {define[1].decode()}"
        certainty = Certainty.SAFE
        proof = of_one_warp.of_uses(source, define.start(1), not all(one_warp for one_warp, _ in uses))
        if missing(proof):
            message += f"; assumes that lanes which exchange values are of one warp{missing(proof)}"
            certainty = Certainty.REVIEW
        all_edits = (*edits, *((need,) if need else ()))
        yield Finding(Span(*define.span(1)), "lockstep", message, all_edits, certainty, (header,), proof=proof)


def _between_steps(source: Cpp, start: int, end: int) -> Iterator[Edit]:
    """Put the call between the steps in a macro's text from `start` to `end`, and after each step of a loop that
    halves.
    """
    code = source.code
    stored: set[tuple[bytes, bytes]] = set()
    loops: list[tuple[bool, int]] = []
    at = start
    while (match := _STATEMENT.match(code, at, end)) is not None and match.end() > at:
        first, last = match.start(1), match.end(1)
        depth = 0
        while last < end and (depth or code[last : last + 1] not in (b";", b"{", b"}")):
            depth += {b"(": 1, b")": -1}.get(code[last : last + 1], 0)
            last += 1
        text, sign = code[first:last], code[last : last + 1]
        at = last + 1
        elements = [(each[1], index_text(each[2])) for each in ELEMENT.finditer(text)]
        met = any(array == name and _beside(own, element) for name, own in stored for array, element in elements)
        # The call does not fit before `else`.
        if met and not text.startswith(b"else"):
            yield Edit(Span(first, first), SYNCWARP + b" ")
            stored.clear()
        stores = {(each[1], index_text(each[2])) for each in STORE.finditer(text)}
        head = _LOOP_HEAD.match(text)
        halves = head is not None and HALVES.search(text[: _parenthesis(text, head.end() - 1)]) is not None
        meets = any(array == name and _beside(own, element) for name, own in stores for array, element in elements)
        stored |= stores
        if sign == b"{":
            loops.append((halves, len(stored)))
        elif sign == b"}" and loops:
            halving, before = loops.pop()
            if halving and len(stored) > before:
                yield Edit(Span(last, last), SYNCWARP + b" ")
                stored.clear()
        elif halves and head is not None and meets:
            body = first + _parenthesis(text, head.end() - 1) + 1
            yield Edit(Span(body, body), b" {")
            yield Edit(Span(min(at, end), min(at, end)), (b" " if sign == b";" else b"; ") + SYNCWARP + b" }")
            stored.clear()
        if last >= end:
            return


def _beside(own: bytes, element: bytes) -> bool:
    """Return whether an element is next to a lane's own: `t + 8` or `t ^ 1` of `t`."""
    return re.match(re.escape(own) + rb"[-+^]", element) is not None


def _parenthesis(text: bytes, opening: int) -> int:
    """Return the end of the parenthesis at `opening`."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {b"(": 1, b")": -1}.get(text[at : at + 1], 0)
        if depth == 0:
            return at
    return len(text) - 1


def _turns(function: Function, node: Node, orders: list[int]) -> Node | None:
    """Return the body of the loop around a step whose distance doubles or halves, if no operation orders accesses."""
    outer: Node | None = node
    while outer is not None and outer != function.body and outer.type not in LOOPS:
        outer = outer.parent
    body = outer.child_by_field_name("body") if outer is not None and outer.type in LOOPS else None
    if outer is None or body is None or not body.start_byte <= node.start_byte < body.end_byte:
        return None
    update = outer.child_by_field_name("update")
    if not HALVES.search(function.text(update if update is not None else outer)):
        return None
    return None if any(body.start_byte <= place < body.end_byte for place in orders) else body
