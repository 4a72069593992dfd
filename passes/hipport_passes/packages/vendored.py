# SPDX-License-Identifier: Apache-2.0
"""Keep third-party code out of PyTorch's hipify, which runs over the sources when an extension is built for ROCm.

hipify converts the `.h`, `.hpp` and `.cuh` files of GLM and the like that it encounters, not their `.inl` files, and
puts the results beside them: one half of such a library then includes the other half twice. hipify has an option for
paths to ignore, but `CUDAExtension` does not set it. So the build script gets a few lines that do, which have no effect
where hipify does not run.

Read in torch/utils/cpp_extension.py and torch/utils/hipify/hipify_python.py of PyTorch 2.13, and tried: hipify
encounters a header if a source includes it in quotes, or in any way from `include_dirs` or `extra_include_paths`; not
if the compiler finds it through an `-I` among the flags. `ignores` are patterns for whole paths.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath, PurePosixPath

from hipport.core.finding import Finding
from hipport.core.group import Group
from hipport.core.tables import Words, load
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.python_script import Python
from hipport_passes.build_files.build_scripts import hipify_lines

_WORDS = Words.read(Path(__file__).with_suffix(".toml"))
_FOLDERS = _WORDS.compile(rb"\b(?&folders)\b")
_IGNORES = _WORDS.compile(rb"(?&converter).*\b(?&ignored)\b|\b(?&ignored)\b.*(?&converter)", re.DOTALL)
_TESTS = _WORDS.compile(r"(?:^|/)(?&tests)/")
_FILES = frozenset(".h .hpp .hxx .hh .cuh .inl".split())

_LINES = """\
# Third-party code is right as it is: PyTorch's hipify must not rewrite it.
from torch.utils.hipify import hipify_python


def _hipify(*args, hipify=hipify_python.hipify, **options):
    options["ignores"] = [*options.get("ignores", ()), {patterns}]
    return hipify(*args, **options)


hipify_python.hipify = _hipify
"""


def markers() -> Mapping[str, tuple[str, ...]]:
    """Return the files that identify each third-party library, by its name; paths as in an #include."""
    table = load(Path(__file__).with_suffix(".toml"))["markers"]
    return {library: tuple(files) for library, files in table.items()}


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield one finding if the script builds with PyTorch and there is third-party code near it."""
    if not hipify_lines.BUILDS.search(source.text) or _IGNORES.search(source.text):
        return
    trees = [tree for tree in _trees(project) if _concerns(tree, source, project)]
    if _FOLDERS.search(source.text):
        trees = [tree for tree in trees if _included(tree, project)]
    else:
        quoted = _quoted(project) if trees else set()
        trees = [tree for tree in trees if any(path.is_relative_to(tree) for path in quoted)]
    if not trees or source.module is None:
        return
    folder = source.path.parent
    patterns = ", ".join(f'"{pattern}"' for pattern in sorted({_pattern(tree, folder) for tree in trees}))
    # `cpp_extension` reports a file that cannot be read.
    if (lines := hipify_lines.edit(source, _LINES.format(patterns=patterns))) is None:
        return
    span, edit = lines
    names = ", ".join(tree.as_posix() for tree in trees)
    yield Finding(span, "hipify", f"PyTorch's hipify would rewrite third-party code: {names}", (edit,))


def _trees(project: Project) -> Iterator[PurePath]:
    """Yield third-party code that exists, and missing submodules with known names."""
    known = {library.lower() for library in markers()}
    for skipped in project.skipped:
        if skipped.path.suffix == ".cmake" or skipped.path.name == "FindCUDA":
            continue  # CMake's own, which no compiler reads.
        if skipped.kind == "vendored" or (skipped.kind == "missing" and skipped.path.name.lower() in known):
            yield skipped.path


def _concerns(tree: PurePath, source: Python, project: Project) -> bool:
    """Return whether the script's build encounters the tree: it lies below, or its name is part of a path there."""
    name = re.escape(tree.name.encode())
    folder = source.path.parent
    if tree.is_relative_to(folder):
        # Code that another script builds, in a folder in between, belongs to that script.
        others = (
            each.path.parent for each in project.sources if each.path.name == "setup.py" and each.path.parent != folder
        )
        if not any(tree.is_relative_to(other) and other.is_relative_to(folder) for other in others):
            return True
    return re.search(rb"[\"'][^\"'\r\n]*(?<![\w.-])" + name + rb"(?![\w.-])[^\"'\r\n]*[\"']", source.text) is not None


def _included(tree: PurePath, project: Project) -> bool:
    """Return whether a source, if any was read, includes a path that may be in the tree; tests are built separately."""
    sources = [each for each in project.sources if isinstance(each, Cpp)]
    names = [
        marker
        for library, files in markers().items()
        if tree.name.lower().startswith(library.lower()) or tree.name in {PurePosixPath(file).name for file in files}
        for marker in files
    ]
    if not sources or not names:
        return True
    beginnings = {name.partition("/")[0] for name in names}
    for source in sources:
        if _TESTS.search(source.path.as_posix()) or source.path.is_relative_to(tree):
            continue
        for include in source.includes:
            beside = PurePosixPath(os.path.normpath(source.path.parent / include.path))
            if beginnings & set(PurePosixPath(include.path).parts) or beside.is_relative_to(tree):
                return True
    return False


def _quoted(project: Project) -> set[PurePath]:
    """Return the resolved paths that sources include in quotes."""
    return {
        PurePosixPath(os.path.normpath(source.path.parent / include.path))
        for source in project.sources
        if isinstance(source, Cpp)
        for include in source.includes
        if not include.angled
    }


def _pattern(tree: PurePath, folder: PurePath) -> str:
    """Return the pattern for hipify: the part of the path that identifies the tree, wherever the script is."""
    parts = list(tree.parts)
    for ours in folder.parts:
        if len(parts) < 2 or parts[0] != ours:
            break
        del parts[0]
    path = re.sub(r"([*?[])", r"[\1]", "/".join(parts))
    return f"*/{path}" if tree.suffix in _FILES else f"*/{path}/*"


PASS = Pass(Python, find, Group.BUILD)
