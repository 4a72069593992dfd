# SPDX-License-Identifier: Apache-2.0
"""Read files of others: regular ones only, without blocking, and up to a limit.

A tree may have a pipe, a device or a link to one in the place of any file. Every file that hipport did not make is
read here; a test enforces that.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

#: Larger files, in bytes, are data.
LARGEST = 1 << 28
#: Larger files, in bytes, are not settings or manifests.
SETTINGS = 1 << 22


def read(path: str | Path, largest: int | None = None, *, inside: int | None = None) -> bytes:
    """Return the bytes of a regular file.

    With `inside`, the descriptor of a folder, `path` is a name in it, and no link is followed.
    Raises OSError for anything else, for a file of more than `largest` bytes (LARGEST by default), and for an invalid
    path.
    """
    largest = LARGEST if largest is None else largest
    descriptor = opened(path, inside)
    try:
        # One byte more than the limit, so that a file that grows, or reports size 0, is noticed.
        text = read_open(descriptor, largest + 1)
    finally:
        os.close(descriptor)
    if len(text) > largest:
        raise OSError(errno.EFBIG, f"larger than {largest >> 20} MB", str(path))
    return text


def beginning(path: str | Path, size: int) -> bytes:
    """Return the first bytes of a regular file; empty if it cannot be read."""
    try:
        descriptor = opened(path, None)
    except OSError:
        return b""
    try:
        return os.read(descriptor, size)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def read_or_nothing(path: str | Path, largest: int | None = None) -> bytes:
    """Return the bytes of a regular file; empty if it cannot be read."""
    try:
        return read(path, largest)
    except OSError:
        return b""


def is_file(path: str | Path) -> bool:
    """Whether there is a regular file. False, and no error, where the user has no access, as in folders of PATH."""
    try:
        return stat.S_ISREG(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a regular file. Raises OSError as `read` does."""
    return hashlib.sha256(read(path)).hexdigest()


def said(error: OSError) -> str:
    """Return the reason of an error, to be appended to a path."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def opened(path: str | Path, inside: int | None = None) -> int:
    """Open a regular file for reading; `inside` is as for `read`. Raises OSError for anything else, never blocks."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        # Checked before opening, because opening a device may have an effect.
        _check(os.stat(path, dir_fd=inside, follow_symlinks=inside is None), path)
        descriptor = os.open(path, flags | (os.O_NOFOLLOW if inside is not None else 0), dir_fd=inside)
    except ValueError as error:  # a NUL, or text that the system cannot encode
        raise OSError(errno.EINVAL, "such a path cannot exist", ascii(str(path))) from error
    try:
        _check(os.fstat(descriptor), path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(status: os.stat_result, path: str | Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_open(descriptor: int, most: int = 1 << 62) -> bytes:
    """Return the bytes of an open file, at most `most` of them."""
    parts = []
    size = os.fstat(descriptor).st_size + 1
    while most > 0 and (part := os.read(descriptor, min(most, size))):
        parts.append(part)
        most -= len(part)
        size = 1 << 20
    return b"".join(parts)
