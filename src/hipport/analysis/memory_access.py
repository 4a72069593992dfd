# SPDX-License-Identifier: Apache-2.0
"""The instructions of hipport.analysis.device_ir that access memory, on abstract values."""

from __future__ import annotations

import re

from hipport.analysis.abstract_memory import (
    Cells,
    Closure,
    FunctionName,
    Slot,
    class_name,
    is_mixed,
    lookup,
    reachable_from,
    store,
    weaken,
)
from hipport.analysis.abstract_program import AbstractMachine, Site
from hipport.analysis.built_ins import VECTOR
from hipport.analysis.device_ir import Cell, Instruction, Lambda, Span
from hipport.analysis.group_names import group_of_type
from hipport.analysis.uniform_values import (
    BLOCK,
    GRID,
    MEMORY,
    UNIFORM,
    UNION,
    WAVEFRONT,
    Place,
    Reason,
    Value,
    join,
    varying,
)


class MemoryAccess:
    """A run of a function: its registers and variables."""

    def __init__(self, machine: AbstractMachine, start: Cells, control: Site) -> None:
        self.machine = machine
        self.depth = len(machine.frames) - 1
        self.frame = machine.frames[-1]
        self.ir = self.frame.ir
        self.start = start
        self.control = control
        self.registers: dict[int, Value] = {}
        #: The current block and instruction.
        self.at = (0, 0)
        self.cells: Cells = {}
        #: Addresses returned by calls that return a reference, by their registers.
        self.addresses: dict[int, Value] = {}
        #: Unnamed objects that the block has created so far.
        self._objects: list[tuple[int, int | str]] = []

    def _operand(self, each: Instruction, position: int = 0) -> Value:
        return self.registers.get(each.operands[position], UNIFORM)

    def _definition(self) -> tuple[int, int, int]:
        return (self.depth, *self.at)

    def _cell(self, each: Instruction) -> Value:
        assert each.number is not None
        key = (self.depth, each.number)
        known = self.machine.addresses.get(key)
        if known is None:
            known = self.machine.addresses[key] = Value(GRID, targets=frozenset((Place(*key),)))
        return known

    def _captured(self, each: Instruction) -> Value:
        closure, frame = self.frame.closure, self.frame
        for _ in range(int(each.type) - 1):
            if closure is None or closure.frame >= self.depth:
                break
            frame = self.machine.frames[closure.frame]
            closure = frame.closure
        if closure is None or closure.frame >= self.depth or each.number is None:
            return varying(f"{each.name} of a function that has ended", each.span)
        outer = self.machine.frames[closure.frame]
        made = outer.ir.lambdas[closure.number] if closure.number < len(outer.ir.lambdas) else None
        if made is None or id(made.body) != closure.code:
            return varying(f"{each.name} of a function that has ended", each.span)
        if each.type == "1" and _by_value(made, each.name) and each.name != "this":
            return Value(GRID, targets=frozenset((Place(closure.frame, f"captured {closure.number} {each.name}"),)))
        place = Place(closure.frame, each.number)
        if outer.ir.cells[each.number].kind == "reference":
            return self._bound_to(place, each.span)
        return Value(GRID, targets=frozenset((place,)))

    def _closure(self, each: Instruction) -> Value:
        assert each.number is not None
        made = self.ir.lambdas[each.number]
        for block in made.body.blocks:
            for inner in block.instructions:
                if inner.operation != "captured" or inner.type != "1" or not _by_value(made, inner.name):
                    continue
                assert inner.number is not None
                place = Place(self.depth, inner.number)
                address = Value(GRID, targets=frozenset((place,)))
                if self.ir.cells[inner.number].kind == "reference":
                    address = self._bound_to(place, each.span)
                copy = (self.depth, f"captured {each.number} {inner.name}")
                if self._is_array(place) and not self._is_memory(place):
                    self.cells[copy] = dict(self.cells.get((place.frame, place.cell), {}))
                    continue
                # A copy constructor changes the variables.
                value = self._copy_of(each, self._read(address, each.span))
                store(self.cells, copy, (), value, self._definition())
        return Value(GRID, targets=frozenset((Closure(self.depth, each.number, id(made.body)),)))

    def _copy_of(self, each: Instruction, value: Value) -> Value:
        """A copy of a value, by the copy constructors of its class."""
        return value

    def _bind(self, each: Instruction) -> None:
        for target in self._operand(each).targets or ():
            if isinstance(target, Place):
                self.cells[target.frame, target.cell] = {("&",): Slot(self._operand(each, 1), self._definition())}

    def _bound(self, each: Instruction) -> Value:
        (target,) = self._operand(each).targets or (None,)
        if not isinstance(target, Place):
            return varying("hipport does not follow this reference", each.span)
        address = self._bound_to(target, each.span)
        cell = self._cell_of(target)
        if address.targets is None and cell is not None and not address.tag:
            return address._replace(tag=f"object:{class_name(cell.type)}")
        return address

    def _bound_to(self, place: Place, span: Span) -> Value:
        slot = self.cells.get((place.frame, place.cell), {}).get(("&",))
        return slot.value if slot is not None else varying("hipport does not follow this reference", span)

    def _declare(self, each: Instruction) -> None:
        """Begin or end the life of a variable."""
        assert each.number is not None
        self.cells.pop((self.depth, each.number), None)

    def _part_of(self, address: Value, name: str) -> Value:
        targets = address.targets
        if targets is not None:
            parts = {self._inside(target, name) for target in targets if isinstance(target, Place)}
            targets = frozenset(parts) or None
        tag = address.tag if address.tag == "volatile" else self._part_in_memory(address.tag, name)
        return Value(address.level, targets=targets, why=address.why, tag=tag)

    def _part_in_memory(self, tag: str, name: str) -> str:
        """The tag of the address of a part in memory: `object:` and its type, if the whole has a known one."""
        if name.startswith("["):
            if tag.startswith("pointer:"):
                return f"object:{tag[8:]}"
            return tag.removesuffix("[]") if tag.startswith("object:") else ""
        if not tag.startswith("object:"):
            return ""
        kind = dict(self.machine.program.fields(self.frame.path, tag[7:]) or ()).get(name, "")
        return f"object:{kind}" if kind else ""

    def _inside(self, place: Place, name: str) -> Place:
        """The place of a member or an element."""
        if place == MEMORY or place.path[-1:] == (UNION,):
            return place
        kind = self._type_at(place)
        if name.startswith("["):
            scalar = kind and not kind.endswith(("[]", "*", "&")) and place.path and not place.path[-1].startswith("[")
            if scalar and name != "[0]":
                return moved(place)
            if place.path and place.path[-1].startswith("[") and kind and not kind.endswith(("[]", "*")):
                return place if name == "[0]" else moved(place)
            return place if scalar else place._replace(path=(*place.path, name))
        if "union" in kind and re.match(r"(?:\w+\s+)*?union\s*\{", kind):
            return place._replace(path=(*place.path, UNION))
        if self.machine.program.is_shadowed(class_name(kind), name):
            return place._replace(path=(*place.path, name, "[]"))  # It is unknown which of them it is.
        return place._replace(path=(*place.path, self.machine.program.place_of(class_name(kind), name)))

    def _member(self, each: Instruction) -> Value:
        """The place of a member itself, even if it is a reference."""
        return self._part_of(self._operand(each), each.name)

    def _field(self, each: Instruction) -> Value:
        part = self._part_of(self._operand(each), each.name)
        bound = [
            target for target in part.targets or () if isinstance(target, Place) and self._type_at(target).endswith("&")
        ]
        if not bound:
            return part
        held = [lookup(self.cells.get((target.frame, target.cell), {}), target.path) for target in bound]
        return join(each if each is not None else varying("hipport does not follow this reference") for each in held)

    def _initialize(self, each: Instruction) -> None:
        """Initialize a member; a reference is bound to its initializer."""
        address = self._operand(each)
        bound = address.targets is not None and len(each.operands) < 3
        self._write(address, self._operand(each, 1 if bound or not self._is_reference(address) else 2))

    def _is_reference(self, address: Value) -> bool:
        return any(
            isinstance(target, Place) and self._type_at(target).endswith("&") for target in address.targets or ()
        )

    def _at_index(self, address: Value, index: Value) -> Value:
        """The place of an element."""
        number = index.number
        part = self._part_of(address, "[]" if number is None else f"[{number}]")
        return part.at_most(index.level, index.why) if index.level < part.level else part

    def _decay(self, each: Instruction) -> Value:
        address = self._operand(each)
        for target in address.targets or ():
            if not isinstance(target, Place):
                continue
            if target.path[-1:] == (UNION,):
                # The member may be an array, or a pointer.
                held = self._read(address, each.span).targets or frozenset()
                return address._replace(targets=frozenset((*(address.targets or ()), *held, MEMORY)))
            slots = self.cells.get((target.frame, target.cell), {})
            exact = slots.get(target.path)
            elements = any(len(known) > len(target.path) for known in slots)
            cell = self._cell_of(target)
            if self._is_array(target) or (cell is not None and cell.kind == "shared" and not target.path):
                return address
            if exact is not None and not elements and not self._tag_of(target).startswith("class:"):
                return self._read(address, each.span)
            if self._type_at(target).endswith("*") or (cell is not None and cell.pointer and not target.path):
                return self._read(address, each.span)
        return address

    def _nth(self, each: Instruction) -> Value:
        """The place of the n-th part of an object or array."""
        address = self._operand(each)
        value = self._read(address, each.span)
        assert each.number is not None
        if value.targets and all(isinstance(target, Place) and self._is_array(target) for target in value.targets):
            return self._part_of(value, f"[{each.number}]")
        kinds = {self._type_at(target) for target in address.targets or () if isinstance(target, Place)}
        name = value.tag.removeprefix("class:") if value.tag.startswith("class:") else ""
        if not name and len(kinds) == 1 and not (kind := kinds.pop()).endswith(("*", "&", "[]")):
            name = class_name(kind)
        fields = self.machine.program.fields(self.frame.path, name) or () if name else ()
        if each.number < len(fields):
            return self._part_of(address, fields[each.number][0])
        # It may be any part, by a reference to it too.
        why = Reason("hipport does not follow a structured binding", *each.span)
        return self._part_of(address, "[]")._replace(level=1, why=why)

    def _cell_of(self, place: Place) -> Cell | None:
        if isinstance(place.cell, str) or place.frame >= len(self.machine.frames):
            return None
        cells = self.machine.frames[place.frame].ir.cells
        return cells[place.cell] if 0 <= place.cell < len(cells) else None

    def _load(self, each: Instruction) -> Value:
        return self._read(self._operand(each), each.span)

    def _read(self, address: Value, span: Span) -> Value:
        if address.tag == "volatile":
            # A pointer to volatile may point to a variable of the thread's own.
            held = self._read(address._replace(tag=""), span)
            if address.targets is not None and not any(map(self._is_memory, address.targets)):
                return held
            return held.bare().at_most(WAVEFRONT, changing("volatile memory", address, span).why)
        if address.targets is None:
            return Value(address.level, why=address.why, tag=self._tag_of_type(address.tag.partition("object:")[2]))
        found = []
        for target in address.targets:
            if isinstance(target, (Closure, FunctionName)):
                found.append(Value(GRID, targets=frozenset((target,))))
                continue
            assert isinstance(target, Place)
            cell = self._cell_of(target)
            if self._is_array(target):
                found.append(Value(GRID, targets=frozenset((target,))))
                continue
            if cell is not None and cell.kind == "shared":
                if cell.volatile:
                    return changing(cell.name, address, span)
                found.append(Value(BLOCK, why=Reason("memory of the block", *span), tag=self._tag_of(target)))
                continue
            value = lookup(self.cells.get((target.frame, target.cell), {}), target.path)
            if value is None:
                value = UNIFORM  # it was never assigned, so no valid program depends on it
            tag = "" if value.tag else self._tag_of(target)
            found.append(value.tagged(tag) if tag else value)
        if not found:
            return Value(address.level, why=address.why)
        value = join(found)
        return value.at_most(address.level, address.why) if address.level < value.level else value

    def _tag_of(self, place: Place) -> str:
        return self._tag_of_type(self._type_at(place))

    def _tag_of_type(self, kind: str) -> str:
        """What a type says of a value: its class, or that of what it points to."""
        tags = self.machine.tags
        if kind not in tags:
            tags[kind] = self._find_tag(kind)
        return tags[kind]

    def _find_tag(self, kind: str) -> str:
        name = class_name(kind)
        if not name or kind.endswith(("&", "[]")):
            return ""
        if kind.endswith("*"):
            return f"pointer:{name}"
        if self.machine.program.fields(self.frame.path, name) is not None:
            return f"class:{name}"
        return group_of_type(kind) if "group" in kind or "thread_block" in kind else ""

    def _is_memory(self, target: object) -> bool:
        """Whether the target of a pointer is memory that other threads may write."""
        cell = self._cell_of(target) if isinstance(target, Place) else None
        return target == MEMORY or (cell is not None and cell.kind == "shared")

    def _store(self, each: Instruction) -> None:
        self._write(self._operand(each), self._operand(each, 1))

    def _write(self, address: Value, value: Value) -> None:
        targets = [target for target in address.targets or () if isinstance(target, Place)]
        definition = self._definition()
        strong = len(targets) == 1 and "[]" not in targets[0].path
        to_memory = address.targets is None
        for target in targets:
            if self._is_memory(target):
                to_memory = True
                continue
            cell = self._cell_of(target)
            if cell is not None and cell.volatile and not cell.pointer:
                value = value._replace(low=None, high=None, affine=None)
            if UNION in target.path:
                # A member may be read as another one, and may not be all of the union.
                value = value.without_numbers()
            key = (target.frame, target.cell)
            if strong and UNION not in target.path and not is_mixed(self.cells.get(key, {}), target.path):
                store(self.cells, key, target.path, value, definition)
            else:
                weaken(self.cells, key, target.path, value, definition, address)

        if to_memory:
            self._write_memory(value)

    def _write_memory(self, value: Value) -> None:
        """Store to memory that is not followed: variables whose addresses escaped to it may change."""
        escaped = self.machine.escaped
        escaped |= reachable_from(self.cells, value)
        for key in escaped & self.cells.keys():
            slots = self.cells[key]
            why = Reason("its address is in memory, so any store may change it")
            self.cells[key] = {
                path: Slot(
                    slot.value.at_most(1, why)._replace(low=None, high=None, level=1, why=why), self._definition()
                )
                for path, slot in (slots or {(): Slot(UNIFORM, self._definition())}).items()
            }

    def _default(self, each: Instruction) -> None:
        assert each.number is not None
        if self.frame.arguments <= each.number - (self.ir.this >= 0):
            if self.ir.cells[each.number].kind == "reference":
                self.cells[self.depth, each.number] = {
                    ("&",): Slot(self._hidden(self._operand(each, 1), each, 0), self._definition())
                }
            else:
                self._write(self._operand(each), self._operand(each, 1))

    def _pointed(self, value: Value) -> Value:
        """The target of a pointer; for an array, an element."""
        if value.targets is None and value.tag.startswith("pointer:"):
            return value._replace(tag=f"object:{value.tag[8:]}")
        if value.targets is None or not any(
            isinstance(target, Place) and self._is_array(target) for target in value.targets
        ):
            return value
        return value._replace(
            targets=frozenset(
                target._replace(path=(*target.path, "[]"))
                if isinstance(target, Place) and self._is_array(target)
                else target
                for target in value.targets
            )
        )

    def _type_at(self, place: Place) -> str:
        """The type of a part of a variable, with "[]" appended for an array; empty if unknown."""
        cell = self._cell_of(place) or self._copied_cell(place)
        if cell is not None and cell.type:
            key = (cell.type, cell.pointer, cell.array, place.path)
        elif place.path:
            # An unnamed object, whose value has its class.
            whole = self.cells.get((place.frame, place.cell), {}).get(())
            key = (whole.value.tag.partition("class:")[2] if whole is not None else "", False, 0, place.path)
        else:
            return ""
        known = self.machine.types.get(key)
        if known is None:
            type_name, pointer, array, path = key
            known = self._type_in(type_name + (" *" if pointer else "") + "[]" * array, path)
            self.machine.types[key] = known
        return known

    def _type_in(self, type_name: str, path: tuple[str, ...]) -> str:
        """The type of a part of an object of that type."""
        for name in path:
            if name.startswith("["):
                type_name = type_name.removesuffix("[]") if type_name.endswith("[]") else type_name.removesuffix(" *")
                continue
            vector = VECTOR.fullmatch(class_name(type_name).encode())
            if vector is not None:
                type_name = "number"
                continue
            fields = self.machine.program.fields(self.frame.path, class_name(type_name))
            type_name = dict(fields or ()).get(name, "")
        return type_name

    def _copied_cell(self, place: Place) -> Cell | None:
        """The variable that a lambda has a copy of, of which the place is a part."""
        if not place.path or not str(place.cell).startswith("captured ") or place.frame >= len(self.machine.frames):
            return None
        name = str(place.cell).rpartition(" ")[2]
        found = {each for each in self.machine.frames[place.frame].ir.cells if each.name == name}
        return found.pop() if len(found) == 1 else None

    def _is_array(self, place: Place) -> bool:
        if not place.path:
            cell = self._cell_of(place)
            return cell is not None and (cell.array > 0 or (not cell.pointer and cell.type.endswith("[]")))
        return self._type_at(place).endswith("[]")

    def _hidden(self, value: Value, each: Instruction, position: int) -> Value:
        """An address for an object without one."""
        place = Place(self.depth, f"object {each.target} {position}")
        store(self.cells, (place.frame, place.cell), (), value, self._definition())
        self._objects.append((place.frame, place.cell))
        return Value(GRID, targets=frozenset((place,)))

    def _end_objects(self, before: Cells) -> None:
        """End the life of the unnamed objects that the block created, except those that something still refers to.

        `before`: the variables at the entry of the block. Those that did not change since refer to none of the objects.
        """
        if not self._objects:
            return
        ended, self._objects = set(self._objects) - self.machine.escaped, []
        waiting = [
            slot.value
            for key, slots in self.cells.items()
            if before.get(key) is not slots and key not in ended
            for slot in slots.values()
        ]
        lasting = self.ir.lasting
        waiting += [self.registers[each] for each in lasting if each in self.registers]
        waiting += [value for register, value in self.addresses.items() if register in lasting]
        waiting += self.frame.result_address
        while waiting and ended:
            value = waiting.pop()
            waiting += [part for _, part in value.fields]
            for target in value.targets or ():
                if isinstance(target, Closure):
                    return
                if isinstance(target, Place) and (key := (target.frame, target.cell)) in ended:
                    ended.discard(key)
                    waiting += [slot.value for slot in self.cells.get(key, {}).values()]
        for key in ended:
            self.cells.pop(key, None)


def moved(place: Place) -> Place:
    """Return the place that a pointer to a part reaches after arithmetic: `(&v.x)[1]`, `p[-1]`, `(&a[0][0])[5]`."""
    length = len(place.path) - 1
    while length > 0 and place.path[length - 1].startswith("["):
        length -= 1
    return place._replace(path=(*place.path[:length], *("[]",) * (len(place.path) - length)))


def changing(name: str, address: Value, span: Span) -> Value:
    """Return the value of a load of memory that changes meanwhile: a wavefront's lanes load it in one instruction."""
    if address.level < WAVEFRONT:
        return Value(address.level, why=address.why)
    return Value(WAVEFRONT, why=Reason(f"{name} may change between the reads of two wavefronts", *span))


def _by_value(made: Lambda, name: str) -> bool:
    if name in made.by_reference:
        return False
    return name in made.by_value or made.default == "="
