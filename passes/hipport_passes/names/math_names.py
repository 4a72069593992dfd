# SPDX-License-Identifier: Apache-2.0
"""Report functions of a program's own that C++20's <math.h> declares with the same parameters.

libstdc++'s <math.h> puts `std::lerp` of C++20 into the global namespace. A program's own `lerp(float, float, float)`
there, as in NVIDIA's helper_math.h of the CUDA samples, is then a second declaration of the same function, and does not
compile (GCC 12 and 16, hipcc 7.0, 2026-11; nvcc rejects it, too). PyTorch builds extensions as C++20 unless the script
names a standard (PyTorch 2.13, 2026), so the error may appear when a port is the first build with a new PyTorch.

Nothing is rewritten: `std::lerp` rounds differently from `a + t * (b - a)`, so the program needs its own, under
another name or in a namespace. Functions of namespaces and classes, of vectors, and with other numbers of parameters
do not conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.analysis.functions import Function, functions
from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.extensions import extensions
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES

_NAME = b"lerp"
_PARAMETERS = re.compile(
    rb"\(\s*(?:const\s+)?(?P<type>float|double|long\s+double)(?:\s+const)?\s*\w*\s*"
    rb"(?:,\s*(?:const\s+)?(?P=type)(?:\s+const)?\s*\w*\s*){2}\)"
)
_CXX20 = NAMES.compile(
    rb"-(?&std)=(?:c|(?&gnu))\+\+(?:2\w)|(?&standard_properties)_STANDARD[ \t]+2\d|(?&standard_features)_(?&std)_2\d"
)
_STANDARD = NAMES.compile(rb"-(?&std)=(?:c|(?&gnu))\+\+\w+")
# <math.h>, and headers that include it: Python's headers do, ATen's alone do not.
_MATH = frozenset(("math.h", "Python.h", "pybind11/pybind11.h", "torch/extension.h", "torch/python.h"))
_INSIDE = frozenset(("namespace_definition", "class_specifier", "struct_specifier", "union_specifier"))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per scalar `lerp` in the global namespace of code that is built as C++20."""
    if _NAME not in source.words or not project.fact(_is_cxx20):
        return
    there = project.declared(source, _includes_math, project.without_cuda(source))
    # A host compiler has no CUDA.
    if not ("always" in there or {"without CUDA", "on the host"} <= there):
        return
    for function in functions(source):
        if function.name == _NAME and _is_global(function) and not source.ported(function.node.start_byte):
            head = source.code[function.node.start_byte : function.body.start_byte]
            if not _PARAMETERS.search(head):
                continue
            start = function.node.start_byte + head.index(_NAME)
            message = (
                "C++20's <math.h> declares lerp with the same parameters in the global namespace, so this does not "
                "compile: give yours another name or a namespace, or build as C++17 (std::lerp rounds differently)"
            )
            yield Finding(Span(start, start + len(_NAME)), "lerp", message, certainty=Certainty.MANUAL)


def _is_cxx20(project: Project) -> bool:
    scripts = {source.path: source.text for source in project.sources if not isinstance(source, Cpp)}
    if any(_CXX20.search(text) for text in scripts.values()):
        return True
    of_pytorch = [each for each in extensions(project) if each.kind not in ("program", "cmake")]
    return any(not _STANDARD.search(scripts.get(each.path, b"")) for each in of_pytorch if each.path)


def _includes_math(source: Cpp) -> frozenset[str]:
    """Return where a file includes <math.h>: `always`, or `without CUDA`; and `on the host` for a host source.

    `#ifndef __CUDACC__` hides an include from nvcc, and hipport hides it from hipcc as well.
    """
    found = {"on the host"} if source.for_host else set()
    for include in source.includes:
        place = include.target.start
        if include.path in _MATH and not within(place, source.cuda_only):
            found.add("without CUDA" if within(place, source.without_cuda) else "always")
    return frozenset(found)


def _is_global(function: Function) -> bool:
    node = function.node.parent
    while node is not None:
        if node.type in _INSIDE:
            return False
        node = node.parent
    return True


PASS = Pass(Cpp, find)
