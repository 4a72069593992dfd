# SPDX-License-Identifier: Apache-2.0
"""The translation units of a tree, and their flags.

Those of extensions are recorded from their builds (`recorder`, `just_in_time`), those of programs read from a Makefile
(`dry_runs`). Without one, they are derived from the sources (`programs`, `guessed_flags`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from hipport.building.compiler_messages import EmbeddedLines

#: Turns the arguments of an nvcc command into those of a hipcc command.
Translate = Callable[[Sequence[str]], Sequence[str]]

DEVICE = frozenset((".cu", ".hip"))


@dataclass(frozen=True)
class Unit:
    """One translation unit and how it is compiled.

    `source` is absolute; `language` is `hip` (device and host), `c++` or `c`; `flags` are for clang, without the
    source, the target and the output; `folder` is where the compiler runs; `owner` is the extension's or program's
    name. `guess` says which part is a guess, if any. `compiler` is the machine's compiler that the tree's own build
    uses for it; empty for hipcc.
    """

    source: Path
    language: str
    flags: tuple[str, ...]
    folder: Path
    owner: str
    guess: str = ""
    compiler: str = ""


@dataclass(frozen=True)
class NotBuilt:
    """Something that is not compiled, with the reason. `path` is relative to the tree's root; `line` may be 0.

    `needs_person` is false if the tree's own build leaves it out as well.
    """

    path: PurePath
    line: int
    why: str
    needs_person: bool = True


@dataclass(frozen=True)
class FoundUnits:
    """The units of a tree, what is left out, and the files that were run to find them.

    `made` maps a file of the copy to its source, `embedded` has the lines that come from a string.
    """

    units: tuple[Unit, ...] = ()
    not_built: tuple[NotBuilt, ...] = ()
    ran: tuple[str, ...] = ()
    made: Mapping[Path, Path] = field(default_factory=dict)
    embedded: Mapping[Path, tuple[EmbeddedLines, ...]] = field(default_factory=dict)
