# SPDX-License-Identifier: Apache-2.0
"""Run device code on abstract values: what each expression is, over all ways that control and calls may take.

    execution = AbstractExecution(program)
    execution.run(function)
    execution.values[path, span]      # the worst value of an expression there, over all calls that were seen

A function is run for each set of abstract arguments that it is called with, as if it were inlined; what is the same is
run once. Blocks are run until nothing changes. Where threads that took different ways come together, a variable that
they may have given different values is as uniform as the branch was; see hipport.analysis.reconvergence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from hipport.analysis.built_ins import BY_BLOCK, BY_THREAD, BY_WARP, LANES, PURE, SHUFFLES, VECTOR, WARP_SIZES
from hipport.analysis.device_ir import Cell, DeviceIR, Instruction, Lambda, Span
from hipport.analysis.lowering_state import is_wide
from hipport.analysis.reconvergence import Loop, Reconvergence
from hipport.analysis.uniform_values import (
    BLOCK,
    GRID,
    VARYING,
    WARP,
    WAVEFRONT,
    Affine,
    Axis,
    Blocks,
    Reason,
    Value,
    binary,
    constant,
    join,
    least,
    unary,
    varying,
    wider,
)

#: How deep calls are followed, with how many different arguments one function is run, how often a block.
_DEEPEST, _MOST_RUNS, _MOST_VISITS = 24, 24, 64
#: How often a function that calls itself is run until what it gives is what it was taken to give.
_MOST_TURNS = 8
_GROUP_MADE = re.compile(
    r"(this_thread_block|this_grid|this_multi_grid|coalesced_threads|tiled_partition|labeled_partition|binary_partition)"
)
_TILE = re.compile(r"(?:thread_block_tile|tiled_partition)\s*<\s*(\d+)")


class Place(NamedTuple):
    """A part of a variable of a function that runs: `frame` is how deep in calls it is."""

    frame: int
    cell: int | str
    path: tuple[str, ...] = ()


class Closure(NamedTuple):
    """A lambda, and the frame of the function that made it."""

    frame: int
    number: int
    code: int


class Named(NamedTuple):
    """A function by its name."""

    name: str


class Slot(NamedTuple):
    """A value of a part of a variable, and where it was given that: the frame, the block and the instruction."""

    value: Value
    given: tuple[int, int, int]


Cells = dict[tuple[int, "int | str"], dict[tuple[str, ...], Slot]]


class Callee(NamedTuple):
    """A function that may be called: its code, its file, what launches its blocks."""

    ir: DeviceIR
    path: object
    is_method: bool


class Program(Protocol):
    """What the execution asks of all the code."""

    def callees(self, path: object, name: str, class_name: str, count: int) -> Sequence[Callee]:
        """Return the functions of that name, of that class ("" for free ones, "*" for any), that take so many arguments."""
        ...

    def fields(self, path: object, class_name: str) -> Sequence[tuple[str, str]] | None:
        """Return names and types of the members of a class, in order; None if it is not seen."""
        ...

    def defaults(self, path: object, class_name: str) -> Callee | None:
        """Return the code that gives members of a class their default values."""
        ...

    def numbers(self, ir: DeviceIR, name: str) -> frozenset[int]:
        """Return the numbers that a parameter of a function's template may be; empty where one is not known."""
        ...

    def number(self, path: object, name: str) -> int | None:
        """Return the number that a constant of that name is."""
        ...

    def is_volatile(self, path: object, name: str) -> bool:
        """Whether a variable outside of functions is volatile."""
        ...

    def takes_reference(self, path: object, name: str, position: int) -> bool:
        """Whether a function that is only declared may change what it is handed at `position`."""
        ...

    def is_union(self, class_name: str) -> bool:
        """Whether a class is a union."""
        ...

    def is_function(self, path: object, name: str) -> bool:
        """Whether it is the name of a device function."""
        ...


@dataclass
class _Frame:
    """A function that runs."""

    ir: DeviceIR
    path: object
    blocks: Blocks
    closure: Closure | None = None
    #: How many arguments were given.
    given: int = 0
    result_address: list[Value] = field(default_factory=list)


@dataclass
class _Entered:
    """A function that runs and may call itself: with what, what it is taken to give, and whether it did call itself."""

    arguments: list[Value]
    result: Value
    again: bool = False


class Outcome(NamedTuple):
    """What a call gives back: its value, the address of it if it returns a reference, and what it did to variables."""

    value: Value
    address: Value | None
    cells: Cells


class Site(NamedTuple):
    """How threads come to a call: together in groups of so many, or why not."""

    level: int
    why: Reason | None


class AbstractExecution:
    """The values of expressions of the functions that were run."""

    def __init__(self, program: Program) -> None:
        self._program = program
        #: By file, span, and the text of an expression that is a part of what a macro there makes (else empty): the worst
        #: that it is in any call.
        self.values: dict[tuple[object, Span, str], Value] = {}
        #: By file and span: how threads come to a call there.
        self.sites: dict[tuple[object, Span], Site] = {}
        self.ran: set[int] = set()
        self._frames: list[_Frame] = []
        self._flows: dict[int, Reconvergence] = {}
        self._known: dict[object, Outcome] = {}
        self._order: list[object] = []
        self._entered: dict[int, _Entered] = {}
        self._runs: dict[int, int] = {}
        self._keep: list[object] = []
        self._control: list[Site] = []

    def run(self, callee: Callee, blocks: Blocks, arguments: Sequence[Value]) -> None:
        """Run a function that nothing calls, with these arguments: a kernel, or one whose calls are not seen."""
        self._frames, self._control = [], [Site(GRID, None)]
        self._call(callee, arguments, [None] * len(arguments), {}, blocks, None, Site(GRID, None))

    # ---- calls

    def _call(
        self,
        callee: Callee,
        arguments: Sequence[Value],
        addresses: Sequence[Value | None],
        cells: Cells,
        blocks: Blocks,
        closure: Closure | None,
        control: Site,
        this: Value | None = None,
    ) -> Outcome:
        """Run a function with values of its arguments, and the addresses of those that are variables."""
        ir, depth = callee.ir, len(self._frames)
        if ir.unread is not None:
            return self._nothing_known(
                cells, [*addresses, this], Reason(f"{ir.name or 'a lambda'}: {ir.unread[0]}", *ir.unread[1])
            )
        simple = this is None and closure is None and not any(value.targets or value.fields for value in arguments)
        if any(frame.ir is ir for frame in self._frames):
            entered = self._entered.get(id(ir))
            if not simple or entered is None or len(entered.arguments) != len(arguments):
                return self._nothing_known(cells, [*addresses, this], Reason(f"{ir.name} calls itself"))
            entered.arguments = [
                join(pair) for pair in zip(entered.arguments, map(_any_number, arguments), strict=True)
            ]
            entered.again = True
            return Outcome(entered.result, None, cells)
        if depth >= _DEEPEST:
            return self._nothing_known(cells, [*addresses, this], Reason(f"calls of {ir.name} are too deep"))
        if not simple or id(ir) in self._entered:
            return self._run_with(callee, arguments, addresses, cells, blocks, closure, control, this)
        # What a call of itself gives is taken to be whatever can be; where that turns out otherwise it is run again.
        entered = self._entered[id(ir)] = _Entered(list(arguments), Value(GRID))
        try:
            for _ in range(_MOST_TURNS):
                mark, given = len(self._order), list(entered.arguments)
                outcome = self._run_with(callee, given, addresses, cells, blocks, closure, control, this)
                if not entered.again or (entered.arguments == given and _any_number(outcome.value) == entered.result):
                    return outcome
                if entered.arguments == list(arguments):
                    entered.arguments = [_any_number(value) for value in arguments]
                entered.result = _any_number(join((entered.result, outcome.value)))
                for key in self._order[mark:]:
                    self._known.pop(key, None)
                del self._order[mark:]
        finally:
            del self._entered[id(ir)]
        return self._nothing_known(cells, [*addresses, this], Reason(f"{ir.name} calls itself"))

    def _run_with(
        self,
        callee: Callee,
        arguments: Sequence[Value],
        addresses: Sequence[Value | None],
        cells: Cells,
        blocks: Blocks,
        closure: Closure | None,
        control: Site,
        this: Value | None,
    ) -> Outcome:
        """Run a function that does not run yet, unless it was with the same."""
        ir, depth = callee.ir, len(self._frames)
        start: Cells = dict(cells)
        offset = 0
        for number, cell in enumerate(ir.cells[: ir.parameters + (ir.this >= 0)]):
            key = (depth, number)
            if number == ir.this:
                start[key] = {(): Slot(this or varying("`this` is not known"), (depth, -1, number))}
                offset = 1
                continue
            position = number - offset
            if cell.kind == "pack":
                value = least(arguments[position:]) if position < len(arguments) else Value(GRID)
                _store(start, key, (), value, (depth, -1, number))
                continue
            given = arguments[position] if position < len(arguments) else Value(GRID)
            address = addresses[position] if position < len(addresses) else None
            if cell.kind == "reference":
                if address is None:
                    # It is bound to what only the call has.
                    hidden = Place(depth, f"argument {number}")
                    _store(start, (depth, hidden.cell), (), given, (depth, -1, number))
                    address = Value(GRID, targets=frozenset((hidden,)))
                start[key] = {("&",): Slot(address, (depth, -1, number))}
            else:
                if not cell.pointer and not is_wide(cell.type):
                    given = _narrowed(given, cell.type)
                _store(start, key, (), given, (depth, -1, number))
        reached = _reachable(start, depth, closure)
        start = {each: start[each] for each in reached}
        memory = frozenset((each, frozenset(start[each].items())) for each in reached)
        known = (id(ir), depth, memory, control.level, closure, len(arguments))
        outcome = self._known.get(known)
        if outcome is None:
            self._runs[id(ir)] = self._runs.get(id(ir), 0) + 1
            if self._runs[id(ir)] > _MOST_RUNS:
                why = Reason(f"{ir.name} is called with too many different values")
                return self._nothing_known(cells, [*addresses, this, *arguments], why)
            self._frames.append(_Frame(ir, callee.path, blocks, closure, len(arguments)))
            try:
                outcome = _Activation(self, start, control).run()
            finally:
                self._frames.pop()
            self.ran.add(id(ir))
            self._keep.append(ir)
            self._known[known] = outcome
            self._order.append(known)
        return outcome._replace(cells={**cells, **outcome.cells})

    def _nothing_known(self, cells: Cells, addresses: Iterable[Value | None], why: Reason) -> Outcome:
        """What comes of a call of code that is not followed: what it can reach may be anything."""
        after = dict(cells)
        for address in addresses:
            for target in (address.targets if address is not None else None) or ():
                if isinstance(target, Place):
                    key = (target.frame, target.cell)
                    after[key] = dict(after.get(key, {}))
                    _store(after, key, target.path, Value(VARYING, why=why), (len(self._frames), -2, 0))
        return Outcome(Value(VARYING, why=why), None, after)

    def flow(self, ir: DeviceIR) -> Reconvergence:
        """Return where threads of a function come together again."""
        if id(ir) not in self._flows:
            self._flows[id(ir)] = Reconvergence(ir.blocks)
            self._keep.append(ir)
        return self._flows[id(ir)]

    def tell(self, path: object, span: Span, text: str, value: Value) -> None:
        """Note what an expression is; of what is in a macro's text, by `text`."""
        known = self.values.get((path, span, text))
        if known is None or value.level < known.level:
            self.values[path, span, text] = value

    def tell_site(self, path: object, span: Span, site: Site) -> None:
        """Note how threads come to a call."""
        known = self.sites.get((path, span))
        if known is None or site.level < known.level:
            self.sites[path, span] = site


def _reachable(cells: Cells, depth: int, closure: Closure | None) -> list[tuple[int, int | str]]:
    """The variables that a function of that depth can come to: its own, and what these point to."""
    waiting = [key for key in cells if key[0] == depth]
    frames: set[int] = set()
    if closure is not None:
        frames.add(closure.frame)
        waiting += [key for key in cells if key[0] == closure.frame]
    found: dict[tuple[int, int | str], None] = {}
    while waiting:
        key = waiting.pop()
        if key in found or key not in cells:
            continue
        found[key] = None
        for slot in cells[key].values():
            for target in slot.value.targets or ():
                if isinstance(target, Place):
                    waiting.append((target.frame, target.cell))
                elif isinstance(target, Closure) and target.frame not in frames:
                    frames.add(target.frame)
                    waiting += [each for each in cells if each[0] == target.frame]
    return list(found)


def _store(
    cells: Cells, key: tuple[int, int | str], path: tuple[str, ...], value: Value, given: tuple[int, int, int]
) -> None:
    """Give a part of a variable a value: all that was known of what is in it goes."""
    slots = cells.get(key, {})
    length = len(path)
    kept = {known: slot for known, slot in slots.items() if known[:length] != path or known == ("&",)}
    kept[path] = Slot(value._replace(fields=()) if value.fields else value, given)
    for name, part in value.fields:
        inner: Cells = {key: {}}
        _store(inner, key, (*path, name), part, given)
        kept.update(inner[key])
    cells[key] = kept


def _weaken(
    cells: Cells, key: tuple[int, int | str], path: tuple[str, ...], value: Value, given: tuple[int, int, int]
) -> None:
    """Give a part of a variable, or another one, a value."""
    slots = dict(cells.get(key, {}))
    found = False
    for known, slot in slots.items():
        if known == ("&",) or not _overlap(known, path):
            continue
        slots[known] = Slot(join((slot.value, value)), given)
        found = found or known == path
    if not found:
        slots[path] = Slot(value, given)
    cells[key] = slots


def _overlap(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    """Whether parts of a variable may be the same, or one in the other."""
    for a, b in zip(one, two, strict=False):
        if a != b and not (a.startswith("[") and b.startswith("[") and "[]" in (a, b)):
            return False
    return True


def _lookup(slots: Mapping[tuple[str, ...], Slot], path: tuple[str, ...]) -> Value | None:
    """Return what a part of a variable is; None if it was never given a value."""
    inner = {known: slot for known, slot in slots.items() if known != ("&",) and _overlap(known, path)}
    exact = slots.get(path)
    deeper = {known: slot for known, slot in inner.items() if len(known) > len(path)}
    if deeper:
        by_name: dict[str, list[Value]] = {}
        for known, slot in deeper.items():
            by_name.setdefault(known[len(path)], []).append(slot.value)
        fields = tuple((name, join(values) if len(values) == 1 else least(values)) for name, values in by_name.items())
        whole = exact.value if exact is not None else Value(GRID)
        return least((whole, *(value for _, value in fields)))._replace(fields=fields, tag=whole.tag)
    if exact is not None and not any("[]" in known for known in inner if known != path):
        return exact.value
    same = [slot.value for known, slot in inner.items() if len(known) == len(path)]
    if same:
        return join(same)
    shorter = [slot.value for known, slot in inner.items() if len(known) < len(path)]
    if not shorter:
        return None
    value = join(shorter)
    for name in path[max(len(known) for known in inner) :]:
        value = dict(value.fields).get(name, value)
    return value._replace(low=None, high=None, affine=None, tag="")


def _narrowed(value: Value, type_name: str) -> Value:
    """Return a value as its type keeps it: a thread's number is one no longer in a byte or a float."""
    tag = value.tag if value.tag.startswith(("class:", "group:")) else ""
    if re.search(r"\bbool\b", type_name):
        number = value.number
        return value._replace(
            affine=None,
            low=0 if number is None else int(bool(number)),
            high=1 if number is None else int(bool(number)),
            tag="",
            divisor=1,
        )
    return value._replace(affine=None, low=None, high=None, divisor=1, tag=tag)


class _Activation:
    """One run of a function."""

    def __init__(self, machine: AbstractExecution, start: Cells, control: Site) -> None:
        self.machine = machine
        self.depth = len(machine._frames) - 1
        self.frame = machine._frames[-1]
        self.ir = self.frame.ir
        self.flow = machine.flow(self.ir)
        self.start = start
        self.control = control
        self.registers: dict[int, Value] = {}
        self.addresses: dict[int, Value] = {}
        #: How uniform branches are so far; of joins and loops, what follows from it.
        self.branches: dict[int, tuple[int, Reason | None]] = {}
        self.joins: dict[int, tuple[int, Reason | None]] = {}
        self.loops: dict[int, tuple[int, Reason | None, Loop]] = {}
        self.regions: dict[int, tuple[int, Reason | None]] = {}
        self.before: dict[int, Cells] = {}
        self.after: dict[int, Cells] = {}
        self.told_sites: dict[tuple[int, int], tuple[Span, Site]] = {}
        self.at = (0, 0)
        self.cells: Cells = {}
        self.headers = {loop.header: loop.blocks for loop in self.flow.loops}
        #: The blocks in which the choices of `?:` are used.
        self.choices: dict[tuple[int, int | str], set[int]] = {}
        for number, of in enumerate(self.ir.blocks):
            for each in of.instructions:
                if each.operation == "cell" and each.number is not None and self.ir.cells[each.number].kind == "choice":
                    self.choices.setdefault((self.depth, each.number), set()).add(number)

    def run(self) -> Outcome:
        """Run the blocks until nothing changes; return what comes out."""
        predecessors = self.ir.predecessors()
        position = {block: i for i, block in enumerate(self.flow.order)}
        # One sweep after another in reverse postorder: what goes back waits for the next. Inner loops that were run until
        # nothing changes would be run so in each turn of outer ones.
        sweep, following = [0], {0}
        visits: dict[int, int] = {}
        while following:
            sweep, following = sorted(position[each] for each in following), set()
            queued = set(sweep)
            while sweep:
                at = heappop(sweep)
                block = self.flow.order[at]
                visits[block] = visits.get(block, 0) + 1
                cells = self._merge(block, [each for each in predecessors[block] if each in self.after], visits[block])
                if visits[block] > 1 and cells == self.before.get(block):
                    continue
                self.before[block] = cells
                self.cells = dict(cells)
                self._run_block(block)
                changed = visits[block] == 1 or self.after.get(block) != self.cells
                self.after[block] = self.cells
                again = list(self.ir.blocks[block].successors) if changed else []
                again += self._branched(block)
                for each in again:
                    if each not in position or visits.get(each, 0) >= _MOST_VISITS:
                        continue
                    if position[each] <= at:
                        following.add(each)
                    elif position[each] not in queued:
                        queued.add(position[each])
                        heappush(sweep, position[each])
        for each in self.ir.expressions:
            if each.block in self.after and each.register in self.registers:
                self.machine.tell(self.frame.path, each.span, each.text, self.registers[each.register])
        for (block, _), (span, _site) in self.told_sites.items():
            level, why = self.regions.get(block, (GRID, None))
            site = Site(level, why) if level < self.control.level else self.control
            self.machine.tell_site(self.frame.path, span, site)
        return self._outcome()

    def _outcome(self) -> Outcome:
        last = self.after.get(self.ir.exit, self.start)
        result = _lookup(last.get((self.depth, self.ir.result), {}), ()) or Value(GRID)
        address = join(self.frame.result_address) if self.frame.result_address else None
        # The variables of the function are gone.
        kept = {
            key: {
                path: slot if slot.given[0] < self.depth else Slot(slot.value, (self.depth, -3, 0))
                for path, slot in slots.items()
            }
            for key, slots in last.items()
            if key[0] < self.depth
        }
        if any(isinstance(each, Place) and each.frame >= self.depth for each in result.targets or ()):
            result = result._replace(targets=None)
        return Outcome(result, address, kept)

    def _merge(self, block: int, predecessors: Sequence[int], visit: int) -> Cells:
        inside = self.headers.get(block, frozenset())
        sources = [
            (self.after[each], self._left(each, block), inside if each in inside else frozenset())
            for each in predecessors
        ]
        if block == 0:
            sources.append((self.start, [], frozenset()))
        if len(sources) == 1 and not sources[0][1]:
            return sources[0][0]
        limit, why = self.joins.get(block, (GRID, None))
        known = self.before.get(block, {})
        merged: Cells = {}
        first, rest = sources[0], sources[1:]
        plain = not any(left for _, left, _ in sources)
        choices = self.choices
        for key in dict.fromkeys(key for cells, *_ in sources for key in cells):
            if key in choices and block not in choices[key]:
                continue
            slots = first[0].get(key)
            if plain and slots is not None and all(cells.get(key, slots) is slots for cells, *_ in rest):
                merged[key] = slots
                continue
            found = [(cells[key], left, loop) for cells, left, loop in sources if key in cells]
            merged[key] = {}
            for path in dict.fromkeys(path for slots, *_ in found for path in slots):
                slot = self._merged(path, found, limit, why, block)
                old = known.get(key, {}).get(path)
                if old is not None and old.given == slot.given and old.value != slot.value and visit > 2:
                    slot = Slot(wider(old.value, slot.value), slot.given)
                merged[key][path] = slot
        return merged

    def _left(self, block: int, successor: int) -> list[tuple[int, Reason | None, Loop]]:
        """The loops that threads leave by the edge in different iterations."""
        return [self.loops[loop.header] for loop in self.flow.left(block, successor) if loop.header in self.loops]

    def _merged(
        self,
        path: tuple[str, ...],
        found: Sequence[tuple[Mapping[tuple[str, ...], Slot], list[tuple[int, Reason | None, Loop]], frozenset[int]]],
        limit: int,
        why: Reason | None,
        block: int,
    ) -> Slot:
        slots: list[Slot] = []
        entered = any(path in each for each, _, inside in found if not inside)
        for each, left, inside in found:
            slot = each.get(path)
            if inside and entered and slot is not None and (slot.given[0] != self.depth or slot.given[1] not in inside):
                continue  # The loop gives it nothing: it is what it was in front of it.
            if slot is None:
                value = _lookup(each, path) if path != ("&",) else None
                if value is None:
                    continue
                slot = Slot(value, (self.depth, -4, 0))
            for level, reason, loop in left:
                if slot.given[0] == self.depth and slot.given[1] in loop.blocks:
                    slot = Slot(slot.value.at_most(level, reason), (self.depth, slot.given[1], -2 - loop.header))
            slots.append(slot)
        if all(slot.given == slots[0].given for slot in slots):
            return Slot(join(slot.value for slot in slots), slots[0].given)
        value = join(slot.value for slot in slots).at_most(limit, why)
        return Slot(value, (self.depth, block, -1))

    def _branched(self, block: int) -> list[int]:
        """Note what the branch at the end of a block does; return the blocks that have to be looked at again."""
        of = self.ir.blocks[block]
        if of.condition is None or len(set(of.successors)) < 2:
            return []
        value = self.registers.get(of.condition, Value(GRID))
        level = value.level
        if value.number is not None or level >= GRID or level >= self.branches.get(block, (GRID, None))[0]:
            return []
        why = value.why if value.why is not None and level < BLOCK else Reason("the block's number decides", *of.span)
        self.branches[block] = (level, why)
        divergence = self.flow.of(block)
        again: list[int] = []
        for join_ in divergence.joins:
            if level < self.joins.get(join_, (GRID, None))[0]:
                self.joins[join_] = (level, why)
                again.append(join_)
        for loop in divergence.loops:
            if loop.header not in self.loops or level < self.loops[loop.header][0]:
                self.loops[loop.header] = (level, why, loop)
                again += loop.exits
        for each in divergence.region:
            if level < self.regions.get(each, (GRID, None))[0]:
                self.regions[each] = (level, why)
        return again

    def _run_block(self, block: int) -> None:
        for index, instruction in enumerate(self.ir.blocks[block].instructions):
            if instruction.operation in _SAME_ALWAYS and instruction.target in self.registers:
                continue
            self.at = (block, index)
            made = _HANDLERS[instruction.operation](self, instruction)
            if made is not None:
                self.registers[instruction.target] = made

    # ---- instructions

    def _operand(self, each: Instruction, position: int = 0) -> Value:
        return self.registers.get(each.operands[position], Value(GRID))

    def _given(self) -> tuple[int, int, int]:
        return (self.depth, *self.at)

    def _unknown(self, each: Instruction) -> Value:
        return varying(each.name, each.span)

    def _constant(self, each: Instruction) -> Value:
        return Value(GRID) if each.number is None else constant(each.number)

    def _built_in(self, each: Instruction) -> Value:
        base, axis = each.name.split(".")
        shapes = self.frame.blocks.shapes
        if base == "blockIdx":
            return Value(BLOCK, 0, tag=each.name, why=Reason("the block's number", *each.span))
        if base in ("blockDim", "gridDim"):
            sizes = {getattr(shape, axis) for shape in shapes or ()} if base == "blockDim" else {None}
            if len(sizes) == 1 and None not in sizes:
                return constant(sizes.pop())._replace(tag=each.name)
            return Value(GRID, 1, tag=each.name)
        sizes = {getattr(shape, axis) for shape in shapes or ()} or {None}
        high = None if None in sizes else max(sizes) - 1
        if high == 0:
            return constant(0)
        why = Reason(each.name, *each.span)
        if axis == "x":
            return Value(VARYING, 0, 1023 if high is None else high, Affine(Axis.ROW), why=why, tag=each.name)
        return Value(self._rows(axis), 0, high, why=why, tag=each.name)

    def _rows(self, axis: str) -> int:
        """The level of threadIdx.y or .z: rows of a block follow each other."""
        shapes = self.frame.blocks.shapes
        found = []
        for shape in shapes or ():
            size = shape.x if axis == "y" else None if shape.x is None or shape.y is None else shape.x * shape.y
            if size is None:
                break
            found.append(min(size & -size, BLOCK))
        else:
            if found:
                return min(found)
        if self.frame.blocks.assume is None:
            return VARYING
        self.frame.blocks.assume(Axis.ROW, WARP)
        return WARP

    def _cell(self, each: Instruction) -> Value:
        assert each.number is not None
        return Value(GRID, targets=frozenset((Place(self.depth, each.number),)))

    def _captured(self, each: Instruction) -> Value:
        closure, frame = self.frame.closure, self.frame
        for _ in range(int(each.type) - 1):
            if closure is None or closure.frame >= self.depth:
                break
            frame = self.machine._frames[closure.frame]
            closure = frame.closure
        if closure is None or closure.frame >= self.depth or each.number is None:
            return varying(f"{each.name} of a function that has ended", each.span)
        outer = self.machine._frames[closure.frame]
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
                value = self._read(address, each.span)
                _store(self.cells, (self.depth, f"captured {each.number} {inner.name}"), (), value, self._given())
        return Value(GRID, targets=frozenset((Closure(self.depth, each.number, id(made.body)),)))

    def _bind(self, each: Instruction) -> None:
        for target in self._operand(each).targets or ():
            if isinstance(target, Place):
                self.cells[target.frame, target.cell] = {("&",): Slot(self._operand(each, 1), self._given())}

    def _bound(self, each: Instruction) -> Value:
        (target,) = self._operand(each).targets or (None,)
        if not isinstance(target, Place):
            return varying("a reference is not followed", each.span)
        return self._bound_to(target, each.span)

    def _bound_to(self, place: Place, span: Span) -> Value:
        slot = self.cells.get((place.frame, place.cell), {}).get(("&",))
        return slot.value if slot is not None else varying("a reference is not followed", span)

    def _declare(self, each: Instruction) -> None:
        assert each.number is not None
        self.cells.pop((self.depth, each.number), None)

    def _part_of(self, address: Value, name: str) -> Value:
        targets = address.targets
        if targets is not None:
            parts = {
                # Members of a union are one place.
                target
                if not name.startswith("[") and self.machine._program.is_union(_class_name(self._type_at(target)))
                else target._replace(path=(*target.path, name))
                for target in targets
                if isinstance(target, Place)
            }
            targets = frozenset(parts) or None
        return Value(
            address.level, targets=targets, why=address.why, tag=address.tag if address.tag == "volatile" else ""
        )

    def _field(self, each: Instruction) -> Value:
        return self._part_of(self._operand(each), each.name)

    def _element(self, each: Instruction) -> Value:
        address, index = self._operand(each), self._operand(each, 1)
        number = index.number
        part = self._part_of(address, "[]" if number is None else f"[{number}]")
        return part.at_most(index.level, index.why) if index.level < part.level else part

    def _decay(self, each: Instruction) -> Value:
        address = self._operand(each)
        for target in address.targets or ():
            if not isinstance(target, Place):
                continue
            slots = self.cells.get((target.frame, target.cell), {})
            exact = slots.get(target.path)
            elements = any(len(known) > len(target.path) for known in slots)
            cell = self._cell_of(target)
            if self._is_array(target) or (cell is not None and cell.kind == "shared" and not target.path):
                return address
            if exact is not None and not elements:
                return self._read(address, each.span)
            if cell is not None and cell.pointer and not target.path:
                return self._read(address, each.span)
        return address

    def _cell_of(self, place: Place) -> Cell | None:
        if isinstance(place.cell, str) or place.frame >= len(self.machine._frames):
            return None
        cells = self.machine._frames[place.frame].ir.cells
        return cells[place.cell] if 0 <= place.cell < len(cells) else None

    def _load(self, each: Instruction) -> Value:
        return self._read(self._operand(each), each.span)

    def _read(self, address: Value, span: Span) -> Value:
        if address.tag == "volatile":
            return _changing("volatile memory", address, span)
        if address.targets is None:
            return Value(address.level, why=address.why)
        found = []
        for target in address.targets:
            if isinstance(target, (Closure, Named)):
                found.append(Value(GRID, targets=frozenset((target,))))
                continue
            assert isinstance(target, Place)
            cell = self._cell_of(target)
            if self._is_array(target):
                found.append(Value(GRID, targets=frozenset((target,))))
                continue
            if cell is not None and cell.kind == "shared":
                if cell.volatile:
                    return _changing(cell.name, address, span)
                found.append(Value(BLOCK, why=Reason("memory of the block", *span)))
                continue
            value = _lookup(self.cells.get((target.frame, target.cell), {}), target.path)
            if value is None:
                value = Value(GRID)  # It was never given a value, so that no program may depend on it.
            if cell is not None and not target.path and cell.type and not cell.pointer and not value.tag:
                name = _class_name(cell.type)
                if self.machine._program.fields(self.frame.path, name) is not None:
                    value = value._replace(tag=f"class:{name}")
                elif _TILE.search(cell.type) or "group" in cell.type:
                    value = value._replace(tag=_group_of_type(cell.type))
            found.append(value)
        if not found:
            return Value(address.level, why=address.why)
        value = join(found)
        return value.at_most(address.level, address.why) if address.level < value.level else value

    def _store(self, each: Instruction) -> None:
        self._write(self._operand(each), self._operand(each, 1))

    def _write(self, address: Value, value: Value) -> None:
        targets = [target for target in address.targets or () if isinstance(target, Place)]
        given = self._given()
        strong = len(targets) == 1 and "[]" not in targets[0].path
        for target in targets:
            cell = self._cell_of(target)
            if cell is not None and cell.kind == "shared":
                continue
            if cell is not None and cell.volatile and not cell.pointer:
                value = value._replace(low=None, high=None, affine=None)
            key = (target.frame, target.cell)
            if strong:
                _store(self.cells, key, target.path, value, given)
            else:
                _weaken(self.cells, key, target.path, value.at_most(address.level, address.why), given)

    def _default(self, each: Instruction) -> None:
        assert each.number is not None
        if self.frame.given <= each.number - (self.ir.this >= 0):
            if self.ir.cells[each.number].kind == "reference":
                self.cells[self.depth, each.number] = {
                    ("&",): Slot(self._hidden(self._operand(each, 1), each, 0), self._given())
                }
            else:
                self._write(self._operand(each), self._operand(each, 1))

    def _target(self, each: Instruction) -> Value:
        """What a pointer points to: of an array, an element."""
        value = self._operand(each)
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
        """The type of a part of a variable, "[]" behind it for an array's; empty if it is not known."""
        cell = self._cell_of(place)
        if cell is None:
            return ""
        type_name = cell.type + (" *" if cell.pointer else "") + ("[]" if cell.array else "")
        for name in place.path:
            if name.startswith("["):
                type_name = type_name.removesuffix("[]") if type_name.endswith("[]") else type_name.removesuffix(" *")
                continue
            fields = self.machine._program.fields(self.frame.path, _class_name(type_name))
            type_name = dict(fields or ()).get(name, "")
        return type_name

    def _is_array(self, place: Place) -> bool:
        return self._type_at(place).endswith("[]")

    def _assign(self, each: Instruction) -> None:
        address, value = self._operand(each), self._operand(each, 1)
        for target in address.targets or ():
            if not isinstance(target, Place) or target.path:
                continue
            cell = self._cell_of(target)
            if cell is None or not cell.type or cell.pointer:
                continue
            name = _class_name(cell.type)
            if self.machine._program.fields(self.frame.path, name) is not None:
                found = self.machine._program.callees(self.frame.path, "operator=", name, 1)
                if found:
                    self._invoke(found, [value], [None], each, address)
                    return
            elif not is_wide(cell.type):
                value = _narrowed(value, cell.type)
        self._write(address, value)

    def _unary(self, each: Instruction) -> Value:
        return unary(each.name, self._operand(each))

    def _least(self, each: Instruction) -> Value:
        return least(self.registers.get(register, Value(GRID)) for register in each.operands)

    def _binary(self, each: Instruction) -> Value:
        one, two = self._operand(each), self._operand(each, 1)
        if one.tag.startswith("class:") or two.tag.startswith("class:"):
            made = self._by_operator(each, one, two)
            if made is not None:
                return made
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

    def _by_operator(self, each: Instruction, one: Value, two: Value) -> Value | None:
        program, name = self.machine._program, f"operator{each.name}"
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

    def _hidden(self, value: Value, each: Instruction, position: int) -> Value:
        """An address for an object that has none."""
        place = Place(self.depth, f"object {each.target} {position}")
        _store(self.cells, (place.frame, place.cell), (), value, self._given())
        return Value(GRID, targets=frozenset((place,)))

    def _cast(self, each: Instruction) -> Value:
        value, type_name = self._operand(each), each.type
        if "*" in type_name:
            return value._replace(tag="volatile") if "volatile" in type_name else value
        if value.targets and any(isinstance(target, (Closure, Named)) for target in value.targets):
            return value
        if value.tag.startswith("class:"):
            found = self.machine._program.callees(
                self.frame.path, f"operator {_class_name(type_name)}", value.tag[6:], 0
            )
            if found:
                return self._invoke(found, [], [], each, self._hidden(value, each, 0))
        return value if is_wide(type_name) else _narrowed(value, type_name)

    def _name(self, each: Instruction) -> Value:
        program, path, name = self.machine._program, self.frame.path, each.name
        short = name.rpartition("::")[2].partition("<")[0].strip()
        if short == "hipThreadIdx_x":
            return Value(VARYING, 0, 1023, Affine(Axis.ROW), why=Reason(name, *each.span))
        if short in self.ir.template_names:
            numbers = program.numbers(self.ir, short)
            if not 0 < len(numbers) <= 8:
                return Value(GRID)
            return join(map(constant, sorted(numbers)))._replace(numbers=tuple(sorted(numbers)))
        if WARP_SIZES.fullmatch(short.encode()):
            return constant(LANES)
        number = program.number(path, short)
        if number is not None:
            return constant(number)
        if program.is_function(path, short):
            return Value(GRID, targets=frozenset((Named(short),)))
        if BY_THREAD.fullmatch(short.encode()):
            return varying(f"{short} is each thread's own", each.span)
        if program.is_volatile(path, short):
            return _changing(short, Value(GRID), each.span)
        return Value(BLOCK, why=Reason(f"{short}, which is not defined here", *each.span))

    def _return_address(self, each: Instruction) -> None:
        self.frame.result_address.append(self._operand(each))

    def _result_address(self, each: Instruction) -> Value:
        register = each.operands[0]
        if register in self.addresses:
            return self.addresses[register]
        return self._hidden(self._operand(each), each, 0)

    def _length(self, each: Instruction) -> Value:
        address = self._operand(each)
        return Value(address.level, why=address.why)

    def _part(self, each: Instruction) -> Value:
        value = self._read(self._operand(each), each.span)
        assert each.number is not None
        if each.number < len(value.fields):
            return value.fields[each.number][1]
        return value.bare()

    # ---- calls

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
        site = self._site(each)
        for callee in callees:
            # Objects that are handed by value have places of their own.
            outcomes.append(
                self.machine._call(
                    callee,
                    values,
                    addresses,
                    before,
                    self.frame.blocks,
                    closure,
                    site,
                    this if callee.is_method else None,
                )
            )
        given = self._given()
        after: Cells = {}
        for key in dict.fromkeys(key for outcome in outcomes for key in outcome.cells):
            found = [outcome.cells[key] for outcome in outcomes if key in outcome.cells]
            slots: dict[tuple[str, ...], Slot] = {}
            for path in dict.fromkeys(path for one in found for path in one):
                parts = [one[path] for one in found if path in one]
                old = before.get(key, {}).get(path)
                if old is not None and all(part == old for part in parts):
                    slots[path] = old
                else:
                    slots[path] = Slot(join(part.value for part in parts), given)
            after[key] = slots
        self.cells = after
        made = [outcome.address for outcome in outcomes if outcome.address is not None]
        returning = [callee for callee in callees if callee.ir.returns_reference]
        if made and len(returning) == len(callees):
            self.addresses[each.target] = join(made)
        return join(outcome.value for outcome in outcomes)

    def _havoc(self, addresses: Iterable[Value | None], why: Reason) -> None:
        for address in addresses:
            for target in (address.targets if address is not None else None) or ():
                if isinstance(target, Place):
                    self._write(Value(VARYING, targets=frozenset((target,)), why=why), Value(VARYING, why=why))

    def _do_call(self, each: Instruction) -> Value:
        kinds, first, this = each.type, 0, None
        if kinds.startswith("t"):
            kinds, first, this = kinds[1:], 1, self._operand(each)
        values, addresses = self._arguments(each, first, kinds)
        scope, _, short = each.name.partition("<")[0].rpartition("::")
        short = short.strip()
        program, path = self.machine._program, self.frame.path
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
        frame: _Frame | None = self.frame
        while frame is not None:
            if frame.ir.class_name:
                return frame.ir.class_name
            closure = frame.closure
            frame = self.machine._frames[closure.frame] if closure is not None and closure.frame < self.depth else None
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
            return Value(WARP, why=Reason(f"{short} of the warp", *each.span))
        if short in ("swap",) and len(addresses) == 2:
            self._swap(addresses)
            return Value(GRID)
        if PURE.fullmatch(name) is not None:
            made = least(values)
            for address in addresses:
                if address is not None and short in ("sincos", "sincosf", "modf", "frexp", "remquo", "memcpy"):
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
        why = Reason(f"{short}, which is not seen, may give each thread its own", *each.span)
        # What is handed by its name may be changed by a declaration that takes a reference; others are taken not to.
        changed = [
            address
            for position, address in enumerate(addresses)
            if self.machine._program.takes_reference(self.frame.path, short, position)
        ]
        self._havoc([*changed, *values], why)
        return Value(VARYING, why=why)

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
                    else self.machine._program.number(self.frame.path, size[1])
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
        program, path = self.machine._program, self.frame.path
        callees: list[Callee] = []
        if held.tag.startswith("class:"):
            callees += program.callees(path, each.name, held.tag[6:], len(values))
        else:
            callees += program.callees(path, each.name, "*", len(values))
        if callees:
            return self._invoke(callees, values, addresses, each, address)
        self._site(each)
        if PURE.fullmatch(each.name.encode()):
            return least((held, *values)).bare()
        why = Reason(f"{each.name}, which is not seen, may give each thread its own", *each.span)
        self._havoc([address, *addresses, *values], why)
        return Value(VARYING, why=why)

    def _of_group(self, each: Instruction, group: str, values: Sequence[Value]) -> Value:
        self._site(each)
        name, blocks = each.name, self.frame.blocks
        size = int(group) if group.isdigit() else {"block": BLOCK, "grid": GRID}.get(group, 1)
        level = size if group != "active" else WARP
        if group == "part":
            level = VARYING  # Neighbours may be in different parts.
        own = varying(f"{name} of each thread", each.span)
        if name in ("thread_rank", "thread_index"):
            if group.isdigit() and name == "thread_rank":
                return own._replace(low=0, high=size - 1, affine=Affine(Axis.LANE, 1, 0, size))
            if group in ("block", "grid") and name == "thread_rank":
                # Through all rows and layers of the block.
                return own._replace(
                    low=0, affine=Affine(Axis.LANE, 1, 0, BLOCK) if group == "block" else Affine(Axis.GRID)
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
        program, path = self.machine._program, self.frame.path
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
                outer = self.machine._frames[target.frame]
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
        if unknown and not made:
            found = program.callees(path, "operator()", "*", len(values))
            if found:
                self.cells = before
                made.append(self._invoke(found, values, addresses, each, address))
                unknown = False
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

    def _construct(self, each: Instruction) -> None:
        address = self._operand(each)
        values, addresses = self._arguments(each, 1, each.type)
        program, path = self.machine._program, self.frame.path
        name = each.name
        if not name:
            target = next(iter(address.targets or ()), None)
            cell = self._cell_of(target) if isinstance(target, Place) and not target.path else None
            name = _class_name(cell.type) if cell is not None and cell.type else ""
        fields = program.fields(path, name) if name else None
        if fields is None:
            vector = VECTOR.fullmatch(name.encode()) if name else None
            made = least(values)
            if vector is not None and (name != "dim3" or values):
                made = made._replace(fields=tuple(zip("xyzw", values, strict=False)))
            elif not name:
                made = made._replace(fields=tuple((f"#{i}", value) for i, value in enumerate(values)))
            elif len(values) == 1:
                made = values[0] if is_wide(name) else _narrowed(values[0], name)
            elif values:
                made = Value(
                    VARYING, why=Reason(f"{name}, which is not seen, may give each thread its own", *each.span)
                )
            self._write(address, made)
            return
        if len(values) == 1 and values[0].tag == f"class:{name}":
            self._write(address, values[0])
            return
        defaults = program.defaults(path, name)
        if defaults is not None:
            self._invoke([defaults], [], [], each, address)
        constructors = program.callees(path, name, name, len(values))
        if constructors and (values or any(callee.ir.parameters == 0 for callee in constructors)):
            self._invoke(constructors, values, addresses, each, address)
            return
        for (member, _), value in zip(fields, values, strict=False):
            self._write(self._part_of(address, member), value)


def _changing(name: str, address: Value, span: Span) -> Value:
    """Return what is read of memory that changes meanwhile: lanes of a wavefront read it by one instruction."""
    if address.level < WAVEFRONT:
        return Value(address.level, why=address.why)
    return Value(WAVEFRONT, why=Reason(f"{name} may change between the reads of two wavefronts", *span))


def _least_or_greatest(name: str, one: Value, two: Value) -> Value:
    made = least((one, two))
    pick = min if name == "min" else max
    low = pick(one.low, two.low) if one.low is not None and two.low is not None else None
    high = pick(one.high, two.high) if one.high is not None and two.high is not None else None
    return made._replace(low=low, high=high)


def _any_number(value: Value) -> Value:
    """A value without what only holds for a number, so that calls of a function by itself come to an end."""
    return value.bare()


def _by_value(made: Lambda, name: str) -> bool:
    if name in made.by_reference:
        return False
    return name in made.by_value or made.default == "="


def _class_name(type_name: str) -> str:
    text = re.sub(r"<.*>", "", type_name, flags=re.DOTALL)
    words = re.findall(r"[A-Za-z_]\w*", text.rpartition("::")[2])
    words = [word for word in words if word not in ("const", "static", "volatile", "struct", "class", "__restrict__")]
    return words[-1] if words else ""


def _group_of_type(type_name: str) -> str:
    tile = _TILE.search(type_name)
    if tile is not None:
        return f"group:{tile[1]}"
    if "grid_group" in type_name:
        return "group:grid"
    if "coalesced_group" in type_name:
        return "group:active"
    return (
        "group:block"
        if "thread_block" in type_name and "tile" not in type_name
        else "group:active"
        if "thread_group" in type_name or "thread_block_tile" in type_name
        else ""
    )


#: Operations that give the same each time.
_SAME_ALWAYS = frozenset(("cell", "constant", "unknown", "built-in", "name"))
_HANDLERS: Mapping[str, Callable[[_Activation, Instruction], Value | None]] = {
    "unknown": _Activation._unknown,
    "constant": _Activation._constant,
    "built-in": _Activation._built_in,
    "cell": _Activation._cell,
    "captured": _Activation._captured,
    "closure": _Activation._closure,
    "bind": _Activation._bind,
    "bound": _Activation._bound,
    "declare": _Activation._declare,
    "field": _Activation._field,
    "element": _Activation._element,
    "decay": _Activation._decay,
    "load": _Activation._load,
    "store": _Activation._store,
    "assign": _Activation._assign,
    "default": _Activation._default,
    "target": _Activation._target,
    "unary": _Activation._unary,
    "least": _Activation._least,
    "binary": _Activation._binary,
    "cast": _Activation._cast,
    "name": _Activation._name,
    "return address": _Activation._return_address,
    "result address": _Activation._result_address,
    "length": _Activation._length,
    "part": _Activation._part,
    "call": _Activation._do_call,
    "method": _Activation._method,
    "indirect": _Activation._indirect,
    "construct": _Activation._construct,
}
