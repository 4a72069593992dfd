# SPDX-License-Identifier: Apache-2.0
"""Calls in an abstract execution: of defined functions, of CUDA's own, by pointers, operators and conversions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hipport.analysis.abstract_memory import (
    Cells,
    Closure,
    FunctionName,
    Slot,
    around_elements,
    class_name,
    lookup,
    narrowed,
    overlap,
    reachable_from,
)
from hipport.analysis.abstract_program import AbstractMachine, Callee, Frame, Site, Start
from hipport.analysis.built_ins import (
    BY_BLOCK,
    BY_POINTER,
    BY_THREAD,
    BY_WARP,
    LANES,
    PURE,
    SHUFFLES,
    VECTOR,
    WARP_SIZES,
)
from hipport.analysis.device_ir import Instruction, Span
from hipport.analysis.lowering_state import is_wide, without_arguments
from hipport.analysis.memory_access import MemoryAccess, moved
from hipport.analysis.uniform_values import (
    BLOCK,
    GRID,
    MEMORY,
    UNIFORM,
    VARYING,
    WARP,
    Affine,
    Numbering,
    Place,
    Reason,
    Value,
    binary,
    constant,
    join,
    least,
    varying,
)
from hipport.syntax.cuda_names import PARTITION, WHOLE_GROUP

#: Operators whose result is not a pointer.
_NO_POINTER = frozenset(("<", ">", "<=", ">=", "==", "!=", "&&", "||", "<=>", ","))
#: Numbers of four bytes.
_WORD_OF_MEMORY = re.compile(r"int|unsigned|unsignedint|signed|float|u?int32_t|std::u?int32_t|uint")
_GROUP_MADE = re.compile(rf"((?!this_cluster){WHOLE_GROUP.decode()}|{PARTITION.decode()}|tiled_partition)")


class AbstractCalls(MemoryAccess):
    """A run of a function: its calls."""

    def __init__(self, machine: AbstractMachine, start: Cells, control: Site) -> None:
        super().__init__(machine, start, control)
        #: For each block, how many neighbouring threads reach it together.
        self.regions: dict[int, tuple[int, Reason | None]] = {}
        self.told_sites: dict[tuple[int, int], tuple[Span, Site]] = {}

    def _arguments(self, each: Instruction, first: int, kinds: str) -> tuple[list[Value], list[Value | None]]:
        values: list[Value] = []
        addresses: list[Value | None] = []
        for register, kind in zip(each.operands[first:], kinds, strict=False):
            given = self.registers.get(register, UNIFORM)
            if kind == "a":
                addresses.append(given)
                values.append(self._read(given, each.span))
            else:
                addresses.append(None)
                values.append(given)
        return values, addresses

    def _site(self, each: Instruction) -> Site:
        self.told_sites[self.at] = (each.span, self.control)
        level, why = self.regions.get(self.at[0], (GRID, None))
        return Site(level, why) if level < self.control.level else self.control

    def _invoke(
        self,
        callees: Sequence[Callee],
        values: Sequence[Value],
        addresses: Sequence[Value | None],
        each: Instruction,
        this: Value | None,
        closure: Closure | None = None,
    ) -> Value:
        """Run all functions that may be called; return the join of their results."""
        outcomes = []
        before = self.cells
        start = Start(values, addresses, before, self.frame.blocks, self._site(each), closure)
        for callee in callees:
            given = self._as_parameters(callee, values, each)
            own = start._replace(
                this=this if callee.is_method else None,
                arguments=given,
                # A converted argument is a new object.
                addresses=[
                    address if converted is value else None
                    for address, converted, value in zip(addresses, given, values, strict=True)
                ],
                cells=self.cells if len(callees) == 1 else before,
            )
            outcomes.append(self.machine.call(callee, own))
        self.cells = self._after(before, [outcome.cells for outcome in outcomes])
        made = [outcome.address for outcome in outcomes if outcome.address is not None]
        returning = [callee for callee in callees if callee.ir.returns_reference]
        if made and len(returning) == len(callees):
            self.addresses[each.target] = join(made)
        results = [outcome.value for outcome in outcomes]
        return join(
            self._as_type(
                callee.ir.returned,
                callee.ir.template_names,
                value,
                each,
                copies=not callee.ir.returns_reference,
            )
            for callee, value in zip(callees, results, strict=True)
        )

    def _after(self, before: Cells, outcomes: Sequence[Cells]) -> Cells:
        """Return the variables after a call of one of several functions, given the variables after each."""
        definition = self._definition()
        after: Cells = {}
        for cells in outcomes:
            after.update(cells)
        # Most variables are the same object in all of them, so their contents need not be compared.
        for key in dict.fromkeys(
            key for cells in outcomes for key, slots in cells.items() if before.get(key) is not slots
        ):
            known = before.get(key)
            found = [cells[key] for cells in outcomes if key in cells]
            slots: dict[tuple[str, ...], Slot] = {}
            for path in dict.fromkeys(path for one in found for path in one):
                parts = [one[path] for one in found if path in one]
                old = known.get(path) if known is not None else None
                if old is not None and all(part == old for part in parts):
                    slots[path] = old
                else:
                    slots[path] = Slot(join(part.value for part in parts), definition)
            after[key] = slots
        return after

    def _as_parameters(self, callee: Callee, values: Sequence[Value], each: Instruction) -> Sequence[Value]:
        """Return the arguments converted to the types of the function's parameters."""
        first = int(callee.ir.this >= 0)
        cells = callee.ir.cells[first : first + callee.ir.parameters]
        return [
            self._as_type(
                "" if cell.pointer or cell.kind == "pack" else cell.type,
                callee.ir.template_names,
                value,
                each,
                copies=cell.kind != "reference",
            )
            for cell, value in zip(cells, values, strict=False)
        ] + list(values[len(cells) :])

    def _as_type(
        self, type_name: str, others: frozenset[str], value: Value, each: Instruction, *, copies: bool = False
    ) -> Value:
        """Convert a value to a type, by the conversions of its class or the constructors of the type; or copy it."""
        name = class_name(type_name)
        if not name or name in others or name in ("auto", "void"):
            return value
        of = value.tag.partition("class:")[2]
        seen = self.machine.program.fields(self.frame.path, name) is not None
        if of and of != name and not seen:
            return self._converted(each, value)
        if of == name:
            return self._copy_of(each, value) if copies else value
        if seen and not of and value.fields and value.fields[0][0] == "#0":
            place = Value(GRID, targets=frozenset((Place(self.depth, f"listed {each.target} {name}"),)))
            self._initialized(each, place, name, *_listed(value))
            return self._read(place, each.span)._replace(tag=f"class:{name}")
        if seen and not of and not value.targets:
            found = [
                callee
                for callee in self.machine.program.callees(self.frame.path, name, name, 1)
                if all(class_name(cell.type) != name for cell in callee.ir.cells[1 : 1 + callee.ir.parameters])
            ]
            if found:
                hidden = Place(self.depth, f"converted {each.target} {name}")
                self._invoke(found, [value], [None], each, Value(GRID, targets=frozenset((hidden,))))
                made = lookup(self.cells.get((hidden.frame, hidden.cell), {}), ())
                return (made or value)._replace(tag=f"class:{name}")
        return value

    def _havoc(self, addresses: Iterable[Value | None], why: Reason) -> None:
        """Record that unseen code got these addresses: the memory that they lead to may hold anything afterwards."""
        why = why._replace(path=why.path or self.frame.path)
        given = [address for address in addresses if address is not None]
        before = dict(self.cells)
        for address in given:
            for target in address.targets or ():
                if isinstance(target, Place):
                    whole = target._replace(path=around_elements(target.path))
                    self._write(Value(VARYING, targets=frozenset((whole,)), why=why), Value(VARYING, why=why))
        direct = {(each.frame, each.cell) for value in given for each in value.targets or () if isinstance(each, Place)}
        led: set[tuple[int, int | str]] = set(self.machine.escaped)
        for address in given:
            led |= reachable_from(before, address)
        for key in led - direct:
            if key in self.cells:
                self.cells[key] = {
                    path: slot if path == ("&",) else Slot(Value(VARYING, why=why), self._definition())
                    for path, slot in (self.cells[key] or {(): Slot(UNIFORM, self._definition())}).items()
                }

    def _do_call(self, each: Instruction) -> Value:
        kinds, first, this = each.type, 0, None
        if kinds.startswith("t"):
            kinds, first, this = kinds[1:], 1, self._operand(each)
        values, addresses = self._arguments(each, first, kinds)
        scope, _, short = without_arguments(each.name).rpartition("::")
        short = short.strip()
        program, path = self.machine.program, self.frame.path
        count = len(values)
        callees: list[Callee] = []
        around = self._class_around()
        if this is not None and around:
            callees += program.callees(path, short, around, count)
        if scope:
            callees += self._of_scope(short, scope.rpartition("::")[2].strip(), count)
        if not callees:
            callees += program.callees(path, short, "", count)
        if callees:
            return self._invoke(callees, values, addresses, each, this)
        return self._built_in_call(each, short, values, addresses)

    def _of_scope(self, short: str, scope: str, count: int) -> Sequence[Callee]:
        """The functions of a class, or of those that a template's parameter stands for."""
        program, path = self.machine.program, self.frame.path
        if program.fields(path, scope) is not None and scope not in self.ir.template_names:
            return program.callees(path, short, scope, count)
        found: list[Callee] = []
        for each in sorted(program.classes(self.ir, scope)):
            of = program.callees(path, short, each, count)
            if not of:
                return ()
            found += (callee for callee in of if callee not in found)
        return found or program.callees(path, short, scope, count)

    def _class_around(self) -> str:
        frame: Frame | None = self.frame
        while frame is not None:
            if frame.ir.class_name:
                return frame.ir.class_name
            closure = frame.closure
            frame = self.machine.frames[closure.frame] if closure is not None and closure.frame < self.depth else None
        return ""

    def _built_in_call(
        self, each: Instruction, short: str, values: Sequence[Value], addresses: Sequence[Value | None]
    ) -> Value:
        self._site(each)
        name = short.encode()
        bare = short.removeprefix("__").removesuffix("_sync")
        if _GROUP_MADE.search(short):
            return self._group(each, short, values)
        if short == "reduce" and values and values[0].tag.startswith("group:"):
            # cooperative_groups::reduce returns the same value to all threads of the group.
            level = self._level_of_group(values[0].tag[6:])
            return Value(min(level, BLOCK), why=Reason("a sum, or the like, over a group", *each.span))
        if name in SHUFFLES or bare.startswith("shfl"):
            return self._shuffle(each, bare, values[1:] if short.endswith("_sync") else values)
        if BY_BLOCK.fullmatch(name):
            return Value(BLOCK, why=Reason(f"{short} of the block", *each.span))
        if BY_THREAD.fullmatch(name):
            why = Reason(f"{short} gives each thread its own", *each.span)
            self._havoc(values, why)
            return Value(VARYING, why=why)
        if BY_WARP.fullmatch(name):
            if short.endswith("_sync") and values and values[0].level < WARP:
                return values[0].bare()  # each lane votes with the lanes of its own mask
            return Value(WARP, why=Reason(f"{short} of the warp", *each.span))
        if short in ("swap",) and len(addresses) == 2:
            self._swap(addresses)
            return UNIFORM
        declared = self.machine.program.is_declared(self.frame.path, short)
        if PURE.fullmatch(name) is not None and not declared and not any(map(self._is_unset, addresses)):
            return self._pure(each, short, values, addresses)
        why = Reason(f"{short}, which is not seen, may give each thread its own", *each.span)
        # A declared function may change arguments that it takes by reference; undeclared ones are assumed not to.
        changed = [
            address
            for position, address in enumerate(addresses)
            if self.machine.program.takes_reference(self.frame.path, short, position) or self._is_unset(address)
        ]
        self._havoc([*changed, *values], why)
        return Value(VARYING, why=why)

    def _pure(self, each: Instruction, short: str, values: Sequence[Value], addresses: Sequence[Value | None]) -> Value:
        """Return the result of a function that depends only on its arguments."""
        made = least(values)._replace(targets=all_targets(values))
        for address in addresses:
            if address is not None and short in BY_POINTER:
                self._write(address, made)
        for value in values:
            if value.targets and short in BY_POINTER:
                # The result may be written where another argument points.
                self._write(value, least([made, *(self._read(other, each.span) for other in values if other.targets)]))
            elif value.targets and short not in ("printf", "assert"):
                self._havoc([value], Reason(f"{short} writes to it", *each.span))
        vector = VECTOR.fullmatch(short.removeprefix("make_").encode())
        if short.startswith("make_") and vector is not None:
            made = made._replace(
                fields=tuple(zip("xyzw", values, strict=False)), tag="", low=None, high=None, affine=None
            )
        elif short in ("max", "min") and len(values) == 2:
            made = _least_or_greatest(short, values[0], values[1])
        elif short in ("move", "forward", "ref", "cref", "as_const", "addressof") and len(values) == 1:
            made = values[0]
        elif short in ("__ldg",) and len(values) == 1:
            made = self._read(values[0], each.span)
        return made

    def _is_unset(self, address: Value | None) -> bool:
        """Whether a variable was never assigned: a function that gets it as an argument then assigns it."""
        places = [each for each in (address.targets if address is not None else None) or () if isinstance(each, Place)]
        return any(
            not self._is_array(place)
            and (cell := self._cell_of(place)) is not None
            and cell.kind == "local"
            and lookup(self.cells.get((place.frame, place.cell), {}), place.path) is None
            for place in places
        )

    def _swap(self, addresses: Sequence[Value | None]) -> None:
        one, two = addresses
        if one is None or two is None:
            return
        a, b = self._read(one, (-1, -1)), self._read(two, (-1, -1))
        self._write(one, b)
        self._write(two, a)

    def _shuffle(self, each: Instruction, name: str, values: Sequence[Value]) -> Value:
        value = values[0] if values else Value(VARYING)
        width = values[2].number if len(values) > 2 else LANES
        if width is None or width <= 0 or width & (width - 1):
            width = 1
        if value.level >= WARP:
            return value.bare()
        if name == "shfl" and len(values) > 1 and values[1].level >= width:
            return Value(min(width, WARP), why=Reason("a lane's value, which the warp has", *each.span))
        return varying(f"{name} gives each lane the value of another lane", each.span)

    def _group(self, each: Instruction, short: str, values: Sequence[Value]) -> Value:
        if short in ("this_thread_block",):
            return Value(GRID, tag="group:block")
        if short in ("this_grid", "this_multi_grid"):
            return Value(GRID, tag="group:grid")
        if short == "tiled_partition":
            if values and values[0].tag in ("group:active", "group:part"):
                return Value(GRID, tag="group:part")  # tiles of the active lanes, which need not be neighbours
            size = re.search(r"<\s*(\w+)", each.name)
            number = int(size[1]) if size is not None and size[1].isdigit() else None
            if number is None and size is not None:
                number = (
                    LANES
                    if WARP_SIZES.fullmatch(size[1].encode())
                    else self.machine.program.number(self.frame.path, size[1])
                )
            if number is None and len(values) > 1:
                number = values[1].number
            return Value(GRID, tag=f"group:{number if number else 'tile'}")
        return Value(GRID, tag="group:active" if short == "coalesced_threads" else "group:part")

    def _method(self, each: Instruction) -> Value:
        address = self._operand(each)
        values, addresses = self._arguments(each, 1, each.type)
        held = self._read(address, each.span)
        if held.tag.startswith("group:"):
            return self._of_group(each, held.tag[6:], values)
        program, path = self.machine.program, self.frame.path
        of = held.tag.partition("class:")[2] or address.tag.partition("object:")[2]
        callees = program.callees(path, each.name, of, len(values)) if of else ()
        if callees:
            return self._invoke(callees, values, addresses, each, address)
        self._site(each)
        if PURE.fullmatch(each.name.encode()) and not of:
            return least((held, *values)).bare()
        why = Reason(f"{each.name}, which is not seen, may give each thread its own", *each.span)
        self._havoc([address, *filter(self._is_unset, addresses), *values], why)
        return Value(VARYING, why=why)

    @staticmethod
    def _level_of_group(group: str) -> int:
        """The uniformity of a value that all threads of a group share."""
        if group in ("part", "tile"):
            return VARYING  # neighbours may be in different parts; the size of the tile is not known
        return int(group) if group.isdigit() else {"block": BLOCK, "grid": GRID, "active": WARP}.get(group, VARYING)

    def _of_group(self, each: Instruction, group: str, values: Sequence[Value]) -> Value:
        self._site(each)
        name = each.name
        size = int(group) if group.isdigit() else {"block": BLOCK, "grid": GRID}.get(group, 1)
        level = self._level_of_group(group)
        own = varying(f"{name} of each thread", each.span)
        if name in ("thread_rank", "thread_index"):
            if group.isdigit() and name == "thread_rank":
                return own._replace(low=0, high=size - 1, affine=Affine(Numbering.GROUP, 1, 0, size))
            if group in ("block", "grid") and name == "thread_rank":
                # Ranks count through all rows and layers of the block.
                return own._replace(
                    low=0, affine=Affine(Numbering.GROUP, 1, 0, BLOCK) if group == "block" else Affine(Numbering.GRID)
                )
            return own
        if name in (
            "size",
            "num_threads",
            "group_dim",
            "dim_threads",
            "meta_group_size",
            "sync",
            "is_valid",
            "dim_blocks",
        ):
            if group.isdigit() and name in ("size", "num_threads"):
                return constant(size)
            return Value({"active": WARP, "part": VARYING}.get(group, GRID), why=own.why)
        if name in ("meta_group_rank", "any", "all", "ballot"):
            return Value(min(level, BLOCK), why=Reason(f"{name} of a group", *each.span))
        if name in ("group_index", "block_rank"):
            return Value(BLOCK)
        if name == "shfl" and len(values) > 1 and values[1].level >= level:
            return Value(min(level, BLOCK), why=Reason("a lane's value, which the group has", *each.span))
        if name.startswith("shfl") and values and values[0].level >= level:
            return values[0].bare()
        return own

    def _indirect(self, each: Instruction) -> Value:
        callee, address = self._operand(each), self._operand(each, 1)
        values, addresses = self._arguments(each, 2, each.type)
        program, path = self.machine.program, self.frame.path
        made: list[Value] = []
        unknown = not callee.targets
        if callee.tag.startswith("class:"):
            found = program.callees(path, "operator()", callee.tag[6:], len(values))
            if found:
                return self._invoke(found, values, addresses, each, address)
        before, after = self.cells, []
        for target in sorted(callee.targets or (), key=repr):
            self.cells = dict(before)
            if isinstance(target, Closure) and target.frame <= self.depth:
                outer = self.machine.frames[target.frame]
                inner = outer.ir.lambdas[target.number] if target.number < len(outer.ir.lambdas) else None
                if inner is None or id(inner.body) != target.code:
                    unknown = True
                    continue
                made.append(
                    self._invoke([Callee(inner.body, outer.path, False)], values, addresses, each, None, target)
                )
            elif isinstance(target, FunctionName):
                found = program.callees(path, target.name, "", len(values))
                if found:
                    made.append(self._invoke(found, values, addresses, each, None))
                else:
                    unknown = True
            else:
                unknown = True
            after.append(self.cells)
        if len(after) > 1:
            self._join_after(before, after)
        self._site(each)
        if unknown or not made:
            why = Reason(f"hipport does not see what {each.name or 'a pointer'} calls", *each.span)
            self._havoc([*addresses, *values], why)
            return Value(VARYING, why=why)
        value = join(made)
        return value.at_most(callee.level, callee.why) if callee.level < value.level else value

    def _join_after(self, before: Cells, after: Sequence[Cells]) -> None:
        definition = self._definition()
        merged: Cells = {}
        for key in dict.fromkeys(key for cells in after for key in cells):
            found = [cells[key] for cells in after if key in cells]
            slots = {}
            for path in dict.fromkeys(path for one in found for path in one):
                parts = [one[path] for one in found if path in one]
                old = before.get(key, {}).get(path)
                same = old is not None and all(part == old for part in parts)
                slots[path] = old if same and old is not None else Slot(join(part.value for part in parts), definition)
            merged[key] = slots
        self.cells = merged

    def _default_parts(self, each: Instruction, address: Value, name: str, depth: int = 4) -> None:
        """Default-construct the bases and members that are objects."""
        program, path = self.machine.program, self.frame.path
        parts = [(address, base) for base in program.bases(name)]
        for member, kind in program.fields(path, name) or ():
            place = self._part_of(address, member)
            while kind.endswith("[]"):
                place, kind = self._part_of(place, "[]"), kind.removesuffix("[]")
            if not kind.endswith(("*", "&")):
                parts.append((place, class_name(kind)))
        for place, of in parts:
            if not depth or not of or program.fields(path, of) is None:
                continue
            self._default_parts(each, place, of, depth - 1)
            found = [found for found in (program.defaults(path, of),) if found is not None]
            found += program.callees(path, of, of, 0)
            for callee in found:
                self._invoke([callee], [], [], each, place)

    def _construct(self, each: Instruction) -> None:
        address = self._operand(each)
        values, addresses = self._arguments(each, 1, each.type)
        program, path = self.machine.program, self.frame.path
        name = each.name
        if name == "auto" and len(values) == 1:
            name = values[0].tag.partition("class:")[2]
            if not name:
                self._write(address, values[0])
                return
        if not name:
            target = next(iter(address.targets or ()), None)
            cell = self._cell_of(target) if isinstance(target, Place) and not target.path else None
            name = class_name(cell.type) if cell is not None and cell.type else ""
        fields = program.fields(path, name) if name else None
        if fields is None:
            vector = VECTOR.fullmatch(name.encode()) if name else None
            made = least(values)
            if vector is not None and (name != "dim3" or values):
                made = made._replace(fields=tuple(zip("xyzw", values, strict=False)))
            elif not name:
                # With the places that references among the object's members are bound to.
                bound = [(f"&{i}", place) for i, place in enumerate(addresses) if place is not None]
                made = made._replace(fields=(*((f"#{i}", value) for i, value in enumerate(values)), *bound))
            elif len(values) == 1:
                made = values[0] if is_wide(name) else narrowed(values[0], name)
            elif values:
                made = Value(
                    VARYING, why=Reason(f"{name}, which is not seen, may give each thread its own", *each.span)
                )
            self._write(address, made)
            return
        self._make(each, address, name, values, addresses)

    def _make(
        self,
        each: Instruction,
        address: Value,
        name: str,
        values: Sequence[Value],
        addresses: Sequence[Value | None],
    ) -> None:
        """Make an object of a defined class: a copy of another one, or from the given values."""
        if len(values) == 1 and values[0].tag == f"class:{name}":
            self._copied(each, address, name, values[0], addresses[0])
        else:
            self._initialized(each, address, name, values, addresses)
        # An object is never left without a value because it is not known where in it the values are.
        for target in address.targets or () if values else ():
            if isinstance(target, Place) and target != MEMORY and not self._has_value(target):
                self._write(address._replace(targets=frozenset((target,))), least(values))

    def _has_value(self, place: Place) -> bool:
        """Whether something was stored in a part of a variable, or in a part of it."""
        slots = self.cells.get((place.frame, place.cell), {})
        return any(known != ("&",) and overlap(known, place.path) for known in slots)

    def _initialize(self, each: Instruction) -> None:
        address, value = self._operand(each), self._operand(each, 1)
        kinds = {self._type_at(target) for target in address.targets or () if isinstance(target, Place)}
        for kind in sorted(kinds):
            name = "" if kind.endswith(("*", "&", "[]")) else class_name(kind)
            if name and self.machine.program.fields(self.frame.path, name) is not None:
                self._make(each, address, name, [value], [self._operand(each, 2) if len(each.operands) > 2 else None])
                return
        super()._initialize(each)

    def _copied(
        self, each: Instruction, address: Value, name: str, value: Value, of: Value | None, depth: int = 4
    ) -> None:
        """Make an object a copy of another one, by the copy constructors of its class or of its parts."""
        program, path = self.machine.program, self.frame.path
        copying = self._copying(name)
        if copying:
            place = of if of is not None else self._hidden(value, each, 2)
            self._invoke(copying, [value], [place], each, address)
            return
        self._write(address, value)
        parts = [(member, class_name(kind)) for member, kind in program.fields(path, name) or ()]
        for member, kind in parts if depth else ():
            part = dict(value.fields).get(member)
            if part is not None and program.fields(path, kind) is not None:
                self._copied(each, self._part_of(address, member), kind, part, None, depth - 1)

    def _copying(self, name: str) -> list[Callee]:
        """The copy constructors of a class."""
        return [
            callee
            for callee in self.machine.program.callees(self.frame.path, name, name, 1)
            if any(class_name(cell.type) == name for cell in callee.ir.cells[1 : 1 + callee.ir.parameters])
        ]

    def _copies(self, name: str, depth: int = 4) -> bool:
        """Whether copying an object of a class runs code."""
        if self._copying(name):
            return True
        kinds = {class_name(kind) for _, kind in self.machine.program.fields(self.frame.path, name) or ()} - {name, ""}
        return depth > 0 and any(
            self._copies(kind, depth - 1)
            for kind in kinds
            if self.machine.program.fields(self.frame.path, kind) is not None
        )

    def _copy_of(self, each: Instruction, value: Value) -> Value:
        name = value.tag.partition("class:")[2]
        if not name or not self._copies(name):
            return value
        place = Value(GRID, targets=frozenset((Place(self.depth, f"copy {each.target} {name}"),)))
        self._copied(each, place, name, value, None)
        return self._read(place, each.span)._replace(tag=value.tag)

    def _initialized(
        self,
        each: Instruction,
        address: Value,
        name: str,
        values: Sequence[Value],
        addresses: Sequence[Value | None],
    ) -> None:
        """Make an object of a defined class, by one of its constructors or member by member."""
        program, path = self.machine.program, self.frame.path
        fields = program.fields(path, name) or ()
        self._default_parts(each, address, name)
        defaults = program.defaults(path, name)
        if defaults is not None:
            self._invoke([defaults], [], [], each, address)
        if program.is_constructed_elsewhere(name):
            why = Reason(f"hipport does not see a constructor of {name}", *each.span)
            self._write(address, Value(VARYING, why=why))
            self._havoc([*addresses, *values], why)
            return
        constructors = program.callees(path, name, name, len(values))
        if constructors:
            self._invoke(constructors, values, addresses, each, address)
            return
        if not values:
            return
        if program.bases(name) or any(map(self._is_elided, values, (kind for _, kind in fields))):
            # Which value initializes which part of a base, or of a member without braces, is not followed.
            every = least(values)._replace(targets=all_targets(values))
            for member, _ in fields:
                self._write(self._part_of(address, member), every)
            return
        for i, ((member, kind), value) in enumerate(zip(fields, values, strict=False)):
            bound = addresses[i] if kind.endswith("&") else None
            self._write_part(each, self._part_of(address, member), kind, value if bound is None else bound)
        given = frozenset(member for (member, _), _ in zip(fields, values, strict=False))
        rest = program.defaults(path, name, given) if defaults is not None else None
        if rest is not None:
            self._invoke([rest], [], [], each, address)

    def _write_part(self, each: Instruction, place: Value, kind: str, value: Value) -> None:
        """Assign to a member a value, which may be a list of values for its parts."""
        if not value.fields or value.fields[0][0] != "#0":
            self._write(place, value)
            return
        parts, places = _listed(value)
        if kind.endswith("[]"):
            for position, part in enumerate(parts):
                self._write_part(each, self._part_of(place, f"[{position}]"), kind.removesuffix("[]"), part)
            return
        name = "" if kind.endswith(("*", "&")) else class_name(kind)
        if name and self.machine.program.fields(self.frame.path, name) is not None:
            self._initialized(each, place, name, parts, places)
            return
        self._write(place, least(parts)._replace(targets=all_targets(parts)) if len(parts) != 1 else parts[0])

    def _is_elided(self, value: Value, kind: str) -> bool:
        """Whether a value may initialize only a part of a member, which is an array or an object (brace elision)."""
        if value.fields and value.fields[0][0] == "#0":
            return False
        if kind.endswith("[]"):
            return True
        name = "" if kind.endswith(("*", "&")) else class_name(kind)
        seen = bool(name) and self.machine.program.fields(self.frame.path, name) is not None
        return seen and value.tag != f"class:{name}"

    def _defaults(self, each: Instruction) -> None:
        """Assign default values to members that a constructor's list does not name."""
        rest = self.machine.program.defaults(self.frame.path, each.name, frozenset(each.type.split()))
        if rest is not None:
            self._invoke([rest], [], [], each, self._operand(each))

    def _assign(self, each: Instruction) -> None:
        address, value = self._operand(each), self._operand(each, 1)
        for target in address.targets or ():
            if not isinstance(target, Place):
                continue
            cell, kind = self._cell_of(target), self._type_at(target)
            if isinstance(target.cell, str):
                kind = self._read(address, each.span).tag.partition("class:")[2]
            if not kind or kind.endswith(("*", "&", "[]")):
                continue
            name = class_name(kind)
            if self.machine.program.fields(self.frame.path, name) is not None:
                found = self.machine.program.callees(self.frame.path, "operator=", name, 1)
                if found:
                    self._invoke(found, [value], [None], each, address)
                    return
                value = self._as_type(kind, self.ir.template_names, value, each)
            elif cell is not None and not target.path and not is_wide(cell.type):
                value = narrowed(value, cell.type)
        if value.tag.startswith("class:") and not self._is_of_class(address, value.tag[6:]):
            value = self._converted(each, value)
        self._write(address, value)

    def _is_of_class(self, address: Value, name: str) -> bool:
        """Whether a place may hold an object of that class, or one of unknown class."""
        kinds = [self._type_at(target) for target in address.targets or () if isinstance(target, Place)]
        return not kinds or any(not is_wide(kind) for kind in kinds)

    def _binary(self, each: Instruction) -> Value:
        one, two = self._operand(each), self._operand(each, 1)
        if one.tag.startswith("class:") or two.tag.startswith("class:"):
            made = self._by_operator(each, one, two)
            if made is not None:
                return made
            one = self._converted(each, one) if one.tag.startswith("class:") else one
            two = self._converted(each, two) if two.tag.startswith("class:") else two
        value = binary(each.name, one, two, self.frame.blocks)
        if (one.targets or two.targets) and each.name not in _NO_POINTER and not (one.targets and two.targets):
            value = value._replace(targets=self._moved(one.targets or two.targets or ()))
        if "volatile" in (one.tag, two.tag):
            value = value._replace(tag="volatile")
        return value

    def _by_own_operator(self, each: Instruction, name: str, value: Value, address: int) -> Value | None:
        """Run an operator on one object, of its class or a free function; None if there is none."""
        place = self.registers.get(each.operands[address]) if len(each.operands) > address else None
        place = place if place is not None else self._hidden(value, each, 0)
        program, path, of = self.machine.program, self.frame.path, value.tag[6:]
        found = [*program.callees(path, name, of, 0)]
        if found:
            return self._invoke(found, [], [], each, place)
        found = [*program.callees(path, name, "", 1)]
        return self._invoke(found, [value], [place], each, None) if found else None

    def _target(self, each: Instruction) -> Value:
        value = self._operand(each)
        if value.tag.startswith("class:"):
            made = self._by_own_operator(each, f"operator{each.name}", value, 1)
            for _ in range(4):
                if made is None or each.name == "*" or not made.tag.startswith("class:"):
                    break
                # `operator->` of the object that `operator->` returns.
                made = self._by_own_operator(each, "operator->", made, len(each.operands)) or made
            if made is not None and each.name == "*":
                return self.addresses.get(each.target, self._hidden(made, each, 1))
            if made is None:
                found = self.machine.program.conversions(value.tag[6:])
                made = self._pointed(
                    self._invoke(found, [], [], each, self._hidden(value, each, 0)) if found else value
                )
            return made
        return self._pointed(value)

    def _element(self, each: Instruction) -> Value:
        address, index = self._operand(each), self._operand(each, 1)
        places = [target for target in address.targets or () if isinstance(target, Place)]
        names = {class_name(self._type_at(place)) for place in places if not self._is_array(place)}
        if any(isinstance(place.cell, str) for place in places):
            # An unnamed object.
            names.add(self._read(address, each.span).tag.partition("class:")[2])
        for name in sorted(names - {""}):
            found = self.machine.program.callees(self.frame.path, "operator[]", name, 1)
            if found:
                made = self._invoke(found, [index], [None], each, address)
                return self.addresses.get(each.target, self._hidden(made, each, 1))
        if index.tag.startswith("class:"):
            index = self._converted(each, index)
        return self._at_index(address, index)

    def _converted(self, each: Instruction, value: Value) -> Value:
        """Convert an object by the conversions of its class; return it unchanged if there are none."""
        found = self.machine.program.conversions(value.tag[6:])
        if not found:
            return value
        return join([value.bare(), self._invoke(found, [], [], each, self._hidden(value, each, 0))])

    def _compound(self, each: Instruction) -> Value:
        """`+=` and similar operators: an operator of the object's class, or arithmetic."""
        address, value = self._operand(each), self._operand(each, 1)
        held = self._read(address, each.span)
        if held.tag.startswith("class:"):
            count = 0 if each.name in ("++", "--") else 1
            program, path, of = self.machine.program, self.frame.path, held.tag[6:]
            found = [*program.callees(path, f"operator{each.name}", of, count)]
            if found:
                return self._invoke(found, [value][:count], [None][:count], each, address)
            found = [*program.callees(path, f"operator{each.name}", "", count + 1)]
            if found:
                return self._invoke(found, [held, value][: count + 1], [address, None][: count + 1], each, None)
        if value.tag.startswith("class:") and not held.tag.startswith("class:"):
            value = self._converted(each, value)
        plain = each._replace(name=each.name[:-1] if each.name not in ("++", "--") else each.name[0], type="")
        made = binary(plain.name, held, value, self.frame.blocks)
        if held.targets:
            made = made._replace(targets=self._moved(held.targets))
        if held.tag.startswith("class:"):
            made = made._replace(tag=held.tag)
        self._write(address, made)
        return made

    def _moved(self, targets: Iterable[object]) -> frozenset[object] | None:
        """The targets of a pointer after arithmetic: another element, or another member."""
        return (
            frozenset(
                target._replace(path=(*target.path, "[]"))
                if self._is_array(target)
                else moved(target)
                if target.path
                else target
                for target in targets
                if isinstance(target, Place)
            )
            or None
        )

    def _end(self, each: Instruction) -> None:
        """End the life of a variable, with the destructor of its class."""
        assert each.number is not None
        cell = self.ir.cells[each.number]
        name = class_name(cell.type)
        held = cell.kind in ("local", "temporary") and (self.depth, each.number) in self.cells
        if name and not cell.pointer and held and not self._is_never_destroyed(name):
            place = Value(GRID, targets=frozenset((Place(self.depth, each.number),)))
            if cell.array:
                place = self._part_of(place, "[]")
            self._destroy(each, place, name)
        self._declare(each)

    def _is_never_destroyed(self, name: str) -> bool:
        """Whether neither the class nor a part of it has a destructor that is seen, as for most classes."""
        never = self.machine.never_destroyed
        if name not in never and not self._has_destructor(name):
            never.add(name)
        return name in never

    def _has_destructor(self, name: str, depth: int = 4) -> bool:
        program, path = self.machine.program, self.frame.path
        if program.callees(path, f"~{name}", name, 0):
            return True
        fields = program.fields(path, name) if depth else None
        if fields is None:
            return False
        parts = {class_name(kind) for _, kind in fields if not kind.endswith(("*", "&", "[]"))}
        return any(
            self._has_destructor(of, depth - 1)
            for of in (parts | set(program.bases(name))) - {name, ""}
            if program.fields(path, of) is not None
        )

    def _destroy(self, each: Instruction, place: Value, name: str, depth: int = 4) -> None:
        """Run the destructor of a class, and those of its members and bases."""
        program, path = self.machine.program, self.frame.path
        found = [
            callee
            for callee in program.callees(path, f"~{name}", name, 0)
            if callee.ir.name.rpartition("::")[2] == f"~{name}"
        ]
        if found:
            self._invoke(found, [], [], each, place)
        if not depth or program.fields(path, name) is None:
            return
        own = dict(program.fields(path, name) or ())
        parts = [
            (self._part_of(place, member), class_name(kind))
            for member, kind in own.items()
            if not kind.endswith(("*", "&", "[]"))
        ]
        for part, of in [*parts, *((place, base) for base in program.bases(name))]:
            if of and of != name and program.fields(path, of) is not None:
                self._destroy(each, part, of, depth - 1)

    def _by_operator(self, each: Instruction, one: Value, two: Value) -> Value | None:
        program, name = self.machine.program, f"operator{each.name}"
        kinds = each.type or "vv"
        places: list[Value | None] = [
            self.registers.get(each.operands[2 + i], UNIFORM) if kind == "a" else self._hidden((one, two)[i], each, i)
            for i, kind in enumerate(kinds)
        ]
        made = []
        if one.tag.startswith("class:"):
            found = program.callees(self.frame.path, name, one.tag[6:], 1)
            if found:
                made.append(self._invoke(found, [two], places[1:], each, places[0]))
        found = program.callees(self.frame.path, name, "", 2)
        if found:
            made.append(self._invoke(found, [one, two], places, each, None))
        return join(made) if made else None

    def _cast(self, each: Instruction) -> Value:
        value, type_name = self._operand(each), each.type
        if each.name == "constant":
            return _constant(value)
        if "*" in type_name:
            if each.name != "declared":
                value = self._reinterpreted(value, type_name)
            if value.tag.startswith("pointer:") and (name := class_name(type_name)) != "auto":
                value = value._replace(tag=f"pointer:{name}")
            return value._replace(tag="volatile") if "volatile" in type_name else value
        if value.targets and any(isinstance(target, (Closure, FunctionName)) for target in value.targets):
            return value
        if value.tag.startswith("class:"):
            found = self.machine.program.callees(self.frame.path, f"operator {class_name(type_name)}", value.tag[6:], 0)
            if found:
                return self._invoke(found, [], [], each, self._hidden(value, each, 0))
            if self.machine.program.fields(self.frame.path, class_name(type_name)) is None:
                value = self._converted(each, value)
        return value if is_wide(type_name) else narrowed(value, type_name)

    def _reinterpreted(self, value: Value, type_name: str) -> Value:
        """A pointer after an explicit conversion: to other types, it reaches all parts of what it points to."""
        to = re.sub(r"\b(?:const|volatile|struct|class|__restrict__)\b|\s", "", type_name).removesuffix("*")
        if to in ("void", "auto") or not value.targets:
            return value
        found: set[object] = set()
        for target in value.targets:
            if isinstance(target, Place) and target != MEMORY and not self._holds(target, to):
                path = moved(target).path if target.path else ()
                path += ("[]",) * self._type_at(target).count("[]")
                target = target._replace(path=path or ("[]",))
            found.add(target)
        return value._replace(targets=frozenset(found))

    def _holds(self, place: Place, to: str) -> bool:
        """Whether a place, or an element of the array there, certainly has a type, or a number of the same size."""
        kind = self._type_at(place)
        held = re.sub(r"\b(?:const|volatile|struct|class|static|__restrict__)\b|\s", "", kind).removesuffix("[]")
        if held == to or (_WORD_OF_MEMORY.fullmatch(held) and _WORD_OF_MEMORY.fullmatch(to)):
            return True
        one, two = class_name(held), class_name(to)
        return not held.endswith(("[]", "*")) and (two in self._all_bases(one) or one in self._all_bases(two))

    def _all_bases(self, name: str, depth: int = 4) -> set[str]:
        found = set(self.machine.program.bases(name)) if depth else set()
        return found.union(*(self._all_bases(base, depth - 1) for base in found))

    def _result_address(self, each: Instruction) -> Value:
        register = each.operands[0]
        if register in self.addresses:
            return self.addresses[register]
        return self._hidden(self._operand(each), each, 0)

    def _return_address(self, each: Instruction) -> None:
        self.frame.result_address.append(self._operand(each))


def _constant(value: Value) -> Value:
    """The value of a constant expression: the same for all threads, whatever it is computed from."""
    fields = tuple((name, _constant(part)) for name, part in value.fields)
    return value._replace(level=GRID, affine=None, fields=fields, why=None)


def _listed(value: Value) -> tuple[list[Value], list[Value | None]]:
    """The values of a braced list, and their places."""
    fields = dict(value.fields)
    parts = [part for name, part in value.fields if name.startswith("#")]
    return parts, [fields.get(f"&{i}") for i in range(len(parts))]


def all_targets(values: Iterable[Value]) -> frozenset[object] | None:
    """All targets of some values and of their fields."""
    found: set[object] = set()
    waiting = list(values)
    while waiting:
        each = waiting.pop()
        found |= each.targets or frozenset()
        waiting += [part for _, part in each.fields]
    return frozenset(found) or None


def _least_or_greatest(name: str, one: Value, two: Value) -> Value:
    made = least((one, two))
    pick = min if name == "min" else max
    low = pick(one.low, two.low) if one.low is not None and two.low is not None else None
    high = pick(one.high, two.high) if one.high is not None and two.high is not None else None
    return made._replace(low=low, high=high)
