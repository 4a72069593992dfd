# SPDX-License-Identifier: Apache-2.0
"""Record the inputs of a precompiled header beside it, so that a change of one rebuilds it.

Even an installation into the same place changes an input: clang rejects a precompiled header whose inputs have other
times, and g++ uses it unchecked. Precompiling takes longer than reading, so it is done only for enough units.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

#: Makes a compiler list its input files, including system headers.
LISTING = ("-MD", "-MT", "out", "-MF")


def files_listed(listing: Path, folder: Path) -> list[str]:
    """Return the files in a compiler's list (`-MD`), sorted; relative paths are below `folder`."""
    words = re.split(r"(?<!\\)\s+", listing.read_text(errors="surrogateescape").replace("\\\n", " "))
    return sorted({os.path.normpath(folder / word.replace("\\ ", " ")) for word in words[1:] if word})


def note_sources(made: Path, listing: Path, folder: Path) -> None:
    """Record the size and the time of each input of `made`, from the compiler's list, which is deleted."""
    states = {name: _state(name) for name in files_listed(listing, folder)}
    new = made.with_suffix(f".{os.getpid()}.json")
    new.write_text(json.dumps(states))
    new.replace(_note(made))
    listing.unlink()


def is_current(made: Path) -> bool:
    """Whether `made` exists, and all its inputs are unchanged."""
    try:
        states = json.loads(_note(made).read_text())
    except (OSError, ValueError):
        return False
    return made.exists() and all(_state(name) == tuple(state or ()) for name, state in states.items())


def _note(made: Path) -> Path:
    return made.with_name(f"{made.name}.json")


def _state(name: str) -> tuple[int, ...]:
    """Size in bytes and time of the last change in nanoseconds; empty if the file does not exist."""
    try:
        found = Path(name).stat()
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns


def is_wanted(folder: Path, units: int, enough: int) -> bool:
    """Count `units` that want a precompiled header in a folder, which is locked; return whether they are `enough`."""
    counted = folder / "wanted"
    with counted.open("ab") as file:
        file.write(b"." * units)
    return counted.stat().st_size >= enough
