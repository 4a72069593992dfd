# SPDX-License-Identifier: Apache-2.0
"""Rewrite conditions that ask for nvcc or for device code so that hipcc answers them.

`__CUDACC__` becomes `__HIPCC__`, which hipcc defines where nvcc defines the other; `defined(__CUDA_ARCH__)` becomes
`defined(__HIP_DEVICE_COMPILE__)`. Comparisons with CUDA's versions and architectures are reported where AMD, on which
those macros are not defined and count as 0, takes another branch than the newest CUDA and NVIDIA GPU do. A condition
that tells AMD from NVIDIA already is left alone, with all its branches, except that `USE_ROCM` and its like, which
PyTorch's build defines and hipcc does not, are helped by a macro that hipcc defines, in programs without PyTorch.
Runs last: once a guard names HIP, what it guards looks as if it were ported.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import ClassVar

from hipport.finding import Certainty, Finding
from hipport.languages.cpp import Cpp, within
from hipport.languages.cuda import Cuda
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

# What nvcc says of itself, and hipcc of itself; it takes extended lambdas and constexpr functions without a flag.
_COMPILER = {
    b"__CUDACC__": b"__HIPCC__",
    b"__CUDACC_RTC__": b"__HIPCC_RTC__",
    b"__CUDACC_EXTENDED_LAMBDA__": b"__HIPCC__",
    b"__CUDACC_RELAXED_CONSTEXPR__": b"__HIPCC__",
}
_NAME = re.compile(
    rb"__CUDACC(?:_RTC|_EXTENDED_LAMBDA|_RELAXED_CONSTEXPR)?__|__NVCC__|__CUDA_ARCH__|CUDA_VERSION|CUDART_VERSION|__CUDACC_VER_(?:MAJOR|MINOR|BUILD)__|CUDNN_VERSION"
)
_CONDITION = re.compile(rb"#[ \t]*(?:el)?if\b(.*)", re.DOTALL)
_TOKEN = re.compile(rb"\w+|\|\||&&|[=!<>]=|[^\s\w]")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_OPERATORS: dict[bytes, Callable[[int, int], int]] = {
    b"||": lambda a, b: bool(a) or bool(b),
    b"&&": lambda a, b: bool(a) and bool(b),
    b"==": operator.eq,
    b"!=": operator.ne,
    b"<": operator.lt,
    b">": operator.gt,
    b"<=": operator.le,
    b">=": operator.ge,
    b"+": operator.add,
    b"-": operator.sub,
    b"*": operator.mul,
    b"/": operator.floordiv,
    b"%": operator.mod,
}
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
            if name in _COMPILER:
                yield _outside(source, span, name, directive)
            continue
        if conditions[directive.start] in told:
            continue
        text = code[directive.start : directive.end]
        asks = _ASKS.search(code[directive.start : span.start]) is not None
        if name in _COMPILER:
            yield _compiler(span, name)
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
        elif directive.start not in reported and not _as_on_the_newest(text):
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
        new %= (b"defined(" + name + b")", b"defined(__HIPCC__)")
        message = f"{name.decode()} is for a build to define; __HIPCC__ is what hipcc defines"
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


def _as_on_the_newest(directive: bytes) -> bool:
    """Say whether AMD takes the branch that the newest CUDA takes, whatever other macros in the condition are."""
    match = _CONDITION.match(directive)
    if match is None:
        return False
    tokens = _TOKEN.findall(match[1].replace(b"\\", b" "))
    others = sorted({token for token in tokens if _WORD.fullmatch(token) and not _NAME.fullmatch(token)} - {b"defined"})
    if len(others) > 4:
        return False
    try:
        for values in product((0, 1), repeat=len(others)):
            known = dict(zip(others, values, strict=True))
            if bool(_Condition(tokens, known, newest=False).value) is not bool(
                _Condition(tokens, known, newest=True).value
            ):
                return False
    except _Unreadable:
        return False
    return True


class _Unreadable(Exception):
    """A condition with more in it than names, numbers, comparisons and logic."""


class _Condition:
    """The value of a condition: the names of CUDA's versions are all undefined, or all defined and large."""

    _BINARY: ClassVar[tuple[tuple[bytes, ...], ...]] = (
        (b"||",),
        (b"&&",),
        (b"==", b"!="),
        (b"<", b">", b"<=", b">="),
        (b"+", b"-"),
        (b"*", b"/", b"%"),
    )

    def __init__(self, tokens: list[bytes], known: dict[bytes, int], *, newest: bool) -> None:
        self.tokens = [*tokens, b""]
        self.known = known
        self.newest = newest
        self.value = self._binary(0)
        if self.tokens[0]:
            raise _Unreadable

    def _binary(self, level: int) -> int:
        if level == len(self._BINARY):
            return self._unary()
        left = self._binary(level + 1)
        while self.tokens[0] in self._BINARY[level]:
            sign = self.tokens.pop(0)
            right = self._binary(level + 1)
            if sign in (b"/", b"%") and not right:
                raise _Unreadable
            left = int(_OPERATORS[sign](left, right))
        return left

    def _unary(self) -> int:
        token = self.tokens.pop(0)
        if token == b"!":
            return int(not self._unary())
        if token == b"(":
            value = self._binary(0)
            if self.tokens.pop(0) != b")":
                raise _Unreadable
            return value
        if token == b"defined":
            bracket = self.tokens[0] == b"("
            name = self.tokens.pop(1 if bracket else 0)
            if bracket and (self.tokens.pop(0), self.tokens.pop(0)) != (b"(", b")"):
                raise _Unreadable
            return self._of(name, 1)
        if token[:1].isdigit():
            return int(re.sub(rb"[uUlL]+$", b"", token), 0)
        if _WORD.fullmatch(token) and self.tokens[0] != b"(":
            return self._of(token, 10**7)
        raise _Unreadable

    def _of(self, name: bytes, large: int) -> int:
        return self.known[name] if name in self.known else large * self.newest


def _compiler(span: Span, name: bytes) -> Finding:
    new = _COMPILER[name]
    return Finding(span, "compiler", f"{name.decode()} → {new.decode()}", (Edit(span, new),))


def _outside(source: Cpp, span: Span, name: bytes, directive: Span) -> Finding:
    if not _DEFINES.match(source.code, directive.start):
        return _compiler(span, name)
    # hipcc defines __HIPCC__ itself, and rocThrust takes a compiler with __CUDACC__ for nvcc.
    return Finding(
        directive,
        "defines_compiler",
        "a compiler of device code says so itself: drop what is said here of __CUDACC__",
        (Edit(directive, b""),),
        Certainty.SAFE if isinstance(source, Cuda) else Certainty.REVIEW,
    )


PASS = Pass(Cpp, find)
