# SPDX-License-Identifier: Apache-2.0
"""Find the extensions and programs of a project by reading its build files.

Nothing is executed. If a script computes its sources in ways that static reading cannot follow, an extension gets every
source below the script that nothing else claims; `certain` tells the two cases apart. The build runs the scripts
instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from hipport.core.edits import Span
from hipport.core.reading import SETTINGS, read_or_nothing
from hipport.core.source import Source
from hipport.program.extension_facts import Extension, Sign
from hipport.program.project import Project
from hipport.syntax.cpp import UNITS, Cpp
from hipport.syntax.python_script import Python, syntax_tree

_GPU = re.compile(rb"cuda|CUDA|__global__|__device__|hip_runtime|<<\s*<")


def extensions(project: Project) -> tuple[Extension, ...]:
    """Return the extensions and programs that are related to CUDA, ordered by path."""
    return project.fact(_extensions)


def _extensions(project: Project) -> tuple[Extension, ...]:
    files = {source.path: source for source in project.sources if isinstance(source, Cpp)}
    found: list[Extension] = []
    unsure: dict[PurePath, Extension] = {}  # by folder: each takes the sources that nothing else claims
    for script in project.sources:
        if isinstance(script, Python) and builds(script):
            # LibCST takes longer to import than a small file to port.
            from hipport.program.extension_scripts import ExtensionScript

            for extension in ExtensionScript(script, files).extensions():
                if extension.certain or script.path.parent in unsure:
                    found.append(extension)
                else:
                    unsure[script.path.parent] = extension
    claimed = {path for extension in found for path in extension.sources}
    assumed: dict[Extension, list[PurePath]] = {extension: [] for extension in unsure.values()}
    build_files = _BuildFiles(project)
    for path in files:
        if path.suffix.lower() in UNITS and path not in claimed:
            assumed.setdefault(build_files.of(path, unsure), []).append(path)
    for extension, sources in assumed.items():
        if extension in unsure.values() or any(map(_for_a_gpu, map(files.__getitem__, sources))):
            found.append(replace(extension, sources=tuple(sources)))
    complete = (_complete(extension, project, files) for extension in found)
    return tuple(sorted(complete, key=lambda e: (str(e.path or e.sources[0]), e.name or "", e.kind)))


def built_from(script: Python, project: Project) -> tuple[PurePath, ...]:
    """Return the files of the project that a Python script names as sources of extensions."""
    if not builds(script):
        return ()
    from hipport.program.extension_scripts import ExtensionScript

    files = (source.path for source in project.sources if isinstance(source, Cpp))
    return tuple(path for extension in ExtensionScript(script, files).extensions() for path in extension.sources)


def builds(script: Python) -> bool:
    """Whether a script may build extensions."""
    # Most Python files build nothing, and parsing takes time.
    text = script.text
    return script.path.name == "setup.py" or b"cpp_extension" in text or b"CUDAExtension" in text


def _for_a_gpu(source: Source) -> bool:
    # Stricter than the test for CUDA as a language: a C program with an __attribute__ does not concern hipport.
    return source.path.suffix.lower() in (".cu", ".hip") or bool(_GPU.search(source.text))


def _complete(extension: Extension, project: Project, files: Mapping[PurePath, Cpp]) -> Extension:
    """Add the headers, and the signs of ROCm."""
    reached = dict.fromkeys(extension.sources)
    for path in (queue := list(extension.sources)):
        for include in files[path].includes:
            # An include that is ambiguous does not connect files; a context file is not part of the extension.
            match list(project.included(files[path], include)):
                case [other] if other.path in files and other.path not in reached:
                    reached[other.path] = None
                    queue.append(other.path)
    headers = tuple(sorted(set(reached) - set(extension.sources)))
    signs: dict[str, Sign] = {}
    sources: list[Source] = [files[path] for path in reached]
    script = project.by_path.get(extension.path) if extension.path else None
    for source in [script, *sources] if script else sources:
        for sign in source.fact(_signs):
            before = signs.setdefault(sign.kind, replace(sign, count=0))
            signs[sign.kind] = replace(before, count=before.count + 1)
    return replace(extension, headers=headers, rocm=tuple(signs.values()))


# --- Build files ------------------------------------------------------------------------------------------------------

_CMAKE_PROJECT = re.compile(r"^[ \t]*project[ \t]*\(\s*\"?([\w.+-]+)?", re.MULTILINE | re.IGNORECASE)
_COMPILES_CUDA = re.compile(r"nvcc|hipcc|\.cu\b", re.IGNORECASE)


class _BuildFiles:
    """The build files in the folders of a project."""

    def __init__(self, project: Project) -> None:
        self.root = project.root
        self.texts: dict[PurePath, str] = {}

    def text(self, path: PurePath) -> str:
        """Return the text of a file, empty if it does not exist."""
        if path not in self.texts:
            found = read_or_nothing(self.root / path, SETTINGS) if self.root else b""
            self.texts[path] = found.decode("utf-8", "replace")
        return self.texts[path]

    def of(self, path: PurePath, unsure: Mapping[PurePath, Extension]) -> Extension:
        """Return the extension of a source that no script lists, from the nearest build file above it."""
        outermost: Extension | None = None
        for folder in path.parents:
            if folder in unsure:
                return unsure[folder]
            cmake = folder / "CMakeLists.txt"
            if text := self.text(cmake):
                project = _CMAKE_PROJECT.search(text)
                outermost = Extension("cmake", project[1] if project else None, cmake, (), certain=False)
                if project:
                    return outermost
            for name in ("Makefile", "makefile", "GNUmakefile", "meson.build"):
                if _COMPILES_CUDA.search(self.text(folder / name)):
                    return Extension("program", folder.name or None, folder / name, (), certain=False)
            pyproject = folder / "pyproject.toml"
            if "build-system" in self.text(pyproject):
                named = re.search(r"^name\s*=\s*[\"']([^\"']+)", self.text(pyproject), re.MULTILINE)
                return Extension("pyproject", named[1] if named else None, pyproject, (), certain=False)
        return outermost or Extension("program", path.parent.name or None, None, (), certain=False)


# --- Signs of ROCm ----------------------------------------------------------------------------------------------------

_SHIM = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(?!hip)\w+(?:\([^)\n]*\))?[ \t]+(?:\([^)\n]*\)[ \t]*)?hip[A-Z_]\w*", re.M
)
_ROCM_NAME = re.compile(r"(?:is|use|has|with)?_?(?:hip|rocm)(?:_\w*)?", re.IGNORECASE)


def _signs(source: Source) -> tuple[Sign, ...]:
    """Return the signs that a source is for ROCm already: one of each kind for each place."""
    return tuple(_signs_in(source))


def _signs_in(source: Source) -> Iterator[Sign]:
    if isinstance(source, Cpp):
        if not re.search(rb"hip|HIP|ROCM|AMD", source.text):
            return
        if source.path.suffix == ".hip":
            yield Sign("hip source", source.path, 1, source.path.name)
        for group in source.conditionals:
            for part in group:
                if part.tells(source.known_on_hip) and part.word != b"else":
                    yield _sign("guard", source, part.span.start)
                    break
        for match in _SHIM.finditer(source.code):
            yield _sign("shim", source, match.start())
        for include in source.includes:
            if include.path.startswith("hip/"):
                yield _sign("hip header", source, include.directive.start)
    elif isinstance(source, Python):
        try:
            nodes = ast.walk(syntax_tree(source.text))
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in nodes:
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if _ROCM_NAME.fullmatch(name) and isinstance(node, (ast.Name, ast.Attribute)):
                line = source.line(node.lineno).strip().decode("utf-8", "replace")
                yield Sign("script", source.path, node.lineno, line)


def _sign(kind: str, source: Source, offset: int) -> Sign:
    line = source.first.position(source.origin(Span(offset, offset)).start)[0]
    return Sign(kind, source.path, line, source.first.line(line).strip().decode("utf-8", "replace"))
