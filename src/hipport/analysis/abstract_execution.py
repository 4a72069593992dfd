# SPDX-License-Identifier: Apache-2.0
"""Run device code on abstract values, over all paths that control and calls may take.

    execution = AbstractExecution(program)
    execution.run(function)
    execution.values[path, span]      # the worst value of an expression there, over all calls that were seen

A function is run for each set of abstract arguments that it is called with, as if it were inlined; equal runs are
shared. Blocks are run until nothing changes. At the join of a divergent branch, a variable that the paths may have
assigned differently is at most as uniform as the branch condition; see hipport.analysis.reconvergence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from hipport.analysis.abstract_calls import AbstractCalls, all_targets
from hipport.analysis.abstract_memory import (
    Cells,
    Closure,
    FunctionName,
    Slot,
    around_elements,
    lookup,
    narrowed,
    reachable,
    reachable_from,
    store,
    updated,
)
from hipport.analysis.abstract_program import Callee, CallResult, Frame, Program, Site, Start
from hipport.analysis.built_ins import BY_THREAD, LANES, WARP_SIZES
from hipport.analysis.call_renaming import Renaming
from hipport.analysis.device_ir import DeviceIR, Instruction, Span
from hipport.analysis.lowering_state import is_wide
from hipport.analysis.memory_access import changing
from hipport.analysis.reconvergence import Loop, Reconvergence
from hipport.analysis.uniform_values import (
    BLOCK,
    GRID,
    MEMORY,
    UNIFORM,
    VARYING,
    Affine,
    Blocks,
    Numbering,
    Place,
    Reason,
    Value,
    constant,
    join,
    least,
    unary,
    varying,
    wider,
)

#: An instruction, the block and its position there, and what runs it.
_Step = tuple[tuple[int, int], Callable[[Any, Instruction], "Value | None"], Instruction]
#: Limits: how deep calls are followed, the sets of arguments for one function, the visits of one block.
_DEEPEST, _MOST_RUNS, _MOST_VISITS = 24, 24, 64
#: How often a recursive function is run until its result agrees with the assumed one.
_MOST_TURNS = 8


@dataclass
class _Entered:
    """A running function that may call itself: its arguments, the assumed result, and whether it did call itself."""

    arguments: list[Value]
    result: Value
    again: bool = False


class AbstractExecution:
    """The values of expressions of the functions that were run."""

    def __init__(self, program: Program) -> None:
        self.program = program
        #: By file, span, and the text of an expression that is part of a macro's expansion there (else empty): its
        #: worst value in any call.
        self.values: dict[tuple[object, Span, str], Value] = {}
        #: By file and span: how threads reach a call there.
        self.sites: dict[tuple[object, Span], Site] = {}
        self.ran: set[int] = set()
        #: Functions whose values do not reach a fixed point: nothing is known of them.
        self.endless: set[int] = set()
        self.frames: list[Frame] = []
        self._flows: dict[int, Reconvergence] = {}
        self._steps: dict[tuple[int, int], tuple[list[_Step], list[_Step]]] = {}
        self._known: dict[object, tuple[CallResult, tuple[tuple[Numbering, int], ...]]] = {}
        #: The assumptions on blocks so far.
        self._assumed: list[tuple[Numbering, int]] = []
        self.escaped: set[tuple[int, int | str]] = set()
        self._order: list[object] = []
        self._entered: dict[int, _Entered] = {}
        self._runs: dict[int, int] = {}
        self._keep: list[object] = []
        self.types: dict[tuple[str, bool, int, tuple[str, ...]], str] = {}
        self.tags: dict[str, str] = {}
        self.addresses: dict[tuple[int, int], Value] = {}
        self.never_destroyed: set[str] = set()

    def run(self, callee: Callee, blocks: Blocks, arguments: Sequence[Value]) -> None:
        """Run a function that is not called, with these arguments: a kernel, or a function whose calls are not seen."""
        self.frames = []
        assume = blocks.assume

        def noted(numbering: Numbering, size: int) -> None:
            assert assume is not None
            self._assumed.append((numbering, size))
            assume(numbering, size)

        noting = blocks if assume is None else blocks._replace(assume=noted)
        self.call(callee, Start(arguments, [None] * len(arguments), {}, noting, Site(GRID, None)))

    # ---- calls

    def call(self, callee: Callee, start: Start) -> CallResult:
        """Run a function, unless it was run with equal input; see Start."""
        ir, arguments = callee.ir, start.arguments
        if ir.unread is not None:
            why = Reason(f"{ir.name or 'a lambda'}: {ir.unread[0]}", *ir.unread[1], callee.path)
            return self._nothing_known(start, why)
        simple = start.this is None and start.closure is None
        simple = simple and not any(value.targets or value.fields for value in arguments)
        if any(frame.ir is ir for frame in self.frames):
            entered = self._entered.get(id(ir))
            if not simple or entered is None or len(entered.arguments) != len(arguments):
                return self._nothing_known(start, Reason(f"{ir.name} calls itself"))
            pairs = zip(entered.arguments, (value.bare() for value in arguments), strict=True)
            entered.arguments = [join(pair) for pair in pairs]
            entered.again = True
            return CallResult(entered.result, None, start.cells)
        if len(self.frames) >= _DEEPEST:
            return self._nothing_known(start, Reason(f"calls of {ir.name} are nested too deeply"))
        if not simple:
            return self._run_with(callee, start)
        # A recursive call is first assumed to return the most uniform value; if that turns out wrong, it is run again.
        entered = self._entered[id(ir)] = _Entered(list(arguments), UNIFORM)
        try:
            for _ in range(_MOST_TURNS):
                mark, given = len(self._order), list(entered.arguments)
                outcome = self._run_with(callee, start._replace(arguments=given))
                if not entered.again or (entered.arguments == given and outcome.value.bare() == entered.result):
                    return outcome
                if entered.arguments == list(arguments):
                    entered.arguments = [value.bare() for value in arguments]
                entered.result = join((entered.result, outcome.value)).bare()
                for key in self._order[mark:]:
                    self._known.pop(key, None)
                del self._order[mark:]
        finally:
            del self._entered[id(ir)]
        return self._nothing_known(start, Reason(f"{ir.name} calls itself"))

    def _run_with(self, callee: Callee, start: Start) -> CallResult:
        """Run a function that is not running yet, unless it was run with equal input."""
        ir, depth = callee.ir, len(self.frames)
        cells = self._parameters(ir, start)
        reached = reachable(cells, depth, start.closure)
        cells = {each: cells[each] for each in reached}
        alone = start.closure is None and all(key[0] == depth for key in reached)
        alone = alone and not any(slot.value.targets for key in reached for slot in cells[key].values())
        # A value without targets is the same at every depth of calls.
        how = (start.control.level, start.closure, len(start.arguments), start.blocks.shapes)
        renaming = None
        if not alone and start.closure is None and self.escaped.isdisjoint(reached):
            renaming = Renaming(cells, depth, self.frames)
            if not renaming.possible or renaming.reaches_any(self.escaped):
                renaming = None
        memory = frozenset(
            (number if alone else (of, number), path, slot.value, () if alone else slot.definition)
            for of, number in reached
            for path, slot in cells[of, number].items()
        )
        keys: list[object] = [(id(ir), None if alone else depth, memory, how)]
        if renaming is not None:
            keys.append((id(ir), renaming.input, how))
        for known in keys:
            found = self._known.get(known)
            if found is not None:
                outcome, assumed = found
                # Another kernel that reaches it makes the same assumptions about its own blocks.
                for each in assumed:
                    assert start.blocks.assume is not None
                    start.blocks.assume(*each)
                if renaming is not None and known is keys[-1]:
                    outcome = renaming.restored(outcome)
                return outcome._replace(cells=updated(start.cells, outcome.cells))
        self._runs[id(ir)] = self._runs.get(id(ir), 0) + 1
        if self._runs[id(ir)] > _MOST_RUNS or id(ir) in self.endless:
            return self._nothing_known(start, Reason(f"{ir.name} is called with too many different values"))
        self.frames.append(Frame(ir, callee.path, start.blocks, start.closure, len(start.arguments)))
        mark, escaped = len(self._assumed), len(self.escaped)
        try:
            outcome = _Activation(self, cells, start.control).run()
        finally:
            self.frames.pop()
        self.ran.add(id(ir))
        self._keep.append(ir)
        assumed = tuple(dict.fromkeys(self._assumed[mark:]))
        # Variables that escaped have not escaped for another call.
        shared = renaming.renamed(outcome) if renaming is not None and escaped == len(self.escaped) else None
        for known, made in zip(keys, (outcome, shared), strict=False):
            if made is not None:
                self._known[known] = made, assumed
                self._order.append(known)
        return outcome._replace(cells=updated(start.cells, outcome.cells))

    def _parameters(self, ir: DeviceIR, start: Start) -> Cells:
        """Return the variables at the entry of a function: its parameters, and all others that exist."""
        depth = len(self.frames)
        cells = dict(start.cells)
        offset = 0
        for number, cell in enumerate(ir.cells[: ir.parameters + (ir.this >= 0)]):
            key, definition = (depth, number), (depth, -1, number)
            if number == ir.this:
                cells[key] = {(): Slot(start.this or varying("`this` is not known"), definition)}
                offset = 1
                continue
            position = number - offset
            if cell.pack:
                cells[key] = {("&",): Slot(self._packed(cells, start, position, number), definition)}
                continue
            if cell.kind == "pack":
                value = least(start.arguments[position:]) if position < len(start.arguments) else UNIFORM
                store(cells, key, (), value, definition)
                continue
            if position < len(start.arguments):
                value = start.arguments[position]
            else:
                seen = number in self._defaults(ir)
                value = UNIFORM if seen else varying(f"hipport does not see the default of {cell.name}")
            address = start.addresses[position] if position < len(start.addresses) else None
            if cell.kind != "reference":
                if not cell.pointer and not is_wide(cell.type):
                    value = narrowed(value, cell.type)
                store(cells, key, (), value, definition)
                continue
            if address is None:
                # It is bound to an object that only the call has.
                hidden = Place(depth, f"argument {number}")
                store(cells, (depth, hidden.cell), (), value, definition)
                address = Value(GRID, targets=frozenset((hidden,)))
            cells[key] = {("&",): Slot(address, definition)}
        return cells

    def _defaults(self, ir: DeviceIR) -> frozenset[int]:
        """The parameters whose default values are seen."""
        return frozenset(
            each.number
            for block in ir.blocks
            for each in block.instructions
            if each.operation == "default" and each.number is not None
        )

    def _packed(self, cells: Cells, start: Start, position: int, number: int) -> Value:
        """The places that a pack of references stands for."""
        depth = len(self.frames)
        targets: frozenset[object] = frozenset()
        level: list[Value] = [UNIFORM]
        for i in range(position, len(start.arguments)):
            address = start.addresses[i] if i < len(start.addresses) else None
            if address is None or address.targets is None:
                hidden = Place(depth, f"argument {number} {i}")
                store(cells, (depth, hidden.cell), (), start.arguments[i], (depth, -1, number))
                address = Value(GRID, targets=frozenset((hidden,)))
            level.append(address)
            targets |= address.targets or frozenset()
        return least(level)._replace(targets=targets)

    def _nothing_known(self, start: Start, why: Reason) -> CallResult:
        """The outcome of a call that is not followed: all memory that it can reach may hold anything."""
        definition, anything = (len(self.frames), -2, 0), Value(VARYING, why=why)
        after = dict(start.cells)
        values = [value for value in (*start.addresses, *start.arguments, start.this) if value is not None]
        if start.closure is not None:
            values.append(Value(GRID, targets=frozenset((start.closure,))))
        direct: set[tuple[int, int | str]] = set()
        for target in (target for value in values for target in value.targets or ()):
            if isinstance(target, Place):
                direct.add((target.frame, target.cell))
                store(after, (target.frame, target.cell), around_elements(target.path), anything, definition)
        # What these lead to: by members and pointers in memory, and what a lambda captured.
        for key in self.escaped.union(*(reachable_from(start.cells, value) for value in values)) - direct:
            if key in after:
                known = after[key] or {(): Slot(UNIFORM, definition)}
                after[key] = {
                    path: slot if path == ("&",) else Slot(anything, definition) for path, slot in known.items()
                }
        return CallResult(Value(VARYING, why=why), None, after)

    def flow(self, ir: DeviceIR) -> Reconvergence:
        """Return where threads of a function reconverge."""
        if id(ir) not in self._flows:
            self._flows[id(ir)] = Reconvergence(ir.blocks)
            self._keep.append(ir)
        return self._flows[id(ir)]

    def steps(self, ir: DeviceIR, block: int) -> tuple[list[_Step], list[_Step]]:
        """Return the instructions of a block with their handlers, and those whose results may change."""
        known = self._steps.get((id(ir), block))
        if known is None:
            self._keep.append(ir)
            always: list[_Step] = [
                ((block, index), _HANDLERS[each.operation], each)
                for index, each in enumerate(ir.blocks[block].instructions)
            ]
            known = always, [step for step in always if step[2].operation not in _SAME_ALWAYS]
            self._steps[id(ir), block] = known
        return known

    def tell(self, path: object, span: Span, text: str, value: Value) -> None:
        """Record the value of an expression; one inside a macro's expansion by `text`."""
        known = self.values.get((path, span, text))
        if known is None or value.level < known.level:
            self.values[path, span, text] = value

    def tell_site(self, path: object, span: Span, site: Site) -> None:
        """Record how threads reach a call."""
        known = self.sites.get((path, span))
        if known is None or site.level < known.level:
            self.sites[path, span] = site


class _Activation(AbstractCalls):
    """One run of a function, until nothing changes."""

    machine: AbstractExecution

    def __init__(self, machine: AbstractExecution, start: Cells, control: Site) -> None:
        super().__init__(machine, start, control)
        self.flow = machine.flow(self.ir)
        #: How uniform branches are so far; and the consequences for joins and loops.
        self.branches: dict[int, tuple[int, Reason | None]] = {}
        self.joins: dict[int, tuple[int, Reason | None]] = {}
        self.loops: dict[int, tuple[int, Reason | None, Loop]] = {}
        self.before: dict[int, Cells] = {}
        self.after: dict[int, Cells] = {}
        self.headers = {loop.header: loop.blocks for loop in self.flow.loops if loop.once}

    def run(self) -> CallResult:
        """Run the blocks until nothing changes; return the outcome."""
        predecessors, position = self.ir.predecessors, self.flow.position
        # Sweeps in reverse postorder: blocks at back edges wait for the next sweep. If inner loops were run to their
        # fixed point first, they would be run again in each iteration of outer ones.
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
                self._end_objects(cells)
                changed = visits[block] == 1 or self.after.get(block) != self.cells
                self.after[block] = self.cells
                again = list(self.ir.blocks[block].successors) if changed else []
                again += self._branched(block)
                for each in again:
                    if each not in position:
                        continue
                    if visits.get(each, 0) >= _MOST_VISITS:
                        self.machine.endless.add(id(self.ir))
                        continue
                    if position[each] <= at:
                        following.add(each)
                    elif position[each] not in queued:
                        queued.add(position[each])
                        heappush(sweep, position[each])
        for said in self.ir.expressions:
            if said.block in self.after and said.register in self.registers:
                value = self.registers[said.register]
                if id(self.ir) in self.machine.endless:
                    value = varying("the analysis of its function does not converge", said.span)
                self.machine.tell(self.frame.path, said.span, said.text, value)
        for (block, _), (span, _site) in self.told_sites.items():
            level, why = self.regions.get(block, (GRID, None))
            site = Site(level, why) if level < self.control.level else self.control
            self.machine.tell_site(self.frame.path, span, site)
        return self._outcome()

    def _outcome(self) -> CallResult:
        last = self.after.get(self.ir.exit, self.start)
        result = lookup(last.get((self.depth, self.ir.result), {}), ()) or UNIFORM
        if id(self.ir) in self.machine.endless:
            result = varying("the analysis of its function does not converge")
        address = join(self.frame.result_address) if self.frame.result_address else None
        # The variables of the function no longer exist.
        kept = {
            key: slots
            if all(slot.definition[0] < self.depth for slot in slots.values())
            else {
                path: slot if slot.definition[0] < self.depth else Slot(slot.value, (self.depth, -3, 0))
                for path, slot in slots.items()
            }
            for key, slots in last.items()
            if key[0] < self.depth
        }
        return CallResult(self._lasting(result, last), address, kept)

    def _lasting(self, result: Value, last: Cells) -> Value:
        """A result without the parts that end with the function: its variables, and lambdas that it created."""
        if result.fields:
            result = result._replace(fields=tuple((name, self._lasting(part, last)) for name, part in result.fields))
        ended = [
            each for each in result.targets or () if isinstance(each, (Place, Closure)) and each.frame >= self.depth
        ]
        if not ended:
            return result
        for each in ended:
            if isinstance(each, Closure):
                # The variables that it may change are no longer followed.
                for value in self._captures(each, last):
                    self.machine.escaped |= reachable_from(last, value)
        others = (result.targets or frozenset()) - frozenset(ended)
        return result._replace(targets=others | {MEMORY} if others else None)

    def _captures(self, closure: Closure, last: Cells) -> list[Value]:
        """The values that a lambda of the function has, or the lambda itself if it has more than values."""
        made = self.ir.lambdas[closure.number] if closure.number < len(self.ir.lambdas) else None
        every = [Value(GRID, targets=frozenset((closure,)))]
        if made is None or id(made.body) != closure.code or made.body.lambdas:
            return every
        found: list[Value] = []
        for each in (each for block in made.body.blocks for each in block.instructions if each.operation == "captured"):
            slots = last.get((self.depth, f"captured {closure.number} {each.name}"))
            if each.type != "1" or slots is None:
                return every  # The variables that it captured by reference have ended.
            found += (slot.value for slot in slots.values())
        return found

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
        first, rest = sources[0][0], [cells for cells, *_ in sources[1:]]
        keys: Iterable[tuple[int, int | str]]
        if any(left for _, left, _ in sources):
            merged, keys = {}, dict.fromkeys(key for cells, *_ in sources for key in cells)
        else:
            # Most variables are the same object in all of them, so their contents need not be compared.
            merged = dict(first)
            different: dict[tuple[int, int | str], None] = {}
            for cells in rest:
                different.update([(key, None) for key, slots in first.items() if cells.get(key, slots) is not slots])
                if len(cells) != len(first) or cells.keys() != first.keys():
                    different.update([(key, None) for key in cells if key not in first])
            keys = different
        for key in keys:
            found = [(cells[key], left, loop) for cells, left, loop in sources if key in cells]
            slots = {}
            before = known.get(key)
            same = before is not None
            for path in dict.fromkeys(path for slots_, *_ in found for path in slots_):
                slot = self._merged(path, found, limit, why, block)
                old = before.get(path) if before is not None else None
                if old is None or old.definition != slot.definition or old.value != slot.value:
                    if old is not None and old.definition == slot.definition and visit > 2:
                        slot = Slot(wider(old.value, slot.value), slot.definition)
                    same = same and old is not None and old == slot
                slots[path] = slot
            merged[key] = before if same and before is not None and len(before) == len(slots) else slots
        for number, used in self.ir.choices.items():
            if block not in used:
                merged.pop((self.depth, number), None)
        return merged

    def _left(self, block: int, successor: int) -> list[tuple[int, Reason | None, Loop]]:
        """The loops that threads leave through the edge in different iterations."""
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
            if (
                inside
                and entered
                and slot is not None
                and (slot.definition[0] != self.depth or slot.definition[1] not in inside)
            ):
                continue  # the loop does not assign it: it keeps its value from before the loop
            if slot is None:
                value = lookup(each, path) if path != ("&",) else None
                if value is None:
                    continue
                slot = Slot(value, (self.depth, -4, 0))
            for level, reason, loop in left:
                if slot.definition[0] == self.depth and slot.definition[1] in loop.blocks:
                    slot = Slot(slot.value.at_most(level, reason), (self.depth, slot.definition[1], -2 - loop.header))
            slots.append(slot)
        if len(slots) == 1:
            return slots[0]
        if all(slot.definition == slots[0].definition for slot in slots):
            return Slot(join(slot.value for slot in slots), slots[0].definition)
        value = join(slot.value for slot in slots).at_most(limit, why)
        return Slot(value, (self.depth, block, -1))

    def _branched(self, block: int) -> list[int]:
        """Record the effect of the branch at the end of a block; return the blocks that have to be run again."""
        of = self.ir.blocks[block]
        if of.condition is None or len(set(of.successors)) < 2:
            return []
        value = self.registers.get(of.condition, UNIFORM)
        level = value.level
        if value.number is not None or level >= GRID or level >= self.branches.get(block, (GRID, None))[0]:
            return []
        why = (
            value.why
            if value.why is not None and level < BLOCK
            else Reason("the block's number decides", *of.span, self.frame.path)
        )
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
        registers, path = self.registers, self.frame.path
        always, changing_ones = self.machine.steps(self.ir, block)
        for at, handler, instruction in changing_ones if block in self.after else always:
            self.at = at
            made = handler(self, instruction)
            if made is not None:
                why = made.why
                if why is not None and why.path is None:
                    made = made.because(why._replace(path=path))
                registers[instruction.target] = made

    def _unknown(self, each: Instruction) -> Value:
        return varying(each.name, each.span)

    def _assembly(self, each: Instruction) -> Value:
        return varying("assembly code reads a value of each thread", each.span)

    def _outside(self, each: Instruction) -> None:
        """A store to a variable outside functions: a load of it is at most uniform in the block."""

    def _constant(self, each: Instruction) -> Value:
        return UNIFORM if each.number is None else constant(each.number)

    def _built_in(self, each: Instruction) -> Value:
        base, axis = each.name.split(".")
        shapes = self.frame.blocks.shapes
        if base == "blockIdx":
            return Value(BLOCK, 0, tag=each.name, why=Reason("the block's number", *each.span))
        if base in ("blockDim", "gridDim"):
            sizes: set[int | None] = {getattr(shape, axis) for shape in shapes or ()} if base == "blockDim" else set()
            one = sizes.pop() if len(sizes) == 1 else None
            if one is not None:
                return constant(one)._replace(tag=each.name)
            return Value(GRID, 1, tag=each.name)
        lengths: set[int | None] = {getattr(shape, axis) for shape in shapes or ()} or {None}
        longest = [length for length in lengths if length is not None]
        high = max(longest) - 1 if len(longest) == len(lengths) else None
        if high == 0:
            return constant(0)
        why = Reason(each.name, *each.span)
        if axis == "x":
            return Value(VARYING, 0, 1023 if high is None else high, Affine(Numbering.ROW), why=why, tag=each.name)
        return Value(self._rows(axis), 0, high, why=why, tag=each.name)

    def _rows(self, axis: str) -> int:
        """The level of threadIdx.y or .z, which follows from the length of the rows."""
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
        return VARYING

    def _unary(self, each: Instruction) -> Value:
        value = self._operand(each)
        if value.tag.startswith("class:"):
            made = self._by_own_operator(each, f"operator{each.name}", value, 1)
            if made is not None:
                return made
            value = self._converted(each, value)
        return unary(each.name, value)

    def _least(self, each: Instruction) -> Value:
        values = [self.registers.get(register, UNIFORM) for register in each.operands]
        return least(values)._replace(targets=all_targets(values))

    def _name(self, each: Instruction) -> Value:
        program, path, name = self.machine.program, self.frame.path, each.name
        short = name.rpartition("::")[2].partition("<")[0].strip()
        if short == "hipThreadIdx_x":
            return Value(VARYING, 0, 1023, Affine(Numbering.ROW), why=Reason(name, *each.span))
        if short in self.ir.template_names:
            numbers = program.numbers(self.ir, short)
            if not 0 < len(numbers) <= 8:
                return UNIFORM
            return join(map(constant, sorted(numbers)))._replace(numbers=tuple(sorted(numbers)))
        if WARP_SIZES.fullmatch(short.encode()):
            return constant(LANES)
        number = program.number(path, short)
        if number is not None:
            return constant(number)
        if program.is_function(path, short):
            return Value(GRID, targets=frozenset((FunctionName(short),)))
        if BY_THREAD.fullmatch(short.encode()):
            return varying(f"{short} is each thread's own", each.span)
        if program.is_macro(path, short):
            return varying(f"hipport does not follow the macro {short}", each.span)
        if program.is_volatile(path, short):
            return changing(short, UNIFORM, each.span)
        if self._class_around() and program.is_open(self._class_around()):
            return varying(f"{short} may be a member of a class that is not seen", each.span)
        if self.ir.has_macros:
            return varying(f"a macro may declare {short}", each.span)
        # A macro has no scope in front and no arguments behind; hipport's own are conditions of the preprocessor.
        bare = not short.startswith("__hipport_") and "::" not in name and "<" not in name
        if bare and not program.is_known(path, short):
            return varying(f"no file that hipport sees declares {short}", each.span)
        return Value(BLOCK, why=Reason(f"{short} is not defined here", *each.span))

    def _length(self, each: Instruction) -> Value:
        address = self._operand(each)
        places = [target for target in address.targets or () if isinstance(target, Place)]
        if places and all(map(self._is_array, places)):
            return Value(address.level, why=address.why)
        return varying("hipport does not know how many elements an object has", each.span)


#: Operations that give the same result each time.
_SAME_ALWAYS = frozenset(("cell", "constant", "unknown", "assembly", "built-in", "name"))
_HANDLERS: Mapping[str, Callable[[Any, Instruction], Value | None]] = {
    "unknown": _Activation._unknown,
    "assembly": _Activation._assembly,
    "outside": _Activation._outside,
    "constant": _Activation._constant,
    "built-in": _Activation._built_in,
    "cell": _Activation._cell,
    "captured": _Activation._captured,
    "closure": _Activation._closure,
    "bind": _Activation._bind,
    "bound": _Activation._bound,
    "declare": _Activation._declare,
    "end": _Activation._end,
    "field": _Activation._field,
    "member": _Activation._member,
    "element": _Activation._element,
    "decay": _Activation._decay,
    "load": _Activation._load,
    "store": _Activation._store,
    "assign": _Activation._assign,
    "default": _Activation._default,
    "initialize": _Activation._initialize,
    "compound": _Activation._compound,
    "target": _Activation._target,
    "unary": _Activation._unary,
    "least": _Activation._least,
    "binary": _Activation._binary,
    "cast": _Activation._cast,
    "name": _Activation._name,
    "return address": _Activation._return_address,
    "result address": _Activation._result_address,
    "length": _Activation._length,
    "nth": _Activation._nth,
    "call": _Activation._do_call,
    "method": _Activation._method,
    "indirect": _Activation._indirect,
    "construct": _Activation._construct,
    "defaults": _Activation._defaults,
}
