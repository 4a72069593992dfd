# SPDX-License-Identifier: Apache-2.0
"""Report functions and values of packages outside the tree whose names say that they test for Hopper or a later GPU.

Examples are `flashinfer.utils.is_sm90a_supported` and `SM90OrLater` of PyTorch's tests. Their code is not read; on
ROCm, most compare a gfx number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import libcst as cst

from hipport.core.finding import Finding
from hipport.core.tables import one_of
from hipport_passes.python.python_gates import WORDS
from hipport_passes.python.runtime import elsewhere
from hipport_passes.python.runtime.python_program import PythonProgram, finding

_GPU = rf"(?:sm_?(?:9|1[0-2])\d[af]?|{one_of(WORDS['generations'])})"
_ASKS = re.compile(rf"(?i)_*{one_of(WORDS['asking'])}_(?:\w+_)?{_GPU}(?:_\w+)?")
_VALUE = WORDS.compile(r"(?i)sm(?:9|1[0-2])\d(?&or_later)|(?&asks_architecture)_?(?:9|1[0-2])\d")


def told(program: PythonProgram, own: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield a finding per such name, where it is first used; `own` says whether a module is one of the tree's."""
    seen: set[str] = set()
    for node in program.nodes:
        name = node.func if isinstance(node, cst.Call) else node
        if not isinstance(name, cst.Name | cst.Attribute) or not program.runs(node).both:
            continue
        word = name.attr.value if isinstance(name, cst.Attribute) else name.value
        pattern = _ASKS if isinstance(node, cst.Call) else _VALUE
        if word in seen or pattern.fullmatch(word) is None or not elsewhere.is_imported(program, name):
            continue
        if _of_import(program, node) or any(map(own, _modules(program, name))):
            continue
        seen.add(word)
        message = (
            f"{word} is of a package that is not seen, and its name tells of NVIDIA's GPUs: on ROCm a capability is a "
            "gfx number such as (9, 4) or (11, 0), which may pass by accident: check the answer there, and ask for "
            "torch.version.hip"
        )
        yield finding(program, node, "not_followed", message)


def _of_import(program: PythonProgram, node: cst.CSTNode) -> bool:
    return any(isinstance(above, cst.Import | cst.ImportFrom) for above, _ in program.ancestors(node))


def _modules(program: PythonProgram, name: cst.Name | cst.Attribute) -> list[str]:
    """Return the parts of the module's path; for a relative import just "", which every tree has."""
    first: cst.BaseExpression = name
    while isinstance(first, cst.Attribute):
        first = first.value
    statement = program.imported(first) if isinstance(first, cst.Name) else None
    if statement is None:
        return program.code(name).split(".")[:-1]
    if statement.relative or statement.module is None:
        return [""]
    return program.code(statement.module).split(".")
