# SPDX-License-Identifier: Apache-2.0
"""The intermediate representation of a function of device code: basic blocks of instructions, with spans of origin.

    function.blocks[0]                 # the entry; control leaves a block by its terminator
    Instruction("binary", target=5, operands=(3, 4), name="+", span=(120, 131))

An instruction reads registers, which are numbers, and writes one. Variables are cells in memory: `cell` gives a cell's
address, `field` and `element` those of its parts, `load` reads and `store` writes. Calls, conversions, constructors,
operators of classes and lambdas are instructions `call`, `construct` and `closure`; conditions that contain calls,
loops, `switch`, `goto` and early exits are edges. `#if` is a branch that every thread takes the same way.

Spans refer to the file as written. The expansion of a macro has the span of the macro's use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

Span = tuple[int, int]


class Instruction(NamedTuple):
    """`target = operation(operands)`, with the name and the type that the operation needs."""

    operation: str
    target: int = -1
    operands: tuple[int, ...] = ()
    name: str = ""
    type: str = ""
    span: Span = (-1, -1)
    number: int | None = None


class Cell(NamedTuple):
    """A variable of the function: `kind` is local, parameter, pack, reference, shared, temporary or choice.

    A choice is the result of a `?:`: it is read where the two sides join, and nowhere else.
    """

    name: str
    kind: str
    type: str = ""
    #: The number of dimensions of an array; 0 if it is not an array.
    array: int = 0
    volatile: bool = False
    pointer: bool = False
    #: Whether it is a pack of reference parameters.
    pack: bool = False


@dataclass
class Block:
    """Instructions, and the successors of the block: `condition`, a register, selects one, or there is only one."""

    instructions: list[Instruction] = field(default_factory=list)
    condition: int | None = None
    successors: list[int] = field(default_factory=list)
    span: Span = (-1, -1)


class Expression(NamedTuple):
    """The register of an expression: its place, and its text if it is part of a macro's expansion there."""

    register: int
    block: int
    span: Span
    text: str


@dataclass
class Lambda:
    """A lambda of a function: its code, in which the captures are cells of the function."""

    body: DeviceIR
    #: The names captured by value and by reference, and the default capture, "=" or "&".
    by_value: frozenset[str]
    by_reference: frozenset[str]
    default: str


@dataclass
class DeviceIR:
    """A function, lambda or method: its parameters are the first cells; `result` is where `return` stores."""

    name: str
    cells: list[Cell] = field(default_factory=list)
    parameters: int = 0
    blocks: list[Block] = field(default_factory=list)
    exit: int = 0
    result: int = -1
    this: int = -1
    lambdas: list[Lambda] = field(default_factory=list)
    expressions: list[Expression] = field(default_factory=list)
    #: The first construct that could not be lowered, and its place: nothing is known of such a function.
    unread: tuple[str, Span] | None = None
    #: Whether macros in it were left unexpanded: a macro may declare a name that has no other declaration.
    has_macros: bool = False
    #: The class of a method; classes defined in the function; names of its template parameters.
    class_name: str = ""
    template_names: frozenset[str] = frozenset()
    #: Whether the result of a call is a place in memory.
    returns_reference: bool = False
    #: The return type as written; empty if it is deduced.
    returned: str = ""

    @cached_property
    def lasting(self) -> frozenset[int]:
        """The registers that are used in other blocks than the one that defines them."""
        own: list[set[int]] = [{each.target for each in block.instructions} for block in self.blocks]
        return frozenset(
            register
            for block, registers in zip(self.blocks, own, strict=True)
            for each in block.instructions
            for register in each.operands
            if register not in registers
        )

    @cached_property
    def choices(self) -> dict[int, set[int]]:
        """The blocks that use the results of each `?:`, by its cell."""
        found: dict[int, set[int]] = {}
        for number, block in enumerate(self.blocks):
            for each in block.instructions:
                if each.operation == "cell" and each.number is not None and self.cells[each.number].kind == "choice":
                    found.setdefault(each.number, set()).add(number)
        return found

    @cached_property
    def predecessors(self) -> list[list[int]]:
        """The predecessors of each block."""
        found: list[list[int]] = [[] for _ in self.blocks]
        for number, block in enumerate(self.blocks):
            for successor in dict.fromkeys(block.successors):
                found[successor].append(number)
        return found
