# SPDX-License-Identifier: Apache-2.0
"""Say why threads reach a place together, or what a proof of it lacks: the grounds of findings.

    for ground in convergence(kernels, function, call, WARP): ...
    differing(kernels, function, condition, WARP).reason   # why it may vary between lanes

The uniformity comes from Kernels and is not computed anew. This module adds the origin of a value, in terms of the
program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.built_ins import BY_BLOCK, BY_THREAD, BY_WARP
from hipport.analysis.collective_summary import Meeting
from hipport.analysis.functions import (
    DEFINE,
    LOOPS,
    Condition,
    Function,
    Variable,
    arguments,
    bare,
    called_name,
    contains,
    function_at,
    is_method,
)
from hipport.analysis.kernels import Kernels
from hipport.analysis.macro_exits import exits_by_macros, unseen_at
from hipport.analysis.uniform_values import BLOCK, GRID, WARP, WAVEFRONT
from hipport.core.edits import Span
from hipport.core.proof import Ground, Scope
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

#: The maximum length of a quoted expression; the maximum number of origins of a value, conditions, and calls.
_QUOTED, _ORIGINS, _CONDITIONS, _CALLS = 60, 3, 8, 4
#: The maximum number of assignments to follow back, and of calls to follow up.
_STEPS = 4
_SIZES = {WARP: "all lanes of a warp", WAVEFRONT: "all lanes of a wavefront", 1: "each lane for itself"}
#: In which threads a value of such a level is uniform.
_WITHIN = {WARP: "the warp", WAVEFRONT: "the wavefront", 1: "each thread"}
_SHAPES = ("blockDim", "gridDim")
#: A reason that is only a name.
_NAME = re.compile(r"[\w.]+")


def place(source: Cpp, start: int) -> tuple[PurePath, int]:
    """Return the file and the line of a place, as the user wrote it."""
    at = min(start, max(len(source.text) - 1, 0))
    return source.path, source.line_read(at)


def quoted(text: bytes) -> str:
    """Return an expression in backquotes, on one line and shortened."""
    said = b" ".join(text.split()).decode("utf-8", "replace").replace("`", "'")
    return f"`{said if len(said) <= _QUOTED else said[: _QUOTED - 1] + '…'}`"


def _called(function: Function) -> str:
    return quoted(function.name or b"a lambda")


# ---- why a value is the same


def who(level: int) -> tuple[str, Scope]:
    """Return the threads for which a value of such a level is the same, in words."""
    if level >= BLOCK:
        return ("all threads of the launch", Scope.GRID) if level >= GRID else ("all threads of a block", Scope.BLOCK)
    said = _SIZES.get(level, f"each {level} neighbouring threads")
    return said, Scope.WARP if level >= WARP else Scope.GROUP if level > 1 else Scope.THREAD


def uniform(kernels: Kernels, function: Function, expression: Node, *, shown: bool = False) -> Ground:
    """Return the ground that an expression is uniform, for how many threads, and the origin of its values."""
    level = kernels.uniformity(function, expression, shown=shown)
    if level >= BLOCK:
        level = max(level, kernels.value(function, expression, shown=shown).level)
    _, scope = who(level)
    found = list(islice(_origins(kernels, function, expression, level), _ORIGINS + 1))
    reason = "; ".join(found[:_ORIGINS]) or "it is made of constants"
    if len(found) > _ORIGINS:
        reason += "; and others"
    return Ground(
        uniform_in(function, expression, level), scope, reason, *place(function.source, expression.start_byte)
    )


def uniform_in(function: Function, expression: Node, level: int) -> str:
    """Return the claim that an expression is uniform in the threads that share a value of such a level."""
    within = "the launch" if level >= GRID else "the block" if level >= BLOCK else _WITHIN.get(level)
    return f"{quoted(function.text(expression))} is uniform in {within or f'each {level} neighbouring threads'}"


class _Leaf(NamedTuple):
    function: Function
    node: Node
    steps: int


def _origins(kernels: Kernels, function: Function, expression: Node, level: int) -> Iterator[str]:
    """Yield the origins of the values in an expression, without duplicates."""
    told: set[str] = set()
    seen: set[Variable] = set()
    waiting = [_Leaf(function, expression, _STEPS)]
    while waiting:
        _, node, steps = leaf = waiting.pop()
        text = "".join(function.text(node).decode("utf-8", "replace").split())
        said = ""
        if node.type == "field_expression" and text.partition(".")[0] in ("threadIdx", "blockIdx", *_SHAPES):
            said = _of_built_in(kernels, function, text, level)
        elif node.type == "call_expression":
            said = _of_call(kernels, function, node, level)
            if not said:
                waiting += [leaf._replace(node=child) for child in reversed(node.named_children)]
        elif node.type == "identifier":
            variable = function.locals.named(function.text(node), node.start_byte)
            if variable in seen:
                continue
            if variable is not None:
                seen.add(variable)
            values = _reaching_definitions(function, variable, node) if variable is not None and steps else []
            waiting += [leaf._replace(node=value, steps=steps - 1) for value in reversed(values)]
            if not values or function.text(node) in function.parameters:
                said = _of_name(kernels, function, node, variable, level)
        else:
            waiting += [leaf._replace(node=child) for child in reversed(node.named_children)]
        if said and said not in told:
            told.add(said)
            yield said


def _reaching_definitions(function: Function, variable: Variable, node: Node) -> list[Node]:
    """Return the definitions that may reach a place, also from earlier iterations; none for shared variables."""
    last = function.locals.reaching_definition(variable, node)
    if variable in function.locals.shared or last is not None:
        return list(last.values) if last is not None and variable not in function.locals.shared else []
    loops = [each for each in function.around(node) if each.type in LOOPS]
    return [
        value
        for each in function.locals.definitions.get(variable, ())
        if each.node.start_byte < node.start_byte or any(contains(loop, each.node) for loop in loops)
        for value in each.values
    ]


def _of_built_in(kernels: Kernels, function: Function, text: str, level: int) -> str:
    kind = text.partition(".")[0]
    if kind == "blockIdx":
        return "" if level >= GRID else f"`{text}` is the same in a block"
    if kind in _SHAPES:
        return f"`{text}` is the same in the whole launch"
    threads = who(level)[0]
    blocks = kernels.blocks(function)
    if blocks:
        shapes = ", ".join(dict.fromkeys(" × ".join("?" if n is None else str(n) for n in each) for each in blocks))
        return f"`{text}` gives {threads} the same result, in blocks of {shapes} threads"
    return f"`{text}` gives {threads} the same result"


def _of_call(kernels: Kernels, function: Function, call: Node, level: int) -> str:
    name = called_name(call, function.source.code)
    if BY_BLOCK.fullmatch(name):
        return f"{quoted(name)} returns the same value to all threads of a block"
    if BY_WARP.fullmatch(name):
        return f"{quoted(name)} returns the same value to all participating lanes"
    if BY_THREAD.fullmatch(name):
        return f"{quoted(name)} gives the lanes the value of one of them"
    if kernels.value(function, call).level >= level and any(
        kernels.value(function, each).level < level for each in arguments(call)
    ):
        return f"{quoted(name)} returns the same value to {who(level)[0]}, whatever its arguments are"
    return ""


def _of_name(kernels: Kernels, function: Function, node: Node, variable: Variable | None, level: int) -> str:
    """Describe the origin of a name's value that no definition in the function determines."""
    name = function.text(node)
    outer = node.parent
    if outer is not None and outer.type in ("call_expression", "template_function", "qualified_identifier"):
        return ""
    if variable is None:
        if name in function.template_parameters:
            return f"{quoted(name)} is a parameter of a template"
        if kernels.named_constant(function.source, name) is not None:
            return f"{quoted(name)} is a constant"
        if is_method(function):
            return f"{quoted(name)} is a member of an object that the threads share, or declared outside"
        return f"{quoted(name)} is declared outside, once for all threads"
    if variable in function.locals.shared:
        return f"{quoted(name)} is in shared memory, of which a block has one copy"
    if name in function.parameters and kernels.value(function, node).level < level:
        return f"{quoted(name)} may differ, but the result here is the same for {who(level)[0]}"
    if name in function.parameters:
        if function.kernel:
            return f"{quoted(name)} is a parameter of the kernel {_called(function)}"
        calls = sum(1 for _ in kernels.called_at(function))
        every = f"all {_calls(calls)}" if calls != 1 else "the only call"
        return f"{quoted(name)} gets such a value in {every} of {_called(function)} that {_are(calls)} seen"
    return f"{quoted(name)} is a variable of {_called(function)}"


def _calls(count: int) -> str:
    return f"{count} call{'s' * (count != 1)}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


# ---- why it may not be


def differing(
    kernels: Kernels,
    function: Function,
    expression: Node,
    size: int,
    *,
    shown: bool = False,
    told_in: PurePath | None = None,
) -> Ground:
    """Return the ground that an expression may vary between `size` neighbouring threads, and why.

    `told_in`: the file of the finding, if it is not that of the expression.
    """
    at = place(function.source, expression.start_byte)
    of_file = _of_file(at[0], told_in or at[0])
    claim = uniform_in(function, expression, size)
    value = kernels.value(function, expression, shown=shown)
    warps = size > WARP and kernels.uniformity(function, expression, shown=shown) >= WARP
    between = "warps" if warps else "lanes"
    said = f"{quoted(function.text(expression))} in line {at[1]}{of_file} may vary between {between}"
    reason, where = "", at
    if value.level < size and value.why is not None:
        reason = value.why.text
        source = next((each for each in kernels.files(function.source) if each.path == value.why.path), None)
        if source is not None and value.why.start >= 0:
            where = place(source, value.why.start)
    else:
        found = _varying(kernels, function, expression, size)
        if found is not None:
            reason, where = function.text(found).decode("utf-8", "replace"), place(function.source, found.start_byte)
    if shown and kernels.uniformity(function, expression) >= size:
        assumed = kernels.assumption(function.source, function, size)
        reason = f"it is not shown that {assumed}, as not all launches of {_called(function)} are seen"
        return Ground(claim, who(size)[1], f"{said}: {reason}", *at, proven=False)
    reason = " ".join(reason.split()) or "its origin is not seen"
    reason = reason if len(reason) <= 2 * _QUOTED else reason[: 2 * _QUOTED - 1] + "…"
    behind = f" in line {where[1]}{_of_file(where[0], at[0])}" if where != at else ""
    if _NAME.fullmatch(reason):
        return Ground(claim, who(size)[1], f"{said}, because of `{reason}`{behind}", *where, proven=False)
    return Ground(claim, who(size)[1], f"{said}: {reason}{behind and f' ({behind.strip()})'}", *where, proven=False)


def _varying(kernels: Kernels, function: Function, expression: Node, size: int) -> Node | None:
    """Return the first varying part of an expression, or of the definitions of its variables."""
    seen: set[int] = set()
    node: Node | None = expression
    found = None
    for _ in range(_STEPS * 4):
        if node is None or node.id in seen:
            break
        seen.add(node.id)
        found = node
        parts = list(node.named_children)
        if node.type == "identifier":
            variable = function.locals.named(function.text(node), node.start_byte)
            definitions = function.locals.definitions.get(variable, ()) if variable is not None else ()
            parts = [value for each in definitions for value in each.values]
        node = next((part for part in parts if kernels.uniformity(function, part) < size), None)
    return found if found is not None and kernels.uniformity(function, found) < size else None


def separated(
    kernels: Kernels,
    source: Cpp,
    offset: int,
    meeting: Meeting,
    size: int,
    claim: str,
    told_in: PurePath | None = None,
) -> Ground:
    """Return what the proof of `claim` lacks for the call at `offset`, which lanes may reach separately.

    `told_in`: the file of the finding, if it is not that of the call.
    """
    at = place(source, offset)
    told_in = told_in or at[0]
    cause = meeting.cause
    if cause is None:
        reason = "there are too many calls or conditions to follow"
        if meeting.kind == "unclear":
            reason = "hipport does not understand the text of the function around it"
        elif meeting.kind == "turn":
            reason = "hipport does not follow which lanes skip a part of an iteration of a macro's loop"
        elif meeting.kind != "far":
            reason = "hipport does not follow which operand of a macro's `?:` each lane evaluates"
        return Ground(claim, who(size)[1], reason, *at, proven=False)
    function = cause.function
    node = function.body.descendant_for_byte_range(cause.start, cause.end)
    expression = _condition_of(node) if node is not None else None
    if expression is not None:
        ground = differing(kernels, function, expression, size, shown=bool(meeting.unless), told_in=told_in)
        return replace(ground, claim=claim)
    where = place(function.source, cause.start)
    text = quoted(function.source.code[cause.start : cause.end].partition(b"\n")[0])
    through = f"{text}, line {where[1]}{_of_file(where[0], told_in)}"
    reason = f"hipport does not follow which lanes reach it through {through}"
    unseen = unseen_at(kernels, function, node) if node is not None else b""
    if unseen:
        reason = f"hipport does not see the macro {quoted(unseen)}, by which some lanes may leave, {through}"
    if node is not None and node.type in ("identifier", "field_expression", "subscript_expression"):
        reason = f"lanes may call different functions by {through}"
    return Ground(claim, who(size)[1], reason, *where, proven=False)


def _condition_of(node: Node) -> Node | None:
    """Return the condition of a statement; None for a node without one, such as a call."""
    condition = node.child_by_field_name("condition")
    if condition is None and node.type in ("for_range_loop", "binary_expression"):
        condition = node.child_by_field_name("right" if node.type == "for_range_loop" else "left")
    return bare(condition) if condition is not None else None


def _of_file(path: PurePath, other: PurePath) -> str:
    return f" of {path.as_posix()}" if path != other else ""


# ---- how threads reach a place


class _Known:
    """Cached grounds for connected files."""

    def __init__(self, component: Component) -> None:
        self.callers: dict[tuple[Function, int, str], tuple[Ground, ...]] = {}
        self.macros: dict[tuple[PurePath, int, int], tuple[Ground, ...]] = {}


def convergence(kernels: Kernels, function: Function, node: Node, size: int, what: str = "call") -> tuple[Ground, ...]:
    """Return why `size` neighbouring threads reach a place together, or which of them do not.

    This covers the function and its callers. It holds if absent lanes cannot reach another `what` that waits for these;
    see hipport.analysis.convergence for calls.
    """
    known = kernels.of_component(function.source, _Known).callers
    key = (function, size, what)
    if key not in known:
        known[key] = tuple(_from_callers(kernels, function, size, what))
    return (*_conditions_within(kernels, function, node, size, what), *known[key])


def _conditions_within(kernels: Kernels, function: Function, node: Node, size: int, what: str) -> Iterator[Ground]:
    """Yield the conditions in a function on which a place depends, or the ground that there are none."""
    found = list(_deciding(kernels, function, node, size, what))
    if not found:
        claim = f"all threads that enter {_called(function)} reach it"
        reason = "no condition surrounds it, and no exit precedes it"
        yield Ground(claim, Scope.BLOCK, reason, *place(function.source, node.start_byte))
    yield from found


def _deciding(kernels: Kernels, function: Function, node: Node, size: int, what: str) -> Iterator[Ground]:
    """Yield the conditions in a function on which a place depends; of many only the first."""
    conditions = list(islice(function.conditions(node), _CONDITIONS + 1))
    # If assumptions about blocks were made in the file, only results without them are used here: others are reported.
    shown = bool(kernels.assumption(function.source))
    for condition in conditions[:_CONDITIONS]:
        if kernels.may_differ(function, condition.expression, size, shown=shown):
            yield _of_side(function, condition, what)
        else:
            yield uniform(kernels, function, condition.expression, shown=shown)
    if len(conditions) > _CONDITIONS:
        reason = f"more than {_CONDITIONS} conditions surround it, and all were checked"
        at = place(function.source, conditions[-1].expression.start_byte)
        yield Ground("the outer conditions hold in the same way", Scope.GROUP, reason, *at)
    yield from islice(_leaving(kernels, function, node, size, what, shown), _CONDITIONS)


def _of_side(function: Function, condition: Condition, what: str) -> Ground:
    """Describe what the lanes do that do not take the side of the place."""
    where = place(function.source, condition.expression.start_byte)
    text = quoted(function.text(condition.expression))
    if condition.loop:
        claim = f"the lanes that stay in the loop at {text} reach it together"
        reason = f"lanes that have left the loop reach no {what} that could be mixed up with it"
    else:
        claim = f"the lanes that take this branch at {text} reach it together"
        reason = f"lanes of the other branch reach no {what} that could be mixed up with it"
    return Ground(claim, Scope.GROUP, reason, *where)


def _leaving(kernels: Kernels, function: Function, node: Node, size: int, what: str, shown: bool) -> Iterator[Ground]:
    """Yield the exits before the place that only some threads may take."""
    told: set[int] = set()
    for leaving in function.exits_before(node):
        for condition in function.conditions(leaving):
            if condition.statement.id in told or condition.statement.start_byte <= node.start_byte < (
                condition.statement.end_byte
            ):
                continue
            told.add(condition.statement.id)
            where = place(function.source, leaving.start_byte)
            if not kernels.may_differ(function, condition.expression, size, shown=shown):
                yield uniform(kernels, function, condition.expression, shown=shown)
                continue
            text = quoted(function.text(condition.expression))
            claim = f"the lanes that do not leave at {text} in line {where[1]} reach it together"
            reason = f"lanes that have left reach no {what} that could be mixed up with it"
            if function.kernel and function.left_by(leaving, leaving.type) == function.body:
                reason = "nothing waits for lanes that have left the kernel"
            yield Ground(claim, Scope.GROUP, reason, *where)
    for by_macro in exits_by_macros(kernels, function, node):
        start = by_macro.node.start_byte
        if start in told or start > node.start_byte or not by_macro.differs(kernels, function, size, shown=shown):
            continue
        told.add(start)
        where = place(function.source, start)
        claim = f"the lanes that do not leave by {quoted(by_macro.name)} in line {where[1]} reach it together"
        reason = f"lanes that have left reach no {what} that could be mixed up with it"
        yield Ground(claim, Scope.GROUP, reason, *where)


def _from_callers(kernels: Kernels, function: Function, size: int, what: str) -> Iterator[Ground]:
    """Yield how threads reach a function."""
    at = place(function.source, function.node.start_byte)
    if function.kernel:
        yield Ground(f"all threads of a block enter {_called(function)}", Scope.BLOCK, "it is a kernel", *at)
        return
    calls = sum(1 for _ in kernels.called_at(function))
    if not calls:
        claim = f"threads that call {_called(function)} together reach it together"
        reason = "no call by name is seen, and no call through a pointer or an object separates them"
        yield Ground(claim, Scope.GROUP, reason, *at)
        return
    count = sum(each.kernel for each in kernels.with_callers(function))
    of = f", in the code of {count} kernel{'s' * (count != 1)}" if count else ""
    claim = f"threads that reach a call of {_called(function)} reach it"
    yield Ground(claim, Scope.GROUP, f"{_calls(calls)} of it {_are(calls)} seen{of}", *at)
    told: dict[Ground, None] = {}
    seen, waiting = {function}, [function]
    while waiting and len(told) < _CONDITIONS:
        for caller, node in islice(kernels.called_at(waiting.pop(0)), _CALLS):
            told.update(dict.fromkeys(_deciding(kernels, caller, node, size, what)))
            if caller not in seen and not caller.kernel:
                seen.add(caller)
                waiting.append(caller)
    yield from islice(told, _CONDITIONS)


def at_place(kernels: Kernels, source: Cpp, span: Span, size: int) -> tuple[Ground, ...]:
    """Return why `size` neighbouring threads reach the code at `span` together: in a function, or in a macro."""
    directive = source.directive(span.start)
    if directive is not None:
        known = kernels.of_component(source, _Known).macros
        key = (source.path, directive.start, size)
        if key not in known:
            known[key] = tuple(_in_macro(kernels, source, directive, size))
        return known[key]
    function = device_function(kernels, source, span.start)
    where = place(source, span.start)
    if function is None:
        other = function_at(source, span.start)
        named = _called(other) if other is not None else "the code around it"
        claim = f"threads that run {named} together reach it together"
        return (Ground(claim, Scope.GROUP, f"{named} is not known to be device code", *where, proven=False),)
    node = function.body.descendant_for_byte_range(span.start, span.end)
    if node is None or span.start < function.body.start_byte:
        claim = f"all threads that enter {_called(function)} reach it"
        return (Ground(claim, Scope.BLOCK, "it precedes the body", *where),)
    return convergence(kernels, function, node, size)


def device_function(kernels: Kernels, source: Cpp, offset: int) -> Function | None:
    """Return the innermost device function that contains a place."""
    found = [each for each in kernels.functions(source) if each.node.start_byte <= offset < each.node.end_byte]
    return min(found, key=lambda each: each.node.end_byte - each.node.start_byte, default=None)


def _in_macro(kernels: Kernels, source: Cpp, directive: Span, size: int) -> Iterator[Ground]:
    """Yield how threads reach the text of a macro: through its uses, as far as they are seen."""
    define = DEFINE.match(source.code, directive.start, directive.end)
    name = define[1] if define is not None else b""
    at = place(source, directive.start)
    uses = list(islice(_uses(kernels, source, name), _CALLS)) if name else []
    claim = f"threads that use {quoted(name)} together reach it together"
    seen = f"{len(uses)} use{'s' * (len(uses) != 1)} in functions" if uses else "no use in a function is seen"
    yield Ground(claim, Scope.GROUP, f"a macro is replaced by its text; {seen}", *at)
    told = (each for function, node in uses for each in convergence(kernels, function, node, size))
    yield from islice(dict.fromkeys(told), _CONDITIONS)


def _uses(kernels: Kernels, source: Cpp, name: bytes) -> Iterator[tuple[Function, Node]]:
    """Yield the functions that use a macro, with the places."""
    for other in kernels.files(source):
        for span, _ in other.names(frozenset((name,))) if name in other.words else ():
            function = device_function(kernels, other, span.start) if other.directive(span.start) is None else None
            node = function.body.descendant_for_byte_range(span.start, span.end) if function is not None else None
            if function is not None and node is not None and span.start >= function.body.start_byte:
                yield function, node
