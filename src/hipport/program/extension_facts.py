# SPDX-License-Identifier: Apache-2.0
"""Facts about an extension or program: its sources, its headers, and signs that it is for ROCm already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any


@dataclass(frozen=True)
class Sign:
    """A sign that code is for ROCm already: the first place of its kind, and the number of places."""

    kind: str
    path: PurePath
    line: int
    text: str
    count: int = 1

    def __str__(self) -> str:
        more = f" ({self.count} places)" if self.count > 1 else ""
        return f"{self.path.as_posix()}:{self.line}: {self.text}{more}"


@dataclass(frozen=True)
class Extension:
    """An extension module of Python, a CMake project, or a program.

    `kind` is the way it is built: `CUDAExtension`, `CppExtension`, `load`, `load_inline`, `cmake`, `pyproject` or
    `program`. `path` is the build file, if there is one. `headers` are the files that `sources` include, directly or
    not. `certain` is False if the sources are an assumption. `rocm` has the signs that it is for ROCm already.
    """

    kind: str
    name: str | None
    path: PurePath | None
    sources: tuple[PurePath, ...]
    headers: tuple[PurePath, ...] = ()
    certain: bool = True
    rocm: tuple[Sign, ...] = ()

    def __str__(self) -> str:
        where = f" in {self.path.as_posix()}" if self.path else ""
        name = f" {self.name}" if self.name else ""
        return f"{self.kind}{name}{where}: {_count(self.sources, 'source')}, {_count(self.headers, 'header')}"

    def as_json(self) -> dict[str, Any]:
        """Return the extension as a JSON value."""
        return {
            "kind": self.kind,
            "name": self.name,
            "path": self.path and self.path.as_posix(),
            "sources": [path.as_posix() for path in self.sources],
            "headers": [path.as_posix() for path in self.headers],
            "certain": self.certain,
            "rocm": [
                {"kind": e.kind, "path": e.path.as_posix(), "line": e.line, "text": e.text, "count": e.count}
                for e in self.rocm
            ],
        }


def _count(what: Sequence[object], name: str) -> str:
    return f"{len(what)} {name}{'' if len(what) == 1 else 's'}"
