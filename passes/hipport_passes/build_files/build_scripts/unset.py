# SPDX-License-Identifier: Apache-2.0
"""Names of a build script that have a value only where there is CUDA's toolkit, and are used where there is none.

    if CUDA_HOME is not None:
        version = version_of_nvcc(CUDA_HOME)
    if version >= Version("11.8"):
        flags += ["-gencode", "arch=compute_90,code=sm_90"]

ends with a NameError on ROCm, where CUDA_HOME is None. With the first condition in front of the second, the second is
false there, and what it was wherever the name has a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty
from hipport.program.script_names import lone_call
from hipport.syntax.build_names import NAMES
from hipport_passes.build_files.build_scripts.gates import set_for_cuda
from hipport_passes.build_files.build_scripts.script import Script
from hipport_passes.build_files.build_scripts.script_edits import Said

_OF_CUDA = NAMES.compile(r"\b(?&cuda_home)\b")


@dataclass(frozen=True)
class Unset:
    """A use of a name that has no value on ROCm, and the code that does not run there after the fix."""

    said: Said
    bodies: tuple[Span, ...]


def unset(script: Script) -> Iterator[Unset]:
    """Yield the first use, in each condition or elsewhere, of a name that is set only behind a gate on CUDA_HOME."""
    if not _OF_CUDA.search(script.module.code):
        return
    asked: set[cst.If] = set()
    for (scope, name), gate in set_for_cuda(script).items():
        for use in script.named(name):
            above = script.parent[use]
            attribute = isinstance(above, (cst.Attribute, cst.Arg)) and use in (
                getattr(above, "attr", None),
                getattr(above, "keyword", None),
            )
            if attribute or script.scope(use, name) is not scope or _binds(script, use) or not _reached(script, use):
                continue
            condition = _condition(script, use)
            if condition in asked:
                continue
            message = f"{name} has a value only if {gate}, which is false on ROCm"
            if condition is None:
                said = Said(script.source.span(use), "unset", message, Certainty.MANUAL)
                said.manual("set it for ROCm as well, or test it first")
                yield Unset(said, ())
                break
            asked.add(condition)
            yield _ask_first(script, condition, gate, message)


def _ask_first(script: Script, condition: cst.If, gate: str, message: str) -> Unset:
    test = condition.test
    span = script.source.span(test)
    either = isinstance(test, (cst.IfExp, cst.Lambda, cst.NamedExpr)) or (
        isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or)
    )
    # Inside the parentheses around the test, if there are any: they may join several lines.
    edits = [Edit(Span(span.start, span.start), f"{gate} and {'(' if either else ''}".encode())]
    if either:
        edits.append(Edit(Span(span.end, span.end), b")"))
    plain = condition.orelse is None and all(_adds(line) for line in condition.body.body)
    if not plain:
        message += "; assumes that ROCm needs nothing of the code behind it"
    said = Said(span, "unset", message, Certainty.SAFE if plain else Certainty.REVIEW, edits)
    return Unset(said, (script.source.span(condition.body),))


def _reached(script: Script, use: cst.Name) -> bool:
    """Return whether ROCm reaches a use, and no code there expects that the name may be unset."""
    if not script.runs(use).rocm:
        return False
    if any(isinstance(above, (cst.Try, cst.TryStar)) and child is above.body for above, child in script.ancestors(use)):
        return False
    return not any(wanted and _OF_CUDA.search(script.code(test)) for test, wanted in script.conditions(use))


def _binds(script: Script, use: cst.Name) -> bool:
    """Return whether the name is set here, or stands in a `global` or `del`."""
    for above, child in script.ancestors(use):
        if isinstance(above, (cst.AssignTarget, cst.Global, cst.Del, cst.Param, cst.NameItem)):
            return True
        if isinstance(above, (cst.AnnAssign, cst.NamedExpr)):
            return child is above.target
        if isinstance(above, (cst.Tuple, cst.List, cst.Element)):
            continue
        return False
    return False


def _condition(script: Script, use: cst.Name) -> cst.If | None:
    """Return the `if` whose test contains the name."""
    for above, child in script.ancestors(use):
        if isinstance(above, cst.If):
            return above if child is above.test else None
        if isinstance(above, (cst.BaseSuite, cst.BaseSmallStatement, cst.FunctionDef, cst.Lambda, cst.NamedExpr)):
            return None
    return None


def _adds(line: cst.CSTNode) -> bool:
    """Return whether a statement only adds to something: flags, in a build script."""
    call = lone_call(line)
    if call is not None:
        return isinstance(call.func, cst.Attribute) and call.func.attr.value in ("append", "extend", "insert")
    match line:
        case cst.SimpleStatementLine(body=[cst.AugAssign(operator=cst.AddAssign())]):
            return True
    return False
