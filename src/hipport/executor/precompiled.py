# SPDX-License-Identifier: Apache-2.0
"""Record the inputs of a precompiled header beside it, so that a change of one rebuilds it.

An installation into the same place is enough for that: clang refuses what it precompiled from files with other times,
and g++ uses it without a look. To precompile takes longer than to read: what too few units want is not precompiled.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

#: How a compiler is asked for the list of files, system headers among them.
LISTING = ("-MD", "-MT", "out", "-MF")


def files_listed(listing: Path, folder: Path) -> list[str]:
    """Return the files of a compiler's list (`-MD`), sorted; relative ones are below `folder`."""
    words = re.split(r"(?<!\\)\s+", listing.read_text(errors="surrogateescape").replace("\\\n", " "))
    return sorted({os.path.normpath(folder / word.replace("\\ ", " ")) for word in words[1:] if word})


def note_sources(made: Path, listing: Path, folder: Path) -> None:
    """Note the size and the time of each file that `made` is of, by the compiler's list, which is taken away."""
    states = {name: _state(name) for name in files_listed(listing, folder)}
    new = made.with_suffix(f".{os.getpid()}.json")
    new.write_text(json.dumps(states))
    new.replace(_note(made))
    listing.unlink()


def is_current(made: Path) -> bool:
    """Whether `made` is there, and every file that it was made of is as it was then."""
    try:
        states = json.loads(_note(made).read_text())
    except (OSError, ValueError):
        return False
    return made.exists() and all(_state(name) == tuple(state or ()) for name, state in states.items())


def _note(made: Path) -> Path:
    return made.with_name(f"{made.name}.json")


def _state(name: str) -> tuple[int, ...]:
    """Size in bytes and time of the last change in nanoseconds; empty for a file that is not there."""
    try:
        found = Path(name).stat()
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns


def is_wanted(folder: Path, units: int, enough: int) -> bool:
    """Count `units` that want what is precompiled in a folder, which is locked; return whether they are `enough`."""
    counted = folder / "wanted"
    with counted.open("ab") as file:
        file.write(b"." * units)
    return counted.stat().st_size >= enough
