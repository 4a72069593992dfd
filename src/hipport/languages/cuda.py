# SPDX-License-Identifier: Apache-2.0
"""CUDA C++: what nvcc compiles, and headers with device code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from hipport.languages.cpp import Cpp
from hipport.source import Span

_CALLEE = re.compile(rb"([A-Za-z_]\w*)\s*(?:<[^;{}]*>\s*)?$")
_PART = re.compile(rb"[()\[\]{},;]|>>>")


@dataclass(frozen=True)
class Cuda(Cpp):
    """C++ with execution spaces and launches."""

    @property
    def grammar(self) -> str:
        return "cuda"


class Launch(NamedTuple):
    """A launch `kernel<<<configuration>>>(arguments)`; `brackets` is where `<<<` stands."""

    kernel: bytes
    brackets: Span
    configuration: tuple[Span, ...]
    arguments: tuple[Span, ...]


def launches(source: Cpp) -> tuple[Launch, ...]:
    """Return the launches in `source`, in macros too. `kernel` is empty where it is no name."""
    return source.fact(_launches)


def _launches(source: Cpp) -> tuple[Launch, ...]:
    code = source.code
    found = []
    start = code.find(b"<<<")
    while start >= 0:
        # Nothing in front of the end of the statement before.
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
            if end is not None or depth < 0 or token == b";":
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
    return tuple(found)
