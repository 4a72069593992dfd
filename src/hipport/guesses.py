# SPDX-License-Identifier: Apache-2.0
"""Flags that no Makefile says: from CMakeLists.txt, from includes, and from what the sources are written in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path, PurePath, PurePosixPath

from hipport.dry_runs import without_places
from hipport.included import includes, read
from hipport.languages.cpp import Cpp
from hipport.resolving import Includes

#: What no compiler takes before C++20. Where no build script says a standard, text that has it was made for that one.
_CXX20 = re.compile(
    rb"\bconcept\s+\w+\s*=|\brequires\s*(?:[({!]|(?:\w+\s*::\s*)*\w+\s*<)|\b(?:consteval|constinit|co_(?:await|yield))\b|<=>"
    rb"|\]\s*<\s*(?:typename|class|auto|unsigned|int|bool|(?:std\s*::\s*)?size_t)\s+\.{0,3}\w"
    rb"|\bstd\s*::\s*(?:span|ranges|numbers|bit_cast|popcount|source_location)\b"
)
#: The same of headers; libcu++'s, which older standards have too, become these.
_CXX20_HEADERS = frozenset(
    f"{library}{name}"
    for library in ("", "cuda/std/")
    for name in "bit compare concepts coroutine numbers ranges source_location span".split()
)


def cmake_flags(folder: Path) -> list[str] | None:
    """Read include folders, definitions and the standard from CMakeLists.txt, as far as they are written out."""
    text = re.sub(r"#[^\n]*", "", read(folder / "CMakeLists.txt").decode("utf-8", "replace"))
    if not text:
        return None
    variables = {name: str(folder) for name in ("CMAKE_SOURCE_DIR", "CMAKE_CURRENT_SOURCE_DIR", "PROJECT_SOURCE_DIR")}
    # What a ported script says, and what it means here.
    variables["HIP_OR_CUDA"] = "HIP"
    flags: list[str] = []

    def expanded(words: str) -> list[str]:
        for _ in range(5):
            words = re.sub(r"\$\{(\w+)\}", lambda m: variables.get(m[1], m[0]), words)
        return [
            word
            for word in re.split(r"[\s;]+", words.replace('"', " "))
            if word and "${" not in word and "$<" not in word
        ]

    for match in re.finditer(r"(\w+)\s*\(([^()]*)\)", text):
        command, words = match[1].lower(), match[2]
        if command == "set":
            name, *values = expanded(words) or [""]
            variables[name] = " ".join(values)
            if re.fullmatch(r"CMAKE_(?:CXX|CUDA|HIP)_FLAGS|(?:CUDA|HIP)_(?:NVCC|HIPCC)_FLAGS", name):
                flags += (value for value in values if re.fullmatch(r"-D\w+(?:=[\w.]*)?", value))
            if name in ("CMAKE_CXX_STANDARD", "CMAKE_HIP_STANDARD", "CMAKE_CUDA_STANDARD") and values:
                flags.append(f"-std=c++{values[0]}")
        elif command in ("set_target_properties", "set_property", "target_compile_features"):
            asked = re.search(r"\b(?:(?:CXX|CUDA|HIP)_STANDARD\s+|(?:cxx|cuda|hip)_std_)(\d+)", words)
            if asked:
                flags.append(f"-std=c++{asked[1]}")
        elif command in ("include_directories", "target_include_directories"):
            skip = 0 if command == "include_directories" else 1
            for word in expanded(words)[skip:]:
                if (folder / word).is_dir():
                    flags.append(f"-I{folder / word}")
        elif command in ("add_definitions", "add_compile_definitions", "target_compile_definitions"):
            for word in expanded(words)[1 if command.startswith("target") else 0 :]:
                if word not in ("PUBLIC", "PRIVATE", "INTERFACE"):
                    flags.append(word if word.startswith("-D") else f"-D{word}")
    return list(without_places(list(dict.fromkeys(flags))))


def meant_by_includes(
    source: Path, flags: Sequence[str], folder: Path, among: Includes, root: Path
) -> tuple[list[str], set[Path]]:
    """Return -I for folders of the tree that the includes of `source` can only mean and that nothing names yet.

    Where the tree is part of a repository, folders above it count for includes in quotes; so do folders for headers
    beside them, and beside the tree.

    With them, the files of the tree that it consists of, itself among them.
    """
    named = [Path(os.path.normpath(folder / flag[2:])) for flag in flags if flag.startswith("-I") and len(flag) > 2]
    named += [Path(os.path.normpath(folder / after)) for flag, after in pairwise(flags) if flag == "-I"]
    added: list[Path] = []
    seen: set[Path] = set()
    queue = [source]
    while queue:
        path = queue.pop()
        if path in seen:
            continue
        seen.add(path)
        for include in includes(path):
            places = ([] if include.angled else [path.parent]) + named + added
            found = next((place / include.path for place in places if (place / include.path).is_file()), None)
            if found is None:
                meant = among.guessed(
                    PurePosixPath(os.path.relpath(path, root).replace(os.sep, "/")), include.path, include.angled
                )
                if len(meant) == 1 and ".." not in meant[0].parts:
                    found = root / meant[0]
                    if ".." not in include.path:
                        added.append(Path(*found.parts[: -len(PurePath(include.path).parts)]))
                elif not meant and not include.angled and ".." not in include.path:
                    # Of one file of a repository that was asked for, its folders above are not among the members.
                    above = next((place for place in _around(root) if (place / include.path).is_file()), None)
                    if above is not None:
                        found = above / include.path
                        added.append(above)
            if found is not None:
                queue.append(Path(os.path.normpath(found)))
    return [f"-I{place}" for place in dict.fromkeys(added)], seen


def _above(root: Path) -> list[Path]:
    """Return the folders above `root` that belong to its repository; none where it is in no repository."""
    folders: list[Path] = []
    for folder in (root, *root.parents):
        folders.append(folder)
        if (folder / ".git").exists():
            return folders[1:]
    return []


def _around(root: Path) -> list[Path]:
    """Return where headers of a tree may lie that is given by its sources: above it, and in folders for headers."""
    above = _above(root)
    return [*above, *(place / name for place in above or [root.parent] for name in ("include", "inc"))]


def is_cxx20(path: Path) -> bool:
    text = Cpp(PurePath(path), read(path))
    return bool(_CXX20.search(text.code)) or any(include.path in _CXX20_HEADERS for include in text.includes)


def chosen_on_hip(files: Iterable[Path], flags: Sequence[str]) -> list[str]:
    """Return the macros that the files want defined for HIP, and that no flag does."""
    names = {name.decode() for path in files for name in Cpp(PurePath(path), read(path)).chosen_on_hip}
    return sorted(name for name in names if not any(re.match(rf"-[DU] ?{name}\b", flag) for flag in flags))
