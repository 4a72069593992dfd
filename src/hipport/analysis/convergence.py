# SPDX-License-Identifier: Apache-2.0
"""Find calls of a collective that divergent lanes of a warp may make separately, though they have to converge there.

A collective is a function that lanes call together: each names the lanes that it waits for. AMD's compilers make lanes
converge where the branches on which they diverged join, in every iteration of a loop, and do not wait otherwise. So a
call has all active lanes of one branch and one iteration. It means what it means on a GPU that waits, except in three
kinds of code, which are found here:

* "branch": lanes diverge, and some reach one call of the collective, some another one (or the same one, in a function
  that both branches call). On a GPU that waits they meet there.
* "apart": two calls, one after the other, under conditions that exclude each other (`x < n`, then `x >= n`).
* "iteration": a call under a condition within a loop, so that lanes reach it in different iterations. For a group of
  lanes, which names all of them, also a call in a loop that some lanes may leave before others.

Where lanes may diverge at too many places to compare each with each, in functions that are nested too deep or called
through too many others, a call that not all lanes reach counts as one of these ("far").

A function that is called through a pointer, an object or a virtual call is taken to be called at every such call with
as many arguments. Lanes for which the pointer or object differs diverge there.

None of this matters where the named lanes were determined in the same branch or iteration: then no others are waited
for. Lanes do not diverge at conditions that are uniform in a warp. Calls are followed by name through functions and
macros. A value of which nothing is known, such as a parameter of a function without a known caller, is varying.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

from hipport.analysis.collective_summary import (
    CHOICE,
    CallPlace,
    Cause,
    Collectives,
    CollectiveSummaries,
    LaneNaming,
    Meeting,
    Mention,
    ReachedCollective,
)
from hipport.analysis.divergence import Side, loops_around, may_change, relation, side_of
from hipport.analysis.exclusive_conditions import MORE, WORD, compared, exclude
from hipport.analysis.functions import Function, function_at
from hipport.analysis.kernels import Kernels
from hipport.analysis.macro_exits import exits_by_macros
from hipport.analysis.transitive_callers import Text
from hipport.analysis.trip_counts import equal_trip_counts
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

# In a macro: a loop, and what may end an iteration early or skip a part of it.
_LOOPS = re.compile(rb"\bfor\b|\bwhile\s*\(\s*(?!(?:0|false)\s*\))")
_TURNS = re.compile(rb"\b(?:if|switch|continue|break|goto|return)\b|&&|\|\||\?")
# Further calls of one place under one condition are not compared.
_MOST_CALLS = 4
# Beyond this number of sides, or of conditions on one operand, not all pairs are compared.
_MOST_COMPARED = 256
# A collective, and the call in a function through which it is reached.
_MentionedCollective = tuple[Mention, ReachedCollective]


def meetings(source: Cpp, project: Project, collectives: Collectives) -> dict[int, Meeting]:
    """Return the calls in `source` that lanes may make separately, by the places of their names."""
    known: dict[object, dict[CallPlace, Meeting]] = project.component(source).fact(_meetings)
    if collectives not in known:
        known[collectives] = _Search(CollectiveSummaries(project, source, collectives, False)).found
        kernels = Kernels.of(project)
        # If the search without assumptions finds the same, the assumptions are irrelevant.
        shown = (
            _Search(CollectiveSummaries(project, source, collectives, True)).found if kernels.assumption(source) else {}
        )
        for place in shown.keys() - known[collectives].keys():
            file = project.by_path[place.path]
            assert isinstance(file, Cpp)
            unless = kernels.assumption(source, function_at(file, place.offset))
            known[collectives][place] = shown[place]._replace(unless=unless)
    return {place.offset: meeting for place, meeting in known[collectives].items() if place.path == source.path}


def _meetings(component: Component) -> dict[object, dict[CallPlace, Meeting]]:
    """Return a cache of the meetings for each kind of collectives."""
    return {}


class _Search:
    """The search for all meetings among the calls that functions summaries."""

    def __init__(self, summaries: CollectiveSummaries) -> None:
        self.summaries = summaries
        self.found = summaries.found
        #: Calls in functions that call themselves.
        self._again: list[tuple[Function, Mention]] = []
        for unit in summaries.units:
            if isinstance(unit, Function):
                self._check(unit)
            else:
                self._check_macro(unit)
        for function, mention in self._again:
            self._check_loops(function, mention, [function.body], [function.body])

    def _check(self, function: Function) -> None:
        by_sides: dict[tuple[Side, ...], list[Mention]] = {}
        for mention in self.summaries.mentions(function):
            by_sides.setdefault(mention.sides, []).append(mention)
            self._check_iterations(function, mention)
        self._check_given(function)
        contexts = [(sides, mentions) for sides, mentions in by_sides.items() if sides]
        if sum(len(sides) for sides, _ in contexts) > _MOST_COMPARED:
            self.summaries.too_far(
                each
                for sides, mentions in contexts
                for mention in mentions
                for each in mention.reached
                if not all(_determined_within(each.lanes, side) for side in sides)
            )
            return
        for i, (sides, mentions) in enumerate(contexts):
            for others, other_mentions in contexts[i + 1 :]:
                kind, own, other = relation(function, sides, others)
                if not kind:
                    continue
                for mention in mentions:
                    for counterpart in other_mentions:
                        if kind == "apart" and self._barrier_between(function, mention.node, counterpart.node):
                            continue
                        self._meet(kind, mention, own, counterpart, other, Cause(function, *own.statement))

    def _check_given(self, function: Function) -> None:
        """Record pairs of calls whose arguments exclude each other: `f(v, v > 0); f(v, v <= 0)`."""
        mentions = self.summaries.mentions(function)
        if len({mention.node.id for mention in mentions}) < 2:
            return
        if not any(each.under for mention in mentions for each in mention.reached):
            return  # the callees have no conditions
        # A condition beyond the limit may exclude any other.
        cut: dict[bytes, list[_MentionedCollective]] = {}
        for mention in mentions:
            for each in mention.reached:
                if MORE in each.under and not each.lanes.inside:
                    cut.setdefault(each.name, []).append((mention, each))
        for mention in mentions if cut else ():
            for each in mention.reached:
                other = next((other for other in cut.get(each.name, ()) if other[0].node != mention.node), None)
                if other is not None:
                    self._meet_given(function, (mention, each), other)
        for texts in _asked(mentions):
            pairs = _pairs(texts)
            if pairs is None:
                self.summaries.too_far(each for given in texts.values() for _, each in given)
                continue
            for one, two in pairs:
                if exclude(one, two):
                    for first, second in product(texts[one], texts[two]):
                        self._meet_given(function, first, second)

    def _meet_given(self, function: Function, first: _MentionedCollective, second: _MentionedCollective) -> None:
        (one, a), (two, b) = first, second
        if not a.mask & b.mask:
            return
        if not (a.under or b.under) or one.node == two.node or (a.place in self.found and b.place in self.found):
            return
        if not self._barrier_between(function, one.node, two.node):
            at = (Cause(function, each.node.start_byte, each.node.end_byte) for each in (one, two))
            self.found.setdefault(a.place, Meeting("apart", b.place, cause=next(at)))
            self.found.setdefault(b.place, Meeting("apart", a.place, cause=next(at)))

    def _check_macro(self, macro: Text) -> None:
        """A macro has no tree: if it has a choice, its calls are assumed to be in different branches.

        If it has a loop and a condition, lanes are assumed to come in different iterations.
        """
        if _LOOPS.search(macro.source.code, macro.start, macro.end) and _TURNS.search(
            macro.source.code, macro.start, macro.end
        ):
            for each in self.summaries.of_text(macro):
                if not each.lanes.inside:
                    self.found.setdefault(each.place, Meeting("turn", each.place))
        if not CHOICE.search(macro.source.code, macro.start, macro.end):
            return
        calls: dict[bytes, dict[CallPlace, None]] = {}
        for each in self.summaries.of_text(macro):
            if not each.lanes.inside:
                calls.setdefault(each.name, {})[each.place] = None
        for places in calls.values():
            first, *others = places
            for place in places if others else ():
                self.found.setdefault(place, Meeting("branch", others[0] if place == first else first))

    def _meet(self, kind: str, one: Mention, own: Side, two: Mention, other: Side, cause: Cause) -> None:
        others: dict[bytes, list[ReachedCollective]] = {}
        for b in two.reached:
            if not _determined_within(b.lanes, other):
                others.setdefault(b.name, []).append(b)
        # Calls without a meeting so far. Once all have one, each call of the first mention needs only one.
        alone = {name: list(calls) for name, calls in others.items()}
        for a in one.reached:
            if a.name not in others or _determined_within(a.lanes, own):
                continue
            # Calls with disjoint masks do not wait for each other.
            first = next((b for b in others[a.name] if a.mask & b.mask), None)
            if first is None:
                continue
            self.found.setdefault(a.place, Meeting(kind, first.place, cause=cause))
            for b in alone[a.name]:
                if a.mask & b.mask:
                    self.found.setdefault(b.place, Meeting(kind, a.place, cause=cause))
            alone[a.name] = [b for b in alone[a.name] if not a.mask & b.mask]

    def _check_iterations(self, function: Function, mention: Mention) -> None:
        if function.tangled:
            return  # all of its calls are recorded
        loops = [*loops_around(function, mention.node, self.summaries.kernels)]
        self._check_loops(function, mention, loops, [each for each in loops if each.type == "lambda_expression"])
        if self.summaries.kernels.calls_itself(function):
            # Other reasons take precedence.
            self._again.append((function, mention))

    def _check_loops(self, function: Function, mention: Mention, loops: Sequence[Node], again: Sequence[Node]) -> None:
        """Record calls that lanes make in different iterations; `again`: lambdas and functions that call themselves."""
        for loop in loops:
            inside = side_of(loop, True, b"", loop.start_byte, loop.end_byte, True, False)
            skips = [
                side
                for side in mention.sides
                if side.skips(loop)
                and loop.start_byte < side.statement[0] < loop.end_byte
                and (loop in again or may_change(function, side, loop, self.summaries.kernels))
                and not (side.often and self._in_step(function, side, mention))
            ]
            if self.summaries.collectives.group is not None and self._left_early(function, mention, loop):
                skips.append(inside)
            for each in mention.reached:
                if (skips or each.skipped) and not _determined_within(each.lanes, inside):
                    span = skips[0].statement if skips else (mention.node.start_byte, mention.node.end_byte)
                    self.found.setdefault(each.place, Meeting("iteration", each.place, cause=Cause(function, *span)))

    def _in_step(self, function: Function, side: Side, mention: Mention) -> bool:
        """Whether lanes stay in a loop for the same number of iterations, although they differ on its condition."""
        loop = next((each for each in function.around(mention.node) if each.start_byte == side.statement[0]), None)
        size = max(each.size for each in mention.reached)
        return loop is not None and equal_trip_counts(self.summaries.kernels, function, loop, size)

    def _left_early(self, function: Function, mention: Mention, loop: Node) -> bool:
        """Whether some lanes may leave the loop before others, which then call without them."""
        if any(side.often and side.statement == (loop.start_byte, loop.end_byte) for side in mention.sides):
            return True
        size = max(each.size for each in mention.reached)
        kernels, shown = self.summaries.kernels, self.summaries.shown
        if any(
            each.kind == "break_statement"
            and loop.start_byte <= each.node.start_byte < loop.end_byte
            and each.differs(kernels, function, size, shown=shown)
            for each in exits_by_macros(kernels, function, mention.node)
        ):
            return True
        return any(
            kernels.may_differ(function, condition.expression, size, shown=shown)
            for leaving in function.exits_before(mention.node)
            if leaving.type == "break_statement" and loop.start_byte <= leaving.start_byte < loop.end_byte
            for condition in function.conditions(leaving, loop)
            if not condition.loop
        )

    def _barrier_between(self, function: Function, one: Node, two: Node) -> bool:
        first, second = sorted((one.end_byte, two.start_byte))
        barriers = function.source.matched(self.summaries.collectives.barriers)
        return bool(barriers) and not barriers.isdisjoint(WORD.findall(function.source.code, first, second))


def _asked(mentions: Iterable[Mention]) -> Iterable[dict[bytes, list[_MentionedCollective]]]:
    """Return the conditions of calls, with the calls, of one collective and one operand each.

    Only conditions on the same operands can exclude each other: all pairs of calls would be too many.
    """
    asked: dict[tuple[bytes, bytes], dict[bytes, list[_MentionedCollective]]] = {}
    counts: Counter[tuple[bytes, CallPlace]] = Counter()
    for mention in mentions:
        sides = {side.condition for side in mention.sides}
        for each in mention.reached:
            for text in (each.under | sides) - each.lanes.by - {MORE} if not each.lanes.inside else ():
                calls = asked.setdefault((each.name, compared(text)[0]), {}).setdefault(text, [])
                if counts[text, each.place] < _MOST_CALLS:
                    counts[text, each.place] += 1
                    calls.append((mention, each))
    return asked.values()


def _pairs(texts: dict[bytes, list[_MentionedCollective]]) -> Iterable[tuple[bytes, bytes]] | None:
    """Return the pairs of conditions of different calls; None if they are too many."""
    # Two conditions of one call are irrelevant, and in a long chain of calls most pairs are such.
    by_calls: dict[frozenset[int], list[bytes]] = {}
    for text, calls in texts.items():
        by_calls.setdefault(frozenset(mention.node.id for mention, _ in calls), []).append(text)
    inside = sum(len(group) ** 2 for of, group in by_calls.items() if len(of) == 1)
    if len(texts) ** 2 - inside > _MOST_COMPARED**2:
        return None
    return chain(
        (pair for one, two in combinations(by_calls.values(), 2) for pair in product(one, two)),
        (pair for of, group in by_calls.items() if len(of) > 1 for pair in combinations(group, 2)),
    )


def _determined_within(lanes: LaneNaming, side: Side) -> bool:
    """Whether the named lanes were determined on that side, or by the condition that leads there."""
    if lanes.inside or any(side.start <= offset < side.end for offset in lanes.found):
        return True
    return side.condition in lanes.by
