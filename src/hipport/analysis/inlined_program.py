# SPDX-License-Identifier: Apache-2.0
"""A kernel with all calls inlined: one graph of blocks, for questions about the whole kernel.

    whole = Inlining(program).of(callee)
    whole.blocks, whole.cells         # each copy of a function has its own registers and cells
    whole.files[block]                # the file to which the spans in a block refer

A recursive call goes back to the beginning of the function, so a recursion is a loop. A call by pointer or object is
followed to the definitions of its variable; if several functions may be called, control goes to each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from hipport.analysis.abstract_program import Callee
from hipport.analysis.device_ir import Block, Cell, DeviceIR, Instruction, Lambda
from hipport.analysis.lowering_state import class_in, without_arguments

#: The maximum size of a kernel in blocks, the depth of calls, and the number of functions of one name.
_MOST_BLOCKS, _DEEPEST, _MOST_CALLEES = 1500, 12, 3
#: Instructions that classes may have operators for.
_OPERATORS = frozenset(("unary", "binary", "compound", "cast"))
#: Methods of std::atomic, of semaphores and the like, in which a thread waits for others.
WAITING = frozenset(("wait", "acquire"))


class InliningContext(Protocol):
    """What the inlining asks about the program; implemented by hipport.analysis.device_program."""

    def callees(self, path: object, name: str, class_name: str, count: int) -> Sequence[Callee]:
        """Return the functions of a class ("" for free ones, "*" for any) that take that number of arguments."""
        ...

    def fields(self, path: object, class_name: str) -> Sequence[tuple[str, str]] | None:
        """Return names and types of the members of a class, in order; None if the class is not seen."""
        ...

    def conversions(self, class_name: str) -> Sequence[Callee]:
        """Return the conversion functions of a class."""
        ...

    def classes(self, ir: DeviceIR, name: str) -> frozenset[str]:
        """Return the classes that a parameter of a function's template may be; empty where one is not known."""
        ...


class Copy(NamedTuple):
    """A copy of a function: where its registers, cells and blocks begin."""

    ir: DeviceIR
    path: object
    registers: int
    cells: int
    blocks: int
    #: For a lambda, the copy of the function that created it.
    maker: Copy | None
    #: The cell of the address that it returns if it returns a reference.
    returned: int


class RegisterOrigin(NamedTuple):
    """The origin of a register's value: the file, the span, and the text if it is part of a macro's expansion."""

    path: object
    span: tuple[int, int]
    text: str


@dataclass
class InlinedProgram:
    """A function with all its callees inlined."""

    blocks: list[Block] = field(default_factory=list)
    files: list[object] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    entry: int = 0
    exit: int = 0
    #: The number of cells, from the first, that are parameters of the function itself.
    parameters: int = 0
    #: The origins of registers' values in the files.
    named: dict[int, RegisterOrigin] = field(default_factory=dict)
    #: The instruction that defines each register, and its block.
    definitions: dict[int, tuple[Instruction, int]] = field(default_factory=dict)
    #: For each variable, the registers that are stored to it as a whole, with the blocks.
    stores: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    #: For each reference, the registers that it is bound to.
    bound: dict[int, list[int]] = field(default_factory=dict)
    #: The classes of objects whose declaration does not name a type.
    made: dict[int, str] = field(default_factory=dict)
    #: Whether it reached the maximum size, so that some calls are not followed.
    cut: bool = False


class Inlining:
    """Inlines functions at their calls."""

    def __init__(self, program: InliningContext, deepest: int = _DEEPEST) -> None:
        self._program = program
        self._deepest = deepest

    def of(self, callee: Callee) -> InlinedProgram:
        """Return a function with its callees inlined."""
        self._whole = InlinedProgram()
        self._registers = 0
        self._closures: dict[int, tuple[Lambda, Copy]] = {}
        self._stack: list[Copy] = []
        self._returned: dict[int, int] = {}
        self._at = self._new_block(callee.path)
        self._whole.parameters = callee.ir.parameters + (callee.ir.this >= 0)
        if callee.ir.unread is None:
            self._splice(self._begin(callee, None), None)
        self._whole.exit = self._at
        return self._whole

    # ---- small parts

    def _new_block(self, path: object) -> int:
        self._whole.blocks.append(Block())
        self._whole.files.append(path)
        return len(self._whole.blocks) - 1

    def _emit(
        self, operation: str, operands: Sequence[int], like: Instruction, target: int = -1, **more: object
    ) -> int:
        if target < 0:
            self._registers += 1
            target = self._registers
        made = Instruction(operation, target, tuple(operands), span=like.span, **more)  # type: ignore[arg-type]
        self._add(made)
        return target

    def _add(self, made: Instruction) -> None:
        whole = self._whole
        whole.blocks[self._at].instructions.append(made)
        whole.definitions[made.target] = made, self._at
        if made.operation in ("store", "assign", "initialize", "bind"):
            cell = self._cell(made.operands[0])
            if cell is not None and made.operation == "bind":
                whole.bound.setdefault(cell, []).append(made.operands[1])
            elif cell is not None:
                whole.stores.setdefault(cell, []).append((made.operands[1], self._at))
        elif made.operation == "construct" and made.name:
            cell = self._cell(made.operands[0])
            if cell is not None:
                whole.made[cell] = class_in(made.name)

    def _cell(self, register: int) -> int | None:
        """The variable whose address a register holds."""
        found = self._whole.definitions.get(register)
        return found[0].number if found is not None and found[0].operation == "cell" else None

    # ---- functions

    def _begin(self, callee: Callee, maker: Copy | None) -> Copy:
        """Reserve blocks, cells and registers for a function."""
        ir, whole = callee.ir, self._whole
        returned = len(whole.cells) + len(ir.cells)
        copy = Copy(ir, callee.path, self._registers, len(whole.cells), len(whole.blocks), maker, returned)
        whole.cells += [*ir.cells, Cell("", "temporary", pointer=True)]
        self._registers += 1 + max((each.target for block in ir.blocks for each in block.instructions), default=0)
        for _ in ir.blocks:
            self._new_block(callee.path)
        return copy

    def _splice(self, copy: Copy, given: int | None) -> None:
        """Insert a function after the current block, and continue after it."""
        ir, whole = copy.ir, self._whole
        whole.blocks[self._at].successors = [copy.blocks]
        self._stack.append(copy)
        for said in ir.expressions:
            whole.named[copy.registers + said.register] = RegisterOrigin(copy.path, said.span, said.text)
        for number in _order(ir):
            block = ir.blocks[number]
            self._at = copy.blocks + number
            for each in block.instructions:
                self._instruction(each, copy, given)
            now = whole.blocks[self._at]
            now.successors = [copy.blocks + to for to in block.successors]
            now.span = block.span
            if block.condition is not None:
                now.condition = copy.registers + block.condition
        self._stack.pop()
        self._at = copy.blocks + ir.exit

    def _instruction(self, each: Instruction, copy: Copy, given: int | None) -> None:
        operation = each.operation
        moved = each._replace(
            target=copy.registers + each.target, operands=tuple(copy.registers + operand for operand in each.operands)
        )
        if operation in ("cell", "declare", "end", "default") and each.number is not None:
            moved = moved._replace(number=copy.cells + each.number)
        if operation == "captured":
            self._captured(each, moved, copy)
        elif operation == "default":
            first = int(copy.ir.this >= 0)
            if given is not None and each.number is not None and given <= each.number - first:
                self._emit("store", moved.operands, moved)
        elif operation == "closure" and each.number is not None:
            self._closures[moved.target] = copy.ir.lambdas[each.number], copy
            self._add(moved)
        elif operation == "return address":
            address = self._emit("cell", (), moved, number=copy.returned)
            self._emit("store", (address, moved.operands[0]), moved)
        elif operation == "result address" and moved.operands[0] in self._returned:
            address = self._emit("cell", (), moved, number=self._returned[moved.operands[0]])
            self._emit("load", (address,), moved, moved.target)
        elif operation in ("call", "method", "indirect", "construct", "end"):
            self._call(moved, copy)
        elif operation in _OPERATORS:
            self._operator(moved, copy)
        elif operation == "field" and self._is_reference(moved):
            # A member that is a reference holds an address.
            member = self._emit("member", moved.operands, moved, name=moved.name)
            self._add(moved._replace(operation="target", operands=(self._emit("load", (member,), moved),), name="*"))
        elif operation == "initialize" and len(moved.operands) > 2 and self._is_reference_at(moved.operands[0]):
            self._emit("store", (moved.operands[0], moved.operands[2]), moved)
        else:
            self._add(moved)

    def _operator(self, each: Instruction, copy: Copy) -> None:
        """An operator, or a conversion, of a class; otherwise the instruction itself."""
        if each.operation == "compound":
            name = self._class_at(each.operands[0])
            given = each.operands[1:] if each.name not in ("++", "--") else ()
            found = self._program.callees(copy.path, f"operator{each.name}", name, len(given)) if name else ()
            if found:
                self._follow(each, copy, each.operands[0], given, "v" * len(given), [(of, None) for of in found])
                return
            self._add(each)
            return
        count = 2 if each.operation == "binary" else 1
        objects = [self._object(register) for register in each.operands[:count]]
        address, name = objects[0]
        if name and each.operation != "cast":
            given = each.operands[1:count]
            found = self._program.callees(copy.path, f"operator{each.name}", name, len(given))
            if found:
                self._follow(each, copy, address, given, "v" * len(given), [(of, None) for of in found])
                return
        operands = list(each.operands)
        for position, (address, name) in enumerate(objects):
            converted = self._program.conversions(name) if name else ()
            if converted:
                self._registers += 1
                operands[position] = self._registers
                like = each._replace(operation="method", target=self._registers, operands=(address,), type="")
                self._follow(like, copy, address, (), "", [(of, None) for of in converted])
        self._add(each._replace(operands=tuple(operands)))

    def _object(self, register: int) -> tuple[int, str]:
        """The address and the class of the object that a register's value was loaded from."""
        found = self._whole.definitions.get(register)
        if found is None or found[0].operation != "load":
            return register, ""
        address = found[0].operands[0]
        cell = self._place(address)
        if cell is not None:
            return address, "" if self._whole.cells[cell].pointer else self._class_of(cell)
        return address, self._class_at(address)

    def _is_reference(self, field_: Instruction) -> bool:
        """Whether a member of an object is a reference."""
        fields = self._program.fields(None, self._class_at(field_.operands[0])) or ()
        return dict(fields).get(field_.name, "").endswith("&")

    def _is_reference_at(self, address: int) -> bool:
        found = self._whole.definitions.get(address)
        return found is not None and found[0].operation == "member" and self._is_reference(found[0])

    def _captured(self, each: Instruction, moved: Instruction, copy: Copy) -> None:
        """A captured variable of the function that creates a lambda."""
        maker = copy.maker
        for _ in range(int(each.type) - 1):
            maker = maker.maker if maker is not None else None
        if maker is None or each.number is None:
            self._add(moved._replace(operation="unknown"))
            return
        cell = maker.cells + each.number
        if self._whole.cells[cell].kind == "reference":
            address = self._emit("cell", (), moved, number=cell)
            self._add(moved._replace(operation="bound", operands=(address,)))
        else:
            self._add(moved._replace(operation="cell", number=cell, operands=()))

    # ---- calls

    def _call(self, each: Instruction, copy: Copy) -> None:
        this, given, kinds, found = self._callees(each, copy)
        if each.operation == "method" and each.name in WAITING and not found:
            self._until(each, copy)
        else:
            self._follow(each, copy, this, given, kinds, found)

    def _until(self, each: Instruction, copy: Copy) -> None:
        """A method that returns when another thread changes the object: a loop that loads it."""
        start, test, after = self._at, self._new_block(copy.path), self._new_block(copy.path)
        self._whole.blocks[start].successors = [test]
        self._at = test
        self._add(each._replace(name="load", operands=each.operands[:1], type=""))
        block = self._whole.blocks[test]
        block.condition, block.successors, block.span = each.target, [after, test], each.span
        self._at = after

    def _follow(
        self,
        each: Instruction,
        copy: Copy,
        this: int | None,
        given: Sequence[int],
        kinds: str,
        found: Sequence[tuple[Callee, Copy | None]],
    ) -> None:
        """Insert the functions that may be called."""
        found = found[:_MOST_CALLEES]
        callees = [(callee, maker) for callee, maker in found if callee.ir.unread is None]
        self._whole.cut = self._whole.cut or len(callees) < len(found)
        room = len(self._whole.blocks) < _MOST_BLOCKS and len(self._stack) <= self._deepest
        if not callees or not room:
            self._whole.cut = self._whole.cut or bool(callees)
            self._add(each)
            if each.operation == "construct" and not callees:
                self._fill(each)
            return
        start, after = self._at, self._new_block(copy.path)
        entries = []
        self._whole.cells += [Cell("", "choice"), Cell("", "choice", pointer=True)]
        result = len(self._whole.cells) - 2
        for callee, maker in callees:
            self._at = self._new_block(callee.path)
            entries.append(self._at)
            again = next((known for known in self._stack if known.ir is callee.ir), None)
            if again is not None:
                # A recursive call: continue at the beginning, with these arguments.
                self._pass_arguments(callee.ir, again.cells, this, given, kinds, each)
                self._whole.blocks[self._at].successors = [again.blocks]
                continue
            made = self._begin(callee, maker)
            self._pass_arguments(callee.ir, made.cells, this, given, kinds, each)
            self._splice(made, len(given))
            for of, to in ((made.cells + callee.ir.result, result), (made.returned, result + 1)):
                value = self._emit("load", (self._emit("cell", (), each, number=of),), each)
                self._emit("store", (self._emit("cell", (), each, number=to), value), each)
            self._whole.blocks[self._at].successors = [after]
        self._whole.blocks[start].successors = entries
        if len(entries) > 1:
            self._at = start
            self._whole.blocks[start].condition = self._emit("constant", (), each)
        self._at = after
        if each.operation not in ("construct", "end"):
            if callees[0][0].ir.returns_reference:
                self._returned[each.target] = result + 1
            self._emit("load", (self._emit("cell", (), each, number=result),), each, each.target)

    def _fill(self, each: Instruction) -> None:
        """Initialize the members of an object without constructor, in order."""
        name = class_in(each.name) or self._class_at(each.operands[0])
        fields = self._program.fields(None, name) if name else None
        for (member, of), value, kind in zip(fields or (), each.operands[1:], each.type, strict=False):
            to = self._emit("member", (each.operands[0],), each, name=member)
            loaded = kind == "a" and not of.endswith("&")
            self._emit("store", (to, self._emit("load", (value,), each) if loaded else value), each)

    def _pass_arguments(
        self, ir: DeviceIR, cells: int, this: int | None, given: Sequence[int], kinds: str, each: Instruction
    ) -> None:
        """Initialize the parameters of a function whose cells begin at `cells`."""
        if ir.this >= 0 and this is not None:
            self._emit("store", (self._emit("cell", (), each, number=cells + ir.this), this), each)
        first = int(ir.this >= 0)
        for position in range(ir.parameters):
            if position >= len(given):
                break
            cell = ir.cells[first + position]
            to = self._emit("cell", (), each, number=cells + first + position)
            register, is_address = given[position], kinds[position : position + 1] == "a"
            if cell.kind == "reference":
                if not is_address:
                    self._whole.cells.append(Cell("", "temporary"))
                    hidden = self._emit("cell", (), each, number=len(self._whole.cells) - 1)
                    self._emit("store", (hidden, register), each)
                    register = hidden
                self._emit("bind", (to, register), each)
            else:
                value = self._emit("load", (register,), each) if is_address else register
                self._emit("store", (to, value), each)

    def _callees(
        self, each: Instruction, copy: Copy
    ) -> tuple[int | None, Sequence[int], str, list[tuple[Callee, Copy | None]]]:
        """Return `this`, the arguments with their kinds, and the possible callees with their creators."""
        kinds, operands = each.type, each.operands
        path, program = copy.path, self._program
        if each.operation == "end":
            return self._destructor(each, copy)
        if each.operation == "construct":
            name = class_in(each.name) or self._class_at(operands[0])
            found = list(program.callees(path, name, name, len(operands) - 1)) if name else []
            return operands[0], operands[1:], kinds, [(callee, None) for callee in found[:_MOST_CALLEES]]
        if each.operation == "method":
            name = self._class_at(operands[0])
            found = list(program.callees(path, each.name, name, len(operands) - 1)) if name else []
            if not found and not name:
                found = list(program.callees(path, each.name, "*", len(operands) - 1))
            return operands[0], operands[1:], kinds, [(callee, None) for callee in found[:_MOST_CALLEES]]
        if each.operation == "indirect":
            return self._indirect(each, copy)
        this = None
        if kinds.startswith("t"):
            this, operands, kinds = operands[0], operands[1:], kinds[1:]
        scope, _, short = without_arguments(each.name).rpartition("::")
        short, around = short.strip(), _class_around(copy)
        found = list(program.callees(path, short, around, len(operands))) if around and this is not None else []
        if not found and scope:
            of = scope.rpartition("::")[2].strip()
            names = sorted(program.classes(copy.ir, of)) or [of]
            found = [callee for name in names for callee in program.callees(path, short, name, len(operands))]
        if not found and not scope.startswith(("hipport", "std", "cuda")):
            found = list(program.callees(path, short, "", len(operands)))
        return this, operands, kinds, [(callee, None) for callee in found[:_MOST_CALLEES]]

    def _destructor(
        self, each: Instruction, copy: Copy
    ) -> tuple[int | None, Sequence[int], str, list[tuple[Callee, Copy | None]]]:
        cell = self._whole.cells[each.number] if each.number is not None else None
        name = class_in(cell.type) if cell is not None and not cell.pointer and cell.kind == "local" else ""
        found = list(self._program.callees(copy.path, f"~{name}", name, 0)) if name else []
        if not found:
            return None, (), "", []
        this = self._emit("cell", (), each, number=each.number)
        return this, (), "", [(callee, None) for callee in found[:1]]

    def _indirect(
        self, each: Instruction, copy: Copy
    ) -> tuple[int | None, Sequence[int], str, list[tuple[Callee, Copy | None]]]:
        given = each.operands[2:]
        found: list[tuple[Callee, Copy | None]] = []
        for register in self._origins(each.operands[0]):
            if register in self._closures:
                made, maker = self._closures[register]
                found.append((Callee(made.body, maker.path, False), maker))
                continue
            source = self._whole.definitions[register][0]
            if source.operation == "name":
                named = self._program.callees(copy.path, source.name.rpartition("::")[2], "", len(given))
                found += [(callee, None) for callee in named]
                continue
            name = self._class_at(source.operands[0]) if source.operation == "load" else ""
            if name:
                of = self._program.callees(copy.path, "operator()", name, len(given))
                found += [(callee, None) for callee in of]
        return each.operands[1], given, each.type, found[:_MOST_CALLEES]

    def _origins(self, register: int) -> list[int]:
        """The registers that a value may come from, through variables."""
        found: list[int] = []
        waiting, seen = [register], set()
        while waiting:
            at = waiting.pop()
            if at in seen or at not in self._whole.definitions:
                continue
            seen.add(at)
            source = self._whole.definitions[at][0]
            if source.operation == "cast":
                waiting += source.operands
                continue
            cell = self._place(source.operands[0]) if source.operation == "load" else None
            given = [value for value, _ in self._whole.stores.get(cell, ())] if cell is not None else []
            if given and (cell is None or not self._class_of(cell)):
                waiting += given
            else:
                found.append(at)
        return found

    def _place(self, address: int) -> int | None:
        """The variable that an address belongs to, through references."""
        for _ in range(_DEEPEST):
            found = self._whole.definitions.get(address)
            if found is None:
                return None
            if found[0].operation == "cell":
                return found[0].number
            if found[0].operation != "bound":
                return None
            cell = self._cell(found[0].operands[0])
            bound = self._whole.bound.get(cell, []) if cell is not None else []
            if len(bound) != 1:
                return None
            address = bound[0]
        return None

    def _class_of(self, cell: int) -> str:
        """The class of a variable that is an object; empty if it is unknown."""
        for name in (self._whole.made.get(cell, ""), class_in(self._whole.cells[cell].type)):
            if name and self._program.fields(None, name) is not None:
                return name
        return ""

    def _class_at(self, address: int, depth: int = _DEEPEST) -> str:
        """The class of the object at an address, or of the target of a pointer there."""
        found = self._whole.definitions.get(address)
        if found is None or not depth:
            return ""
        source = found[0]
        if source.operation in ("cell", "bound"):
            cell = self._place(address)
            if cell is not None and (name := self._class_of(cell)):
                return name
            given = [value for value, _ in self._whole.stores.get(cell, ())] if cell is not None else []
            values = [self._whole.definitions[value][0] for value in given if value in self._whole.definitions]
            loads = {self._class_at(value.operands[0], depth - 1) for value in values if value.operation == "load"}
            return loads.pop() if len(loads) == 1 else ""
        if source.operation in ("target", "load", "element", "decay", "cast"):
            return self._class_at(source.operands[0], depth - 1) if source.operands else ""
        if source.operation in ("field", "member"):
            fields = self._program.fields(None, self._class_at(source.operands[0], depth - 1)) or ()
            name = class_in(dict(fields).get(source.name, "").strip("*&[] "))
            return name if name and self._program.fields(None, name) is not None else ""
        return ""


def _class_around(copy: Copy) -> str:
    each: Copy | None = copy
    while each is not None:
        if each.ir.class_name:
            return each.ir.class_name
        each = each.maker
    return ""


def _order(ir: DeviceIR) -> list[int]:
    """The blocks in reverse postorder, without unreachable ones except the last."""
    seen, order = {0}, []
    stack = [(0, iter(ir.blocks[0].successors))]
    while stack:
        block, rest = stack[-1]
        for successor in rest:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(ir.blocks[successor].successors)))
                break
        else:
            order.append(block)
            stack.pop()
    return [*order[::-1], *([] if ir.exit in seen else [ir.exit])]
