# SPDX-License-Identifier: Apache-2.0
"""hipport's own headers, which ported code includes."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import PurePath

from hipport.core.edits import Edit, NewFile, Span
from hipport.core.source import Source
from hipport.program.project import Project
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.cpp_text import Include

FOLDER = "hipport"
#: Headers that usually replace one that the program includes.
INSTEAD = frozenset(("async.h", "ceil_div.h", "groups.h", "samples.h", "scoped_atomic.h"))
# Other includes that passes add, where HIP's headers do not bring them.
_LACKING = frozenset(("cstdint", "math.h", "thrust/version.h"))
# hipport's form of such an include: relative to the script, or by the folder that the first of them defines.
_MODULE = re.compile(rb"\$\{CMAKE_CURRENT_LIST_DIR\}/([\w./-]*\bhipport/\w+\.cmake)")
_BESIDE = re.compile(rb"\$\{HIPPORT_FOLDER\}/(\w+\.cmake)")
# Of these, the headers that every compiler has, and macros that enable functions of a HIP header: they change nothing
# else.
_ANYWHERE = re.compile(
    rb"(?:\A|(?<=[\r\n]))(?:#include <(?:cstdint|math\.h)>(?:\r\n?|\n)|#define \w+ 1(?:\r\n?|\n)(?=#include <hip\w+/))"
)
_PATH = re.compile(rb"[<\"]([^<>\"\r\n]+)[>\"]")
_RUNTIME = "hip/hip_runtime.h"
#: For several headers of PyTorch at once, placed after all others.
PYTORCH = "torch/"


@cache
def text(name: str) -> bytes:
    """Return the text of the header `name`, `warp.h` for example. Raises FileNotFoundError."""
    return (files("hipport") / "include" / FOLDER / name).read_bytes()


@cache
def names() -> frozenset[str]:
    """Return the names of hipport's headers."""
    return frozenset(each.name for each in (files("hipport") / "include" / FOLDER).iterdir())


def header(source: Cpp, project: Project, name: str) -> tuple[bytes, NewFile]:
    """Return the path by which `source` includes hipport's header `name`, in quotes, and the header.

    The header lies in a folder `hipport` in the common folder of the connected files, and is included by its path from
    the including file. This needs no flag of any build.
    """
    file = NewFile(project.home(source) / FOLDER / name, text(name))
    path = os.path.relpath(file.path, source.path.parent).replace(os.sep, "/")
    return b'"' + path.encode() + b'"', file


def include(source: Cpp, project: Project, name: str) -> tuple[Edit | None, NewFile]:
    """Return the edit that makes `source` include hipport's header `name`, None if it does already, and the header."""
    path, file = header(source, project, name)
    if included(source, name):
        return None, file
    point = line_of(source, f"{FOLDER}/{name}")
    return Edit(Span(point, point), b"#include " + path + source.newline, on_top=True), file


def included(source: Cpp, name: str) -> bool:
    """Say whether the file includes hipport's header `name` before all of its code.

    An include after code does not serve code that upstream has added before it since.
    """
    return any(
        include.path.endswith(f"{FOLDER}/{name}") and include.directive.start <= source.fact(first_code)
        for include in source.includes
    )


def first_code(source: Cpp) -> int:
    """Return the end of the last directive before the file's first code that is not a directive."""
    end = 0
    for directive in source.directives:
        between = source.code[end : directive.start]
        if between.strip():
            break
        end = directive.end
    return end


def line_of(source: Cpp, path: str) -> int:
    """Return where an `#include` of `path` that the whole file needs goes.

    The order of hipport's lines does not depend on which of them a file needed first, so after a merge they stand as if
    upstream's code had always been there: hipport's headers by name, then other missing headers, then those that
    replace CUDA's, then the runtime's.
    """
    point = source.include_point
    wanted = _order(path)
    for include in source.includes:
        if include.directive.start < point:
            continue
        line_end = source.line_end.search(source.text, include.directive.end)
        end = line_end.end() if line_end is not None else 0
        found = _order(include.path)
        if include.directive.start > point or not end or found is None or wanted is None or found > wanted:
            break
        point = end
    return point


def in_order(lines: Iterable[bytes]) -> bytes:
    """Return lines for the top of a file in the order of `line_of`."""

    def place(line: bytes) -> tuple[tuple[int, str], bytes]:
        path = _PATH.search(line)
        return (path and _order(path[1].decode("utf-8", "replace"))) or (5, ""), line

    ordered: list[bytes] = sorted(lines, key=place)
    return b"".join(ordered)


def _modules_left(project: Project, made: Collection[PurePath]) -> Iterator[Source]:
    """Yield hipport's CMake modules in folders from which no script includes a module any more."""
    scripts = [source for source in project.sources if isinstance(source, CMake)]
    ours = [each for each in scripts if each.path.parent.name == FOLDER and b"Put here by hipport." in each.text[:400]]
    if not ours or project.root is None:
        return
    needed = {path.parent for path in made if path.suffix == ".cmake"}
    needed.update(place.parent for _, _, place in modules(source for source in scripts if source not in ours))
    for source in ours:
        if source.path.parent not in needed:
            yield source


def _order(path: str) -> tuple[int, str] | None:
    """The sort key of an include among those that hipport inserts at the top; None for any other include."""
    folder, _, name = path.rpartition("/")
    if f"/{folder}".endswith(f"/{FOLDER}"):
        return (2 if name in INSTEAD else 0), name
    if path in _LACKING:
        return 1, path
    return {_RUNTIME: (3, path), PYTORCH: (4, path)}.get(path)


def with_included_headers(file: NewFile) -> tuple[NewFile, ...]:
    """Return hipport's header `file` and the headers that it includes, which must lie beside it."""
    found = {file.path.name: file}
    waiting = [file]
    while waiting:
        for name in _own_includes(waiting.pop().text):
            if name not in found:
                found[name] = NewFile(file.path.parent / name, text(name))
                waiting.append(found[name])
    return tuple(found.values())


@cache
def _own_includes(header: bytes) -> tuple[str, ...]:
    """Return the headers beside it that one of hipport's includes."""
    return tuple(re.findall(r'^#include "(\w+\.h)"', header.decode(), re.MULTILINE))


def without(text: bytes) -> bytes:
    """Return a text without the lines that passes add to files for the functions they call, and that are harmless."""
    return _ANYWHERE.sub(b"", text)


def asked_for(source: Cpp) -> Iterator[tuple[Include, PurePath]]:
    """Yield a file's includes of hipport's headers, in hipport's form, and the paths that they mean."""
    if f"{FOLDER}/".encode() not in source.text or source.is_hipport_header:
        return
    for include in source.includes:
        folder, _, name = include.path.rpartition("/")
        if not include.angled and PurePath(folder).name == FOLDER and name in names() and folder[0] != "/":
            yield include, type(source.path)(posixpath.normpath((source.path.parent / include.path).as_posix()))


def missing(project: Project, made: Collection[PurePath]) -> Iterator[tuple[Cpp, Include, PurePath]]:
    """Yield the includes of hipport's headers that neither exist nor are `made`: somebody may have removed them.

    For text that is only in memory, the files beside it are unknown.
    """
    for source in project.sources if project.root is not None else ():
        if isinstance(source, Cpp) and project.concerns(source.path):
            for include, place in asked_for(source):
                there = place in project.by_path or place in made
                if not there and project.root is not None and not (project.root / place).is_file():
                    yield source, include, place


def modules(scripts: Iterable[Source]) -> Iterator[tuple[CMake, Span, PurePath]]:
    """Yield the includes of hipport's modules in CMake scripts: script, place in it, and the path that they mean."""
    asking = [each for each in scripts if isinstance(each, CMake) and FOLDER.encode() in each.text.lower()]
    homes: set[PurePath] = set()
    for source in asking:
        for match in _MODULE.finditer(source.text):
            path = (source.path.parent / match[1].decode(errors="replace")).as_posix()
            place = type(source.path)(posixpath.normpath(path))
            homes.add(place.parent)
            yield source, Span(*match.span(1)), place
    for source in asking:
        beside = next((folder / FOLDER for folder in source.path.parents if folder / FOLDER in homes), None)
        if beside is None or source.path.parent in homes:
            continue
        for match in _BESIDE.finditer(source.text):
            yield source, Span(*match.span(1)), beside / match[1].decode()


def missing_modules(project: Project, made: Collection[PurePath]) -> Iterator[tuple[CMake, Span, PurePath]]:
    """Yield the includes of hipport's CMake modules that neither exist nor are `made`."""
    root = project.root
    if root is None:
        return
    for source, span, place in modules(project.sources):
        there = place in project.by_path or place in made or (root / place).is_file()
        if not there and project.concerns(source.path):
            yield source, span, place


def orphans(project: Project, made: Collection[PurePath]) -> Iterator[Source]:
    """Yield hipport's files in the project that no file includes any more, in hipport's folders."""
    yield from _modules_left(project, made)
    left = [source for source in project.sources if isinstance(source, Cpp) and source.is_hipport_header]
    if not left or project.root is None:
        return
    needed: set[PurePath] = set()
    for source in project.sources:
        for _, place in asked_for(source) if isinstance(source, Cpp) else ():
            if place not in needed:
                needed.update(file.path for file in with_included_headers(NewFile(place, text(place.name))))
    needed.update(made)
    for source in left:
        if source.path.parent.name == FOLDER and source.path.name in names() and source.path not in needed:
            yield source
