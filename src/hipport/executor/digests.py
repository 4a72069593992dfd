# SPDX-License-Identifier: Apache-2.0
"""Of what the things that are kept were made, as hashes, and what is remembered of them."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hipport.core.reading import digest, read

_PASSES = frozenset(("device_assembly", "ballots", "launches", "loops", "prepare", "shared"))


def digest_of(*what: object) -> str:
    """Return a hash of values, by what JSON makes of them."""
    return hashlib.sha256(json.dumps(what, default=str).encode()).hexdigest()


def hash_of(path: str, known: dict[str, str]) -> str:
    """Return the hash of a file, "" if it cannot be read; `known` are those that were asked for."""
    if path not in known:
        try:
            known[path] = digest(path)
        except OSError:
            known[path] = ""
    return known[path]


def hash_tree(folders: Iterable[Path]) -> str:
    """Return a hash of all files below the folders, with their names."""
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                total.update(str(path.relative_to(folder)).encode() + b"\0" + read(path) + b"\0")
    return total.hexdigest()


def rewriter() -> list[str]:
    """Return the hashes of what the text of a prepared file depends on, besides the file."""
    files = sorted(path for path in Path(__file__).parent.glob("*.py") if path.stem in _PASSES)
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]


def load_states(path: Path) -> list[dict[str, Any]]:
    """Return what is remembered in a file, nothing if there is none."""
    try:
        states: list[dict[str, Any]] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    return states


def save_states(path: Path, states: list[dict[str, Any]]) -> None:
    """Remember `states` in a file, whole: others may look at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        json.dump(states, file)
    Path(file.name).replace(path)
