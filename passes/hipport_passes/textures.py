# SPDX-License-Identifier: Apache-2.0
"""Report fetches from textures and accesses to surfaces where a target has no units for them: the gfx940 series, MI300.

They do not compile for those GPUs, and creating a texture fails there. For all other targets they stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hipport.finding import Certainty, Finding
from hipport.languages.cpp import Cpp
from hipport.names import Names
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.tables import load

_CALL = re.compile(rb"\s*[<(]")


@cache
def _table() -> tuple[Names, dict[bytes, str], frozenset[str]]:
    rows = load(Path(__file__).with_suffix(".own.toml"))
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
    if not archs:
        return
    lines: set[int] = set()
    for span, name in names.uses(source, project):
        line = source.position(span.start)[0]
        if line not in lines:
            lines.add(line)
            message = f"{name.decode()}: {', '.join(archs)} has no texture units; {advice[name]}"
            yield Finding(span, "fetch", message, certainty=Certainty.MANUAL)


PASS = Pass(Cpp, find)
