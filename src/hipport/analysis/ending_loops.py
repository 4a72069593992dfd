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
from hipport.analysis.inlined_program import WAITING
from hipport.analysis.lowering_state import class_in, without_arguments
from hipport.analysis.memory_places import kind_of_call
from hipport.analysis.reconvergence import Loop, Reconvergence
from hipport.analysis.waiting_loops import THROUGH, LoopGame

_STORES = frozenset(("store", "assign", "initialize", "compound"))
#: Variables that only the lane itself can change. A temporary may stand for a variable outside functions.
_OWN_CELLS = frozenset(("local", "parameter", "choice"))


class NamedFunctions(Protocol):
    """What is asked about the program; implemented by hipport.analysis.device_program."""

    def named(self, name: str) -> Sequence[DeviceIR]:
        """Return all functions and methods of that name."""
        ...

    def fields(self, path: object, class_name: str) -> Sequence[tuple[str, str]] | None:
        """Return names and types of the members of a class, in order; None if the class is not seen."""
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
        if any(
            each.operation == "method" and each.name in WAITING for block in ir.blocks for each in block.instructions
        ):
            return None
        for block in ir.blocks:
            for each in block.instructions:
                operation = each.operation
                if operation in ("call", "method", "name"):
                    names[without_arguments(each.name).rpartition("::")[2].strip()] = None
                elif operation == "indirect":
                    if any("auto" in cell.type.split() for cell in ir.cells[: ir.parameters]):
                        return None  # perhaps a lambda that gets itself
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
    loops = Reconvergence(ir.blocks).loops
    if not all(loop.once for loop in loops):
        return False  # by `goto`
    values = _Values(ir, program) if loops else None
    return values is None or not any(_InLoop(values, loop).kept() for loop in loops)


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

    def is_object(self, register: int) -> bool:
        """Whether a register holds the address of an object of a class that is seen."""
        cell = self.cell(register)
        name = class_in(self.ir.cells[cell].type) if cell is not None and not self.ir.cells[cell].pointer else ""
        return bool(name) and self._program.fields(None, name) is not None

    def is_unseen(self, each: Instruction) -> bool:
        """Whether a call is of a function that is not followed."""
        return not self._program.named(without_arguments(each.name).rpartition("::")[2].strip())


class _InLoop(LoopGame):
    def __init__(self, values: _Values, loop: Loop) -> None:
        super().__init__(values.ir.blocks, values.definitions, loop)
        self._values = values
        self._own: dict[int, bool] = {}

    def may_change(self, register: int, foreign: bool) -> bool:
        """Whether the lane itself changes the value in each iteration."""
        if register not in self._own:
            self._own[register] = self._find_own(register)
        return self._own[register]

    def _find_own(self, register: int) -> bool:
        seen = set()
        for number, source in self._behind((register,)):
            if source.operation == "compound" and self._values.is_object(source.operands[0]):
                return False  # by an operator of its class
            if source.operation == "call" and self._changes_itself(source):
                return True
            seen.add(number)
        return self._is_cyclic(seen)

    def values_before(self, source: Instruction) -> Iterator[int]:
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
        # It expects the result of an earlier round's call.
        expected = (arguments[1], *self._assigned(arguments[1]))
        return any(number == source.target for number, _ in self._behind(expected))
