# SPDX-License-Identifier: Apache-2.0
"""Tests whether a file needs the runtime's header before another include provides it."""

from __future__ import annotations

from pathlib import Path, PurePath

from hipport.core.tables import Words
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cpp_text import Include
from hipport_passes.names.headers.header_tables import Row, lookup, table
from hipport_passes.names.headers.include_lines import is_own

_WORDS = Words.read(Path(__file__).parent.with_suffix(".own.toml"))
# Code that needs the runtime header: launches, built-in variables, vector types and functions, the runtime's functions.
NEEDS_RUNTIME = _WORDS.compile(
    rb"<<<|\b(?:(?&runtime)|(?&types)_[RC]_\d\w+|(?&atomics)[A-Z]\w+|__\w+_r[nzud]"
    rb"|(?&makes)?(?:u?(?:char|short|int|long|(?&long_long))|float|double)[1-4]|(?&platforms)[A-Z]\w+|cu[A-Z]\w+)\b"
)

# Options that make nvcc compile C++ as CUDA, in makefiles, CMake and scripts.
_AS_CUDA = _WORDS.compile(rb"(?<![\w-])--?x[ =]cu\b|\b(?&language)\s+(?&cuda)\b")


def brings_runtime(source: Cpp, include: Include, project: Project) -> bool:
    """Return whether `include` is of a header that, in HIP, includes the whole runtime header."""
    if within(include.directive.start, source.cuda_only):
        return False
    known = table()
    row = lookup(include.path)
    hip = include.path if row is None else row.hip
    if not hip or (row is not None and (row.since > project.target.rocm or is_own(source, include, project))):
        return False
    # hipport's own headers do not count, so that a file that needs one of them only later has the same port.
    return any(hip.startswith(each) if each.endswith("/") else hip == each for each in known.brings_runtime)


def replacement(source: Cpp, include: Include, project: Project, row: Row) -> str:
    """Return the path that replaces an include of CUDA's that HIP has; "" if it is dropped.

    Only from a header without a counterpart may the file get the built-in variables and functions.
    """
    if row.hip or any(brings_runtime(source, other, project) for other in source.includes):
        return row.hip or ""
    return table().runtime


def compiled_as_cuda(source: Cpp, project: Project) -> bool:
    """Return whether a C++ file may be one that a build script makes nvcc compile as CUDA."""
    if source.path.suffix not in (".cpp", ".cc", ".cxx", ".C", ".c++"):
        return False
    return any(folder in source.path.parents for folder in project.fact(_taking_some_for_cuda))


def _taking_some_for_cuda(project: Project) -> frozenset[PurePath]:
    """Return the folders of scripts that do so; other programs' scripts do not count."""
    found = (other for other in project.sources if not isinstance(other, Cpp) and _AS_CUDA.search(other.text))
    # For a folder of scripts, the one above counts.
    return frozenset(
        each.path.parent.parent if each.path.parent.name == "cmake" else each.path.parent for each in found
    )


def needs_runtime(source: Cpp, project: Project) -> bool:
    """Return whether the file, with the program's headers in it, needs the runtime before an include provides it."""
    return source.path not in project.included_paths and _first(source, project, set()) == "needs"


def _first(source: Cpp, project: Project, visited: set[object]) -> str:
    """Return what comes first in `source` with its includes: "needs", "brings", or "" for neither."""
    visited.add(source.path)
    # The beginning of the file needs nothing by itself: it may be macros that name later declarations.
    done = source.include_point
    for include in source.includes:
        start = include.directive.start
        if _needs(source, done, start):
            return "needs"
        done = include.directive.end
        if within(start, source.cuda_only):
            continue
        for other in project.included(source, include):
            # hipport's own headers include the headers that they need.
            if not isinstance(other, Cpp) or other.path in visited or other.is_hipport_header:
                continue
            if first := _first(other, project, visited):
                return first
        certain = not within(start, source.conditional) or within(start, source.hip_only)
        if certain and brings_runtime(source, include, project) and not _lacks(source, include, project):
            return "brings"
    return "needs" if _needs(source, 0, source.include_point) or _needs(source, done, len(source.code)) else ""


def _lacks(source: Cpp, include: Include, project: Project) -> bool:
    """Return whether the header provides the runtime without names that the program uses, or only in newer releases."""
    row = lookup(include.path)
    lacking, _, whole_since = table().lacks_of_runtime
    if lacking != (include.path if row is None else row.hip):
        return False
    return project.target.rocm < whole_since or bool(project.declared(source, _lacking))


def _lacking(source: Cpp) -> frozenset[bytes]:
    return frozenset(source.matched(table().lacks_of_runtime[1]))


def _needs(source: Cpp, start: int, end: int) -> bool:
    return any(not within(match.start(), source.cuda_only) for match in NEEDS_RUNTIME.finditer(source.code, start, end))
