# SPDX-License-Identifier: Apache-2.0
"""Rewrite conditions that ask for nvcc or for device code so that hipcc answers them.

`__CUDACC__` becomes `__HIPCC__`, which hipcc defines where nvcc defines the other; `defined(__CUDA_ARCH__)` becomes
`defined(__HIP_DEVICE_COMPILE__)`. Comparisons with CUDA's versions and architectures are reported: on AMD those macros
are not defined, which counts as 0. A condition that tells AMD from NVIDIA already is left alone, with all its branches,
except that `USE_ROCM` and its like, which PyTorch's build defines and hipcc does not, are helped by a macro that hipcc
defines, in programs without PyTorch. Runs last: once a guard names HIP, what it guards looks as if it were ported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Certainty, Finding
from hipport.languages.cpp import Cpp, within
from hipport.languages.cuda import Cuda
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

_NAME = re.compile(
    rb"__CUDACC__|__NVCC__|__CUDA_ARCH__|CUDA_VERSION|CUDART_VERSION|__CUDACC_VER_(?:MAJOR|MINOR|BUILD)__|CUDNN_VERSION"
)
_ARCHITECTURE = re.compile(rb"\b__CUDA_ARCH__\b")
_DEFINES = re.compile(rb"#[ \t]*(?:define|undef)[ \t]+__CUDACC__")
_BY_BUILD = re.compile(rb"USE_ROCM|USE_HIP|WITH_HIP")
_BY_HIPCC = re.compile(rb"\b(?:__HIP_\w+__|__HIPCC__|__HIP__|HIP_VERSION|__AMDGCN__)\b")
_PYTORCH = ("torch/", "ATen/", "c10/", "caffe2/")
_IFDEF = re.compile(rb"(if)(n?)def[ \t]+$")
_DEFINED = re.compile(rb"\bdefined[ \t]*(?:(\()[ \t]*)?$")
_ASKS = re.compile(rb"#[ \t]*ifn?def[ \t]+$|\bdefined[ \t]*\(?[ \t]*$")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per name that is renamed, and per condition that a person must look at."""
    if not any(word in source.text for word in (b"__CUDA", b"__NVCC__", b"_VERSION", b"USE_", b"WITH_HIP")):
        return
    yield from _build_macros(source, project)
    code = source.code
    told = {part.span for group in source.conditionals if any(part.tells for part in group) for part in group}
    conditions = {part.span.start: part.span for group in source.conditionals for part in group}
    reported: set[int] = set()
    for span, name in source.names(_NAME):
        directive = source.directive(span.start)
        if directive is None or within(span.start, source.hip_only) or within(span.start, source.cuda_only):
            continue
        if directive.start not in conditions:
            if name == b"__CUDACC__":
                yield _outside(source, span, directive)
            continue
        if conditions[directive.start] in told:
            continue
        text = code[directive.start : directive.end]
        asks = _ASKS.search(code[directive.start : span.start]) is not None
        if name == b"__CUDACC__":
            yield Finding(span, "compiler", "__CUDACC__ → __HIPCC__", (Edit(span, b"__HIPCC__"),))
        elif name == b"__NVCC__":
            if b"__CUDACC__" not in text and b"_VER_" not in text:
                yield Finding(
                    span,
                    "compiler",
                    "__NVCC__ → __HIPCC__: right if this is about CUDA's syntax, not about pragmas or defects of nvcc",
                    (Edit(span, b"__HIPCC__"),),
                    Certainty.REVIEW,
                )
        elif name == b"__CUDA_ARCH__" and asks and _all_ask(code, directive):
            yield Finding(
                span,
                "device_code",
                "__CUDA_ARCH__ → __HIP_DEVICE_COMPILE__",
                (Edit(span, b"__HIP_DEVICE_COMPILE__"),),
            )
        elif directive.start not in reported:
            reported.add(directive.start)
            yield Finding(
                span,
                "architecture" if name == b"__CUDA_ARCH__" else "version",
                f"{name.decode()} is not defined on AMD and counts as 0 here: decide which branch AMD takes",
                certainty=Certainty.MANUAL,
            )


def _build_macros(source: Cpp, project: Project) -> Iterator[Finding]:
    """Add a macro of hipcc's to conditions that only a build for PyTorch, or a flag, would make true."""
    names = [(span, name) for span, name in source.names(_BY_BUILD) if source.directive(span.start)]
    if not names or project.together(source, _defines_or_has_pytorch):
        return
    code = source.code
    for span, name in names:
        directive = source.directive(span.start)
        if directive is None or _BY_HIPCC.search(code, directive.start, directive.end):
            continue
        before = code[directive.start : span.start]
        if match := _IFDEF.search(before):
            start, end = directive.start + match.start(), span.end
            new = b"if %b || %b" if not match[2] else b"if !%b && !%b"
        elif match := _DEFINED.search(before):
            start = directive.start + match.start()
            end = span.end if match[1] is None else code.index(b")", span.end) + 1
            new = b"(%b || %b)"
        else:
            continue
        new %= (b"defined(" + name + b")", b"defined(__HIP_PLATFORM_AMD__)")
        message = f"{name.decode()} is for a build to define; __HIP_PLATFORM_AMD__ is what hipcc defines"
        yield Finding(span, "build_macro", message, (Edit(Span(start, end), new),))


def _defines_or_has_pytorch(source: Cpp) -> frozenset[str]:
    """Why the build macros are well where they are: the program includes PyTorch, or defines them itself."""
    found = {include.path for include in source.includes if include.path.startswith(_PYTORCH)}
    if re.search(rb"#[ \t]*define[ \t]+(?:" + _BY_BUILD.pattern + rb")\b", source.code):
        found.add("define")
    return frozenset(found)


def _all_ask(code: bytes, directive: Span) -> bool:
    """Say whether the directive only asks whether `__CUDA_ARCH__` is defined, and compares it with nothing."""
    return all(
        _ASKS.search(code[directive.start : match.start()])
        for match in _ARCHITECTURE.finditer(code, directive.start, directive.end)
    )


def _outside(source: Cpp, span: Span, directive: Span) -> Finding:
    if not _DEFINES.match(source.code, directive.start):
        return Finding(span, "compiler", "__CUDACC__ → __HIPCC__", (Edit(span, b"__HIPCC__"),))
    # hipcc defines __HIPCC__ itself, and rocThrust takes a compiler with __CUDACC__ for nvcc.
    return Finding(
        directive,
        "defines_compiler",
        "a compiler of device code says so itself: drop what is said here of __CUDACC__",
        (Edit(directive, b""),),
        Certainty.SAFE if isinstance(source, Cuda) else Certainty.REVIEW,
    )


PASS = Pass(Cpp, find)
