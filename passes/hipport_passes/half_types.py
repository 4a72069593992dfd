# SPDX-License-Identifier: Apache-2.0
"""Replace functions of half numbers that HIP does not declare by hipport's helpers.

`__heq2_mask(a, b)` becomes `hipport::heq2_mask(a, b)`. The operators of `__half` are there with HIP as with CUDA;
PyTorch takes both away by macros, which `api_names` and `nvcc_flags` translate where a program gives them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hipport.finding import Certainty, Finding
from hipport.headers import include
from hipport.languages.cpp import Cpp
from hipport.names import Names
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit
from hipport.tables import load


@cache
def _table() -> dict[str, Any]:
    return load(Path(__file__).with_suffix(".own.toml"))


@cache
def _names(old: bool) -> Names:
    groups = ("helper", "review", *(("helper_before_6_4",) if old else ()))
    names = sorted((name for group in groups for name in _table()[group]["names"].split()), reverse=True)
    return Names(re.compile(r"\b(?:{})\b".format("|".join(names)).encode()))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of such a function."""
    for span, name in _names(project.target.rocm < (6, 4)).uses(source, project):
        helper = b"hipport::" + name.lstrip(b"_")
        need, header = include(source, project, "half.h")
        message, certainty = f"{name.decode()} → {helper.decode()}", Certainty.SAFE
        if name.decode() in _table()["review"]["names"].split():
            message, certainty = f"{message}: {_table()['review']['why']}", Certainty.REVIEW
        yield Finding(
            span, "half", message, (Edit(span, helper), *((need,) if need else ())), certainty, creates=(header,)
        )


PASS = Pass(Cpp, find)
