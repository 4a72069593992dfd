# SPDX-License-Identifier: Apache-2.0
"""Loops that wait for a store which a lane of the same wavefront may have to make, but cannot before they end.

    for wait in wavefront_waits(whole, told): wait.conditions, wait.names, wait.stores

On CUDA's GPUs lanes of a warp make progress independently, so some may wait for others. On AMD a wavefront continues
after a loop, or in the other branch, only when its last lane has left the loop. A store is not such a store if

* all lanes reach it before they reach the loop;
* no wavefront has a lane that waits and another one that stores, by the numbers of threads or because all its lanes
  take the branches that lead there together;
* all lanes of a wavefront wait for the same thing, and only lanes that have waited store;
* it is to another block's memory: the places are indexed by the block, in different ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from hipport.analysis.device_ir import Instruction
from hipport.analysis.inlined_program import InlinedProgram, RegisterOrigin
from hipport.analysis.lowering_state import without_arguments
from hipport.analysis.memory_places import Access, MemoryPlace, Places, overlap
from hipport.analysis.reconvergence import Loop, Reconvergence
from hipport.analysis.thread_sets import ThreadSets
from hipport.analysis.uniform_values import BLOCK, WAVEFRONT, Value
from hipport.analysis.waiting_loops import Wait, waiting_loops

#: How far an address is followed back.
_DEEPEST = 60
#: Functions that serialize lanes or warps, so that a lane does not wait for another lane of its wavefront.
_TURNS = ("one_by_one", "warp_by_warp")


class At(NamedTuple):
    """A place in a file."""

    path: object
    span: tuple[int, int]


class WavefrontWait(NamedTuple):
    """A wait: its conditions, the memory that they read, and the stores that may come too late."""

    conditions: tuple[At, ...]
    names: tuple[str, ...]
    stores: tuple[At, ...]
    #: Whether the code that stores is not seen.
    unseen: bool
    #: Whether other lanes of the wavefront store before they reach the loop.
    early: bool


def wavefront_waits(
    whole: InlinedProgram,
    is_variable: Callable[[str], bool],
    told: Callable[[RegisterOrigin], Value | None],
    *,
    called: bool,
) -> Iterator[WavefrontWait]:
    """Yield the waits of a function and all its callees, including correct ones, which no store is too late for.

    `called`: whether nothing else runs around it.

    `is_variable` says whether a name is a variable outside functions that threads may change.
    """
    places = Places(whole, is_variable)
    if not any(each.reads for each in places.accesses):
        return
    flow = Reconvergence(whole.blocks)
    found = list(waiting_loops(whole, places, flow))
    if found:
        yield from _Wavefronts(whole, places, flow, told, called).of(found)


class _Wavefronts:
    def __init__(
        self,
        whole: InlinedProgram,
        places: Places,
        flow: Reconvergence,
        told: Callable[[RegisterOrigin], Value | None],
        called: bool,
    ) -> None:
        self._whole, self._places, self._flow, self._called = whole, places, flow, called
        self._told = told
        self._threads = ThreadSets(whole, flow, self._value)
        self._position = {block: i for i, block in enumerate(flow.order)}
        #: For each loop that waits, see `_find_partings`.
        self._partings: dict[int, list[tuple[int, int | None]]] = {}
        #: The array and the index of each address.
        self._elements: dict[int, tuple[str, int] | None] = {}

    def of(self, waits: list[Wait]) -> Iterator[WavefrontWait]:
        for wait in waits:
            turns = self._is_serialized(wait)
            late = [each for each in self._possible(wait) if self._is_late(wait, each)] if not turns else []
            unseen = not turns and not self._called and not self._is_followed_by_barrier(wait)
            names = dict.fromkeys(self._places.name(place) for read in wait.reads for place in sorted(read.places))
            seen = [each for each in late if each.kind != "unseen"]
            yield WavefrontWait(
                tuple(At(self._whole.files[block], self._whole.blocks[block].span) for block in wait.decides),
                tuple(names),
                tuple(dict.fromkeys(At(self._whole.files[each.block], each.instruction.span) for each in seen)),
                not seen and (unseen or bool(late)),
                any(each.writes and self._is_early(wait, each) for each in self._places.accesses),
            )

    def _possible(self, wait: Wait) -> list[Access]:
        """The stores that may be late: not those to another element of the array that the wait reads one element of."""
        stores = self._numbered_stores
        read = self._element(self._address(wait.reads[0])) if len(wait.reads) == 1 else None
        inside = (number for block in wait.loop.blocks for number in self._stores_of_block.get(block, ()))
        others = stores if read is None else ({**stores, read[0]: {}} if read[0] in stores else stores)
        found = {number for numbers in others.values() for each in numbers.values() for number in each}
        if read is not None:
            found.update(stores.get(read[0], {}).get(read[1], ()))
        return [self._places.accesses[number] for number in sorted(found.union(inside))]

    @cached_property
    def _numbered_stores(self) -> dict[str | None, dict[int, list[int]]]:
        """The stores, as indexes, by array and element; by None those of which no number is known."""
        found: dict[str | None, dict[int, list[int]]] = {}
        for number, each in enumerate(self._places.accesses):
            if each.writes:
                element = self._element(self._address(each))
                array, index = element if element is not None else (None, 0)
                found.setdefault(array, {}).setdefault(index, []).append(number)
        return found

    @cached_property
    def _stores_of_block(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, each in enumerate(self._places.accesses):
            if each.writes:
                found.setdefault(each.block, []).append(number)
        return found

    # ---- values

    def _value(self, register: int) -> Value | None:
        named = self._whole.named.get(register)
        return self._told(named) if named is not None else None

    def _level(self, register: int, wait: Wait | None = None, deep: int = 0) -> int:
        """The uniformity of a value, as long as memory does not change."""
        value = self._value(register)
        if value is not None and value.level >= WAVEFRONT:
            return value.level
        found = self._whole.definitions.get(register)
        if found is None or deep > _DEEPEST:
            return 1
        each = found[0]
        reads = {read.instruction.target for read in wait.reads} if wait is not None else set()
        if register in reads and each.operation not in ("load", "name"):
            access = next(read for read in wait.reads if read.instruction.target == register) if wait else None
            if access is None or access.kind != "reads":
                return 1  # each lane gets the value that the previous one has left
            return self._least(self._places.arguments(each), wait, deep)
        if each.operation in ("constant", "name"):
            return 1 << 24
        if each.operation in ("binary", "unary", "cast", "element", "field", "decay", "target", "least", "bound"):
            return self._least(each.operands, wait, deep)
        if each.operation == "cell":
            return 1 << 24
        if each.operation == "load":
            cell = self._variable(each.operands[0])
            if cell is None:
                return self._least(each.operands, wait, deep)
            stores = self._whole.stores.get(cell, [])
            if cell < self._whole.parameters and not stores:
                return 1 << 24
            if len(stores) == 1 or (wait is not None and self._is_set_anew(cell, wait)):
                return self._least([value for value, _ in stores], wait, deep)
        if each.operation == "call" and not each.operands and value is not None:
            return value.level
        if each.operation == "call" and without_arguments(each.name).rpartition("::")[2] == "generic":
            return self._least(self._places.arguments(each), wait, deep)
        return value.level if value is not None else 1

    def _least(self, registers: tuple[int, ...] | list[int], wait: Wait | None, deep: int) -> int:
        return min((self._level(each, wait, deep + 1) for each in registers), default=1 << 24)

    def _variable(self, address: int) -> int | None:
        found = self._whole.definitions.get(address)
        if found is None or found[0].operation != "cell" or found[0].number is None:
            return None
        return None if self._whole.cells[found[0].number].kind == "shared" else found[0].number

    def _is_set_anew(self, cell: int, wait: Wait) -> bool:
        """Whether each iteration of a loop assigns the variable, in one place."""
        inside = [block for _, block in self._whole.stores.get(cell, []) if block in wait.loop.blocks]
        return len(inside) == 1 and all(inside[0] in (block, *self._flow.dominators(block)) for block in wait.decides)

    # ---- stores

    def _is_serialized(self, wait: Wait) -> bool:
        """Whether lanes, or warps, reach the deciding branch one after the other, in or around a loop of hipport's."""
        blocks = (wait.loop.header, *wait.decides)
        for condition, _ in (each for block in blocks for each in self._threads.conditions(block)):
            each = self._whole.definitions[condition][0]
            while each.operation == "cast":
                each = self._whole.definitions[each.operands[0]][0]
            if each.operation == "method" and each.name == "mine":
                return True
        return False

    def _is_late(self, wait: Wait, store: Access) -> bool:
        """Whether a lane of a wavefront may have to store for a waiting one, and reach the store too late."""
        of_reads = [read for read in wait.reads if overlap(read.places, store.places)]
        if not of_reads or store.block not in self._position:
            return False
        loop = wait.loop
        if store.block in loop.blocks:
            own = any(read.instruction.target == store.instruction.target for read in wait.reads)
            return not own and store.kind != "unseen" and self._is_inside(wait, store)
        if self._reaches(store.block, loop.header):
            return False
        if not self._threads.meet(loop.header, store.block):
            return False
        if all(self._is_of_another_block(read, store) for read in of_reads):
            return False
        if self._may_diverge(wait, store.block):
            return True
        uniform = min(self._level(self._condition(block), wait) for block in wait.decides) >= WAVEFRONT
        return not uniform and self._reaches(loop.header, store.block)

    def _is_early(self, wait: Wait, store: Access) -> bool:
        """Whether another lane of the wavefront stores before it reaches the loop."""
        return (
            any(overlap(read.places, store.places) for read in wait.reads)
            and store.block not in wait.loop.blocks
            and self._reaches(store.block, wait.loop.header)
            and self._threads.meet(wait.loop.header, store.block)
        )

    def _is_inside(self, wait: Wait, store: Access) -> bool:
        """Whether a store in the loop is made by a lane whose read lets it leave the loop."""
        if self._threads.of(store.block).bit_count() == 1:
            return False
        return any(
            block in self._flow.dominators(store.block) and block != store.block for block in wait.decides
        ) or any(self._is_swap(read) for read in wait.reads)

    @staticmethod
    def _is_swap(read: Access) -> bool:
        return read.kind in ("compares", "changes")

    def _condition(self, block: int) -> int:
        condition = self._whole.blocks[block].condition
        assert condition is not None
        return condition

    def _reaches(self, one: int, two: int) -> bool:
        return self._flow.comes_to(one, two)

    def _may_diverge(self, wait: Wait, block: int) -> bool:
        """Whether lanes of one wavefront may diverge, some to the loop and some around it to a block."""
        header = wait.loop.header
        if header not in self._partings:
            self._partings[header] = list(self._find_partings(wait.loop))
        # Uniformity is asked only of branches that matter, and once.
        while found := next((each for each in self._partings[header] if each[0] >> block & 1), None):
            if found[1] is None or self._level(found[1]) < WAVEFRONT:
                self._partings[header] = [(found[0], None), *(each for each in self._partings[header] if each != found)]
                return True
            self._partings[header].remove(found)
        return False

    def _find_partings(self, loop: Loop) -> Iterator[tuple[int, int | None]]:
        """Yield the branches at which lanes may go to a loop or around it: a bit for each block behind; the condition.

        None for a condition that is known to be varying.
        """
        behind: dict[int, int] = {}
        for block in reversed(self._flow.order):
            bits = 1 << block
            if block not in loop.blocks:
                for to in self._whole.blocks[block].successors:
                    bits |= behind[to] if self._is_forward(block, to) else 0
            behind[block] = bits
        for branch in self._flow.order:
            of = self._whole.blocks[branch]
            sides = [side for side in dict.fromkeys(of.successors) if self._is_forward(branch, side)]
            if of.condition is None or len(set(of.successors)) < 2 or branch in loop.blocks:
                continue
            to_loop = [side for side in sides if self._reaches(side, loop.header)]
            bits = 0
            for side in sides if to_loop else ():
                bits |= behind[side] if side not in to_loop or len(to_loop) > 1 else 0
            if bits and self._reaches(branch, loop.header):
                yield bits, of.condition

    def _is_forward(self, block: int, successor: int) -> bool:
        return self._position[successor] > self._position[block]

    def _is_followed_by_barrier(self, wait: Wait) -> bool:
        """Whether a barrier of the block follows the loop, so that no thread of it is waited for."""
        return any(self._reaches(wait.loop.header, barrier) for barrier in self._places.barriers)

    # ---- addresses

    def _is_of_another_block(self, read: Access, store: Access) -> bool:
        """Whether both places are indexed by the block, in different ways."""
        one, two = (self._address(each) for each in (read, store))
        if one is None or two is None:
            return False
        if self._have_other_numbers(one, two):
            return True
        mine = self._block_numbers(one) & self._block_numbers(two)
        # A place that all threads of a block store to belongs to the block; waits read those of other blocks.
        return bool(mine) and self._level(two) >= BLOCK and self._text(one) != self._text(two)

    def _have_other_numbers(self, one: int, two: int) -> bool:
        """Whether two addresses are elements of one array with known, different indexes."""
        first, second = self._element(one), self._element(two)
        return first is not None and second is not None and first[0] == second[0] and first[1] != second[1]

    def _element(self, address: int | None) -> tuple[str, int] | None:
        """The array and the index of an element, if they are known."""
        if address is None or address not in self._whole.definitions:
            return None
        if address not in self._elements:
            self._elements[address] = self._find_element(address)
        return self._elements[address]

    def _find_element(self, address: int) -> tuple[str, int] | None:
        each = self._whole.definitions[address][0]
        if each.operation != "element":
            return None
        value = self._value(each.operands[1])
        source = self._whole.definitions.get(each.operands[1])
        constant = source[0].number if source is not None and source[0].operation == "constant" else None
        number = constant if value is None else value.number
        return None if number is None else (self._text(each.operands[0]), number)

    def _address(self, access: Access) -> int | None:
        each = access.instruction
        if each.operation in ("name", "outside", "assembly"):
            return None
        operands = self._places.arguments(each) if each.operation in ("call", "method") else each.operands
        return operands[0] if operands else None

    def _block_numbers(self, register: int) -> set[str]:
        """The values in an address that number blocks: built-in values, and tickets drawn for a whole block."""
        found: set[str] = set()
        seen: set[int] = set()
        waiting = [register]
        while waiting:
            number = waiting.pop()
            if number in seen or number not in self._whole.definitions:
                continue
            seen.add(number)
            each = self._whole.definitions[number][0]
            if each.operation == "built-in" and each.name.startswith("blockIdx"):
                found.add(each.name)
            elif each.operation == "load":
                found |= {self._places.name(place) for place in self._shared(each)}
                cell = self._variable(each.operands[0])
                waiting += [value for value, _ in self._whole.stores.get(cell, [])] if cell is not None else []
            elif each.operation == "compound":
                cell = self._variable(each.operands[0])
                waiting += [value for value, _ in self._whole.stores.get(cell, [])] if cell is not None else []
            waiting += each.operands
        return found

    def _shared(self, each: Instruction) -> Iterator[MemoryPlace]:
        """The places in shared memory of the numbers that a load reads."""
        for place in self._places.of_address(each.operands[0]):
            cell = self._places.cell_of(place)
            of = self._whole.cells[cell] if cell is not None and len(place) == 1 else None
            if of is not None and of.kind == "shared" and not of.array:
                yield place

    def _text(self, register: int, deep: int = 0) -> str:
        """The text of an expression as computed, through variables that are assigned once."""
        found = self._whole.definitions.get(register)
        if found is None or deep > _DEEPEST:
            return f"%{register}"
        each = found[0]
        if each.operation == "cast":
            return self._text(each.operands[0], deep + 1)
        if each.operation == "cell":
            cell = each.number
            stores = self._whole.stores.get(cell, []) if cell is not None else []
            return f"cell {cell}" if len(stores) != 1 else f"cell of {self._text(stores[0][0], deep + 1)}"
        if each.operation == "load":
            cell = self._variable(each.operands[0])
            stores = self._whole.stores.get(cell, []) if cell is not None else []
            if len(stores) == 1:
                return self._text(stores[0][0], deep + 1)
        if each.operation in ("decay", "target", "load") and each.operands:
            return f"{each.operation}({self._text(each.operands[0], deep + 1)})"
        inner = ",".join(self._text(operand, deep + 1) for operand in each.operands)
        return f"{each.operation}.{each.name}.{'' if each.number is None else each.number}({inner})"
