# SPDX-License-Identifier: Apache-2.0
"""Guessed flags for sources without a Makefile: from CMakeLists.txt, from includes, and from language features used."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path, PurePath, PurePosixPath

from hipport.building.dry_runs import without_places
from hipport.core.reading import read_or_nothing
from hipport.core.tables import Words, one_of
from hipport.program.include_resolution import Includes
from hipport.program.included import includes
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES

_LISTS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
#: Features that compilers accept only from C++20 on. If no build script sets a standard, text with them needs C++20.
_CXX20 = _LISTS.compile(
    rb"\bconcept\s+\w+\s*=|\brequires\s*(?:[({!]|(?:\w+\s*::\s*)*\w+\s*<)|\b(?:consteval|constinit|co_(?&coroutines))\b|<=>"
    rb"|\]\s*<\s*(?:typename|class|auto|unsigned|int|bool|(?:(?&std)\s*::\s*)?(?&size_type))\s+\.{0,3}\w"
    rb"|\b(?&std)\s*::\s*(?&since_20)\b"
)
#: The same for headers; those of libcu++, which older standards have too, become these.
_CXX20_HEADERS = frozenset(
    f"{library}{name}"
    for library in ("", "cuda/std/")
    for name in "bit compare concepts coroutine numbers ranges source_location span".split()
)
#: Flags for HIP alone in CMake's generator expressions.
_FOR_HIP = _LISTS.compile(r"\$<\$<(?&language_condition):(?:\w+,)*(?&hip)(?:,\w+)*>:([^<>]*)>")
#: Options that affect the meaning of the text, or how device code is linked.
_MEANS = _LISTS.compile(r"-D\w+(?:=[\w.]*)?|-U\w+|(?&device_code)")
#: Follows the values of a variable in `set`.
_BEHIND_VALUES = frozenset(("CACHE", "PARENT_SCOPE"))


def cmake_flags(folder: Path) -> list[str] | None:
    """Read include folders, definitions, options and the standard from CMakeLists.txt, as far as they are literal.

    The scripts are that of `folder`, or else the nearest one above it in its repository, preceded by those whose
    `add_subdirectory` leads there. Variables have the last value that the scripts set, options their defaults, and
    every branch counts as taken, except those for CUDA of a port. None if there is no script.
    """
    scripts = _cmake_scripts(folder)
    if not scripts:
        return None
    reader = _CMakeScripts(scripts[0][0])
    for place, text in scripts:
        reader.read(place, text)
    return list(without_places(list(dict.fromkeys(reader.flags))))


#: Commands that generate headers when CMake runs, and the argument that names the header.
_MAKES_HEADERS = _LISTS.compile(
    r"(?i)\b(?:(?&configures)\s*\(\s*\S+\s+|(?&exports)\s*\([^()]*(?&export_name)\s+"
    r"|(?&files)\s*\(\s*(?:(?&writes)|(?&generates)\s+(?&output))\s+)\"?([^\s\"()]+)"
)


def made_by_cmake(folder: Path, reached: Iterable[Path]) -> list[str]:
    """Return the includes of files that only CMake generates when it runs, for example by `configure_file`."""
    made = {
        PurePosixPath(match[1]).name for _, text in _cmake_scripts(folder) for match in _MAKES_HEADERS.finditer(text)
    }
    if not made:
        return []
    there = {path.name for path in reached}
    wanted = {include.path for path in reached for include in includes(path)}
    return sorted(path for path in wanted if PurePosixPath(path).name in made - there)


def cmake_folders(folder: Path) -> list[Path]:
    """Return the folders whose scripts apply to `folder`, the outermost first."""
    return [place for place, _ in _cmake_scripts(folder)]


_BRANCHES = one_of("if elseif else endif")
_BRANCH = re.compile(rf"(?i)(?<![\w$])(?P<word>{_BRANCHES})\s*\((?P<condition>(?:[^()]|\([^()]*\))*)\)")
_TRUE = ("ON", "TRUE", "YES", "Y", "1")
#: Commands that set properties, which may be definitions and flags.
_OF_PROPERTIES = (
    "set_target_properties",
    "set_source_files_properties",
    "set_directory_properties",
    "set_property",
)
#: How many folders above a source are searched for a script if there is no repository to limit the search.
_MOST_ABOVE = 4


def _cmake_scripts(folder: Path) -> list[tuple[Path, str]]:
    """Return the scripts that apply to `folder`, the outermost first."""
    found: list[tuple[Path, str]] = []
    above = _above(folder) or list(folder.parents[:_MOST_ABOVE])
    for place in (folder, *above):
        text = re.sub(r"#[^\n]*", "", read_or_nothing(place / "CMakeLists.txt").decode("utf-8", "replace"))
        if not found:
            found += [(place, text)] if text else []
        elif text and re.search(r"(?i)\badd_subdirectory\s*\(", text):
            found.insert(0, (place, text))
    return found


def _for_hip(text: str) -> str:
    """Return a script without the branches for CUDA alone: `if(NOT USE_HIP)`, or the `else()` of `if(USE_HIP)`.

    A port writes them around commands that differ for HIP, and a variable has the last value that is read.
    """
    kept: list[str] = []
    done = 0
    #: For each `if` around: whether its condition is, or negates, that option (else None), and whether it is left out.
    around: list[tuple[bool | None, bool]] = []
    for match in _BRANCH.finditer(text):
        if not any(left for _, left in around):
            kept.append(text[done : match.start()])
        done = match.start()
        word, condition = match["word"].lower(), " ".join(match["condition"].split())
        if word == "if":
            of_hip = {"USE_HIP": True, "NOT USE_HIP": False}.get(condition)
            around.append((of_hip, of_hip is False))
        elif around and word == "endif":
            around.pop()
        elif around:
            around[-1] = (around[-1][0], around[-1][0] is True)
    return "".join([*kept, "" if any(left for _, left in around) else text[done:]])


class _CMakeScripts:
    """Flags from scripts that are read in order, each with the variables of those before it."""

    def __init__(self, top: Path) -> None:
        # A ported script uses HIP_OR_CUDA.
        self.variables = {"CMAKE_SOURCE_DIR": str(top), "HIP_OR_CUDA": "HIP"}
        self.flags: list[str] = []

    def read(self, folder: Path, text: str) -> None:
        """Read the script `text` of `folder`."""
        self.variables |= dict.fromkeys(("CMAKE_CURRENT_SOURCE_DIR", "CMAKE_CURRENT_LIST_DIR"), str(folder))
        if re.search(r"(?i)^\s*project\s*\(", text, re.MULTILINE) or "PROJECT_SOURCE_DIR" not in self.variables:
            self.variables["PROJECT_SOURCE_DIR"] = str(folder)
        for match in re.finditer(r"(\w+)\s*\(([^()]*)\)", _for_hip(text)):
            command, words = match[1].lower(), match[2]
            if command in ("set", "option", "list", "string"):
                self._variable(command, self._words(words))
            elif command in _OF_PROPERTIES or command == "target_compile_features":
                self._properties(folder, words)
                asked = re.search(r"\b(?:(?:CXX|CUDA|HIP)_STANDARD\s+|(?:cxx|cuda|hip)_std_)(\d+)", words)
                if asked:
                    self.flags.append(f"-std=c++{asked[1]}")
            elif command in ("include_directories", "target_include_directories"):
                self._folders(folder, self._known(words)[0 if command == "include_directories" else 1 :])
            elif command in ("add_definitions", "add_compile_definitions", "target_compile_definitions"):
                self._definitions(self._known(words)[1 if command.startswith("target") else 0 :])
            elif command in ("add_compile_options", "target_compile_options"):
                self.flags += filter(_MEANS.fullmatch, self._known(words))
            elif command in ("target_link_libraries", "link_libraries") and "OpenMP::" in words:
                self.flags.append("-fopenmp")

    def _properties(self, folder: Path, text: str) -> None:
        """Read properties of targets, sources and folders: PROPERTIES name value …, or PROPERTY name values."""
        given = re.findall(r'"[^"]*"|[^\s"]+', text)
        if "PROPERTY" in given:
            name, *values = given[given.index("PROPERTY") + 1 :] or [""]
            pairs = [(name, " ".join(values))]
        elif "PROPERTIES" in given:
            behind = given[given.index("PROPERTIES") + 1 :]
            pairs = list(zip(behind[::2], behind[1::2], strict=False))
        else:
            return
        for name, value in pairs:
            words = self._known(value)
            if name == "COMPILE_DEFINITIONS":
                self._definitions(words)
            elif name in ("COMPILE_OPTIONS", "COMPILE_FLAGS"):
                self.flags += filter(_MEANS.fullmatch, words)
            elif name == "INCLUDE_DIRECTORIES":
                self._folders(folder, words)

    def _folders(self, folder: Path, words: Iterable[str]) -> None:
        self.flags += (f"-I{place}" for place in (folder / word for word in words) if place.is_dir())

    def _definitions(self, words: Iterable[str]) -> None:
        for word in words:
            if word not in ("PUBLIC", "PRIVATE", "INTERFACE"):
                self.flags.append(word if word.startswith("-D") else f"-D{word}")

    def _variable(self, command: str, given: list[str]) -> None:
        if command == "set" and given:
            name = given[0]
            values = list(itertools.takewhile(lambda value: value not in _BEHIND_VALUES, given[1:]))
            self.variables[name] = " ".join(values)
        elif command == "option" and given:
            name, values = given[0], []
            self.variables[name] = given[-1] if given[-1].upper() in _TRUE else "OFF"
        elif given[:1] == ["APPEND"] and len(given) > 2:
            name, values = given[1], given[2:]
            self.variables[name] = " ".join([*self.variables.get(name, "").split(), *values])
        else:
            return
        values = [value for value in values if "${" not in value and "$<" not in value]
        if re.fullmatch(r"CMAKE_(?:CXX|CUDA|HIP)_FLAGS|(?:CUDA|HIP)_(?:NVCC|HIPCC)_FLAGS", name):
            self.flags += filter(_MEANS.fullmatch, values)
        if name in ("CMAKE_CXX_STANDARD", "CMAKE_HIP_STANDARD", "CMAKE_CUDA_STANDARD") and values:
            self.flags.append(f"-std=c++{values[0]}")
        # The module that a port includes for FindCUDA interprets it so.
        if name == "CUDA_SEPARABLE_COMPILATION" and values and values[0].upper() in _TRUE:
            self.flags.append("-fgpu-rdc")

    def _words(self, text: str) -> list[str]:
        for _ in range(5):
            text = re.sub(r"\$\{(\w+)\}", lambda m: self.variables.get(m[1], m[0]), text)
        text = _FOR_HIP.sub(lambda m: m[1].replace(";", " "), text)
        return [word for word in re.split(r"[\s;]+", text.replace('"', " ")) if word]

    def _known(self, text: str) -> list[str]:
        """The words without remaining variables and generator expressions."""
        return [word for word in self._words(text) if "${" not in word and "$<" not in word]


def meant_by_includes(
    source: Path, flags: Sequence[str], folder: Path, among: Includes, root: Path
) -> tuple[list[str], set[Path]]:
    """Return -I for folders of the tree that includes of `source` certainly mean and that no flag names yet.

    If the tree is part of a repository, folders above it count for includes in quotes; so do folders for headers beside
    them, and beside the tree.

    Also returns the files of the tree that the source consists of, including itself.
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
                    # For a single file of a repository, the folders above it are not among the members.
                    above = next((place for place in _around(root) if (place / include.path).is_file()), None)
                    if above is not None:
                        found = above / include.path
                        added.append(above)
            if found is not None:
                queue.append(Path(os.path.normpath(found)))
    return [f"-I{place}" for place in dict.fromkeys(added)], seen


def _above(root: Path) -> list[Path]:
    """Return the folders above `root` that belong to its repository; empty if there is none."""
    folders: list[Path] = []
    for folder in (root, *root.parents):
        folders.append(folder)
        if (folder / ".git").exists():
            return folders[1:]
    return []


def _around(root: Path) -> list[Path]:
    """Return the folders that may hold headers of a tree given by its sources: above it, and folders for headers."""
    above = _above(root)
    return [*above, *(place / name for place in above or [root.parent] for name in ("include", "inc"))]


def is_cxx20(path: Path) -> bool:
    text = Cpp(PurePath(path), read_or_nothing(path))
    return bool(_CXX20.search(text.code)) or any(include.path in _CXX20_HEADERS for include in text.includes)


def chosen_on_hip(files: Iterable[Path], flags: Sequence[str]) -> list[str]:
    """Return the macros that the files need defined for HIP, and that no flag defines."""
    names = {name.decode() for path in files for name in Cpp(PurePath(path), read_or_nothing(path)).chosen_on_hip}
    return sorted(name for name in names if not any(re.match(rf"-[DU] ?{name}\b", flag) for flag in flags))
