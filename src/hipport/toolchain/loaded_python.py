# SPDX-License-Identifier: Apache-2.0
"""Run scripts in processes forked from one that has loaded PyTorch, because loading takes longer than most scripts.

A script, run by the interpreter that has PyTorch; it must not need hipport. It reads requests from stdin, one line of
JSON for each (written by `processes.run_script`), executes each like `python script arguments` in a new process, and
answers with a line of JSON: {"status": the exit status, or null after a timeout}. It ends at the end of its input, with
its parent, or after a while without requests.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import runpy
import select
import sys
import threading
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

#: Containment is defined in another script; it is not imported, because this folder may not be on the module path.
_CONTAINED = runpy.run_path(str(Path(__file__).with_name("contained.py")))

#: Seconds of waiting for another request: loaded modules take a quarter of a gigabyte.
_IDLE = 120.0


def _in_child(request: dict[str, Any]) -> None:
    os.setsid()
    said = os.open(request["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in ((0, nothing), (1, said), (2, said)):
        os.dup2(file, number)
    # Other descriptors include the one for answers: a script must not be able to write to it.
    for own in list(Path("/proc/self/fd").iterdir()):
        if int(own.name) > 2:
            with contextlib.suppress(OSError):
                os.close(int(own.name))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", buffering=1), open(2, "w", buffering=1)  # noqa: SIM115
    _CONTAINED["guard"](request["box"])
    script = request["script"]
    sys.argv = [script, *request["arguments"]]
    sys.path[0] = str(Path(script).parent)
    runpy.run_path(script, run_name="__main__")


def _run(request: dict[str, Any]) -> int | None:
    """Run a script in a process of its own. Raises EOFError if nobody waits for it any more."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _in_child(request)
            status = 0
        except SystemExit as stopped:
            status = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
            if stopped.code is not None and not isinstance(stopped.code, int):
                print(stopped.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        # The steps of the interpreter at exit, except destroying the loaded modules.
        for last in (threading._shutdown, atexit._run_exitfuncs, sys.stdout.flush, sys.stderr.flush):  # type: ignore[attr-defined]
            try:
                last()
            except BaseException:
                traceback.print_exc()
        os._exit(status & 0xFF)
    ended = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([ended, 0], [], [], request["seconds"])
    finally:
        os.close(ended)
    if not ready or 0 in ready:
        _CONTAINED["end_children"]()
        if ready:
            raise EOFError
        return None
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    # Its descendants are killed with it, also those in sessions of their own.
    _CONTAINED["end_children"]()
    return status


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _CONTAINED["own_children"]()
    import_module("torch")
    # Kernels before Linux 5.3 have no pidfds; fail now, so that the parent knows.
    os.close(os.pidfd_open(os.getpid()))
    answers.write(json.dumps({"ready": os.getpid()}) + "\n")
    answers.flush()
    rest = b""
    while select.select([0], [], [], _IDLE)[0]:
        data = os.read(0, 1 << 20)
        if not data:
            return
        rest += data
        if not rest.endswith(b"\n"):
            continue
        request, rest = json.loads(rest), b""
        try:
            status = _run(request)
        except EOFError:
            return
        answers.write(json.dumps({"status": status}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
