# SPDX-License-Identifier: Apache-2.0
"""Find tensors in memory pinned by PyTorch that a Python file passes to functions."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import libcst as cst

from hipport.syntax.python_script import Misplaced, Python
from hipport_passes.python.runtime.origins import Origins, origins
from hipport_passes.python.runtime.python_program import PythonProgram

# Views of a tensor, whose memory is the tensor's.
_VIEWS = frozenset(
    "contiguous view reshape flatten squeeze unsqueeze detach narrow select t transpose permute requires_grad_".split()
)
_DEEPEST = 8


class Given(NamedTuple):
    """A function that receives such a tensor: its name, the parameter, and the call that pins the memory."""

    function: bytes
    parameter: int
    name: bytes
    offset: int


def pinned(source: Python) -> tuple[Given, ...]:
    """Return the functions that receive such tensors, in order. A fact of the file."""
    if source.module is None:
        return ()
    program, known = source.fact(PythonProgram), source.fact(origins)
    found = []
    with contextlib.suppress(Misplaced):
        for node in program.nodes:
            match node:
                case cst.Call(func=cst.Attribute(attr=cst.Name(name)) | cst.Name(name)):
                    for index, each in enumerate(node.args):
                        made = _made(known, each.value) if each.keyword is None and not each.star else None
                        if made is not None:
                            place = source.span(made).start
                            found.append(Given(name.encode(), index, b"pin_memory", place))
    return tuple(found)


def _made(known: Origins, node: cst.BaseExpression, depth: int = 0) -> cst.Call | None:
    """Return the call that pins the memory of a value."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name("pin_memory"))):
            return node
        case cst.Call() if any(
            each.keyword is not None and each.keyword.value == "pin_memory" and known.program.code(each.value) == "True"
            for each in node.args
        ):
            return node if not known.program.code(node.func).endswith("DataLoader") else None
        case cst.Call(func=cst.Attribute(value=of, attr=cst.Name(name))) if name in _VIEWS and depth < _DEEPEST:
            return _made(known, of, depth + 1)
    if depth < _DEEPEST:
        for origin, part in known.of(node):
            if part is None and (made := _made(known, origin, depth + 1)) is not None:
                return made
    return None
