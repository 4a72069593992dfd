# SPDX-License-Identifier: Apache-2.0
"""Have PyTorch's hipify convert the files that it would leave behind, when an extension is built for ROCm.

hipify moves the files that it converts from a folder with `cuda`, `CUDA` or `THC` in its name to another one
(`csrc/cuda` becomes `csrc/hip`), and corrects their quoted includes. It does so for files that it converts by itself:
never for `.inl` and the like, for `CUDAExtension` not outside of the build script's folder, and for `load` not for
headers in folders that it was not told of. `load` also renames the folders that contain the tree: in a clone called
`cuda-kernels` all files that it builds are moved.

A file that is left behind is then not found by its includer. If it is found, it may include a header that also exists
as a converted copy; `#pragma once` does not prevent the compiler from reading both. Or it includes PyTorch's headers
for CUDA, which have other names in a PyTorch for ROCm.

So the build script names these files to hipify, with its sources: the files are converted, and the includes are
corrected. Include folders that only a flag names (`-Icsrc/include`) are named as well, because hipify looks for headers
in `include_dirs` alone. Where hipify does not run, nothing changes.

Read in torch/utils/cpp_extension.py and torch/utils/hipify/hipify_python.py of PyTorch 2.13, and tried. Third-party
code that must not be converted is found through an include folder instead, which a person has to add.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path, PurePath, PurePosixPath

from hipport.core.edits import NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.group import Group
from hipport.core.source import Source
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program import own_headers
from hipport.program.extension_facts import Extension
from hipport.program.extensions import extensions
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.cpp import Cpp
from hipport.syntax.file_languages import HEADERS
from hipport.syntax.python_script import Python
from hipport_passes.build_files.build_scripts import hipify_lines

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_TOLD = _WORDS.compile(rb"(?&converter).*\b(?&extra_files)\b|\b(?&extra_files)\b.*(?&converter)", re.DOTALL)
# The option of a C++ compiler for an include folder.
_FLAG = re.compile(rb"[\"']-I")
_HAS_OS = re.compile(rb"^import os[ \t\r]*$", re.MULTILINE)
_RENAMED = _WORDS.compile(r"(?&renamed)")
#: The suffixes of files that hipify converts by itself, and the folders beside a setup.py that it skips.
_CONVERTED = frozenset(".cu .cuh .c .cc .cpp .h .in .hpp".split())
_NOT_LOOKED_IN = frozenset(("build", "third_party"))
_ONCE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)
#: Names that differ in a PyTorch for ROCm, which hipify replaces.
_PYTORCH = _WORDS.compile(rb"\b(?&of_torch)::(?&cuda)\b|[<\"](?&torch_headers)/(?&cuda)/")
#: Code that hipify changes in a ported file: names of PyTorch's, and the runtime header that it adds.
_CHANGED = _WORDS.compile(rb"\b(?&of_torch)::(?&cuda)\b|<(?&torch_headers)/(?&cuda)/|(?&changed)")

_LINES = """\
# PyTorch's hipify must convert these files as well, or what it converts does not find them.
import os

from torch.utils.hipify import hipify_python


def _hipify_all(*args, hipify=hipify_python.hipify, **options):
    here = os.path.dirname(os.path.abspath(__file__))
{named}    return hipify(*args, **options)


hipify_python.hipify = _hipify_all
"""


_FILES = """\
    behind = [
{names}    ]
    options["extra_files"] = [*options.get("extra_files", ()), *(os.path.join(here, name) for name in behind)]
"""
_FOLDERS = """\
    folders = [
{names}    ]
    told = options.get("header_include_dirs", ())
    options["header_include_dirs"] = [*told, *(os.path.join(here, name) for name in folders)]
"""


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield one finding if the script builds sources that hipify would separate from the files they include."""
    builds = hipify_lines.BUILDS.search(source.text)
    if builds is None or _TOLD.search(source.text) or source.path.suffix != ".py":
        return
    moved = _RENAMED.search(_above(project)) is not None
    if not any(isinstance(each, Cpp) and (moved or each.fact(_suspect)) for each in project.sources):
        return
    built = [
        each for each in extensions(project) if each.path == source.path and each.kind in ("CUDAExtension", "load")
    ]
    behind: set[str] = set()
    lost: set[str] = set()
    folders: set[str] = set()
    for extension in built:
        conversion = _Conversion(project, extension)
        behind |= conversion.behind
        folders |= conversion.folders
        lost |= conversion.lost
    if lost:
        yield Finding(
            Span(*builds.span()),
            "lost",
            f"PyTorch's hipify converts sources into a folder of another name, from where {', '.join(sorted(lost))} "
            "is not found: add the folder that the path starts from to the include folders",
            certainty=Certainty.MANUAL,
        )
    if not behind and not folders:
        return
    folder = source.path.parent.as_posix()
    names = sorted(posixpath.relpath(path, folder) for path in behind)
    looked_in = sorted(posixpath.relpath(path, folder) for path in folders)
    said = "PyTorch's hipify would not convert these files, which converted files include: " + ", ".join(
        (*names, *(f"the files in {each}" for each in looked_in))
    )
    named = "".join(
        part.format(names="".join(f'        "{name}",\n' for name in of))
        for part, of in ((_FILES, names), (_FOLDERS, looked_in))
        if of
    )
    text = _LINES.replace("import os\n\n", "", 1) if _HAS_OS.search(source.text) else _LINES
    lines = hipify_lines.edit(source, text.format(named=named))
    if lines is None:
        advice = "add them to the sources, or their folders to the include folders"
        yield Finding(Span(*builds.span()), "behind", f"{said}; {advice}", certainty=Certainty.MANUAL)
    else:
        yield Finding(lines[0], "behind", said, (lines[1],))


def _above(project: Project) -> str:
    """Return the folder that the paths of a project's files are relative to, as far as it is known."""
    return "." if project.root is None else project.root.as_posix()


def _suspect(source: Source) -> bool:
    path = source.path
    return (
        path.suffix not in _CONVERTED
        or _RENAMED.search(path.parent.as_posix()) is not None
        or (path.suffix in HEADERS and source.fact(_names_pytorch))
    )


class _Conversion:
    """The files of an extension that hipify converts or leaves `behind`, and third-party files `lost` by that."""

    def __init__(self, project: Project, extension: Extension) -> None:
        assert extension.path is not None
        self.project = project
        self.told = extension.kind == "load"
        #: The folder to which hipify's paths are relative. For `load` it is far away, so that every folder is renamed,
        #: also those that contain the tree.
        self.base = "." if self.told else extension.path.parent.as_posix()
        self.above = _above(project) if self.told else "."
        self.behind: set[str] = set()
        self.lost: set[str] = set()
        #: Include folders that hipify must be told of, because the script names them only by a flag.
        self.folders: set[str] = set()
        text = project.by_path[extension.path].text
        self.by_flags = not self.told and b"include_dirs" not in text and _FLAG.search(text) is not None
        self.converted: set[PurePath] = set()
        queue = [source for path in extension.sources if isinstance(source := project.by_path.get(path), Cpp)]
        while queue:
            source = queue.pop()
            if source.path not in self.converted:
                self.converted.add(source.path)
                queue += self._included(source)

    def _included(self, source: Cpp) -> Iterator[Cpp]:
        """Yield the files that are converted because `source` is converted."""
        for include in source.includes:
            beside = type(source.path)(posixpath.normpath((source.path.parent / include.path).as_posix()))
            if not include.angled and (other := self.project.by_path.get(beside)) is not None:
                if self._by_itself(beside):
                    yield from (other,) if isinstance(other, Cpp) else ()
                elif self._separated(source.path, include.path) or self._twice(other) or self._needs(other, set()):
                    self.behind.add(beside.as_posix())
                    yield from (other,) if isinstance(other, Cpp) else ()
            elif not include.angled and (own := self._put_there(beside)):
                if not self._by_itself(beside) and self._separated(source.path, include.path):
                    self.behind |= own
            elif not include.angled and self._there(beside):
                if self._separated(source.path, include.path):
                    self.behind.add(beside.as_posix())
            elif not include.angled and any(beside.is_relative_to(each.path) for each in self.project.skipped):
                if self._separated(source.path, include.path):
                    self.lost.add(include.path)
            else:  # By an include folder.
                match list(self.project.included(source, include)):
                    case [Cpp() as other] if self._by_itself(other.path):
                        self._look_in(other, include.path)
                        yield other

    def _look_in(self, other: Cpp, written: str) -> None:
        """Record the folder of a header that hipify would have to find, and that only a flag names."""
        path, ending = f"/{other.path.as_posix()}", f"/{posixpath.normpath(written)}"
        if self.by_flags and path.endswith(ending) and self._needs(other, set()):
            self.folders.add(path.removesuffix(ending).lstrip("/") or ".")

    def _by_itself(self, path: PurePath) -> bool:
        """Return whether hipify converts the file because a source includes it."""
        parts = PurePosixPath(posixpath.relpath(path.as_posix(), self.base)).parts
        return not self.told and path.suffix in _CONVERTED and parts[0] not in (*_NOT_LOOKED_IN, "..")

    def _separated(self, path: PurePath, include: str) -> bool:
        """Return whether the converted copy of a file no longer finds an include."""
        folder = posixpath.join(self.above, posixpath.relpath(path.parent.as_posix(), self.base))
        put = folder.replace("cuda", "hip").replace("CUDA", "HIP").replace("THC", "THH")
        return posixpath.normpath(f"{folder}/{include}") != posixpath.normpath(f"{put}/{include}")

    def _twice(self, source: Source) -> bool:
        """Return whether an unconverted file includes a header that other files include as a converted copy."""
        for include in source.includes if isinstance(source, Cpp) else ():
            for other in self.project.included(source, include):
                if self._by_itself(other.path) and _ONCE.search(other.text) and _CHANGED.search(other.text):
                    return True
        return False

    def _needs(self, source: Source, visited: set[PurePath]) -> bool:
        """Return whether a file compiles only after hipify: it, or an include of it, has CUDA names."""
        visited.add(source.path)
        if not isinstance(source, Cpp):
            return False
        if source.fact(_names_pytorch):
            return True
        return any(
            other.path not in visited and self._needs(other, visited)
            for include in source.includes
            if not include.angled
            for other in self.project.included(source, include)
        )

    @staticmethod
    def _put_there(path: PurePath) -> set[str]:
        """Return hipport's own header at a path, which is written with the port, and the headers that it includes."""
        if path.parent.name != own_headers.FOLDER:
            return set()
        try:
            made = own_headers.with_included_headers(NewFile(path, own_headers.text(path.name)))
        except FileNotFoundError:
            return set()
        return {each.path.as_posix() for each in made}

    def _there(self, path: PurePath) -> bool:
        """Return whether there is such a file, of a kind that hipport does not read."""
        return self.project.root is not None and (self.project.root / path).is_file()


def _names_pytorch(source: Source) -> bool:
    text = source.text
    return (b"::cuda" in text or b"/cuda/" in text) and _PYTORCH.search(text) is not None


PASS = Pass(Python, find, Group.BUILD)
