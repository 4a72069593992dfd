# SPDX-License-Identifier: Apache-2.0
"""The executor's files in the user's cache, and the limit of their size.

An entry is a folder that is created once and reused: an object, a program, a prepared tree, a precompiled header, a
library. Its `.lock` or `states.json` is touched at each use. The least recently used entries are deleted first.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

#: The size limit in bytes, unless the environment sets another.
LIMIT = 4 << 30
#: The environment variable for another limit, in megabytes.
VARIABLE = "HIPPORT_CACHE_MB"
#: Entries used within these seconds stay, because they may be about to be linked or run.
_IN_USE = 3600.0
#: Seconds between two scans of the whole folder.
_PAUSE = 600.0
_ENTRIES = ("objects/*/*", "programs/*/*", "trees/*", "precompiled/*", "torch/*", "runtime/*", "math/*", "helpers/*")
_MARKS = (".lock", "states.json")


def used(folder: Path) -> None:
    """Mark an entry as used now."""
    for mark in _MARKS:
        with suppress(OSError):
            os.utime(folder / mark)


def limit(env: Mapping[str, str]) -> int:
    """Return the size limit in bytes. Raises ValueError if the environment variable is not a number."""
    said = env.get(VARIABLE)
    if said is None:
        return LIMIT
    if not said.isdigit():
        raise ValueError(f"{VARIABLE} is {said!r}; it must be a number of megabytes")
    return int(said) << 20


def prune(kept: Path, most: int, *, now: float | None = None, pause: float = _PAUSE) -> list[Path]:
    """Delete the least recently used entries below `kept`, until at most `most` bytes are left.

    Scans only if no process has for `pause` seconds. Entries used within the hour stay. Other processes may use,
    create and delete entries meanwhile. Returns the deleted entries.
    """
    now = time.time() if now is None else now
    mark = kept / ".pruned"
    with suppress(OSError):
        if now - mark.stat().st_mtime < pause:
            return []
    kept.mkdir(parents=True, exist_ok=True)
    mark.touch()
    entries = [(_last_use(entry), _size(entry), entry) for pattern in _ENTRIES for entry in kept.glob(pattern)]
    total = sum(size for _, size, _ in entries)
    gone = []
    for last, size, entry in sorted(entries):
        if total <= most or now - last < _IN_USE:
            break
        if _take(entry, last):
            gone.append(entry)
            total -= size
    return gone


def _last_use(entry: Path) -> float:
    times = []
    for path in (entry, *(entry / mark for mark in _MARKS)):
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times, default=0.0)


def _size(entry: Path) -> int:
    total = 0
    for folder, _, files in os.walk(entry):
        for name in files:
            with suppress(OSError):
                total += Path(folder, name).lstat().st_size
    return total


def _take(entry: Path, last: float) -> bool:
    """Delete an entry, unless a process holds its lock or has used it since."""
    try:
        if _last_use(entry) > last:
            return False
        lock = os.open(entry / ".lock", os.O_RDONLY | os.O_CREAT, 0o666)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another process may have deleted the entry that was opened, and a third one holds the lock of a new one.
        if not os.path.samestat(os.fstat(lock), (entry / ".lock").stat()):
            return False
        # Renamed first, so that other processes find either the whole entry or none.
        going = entry.with_name(f".{entry.name}.{os.getpid()}")
        entry.rename(going)
    except OSError:
        return False
    finally:
        os.close(lock)
    shutil.rmtree(going, ignore_errors=True)
    return True
