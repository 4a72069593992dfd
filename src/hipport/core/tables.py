# SPDX-License-Identifier: Apache-2.0
"""Read the tables of knowledge that lie beside the passes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, AnyStr, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOMLDecodeError = tomllib.TOMLDecodeError
# The place of a list in a pattern, written as regular expressions with subroutines write a call of one.
_LIST = re.compile(r"\(\?&(\w+)\)")


def parse(text: str) -> dict[str, Any]:
    """Parse a text as TOML. Raises TOMLDecodeError."""
    return tomllib.loads(text)


def read(path: Path) -> dict[str, Any]:
    """Return the whole TOML table at `path`. Raises OSError and TOMLDecodeError."""
    with path.open("rb") as file:
        return tomllib.load(file)


def one_of(names: str | Iterable[str], rest: str = r"\w*") -> str:
    """Return a pattern for one of `names`; a string lists them separated by spaces. `*` in a name stands for `rest`.

    Longer names are tried before their prefixes.
    """
    each = names.split() if isinstance(names, str) else names
    return (
        f"(?:{'|'.join(re.escape(name).replace(chr(92) + '*', rest) for name in sorted(each, key=len, reverse=True))})"
    )


class Words:
    """Lists of names, and patterns with them: `(?&hosts)` in a pattern stands for one of the names in the list `hosts`.

    `lists` has names separated by spaces, as in `one_of`. A list that is not there is taken from `general`.
    """

    def __init__(self, lists: Mapping[str, str], general: Words | None = None) -> None:
        self._lists: dict[str, str] = {**(general._lists if general else {}), **lists}

    @classmethod
    def read(cls, path: Path, section: str = "words", general: Words | None = None) -> Words:
        """Return the lists in a section of the table at `path`. Raises the errors of `load`, and KeyError."""
        return cls(load(path)[section], general)

    def __getitem__(self, name: str) -> str:
        """Return the list `name`. Raises KeyError."""
        return self._lists[name]

    def composed(self, pattern: AnyStr) -> AnyStr:
        """Return `pattern` with the names of its lists. Raises KeyError."""
        if isinstance(pattern, bytes):
            return _LIST.sub(self._names, pattern.decode("latin-1")).encode("latin-1")
        return _LIST.sub(self._names, pattern)

    def compile(self, pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
        """Return the compiled `composed(pattern)`. Raises KeyError."""
        return re.compile(self.composed(pattern), flags)

    def _names(self, found: re.Match[str]) -> str:
        return one_of(self._lists[found[1]])


class LastChecked(NamedTuple):
    """When the rows of a table were last checked, and on which release of ROCm ("any" if that does not matter)."""

    date: date
    rocm: str


@cache
def load(path: Path) -> dict[str, Any]:
    """Return the TOML table at `path`, without its entry `checked`. The result is shared: do not change it.

    Raises OSError, TOMLDecodeError, and ValueError if that entry is invalid.
    """
    return _read(path)[0]


def checked(path: Path) -> LastChecked | None:
    """Return when the rows of the table at `path` were last checked, if it says so. Raises the errors of `load`."""
    return _read(path)[1]


@cache
def _read(path: Path) -> tuple[dict[str, Any], LastChecked | None]:
    table = read(path)
    said = table.pop("checked", None)
    return table, None if said is None else as_checked(said, path.name)


def as_checked(said: Any, where: str) -> LastChecked:
    """Parse an entry such as `{ date = 2026-11-26, rocm = "7.2" }`. Raises ValueError."""
    if not isinstance(said, dict) or set(said) != {"date", "rocm"}:
        raise ValueError(f'{where}: `checked` needs a date and a release, {{ date = 2026-11-26, rocm = "7.2" }}')
    if type(said["date"]) is not date:
        raise ValueError(f"{where}: `checked` has no date: {said['date']!r}")
    if not isinstance(said["rocm"], str) or not re.fullmatch(r"\d+\.\d+|any", said["rocm"]):
        raise ValueError(f"{where}: {said['rocm']!r} is not a ROCm release; for example: 7.2")
    return LastChecked(said["date"], said["rocm"])
