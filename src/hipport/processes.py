# SPDX-License-Identifier: Apache-2.0
"""Run commands of a tree with limits."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def limited(command: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float) -> tuple[int | None, str]:
    """Run `command` with limits on time and on the size of files; return its status (None: out of time) and output."""

    with subprocess.Popen(
        command,
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        for what, most in ((resource.RLIMIT_CPU, int(timeout) + 1), (resource.RLIMIT_FSIZE, 1 << 30)):
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(process.pid, what, (most, most))
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            # Its children too: the session is its own.
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            return None, said.decode("utf-8", "replace")
    return process.returncode, said.decode("utf-8", "replace")
