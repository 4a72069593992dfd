# SPDX-License-Identifier: Apache-2.0
"""Report warp sizes in Python: those of the device, and those for ROCm in programs whose kernels keep 32 lanes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from hipport.core.finding import Finding
from hipport.core.tables import one_of
from hipport_passes.python.python_gates import WORDS
from hipport_passes.python.runtime.probes import are_properties
from hipport_passes.python.runtime.python_program import PythonProgram, finding

_SHOWN = re.compile(rf"(?:^|\.){one_of(WORDS['shows'])}$")
_OF_A_WARP = re.compile(rf"(?i){one_of(WORDS['lanes'])}")
_ASKED = (
    "the warp size is 64 on AMD's gfx9 GPUs, but kernels that hipport ported keep warps of 32 lanes: write 32 where "
    "the code means these warps"
)
_CHOSEN = (
    "64 on ROCm and 32 for CUDA, and this program's kernels in C++ keep warps of 32 lanes on every GPU: give them 32, "
    "and keep 64 for what asks for the wavefront, such as kernels in Triton"
)


def warp_sizes(program: PythonProgram, logical: bool) -> Iterator[Finding]:
    """Yield where a program asks for the warp size, or states it; `logical`: its C++ has warps of 32 lanes."""
    if logical or not program.decided:
        yield from _asked(program, logical)
    if logical:
        yield from _chosen(program)


def _asked(program: PythonProgram, logical: bool) -> Iterator[Finding]:
    for node in program.nodes:
        match node:
            case cst.Attribute(value=of, attr=cst.Name("warp_size")):
                pass
            case cst.Call(func=cst.Name("getattr"), args=[cst.Arg(of), cst.Arg(cst.SimpleString() as name), *_]):
                if program.text(name) != "warp_size":
                    continue
            case _:
                continue
        known = are_properties(program, of) or (logical and _is_target(program, of))
        if known and program.runs(node).both and not _is_shown(program, node):
            yield finding(program, node, "warp_size", _ASKED)


def _is_target(program: PythonProgram, node: cst.BaseExpression) -> bool:
    """Whether it is Triton's description of the device."""
    if isinstance(node, cst.Call):
        return program.code(node.func).endswith(".get_current_target")
    return isinstance(node, cst.Name) and any(_is_target(program, value) for value, _ in program.assigned(node) or ())


def _is_shown(program: PythonProgram, node: cst.CSTNode) -> bool:
    """Whether a value is only printed: it is an argument of a function that prints, or part of its text."""
    for above, _ in program.ancestors(node):
        match above:
            case cst.Call():
                return _SHOWN.search(program.code(above.func)) is not None
            case cst.Arg() | cst.FormattedStringExpression() | cst.FormattedString():
                continue
            case _:
                return False
    return False


def _chosen(program: PythonProgram) -> Iterator[Finding]:
    """Find `WARP_SIZE = 64 if torch.version.hip else 32`, and the same by statements."""
    for node in program.nodes:
        match node:
            case cst.IfExp(body=cst.Integer(one), orelse=cst.Integer(other)) if {one, other} == {"64", "32"}:
                on_rocm, on_cuda = (program.truth(node.test, rocm) for rocm in (True, False))
                says_64 = on_rocm if one == "64" else on_rocm is False
                if says_64 and on_rocm is not on_cuda and _OF_A_WARP.search(_said(program, node)):
                    yield finding(program, node, "warp_size", _CHOSEN)
            case cst.Assign(targets=[cst.AssignTarget(cst.Name(name) as target)], value=cst.Integer("64")):
                if _OF_A_WARP.search(name) and _on_rocm_alone(program, node) and _is_32_elsewhere(program, target):
                    yield finding(program, node.value, "warp_size", _CHOSEN)


def _said(program: PythonProgram, node: cst.CSTNode) -> str:
    """Return the code of the whole statement around an expression."""
    for above, _ in program.ancestors(node):
        if isinstance(above, cst.SimpleStatementLine):
            return program.code(above)
    return ""


def _on_rocm_alone(program: PythonProgram, node: cst.CSTNode) -> bool:
    return any(
        program.truth(test, True) is wanted and program.truth(test, False) is not wanted
        for test, wanted in program.conditions(node)
    )


def _is_32_elsewhere(program: PythonProgram, name: cst.Name) -> bool:
    return any(isinstance(value, cst.Integer) and value.value == "32" for value, _ in program.assigned(name) or ())
