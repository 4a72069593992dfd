# SPDX-License-Identifier: Apache-2.0
"""Report build systems that compile CUDA and that hipport does not port: Meson, Bazel, Visual Studio and others.

The sources are ported all the same, but the build still looks for nvcc. Each build system of a tree is reported once,
with its scripts and what a person can do. A tree whose scripts know ROCm is somebody's port.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.unread_builds import OtherBuild

_TABLE = Path(__file__).with_suffix(".toml")
_ROCM = NAMES.compile(rb"(?&rocm)|hipcc|(?<![a-z])(?&hip)(?![a-z])", re.IGNORECASE)


def find(source: OtherBuild, project: Project) -> Iterator[Finding]:
    """Yield a finding for the first script of a build system that compiles CUDA."""
    for kind, found in project.fact(_told).items():
        first, span = found[0]
        if first.path != source.path:
            continue
        row = load(_TABLE)[kind]
        others = [each.path.as_posix() for each, _ in found[1:]]
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        also = f" (and in {', '.join(others[:3])}{more})" if others else ""
        message = f"{row['name']} compiles CUDA here{also}, which hipport does not port: {row['why']}"
        yield Finding(span, kind, message, (), Certainty.MANUAL)


def _told(project: Project) -> Mapping[str, list[tuple[OtherBuild, Span]]]:
    """Return the scripts of each build system that compile CUDA, topmost first, if none of them knows ROCm."""
    table: dict[str, Any] = load(_TABLE)
    scripts = [each for each in project.sources if isinstance(each, OtherBuild)]
    told: dict[str, list[tuple[OtherBuild, Span]]] = {}
    for kind, row in table.items():
        named = re.compile(row["files"])
        said = re.compile(row["says"].encode())
        ours = [each for each in scripts if named.fullmatch(each.path.name)]
        if any(_ROCM.search(each.code) for each in ours):
            continue
        found = [(each, span) for each in ours if (span := each.place_of(said)) is not None]
        if found:
            told[kind] = sorted(found, key=lambda pair: (len(pair[0].path.parts), pair[0].path.as_posix()))
    return told


PASS = Pass(OtherBuild, find)
