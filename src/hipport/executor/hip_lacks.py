# SPDX-License-Identifier: Apache-2.0
"""Refuse in ports what HIP does not have, though the executor's headers do: they are one set for CUDA and HIP.

A port that uses such a name would run here and not compile for a GPU. Where the program declares nothing of the name
itself, the name is changed to one that nobody declares. So it is refused exactly where a compiler would look for it,
and `said` makes of the compiler's message what it means. The table is made by tools/update_hip_lacks.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.project import Component, Project, Target
from hipport.syntax.cpp import Cpp
from hipport.syntax.lexing import PARENTHESES

_TABLE = load(Path(__file__).with_suffix(".toml"))
#: Names that HIP lacks.
NAMES = frozenset(each.encode() for each in _TABLE["names"].split())
#: Functions of which HIP lacks some, and how many arguments it takes.
TAKEN: Mapping[bytes, frozenset[int]] = {
    name.encode(): frozenset(counts) for name, counts in _TABLE["arguments"].items()
}
_NAME = re.compile(rb"(?<![\w.>])(?P<space>\w+\s*::\s*)?\b(?P<name>" + b"|".join(sorted(NAMES | {*TAKEN})) + rb")\b")
_ARGUMENTS = re.compile(rb"\s*(?:<[\w\s:*,]*>\s*)?(?=\()")
# `(surf2Dread<float>)(surface, x, y)`: a name in brackets is called all the same.
_OPENED = re.compile(rb"[(\s]*\(\s*\Z")
_CLOSED = re.compile(rb"\s*(?:<[\w\s:*,]*>\s*)?(?:\)\s*)+(?=\()")
_BEFORE = 16
_VENDOR = (b"hip", b"HIP")
_LEADS = frozenset(b"return case else throw sizeof new delete typename and or not co_return do".split())
_CHANGED = re.compile(r"hip_(?P<rocm>\d+_\d+)__(?P<archs>\w+?)___(?P<name>\w+?)(?:___(?P<count>\d+))?\b")


def _declared(component: Component) -> frozenset[bytes]:
    """Return those of the names that the program declares itself, or hipport's headers for it."""
    names = b"|".join(sorted(NAMES | {*TAKEN}))
    declared = re.compile(
        rb"#[ \t]*define[ \t]+(?P<macro>" + names + rb")\b"
        rb"|\b(?P<before>[A-Za-z_]\w*)(?:\s*<[^;<>(){}]*>)?\s+(?P<plain>" + names + rb")\b"
        rb"|\b(?P<defined>" + names + rb")\s*" + PARENTHESES + rb"\s*(?:const\s*|noexcept\s*)*\{"
    )
    return frozenset(
        match["macro"] or match["plain"] or match["defined"]
        for source in component
        if isinstance(source, Cpp)
        for match in declared.finditer(source.code)
        if match["before"] not in _LEADS
    )


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of what HIP lacks."""
    if source.is_hipport_header:
        return
    uses = list(_NAME.finditer(source.code))
    declared = project.component(source).fact(_declared) if uses else frozenset()
    for match in uses:
        name = match["name"]
        if name in declared or match["space"] is not None:
            continue
        wanted = _changed(source, match, project.target)
        if wanted is not None:
            span = Span(*match.span("name"))
            yield Finding(span, "lacks", "", (Edit(span, wanted),))


def _changed(source: Cpp, match: re.Match[bytes], target: Target) -> bytes | None:
    """Return the name that nobody declares; None for what HIP has."""
    name = match["name"]
    count = ""
    call = _ARGUMENTS.match(source.code, match.end())
    if call is None and _OPENED.search(source.code, max(0, match.start() - _BEFORE), match.start()):
        call = _CLOSED.match(source.code, match.end())
    # A variable may have the name of a function, but not one of the vendor's.
    if call is None and not name.startswith(_VENDOR):
        return None
    if name in TAKEN:
        given = source.arguments(call.end()) if call is not None else None
        if given is None or len(given) in TAKEN[name]:
            return None
        count = f"___{len(given)}"
    rocm = "_".join(map(str, target.rocm))
    archs = "_".join(re.sub(r"\W.*", "", each) for each in target.archs)
    return f"hip_{rocm}__{archs}___{name.decode()}{count}".encode()


def said(text: str) -> str:
    """Return a compiler's message, where it is about such a name, as what it means; else as it is."""
    match = _CHANGED.search(text)
    if match is None:
        return text
    name, count = match["name"], match["count"]
    what = name
    if count is not None:
        taken = sorted(TAKEN.get(name.encode(), ()))
        what = f"{name} with {count} arguments (it takes {' or '.join(map(str, taken))})"
    target = f"ROCm {match['rocm'].replace('_', '.')}, {match['archs'].replace('_', ',')}"
    return f"HIP has no {what}, which CUDA has: the port does not compile for the target ({target})"


HIP = Pass(Cpp, find)
