# SPDX-License-Identifier: Apache-2.0
"""The units of a program for the executor, and those of their own flags that affect the meaning of the text."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hipport.building.dry_runs import portable
from hipport.building.programs import programs
from hipport.building.units import Unit
from hipport.core.reading import read_or_nothing
from hipport.engine.outcomes import Ported
from hipport.executor.prepare import Dialect, Prepared
from hipport.program.project import Project
from hipport.syntax.cpp import UNITS

_OPENMP = re.compile(rb"^[ \t]*#[ \t]*(?:pragma[ \t]+omp\b|include[ \t]*<omp\.h>)", re.MULTILINE)


def units_of(
    what: Sequence[Path] | Project | Ported, project: Project, env: Mapping[str, str], dialect: Dialect
) -> tuple[list[Unit], list[str]]:
    """Return the units of a program, and the libraries that it is linked to besides the runtime."""
    assert project.root is not None
    root = project.root
    members = [root / each.path for each in project.sources]
    sources = [path for path in members if path.suffix in UNITS]
    given = [] if isinstance(what, Project | Ported) else [path.resolve() for path in what]
    units, _, _ = programs(root, sources, members, env, portable, asked=given, hip=dialect == "hip")
    if given:
        units = [unit for unit in units if any(unit.source.resolve().is_relative_to(path) for path in given)]
    units = [replace(unit, flags=(*portable(unit.flags), *_for_openmp(unit))) for unit in units]
    libraries = ["-lm", "-ldl"]
    if any("-fopenmp" in unit.flags for unit in units):
        libraries.append("-fopenmp")
    return units, libraries


def _for_openmp(unit: Unit) -> list[str]:
    """Return the flag that a source with OpenMP needs, if no build script says whether it is enabled."""
    guessed = unit.guess and "-fopenmp" not in unit.flags
    return ["-fopenmp"] if guessed and _OPENMP.search(read_or_nothing(unit.source)) else []


def header_folders(units: Sequence[Unit]) -> list[Path]:
    """Return the include folders of units, except the machine's own."""
    found = []
    for unit in units:
        for flag, after in pairwise((*unit.flags, "")):
            name = after if flag in ("-I", "-isystem") else flag[2:] if flag.startswith("-I") else ""
            place = Path(os.path.normpath(unit.folder / name)) if name else None
            if place and place.is_dir() and not place.is_relative_to("/usr") and not _is_toolkit(place):
                found.append(place)
    return list(dict.fromkeys(found))


def _is_toolkit(folder: Path) -> bool:
    """Say whether a folder has the headers of a CUDA or ROCm installation, which the executor's headers replace."""
    return any((folder / name).is_file() for name in ("cuda_runtime_api.h", "hip/hip_runtime_api.h"))


def own_flags(unit: Unit, prepared: Prepared) -> tuple[list[str], int | None]:
    """Return a unit's own flags, with paths in the prepared tree, and the standard that it asks for."""
    kept: list[str] = []
    standard = None
    rest = iter(unit.flags)
    for flag in rest:
        asked = re.fullmatch(r"-std=(?:c|gnu)\+\+(\w+)", flag)
        if asked:
            years = {"98": 98, "03": 3, "0x": 11, "1y": 14, "1z": 17, "2a": 20, "2b": 23}
            standard = years.get(asked[1]) or int(asked[1])
            standard = None if standard > 90 else standard
        elif flag.startswith("-std="):
            continue
        elif flag in ("-I", "-isystem", "-include") or flag.startswith("-I"):
            flag, name = ("-I", flag[2:]) if flag.startswith("-I") and flag != "-I" else (flag, next(rest, ""))
            place = unit.folder / name
            if flag == "-include":
                kept += [flag, str(prepared.made(place)) if place.exists() else name]
            elif not _is_toolkit(place):
                kept += [flag, str(prepared.made(place))]
        else:
            kept.append(flag)
    return kept, standard
