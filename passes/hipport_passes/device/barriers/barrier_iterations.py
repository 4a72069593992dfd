# SPDX-License-Identifier: Apache-2.0
"""Barriers in loops that threads of one wavefront reach in different iterations, or that some leave before others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis import grounds
from hipport.analysis.built_ins import varies
from hipport.analysis.divergence import changes, loops_around, may_change, side_of
from hipport.analysis.exclusive_conditions import squeezed
from hipport.analysis.functions import LOOPS, Call, Condition, Function, contains, exclusive, nodes, operator_of
from hipport.analysis.kernels import Kernels
from hipport.analysis.macros import conditional, loop_conditions
from hipport.analysis.trip_counts import equal_trip_counts, uniform_in_iterations
from hipport.analysis.uniform_values import WARP
from hipport.analysis.warp_invariance import is_warp_invariant
from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import Ground, Scope, missing
from hipport_passes.device.barriers.instead import instead_of
from hipport_passes.device.barriers.waiting import Waiting

if TYPE_CHECKING:
    from tree_sitter import Node

_LEFT_BY_BREAK = LOOPS | {"switch_statement"}
_WORD = re.compile(rb"[A-Za-z_]\w*")
_IDENTIFIERS = frozenset(("identifier",))
# `n /= 2`, `n >>= 1`, `n -= 32`, `n--`, `n = n / 2`
_LESSENS = re.compile(rb"(?P<n>\w+)(?:(?:/|>>|-)=\w+|--|=\(?(?P=n)(?:/|>>|-)\w+\)?)|--\w+")
# The number of callers that are searched for a barrier after the loop.
_CALLERS = 3


class _Divergence(NamedTuple):
    """A divergence: its cause, which is reported once, and the condition on blocks that excludes it, if known."""

    text: bytes
    key: object
    unless: str
    #: The condition, and the function that contains it; None if it comes from a macro.
    at: tuple[Function, Node] | None = None


def in_iterations(function: Function, kernels: Kernels, waiting: Waiting, widest: int) -> Iterator[Finding]:
    """Yield a finding per cause for which threads wait at one barrier in different iterations of a loop.

    On CUDA a thread that skips a barrier in one iteration meets the others there in the next, and one that has left the
    loop meets them at the barrier after it. On AMD the wavefront waits in each iteration for those of its lanes that
    reach the barrier.
    """
    barriers = waiting.sites(function)
    told: set[object] = set()
    for barrier in barriers:
        for loop in loops_around(function, barrier.node, kernels):
            skips = chain(
                _skips(function, kernels, barrier, barriers, loop, widest),
                _inside(function, kernels, waiting, barrier, loop, widest),
                _in_macro(function, kernels, waiting, barrier, widest),
            )
            found = next(skips, None)
            behind: Call | None = None
            if found is None:
                # Whether a barrier follows is seen in the text; whether lanes leave apart takes an analysis of values.
                behind = next(_behind(function, kernels, waiting, loop, barriers, _CALLERS), None)
                if behind is None:
                    continue
                found = next(_leaves(function, kernels, barrier, loop, widest), None)
                if found is None:
                    continue
            if found.key in told:
                continue
            told.add(found.key)
            unless = found.unless
            text = b" ".join(found.text.split()).decode("utf-8", "replace")
            line = function.source.line_read(loop.start_byte)
            if behind is None:
                message = (
                    f"loop in line {line} ({text}): {unless}threads of one wavefront diverge in it and reach this "
                    "barrier in different iterations; on CUDA they meet there, but an AMD wavefront waits in each "
                    "iteration for the threads that come; let all threads reach it in each iteration, with the code "
                    "around "
                    "it under the condition"
                )
            else:
                there = f"line {behind.line}"
                if behind.function.source is not function.source:
                    there += f" of {behind.function.source.path.name}"
                message = (
                    f"loop in line {line} ({text}), and {there}: {unless}threads of one wavefront may leave the loop "
                    "in different iterations and wait at the later barrier; on CUDA they meet the threads that are "
                    "still at the loop's barrier, but an AMD wavefront waits until all its threads have left the loop; "
                    "let all threads reach the loop's barrier in each iteration, with the code around it under the "
                    "condition; nothing has to be done if they already do"
                )
            span = Span(barrier.node.start_byte, barrier.node.end_byte)
            proof = _why(kernels, function, barrier, found, widest)
            yield Finding(span, "iterations", message + missing(proof), certainty=Certainty.MANUAL, proof=proof)


def _why(kernels: Kernels, function: Function, barrier: Call, found: _Divergence, widest: int) -> tuple[Ground, ...]:
    """Return why threads of one wavefront may diverge."""
    if found.at is not None:
        return (grounds.differing(kernels, *found.at, widest, shown=bool(found.unless)),)
    reason = f"{grounds.quoted(found.text)}, which a macro asks, may vary between lanes"
    where = grounds.place(function.source, barrier.node.start_byte)
    return (Ground("all lanes of a wavefront reach it in each iteration", Scope.WARP, reason, *where, proven=False),)


def _skips(
    function: Function, kernels: Kernels, barrier: Call, barriers: Sequence[Call], loop: Node, widest: int
) -> Iterator[_Divergence]:
    """Yield the conditions that make some threads skip a barrier in an iteration, or reach it several times."""
    for condition in function.conditions(barrier.node, loop):
        if condition.statement == loop or not contains(loop, condition.statement):
            continue
        if instead_of(barrier, barriers, condition.statement):
            continue  # They wait at those other barriers in this iteration.
        if not _shrinks(function, condition, loop):
            yield from _divergence(function, kernels, condition, loop, widest)
    for leaving in function.exits_before(barrier.node):
        if leaving.type not in ("continue_statement", "break_statement") or not contains(loop, leaving):
            continue
        goes_on = leaving.type == "continue_statement" or not _around(barrier, leaving, loop)
        if leaving.start_byte > barrier.node.start_byte and goes_on:
            continue  # A thread that jumps after the barrier has waited in this iteration.
        if leaving.type == "break_statement" and _of(leaving) == loop:
            continue
        for condition in function.conditions(leaving, loop):
            statement = condition.statement
            if statement == loop or contains(statement, barrier.node):
                continue
            if not any(contains(statement, each.node) for each in barriers):
                yield from _divergence(function, kernels, condition, loop, widest)


def _leaves(function: Function, kernels: Kernels, barrier: Call, loop: Node, widest: int) -> Iterator[_Divergence]:
    """Yield the conditions with which some threads leave the loop before others."""
    yield from _counted_by_macro(function, kernels, loop, widest)
    for condition in function.conditions(barrier.node):
        if condition.statement == loop or (contains(loop, condition.statement) and _shrinks(function, condition, loop)):
            yield from _divergence(function, kernels, condition, loop, widest)
    for leaving in function.exits_before(barrier.node):
        if leaving.type == "break_statement" and _of(leaving) == loop:
            for condition in function.conditions(leaving, loop):
                if condition.statement != loop and not contains(condition.statement, barrier.node):
                    yield from _divergence(function, kernels, condition, loop, widest)


def _divergence(
    function: Function, kernels: Kernels, condition: Condition, loop: Node, widest: int
) -> Iterator[_Divergence]:
    if not condition.loop and condition.statement != loop:
        side = side_of(condition.statement, condition.taken, b"", 0, 0, False, False)
        # A thread that skips the barrier in every iteration never waits there. The text shows that; an analysis of
        # values takes longer.
        if not may_change(function, side, loop, kernels):
            return
    unless = ""
    uniformity = kernels.uniformity(function, condition.expression)
    if uniformity >= WARP and is_warp_invariant(function, condition.expression, kernels):
        return
    if uniformity >= widest:
        if kernels.uniformity(function, condition.expression, shown=True) >= widest:
            return
        unless = f"unless {kernels.assumption(function.source, function, widest)}, "
    if condition.loop:
        if equal_trip_counts(kernels, function, condition.statement, widest):
            return
    elif condition.statement != loop and uniform_in_iterations(kernels, function, condition.expression, loop, widest):
        return
    yield _Divergence(
        function.text(condition.expression), condition.statement.id, unless, (function, condition.expression)
    )


def _inside(
    function: Function, kernels: Kernels, waiting: Waiting, barrier: Call, loop: Node, widest: int
) -> Iterator[_Divergence]:
    """Yield the conditions with which some threads skip the barrier of a function that they call in each iteration."""
    for of in kernels.definitions(function.source, barrier.name):
        sites = waiting.sites(of) if not of.kernel and of is not function else ()
        for site in sites:
            leaving = [each for each in of.exits_before(site.node) if each.type == "return_statement"]
            conditions = [*of.conditions(site.node), *chain.from_iterable(map(of.conditions, leaving))]
            for condition in conditions:
                # Conditions in a loop there are judged with that loop.
                if condition.loop or instead_of(site, sites, condition.statement):
                    continue
                if kernels.uniformity(of, condition.expression) >= widest:
                    continue
                words = set(_WORD.findall(of.text(condition.expression)))
                given = [value for name, value in zip(of.parameters, barrier.arguments, strict=False) if name in words]
                changing = changes(of, condition.expression, of.body, kernels)
                others = {of.locals.named(word, condition.expression.start_byte) for word in words - {*of.parameters}}
                by_parameters = not changing and not (others - {None}) and not any(map(varies, words))
                # If the condition depends on parameters alone, the arguments here decide, whatever other callers pass.
                if by_parameters and all(kernels.uniformity(function, each) >= widest for each in given):
                    continue
                if changing or any(changes(function, value, loop, kernels) for value in given):
                    yield _Divergence(
                        of.text(condition.expression), condition.statement.id, "", (of, condition.expression)
                    )


def _in_macro(
    function: Function, kernels: Kernels, waiting: Waiting, barrier: Call, widest: int
) -> Iterator[_Divergence]:
    """Yield the conditions in a macro around its barrier."""
    if barrier.name not in kernels.macros(function.source):
        return
    given = [function.text(each) for each in barrier.arguments]
    for text in kernels.expanded(function.source, barrier.name, given):
        for condition, start, end in conditional(text):
            if not waiting.in_words(set(_WORD.findall(text, start, end))):
                continue
            if kernels.uniformity_of_text(function, condition, barrier.node) < widest:
                yield _Divergence(condition, barrier.node.id, "")


def _counted_by_macro(function: Function, kernels: Kernels, loop: Node, widest: int) -> Iterator[_Divergence]:
    """Yield a loop that begins in a macro if its trip count depends on a value that varies by thread, or is unseen."""
    declarator = loop.child_by_field_name("declarator") if loop.type == "function_definition" else None
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    spans = function.source.given(name.end_byte) if name is not None else None
    if declarator is None or name is None or spans is None:
        return
    if function.text(name) not in kernels.macros(function.source):
        yield _Divergence(function.text(declarator), loop.id, "")
        return
    given = [function.source[each] for each in spans]
    for text in kernels.expanded(function.source, function.text(name), given):
        conditions = loop_conditions(text)
        if any(kernels.uniformity_of_text(function, each, declarator) < widest for each in conditions):
            yield _Divergence(function.text(declarator), loop.id, "")


def _around(barrier: Call, leaving: Node, loop: Node) -> bool:
    """Return whether a loop inside `loop` contains both, so a thread that leaves it may miss the next iteration's
    barrier.
    """
    outer = leaving.parent
    while outer is not None and outer != loop:
        if outer.type in LOOPS and contains(outer, barrier.node):
            return True
        outer = outer.parent
    return False


def _shrinks(function: Function, condition: Condition, loop: Node) -> bool:
    """Return whether a condition that is false in one iteration stays false: `t < n`, where `n` decreases."""
    expression = condition.expression
    left, right = expression.child_by_field_name("left"), expression.child_by_field_name("right")
    operator = operator_of(expression, function.source.code)
    if condition.taken is not True or left is None or right is None or operator not in ("<", "<=", ">", ">="):
        return False
    less, more = (left, right) if operator in ("<", "<=") else (right, left)
    variable = function.locals.named(function.text(more), more.start_byte) if more.type == "identifier" else None
    changed = [
        each
        for each in function.locals.assignments
        if contains(loop, each.node) and not each.declares and each.node != loop.child_by_field_name("initializer")
    ]
    made = [squeezed(function.text(each.node)) for each in changed if each.variable == variable]
    others = {function.locals.named(function.text(each), each.start_byte) for each in nodes(less, _IDENTIFIERS)}
    return (
        variable is not None
        and bool(made)
        and all(map(_LESSENS.fullmatch, made))
        and others.isdisjoint(each.variable for each in changed)
    )


def _behind(
    function: Function, kernels: Kernels, waiting: Waiting, loop: Node, barriers: Sequence[Call], callers: int
) -> Iterator[Call]:
    """Yield the barriers that a thread reaches after it has left the loop, or a call."""
    for each in barriers:
        if each.node.start_byte >= loop.end_byte and not exclusive(loop, each.node):
            yield each
    if function.kernel or not callers:
        return
    for caller, place in kernels.called_at(function):
        around = next(loops_around(caller, place, kernels), None)
        sites = waiting.sites(caller)
        yield from (each for each in sites if around is not None and contains(around, each.node))
        yield from _behind(caller, kernels, waiting, place, sites, callers - 1)


def _of(leaving: Node) -> Node | None:
    """Return the loop or `switch` that a `break` leaves."""
    outer = leaving.parent
    while outer is not None and outer.type not in _LEFT_BY_BREAK:
        outer = outer.parent
    return outer
