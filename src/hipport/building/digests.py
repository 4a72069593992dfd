# SPDX-License-Identifier: Apache-2.0
"""Hashes of the inputs of cached results, and a cache of hashes by file."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hipport.core.reading import digest, read, said


def digest_of(*what: object) -> str:
    """Return a hash of values, from their JSON form."""
    return hashlib.sha256(json.dumps(what, default=str).encode()).hexdigest()


class Digests:
    """The hashes of files, each of which is read once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return the hash of a file, "" if it cannot be read."""
        if path not in self._known:
            try:
                self._known[path] = digest(path)
            except OSError:
                self._known[path] = ""
        return self._known[path]

    def all_of(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the hashes of files by their paths."""
        return {path: self.of(path) for path in paths}

    def are(self, known: Mapping[str, str]) -> bool:
        """Whether files still have the known hashes."""
        return all(self.of(path) == digest for path, digest in known.items())


def hash_tree(folders: Iterable[Path]) -> str:
    """Return a hash of all files below the folders, with their names."""
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                total.update(str(path.relative_to(folder)).encode() + b"\0" + read(path) + b"\0")
    return total.hexdigest()


def load_states(path: Path) -> list[dict[str, Any]]:
    """Return the states saved in a file; empty if there is none."""
    try:
        states: list[dict[str, Any]] = json.loads(zlib.decompress(path.read_bytes()))
    except (OSError, ValueError, zlib.error):
        return []
    return states


def save_states(path: Path, states: list[dict[str, Any]]) -> None:
    """Save `states` to a file atomically, because other processes may read it. Raises OSError, and leaves nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        made = Path(file.name)
        try:
            file.write(zlib.compress(json.dumps(states).encode()))
            file.flush()
            made.replace(path)
        except OSError as error:
            made.unlink(missing_ok=True)
            raise OSError(error.errno, error.strerror, str(path)) from error


def keep_states(path: Path, states: list[dict[str, Any]]) -> str:
    """Save `states` if that is possible, as on a full disk it is not. Return the reason why not, or an empty string."""
    try:
        save_states(path, states)
    except OSError as error:
        return f"{error.filename or path}: {said(error)}"
    return ""
