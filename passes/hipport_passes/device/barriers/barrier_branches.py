# SPDX-License-Identifier: Apache-2.0
"""Barriers at which threads of one wavefront wait instead of at another one, because they diverge before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product, takewhile
from typing import TYPE_CHECKING

from hipport.analysis import grounds
from hipport.analysis.divergence import meaning
from hipport.analysis.exclusive_conditions import exclude, squeezed
from hipport.analysis.functions import Call, Condition, Function, comes_by_label, contains
from hipport.analysis.indirect_calls import CALLED, indirect_calls, targets
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import Ground, Scope, missing
from hipport_passes.device.barriers.divided_branches import SIDE, divided
from hipport_passes.device.barriers.instead import instead_of, parts
from hipport_passes.device.barriers.waiting import Waiting

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = re.compile(rb"[A-Za-z_]\w*")
_TOO_MANY = "too many barriers under conditions to compare each pair"
_UNCLEAR = "hipport does not understand the text of this function"
_GOTO = re.compile(rb"\bgoto\b")
# The greatest number of successive barriers, and of conditions on each, that are compared; programs have at most a
# dozen.
_MOST_COMPARED = 32


def in_branches(function: Function, kernels: Kernels, waiting: Waiting, widest: int) -> Iterator[Finding]:
    """Yield a finding per divergence after which threads of one wavefront wait at different barriers."""
    if waiting.pointed:
        yield from _by_pointers(function, kernels, waiting, widest)
    barriers = waiting.sites(function)
    if len(barriers) < 2:
        return
    if function.tangled:
        yield _not_compared(barriers[0], _TOO_MANY)
        return
    if kernels.unclear(function) or function.enters_inside:
        yield _not_compared(barriers[0], _UNCLEAR)
        return
    yield from _by_labels(function, kernels, barriers, widest)
    yield from _under_exclusive_conditions(function, kernels, barriers, widest)
    yield from _in_several_branches(function, kernels, waiting, barriers, widest)


def _by_pointers(function: Function, kernels: Kernels, waiting: Waiting, widest: int) -> Iterator[Finding]:
    """Yield a finding per call of a pointer by which threads may call different functions with barriers."""
    for each in indirect_calls(function):
        # An object has one class, whatever its value.
        by_pointer = [of for of in targets(each, function, waiting.pointed, kernels) if of.name != CALLED]
        if len(by_pointer) > 1 and kernels.uniformity(function, each.callee) < widest:
            text = b" ".join(function.text(each.callee).split()).decode("utf-8", "replace")
            proof = (grounds.differing(kernels, function, each.callee, widest),)
            yield Finding(
                Span(each.callee.start_byte, each.callee.end_byte),
                "divergent",
                f"threads of one wavefront may call different functions by `{text}`, and wait at a barrier in each: "
                "on CUDA they meet there, but an AMD wavefront waits at both, one after the other; let all "
                f"threads reach one barrier, outside of the called functions{missing(proof)}",
                certainty=Certainty.MANUAL,
                proof=proof,
            )


def _in_several_branches(
    function: Function, kernels: Kernels, waiting: Waiting, barriers: Sequence[Call], widest: int
) -> Iterator[Finding]:
    """Yield a finding per statement with barriers in several of its branches, divided if that is possible."""
    done: set[int] = set()
    divisions = 0
    for barrier in barriers:
        for condition in function.conditions(barrier.node):
            statement = condition.statement
            if statement.id in done:
                continue
            if not parts(statement):
                done.add(statement.id)
                continue
            others = instead_of(barrier, barriers, statement)
            # Uniformity is computed last, because it is expensive.
            if others is None:
                continue
            done.add(statement.id)
            unless = ""
            if kernels.uniformity(function, condition.expression) >= widest:
                if kernels.uniformity(function, condition.expression, shown=True) >= widest:
                    continue
                unless = f"unless {kernels.assumption(function.source, function, widest)}, "
            edits = divided(function, statement, [barrier, *others], waiting, divisions)
            divisions += any(SIDE in edit.new for edit in edits)
            if edits:
                yield _divided(function, condition, unless, edits)
            else:
                proof = (grounds.differing(kernels, function, condition.expression, widest, shown=bool(unless)),)
                yield _undivided(function, condition, unless, (barrier, others[0]), proof)


def _asked(function: Function, condition: Condition) -> tuple[Span, str]:
    """Return the place of a statement up to its condition, and the condition's text."""
    statement = condition.statement
    head = statement.child_by_field_name("condition") or statement
    text = b" ".join(function.text(condition.expression).split()).decode("utf-8", "replace")
    return Span(statement.start_byte, head.end_byte), text


def _divided(function: Function, condition: Condition, unless: str, edits: tuple[Edit, ...]) -> Finding:
    span, text = _asked(function, condition)
    claim = "each thread executes the same code between the same barriers"
    same = f"both branches of `if ({text})` have the same number of barriers, and are divided there"
    return Finding(
        span,
        "divergent",
        f"one barrier for both branches of `if ({text})`: {unless}an AMD wavefront with threads in both "
        "would wait twice",
        edits,
        proof=(Ground(claim, Scope.BLOCK, same, *grounds.place(function.source, span.start)),),
    )


def _undivided(
    function: Function, condition: Condition, unless: str, barriers: tuple[Call, Call], proof: tuple[Ground, ...]
) -> Finding:
    span, text = _asked(function, condition)
    here, there = (each.line for each in barriers)
    return Finding(
        span,
        "divergent",
        f"{unless}threads of one wavefront diverge at `{text}` and wait at different barriers, in lines "
        f"{here} and {there}: on CUDA they meet there, but an AMD wavefront waits at both, one after the "
        "other; let all threads reach one barrier, with the code around it under the condition"
        f"{missing(proof)}",
        certainty=Certainty.MANUAL,
        proof=proof,
    )


def _under_exclusive_conditions(
    function: Function, kernels: Kernels, barriers: Sequence[Call], widest: int
) -> Iterator[Finding]:
    """Yield a finding per pair of successive barriers of which each thread reaches one.

    They are under conditions that exclude each other, `if (x) …; if (!x) …;`, or in `(x && …) || …`.
    """
    conditions = [
        [each for each in function.conditions(barrier.node) if each.taken is not None and not each.loop]
        for barrier in barriers
    ]
    ways = [frozenset(map(_way, each)) for each in conditions]
    told = False
    for i, first in enumerate(barriers):
        # All threads meet at a barrier that is under no condition.
        behind = takewhile(lambda j: conditions[j], range(i + 1, len(barriers) if conditions[i] else 0))
        for j in behind:
            second = barriers[j]
            own, others = conditions[i], conditions[j]
            if j - i > _MOST_COMPARED or len(ways[i] ^ ways[j]) > _MOST_COMPARED:
                if not told and any(kernels.uniformity(function, each.expression) < widest for each in own):
                    told = True
                    yield _not_compared(first, _TOO_MANY)
                break
            shared = ways[i] & ways[j]
            between = Span(first.node.start_byte, second.node.start_byte)
            at = None
            if len(shared) < min(len(ways[i]), len(ways[j])):
                mine, theirs = ([each for each in some if _way(each) not in shared] for some in (own, others))
                at = _excluding(function, mine, theirs, between)
            # Uniformity is computed last, because it is expensive.
            if at is None or kernels.uniformity(function, at) >= widest:
                continue
            if any(
                all(
                    _way(each) in shared or kernels.uniformity(function, each.expression) >= widest
                    for each in conditions[k]
                )
                for k in range(i + 1, j)
            ):
                break  # All threads meet there.
            text = b" ".join(function.text(at).split()).decode("utf-8", "replace")
            here, there = first.line, second.line
            proof = (grounds.differing(kernels, function, at, widest),)
            yield Finding(
                Span(first.node.start_byte, first.node.end_byte),
                "divergent",
                f"threads of one wavefront diverge at `{text}` and wait at different barriers, in lines {here} and "
                f"{there}: on CUDA they meet there, but an AMD wavefront waits at both, one after the other; let all "
                f"threads reach one barrier, with the code around it under the condition{missing(proof)}",
                certainty=Certainty.MANUAL,
                proof=proof,
            )
            break


def _not_compared(barrier: Call, why: str) -> Finding:
    where = grounds.place(barrier.function.source, barrier.node.start_byte)
    claim = "all threads of a block reach it together"
    proof = (Ground(claim, Scope.BLOCK, "not each pair is compared", *where, proven=False),)
    return Finding(
        Span(barrier.node.start_byte, barrier.node.end_byte),
        "divergent",
        f"{why}: make sure that threads of one wavefront do not diverge at a condition and wait at different barriers"
        f"{missing(proof)}",
        certainty=Certainty.MANUAL,
        proof=proof,
    )


def _way(condition: Condition) -> tuple[int, bool | None]:
    return condition.statement.id, condition.taken


def _excluding(function: Function, own: list[Condition], others: list[Condition], between: Span) -> Node | None:
    """Return one of the conditions `own` that does not hold where the `others` do; None if there is none."""
    for one, other in product(own, others):
        if one.statement == other.statement:
            continue
        if (
            other.statement.type == "binary_expression"
            and not other.taken
            and contains(other.expression, one.statement)
        ):
            return one.expression  # `(one && …) || …`
        texts = [(b"" if each.taken else b"!") + squeezed(function.text(each.expression)) for each in (one, other)]
        meant = [meaning(function, text, one.expression) for text in texts]
        if (exclude(*texts) or exclude(*meant)) and not any(
            between.start <= each.node.start_byte < between.end
            and each.variable.name in _WORDS.findall(texts[0])
            and not each.declares
            for each in function.locals.assignments
        ):
            return one.expression
    return None


def _by_labels(function: Function, kernels: Kernels, barriers: Sequence[Call], widest: int) -> Iterator[Finding]:
    """Yield a finding per `goto` with which some threads skip a barrier and reach another one."""
    if not function.mentions(_GOTO):
        return
    sides: dict[int, dict[bool, Call]] = {}
    leaving = {}
    for barrier in barriers:
        for exit_ in function.exits_before(barrier.node):
            comes = comes_by_label(function, exit_, barrier.node) if exit_.type == "goto_statement" else None
            if comes is not None:
                leaving[exit_.start_byte] = exit_
                sides.setdefault(exit_.start_byte, {}).setdefault(comes, barrier)
    for start, found in sides.items():
        expressions = (each.expression for each in function.conditions(leaving[start]))
        differing = next((each for each in expressions if kernels.uniformity(function, each) < widest), None)
        if len(found) < 2 or differing is None:
            continue
        proof = (grounds.differing(kernels, function, differing, widest),)
        here, there = (found[side].line for side in (False, True))
        yield Finding(
            Span(start, leaving[start].end_byte),
            "divergent",
            f"threads of one wavefront diverge at this goto and wait at different barriers, in lines {here} and "
            f"{there}: on CUDA they meet there, but an AMD wavefront waits at both, one after the other; let all "
            f"threads reach one barrier{missing(proof)}",
            certainty=Certainty.MANUAL,
            proof=proof,
        )
