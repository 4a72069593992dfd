# SPDX-License-Identifier: Apache-2.0
"""Headers that CMake generates from templates by `configure_file`, generated from known values without CMake."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from hipport.building.cmake_values import Values, is_true
from hipport.core.reading import read_or_nothing
from hipport.syntax.cpp import Cpp

_AT = re.compile(r"@([\w./+-]+)@")
_EITHER = re.compile(r"@([\w./+-]+)@|\$\{([\w./+-]+)\}")
_DEFINE = re.compile(
    r"(?P<begin>[ \t]*#[ \t]*)cmakedefine(?P<number>01)?[ \t]+(?P<name>[A-Za-z_0-9]+)(?P<rest>[^\r\n]*)"
)
#: Stands for CMake's build folder.
_BUILD = "/<build>"


@dataclass(frozen=True)
class Header:
    """A header, by its path in the build folder: its text, or the variables that are unknown."""

    path: str
    text: str = ""
    unknown: tuple[str, ...] = ()
    #: Whether it is certainly generated.
    certain: bool = True


def headers(folders: Sequence[Path]) -> list[Header]:
    """Return the headers that the scripts of `folders`, the outermost first, generate from templates in the tree."""
    found: dict[str, Header] = {}
    if not folders:
        return []
    top = folders[0]

    def configured(words: Sequence[str], certain: bool) -> None:
        given, to = (values.expanded(word) for word in (*words, "", "")[:2])
        here, there = values.known["CMAKE_CURRENT_SOURCE_DIR"], values.known["CMAKE_CURRENT_BINARY_DIR"]
        if not given or not to or here is None or there is None:
            return
        template = Path(here, given)
        path = posixpath.normpath(posixpath.join(there, to))
        text = read_or_nothing(template) if template.resolve().is_relative_to(top.resolve()) else b""
        if not text or "COPYONLY" in words:
            found[path] = Header(path, text.decode("utf-8", "surrogateescape"), () if text else (given,), certain)
            return
        found[path] = _filled(path, text.decode("utf-8", "surrogateescape"), words, values, certain)

    values = Values(top, _BUILD, configured)
    for folder in folders:
        values.read(folder)
    return list(found.values())


def _filled(path: str, text: str, words: Sequence[str], values: Values, certain: bool) -> Header:
    """Replace variables by their values, as CMake does."""
    unknown: dict[str, None] = {}
    pattern = _AT if "@ONLY" in words else _EITHER

    def value(name: str) -> str:
        known = values.known.get(name)
        if known is None or _BUILD in known:
            unknown[name] = None
            return ""
        return known

    def put(match: re.Match[str]) -> str:
        known = value(match[1] or match[match.lastindex or 1])
        return known.replace('"', '\\"') if "ESCAPE_QUOTES" in words else known

    def line(match: re.Match[str]) -> str:
        known = value(match["name"])
        true = bool(known) and is_true(known) is not False
        if match["number"]:
            return f"{match['begin']}define {match['name']}{pattern.sub(put, match['rest'])} {int(true)}"
        if not true:
            return f"/* #undef {match['name']} */"
        return f"{match['begin']}define {match['name']}{pattern.sub(put, match['rest'])}"

    made = []
    for each in text.splitlines(keepends=True):
        define = _DEFINE.match(each)
        made.append(line(define) + each[define.end() :] if define is not None else pattern.sub(put, each))
    return Header(path, "".join(made), tuple(unknown), certain)


def given(folders: Sequence[Path], wanted: Iterable[str], kept: Path) -> tuple[Path | None, dict[str, str]]:
    """Generate the headers that are `wanted`, by the paths in their includes, as far as their values are known.

    Return the folder below `kept` that contains them, and for each that cannot be generated, the reason.
    """
    made = headers(folders)
    texts: dict[str, str] = {}
    left: dict[str, str] = {}
    queue = list(wanted)
    while queue:
        path = queue.pop()
        inside = not path.startswith("/") and ".." not in path.split("/")
        found = [each for each in made if inside and each.path.endswith(f"/{path}")]
        if len(found) != 1:
            left[path] = "CMake generates it, and hipport does not run CMake"
        elif found[0].unknown:
            names = ", ".join(found[0].unknown[:4]) + " …" * (len(found[0].unknown) > 4)
            left[path] = f"CMake generates it, and hipport does not run CMake: {names} is not known"
        elif not found[0].certain:
            left[path] = "CMake generates it under a condition that is not known, and hipport does not run CMake"
        else:
            texts[path] = found[0].text
            inner = Cpp(PurePath(path), found[0].text.encode("utf-8", "surrogateescape")).includes
            names_of = {posixpath.basename(each.path) for each in made}
            queue += [
                each.path
                for each in inner
                if posixpath.basename(each.path) in names_of and each.path not in texts.keys() | left.keys()
            ]
    return (_put(kept, texts) if texts else None), left


def _put(folder: Path, wanted: dict[str, str]) -> Path:
    """Write headers below a folder of hipport, under the paths by which they are included; return the folder."""
    named = hashlib.sha256(repr(sorted(wanted.items())).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    place = folder / named
    for path, text in wanted.items():
        file = place / path
        data = text.encode("utf-8", "surrogateescape")
        if read_or_nothing(file) != data:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return place
