# SPDX-License-Identifier: Apache-2.0
"""The include folders that the build scripts of a tree name. Scripts are read, never run.

If conditions of a script choose between folders, all of them count; folders that depend on the machine are left out.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from hipport.core.source import Source
from hipport.syntax.cmake_script import CMake
from hipport.syntax.make import Makefile
from hipport.syntax.python_script import Python

#: Limits on values of a variable, characters of a value, and depth; beyond them a script contributes nothing.
_VALUES, _LENGTH, _DEEPEST = 32, 4096, 8
# Folders of included scripts: their settings apply to the folder above.
_OF_SCRIPTS = frozenset(("cmake", "make", "mk", "makefiles", "scripts"))

_PATH = r"(?:\"[^\"\r\n]*\"|'[^'\r\n]*'|(?:\$\([^()]*\)|\$\{[^{}]*\}|[^\s\"'$,;()])+)"
_FLAG = re.compile(r"(?<![\w-])(?:-I|-isystem|-iquote|--include-path=?)[ \t]*(" + _PATH + ")")
# Ways to put -I before each word of a list in make.
_EACH = re.compile(
    r"\$[({](?:addprefix[ \t]+-I[ \t]*,(?P<prefixed>(?:\$[({][^(){}]*[)}]|[^(){}$])*)"
    r"|(?P<name>[\w.-]+):%=-I%"
    r"|patsubst[ \t]+%[ \t]*,[ \t]*-I%[ \t]*,(?P<words>(?:\$[({][^(){}]*[)}]|[^(){}$])*)"
    r"|foreach[ \t]+\w+[ \t]*,(?P<listed>(?:\$[({][^(){}]*[)}]|[^(){}$,])*),[ \t]*-I[^(){}]*(?:\$[({]\w+[)}])?[^(){}]*"
    r")[)}]"
)
_IN_MAKE = re.compile(r"\$(?:\(([^()]*)\)|\{([^{}]*)\})")
_IN_CMAKE = re.compile(r"\$\{([^{}]*)\}")
#: Stands for the root of the tree in evaluated paths.
_TREE = "/<tree>"
_HERE = frozenset(("CURDIR", "PWD", "shell pwd", "shell pwd -P", "realpath .", "abspath ."))
_KEYWORDS = frozenset(("PUBLIC", "PRIVATE", "INTERFACE", "SYSTEM", "BEFORE", "AFTER"))
_FOLDER_COMMANDS = frozenset(
    ("include_directories", "target_include_directories", "cuda_include_directories", "hip_include_directories")
)
_PROJECT = re.compile(rb"^[ \t]*project[ \t\r\n]*\(", re.MULTILINE | re.IGNORECASE)
_BUILD_ONLY = re.compile(r"\$<(?:BUILD_INTERFACE|COMPILE_LANGUAGE:\w+|\$<[^<>]*>):([^<>]*)>")


def begins_project(script: Source) -> bool:
    """Say whether a build script belongs to a whole program or package, not to a part of one."""
    name = script.path.name
    if isinstance(script, CMake):
        return name == "CMakeLists.txt" and _PROJECT.search(script.text) is not None
    if isinstance(script, Makefile):
        return name in ("Makefile", "makefile", "GNUmakefile")
    if name == "meson.build":
        return _PROJECT.search(script.text) is not None
    return name in ("setup.py", "SConstruct", "xmake.lua")


class SearchPaths:
    """The include folders for the files of a tree, as paths from its root, in the order of the search."""

    def __init__(self, scripts: Iterable[Source], commands: Mapping[PurePath, Sequence[str]]) -> None:
        self._scripts: dict[str, Source] = {}
        self._governing: dict[str, list[Source]] = {}
        for script in scripts:
            if isinstance(script, (CMake, Makefile)) or script.path.name == "setup.py":
                self._scripts[script.path.as_posix()] = script
                self._governing.setdefault(_governed(script.path), []).append(script)
        self._commands = {path.as_posix(): tuple(folders) for path, folders in commands.items()}
        self._of_folder: dict[str, tuple[str, ...]] = {}
        self._variables: dict[str, dict[str, list[str]]] = {}

    def of(self, path: str) -> tuple[str, ...]:
        """Return the folders for a file: those of its own command, then of the scripts above it, the nearest first."""
        own = self._commands.get(path, ())
        around = self._of_the_folder(posixpath.dirname(path))
        return tuple(dict.fromkeys((*own, *around))) if own else around

    def _of_the_folder(self, folder: str) -> tuple[str, ...]:
        known = self._of_folder.get(folder)
        if known is None:
            found = [place for script in self._governing.get(folder, ()) for place in self._named(script)]
            outer = self._of_the_folder(above(folder)) if folder else ()
            known = self._of_folder[folder] = tuple(dict.fromkeys((*found, *outer))) if found else outer
        return known

    def _named(self, script: Source) -> Iterator[str]:
        """Yield the folders that a script names."""
        if isinstance(script, Makefile):
            yield from self._by_make(script)
        elif isinstance(script, CMake):
            yield from self._by_cmake(script)
        elif isinstance(script, Python) and (b"include" in script.text or b"-I" in script.text):
            from hipport.program.extension_scripts import include_folders

            yield from include_folders(script)

    # ---- make

    def _by_make(self, script: Makefile) -> Iterator[str]:
        # An included makefile is read as if it stood there: its paths are relative to the folder where make runs.
        texts = [part.text.decode("utf-8", "replace") for part in self._parts(script, set())]
        if not any("-I" in text or "include-path" in text or "-isystem" in text for text in texts):
            return
        variables: dict[str, list[str]] = {}
        for part in self._parts(script, set()):
            for line in part.lines:
                if line.kind == "assignment" and len(variables.setdefault(line.name, [])) < _VALUES:
                    value = part[line.value].decode("utf-8", "replace").replace("\\\n", " ").replace("\\\r\n", " ")
                    values = variables[line.name]
                    if line.operator == "+=" and values:
                        values[:] = [f"{each} {value}" for each in values]
                    else:
                        values.append(value)
        home = _folder(script.path)
        for text in texts:
            for match in _FLAG.finditer(text):
                for place in _expanded(match[1].strip("\"'"), _IN_MAKE, variables):
                    yield from _placed(home, place.split()[:1])
            for match in _EACH.finditer(text):
                listed = match["prefixed"] or match["words"] or match["listed"] or f"$({match['name']})"
                for places in _expanded(listed, _IN_MAKE, variables):
                    yield from _placed(home, places.split())

    def _parts(self, script: Makefile, seen: set[str]) -> Iterator[Makefile]:
        seen.add(script.path.as_posix())
        yield script
        for line in script.lines if b"include" in script.text else ():
            if line.kind in ("include", "-include", "sinclude"):
                for name in script[line.value].decode("utf-8", "replace").split()[1:]:
                    path = posixpath.normpath(posixpath.join(script.path.parent.as_posix(), name))
                    other = self._scripts.get(path)
                    if isinstance(other, Makefile) and path not in seen and len(seen) < _VALUES:
                        yield from self._parts(other, seen)

    # ---- CMake

    def _by_cmake(self, script: CMake) -> Iterator[str]:
        lowered = script.text.lower()
        if b"include_directories" not in lowered and b"-i" not in lowered:
            return
        home = _governed(script.path)
        variables = self._set_for(home)
        for command in script.commands:
            if command.name in _FOLDER_COMMANDS:
                words = [script[each.content].decode("utf-8", "replace") for each in command.arguments]
                for word in words[command.name.startswith("target") :]:
                    if word not in _KEYWORDS:
                        for places in _expanded(_BUILD_ONLY.sub(r"\1", word), _IN_CMAKE, variables):
                            yield from _placed(home, places.split(";"))
            else:
                for match in _FLAG.finditer(script[command.inner].decode("utf-8", "replace")):
                    for place in _expanded(match[1].strip("\"'"), _IN_CMAKE, variables):
                        yield from _placed(home, [place])

    def _set_for(self, folder: str) -> dict[str, list[str]]:
        """Return the variables set by the CMake scripts of a folder and above it; add_subdirectory passes them on."""
        known = self._variables.get(folder)
        if known is not None:
            return known
        outer = self._set_for(above(folder)) if folder else {}
        variables = {name: list(values) for name, values in outer.items()}
        script = self._scripts.get(posixpath.join(folder, "CMakeLists.txt"))
        if isinstance(script, CMake):
            here = [f"{_TREE}/{folder}"]
            variables.setdefault("CMAKE_SOURCE_DIR", here)
            if begins_project(script):
                variables["PROJECT_SOURCE_DIR"] = here
            for command in script.commands:
                words = [script[each.content].decode("utf-8", "replace") for each in command.arguments]
                if command.name == "project" and words:
                    variables[f"{words[0]}_SOURCE_DIR"] = here
                elif command.name == "set" and len(words) > 1:
                    end = next((i for i, word in enumerate(words) if word in ("CACHE", "PARENT_SCOPE")), len(words))
                    values = variables.setdefault(words[0], [])
                    if len(values) < _VALUES:
                        values.append(";".join(words[1:end]))
                elif command.name == "list" and len(words) > 2 and words[0] == "APPEND":
                    values = variables.setdefault(words[1], [""])
                    values[:] = [f"{each};{';'.join(words[2:])}" for each in values]
        for name in ("CMAKE_CURRENT_SOURCE_DIR", "CMAKE_CURRENT_LIST_DIR"):
            variables[name] = [f"{_TREE}/{folder}"]
        self._variables[folder] = variables
        return variables


def above(folder: str) -> str:
    """Return the parent folder; empty for the outermost, absolute or not."""
    outer = posixpath.dirname(folder)
    return "" if outer == folder else outer


def _folder(path: PurePath) -> str:
    folder = path.parent.as_posix()
    return "" if folder == "." else folder


def _governed(path: PurePath) -> str:
    """Return the folder whose files a script applies to."""
    inside = path.parent.name in _OF_SCRIPTS and path.name not in ("CMakeLists.txt", "Makefile", "makefile")
    return _folder(path.parent if inside else path)


def _placed(home: str, places: Iterable[str]) -> Iterator[str]:
    """Yield the places that are, or may be, in the tree, as paths from its root; they are relative to `home`."""
    for place in places:
        place = place.strip().strip("\"'")
        if place.startswith(_TREE):
            place = place.removeprefix(_TREE).lstrip("/") or "."
        elif not place or place.startswith(("/", "~")):
            continue
        else:
            place = posixpath.join(home, place)
        if "$" not in place and len(place) <= _LENGTH:
            yield posixpath.normpath(place)


def _expanded(text: str, pattern: re.Pattern[str], variables: Mapping[str, Sequence[str]], depth: int = 0) -> list[str]:
    """Return the possible values of a text with variables; empty if one of them is unknown."""
    match = pattern.search(text)
    if match is None:
        return [text]
    if depth > _DEEPEST or len(text) > _LENGTH:
        return []
    name = next(group for group in match.groups() if group is not None).strip()
    values = ["."] if name in _HERE else variables.get(name, ())
    found: dict[str, None] = {}
    for value in values:
        put_in = text[: match.start()] + value.strip() + text[match.end() :]
        for each in _expanded(put_in, pattern, variables, depth + 1):
            if len(found) >= _VALUES:
                break
            found[each] = None
    return list(found)


def of_commands(text: bytes, folder: str, root: Path) -> dict[str, tuple[str, ...]]:
    """Return the include folders of each file in a compile_commands.json, all as paths from the root.

    `folder` is the folder of that file. A build of another tree contributes nothing.
    """
    try:
        entries: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    found: dict[str, dict[str, None]] = {}

    def place(path: str, where: str) -> str | None:
        whole = os.path.normpath(root / folder / where / path)
        return Path(whole).relative_to(root).as_posix() if Path(whole).is_relative_to(root) else None

    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
            continue
        where = str(entry.get("directory") or "")
        words = entry.get("arguments")
        if isinstance(words, list):
            line = " ".join(shlex.quote(word) for word in words if isinstance(word, str))
        else:
            line = entry["command"] if isinstance(entry.get("command"), str) else ""
        file = place(entry["file"], where)
        if file is None:
            continue
        for match in _FLAG.finditer(line):
            named = place(match[1].strip("\"'"), where)
            if named is not None:
                found.setdefault(file, {})[named] = None
    return {file: tuple(folders) for file, folders in found.items()}
