# SPDX-License-Identifier: Apache-2.0
"""Let code that asks for `USE_ROCM` see hipcc too, where no build of PyTorch defines that macro.

A program that has a port of its own under `#ifdef USE_ROCM` compiles as that port only when its build defines the
macro. PyTorch's build of extensions does; a plain hipcc does not, and would take the branch for CUDA. Such conditions
ask for `__HIPCC__` as well, which clang defines whenever it compiles HIP. Code that includes PyTorch's headers stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Certainty, Finding
from hipport.languages.cpp import Cpp
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

_MACRO = re.compile(rb"\bUSE_ROCM\b")
_CONDITION = re.compile(rb"#[ \t]*(?P<word>ifdef|ifndef|if|elif)\b")
_ASKED = re.compile(rb"(?P<defined>defined\s*\(\s*USE_ROCM\s*\)|defined\s+USE_ROCM\b)|\bUSE_ROCM\b")
_HIP_TOO = re.compile(rb"\b__HIP(?:CC|_PLATFORM_AMD|)__\b|\b__AMDGCN__\b")
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+USE_ROCM\b", re.MULTILINE)
_PYTORCH = re.compile(r"(?:torch|ATen|c10|THC|caffe2)/")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per condition that only a build of PyTorch would make true."""
    if b"USE_ROCM" not in source.text or project.together(source, _known_elsewhere):
        return
    code = source.code
    for directive in source.directives:
        text = code[directive.start : directive.end]
        condition = _CONDITION.match(text)
        if condition is None or not _MACRO.search(text) or _HIP_TOO.search(text):
            continue
        edits = tuple(_edits(text, directive.start, condition))
        yield Finding(
            directive,
            "plain_build",
            "USE_ROCM is defined by PyTorch's build only, and hipcc by itself would take the branch for CUDA: ask for "
            "__HIPCC__ too; assumes that USE_ROCM stands for AMD GPUs here as it does in PyTorch",
            edits,
            Certainty.REVIEW,
        )


def _edits(text: bytes, start: int, condition: re.Match[bytes]) -> Iterator[Edit]:
    word = condition["word"]
    if word in (b"ifdef", b"ifndef"):
        asked = _MACRO.search(text, condition.end())
        if asked is not None:
            new = b"if defined(USE_ROCM) || defined(__HIPCC__)"
            if word == b"ifndef":
                new = b"if !defined(USE_ROCM) && !defined(__HIPCC__)"
            yield Edit(Span(start + condition.start("word"), start + asked.end()), new)
        return
    for asked in _ASKED.finditer(text, condition.end()):
        new = b"(" + (b"defined(USE_ROCM)" if asked["defined"] else b"USE_ROCM") + b" || defined(__HIPCC__))"
        yield Edit(Span(start + asked.start(), start + asked.end()), new)


def _known_elsewhere(source: Cpp) -> frozenset[str]:
    """Whether the program defines the macro itself, or is built by PyTorch, which does."""
    if _DEFINED.search(source.code):
        return frozenset(("defined",))
    return frozenset("pytorch" for include in source.includes if _PYTORCH.match(include.path))


PASS = Pass(Cpp, find)
