# SPDX-License-Identifier: Apache-2.0
"""Recordings of an extension's calls: a .json, and beside it an .npz with the arrays."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hipport.core import reading
from hipport.core.placing import Refused, check_named

_RECORD_CALLS = Path(__file__).parents[1] / "executor" / "record_calls.py"
#: The beginning of the JSON that record_calls.py writes, or of a file that somebody made to be written to.
_BEGINNING = re.compile(rb"\{\s*\"about\"|\s*\Z")


class NotARecording(Exception):
    """A file is not a recording; the message says why, and what makes one."""


def record(
    command: Sequence[str],
    out: Path,
    *,
    env: Mapping[str, str],
    folder: Path,
    modules: Sequence[str] = (),
    calls: int = 4,
) -> int:
    """Run `command`, a Python program, and record calls of extension modules with their results to `out`.

    This works on any machine, such as one with an NVIDIA GPU. `modules` are the extension modules (by default all that
    are not part of Python, PyTorch or NumPy), `calls` the maximum number of recorded calls of each function. The arrays
    go to an .npz beside `out`, which is JSON. Returns the status of the command, which has no limit of time: the user
    may end it by Ctrl-C, and what it has called until then is recorded. Raises Refused if a link of a tree leads `out`
    elsewhere, or if there is something else than a recording.
    """
    _check(out, folder)
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        shutil.copyfile(_RECORD_CALLS, Path(scratch, "sitecustomize.py"))
        path = os.pathsep.join(each for each in (scratch, env.get("PYTHONPATH")) if each)
        own = {
            "PYTHONPATH": path,
            "HIPPORT_RECORD": str(out.absolute()),
            "HIPPORT_RECORD_MODULES": ":".join(modules),
            "HIPPORT_RECORD_CALLS": str(calls),
        }
        # Ctrl-C reaches both processes. The command ends, writes its recording, and may take its time for that.
        with _interrupts_ignored(), subprocess.Popen(list(command), cwd=folder, env={**env, **own}) as process:
            return process.wait()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # Only the main thread handles signals, and only it may change that.
        return
    # A handler, because a program that is started would inherit SIG_IGN.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def read(recording: Path) -> dict[str, Any]:
    """Return the values in a recording, without its arrays. Raises NotARecording."""
    try:
        recorded: dict[str, Any] = json.loads(reading.read(recording))
        for call in recorded["calls"]:
            str(call["module"])
        recorded["left_out"].items()
    except OSError as problem:
        raise NotARecording(f"{recording}: {reading.said(problem)}; `hipport record` makes recordings") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotARecording(f"{recording} is not a recording; `hipport record` makes them") from None
    return recorded


def _check(out: Path, folder: Path) -> None:
    """Raise Refused if `out` cannot become a recording, or if something else would be lost."""
    arrays = out.with_suffix(".npz")
    if out.suffix != ".json":
        raise Refused([f"{out}: the name of a recording ends in .json, and its arrays go beside it: {arrays}"])
    for each in (out, arrays):
        check_named(each, [folder])
    if not _BEGINNING.match(reading.beginning(out, 64)):
        raise Refused([f"{out}: exists, and is not a recording; give another file"])
    if arrays.exists() and not out.exists():
        raise Refused([f"{arrays}: exists, and no recording is beside it; give another file"])
