# SPDX-License-Identifier: Apache-2.0
"""Run commands: those of a tree contained, compilers with limits, and scripts in a Python that has loaded PyTorch.

A command of a tree gets an environment from `environment.allowed`, may write only where it is allowed, has limits, and
leaves no process behind (see `contained`). How well files are guarded depends on the machine: see `guarded_by`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from hipport.core.reading import opened
from hipport.core.tables import Words
from hipport.toolchain import contained

#: The largest file that may be written, in bytes.
_FILE = 1 << 30
#: The maximum output of a command that is read, in bytes.
_SAID = 1 << 25
#: Address space of one process of a tree: half of the machine's memory, and at least enough to load any PyTorch.
MEMORY = max(8 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
_LISTS = Words.read(Path(__file__).with_suffix(".toml"))
#: Variables that take effect when an interpreter starts or loads PyTorch; all others are set again for each script.
_AT_START = _LISTS.compile(r"(?&at_start)")
#: Only PyTorch's extension builds read these, and a script does that itself.
_OF_BUILDS = {"TORCH_CUDA_ARCH_LIST", "TORCH_DONT_CHECK_COMPILER_ABI", "TORCH_EXTENSIONS_DIR", "PYTORCH_ROCM_ARCH"}
#: Seconds that the supervisor of a command gets beyond the command's own time.
_MORE = 60.0


@dataclass(frozen=True)
class Box:
    """The rights of a tree's command: it may write below `write`, and a process may have `memory` bytes (0: no limit).

    Nothing below `kept` can be written, except paths that `write` names itself.
    """

    write: tuple[Path, ...] = ()
    memory: int = MEMORY
    kept: Path | None = None


def guarded_by() -> str:
    """Return the guard that keeps a tree's commands from writing elsewhere: `Landlock`, `bubblewrap`, or empty."""
    return "Landlock" if contained.landlock() else "bubblewrap" if _bubblewrap() else ""


@lru_cache(maxsize=1)
def _bubblewrap() -> str:
    """Return the path of bubblewrap if it works: a kernel may forbid the operations that it needs."""
    place = shutil.which("bwrap") if not contained.landlock() else None
    if place is None:
        return ""
    done = subprocess.run(
        contained.bubblewrap([place, "true"], []), cwd="/", env={"PATH": os.defpath}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return place if done.returncode == 0 else ""


@contextmanager
def _boxed(box: Box, env: Mapping[str, str]) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yield a command's environment, and the input for `contained`. The command's own files are deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        # Caches of programs are private to the run, so that other runs do not use what it left.
        own = {"TMPDIR": scratch, "XDG_CACHE_HOME": f"{scratch}/cache", "MIOPEN_USER_DB_PATH": f"{scratch}/miopen",
               "TRITON_CACHE_DIR": f"{scratch}/triton"}  # fmt: skip
        write = [Path(scratch), *(Path(env[name]) for name in ("CCACHE_DIR",) if env.get(name))]
        for path in box.write:
            write += _without(path.resolve(), box.kept.resolve() if box.kept else None)
        told: dict[str, Any] = {"write": [str(path) for path in write], "memory": box.memory, "file": _FILE}
        yield {**env, **own}, told


def _without(path: Path, kept: Path | None) -> Iterator[Path]:
    """Yield the paths in a folder that may be written: the folder, or its entries other than the folder `kept`."""
    if kept is None or path == kept or not kept.is_relative_to(path):
        yield path
        return
    with contextlib.suppress(OSError):
        for each in sorted(path.iterdir()):
            if each.is_symlink():
                continue
            if kept.is_relative_to(each):
                yield from _without(each, kept) if each != kept else ()
            else:
                yield each


def run_contained(
    command: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float, box: Box | None = None
) -> tuple[int | None, str]:
    """Run a command of a tree; return its status (None: timeout) and output. See `Box` for its rights."""
    with tempfile.TemporaryFile() as said:
        status = supervise(Supervised(command, folder, env, timeout, cpu=int(timeout) + 1), box or Box(), said, said)
        return status, _output(said)


@dataclass(frozen=True)
class Supervised:
    """A command of a tree, and its limits of time.

    After `timeout` seconds it is asked to end, and has `grace` seconds to do so; `cpu` limits its processor time, 0 not
    at all. `executable` is the program, if the first word of the command is only its name.
    """

    command: Sequence[str]
    folder: Path
    env: Mapping[str, str]
    timeout: float
    executable: str = ""
    grace: float = 0.0
    cpu: int = 0


def supervise(run: Supervised, box: Box, stdout: IO[bytes], stderr: IO[bytes]) -> int | None:
    """Run a command of a tree, with its output to files, and return its status (None: timeout).

    When this returns, all its processes have ended, also those in sessions of their own. Raises OSError if it cannot be
    run.
    """
    with _boxed(box, run.env) as (own, told), contextlib.ExitStack() as open_files:
        answer, answering = os.pipe()
        living, alive = os.pipe()
        open_files.callback(os.close, answer)
        # The supervisor ends when the other end of this pipe is closed, however this process ends.
        open_files.callback(os.close, alive)
        told |= {
            "executable": run.executable,
            "grace": run.grace,
            "cpu": run.cpu,
            "seconds": run.timeout,
            "answer": answering,
            "alive": living,
            "bubblewrap": _bubblewrap(),
        }
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", contained.__file__, json.dumps(told), *run.command],
                cwd=run.folder,
                env=own,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(answering, living),
            )
        finally:
            os.close(answering)
            os.close(living)
        try:
            process.wait(run.timeout + run.grace + _MORE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        except BaseException:
            # The caller was interrupted: close the pipe, so that the command ends.
            open_files.close()
            process.wait()
            raise
        become = json.loads(os.read(answer, 1 << 16) or b'{"status": 1, "problem": null}')
    if become["problem"]:
        raise OSError(become["problem"]["errno"], become["problem"]["why"], run.executable or run.command[0])
    status: int | None = become["status"]
    # Like a shell, bubblewrap encodes a signal that ended the command in its status.
    return 128 - status if told["bubblewrap"] and status is not None and status > 128 else status


def limited(
    command: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float, memory: int = MEMORY
) -> tuple[int | None, str]:
    """Run a compiler, or another tool of this machine, with limits on time, memory and the size of files.

    Returns its status (None: timeout) and output. With `memory` 0 there is no limit of memory.
    """
    # A shell sets the limits before the compiler starts children; set from here, they could come too late.
    limits = [f"-t {int(timeout) + 1}", f"-f {_FILE // 512}", "-c 0"] + ([f"-v {memory // 1024}"] if memory else [])
    text = "".join(f"ulimit {limit} 2>/dev/null; " for limit in limits) + 'exec "$@"'
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            ["/bin/sh", "-c", text, "sh", *command],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            status: int | None = process.wait(timeout)
        except BaseException as error:
            # Also its children: it has its own session.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            status = None
        return status, _output(said)


def _output(said: IO[bytes]) -> str:
    """Return the output in a file; if it is very long, only its beginning and its end."""
    size = said.seek(0, os.SEEK_END)
    said.seek(0)
    if size <= _SAID:
        return said.read().decode("utf-8", "replace")
    first = said.read(_SAID // 2)
    said.seek(size - _SAID // 2)
    last = said.read(_SAID // 2)
    return f"{first.decode('utf-8', 'replace')}\n[…]\n{last.decode('utf-8', 'replace')}"


def ask_python(python: Path, code: str, env: Mapping[str, str], timeout: float) -> tuple[int | None, str, str]:
    """Run a small program of hipport in an interpreter; return its status (None: timeout), output and errors.

    It runs in an empty folder, so it imports no module from the current folder, nor through relative paths in the
    environment. Raises OSError if it cannot be run.
    """
    paths = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if Path(path).is_absolute()]
    own = {**env, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        try:
            done = subprocess.run(
                [str(_absolute(python)), "-c", code], cwd=scratch, env=own, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace", timeout=timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None, "", ""
    return done.returncode, done.stdout, done.stderr


def _absolute(python: Path) -> Path:
    """Return an interpreter's path as seen from the current folder. In a virtual environment it stays a link."""
    return Path(shutil.which(python) or python).absolute()


def run_script(
    python: Path,
    script: Path,
    arguments: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    timeout: float,
    box: Box | None = None,
) -> tuple[int | None, str]:
    """Like `run_contained`, but for a script that imports PyTorch, in a process that has loaded it already.

    Loading it takes longer than most such scripts. The process is forked from one that only loads PyTorch; there is one
    for each interpreter and initial environment. If that is not possible, the script loads PyTorch itself.
    """
    start = {name: each for name, each in env.items() if _AT_START.fullmatch(name) and name not in _OF_BUILDS}
    loaded = _loaded(python, tuple(sorted(start.items()))) if hasattr(os, "pidfd_open") else None
    box = box or Box()
    python = _absolute(python)
    # bubblewrap wraps commands: a running process cannot be put into it.
    answer = loaded.run(script, arguments, folder, env, timeout, box) if loaded and not _bubblewrap() else None
    return answer or run_contained([str(python), str(script), *arguments], folder, env, timeout, box)


@lru_cache(maxsize=4)
def _loaded(python: Path, environment: tuple[tuple[str, str], ...]) -> _Loaded:
    return _Loaded(python, dict(environment))


class _Loaded:
    """A process that has loaded PyTorch, started for the first script. It ends by itself, and is then restarted."""

    def __init__(self, python: Path, env: Mapping[str, str]) -> None:
        self.command = [str(python), str(Path(__file__).with_name("loaded_python.py"))]
        self.env = env
        self.process: subprocess.Popen[str] | None = None
        self.lock = threading.Lock()
        self.fails = False

    def run(
        self,
        script: Path,
        arguments: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        timeout: float,
        box: Box | None = None,
    ) -> tuple[int | None, str] | None:
        """Run a script; None if that is not possible now: loading failed, another script runs, or the process ended."""
        if self.fails or not self.lock.acquire(blocking=False):
            return None
        try:
            with (
                tempfile.TemporaryDirectory(prefix="hipport-") as scratch,
                _boxed(box or Box(), env) as (own, told),
            ):
                said = Path(scratch, "said")
                request = {"script": str(script), "arguments": list(arguments), "folder": str(folder), "env": own,
                           "seconds": timeout, "box": {**told, "cpu": int(timeout) + 1}, "said": str(said)}  # fmt: skip
                answer = self._ask(json.dumps(request))
                if not answer:
                    return None
                status = json.loads(answer)["status"]
                try:
                    printed = os.fdopen(opened(said), "rb")
                except OSError:
                    return status, ""
                with printed:
                    return status, _output(printed)
        finally:
            self.lock.release()

    def _ask(self, request: str) -> str:
        """Return the answer to a request; empty if there is none."""
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
                # It has just ended after a while without requests.
                self.process = None
            except BaseException:
                # The caller was interrupted: the process ends with its input, and ends its script.
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
