# SPDX-License-Identifier: Apache-2.0
"""Compute capabilities: numbers that mean a generation of NVIDIA GPUs, and on ROCm the gfx number of an AMD GPU.

PyTorch for ROCm returns the first two parts of it: (9, 4) for gfx942, (11, 0) for gfx1100. Tests for features of GPUs
up to Ampere (bfloat16, matrix units) hold on AMD's GPUs by accident, and are right. Tests for features of Ada, Hopper
and Blackwell hold by the same accident, and are wrong. So may be a number that is chosen by such a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from hipport.core.finding import Finding
from hipport.core.tables import one_of
from hipport_passes.python.runtime.capability_choices import choices
from hipport_passes.python.runtime.capability_kinds import Elsewhere
from hipport_passes.python.runtime.capability_reader import WORDS, Reader
from hipport_passes.python.runtime.capability_tables import BY_ACCIDENT, looked_up
from hipport_passes.python.runtime.capability_unfollowed import unfollowed
from hipport_passes.python.runtime.capability_values import Capability
from hipport_passes.python.runtime.python_program import PythonProgram, finding

#: Words of build scripts: a test that stops such a script is about what is compiled.
_BUILDS = re.compile(rf"\b{one_of(WORDS['builds'])}\b".encode())


def functions(program: PythonProgram) -> dict[tuple[str, str], str]:
    """Return the capabilities of a file, the functions that return one, and values made of one, with their kinds.

    By the name of the class, empty for the module's own: functions, methods, variables and attributes.
    """
    reader = Reader(program, Elsewhere({}, {}))
    kinds: dict[tuple[str, str], set[str | None]] = {}

    def learn(owner: str, name: str, values: Iterable[cst.BaseExpression | None]) -> None:
        of = {reader.kind(each) for each in values if each is not None}
        kinds.setdefault((owner, name), set()).update(of)

    for node in program.nodes:
        match node:
            case cst.FunctionDef(name=cst.Name(name)):
                above = program.parent[node]
                owner = program.parent.get(above)
                if above is program.module:
                    learn("", name, (each.value for each in program.returns(node)))
                elif isinstance(owner, cst.ClassDef):
                    learn(owner.name.value, name, (each.value for each in program.returns(node)))
            case cst.Assign(targets=[cst.AssignTarget(target)]) | cst.AnnAssign(target=target):
                around = program.class_around(node)
                elements = target.elements if isinstance(target, cst.Tuple) else ()
                for each in (target, *(element.value for element in elements)):
                    if isinstance(each, cst.Attribute) and around:
                        learn(around.name.value, each.attr.value, [each])
                    elif isinstance(each, cst.Name) and program.function(node) is None:
                        learn(around.name.value if around else "", each.value, [node.value if around else each])
    return {place: kind for place, of in kinds.items() if len(of) == 1 and (kind := next(iter(of))) is not None}


def capabilities(program: PythonProgram, known: Elsewhere, missing_code: Mapping[Capability, str]) -> Iterator[Finding]:
    """Yield the conditions on a compute capability that AMD's GPUs meet, or fail, by accident.

    `known` are values of other modules; `missing_code` are, by capability, the functions without code on AMD.
    """
    conditions = _Conditions(program, Reader(program, known), missing_code)
    said: set[cst.CSTNode] = set()
    for node in program.nodes:
        if (found := conditions.of(node)) is not None:
            said.add(node)
            yield found
    yield from conditions.names_of_archs()
    yield from choices(program, conditions.reader, conditions.decided)
    yield from unfollowed(program, conditions.reader, said)


class _Conditions:
    """The questions of a program about a compute capability, with the decisions so far."""

    def __init__(self, program: PythonProgram, reader: Reader, missing_code: Mapping[Capability, str]) -> None:
        self.program, self.reader, self.missing_code = program, reader, missing_code
        #: The values of conditions on ROCm.
        self.decided: dict[cst.CSTNode, bool] = {}
        self.named: list[cst.BaseExpression] = []

    def of(self, node: cst.CSTNode) -> Finding | None:
        """Return the finding on a condition, a `match`, or a look-up in a table."""
        program, reader = self.program, self.reader
        match node:
            case cst.Match():
                return self._matched(node)
            case cst.Comparison() | cst.Call() if program.runs(node).both:
                asked = reader.asked(node)
                # A condition that would stop the program is handled in the next step.
                if asked and reader.stopping(node) is not asked[0]:
                    return self._asked(node, *asked)
                if (passing := reader.passing(node)) is not None:
                    return self._stops(node, passing)
                if asked:
                    return self._passes(node, asked[1])
                least = reader.least(node)
                if least is not None and least[0] in self.missing_code and reader.stopping(node) is None:
                    return self._chooses(node, *least)
        if isinstance(node, cst.Subscript | cst.Call) and (found := self._looked_up(node)) is not None:
            return found
        if isinstance(node, cst.Call) and program.runs(node).both and (called := reader.handed_on(node)):
            message = (
                f"a compute capability is passed to {called}, into which it could not be followed; on ROCm it is a "
                "gfx number such as (9, 4) or (11, 0): check its use there, and ask for torch.version.hip"
            )
            return finding(program, node, "not_followed", message)
        if isinstance(node, cst.Comparison | cst.Call) and program.runs(node).both and reader.is_lost(node):
            message = (
                "this asks for a compute capability whose origin could not be followed; on ROCm it is a gfx number "
                "such as (9, 4) or (11, 0): check its value there, and ask for torch.version.hip"
            )
            return finding(program, node, "not_followed", message)
        makes = isinstance(node, cst.FormattedString | cst.BinaryOperation | cst.Call) and reader.names_arch(node)
        if makes and program.runs(node).both:
            assert isinstance(node, cst.BaseExpression)
            self.named.append(node)
        return None

    def names_of_archs(self) -> Iterator[Finding]:
        """Yield architecture names made from a capability, except those that conditions test."""
        for each in self.named:
            if not _only_asked(self.program, each, self.decided):
                message = (
                    "this makes the name of an NVIDIA architecture from a capability, which is a gfx number on ROCm; "
                    "use gcnArchName there"
                )
                yield finding(self.program, each, "arch_name", message)

    def _asked(self, node: cst.Comparison | cst.Call, neutral: bool, names: str) -> Finding | None:
        if _settled(self.program, node, self.decided):
            return None
        self.decided[node] = neutral
        edits = self.program.and_on_cuda(node, neutral)
        message = f"this test is for NVIDIA's {names}: on ROCm a capability is a gfx number such as (9, 4) or (11, 0), "
        message += (
            "so the test answers as for older GPUs there; assumes that only those NVIDIA GPUs have the feature"
            if edits
            else "so it should answer as for older GPUs there, unless AMD's GPUs have the feature: test "
            "torch.version.hip"
        )
        return finding(self.program, node, "capability", message, edits)

    def _stops(self, node: cst.Comparison | cst.Call, passing: bool) -> Finding:
        stops = "this stops the {} on AMD GPUs, where a capability is a gfx number such as (9, 4) or (11, 0): "
        if _BUILDS.search(self.program.source.text) and (edits := self.program.and_on_cuda(node, passing)):
            message = (
                f"{stops.format('build')}passed on ROCm, where PYTORCH_ROCM_ARCH names the GPUs to build for; "
                "assumes that the built code is for those GPUs, too"
            )
            return finding(self.program, node, "capability", message, edits)
        message = f"{stops.format('program')}let it pass where torch.version.hip is set, if the later code runs there"
        return finding(self.program, node, "capability", message)

    def _passes(self, node: cst.Comparison | cst.Call, names: str) -> Finding:
        message = (
            f"requires NVIDIA's {names}, and AMD GPUs pass by accident, because a capability is a gfx number such as "
            "(9, 4) or (11, 0) there: check that the later code runs on AMD, and ask for torch.version.hip"
        )
        return finding(self.program, node, "capability", message)

    def _chooses(self, node: cst.Comparison | cst.Call, least: Capability, neutral: bool) -> Finding:
        edits = self.program.and_on_cuda(node, neutral)
        answer = "true" if neutral else "false"
        message = (
            "chooses code that AMD lacks, by a capability that AMD's GPUs meet by accident: "
            f"{self.missing_code[least]}; "
        ) + (
            f"made {answer} on ROCm, assuming that it chooses that code, until the code is ported"
            if edits
            else f"make it {answer} where torch.version.hip is set, or port that code"
        )
        return finding(self.program, node, "missing_code", message, edits)

    def _matched(self, node: cst.Match) -> Finding | None:
        if not self.program.runs(node).both or (case := self.reader.taken(node)) is None:
            return None
        message = (
            "on ROCm a capability is a gfx number such as (9, 4) or (11, 0), with which AMD GPUs take `case "
            f"{self.program.code(case.pattern)}`: ask for torch.version.hip before it, or in a guard"
        )
        return finding(self.program, node.subject, "capability", message)

    def _looked_up(self, node: cst.Subscript | cst.Call) -> Finding | None:
        program = self.program
        wrong = looked_up(self.reader, node)
        if not wrong or not program.runs(node).both:
            return None
        # The program expects a missing entry there; an entry that is found by accident is another matter.
        if wrong != BY_ACCIDENT and program.copes(node, "KeyError|IndexError|LookupError"):
            return None
        message = (
            "looked up by a capability of NVIDIA's GPUs; on ROCm that is a gfx number such as (9, 4) or (11, 0), "
            f"{wrong}: add the value for AMD GPUs"
        )
        return finding(program, node, "capability", message)


def _only_asked(program: PythonProgram, name: cst.BaseExpression, decided: Mapping[cst.CSTNode, bool]) -> bool:
    """Return whether the name of an architecture is used only in conditions, each of which is reported separately."""
    reads: list[cst.CSTNode] = [name]
    match program.parent[name]:
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(variable) as target)]):
            reads = [each for each in program.named(variable) if each is not target]
        case cst.Return() if (function := program.function(name)) is not None:
            reads = [*program.calls(function.name.value)]
    return bool(reads) and all(
        not program.runs(each).both
        or any(above in decided for above in (each, *(a for a, _ in program.ancestors(each))))
        for each in reads
    )


def _settled(program: PythonProgram, node: cst.CSTNode, decided: Mapping[cst.CSTNode, bool]) -> bool:
    """Return whether the rest of the condition around `node` decides it on ROCm."""
    for above, child in program.ancestors(node):
        if not isinstance(above, cst.BooleanOperation):
            return False
        # After a name that it binds: `(c := …)[0] >= 9 and torch.version.hip is None`.
        if child is above.left and program.truth(above.right, True) is isinstance(above.operator, cst.Or):
            return True
        if child is above.right:
            decisive = isinstance(above.operator, cst.Or)
            left: cst.CSTNode = above.left
            parts = [left]
            while isinstance(left, cst.BooleanOperation) and type(left.operator) is type(above.operator):
                parts += [left.left, left.right]
                left = left.left
            if any(decided.get(part) is decisive for part in parts):
                return True
    return False
