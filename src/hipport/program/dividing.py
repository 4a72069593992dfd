# SPDX-License-Identifier: Apache-2.0
"""Divide a tree into units of work for passes: programs with their files, and files among processes.

A pass over C++ sees the C++ that includes connect, and only the build scripts, Python and documents of the same
program: those of an unrelated program do not concern it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar

from hipport.core.source import Source
from hipport.program.extensions import built_from
from hipport.program.include_graph import Shared
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.python_script import Python

T = TypeVar("T")

# References in scripts that may lead to another program: a path out of their folder, and a module that Python imports.
_OUT = re.compile(rb"\.\./[\w.+/-]*")
_IMPORTED = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """The work of a process: a project, and those of its files that are to be ported; None for all.

    A part that is a `view` contains one of several programs that share device code.
    """

    project: Project
    only: frozenset[PurePath] | None = None
    view: bool = False


def apart(project: Project, jobs: int, together: Sequence[re.Pattern[bytes]] = ()) -> list[Part]:
    """Divide the C++ files by programs, and for several jobs into parts of about the same size.

    Files that include each other stay together, and so do files of a program that match the same pattern of `together`.
    A part has the scripts and the Python of its programs.
    """
    scopes = project.fact(_Scopes)
    groups: dict[frozenset[str], list[list[Source]]] = {}
    for files in project.apart():
        groups.setdefault(scopes.of(files), []).append(files)
    parts = []
    for programs, clusters in groups.items():
        for pattern in together if jobs > 1 else ():
            clusters = _merged(clusters, pattern)
        others = scopes.scripts(programs)
        # More parts than processes, so that a process that is done early can take another.
        for files in shared(clusters, lambda source: len(source.text), 4 * jobs if jobs > 1 else 1):
            parts.append(Part(project.of((*files, *others))))
    if len(parts) < 2 and (not parts or len(parts[0].project.sources) == len(project.sources)):
        return [Part(project)]
    return sorted(parts, key=lambda part: -sum(len(source.text) for source in part.project.sources))


def _merged(clusters: list[list[Source]], pattern: re.Pattern[bytes]) -> list[list[Source]]:
    """Return groups of files, with the groups that have a match of the pattern merged."""
    says: list[Source] = []
    others = []
    for files in clusters:
        if any(pattern.search(each.text) for each in files):
            says += files
        else:
            others.append(files)
    return [*others, says] if says else others


def concerning(project: Project) -> Project:
    """Return the project with only those C++ files that are related to the files to be ported.

    For a single file, most of its repository then need not be lexed.
    """
    if project.asked is None:
        return project.of(project.sources)
    return project.of(
        tuple(each for each in project.sources if not isinstance(each, Cpp) or each.path in project.close)
    )


def fused(project: Project) -> list[tuple[Shared, list[Part]]]:
    """Return the device code that several programs share, with each program and its includes by itself.

    Only files that belong to several programs and include each other are lexed.
    """
    found = []
    for files in project.apart():
        if len(files) < 2:
            continue
        programs = {project.includes.program(source.path) for source in files}
        if len(programs) < 2 and programs != {None}:
            continue
        scopes = project.fact(_Scopes)
        connected = project.of(tuple(files))
        for code in connected.fused():
            homes = {path: connected.home(connected.by_path[path]) for path in code.files if path in connected.by_path}
            parts = []
            for view in code.views:
                own = [connected.by_path[path] for path in view if path in connected.by_path]
                others = scopes.scripts(scopes.of(own))
                parts.append(Part(project.of((*own, *others), homes=homes), view=True))
            found.append((code, parts))
    return found


def near(project: Project, source: Source) -> Project:
    """Return the project as the program of a file other than C++ sees it: with C++, and without unrelated programs."""
    scopes = project.fact(_Scopes)
    program = project.includes.program(source.path)
    if program is None or len(scopes.places) < 2:
        return project
    return scopes.near(program)


def among(project: Project, jobs: int, concerned: Callable[[Source], bool]) -> list[Part]:
    """Divide the concerned files into parts of about the same size; all parts can read the other files.

    A pass over such files reads C++, which it does not change, and one file of its own language.
    """
    if jobs < 2:
        return [Part(project)]
    files = [source for source in project.sources if project.concerns(source.path) and concerned(source)]
    parts = shared(((source.path,) for source in files), lambda path: len(project.by_path[path].text), 4 * jobs)
    return [Part(project, frozenset(part)) for part in parts] if len(parts) > 1 else [Part(project)]


def shared(groups: Iterable[Sequence[T]], size: Callable[[T], int], count: int) -> list[list[T]]:
    """Divide groups into at most `count` shares of about the same size."""
    sized = sorted(((sum(map(size, group)), group) for group in groups), key=lambda each: -each[0])
    shares: list[list[T]] = [[] for _ in range(min(len(sized), count))]
    sizes = [0] * len(shares)
    for total, group in sized:
        smallest = sizes.index(min(sizes))
        shares[smallest] += group
        sizes[smallest] += total
    return shares


class _Scopes:
    """The files other than C++, by the programs to which they belong."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._others = [source for source in project.sources if not isinstance(source, Cpp)]
        self._program = {source.path: project.includes.program(source.path) for source in self._others}
        #: The folders of programs that have such files.
        self.places = {place for place in self._program.values() if place is not None}
        self._merged = self._joining() if len(self.places) > 1 else {}
        self._known: dict[str, frozenset[str]] = {}
        self._near: dict[frozenset[str], Project] = {}

    def of(self, files: Iterable[Source]) -> frozenset[str]:
        """Return the programs related to the C++ files: their own, enclosing ones and those inside.

        Files of no program see the programs inside their common folder.
        """
        found: set[str] = set()
        loose = []
        for source in files:
            program = self._project.includes.program(source.path)
            if program is None:
                loose.append(source.path.parent.as_posix())
            else:
                found |= self._around(program)
        if loose:
            common = posixpath.commonpath(loose)
            found |= self._around("" if common == "." else common)
        return frozenset(found)

    def scripts(self, programs: frozenset[str]) -> list[Source]:
        """Return the files other than C++ that belong to those programs, or to none."""
        return [source for source in self._others if (own := self._program[source.path]) is None or own in programs]

    def near(self, program: str) -> Project:
        """Return the project with the files of a program, of related programs, and of no program."""
        around = self._around(program)
        if around not in self._near:
            of = self._project.includes.program
            self._near[around] = self._project.of(
                tuple(each for each in self._project.sources if (own := of(each.path)) is None or own in around)
            )
        return self._near[around]

    def _around(self, program: str) -> frozenset[str]:
        known = self._known.get(program)
        if known is None:
            joined = (program, *self._merged.get(program, ()))
            known = frozenset(place for place in self.places if any(_related(place, each) for each in joined))
            self._known[program] = known
        return known

    def _joining(self) -> Mapping[str, set[str]]:
        """Return, for each program, the other programs from which it builds or imports something."""
        joined: dict[str, set[str]] = {}
        modules: dict[str, set[str]] = {}
        for place in self.places - {""}:
            modules.setdefault(posixpath.basename(place), set()).add(place)
        for source in self._others:
            if source.path.suffix == ".py" and (own := self._program[source.path]) is not None:
                package = source.path.name == "__init__.py"
                modules.setdefault(source.path.parent.name if package else source.path.stem, set()).add(own)
        for source in self._others:
            own = self._program[source.path]
            # Files of no program are visible to all.
            for other in self._led_to(source, modules) if own is not None else ():
                if own is not None and not _related(own, other):
                    joined.setdefault(own, set()).add(other)
                    joined.setdefault(other, set()).add(own)
        return joined

    def _led_to(self, source: Source, modules: Mapping[str, set[str]]) -> Iterator[str]:
        if b"../" in source.text:
            for match in dict.fromkeys(_OUT.findall(source.text)):
                path = posixpath.normpath(posixpath.join(source.path.parent.as_posix(), match.decode()))
                if (other := self._project.includes.program(type(source.path)(path) / "_")) is not None:
                    yield other
        if isinstance(source, Python):
            for built in built_from(source, self._project):
                if (other := self._project.includes.program(built)) is not None:
                    yield other
            # Each program may have its `utils`: an import from another program means a module that only one program
            # has.
            for name in dict.fromkeys(_IMPORTED.findall(source.text)):
                if len(found := modules.get(name.decode(), set())) == 1:
                    yield from found


def _related(one: str, other: str) -> bool:
    """Say whether one folder is the other, or is inside it."""
    return not one or not other or one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
