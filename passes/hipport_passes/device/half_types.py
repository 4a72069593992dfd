# SPDX-License-Identifier: Apache-2.0
"""Replace functions of half numbers that HIP lacks, or that return something else there, by hipport's helpers.

`__heq2_mask(a, b)` becomes `hipport::heq2_mask(a, b)`. HIP has the operators of `__half`, like CUDA. PyTorch removes
both by macros, which `api_names` and `nvcc_flags` translate where a program restores them. Only two forms change: `x =
{}`, which nvcc accepts, gets the name of its type; a cast from `__nv_bfloat16` to `__half`, or back, goes through
`float`, which has all values of both. CUDA has constructors for such a cast (cuda_fp16.h and cuda_bf16.h of 12.2); with
HIP 6.4 it is ambiguous. Functions that HIP has for half only (`__hequ2`, `__ldg`) are replaced in programs that have
bfloat16.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, load
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarators import types_behind

_TABLE = Path(__file__).with_suffix(".toml")

_CALL = re.compile(rb"\s*\(")
_EMPTY = re.compile(rb"=\s*(?P<braces>\{\s*\})\s*;")
_ASSIGNED = re.compile(rb"[;{}):]\s*(?P<name>[A-Za-z_]\w*)\s*(?:\[[^\[\]]*\]\s*)*$")
_DECLARATOR = rb"[A-Za-z_]\w*(?:\s*\[[^\[\]]*\])*(?:\s*=\s*(?:\{\s*\}|[\w.]+))?"
_DECLARED = re.compile(
    rb"\b(?P<type>[A-Za-z_]\w*)(?P<pointer>\s*[*&\s]\s*)(?P<names>%(one)s(?:\s*,\s*%(one)s)*)\s*[;=),{]"
    % {b"one": _DECLARATOR}
)
_HALF = frozenset((b"half", b"half2", b"__half", b"__half2"))
_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
_BFLOAT16 = _WORDS.composed(rb"(?&bfloat16)")
_16_BITS = _WORDS.composed(rb"(?:(?&of_16_bits)|" + _BFLOAT16 + rb")")
_OF_16_BITS = _WORDS.compile(
    rb"\b(?P<type>" + _16_BITS + rb")[\s*&]+(?:const\s+|(?&restrict)\s+)*(?P<name>[A-Za-z_]\w*)\s*[=;,)\[{(:]"
)
_TO_16_BITS = re.compile(
    rb"(?:\bstatic_cast\s*<\s*(?P<cast>%(type)s)\s*>\s*\(|\b(?P<made>%(type)s)\s*\(|\(\s*(?P<old>%(type)s)\s*\)(?=\s*[A-Za-z_*]))"
    rb"\s*(?P<value>\*?\s*(?P<name>[A-Za-z_]\w*)(?:\s*\[[^\[\]]*\])*)(?=\s*[);,])" % {b"type": _16_BITS}
)
_PLACE = re.compile(rb"[&*(\s]*(?P<name>[A-Za-z_]\w*)")
_NO_TYPE = frozenset((b"return", b"else", b"case", b"goto", b"throw"))


@cache
def _bfloat16() -> tuple[LibraryNames, frozenset[bytes], frozenset[bytes], frozenset[bytes]]:
    """Return the names of functions that HIP has only for half, and the types concerned.

    The sets are the types that all of them lack, the further types that `__ldg` lacks, and the types that `__ldg` has.
    """
    row = {name: frozenset(words.encode().split()) for name, words in load(_TABLE)["bfloat16"].items()}
    return LibraryNames(row["names"]), row["types"], row["types"] | row["ldg"], row["has"]


@cache
def _names() -> LibraryNames:
    return LibraryNames(
        frozenset(name.encode() for group in ("helper", "review") for name in load(_TABLE)[group]["names"].split())
    )


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of such a function, and per empty list that is assigned."""
    yield from _emptied(source)
    yield from _converted(source)
    yield from _for_half_alone(source, project)
    if b"__h" not in source.code and b"half" not in source.code and b"tanh" not in source.code:
        return
    for span, name in _names().uses(source, project):
        helper = b"hipport::" + name.lstrip(b"_")
        need, header = include(source, project, "half.h")
        message, certainty = f"{name.decode()} → {helper.decode()}", Certainty.SAFE
        if name.decode() in load(_TABLE)["review"]["names"].split():
            message, certainty = f"{message}: {load(_TABLE)['review']['why']}", Certainty.REVIEW
        if not _CALL.match(source.code, span.end):
            message += "; assumes that the code which receives it calls it, and declares no such name"
            certainty = Certainty.REVIEW
        yield Finding(
            span, "half", message, (Edit(span, helper), *((need,) if need else ())), certainty, creates=(header,)
        )


def _for_half_alone(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find functions that HIP has only for half, where the program may pass bfloat16."""
    names, types, of_ldg, has = _bfloat16()
    for span, name in names.uses(source, project):
        opening = _CALL.match(source.code, span.end)
        arguments = source.arguments(opening.end() - 1) if opening else None
        if not arguments or project.union_over(source, _mentioned).isdisjoint(of_ldg if name == b"__ldg" else types):
            continue
        place = _PLACE.match(source.code, arguments[0].start) if name == b"__ldg" else None
        if place is not None and (declared := _declared_as(source, place["name"])) and declared <= has:
            continue
        helper = b"hipport::" + name.lstrip(b"_")
        need, header = include(source, project, "half.h")
        message = f"{name.decode()} → {helper.decode()}, which takes the program's other types besides half"
        yield Finding(span, "half", message, (Edit(span, helper), *((need,) if need else ())), creates=(header,))


def _mentioned(source: Cpp) -> frozenset[bytes]:
    return source.words & _bfloat16()[2]


def _converted(source: Cpp) -> Iterator[Finding]:
    """Find casts between the two 16-bit types, of names that are declared with one of them."""
    casts = list(_TO_16_BITS.finditer(source.code)) if b"bfloat16" in source.code else []
    types: dict[bytes, set[bytes]] = {}
    for match in _OF_16_BITS.finditer(source.code) if casts else ():
        types.setdefault(match["name"], set()).add(match["type"])
    for name in {match["name"] for match in casts}:
        behind = {kind for kind, _ in types_behind(source.code, name)}
        if of_16_bits := {kind for kind in behind if re.fullmatch(_16_BITS, kind)}:
            types.setdefault(name, set()).update(of_16_bits)
    for match in casts:
        to_half = (match["cast"] or match["made"] or match["old"]) in _HALF
        other = types.get(match["name"], set())
        if not other or not (other.isdisjoint(_HALF) if to_half else other <= _HALF):
            continue
        if len(_declared_as(source, match["name"])) > len(other):
            continue  # Another declaration has that name, too.
        if source.ported(match.start()):
            continue
        span = Span(*match.span("value"))
        edits = (Edit(Span(span.start, span.start), b"static_cast<float>("), Edit(Span(span.end, span.end), b")"))
        said = source[span].decode()
        message = f"{said}: a cast between half and bfloat16 goes through float, which represents both exactly"
        yield Finding(Span(*match.span()), "cast", message, edits)


def _declared_as(source: Cpp, name: bytes) -> set[bytes]:
    """Return the words before a name that may be its types."""
    before = _WORDS.compile(rb"\b([A-Za-z_]\w*)[\s*&]+(?:(?&restrict)\s+|const\s+)*" + name + rb"\s*[=;,)\[{(:]")
    words = {match[1] for match in before.finditer(source.code)} | {kind for kind, _ in types_behind(source.code, name)}
    return words - _NO_TYPE - {b"const", b"__restrict__"}


def _emptied(source: Cpp) -> Iterator[Finding]:
    """Find `x = {}` for an existing half: with HIP's overloads of `=` it is ambiguous."""
    emptied = list(_EMPTY.finditer(source.code)) if b"half" in source.code else []
    if not emptied:
        return
    types: dict[bytes, set[bytes]] = {}
    for match in _DECLARED.finditer(source.code):
        kind = match["type"] if not match["pointer"].strip() else b"*"
        for name in re.findall(rb"(?:^|,)\s*(\w+)", match["names"]):
            types.setdefault(name, set()).add(kind)
    for match in emptied:
        start = match.start()
        assigned = _ASSIGNED.search(source.code, max(0, start - 120), start)
        kinds = types.get(assigned["name"], set()) - _NO_TYPE if assigned else set()
        if assigned is None or len(kinds) != 1 or not kinds <= _HALF:
            continue
        if source.ported(start):
            continue
        span, kind = Span(*match.span("braces")), *kinds
        message = f"{assigned['name'].decode()} = {{}} is ambiguous with HIP: write its type"
        yield Finding(span, "empty", message, (Edit(Span(span.start, span.start), kind),))


PASS = Pass(Cpp, find)
