# SPDX-License-Identifier: Apache-2.0
"""Read the tables that passes keep beside them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOMLDecodeError = tomllib.TOMLDecodeError


def parse(text: str) -> dict[str, Any]:
    """Return the TOML table that `text` is. Raises TOMLDecodeError."""
    return tomllib.loads(text)


def read(path: Path) -> dict[str, Any]:
    """Return the TOML table at `path`, all of it. Raises OSError and TOMLDecodeError."""
    with path.open("rb") as file:
        return tomllib.load(file)


def one_of(names: str | Iterable[str], rest: str = r"\w*") -> str:
    """Return a pattern for one of `names`, which a string has between spaces; `*` in a name stands for `rest`.

    Of names that begin alike the longer one is tried first.
    """
    each = names.split() if isinstance(names, str) else names
    return (
        f"(?:{'|'.join(re.escape(name).replace(chr(92) + '*', rest) for name in sorted(each, key=len, reverse=True))})"
    )


class LastChecked(NamedTuple):
    """When the rows of a table were last seen to hold, and on which release of ROCm ("any" where it matters not)."""

    date: date
    rocm: str


@cache
def load(path: Path) -> dict[str, Any]:
    """Return the TOML table at `path`, without what says when it was checked. The result is shared: do not change it.

    Raises OSError, TOMLDecodeError, and ValueError where it says badly when it was checked.
    """
    return _read(path)[0]


def checked(path: Path) -> LastChecked | None:
    """Return when the rows of the table at `path` were last seen to hold, if it says so. Raises as `load`."""
    return _read(path)[1]


@cache
def _read(path: Path) -> tuple[dict[str, Any], LastChecked | None]:
    table = read(path)
    said = table.pop("checked", None)
    return table, None if said is None else as_checked(said, path.name)


def as_checked(said: Any, where: str) -> LastChecked:
    """Return what is said of when something was checked, `{ date = 2026-11-26, rocm = "7.2" }`. Raises ValueError."""
    if not isinstance(said, dict) or set(said) != {"date", "rocm"}:
        raise ValueError(f'{where}: `checked` has a date and a release, {{ date = 2026-11-26, rocm = "7.2" }}')
    if type(said["date"]) is not date:
        raise ValueError(f"{where}: `checked` has no date: {said['date']!r}")
    if not isinstance(said["rocm"], str) or not re.fullmatch(r"\d+\.\d+|any", said["rocm"]):
        raise ValueError(f"{where}: {said['rocm']!r} is not a ROCm release; for example: 7.2")
    return LastChecked(said["date"], said["rocm"])
