# SPDX-License-Identifier: Apache-2.0
"""Calls in an abstract execution: of functions that are seen, of CUDA's own, by pointers, operators and conversions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hipport.analysis.abstract_memory import (
    Cells,
    Closure,
    Named,
    Place,
    Slot,
    class_name,
    lookup,
    narrowed,
    reachable_from,
)
from hipport.analysis.abstract_program import Callee, Frame, Machine, Site, Start
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
from hipport.analysis.memory_access import MemoryAccess
from hipport.analysis.uniform_values import (
    BLOCK,
    GRID,
    VARYING,
    WARP,
    Affine,
    Numbering,
    Reason,
    Value,
    binary,
    constant,
    join,
    least,
    varying,
)

_GROUP_MADE = re.compile(
    r"(this_thread_block|this_grid|this_multi_grid|coalesced_threads|tiled_partition|labeled_partition|binary_partition)"
)


class AbstractCalls(MemoryAccess):
    """A run of a function: its calls."""

    def __init__(self, machine: Machine, start: Cells, control: Site) -> None:
        super().__init__(machine, start, control)
        #: Addresses of what calls returned by reference, by their registers.
        self.addresses: dict[int, Value] = {}
        #: How uniform the ways to a block are.
        self.regions: dict[int, tuple[int, Reason | None]] = {}
        self.told_sites: dict[tuple[int, int], tuple[Span, Site]] = {}

    def _arguments(self, each: Instruction, first: int, kinds: str) -> tuple[list[Value], list[Value | None]]:
        values: list[Value] = []
        addresses: list[Value | None] = []
        for register, kind in zip(each.operands[first:], kinds, strict=False):
            given = self.registers.get(register, Value(GRID))
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
        """Run all functions that may be meant; return what they may give."""
        outcomes = []
        before = self.cells
        start = Start(values, addresses, before, self.frame.blocks, self._site(each), closure)
        for callee in callees:
            own = start._replace(
                this=this if callee.is_method else None,
                arguments=self._as_parameters(callee, values, each),
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
            self._as_type(callee.ir.returned, callee.ir.template_names, value, each)
            for callee, value in zip(callees, results, strict=True)
        )

    def _after(self, before: Cells, outcomes: Sequence[Cells]) -> Cells:
        """Return the variables after a call of one of several functions, which leave them so."""
        given = self._given()
        after: Cells = {}
        for key in dict.fromkeys(key for cells in outcomes for key in cells):
            known = before.get(key)
            found = [cells[key] for cells in outcomes if key in cells]
            if known is not None and all(each is known for each in found):
                after[key] = known
                continue
            slots: dict[tuple[str, ...], Slot] = {}
            for path in dict.fromkeys(path for one in found for path in one):
                parts = [one[path] for one in found if path in one]
                old = known.get(path) if known is not None else None
                if old is not None and all(part == old for part in parts):
                    slots[path] = old
                else:
                    slots[path] = Slot(join(part.value for part in parts), given)
            after[key] = slots
        return after

    def _as_parameters(self, callee: Callee, values: Sequence[Value], each: Instruction) -> Sequence[Value]:
        """The arguments as the types of the function's parameters: objects are converted."""
        first = int(callee.ir.this >= 0)
        cells = callee.ir.cells[first : first + callee.ir.parameters]
        return [
            self._as_type(
                "" if cell.pointer or cell.kind == "pack" else cell.type, callee.ir.template_names, value, each
            )
            for cell, value in zip(cells, values, strict=False)
        ] + list(values[len(cells) :])

    def _as_type(self, type_name: str, others: frozenset[str], value: Value, each: Instruction) -> Value:
        """A value as a type, by the conversions of its class or the constructors of another one."""
        name = class_name(type_name)
        if not name or name in others or name in ("auto", "void"):
            return value
        of = value.tag.partition("class:")[2]
        seen = self.machine.program.fields(self.frame.path, name) is not None
        if of and of != name and not seen:
            return self._converted(each, value)
        if seen and not of and not value.targets:
            found = [
                callee
                for callee in self.machine.program.callees(self.frame.path, name, name, 1)
                if all(class_name(cell.type) != name for cell in callee.ir.cells[1 : 1 + callee.ir.parameters])
            ]
            if found:
                place = Place(self.depth, f"converted {each.target} {name}")
                self._invoke(found, [value], [None], each, Value(GRID, targets=frozenset((place,))))
                made = lookup(self.cells.get((place.frame, place.cell), {}), ())
                return (made or value)._replace(tag=f"class:{name}")
        return value

    def _havoc(self, addresses: Iterable[Value | None], why: Reason) -> None:
        """Say that code that is not seen was given these: what they lead to may be anything afterwards."""
        why = why._replace(path=why.path or self.frame.path)
        given = [address for address in addresses if address is not None]
        before = dict(self.cells)
        for address in given:
            for target in address.targets or ():
                if isinstance(target, Place):
                    self._write(Value(VARYING, targets=frozenset((target,)), why=why), Value(VARYING, why=why))
        direct = {(each.frame, each.cell) for value in given for each in value.targets or () if isinstance(each, Place)}
        led: set[tuple[int, int | str]] = set(self.machine.escaped)
        for address in given:
            led |= reachable_from(before, address)
        for key in led - direct:
            if key in self.cells:
                self.cells[key] = {
                    path: slot if path == ("&",) else Slot(Value(VARYING, why=why), self._given())
                    for path, slot in (self.cells[key] or {(): Slot(Value(GRID), self._given())}).items()
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
            callees += program.callees(path, short, scope.rpartition("::")[2].strip(), count)
        if not callees:
            callees += program.callees(path, short, "", count)
        if callees:
            return self._invoke(callees, values, addresses, each, this)
        return self._built_in_call(each, short, values, addresses)

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
                return values[0].bare()  # Lanes vote with those of their own mask.
            return Value(WARP, why=Reason(f"{short} of the warp", *each.span))
        if short in ("swap",) and len(addresses) == 2:
            self._swap(addresses)
            return Value(GRID)
        declared = self.machine.program.is_declared(self.frame.path, short)
        if PURE.fullmatch(name) is not None and not declared and not any(map(self._is_unset, addresses)):
            return self._pure(each, short, values, addresses)
        why = Reason(f"{short}, which is not seen, may give each thread its own", *each.span)
        # What is handed by its name may be changed by a declaration that takes a reference; others are taken not to.
        changed = [
            address
            for position, address in enumerate(addresses)
            if self.machine.program.takes_reference(self.frame.path, short, position) or self._is_unset(address)
        ]
        self._havoc([*changed, *values], why)
        return Value(VARYING, why=why)

    def _pure(self, each: Instruction, short: str, values: Sequence[Value], addresses: Sequence[Value | None]) -> Value:
        """Return what a function gives that computes with its arguments alone."""
        made = least(values)
        for address in addresses:
            if address is not None and short in BY_POINTER:
                self._write(address, made)
        for value in values:
            if value.targets and short not in ("printf", "assert"):
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
        """Whether a variable never got a value, so that a function that is handed it gives it one."""
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
        return varying(f"{name} gives each lane another's value", each.span)

    def _group(self, each: Instruction, short: str, values: Sequence[Value]) -> Value:
        if short in ("this_thread_block",):
            return Value(GRID, tag="group:block")
        if short in ("this_grid", "this_multi_grid"):
            return Value(GRID, tag="group:grid")
        if short == "tiled_partition":
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
            return Value(GRID, tag=f"group:{number if number else 'active'}")
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

    def _of_group(self, each: Instruction, group: str, values: Sequence[Value]) -> Value:
        self._site(each)
        name = each.name
        size = int(group) if group.isdigit() else {"block": BLOCK, "grid": GRID}.get(group, 1)
        level = size if group != "active" else WARP
        if group == "part":
            level = VARYING  # Neighbours may be in different parts.
        own = varying(f"{name} of each thread", each.span)
        if name in ("thread_rank", "thread_index"):
            if group.isdigit() and name == "thread_rank":
                return own._replace(low=0, high=size - 1, affine=Affine(Numbering.GROUP, 1, 0, size))
            if group in ("block", "grid") and name == "thread_rank":
                # Through all rows and layers of the block.
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
            elif isinstance(target, Named):
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
            why = Reason(f"what {each.name or 'a pointer'} calls is not seen", *each.span)
            self._havoc([*addresses, *values], why)
            return Value(VARYING, why=why)
        value = join(made)
        return value.at_most(callee.level, callee.why) if callee.level < value.level else value

    def _join_after(self, before: Cells, after: Sequence[Cells]) -> None:
        given = self._given()
        joined: Cells = {}
        for key in dict.fromkeys(key for cells in after for key in cells):
            found = [cells[key] for cells in after if key in cells]
            slots = {}
            for path in dict.fromkeys(path for one in found for path in one):
                parts = [one[path] for one in found if path in one]
                old = before.get(key, {}).get(path)
                same = old is not None and all(part == old for part in parts)
                slots[path] = old if same and old is not None else Slot(join(part.value for part in parts), given)
            joined[key] = slots
        self.cells = joined

    def _default_parts(self, each: Instruction, address: Value, name: str, depth: int = 4) -> None:
        """Give bases and members that are objects what their classes give them without arguments."""
        program, path = self.machine.program, self.frame.path
        parts = [(address, base) for base in program.bases(name)]
        parts += [
            (self._part_of(address, member), class_name(kind))
            for member, kind in program.fields(path, name) or ()
            if not kind.endswith(("*", "&", "[]"))
        ]
        for place, of in parts:
            if not depth or not of or program.fields(path, of) is None:
                continue
            self._default_parts(each, place, of, depth - 1)
            found = [found for found in (program.defaults(path, of),) if found is not None]
            found += [callee for callee in program.callees(path, of, of, 0) if callee.ir.parameters == 0]
            for callee in found:
                self._invoke([callee], [], [], each, place)

    def _construct(self, each: Instruction) -> None:
        address = self._operand(each)
        values, addresses = self._arguments(each, 1, each.type)
        program, path = self.machine.program, self.frame.path
        name = each.name
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
                made = made._replace(fields=tuple((f"#{i}", value) for i, value in enumerate(values)))
            elif len(values) == 1:
                made = values[0] if is_wide(name) else narrowed(values[0], name)
            elif values:
                made = Value(
                    VARYING, why=Reason(f"{name}, which is not seen, may give each thread its own", *each.span)
                )
            self._write(address, made)
            return
        if len(values) == 1 and values[0].tag == f"class:{name}":
            self._write(address, values[0])
            return
        self._default_parts(each, address, name)
        defaults = program.defaults(path, name)
        if defaults is not None:
            self._invoke([defaults], [], [], each, address)
        if program.is_constructed_elsewhere(name):
            why = Reason(f"a constructor of {name} is not seen", *each.span)
            self._write(address, Value(VARYING, why=why))
            self._havoc([*addresses, *values], why)
            return
        constructors = program.callees(path, name, name, len(values))
        if constructors and (values or any(callee.ir.parameters == 0 for callee in constructors)):
            self._invoke(constructors, values, addresses, each, address)
            return
        for i, ((member, kind), value) in enumerate(zip(fields, values, strict=False)):
            bound = addresses[i] if kind.endswith("&") else None
            self._write(self._part_of(address, member), value if bound is None else bound)

    def _assign(self, each: Instruction) -> None:
        address, value = self._operand(each), self._operand(each, 1)
        for target in address.targets or ():
            if not isinstance(target, Place) or target.path:
                continue
            cell = self._cell_of(target)
            if cell is None or not cell.type or cell.pointer:
                continue
            name = class_name(cell.type)
            if self.machine.program.fields(self.frame.path, name) is not None:
                found = self.machine.program.callees(self.frame.path, "operator=", name, 1)
                if found:
                    self._invoke(found, [value], [None], each, address)
                    return
            elif not is_wide(cell.type):
                value = narrowed(value, cell.type)
        self._write(address, value)

    def _binary(self, each: Instruction) -> Value:
        one, two = self._operand(each), self._operand(each, 1)
        if one.tag.startswith("class:") or two.tag.startswith("class:"):
            made = self._by_operator(each, one, two)
            if made is not None:
                return made
            one = self._converted(each, one) if one.tag.startswith("class:") else one
            two = self._converted(each, two) if two.tag.startswith("class:") else two
        value = binary(each.name, one, two, self.frame.blocks)
        if each.name in ("+", "-") and (one.targets or two.targets):
            targets = frozenset(
                target._replace(path=(*target.path[:-1], "[]"))
                if target.path and target.path[-1].startswith("[")
                else target._replace(path=(*target.path, "[]"))
                if self._is_array(target)
                else target
                for given in (one, two)
                for target in given.targets or ()
                if isinstance(target, Place)
            )
            value = value._replace(targets=targets or None)
        if "volatile" in (one.tag, two.tag):
            value = value._replace(tag="volatile")
        return value

    def _by_own_operator(self, each: Instruction, name: str, value: Value, address: int) -> Value | None:
        """Run an operator of one object, of its class or beside it; None if there is none."""
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
            if made is not None and each.name == "*":
                return self.addresses.get(each.target, self._hidden(made, each, 1))
            return super()._target(each) if made is None else made
        return super()._target(each)

    def _element(self, each: Instruction) -> Value:
        address, index = self._operand(each), self._operand(each, 1)
        places = [target for target in address.targets or () if isinstance(target, Place)]
        names = {class_name(self._type_at(place)) for place in places if not self._is_array(place)}
        for name in sorted(names - {""}):
            found = self.machine.program.callees(self.frame.path, "operator[]", name, 1)
            if found:
                made = self._invoke(found, [index], [None], each, address)
                return self.addresses.get(each.target, self._hidden(made, each, 1))
        return super()._element(each)

    def _converted(self, each: Instruction, value: Value) -> Value:
        """What an object becomes by the conversions of its class; itself if it has none."""
        found = self.machine.program.conversions(value.tag[6:])
        if not found:
            return value
        return join([value.bare(), self._invoke(found, [], [], each, self._hidden(value, each, 0))])

    def _compound(self, each: Instruction) -> Value:
        """`+=` and its like: an operator of the object's class, or arithmetic."""
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
        plain = each._replace(name=each.name[:-1] if each.name not in ("++", "--") else each.name[0], type="")
        made = binary(plain.name, held, value, self.frame.blocks)
        if held.targets:
            made = made._replace(targets=self._moved(held.targets))
        if held.tag.startswith("class:"):
            made = made._replace(tag=held.tag)
        self._write(address, made)
        return made

    def _moved(self, targets: Iterable[object]) -> frozenset[object] | None:
        """What a pointer may point to that was moved: another element."""
        return (
            frozenset(
                target._replace(path=(*target.path[:-1], "[]"))
                if target.path and target.path[-1].startswith("[")
                else target._replace(path=(*target.path, "[]"))
                if self._is_array(target)
                else target
                for target in targets
                if isinstance(target, Place)
            )
            or None
        )

    def _end(self, each: Instruction) -> None:
        """End the life of a variable, by the destructor of its class."""
        assert each.number is not None
        name = class_name(self.ir.cells[each.number].type)
        cell = self.ir.cells[each.number]
        if name and not cell.pointer and cell.kind == "local" and (self.depth, each.number) in self.cells:
            found = self.machine.program.callees(self.frame.path, f"~{name}", name, 0)
            if found:
                place = Place(self.depth, each.number)
                self._invoke(found, [], [], each, Value(GRID, targets=frozenset((place,))))
        self._declare(each)

    def _by_operator(self, each: Instruction, one: Value, two: Value) -> Value | None:
        program, name = self.machine.program, f"operator{each.name}"
        kinds = each.type or "vv"
        places: list[Value | None] = [
            self.registers.get(each.operands[2 + i], Value(GRID))
            if kind == "a"
            else self._hidden((one, two)[i], each, i)
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
        if "*" in type_name:
            return value._replace(tag="volatile") if "volatile" in type_name else value
        if value.targets and any(isinstance(target, (Closure, Named)) for target in value.targets):
            return value
        if value.tag.startswith("class:"):
            found = self.machine.program.callees(self.frame.path, f"operator {class_name(type_name)}", value.tag[6:], 0)
            if found:
                return self._invoke(found, [], [], each, self._hidden(value, each, 0))
        return value if is_wide(type_name) else narrowed(value, type_name)

    def _result_address(self, each: Instruction) -> Value:
        register = each.operands[0]
        if register in self.addresses:
            return self.addresses[register]
        return self._hidden(self._operand(each), each, 0)

    def _return_address(self, each: Instruction) -> None:
        self.frame.result_address.append(self._operand(each))


def _least_or_greatest(name: str, one: Value, two: Value) -> Value:
    made = least((one, two))
    pick = min if name == "min" else max
    low = pick(one.low, two.low) if one.low is not None and two.low is not None else None
    high = pick(one.high, two.high) if one.high is not None and two.high is not None else None
    return made._replace(low=low, high=high)
