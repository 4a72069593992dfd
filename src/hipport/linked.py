# SPDX-License-Identifier: Apache-2.0
"""Which files of a tree are one program, by what includes what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import PurePath


def connected(files: Iterable[PurePath], edges: Iterable[tuple[PurePath, PurePath]]) -> list[tuple[PurePath, ...]]:
    """Return the files in groups that no edge leads out of, in the order of their first files."""
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


class Linked:
    """The C++ files of a tree as its programs link them.

    Files that includes connect within one program are a group. A file with a `main` is one by itself: two of them in
    one folder are two programs that share headers. What one program includes of another, or of what is for all, makes
    their groups see each other, and not those that include the same.
    """

    def __init__(
        self,
        included: Mapping[PurePath, tuple[PurePath, ...]],
        programs: Mapping[PurePath, str | None],
        mains: AbstractSet[PurePath],
    ) -> None:
        """Take what each file includes, the folder of the program that it is built in, and the files with a `main`."""
        self._included = included
        self._programs = programs
        self._mains = mains
        self.groups = self._grouped()
        self.group_of = {path: number for number, group in enumerate(self.groups) for path in group}
        below = self._below()
        #: For each group, itself and those that files of it may be linked with.
        self.seen_by = [dict.fromkeys((number, *others)) for number, others in enumerate(below)]
        for number, others in enumerate(below):
            for other in others:
                self.seen_by[other].update(dict.fromkeys((number, *others)))

    def _grouped(self) -> list[tuple[PurePath, ...]]:
        edges = [
            (path, other)
            for path, others in self._included.items()
            for other in others
            if path not in self._mains and self._programs[path] == self._programs[other]
        ]
        while True:
            groups = connected(self._included, edges)
            group_of = {path: number for number, group in enumerate(groups) for path in group}
            # Files of a program that share what lies outside of it are one.
            using: dict[tuple[str, int], PurePath] = {}
            more: list[tuple[PurePath, PurePath]] = []
            for path, others in self._included.items():
                program = self._programs[path]
                if program is None or path in self._mains:
                    continue
                for other in others:
                    if self._programs[other] != program:
                        first = using.setdefault((program, group_of[other]), path)
                        if group_of[first] != group_of[path]:
                            more.append((first, path))
            if not more:
                return groups
            edges += more

    def _below(self) -> list[dict[int, None]]:
        """Return for each group those that are reached from it by includes."""
        direct: list[dict[int, None]] = [{} for _ in self.groups]
        for path, others in self._included.items():
            group = self.group_of[path]
            direct[group].update(dict.fromkeys(self.group_of[other] for other in others))
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

    @cached_property
    def families(self) -> dict[PurePath, tuple[PurePath, ...]]:
        """For each file, those that it is connected to within its program, files with a `main` among them."""
        edges = (
            (path, other)
            for path, others in self._included.items()
            for other in others
            if self._programs[path] == self._programs[other]
        )
        return {path: family for family in connected(self._included, edges) for path in family}
