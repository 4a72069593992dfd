# SPDX-License-Identifier: Apache-2.0
"""Group the files of a tree into programs and translation units by their includes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath


def connected(files: Iterable[PurePath], edges: Iterable[tuple[PurePath, PurePath]]) -> list[tuple[PurePath, ...]]:
    """Return the connected groups of files, in the order of their first files."""
    leader = {path: path for path in files}

    def find(path: PurePath) -> PurePath:
        while leader[path] != path:
            leader[path] = leader[leader[path]]
            path = leader[path]
        return path

    for one, other in edges:
        if one in leader and other in leader:
            leader[find(other)] = find(one)
    groups: dict[PurePath, list[PurePath]] = {}
    for path in leader:
        groups.setdefault(find(path), []).append(path)
    return [tuple(group) for group in groups.values()]


# Reading each program by itself may cost up to this factor; if it costs more, shared code is decided for all programs.
_MOST = 4


@dataclass(frozen=True)
class Shared:
    """Files of several programs that share device code, and each program with all that it includes."""

    files: tuple[PurePath, ...]
    #: The files of each program.
    views: tuple[tuple[PurePath, ...], ...]
    names: tuple[str, ...]


class Linked:
    """The C++ files of a tree as its programs link them.

    Files that includes connect are a group. A host-only file that belongs to another program, or that a file with a
    `main` includes, is a group of its own: its includers see it, but not each other. Device code that programs share
    makes them one group, because one result has to hold for all.
    """

    def __init__(
        self,
        included: Mapping[PurePath, tuple[PurePath, ...]],
        programs: Mapping[PurePath, str | None],
        mains: AbstractSet[PurePath],
        for_devices: Callable[[PurePath], bool],
    ) -> None:
        """Take what each file includes, the folder of the program that it is built in, and the files with a `main`."""
        self._included = included
        self._programs = programs
        self._mains = mains
        self._shared = self._for_hosts(for_devices)
        self.groups = self._grouped()
        self.group_of = {path: number for number, group in enumerate(self.groups) for path in group}
        below = self._below()
        #: For each group, itself and the groups whose files may be linked with its files.
        self.seen_by = [dict.fromkeys((number, *others)) for number, others in enumerate(below)]
        for number, others in enumerate(below):
            for other in others:
                self.seen_by[other].update(dict.fromkeys((number, *others)))

    def _for_hosts(self, for_devices: Callable[[PurePath], bool]) -> set[PurePath]:
        """Return the files that programs may share without joining: neither they nor their includes are for devices."""
        including: dict[PurePath, list[PurePath]] = {}
        for path, others in self._included.items():
            for other in others:
                including.setdefault(other, []).append(path)
        # A file that nothing includes is not shared.
        waiting = [path for path in including if for_devices(path)]
        left = set(waiting)
        while waiting:
            for path in including.get(waiting.pop(), ()):
                if path not in left:
                    left.add(path)
                    waiting.append(path)
        return including.keys() - left

    def _apart(self, path: PurePath, other: PurePath) -> bool:
        """Say whether a file and one that it includes are in different groups."""
        another = path in self._mains or self._programs[path] != self._programs[other]
        return another and other in self._shared

    def _grouped(self) -> list[tuple[PurePath, ...]]:
        edges: list[tuple[PurePath, PurePath]] = []
        across: list[tuple[PurePath, PurePath]] = []
        for path, others in self._included.items():
            for other in others:
                (across if self._apart(path, other) else edges).append((path, other))
        while True:
            groups = connected(self._included, edges)
            group_of = {path: number for number, group in enumerate(groups) for path in group}
            # Files of a program that share a file outside of it are one group.
            using: dict[tuple[str, int], PurePath] = {}
            more: list[tuple[PurePath, PurePath]] = []
            for path, other in across:
                program = self._programs[path]
                if program is not None and path not in self._mains:
                    first = using.setdefault((program, group_of[other]), path)
                    if group_of[first] != group_of[path]:
                        more.append((first, path))
            if not more:
                return groups
            edges += more

    def _below(self) -> list[dict[int, None]]:
        """Return for each group the groups that it includes, directly or not."""
        direct: list[dict[int, None]] = [{} for _ in self.groups]
        for path, others in self._included.items():
            direct[self.group_of[path]].update(dict.fromkeys(self.group_of[other] for other in others))
        found: list[dict[int, None]] = []
        for group, nearest in enumerate(direct):
            reached: dict[int, None] = {}
            waiting = list(nearest)
            while waiting:
                each = waiting.pop()
                if each not in reached and each != group:
                    reached[each] = None
                    waiting += direct[each]
            found.append(reached)
        return found

    def fused(self, units: Callable[[PurePath], bool], size: Callable[[PurePath], int]) -> list[Shared]:
        """Return the groups in which several programs are joined because they share device code.

        `units` says which files are translation units, `size` returns the size of a file.
        """
        included = {other for others in self._included.values() for other in others}
        found = []
        for group in self.groups:
            tops: dict[str, list[PurePath]] = {}
            for path in group:
                if path not in included or units(path):
                    program = self._programs[path]
                    name = path.as_posix() if path in self._mains else ""
                    tops.setdefault(name if program is None else program or ".", []).append(path)
            if len(tops) < 2:
                continue
            views = [self._reached(paths) for paths in tops.values()]
            much = sum(size(path) for view in views for path in view) > _MOST * sum(map(size, group))
            if not much and set(group).issubset(path for view in views for path in view):
                found.append(Shared(group, tuple(map(tuple, views)), tuple(tops)))
        return found

    def _reached(self, paths: Iterable[PurePath]) -> dict[PurePath, None]:
        """Return files with all that they include, directly or not."""
        reached = dict.fromkeys(paths)
        waiting = list(reached)
        while waiting:
            for other in self._included[waiting.pop()]:
                if other not in reached:
                    reached[other] = None
                    waiting.append(other)
        return reached

    @cached_property
    def families(self) -> dict[PurePath, tuple[PurePath, ...]]:
        """For each file, the files that it is connected to within its program, including those with a `main`."""
        edges = (
            (path, other)
            for path, others in self._included.items()
            for other in others
            if self._programs[path] == self._programs[other]
        )
        return {path: family for family in connected(self._included, edges) for path in family}

    @cached_property
    def _units(self) -> tuple[list[tuple[PurePath, ...]], dict[PurePath, tuple[int, ...]]]:
        """The translation units, each with all that it includes, and for each file the indexes of its units."""
        included = {other for others in self._included.values() for other in others}
        units: list[tuple[PurePath, ...]] = []
        within: dict[PurePath, list[int]] = {}
        # Headers that only include each other form a unit, too.
        for path in sorted(self._included, key=lambda each: each in included):
            if path in included and path in within:
                continue
            reached = self._reached([path])
            for each in reached:
                within.setdefault(each, []).append(len(units))
            units.append(tuple(reached))
        return units, {path: tuple(numbers) for path, numbers in within.items()}

    def units(self, path: PurePath) -> tuple[int, ...]:
        """Return the indexes of the translation units that contain a file."""
        return self._units[1].get(path, ())

    def unit(self, number: int) -> tuple[PurePath, ...]:
        """Return the files of a translation unit, the compiled source first."""
        return self._units[0][number]
