# SPDX-License-Identifier: Apache-2.0
"""hipcc for units that begin with HIP's header, which is read once: that takes three quarters of a small unit's time.

The header is kept from run to run, like the compilers' output (tests/compiled.py). A unit that does not compile with it
is compiled again without, so that all messages are those of hipcc alone.
"""

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import compiled

_UNITS = (".cu", ".hip")
_HEADER = "#include <hip/hip_runtime.h>"
# What does not matter for headers: what is made, and where from.
_OF_UNIT = ("-I", "-W", "-w", "-S", "-c", "-fsyntax-only", "-emit-llvm", "-ferror-limit=")


def run(
    command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], trees: Sequence[Path] = ()
) -> subprocess.CompletedProcess[str]:
    """Do as `compiled.run` for device code of one architecture."""
    units = [cwd / word for word in command[1:] if str(word).endswith(_UNITS)]
    assert units and "--cuda-device-only" in command
    # Of others, what comes first might change the meaning of the header, or the header that of what comes first.
    running = partial(_run, cwd, env) if all(unit.read_text().startswith(_HEADER) for unit in units) else None
    return compiled.run(command, cwd=cwd, env=env, trees=trees, running=running)


def _run(cwd: Path, env: Mapping[str, str], words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    def hipcc(*more: str | Path) -> subprocess.CompletedProcess[str]:
        command = [words[0], *more, *words[1:]]
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, errors="replace", check=False)

    header = _precompiled(words, env)
    done = hipcc("-include", header) if header else None
    return hipcc() if done is None or done.returncode else done


def _precompiled(words: Sequence[str], env: Mapping[str, str]) -> Path | None:
    """Return the header, which is precompiled beside it for the options of a command; None if it cannot be."""
    written = compiled.written_by(words)
    left_out = {*written, *(at - 1 for at in written)}
    left_out |= {at for of_code, word in enumerate(words) if word == "-mllvm" for at in (of_code, of_code + 1)}
    options = [
        word
        for at, word in enumerate(words[1:], 1)
        if at not in left_out and not word.startswith(_OF_UNIT) and not word.endswith(_UNITS)
    ]
    key = hashlib.sha256("\0".join([compiled.stamp(words[0]), *options]).encode()).hexdigest()[:16]
    folder = compiled.kept() / "precompiled" / key
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "used").touch()
    header, made = folder / "hip.h", folder / "hip.h.pch"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            header.write_text(f"{_HEADER}\n")
            part = folder / f"part.{os.getpid()}"
            # One job of the compiler, with another last step.
            step = ["-w", "-x", "hip", "-S", "-emit-llvm", "-Xclang", "-emit-pch", "-o", str(part), str(header)]
            if subprocess.run([words[0], *options, *step], env=env, capture_output=True, check=False).returncode:
                return None
            part.rename(made)
    return header
