# SPDX-License-Identifier: Apache-2.0
"""Rename members of CUDA's structures that have another name in HIP, and report those that HIP's structures lack.

`prop.requestedHandleTypes` is `requestedHandleType` in HIP. A structure's type is read from the last declaration of the
variable before the use. If the file has none there, it is read from variables or members of that name in files that are
compiled with it. Members in designated initializers (`.requestedHandleTypes = …`) are renamed if the new name can be
used in the same way. The members have the same meaning: they have the same types, and are passed to the same functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.declarations import last_name
from hipport_passes.names import api_names

_SIGN = re.compile(rb"(?:\.|->)\s*\Z")
_INITIALIZED = re.compile(rb"(?:\A|[^\s\w)\]])\s*\.\s*\Z")
_SET = re.compile(rb"\s*(?:=(?!=)|\{)")


class _Structure(NamedTuple):
    name: str
    members: Mapping[bytes, bytes]
    lacks: frozenset[bytes]


@cache
def _structures() -> Mapping[bytes, _Structure]:
    """Return the structures by their names, in CUDA and in HIP."""
    found: dict[bytes, _Structure] = {}
    names = api_names.table()
    for row in load(Path(__file__).with_suffix(".toml"))["structure"]:
        members = {old.encode(): new.encode() for old, new in row.get("members", {}).items()}
        for name in row["names"].split():
            in_hip = names[name.encode()].hip or name
            structure = _Structure(in_hip, members, frozenset(row.get("lacks", "").encode().split()))
            found[name.encode()] = structure
            found.setdefault(in_hip.encode(), structure)
    return found


@cache
def _members() -> frozenset[bytes]:
    return frozenset(name for each in _structures().values() for name in (*each.members, *each.lacks))


@cache
def _declared_so() -> re.Pattern[bytes]:
    """Return a pattern for declarations with such a type: `T a`, `T *a, b[2]`, `std::vector<T> a`."""
    return re.compile(
        rb"\b(?P<type>" + b"|".join(sorted(_structures(), reverse=True)) + rb")\b\s*(?:const\b\s*)?"
        rb"(?:>\s*)?(?P<names>[*&\s]*[A-Za-z_]\w*\s*(?:\[[^\[\]]*\]\s*)*(?:,\s*[*&\s]*[A-Za-z_]\w*\s*(?:\[[^\[\]]*\]\s*)*(?=[,;=]))*)"
    )


# Words before a variable that are not types.
_NO_TYPE = frozenset(b"return delete new else goto case throw do in co_return co_yield sizeof not and or".split())
_GUESSED = frozenset((b"auto", b"decltype"))
_ANY_NAME = re.compile(rb"(?:^|,)[*&\s]*([A-Za-z_]\w*)")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per member that is renamed, or that HIP's structure lacks."""
    if not source.words & _members() or not (variables := project.declared(source, _variables)):
        return
    of: dict[bytes, set[bytes]] = {}
    for variable, kind in variables:
        of.setdefault(variable, set()).add(kind)
    for span, name in source.names(_members()):
        if source.ported(span.start):
            continue
        structure = _structure(source, span, name, of)
        if structure is None:
            continue
        new = structure.members.get(name)
        if name in structure.lacks:
            message = f"{name.decode()}: HIP's {structure.name} has no such member; do without its value"
            yield Finding(span, "lacking", message, certainty=Certainty.MANUAL)
        elif new is not None and (
            b"." not in new or not _INITIALIZED.search(source.code[max(0, span.start - 200) : span.start])
        ):
            message = f"{name.decode()} → {new.decode()}, its name in HIP's {structure.name}"
            certainty = Certainty.SAFE
            if not _is_seen(source, span):
                message += f"; assumes that it belongs to a {structure.name}, which this file does not show"
                certainty = Certainty.REVIEW
            yield Finding(span, "renamed", message, (Edit(span, new),), certainty)
        elif new is not None:
            message = (
                f"{name.decode()}: HIP's {structure.name} has {new.decode()}, which a list cannot initialize by name"
            )
            yield Finding(span, "initialized", message, certainty=Certainty.MANUAL)


def _structure(source: Cpp, span: Span, name: bytes, of: Mapping[bytes, set[bytes]]) -> _Structure | None:
    """Return the structure that contains the member, if it is known."""
    place = _object(source, span.start)
    if place is None:
        return _listed(source, span)
    while place is not None:
        variable = source.code[place.start : place.end]
        kind = _type(source, variable, place.start)
        if kind in _GUESSED:
            having = {each for kinds in of.values() for each in kinds if name in _known_members(each)}
            return _structures()[having.pop()] if len(having) == 1 else None
        kinds = {kind} if kind else of.get(variable, set())
        if kinds and kinds <= _structures().keys():
            return _structures()[next(iter(kinds))] if len({_structures()[each].name for each in kinds}) == 1 else None
        if kind:
            return None
        place = _object(source, place.start)
    return None


def _object(source: Cpp, offset: int) -> Span | None:
    """Return the object of the member at `offset`: `prop`, `props[i]`, `this->prop`, `desc.handle`, `f().prop`."""
    sign = _SIGN.search(source.code, max(0, offset - 40), offset)
    return last_name(source.code, sign.start(), b"]") if sign is not None else None


def _is_seen(source: Cpp, span: Span) -> bool:
    """Return whether the file itself shows the type: no `auto`, and no variable that another file declares."""
    place = _object(source, span.start)
    if place is None:
        return True  # A list after its type.
    variable = source.code[place.start : place.end]
    kind = _type(source, variable, place.start)
    return kind not in _GUESSED if kind else variable in {name for name, _ in source.fact(_variables)}


def _known_members(structure: bytes) -> frozenset[bytes]:
    """Return the members of a structure that are in the table."""
    return _structures()[structure].lacks | _structures()[structure].members.keys()


def _type(source: Cpp, variable: bytes, offset: int) -> bytes:
    """Return the last word of the type in the last declaration of `variable` before `offset`; or empty."""
    pattern = re.compile(
        rb"\b([A-Za-z_]\w*)\b(?:\s*\([^()]*\))?\s*(?:const\b\s*)?(?:>\s*)?[*&\s]+" + variable + rb"\b\s*[;=,(){\[:]"
    )
    found = [match[1] for match in pattern.finditer(source.code, 0, offset) if match[1] not in _NO_TYPE]
    return found[-1] if found else b""


def _listed(source: Cpp, span: Span) -> _Structure | None:
    """Return the structure that the list around `.member =` initializes, if its type precedes the list."""
    code = source.code
    if not _INITIALIZED.search(code, max(0, span.start - 40), span.start) or not _SET.match(code, span.end):
        return None
    brace = _brace(code, span.start)
    for declared in _declared_so().finditer(code, max(0, brace - 200), brace):
        if code[declared.end() : brace].strip() in (b"", b"="):
            return _structures()[declared["type"]]
    return None


def _brace(code: bytes, offset: int) -> int:
    """Return the brace that is open at `offset`; 0 if there is none near it."""
    depth = 0
    for at in range(offset - 1, max(0, offset - 2000), -1):
        depth += (code[at] == 0x7D) - (code[at] == 0x7B)
        if depth < 0:
            return at
    return 0


def _variables(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return the variables that are declared as such structures, with the structures' names in HIP."""
    if not source.words & _structures().keys():
        return frozenset()
    return frozenset(
        (name, _structures()[match["type"]].name.encode())
        for match in _declared_so().finditer(source.code)
        for name in _ANY_NAME.findall(match["names"])
    )


PASS = Pass(Cpp, find)
