# SPDX-License-Identifier: Apache-2.0
"""Which memory the instructions of an inlined program access: variables, and the targets of pointers.

    places = Places(whole)
    places.of_address(register)      # {("cell 4", "*")}: what the fifth variable points to
    places.accesses                  # every instruction that accesses memory which other threads see

A place is a variable with a path from it: members by name, `*` for the target of a pointer. The elements of an array
are one place. Parameters are assumed to point to disjoint memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from hipport.analysis.built_ins import BY_BLOCK, BY_WARP, PURE, SHUFFLES
from hipport.analysis.device_ir import Instruction
from hipport.analysis.inlined_program import InlinedProgram
from hipport.analysis.lowering_state import without_arguments
from hipport.core.tables import load, one_of

_TABLE = load(Path(__file__).with_name("memory_functions.toml"))
_FUNCTIONS = {kind: re.compile(one_of(names)) for kind, names in _TABLE["functions"].items()}
_METHODS = {kind: re.compile(one_of(names)) for kind, names in _TABLE["methods"].items()}
_ASSEMBLY = {kind: re.compile(pattern) for kind, pattern in _TABLE["assembly"].items()}
_READS = frozenset(("reads", "counts", "compares", "changes"))
_WRITES = frozenset(("writes", "counts", "compares", "changes"))
_HARMLESS = _FUNCTIONS.pop("harmless")
#: Words of code that reads memory which others write; see waiting loops.
LOOKS = tuple(_TABLE["words"][kind] for kind in ("functions", "methods", "atomics", "fences", "assembly"))
_DEEPEST = 40
#: A variable and a path from it.
MemoryPlace = tuple[str, ...]


class Access(NamedTuple):
    """An instruction that accesses memory: the kind of access, where it stands, and the places."""

    kind: str
    block: int
    instruction: Instruction
    places: frozenset[MemoryPlace]

    @property
    def reads(self) -> bool:
        """Whether it returns the contents of memory."""
        return self.kind in _READS

    @property
    def writes(self) -> bool:
        """Whether it changes memory, or may."""
        return self.kind in _WRITES or self.kind == "unseen"


class Places:
    """The places that a program's addresses and pointers refer to."""

    def __init__(self, whole: InlinedProgram, is_variable: Callable[[str], bool]) -> None:
        """`is_variable`: whether a name is a variable outside functions that threads may change."""
        self._whole = whole
        self._is_variable = is_variable
        #: The registers that are stored to a place in a variable, by place.
        self._stored: dict[MemoryPlace, list[int]] = {}
        self._addresses: dict[int, frozenset[MemoryPlace]] = {}
        self._pointers: dict[int, frozenset[MemoryPlace]] = {}
        self._open: set[tuple[str, object]] = set()
        for instruction, _ in list(whole.definitions.values()):
            if instruction.operation in ("store", "assign", "initialize") and len(instruction.operands) > 1:
                for place in self.of_address(instruction.operands[0]):
                    if "*" not in place:
                        self._stored.setdefault(place, []).append(instruction.operands[1])
        self._addresses.clear()
        self._pointers.clear()
        self.accesses: list[Access] = []
        self.barriers: set[int] = set()
        for number, block in enumerate(whole.blocks):
            for instruction in block.instructions:
                self._note(number, instruction)

    # ---- addresses and pointers

    def of_address(self, register: int) -> frozenset[MemoryPlace]:
        """Return the places that an address may refer to."""
        known = self._addresses.get(register)
        if known is None:
            if ("address", register) in self._open or len(self._open) > _DEEPEST:
                return frozenset()
            self._open.add(("address", register))
            known = self._addresses[register] = frozenset(self._find_address(register))
            self._open.discard(("address", register))
        return known

    def of_pointer(self, register: int) -> frozenset[MemoryPlace]:
        """Return the places that a value may point to."""
        known = self._pointers.get(register)
        if known is None:
            if ("pointer", register) in self._open or len(self._open) > _DEEPEST:
                return frozenset()
            self._open.add(("pointer", register))
            known = self._pointers[register] = frozenset(self._find_pointer(register))
            self._open.discard(("pointer", register))
        return known

    def _source(self, register: int) -> Instruction | None:
        found = self._whole.definitions.get(register)
        return found[0] if found is not None else None

    def _find_address(self, register: int) -> Iterable[MemoryPlace]:
        source = self._source(register)
        if source is None:
            return ()
        operation = source.operation
        if operation == "cell":
            assert source.number is not None
            return self._of_cell(source.number)
        if operation == "bound":
            below = self._source(source.operands[0])
            cell = below.number if below is not None else None
            bound = self._whole.bound.get(cell, []) if cell is not None else []
            if not bound:
                return {(f"cell {cell}", "*")} if cell is not None else ()
            return {place for each in bound for place in self.of_address(each)}
        if operation in ("field", "member"):
            return {(*place, source.name) for place in self.of_address(source.operands[0])}
        if operation in ("element", "nth"):
            below = self._source(source.operands[0])
            if below is not None and below.operation not in ("decay", "cell", "field", "element", "bound", "target"):
                return self.of_pointer(source.operands[0])
            return self.of_address(source.operands[0])
        if operation == "decay":
            return {
                at
                for place in self.of_address(source.operands[0])
                for at in ({place} if self._is_array(place) else self._pointed(place))
            }
        if operation == "target":
            return self.of_pointer(source.operands[0])
        if operation == "name":
            return {(f"global {source.name.rpartition('::')[2]}",)}
        if operation == "result address":
            return self._held(source.operands[0])
        return self.of_pointer(register)

    def _of_cell(self, cell: int) -> set[MemoryPlace]:
        """A variable, or the one outside functions that a temporary was loaded from."""
        given = self._whole.stores.get(cell, ())
        if self._whole.cells[cell].kind == "temporary" and len(given) == 1:
            source = self._source(given[0][0])
            if source is not None and source.operation == "name":
                return {(f"global {source.name.rpartition('::')[2]}",)}
        return {(f"cell {cell}",)}

    def _find_pointer(self, register: int) -> Iterable[MemoryPlace]:
        source = self._source(register)
        if source is None:
            return ()
        operation, operands = source.operation, source.operands
        if operation in ("cell", "bound", "field", "member", "element", "decay", "target", "name", "nth"):
            return self.of_address(register)
        result = self._result(source)
        if result is not None:
            return self.of_pointer(result)
        if operation == "load":
            return {
                at
                for place in self.of_address(operands[0])
                for at in ({place} if self._is_array(place) else self._pointed(place))
            }
        if operation == "binary":
            # A pointer and a distance: the operand that is known to be a pointer.
            found = [self.of_pointer(operand) for operand in operands[:2]]
            typed = [each for each, operand in zip(found, operands, strict=False) if self._is_pointer(operand)]
            return frozenset().union(*(typed or found))
        if operation in ("cast", "compound", "least", "unary"):
            return frozenset().union(*(self.of_pointer(operand) for operand in operands[:1]))
        if operation == "call":
            return frozenset().union(*(self.given(source, i) for i in range(len(self.arguments(source)))))
        return ()

    def _result(self, source: Instruction) -> int | None:
        """The result of a call, if the value is loaded from the temporary that holds it."""
        if source.operation == "result address":
            return source.operands[0]
        below = self._source(source.operands[0]) if source.operation == "load" else None
        return below.operands[0] if below is not None and below.operation == "result address" else None

    def _is_pointer(self, register: int) -> bool:
        source = self._source(register)
        for _ in range(_DEEPEST):
            if source is None:
                return False
            if source.operation == "cast" and "*" in source.type:
                return True
            if source.operation in ("decay", "target") or (source.operation == "cell" and source.number is not None):
                break
            if source.operation not in ("load", "cast", "binary", "element", "field") or not source.operands:
                return False
            source = self._source(source.operands[0])
        if source is None or source.operation != "cell" or source.number is None:
            return True
        cell = self._whole.cells[source.number]
        return cell.pointer or cell.array > 0 or cell.kind == "shared"

    def _pointed(self, place: MemoryPlace) -> set[MemoryPlace]:
        """The targets of the pointer in a place."""
        key = ("place", place)
        if key in self._open or len(place) > 6:
            return set()
        own = "*" not in place
        given = self._stored.get(place, []) if own else []
        wholes = [
            (register, place[length:])
            for length in range(1, len(place) if own else 1)
            for register in self._stored.get(place[:length], ())
        ]
        if not given and not wholes:
            return {(*place, "*")}
        self._open.add(key)
        found = {at for register in given for at in self.of_pointer(register)}
        for register, rest in wholes:
            # A copy of an object has the same targets as the original.
            found |= {at for whole in self._held(register) for at in self._pointed((*whole, *rest))}
        self._open.discard(key)
        return found or {(*place, "*")}

    def cell_of(self, place: MemoryPlace) -> int | None:
        """Return the index of the variable at the beginning of a place; None for one outside functions."""
        return int(place[0][5:]) if place[0].startswith("cell ") else None

    def _is_array(self, place: MemoryPlace) -> bool:
        number = self.cell_of(place)
        if number is None:
            return True
        cell = self._whole.cells[number]
        return len(place) == 1 and (cell.array > 0 or (cell.kind == "shared" and not cell.pointer))

    def is_private(self, place: MemoryPlace) -> bool:
        """Whether a place is a variable of one thread."""
        number = self.cell_of(place)
        return number is not None and "*" not in place and self._whole.cells[number].kind != "shared"

    def name(self, place: MemoryPlace) -> str:
        """Return the name of a place in words of the program."""
        number = self.cell_of(place)
        name = place[0].removeprefix("global ") if number is None else self._whole.cells[number].name
        members = [each for each in place[1:] if each != "*"]
        return ".".join(filter(None, (name if name != "this" else "", *members))) or "memory"

    # ---- accesses

    def arguments(self, call: Instruction) -> tuple[int, ...]:
        """Return the registers of a call's arguments; those of a method start with its object."""
        return call.operands[1:] if call.operation == "call" and call.type.startswith("t") else call.operands

    def given(self, call: Instruction, position: int) -> frozenset[MemoryPlace]:
        """Return the targets of an argument, or the argument itself if it is the object of a method."""
        arguments = self.arguments(call)
        if position >= len(arguments):
            return frozenset()
        if call.operation == "method" and position == 0:
            return self.of_address(arguments[0])
        kinds = call.type.removeprefix("t")
        at = position - (call.operation == "method")
        below = self._source(arguments[position])
        if kinds[at : at + 1] == "a" and (below is None or below.operation != "result address"):
            return frozenset(
                found
                for place in self.of_address(arguments[position])
                for found in ({place} if self._is_array(place) else self._pointed(place))
            )
        return self.of_pointer(arguments[position])

    def _note(self, block: int, each: Instruction) -> None:
        operation = each.operation
        if operation == "load" and self._result(each) is None:
            self._add("reads", block, each, self.of_address(each.operands[0]))
        elif operation == "name" and self._is_variable(each.name.rpartition("::")[2]):
            self._add("reads", block, each, frozenset({(f"global {each.name.rpartition('::')[2]}",)}))
        elif operation == "store" and self._is_temporary(each.operands[0]):
            pass  # a value of an expression
        elif operation in ("store", "assign", "initialize", "compound", "construct"):
            self._add("writes", block, each, self.of_address(each.operands[0]))
        elif operation == "outside":
            self._add("writes", block, each, frozenset({(f"global {each.name.rpartition('::')[2]}",)}))
        elif operation == "assembly":
            found = frozenset().union(*(self.of_pointer(operand) for operand in each.operands))
            reads, writes = (_ASSEMBLY[kind].search(each.name) is not None for kind in ("reads", "writes"))
            if reads or writes:
                self._add("changes" if reads and writes else "reads" if reads else "writes", block, each, found)
        elif operation in ("call", "method", "indirect"):
            self._note_call(block, each)

    def _is_temporary(self, address: int) -> bool:
        """Whether it is the address of a variable without a name."""
        source = self._source(address)
        if source is None or source.operation != "cell" or source.number is None:
            return False
        return self._whole.cells[source.number].kind == "temporary"

    def _note_call(self, block: int, each: Instruction) -> None:
        short = without_arguments(each.name).rpartition("::")[2].strip()
        table = _METHODS if each.operation == "method" else _FUNCTIONS
        if _FUNCTIONS["barriers"].fullmatch(short):
            self.barriers.add(block)
            return
        for kind, names in table.items():
            if names.fullmatch(short):
                if kind == "clocks":
                    return
                if kind == "counts" and self.is_zero(each, 1):
                    kind = "reads"
                if each.operation == "method":
                    self._add(kind, block, each, frozenset(self._referred(self.given(each, 0))))
                else:
                    self._add(kind, block, each, self.given(each, 0))
                return
        if computes(short):
            return
        found = frozenset().union(*(self.given(each, i) for i in range(len(self.arguments(each)))))
        self._add("unseen", block, each, found)

    def _referred(self, places: Iterable[MemoryPlace]) -> Iterable[MemoryPlace]:
        """For an atomic_ref, the targets of its constructor's argument; any other object is returned itself."""
        for place in places:
            number = self.cell_of(place)
            if number is None or len(place) > 1:
                yield place
                continue
            found = [
                at
                for value, _ in (self._whole.stores.get(number, ()) if "_ref" in self._whole.cells[number].type else ())
                for at in self._held(value)
            ]
            if found:
                yield from found
            else:
                yield place

    def _held(self, register: int) -> frozenset[MemoryPlace]:
        """The place that a register's value was loaded from."""
        source = self._source(register)
        while source is not None and source.operation == "cast":
            source = self._source(source.operands[0])
        if source is None or not source.operands:
            return frozenset()
        if source.operation == "unknown" and source.type.startswith("a"):
            return self.of_address(source.operands[0])  # the argument of a constructor that is not seen
        return self.of_address(source.operands[0]) if source.operation == "load" else frozenset()

    def is_zero(self, call: Instruction, position: int) -> bool:
        """Whether an argument is the number 0."""
        arguments = self.arguments(call)
        source = self._source(arguments[position]) if position < len(arguments) else None
        return source is not None and source.operation == "constant" and source.number == 0

    def _add(self, kind: str, block: int, each: Instruction, places: frozenset[MemoryPlace]) -> None:
        if any(not self.is_private(place) for place in places):
            shared = frozenset(place for place in places if not self.is_private(place))
            self.accesses.append(Access(kind, block, each, shared))


def kind_of_call(name: str) -> str:
    """Return how an unseen function accesses memory which other threads may write; empty if it is not in the table."""
    return next((kind for kind, names in _FUNCTIONS.items() if names.fullmatch(name)), "")


def computes(name: str) -> bool:
    """Whether an unseen function depends only on its arguments, or on those of other lanes."""
    text = name.encode()
    bare = name.removeprefix("__").removesuffix("_sync").encode()
    known = any(pattern.fullmatch(text) for pattern in (PURE, BY_WARP, BY_BLOCK)) or _HARMLESS.fullmatch(name)
    return bool(known) or text in SHUFFLES or bare.startswith(b"shfl")


def is_clock(name: str) -> bool:
    """Whether a function returns the time."""
    return _FUNCTIONS["clocks"].fullmatch(name) is not None


def overlap(one: Iterable[MemoryPlace], two: Iterable[MemoryPlace]) -> bool:
    """Whether two sets of places overlap: a place includes its members, but not the targets of pointers in it."""
    for a in one:
        for b in two:
            short, long = sorted((a, b), key=len)
            if long[: len(short)] == short and "*" not in long[len(short) :]:
                return True
    return False
