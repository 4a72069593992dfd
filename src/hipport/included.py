# SPDX-License-Identifier: Apache-2.0
"""What files on disk include."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from hipport.languages.cpp import Cpp, Include
from hipport.reading import read_or_nothing


def includes(path: Path) -> tuple[Include, ...]:
    """Return what a file includes."""
    return Cpp(PurePath(path), read_or_nothing(path)).includes


def not_included(sources: Sequence[Path]) -> list[Path]:
    """Return `sources` without those that another of them includes."""
    included = {
        Path(os.path.normpath(source.parent / include.path))
        for source in sources
        for include in includes(source)
        if not include.angled
    }
    return [source for source in sources if source not in included]


def is_included(source: Path, others: Iterable[Path]) -> bool:
    return any(PurePath(include.path).name == source.name for other in others for include in includes(other))


def own_files(files: Iterable[Path], vendored: Mapping[str, tuple[str, ...]]) -> list[Path]:
    """Return `files` without those of third-party libraries, which stay as they are, as in a folder that has them."""
    markers = [PurePath(marker) for each in vendored.values() for marker in each]
    third_party: dict[Path, bool] = {}

    def is_third_party(path: Path) -> bool:
        if path not in third_party:
            named = [marker for marker in markers if marker.parts[0] == path.name]
            found = any((path.parent / marker).is_file() for marker in named)
            third_party[path] = found or (path != path.parent and is_third_party(path.parent))
        return third_party[path]

    return [file for file in files if not is_third_party(file)]
