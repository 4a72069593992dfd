# SPDX-License-Identifier: Apache-2.0
"""A repository's settings for its port: `hipport.toml`, or `[tool.hipport]` in pyproject.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hipport.core.finding import Certainty
from hipport.core.reading import SETTINGS, said
from hipport.core.reading import read as read_bytes
from hipport.core.tables import TOMLDecodeError, parse
from hipport.program.project import Target

_SETTINGS = ("target", "rocm", "warp", "native", "device_agnostic", "accept", "exclude", "rules")

#: The longest path on Linux, in characters; a longer pattern matches none.
_LONGEST = 4096


class BadConfig(ValueError):
    """An unknown setting, or an invalid value. The message says where it is and what to write."""


@dataclass(frozen=True)
class Config:
    """The settings, with their defaults."""

    target: Target = field(default_factory=Target)
    accept: Certainty = Certainty.REVIEW
    exclude: tuple[str, ...] = ()  #: patterns of paths to leave alone, as in .gitignore, relative to the file
    rules: tuple[Path, ...] = ()  #: files with rows for the tables of passes, named by the configuration
    given: tuple[Path, ...] = ()  #: such files named on the command line
    path: Path | None = None  #: the file that the settings come from


def read(start: Path) -> Config:
    """Return the settings of the nearest file at or above the folder `start`. Raises BadConfig."""
    for folder in (start, *start.parents):
        for name in ("hipport.toml", "pyproject.toml"):
            path = folder / name
            if not os.path.lexists(path):
                continue
            try:
                table = _table(path)
            except BadConfig:
                if name == "pyproject.toml":
                    continue  # Left to the tools that read it; it may be a template.
                raise
            if name == "pyproject.toml":
                table = table.get("tool", {}).get("hipport")
                if table is None:
                    continue
            return _config(table, path)
        if (folder / ".git").exists():
            break
    return Config()


def read_rules(paths: Iterable[Path]) -> dict[str, Any]:
    """Return the rows in files of rules, by the name of the pass, in the order of the files. Raises BadConfig."""
    rules: dict[str, Any] = {}
    for path in paths:
        for name, tables in _table(path).items():
            if not isinstance(tables, dict) or not all(isinstance(rows, list) for rows in tables.values()):
                raise BadConfig(f"{path}: {name}: rules are rows of a pass's tables: [[requirements.family]]")
            of_pass = rules.setdefault(name, {})
            for kind, rows in tables.items():
                of_pass[kind] = [*of_pass.get(kind, []), *rows]
    return rules


def parse_archs(text: str) -> tuple[str, ...]:
    """Split `gfx942,gfx1100` or `gfx942;gfx1100`."""
    return tuple(arch for arch in text.replace(";", ",").replace(" ", "").split(",") if arch)


def parse_rocm(text: str) -> tuple[int, int]:
    """Return (major, minor) of `6.4` or `6.4.3`. Raises ValueError."""
    parts = text.split(".")
    if len(parts) not in (2, 3) or not all(re.fullmatch("[0-9]{1,4}", part) for part in parts):
        raise ValueError(f"{text[:40]!r} is not a ROCm release; for example: 6.4")
    return int(parts[0]), int(parts[1])


def parse_accept(text: str) -> Certainty:
    """Return the certainty up to which changes are made. Raises ValueError."""
    try:
        return {"safe": Certainty.SAFE, "review": Certainty.REVIEW}[text]
    except KeyError:
        raise ValueError(f"{text!r} cannot be accepted; there are: safe, review") from None


def _table(path: Path) -> dict[str, Any]:
    try:
        return parse(read_bytes(path, SETTINGS).decode("utf-8-sig"))
    except OSError as error:
        raise BadConfig(f"{path}: {said(error)}") from error
    except (TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: {error}") from error
    except RecursionError:
        raise BadConfig(f"{path}: its tables are nested too deeply to be read; make them flatter") from None


def _config(table: Any, path: Path) -> Config:
    config = Config(path=path)
    target = config.target
    for key, value in table.items():
        try:
            if key == "target":
                archs = parse_archs(value) if isinstance(value, str) else tuple(_strings(value))
                target = replace(target, archs=archs)
            elif key == "rocm":
                target = replace(target, rocm=parse_rocm(str(value)))
            elif key == "warp":
                target = replace(target, warp=value)
            elif key == "native":
                target = replace(target, native=tuple(_strings(value)))
            elif key == "device_agnostic":
                if not isinstance(value, bool):
                    raise ValueError("must be true or false")
                target = replace(target, device_agnostic=value)
            elif key == "accept":
                config = replace(config, accept=parse_accept(value))
            elif key == "exclude":
                config = replace(config, exclude=tuple(_strings(value)))
            elif key == "rules":
                names = _strings(value)
                if impossible := next((name for name in names if "\0" in name), None):
                    raise ValueError(f"{impossible!r}: such a path cannot exist")
                config = replace(config, rules=tuple(path.parent / name for name in names))
            else:
                raise ValueError(f"unknown setting; known are: {', '.join(_SETTINGS)}")
        except (TypeError, ValueError) as error:
            raise BadConfig(f"{path}: {key}: {error}") from error
    return replace(config, target=target)


def _strings(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError('must be a list of strings; for example: ["third_party/"]')
    if any(len(each) > _LONGEST for each in value):
        raise ValueError(f"one of the strings has more than {_LONGEST} characters")
    return value
