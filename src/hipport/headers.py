# SPDX-License-Identifier: Apache-2.0
"""hipport's own headers, which ported code includes."""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files

from hipport.languages.cpp import Cpp
from hipport.project import Project
from hipport.source import Edit, NewFile, Span

FOLDER = "hipport"


@cache
def text(name: str) -> bytes:
    """Return the text of the header `name`, `warp.h` for example. Raises FileNotFoundError."""
    return (files("hipport") / "include" / FOLDER / name).read_bytes()


def include(source: Cpp, project: Project, name: str) -> tuple[Edit | None, NewFile]:
    """Return the edit that makes `source` include hipport's header `name`, and the header.

    The header lies in a folder of its own where the files that belong together have their common folder, and is
    included by its path from the including file: that needs no flag of any build. The edit is None when the file
    includes the header already.
    """
    header = NewFile(project.home(source) / FOLDER / name, text(name))
    path = os.path.relpath(header.path, source.path.parent).replace(os.sep, "/")
    if any(include.path.endswith(f"{FOLDER}/{name}") for include in source.includes):
        return None, header
    point = source.include_point
    return Edit(Span(point, point), b'#include "' + path.encode() + b'"' + source.newline), header
