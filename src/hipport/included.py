# SPDX-License-Identifier: Apache-2.0
"""What files on disk include."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from hipport.languages.cpp import Cpp, Include


def includes(path: Path) -> tuple[Include, ...]:
    """Return what a file includes."""
    return Cpp(PurePath(path), read(path)).includes


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


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
