# SPDX-License-Identifier: Apache-2.0
"""Report fetches from textures and accesses to surfaces where a target has no units for them: the gfx940 series, MI300.

They do not compile for those GPUs, and creating a texture fails there. On gfx90a creating one fails that filters floats
linearly: that is reported where the filter is asked for, also for GPUs without units, if no fetch in the program is.
For all other targets they stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hipport.finding import Certainty, Finding
from hipport.languages.cpp import Cpp
from hipport.names import Names
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.tables import load

_CALL = re.compile(rb"\s*[<(]")


def _rows() -> dict[str, Any]:
    return load(Path(__file__).with_suffix(".own.toml"))


@cache
def _table() -> tuple[Names, dict[bytes, str], frozenset[str]]:
    rows = _rows()
    advice = {
        name.encode(): rows[group]["instead"]
        for group in ("functions", "linear", "surfaces")
        for name in rows[group]["names"].split()
    }
    return Names(frozenset(advice), _CALL), advice, frozenset(rows["lacking"].split())


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per fetch and access, one for each line."""
    names, advice, lacking = _table()
    archs = [arch for arch in project.target.archs if arch.partition(":")[0] in lacking]
    yield from _filters(source, project, archs)
    if not archs:
        return
    lines: set[int] = set()
    for span, name in names.uses(source, project):
        line = source.position(span.start)[0]
        if line not in lines:
            lines.add(line)
            message = f"{name.decode()}: {', '.join(archs)} has no texture units; {advice[name]}"
            yield Finding(span, "fetch", message, certainty=Certainty.MANUAL)


@cache
def _filter_names() -> Names:
    return Names(frozenset(_rows()["filters"]["names"].encode().split()))


def _filters(source: Cpp, project: Project, without_units: list[str]) -> Iterator[Finding]:
    archs = [arch for arch in project.target.archs if arch.partition(":")[0] in _rows()["unfiltered"].split()]
    if without_units and not project.together(source, _fetches):
        archs += without_units
    lines: set[int] = set()
    for span, name in _filter_names().uses(source, project) if archs else ():
        line = source.position(span.start)[0]
        if line not in lines:
            lines.add(line)
            message = (
                f"{name.decode()}: making a texture of floats that is filtered linearly fails on {', '.join(archs)}; "
                f"{_rows()['filters']['instead']}"
            )
            yield Finding(span, "filter", message, certainty=Certainty.MANUAL)


def _fetches(source: Cpp) -> frozenset[bytes]:
    """The words of the file that fetch, as far as names tell."""
    return frozenset(source.words & _table()[1].keys())


PASS = Pass(Cpp, find)
