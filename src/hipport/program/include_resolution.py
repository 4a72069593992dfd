# SPDX-License-Identifier: Apache-2.0
"""Resolve an `#include` to a file of the tree, in one way for all analyses.

The search follows the build: beside the file, then in the folders that the build scripts name for it. If scripts do not
tell, it guesses within one program: a file of that name below the nearest script that builds a whole program, or in a
folder above that only holds headers or has a usual name for shared ones. A path with two or more parts may also be a
unique file anywhere, but not one among the sources of a program that is built apart. Anything else is not of the tree:
a header of the same name in another program is not a candidate, as each program has its `utils.h`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from hipport.core.source import Source
from hipport.core.tables import load
from hipport.program.search_paths import SearchPaths, above, begins_project

# Usual names of folders for shared files, even if some files in them are translation units.
_SHARED = frozenset(("include", "inc", "src", "common"))
# Headers of C, POSIX and CUDA.
_OF_COMPILERS = frozenset(
    f"{name}.h" for names in load(Path(__file__).with_suffix(".toml"))["headers"].values() for name in names.split()
)
# A build script of a program above the given tree, looked for on disk.
_SCRIPTS = ("setup.py", "CMakeLists.txt", "Makefile", "makefile", "GNUmakefile", "meson.build")


class Includes:
    """The C++ files of a tree, and how their includes resolve; valid while the set of files is the same."""

    def __init__(
        self,
        files: Iterable[PurePath],
        scripts: Iterable[Source],
        root: Path | None,
        *,
        units: frozenset[str],
        commands: Mapping[PurePath, Sequence[str]] | None = None,
        left: Iterable[PurePath] = (),
        programs: Iterable[PurePath] = (),
    ) -> None:
        """Take the C++ files, the other sources of the tree, and the files in it that are `left` alone.

        `units` are the suffixes of translation units, `commands` the include folders by file, `programs` folders of
        whole programs besides those that scripts tell.
        """
        scripts = tuple(scripts)
        self._root = root
        self._above = root.parts if root is not None else ()
        self._files: dict[str, PurePath] = {}
        self._named: dict[str, list[str]] = {}
        #: Folders that contain translation units, at any depth.
        self._compiling: set[str] = set()
        for file in files:
            path = file.as_posix()
            self._files[path] = file
            self._named.setdefault(file.name, []).append(path)
            folder = posixpath.dirname(path)
            while file.suffix.lower() in units and folder not in self._compiling:
                self._compiling.add(folder)
                folder = above(folder)
        self._left = tuple(path.as_posix() for path in left)
        self._places = SearchPaths(scripts, commands or {})
        self._begun = {posixpath.dirname(script.path.as_posix()) for script in scripts if begins_project(script)}
        self._begun.update("" if folder == PurePath() else folder.as_posix() for folder in programs)
        if root is not None and _inside_a_program(root):
            self._begun.add("")
        self._programs: dict[str, str | None] = {"": "" if "" in self._begun else None}
        self._known: dict[tuple[PurePath, str, bool], tuple[PurePath, ...]] = {}

    def has(self, name: str) -> bool:
        """Say whether a file of that name exists, in any folder."""
        return name in self._named

    def program(self, path: PurePath) -> str | None:
        """Return the deepest folder above a file with a script that builds a whole program; None if there is none."""
        return self._program(posixpath.dirname(path.as_posix()))

    def _program(self, folder: str) -> str | None:
        if folder not in self._programs:
            self._programs[folder] = folder if folder in self._begun else self._program(above(folder))
        return self._programs[folder]

    def meant(self, source: PurePath, path: str, angled: bool) -> tuple[PurePath, ...]:
        """Return the files that an `#include` of `path` in `source` may mean: one, or the nearest of its program."""
        name = path.rpartition("/")[2]
        if name not in self._named:
            return ()
        key = (source, path, angled)
        known = self._known.get(key)
        if known is None:
            found, certain = self._by_build(source, path, angled)
            known = tuple(self._files[each] for each in found) if certain else self.guessed(source, path, angled)
            self._known[key] = known
        return known

    def certain(self, source: PurePath, path: str, angled: bool) -> bool:
        """Say whether the `#include` means a file of the tree even if a library has a header of that name.

        It does if the build finds the file, as far as its scripts can be read. In quotes it also does if the file lies
        where headers usually do, in a folder above the source or in one beside these.
        """
        if path.rpartition("/")[2] not in self._named:
            return False
        found, told = self._by_build(source, path, angled)
        if told or angled:
            return bool(found)
        folder, ending = posixpath.dirname(source.as_posix()), posixpath.normpath(path)
        near = (other.as_posix() for other in self.guessed(source, path, angled))
        places = (other.removesuffix(ending).rstrip("/") for other in near if other.endswith(ending))
        return any(_is_below(folder, place) or _is_below(folder, above(place)) for place in places)

    def _by_build(self, source: PurePath, path: str, angled: bool) -> tuple[list[str], bool]:
        """Return the files that the build finds, and whether it finds any; a file that is left alone counts."""
        written = source.as_posix()
        for folder in self._looked_in(written, angled):
            place = posixpath.normpath(posixpath.join(folder, path))
            if place in self._files and place != written:
                return [place], True
            if any(place.startswith(f"{left}/") or place == left for left in self._left) and self._there(place):
                return [], True
        return [], False

    def _looked_in(self, source: str, angled: bool) -> Iterator[str]:
        """Yield the folders that a build searches; scripts are read only if the file is not beside the source."""
        if not angled:
            yield posixpath.dirname(source)
        yield from self._places.of(source)

    def _there(self, place: str) -> bool:
        try:
            return self._root is not None and (self._root / place).is_file()
        except (OSError, ValueError):
            return False

    def guessed(self, source: PurePath, path: str, angled: bool) -> tuple[PurePath, ...]:
        """Return the files that an `#include` may mean if no script decides it."""
        return tuple(self._files[each] for each in self._guessed(source.as_posix(), path, angled))

    def _guessed(self, source: str, path: str, angled: bool) -> list[str]:
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        if not parts or parts[-1] not in self._named or (angled and len(parts) == 1 and parts[0] in _OF_COMPILERS):
            return []
        # A path may begin with folders above the given tree: <faiss/gpu/a.cuh> if faiss/gpu was given.
        ending = [
            other
            for other in self._named[parts[-1]]
            if other != source and [*self._above, *other.split("/")][-len(parts) :] == parts
        ]
        near = [other for other in ending if self._is_near(source, other)]
        if not near:
            only = len(parts) > 1 and len(ending) == 1
            return ending if only and not self._is_apart(source, ending[0], "/".join(parts)) else []
        most = max(_shared(source, other) for other in near)
        return [other for other in near if _shared(source, other) == most]

    def _is_apart(self, source: str, other: str, path: str) -> bool:
        """Say whether two programs are built apart, and the other file is among the sources of the one that has it.

        `path` is how the source includes it. What lies in a folder for headers alone may be for others.
        """
        mine, theirs = self._program(posixpath.dirname(source)), self._program(posixpath.dirname(other))
        if mine is None or theirs is None or _is_below(theirs, mine) or not other.endswith(path):
            return False
        folder = other.removesuffix(path).rstrip("/")
        return folder in self._compiling and _is_below(folder, theirs)

    def _is_near(self, source: str, other: str) -> bool:
        """Say whether a file that is included by its bare name may be the other one, by their folders."""
        folder, theirs = posixpath.dirname(source), posixpath.dirname(other)
        program = self._program(theirs)
        if program is not None and not _is_below(folder, program):
            return False
        mine = self._program(folder)
        base = folder if mine is None else mine
        if _is_below(theirs, base):
            return True
        # From the common folder on: beside the folders that lead to the source, or in a folder for shared files.
        while not _is_below(theirs, base):
            base = above(base)
        if theirs == base:
            return True
        first = theirs[len(base) :].lstrip("/").partition("/")[0]
        return first in _SHARED or posixpath.join(base, first) not in self._compiling


def _is_below(folder: str, above: str) -> bool:
    return not above or folder == above or folder.startswith(above + "/")


def _shared(one: str, other: str) -> int:
    """Return how many leading folders two paths share."""
    count = 0
    for a, b in zip(one.split("/"), other.split("/"), strict=False):
        if a != b:
            break
        count += 1
    return count


def _inside_a_program(root: Path) -> bool:
    """Say whether a tree is part of a program, by the build scripts above it in its repository."""
    above: list[Path] = []
    for folder in (root, *root.parents):
        above.append(folder)
        if (folder / ".git").exists():
            return any((each / name).is_file() for each in above[1:] for name in _SCRIPTS)
    return False
