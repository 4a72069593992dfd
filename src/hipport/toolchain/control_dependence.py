# SPDX-License-Identifier: Apache-2.0
"""Control dependence, as compilers define it: by post-dominance.

J. Ferrante, K. Ottenstein, J. Warren: The Program Dependence Graph and Its Use in Optimization, 1987.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class BranchSide(NamedTuple):
    """One outgoing edge of the branch at the end of a block, by its index."""

    block: int
    way: int


def deciding(following: Sequence[Sequence[int]]) -> list[frozenset[BranchSide]]:
    """Return for each block the edges on which it is control dependent: they lead to it, or to another execution of it.

    `following` has the successors of each block. An infinite loop counts as one that may end.
    """
    behind = _post_dominators(following)
    found: list[set[BranchSide]] = [set() for _ in following]
    for block, targets in enumerate(following):
        if len(targets) < 2:
            continue
        for way, target in enumerate(targets):
            at = target
            while at not in (behind[block], len(following)):
                found[at].add(BranchSide(block, way))
                at = behind[at]
    return [frozenset(each) for each in found]


def all_deciding(direct: Sequence[frozenset[BranchSide]], block: int) -> frozenset[BranchSide]:
    """Return the edges on which `block` is control dependent, directly or not."""
    found: set[BranchSide] = set()
    waiting = list(direct[block])
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += direct[each.block]
    return frozenset(found)


def leading(following: Sequence[Sequence[int]], to: Iterable[int]) -> frozenset[int]:
    """Return the blocks from which one of `to` can be reached, including those."""
    before: list[list[int]] = [[] for _ in following]
    for block, targets in enumerate(following):
        for target in targets:
            before[target].append(block)
    found: set[int] = set()
    waiting = list(to)
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting += before[block]
    return frozenset(found)


def _post_dominators(following: Sequence[Sequence[int]]) -> list[int]:
    """Return the immediate post-dominator of each block; the exit is an additional block.

    The algorithm of K. Cooper, T. Harvey and K. Kennedy, on the reversed graph.
    """
    end = len(following)
    ends = [block for block, targets in enumerate(following) if not targets]
    # In an infinite loop, any block may be the last.
    leading_out = set(leading(following, ends))
    for block in reversed(range(end)):
        if block not in leading_out:
            ends.append(block)
            leading_out |= leading(following, [block])
    backwards: list[list[int]] = [[] for _ in range(end + 1)]
    for block, targets in enumerate(following):
        for target in targets:
            backwards[target].append(block)
    backwards[end] = ends
    order = _finished(backwards, end)
    rank = {block: i for i, block in enumerate(order)}
    found = {end: end}
    exits = frozenset(ends)
    changed = True
    while changed:
        changed = False
        for block in reversed(order[:-1]):
            targets = [*following[block], *((end,) if block in exits else ())]
            new = -1
            for target in targets:
                if target in found:
                    new = target if new < 0 else _common(found, rank, new, target)
            if found.get(block) != new:
                found[block] = new
                changed = True
    return [found[block] for block in range(end)]


def _finished(graph: Sequence[Sequence[int]], start: int) -> list[int]:
    """Return the nodes in depth-first postorder."""
    order: list[int] = []
    seen = {start}
    stack = [(start, iter(graph[start]))]
    while stack:
        node, rest = stack[-1]
        for each in rest:
            if each not in seen:
                seen.add(each)
                stack.append((each, iter(graph[each])))
                break
        else:
            order.append(node)
            stack.pop()
    return order


def _common(found: dict[int, int], rank: dict[int, int], one: int, other: int) -> int:
    while one != other:
        while rank[one] < rank[other]:
            one = found[one]
        while rank[other] < rank[one]:
            other = found[other]
    return one
