# SPDX-License-Identifier: Apache-2.0
"""CUDA C++: sources for nvcc, and headers with device code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.syntax.cpp import Cpp

_CALLEE = re.compile(rb"([A-Za-z_]\w*)\s*(?:<[^;{}]*>\s*)?$")
_CALL = re.compile(rb"\s*\(")
_BY_NAME = b"hipLaunchKernelGGL"
# Brackets around the kernel, with the macro that HIP has for names that contain commas.
_WRAPPED = re.compile(rb"^(?:\s|\(|\bHIP_KERNEL_NAME\s*\()*|[\s)]*$")
_PART = re.compile(rb"[()\[\]{},;]|>>>|<<<")
# Text that may stand between the parts of `<<<` and `>>>`; nvcc joins them.
_GAP = rb"(?:[ \t\r\n]|\\(?=\s))*"
# `<:` and `<%` are digraphs of `[` and `{`.
_OPENING = re.compile(rb"<(?<!<<)" + _GAP + rb"<" + _GAP + rb"<(?![<:%=])")
_OPERATOR = re.compile(rb"\boperator\s*$")
_STEP = re.compile(
    rb"(?P<close>>" + _GAP + rb">" + _GAP + rb">)(?P<next>" + _GAP + rb"\(|" + _GAP + rb"$)?|(?P<open>(?<!<)<" + _GAP
    + rb"<" + _GAP + rb"<)|[()\[\]{};]"
)  # fmt: skip


@dataclass(frozen=True)
class Cuda(Cpp):
    """C++ with execution spaces and launches."""

    @property
    def grammar(self) -> str:
        return "cuda"


class Launch(NamedTuple):
    """A launch `kernel<<<configuration>>>(arguments)`, or HIP's `hipLaunchKernelGGL(kernel, configuration, arguments)`.

    `brackets` is the place of `<<<`, or the text between the kernel and the configuration.
    """

    kernel: bytes
    brackets: Span
    configuration: tuple[Span, ...]
    arguments: tuple[Span, ...]


def launches(source: Cpp) -> tuple[Launch, ...]:
    """Return the launches in `source`, also in macros. `kernel` is empty where it is not a name."""
    return source.fact(_launches)


def _launches(source: Cpp) -> tuple[Launch, ...]:
    code = source.code
    found = []
    start = code.find(b"<<<")
    while start >= 0:
        # The kernel does not extend into the statement before.
        floor = max(code.rfind(end, max(0, start - 300), start) for end in (b";", b"{", b"}"))
        name = _CALLEE.search(code, max(floor + 1, start - 300, 0), start)
        cuts = [start + 2]
        depth = 0
        end = None
        for match in _PART.finditer(code, start + 3):
            token = match.group()
            if token in b"([{":
                depth += 1
            elif token in b")]}":
                depth -= 1
            elif not depth and token == b",":
                cuts.append(match.start())
            elif not depth and token == b">>>":
                end = match.start()
            # No launch is in the configuration of another one.
            if end is not None or depth < 0 or token in (b";", b"<<<"):
                break
        if end is not None:
            opening = re.compile(rb"\s*\(").match(code, end + 3)
            found.append(
                Launch(
                    name[1] if name else b"",
                    Span(start, start + 3),
                    tuple(source.trimmed(Span(a + 1, b)) for a, b in zip(cuts, [*cuts[1:], end], strict=True)),
                    (source.arguments(opening.end() - 1) or ()) if opening else (),
                )
            )
        start = code.find(b"<<<", start + 3)
    if _BY_NAME in source.words:
        found = sorted([*found, *_by_name(source)], key=lambda launch: launch.brackets)
    return tuple(found)


def _by_name(source: Cpp) -> Iterator[Launch]:
    """Yield the launches by HIP's macro, which has five arguments before those of the kernel."""
    for span, _ in source.names(frozenset((_BY_NAME,))):
        opening = _CALL.match(source.code, span.end)
        given = source.arguments(opening.end() - 1) if opening else None
        if given is not None and len(given) >= 5:
            kernel, *rest = given
            name = _CALLEE.search(_WRAPPED.sub(b"", source.code[kernel.start : kernel.end]))
            brackets = Span(kernel.end, rest[0].start)
            yield Launch(name[1] if name else b"", brackets, tuple(rest[:4]), tuple(rest[4:]))


def launch_openings(source: Cpp) -> Iterator[Span]:
    """Yield each opening bracket that looks like that of a launch, also with blanks inside: `<< <`."""
    for match in _OPENING.finditer(source.code):
        if not _OPERATOR.search(source.code, max(0, match.start() - 40), match.start()):
            yield Span(*match.span())


def launch_closing(source: Cpp, start: int, *, anywhere_in_macros: bool = False) -> Span | None:
    """Return the closing bracket of the launch whose configuration starts at `start`: the last candidate.

    The arguments follow it. At the end of a macro, or `anywhere_in_macros`, they may be a parameter, or stand where the
    macro is used.
    """
    macro = source.directive(start)
    end = macro.end if macro else len(source.code)
    depth = 0
    found: Span | None = None
    for match in _STEP.finditer(source.code, start, end):
        token = match.group()
        if match["close"] is not None:
            called = match["next"] is not None and match["next"].endswith(b"(")
            without = macro is not None if anywhere_in_macros else match["next"] is not None and match.end() == end
            if not depth and (called or without):
                found = Span(match.start("close"), match.end("close"))
            depth += called
        elif match["open"] is not None:
            break  # No launch is in the configuration of another one.
        elif token in (b"(", b"[", b"{"):
            depth += 1
        elif token == b";":
            if depth <= 0:
                break
        else:
            depth -= 1
            if depth < 0:
                break
    return found
