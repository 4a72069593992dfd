# SPDX-License-Identifier: Apache-2.0
"""Lanes that wait for flags which other lanes set, perhaps lanes of their own wavefront."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis.functions import Function, arguments, called_name, contains, nodes
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.spin_locks.lock_attempts import WAITS
from hipport_passes.device.spin_locks.lock_turns import BLOCK_TOGETHER, TURNS, fixed, in_turns, used_behind
from hipport_passes.device.spin_locks.taking import NAME, changes, innermost_loop, is_look, waits_for

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
ATOMIC = _WORDS.compile(rb"(?&atomic)\w*")
# Short functions of the program that return the current value at a pointer, or set it.
_NOW = _WORDS.composed(
    rb"\bvolatile\b|\b(?&atomic)\w+|(?&loads)|\bld\w*(?&load_orders)|(?&hip_load)|\b(?&load)\w*\s*\("
)
_NAME_BEFORE = re.compile(rb"\w+\s*\Z")
_THEN = _WORDS.composed(
    rb"\bvolatile\b|\b(?&atomic)\w+|(?&stores)|\bst\w*(?&store_orders)|(?&hip_store)|\b(?&store)\w*\s*\("
)
_SHARED = _WORDS.composed(rb"\b(?&shared)\b[^;(){}=]*\b")
# Words without which there is no such function.
_LOADS = _WORDS.compile(
    rb"volatile|(?&atomic)\w+|\w*(?&loads)\w*|ld\w*(?&load_orders)\w*|\w*(?&hip_load)\w*|(?&load)\w*"
)
_STORES = _WORDS.compile(
    rb"volatile|(?&atomic)\w+|\w*(?&stores)\w*|st\w*(?&store_orders)\w*|\w*(?&hip_store)\w*|(?&store)\w*"
)
_SHORT = rb"(?P<name>\w+)\s*\([^(){};]*[*\]][^(){};]*\)\s*\{(?=[^{}]*(?:%s))[^{}]{0,600}?"
_READER = re.compile(rb"(?<!\bvoid)(?<!\bvoid )\b" + _SHORT % _NOW + rb"\breturn\b[^{}]*\}")
_WRITER = re.compile(rb"void(?<!\wvoid)\s+" + _SHORT % _THEN + rb"\}")


def progress(function: Function, loop: Node, kernels: Kernels, project: Project) -> Iterator[Finding]:
    """Find a loop in which lanes progress only as flags are set, if they set flags of their own after it."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    if body is None:
        return
    readers = project.union_over(function.source, readers_of)
    for test in nodes(body, frozenset(("if_statement",))):
        if innermost_loop(test) != loop:
            continue
        asked = test.child_by_field_name("condition")
        guarded = _guarded(test, body)
        if asked is None or guarded is None or not _gets_on_by(function, loop, condition, guarded):
            continue
        for base, index in _looked_at(function, asked, loop, readers):
            if not kernels.may_differ(function, index, 64):
                continue
            raised = _raised_behind(function, loop, base, project)
            if raised is None or not kernels.may_differ(function, raised[1], 64):
                continue
            head = Span(
                loop.start_byte, (loop if loop.type == "do_statement" or condition is None else condition).end_byte
            )
            why, edits = _of_a_warp(function, loop, *raised, kernels)
            flag = base.decode("utf-8", "replace")
            if edits:
                need, header = include(function.source, project, "lock.h")
                yield Finding(
                    head,
                    "flag",
                    f"warps take turns, from the wait for {flag} to the store of their own flag: two warps share a "
                    "wavefront of 64 lanes, which leaves the loop as a whole, and one may wait for the other; "
                    "assumes that a warp waits only for earlier warps, and that its lanes reach this together",
                    (*edits, *((need,) if need else ())),
                    certainty=Certainty.REVIEW,
                    creates=(header,),
                )
            elif why:
                yield Finding(
                    head,
                    "flag",
                    f"lanes leave this loop when {flag} is set, and set it themselves after it: a wavefront leaves "
                    f"the loop as a whole, so a lane that waits for another of its wavefront waits forever; {why}; "
                    "let lanes set it in the loop, or give each wavefront one place to wait for",
                    certainty=Certainty.MANUAL,
                )
            return


def _guarded(test: Node, body: Node) -> Span | None:
    """Return the code that runs only under an `if`: its branch, or the statements after a `continue`."""
    branch = test.child_by_field_name("consequence")
    if branch is None:
        return None
    inner = branch.named_children if branch.type == "compound_statement" else [branch]
    if len(inner) == 1 and inner[0].type == "continue_statement":
        return Span(test.end_byte, body.end_byte)
    return Span(branch.start_byte, branch.end_byte)


def _gets_on_by(function: Function, loop: Node, condition: Node | None, guarded: Span) -> bool:
    """Return whether every step towards the end of a loop is in `guarded`."""
    names = set(NAME.findall(function.text(condition))) if condition is not None else set()
    first = loop.child_by_field_name("initializer")
    steps = [
        each.node
        for each in function.locals.assignments
        if not each.declares
        and each.variable.name in names
        and contains(loop, each.node)
        and (first is None or not contains(first, each.node))
    ]
    inside = nodes(loop) if b"break" in function.text(loop) else ()
    steps += [each for each in inside if each.type == "break_statement" and innermost_loop(each, True) == loop]
    return bool(steps) and all(guarded.start <= each.start_byte and each.end_byte <= guarded.end for each in steps)


def _looked_at(function: Function, asked: Node, loop: Node, readers: frozenset[bytes]) -> Iterator[tuple[bytes, Node]]:
    """Yield the arrays, and the indices in them, that a condition reads while others may change them."""
    texts = [asked]
    for node in nodes(asked):
        if node.type == "identifier":
            variable = function.locals.named(function.text(node), node.start_byte)
            definitions = function.locals.definitions.get(variable, []) if variable is not None else []
            texts += [value for each in definitions if contains(loop, each.node) for value in each.values]
    for node in (inner for each in texts for inner in nodes(each)):
        place = None
        if node.type == "subscript_expression":
            place = _place(function, node)
            head = function.source.code[function.node.start_byte : function.body.end_byte]
            watched = re.search(rb"\bvolatile\b[^;,(){}=]*\b" + re.escape(place[0]) + rb"\b", head) if place else None
            if not watched and b"volatile" not in function.text(asked):
                place = None
        elif node.type == "call_expression" and (passed := arguments(node)):
            name = called_name(node, function.source.code)
            if name in readers or (ATOMIC.fullmatch(name) and not changes(function, passed)):
                place = _place(function, passed[0])
        if place is not None:
            yield place


def _raised_behind(function: Function, loop: Node, base: bytes, project: Project) -> tuple[Node, Node] | None:
    """Return where the array `base` is written after a loop, and the index there."""
    writers = project.union_over(function.source, _writers)
    for node in nodes(function.body):
        if node.start_byte < loop.end_byte:
            continue
        to = None
        if node.type == "assignment_expression":
            to = node.child_by_field_name("left")
        elif node.type == "call_expression" and (given := arguments(node)):
            name = called_name(node, function.source.code)
            if name in writers or (ATOMIC.fullmatch(name) and changes(function, given)):
                to = given[0]
        place = _place(function, to) if to is not None else None
        if place is not None and place[0] == base:
            return node, place[1]
    return None


def _of_a_warp(
    function: Function, loop: Node, raised: Node, index: Node, kernels: Kernels
) -> tuple[str, tuple[Edit, ...]]:
    """Return why warps cannot pass one by one from a loop to the place where a flag is set, or the edits."""
    if b"hipport::native::" in function.text(function.body):
        return "this code uses the whole wavefront as a warp, and its lanes set flags of their own", ()
    if any(TURNS.search(function.text(each.statement).partition(b"{")[0]) for each in function.conditions(loop)):
        return "", ()
    if kernels.uniformity(function, index) < 32:
        return "lanes of one warp set flags of their own", ()
    # The order in which a wavefront takes the branches of a condition is undefined.
    first = loop
    for each in function.conditions(loop):
        branches = each.statement.type == "if_statement" and each.statement.child_by_field_name("alternative")
        if branches and kernels.may_differ(function, each.expression, 64):
            first = each.statement
    statements = [first]
    while not contains(statements[-1], raised):
        following = statements[-1].next_named_sibling
        if following is None or first.parent is None or first.parent.type != "compound_statement":
            return f"it is set in line {function.source.line_read(raised.start_byte)}, which is in another block", ()
        statements.append(following)
    last = statements[-1]
    section = Span(first.start_byte, last.end_byte)
    # A lane that returns has completed its turn.
    why = fixed(function, statements, kernels, BLOCK_TOGETHER, returns=True)
    why = why or used_behind(function, section, last)
    return (why, ()) if why else ("", in_turns(function.source, first, last, b"warp_by_warp"))


def _place(function: Function, node: Node) -> tuple[bytes, Node] | None:
    """Return the name and the index of an element of an array, or of a pointer to one."""
    while node.type in ("parenthesized_expression", "cast_expression", "pointer_expression") and node.named_children:
        node = node.named_children[-1]
    base: Node | None
    index: Node | None
    if node.type == "subscript_expression":
        base, index = node.child_by_field_name("argument"), node.child_by_field_name("indices")
    elif node.type == "binary_expression":
        base, index = node.child_by_field_name("left"), node.child_by_field_name("right")
    else:
        return None
    if base is None or index is None or not NAME.fullmatch(function.text(base)):
        return None
    return function.text(base), index


def readers_of(source: Cpp) -> frozenset[bytes]:
    """Return the functions that return the current value at a pointer, and change nothing."""
    code = source.code
    found = set()
    done = 0
    for load, _ in source.names(_LOADS):
        # Braces without nested ones; before them, parentheses without nested ones.
        opening = code.rfind(b"{", done, load.start)
        bracket = code.rfind(b"(", 0, opening)
        if opening < 0 or bracket < 0 or code.find(b"}", opening, load.start) >= 0:
            continue
        done = opening + 1
        name = _NAME_BEFORE.search(code, max(0, bracket - 200), bracket)
        match = _READER.match(code, name.start()) if name is not None else None
        if match is not None:
            found.add(match["name"])
    return frozenset(found)


def _writers(source: Cpp) -> frozenset[bytes]:
    """Return the functions that set the value at a pointer."""
    found = _WRITER.finditer(source.code) if source.matched(_STORES) else ()
    return frozenset(match["name"] for match in found)


def for_the_block(function: Function, loop: Node) -> Iterator[Finding]:
    """Find a wait for shared memory, which only another thread of the block ends, perhaps of the same wavefront."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    if condition is None or body is None or WAITS.fullmatch(function.text(body)) is None:
        return
    if waits_for(function, loop) is not None:
        return  # It waits for a lock.
    head = function.source.code[function.node.start_byte : function.body.end_byte]
    for node in nodes(condition):
        if node.type == "identifier" and re.search(_SHARED + function.text(node) + rb"\b", head):
            yield Finding(
                Span(loop.start_byte, (loop if loop.type == "do_statement" else condition).end_byte),
                "flag",
                f"waits for {function.text(node).decode(errors='replace')}, which another thread of the block has "
                "to change: on 64 lanes two warps execute together, and one may wait forever for the other; let "
                "them meet at __syncthreads() instead",
                certainty=Certainty.MANUAL,
            )
            return


def own_flag(function: Function, condition: Node, kernels: Kernels, readers: frozenset[bytes]) -> bool:
    """Return whether the lanes of a wavefront wait for different places in shared state, or for different values.

    `readers` are functions that return the value at a pointer.
    """
    for node in nodes(condition):
        if node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or right is None:
                continue
            for looked, wanted in ((left, right), (right, left)):
                if is_look(function, looked) and kernels.uniformity(function, wanted) < 64:
                    return True
        if node.type == "call_expression" and called_name(node, function.source.code) == b"load":
            called = node.child_by_field_name("function")
            of = called.child_by_field_name("argument") if called is not None else None
            if of is not None and kernels.may_differ(function, of, 64):
                return True
        if node.type == "subscript_expression":
            base = node.child_by_field_name("argument")
            indices = node.child_by_field_name("indices")
            if base is None or indices is None or not kernels.may_differ(function, indices, 64):
                continue
            name = function.text(base)
            head = function.source.code[function.node.start_byte : function.body.end_byte]
            if b"volatile" in function.text(condition) or re.search(
                rb"\bvolatile\b[^;,(){}=]*\b" + re.escape(name) + rb"\b", head
            ):
                return True
        elif node.type == "call_expression":
            name = called_name(node, function.source.code)
            given = arguments(node)
            if name in readers and given and kernels.may_differ(function, given[0], 64):
                return True
            if name.startswith(b"atomic") and given and kernels.may_differ(function, given[0], 64):
                # A compare-and-swap with a loaded value changes the place itself.
                return not changes(function, given)
    return False
