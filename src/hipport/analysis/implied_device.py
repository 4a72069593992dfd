# SPDX-License-Identifier: Apache-2.0
"""Functions that are device code although no text that hipport sees says so: `CUTLASS_DEVICE void reduce() { … }`.

A host compiler knows no `__shfl_sync`. So a function that calls one is device code, and an unknown macro before it
stands for `__device__`, there and before other functions.
"""

from __future__ import annotations

import re

from hipport.analysis.functions import DEVICE, Function, functions
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES, ON_GPU, PARTITION, WHOLE_GROUP

_CALL = NAMES.compile(
    rb"(?:\b__%b(?&masked)?|\b(?&hipport)::%b(?&masked)?|\b%b|\b%b)\s*\(" % (ON_GPU, ON_GPU, PARTITION, WHOLE_GROUP)
)
# In the text before a function's name: macros are written in capitals, or begin with an underscore.
_MACRO = re.compile(rb"\b(?:[A-Z][A-Z0-9_]+|_\w+)\b")


def runs_on_device(function: Function) -> bool:
    """Return whether the function itself, not a lambda in it, calls what only a GPU has."""
    return function.fact(_calls)


def implied_macros(source: Cpp) -> frozenset[bytes]:
    """Return the words before functions of the file that may be macros for `__device__`, as those are device code."""
    if _CALL.search(source.code) is None:
        return frozenset()
    unmarked = (each for each in functions(source) if not DEVICE.search(each.head) and runs_on_device(each))
    return frozenset(word for each in unmarked for word in _MACRO.findall(each.head))


def may_imply(source: Cpp) -> bool:
    """Return whether the file calls what only a GPU has."""
    return source.fact(_mentions)


def _mentions(source: Cpp) -> bool:
    return _CALL.search(source.code) is not None


def _calls(function: Function) -> bool:
    code, body = function.source.code, function.body
    for match in _CALL.finditer(code, body.start_byte, body.end_byte):
        node = body.descendant_for_byte_range(match.start(), match.start() + 1)
        while node is not None and node.id != body.id and node.type != "lambda_expression":
            node = node.parent
        if node is not None and node.id == body.id:
            return True
    return False
