# SPDX-License-Identifier: Apache-2.0
"""CUDA sources in strings of Python, which PyTorch compiles at run time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import libcst as cst

from hipport.core.finding import Finding
from hipport.core.tables import Words
from hipport.syntax.build_names import NAMES
from hipport_passes.python.runtime.python_program import PythonProgram, finding

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
#: Code that PyTorch's hipify does not change, and that differs with 64 lanes, or does not work, on AMD's GPUs.
_WANTS_PORTING = _WORDS.compile(
    r"\b__(?&collectives)_sync\b|\b(?&of_warps)\b|\b(?&names)\b"
    r"|\b(?&cuda)::(?&of_cuda)|\basm\b[ \t]*(?:volatile|\()|<<[ \t]+<|>[ \t]+>>|0xffffffff\b",
    re.IGNORECASE,
)


def sources(program: PythonProgram) -> Iterator[Finding]:
    """Yield the kernels in strings that `load_inline` compiles and that need more than new names."""
    for call in program.calls("load_inline"):
        given = [argument.value for argument in call.args if argument.keyword is None][2:3]
        given += [each.value for each in call.args if each.keyword is not None and each.keyword.value == "cuda_sources"]
        for value in given:
            for text in _strings(program, value, 0):
                word = _WANTS_PORTING.search(program.text(text))
                if word is not None and program.runs(text).both:
                    message = (
                        f"hipport does not port CUDA in a string, and PyTorch's hipify only renames: {word[0]} "
                        "needs more; put the code into a .cu file, which hipport ports"
                    )
                    yield finding(program, text, "inline_source", message)


def _strings(program: PythonProgram, node: cst.BaseExpression, depth: int) -> Iterator[cst.BaseExpression]:
    if depth > 6:
        return
    match node:
        case cst.SimpleString() | cst.ConcatenatedString() | cst.FormattedString():
            yield node
        case cst.List(elements) | cst.Tuple(elements):
            for element in elements:
                yield from _strings(program, element.value, depth + 1)
        case cst.BinaryOperation(operator=cst.Add()):
            yield from _strings(program, node.left, depth + 1)
            yield from _strings(program, node.right, depth + 1)
        case cst.Name() | cst.Attribute():
            for value, index in program.assigned(node) or ():
                if index is None:
                    yield from _strings(program, value, depth + 1)
