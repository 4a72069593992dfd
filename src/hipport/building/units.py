# SPDX-License-Identifier: Apache-2.0
"""The translation units of a tree, and their flags.

Extensions say it by being built (`recorder`, `just_in_time`), programs in a Makefile (`dry_runs`); where there is
none, the sources say it themselves (`programs`, `guesses`).
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
    name. `guess` says what is guessed about it, if anything. `compiler` is the compiler of the machine that the tree's
    own build takes for it; empty for hipcc.
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
    """Something that is not compiled, and why. `path` is relative to the tree's root; `line` may be 0.

    `needs_person` is false where the tree's own build leaves it out as well.
    """

    path: PurePath
    line: int
    why: str
    needs_person: bool = True


@dataclass(frozen=True)
class Found:
    """The units of a tree, what is left out, and which of its files were run as code to learn it.

    `made` tells which file a file of the copy was made from, `embedded` which stood in a string.
    """

    units: tuple[Unit, ...] = ()
    not_built: tuple[NotBuilt, ...] = ()
    ran: tuple[str, ...] = ()
    made: Mapping[Path, Path] = field(default_factory=dict)
    embedded: Mapping[Path, tuple[EmbeddedLines, ...]] = field(default_factory=dict)
