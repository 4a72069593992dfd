# SPDX-License-Identifier: Apache-2.0
"""Where threads that diverge at a branch reconverge: a property of a function's control flow graph alone.

    flow = Reconvergence(blocks)
    flow.of(branch).joins     # blocks that threads of both sides may reach on paths that are disjoint until there
    flow.of(branch).loops     # loops that threads leave in different iterations because of it
    flow.of(branch).region    # blocks that some of the threads reach without the others

This is the analysis of synchronization dependence in GPU compilers (Karrenberg and Hack, "Improving performance of
OpenCL on CPUs", 2012; Rosemann, Moll and Hack, "An abstract interpretation for SPMD divergence on reducible control
flow graphs", 2021): labels of the branch's sides are propagated through the graph without its back edges. Where two
labels meet is a join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from hipport.analysis.device_ir import Block


class Loop(NamedTuple):
    """A natural loop: its header, its blocks, and its exit blocks."""

    header: int
    blocks: frozenset[int]
    exits: tuple[int, ...]
    #: Whether the header is the only entry.
    once: bool = True


class Divergence(NamedTuple):
    """The effect of a branch on threads that take different sides."""

    joins: frozenset[int]
    loops: tuple[Loop, ...]
    region: frozenset[int]


class Reconvergence:
    """The joins, loops and regions of a function's branches."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._successors = [tuple(dict.fromkeys(block.successors)) for block in blocks]
        self.order = self._reverse_postorder()
        #: The positions of the blocks in that order.
        self.position = {block: i for i, block in enumerate(self.order)}
        self._dominators = self._find_dominators()
        self.loops = self._find_loops()
        #: The loops around a block, the innermost first.
        self._around = {block: [loop for loop in self.loops if block in loop.blocks] for block in self.order}
        self._known: dict[int, Divergence] = {}
        #: For each block, the blocks reachable without back edges, as bits; computed on demand.
        self._forward: dict[int, int] = {}

    def of(self, branch: int) -> Divergence:
        """Return the effect of the branch at the end of a block."""
        if branch not in self._known:
            self._known[branch] = self._diverge(branch, self._successors[branch], self._around[branch])
        return self._known[branch]

    def dominators(self, block: int) -> list[int]:
        """Return the blocks that dominate a block, the nearest first."""
        found = []
        while block in self._dominators and self._dominators[block] != block:
            block = self._dominators[block]
            found.append(block)
        return found

    def comes_to(self, one: int, two: int) -> bool:
        """Whether control can get from one block to another without back edges."""
        if not self._forward:
            for block in reversed(self.order):
                bits = 1 << block
                for successor in self._successors[block]:
                    if not self.is_back_edge(block, successor):
                        bits |= self._forward[successor]
                self._forward[block] = bits
        return bool(self._forward.get(one, 0) >> two & 1)

    def left(self, block: int, successor: int) -> list[Loop]:
        """Return the loops that the edge leaves, the innermost first."""
        return [loop for loop in self._around.get(block, ()) if successor not in loop.blocks]

    def is_back_edge(self, block: int, successor: int) -> bool:
        """Whether the edge is a back edge."""
        return self.position[successor] <= self.position[block]

    def _reverse_postorder(self) -> list[int]:
        seen, order = {0}, []
        stack = [(0, iter(self._successors[0]))] if self._successors else []
        while stack:
            block, rest = stack[-1]
            for successor in rest:
                if successor not in seen:
                    seen.add(successor)
                    stack.append((successor, iter(self._successors[successor])))
                    break
            else:
                order.append(block)
                stack.pop()
        return order[::-1]

    def _find_dominators(self) -> dict[int, int]:
        """The immediate dominator of each block (Cooper, Harvey and Kennedy, 2001)."""
        predecessors: dict[int, list[int]] = {block: [] for block in self.order}
        for block in self.order:
            for successor in self._successors[block]:
                predecessors[successor].append(block)
        found = {0: 0}
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                known = [each for each in predecessors[block] if each in found]
                new = known[0]
                for each in known[1:]:
                    new = self._common(found, new, each)
                if found.get(block) != new:
                    found[block] = new
                    changed = True
        return found

    def _common(self, dominators: dict[int, int], one: int, two: int) -> int:
        while one != two:
            while self.position[one] > self.position[two]:
                one = dominators[one]
            while self.position[two] > self.position[one]:
                two = dominators[two]
        return one

    def _dominates(self, one: int, two: int) -> bool:
        while self.position[two] > self.position[one]:
            two = self._dominators[two]
        return one == two

    def _find_loops(self) -> list[Loop]:
        bodies: dict[int, set[int]] = {}
        twice: set[int] = set()
        predecessors: dict[int, list[int]] = {}
        for block in self.order:
            for successor in self._successors[block]:
                predecessors.setdefault(successor, []).append(block)
        predecessors.setdefault(0, [])
        for block in self.order:
            for header in self._successors[block]:
                if self.position[header] > self.position[block]:
                    continue
                body = bodies.setdefault(header, {header})
                if not self._dominates(header, block):
                    # A cycle with two entries, by `goto`: all blocks that may be in it.
                    body |= self._reached(header, self._successors) & self._reached(block, predecessors)
                    twice.add(header)
                    continue
                waiting = [block]
                while waiting:
                    each = waiting.pop()
                    if each not in body:
                        body.add(each)
                        waiting += predecessors.get(each, ())
        loops = []
        for header, body in bodies.items():
            exits = {to for block in body for to in self._successors[block] if to not in body}
            loops.append(Loop(header, frozenset(body), tuple(sorted(exits)), header not in twice))
        return sorted(loops, key=lambda loop: len(loop.blocks))

    def _reached(self, block: int, edges: Mapping[int, Sequence[int]] | Sequence[Sequence[int]]) -> set[int]:
        """The blocks reachable from a block along edges."""
        found, waiting = {block}, [block]
        while waiting:
            for each in edges[waiting.pop()]:
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return found

    def _diverge(self, at: int, sides: Sequence[int], around: Sequence[Loop]) -> Divergence:
        """Return the effect on threads that go from the block `at` to different `sides`, in the loops `around` it."""
        if len(sides) < 2:
            return Divergence(frozenset(), (), frozenset())
        labels: dict[int, int] = {}
        joins: set[int] = set()
        #: The labels that arrive at headers of enclosing loops through back edges.
        again: dict[int, set[int]] = {}
        waiting: list[tuple[int, int]] = []
        inside: set[int] = set()

        def come(source: int, to: int, label: int) -> None:
            if self.position[to] <= self.position[source]:
                again.setdefault(to, set()).add(label)
                return
            if to not in labels:
                labels[to] = label
                heappush(waiting, (self.position[to], to))
            elif labels[to] != label:
                labels[to] = to
                joins.add(to)

        for side in sides:
            come(at, side, side)
        region: set[int] = set()
        while waiting:
            _, block = heappop(waiting)
            if not waiting and not again and block in joins:
                break  # all threads have reconverged
            region.add(block)
            inside.add(block)
            for successor in self._successors[block]:
                come(block, successor, labels[block])
        found: list[Loop] = []
        for loop in around:
            back = again.get(loop.header, set())
            out = {labels[each] for each in loop.exits if each in labels}
            if back and out and len(back | out) > 1:
                found.append(loop)
                region |= loop.blocks
                # Threads leave it in different iterations, so they reach its exits separately. Its header dominates all
                # exits, but not every block in it does.
                outer = self._diverge(loop.header, loop.exits, [each for each in around if loop.blocks < each.blocks])
                joins |= outer.joins
                region |= outer.region
                found += [each for each in outer.loops if each not in found]
            elif len(back) > 1:
                joins.add(loop.header)
        return Divergence(frozenset(joins), tuple(found), frozenset(region))
