# SPDX-License-Identifier: Apache-2.0
"""Give device code CUDA's `min` and `max` of two types of integers.

With HIP the smaller of an `int` and an `unsigned`, or of a `short` and an `int`, is a `double`: `a[min(n, 3u)]` does
not compile, a negative number stays negative where CUDA converts it to unsigned, `printf("%u", …)` prints a wrong
value, and 64 bits become 53. Files whose device code calls `min` or `max` with arguments that may be unsigned, or
short, get CUDA's overloads from one of hipport's headers; other calls keep their meaning.

Types are recognized by the text of the arguments and by the declarations in files of one component.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.analysis.library_names import LibraryNames
from hipport.core.finding import Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.cuda_names import NAMES, ON_DEVICE, VARIABLE
from hipport.syntax.declarations import heads
from hipport.syntax.declarators import begins, declarators

_MIN_MAX = LibraryNames(frozenset((b"min", b"max")), re.compile(rb"\s*\("))
_ON_DEVICE = re.compile(ON_DEVICE)
_WORDS = Words.read(Path(__file__).with_name("compatibility_words.toml"), general=NAMES)
_TYPE = _WORDS.composed(
    rb"(?:bool|unsigned(?:\s+(?:int|long\s+long|long)(?:\s+int)?)?|(?:(?:un)?signed\s+)?(?:char|short)(?:\s+int)?|"
    rb"(?:(?&std)\s*::\s*)?(?:(?&size_type)|(?&uint)(?:8|16|32|64)_t|int(?:8|16)_t)|"
    rb"(?&vectors)[1-4]?|(?&vectors_alone)[1-4]|u?char[1-4]|u?short[1-4]|(?&unsigned_alone)|"
    rb"u(?:int)?(?:8|16|32|64)|U?INT(?:8|16|32|64))\b"
)
_DECLARED = _WORDS.compile(
    rb"\b(?P<type>" + _TYPE + rb")\s*(?:const\s*|(?&restrict)\s*|[*&]\s*)*(?P<name>[A-Za-z_]\w*)"
)
_NAMED = re.compile(rb"\btypedef\s+" + _TYPE + rb"\s+(\w+)\s*;|\busing\s+(\w+)\s*=\s*" + _TYPE + rb"\s*;")
# Indices and sizes of launches, literals, casts, functions that count bytes, and ballots.
_UNSIGNED = _WORDS.compile(
    rb"\b" + VARIABLE + rb"\b|\b(?:0[xX][0-9a-fA-F]+|\d+)(?:[uU][lL]*|[lL]+[uU])\b|\bsizeof\b|"
    rb"\b__(?&of_warps)\w*\s*\(|\b" + _TYPE + rb"|\.(?&counting)\s*\("
)
_TEMPLATE = re.compile(rb"\btemplate\s*<([^(){};]*?)>\s*(?=[A-Za-z_])")
_TYPE_NAME = re.compile(rb"\b(?:typename|class)\s+([A-Za-z_]\w*)")
_AUTO = re.compile(rb"\bauto\b")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_FLOATING = re.compile(rb"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+[eE])")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for the first call in device code whose arguments may be integers of two types."""
    if not isinstance(source, Cuda) or source.is_hipport_header or source.words.isdisjoint((b"min", b"max")):
        return
    if _ON_DEVICE.search(source.code) is None:
        return
    unsigned: frozenset[bytes] | None = None
    given_types: dict[bytes, bytes] = {}
    for span, name in _MIN_MAX.uses(source, project):
        opening = source.code.find(b"(", span.end)
        given = source.arguments(opening)
        if given is None or len(given) != 2 or not _of_device(source, span.start):
            continue
        texts = [source.code[each.start : each.end] for each in given]
        if any(_FLOATING.search(text) for text in texts):
            continue
        if unsigned is None:
            unsigned = project.union_over(source, _unsigned)
            given_types = dict(source.fact(_of_templates))
        if not any(_UNSIGNED.search(text) or not unsigned.isdisjoint(_WORD.findall(text)) for text in texts):
            # A parameter type of a template may be any type.
            types = [{given_types.get(word, word) for word in _WORD.findall(text)} for text in texts]
            if not any(each & set(given_types.values()) for each in types) or types[0] & types[1]:
                continue
        need, header = include(source, project, "min_max.h")
        if need is not None:
            message = (
                f"{name.decode()} of two integer types returns a double in HIP: CUDA's overloads are in "
                "hipport/min_max.h"
            )
            yield Finding(span, "types", message, (need,), creates=with_included_headers(header))
        return


def _unsigned(source: Cpp) -> frozenset[bytes]:
    """Return the names that the file declares with an unsigned or short type, or with an alias of one."""
    found: set[bytes] = set()
    for match in _DECLARED.finditer(source.code):
        found.add(match["name"])
        # `unsigned a = 1, b = 2;`
        if b"," in source.code[match.end() : match.end() + 200] and begins(source.code, match.start()):
            found.update(each.name for each in declarators(source.code, match.end("type")))
    for first, second in _NAMED.findall(source.code):
        name = first or second
        found.add(name)
        found.update(re.findall(rb"\b" + re.escape(name) + rb"\s+(?:const\s*|[*&]\s*)*([A-Za-z_]\w*)", source.code))
    # In order: a variable may be computed from an earlier one.
    for match in _AUTO.finditer(source.code):
        for each in declarators(source.code, match.end()):
            value = source[each.value] if each.value is not None and each.opening != b"(" else b""
            if _UNSIGNED.search(value) or not found.isdisjoint(_WORD.findall(value)):
                found.add(each.name)
    return frozenset(found)


def _of_templates(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return the names that the file declares with a template's type parameter, each with that parameter."""
    types = {name for match in _TEMPLATE.finditer(source.code) for name in _TYPE_NAME.findall(match[1])}
    if not types:
        return frozenset()
    declared = _WORDS.compile(
        rb"\b("
        + b"|".join(map(re.escape, sorted(types)))
        + rb")\s*(?:const\s*|(?&restrict)\s*|[*&]\s*)*\b([A-Za-z_]\w*)"
    )
    found: set[tuple[bytes, bytes]] = set()
    for match in declared.finditer(source.code):
        found.add((match[2], match[1]))
        # `T a = p[0], b = p[1];`
        if b"," in source.code[match.end() : match.end() + 200] and begins(source.code, match.start()):
            found.update((each.name, match[1]) for each in declarators(source.code, match.end(1)))
    return frozenset(found)


def _of_device(source: Cpp, offset: int) -> bool:
    """Return whether a place is in a function, lambda or macro that device code may run."""
    if source.directive(offset) is not None:
        return True
    return any(_ON_DEVICE.search(source.code, head.start, head.end) for head in heads(source, offset))


PASS = Pass(Cpp, find)
