# SPDX-License-Identifier: Apache-2.0
"""The input of an abstract execution, and its records of running functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from hipport.analysis.abstract_memory import Cells, Closure
from hipport.analysis.device_ir import DeviceIR
from hipport.analysis.uniform_values import Blocks, Reason, Value


class Callee(NamedTuple):
    """A function that may be called: its code, its file, and whether it is a method."""

    ir: DeviceIR
    path: object
    is_method: bool


class Program(Protocol):
    """What the execution asks about the program."""

    def callees(self, path: object, name: str, class_name: str, count: int) -> Sequence[Callee]:
        """Return the functions of a class ("" for free ones, "*" for any) that take that number of arguments."""
        ...

    def fields(self, path: object, class_name: str) -> Sequence[tuple[str, str]] | None:
        """Return names and types of the members of a class, in order; None if the class is not seen."""
        ...

    def defaults(self, path: object, class_name: str, others: frozenset[str] = frozenset()) -> Callee | None:
        """Return the code that assigns default values to the members of a class, except `others`."""
        ...

    def classes(self, ir: DeviceIR, name: str) -> frozenset[str]:
        """Return the classes that a parameter of a function's template may be; empty where one is not known."""
        ...

    def numbers(self, ir: DeviceIR, name: str) -> frozenset[int]:
        """Return the values that a template parameter of a function may have; empty if one is unknown."""
        ...

    def number(self, path: object, name: str) -> int | None:
        """Return the value of a constant of that name."""
        ...

    def is_macro(self, path: object, name: str) -> bool:
        """Whether it is the name of a macro."""
        ...

    def is_volatile(self, path: object, name: str) -> bool:
        """Whether a variable outside functions is volatile."""
        ...

    def takes_reference(self, path: object, name: str, position: int) -> bool:
        """Whether a function that is only declared may change its argument at `position`."""
        ...

    def is_declared(self, path: object, name: str) -> bool:
        """Whether a function of that name is declared, but its body is not seen."""
        ...

    def is_open(self, class_name: str) -> bool:
        """Whether a class, or one of its bases, is not seen, so that it may have a member of any name."""
        ...

    def is_constructed_elsewhere(self, class_name: str) -> bool:
        """Whether a class declares a constructor whose body is not seen."""
        ...

    def conversions(self, class_name: str) -> Sequence[Callee]:
        """Return the conversion functions of a class."""
        ...

    def place_of(self, class_name: str, member: str) -> str:
        """Return the name of the place of a member in an object: members of a union share one."""
        ...

    def is_shadowed(self, class_name: str, member: str) -> bool:
        """Whether a class and its bases have several members of that name."""
        ...

    def is_known(self, path: object, name: str) -> bool:
        """Whether a name that no variable of a function has is declared in a file, or a constant of a library."""
        ...

    def bases(self, class_name: str) -> Sequence[str]:
        """Return the direct bases of a class."""
        ...

    def is_function(self, path: object, name: str) -> bool:
        """Whether it is the name of a device function."""
        ...


@dataclass
class Frame:
    """A running function."""

    ir: DeviceIR
    path: object
    blocks: Blocks
    closure: Closure | None = None
    #: The number of arguments of the call.
    arguments: int = 0
    result_address: list[Value] = field(default_factory=list)


class CallResult(NamedTuple):
    """The outcome of a call: its value, its address if it returns a reference, and the variables afterwards."""

    value: Value
    address: Value | None
    cells: Cells


class Site(NamedTuple):
    """How threads reach a call: in groups of `level` neighbours together, or why not."""

    level: int
    why: Reason | None


class Start(NamedTuple):
    """The input of a run: arguments, the addresses of those that are variables, all variables, `this`."""

    arguments: Sequence[Value]
    addresses: Sequence[Value | None]
    cells: Cells
    blocks: Blocks
    control: Site
    closure: Closure | None = None
    this: Value | None = None


class AbstractMachine(Protocol):
    """Runs functions; `frames` are those that run now, the innermost last."""

    program: Program
    frames: list[Frame]
    #: Variables whose addresses were stored in memory that is not followed.
    escaped: set[tuple[int, int | str]]
    #: The types of parts of variables: by a type, whether it is a pointer to that, its dimensions and the path.
    types: dict[tuple[str, bool, int, tuple[str, ...]], str]
    #: The tags of values by their types.
    tags: dict[str, str]
    #: The addresses of variables, by the depth of calls and the variable.
    addresses: dict[tuple[int, int], Value]
    #: Classes of which no object has a destructor, nor has a part of it.
    never_destroyed: set[str]

    def call(self, callee: Callee, start: Start) -> CallResult:
        """Run a function."""
        ...
