# SPDX-License-Identifier: Apache-2.0
"""Give tensors of 8-bit floating point numbers the format of the target's GPUs, in Python.

If the targets have only FNUZ numbers (gfx940 to gfx942; see `fp8_formats`, which does the same for kernels), ported
kernels read a tensor of `torch.float8_e4m3fn` as numbers of half the size, and PyTorch's matrix products reject it. On
ROCm it becomes `torch.float8_e4m3fnuz`, and 448 becomes 240; on CUDA nothing changes. Code that already chooses between
the formats stays, too. Triton's own types, and numbers in its kernels, are reported, because `torch` is not available
there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hipport.core.edits import Edit
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Misplaced, Python
from hipport_passes.device.fp8_formats import ABOUT, CHOOSES, GREATEST, TABLE, Formats, formats, replaced

if TYPE_CHECKING:
    import libcst as cst

    from hipport_passes.python.runtime.python_program import PythonProgram

_WORDS = Words(TABLE["words"], NAMES)
_NAMES = re.compile(rf"\b{one_of(_WORDS['python_types'])}\b".encode())
_GREATEST = re.compile(rb"(?<![\w.])(?:448(?:\.0*)?|4\.48e\+?0*2|0?\.00223\d*|2\.23\d*e-0*3)(?![\w.])")
_LIMIT = re.compile(rf"(?i){one_of(_WORDS['limits'])}|inf\b")
# Expressions that this pass wrote.
_OURS = _WORDS.compile(r"\b(?&float8)\w+(?&fnuz) if [\w.]+\.(?&hip_release) else\b")
_COMPILED = _WORDS.compile(r"\b(?&compiles)\b")
_COMES_IN = (
    "assumes that all its values are made by this program (in values from a checkpoint, 0x80 becomes 0 and the scale "
    "doubles)"
)


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield a finding per type of PyTorch's and Triton's, and per number, in the other format."""
    text = source.text
    names = _NAMES.search(text)
    if not names and not (_GREATEST.search(text) and ABOUT.search(text)):
        return
    has = formats(project.target.archs)
    if has.shared == "ocp" or CHOOSES.search(text) or source.module is None:
        return
    from hipport_passes.python.runtime.python_program import PythonProgram

    program = source.fact(PythonProgram)
    try:
        findings = [*_found(program, has)]
    except Misplaced:
        return
    # No source is right for both formats; one finding reports it.
    yield from findings if has.shared else findings[:1]


def _found(program: PythonProgram, has: Formats) -> Iterator[Finding]:
    import libcst as cst

    for node in program.nodes:
        match node:
            case cst.Attribute(value=of, attr=cst.Name(name)) if name in TABLE["python"]:
                yield from _type(program, node, program.code(of), name, has)
            case cst.Attribute(attr=cst.Name(name)) if name in TABLE["triton"] and _is_triton(program, node):
                message = f"{program.code(node)} is CUDA's format, the FNUZ format is {TABLE['triton'][name]}"
                yield from _by_hand(program, node, f"{message}; pass the type to the kernel as a tl.constexpr", has)
            case cst.ImportFrom(names=[*aliases]):
                for alias in aliases:
                    if isinstance(alias.name, cst.Name) and alias.name.value in TABLE["python"]:
                        other = TABLE["python"][alias.name.value]
                        yield from _by_hand(program, alias, f"{alias.name.value}: on ROCm use {other}", has)
            case cst.SimpleString() if program.text(node).rpartition(".")[2] in TABLE["python"]:
                word = program.text(node)
                other = TABLE["python"][word.rpartition(".")[2]]
                yield from _by_hand(program, node, f"a string names the type: {word!r}; use {other}", has)
            case cst.Float() | cst.Integer():
                yield from _number(program, node, has)


def _type(program: PythonProgram, node: cst.Attribute, of: str, name: str, has: Formats) -> Iterator[Finding]:
    import libcst as cst

    if not program.runs(node).both or _names_both(program, node):
        return
    other = TABLE["python"][name]
    compared = isinstance(program.parent.get(node), (cst.Comparison, cst.ComparisonTarget, cst.MatchValue))
    if program.torch(node) != of or _in_kernel(program, node) or isinstance(program.parent.get(node), cst.MatchValue):
        yield from _by_hand(program, node, f"{of}.{name} is OCP's format; use {other}", has)
        return
    message = has.said(f"{of}.{name} → {other} on ROCm: {{archs}} {{have}} FNUZ numbers only; {_COMES_IN}")
    if compared:
        message += "; this program must also make the value that it is compared with"
    yield from _chosen(program, node, f"{of}.{other}", of, "type", message, has)


def _number(program: PythonProgram, node: cst.Float | cst.Integer, has: Formats) -> Iterator[Finding]:
    new = replaced(node.value)
    if new is None or "0x" in node.value or not program.runs(node).both:
        return
    statement = program.code(program.statement(node) or node)
    near = ABOUT.search(statement.encode()) is not None
    whole = re.fullmatch(r"\d+", node.value) is not None
    if not near and not _LIMIT.search(statement):
        return
    said = f"{node.value}: {has.said(GREATEST)}"
    if _in_kernel(program, node):
        yield from _by_hand(program, node, f"{said}; pass the limit to the kernel", has)
    elif whole and not near:
        # 448 is also a common image size.
        if ABOUT.search(program.function_code(node).encode()):
            yield from _by_hand(program, node, f"{said}; write {new} on ROCm if it is this limit", has)
    else:
        message = f"{node.value} → {new} on ROCm: {has.said(GREATEST)}; assumes that it is this limit here"
        yield from _chosen(program, node, new, program.torch(node), "greatest", message, has)


def _chosen(
    program: PythonProgram, node: cst.CSTNode, new: str, torch: str | None, kind: str, message: str, has: Formats
) -> Iterator[Finding]:
    """Yield a rewrite for ROCm alone, where PyTorch can be asked for it."""
    import libcst as cst

    span = program.source.span(node)
    if not has.shared:
        yield Finding(span, kind, f"{program.code(node)}: {_at_run_time(has)}", certainty=Certainty.MANUAL)
        return
    old = program.code(node)
    text = f"{new} if {torch}.version.hip else {old}" if torch else new
    if torch and not isinstance(
        program.parent.get(node), (cst.Arg, cst.Assign, cst.AnnAssign, cst.Param, cst.DictElement)
    ):
        text = f"({text})"
    yield Finding(span, kind, message, (Edit(span, text.encode()),), Certainty.REVIEW)


def _by_hand(program: PythonProgram, node: cst.CSTNode, message: str, has: Formats) -> Iterator[Finding]:
    if program.runs(node).both and not _names_both(program, node):
        said = f"{message}, for {' and '.join(has.fnuz)}" if has.shared else _at_run_time(has)
        yield Finding(program.source.span(node), "by_hand", said, certainty=Certainty.MANUAL)


def _at_run_time(has: Formats) -> str:
    return (
        f"{', '.join(has.fnuz)} has FNUZ numbers only, {', '.join(has.ocp)} OCP's only: choose the type and its "
        "limit by torch.cuda.get_device_properties(device).gcnArchName"
    )


def _names_both(program: PythonProgram, node: cst.CSTNode) -> bool:
    """Return whether the statement itself names FNUZ's type as well: it is a table of both, or a choice."""
    return "fnuz" in _OURS.sub("", program.code(program.statement(node) or node))


def _is_triton(program: PythonProgram, node: cst.Attribute) -> bool:
    return program.code(node.value) in ("triton.language", "tl")


def _in_kernel(program: PythonProgram, node: cst.CSTNode) -> bool:
    """Return whether it is in a function of Triton's or Numba's, which is compiled and cannot ask PyTorch."""
    function = program.function(node)
    return function is not None and any(
        _COMPILED.search(program.code(each.decorator)) is not None for each in function.decorators
    )


PASS = Pass(Python, find)
