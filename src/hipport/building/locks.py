# SPDX-License-Identifier: Apache-2.0
"""Locks of folders in the cache, which other processes may delete while one waits for them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of an entry, which is created if necessary, and mark the entry as used."""
    lock = -1
    while lock < 0:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder / ".lock", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except (FileExistsError, FileNotFoundError):
            # It existed, or was created, and was deleted meanwhile.
            if folder.is_symlink() or folder.is_file():
                raise
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        # After waiting for the lock of a deleted entry, a process holds a lock of nothing.
        if not _is(folder / ".lock", lock):
            os.close(lock)
            lock = -1
    try:
        yield
    finally:
        os.close(lock)


def _is(path: Path, file: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False
