# SPDX-License-Identifier: Apache-2.0
"""Report CUDA libraries that a program loads by name, and functions that it looks up by a string.

`dlopen("libcuda.so.1", …)` compiles on AMD as before and finds nothing at run time, which many programs interpret as a
machine without a GPU. A program that names ROCm's library somewhere has handled it. Only the types with which it calls
the functions show which of them have another name or other parameters, so a person has to check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport_passes.names import api_names

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
# A string that is the name of a library's file, or a path to it: `/usr/lib/libcuda.so.1`, `cublas64_11.dll`.
_FILE = _WORDS.compile(
    rb'"(?:[^"\\\r\n]*[/\\])?(?&lib)?(?P<name>[A-Za-z][A-Za-z-]*?)(?:64_\d+(?:_\d+)*)?'
    rb'\.(?:so(?:\.\d+)*|(?&suffixes))"'
)
_OF_ROCM = _WORDS.compile(rb"\b(?&lib)" + one_of(_WORDS["of_rocm"], r"\w+").encode() + rb"\b[^\"\r\n]*\"")
_ASKING = re.compile(one_of(_WORDS["asking"]).encode())
_CALL = re.compile(rb"\s*\(")
_TEXT = re.compile(rb'"(\w+)"')


class _Library(NamedTuple):
    rocm: str
    said: str


@cache
def _libraries() -> Mapping[bytes, _Library]:
    known = load(Path(__file__).with_suffix(".toml"))
    return {
        name.encode(): _Library(row["rocm"], known["said"][row["names"]]) for name, row in known["libraries"].items()
    }


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each name of a library, and for each function name that is passed to a loader."""
    knows = bool(source.fact(_named)) and bool(project.union_over(source, _of_rocm))
    for span, name in () if knows else _files(source):
        library = _libraries()[name]
        message = (
            f"{source[span][1:-1].decode('utf-8', 'replace')}: it is loaded by name, so the program compiles but "
            f"does not find it on AMD; ROCm has {library.rocm}, and {library.said}"
        )
        yield Finding(span, "library", message, certainty=Certainty.MANUAL)
    yield from _asked(source)


def _asked(source: Cpp) -> Iterator[Finding]:
    """Find CUDA's functions that are looked up by a string."""
    known = api_names.table()
    for span, _ in source.names(_ASKING, _CALL):
        opening = _CALL.match(source.code, span.end)
        for argument in (source.arguments(opening.end() - 1) if opening else None) or ():
            written = source.trimmed(argument)
            text = _TEXT.fullmatch(source.text, written.start, written.end)
            row = known.get(text[1]) if text else None
            if text is None or row is None or row.hip == text[1].decode() or source.ported(span.start):
                continue
            message = (
                f"{text[1].decode()} ({row.hip or 'nothing'} in HIP): it is looked up by a string, which hipport "
                "does not change, and it does not exist on AMD; look up HIP's name, and check the type of the "
                "function"
            )
            yield Finding(Span(*text.span()), "function", message, certainty=Certainty.MANUAL)


def _files(source: Cpp) -> Iterator[tuple[Span, bytes]]:
    """Yield the strings that name such a library, in code that CUDA and HIP both see."""
    for match in _FILE.finditer(source.text) if b".so" in source.text or b".d" in source.text else ():
        first, last = match.start(), match.end() - 1
        literal = source.code[first : first + 1] == source.code[last : last + 1] == b'"'
        if match["name"] in _libraries() and literal and not source.ported(first):
            yield Span(*match.span()), match["name"]


def _named(source: Cpp) -> frozenset[bytes]:
    return frozenset(name for _, name in _files(source))


def _of_rocm(source: Cpp) -> frozenset[bytes]:
    """Return ROCm's libraries that a file names."""
    return frozenset(_OF_ROCM.findall(source.text))


PASS = Pass(Cpp, find)
