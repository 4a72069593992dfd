# SPDX-License-Identifier: Apache-2.0
"""Headers that other headers include in CUDA, and do not in ROCm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from functools import cached_property
from pathlib import PurePath

from hipport.core.edits import Span
from hipport.core.finding import Finding
from hipport.program.own_headers import FOLDER
from hipport.program.project import Project
from hipport.syntax.cpp import UNITS, Cpp, within
from hipport.syntax.cpp_text import Include
from hipport_passes.names.headers.header_tables import lookup, table
from hipport_passes.names.headers.include_lines import behind, is_own, on_top
from hipport_passes.names.headers.runtime_header import NEEDS_RUNTIME, brings_runtime, replacement

# The folder of the runtime's header.
_OF_RUNTIME = "hip/"


def transitive(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield the headers of Thrust that another one includes in CUDA, and none does in ROCm."""
    last = next((each for each in reversed(source.includes) if each.path.startswith("thrust/")), None)
    if last is None or b"thrust" not in source.code:
        return
    lacking = [each for each in table().transitive if each[1].search(source.code)]
    if not lacking:
        return
    includers = project.fact(_Includers)
    lacking = [each for each in lacking if source.path not in includers.files(each[2], Which.ANY)]
    if not lacking:
        return
    uses = ", ".join(f"thrust::{match[1].decode()}" for _, names, _ in lacking if (match := names.search(source.code)))
    lines = source.newline.join(f"#include <{header}>".encode() for header, _, _ in lacking)
    message = f"CUDA's Thrust gets {uses} from other headers, rocThrust does not: include the headers for it"
    yield Finding(last.target, "transitive", message, (behind(source, last, lines),))


def brought(source: Cpp, project: Project, brings: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Yield headers that others include in CUDA and not in ROCm; or those that only headers in `brings` include.

    Those in `brings` are about to be put on top of the file.
    """
    on_top_now = brings
    for each in sorted(table().brought, key=lambda each: not each.on_host):
        used = each.names.search(source.code) if source.matched(each.words) else None
        if used is None or (each.on_host and (brings or not _of_the_host(source))):
            continue
        if not each.on_host and source.directive(used.start()):
            continue
        # hipport's own includes precede all of these, whatever they provide.
        bringing = [
            other
            for other in reversed(source.includes)
            if PurePath(other.path).parent.name != FOLDER
            and any(path.startswith(each.brought_by) for path in _paths(source, project, other))
        ]
        always = next((other for other in bringing if not within(other.directive.start, source.conditional)), None)
        above = always is None and any(header.startswith(each.brought_by) for header in on_top_now)
        last = always or (None if each.on_host or above else next(_under_conditions(source, bringing), None))
        if not above and (brings or (last is None and not each.on_host)):
            continue
        # A header that the other one always includes must not be included under a condition only.
        if each.on_host:
            which = Which.ALWAYS
        elif (always or above) and any(
            not within(use.start(), source.conditional) for use in each.names.finditer(source.code)
        ):
            which = Which.ALWAYS_ON_HIP
        else:
            which = Which.ANY
        if source.path in project.fact(_Includers).files(each.had_by, which):
            continue
        line = f"#include <{each.header}>".encode()
        edit = behind(source, last, line) if last else on_top(source, each.header, line)
        message = f"{used.group().decode(errors='replace')} {each.why}: include {each.header}"
        yield Finding(Span(*used.span()), "brought", message, (edit,))
        if last is None:
            on_top_now = (*on_top_now, each.header)


def _under_conditions(source: Cpp, includes: Iterable[Include]) -> Iterator[Include]:
    """Yield the includes that a compilation for HIP may see; a line after one is under its condition."""
    return (each for each in includes if not source.ported(each.directive.start))


def _paths(source: Cpp, project: Project, include: Include) -> tuple[str, ...]:
    """Return the path of an include and its replacement, so that a second run gives the same answers.

    The replacement of a header that is dropped is empty.
    """
    row = lookup(include.path)
    if row is None or row.hip is None or row.since > project.target.rocm or is_own(source, include, project):
        return (include.path,)
    return include.path, replacement(source, include, project, row)


def _of_the_host(source: Cpp) -> bool:
    """Return whether the file is C++ that does not include the runtime's header anyway.

    A header is judged by its names, not by its language, because a port may remove its last CUDA name. Names under a
    condition may be used by both, and a port may drop those in directives: `#include <cuda_device_runtime_api.h>`.
    """
    if source.path.suffix in (".c", ".cu", ".cuh", ".hip"):
        return False
    return source.path.suffix in UNITS or all(
        within(match.start(), source.conditional) or source.directive(match.start())
        for match in NEEDS_RUNTIME.finditer(source.code)
    )


class Which(Enum):
    """The includes that count: all, those under no condition, or those and those of branches for HIP."""

    ANY = auto()
    ALWAYS = auto()
    ALWAYS_ON_HIP = auto()


class _Includers:
    """The files that include headers of certain names, directly or through other files of the program."""

    def __init__(self, project: Project) -> None:
        self._files = [each for each in (*project.sources, *project.context) if isinstance(each, Cpp)]
        self._project = project
        self._found: dict[tuple[tuple[str, ...], Which], set[PurePath]] = {}

    def files(self, begins: tuple[str, ...], which: Which) -> set[PurePath]:
        """Return the files that reach an include whose path begins so, by such includes."""
        key = (begins, which)
        if key not in self._found:
            including = self._including[which]
            waiting = [
                each.path
                for each in self._files
                if any(self._begins(each, include, begins) for include in self._counting(each, which))
            ]
            found = self._found[key] = set(waiting)
            while waiting:
                more = [path for path in including.get(waiting.pop(), ()) if path not in found]
                found.update(more)
                waiting += more
        return self._found[key]

    def _begins(self, source: Cpp, include: Include, begins: tuple[str, ...]) -> bool:
        """Whether the path of an include begins so once it is HIP's, or the header brings the runtime's."""
        # libcu++'s headers become the C++ library's, which include less.
        if _paths(source, self._project, include)[-1].startswith(begins):
            return True
        return _OF_RUNTIME in begins and brings_runtime(source, include, self._project)

    @cached_property
    def _including(self) -> dict[Which, dict[PurePath, list[PurePath]]]:
        """Return the includers of each file, by the includes that count."""
        found: dict[Which, dict[PurePath, list[PurePath]]] = {which: {} for which in Which}
        for which, by_path in found.items():
            for each in self._files:
                for include in self._counting(each, which):
                    for other in self._project.included(each, include):
                        by_path.setdefault(other.path, []).append(each.path)
        return found

    @staticmethod
    def _counting(source: Cpp, which: Which) -> Iterator[Include]:
        for each in source.includes:
            place = each.directive.start
            on_hip = which is Which.ALWAYS_ON_HIP and within(place, source.hip_only)
            if which is Which.ANY or on_hip or not within(place, source.conditional):
                yield each
