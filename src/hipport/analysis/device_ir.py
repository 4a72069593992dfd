# SPDX-License-Identifier: Apache-2.0
"""The intermediate representation of a function of device code: basic blocks of instructions, with spans of origin.

    function.blocks[0]                 # the entry; control leaves a block by its terminator
    Instruction("binary", target=5, operands=(3, 4), name="+", span=(120, 131))

An instruction reads registers, which are numbers, and writes one. Variables are cells in memory: `cell` gives a cell's
address, `field` and `element` those of its parts, `load` reads and `store` writes. Calls, conversions, constructors,
operators of classes and lambdas are instructions `call`, `construct` and `closure`; conditions with calls in them,
loops, `switch`, `goto` and early exits are edges. `#if` is a branch that every thread takes the same way.

Spans are of the file as it is written. What a macro stands for has the span of the macro's use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

Span = tuple[int, int]


class Instruction(NamedTuple):
    """`target = operation(operands)`, with the name and type that the operation needs."""

    operation: str
    target: int = -1
    operands: tuple[int, ...] = ()
    name: str = ""
    type: str = ""
    span: Span = (-1, -1)
    number: int | None = None


class Cell(NamedTuple):
    """A variable of the function: `kind` is local, parameter, pack, reference, shared, temporary or choice.

    A choice is what a `?:` gives: it is read where its sides meet, and nowhere else.
    """

    name: str
    kind: str
    type: str = ""
    #: How many dimensions an array has; 0 if it is none.
    array: int = 0
    volatile: bool = False
    pointer: bool = False
    #: A pack of parameters that are references.
    pack: bool = False


@dataclass
class Block:
    """Instructions, and where control goes: by `condition`, a register, to one of `successors`, or to the only one."""

    instructions: list[Instruction] = field(default_factory=list)
    condition: int | None = None
    successors: list[int] = field(default_factory=list)
    span: Span = (-1, -1)


class Expression(NamedTuple):
    """The register of an expression: where it stands, and its text if it is a part of what a macro there makes."""

    register: int
    block: int
    span: Span
    text: str


@dataclass
class Lambda:
    """A lambda of a function: its code, which names cells of the function as its own captures."""

    body: DeviceIR
    #: Names captured by value, by reference; whether the rest is, "=" or "&".
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
    #: What could not be read, and where: nothing is known of such a function.
    unread: tuple[str, Span] | None = None
    #: Whether macros in it stand as they are written: a name that is declared nowhere may be declared by one.
    has_macros: bool = False
    #: Classes that the function is of or that are defined in it; names of its template's parameters.
    class_name: str = ""
    template_names: frozenset[str] = frozenset()
    #: Whether a call of it is a place in memory.
    returns_reference: bool = False
    #: What it returns, as it is written; empty where that is not said.
    returned: str = ""

    @cached_property
    def lasting(self) -> frozenset[int]:
        """The registers that are used in other blocks than those that set them."""
        own: list[set[int]] = [{each.target for each in block.instructions} for block in self.blocks]
        return frozenset(
            register
            for block, registers in zip(self.blocks, own, strict=True)
            for each in block.instructions
            for register in each.operands
            if register not in registers
        )

    def predecessors(self) -> list[list[int]]:
        """Return the blocks from which control comes to each block."""
        found: list[list[int]] = [[] for _ in self.blocks]
        for number, block in enumerate(self.blocks):
            for successor in dict.fromkeys(block.successors):
                found[successor].append(number)
        return found
