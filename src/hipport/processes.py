# SPDX-License-Identifier: Apache-2.0
"""Run commands of a tree with limits, and scripts in a Python that has loaded PyTorch."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from hipport.reading import read_or_nothing

#: The largest file that is written, in bytes.
_FILE = 1 << 30
#: What of an environment counts when an interpreter starts, or when it loads PyTorch; the rest scripts get anew.
_AT_START = re.compile(
    r"(?:PYTHON|LD_|GLIBC|MALLOC|OMP_|GOMP|MKL_|KMP_|OPENBLAS|NUMEXPR|ATEN_|TORCH|PYTORCH|LANG|LC_|VIRTUAL_ENV)\w*|PATH|HOME"
)
#: Only PyTorch's builds of extensions ask for these, which a script does itself.
_OF_BUILDS = {"TORCH_CUDA_ARCH_LIST", "TORCH_DONT_CHECK_COMPILER_ABI", "TORCH_EXTENSIONS_DIR", "PYTORCH_ROCM_ARCH"}


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
        for what, most in ((resource.RLIMIT_CPU, int(timeout) + 1), (resource.RLIMIT_FSIZE, _FILE)):
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


def run_script(
    python: Path, script: Path, arguments: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float
) -> tuple[int | None, str]:
    """Do what `limited` does for a script that imports PyTorch, in a process that has loaded it already.

    Loading it takes longer than most such scripts. The process is forked from one that only loads it, for each
    interpreter and each environment that such a one begins with. Where there can be none, the script loads PyTorch.
    """
    start = {name: each for name, each in env.items() if _AT_START.fullmatch(name) and name not in _OF_BUILDS}
    loaded = _loaded(python, tuple(sorted(start.items()))) if hasattr(os, "pidfd_open") else None
    answer = loaded.run(script, arguments, folder, env, timeout) if loaded else None
    return answer or limited([str(python), str(script), *arguments], folder, env, timeout)


@lru_cache(maxsize=4)
def _loaded(python: Path, environment: tuple[tuple[str, str], ...]) -> _Loaded:
    return _Loaded(python, dict(environment))


class _Loaded:
    """A process with PyTorch, begun when a script is to run. It ends by itself, and is begun anew."""

    def __init__(self, python: Path, env: Mapping[str, str]) -> None:
        self.command = [str(python), str(Path(__file__).with_name("loaded_python.py"))]
        self.env = env
        self.process: subprocess.Popen[str] | None = None
        self.lock = threading.Lock()
        self.fails = False

    def run(
        self, script: Path, arguments: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float
    ) -> tuple[int | None, str] | None:
        """Run a script; None where that is not possible now: it loads nothing, runs another one, or was ended."""
        if self.fails or not self.lock.acquire(blocking=False):
            return None
        try:
            with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
                said = Path(scratch, "said")
                request = {"script": str(script), "arguments": list(arguments), "folder": str(folder), "env": dict(env),
                           "seconds": timeout, "bytes": _FILE, "said": str(said)}  # fmt: skip
                answer = self._ask(json.dumps(request))
                if not answer:
                    return None
                return json.loads(answer)["status"], read_or_nothing(said).decode("utf-8", "replace")
        finally:
            self.lock.release()

    def _ask(self, request: str) -> str:
        """Return the answer to a request; empty where there is none."""
        for _ in range(2):
            if self.process is None or self.process.poll() is not None:
                self._begin()
            process = self.process
            if self.fails or process is None:
                return ""
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(request + "\n")
                process.stdin.flush()
                return process.stdout.readline()
            except BrokenPipeError:
                # It has just ended, as nothing was asked for a while.
                self.process = None
            except BaseException:
                # Whoever waits no longer wants it: it ends with its input, and ends what it runs.
                process.stdin.close()
                self.process = None
                raise
        return ""

    def _begin(self) -> None:
        self.process = subprocess.Popen(
            self.command, cwd="/", env=dict(self.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.fails = not self.process.stdout.readline()
