# SPDX-License-Identifier: Apache-2.0
"""Loops that a lane leaves only if others write memory: nothing that the lane does itself ends the loop.

    for wait in waiting_loops(whole, places, flow): wait.loop, wait.decides, wait.reads

It is a game on the graph of a loop. Memory that is read stays the same as long as nobody writes it: a branch that
depends on it goes the same way each time, whichever way keeps the lane in the loop. Branches on values that the lane
changes itself, such as a counter, go either way. If the lane can be kept in, but could not if memory changed, the loop
waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from hipport.analysis.device_ir import Block, Instruction
from hipport.analysis.inlined_program import InlinedProgram
from hipport.analysis.lowering_state import without_arguments
from hipport.analysis.memory_places import Access, MemoryPlace, Places, computes, is_clock, overlap
from hipport.analysis.reconvergence import Loop, Reconvergence

#: Instructions that forward their operand; that read variables by address; and addresses of these.
COPIES = frozenset(("load", "cast", "cell", "bound", "decay", "field", "member", "constant", "name"))
THROUGH = frozenset(("load", "compound", "call", "method", "indirect", "decay", "unary"))
_ADDRESSES = frozenset(("cell", "field", "element", "bound", "member", "nth"))
_NOTHING: frozenset[Access] = frozenset()


class Wait(NamedTuple):
    """A loop that waits: the blocks whose branches decide, and the memory that these read."""

    loop: Loop
    decides: tuple[int, ...]
    reads: tuple[Access, ...]


class LoopOrigin(NamedTuple):
    """The origin of a value in a loop: the lane itself, reads of memory, or a function that hides a lock."""

    own: bool
    reads: frozenset[Access]
    opaque: bool = False


def waiting_loops(whole: InlinedProgram, places: Places, flow: Reconvergence) -> Iterator[Wait]:
    """Yield the loops that wait, inner ones first."""
    accesses: dict[int, Access] = {each.instruction.target: each for each in places.accesses}
    inner: set[int] = set()
    for loop in flow.loops:
        if not places.barriers.isdisjoint(loop.blocks):
            continue  # threads iterate together
        wait = _InLoop(whole, places, flow, accesses, loop, frozenset(inner)).wait()
        if wait is not None:
            inner |= loop.blocks
            yield wait


class LoopGame:
    """The game on one loop. Subclasses say which values the lane changes, and what a value is computed from."""

    def __init__(
        self,
        blocks: Sequence[Block],
        definitions: Mapping[int, tuple[Instruction, int]],
        loop: Loop,
        inner: frozenset[int] = frozenset(),
    ) -> None:
        """`inner`: the blocks of loops inside that wait themselves, so that memory counts as changing there."""
        self._blocks, self._definitions, self._loop, self._inner = blocks, definitions, loop, inner
        #: Cached results of `_held`.
        self._sides: dict[tuple[int, bool], frozenset[bool]] = {}

    def may_change(self, register: int, foreign: bool) -> bool:
        """Whether a value may be another one in each iteration; if `foreign`, memory stays the same."""
        raise NotImplementedError

    def values_before(self, source: Instruction) -> Iterator[int]:
        """Yield the registers that an instruction's value is computed from, through variables."""
        raise NotImplementedError

    def kept(self, *, foreign: bool = True) -> set[int]:
        """Return the blocks in which a lane can be kept in the loop; if `foreign`, memory that it reads stays."""
        kept = set(self._loop.blocks)
        changed = True
        while changed:
            changed = False
            for block in sorted(kept, reverse=True):
                if not self._stays(block, kept, foreign):
                    kept.discard(block)
                    changed = True
        return kept

    def _stays(self, block: int, kept: set[int], foreign: bool) -> bool:
        of = self._blocks[block]
        if not of.successors:
            return False
        if len(set(of.successors)) == 1:
            return of.successors[0] in kept
        if of.condition is None:
            return any(each in kept for each in of.successors)
        foreign = foreign and block not in self._inner
        if len(of.successors) > 2:
            return (all if self.may_change(of.condition, foreign) else any)(each in kept for each in of.successors)
        sides = self._sides.get((of.condition, foreign))
        if sides is None:
            sides = self._sides[of.condition, foreign] = self._held(of.condition, foreign)
        known = self._known(of.condition)
        if known is not None:
            return of.successors[0 if known else 1] in kept
        if all(each in kept for each in of.successors):
            return True
        return any(of.successors[0 if side else 1] in kept for side in sides)

    def _known(self, register: int) -> bool | None:
        source = self._source(register)
        while source is not None and source.operation == "cast":
            source = self._source(source.operands[0])
        if source is None or source.operation != "constant" or source.number is None:
            return None
        return bool(source.number)

    def _held(self, register: int, foreign: bool) -> frozenset[bool]:
        """The values that a condition can have in every iteration, whatever the lane does."""
        source = self._source(register)
        if source is not None and source.operation == "cast" and source.type in ("bool", ""):
            return self._held(source.operands[0], foreign)
        if source is not None and source.operation == "constant" and source.number is not None:
            return frozenset((bool(source.number),))
        if source is not None and source.operation == "unary" and source.name in ("!", "not"):
            return frozenset(not each for each in self._held(source.operands[0], foreign))
        if source is not None and source.operation == "binary" and source.name in ("&&", "||"):
            one, two = (self._held(each, foreign) for each in source.operands[:2])
            decisive = source.name == "||"
            either = frozenset((decisive,)) if decisive in one | two else frozenset()
            both = frozenset((not decisive,)) if (not decisive) in one & two else frozenset()
            return either | both
        return frozenset() if self.may_change(register, foreign) else frozenset((True, False))

    def _source(self, register: int) -> Instruction | None:
        """The instruction of the loop that defines a register."""
        found = self._definitions.get(register)
        return found[0] if found is not None and found[1] in self._loop.blocks else None

    def _behind(self, registers: Iterable[int]) -> Iterator[tuple[int, Instruction]]:
        """Yield the registers defined in the loop that contribute to some registers, these first."""
        seen: set[int] = set()
        waiting = list(registers)
        while waiting:
            number = waiting.pop()
            source = self._source(number)
            if number not in seen and source is not None:
                seen.add(number)
                yield number, source
                waiting += self.values_before(source)

    def _is_cyclic(self, seen: Iterable[int]) -> bool:
        """Whether a variable that contributes to a value is computed from itself, not only copied: `i = i + 1`.

        `seen`: the registers that contribute, and all that contribute to these.
        """
        return not self._from_themselves.isdisjoint(seen)

    @cached_property
    def _from_themselves(self) -> frozenset[int]:
        """The registers of the loop whose values are computed from themselves, and not only copied."""
        targets = (each.target for block in self._loop.blocks for each in self._blocks[block].instructions)
        made = {number: source for number in targets if (source := self._source(number)) is not None}
        edges = {number: [*self.values_before(source)] for number, source in made.items()}
        return frozenset(number for number in in_cycles(edges) if made[number].operation not in COPIES)


def in_cycles(edges: Mapping[int, Sequence[int]]) -> set[int]:
    """Return the nodes of a graph that lie on a cycle; `edges` has the successors of each node.

    Tarjan's algorithm for strongly connected components (1972), without recursion.
    """
    found: set[int] = set()
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in edges:
        work: list[tuple[int, Iterator[int]]] = [] if root in index else [(root, iter(edges[root]))]
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = lowest[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for following in rest:
                if following == node:
                    found.add(node)
                elif following in edges and following not in index:
                    work.append((following, iter(edges[following])))
                    break
                elif following in on_stack:
                    lowest[node] = min(lowest[node], index[following])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == index[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        found.update(component)
    return found


class _InLoop(LoopGame):
    """The values in one loop."""

    def __init__(
        self,
        whole: InlinedProgram,
        places: Places,
        flow: Reconvergence,
        accesses: dict[int, Access],
        loop: Loop,
        inner: frozenset[int],
    ) -> None:
        super().__init__(whole.blocks, whole.definitions, loop, inner)
        self._whole, self._places, self._flow, self._accesses = whole, places, flow, accesses
        self._origins: dict[int, LoopOrigin] = {}
        #: Those that are found, and hold for whatever else is computed from these registers.
        self._found: dict[int, LoopOrigin] = {}
        self._controls: dict[int, list[int]] = {}
        #: What the values of registers are computed from, see `_before`.
        self._of_register: dict[int, list[tuple[int, int]]] = {}
        #: Stores in the loop to the lane's own variables, by variable.
        self._stores: dict[int, list[tuple[tuple[MemoryPlace, ...], int, int]]] = {}
        #: Stores in the loop to memory.
        self._writes: list[Access] = []

    def wait(self) -> Wait | None:
        """Return the wait of the loop, None if it does not wait."""
        whole, blocks = self._whole, self._loop.blocks
        if not any(
            each.target in self._accesses and self._accesses[each.target].reads
            for block in blocks
            for each in whole.blocks[block].instructions
        ):
            return None
        self._collect()
        header = whole.blocks[self._loop.header]
        if (
            header.condition is not None
            and not blocks.issuperset(header.successors)
            and not self._stays(self._loop.header, set(blocks), foreign=True)
        ):
            return None  # most loops count
        for block in sorted(blocks):
            # A branch depends on those before it.
            if (condition := whole.blocks[block].condition) is not None:
                self._origin(condition)
        kept = self.kept()
        if self._loop.header not in kept or self._loop.header in self.kept(foreign=False):
            return None
        decides, reads = [], {}
        for block in sorted(kept - self._inner):
            if whole.blocks[block].condition is None or not self._leads(block):
                continue
            origin = self._origin(self._condition(block))
            if origin.opaque:
                return None
            if origin.reads and any(each not in kept for each in whole.blocks[block].successors):
                decides.append(block)
                reads.update(dict.fromkeys(sorted(origin.reads, key=lambda each: each.instruction.target)))
        return Wait(self._loop, tuple(decides), tuple(reads)) if reads else None

    def _condition(self, block: int) -> int:
        condition = self._whole.blocks[block].condition
        assert condition is not None
        return condition

    def _leads(self, block: int) -> bool:
        return len(set(self._whole.blocks[block].successors)) > 1

    def _collect(self) -> None:
        for block in self._loop.blocks:
            for each in self._whole.blocks[block].instructions:
                if each.operation in ("store", "assign", "initialize", "compound", "construct"):
                    places = tuple(self._places.of_address(each.operands[0]))
                    values = (*each.operands[1:], *((each.target,) if each.operation == "compound" else ()))
                    for place in places:
                        cell = self._places.cell_of(place)
                        if cell is not None and self._places.is_private(place):
                            for value in values:
                                self._stores.setdefault(cell, []).append(((place,), value, block))
        self._writes = [each for each in self._places.accesses if each.writes and each.block in self._loop.blocks]

    # ---- where values come from

    def may_change(self, register: int, foreign: bool) -> bool:
        origin = self._origin(register)
        return origin.own or (bool(origin.reads) and not foreign)

    def _origin(self, register: int) -> LoopOrigin:
        if register not in self._origins:
            self._origins[register] = LoopOrigin(True, _NOTHING)  # the result for a cyclic definition
            self._origins[register] = self._found[register] = self._find_origin(register)
        return self._origins[register]

    def _find_origin(self, register: int) -> LoopOrigin:
        """Follow a value back through the loop."""
        seen: set[tuple[str, int]] = set()
        waiting: list[tuple[str, int]] = [("register", register)]
        own, opaque = False, False
        reads: set[Access] = set()
        while waiting:
            each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            what, number = each
            if what == "control":
                waiting.append(("register", number))
                continue
            source = self._source(number)
            if source is None:
                continue
            if (known := self._found.get(number)) is not None:
                own, opaque = own or known.own, opaque or known.opaque
                if own:
                    break
                reads |= known.reads
                continue
            made, read, hidden = self._gives(source)
            own, opaque = own or made, opaque or hidden
            if own:
                break  # its other operands do not matter
            if read is not None:
                reads.add(read)
            for value, block in self._before_register(number, source):
                waiting.append(("register", value))
                waiting += [("control", of) for of in self._controlling(block)] if block >= 0 else []
        own = own or self._is_cyclic({number for _, number in seen})
        return LoopOrigin(own, frozenset(reads), opaque)

    def _before(self, source: Instruction) -> Iterator[tuple[int, int]]:
        """The operands of an instruction, through variables, with the blocks that assigned these."""
        for operand in source.operands:
            yield operand, -1
        if source.operation in THROUGH:
            first = source.operation in ("load", "compound", "decay")
            for operand in source.operands[:1] if first else source.operands:
                at = self._whole.definitions.get(operand)
                if at is None or at[0].operation not in _ADDRESSES:
                    continue
                for place in self._places.of_address(operand):
                    cell = self._places.cell_of(place)
                    for stored, value, block in self._stores.get(cell, ()) if cell is not None else ():
                        if overlap((place,), stored):
                            yield value, block

    def _before_register(self, number: int, source: Instruction) -> list[tuple[int, int]]:
        """The same for the instruction that defines a register."""
        if number not in self._of_register:
            self._of_register[number] = list(self._before(source))
        return self._of_register[number]

    def values_before(self, source: Instruction) -> Iterator[int]:
        return (value for value, _ in self._before(source))

    def _gives(self, source: Instruction) -> tuple[bool, Access | None, bool]:
        """Whether an instruction's value changes by itself each time; its read of memory; whether it hides a lock."""
        operation = source.operation
        if operation == "unknown":
            return True, None, False
        access = self._accesses.get(source.target)
        if access is not None and access.reads:
            return (True, None, False) if self._changes_itself(access) else (False, access, False)
        if operation == "assembly":
            return True, None, False
        if operation in ("call", "method", "indirect"):
            short = without_arguments(source.name).rpartition("::")[2].strip()
            if short == "opaque":
                return False, None, True
            return (
                is_clock(short) or not computes(short),
                None,
                False,
            )
        return False, None, False

    def _changes_itself(self, access: Access) -> bool:
        """Whether the lane itself changes, in each iteration, the memory that it reads."""
        source = access.instruction
        if access.kind == "counts":
            return True
        if access.kind == "compares" and self._is_expected_anew(source):
            return True
        for each in self._writes:
            if each.instruction.target == source.target or each.kind in ("compares", "unseen"):
                continue
            if overlap(each.places, access.places) and not self._is_guarded(each.block):
                return each.kind in ("writes", "counts")
        return False

    def _is_expected_anew(self, source: Instruction) -> bool:
        """Whether a compare-and-swap expects the last value read, so that it fails only if another lane succeeds."""
        operands = self._places.arguments(source)
        if len(operands) < 2:
            return False
        if source.operation == "method":
            places = self._places.of_address(operands[1])
            stores = [
                value
                for place in places
                for at, value, _ in self._stores.get(self._places.cell_of(place) or -1, ())
                if overlap((place,), at)
            ]
            # It receives the contents of memory, unless the variable is reset.
            return all(self._origin(value).reads or self._origin(value).own for value in stores)
        before = [operands[1], *(value for value, _ in self._before(source._replace(operands=(operands[1],))))]
        return any(self._is_of_memory(value) for value in before)

    def _is_of_memory(self, register: int) -> bool:
        """Whether a value depends on a read of memory in the loop."""
        accesses = (self._accesses.get(number) for number, _ in self._behind((register,)))
        return any(access is not None and access.reads for access in accesses)

    def _is_guarded(self, block: int) -> bool:
        """Whether a branch on memory controls a block of the loop."""
        return any(map(self._is_of_memory, self._controlling(block)))

    # ---- control

    def _controlling(self, block: int) -> list[int]:
        """The conditions in the loop on which reaching a block and continuing depends."""
        if block not in self._controls:
            found = []
            for each in self._flow.dominators(block):
                if each not in self._loop.blocks:
                    break
                of = self._whole.blocks[each]
                # Other exits of the loop do not distinguish iterations.
                if of.condition is not None and any(
                    side in self._loop.blocks and not self._flow.comes_to(side, block) for side in of.successors
                ):
                    found.append(of.condition)
            self._controls[block] = found
        return self._controls[block]
