# SPDX-License-Identifier: Apache-2.0
"""Functions and properties of PyTorch that builds for ROCm lack, or that raise there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from hipport.core.finding import Finding
from hipport_passes.build_files.build_scripts.script import full_name
from hipport_passes.python.runtime.probes import are_properties
from hipport_passes.python.runtime.python_program import PythonProgram, finding

_ERRORS = "RuntimeError|AttributeError|AssertionError|ValueError|ImportError"


def lacking(program: PythonProgram, names: Mapping[str, str], properties: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the first use of each of `names`, which are full paths, and of the `properties` of a device."""
    told: set[str] = set()
    for node in program.nodes:
        name, why = "", None
        match node:
            case cst.Attribute(attr=cst.Name(last)) if last in properties:
                if are_properties(program, node.value):
                    name, why = last, properties[last]
            case cst.Attribute() | cst.Name() if not _is_part(program, node):
                name = full_name(program, node)
                # `torch.cuda.gds` stands for all its members.
                why = next((said for path, said in names.items() if f"{name}.".startswith(f"{path}.")), None)
                name = "" if why is None else name
        if why is None or name in told or not program.runs(node).rocm or program.copes(node, _ERRORS):
            continue
        told.add(name)
        yield finding(program, node, "lacking", f"{name}: {why}")


def _is_part(program: PythonProgram, node: cst.CSTNode) -> bool:
    """Return whether a name is part of a longer one, or of an import, or a keyword of an argument."""
    above = program.parent[node]
    if isinstance(above, (cst.Arg, cst.Param)):
        return node is not (above.value if isinstance(above, cst.Arg) else above.default)
    return isinstance(above, (cst.Attribute, cst.ImportAlias, cst.ImportFrom, cst.AsName, cst.NameItem))
