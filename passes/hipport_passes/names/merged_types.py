# SPDX-License-Identifier: Apache-2.0
"""Report functions and specializations that become one function because two CUDA types are one type in HIP.

`name(cudaError_t)` and `name(CUresult)` are two functions in CUDA. In HIP, where both codes are hipError_t, they are
two definitions of one; so are `f(CUdeviceptr)` and `f(void *)`. A person has to decide which of the bodies is right for
both. Definitions that no compilation sees together are not reported: those in other branches of an `#if`, in other
classes and namespaces, or under a macro that nothing in the program defines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.declarations import block_around, namespaces
from hipport.syntax.preprocessor import exclusive

_KEYWORDS = frozenset(b"if for while switch catch return sizeof defined decltype alignof noexcept".split())
# A function with a body, from its name to the brace.
_FUNCTION = re.compile(
    rb"(?<![\w.>])(?P<name>(?:[A-Za-z_]\w*\s*::\s*)*[A-Za-z_]\w*)\s*\((?P<given>[^(){};]*)\)\s*"
    rb"(?:(?:const|noexcept|override|final)\b\s*)*(?::[^;{}]*)?\{"
)
# A full specialization of a class, or of a function.
_SPECIALIZED = re.compile(
    rb"\btemplate\s*<\s*>[^;{}()<>]*?\b(?P<name>[A-Za-z_]\w*)\s*<(?P<given>[^<>;{}()]*)>\s*(?:\([^(){};]*\))?[^;{}()]*\{"
)
_TEMPLATE = re.compile(rb"\btemplate\s*<")
_WORDS = re.compile(rb"[A-Za-z_]\w*|\.\.\.|[^\s\w]")
_BUILT_IN = frozenset(b"unsigned signed long short int char bool float double void auto".split())
_QUALIFIERS = frozenset(b"const volatile struct enum".split())
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
# Macros that compilers and headers define.
_OF_HEADERS = re.compile(rb"_|(?:CU|HIP)[A-Z]+_H_?\Z|HIP_")
_ASKED = re.compile(rb"\s*defined\s*\(?\s*(\w+)\s*\)?\s*")


class _Definition(NamedTuple):
    """A definition, with its types by HIP's names, and its scope: `where` is None inside of a class."""

    span: Span
    name: bytes
    types: tuple[bytes, ...]
    where: tuple[bytes, ...] | None
    block: int


@cache
def _types() -> Mapping[bytes, bytes]:
    """Return the types, by either name, with HIP's name."""
    rows: dict[str, str] = load(Path(__file__).with_suffix(".toml"))["types"]
    found = {name.encode(): hip.encode() for hip, names in rows.items() for name in names.split()}
    return found | {hip.encode(): hip.encode() for hip in rows}


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per definition that equals one before it, or one of another file."""
    here = source.fact(_definitions)
    seen: dict[tuple[object, ...], list[_Definition]] = {}
    everywhere = project.declared(source, _at_namespaces) if here else frozenset()
    for each in here:
        if not _is_there(source, project, each.span.start):
            continue
        before = seen.setdefault((each.name, each.types, each.where, each.block if each.where is None else 0), [])
        together = any(not exclusive(source.conditionals, other.span.start, each.span.start) for other in before)
        before.append(each)
        if together or any(
            (name, types, where) == (each.name, each.types, each.where) and path != str(source.path)
            for name, types, where, path in everywhere
        ):
            message = (
                f"{each.name.decode()}({', '.join(one.decode() for one in each.types)}): it is defined more than "
                "once, because two CUDA types are one type in HIP; keep one definition, which is right for both"
            )
            yield Finding(each.span, "defined_twice", message, certainty=Certainty.MANUAL)


def _definitions(source: Cpp) -> tuple[_Definition, ...]:
    """Return the definitions that use one of the types, and those of the same names."""
    if not source.words & _types().keys():
        return ()
    found: list[_Definition] = []
    for pattern in (_FUNCTION, _SPECIALIZED):
        for match in pattern.finditer(source.code):
            name = re.sub(rb"\s+", b"", match["name"])
            start = match.start("name")
            if name in _KEYWORDS or source.ported(start) or (pattern is _FUNCTION and _templated(source, start)):
                continue
            block = block_around(source, start)
            where = namespaces(source, start) if block is None else None
            types = tuple(_normal(each) for each in match["given"].split(b","))
            found.append(_Definition(Span(start, match.end("name")), name, types, where, block or 0))
    known = frozenset(_types().values())
    merging = {
        (each.name, len(each.types))
        for each in found
        if not known.isdisjoint(word for one in each.types for word in one.split())
    }
    return tuple(sorted(each for each in found if (each.name, len(each.types)) in merging))


def _templated(source: Cpp, start: int) -> bool:
    """Return whether a function is a template, which is a different one."""
    begin = max(source.code.rfind(mark, 0, start) for mark in (b";", b"{", b"}")) + 1
    return _TEMPLATE.search(source.code, begin, start) is not None


def _normal(parameter: bytes) -> bytes:
    """Return a parameter's type by HIP's names, without the parameter's name."""
    words: list[bytes] = _WORDS.findall(parameter.partition(b"=")[0])
    names = [i for i, word in enumerate(words) if word not in _QUALIFIERS and (word[:1].isalpha() or word[:1] == b"_")]
    if len(names) > 1 and words[names[-1]] not in _BUILT_IN:
        del words[names[-1]]
    text = b" ".join(_types().get(word, word) for word in words if word not in (b"struct", b"enum"))
    return b"hipDeviceptr_t" if text == b"void *" else text


def _at_namespaces(source: Cpp) -> frozenset[tuple[bytes, tuple[bytes, ...], tuple[bytes, ...], str]]:
    """Return the definitions that others may conflict with: outside of classes, and without a condition."""
    return frozenset(
        (each.name, each.types, each.where, str(source.path))
        for each in source.fact(_definitions)
        if each.where is not None and not within(each.span.start, source.conditional)
    )


def _is_there(source: Cpp, project: Project, offset: int) -> bool:
    """Return whether the code at `offset` may be compiled: not under a macro that nothing of the program defines."""
    for group in source.conditionals:
        if not group[0].span.start < offset < group[-1].span.start:
            continue
        branch = [part for part in group if part.span.start < offset][-1]
        asked = _ASKED.fullmatch(branch.condition)
        if asked is None or _OF_HEADERS.match(asked[1]) or asked[1] in project.declared(source, _macros):
            continue
        if not any(asked[1] in other.text for other in project.sources if not isinstance(other, Cpp)):
            return False
    return True


def _macros(source: Cpp) -> frozenset[bytes]:
    return frozenset(_DEFINED.findall(source.code))


PASS = Pass(Cpp, find)
