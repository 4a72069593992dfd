# SPDX-License-Identifier: Apache-2.0
"""Put `hipport::syncwarp()` between the steps of code that relies on the lanes of a warp running in lockstep.

`if (tid < 32) { s[tid] += s[tid + 16]; s[tid] += s[tid + 8]; … }` reads in each step what other lanes stored in the
step before, without synchronizing them. AMD's wavefronts do run in lockstep, of 32 and of 64 lanes, but the compiler
does not know that the program relies on it: `s[tid]` and `s[tid + 8]` are different elements, and unless they are
volatile it may load the second before it stores the first. `hipport::syncwarp()` keeps accesses on their side of it
and costs no instruction. It is put in front of each statement that loads a value from a shared array which another lane
may have stored since the last barrier.

It adds an order among the lanes of a warp and removes none, so it changes no program that does not depend on that
order. It is SAFE if the code is for the lanes of one warp, under `tid < 32`, by the conditions of its callers or by its
indices (`tid & 31`): it then gives the order that the code relies on. Volatile accesses without such evidence are
REVIEW. Exchanges through other arrays are left alone, because nothing shows that they are among the lanes of one warp.
A macro orders accesses if all its definitions do. A macro that is one step gets the call in front of each use, except
in front of the first of several in a row; a macro that is several steps gets it between them. A CUDA fence orders the
accesses of one thread and does not order lanes. Elements of a member are checked if the object lies in shared memory or
received a pointer to some; a called function may store or load any element.

`if (leader) *sum = 0; atomicAdd(sum, x); if (leader) atomicAdd(out, *sum);` relies on lockstep too, in any memory: the
other lanes may not add before the leader has stored, and the leader may not load before they have added. A call is put
in front of both; this is REVIEW, because nothing shows that the lanes that add are of one warp.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hipport.analysis.functions import Function, nodes
from hipport.analysis.kernels import LED, Kernels
from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import missing
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport_passes.device.warp_synchronous import of_one_warp
from hipport_passes.device.warp_synchronous.accesses import places_of_order, step_macros
from hipport_passes.device.warp_synchronous.arrays import (
    LAMBDAS,
    Arrays,
    arrays_of,
    concerned,
    has_elements,
    has_shared,
)
from hipport_passes.device.warp_synchronous.calls import at, at_the_end, in_front, joined
from hipport_passes.device.warp_synchronous.steps import Steps
from hipport_passes.device.warp_synchronous.synchronous_macros import of_macros, of_several_steps

if TYPE_CHECKING:
    from tree_sitter import Node


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per function with such steps, and per value whose leader is one lane among atomic operations."""
    if b"atomic" in source.code:
        yield from _led(source, project)
    if b"[" not in source.code or not project.union_over(source, has_shared) or not concerned(source, project):
        return
    kernels = Kernels.of(project)
    yield from of_several_steps(source, project, kernels)
    known: dict[Function, Arrays] = {}
    orders = places_of_order(source, project)
    in_macros = project.component(source).fact(step_macros)
    for function in kernels.functions(source):
        start = function.body.start_byte
        if source.ported(start):
            continue
        if not has_elements(function, project):
            continue
        arrays = arrays_of(function, kernels, project, known)
        if not arrays:
            continue
        if not in_macros.keys().isdisjoint(function.called):
            yield from of_macros(function, kernels, project, arrays, orders, in_macros)
        steps = Steps(kernels, function, arrays, orders)
        steps.follow(function.body, ())
        for body, for_one_warp in _lambdas(function, kernels):
            steps.for_one_warp = for_one_warp
            steps.follow(body, ())
        if not steps.before and not steps.behind:
            continue
        need, header = include(source, project, "warp.h")
        places = sorted({*steps.before.values(), *steps.behind.values()}, key=lambda node: node.start_byte)
        lines = ", ".join(dict.fromkeys(str(_line(source, node)) for node in places))
        # Each edit once: several steps may need the call at the same place.
        edits = [edit for node in dict.fromkeys(steps.before.values()) for edit in in_front(source, node)]
        edits += (edit for node in dict.fromkeys(steps.behind.values()) for edit in at_the_end(source, node))
        message = f"hipport::syncwarp() between steps in which lanes read what others stored (line {lines})"
        proof = of_one_warp.shown(kernels, function, places[0], steps.assumes)
        if steps.assumes:
            message += f"; assumes that lanes which exchange values are of one warp{missing(proof)}"
        yield Finding(
            Span(places[0].start_byte, places[0].end_byte),
            "lockstep",
            message,
            (*joined(edits), *((need,) if need else ())),
            Certainty.REVIEW if steps.assumes else Certainty.SAFE,
            (header,),
            proof=proof,
        )


def _led(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find values that one lane of several stores before their atomic operations and loads after them."""
    for match in LED.finditer(source.code):
        if source.ported(match.start()):
            continue
        need, header = include(source, project, "warp.h")
        places = (match.start("atomic"), match.start("load"))
        edits = [edit for place in places for edit in at(source, place)]
        proof = of_one_warp.unseen(source, match.start())
        yield Finding(
            Span(*match.span("atomic")),
            "lockstep",
            "hipport::syncwarp() around an atomic operation on a value that one lane stores before it and loads "
            f"after it; assumes that these lanes are of one warp and reach it together{missing(proof)}",
            (*edits, *((need,) if need else ())),
            Certainty.REVIEW,
            (header,),
            proof=proof,
        )


def _lambdas(function: Function, kernels: Kernels) -> Iterator[tuple[Node, bool]]:
    """Yield the bodies of the function's lambdas, and whether only lanes of one warp call them."""
    if b"](" not in b"".join(function.text(function.body).split()):
        return
    for node in nodes(function.body, LAMBDAS):
        body, outer = node.child_by_field_name("body"), node.parent
        variable = outer.child_by_field_name("declarator") if outer and outer.type == "init_declarator" else None
        name = function.text(variable) if variable is not None else b""
        calls = [call for call in function.calls({name}) if call.node.start_byte >= node.end_byte] if name else []
        if body is not None:
            yield body, bool(calls) and all(kernels.one_warp(function, call.node) for call in calls)


def _line(source: Cpp, node: Node) -> int:
    """Return the line in the original file."""
    return source.line_read(node.start_byte)


PASS = Pass(Cpp, find, proves=frozenset(("lockstep",)))
