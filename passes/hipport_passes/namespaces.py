# SPDX-License-Identifier: Apache-2.0
"""Rename the namespaces of CUB and Thrust to those of hipCUB and rocThrust, and report libcu++ and tensor cores.

A namespace of the program with such a name, or one that it has given that name already (`namespace cub = hipcub`), is
left alone, and so is what lies in PyTorch's `at::cuda::cub`. Names of `cuda::std` become the C++ library's where hipcc
can compile those for the device. Atomic objects with a scope, `cuda::atomic` and its like, become those of
`hipport/scoped_atomic.h`, for review where the whole system may see them: AMD's GPUs do not all operations on memory of
the host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hipport.finding import Certainty, Finding
from hipport.headers import include
from hipport.languages.cpp import Cpp, within
from hipport.languages.declarations import member_or_qualified
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span
from hipport.tables import load

_ANY = re.compile(rb"(?:cub|nvcuda|thrust\s*::\s*(?:system\s*::\s*)?cuda\w*|cuda\s*::\s*\w+)\b")
_CUB_NAME = re.compile(rb"\s*::\s*(\w+)")
_ALONE = re.compile(rb"\b(?:using\s+namespace|namespace\s+\w+\s*=)\s*(?:::\s*)?$")
_STD_NAME = re.compile(rb"\s*::\s*(\w+)")
# What `headers` makes the header of atomic objects.
_ATOMIC_HEADER = re.compile(r"cuda/(?:std/)?atomic")
# Arguments of a template that say who sees an atomic object, if it is not the whole system.
_NARROW = re.compile(rb"\s*<[^;{}()]*\bthread_scope_(?:device|block|thread)\b")
_OWN = re.compile(rb"n(?<!\wn)amespace\s+(?:\w+\s*::\s*)*(cub|cuda|nvcuda)\s*[{=]|#[ \t]*define[ \t]+(cub|nvcuda)\b")


@cache
def _table() -> dict[str, Any]:
    return load(Path(__file__).with_suffix(".toml"))


@cache
def _words(section: str, key: str) -> frozenset[str]:
    return frozenset(_table()[section][key].split())


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of such a namespace."""
    if source.words.isdisjoint(_RULES):
        return
    code = source.code
    matches = [
        match
        for span, _ in source.names(_RULES.keys())
        if (match := _ANY.match(code, span.start)) and not member_or_qualified(code, span.start)
    ]
    own = project.together(source, _own) if matches else frozenset()
    reported: set[int] = set()
    for match in matches:
        start = match.start()
        if within(start, source.hip_only) or within(start, source.cuda_only):
            continue
        first = re.split(rb"\W", match.group(), maxsplit=1)[0]
        if first in own and match.group() != b"cuda::std":
            continue
        for finding in _RULES[first](code, match):
            # What a line has twice is one thing to do.
            line = source.position(start)[0]
            if finding.kind == "atomic":
                need, header = include(source, project, "scoped_atomic.h")
                included = need is None or any(_ATOMIC_HEADER.fullmatch(each.path) for each in source.includes)
                needed = () if need is None or included else (need,)
                finding = replace(finding, edits=(*finding.edits, *needed), creates=(header,))
            if finding.edits or line not in reported:
                yield finding
            if not finding.edits:
                reported.add(line)


def _own(source: Cpp) -> frozenset[bytes]:
    if source.words.isdisjoint(_RULES):
        return frozenset()
    return frozenset(
        match[1] or match[2] for match in _OWN.finditer(source.code) if not within(match.start(), source.cuda_only)
    )


def _cub(code: bytes, match: re.Match[bytes]) -> Iterator[Finding]:
    span = Span(*match.span())
    name = _CUB_NAME.match(code, span.end)
    if name is not None and name[1].decode() in _words("cub", "missing"):
        yield _manual(Span(*name.span(1)), "cub", f"cub::{name[1].decode()}: {_table()['cub']['why']}")
    elif name is not None or _ALONE.search(code[max(0, span.start - 80) : span.start]):
        yield Finding(span, "cub", "cub → hipcub", (Edit(span, b"hipcub"),))


def _thrust(code: bytes, match: re.Match[bytes]) -> Iterator[Finding]:
    name = match.group().rpartition(b":")[2].strip()
    new = _table()["thrust"].get(name.decode())
    if new is not None:
        span = Span(match.end() - len(name), match.end())
        yield Finding(span, "thrust", f"thrust::{name.decode()} → thrust::{new}", (Edit(span, new.encode()),))


def _cuda(code: bytes, match: re.Match[bytes]) -> Iterator[Finding]:
    span = Span(*match.span())
    name = match.group().rpartition(b":")[2].strip().decode()
    libcupp = _table()["libcupp"]
    if name != "std":
        if name in _words("libcupp", "atomics"):
            yield _atomic(code, span, f"cuda::{name}", name, span.end)
        elif name in libcupp["other"]:
            yield _manual(span, "libcupp", f"cuda::{name}: {libcupp['other'][name]}")
        return
    inner = _STD_NAME.match(code, span.end)
    what = inner[1].decode() if inner else ""
    if inner and what in _words("libcupp", "atomics"):
        yield _atomic(code, Span(span.start, inner.end()), f"cuda::std::{what}", what, inner.end())
    elif what in _words("libcupp", "std"):
        message = f"cuda::std::{what} → std::{what}: {libcupp['review']}"
        yield Finding(span, "libcupp", message, (Edit(span, b"std"),), Certainty.REVIEW)
    else:
        yield _manual(span, "libcupp", f"cuda::std::{what}: {libcupp['instead']}")


def _atomic(code: bytes, span: Span, name: str, last: str, end: int) -> Finding:
    message = f"{name} → hipport::{last}"
    certainty = Certainty.SAFE
    if last in ("atomic", "atomic_ref", "atomic_flag") and not _NARROW.match(code, end):
        message += "; " + _table()["libcupp"]["system"]
        certainty = Certainty.REVIEW
    return Finding(span, "atomic", message, (Edit(span, f"hipport::{last}".encode()),), certainty)


def _nvcuda(code: bytes, match: re.Match[bytes]) -> Iterator[Finding]:
    message = "nvcuda::wmma: rocWMMA (rocwmma/rocwmma.hpp) is like it, with other fragment sizes and layouts"
    yield _manual(Span(*match.span()), "tensor_cores", message)


def _manual(span: Span, kind: str, message: str) -> Finding:
    return Finding(span, kind, message, certainty=Certainty.MANUAL)


_RULES: dict[bytes, Callable[[bytes, re.Match[bytes]], Iterator[Finding]]] = {
    b"cub": _cub,
    b"thrust": _thrust,
    b"cuda": _cuda,
    b"nvcuda": _nvcuda,
}

PASS = Pass(Cpp, find)
