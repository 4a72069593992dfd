# SPDX-License-Identifier: Apache-2.0
"""Includes of files on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath, PurePosixPath

from hipport.core.reading import read_or_nothing
from hipport.program.include_resolution import Includes
from hipport.syntax.cpp import UNITS, Cpp
from hipport.syntax.cpp_text import Include


def includes(path: Path) -> tuple[Include, ...]:
    """Return the includes of a file."""
    return Cpp(PurePath(path), read_or_nothing(path)).includes


def tree(files: Iterable[Path], root: Path, programs: Iterable[Path] = ()) -> Includes:
    """Return how includes among files on disk resolve; `programs` are folders in which programs are built."""

    def name(path: Path) -> PurePosixPath:
        return PurePosixPath(os.path.relpath(path, root).replace(os.sep, "/"))

    return Includes(map(name, files), (), root, units=UNITS, programs=map(name, programs))


def not_included(sources: Sequence[Path], members: Iterable[Path] | None = None) -> list[Path]:
    """Return `sources` without those that another of them, or one of `members`, includes."""
    if not sources:
        return []
    others = list(sources if members is None else members)
    root = Path(os.path.commonpath([path.parent for path in (*sources, *others)]))
    among = tree({*sources, *others}, root)
    included = {
        root / found
        for other in others
        for include in includes(other)
        for found in among.meant(PurePosixPath(os.path.relpath(other, root)), include.path, include.angled)
    }
    return [source for source in sources if source not in included]


def own_files(files: Iterable[Path], vendored: Mapping[str, tuple[str, ...]]) -> list[Path]:
    """Return `files` without those of third-party libraries, which are not ported."""
    markers = [PurePath(marker) for each in vendored.values() for marker in each]
    third_party: dict[Path, bool] = {}

    def is_third_party(path: Path) -> bool:
        if path not in third_party:
            named = [marker for marker in markers if marker.parts[0] == path.name]
            found = any((path.parent / marker).is_file() for marker in named)
            third_party[path] = found or (path != path.parent and is_third_party(path.parent))
        return third_party[path]

    return [file for file in files if not is_third_party(file)]
