# SPDX-License-Identifier: Apache-2.0
"""Make the lanes that wait for a lock pass one by one: the edits, and the obstacles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis.functions import Call, Function, Variable, called_name, contains, nodes
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.spin_locks.taking import (
    LOOKS,
    NAME,
    SLEEP,
    Acquire,
    acquire_in,
    bare,
    calls_in,
    innermost_loop,
    is_flag,
    object,
    releases,
    takes,
    unlocks,
    when_taken,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_FENCE = _WORDS.compile(rb"\s*(?&thread_fence)(?&scopes)?\s*\(\s*\)\s*;\s*")
# Operations that all lanes of a warp or block must reach.
_TOGETHER = _WORDS.compile(rb"(?i)\w*(?&waits)\w*|__(?&lane_functions)")
BLOCK_TOGETHER = _WORDS.compile(rb"(?&block_barrier)\w*|(?&block_waits)\w+|(?&sync)|\w*(?&barrier)\w*")
TURNS = _WORDS.compile(rb"(?&hipport)::(?&turns)\b")
# `lane == 0`, and the computation of a lane's number in its warp.
_EQUAL = re.compile(rb"\(*([^=!<>|]+?)\)*==\d+\)*")
_LANE = _WORDS.compile(rb"(?i)(?&thread_index)\.x(?:%|&)|\b(?&lane_calls)\(")
_STATEMENTS = frozenset(("expression_statement",))
_STEP = b"    "
# The start of a line that is neither empty nor a directive.
_LINE_START = re.compile(rb"(?:\r\n|\n|\r)(?=[ \t]*[^\s#])")


def all_in_turns(function: Function, kernels: Kernels) -> bool:
    """Return whether all callers of the function that takes a lock take turns, or will after the edits."""
    calls = kernels.callers(function)
    return bool(calls) and not any(turns(call, kernels)[0] for call in calls)


def turns(call: Call, kernels: Kernels) -> tuple[str, tuple[Edit, ...]]:
    """Return why lanes cannot pass one by one from a call that takes a lock to its release, or the edits.

    Neither if no change is needed.
    """
    function, source = call.function, call.function.source
    if kernels.one_thread(function, call.node) or any(
        TURNS.search(function.text(each.statement).partition(b"{")[0]) for each in function.conditions(call.node)
    ):
        return "", ()
    lock = object(function, call.node)
    # The statement that contains the call, perhaps with another way to take the lock in its other branch.
    first: Node | None = call.node
    last = None
    while first is not None and first != function.body:
        if first.parent is not None and first.parent.type == "compound_statement":
            last = first.next_named_sibling
            while last is not None and not unlocks(function, last, lock, kernels, call.name):
                last = last.next_named_sibling
            if last is not None:
                break
        first = first.parent
    if first is None or last is None or first.parent is None:
        return "it is released elsewhere", ()
    if first.type == "if_statement" and first.child_by_field_name("alternative") is None:
        return by_warps(function, first, last, kernels)
    if first.type not in ("expression_statement", "if_statement") or last.type != "expression_statement":
        return "it is released elsewhere", ()
    statements = [first]
    while statements[-1] != last:
        following = statements[-1].next_named_sibling
        if following is None:
            return "it is released elsewhere", ()
        statements.append(following)
    why = fixed(function, statements, kernels) or used_behind(function, Span(first.start_byte, last.end_byte), last)
    if why:
        return why, ()
    return "", in_turns(source, first, last, b"one_by_one")


def in_turns(source: Cpp, first: Node, last: Node, whose: bytes) -> tuple[Edit, ...]:
    """Put the statements from `first` to `last` into a loop of turns."""
    name = b"hipport_turn"
    indent = source.indent(first.start_byte)
    steps = [b" "] * 3 if indent is None else [source.newline + indent + each for each in (b"", _STEP, 2 * _STEP)]
    opening = b"for (hipport::" + whose + b" " + name + b"; " + name + b"; " + name + b".next())" + steps[1]
    edits = [
        Edit(Span(first.start_byte, first.start_byte), opening + b"if (" + name + b".mine()) {" + steps[2]),
        Edit(Span(last.end_byte, last.end_byte), steps[1] + b"}"),
    ]
    return (*edits, *(_deeper(source, first.start_byte, last.end_byte) if indent is not None else ()))


def taken_for_others(
    function: Function, loop: Node, gives_back: Callable[[Node], bool]
) -> tuple[Node | None, Node | None]:
    """Return the `if` with the wait for a lock, and the statement after it with its release."""
    first: Node | None = loop
    while first is not None and first != function.body:
        if first.type == "if_statement" and first.parent is not None and first.parent.type == "compound_statement":
            break
        first = first.parent
    if first is None or first.type != "if_statement" or first.child_by_field_name("alternative") is not None:
        return None, None
    last = first.next_named_sibling
    while last is not None and not any(gives_back(node) for node in nodes(last) if node.type == "expression_statement"):
        last = last.next_named_sibling
    return first, last


def by_warps(function: Function, first: Node, last: Node, kernels: Kernels) -> tuple[str, tuple[Edit, ...]]:
    """Return why warps cannot pass one by one from `first` to `last`, or the edits; neither if they already do.

    In `first` one lane takes a lock for the others of its warp, and in `last` it releases it.
    """
    others = "some lanes take it for other lanes"
    source = function.source
    conditions = [each.child_by_field_name("condition") for each in (first, last)]
    if last.type != "if_statement" or last.child_by_field_name("alternative") is not None:
        return others, ()
    texts = {b"".join(function.text(each).split()) for each in conditions if each is not None}
    # If a warp is the whole wavefront, no other warp shares it.
    if len(texts) != 1 or None in conditions or b"hipport::native::" in function.text(function.body):
        return others, ()
    if any(TURNS.search(function.text(each.statement).partition(b"{")[0]) for each in function.conditions(first)):
        return "", ()
    # If more than one lane waits, they would block the owner even with turns.
    tested = _EQUAL.fullmatch(next(iter(texts)))
    if tested is None:
        return others, ()
    given = [function.text(each.node) for each in function.locals.assignments if each.variable.name == tested[1]]
    if len(given) > 1 or not _LANE.search(b"".join((given[0] if given else tested[1]).split())):
        return others, ()
    statements = [first]
    while statements[-1] != last:
        following = statements[-1].next_named_sibling
        if following is None:
            return others, ()
        statements.append(following)
    section = Span(first.start_byte, last.end_byte)
    names = set(NAME.findall(texts.pop()))
    for each in function.locals.assignments:
        if each.variable.name in names and section.start <= each.node.start_byte < section.end:
            name = each.variable.name.decode()
            return f"{name}, which selects the lane that takes it for others, changes in between", ()
    why = fixed(function, statements, kernels, BLOCK_TOGETHER) or used_behind(function, section, last)
    return (why, ()) if why else ("", in_turns(source, first, last, b"warp_by_warp"))


def of_warps(function: Function, span: Span, edits: tuple[Edit, ...], project: Project) -> Finding:
    need, header = include(function.source, project, "lock.h")
    return Finding(
        span,
        "warps",
        "warps take turns, from where one lane takes the lock for the others to where it releases it: otherwise the "
        "owner waits for the other warp of a wavefront of 64 lanes, which waits for the lock; assumes that the "
        "lanes of a warp reach this together",
        (*edits, *((need,) if need else ())),
        certainty=Certainty.REVIEW,
        creates=(header,),
    )


def fixed(
    function: Function,
    statements: list[Node],
    kernels: Kernels,
    together: re.Pattern[bytes] = _TOGETHER,
    returns: bool = False,
) -> str:
    """Return why a critical section cannot be put into a loop; `returns`: lanes may return from it."""
    source = function.source
    for node in statements:
        line = source.line_read(node.start_byte)
        if node.type.startswith("preproc") and node.type != "preproc_call":
            return "there are preprocessor conditions in the critical section"
        if _leaves(node, returns):
            return f"line {line} leaves the critical section"
        for call in calls_in(node):
            name = called_name(call, source.code)
            if together.fullmatch(name) or any(
                kernels.reaches(definition, together)
                for definition in (
                    kernels.definitions(source, name) if name in kernels.transitive_callers(source, together) else ()
                )
            ):
                return f"line {line} needs all lanes"
    return ""


def used_behind(function: Function, section: Span, last: Node) -> str:
    """Return a reason if a declaration in a critical section is used after it."""
    parent = last.parent
    if parent is None:
        return "it is released elsewhere"
    rest = set(NAME.findall(function.source.code, last.end_byte, parent.end_byte))
    for each in function.locals.variables:
        if section.start <= each.start < section.end and each.end == parent.end_byte and each.name in rest:
            return f"{each.name.decode()} is used after it"
    return ""


def _deeper(source: Cpp, start: int, end: int) -> list[Edit]:
    """Move the lines that begin between `start` and `end` two steps to the right."""
    return [Edit(Span(at, at), 2 * _STEP) for at in (m.end() for m in _LINE_START.finditer(source.text, start, end))]


def kept_around(
    function: Function, loop: Node, condition: Node | None, body: Node, acquire: Acquire, kernels: Kernels
) -> tuple[str, tuple[Edit, ...]]:
    """Return the edits that put the code after the loop, up to the unlock, into it; or the obstacle."""
    source = function.source
    taken = when_taken(function, condition, acquire)
    if taken is None:
        return "hipport does not understand the loop's comparison", ()
    statements: list[Node] = []
    following = loop.next_named_sibling
    while following is not None and not releases(function, following, acquire):
        statements.append(following)
        following = following.next_named_sibling
    if following is None:
        return "it is released elsewhere", ()
    why = fixed(function, statements, kernels) or used_behind(
        function, Span(loop.end_byte, following.start_byte), following
    )
    if why:
        return why, ()
    in_body = condition is None or not contains(condition, acquire.call)
    needless: list[Edit] = []
    for each in function.locals.assignments if in_body else ():
        if not contains(body, each.node) or contains(body, _declaration(function, each.variable) or function.body):
            continue
        name = each.variable.name
        if re.search(rb"\b" + name + rb"\b", function.source.code[loop.end_byte : function.body.end_byte]):
            return f"{name.decode()} is used after it", ()
        needless += _without(function, each.variable, loop)
    done = b"hipport_done"
    while any(each.name == done and each.start <= loop.start_byte < each.end for each in function.locals.variables):
        done += b"_"
    fence = b"__threadfence();"
    indent = source.indent(loop.start_byte)
    # The lines of the loop, of the `if` in it, and of the critical section; or all of them on one line.
    steps = [b" "] * 3 if indent is None else [source.newline + indent + each for each in (b"", _STEP, 2 * _STEP)]
    opening = (
        b"for (bool " + done + b" = false; !hipport::opaque(" + done + b");)" + steps[1] + b"if (" + taken + b") {"
    )
    if not statements or not _FENCE.fullmatch(function.text(statements[0])):
        opening += steps[2] + fence
    waiting = source[Span(body.start_byte, body.end_byte)]
    if in_body:
        sleep = next((each for each in calls_in(body) if SLEEP.fullmatch(called_name(each, source.code))), None)
        waiting = source[Span(sleep.start_byte, sleep.end_byte)] + b";" if sleep is not None else b""
    elif not waiting.strip(b" \t\r\n;{}") or LOOKS.search(function.text(body)):
        waiting = b""
    elif body.type != "compound_statement":
        waiting = b"{ " + waiting + b" }"
    if in_body and waiting:
        waiting = b"{ " + waiting + b" }"
    closing = steps[2] + done + b" = true;" + steps[1] + b"}" + (b" else " + waiting if waiting else b"")
    edits = [
        Edit(Span(loop.start_byte, loop.end_byte), opening),
        Edit(Span(following.end_byte, following.end_byte), closing),
    ]
    deeper = _deeper(source, loop.end_byte, following.end_byte) if indent is not None else []
    if not statements or not _FENCE.fullmatch(function.text(statements[-1])):
        ahead = source.indent(following.start_byte)
        apart = b" " if ahead is None else source.newline + ahead + (2 * _STEP if indent is not None else b"")
        at = Span(following.start_byte, following.start_byte)
        # At the start of a line both edits are one.
        edits.append(Edit(at, (2 * _STEP if any(each.span == at for each in deeper) else b"") + fence + apart))
        deeper = [each for each in deeper if each.span != at]
    edits += deeper
    return "", tuple(dict.fromkeys((*edits, *needless)))


def _declaration(function: Function, variable: Variable) -> Node | None:
    """Return the statement that declares a local variable."""
    node = function.body.descendant_for_byte_range(variable.start, variable.start)
    while node is not None and node.type != "declaration":
        node = node.parent
    return node


def _without(function: Function, variable: Variable, loop: Node) -> list[Edit]:
    """Return the edit that removes the declaration of a variable that only a loop has used."""
    declaration = _declaration(function, variable)
    if declaration is None or len(declaration.children_by_field_name("declarator")) != 1:
        return []
    between = function.source.code[declaration.end_byte : loop.start_byte]
    if re.search(rb"\b" + variable.name + rb"\b", between) or not contains(function.body, declaration):
        return []
    start, text = declaration.start_byte, function.source.text
    line = max(text.rfind(b"\n", 0, start), text.rfind(b"\r", 0, start)) + 1
    end = re.compile(rb"[ \t]*(?:\r\n|\n|\r)?").match(text, declaration.end_byte)
    if text[line:start].strip() or end is None:
        return [Edit(Span(start, declaration.end_byte), b"")]
    return [Edit(Span(line, end.end()), b"")]


def kept_inside(
    function: Function, loop: Node, condition: Node | None, body: Node, kernels: Kernels, project: Project
) -> Iterator[Finding]:
    """Find a loop that contains its critical section, which the compiler may move out again."""
    source = function.source
    for call in calls_in(body):
        if innermost_loop(call) != loop:
            continue
        definitions = kernels.definitions(source, called_name(call, source.code))
        if definitions and all(takes(definition, tries=True) for definition in definitions):
            acquire = Acquire(call, object(function, call), b"")
            found = any(
                unlocks(function, node, acquire.lock, kernels) for node in nodes(body) if node.type in _STATEMENTS
            )
        else:
            of_itself = acquire_in(function, call)
            if of_itself is None or of_itself.call != call:
                continue
            acquire = of_itself
            found = any(releases(function, node, acquire) for node in nodes(body) if node.type in _STATEMENTS)
        if not found:
            continue
        edits = [
            Edit(Span(name.start_byte, name.end_byte), b"hipport::opaque(" + function.text(name) + b")")
            for name in (nodes(condition) if condition is not None else ())
            if name.type == "identifier" and is_flag(function, name, body, acquire) and not _is_opaque(function, name)
        ]
        breaks = [
            node
            for node in nodes(body)
            if node.type == "break_statement"
            and innermost_loop(node) == loop
            and _behind(function, node, acquire, kernels)
        ]
        if not edits and breaks:
            edits = _by_flag(function, loop, condition, body, breaks)
            if not edits:
                yield Finding(
                    Span(loop.start_byte, loop.children[0].end_byte),
                    "loop",
                    f"the compiler moves the critical section of {acquire.lock.decode('utf-8', 'replace')} behind this "
                    "loop, because `break` follows it, and the lanes that wait for the lock then block its owner; "
                    "leave the loop by a flag in its condition, as hipport::opaque(flag), with "
                    "hipport/lock.h",
                    certainty=Certainty.MANUAL,
                )
                return
        if edits:
            need, header = include(source, project, "lock.h")
            yield Finding(
                Span(loop.start_byte, loop.children[0].end_byte),
                "loop",
                f"hipport::opaque() keeps the critical section of {acquire.lock.decode('utf-8', 'replace')} in the "
                "loop: the compiler would move it behind the loop, and the lanes that wait for the lock would block "
                "its owner",
                (*edits, *((need,) if need else ())),
                creates=(header,),
            )
        return


def _by_flag(function: Function, loop: Node, condition: Node | None, body: Node, breaks: list[Node]) -> list[Edit]:
    """Return the edits that end an endless loop by a flag in its condition instead of by `break`.

    All iterations then end at one place, so that the compiler cannot split it into nested loops, of which one waits in
    the other.
    """
    endless = condition is None or bare(function.text(condition)) in (b"true", b"1")
    if not endless or loop.type == "do_statement" or any(each.prev_named_sibling is None for each in breaks):
        return []
    if loop.type == "for_statement" and (
        loop.child_by_field_name("initializer") is not None or loop.child_by_field_name("update") is not None
    ):
        return []
    done = b"hipport_done"
    head = b"for (bool " + done + b" = false; !hipport::opaque(" + done + b");) "
    edits = [Edit(Span(loop.start_byte, body.start_byte), head)]
    for each in breaks:
        indent = function.source.indent(each.start_byte)
        apart = b" " if indent is None else function.source.newline + indent
        edits.append(Edit(Span(each.start_byte, each.end_byte), done + b" = true;" + apart + b"continue;"))
    return edits


def _is_opaque(function: Function, name: Node) -> bool:
    return function.source.code[: name.start_byte].rstrip().endswith(b"opaque(")


def _behind(function: Function, node: Node, acquire: Acquire, kernels: Kernels) -> bool:
    """Return whether the unlock precedes a `break`, which then counts as certain."""
    before = node.prev_named_sibling
    while before is not None:
        if releases(function, before, acquire) or unlocks(function, before, acquire.lock, kernels):
            return True
        before = before.prev_named_sibling
    return False


def _leaves(node: Node, returns: bool = False) -> bool:
    """Return whether control may leave a statement other than at its end; a `return` does not count if `returns`."""
    for each in nodes(node):
        if returns and each.type == "return_statement":
            continue
        if each.type in ("return_statement", "goto_statement", "labeled_statement", "co_return_statement"):
            return True
        if each.type in ("break_statement", "continue_statement"):
            outer = innermost_loop(each, breaks=each.type == "break_statement")
            if outer is None or not (node.start_byte <= outer.start_byte and outer.end_byte <= node.end_byte):
                return True
    return False
