# SPDX-License-Identifier: Apache-2.0
"""Functions all of whose loops end by what a lane does itself, whatever memory holds: most loops count.

    ending = EndingLoops(program)
    ending.all_end(program.ir(function))      # no loop of it, or of a function that it may call, can wait

This is the game of hipport.analysis.waiting_loops, played on one function at a time, with fewer facts: only variables
that are read and written by name. What ends here also ends in the inlined program: there, more is known to be the
lane's own. So only kernels with other loops have to be inlined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from hipport.analysis.device_ir import DeviceIR, Instruction
from hipport.analysis.lowering_state import class_in, without_arguments
from hipport.analysis.memory_places import kind_of_call
from hipport.analysis.reconvergence import Loop, Reconvergence
from hipport.analysis.waiting_loops import THROUGH, is_cyclic

_STORES = frozenset(("store", "assign", "initialize", "compound"))
#: Variables that only the lane itself can change. A temporary may stand for a variable outside functions.
_OWN_CELLS = frozenset(("local", "parameter", "choice"))


class NamedFunctions(Protocol):
    """What is asked about the program; implemented by hipport.analysis.device_program."""

    def named(self, name: str) -> Sequence[DeviceIR]:
        """Return all functions and methods of that name."""
        ...


class EndingLoops:
    """The functions of a program without loops that may wait."""

    def __init__(self, program: NamedFunctions) -> None:
        self._program = program
        self._own: dict[int, bool] = {}
        self._kept: list[DeviceIR] = []

    def all_end(self, ir: DeviceIR) -> bool:
        """Whether each loop of the function, and of those that it may call, ends by what a lane does itself.

        A recursion is a loop as well, and does not count as such.
        """
        done: set[int] = set()
        entered: set[int] = set()
        waiting: list[tuple[DeviceIR, bool]] = [(ir, False)]
        while waiting:
            each, left = waiting.pop()
            if left:
                entered.discard(id(each))
                done.add(id(each))
                continue
            if id(each) in done or each.unread is not None:
                continue
            if id(each) in entered or not self._ends(each):
                return False
            called = self._called(each)
            if called is None:
                return False
            entered.add(id(each))
            waiting.append((each, True))
            waiting += [(other, False) for other in called]
        return True

    def _ends(self, ir: DeviceIR) -> bool:
        if id(ir) not in self._own:
            self._kept.append(ir)
            self._own[id(ir)] = _ends(ir, self._program)
        return self._own[id(ir)]

    def _called(self, ir: DeviceIR) -> list[DeviceIR] | None:
        """All functions that a function may call; None if their names are not known."""
        names: dict[str, None] = {}
        found = [made.body for made in ir.lambdas]
        for block in ir.blocks:
            for each in block.instructions:
                operation = each.operation
                if operation in ("call", "method", "name"):
                    names[without_arguments(each.name).rpartition("::")[2].strip()] = None
                elif operation == "indirect":
                    names["operator()"] = None
                elif operation == "construct":
                    name = class_in(each.name)
                    if not name:
                        return None
                    names[name] = None
                elif operation == "end" and each.number is not None:
                    name = class_in(ir.cells[each.number].type)
                    names[f"~{name}"] = None
        for name in names:
            found += self._program.named(name)
        return found


def _ends(ir: DeviceIR, program: NamedFunctions) -> bool:
    values: _Values | None = None
    for loop in Reconvergence(ir.blocks).loops:
        if not loop.once:
            return False  # by `goto`
        values = values or _Values(ir, program)
        if _InLoop(values, loop).kept():
            return False
    return True


class _Values:
    """Where the values of a function come from."""

    def __init__(self, ir: DeviceIR, program: NamedFunctions) -> None:
        self.ir, self._program = ir, program
        self.definitions: dict[int, tuple[Instruction, int]] = {}
        #: Assignments to the lane's own variables.
        self.stores: dict[int, list[tuple[int, int]]] = {}
        for number, block in enumerate(ir.blocks):
            for each in block.instructions:
                self.definitions[each.target] = each, number
                if each.operation in _STORES:
                    cell = self.cell(each.operands[0])
                    if cell is not None:
                        values = (*each.operands[1:], *((each.target,) if each.operation == "compound" else ()))
                        self.stores.setdefault(cell, []).extend((value, number) for value in values)

    def cell(self, register: int) -> int | None:
        """The variable of the lane's own whose address a register holds."""
        found = self.definitions.get(register)
        if found is None or found[0].operation != "cell" or found[0].number is None:
            return None
        return found[0].number if self.ir.cells[found[0].number].kind in _OWN_CELLS else None

    def is_unseen(self, each: Instruction) -> bool:
        """Whether a call is of a function that is not followed."""
        return not self._program.named(without_arguments(each.name).rpartition("::")[2].strip())


class _InLoop:
    def __init__(self, values: _Values, loop: Loop) -> None:
        self._values, self._loop = values, loop
        self._known: dict[int, bool] = {}

    def kept(self) -> set[int]:
        """The blocks in which a lane may be kept by memory that stays the same."""
        kept = set(self._loop.blocks)
        changed = True
        while changed:
            changed = False
            for block in sorted(kept, reverse=True):
                if not self._stays(block, kept):
                    kept.discard(block)
                    changed = True
        return kept

    def _stays(self, block: int, kept: set[int]) -> bool:
        of = self._values.ir.blocks[block]
        if all(each in kept for each in of.successors):
            return bool(of.successors)
        inside = any(each in kept for each in of.successors)
        if not inside or of.condition is None or len(set(of.successors)) == 1:
            return inside
        if len(of.successors) > 2:
            return not self._is_own(of.condition)
        return any(of.successors[0 if side else 1] in kept for side in self._held(of.condition))

    def _held(self, register: int) -> frozenset[bool]:
        """The values that a condition may have in every iteration."""
        source = self._source(register)
        if source is not None and source.operation == "cast" and source.type in ("bool", ""):
            return self._held(source.operands[0])
        if source is not None and source.operation == "constant" and source.number is not None:
            return frozenset((bool(source.number),))
        if source is not None and source.operation == "unary" and source.name in ("!", "not"):
            return frozenset(not each for each in self._held(source.operands[0]))
        if source is not None and source.operation == "binary" and source.name in ("&&", "||"):
            one, two = (self._held(each) for each in source.operands[:2])
            decisive = source.name == "||"
            either = frozenset((decisive,)) if decisive in one | two else frozenset()
            both = frozenset((not decisive,)) if (not decisive) in one & two else frozenset()
            return either | both
        return frozenset() if self._is_own(register) else frozenset((True, False))

    def _source(self, register: int) -> Instruction | None:
        found = self._values.definitions.get(register)
        return found[0] if found is not None and found[1] in self._loop.blocks else None

    def _is_own(self, register: int) -> bool:
        """Whether the lane itself changes the value in each iteration."""
        if register not in self._known:
            self._known[register] = self._find_own(register)
        return self._known[register]

    def _find_own(self, register: int) -> bool:
        seen: set[int] = set()
        waiting = [register]
        while waiting:
            number = waiting.pop()
            source = self._source(number)
            if number in seen or source is None:
                continue
            seen.add(number)
            if source.operation == "call" and self._changes_itself(source):
                return True
            waiting += self._before(source)
        return is_cyclic(seen, self._source, self._before)

    def _before(self, source: Instruction) -> Iterator[int]:
        yield from source.operands
        if source.operation in THROUGH:
            first = source.operation in ("load", "compound", "decay")
            for operand in source.operands[:1] if first else source.operands:
                yield from self._assigned(operand)

    def _assigned(self, address: int) -> Iterator[int]:
        """The values that the loop assigns to a variable of the lane's own."""
        cell = self._values.cell(address)
        for value, block in self._values.stores.get(cell, ()) if cell is not None else ():
            if block in self._loop.blocks:
                yield value

    def _changes_itself(self, source: Instruction) -> bool:
        """Whether a call counts, or swaps only if memory has the value that was read last."""
        short = without_arguments(source.name).rpartition("::")[2].strip()
        kind = kind_of_call(short)
        if kind not in ("counts", "compares", "clocks") or not self._values.is_unseen(source):
            return False
        if kind == "clocks":
            return True
        arguments = source.operands[1:] if source.type.startswith("t") else source.operands
        if len(arguments) < 2:
            return False
        if kind == "counts":
            given = self._values.definitions.get(arguments[1])
            return given is None or given[0].operation != "constant" or given[0].number != 0
        return self._is_read(arguments[1], source.target)

    def _is_read(self, register: int, call: int) -> bool:
        """Whether a value depends on the result of an earlier round's call."""
        seen: set[int] = set()
        waiting = [register, *self._assigned(register)]
        while waiting:
            number = waiting.pop()
            if number == call:
                return True
            source = self._source(number)
            if number in seen or source is None:
                continue
            seen.add(number)
            waiting += self._before(source)
        return False
