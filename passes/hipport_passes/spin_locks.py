# SPDX-License-Identifier: Apache-2.0
"""Keep critical sections inside the loops that wait for their locks.

`while (atomicCAS(lock, 0, 1) != 0); …; atomicExch(lock, 0);` ends on NVIDIA GPUs from sm_70 on, whose threads go on by
themselves. On AMD the lanes of a wavefront leave a loop together: the lane that has the lock waits behind the loop for
those that wait for it to give the lock back. With the critical section in the loop, `if (atomicCAS(…) == 0) { …; done =
true; }`, each turn of the loop lets one lane take the lock, work and give it back, and each thread does what it did.

That the section is in the loop in the source is not enough: clang sees that a lane with the lock leaves, and puts the
section behind the loop again (clang 15 and 21, from -O1, seen in the assembly). `hipport::opaque()` hides from it that
the lane leaves. Loops that programs wrote this way for old GPUs need just that. Fences are added where a lock has none:
without them neither vendor promises that one owner sees what the last one wrote.

Where functions take and give back a lock (`lock.lock(); …; lock.unlock();`), by trying or by a number that is drawn
(`while (serving != ticket);`), the lanes pass one after the other. Where
one lane takes it for its warp (`if (lane == 0) lock(); __syncwarp(); …; if (lane == 0) unlock();`), two warps share a
wavefront of 64 lanes, and the warps pass one after the other, for review: the lanes of a warp have to come together.

Left alone: locks that one thread of a block takes, and loops that compare and swap without holding anything. Reported:
locks that are given back out of sight, that are left by `return` or `break`, or that are held where all lanes have to
come together; macros that wait for a lock; lanes of which each waits for a flag of its own, which a lane of its own
wavefront may have to set; and waits for shared memory.

A loop in which lanes go on only as they see flags of others raised (`while (at < end) if (done[column[at]]) at++;`),
and behind which they raise their own, is such a wait too. Where a flag is for a warp, warps pass one after the other,
for review: the second of a wavefront of 64 lanes may wait for the first, as warps of lower number start no later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from hipport.finding import Certainty, Finding
from hipport.headers import include
from hipport.languages.cpp import Cpp, within
from hipport.languages.functions import Call, Function, Variable, arguments, called_name, contains, nodes
from hipport.languages.kernels import Kernels
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

if TYPE_CHECKING:
    from tree_sitter import Node

# Functions, and methods of atomic objects.
_METHODS = re.compile(rb"exchange|compare_exchange_(?:strong|weak)|test_and_set")
_ATOMICS = re.compile(rb"atomic(?:CAS|Exch)(?:_block|_system)?|" + _METHODS.pattern)
_ATOMIC = re.compile(rb"atomic\w*")
_GIVES = re.compile(rb"store|clear|exchange")
_POLLS = re.compile(rb"\bvolatile\b|\batomic\w+|\b(?:load|" + _METHODS.pattern + rb")\s*\(")
_VOLATILE = re.compile(rb"volatile(?<!\wvolatile)\b[^;,(){}=]*?\b(\w+)\s*[\[=;]")
_LOOPS = frozenset(("while_statement", "do_statement", "for_statement"))
# What a loop that only waits may do, and what orders memory.
_WAITS = re.compile(
    rb"(?:\s|[;{}]|(?:hipport::)?(?:__)?(?:nanosleep|builtin_amdgcn_s_sleep|threadfence\w*)\s*\([^()]*\)\s*;)*"
)
_FENCE = re.compile(rb"\s*__threadfence(?:_block|_system)?\s*\(\s*\)\s*;\s*")
# What all lanes of a warp or block have to come to.
_TOGETHER = re.compile(rb"(?i)\w*(?:sync|barrier|shfl|ballot)\w*|__(?:any|all|activemask)")
_BLOCK_TOGETHER = re.compile(rb"__syncthreads\w*|syncthreads_\w+|sync|\w*barrier\w*")
# Looking at the lock until it seems free, before trying again.
_LOOKS = re.compile(rb"\bwhile\s*\((?:[^(){};=]|[!=]=|\([^(){};=]*\))*\)\s*(?:;|\{[\s;]*\})")
_GOTO = re.compile(rb"\bgoto\b")
_SLEEP = re.compile(rb"(?:__)?(?:nanosleep|builtin_amdgcn_s_sleep)")
_TURNS = re.compile(rb"hipport::(?:one_by_one|warp_by_warp)\b")
# `lane == 0`, and what a lane's number in its warp is made of.
_EQUAL = re.compile(rb"\(*([^=!<>|]+?)\)*==\d+\)*")
_LANE = re.compile(rb"(?i)threadIdx\.x(?:%|&)|\blane_?id\(")
_ZERO = re.compile(rb"\s*(?:0[uU]?|false|\w*(?i:free|unlocked|available|open))\s*")
_STATEMENTS = frozenset(("expression_statement",))
# Short functions of a program's own, which return what is at a pointer now, or set it.
_NOW = rb"\bvolatile\b|\batomic\w+|__ldc[gv]|\bld\w*_(?:acquire|relaxed)|__hip_atomic_load|\bload\w*\s*\("
_NAME_BEFORE = re.compile(rb"\w+\s*\Z")
_THEN = rb"\bvolatile\b|\batomic\w+|__stcg|__stwt|\bst\w*_(?:release|relaxed)|__hip_atomic_store|\bstore\w*\s*\("
# Words without which there is none of those.
_LOADS = re.compile(rb"volatile|atomic\w+|\w*__ldc[gv]\w*|ld\w*_(?:acquire|relaxed)\w*|\w*__hip_atomic_load\w*|load\w*")
_STORES = re.compile(
    rb"volatile|atomic\w+|\w*__st(?:cg|wt)\w*|st\w*_(?:release|relaxed)\w*|\w*__hip_atomic_store\w*|store\w*"
)
_SHORT = rb"(?P<name>\w+)\s*\([^(){};]*[*\]][^(){};]*\)\s*\{(?=[^{}]*(?:%s))[^{}]{0,600}?"
_READER = re.compile(rb"(?<!\bvoid)(?<!\bvoid )\b" + _SHORT % _NOW + rb"\breturn\b[^{}]*\}")
_WRITER = re.compile(rb"void(?<!\wvoid)\s+" + _SHORT % _THEN + rb"\}")
_STEP = b"    "
# In front of a line that is not empty, nor a directive.
_LINE_START = re.compile(rb"(?:\r\n|\n|\r)(?=[ \t]*[^\s#])")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?:\([^()]*\))?")
_LOOP = re.compile(rb"\b(?:while|for|do)\b")
_TAKES = re.compile(rb"\b(atomic(?:CAS|Exch))(?:_block|_system)?\s*\(")
_DRAWS = re.compile(_ATOMICS.pattern + rb"|atomic(?:Add|Inc)(?:_block|_system)?")
_NUMBERED = re.compile(rb"=\s*atomic(?:Add|Inc)\w*\s*\([^;{}]*;[^;{}]*\bwhile\s*\([^;{}]*!=")
#: By what a lock may be taken that `_ATOMICS` has not; what adds counts or draws a number.
_OTHER_SWAPS = re.compile(rb"atomic(?:Inc|Dec|Max|Min|Xor|Or|And|Sub)(?:_block|_system)?")
_TAKES_NUMBER = re.compile(rb"\s*atomic(?:Add|Inc)(?:_block|_system)?\s*\(")
_FIXED = re.compile(rb"[\s()]*(?:\d+[uUlL]*|true|false|[A-Z][A-Z0-9_]*)[\s()]*")
_NAME = re.compile(rb"[A-Za-z_]\w*")


class _Acquire(NamedTuple):
    """A call that takes `lock`, which is the code of a pointer without white space, unless it is taken."""

    call: Node
    lock: bytes
    free: bytes  #: what the call returns if the lock was free
    #: Whether the loop is left for whatever is not what a taken lock has, and not for what a free one has.
    two_valued: bool = False


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per loop that waits for a lock or for a flag of a lane's own."""
    if source.words.isdisjoint((b"volatile", b"atomic")) and not source.matched(_ATOMIC):
        return
    kernels = Kernels.of(project)
    # Who draws a number waits for it, where there are such locks.
    takers = kernels.carriers(source, _DRAWS if project.together(source, _draws_numbers) else _ATOMICS)
    watched = frozenset(_VOLATILE.findall(source.code))
    for function in kernels.functions(source):
        start = function.body.start_byte
        if within(start, source.hip_only) or within(start, source.cuda_only):
            continue
        code = source.code[function.node.start_byte : function.body.end_byte]
        polls = _POLLS.search(code) or b"__shared__" in code or not takers.isdisjoint(function.called)
        polls = polls or not project.together(source, _readers).isdisjoint(function.called)
        # There may be volatile variables of the whole file in it.
        if not polls and (not watched or watched.isdisjoint(_NAME.findall(code))):
            continue
        for loop in _loops(function):
            yield from _for_the_block(function, loop)
            findings = list(_of_loop(function, loop, kernels, project)) or list(
                _progress(function, loop, kernels, project)
            )
            # What is compared is looked at last: it takes the longest.
            if findings and not kernels.one_thread(function, loop):
                yield from findings
        yield from _by_goto(function, kernels)
        yield from _of_calls(function, kernels, project)
    yield from _of_macros(source, kernels, project)
    for function, node in kernels.in_one_row(source):
        yield Finding(
            Span(node.start_byte, node.start_byte + 1),
            "rows",
            f"what waits in {function.name.decode()} is taken for one thread of each block, by threadIdx.x, and not "
            "all launches are seen: see that its blocks have one row, or ask for threadIdx.y == 0, too",
            certainty=Certainty.MANUAL,
        )


def _of_macros(source: Cpp, kernels: Kernels, project: Project) -> Iterator[Finding]:
    """Find macros that wait for a lock, if threads of one wavefront use them."""
    for directive in source.directives:
        define = _DEFINE.match(source.code, directive.start, directive.end)
        if define is None or not _LOOP.search(source.code, define.end(), directive.end):
            continue
        if within(directive.start, source.hip_only) or within(directive.start, source.cuda_only):
            continue
        if b"opaque" in source.code[define.end() : directive.end]:
            continue
        for call in _TAKES.finditer(source.code, define.end(), directive.end):
            given = [source.code[each.start : each.end] for each in source.arguments(call.end() - 1) or ()]
            wanted = given[1:] if len(given) == (3 if call[1] == b"atomicCAS" else 2) else []
            # What is compared with a value that was loaded is an update; what puts a 0 there gives a lock back.
            if not wanted or not all(map(_FIXED.fullmatch, wanted)) or _ZERO.fullmatch(wanted[-1].strip(b" ()")):
                continue
            if _used_by_many(define[1], source, kernels, project):
                yield Finding(
                    Span(*define.span(1)),
                    "macro",
                    f"{define[1].decode()} waits for a lock: lanes of one wavefront that wait keep the lane that has "
                    "it from going on, and macros are not changed; write it out where it is used, as a loop with the "
                    "critical section in it, for (bool done = false; !hipport::opaque(done);) if (taken) { …; unlock; "
                    "done = true; }, with hipport/lock.h",
                    certainty=Certainty.MANUAL,
                )
            break


def _used_by_many(name: bytes, source: Cpp, kernels: Kernels, project: Project) -> bool:
    """Whether a macro is used on the device, and not by one thread of a block alone."""
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
    acquire = _waits_for(function, loop)
    if acquire is None:
        if _WAITS.fullmatch(function.text(body)) is None:
            yield from _inside(function, loop, condition, body, kernels, project)
        elif condition is not None and (by := _swaps_otherwise(function, condition)):
            yield Finding(
                head,
                "lock",
                f"lanes wait here for what {by} gives: one of the same wavefront that has to change it, behind the "
                "loop, never comes to that; put what is done meanwhile into a loop, for (bool done = false; "
                "!hipport::opaque(done);) if (taken) { …; unlock; done = true; }, with hipport/lock.h",
                certainty=Certainty.MANUAL,
            )
        elif _NUMBERED.search(function.source.code) and _ticket(function, loop) and _all_in_turns(function, kernels):
            return
        elif condition is not None and _own_flag(
            function, condition, kernels, project.together(function.source, _readers)
        ):
            yield Finding(
                head,
                "flag",
                "each lane waits here for a flag or a value of its own: a lane of the same wavefront that has to set "
                "it never comes to that; let each lane look once in a turn of a loop of the whole wavefront, until all "
                "are done",
                certainty=Certainty.MANUAL,
            )
        return
    name = acquire.lock.decode("utf-8", "replace")
    why, edits = _around(function, loop, condition, body, acquire, kernels)
    if edits:
        need, header = include(function.source, project, "lock.h")
        assumed = "; assumes that it is never anything but free or taken" if acquire.two_valued else ""
        yield Finding(
            head,
            "lock",
            f"the critical section of {name} goes into the loop: behind it, the lane with the lock waits for the lanes "
            f"of its wavefront that wait for the lock{assumed}",
            (*edits, *((need,) if need else ())),
            Certainty.REVIEW if assumed else Certainty.SAFE,
            (header,),
        )
        return
    first, last = _taken_for_others(function, loop, lambda node: _releases(function, node, acquire))
    if first is not None and last is not None:
        reason, edits = _by_warps(function, first, last, kernels)
        if edits:
            yield _of_warps(function, head, edits, project)
            return
        why = reason or why
        if not reason:
            return
    if not _gives_back(function):
        # The callers give it back, who may have been ported.
        calls = kernels.callers(function)
        reasons = [(call, _turns(call, kernels)[0]) for call in calls]
        if calls and not any(reason for _, reason in reasons):
            return
        why = next(
            (
                f"{reason}, in line {call.node.start_point[0] + 1} of {call.function.source.path.name}"
                for call, reason in reasons
                if reason
            ),
            why,
        )
    yield Finding(
        head,
        "lock",
        f"lanes of one wavefront that wait for {name} keep the lane that has it from going on: {why}; put what is done "
        "under the lock into the loop, for (bool done = false; !hipport::opaque(done);) "
        "if (taken) { …; unlock; done = true; }, with hipport/lock.h",
        certainty=Certainty.MANUAL,
    )


def _progress(function: Function, loop: Node, kernels: Kernels, project: Project) -> Iterator[Finding]:
    """Find a loop that lanes get on in only as flags are raised, if they raise flags of their own behind it."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    if body is None:
        return
    readers = project.together(function.source, _readers)
    for test in nodes(body, frozenset(("if_statement",))):
        if _innermost_loop(test) != loop:
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
                    f"warps pass one after the other from where they wait for {flag} to where they set their own: two "
                    "share a wavefront of 64 lanes, which leaves the loop together, and one may wait for the other; "
                    "right if a warp waits only for warps before it, and its lanes come here together",
                    (*edits, *((need,) if need else ())),
                    certainty=Certainty.REVIEW,
                    creates=(header,),
                )
            elif why:
                yield Finding(
                    head,
                    "flag",
                    f"lanes leave this loop as {flag} is set, and set it themselves behind it: a wavefront leaves the "
                    f"loop together, so a lane that waits for another of its wavefront waits for ever; {why}; let "
                    "lanes set it in the loop, or give each wavefront one place to wait for",
                    certainty=Certainty.MANUAL,
                )
            return


def _guarded(test: Node, body: Node) -> Span | None:
    """What is done only where an `if` says so: its branch, or what follows a `continue`."""
    branch = test.child_by_field_name("consequence")
    if branch is None:
        return None
    inner = branch.named_children if branch.type == "compound_statement" else [branch]
    if len(inner) == 1 and inner[0].type == "continue_statement":
        return Span(test.end_byte, body.end_byte)
    return Span(branch.start_byte, branch.end_byte)


def _gets_on_by(function: Function, loop: Node, condition: Node | None, guarded: Span) -> bool:
    """Whether all that brings a loop nearer to its end is done in `guarded`."""
    names = set(_NAME.findall(function.text(condition))) if condition is not None else set()
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
    steps += [each for each in inside if each.type == "break_statement" and _innermost_loop(each, True) == loop]
    return bool(steps) and all(guarded.start <= each.start_byte and each.end_byte <= guarded.end for each in steps)


def _looked_at(function: Function, asked: Node, loop: Node, readers: frozenset[bytes]) -> Iterator[tuple[bytes, Node]]:
    """Yield the arrays, and the places in them, that a condition looks at while others may change them."""
    texts = [asked]
    for node in nodes(asked):
        if node.type == "identifier":
            variable = function.locals.named(function.text(node), node.start_byte)
            given = function.locals.given.get(variable, []) if variable is not None else []
            texts += [value for each in given if contains(loop, each.node) for value in each.values]
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
            if name in readers or (_ATOMIC.fullmatch(name) and not _changes(function, passed)):
                place = _place(function, passed[0])
        if place is not None:
            yield place


def _raised_behind(function: Function, loop: Node, base: bytes, project: Project) -> tuple[Node, Node] | None:
    """Return where the array `base` is written behind a loop, and the index there."""
    writers = project.together(function.source, _writers)
    for node in nodes(function.body):
        if node.start_byte < loop.end_byte:
            continue
        to = None
        if node.type == "assignment_expression":
            to = node.child_by_field_name("left")
        elif node.type == "call_expression" and (given := arguments(node)):
            name = called_name(node, function.source.code)
            if name in writers or (_ATOMIC.fullmatch(name) and _changes(function, given)):
                to = given[0]
        place = _place(function, to) if to is not None else None
        if place is not None and place[0] == base:
            return node, place[1]
    return None


def _of_a_warp(
    function: Function, loop: Node, raised: Node, index: Node, kernels: Kernels
) -> tuple[str, tuple[Edit, ...]]:
    """Return why warps cannot pass one after the other from a loop to where a flag is raised, or the edits."""
    if b"hipport::native::" in function.text(function.body):
        return "the wavefront is the warp here, and its lanes set flags of their own", ()
    if any(_TURNS.search(function.text(each.statement).partition(b"{")[0]) for each in function.conditions(loop)):
        return "", ()
    if kernels.agreement(function, index) < 32:
        return "lanes of one warp set flags of their own", ()
    # In what order a wavefront takes the branches of a condition, nobody says.
    first = loop
    for each in function.conditions(loop):
        branches = each.statement.type == "if_statement" and each.statement.child_by_field_name("alternative")
        if branches and kernels.may_differ(function, each.expression, 64):
            first = each.statement
    statements = [first]
    while not contains(statements[-1], raised):
        following = statements[-1].next_named_sibling
        if following is None or first.parent is None or first.parent.type != "compound_statement":
            return f"it is set in line {raised.start_point[0] + 1}, which is not of the same block", ()
        statements.append(following)
    last = statements[-1]
    section = Span(first.start_byte, last.end_byte)
    # A lane that returns has had its turn.
    why = _fixed(function, statements, kernels, _BLOCK_TOGETHER, returns=True)
    why = why or _used_behind(function, section, last)
    return (why, ()) if why else ("", _in_turns(function.source, first, last, b"warp_by_warp"))


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
    if base is None or index is None or not _NAME.fullmatch(function.text(base)):
        return None
    return function.text(base), index


def _draws_numbers(source: Cpp) -> frozenset[bool]:
    return frozenset({True} if _NUMBERED.search(source.code) else ())


def _readers(source: Cpp) -> frozenset[bytes]:
    """Functions that return what a pointer of theirs is at now, and change nothing."""
    code = source.code
    found = set()
    done = 0
    for load, _ in source.names(_LOADS):
        # Braces with no others in them; in front of those, parentheses with no others in them.
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
    """Functions that set what a pointer of theirs is at."""
    found = _WRITER.finditer(source.code) if source.matched(_STORES) else ()
    return frozenset(match["name"] for match in found)


def _waits_for(function: Function, loop: Node) -> _Acquire | None:
    """Return the lock that a loop does nothing but wait for; it may wait longer each time."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    acquire = _acquire(function, condition) if condition is not None and loop.type != "for_statement" else None
    if acquire is None and condition is not None and loop.type != "for_statement":
        acquire = _by_bits(function, condition)
    if acquire is None:
        return _taken_in_body(function, loop)
    if body is None or any(
        _releases(function, node, acquire) for node in nodes(body) if node.type == "expression_statement"
    ):
        return None
    text = function.text(body)
    if _METHODS.fullmatch(called_name(acquire.call, function.source.code)) and not acquire.free:
        # What was expected is set anew each time.
        expected = re.escape(function.text(arguments(acquire.call)[0]))
        text = re.sub(rb"\b" + expected + rb"\s*=\s*(?:\w+|\{\s*\w*\s*\})\s*;", b"", text)
    if _WAITS.fullmatch(_LOOKS.sub(b"", text)):
        return acquire
    # `while (atomicCAS(&table[slot], EMPTY, key) != EMPTY) slot = …;` looks for a place.
    names = set(_NAME.findall(function.text(acquire.call)))
    changed = {
        each.variable.name for each in function.locals.assignments if contains(body, each.node) and not each.declares
    }
    sleeps = any(_SLEEP.fullmatch(called_name(call, function.source.code)) for call in _calls(body))
    return acquire if sleeps and not names & changed else None


def _swaps_otherwise(function: Function, condition: Node) -> str:
    """Return the atomic operation other than those of locks that a condition changes something by; empty for none."""
    for call in _calls(condition):
        name, given = called_name(call, function.source.code), arguments(call)
        if _OTHER_SWAPS.fullmatch(name) and given:
            last = b"".join(function.text(given[-1]).split())
            if last.rstrip(b"uUlL") not in (b"0", b"~0", b"0xffffffff", b"-1"):
                return name.decode()
    return ""


def _by_bits(function: Function, condition: Node) -> _Acquire | None:
    """Return the lock of `while (atomicOr(&word, bit) & bit)`, which is a bit of a word."""
    for call in _calls(condition):
        outer, given = call.parent, arguments(call)
        if called_name(call, function.source.code) != b"atomicOr" or len(given) != 2 or outer is None:
            continue
        sign = outer.child_by_field_name("operator") if outer.type == "binary_expression" else None
        whole = _bare(function.text(condition)).removesuffix(b"!=0")
        if sign is not None and sign.type == "&" and _bare(whole) == b"".join(function.text(outer).split()):
            return _Acquire(call, _pointer(b"".join(function.text(given[0]).split())), b"|")
    return None


def _taken_in_body(function: Function, loop: Node) -> _Acquire | None:
    """Return the lock of a loop that tries for it in its body, and is left when it has it: by `break` or a variable."""
    body = loop.child_by_field_name("body")
    if body is None or (loop.type == "for_statement" and loop.child_by_field_name("update") is not None):
        return None
    for call in _calls(body):
        acquire = _acquire(function, call)
        if acquire is None or acquire.call != call or not acquire.free or _innermost_loop(call) != loop:
            continue
        last = b"".join(function.text(arguments(call)[-1]).split())
        leaves = [_turn(function, loop, acquire, _number(result)) for result in (acquire.free, last)]
        if leaves != [True, False]:
            return None
        return acquire._replace(two_valued=_turn(function, loop, acquire, _NEITHER) is not False)
    return None


#: What neither a free nor a taken lock has.
_NEITHER = b"2000000011"


class _Unknown(Exception):
    """What a turn of a loop does is not seen in its text."""


def _number(text: bytes) -> bytes:
    """A literal without its suffix."""
    return text.rstrip(b"uUlL") if text[:1].isdigit() else text


def _turn(function: Function, loop: Node, acquire: _Acquire, result: bytes) -> bool | None:
    """Whether a turn of a loop is its last if trying for the lock gives `result`; None if that is not known.

    The turn does nothing else, and there is one.
    """
    known: dict[bytes, bytes] = {}
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")

    def value(node: Node) -> bytes:
        if node == acquire.call:
            return result
        text = function.text(node).strip()
        parts = node.named_children
        if node.type in ("condition_clause", "parenthesized_expression", "cast_expression") and parts:
            return value(parts[-1])
        if node.type in ("number_literal", "true", "false"):
            return {b"true": b"1", b"false": b"0"}.get(text, text.rstrip(b"uUlL"))
        if node.type == "identifier":
            variable = function.locals.named(text, node.start_byte)
            if text in known:
                return known[text]
            if variable is None:
                return text  # a constant
            before = function.locals.last(variable, loop)
            if before is not None and len(before.values) == 1:
                return value(before.values[0])
        if node.type == "unary_expression" and text.startswith(b"!"):
            return b"0" if truth(parts[-1]) else b"1"
        if node.type == "call_expression" and called_name(node, function.source.code) == b"opaque":
            return value(arguments(node)[0])
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is not None and right is not None and sign is not None:
            if node.type == "assignment_expression" and sign.type == "=" and left.type == "identifier":
                known[function.text(left)] = value(right)
                return known[function.text(left)]
            if node.type == "binary_expression" and sign.type in ("==", "!="):
                return b"1" if (value(left) == value(right)) == (sign.type == "==") else b"0"
        raise _Unknown

    def truth(node: Node) -> bool:
        text = value(node)
        if text == result and not text[:1].isdigit() and text != acquire.free:
            return True  # What a lock that is taken has is not 0.
        if not text.lstrip(b"-").isdigit():
            raise _Unknown
        return int(text) != 0

    def leaves(node: Node) -> bool | None:
        """Whether a statement leaves the loop, or (False) the turn; None if what is behind it is next."""
        if node.type in ("compound_statement", "else_clause"):
            for each in node.named_children:
                left = leaves(each)
                if left is not None:
                    return left
            return None
        if node.type in ("break_statement", "continue_statement"):
            return node.type == "break_statement"
        if node.type == "if_statement":
            asked, yes = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
            no = node.child_by_field_name("alternative")
            if asked is None or yes is None:
                raise _Unknown
            branch = yes if truth(asked) else no
            return leaves(branch) if branch is not None else None
        if node.type == "declaration":
            for each in node.children_by_field_name("declarator"):
                name, given = each.child_by_field_name("declarator"), each.child_by_field_name("value")
                if name is None or given is None:
                    raise _Unknown
                known[function.text(name)] = value(given)
            return None
        if node.type != "comment" and not _WAITS.fullmatch(function.text(node)):
            if node.type != "expression_statement" or not node.named_children:
                raise _Unknown
            value(node.named_children[0])
        return None

    try:
        if loop.type != "do_statement" and condition is not None and not truth(condition):
            return None  # There may be no turn.
        left = leaves(body) if body is not None else None
        return left if left else condition is not None and not truth(condition)
    except _Unknown:
        return None


def _by_goto(function: Function, kernels: Kernels) -> Iterator[Finding]:
    """Find `again: if (…the lock is taken…) goto again;`."""
    if not function.mentions(_GOTO):
        return
    for node in nodes(function.body):
        if node.type != "goto_statement":
            continue
        label = re.compile(rb"\b" + re.escape(function.text(node.named_children[0])) + rb"\s*:(?!:)")
        for condition in function.conditions(node):
            acquire = _acquire(function, condition.expression)
            if acquire is None or not label.search(function.source.code, function.body.start_byte, node.start_byte):
                continue
            if not kernels.one_thread(function, node):
                name = acquire.lock.decode("utf-8", "replace")
                yield Finding(
                    Span(node.start_byte, node.end_byte),
                    "lock",
                    f"lanes of one wavefront that wait for {name} keep the lane that has it from going on; put what is "
                    "done under the lock into a loop, for (bool done = false; !hipport::opaque(done);) if (taken) { …; "
                    "unlock; done = true; }, with hipport/lock.h",
                    certainty=Certainty.MANUAL,
                )
            break


def _gives_back(function: Function) -> bool:
    """Whether the function gives a lock back, whatever else it does."""
    text = function.text(function.body)
    for each in function.calls(_GIVES):
        if _method_of(function, each.node) and (
            each.name == b"clear" or (each.arguments and _ZERO.fullmatch(function.text(each.arguments[0])))
        ):
            return True
    return any(
        each.arguments and _ZERO.fullmatch(function.text(each.arguments[-1]))
        for each in function.calls(_ATOMICS)
        if not _METHODS.fullmatch(each.name)
    ) or bool(re.search(rb"(?:\*\s*\w+|\]|\bstate\w*|\block\w*)\s*=\s*0\s*;", text))


def _ticket(function: Function, loop: Node) -> bytes:
    """What a loop waits for to reach a number that was drawn, `while (serving != ticket);`; else nothing."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    if condition is None or body is None or loop.type == "for_statement" or not _WAITS.fullmatch(function.text(body)):
        return b""
    for node in nodes(condition):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None or sign.type != "!=":
            continue
        for looked, number in ((left, right), (right, left)):
            given = [
                value
                for each in function.locals.assignments
                if number.type == "identifier" and each.variable.name == function.text(number)
                for value in each.values
            ]
            if len(given) == 1 and _TAKES_NUMBER.match(function.text(given[0])) and _is_look(function, looked):
                names = _NAME.findall(re.sub(rb"\[[^\]]*\]", b"", function.text(looked).split(b",")[0]))
                return names[-1] if names else b""
    return b""


def _serves(function: Function, name: bytes) -> bool:
    """Whether the function lets the next number go on, `atomicAdd(&serving, 1)` or `serving++`."""
    text, word = function.text(function.body), re.escape(name) + rb"\b\s*(?:\[[^\]]*\]\s*)?"
    added = rb"\batomicAdd(?:_block|_system)?\s*\([&*\w.\->\s()]*?\b" + word + rb",\s*1[uUlL]*\s*\)"
    counted = rb"\b" + word + rb"(?:\+\+|\+=\s*1\s*;)|\+\+[\w.\->]*\b" + word
    return bool(re.search(added + rb"|" + counted, text))


def _all_in_turns(function: Function, kernels: Kernels) -> bool:
    """Whether all who take a lock by calling the function do so in turns, or will."""
    calls = kernels.callers(function)
    return bool(calls) and not any(_turns(call, kernels)[0] for call in calls)


def _takes(function: Function, tries: bool) -> bool:
    """Whether the function takes a lock and keeps it, at once or not at all (`tries`), or else after waiting."""
    if not function.mentions(_ATOMICS):
        return not tries and any(_ticket(function, loop) for loop in _loops(function))
    if _gives_back(function):
        return False
    loops = [loop for loop in _loops(function) if _waits_for(function, loop) is not None]
    return bool(loops) != tries and _acquire(function, function.body) is not None


def _method_of(function: Function, call: Node) -> bytes:
    """The code of the object whose method is called, without white space; empty if it is no method."""
    called = call.child_by_field_name("function")
    node = called.child_by_field_name("argument") if called is not None and called.type == "field_expression" else None
    return b"".join(function.text(node).split()) if node is not None else b""


def _object(function: Function, call: Node) -> bytes:
    """What a lock's function is called on: the object of a method, or the first argument."""
    called = call.child_by_field_name("function")
    node = called.child_by_field_name("argument") if called is not None and called.type == "field_expression" else None
    node = node or next(iter(arguments(call)), None)
    return b"".join(function.text(node).split()) if node is not None else b""


def _of_calls(function: Function, kernels: Kernels, project: Project) -> Iterator[Finding]:
    """Find where a function takes a lock by waiting for it, and another gives it back."""
    done: set[Edit] = set()
    for call in function.calls():
        if _is_lock(call, kernels):
            _, edits = _turns(call, kernels)
            if edits and not done & set(edits):
                done |= set(edits)
                if b"warp_by_warp" in edits[0].new:
                    yield _of_warps(function, Span(call.node.start_byte, call.node.end_byte), edits, project)
                    continue
                need, header = include(function.source, project, "lock.h")
                yield Finding(
                    Span(call.node.start_byte, call.node.end_byte),
                    "turns",
                    f"lanes pass one after the other from {call.name.decode()}() to where the lock is given back: one "
                    "that has it would wait for the lanes of its wavefront that wait for it",
                    (*edits, *((need,) if need else ())),
                    creates=(header,),
                )


def _is_lock(call: Call, kernels: Kernels) -> bool:
    definitions = kernels.definitions(call.function.source, call.name)
    return bool(definitions) and all(_takes(definition, tries=False) for definition in definitions)


def _turns(call: Call, kernels: Kernels) -> tuple[str, tuple[Edit, ...]]:
    """Return why lanes cannot pass one by one from a call that takes a lock to what gives it back, or the edits.

    Neither, where nothing need be done.
    """
    function, source = call.function, call.function.source
    if kernels.one_thread(function, call.node) or any(
        _TURNS.search(function.text(each.statement).partition(b"{")[0]) for each in function.conditions(call.node)
    ):
        return "", ()
    lock = _object(function, call.node)
    # The statement that has it, and perhaps another way to take it in the other branch.
    first: Node | None = call.node
    last = None
    while first is not None and first != function.body:
        if first.parent is not None and first.parent.type == "compound_statement":
            last = first.next_named_sibling
            while last is not None and not _unlocks(function, last, lock, kernels, call.name):
                last = last.next_named_sibling
            if last is not None:
                break
        first = first.parent
    if first is None or last is None or first.parent is None:
        return "it is given back elsewhere", ()
    if first.type == "if_statement" and first.child_by_field_name("alternative") is None:
        return _by_warps(function, first, last, kernels)
    if first.type not in ("expression_statement", "if_statement") or last.type != "expression_statement":
        return "it is given back elsewhere", ()
    statements = [first]
    while statements[-1] != last:
        following = statements[-1].next_named_sibling
        if following is None:
            return "it is given back elsewhere", ()
        statements.append(following)
    why = _fixed(function, statements, kernels) or _used_behind(function, Span(first.start_byte, last.end_byte), last)
    if why:
        return why, ()
    return "", _in_turns(source, first, last, b"one_by_one")


def _in_turns(source: Cpp, first: Node, last: Node, whose: bytes) -> tuple[Edit, ...]:
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


def _taken_for_others(
    function: Function, loop: Node, gives_back: Callable[[Node], bool]
) -> tuple[Node | None, Node | None]:
    """Return the `if` in which a lock is waited for, and the statement behind it in which it is given back."""
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


def _by_warps(function: Function, first: Node, last: Node, kernels: Kernels) -> tuple[str, tuple[Edit, ...]]:
    """Return why warps cannot pass one after the other from `first`, where one lane takes a lock for the others of its
    warp, to `last`, where it gives it back; or the edits. Neither, where they do so already."""
    others = "some lanes take it for others"
    source = function.source
    conditions = [each.child_by_field_name("condition") for each in (first, last)]
    if last.type != "if_statement" or last.child_by_field_name("alternative") is not None:
        return others, ()
    texts = {b"".join(function.text(each).split()) for each in conditions if each is not None}
    # Where a warp is the whole wavefront, there is one.
    if len(texts) != 1 or None in conditions or b"hipport::native::" in function.text(function.body):
        return others, ()
    if any(_TURNS.search(function.text(each.statement).partition(b"{")[0]) for each in function.conditions(first)):
        return "", ()
    # More than one lane that waits would hold up the one that has it, turns or not.
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
    names = set(_NAME.findall(texts.pop()))
    for each in function.locals.assignments:
        if each.variable.name in names and section.start <= each.node.start_byte < section.end:
            return f"{each.variable.name.decode()}, by which a lane takes it for others, changes meanwhile", ()
    why = _fixed(function, statements, kernels, _BLOCK_TOGETHER) or _used_behind(function, section, last)
    return (why, ()) if why else ("", _in_turns(source, first, last, b"warp_by_warp"))


def _of_warps(function: Function, span: Span, edits: tuple[Edit, ...], project: Project) -> Finding:
    need, header = include(function.source, project, "lock.h")
    return Finding(
        span,
        "warps",
        "warps pass one after the other from where one lane takes the lock for the others to where it gives it back: "
        "the warp that has it would wait for the one beside it in a wavefront of 64 lanes, which waits for the lock; "
        "right if the lanes of a warp come here together",
        (*edits, *((need,) if need else ())),
        certainty=Certainty.REVIEW,
        creates=(header,),
    )


def _unlocks(function: Function, node: Node, lock: bytes, kernels: Kernels, taker: bytes = b"") -> bool:
    """Whether `node` gives back the lock that the function `taker` takes."""
    takers = kernels.definitions(function.source, taker) if taker else ()
    numbers = {number for each in takers for loop in _loops(each) if (number := _ticket(each, loop))}
    for call in _calls(node):
        definitions = kernels.definitions(function.source, called_name(call, function.source.code))
        if _object(function, call) != lock or not definitions:
            continue
        if all(_gives_back(each) or any(_serves(each, name) for name in numbers) for each in definitions):
            return True
    return False


def _fixed(
    function: Function,
    statements: list[Node],
    kernels: Kernels,
    together: re.Pattern[bytes] = _TOGETHER,
    returns: bool = False,
) -> str:
    """Return why a critical section cannot be put into a loop, if so; `returns` says that lanes may return from it."""
    source = function.source
    for node in statements:
        line = node.start_point[0] + 1
        if node.type.startswith("preproc") and node.type != "preproc_call":
            return "there are preprocessor conditions in the critical section"
        if _leaves(node, returns):
            return f"line {line} leaves the critical section"
        for call in _calls(node) if node.type != "comment" else ():
            name = called_name(call, source.code)
            if together.fullmatch(name) or any(
                kernels.reaches(definition, together)
                for definition in (
                    kernels.definitions(source, name) if name in kernels.carriers(source, together) else ()
                )
            ):
                return f"all lanes are needed in line {line}"
    return ""


def _used_behind(function: Function, section: Span, last: Node) -> str:
    """Return that something declared in a critical section is used behind it, if so."""
    parent = last.parent
    if parent is None:
        return "it is given back elsewhere"
    rest = set(_NAME.findall(function.source.code, last.end_byte, parent.end_byte))
    for each in function.locals.variables:
        if section.start <= each.start < section.end and each.end == parent.end_byte and each.name in rest:
            return f"{each.name.decode()} is used behind it"
    return ""


def _deeper(source: Cpp, start: int, end: int) -> list[Edit]:
    """Move the lines that begin between `start` and `end` two steps to the right."""
    return [Edit(Span(at, at), 2 * _STEP) for at in (m.end() for m in _LINE_START.finditer(source.text, start, end))]


def _around(
    function: Function, loop: Node, condition: Node | None, body: Node, acquire: _Acquire, kernels: Kernels
) -> tuple[str, tuple[Edit, ...]]:
    """Return the edits that put what follows the loop, up to the unlock, into it; or why that cannot be done."""
    source = function.source
    taken = _when_taken(function, condition, acquire)
    if taken is None:
        return "what the loop compares is not understood", ()
    critical: list[Node] = []
    following = loop.next_named_sibling
    while following is not None and not _releases(function, following, acquire):
        critical.append(following)
        following = following.next_named_sibling
    if following is None:
        return "it is given back elsewhere", ()
    statements = [node for node in critical if node.type != "comment"]
    why = _fixed(function, statements, kernels) or _used_behind(
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
            return f"{name.decode()} is used behind it", ()
        needless += _without(function, each.variable, loop)
    done = b"hipport_done"
    while any(each.name == done and each.start <= loop.start_byte < each.end for each in function.locals.variables):
        done += b"_"
    fence = b"__threadfence();"
    indent = source.indent(loop.start_byte)
    # The lines of the loop, of the `if` in it, and of the critical section; or all on one line.
    steps = [b" "] * 3 if indent is None else [source.newline + indent + each for each in (b"", _STEP, 2 * _STEP)]
    opening = (
        b"for (bool " + done + b" = false; !hipport::opaque(" + done + b");)" + steps[1] + b"if (" + taken + b") {"
    )
    if not statements or not _FENCE.fullmatch(function.text(statements[0])):
        opening += steps[2] + fence
    waiting = source[Span(body.start_byte, body.end_byte)]
    if in_body:
        sleep = next((each for each in _calls(body) if _SLEEP.fullmatch(called_name(each, source.code))), None)
        waiting = source[Span(sleep.start_byte, sleep.end_byte)] + b";" if sleep is not None else b""
    elif not waiting.strip(b" \t\r\n;{}") or _LOOKS.search(function.text(body)):
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
        # At the start of a line both are one.
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
    """Return the edit that drops the declaration of a variable that a loop alone has used, and no other."""
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


def _inside(
    function: Function, loop: Node, condition: Node | None, body: Node, kernels: Kernels, project: Project
) -> Iterator[Finding]:
    """Find a loop with the critical section in it, which the compiler may take out again."""
    source = function.source
    for call in _calls(body):
        if _innermost_loop(call) != loop:
            continue
        definitions = kernels.definitions(source, called_name(call, source.code))
        if definitions and all(_takes(definition, tries=True) for definition in definitions):
            acquire = _Acquire(call, _object(function, call), b"")
            found = any(
                _unlocks(function, node, acquire.lock, kernels) for node in nodes(body) if node.type in _STATEMENTS
            )
        else:
            of_itself = _acquire(function, call)
            if of_itself is None or of_itself.call != call:
                continue
            acquire = of_itself
            found = any(_releases(function, node, acquire) for node in nodes(body) if node.type in _STATEMENTS)
        if not found:
            continue
        edits = [
            Edit(Span(name.start_byte, name.end_byte), b"hipport::opaque(" + function.text(name) + b")")
            for name in (nodes(condition) if condition is not None else ())
            if name.type == "identifier" and _is_flag(function, name, body, acquire) and not _is_opaque(function, name)
        ]
        breaks = [
            node
            for node in nodes(body)
            if node.type == "break_statement"
            and _innermost_loop(node) == loop
            and _behind(function, node, acquire, kernels)
        ]
        if not edits and breaks:
            edits = _by_flag(function, loop, condition, body, breaks)
            if not edits:
                yield Finding(
                    Span(loop.start_byte, loop.children[0].end_byte),
                    "loop",
                    f"the compiler puts the critical section of {acquire.lock.decode('utf-8', 'replace')} behind this "
                    "loop, as `break` follows it, and the lanes that wait for the lock hold it up; leave the loop by a "
                    "flag that is in its condition, as hipport::opaque(flag), with hipport/lock.h",
                    certainty=Certainty.MANUAL,
                )
                return
        if edits:
            need, header = include(source, project, "lock.h")
            yield Finding(
                Span(loop.start_byte, loop.children[0].end_byte),
                "loop",
                f"hipport::opaque() keeps the critical section of {acquire.lock.decode('utf-8', 'replace')} in the "
                "loop: behind it, where the compiler puts it, the lanes that wait for the lock hold it up",
                (*edits, *((need,) if need else ())),
                creates=(header,),
            )
        return


def _by_flag(function: Function, loop: Node, condition: Node | None, body: Node, breaks: list[Node]) -> list[Edit]:
    """Return the edits that let an endless loop end by a flag in its condition instead of by `break`.

    All turns then end at one place, so that the compiler cannot make two loops of it, one that waits in the other.
    """
    endless = condition is None or _bare(function.text(condition)) in (b"true", b"1")
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


def _bare(text: bytes) -> bytes:
    text = b"".join(text.split())
    while text.startswith(b"(") and text.endswith(b")"):
        text = text[1:-1]
    return text


def _acquire(function: Function, node: Node) -> _Acquire | None:
    """Return how `node` takes a lock: with a compare-and-swap of constants, or by putting one there."""
    for call in _calls(node):
        name = called_name(call, function.source.code)
        if not _ATOMICS.fullmatch(name):
            continue
        given = [b"".join(function.text(each).split()) for each in arguments(call)]
        if _METHODS.fullmatch(name):
            of = _method_of(function, call)
            swaps = name.startswith(b"compare")
            value = given[1:2] if swaps else given[:1] if name == b"exchange" else [b"1"]
            if of and value and value[0] not in (b"0", b"0u", b"false") and _constant(function, value[0], call):
                return _Acquire(call, of, b"" if swaps else b"0")
            continue
        if len(given) != (3 if name.startswith(b"atomicCAS") else 2) or b"++" in given[0] or b"--" in given[0]:
            continue
        free = given[1] if len(given) == 3 else b"0"
        # What is compared with a value that was loaded is an update, and holds nothing.
        constants = given[1:2] if len(given) == 3 else given[1:]
        if all(_constant(function, each, call) for each in constants) and given[-1] not in (b"0", b"0u", b"false"):
            return _Acquire(call, _pointer(given[0]), free)
    return None


def _pointer(text: bytes) -> bytes:
    """The code of a pointer, without casts and outer parentheses."""
    text = re.sub(rb"^(?:\((?:unsigned|int|volatile|long|uint32_t|u?int)[\w*]*\))+", b"", text)
    while text.startswith(b"(") and text.endswith(b")"):
        text = text[1:-1]
    return text


def _constant(function: Function, text: bytes, at: Node) -> bool:
    """Whether an expression is the same whenever it is asked: numbers, macros, and variables that are declared so."""
    text = re.sub(rb"^\((?:unsigned|int|long|uint|u?int\d+_t|\s)+\)", b"", text)  # a cast
    if b"[" in text or b"*" in text or b"(" in text or b"->" in text:
        return False
    for name in _NAME.findall(text):
        variable = function.locals.named(name, at.start_byte)
        if variable is None:
            continue
        given = function.locals.given.get(variable, [])
        if not given or any(not each.declares or not each.values for each in given):
            return False
        if not all(_constant(function, function.text(value), value) for each in given for value in each.values):
            return False
    return True


def _when_taken(function: Function, condition: Node | None, acquire: _Acquire) -> bytes | None:
    """Return the condition under which the lock was taken, from the one under which the loop goes on."""
    source = function.source
    if condition is None or not contains(condition, acquire.call):
        return source[Span(acquire.call.start_byte, acquire.call.end_byte)] + b" == " + acquire.free
    node: Node | None = condition
    while node is not None and node.type in ("condition_clause", "parenthesized_expression") and node.named_children:
        node = node.named_children[0]
    if node is None:
        return None
    if acquire.free == b"|":
        return b"!(" + source[Span(node.start_byte, node.end_byte)] + b")"
    if not acquire.free and _METHODS.fullmatch(called_name(acquire.call, source.code)):
        # It says whether it was taken.
        refused = node.type == "unary_expression" and node.child_by_field_name("argument") == acquire.call
        return source[Span(acquire.call.start_byte, acquire.call.end_byte)] if refused else None
    if node == acquire.call:
        return source[Span(node.start_byte, node.end_byte)] + b" == " + (acquire.free or b"0")
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    if node.type != "binary_expression" or left is None or right is None or sign is None:
        return None
    if acquire.call not in (left, right) or sign.type not in ("!=", "=="):
        return None
    other = {"!=": b"==", "==": b"!="}[sign.type]
    return source.text[node.start_byte : sign.start_byte] + other + source.text[sign.end_byte : node.end_byte]


def _releases(function: Function, node: Node, acquire: _Acquire) -> bool:
    """Whether a statement gives the lock back."""
    # `*(volatile int*)lock = 0;`
    text = re.sub(
        rb"^\*\((?:volatile|unsigned|int|uint32_t|long)[\w*]*\*\)", b"*", b"".join(function.text(node).split())
    )
    lock = acquire.lock
    plain = lock[1:] if lock.startswith(b"&") else b"*" + lock
    for call in _calls(node) if node.type == "expression_statement" else ():
        name = called_name(call, function.source.code)
        if _GIVES.fullmatch(name) and _method_of(function, call) == lock:
            return call != acquire.call
        given = [b"".join(function.text(each).split()) for each in arguments(call)]
        if name.startswith(b"atomic") and given and _pointer(given[0]) == lock:
            return call != acquire.call and (acquire.free != b"|" or name != b"atomicOr")
    return node.type == "expression_statement" and (
        text.startswith((plain + b"=", b"(" + plain + b")=", lock + b"[0]=", lock + b"=false;", lock + b"=0;"))
        and not text.startswith(plain + b"==")
    )


def _for_the_block(function: Function, loop: Node) -> Iterator[Finding]:
    """A wait for shared memory, which only another thread of the block ends: maybe one of the same wavefront."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    if condition is None or body is None or _WAITS.fullmatch(function.text(body)) is None:
        return
    if _waits_for(function, loop) is not None:
        return  # for a lock
    head = function.source.code[function.node.start_byte : function.body.end_byte]
    for node in nodes(condition):
        if node.type == "identifier" and re.search(rb"\b__shared__\b[^;(){}=]*\b" + function.text(node) + rb"\b", head):
            yield Finding(
                Span(loop.start_byte, (loop if loop.type == "do_statement" else condition).end_byte),
                "flag",
                f"waits for {function.text(node).decode()}, which another thread of the block has to change: on 64 "
                "lanes two warps go on together, and one waits forever for what the other has to do; let them meet at "
                "__syncthreads() instead",
                certainty=Certainty.MANUAL,
            )
            return


def _own_flag(function: Function, condition: Node, kernels: Kernels, readers: frozenset[bytes]) -> bool:
    """Whether the lanes of a wavefront look at different places in memory, which others change, or for other values.

    `readers` are functions that return what is at a pointer.
    """
    for node in nodes(condition):
        if node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or right is None:
                continue
            for looked, wanted in ((left, right), (right, left)):
                if _is_look(function, looked) and kernels.agreement(function, wanted) < 64:
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
                # A compare-and-swap with what was loaded changes the place itself.
                return not _changes(function, given)
    return False


def _is_look(function: Function, node: Node) -> bool:
    """Whether an expression is nothing but a look at what other threads change."""
    while node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
        node = node.named_children[-1]
    if node.type == "call_expression":
        name = called_name(node, function.source.code)
        if name == b"load":
            return bool(_method_of(function, node))
        return bool(re.fullmatch(rb"atomic(?:Add|Or|CAS|Max)\w*", name)) and not _changes(function, arguments(node))
    named = re.match(rb"\W*(\w+)", function.text(node))
    if named is None or node.type not in ("pointer_expression", "subscript_expression", "identifier"):
        return False
    if b"volatile" in function.text(node):
        return True
    of_file = function.locals.named(named[1], node.start_byte) is None
    head = function.source.code[0 if of_file else function.node.start_byte : function.body.end_byte]
    return bool(re.search(rb"\bvolatile\b[^;,(){}=]*\b" + named[1] + rb"\b", head))


def _changes(function: Function, given: tuple[Node, ...]) -> bool:
    return any(b"".join(function.text(each).split()) not in (b"0", b"0u", b"0U", b"0.0f") for each in given[1:])


def _is_flag(function: Function, name: Node, body: Node, acquire: _Acquire) -> bool:
    """Whether a variable tells that the lock was taken: it is set to constants, or to what the call says."""
    variable = function.locals.named(function.text(name), name.start_byte)
    given = [
        each
        for each in function.locals.assignments
        if each.variable == variable and not each.declares and contains(body, each.node)
    ]
    return (
        all(each.values for each in given)
        and bool(given)
        and all(
            value.type in ("true", "false", "number_literal") or contains(value, acquire.call)
            for each in given
            for value in each.values
        )
    )


def _is_opaque(function: Function, name: Node) -> bool:
    return function.source.code[: name.start_byte].rstrip().endswith(b"opaque(")


def _behind(function: Function, node: Node, acquire: _Acquire, kernels: Kernels) -> bool:
    """Whether a `break` stands right behind the unlock, and may be taken to be certain."""
    before = node.prev_named_sibling
    while before is not None:
        if _releases(function, before, acquire) or _unlocks(function, before, acquire.lock, kernels):
            return True
        before = before.prev_named_sibling
    return False


def _leaves(node: Node, returns: bool = False) -> bool:
    """Whether control may go from inside a statement to somewhere else than behind it, `return` apart if `returns`."""
    for each in nodes(node):
        if returns and each.type == "return_statement":
            continue
        if each.type in ("return_statement", "goto_statement", "labeled_statement", "co_return_statement"):
            return True
        if each.type in ("break_statement", "continue_statement"):
            outer = _innermost_loop(each, breaks=each.type == "break_statement")
            if outer is None or not (node.start_byte <= outer.start_byte and outer.end_byte <= node.end_byte):
                return True
    return False


def _innermost_loop(node: Node, breaks: bool = False) -> Node | None:
    outer = node.parent
    while outer is not None and outer.type not in (
        *_LOOPS,
        "for_range_loop",
        *(("switch_statement",) if breaks else ()),
    ):
        outer = outer.parent
    return outer


def _loops(function: Function) -> Iterator[Node]:
    for match in _LOOP.finditer(function.source.code, function.body.start_byte, function.body.end_byte):
        word = function.body.descendant_for_byte_range(match.start(), match.end())
        loop = word.parent if word is not None else None
        if loop is not None and loop.type in _LOOPS and loop.start_byte == match.start():
            yield loop


def _calls(node: Node) -> Iterator[Node]:
    return nodes(node, frozenset(("call_expression",)))


PASS = Pass(Cpp, find)
