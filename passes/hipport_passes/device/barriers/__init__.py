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
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis import grounds
from hipport.analysis.functions import Function
from hipport.analysis.kernels import Kernels
from hipport.analysis.library_names import LibraryNames
from hipport.analysis.macro_exits import conditions_around, exits_by_macros
from hipport.analysis.uniform_values import BLOCK
from hipport.analysis.word_index import leading_to
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import Ground, Kept, NeededChange, Scope
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.barriers.barrier_branches import in_branches
from hipport_passes.device.barriers.barrier_iterations import in_iterations
from hipport_passes.device.barriers.barrier_macros import in_macros
from hipport_passes.device.barriers.waiting import VOTES, Waiting, macros_by_words

if TYPE_CHECKING:
    from tree_sitter import Node

_VOTES = LibraryNames(VOTES)
# Numbered barriers, and the call at the beginning of a kernel with such barriers.
_NUMBERED = frozenset((b"numbered_sync", b"numbered_arrive"))
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_BEGINS = _WORDS.compile(rb"\{\s*(?&hipport)::(?&begins_barriers)\s*\(\s*\)")
_NUMBERED_BARRIER = _WORDS.compile(rb"\b(?&hipport)::((?&numbered_barriers))\b")


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
        yield from in_branches(function, kernels, waiting, widest)
        yield from in_iterations(function, kernels, waiting, widest)
        yield from in_macros(function, project, kernels, waiting, widest)


def kept(source: Cpp, project: Project, part: Span) -> Iterator[Kept]:
    """Yield the barriers in a part of a file, with the proof that threads wait as in CUDA, or with the doubt.

    A divergence for which nothing is changed puts all barriers of its function in doubt: a wavefront that waits once
    more than the others meets them one barrier too early from there on. One that is repaired is no reason for another
    barrier to be right, so each has a proof of its own.
    """
    if not project.union_over(source, _barrier_functions):
        return
    kernels = Kernels.of(project)
    waiting, widest = Waiting.of(source, project, kernels), max(project.target.wavefronts)
    for function in kernels.functions(source):
        sites = [each for each in waiting.sites(function) if part.start <= each.node.start_byte < part.end]
        divergences = list(_divergences(function, project, kernels, waiting, widest)) if sites else []
        doubts = [(each, finding) for each, finding in divergences if not finding.edits]
        for site in sites:
            start, end = site.node.start_byte, site.node.end_byte
            # What is reported at the barrier itself says more about it than what is reported elsewhere.
            doubt = min(
                doubts, key=lambda found: found[0] is not function or found[1].span.start != start, default=None
            )
            proof = (_doubt(*doubt),) if doubt else grounds.convergence(kernels, function, site.node, widest, "barrier")
            needs = tuple(_needed(*each, function, Span(start, end)) for each in divergences if each[1].edits)
            yield Kept(start, end, f"the barrier {grounds.quoted(function.text(site.node))}", proof, needs)


def _divergences(
    function: Function, project: Project, kernels: Kernels, waiting: Waiting, widest: int
) -> Iterator[tuple[Function, Finding]]:
    """Yield the findings about threads that wait in a function: in the function itself, or in its callers."""
    seen, open_ = {function: None}, [function]
    while open_:
        each = open_.pop()
        found = chain(
            in_branches(each, kernels, waiting, widest),
            in_iterations(each, kernels, waiting, widest),
            in_macros(each, project, kernels, waiting, widest),
        )
        yield from ((each, finding) for finding in found)
        callers = dict.fromkeys(caller for caller, _ in kernels.called_at(each))
        open_ += [caller for caller in callers if caller not in seen]
        seen |= callers


def _needed(function: Function, finding: Finding, of: Function, barrier: Span) -> NeededChange:
    """Return the change of a finding in `function`, which the proof for a barrier in the function `of` needs."""
    spans = [edit.span for edit in finding.edits]
    here = function is of and any(each.start < barrier.end and barrier.start < each.end for each in spans)
    return NeededChange(function.source.path, finding.span.start, finding.kind, here)


def _doubt(function: Function, finding: Finding) -> Ground:
    """Return what the proof for a barrier lacks because of a divergence for which nothing is changed."""
    path, line = grounds.place(function.source, finding.span.start)
    reason = next(ground.reason for ground in finding.proof if not ground.proven)
    return Ground("all threads of a block reach it together", Scope.BLOCK, reason, path, line, proven=False)


def _barrier_functions(source: Cpp) -> frozenset[bytes]:
    waits = b"__syncthreads" in source.code or b"thread_block" in source.words or b"hipport::ptx::bar" in source.code
    return frozenset((b"__syncthreads",)) if waits else frozenset()


def _numbered(source: Cpp) -> frozenset[bytes]:
    if _NUMBERED.isdisjoint(source.words) or source.is_hipport_header:
        return frozenset()
    return frozenset(_NUMBERED_BARRIER.findall(source.code))


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
    for match in _NUMBERED_BARRIER.finditer(source.code):
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
                line = function.source.line_read(exit_.start_byte)
                return f"some threads leave earlier, in line {line} of {function.source.path.name}"
    for by_macro in exits_by_macros(kernels, function, node):
        around = conditions_around(function, by_macro, node)
        if by_macro.differs(kernels, function, BLOCK) or any(
            kernels.uniformity(function, each.expression) < BLOCK for each in around
        ):
            line = function.source.line_read(by_macro.node.start_byte)
            may = "" if by_macro.asked is not None else "may "
            return f"some threads {may}leave earlier, by {by_macro.name.decode()} in line {line}"
    for condition in function.conditions(node):
        if kernels.uniformity(function, condition.expression) < BLOCK:
            line = function.source.line_read(condition.expression.start_byte)
            return f"some threads do not reach this, because of line {line}"
    if depth and not function.kernel:
        for caller, place in kernels.called_at(function):
            why = _missing(kernels, caller, place, depth - 1)
            if why is not None:
                return why
    return None


PASS = Pass(Cpp, find, proves=frozenset(("vote", "divergent", "iterations")), kept=kept)
