# SPDX-License-Identifier: Apache-2.0
"""Run commands: those of a tree contained, compilers with limits, and scripts in a Python that has loaded PyTorch.

What is run for a tree gets an environment that `environment.allowed` made, may write only where it is told, has limits,
and leaves no process behind (see `contained`). How far files can be guarded depends on the machine: see `guarded_by`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
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
from hipport.toolchain import contained

#: The largest file that is written, in bytes.
_FILE = 1 << 30
#: Of what a command prints, the most that is read, in bytes.
_SAID = 1 << 25
#: Address space of one process of a tree's: half of what the machine has, and enough to load any PyTorch.
MEMORY = max(8 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
#: What of an environment counts when an interpreter starts, or when it loads PyTorch; the rest scripts get again.
_AT_START = re.compile(
    r"(?:PYTHON|LD_|GLIBC|MALLOC|OMP_|GOMP|MKL_|KMP_|OPENBLAS|NUMEXPR|ATEN_|TORCH|PYTORCH|LANG|LC_|VIRTUAL_ENV)\w*|PATH|HOME"
)
#: Only PyTorch's builds of extensions ask for these, which a script does itself.
_OF_BUILDS = {"TORCH_CUDA_ARCH_LIST", "TORCH_DONT_CHECK_COMPILER_ABI", "TORCH_EXTENSIONS_DIR", "PYTORCH_ROCM_ARCH"}
#: Seconds that are waited for whoever supervises a command, beyond those of the command.
_MORE = 60.0


@dataclass(frozen=True)
class Box:
    """The rights of a command of a tree: it may write below `write`, and a process may have `memory` bytes (0: all).

    Nothing below `kept` can be written but what of it `write` names itself.
    """

    write: tuple[Path, ...] = ()
    memory: int = MEMORY
    kept: Path | None = None


def guarded_by() -> str:
    """Return what keeps a tree's commands from writing elsewhere: `Landlock`, `bubblewrap`, or nothing."""
    return "Landlock" if contained.landlock() else "bubblewrap" if _bubblewrap() else ""


@lru_cache(maxsize=1)
def _bubblewrap() -> str:
    """Return bubblewrap, where it is there and works: a kernel may forbid what it needs."""
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
    """Give a command's environment, and what `contained` is told. What it writes for itself goes at the end."""
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        # What programs keep between runs, they keep for this one: others are not to take what it left.
        own = {"TMPDIR": scratch, "XDG_CACHE_HOME": f"{scratch}/cache", "MIOPEN_USER_DB_PATH": f"{scratch}/miopen",
               "TRITON_CACHE_DIR": f"{scratch}/triton"}  # fmt: skip
        write = [Path(scratch), *(Path(env[name]) for name in ("CCACHE_DIR",) if env.get(name))]
        for path in box.write:
            write += _without(path.resolve(), box.kept.resolve() if box.kept else None)
        told: dict[str, Any] = {"write": [str(path) for path in write], "memory": box.memory, "file": _FILE}
        yield {**env, **own}, told


def _without(path: Path, kept: Path | None) -> Iterator[Path]:
    """Yield what of a folder may be written: all of it, or what lies beside the folder `kept` in it."""
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
    """Run a command of a tree; return its status (None: out of time) and output. See `Box` for what it may do."""
    with tempfile.TemporaryFile() as said:
        status = supervise(command, folder, env, timeout, box or Box(), said, said, cpu=int(timeout) + 1)
        return status, _output(said)


def supervise(
    command: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    timeout: float,
    box: Box,
    stdout: IO[bytes],
    stderr: IO[bytes],
    *,
    executable: str = "",
    grace: float = 0.0,
    cpu: int = 0,
) -> int | None:
    """Run a command of a tree, with its output to files, and return its status (None: out of time).

    A command that takes too long is told to end, and has `grace` seconds for it. When this returns, every process that
    it began has ended, also one in a session of its own. Raises OSError where it cannot be run.
    """
    with _boxed(box, env) as (own, told), contextlib.ExitStack() as open_files:
        answer, answering = os.pipe()
        living, alive = os.pipe()
        open_files.callback(os.close, answer)
        # It ends when nobody has the other end of this any more, however this process ends.
        open_files.callback(os.close, alive)
        told |= {"executable": executable, "grace": grace, "cpu": cpu, "seconds": timeout, "answer": answering,
                 "alive": living, "bubblewrap": _bubblewrap()}  # fmt: skip
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", contained.__file__, json.dumps(told), *command], cwd=folder, env=own,
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                pass_fds=(answering, living),
            )  # fmt: skip
        finally:
            os.close(answering)
            os.close(living)
        try:
            process.wait(timeout + grace + _MORE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        except BaseException:
            # Whoever waits no longer wants it.
            open_files.close()
            process.wait()
            raise
        become = json.loads(os.read(answer, 1 << 16) or b'{"status": 1, "problem": null}')
    if become["problem"]:
        raise OSError(become["problem"]["errno"], become["problem"]["why"], executable or command[0])
    status: int | None = become["status"]
    # As a shell, bubblewrap says so that a signal ended the command.
    return 128 - status if told["bubblewrap"] and status is not None and status > 128 else status


def limited(
    command: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float, memory: int = MEMORY
) -> tuple[int | None, str]:
    """Run a compiler, or another tool of this machine's, with limits on time, on memory and on the size of files.

    Returns its status (None: out of time) and output. With `memory` 0 it may have all there is.
    """
    # A shell sets the limits: what a compiler begins at once would be too fast for whoever set them from here.
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
            # Its children too: the session is its own.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            status = None
        return status, _output(said)


def _output(said: IO[bytes]) -> str:
    """Return what was printed to a file; of more than anybody reads, the beginning and the end."""
    size = said.seek(0, os.SEEK_END)
    said.seek(0)
    if size <= _SAID:
        return said.read().decode("utf-8", "replace")
    first = said.read(_SAID // 2)
    said.seek(size - _SAID // 2)
    last = said.read(_SAID // 2)
    return f"{first.decode('utf-8', 'replace')}\n[…]\n{last.decode('utf-8', 'replace')}"


def ask_python(python: Path, code: str, env: Mapping[str, str], timeout: float) -> tuple[int | None, str, str]:
    """Have an interpreter run a small program of hipport; return its status (None: out of time), output and errors.

    It sees no module that happens to lie in the current folder, and nothing that the environment names relative to it:
    a folder of its own is where it runs. Raises OSError where it cannot be run.
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
    """Return an interpreter as it is found here, not where it is run. A virtual environment's stays a link."""
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
    """Do what `run_contained` does for a script that imports PyTorch, in a process that has loaded it already.

    Loading it takes longer than most such scripts. The process is forked from one that only loads it, for each
    interpreter and each environment that such a one begins with. Where there can be none, the script loads PyTorch.
    """
    start = {name: each for name, each in env.items() if _AT_START.fullmatch(name) and name not in _OF_BUILDS}
    loaded = _loaded(python, tuple(sorted(start.items()))) if hasattr(os, "pidfd_open") else None
    box = box or Box()
    python = _absolute(python)
    # bubblewrap is for commands: a process that runs already cannot be put into it.
    answer = loaded.run(script, arguments, folder, env, timeout, box) if loaded and not _bubblewrap() else None
    return answer or run_contained([str(python), str(script), *arguments], folder, env, timeout, box)


@lru_cache(maxsize=4)
def _loaded(python: Path, environment: tuple[tuple[str, str], ...]) -> _Loaded:
    return _Loaded(python, dict(environment))


class _Loaded:
    """A process with PyTorch, begun when a script is to run. It ends by itself, and is begun again."""

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
        """Run a script; None where that is not possible now: it loads nothing, runs another one, or was ended."""
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
