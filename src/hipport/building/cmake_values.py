# SPDX-License-Identifier: Apache-2.0
"""Values of variables in CMake scripts with their default options: read from the scripts, never run.

A value counts if it is certain: set by a script under no condition, or under one that known values decide; an option's
default; the version in `project()`. What an unread command may set is unknown from there on, and so is what no script
sets, because CMake's own modules may set it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path, PurePath

from hipport.core.reading import read_or_nothing
from hipport.syntax.cmake_script import CMake, CMakeCommand

_REFERENCE = re.compile(r"\$\{([\w./+-]+)\}")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_FALSE = re.compile(r"(?i)|0|OFF|NO|FALSE|N|IGNORE|NOTFOUND|.*-NOTFOUND")
_TRUE = re.compile(r"(?i)ON|YES|TRUE|Y|[+-]?(?:\d+\.?\d*|\.\d+)")
#: Commands that set no variable.
_NO_EFFECT = frozenset(
    "cmake_minimum_required cmake_policy message add_library add_executable target_link_libraries link_libraries "
    "target_include_directories include_directories target_compile_definitions add_compile_definitions add_definitions "
    "target_compile_options add_compile_options target_compile_features target_sources set_target_properties "
    "set_source_files_properties set_property set_directory_properties install enable_testing add_test "
    "add_custom_target add_custom_command add_dependencies target_link_options link_directories enable_language "
    "target_link_directories source_group configure_file export generate_export_header mark_as_advanced "
    "include_guard".split()
)
_SETS_ABOVE = re.compile(r"(?i)\bset\s*\(\s*([\w.-]+)[^()]*\b(?:PARENT_SCOPE|CACHE)\b|\boption\s*\(\s*([\w.-]+)")
_BODIES = ("function", "macro", "foreach", "while")
_OPENS = {"if": "endif", **{name: f"end{name}" for name in _BODIES}}
#: The values on Linux, where HIP is compiled.
_SYSTEM = {"UNIX": "1", "WIN32": "", "MSVC": "", "APPLE": "", "MINGW": "", "CYGWIN": ""}
_MOST_FILES = 64


def is_true(value: str) -> bool | None:
    """Say whether `if()` takes a value for true; None if it would take it for the name of a variable."""
    return False if _FALSE.fullmatch(value) else True if _TRUE.fullmatch(value) else None


class Values:
    """The variables of scripts that are read one after the other; None stands for an unknown value.

    `configured` is called for each `configure_file`, with its arguments and whether it is certain to run.
    """

    def __init__(self, top: Path, binary: str, configured: Callable[[Sequence[str], bool], None]) -> None:
        self.top = top
        self.binary = binary
        self.known: dict[str, str | None] = {**_SYSTEM, "CMAKE_SOURCE_DIR": str(top), "CMAKE_BINARY_DIR": binary}
        # A ported script uses this variable.
        self.known["HIP_OR_CUDA"] = "HIP"
        self.cache: set[str] = set()
        self._configured = configured
        self._read: list[Path] = []

    def read(self, folder: Path) -> None:
        """Read the script of a folder."""
        below = posixpath.join(self.binary, *PurePath(folder).relative_to(self.top).parts)
        self.known |= {"CMAKE_CURRENT_SOURCE_DIR": str(folder), "CMAKE_CURRENT_BINARY_DIR": below}
        self.known.setdefault("PROJECT_SOURCE_DIR", str(folder))
        self.known.setdefault("PROJECT_BINARY_DIR", below)
        self._script(folder / "CMakeLists.txt")

    def expanded(self, text: str) -> str | None:
        """Return a text with its references replaced by values; None if one is unknown."""
        if "\\" in text:
            return None  # which backslashes CMake removes depends on their place
        for _ in range(8):
            names = _REFERENCE.findall(text)
            if not names:
                return None if "${" in text or "$ENV{" in text or "$CACHE{" in text else text
            if any(self.known.get(name) is None for name in names):
                return None
            text = _REFERENCE.sub(lambda match: self.known[match[1]] or "", text)
        return None

    def _script(self, path: Path) -> None:
        source = CMake(PurePath(path), read_or_nothing(path))
        if len(self._read) >= _MOST_FILES or path in self._read:
            return
        self._read.append(path)
        before = self.known.get("CMAKE_CURRENT_LIST_DIR")
        self.known["CMAKE_CURRENT_LIST_DIR"] = str(path.parent)
        if source.errors:
            self.known = dict.fromkeys(self.known)
        else:
            self._run(source, source.commands, True)
        self.known["CMAKE_CURRENT_LIST_DIR"] = before or str(path.parent)

    def _run(self, source: CMake, commands: Sequence[CMakeCommand], certain: bool) -> None:
        at = 0
        while at < len(commands):
            command = commands[at]
            if command.name in _OPENS:
                end = _end(commands, at)
                inside = commands[at + 1 : end]
                if command.name == "if":
                    self._branches(source, commands[at:end], certain)
                else:
                    self._forget(_set_in(source, inside))
                    for each in inside:
                        if each.name == "configure_file":
                            self._configured(_words(source, each), False)
                at = end
            else:
                self._command(source, command, certain)
            at += 1

    def _branches(self, source: CMake, commands: Sequence[CMakeCommand], certain: bool) -> None:
        """Read `if … elseif … else …`, as far as it is known which branch is taken."""
        parts: list[tuple[CMakeCommand, list[CMakeCommand]]] = []
        depth = 0
        for command in commands:
            depth += (command.name in _OPENS) - (command.name in _OPENS.values())
            if depth == 1 and command.name in ("if", "elseif", "else"):
                parts.append((command, []))
            else:
                parts[-1][1].append(command)
        for i, (head, body) in enumerate(parts):
            asked = True if head.name == "else" else self._asked(_words(source, head, quoted=True))
            if asked:
                self._run(source, body, certain)
                return
            if asked is None:
                left = [command for _, rest in parts[i:] for command in rest]
                for _, rest in parts[i:]:
                    self._run(source, rest, False)
                self._forget(_set_in(source, left))
                return

    def _asked(self, words: Sequence[str]) -> bool | None:
        """Say whether a condition holds; None if unknown."""
        if "(" in words or ("AND" in words and "OR" in words):
            return None
        for joint, decides in (("OR", True), ("AND", False)):
            if joint in words:
                at = words.index(joint)
                found = [self._asked(words[:at]), self._asked(words[at + 1 :])]
                return decides if decides in found else None if None in found else not decides
        if words[:1] == ["NOT"]:
            inner = self._asked(words[1:])
            return None if inner is None else not inner
        if len(words) == 1:
            return self._holds(words[0])
        if len(words) == 3 and words[1] in ("STREQUAL", "EQUAL", "VERSION_EQUAL"):
            one, other = self._value(words[0]), self._value(words[2])
            return None if one is None or other is None else one == other
        return None

    def _holds(self, word: str) -> bool | None:
        given = self.expanded(word.strip('"'))
        if given is None:
            return None
        constant = is_true(given)
        if constant is not None or word.startswith('"'):
            return bool(constant)
        value = self.known.get(given)
        # A variable whose text is not one of the false ones is true.
        return None if value is None else not _FALSE.fullmatch(value)

    def _value(self, word: str) -> str | None:
        if word.startswith('"') or "${" in word or not _NAME.fullmatch(word):
            return self.expanded(word.strip('"'))
        # A lone word may be a variable, or stand for itself.
        return self.known.get(word)

    def _command(self, source: CMake, command: CMakeCommand, certain: bool) -> None:
        words, name = _words(source, command), command.name
        if name == "set" and words:
            self._set(words)
        elif name == "unset" and words:
            self.known[words[0]] = None  # one in the cache may become visible
        elif name == "option" and words:
            self._cached(words[0], self.expanded(words[2] if len(words) > 2 else "OFF"))
        elif name == "project" and words:
            self._project(words)
        elif name == "list" and words[:1] == ["APPEND"] and len(words) > 1:
            before, added = self.known.get(words[1], ""), self.expanded(";".join(words[2:]))
            self.known[words[1]] = None if before is None or added is None else ";".join(filter(None, (before, added)))
        elif name == "configure_file":
            self._configured(words, certain)
        elif name == "include" and words:
            self._include(words[0])
        elif name == "add_subdirectory" and words:
            self._subdirectory(words[0])
        elif name == "find_package" and words:
            self._forget(each for each in self.known if each.upper().startswith(words[0].upper() + "_"))
        elif name not in _NO_EFFECT:
            # It sets variables that its arguments name.
            self._forget(word for word in words if _NAME.fullmatch(word))

    def _set(self, words: Sequence[str]) -> None:
        name, values = words[0], list(words[1:])
        if name.startswith("ENV{") or "${" in name:
            return
        if "PARENT_SCOPE" in values:
            self.known[name] = None
        elif "CACHE" in values:
            value = self.expanded(";".join(values[: values.index("CACHE")]))
            self._cached(name, None if "FORCE" in values and name in self.known else value)
        else:
            self.known[name] = self.expanded(";".join(values))

    def _cached(self, name: str, value: str | None) -> None:
        """Set a variable in the cache, unless it exists: whether it or a normal one is visible depends on policies."""
        if name in self.cache:
            return
        self.known[name] = value if name not in self.known else None
        self.cache.add(name)

    def _project(self, words: Sequence[str]) -> None:
        name = self.expanded(words[0])
        given = {key: value for key, value in pairwise(words) if key.isupper()}
        version = self.expanded(given.get("VERSION", ""))
        numbers = (version or "").split(".") + [""] * 4
        parts = dict(zip(("_MAJOR", "_MINOR", "_PATCH", "_TWEAK"), numbers, strict=False))
        said = {"VERSION": version, **{f"VERSION{part}": None if version is None else parts[part] for part in parts}}
        for key in ("DESCRIPTION", "HOMEPAGE_URL"):
            said[key] = self.expanded(given.get(key, ""))
        for key in ("SOURCE_DIR", "BINARY_DIR"):
            said[key] = self.known[f"CMAKE_CURRENT_{key}"]
        said["NAME"] = name
        topmost = "CMAKE_PROJECT_NAME" not in self.known
        for prefix in filter(None, ("PROJECT", name, "CMAKE_PROJECT" if topmost else "")):
            self.known |= {f"{prefix}_{key}": value for key, value in said.items()}

    def _include(self, word: str) -> None:
        named = self.expanded(word)
        if named is None:
            self.known = dict.fromkeys(self.known)  # it may set anything
            return
        if posixpath.basename(named) == "hipport.cmake":
            self.known.setdefault("USE_HIP", "ON")
            return
        here = Path(self.known["CMAKE_CURRENT_SOURCE_DIR"] or self.top)
        paths = (self.known.get("CMAKE_MODULE_PATH") or "").split(";")
        places = [here / named, *(Path(path) / f"{named}.cmake" for path in paths if path)]
        found = next((place for place in places if place.suffix == ".cmake" and place.is_file()), None)
        if found is not None and found.resolve().is_relative_to(self.top.resolve()):
            self._script(found)
        elif "/" in named or self.known.get("CMAKE_MODULE_PATH", "") is None:
            self.known = dict.fromkeys(self.known)

    def _subdirectory(self, word: str) -> None:
        """Forget the variables that a folder below may set for its parent, or in the cache."""
        named = self.expanded(word)
        here = Path(self.known["CMAKE_CURRENT_SOURCE_DIR"] or self.top)
        text = read_or_nothing(here / (named or ".") / "CMakeLists.txt").decode("utf-8", "replace") if named else ""
        self._forget(one or other for one, other in _SETS_ABOVE.findall(text))

    def _forget(self, names: Iterable[str]) -> None:
        self.known |= dict.fromkeys(list(names))


def _words(source: CMake, command: CMakeCommand, *, quoted: bool = False) -> list[str]:
    """Return the arguments of a command; with their quotes if `quoted`."""
    return [
        source[each.span if quoted and each.kind == "quoted" else each.content].decode("utf-8", "replace")
        for each in command.arguments
    ]


def _end(commands: Sequence[CMakeCommand], at: int) -> int:
    """Return where the block that begins at a command ends."""
    depth = 0
    for i in range(at, len(commands)):
        depth += (commands[i].name in _OPENS) - (commands[i].name in _OPENS.values())
        if not depth:
            return i
    return len(commands)


def _set_in(source: CMake, commands: Iterable[CMakeCommand]) -> set[str]:
    """Return the names that commands may set."""
    return {
        word
        for command in commands
        if command.name not in _NO_EFFECT
        for word in _words(source, command)
        if _NAME.fullmatch(word)
    }
