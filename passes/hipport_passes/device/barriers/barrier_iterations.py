# SPDX-License-Identifier: Apache-2.0
"""Barriers in loops that threads of one wavefront reach in different iterations, or that some leave before others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis import grounds
from hipport.analysis.built_ins import varies
from hipport.analysis.divergence import changes, loops_around, may_change, side_of, text_changes
from hipport.analysis.exclusive_conditions import squeezed
from hipport.analysis.functions import (
    LOOPS,
    Call,
    Condition,
    Function,
    comes_by_label,
    contains,
    declared_name,
    declared_parameters,
    exclusive,
    nodes,
    operator_of,
)
from hipport.analysis.kernels import Kernels
from hipport.analysis.macro_exits import MacroExit, exits_by_macros
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
# The number of functions between a call and the barrier.
_CALLEES = 4


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
        if not contains(loop, leaving) or not _stays(function, leaving, barrier, loop):
            continue
        if leaving.type == "return_statement" and not contains(loop, function.left_by(leaving, leaving.type)):
            continue  # A thread that leaves a lambda in the loop is still in the loop.
        goes_on = leaving.type != "break_statement" or not _around(barrier, leaving, loop)
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
    yield from _skips_by_macros(function, kernels, barrier, loop, widest)


def _stays(function: Function, leaving: Node, barrier: Call, loop: Node) -> bool:
    """Whether a `goto` leads to a place in the loop behind the barrier; for another exit, this is not asked."""
    if leaving.type != "goto_statement":
        return True
    label = function.labels.get(function.text(leaving.named_children[0])) if leaving.named_children else None
    inside = label is not None and contains(loop, label)
    return inside and comes_by_label(function, leaving, barrier.node) is False


def _skips_by_macros(
    function: Function, kernels: Kernels, barrier: Call, loop: Node, widest: int
) -> Iterator[_Divergence]:
    """Yield the conditions with which some threads skip a barrier in an iteration by a macro."""
    for by_macro in exits_by_macros(kernels, function, barrier.node):
        use, kind = by_macro.node, by_macro.kind
        if not contains(loop, use) or (kind == "return_statement" and not contains(loop, function.left_by(use, kind))):
            continue
        own = kind == "break_statement" and _of(use) == loop
        goes_on = kind != "break_statement" or not _around(barrier, use, loop)
        if not own and not (use.start_byte > barrier.node.start_byte and goes_on):
            yield from _by_macro(function, kernels, by_macro, loop, widest)


def _by_macro(
    function: Function, kernels: Kernels, by_macro: MacroExit, loop: Node, widest: int
) -> Iterator[_Divergence]:
    """Yield the conditions with which some threads leave by a macro."""
    use = by_macro.node
    if text_changes(function, by_macro.text, loop, kernels) and by_macro.differs(kernels, function, widest):
        unless = ""
        if by_macro.asked is None:
            unless = f"if {by_macro.name.decode()}, a macro that hipport does not see, lets some of them leave, "
        yield _Divergence(function.text(use), use.id, unless)
    for condition in function.conditions(use, loop):
        if condition.statement != loop:
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
    for by_macro in exits_by_macros(kernels, function, barrier.node):
        if by_macro.kind == "break_statement" and _of(by_macro.node) == loop:
            yield from _by_macro(function, kernels, by_macro, loop, widest)


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


class _Skip(NamedTuple):
    """A condition with which some threads skip a barrier in a function or lambda that is called.

    `positions`: the parameters on which its value depends; `changes`: whether it may change otherwise between calls.
    """

    function: Function
    expression: Node
    positions: frozenset[int]
    changes: bool
    #: Whether threads differ on it whatever the arguments are.
    own: bool


def _inside(
    function: Function, kernels: Kernels, waiting: Waiting, barrier: Call, loop: Node, widest: int
) -> Iterator[_Divergence]:
    """Yield the conditions with which some threads skip the barrier of a function that they call in each iteration."""
    for of, body in waiting.callees(function, barrier):
        for skip in _skipping(kernels, waiting, of, body, widest, _CALLEES):
            given = [barrier.arguments[i] for i in skip.positions if i < len(barrier.arguments)]
            unknown = len(given) < len(skip.positions)
            if not (skip.own or unknown) and all(kernels.uniformity(function, each) >= widest for each in given):
                continue
            captured = of is function and changes(function, skip.expression, loop, kernels)
            if skip.changes or captured or unknown or any(changes(function, each, loop, kernels) for each in given):
                yield _Divergence(
                    skip.function.text(skip.expression),
                    skip.expression.id,
                    "",
                    (skip.function, skip.expression),
                )


def _skipping(kernels: Kernels, waiting: Waiting, of: Function, body: Node, widest: int, depth: int) -> Iterator[_Skip]:
    """Yield the conditions with which some threads that call a function, or a lambda in it, skip a barrier there."""
    parameters = _parameters(of, body)
    sites = [each for each in waiting.sites(of) if contains(body, each.node)]
    for site in sites:
        leaving = [each for each in of.exits_before(site.node) if each.type == "return_statement"]
        leaving = [each for each in leaving if of.left_by(each, each.type) == body]
        for place in (site.node, *leaving):
            for condition in of.conditions(place, None if body == of.body else body):
                # Conditions in a loop there are judged with that loop.
                if condition.loop or instead_of(site, sites, condition.statement):
                    continue
                if kernels.uniformity(of, condition.expression) < widest:
                    positions, changing, own = _depends(of, condition.expression, parameters, body, kernels)
                    yield _Skip(of, condition.expression, positions, changing, own)
        for inner, inner_body in waiting.callees(of, site) if depth else ():
            for skip in _skipping(kernels, waiting, inner, inner_body, widest, depth - 1):
                made: set[int] = set()
                changing, own = skip.changes, skip.own
                for position in skip.positions:
                    if position >= len(site.arguments):
                        changing = True
                        continue
                    found = _depends(of, site.arguments[position], parameters, body, kernels)
                    made |= found[0]
                    changing, own = changing or found[1], own or found[2]
                yield skip._replace(positions=frozenset(made), changes=changing, own=own)


def _parameters(of: Function, body: Node) -> tuple[bytes, ...]:
    """The parameters of a function, or of a lambda in it."""
    if body == of.body:
        return of.parameters
    declarator = body.child_by_field_name("declarator")
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    code = of.source.code
    return tuple(declared_name(each, code) for each in declared_parameters(listed, code))


def _depends(
    of: Function, expression: Node, parameters: Sequence[bytes], body: Node, kernels: Kernels
) -> tuple[frozenset[int], bool, bool]:
    """Return the parameters that an expression depends on, whether it may change otherwise, and by thread."""
    positions: set[int] = set()
    changing, own = changes(of, expression, body, kernels), False
    waiting, seen = [expression], set()
    while waiting:
        node = waiting.pop()
        for word in _WORD.findall(of.text(node)):
            own = own or varies(word) or word == b"threadIdx"
            if word in seen:
                continue
            seen.add(word)
            if word in parameters:
                positions.add(parameters.index(word))
                continue
            variable = of.locals.named(word, node.start_byte)
            values = (
                [each for given in of.locals.definitions.get(variable, ()) for each in given.values] if variable else []
            )
            waiting += values
            if variable is not None and contains(body, node) and variable.start >= body.start_byte:
                # A local variable: it changes with what it is made of.
                own = own or not values
                changing = changing or any(changes(of, each, body, kernels) for each in values)
    return frozenset(positions), changing, own


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
