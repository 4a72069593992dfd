# SPDX-License-Identifier: Apache-2.0
"""Which threads of a block may reach a block of an inlined program, according to conditions on their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hipport.analysis.built_ins import LANES, WARP_SIZES
from hipport.analysis.device_ir import Instruction
from hipport.analysis.inlined_program import InlinedProgram
from hipport.analysis.lowering_state import without_arguments
from hipport.analysis.reconvergence import Reconvergence
from hipport.analysis.uniform_values import BLOCK, WAVEFRONT, Affine, Numbering, Value, binary, constant
from hipport.analysis.uniform_values import Blocks as _Blocks

#: The number of a thread in each dimension of its block.
Thread = tuple[int, int, int]
_ROW: tuple[Thread, ...] = tuple((x, 0, 0) for x in range(1024))
#: The threads that are tried if several dimensions matter: enough to tell one thread from several.
_BOX: tuple[Thread, ...] = tuple((x, y, z) for z in range(2) for y in range(4) for x in range(64))
_AXES = {"threadIdx.x": 0, "threadIdx.y": 1, "threadIdx.z": 2}
_NO_BLOCKS = _Blocks(None, None)
#: The value of an expression for each thread; None if unknown.
Numbers = Sequence[int | None]


class ThreadSets:
    """The threads that may reach the blocks of a program."""

    def __init__(self, whole: InlinedProgram, flow: Reconvergence, told: Callable[[int], Value | None]) -> None:
        """`told`: returns what is known of the value of a register."""
        self._whole, self._flow, self._told = whole, flow, told
        self._in_a_row = not any(
            each.operation == "built-in" and each.name in ("threadIdx.y", "threadIdx.z")
            for each, _ in whole.definitions.values()
        )
        self._threads = _ROW if self._in_a_row else _BOX
        self._changed = frozenset(self._find_changed())
        self._numbers: dict[int, Numbers] = {}
        self._all = (1 << len(self._threads)) - 1
        self._sets: dict[int, int] = {}
        self._sides: dict[tuple[int, bool], int] = {}
        self._meets: dict[tuple[int, int], bool] = {}
        self._ones: dict[tuple[int, bool], bool] = {}
        self._conditions: dict[int, list[tuple[int, bool]]] = {}
        self._predecessors: dict[int, list[int]] = {}
        for block in flow.order:
            for to in dict.fromkeys(whole.blocks[block].successors):
                self._predecessors.setdefault(to, []).append(block)

    def of(self, block: int) -> int:
        """Return the threads that may reach a block, a bit for each; too many if a condition is not understood."""
        if block not in self._sets:
            kept = self._all
            for condition, side in self.conditions(block):
                kept &= self._where(condition, side)
            self._sets[block] = kept
        return self._sets[block]

    def _where(self, condition: int, side: bool) -> int:
        """The threads for which a condition may be true, or false."""
        key = condition, side
        if key not in self._sides:
            self._sides[key] = sum(
                1 << i for i, number in enumerate(self._of(condition)) if number is None or bool(number) == side
            )
        return self._sides[key]

    def conditions(self, block: int) -> list[tuple[int, bool]]:
        """Return the conditions on which a block is control dependent, each with its value there."""
        if block not in self._conditions:
            self._conditions[block] = self._find_conditions(block)
        return self._conditions[block]

    def _find_conditions(self, block: int) -> list[tuple[int, bool]]:
        found = []
        for each in (block, *self._flow.dominators(block)):
            before = self._predecessors.get(each, [])
            if len(before) != 1:
                continue
            of = self._whole.blocks[before[0]]
            if of.condition is not None and len(of.successors) == 2 and of.successors[0] != of.successors[1]:
                found.append((of.condition, of.successors[0] == each))
        return found

    def meet(self, waiting: int, storing: int) -> bool:
        """Whether a thread that reaches one block and a thread that reaches the other may share a wavefront."""
        key = waiting, storing
        if key not in self._meets:
            self._meets[key] = self._may_meet(waiting, storing)
        return self._meets[key]

    def _may_meet(self, waiting: int, storing: int) -> bool:
        one, two = self.of(waiting), self.of(storing)
        ways = set(self.conditions(waiting)) & set(self.conditions(storing))
        if any(self._is_one(condition, side) for condition, side in ways):
            return False  # it is the same thread
        if not one or not two:
            return True  # threads other than those that are tried
        lanes = WAVEFRONT if self._in_a_row else len(self._threads)
        for first in range(0, len(self._threads), lanes):
            here = ((1 << lanes) - 1) << first
            a, b = one & here, two & here
            if a and b and not (a == b and a.bit_count() == 1):
                return True
        return False

    def _is_one(self, register: int, side: bool) -> bool:
        """Whether a condition selects one thread of the block: `threadIdx.x == which`."""
        key = register, side
        if key not in self._ones:
            self._ones[key] = self._selects_one(register, side)
        return self._ones[key]

    def _selects_one(self, register: int, side: bool) -> bool:
        found = self._whole.definitions.get(register)
        each = found[0] if found is not None else None
        if each is None:
            return False
        if each.operation == "cast":
            return self._is_one(each.operands[0], side)
        if each.operation == "unary" and each.name in ("!", "not"):
            return self._is_one(each.operands[0], not side)
        if each.operation != "binary":
            return False
        if each.name == ("&&" if side else "||"):
            return any(self._is_one(operand, side) for operand in each.operands[:2])
        if each.name != ("==" if side else "!=") or not self._in_a_row:
            return False
        values = [self._told(operand) for operand in each.operands[:2]]
        return any(
            one is not None
            and two is not None
            and one.affine is not None
            and one.affine.axis is not Numbering.GROUP
            and two.level >= BLOCK
            for one, two in (values, values[::-1])
        )

    # ---- numbers of threads

    def _of(self, register: int) -> Numbers:
        if register not in self._numbers:
            self._numbers[register] = [None] * len(self._threads)  # the result for a cyclic definition
            self._numbers[register] = self._find(register)
        return self._numbers[register]

    def _find(self, register: int) -> Numbers:
        unknown: Numbers = [None] * len(self._threads)
        found = self._whole.definitions.get(register)
        if found is None:
            return unknown
        each = found[0]
        told = self._told(register)
        if told is not None and told.number is not None:
            return [told.number] * len(self._threads)
        if each.operation == "constant":
            return [each.number] * len(self._threads)
        if each.operation == "built-in" and each.name in _AXES:
            return [thread[_AXES[each.name]] for thread in self._threads]
        if each.operation == "name" and WARP_SIZES.fullmatch(each.name.rpartition("::")[2].encode()):
            return [LANES] * len(self._threads)
        if each.operation == "method" and each.name == "thread_rank" and self._in_a_row:
            affine = told.affine if told is not None else None
            if affine is not None and affine.axis is Numbering.GROUP and not affine.aligned:
                return [thread[0] % affine.size for thread in self._threads]
        if each.operation == "cast":
            return self._of(each.operands[0])
        if each.operation == "load":
            return self._of_variable(each, unknown)
        if each.operation == "unary":
            return self._of_unary(each, unknown)
        if each.operation == "binary":
            return self._of_binary(each)
        if each.operation == "call":
            short = without_arguments(each.name).rpartition("::")[2].strip()
            if short == "__builtin_expect" and each.operands:
                return self._of(each.operands[-2])
        return unknown

    def _of_variable(self, each: Instruction, unknown: Numbers) -> Numbers:
        address = self._whole.definitions.get(each.operands[0])
        cell = address[0].number if address is not None and address[0].operation == "cell" else None
        stores = self._whole.stores.get(cell, []) if cell is not None else []
        if cell is None or len(stores) != 1 or self._whole.cells[cell].kind not in ("local", "parameter", "temporary"):
            return unknown
        if cell in self._changed:
            return unknown
        return self._of(stores[0][0])

    def _find_changed(self) -> Iterator[int]:
        """Yield the variables that instructions other than plain stores change."""
        for each, _ in self._whole.definitions.values():
            below = self._whole.definitions.get(each.operands[0]) if each.operation == "compound" else None
            if below is not None and below[0].operation == "cell" and below[0].number is not None:
                yield below[0].number

    def _of_unary(self, each: Instruction, unknown: Numbers) -> Numbers:
        numbers = self._of(each.operands[0])
        if each.name in ("!", "not"):
            grid = self._first_of_grid(each.operands[0], "==")
            return grid if grid is not None else [None if number is None else int(not number) for number in numbers]
        if each.name == "-":
            return [None if number is None else -number for number in numbers]
        return unknown

    def _of_binary(self, each: Instruction) -> Numbers:
        left, right = each.operands[:2]
        one, two = self._of(left), self._of(right)
        if each.name in ("&&", "||"):
            return [_connected(each.name == "||", a, b) for a, b in zip(one, two, strict=True)]
        if each.name in ("==", "!=", "<", ">") and two[0] == 0 and len(set(two)) == 1:
            grid = self._first_of_grid(left, each.name)
            if grid is not None:
                return grid
        made: dict[tuple[int, int], int | None] = {}
        numbers: list[int | None] = []
        for a, b in zip(one, two, strict=True):
            if a is None or b is None:
                numbers.append(None)
                continue
            if (a, b) not in made:
                made[a, b] = binary(each.name, constant(a), constant(b), _NO_BLOCKS).number
            numbers.append(made[a, b])
        return numbers

    def _first_of_grid(self, register: int, sign: str) -> Numbers | None:
        """For a thread's number in the grid that is 0: only the first thread of a block can have it."""
        told = self._told(register)
        if told is None or told.affine != Affine(Numbering.GRID) or sign not in ("==", "!="):
            return None
        other = int(sign == "!=")
        return [None if not any(thread) else other for thread in self._threads]


def _connected(decisive: bool, one: int | None, two: int | None) -> int | None:
    """The result of `&&` or `||` for two truth values, of which one may be unknown."""
    truths = [None if each is None else bool(each) for each in (one, two)]
    if decisive in truths:
        return int(decisive)
    return None if None in truths else int(not decisive)
