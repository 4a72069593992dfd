# SPDX-License-Identifier: Apache-2.0
"""Let clang convert a value in braces to a narrower type, as nvcc does with a warning.

`dim3 grid{n}` of an `int`, `float f{n}` and `Size s = {v.size(), 1}` into a structure of `int` are narrowing, which
clang refuses. A `#pragma clang diagnostic` turns that off for the file; the value is converted as in CUDA. Only
certain cases count: both types are known from the program's declarations, and the value is not a constant, which both
compilers check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hipport.analysis.constant_values import value
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarators import behind
from hipport_passes.compatibility.number_types import TYPE, UNSIGNED, WORD, NumberExpression, NumberType, number_named

_PRAGMA = b'#pragma clang diagnostic ignored "-Wc++11-narrowing"'
# `dim3 g{`, `dim3{`, `float f = {`, `int a[] = {`, `std::vector<float> v{`, `Params p = {`
_LIST = NAMES.compile(
    rb"(?<![\w:.>])(?:const\s+|static\s+)*(?:(?:(?&std)\s*::\s*)?(?&lists)\s*<\s*"
    rb"(?P<element>" + WORD + rb"(?:\s+" + WORD + rb")*)\s*(?:,[^<>;{}]*)?>|" + TYPE + rb"|(?P<class>[A-Za-z_]\w*))"
    rb"(?:\s+(?P<name>[A-Za-z_]\w*)(?P<array>\s*\[[^\]{};]*\])?\s*=?)?\s*\Z"
)  # fmt: skip
_BEHIND = re.compile(rb",\s*(?P<name>[A-Za-z_]\w*)(?P<array>\s*\[[^\]{};]*\])?\s*=?\s*\Z")
_END = re.compile(rb"[;}]")
# The longest text in front of the brace.
_HEAD = 200
_NOT_CLASSES = frozenset(
    b"struct class union enum namespace else do try return new const static auto extern typename const_cast".split()
)
_STRUCT = NAMES.compile(
    rb"struct(?<!\wstruct)\s+(?:(?&align)\s*\(\s*\d+\s*\)\s*|alignas\s*\(\s*\d+\s*\)\s*)?(\w+)\s*\{([^{}()]*)\}"
)
_FIELD = re.compile(rb"\s*(?:const\s+)?" + TYPE + rb"\s+(?P<names>\w+(?:\s*,\s*\w+)*)\s*")
_NAME = re.compile(rb"[A-Za-z_.]")  # Otherwise it is an integer.
_PART = re.compile(rb"[()\[\]{},;]")


def _braces(code: bytes) -> Iterator[int]:
    """Yield the braces that open no body, because a body would contain a statement."""
    start, end = code.find(b"{"), -1
    while start >= 0:
        # One search for each end, not for each brace: a file may have many braces and no end.
        if end < start:
            found = _END.search(code, start)
            if found is None:
                return
            end = found.start()
        if code[end : end + 1] == b"}":
            yield start
        start = code.find(b"{", start + 1)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for the first narrowed value of the file."""
    code = source.code
    if source.is_hipport_header or source.for_host or b"-Wc++11-narrowing" in source.text or b"{" not in code:
        return
    structures: Mapping[bytes, tuple[NumberType | None, ...]] | None = None
    for start in _braces(code):
        if code[max(0, start - 20) : start].rstrip().endswith(b")"):
            continue  # The name of a function.
        head = max(0, start - _HEAD)
        match = _LIST.search(code, max(head, code.rfind(b";", head, start)), start)
        another = _BEHIND.search(code, head, start)
        kind = behind(code, another.start("name")) if another is not None else None
        array = match["array"] if match is not None else None
        if kind is not None and another is not None:
            # `int a, b[] = {…}`
            match, array = _LIST.search(code, max(0, kind.start - 1), kind.end), another["array"]
        if match is None or source.ported(match.start()):
            continue
        name = match["class"]
        if name in _NOT_CLASSES or source.directive(match.start()) is not None:
            continue
        targets: tuple[NumberType | None, ...]
        if name == b"dim3":
            targets = (UNSIGNED,) * 3
        elif name is not None:
            if structures is None:
                structures = _structures(project.union_over(source, _structs))
            if name not in structures:
                continue
            targets = structures[name]
        else:
            targets = (number_named(match["element"] or match["type"]),) * (64 if match["element"] or array else 1)
        values = _values(source, start)
        for target, span in zip(targets, values, strict=False):
            text = code[span.start : span.end]
            if target is None or not _NAME.search(text) or value(source, project, text) is not None:
                continue
            found = NumberExpression(source, span).value()
            # To clang a conversion from floating point to an integer is always narrowing.
            if found is None or (found.constant and (target.real or not found.number.real)):
                continue
            if _narrows(found.number, target):
                point = source.include_point
                message = (
                    f"{text.decode(errors='replace')} is narrowed in braces, which clang rejects and nvcc only warns "
                    "about: clang is told to accept it"
                )
                yield Finding(span, "braces", message, (Edit(Span(point, point), _PRAGMA + source.newline),))
                return


def _narrows(found: NumberType, target: NumberType) -> bool:
    """Return whether a type has values that the other has not, by C++'s rules ([dcl.init.list])."""
    if found.real:
        return not target.real or found.bits > target.bits
    if target.real:
        return found.bits > 1
    if found.signed and not target.signed:
        return True
    return found.bits - found.signed > target.bits - target.signed


def _structs(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    return frozenset(_STRUCT.findall(source.code)) if b"struct" in source.words else frozenset()


def _structures(found: frozenset[tuple[bytes, bytes]]) -> Mapping[bytes, tuple[NumberType | None, ...]]:
    """Return the types of the members of each structure that has only numbers, without default values."""
    structures: dict[bytes, tuple[NumberType | None, ...]] = {}
    twice = set()
    for name, body in found:
        members: list[NumberType | None] = []
        for field in body.split(b";")[:-1]:
            match = _FIELD.fullmatch(field)
            if match is None:
                members.append(None)
                if b"," in field:
                    break  # The index of later members is unknown.
            else:
                members += [number_named(match["type"])] * len(match["names"].split(b","))
        if name in structures:
            twice.add(name)
        structures[name] = tuple(members)
    return {name: members for name, members in structures.items() if name not in twice}


def _values(source: Cpp, brace: int) -> Iterator[Span]:
    """Yield the elements of the list that opens at `brace`, without nested lists and designators."""
    code = source.code
    closing = source.closing(brace)
    if closing is None:
        return
    depth, start = 0, brace + 1
    for match in _PART.finditer(code, start, closing + 1):
        at, token = match.start(), match.group()
        if token == b";":
            return
        if at == closing or (token == b"," and not depth):
            yield source.trimmed(Span(start, at))
            start = at + 1
        elif token != b",":
            depth += 1 if token in b"([{" else -1


PASS = Pass(Cpp, find)
