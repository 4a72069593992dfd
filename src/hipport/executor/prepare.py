# SPDX-License-Identifier: Apache-2.0
"""Turn a program or an extension into a tree of C++ that compiles with the executor's headers.

The result mirrors the given tree, with files that it includes from elsewhere. The first line of each file names the
user's file, and lines keep their numbers, so that messages, faults and debuggers name the user's lines.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Literal

from hipport.core import reading
from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Finding
from hipport.core.placing import walk
from hipport.core.source import Source
from hipport.engine.outcomes import Outcome, Ported, Reported
from hipport.engine.pipeline import Pass
from hipport.executor import ballots, device_assembly, hip_lacks, launches, loops, shared, sides
from hipport.program.hip_backends import known
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.file_languages import source
from hipport.workspace.discovery import discover, left_by_tools

Dialect = Literal["cuda", "hip"]

#: The passes that turn a program of each dialect into C++, in order: loops first, while the text is as other passes
#: expect it, except for bodies that exist twice.
_ALL: tuple[Pass[Any], ...] = (shared.PASS, launches.PASS)
PASSES: Mapping[Dialect, tuple[Pass[Any], ...]] = {
    "cuda": (sides.CUDA, loops.CUDA, device_assembly.CUDA, *_ALL),
    "hip": (sides.HIP, loops.HIP, device_assembly.HIP, ballots.HIP, hip_lacks.HIP, *_ALL),
}
_OWN = frozenset(id(each) for passes in PASSES.values() for each in passes)


@dataclass(frozen=True)
class Prepared:
    """A tree that is ready to be compiled.

    `folder` contains it, and mirrors `base`, a common folder of all files: the file at `base/x` is `folder/x`. `root`
    is the user's folder; `sources` are the files, by their places in the mirror. `reported` lists what was not
    understood; `edited` what passes before the executor's own changed so that it compiles.
    """

    root: Path
    base: Path
    folder: Path
    dialect: Dialect
    sources: Mapping[Path, Source]
    reported: tuple[Reported, ...] = field(default=())
    edited: tuple[Reported, ...] = field(default=())

    def made(self, path: Path) -> Path:
        """Return the place of the user's file or folder `path` in the tree; `path` itself if it is not there."""
        path = Path(os.path.normpath(path))
        if not path.is_relative_to(self.base):
            return path
        place = self.folder / path.relative_to(self.base)
        return place if place.exists() else path


def project_of(
    what: Sequence[Path] | Project | Ported,
    *,
    exclude: Sequence[str] = (),
    vendored: Mapping[str, tuple[str, ...]] | None = None,
) -> Project:
    """Return the project at paths, or the port, with the files that the port creates."""
    if isinstance(what, Ported):
        created = tuple(source(file.path, file.text) for file in what.created)
        return replace(what.project, sources=(*what.project.sources, *created))
    return what if isinstance(what, Project) else discover(what, exclude=exclude, vendored=vendored)


def prepare(
    what: Sequence[Path] | Project | Ported,
    out: Path,
    dialect: Dialect,
    *,
    passes: Sequence[Pass[Any]] = (),
    folders: Sequence[Path] = (),
    given: Sequence[Path] = (),
) -> Prepared:
    """Write the sources at `what`, files and folders or their port, to `out`, as C++ for the executor.

    `passes` run before the executor's own; `folders` are searched for includes, after the file's own; `given` are the
    paths that were asked for, if a port includes files from elsewhere. Unchanged files in `out` are not written again.
    Raises discovery.NotFound for a path that does not exist.
    """
    project = project_of(what)
    if given:
        whole = [path.resolve() for path in given if path.is_dir()]
    elif not isinstance(what, Project | Ported):
        whole = [path.resolve() for path in what if path.is_dir()]
    else:
        whole = [project.root] if project.root else []
    root = project.root
    if root is None:
        raise ValueError("this port was made from texts in memory, so there is no tree to prepare")
    project = _rooted(project, _included(project, root, folders))
    base = project.root
    assert base is not None
    before = project.by_path
    after, reported, edited, created = _run(project, (*passes, *PASSES[dialect]))
    written: dict[Path, Source] = {}
    for each in after.sources:
        place = out / each.path
        _write(place, _with_lines(each, before[each.path], base / each.path))
        written[place] = each
    for file in created:
        if file.path not in after.by_path:
            _write(out / file.path, rewritten(file.path, file.text, dialect))
    kept = {*written, *(out / file.path for file in created)}
    for folder in whole:
        _link_others(
            folder, out / folder.relative_to(base), kept, {base / each.path: out / each.path for each in after.sources}
        )
    return Prepared(root, base, out, dialect, written, tuple(reported), tuple(edited))


def rewritten(path: PurePath, text: bytes, dialect: Dialect) -> bytes:
    """Return the text of a file without includes from a program, as C++ for the executor."""
    file = source(path, text)
    after, _, _, _ = _run(Project((file,)), PASSES[dialect])
    return after.sources[0].text


def _included(project: Project, root: Path, folders: Sequence[Path]) -> list[tuple[Path, Source]]:
    """Return all C++ files with their places: those of the project, and those that they include from elsewhere."""
    known = {Path(os.path.normpath(root / each.path)): each for each in project.sources if isinstance(each, Cpp)}
    # The target of a link may have been ported already.
    linked = {Path(os.path.realpath(path)): each for path, each in known.items()}
    waiting: list[tuple[Path, Source]] = list(known.items())
    while waiting:
        path, each = waiting.pop()
        assert isinstance(each, Cpp)
        for include in each.includes:
            for start in (() if include.angled else (path.parent,)) + tuple(folders):
                place = Path(os.path.normpath(start / include.path))
                if place in known:
                    break
                try:
                    text = reading.read(place)
                except OSError:
                    continue
                name = PurePosixPath(os.path.relpath(place, root).replace(os.sep, "/"))
                target = linked.get(Path(os.path.realpath(place)))
                other = source(name, text) if target is None else _moved(target, name)
                known[place] = other if isinstance(other, Cpp) else Cuda(name, text)
                waiting.append((place, known[place]))
                break
    return list(known.items())


def _rooted(project: Project, files: Sequence[tuple[Path, Source]]) -> Project:
    """Return the project with its paths relative to a common folder of all `files`."""
    assert project.root is not None
    base = Path(os.path.commonpath([project.root, *(path.parent for path, _ in files)]))
    sources = tuple(_moved(each, PurePosixPath(path.relative_to(base).as_posix())) for path, each in files)
    return replace(project, sources=sources, root=base, context=())


def _moved(each: Source, path: PurePath) -> Source:
    return each if each.path == path else replace(each, path=path)


def _run(
    project: Project, passes: Iterable[Pass[Any]]
) -> tuple[Project, list[Reported], list[Reported], list[NewFile]]:
    """Run passes like `pipeline.run`, without its law of syntax: the result is only for the compiler.

    Returns the project, the findings without edits, the edits of other passes than the executor's own, and new files.
    """
    project = known(project)
    reported: list[Reported] = []
    edited: list[Reported] = []
    created: dict[PurePath, NewFile] = {}
    for each in passes:
        changed: dict[PurePath, Source] = {}
        for file in project.sources:
            # hipport's own headers need no porting, but they are written for GPUs like all other files.
            if not isinstance(file, each.language) or (
                id(each) not in _OWN and isinstance(file, Cpp) and file.is_hipport_header
            ):
                continue
            edits: list[Edit] = []
            for finding in each.find(file, project):
                edits += finding.edits
                created.update({new.path: new for new in finding.creates})
                if not finding.edits:
                    reported.append(_reported(each, file, finding, Outcome.REPORTED))
                elif id(each) not in _OWN:
                    edited.append(_reported(each, file, finding, Outcome.APPLIED))
            if edits:
                changed[file.path] = file.apply(edits)
        project = project.replacing(changed)
    return project, reported, edited, list(created.values())


def _reported(each: Pass[Any], file: Source, finding: Finding, outcome: Outcome) -> Reported:
    span = file.origin(finding.span)
    line, column = file.first.position(span.start)
    rule = f"{each.name}/{finding.kind}"
    return Reported(file.path, line, column, span, rule, finding.message, finding.certainty, outcome)


def _with_lines(file: Source, given: Source, path: Path) -> bytes:
    """Return the text with `#line` at the top, and wherever the line number differs from the user's."""
    text = file.text.removeprefix(b"\xef\xbb\xbf")
    name = str(path).replace("\\", "\\\\").replace('"', '\\"')
    top = f'#line 1 "{name}"\n'.encode("utf-8", "surrogateescape")
    if isinstance(file, Cpp) and file.text.count(b"\n") == file.first.text.count(b"\n"):
        return top + text
    if not isinstance(file, Cpp):
        return top + text
    # A pass before the executor's own, or an earlier port, has added or removed lines.
    pieces: list[bytes] = [top]
    expected = 1
    for offset, line in _lines(file.text):
        number = file.first.position(file.origin(Span(offset, offset)).start)[0]
        if number != expected and _may_break(file, offset):
            pieces.append(f"#line {number}\n".encode())
            expected = number
        pieces.append(line.removeprefix(b"\xef\xbb\xbf") if not offset else line)
        expected += 1
    return b"".join(pieces)


def _lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    for line in text.split(b"\n"):
        end = offset + len(line) + 1
        yield offset, text[offset:end]
        offset = end


def _may_break(file: Cpp, offset: int) -> bool:
    """Say whether a directive may be inserted before the line at `offset`."""
    if file.text[:offset].rstrip(b"\r\n \t").endswith(b"\\"):
        return False
    inside = file.directive(offset)
    if inside is not None and inside.start < offset:
        return False
    end = file.text.find(b"\n", offset)
    if not file.code[offset : end if end >= 0 else None].strip():
        return False  # blank, a comment, or in a raw string
    comment = file.text.rfind(b"/*", 0, offset)
    return comment < 0 or file.text.find(b"*/", comment) < offset or file.code[comment : comment + 1] != b" "


def _write(place: Path, text: bytes) -> None:
    try:
        if not place.is_symlink() and reading.read(place) == text:
            return
    except OSError:
        place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_symlink() or place.is_file():
        place.unlink()
    place.write_bytes(text)


def _link_others(folder: Path, to: Path, kept: set[Path], made: Mapping[Path, Path]) -> None:
    """Link to files other than C++, and link links to their copies in `made`; delete leftovers of an earlier tree."""
    for here, names, files in walk(folder):
        names[:] = [name for name in names if not name.startswith(".") and name not in left_by_tools(here, names)]
        place = to / Path(here).relative_to(folder)
        place.mkdir(parents=True, exist_ok=True)
        for name in files:
            link = place / name
            if link in kept:
                continue
            origin = Path(here, name)
            if not origin.is_file() and origin.exists():
                continue  # a link to a folder, or a pipe, on which a compiler would block
            target = made.get(Path(os.path.realpath(origin)), origin) if origin.is_symlink() else origin
            if link.is_symlink() and link.readlink() == target:
                continue
            if link.is_symlink() or link.exists():
                link.unlink()
            link.symlink_to(target)
    for here, names, files in walk(to):
        origin = folder / Path(here).relative_to(to)
        for name in files:
            if Path(here, name) not in kept and not (origin / name).exists():
                Path(here, name).unlink()
        for name in [*names]:
            inside = Path(here, name)
            if not (origin / name).exists() and not any(path.is_relative_to(inside) for path in kept):
                shutil.rmtree(inside)
                names.remove(name)


#: Modules in this folder on which the text of a prepared file depends.
_REWRITING = frozenset(
    (
        "device_assembly",
        "ballots",
        "held_lanes",
        "hip_lacks",
        "launches",
        "loop_exits",
        "loops",
        "prepare",
        "shared",
        "sides",
        "waits",
    )
)


def rewriter() -> list[str]:
    """Return the hashes of everything on which the text of a prepared file depends, besides the file."""
    files = sorted(path for path in Path(__file__).parent.glob("*.*") if path.stem in _REWRITING)
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
