# SPDX-License-Identifier: Apache-2.0
"""Loops of any form in which lanes wait for other lanes of their own wavefront, if no other rule decides them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.divergence import calls_itself
from hipport.analysis.ending_loops import EndingLoops
from hipport.analysis.functions import Function, nodes
from hipport.analysis.inlined_program import WAITING, Inlining, RegisterOrigin
from hipport.analysis.kernels import Kernels
from hipport.analysis.memory_places import LOOKS, kind_of_call
from hipport.analysis.uniform_values import Value
from hipport.analysis.wavefront_waits import At, wavefront_waits
from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import one_of
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

# Methods in which a thread waits.
_WAITING = frozenset(each.encode() for each in WAITING)
# The parameter of a lambda that may get the lambda itself.
_GENERIC = re.compile(rb"[(,]\s*(?:const\s+)?auto\b")
_LAMBDAS = frozenset(("lambda_expression",))
_LOOPS = re.compile(rb"\b%s\b" % one_of("while for do goto").encode())
# Reads in a loop of memory that others write: atomic operations with used results, volatile memory, loads past the
# caches, and operations in loops that wait for plain memory.
_FUNCTIONS, _METHODS, _ATOMICS, _FENCES, _LOADS = (one_of(names).encode() for names in LOOKS)
_LOOKS = re.compile(
    rb"\bvolatile\b|[^;{}:)\s]\s*(?:\w+\s*::\s*)*"
    + _ATOMICS
    + rb"\s*\(|\bwhile\s*\([^;{}]*\)\s*"
    + _FENCES
    + rb"|\basm\b[^;]*\b"
    + _LOADS
    + rb"\.|\b"
    + _FUNCTIONS
    + rb"\b|(?:\.|->)\s*"
    + _METHODS
    + rb"\s*\("
)
_LOOP_NODES = frozenset(("while_statement", "do_statement", "for_statement"))
_CALLED = re.compile(rb"(\w+)\s*\(\s*\Z")
_NOTHING_ADDED = re.compile(rb"[^;{}]{0,200}?,\s*0\w?\s*\)")
_LEAVES = re.compile(rb"\b%s\b" % one_of("break return goto").encode())
_VOLATILE = re.compile(rb"volatile(?<!\wvolatile)\b[^;,(){}=]*?\b(\w+)\s*[\[=;]")
_WORDS = re.compile(rb"[A-Za-z_]\w*")
_MOST_PLACES = 4


class Found(NamedTuple):
    """A loop that waits: its condition, the memory that it reads, and the stores there that come too late."""

    condition: Span
    names: tuple[str, ...]
    stores: tuple[At, ...]
    unseen: bool
    #: Whether other lanes of the wavefront store there before they reach the loop.
    early: bool
    #: Why hipport does not follow the function that the loop is in; then only its form shows that it may wait.
    not_read: str = ""

    @property
    def is_fine(self) -> bool:
        """Return whether none of the stores that it waits for comes too late."""
        return not self.stores and not self.unseen and not self.not_read


class WavefrontLoops:
    """The loops of a component in which lanes may wait for lanes of their own wavefront."""

    def __init__(self, source: Cpp, kernels: Kernels) -> None:
        self._kernels = kernels
        self._source = source
        self._found: dict[PurePath, dict[Span, Found]] = {}
        #: Functions with a loop that read such memory.
        self._looping: list[Function] = []
        self._watched: set[bytes] = set()
        files = [each for each in kernels.files(source) if not each.is_hipport_header]
        if not any(each.fact(_may_look) for each in files):
            return  # Without functions that read such memory, nothing has to be parsed.
        ending = EndingLoops(kernels.proofs(source).program)
        for root in self._roots(files):
            # Most loops count: a kernel that has no others is not inlined.
            if not ending.all_end(kernels.proofs(source).program.ir(root)):
                self._look(root)
        for function in self._looping:
            unread = kernels.proofs(source).program.ir(function).unread
            if unread is not None:
                known = self._found.setdefault(function.source.path, {})
                known |= {at: Found(at, (), (), False, False, unread[0]) for at in self._maybe_waiting(function)}

    @staticmethod
    def of(source: Cpp, project: Project, kernels: Kernels) -> WavefrontLoops:
        """Return the loops in the component of `source`."""
        known = project.component(source).fact(_known)
        if not known:
            known.append(WavefrontLoops(source, kernels))
        return known[0]

    def among(self, source: Cpp) -> Sequence[Found]:
        """Return the loops of a file, in order."""
        return sorted(self._found.get(source.path, {}).values())

    def _roots(self, files: Sequence[Cpp]) -> list[Function]:
        """Return the kernels that reach a loop that may wait, and functions without visible callers."""
        watched = {name for file in files if b"volatile" in file.words for name in _VOLATILE.findall(file.code)}
        self._watched = watched
        every = [function for file in files for function in self._kernels.functions(file)]
        looking = {function for function in every if self._looks(function, watched)}
        names = {function.name for function in looking}
        waiting = set(names)
        while waiting:
            more = {each for each in every if each not in looking and not waiting.isdisjoint(each.called)}
            looking |= more
            waiting = {each.name for each in more} - names
            names |= waiting
        roots: dict[Function, None] = {}
        for function in looking:
            for each in self._kernels.with_callers(function):
                if each.kernel or all(caller is each for caller, _ in self._kernels.called_at(each)):
                    roots[each] = None
        # A loop that reads such memory itself, through a call, or through a parameter.
        looping = {
            function
            for function in every
            if (function in looking or not function.called.isdisjoint(function.parameters)) and self._loops(function)
        }
        self._looping = [function for function in every if function in looping and function in looking]
        by_name: dict[bytes, list[Function]] = {}
        for function in every:
            by_name.setdefault(function.name, []).append(function)
        found = [root for root in roots if not looping.isdisjoint(_below(root, by_name))]
        return sorted(found, key=lambda each: (str(each.source.path), each.node.start_byte))

    def _loops(self, function: Function) -> bool:
        """Return whether there is a loop in a function or in the expansion of a macro, or a recursive call."""
        source = function.source
        if _LOOPS.search(source.code, function.body.start_byte, function.body.end_byte):
            return True
        if not function.called.isdisjoint(_WAITING):
            return True
        if any(
            calls_itself(function, each) for each in nodes(function.body, _LAMBDAS) if b"auto" in function.text(each)
        ):
            return True
        macros = self._kernels.macros(source)
        words = set(_WORDS.findall(source.code, function.body.start_byte, function.body.end_byte)) & macros.keys()
        if any(_LOOPS.search(macro.text) for word in words for macro in macros[word]):
            return True
        return any(
            function.name in of.called
            for name in (function.name, *function.called)
            for of in self._kernels.definitions(source, name)
        )

    def _maybe_waiting(self, function: Function) -> Iterator[Span]:
        """Yield the conditions of the loops of a function that may wait, by their form."""
        code = function.source.code
        for loop in nodes(function.node, _LOOP_NODES):
            condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
            asked = condition is not None and self._reads(function, condition)
            inside = body is not None and self._reads(function, body)
            leaves = body is not None and _LEAVES.search(code, body.start_byte, body.end_byte)
            if asked or (inside and (leaves or condition is None)):
                at = condition or loop
                yield Span(at.start_byte, at.end_byte)

    def _reads(self, function: Function, node: Node) -> bool:
        """Whether a text reads memory that others write, other than by counting, which a lane does itself."""
        code, start, end = function.source.code, node.start_byte, node.end_byte
        for match in _LOOKS.finditer(code, start, end):
            called = _CALLED.search(match[0])
            counts = called is not None and kind_of_call(called[1].decode()) == "counts"
            if not counts or _NOTHING_ADDED.match(code, match.end(), end):
                return True
        # Another function's volatile variable may have the name of one of this function's.
        words = (match for match in _WORDS.finditer(code, start, end) if match[0] in self._watched)
        return any(function.locals.named(match[0], match.start()) is None for match in words)

    @staticmethod
    def _looks(function: Function, watched: set[bytes]) -> bool:
        return function.fact(_looks_itself) or not watched.isdisjoint(
            _WORDS.findall(function.source.code, function.node.start_byte, function.body.end_byte) if watched else ()
        )

    def _look(self, root: Function) -> None:
        proofs = self._kernels.proofs(root.source)
        whole = Inlining(proofs.program).of(proofs.program.callee(root))

        def told(named: RegisterOrigin) -> Value | None:
            # Most kernels have no loop that waits: the value analysis runs only where there is one.
            proofs.run(root)
            return proofs.told(*named)

        waits = wavefront_waits(whole, proofs.program.is_variable, told, called=root.kernel)
        for wait in waits:
            for each in wait.conditions[:1]:
                assert isinstance(each.path, PurePath)
                known = self._found.setdefault(each.path, {})
                at = Span(*each.span)
                before = known.get(at, Found(at, (), (), False, False))
                known[at] = Found(
                    at,
                    tuple(dict.fromkeys((*before.names, *wait.names))),
                    tuple(dict.fromkeys((*before.stores, *wait.stores))),
                    before.unseen or wait.unseen,
                    before.early or wait.early,
                )


def _may_look(source: Cpp) -> bool:
    return _LOOKS.search(source.code) is not None


def _looks_itself(function: Function) -> bool:
    return _LOOKS.search(function.source.code, function.node.start_byte, function.body.end_byte) is not None


def _below(root: Function, by_name: Mapping[bytes, Sequence[Function]]) -> set[Function]:
    """Return a function with all functions that it may call, by names."""
    found, waiting = {root}, [root]
    while waiting:
        for name in waiting.pop().called:
            for each in by_name.get(name, ()):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
    return found


def _known(component: Component) -> list[WavefrontLoops]:
    """Return a cache of the loops of these files that wait."""
    return []


def unnoticed(found: Sequence[Found], source: Cpp, covered: Sequence[Span]) -> Iterator[Finding]:
    """Yield a finding for each loop that waits and that is not `covered` already."""
    for each in found:
        at = each.condition
        if each.is_fine or source.ported(at.start) or any(of.start <= at.start < of.end for of in covered):
            continue
        names = " and ".join(each.names[:2]) or "memory"
        if each.not_read:
            yield Finding(
                at,
                "wait",
                f"lanes may wait here for a lane of their own wavefront, which would never reach its store on AMD; not "
                f"proven: {each.not_read}; if they do, let it store before the others wait, or let whole wavefronts of "
                "64 lanes wait and store",
                certainty=Certainty.MANUAL,
            )
            continue
        yield Finding(
            at,
            "wait",
            f"lanes wait here until {names} changes, {_by_whom(each, source)}: an AMD wavefront leaves a loop, or "
            "takes the other branch, only when its last lane is done, so that lane never reaches its store; let it "
            "store before the others wait, let whole wavefronts of 64 lanes wait and store, or test and store in one "
            "loop, once per iteration for each lane, until all are done",
            certainty=Certainty.MANUAL,
        )


def _by_whom(found: Found, source: Cpp) -> str:
    if not found.stores:
        return "by a store that is not seen"
    places = []
    for each in found.stores[:_MOST_PLACES]:
        if each.path == source.path:
            places.append(f"line {source.line_read(each.span[0])}")
        elif isinstance(each.path, PurePath):
            places.append(f"a line of {each.path.name}")
    text = " and ".join(dict.fromkeys(places))
    return f"and a lane of the same wavefront may have to change it, in {text}"
