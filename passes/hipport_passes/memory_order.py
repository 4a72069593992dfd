# SPDX-License-Identifier: Apache-2.0
"""Replace loads and stores with a cache operator, which HIP does not declare, by hipport's helpers.

`__ldcs(p)` becomes `hipport::ldcs(p)`. Operators that only advise the caches become plain accesses. Those that code
uses to see what other blocks write (`__ldcg`, `__ldcv`, `__stcg`, `__stwt`) become relaxed atomic accesses at the scope
of the device, which also go past the cache of one multiprocessor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hipport.finding import Finding
from hipport.headers import include
from hipport.languages.cpp import Cpp
from hipport.names import Names
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit
from hipport.tables import load


@cache
def _helpers() -> tuple[Names, dict[bytes, bytes]]:
    rows = load(Path(__file__).with_suffix(".toml"))["helper"]
    names = {name.encode(): b"hipport::" + helper.encode() for name, helper in rows.items()}
    return Names(re.compile(rb"__(?:" + b"|".join(name[2:] for name in names) + rb")\b")), names


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of such a load or store."""
    names, helpers = _helpers()
    for span, name in names.uses(source, project):
        need, header = include(source, project, "memory.h")
        yield Finding(
            span,
            "cache",
            f"{name.decode()} → {helpers[name].decode()}",
            (Edit(span, helpers[name]), *((need,) if need else ())),
            creates=(header,),
        )


PASS = Pass(Cpp, find)
