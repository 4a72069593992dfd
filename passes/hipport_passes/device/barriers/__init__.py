# SPDX-License-Identifier: Apache-2.0
"""Repair barriers that divergent threads of one wavefront reach.

CUDA and AMD count differently at `__syncthreads()`. NVIDIA GPUs from sm_70 on count threads: a barrier opens when
every thread that has not exited waits at some `__syncthreads()`. AMD counts wavefronts: a wavefront waits once for all
of its active threads, inactive threads do not hold it, and a wavefront that has ended is no longer waited for
(S_BARRIER in AMD's ISA manuals). The consequences for barriers that not all threads reach together are:

* A barrier after an early `return` of some threads opens on both, for the same threads. So does one in a loop that
  some threads leave earlier, if they reach no other barrier afterwards. Nothing has to be done.
* A barrier under a condition that is uniform in a wavefront needs nothing either.
* One barrier in each branch of an `if` at which the threads of a wavefront diverge is a single barrier on CUDA and two
  on AMD: the wavefront executes both branches and is one barrier ahead of the others from there on. The branches are
  split at their barriers, and all threads meet at one: each does what it did before, between the same barriers. Where
  that is impossible, it is reported.
* A barrier in a loop is reported if threads of a wavefront reach it in different iterations (`continue` in front of
  it, an `if` around it), or leave the loop in different iterations for a barrier after it: on CUDA the first thread
  that arrives meets whichever threads wait, on AMD the wavefront executes all iterations that one of its threads has.
* Barriers in functions that threads of a wavefront call through different pointers, or in both branches, are reported.
* `__syncthreads_count`, `_and` and `_or` take the vote of a wavefront from its lane 0 on AMD. If threads may have
  left, they become hipport's, which count the active threads.

A kernel that reaches a numbered barrier, which `inline_ptx` has replaced by hipport's, first sets those barriers to 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, product, takewhile
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis import grounds
from hipport.analysis.divergence import meaning
from hipport.analysis.exclusive_conditions import exclude, squeezed, with_arguments
from hipport.analysis.functions import DEFINE, Call, Condition, Function, comes_by_label, contains
from hipport.analysis.indirect_calls import CALLED, indirect_calls, targets
from hipport.analysis.kernels import Kernels
from hipport.analysis.library_names import LibraryNames
from hipport.analysis.uniform_values import BLOCK
from hipport.analysis.word_index import leading_to
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import Ground, Kept, Scope, missing
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, within
from hipport_passes.device.barriers.barrier_turns import in_turns
from hipport_passes.device.barriers.instead import instead_of, parts
from hipport_passes.device.barriers.waiting import VOTES, Waiting, macros_by_words

if TYPE_CHECKING:
    from tree_sitter import Node

_VOTES = LibraryNames(VOTES)
# Numbered barriers, and the call at the beginning of a kernel with such barriers.
_NUMBERED = frozenset((b"numbered_sync", b"numbered_arrive"))
_BEGINS = re.compile(rb"\{\s*hipport::begin_numbered_barriers\s*\(\s*\)")
_WORDS = re.compile(rb"[A-Za-z_]\w*")
_GOTO = re.compile(rb"\bgoto\b")
_IF = re.compile(rb"\bif\s*\(")
_SPLICED = re.compile(rb"(?:\s|\\(?=\s))*")
_ELSE = re.compile(_SPLICED.pattern + rb"else\b")
# The greatest number of successive barriers, and of conditions on each, that are compared; programs have at most a
# dozen.
_MOST_COMPARED = 32
# The variable for the condition that chooses the branch.
_SIDE = b"hipport_side"


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per barrier that diverged threads of a wavefront reach separately, and per vote they may miss."""
    if project.union_over(source, _numbered):
        yield from _begun(source, project, Kernels.of(project))
    if not project.union_over(source, _barrier_functions):
        return
    kernels = Kernels.of(project)
    yield from _votes(source, project, kernels)
    waiting = Waiting.of(source, project, kernels)
    if not waiting.may_wait(source):
        return
    widest = max(project.target.wavefronts)
    for function in kernels.functions(source):
        if source.ported(function.body.start_byte):
            continue
        yield from _parted(function, kernels, waiting, widest)
        yield from in_turns(function, kernels, waiting, widest)
        yield from _parted_in_macros(function, project, kernels, waiting, widest)


def kept(source: Cpp, project: Project, part: Span) -> Iterator[Kept]:
    """Yield the barriers in a part of a file, with the proof that threads wait as in CUDA, or with the doubt."""
    if not project.union_over(source, _barrier_functions):
        return
    kernels = Kernels.of(project)
    waiting, widest = Waiting.of(source, project, kernels), max(project.target.wavefronts)
    for function in kernels.functions(source):
        for site in waiting.sites(function):
            if not part.start <= site.node.start_byte < part.end:
                continue
            parting = next(_parting(function, project, kernels, waiting, widest), None)
            proof = (parting,) if parting else grounds.reaching(kernels, function, site.node, widest, "barrier")
            said = grounds.quoted(function.text(site.node))
            yield Kept(site.node.start_byte, site.node.end_byte, f"the barrier {said}", proof)


def _parting(function: Function, project: Project, kernels: Kernels, waiting: Waiting, widest: int) -> Iterator[Ground]:
    """Yield the divergences of threads that wait in a function: in the function itself, or in its callers."""
    seen, open_ = {function: None}, [function]
    while open_:
        each = open_.pop()
        found = chain(
            _parted(each, kernels, waiting, widest),
            in_turns(each, kernels, waiting, widest),
            _parted_in_macros(each, project, kernels, waiting, widest),
        )
        for finding in found:
            path, line = grounds.place(each.source, finding.span.start)
            reason = next((ground.reason for ground in finding.proof if not ground.proven), "")
            reason = reason or f"see what barriers/{finding.kind} says of line {line} of {path.as_posix()}"
            claim = "all threads of a block reach it together"
            yield Ground(claim, Scope.BLOCK, reason, path, line, finding.certainty is Certainty.SAFE)
        callers = dict.fromkeys(caller for caller, _ in kernels.called_at(each))
        open_ += [caller for caller in callers if caller not in seen]
        seen |= callers


def _barrier_functions(source: Cpp) -> frozenset[bytes]:
    waits = b"__syncthreads" in source.code or b"thread_block" in source.words or b"hipport::ptx::bar" in source.code
    return frozenset((b"__syncthreads",)) if waits else frozenset()


def _numbered(source: Cpp) -> frozenset[bytes]:
    if _NUMBERED.isdisjoint(source.words) or source.is_hipport_header:
        return frozenset()
    return frozenset(re.findall(rb"\bhipport::(numbered_(?:sync|arrive))\b", source.code))


class _Begun:
    """The kernels, in one component of files, that reach numbered barriers; None before they are computed."""

    def __init__(self, component: Component) -> None:
        self.kernels: tuple[Function, ...] | None = None


def _begun(source: Cpp, project: Project, kernels: Kernels) -> Iterator[Finding]:
    """Yield a finding per kernel that reaches a numbered barrier, and one where no kernel is known to."""
    known = project.component(source).fact(_Begun)
    if known.kernels is None:
        # Without hipport's own headers, which are only here when ported code is read again.
        files = [each for each in project.component(source) if isinstance(each, Cpp) and not each.is_hipport_header]
        functions = [function for file in files for function in kernels.functions(file)]
        macros = {each for file in files for each in file.fact(macros_by_words)}
        units = [*((each.name, each.called) for each in functions if not each.kernel), *macros]
        comes = _NUMBERED | leading_to(_NUMBERED, units)
        known.kernels = tuple(each for each in functions if each.kernel and not comes.isdisjoint(each.called))
    every = known.kernels
    for function in every:
        start = function.body.start_byte
        if function.source is not source or _BEGINS.match(source.code, start) or within(start, source.cuda_only):
            continue
        need, header = include(source, project, "barrier.h")
        if any(each.path.endswith("hipport/ptx.h") for each in source.includes):
            need = None
        below = re.compile(rb"\{[^\S\r\n]*([\r\n]+[ \t]*)?").match(source.code, start)
        text = (below[1] if below and below[1] else b" ") + b"hipport::begin_numbered_barriers();"
        edits = (Edit(Span(start + 1, start + 1), text), *((need,) if need else ()))
        message = f"{function.name.decode()} reaches numbered barriers, so it sets them to 0 first"
        yield Finding(Span(start, start + 1), "numbered", message, edits, creates=(header,))
    if every:
        return
    for match in re.finditer(rb"\bhipport::numbered_(?:sync|arrive)\b", source.code):
        message = (
            f"{match.group().decode()}: no kernel in these files reaches this; a kernel that does has to begin with "
            "hipport::begin_numbered_barriers()"
        )
        yield Finding(Span(*match.span()), "numbered", message, certainty=Certainty.MANUAL)
        return


def _votes(source: Cpp, project: Project, kernels: Kernels) -> Iterator[Finding]:
    uses = dict(_VOTES.uses(source, project))
    if not uses:
        return
    for function in kernels.functions(source):
        for call in function.calls(VOTES):
            called = call.node.child_by_field_name("function")
            span = Span(called.start_byte, called.end_byte) if called is not None else None
            if span not in uses:
                continue
            why = _missing(kernels, function, call.node)
            if why is None:
                continue
            need, header = include(source, project, "barrier.h")
            helper = b"hipport::" + uses[span][2:]
            yield Finding(
                span,
                "vote",
                f"{uses[span].decode()} → {helper.decode()}, which counts the active threads: {why}",
                (Edit(span, helper), *((need,) if need else ())),
                creates=(header,),
                proof=(Ground("it counts the active threads", Scope.BLOCK, why, *grounds.place(source, span.start)),),
            )


def _missing(kernels: Kernels, function: Function, node: Node, depth: int = 4) -> str | None:
    """Return why some threads of the block may not reach `node` together with the others; None if all do."""
    for exit_ in function.exits_before(node):
        for condition in function.conditions(exit_):
            if kernels.uniformity(function, condition.expression) < BLOCK:
                return f"some threads leave earlier, in line {exit_.start_point[0] + 1} of {function.source.path.name}"
    for condition in function.conditions(node):
        if kernels.uniformity(function, condition.expression) < BLOCK:
            return f"some threads do not reach this, because of line {condition.expression.start_point[0] + 1}"
    if depth and not function.kernel:
        for caller, place in kernels.called_at(function):
            why = _missing(kernels, caller, place, depth - 1)
            if why is not None:
                return why
    return None


def _parted(function: Function, kernels: Kernels, waiting: Waiting, widest: int) -> Iterator[Finding]:
    for each in indirect_calls(function) if waiting.pointed else ():
        # An object has one class, whatever its value.
        by_pointer = [of for of in targets(each, function, waiting.pointed, kernels) if of.name != CALLED]
        if len(by_pointer) > 1 and kernels.uniformity(function, each.callee) < widest:
            text = b" ".join(function.text(each.callee).split()).decode("utf-8", "replace")
            proof = (grounds.differing(kernels, function, each.callee, widest),)
            yield Finding(
                Span(each.callee.start_byte, each.callee.end_byte),
                "parted",
                f"threads of one wavefront may call different functions by `{text}`, and wait at a barrier in each: "
                "on CUDA they meet there, but an AMD wavefront waits at both, one after the other; let all "
                f"threads reach one barrier, outside of the called functions{missing(proof)}",
                certainty=Certainty.MANUAL,
                proof=proof,
            )
    barriers = waiting.sites(function)
    if len(barriers) < 2:
        return
    if function.tangled:
        yield _not_compared(barriers[0])
        return
    yield from _parted_by_labels(function, kernels, barriers, widest)
    yield from _parted_apart(function, kernels, barriers, widest)
    done: set[int] = set()
    divided = 0
    for barrier in barriers:
        for condition in function.conditions(barrier.node):
            statement = condition.statement
            if statement.id in done:
                continue
            if not parts(statement):
                done.add(statement.id)
                continue
            others = instead_of(barrier, barriers, statement)
            # Uniformity is computed last, because it is expensive.
            if others is None:
                continue
            unless = ""
            if kernels.uniformity(function, condition.expression) >= widest:
                if kernels.uniformity(function, condition.expression, shown=True) >= widest:
                    done.add(statement.id)
                    continue
                unless = f"unless {kernels.assumption(function.source, function, widest)}, "
            done.add(statement.id)
            text = b" ".join(function.text(condition.expression).split()).decode("utf-8", "replace")
            head = statement.child_by_field_name("condition") or statement
            edits = _divided(function, statement, [barrier, *others], waiting, divided)
            divided += any(_SIDE in edit.new for edit in edits)
            proof = (grounds.differing(kernels, function, condition.expression, widest, shown=bool(unless)),)
            if edits:
                here = grounds.place(function.source, statement.start_byte)
                claim = "each thread executes the same code between the same barriers"
                same = f"both branches of `if ({text})` have the same number of barriers, and are divided there"
                yield Finding(
                    Span(statement.start_byte, head.end_byte),
                    "parted",
                    f"one barrier for both branches of `if ({text})`: {unless}an AMD wavefront with threads in both "
                    "would wait twice",
                    edits,
                    proof=(Ground(claim, Scope.BLOCK, same, *here),),
                )
            else:
                first, there = barrier.node.start_point[0] + 1, others[0].node.start_point[0] + 1
                yield Finding(
                    Span(statement.start_byte, head.end_byte),
                    "parted",
                    f"{unless}threads of one wavefront diverge at `{text}` and wait at different barriers, in lines "
                    f"{first} and {there}: on CUDA they meet there, but an AMD wavefront waits at both, one after the "
                    "other; let all threads reach one barrier, with the code around it under the condition"
                    f"{missing(proof)}",
                    certainty=Certainty.MANUAL,
                    proof=proof,
                )


def _parted_apart(function: Function, kernels: Kernels, barriers: Sequence[Call], widest: int) -> Iterator[Finding]:
    """Yield a finding per pair of successive barriers of which each thread reaches one.

    They are under conditions that exclude each other, `if (x) …; if (!x) …;`, or in `(x && …) || …`.
    """
    conditions = [
        [each for each in function.conditions(barrier.node) if each.taken is not None and not each.loop]
        for barrier in barriers
    ]
    ways = [frozenset(map(_way, each)) for each in conditions]
    told = False
    for i, first in enumerate(barriers):
        # All threads meet at a barrier that is under no condition.
        behind = takewhile(lambda j: conditions[j], range(i + 1, len(barriers) if conditions[i] else 0))
        for j in behind:
            second = barriers[j]
            own, others = conditions[i], conditions[j]
            if j - i > _MOST_COMPARED or len(ways[i] ^ ways[j]) > _MOST_COMPARED:
                if not told and any(kernels.uniformity(function, each.expression) < widest for each in own):
                    told = True
                    yield _not_compared(first)
                break
            shared = ways[i] & ways[j]
            between = Span(first.node.start_byte, second.node.start_byte)
            at = None
            if len(shared) < min(len(ways[i]), len(ways[j])):
                mine, theirs = ([each for each in some if _way(each) not in shared] for some in (own, others))
                at = _excluding(function, mine, theirs, between)
            # Uniformity is computed last, because it is expensive.
            if at is None or kernels.uniformity(function, at) >= widest:
                continue
            if any(
                all(
                    _way(each) in shared or kernels.uniformity(function, each.expression) >= widest
                    for each in conditions[k]
                )
                for k in range(i + 1, j)
            ):
                break  # All threads meet there.
            text = b" ".join(function.text(at).split()).decode("utf-8", "replace")
            here, there = first.node.start_point[0] + 1, second.node.start_point[0] + 1
            proof = (grounds.differing(kernels, function, at, widest),)
            yield Finding(
                Span(first.node.start_byte, first.node.end_byte),
                "parted",
                f"threads of one wavefront diverge at `{text}` and wait at different barriers, in lines {here} and "
                f"{there}: on CUDA they meet there, but an AMD wavefront waits at both, one after the other; let all "
                f"threads reach one barrier, with the code around it under the condition{missing(proof)}",
                certainty=Certainty.MANUAL,
                proof=proof,
            )
            break


def _not_compared(barrier: Call) -> Finding:
    proof = _unproven(barrier, "not each pair is compared")
    return Finding(
        Span(barrier.node.start_byte, barrier.node.end_byte),
        "parted",
        "too many barriers under conditions to compare each pair: make sure that threads of one wavefront do not "
        f"diverge at a condition and wait at different barriers{missing(proof)}",
        certainty=Certainty.MANUAL,
        proof=proof,
    )


def _unproven(barrier: Call, reason: str) -> tuple[Ground, ...]:
    """Return the ground that threads of one wavefront may wait at different barriers, for a reason that is no
    condition.
    """
    where = grounds.place(barrier.function.source, barrier.node.start_byte)
    return (Ground("all threads of a block reach it together", Scope.BLOCK, reason, *where, proven=False),)


def _way(condition: Condition) -> tuple[int, bool | None]:
    return condition.statement.id, condition.taken


def _excluding(function: Function, own: list[Condition], others: list[Condition], between: Span) -> Node | None:
    """Return one of the conditions `own` that does not hold where the `others` do; None if there is none."""
    for one, other in product(own, others):
        if one.statement == other.statement:
            continue
        if (
            other.statement.type == "binary_expression"
            and not other.taken
            and contains(other.expression, one.statement)
        ):
            return one.expression  # `(one && …) || …`
        texts = [(b"" if each.taken else b"!") + squeezed(function.text(each.expression)) for each in (one, other)]
        meant = [meaning(function, text, one.expression) for text in texts]
        if (exclude(*texts) or exclude(*meant)) and not any(
            between.start <= each.node.start_byte < between.end
            and each.variable.name in _WORDS.findall(texts[0])
            and not each.declares
            for each in function.locals.assignments
        ):
            return one.expression
    return None


def _parted_by_labels(function: Function, kernels: Kernels, barriers: Sequence[Call], widest: int) -> Iterator[Finding]:
    """Yield a finding per `goto` with which some threads skip a barrier and reach another one."""
    if not function.mentions(_GOTO):
        return
    sides: dict[int, dict[bool, Call]] = {}
    leaving = {}
    for barrier in barriers:
        for exit_ in function.exits_before(barrier.node):
            comes = comes_by_label(function, exit_, barrier.node) if exit_.type == "goto_statement" else None
            if comes is not None:
                leaving[exit_.start_byte] = exit_
                sides.setdefault(exit_.start_byte, {}).setdefault(comes, barrier)
    for start, found in sides.items():
        expressions = (each.expression for each in function.conditions(leaving[start]))
        differing = next((each for each in expressions if kernels.uniformity(function, each) < widest), None)
        if len(found) < 2 or differing is None:
            continue
        proof = (grounds.differing(kernels, function, differing, widest),)
        here, there = (found[side].node.start_point[0] + 1 for side in (False, True))
        yield Finding(
            Span(start, leaving[start].end_byte),
            "parted",
            f"threads of one wavefront diverge at this goto and wait at different barriers, in lines {here} and "
            f"{there}: on CUDA they meet there, but an AMD wavefront waits at both, one after the other; let all "
            f"threads reach one barrier{missing(proof)}",
            certainty=Certainty.MANUAL,
            proof=proof,
        )


def _parted_in_macros(
    function: Function, project: Project, kernels: Kernels, waiting: Waiting, widest: int
) -> Iterator[Finding]:
    """Yield a finding per use of a macro that has a divergent `if` with barriers in both branches."""
    source = function.source
    branching = project.component(source).fact(_branching)
    lambdas: set[bytes] = set()
    if branching and not branching.keys().isdisjoint(function.called):
        lambdas.update(waiting.lambdas(function))
    for call in function.calls(branching.keys() & function.called) if branching else ():
        for parameters, condition, branches in branching[call.name]:
            values = dict(zip(parameters, map(function.text, call.arguments), strict=False))
            made = [set(_WORDS.findall(_WORDS.sub(_replaced(values), branch))) for branch in branches]
            if not all(words & lambdas or waiting.in_words(words) for words in made):
                continue
            asked = with_arguments(squeezed(condition), parameters, tuple(values.values()))
            if kernels.uniformity_of_text(function, asked, call.node) >= widest:
                continue
            text = b" ".join(condition.replace(b"\\", b" ").split()).decode("utf-8", "replace")
            proof = _unproven(call, f"lanes may disagree on `{text}`, which {call.name.decode()} asks")
            yield Finding(
                Span(call.node.start_byte, call.node.start_byte + len(call.name)),
                "parted",
                f"threads of one wavefront diverge at `{text}` in {call.name.decode()} and wait at a barrier in each "
                "of its branches: on CUDA they meet there, but an AMD wavefront waits at both, one after the other; "
                "write one barrier that all threads reach, with the code around it under the condition"
                f"{missing(proof)}",
                certainty=Certainty.MANUAL,
                proof=proof,
            )
            break


def _replaced(values: dict[bytes, bytes]) -> Callable[[re.Match[bytes]], bytes]:
    """Return the replacement of a word in a macro that is called with such arguments."""
    return lambda match: values.get(match.group(), match.group())


class _Branching(NamedTuple):
    """An `if` with two branches in a macro with these parameters."""

    parameters: tuple[bytes, ...]
    condition: bytes
    branches: tuple[bytes, bytes]


def _branching(component: Component) -> dict[bytes, list[_Branching]]:
    """Return the macros of a component that have an `if` with two branches, by their names."""
    found: dict[bytes, list[_Branching]] = {}
    for name, each in {each for source in component if isinstance(source, Cpp) for each in source.fact(_branches)}:
        found.setdefault(name, []).append(each)
    return found


def _branches(source: Cpp) -> frozenset[tuple[bytes, _Branching]]:
    found = set()
    for directive in source.directives if {b"define", b"else"} <= source.words else ():
        define = DEFINE.match(source.code, directive.start, directive.end)
        if define is None or not define[2] or b"else" not in define[3]:
            continue
        parameters = tuple(part.strip() for part in define[2][1:-1].split(b","))
        for match in _IF.finditer(source.code, define.start(3), define.end(3)):
            closing = source.closing(match.end() - 1)
            middle = _statement_end(source, closing + 1, define.end(3)) if closing is not None else None
            other = _ELSE.match(source.code, middle, define.end(3)) if middle is not None else None
            end = _statement_end(source, other.end(), define.end(3)) if other is not None else None
            if closing is not None and other is not None and end is not None:
                condition = source.code[match.end() : closing]
                branches = source.code[closing + 1 : other.start()], source.code[other.end() : end]
                found.add((define[1], _Branching(parameters, condition, branches)))
    return frozenset(found)


def _statement_end(source: Cpp, start: int, limit: int) -> int | None:
    """Return the end of the statement that begins at `start`, after white space: after its brace or semicolon."""
    first = _SPLICED.match(source.code, start, limit)
    start = first.end() if first is not None else start
    if source.code[start : start + 1] == b"{":
        closing = source.closing(start)
        return closing + 1 if closing is not None and closing < limit else None
    end = source.code.find(b";", start, limit)
    # In the last statement, the use of the macro supplies the semicolon.
    return end + 1 if end >= 0 else limit


def _is_group_barrier(function: Function, statement: Node, barriers: Sequence[Call]) -> bool:
    """Return whether a statement is just `block.sync();` of the block."""
    inner = (
        statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else None
    )
    return inner is not None and any(each.node == inner and each.name == b"sync" for each in barriers)


def _divided(
    function: Function, statement: Node, barriers: list[Call], waiting: Waiting, earlier: int
) -> tuple[Edit, ...]:
    """Return the edits that divide both branches of an `if` at their barriers; none if that is impossible.

    `earlier`: the number of statements divided before in the function, each with its own variable.
    """
    source = function.source
    yes, clause = statement.child_by_field_name("consequence"), statement.child_by_field_name("alternative")
    no = clause.named_children[-1] if clause is not None and clause.named_children else None
    condition = statement.child_by_field_name("condition")
    if yes is None or no is None or condition is None or len(condition.named_children) != 1:
        return ()
    if statement.parent is None or statement.parent.type not in ("compound_statement", "case_statement"):
        return ()
    sides = []
    for branch in (yes, no):
        if branch.type != "compound_statement" or _has_jumps(branch):
            return ()
        direct = [
            each
            for each in branch.named_children
            if waiting.is_plain(function.text(each)) or _is_group_barrier(function, each, barriers)
        ]
        if len(direct) != sum(contains(branch, each.node) for each in barriers):
            return ()
        sides.append((branch, direct))
    if len(sides[0][1]) != len(sides[1][1]):
        return ()
    written = {b"".join(function.text(each).split()) for _, direct in sides for each in direct}
    # The program's own spelling of the barrier stays.
    same = written.pop() if len(written) == 1 else b""
    word = same if waiting.is_plain(same) else b"__syncthreads();"
    pieces = [_pieces(source, branch, direct) for branch, direct in sides]
    indent = source.indent(statement.start_byte)
    if indent is None:
        return ()
    newline = source.newline
    if len(sides[0][1]) == 1 and not any(source.code[side[-1].start : side[-1].end].strip() for side in pieces):
        # Both branches end with the barrier, so it moves behind them.
        after = Edit(Span(statement.end_byte, statement.end_byte), newline + indent + word)
        return (*(Edit(_whole_line(source, direct[0]), b"") for _, direct in sides), after)
    if any(_crosses(function, branch, direct) for branch, direct in sides):
        return ()
    if statement.parent.type == "case_statement":
        return ()  # The next case would jump over the variable.
    # Each `if` needs its own variable: in one block the name would be declared twice.
    side = _SIDE + (b"_%d" % (earlier + 1) if earlier else b"")
    while side in source.text:
        side += b"_"
    text = b"const bool " + side + b" = " + source[Span(*_range(condition.named_children[0]))] + b";"
    for number, (first, second) in enumerate(zip(*pieces, strict=True)):
        if number:
            text += newline + indent + word
        here, there = _block(source, first, indent), _block(source, second, indent)
        if source.code[second.start : second.end].strip():
            text += newline + indent + b"if (" + side + b") " + here + b" else " + there
        elif source.code[first.start : first.end].strip():
            text += newline + indent + b"if (" + side + b") " + here
    return (Edit(Span(statement.start_byte, statement.end_byte), text),)


def _pieces(source: Cpp, branch: Node, barriers: list[Node]) -> list[Span]:
    """Return the text before, between and after the barriers of a branch, without its braces."""
    cuts = [branch.start_byte + 1]
    for barrier in barriers:
        cuts += [barrier.start_byte, barrier.end_byte]
    cuts.append(branch.end_byte - 1)
    return [Span(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=True)]


def _block(source: Cpp, piece: Span, indent: bytes) -> bytes:
    return b"{" + source[piece].rstrip() + source.newline + indent + b"}"


def _crosses(function: Function, branch: Node, barriers: list[Node]) -> bool:
    """Return whether a declaration before a barrier of the branch is used after it."""
    code = function.source.code
    for child in branch.named_children:
        behind = [barrier for barrier in barriers if barrier.start_byte >= child.end_byte]
        if child.type.startswith("preproc") and child.type != "preproc_call":
            return True
        if not behind or child.type not in ("declaration", "type_definition", "alias_declaration", "using_declaration"):
            continue
        rest = set(_WORDS.findall(code, behind[0].end_byte, branch.end_byte))
        if (
            child.type != "declaration"
            or {each.name for each in function.locals.variables if child.start_byte <= each.start < child.end_byte}
            & rest
        ):
            return True
    return False


def _has_jumps(node: Node) -> bool:
    return node.type in ("goto_statement", "labeled_statement") or any(map(_has_jumps, node.named_children))


def _whole_line(source: Cpp, node: Node) -> Span:
    """Return the span of the statement, with its line if it stands alone there."""
    start = source.line_start(node.start_byte)
    end = source.text.find(source.newline, node.end_byte)
    alone = not source.text[start : node.start_byte].strip() and not source.text[node.end_byte : end].strip()
    return Span(start, end + len(source.newline)) if alone and end >= 0 else Span(*_range(node))


def _range(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


PASS = Pass(Cpp, find, proves=frozenset(("vote", "parted", "turns")), kept=kept)
