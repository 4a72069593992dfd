# SPDX-License-Identifier: Apache-2.0
"""Report texture fetches and surface accesses for targets without units for them: the gfx940 series, MI300.

They do not compile for those GPUs, and creating a texture fails there. On gfx90a, creating a texture of floats with
linear filtering fails: it is reported where the filter is requested; for GPUs without units, only if the program has no
reported fetch. For all other targets they stay, except some surface accesses: HIP's functions take no boundary mode,
and have no overload that returns the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, load
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES

_CALL = re.compile(rb"\s*[<(]")
_OF_TYPE = re.compile(rb"\s*(?P<type><[^<>;{}()]*>\s*)?\(")
_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
_MODE = _WORDS.compile(rb"(?&platforms)(?&boundary_mode)((?&boundary_modes))")


def _rows() -> dict[str, Any]:
    return load(Path(__file__).with_suffix(".toml"))


@cache
def _table() -> tuple[LibraryNames, dict[bytes, str], frozenset[str]]:
    rows = _rows()
    advice = {
        name.encode(): rows[group]["instead"]
        for group in ("functions", "linear", "surfaces")
        for name in rows[group]["names"].split()
    }
    return LibraryNames(frozenset(advice), _CALL), advice, frozenset(rows["lacking"].split())


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per line with fetches or accesses."""
    names, advice, lacking = _table()
    archs = [arch for arch in project.target.archs if arch.partition(":")[0] in lacking]
    yield from _filters(source, project, archs)
    if len(archs) < len(project.target.archs):
        yield from _surfaces(source, project)
    if not archs:
        return
    lines: set[int] = set()
    for span, name in names.uses(source, project):
        line = source.position(span.start)[0]
        if line not in lines:
            lines.add(line)
            message = f"{name.decode()}: {', '.join(archs)} has no texture units; {advice[name]}"
            yield Finding(span, "fetch", message, certainty=Certainty.MANUAL)


def _surfaces(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find calls for surfaces in forms that HIP lacks."""
    rows = _rows()["surfaces"]
    for span, name in _surface_names().uses(source, project):
        call = _OF_TYPE.match(source.code, span.end)
        arguments = source.arguments(call.end() - 1) if call else None
        if call is None or not arguments:
            continue
        mode = _MODE.fullmatch(source.code[arguments[-1].start : arguments[-1].end].strip())
        first = source.code[arguments[0].start : arguments[0].end].lstrip()
        if name.endswith(b"read") and call["type"] and not first.startswith(b"&"):
            message = f"{name.decode()}, which returns its value: {rows['returns']}"
            yield Finding(span, "surface", message, certainty=Certainty.MANUAL)
        elif mode is not None and mode[1] == b"Clamp":
            message = f"{name.decode()} with {mode[0].decode()}: {rows['clamp']}"
            yield Finding(span, "surface", message, certainty=Certainty.MANUAL)
        elif mode is not None and len(arguments) > 1:
            edit = Edit(Span(arguments[-2].end, arguments[-1].end), b"")
            message = (
                f"{mode[0].decode()} is removed, because HIP's {name.decode()} takes no mode; "
                f"{rows[mode[1].decode().lower()]}"
            )
            yield Finding(arguments[-1], "mode", message, (edit,), Certainty.REVIEW)


@cache
def _surface_names() -> LibraryNames:
    return LibraryNames(frozenset(_rows()["surfaces"]["names"].encode().split()), _CALL)


@cache
def _filter_names() -> LibraryNames:
    return LibraryNames(frozenset(_rows()["filters"]["names"].encode().split()))


def _filters(source: Cpp, project: Project, without_units: list[str]) -> Iterator[Finding]:
    archs = [arch for arch in project.target.archs if arch.partition(":")[0] in _rows()["unfiltered"].split()]
    if without_units and not project.union_over(source, _fetches):
        archs += without_units
    lines: set[int] = set()
    for span, name in _filter_names().uses(source, project) if archs else ():
        line = source.position(span.start)[0]
        if line not in lines:
            lines.add(line)
            message = (
                f"{name.decode()}: creating a texture of floats with linear filtering fails on {', '.join(archs)}; "
                f"{_rows()['filters']['instead']}"
            )
            yield Finding(span, "filter", message, certainty=Certainty.MANUAL)


def _fetches(source: Cpp) -> frozenset[bytes]:
    """Return the words of the file that fetch, judged by their names."""
    return frozenset(source.words & _table()[1].keys())


PASS = Pass(Cpp, find)
