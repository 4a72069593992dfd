# SPDX-License-Identifier: Apache-2.0
"""Compare hipport's statements about collectives and barriers with what LLVM proves about the compiled code.

* A finding that hipport left for review, because it did not prove that lanes reach a place together, is "discharged" if
  LLVM proves it, in every kernel and for every compiled target.
* A condition that hipport takes for uniform, and that LLVM derives from the number of a thread, is a "contradiction":
  if a SAFE change, or a barrier without a finding, depends on it, hipport is wrong there. So are two SAFE calls of one
  collective on different sides of a branch at which lanes of a warp diverge, if their masks have lanes in common.

The certainties of a rewrite do not change by this: they are the same on a machine without a compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from hipport.analysis.functions import Function, bare, function_at
from hipport.analysis.kernels import Kernels
from hipport.analysis.macros import Mentioning
from hipport.analysis.uniform_values import BLOCK, WARP
from hipport.building.proving import Branch, ReachedSite, UnitProof
from hipport.core.finding import Certainty
from hipport.engine.outcomes import Outcome, Ported, Reported
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

#: The rules whose findings say which lanes reach a call, and what they then state.
_GROUPS = "cooperative_groups/"
_COLLECTIVES = ("warp_intrinsics/", _GROUPS)
#: The rules whose findings concern all calls of a program with groups, but stand where the groups are created.
_OF_ALL = ("cooperative_groups/header", "cooperative_groups/groups")
_BARRIERS = "barriers/"
_TOGETHER = " reach this call together"
_ALL_LANES = 0xFFFFFFFF
#: Bytes that cannot be in a name with its namespaces and objects, and the maximum length of one.
_NO_NAME, _LONGEST_NAME = frozenset(b";={}()?,!"), 200
_DIVERGENT = ("barriers/divergent",)
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_STATEMENTS = frozenset(
    "if_statement while_statement do_statement for_statement for_range_loop switch_statement "
    "conditional_expression".split()
)


@dataclass(frozen=True)
class Contradiction:
    """A condition that hipport takes for uniform, and LLVM does not.

    `scope` is `block` for all threads of a block. It is `ways` if hipport claims nothing about the condition, but
    ported calls on both sides as if no lanes were on the other. `calls` are the collectives and barriers that depend on
    it, by path, line and name.
    """

    path: PurePath
    line: int
    column: int
    condition: str
    scope: str
    calls: tuple[tuple[PurePath, int, str], ...]
    targets: tuple[str, ...]

    @property
    def message(self) -> str:
        """The message for the user."""
        where = ", ".join(f"{name} ({path.as_posix()}:{line})" for path, line, name in self.calls)
        condition = f"`{self.condition}`" if self.condition else "the branch here"
        said = (
            f"hipport said SAFE of {where}, which lanes of one warp reach on different ways: LLVM's uniformity "
            f"analysis says that {condition} depends on the number of the lane"
            if self.scope == "ways"
            else f"hipport said SAFE of {where}, taking {condition} to be the same for all threads of a block; "
            "LLVM's uniformity analysis says that it depends on the number of the thread"
        )
        return (
            f"{said}. This is an error of hipport's, not of the program: please report it with this function, and "
            "check by hand whether all threads take the same way here"
        )


@dataclass(frozen=True)
class Discharged:
    """A finding that a person had to check, and that LLVM has proven for `targets`."""

    finding: Reported
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Undecided:
    """A finding of the same kind that LLVM has not proven, and the reason."""

    finding: Reported
    why: str


@dataclass(frozen=True)
class Oracle:
    """LLVM's answers about a port. `why_not` says why there are none; `targets` are those that were asked about."""

    proofs: tuple[UnitProof, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    discharged: tuple[Discharged, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    targets: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def not_judged(self) -> tuple[UnitProof, ...]:
        """The units about which LLVM gave no answer."""
        return tuple(each for each in self.proofs if each.why_not)

    @property
    def calls(self) -> int:
        """The number of places with collectives and barriers that were judged."""
        return len({(each.path, each.line, each.column) for proof in self.proofs for each in proof.reached})

    @property
    def seconds(self) -> float:
        """The sum of the times for all units."""
        return sum(each.seconds for each in self.proofs)


def compared(proofs: Sequence[UnitProof], built_at: Path, root: Path, ported: Ported) -> Oracle:
    """Compare the statements of a rewrite with LLVM's answers about the rewritten units.

    Paths of the proofs are relative to `built_at`; `root` is the present place of the rewritten tree.
    """
    proofs = tuple(_moved(proof, built_at, root) for proof in proofs)
    targets = tuple(dict.fromkeys(proof.target for proof in proofs))
    comparison = _Comparison(ported, proofs)
    contradictions = tuple(comparison.contradictions())
    discharged, undecided = comparison.reviewed()
    return Oracle(proofs, contradictions, tuple(discharged), tuple(undecided), targets)


def merged(proofs: Sequence[UnitProof], parts: Sequence[Oracle]) -> Oracle:
    """Merge the comparisons of several rewritten trees."""
    targets = tuple(dict.fromkeys(proof.target for proof in proofs))
    if not parts:
        why = "hipport has no record of a rewrite here, so there is nothing to hold LLVM's word against"
        return Oracle(tuple(proofs), targets=targets, why_not=why)
    if len(parts) == 1:
        return parts[0]
    return Oracle(
        tuple(proofs),
        tuple(dict.fromkeys(each for part in parts for each in part.contradictions)),
        tuple(dict.fromkeys(each for part in parts for each in part.discharged)),
        tuple(dict.fromkeys(each for part in parts for each in part.undecided)),
        targets,
    )


def _moved(proof: UnitProof, built_at: Path, root: Path) -> UnitProof:
    if built_at == root:
        return proof

    def path(each: PurePath) -> PurePath:
        whole = built_at / each
        return PurePath(whole.relative_to(root)) if whole.is_relative_to(root) else PurePath(whole)

    return replace(
        proof,
        path=path(proof.path),
        reached=tuple(
            replace(
                each,
                path=path(each.path),
                branches=tuple(replace(branch, path=path(branch.path)) for branch in each.branches),
            )
            for each in proof.reached
        ),
    )


class _Comparison:
    def __init__(self, ported: Ported, proofs: Sequence[UnitProof]) -> None:
        self.before = ported.before
        self.kernels = Kernels.of(ported.before)
        self.proofs = proofs
        self.by_path: dict[PurePath, list[Reported]] = {}
        for each in ported.reported:
            if each.rule.startswith((*_COLLECTIVES, _BARRIERS)) and each.outcome is not Outcome.IGNORED:
                self.by_path.setdefault(each.path, []).append(each)
        #: The place of each judged call in the files as they were read, with its target.
        self.calls: dict[PurePath, list[tuple[int, ReachedSite, str]]] = {}
        for proof in proofs:
            for reached in proof.reached:
                source = self._source(reached.path)
                if source is not None:
                    offset = source.offset(reached.line, max(reached.column, 1))
                    self.calls.setdefault(reached.path, []).append((offset, reached, proof.target))

    def _source(self, path: PurePath) -> Cpp | None:
        source = self.before.by_path.get(path)
        return source if isinstance(source, Cpp) else None

    # Conditions that hipport took for uniform.

    def contradictions(self) -> Iterator[Contradiction]:
        """Yield the conditions on which LLVM contradicts SAFE changes."""
        found: dict[tuple[PurePath, int, int, str, str], tuple[dict[tuple[PurePath, int, str], None], set[str]]] = {}
        for path, calls in self.calls.items():
            for offset, reached, target in calls:
                if not self._is_safe(path, offset, reached):
                    continue
                for branch in reached.branches:
                    claimed = self._claimed(branch, reached.barrier)
                    if claimed is not None:
                        line, column, text, scope = claimed
                        key = (branch.path, line, column, text, scope)
                        places, targets = found.setdefault(key, ({}, set()))
                        places[path, reached.line, self._name(path, offset)] = None
                        targets.add(target)
        for proof in self.proofs:
            for branch, apart in self._apart(proof):
                key = (branch.path, branch.line, branch.column, self._condition(branch), "ways")
                if any(each[:2] == key[:2] and each[4] != "ways" for each in found):
                    continue
                places, targets = found.setdefault(key, ({}, set()))
                places |= dict.fromkeys(apart)
                targets.add(proof.target)
        for (path, line, column, text, scope), (places, targets) in sorted(found.items()):
            yield Contradiction(path, line, column, text, scope, tuple(places), tuple(sorted(targets)))

    def _apart(self, proof: UnitProof) -> Iterator[tuple[Branch, list[tuple[PurePath, int, str]]]]:
        """Yield branches at which lanes of a warp diverge, with SAFE calls on both sides whose masks overlap."""
        ways: dict[tuple[str, str, Branch], dict[int, list[ReachedSite]]] = {}
        for reached in proof.reached:
            source = self._source(reached.path)
            if reached.mask is None or source is None:
                continue
            taken: dict[int, set[int]] = {}
            for number, way in reached.sides:
                taken.setdefault(number, set()).add(way)
            for branch in reached.branches:
                # A loop's own branch is reached repeatedly; if both its sides lead to one call, they are not different
                # sides.
                parts = branch.varies_in_warp and branch.inside and len(taken[branch.number]) == 1
                if parts and self._uniformity(branch) < WARP:
                    own = ways.setdefault((reached.kernel, reached.name, branch), {})
                    (way,) = taken[branch.number]
                    own.setdefault(way, []).append(reached)
        for (_, _, branch), sides in ways.items():
            first, *others = sides.values()
            for one in first:
                for other in (each for some in others for each in some):
                    offsets = [
                        self.before.by_path[each.path].offset(each.line, max(each.column, 1)) for each in (one, other)
                    ]
                    safe = all(
                        self._is_safe(each.path, at, each) for each, at in zip((one, other), offsets, strict=True)
                    )
                    if safe and (one.mask or 0) & (other.mask or 0) & _ALL_LANES:
                        yield (
                            branch,
                            [
                                (each.path, each.line, self._name(each.path, at))
                                for each, at in zip((one, other), offsets, strict=True)
                            ],
                        )

    def _condition(self, branch: Branch) -> str:
        """The text of a branch's condition; empty if it is not found, for example in a macro."""
        asked = self._asked(branch)
        return _on_one_line(asked[0].text(asked[1])) if asked is not None else ""

    def _is_safe(self, path: PurePath, offset: int, reached: ReachedSite) -> bool:
        """Whether hipport left nothing to a person at the call."""
        findings = self.by_path.get(path, [])
        if reached.barrier:
            source = self._source(path)
            function = function_at(source, offset) if source is not None else None
            return function is not None and not any(
                each.needs_person and function.node.start_byte <= each.span.start < function.node.end_byte
                for each in findings
                if each.rule.startswith(_BARRIERS)
            )
        own = [each for each in findings if each.rule.startswith(_COLLECTIVES) and each.line == reached.line]
        return bool(own) and not any(each.needs_person for each in own)

    def _name(self, path: PurePath, offset: int) -> str:
        source = self._source(path)
        word = _WORD.match(source.code, offset) if source is not None else None
        return word.group().decode("latin1") if word is not None else "a call"

    def _claimed(self, branch: Branch, barrier: bool) -> tuple[int, int, str, str] | None:
        """The place, text and scope of a claim of uniformity that LLVM does not share; None if they agree."""
        if not branch.inside or branch.proven or not branch.varies_in_block or self._uniformity(branch) < BLOCK:
            return None
        asked = self._asked(branch)
        if asked is None:
            return None
        function, condition = asked
        if not barrier and self.kernels.may_differ(function, condition, BLOCK):
            return None
        line, column = function.source.position(condition.start_byte)
        return line, column, _on_one_line(function.text(condition)), "block"

    def _uniformity(self, branch: Branch) -> int:
        """The uniformity of a branch's condition according to hipport; 1 if the condition is not found.

        Where a condition is uniform in a warp but not in the block, hipport knows how threads are numbered, and LLVM
        does not: LLVM contradicts nothing there.
        """
        asked = self._asked(branch)
        return self.kernels.uniformity(*asked) if asked is not None else 1

    def _asked(self, branch: Branch) -> tuple[Function, Node] | None:
        """The condition of a branch, and the device function that contains it."""
        source = self._source(branch.path)
        if source is None:
            return None
        offset = source.offset(branch.line, max(branch.column, 1))
        function = function_at(source, offset)
        condition = condition_at(function, offset) if function is not None else None
        if function is None or condition is None or all(function is not f for f in self.kernels.functions(source)):
            return None
        return function, condition

    # Findings that were left to a person.

    def reviewed(self) -> tuple[list[Discharged], list[Undecided]]:
        """Return the findings about which lanes reach a call: those that LLVM proves, and the others."""
        discharged: list[Discharged] = []
        undecided: list[Undecided] = []
        for path, findings in self.by_path.items():
            for each in findings:
                if not _is_open(each):
                    continue
                calls = list(self._calls_of(path, each))
                why = (
                    "it rests on all calls of groups, of which some are not proven"
                    if each.rule in _OF_ALL
                    else self._unproven(path, each, calls)
                )
                if why:
                    undecided.append(Undecided(each, why))
                else:
                    discharged.append(Discharged(each, tuple(sorted({target for _, _, target in calls}))))
        # A finding about a whole file rests on its calls.
        of_all = [each for each in undecided if each.finding.rule in _OF_ALL]
        groups = [each for each in discharged if each.finding.rule.startswith(_GROUPS)]
        if groups and not any(each.finding.rule.startswith(_GROUPS) for each in undecided if each not in of_all):
            targets = tuple(sorted({target for each in groups for target in each.targets}))
            discharged += (Discharged(each.finding, targets) for each in of_all)
            undecided = [each for each in undecided if each not in of_all]
        return discharged, undecided

    def _unproven(self, path: PurePath, finding: Reported, calls: Sequence[tuple[int, ReachedSite, str]]) -> str:
        """Say why LLVM has not proven a finding; empty if it has."""
        if not calls:
            return "no kernel that was compiled has it"
        failed = [proof for proof in self.proofs if proof.why_not]
        judged = {proof.path for proof in self.proofs if not proof.why_not}
        if failed and (path not in judged or any(proof.path == path for proof in failed)):
            return f"LLVM was not asked about all units: {failed[0].why_not}"
        source = self._source(path)
        function = function_at(source, finding.span.start) if source is not None else None
        if function is not None:
            mangled = f"{len(function.name)}{function.name.decode('latin1')}"
            if any(mangled in name for proof in self.proofs for name in proof.apart):
                return "its function is called through a pointer, or calls itself"
        left = [branch for _, reached, _ in calls for branch in reached.branches if not branch.proven]
        if not left:
            behind = any(reached.behind for _, reached, _ in calls)
            return "lanes may still wait at an earlier call that not all of them reach" if behind else ""
        places = sorted({f"{b.path.as_posix()}:{b.line}" for b in left if b.inside})
        where = f" at {', '.join(places[:3])}" if places else " in a header of others"
        return f"lanes may diverge{where}, as far as LLVM sees"

    def _calls_of(self, path: PurePath, finding: Reported) -> Iterator[tuple[int, ReachedSite, str]]:
        """Yield the judged calls that a finding is about."""
        source = self._source(path)
        if source is None:
            return
        if source.directive(finding.span.start) is not None:
            yield from self._calls_by_macro(source, finding)
            return
        if finding.rule.startswith(_BARRIERS):
            function = function_at(source, finding.span.start)
            for each in self.calls.get(path, ()):
                if each[1].barrier and function is function_at(source, each[0]):
                    yield each
            return
        at = finding.span.start
        # A compiler reports the place of `group.sync()` and `cg::sync()` at either name.
        for each in self.calls.get(path, ()):
            between = source.code[min(at, each[0]) : max(at, each[0])]
            if not each[1].barrier and len(between) <= _LONGEST_NAME and _NO_NAME.isdisjoint(between):
                yield each

    def _calls_by_macro(self, source: Cpp, finding: Reported) -> Iterator[tuple[int, ReachedSite, str]]:
        """Yield the calls at the uses of a macro that contains a finding."""
        directive = source.directive(finding.span.start)
        named = _DEFINE.match(source.code, directive.start) if directive is not None else None
        if named is None:
            return
        names = {named[1], *self.before.component(source).fact(Mentioning).of(named[1])}
        for path, calls in self.calls.items():
            other = self._source(path)
            for each in calls:
                word = _WORD.match(other.code, each[0]) if other is not None else None
                if word is not None and word.group() in names:
                    yield each


def _on_one_line(text: bytes) -> str:
    return " ".join(text.decode("utf-8", "replace").split())


def _is_open(finding: Reported) -> bool:
    """Whether a person was asked to check that all lanes reach a call together."""
    if finding.rule in _DIVERGENT:
        return finding.certainty is Certainty.MANUAL
    return (
        finding.rule.startswith(_COLLECTIVES) and finding.certainty is Certainty.REVIEW and _TOGETHER in finding.message
    )


def condition_at(function: Function, offset: int) -> Node | None:
    """Return the condition of the branch that a compiler reports at `offset`."""
    node = function.body.descendant_for_byte_range(offset, offset + 1)
    if node is None:
        return None
    part: Node | None = None
    for outer in (node, *function.around(node)):
        if outer.type == "compound_statement":
            break
        if outer.type in _STATEMENTS:
            field = "right" if outer.type == "for_range_loop" else "condition"
            condition = outer.child_by_field_name(field)
            if condition is None:
                continue
            if outer.start_byte == offset or condition.start_byte <= offset < condition.end_byte:
                return bare(condition)
        elif outer.type == "binary_expression":
            operator, left = outer.child_by_field_name("operator"), outer.child_by_field_name("left")
            decides = operator is not None and operator.type in ("&&", "||", "and", "or")
            if decides and left is not None and left.start_byte <= offset < left.end_byte:
                part = left
    return part
