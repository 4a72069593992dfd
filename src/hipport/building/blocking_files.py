# SPDX-License-Identifier: Apache-2.0
"""Pipes and devices that a compiler would open, and wait for without end.

A compiler opens what a source, its headers and its flags name, wherever that lies. Conditions are not evaluated, so
some of these files would not be opened; that a pipe stands where a header is looked for is a fault in any case.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath

from hipport.building.units import Unit
from hipport.core.placing import Refused
from hipport.core.reading import read_or_nothing
from hipport.core.tables import Words
from hipport.syntax.cpp import Cpp
from hipport.syntax.lexing import SPLICE

_LISTS = Words.read(Path(__file__).with_suffix(".toml"))
_SPLICES = re.compile(SPLICE)
_COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
#: A `#` in its three spellings.
_HASH = rb"(?:\#|%:|\?\?=)[ \t]*"
#: What makes a compiler open a file, up to the end of the line.
_OPENS = _LISTS.compile(rb"(?:" + _HASH + rb"(?&opens)|\b(?&asks)|\.(?P<inserts>(?&inserts)))\b(?P<what>[^\n]*)")
#: A path as it is written there.
_NAME = re.compile(rb"\"(?P<quoted>[^\"\n]+)\"|<(?P<angled>[^>\n]+)>")
_DEFINED = _LISTS.compile(_HASH + rb"(?&defines)\b(?P<what>[^\n]*)")
#: Anything that a macro may turn into a path.
_WORD = re.compile(rb"[\w.+@~/-]+")
_BEFORE_PATH = _LISTS.compile(r"(?&before_path)|[^=,]*[=,]")
_PATHS = _LISTS["paths"].split()
_INSTALLED = frozenset(_LISTS["installed"].split())
_SYSTEM = _LISTS["system"].split()


def refuse_blocking(units: Iterable[Unit], env: Mapping[str, str], toolchain: Path) -> None:
    """Raise Refused if the compiler of a unit would open a pipe or a device.

    `env` is the environment of the compilers; headers of the `toolchain` are not read.
    """
    found: dict[Path, None] = {}
    groups: dict[tuple[Path, tuple[str, ...]], list[Path]] = {}
    for unit in units:
        groups.setdefault((unit.folder, unit.flags), []).append(unit.source)
    for (folder, flags), sources in groups.items():
        found.update(dict.fromkeys(_Opened(folder, flags, env, toolchain).blocking(sources)))
    if found:
        raise Refused([blocks(place) for place in sorted(found)])


def blocks(place: Path) -> str:
    """Return what to say of a file that a compiler would wait for."""
    return f"{place}: not a regular file; a compiler would wait for it: remove it"


class _Opened:
    """The files that a compiler opens which runs in a folder with some flags."""

    def __init__(self, folder: Path, flags: Sequence[str], env: Mapping[str, str], toolchain: Path) -> None:
        self._installed = tuple(each + os.sep for each in (*_SYSTEM, str(toolchain)))
        self._flags = flags
        self._real = lru_cache(maxsize=1 << 14)(os.path.realpath)
        named = [name for flag in flags for name in _paths(flag)]
        listed = [name for variable in _PATHS for name in env.get(variable, "").split(os.pathsep)]
        # What `-include` names is looked for in the compiler's folder first.
        places = (folder, *(self._joined(folder, name) for name in (*named, *listed) if name))
        self._folders = tuple(dict.fromkeys(place for place in places if _kind(place) == "folder"))
        self._named = tuple(dict.fromkeys(place for name in named for place in self._places(None, name)))

    def blocking(self, sources: Iterable[Path]) -> Iterator[Path]:
        """Yield what the compiler would wait for."""
        queue = [*sources, *self._named]
        seen = set(queue)
        folders = dict.fromkeys(self._folders)
        defined = _words("\n".join(self._flags).encode("utf-8", "surrogateescape"))
        computed = False
        while queue:
            path = queue.pop()
            kind = _kind(path)
            if kind == "other":
                yield path
            if kind != "file" or self._is_installed(path):
                continue
            folders[path.parent] = None
            opens = _opens(str(path), path.stat().st_mtime_ns)
            computed = computed or opens.computed
            defined |= opens.defined
            new = {place for name in opens.names for place in self._places(path.parent, name)} - seen
            seen |= new
            queue += new
        if computed:
            places = {self._joined(folder, name) for folder in folders for name in defined}
            yield from (place for place in places - seen if _kind(place) == "other")

    def _joined(self, folder: Path, name: str) -> Path:
        """Return the place of a name, spelled in one way only; a link at its end stays."""
        name = name.replace("\0", "")
        above, _, last = (name if name.startswith(os.sep) else f"{folder}{os.sep}{name}").rpartition(os.sep)
        return Path(self._real(above or os.sep), last)

    def _places(self, folder: Path | None, name: str) -> Iterator[Path]:
        """Yield the files that a name may mean: in any of the folders, because conditions may choose another one."""
        for each in (*((folder,) if folder is not None else ()), *self._folders):
            place = self._joined(each, name)
            if _kind(place) in ("file", "other"):
                yield place

    def _is_installed(self, path: Path) -> bool:
        return str(path).startswith(self._installed) or not _INSTALLED.isdisjoint(path.parts)


class _Opens:
    """What a source makes the compiler open: names; and whether macros name more, with the words of all macros."""

    def __init__(self, path: Path) -> None:
        text = read_or_nothing(path)
        self.names = {each.path for each in Cpp(PurePath(path), text).includes}
        self.computed = False
        self.defined: set[str] = set()
        text = _SPLICES.sub(b"", text)
        # Comments count as well, because text that looks like one may be in a string.
        for each in dict.fromkeys((text, _COMMENT.sub(b" ", text))):
            self._look_into(each)

    def _look_into(self, text: bytes) -> None:
        for match in _OPENS.finditer(text):
            what = match["what"]
            # An assembler's file stands in a string already.
            named = [each["quoted"] or each["angled"] for each in _NAME.finditer(what.replace(b"\\", b""))]
            self.computed = self.computed or not named
            self.names |= {_text(name) for name in named} | (_words(what) if match["inserts"] else set())
            self.defined |= _words(what)
        for match in _DEFINED.finditer(text):
            self.defined |= _words(match["what"])


@lru_cache(maxsize=1 << 12)
def _opens(path: str, changed: int) -> _Opens:
    """Return what a file makes the compiler open. `changed` is when the file was changed."""
    return _Opens(Path(path))


def _paths(flag: str) -> Iterator[str]:
    """Yield what may be a path in a flag: all of it, or what stands behind an option."""
    yield flag
    while match := _BEFORE_PATH.match(flag):
        flag = flag[match.end() :]
        yield flag
    yield from re.split("[=,]", flag)


def _words(text: bytes) -> set[str]:
    quoted = {each["quoted"] or each["angled"] for each in _NAME.finditer(text.replace(b"\\", b""))}
    return {_text(word) for word in {*quoted, *_WORD.findall(text)}}


def _text(name: bytes) -> str:
    return name.strip().decode("utf-8", "surrogateescape")


def _kind(path: Path) -> str:
    """Return `file`, `folder`, `other` for pipes and devices, or an empty string if there is nothing.

    So it is for /dev/null, at which nothing waits.
    """
    try:
        status = path.stat()
    except OSError:
        return ""
    mode = status.st_mode
    if stat.S_ISCHR(mode) and status.st_rdev == Path(os.devnull).stat().st_rdev:
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"
