# SPDX-License-Identifier: Apache-2.0
"""Keep critical sections inside the loops that wait for their locks.

`while (atomicCAS(lock, 0, 1) != 0); …; atomicExch(lock, 0);` ends on NVIDIA GPUs from sm_70 on, whose threads progress
independently. On AMD the lanes of a wavefront leave a loop together: the lane with the lock waits after the loop for
the lanes that wait for it to release the lock. With the critical section in the loop, `if (atomicCAS(…) == 0) { …; done
= true; }`, each iteration lets one lane take the lock, work and release it, and each thread does the same as before.

Moving the section into the loop in the source is not enough: clang sees that the lane with the lock leaves, and moves
the section behind the loop again (clang 15 and 21, from -O1, seen in the assembly). `hipport::opaque()` hides from
clang that the lane leaves. Loops that programs wrote this way for old GPUs need only that. Fences are added where a
lock has none: without them neither vendor guarantees that one owner sees the writes of the last one.

If functions take and release a lock (`lock.lock(); …; lock.unlock();`), by trying or by a ticket (`while (serving !=
ticket);`), the lanes take turns. If one lane takes it for its warp (`if (lane == 0) lock(); __syncwarp(); …; if (lane
== 0) unlock();`), two warps share a wavefront of 64 lanes, and the warps take turns; this is REVIEW, because the lanes
of a warp have to reach it together.

Left alone: locks that one thread of a block takes, and loops that compare and swap without holding anything. Reported:
locks whose release is not visible, whose section is left by `return` or `break`, or that are held where all lanes have
to converge; macros that wait for a lock; lanes that each wait for a flag of their own, which a lane of their own
wavefront may have to set; and waits for shared memory.

A loop in which lanes progress only when flags of other lanes are set (`while (at < end) if (done[column[at]]) at++;`),
and after which they set their own, is such a wait too. If a flag is for a warp, warps take turns; this is REVIEW: the
second warp of a wavefront of 64 lanes may wait for the first, because warps with lower numbers start no later.

Any other loop, also in a function, a macro or a recursion, is reported if a lane leaves it only when memory changes
that another lane of its wavefront may store to later. Waits for other blocks, for other wavefronts, and for the host
are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis.functions import Function, nodes
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.spin_locks.lock_attempts import WAITS
from hipport_passes.device.spin_locks.lock_flags import ATOMIC, for_the_block, own_flag, progress, readers_of
from hipport_passes.device.spin_locks.lock_turns import (
    all_in_turns,
    by_warps,
    kept_around,
    kept_inside,
    of_warps,
    taken_for_others,
    turns,
)
from hipport_passes.device.spin_locks.taking import (
    ATOMICS,
    LOOP,
    METHODS,
    NAME,
    ZERO,
    acquire_in,
    gives_back_a_lock,
    is_lock,
    loops_in,
    releases,
    swaps_otherwise,
    ticket,
    waits_for,
)
from hipport_passes.device.spin_locks.wavefront_loops import Found, WavefrontLoops, unnoticed

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_POLLS = _WORDS.compile(rb"\bvolatile\b|\b(?&atomic)\w+|\b(?:(?&load)|" + METHODS.pattern + rb")\s*\(")
_VOLATILE = re.compile(rb"volatile(?<!\wvolatile)\b[^;,(){}=]*?\b(\w+)\s*[\[=;]")
_GOTO = re.compile(rb"\bgoto\b")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?:\([^()]*\))?")
_TAKES = _WORDS.compile(rb"\b((?&takes_lock))(?&scopes)?\s*\(")
_DRAWS = _WORDS.compile(ATOMICS.pattern + rb"|(?&draws)(?&scopes)?")
_NUMBERED = _WORDS.compile(rb"=\s*(?&draws)\w*\s*\([^;{}]*;[^;{}]*\bwhile\s*\([^;{}]*!=")
_FIXED = re.compile(rb"[\s()]*(?:\d+[uUlL]*|true|false|[A-Z][A-Z0-9_]*)[\s()]*")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per loop that waits for a lock, for a flag per lane, or for lanes of its own wavefront."""
    kernels = Kernels.of(project)
    loops = WavefrontLoops.of(source, project, kernels).among(source)
    covered: list[Span] = []
    if not source.words.isdisjoint((b"volatile", b"atomic")) or source.matched(ATOMIC):
        yield from _by_form(source, project, kernels, loops, covered)
    yield from unnoticed(loops, source, covered)
    for function, node in kernels.in_one_row(source):
        yield Finding(
            Span(node.start_byte, node.start_byte + 1),
            "rows",
            f"hipport takes the waiting code of {function.name.decode()} for one thread of each block, because of "
            "threadIdx.x, but does not see all launches: make sure that its blocks have one row, or test "
            "threadIdx.y == 0 too",
            certainty=Certainty.MANUAL,
        )


def _by_form(
    source: Cpp, project: Project, kernels: Kernels, waiting: Sequence[Found], covered: list[Span]
) -> Iterator[Finding]:
    """Yield the findings on loops of known forms; `covered` receives the spans of the loops that they decide."""
    # In programs with ticket locks, a function that draws a number waits for it.
    takers = kernels.transitive_callers(source, _DRAWS if project.union_over(source, _draws_numbers) else ATOMICS)
    watched = frozenset(_VOLATILE.findall(source.code))
    for function in kernels.functions(source):
        start = function.body.start_byte
        if source.ported(start):
            continue
        code = source.code[function.node.start_byte : function.body.end_byte]
        polls = _POLLS.search(code) or b"__shared__" in code or not takers.isdisjoint(function.called)
        polls = polls or not project.union_over(source, readers_of).isdisjoint(function.called)
        # The code may use volatile variables of the file.
        if not polls and (not watched or watched.isdisjoint(NAME.findall(code))):
            continue
        for loop in loops_in(function):
            findings = list(_of_loop(function, loop, kernels, project)) or list(
                progress(function, loop, kernels, project)
            )
            # Uniformity is computed last, because it is expensive.
            if findings and kernels.one_thread(function, loop):
                # A lock that one thread takes is harmless, because the same thread releases it.
                alone, findings = all(each.kind in ("lock", "loop") for each in findings), []
            else:
                alone = False
            findings += for_the_block(function, loop)
            if _is_fine(loop, waiting):
                findings = [each for each in findings if each.kind != "flag" or each.edits]
            if findings or alone or _is_understood(function, loop, kernels):
                covered.append(Span(loop.start_byte, loop.end_byte))
            yield from findings
        for finding in _by_goto(function, kernels):
            node = function.body.descendant_for_byte_range(finding.span.start, finding.span.end)
            condition = next(function.conditions(node), None) if node is not None else None
            if condition is not None:
                covered.append(Span(condition.statement.start_byte, condition.statement.end_byte))
            yield finding
        yield from _of_calls(function, kernels, project)
    for finding in _of_macros(source, kernels, project):
        covered += [span for span, _ in source.names({source.code[finding.span.start : finding.span.end]})]
        yield finding


def _is_fine(loop: Node, waiting: Sequence[Found]) -> bool:
    """Return whether a loop waits, but only for memory that no lane of its wavefront stores to."""
    inside = [each for each in waiting if loop.start_byte <= each.condition.start < loop.end_byte]
    return bool(inside) and all(each.is_fine and not each.early for each in inside)


def _is_understood(function: Function, loop: Node, kernels: Kernels) -> bool:
    """Return whether a loop stays unchanged because the callers of its function change."""
    if waits_for(function, loop) is not None:
        return not kernels.one_thread(function, loop)
    return bool(ticket(function, loop)) and all_in_turns(function, kernels)


def _of_macros(source: Cpp, kernels: Kernels, project: Project) -> Iterator[Finding]:
    """Find macros that wait for a lock, if threads of one wavefront use them."""
    for directive in source.directives:
        define = _DEFINE.match(source.code, directive.start, directive.end)
        if define is None or not LOOP.search(source.code, define.end(), directive.end):
            continue
        if source.ported(directive.start):
            continue
        if b"opaque" in source.code[define.end() : directive.end]:
            continue
        for call in _TAKES.finditer(source.code, define.end(), directive.end):
            given = [source.code[each.start : each.end] for each in source.arguments(call.end() - 1) or ()]
            wanted = given[1:] if len(given) == (3 if call[1] == b"atomicCAS" else 2) else []
            # A swap that compares with a loaded value is an update; one that stores 0 releases a lock.
            if not wanted or not all(map(_FIXED.fullmatch, wanted)) or ZERO.fullmatch(wanted[-1].strip(b" ()\t\r\n")):
                continue
            if _used_by_many(define[1], source, kernels, project):
                yield Finding(
                    Span(*define.span(1)),
                    "macro",
                    f"{define[1].decode()} waits for a lock: waiting lanes block the lane of their wavefront that "
                    "holds it, and hipport does not change macros; write it out where it is used, as a loop with the "
                    "critical section in it, for (bool done = false; !hipport::opaque(done);) if (taken) { …; "
                    "unlock; done = true; }, with hipport/lock.h",
                    certainty=Certainty.MANUAL,
                )
            break


def _used_by_many(name: bytes, source: Cpp, kernels: Kernels, project: Project) -> bool:
    """Return whether a macro is used on the device, and not only by one thread of a block."""
    uses = re.compile(rb"\b" + name + rb"\b")
    for other in project.component(source):
        if not isinstance(other, Cpp) or not uses.search(other.code):
            continue
        for function in kernels.functions(other):
            for match in uses.finditer(other.code, function.body.start_byte, function.body.end_byte):
                node = function.body.descendant_for_byte_range(match.start(), match.end())
                if node is None or other.directive(match.start()) or within(match.start(), other.cuda_only):
                    continue
                if not kernels.one_thread(function, node):
                    return True
    return False


def _of_loop(function: Function, loop: Node, kernels: Kernels, project: Project) -> Iterator[Finding]:
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    if body is None:
        return
    head = Span(loop.start_byte, (loop if condition is None or loop.type == "do_statement" else condition).end_byte)
    acquire = waits_for(function, loop)
    if acquire is None:
        if WAITS.fullmatch(function.text(body)) is None:
            yield from kept_inside(function, loop, condition, body, kernels, project)
        elif condition is not None and (by := swaps_otherwise(function, condition)):
            yield Finding(
                head,
                "lock",
                f"lanes wait here for the result of {by}: a lane of the same wavefront that has to change it after "
                "the loop never gets there; put the work in between into a loop, for (bool done = false; "
                "!hipport::opaque(done);) if (taken) { …; unlock; done = true; }, with hipport/lock.h",
                certainty=Certainty.MANUAL,
            )
        elif _NUMBERED.search(function.source.code) and ticket(function, loop) and all_in_turns(function, kernels):
            return
        elif condition is not None and own_flag(
            function, condition, kernels, project.union_over(function.source, readers_of)
        ):
            yield Finding(
                head,
                "flag",
                "each lane waits here for a flag or a value of its own: a lane of the same wavefront that has to set "
                "it never gets there; let each lane test once per iteration of a loop of the whole wavefront, until "
                "all are done",
                certainty=Certainty.MANUAL,
            )
        return
    name = acquire.lock.decode("utf-8", "replace")
    why, edits = kept_around(function, loop, condition, body, acquire, kernels)
    if edits:
        need, header = include(function.source, project, "lock.h")
        assumed = "; assumes that its value is only ever free or taken" if acquire.two_valued else ""
        yield Finding(
            head,
            "lock",
            f"the critical section of {name} moves into the loop: after the loop, the lane with the lock would wait "
            f"for the lanes of its wavefront that wait for the lock{assumed}",
            (*edits, *((need,) if need else ())),
            Certainty.REVIEW if assumed else Certainty.SAFE,
            (header,),
        )
        return
    first, last = taken_for_others(function, loop, lambda node: releases(function, node, acquire))
    if first is not None and last is not None:
        reason, edits = by_warps(function, first, last, kernels)
        if edits:
            yield of_warps(function, head, edits, project)
            return
        why = reason or why
        if not reason:
            return
    if not gives_back_a_lock(function):
        # The callers release it, and may have been ported.
        calls = kernels.callers(function)
        reasons = [(call, turns(call, kernels)[0]) for call in calls]
        if calls and not any(reason for _, reason in reasons):
            return
        why = next(
            (
                f"{reason}, in line {call.line} of {call.function.source.path.name}"
                for call, reason in reasons
                if reason
            ),
            why,
        )
    yield Finding(
        head,
        "lock",
        f"lanes that wait for {name} block the lane of their wavefront that holds it: {why}; put the critical section "
        "into the loop, for (bool done = false; !hipport::opaque(done);) if (taken) { …; unlock; done = true; }, "
        "with hipport/lock.h",
        certainty=Certainty.MANUAL,
    )


def _draws_numbers(source: Cpp) -> frozenset[bool]:
    return frozenset({True} if _NUMBERED.search(source.code) else ())


def _by_goto(function: Function, kernels: Kernels) -> Iterator[Finding]:
    """Find `again: if (…the lock is taken…) goto again;`."""
    if not function.mentions(_GOTO):
        return
    for node in nodes(function.body):
        if node.type != "goto_statement":
            continue
        label = re.compile(rb"\b" + re.escape(function.text(node.named_children[0])) + rb"\s*:(?!:)")
        for condition in function.conditions(node):
            acquire = acquire_in(function, condition.expression)
            if acquire is None or not label.search(function.source.code, function.body.start_byte, node.start_byte):
                continue
            if not kernels.one_thread(function, node):
                name = acquire.lock.decode("utf-8", "replace")
                yield Finding(
                    Span(node.start_byte, node.end_byte),
                    "lock",
                    f"lanes that wait for {name} block the lane of their wavefront that holds it; put the critical "
                    "section into a loop, for (bool done = false; !hipport::opaque(done);) if (taken) { …; "
                    "unlock; done = true; }, with hipport/lock.h",
                    certainty=Certainty.MANUAL,
                )
            break


def _of_calls(function: Function, kernels: Kernels, project: Project) -> Iterator[Finding]:
    """Find calls of a function that waits for a lock and takes it, if another function releases it."""
    done: set[Edit] = set()
    for call in function.calls():
        if is_lock(call, kernels):
            _, edits = turns(call, kernels)
            if edits and not done & set(edits):
                done |= set(edits)
                if b"warp_by_warp" in edits[0].new:
                    yield of_warps(function, Span(call.node.start_byte, call.node.end_byte), edits, project)
                    continue
                need, header = include(function.source, project, "lock.h")
                yield Finding(
                    Span(call.node.start_byte, call.node.end_byte),
                    "serialized",
                    f"lanes take turns, from {call.name.decode()}() to the release of the lock: otherwise the owner "
                    "waits for lanes of its wavefront that wait for the lock",
                    (*edits, *((need,) if need else ())),
                    creates=(header,),
                )


PASS = Pass(Cpp, find)
