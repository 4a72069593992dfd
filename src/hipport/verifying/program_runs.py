# SPDX-License-Identifier: Apache-2.0
"""Runs of a program, in a child process with limits, and the findings of the executor and of sanitizers."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from hipport.core import reading
from hipport.executor import run_time_compiler
from hipport.toolchain import toolchains
from hipport.toolchain.processes import Box, Supervised, supervise
from hipport.verifying.execution import Limits
from hipport.verifying.results import Configuration, Fault

#: Seconds for a program that was asked to end, to report where it was.
_GRACE = 30.0


@dataclass(frozen=True)
class ProgramRun:
    """The result of one run of a program. `status` is None after a timeout.

    `lines` is its standard output, `said` its stderr; `errors` is the end of that, with the executor's messages. `cut`
    is the number of bytes that were read, if there are more.
    """

    status: int | None
    lines: tuple[str, ...]
    errors: str
    seconds: float
    faults: tuple[Fault, ...]
    said: tuple[str, ...] = ()
    cut: int = 0

    @property
    def texts(self) -> Mapping[str, tuple[str, ...]]:
        """The texts to compare, by name."""
        return {"stdout": self.lines, "stderr": self.said}


@dataclass(frozen=True)
class Runner:
    """Runs programs with the same arguments, in `folder`. Places of faults in `root` are relative to it."""

    env: Mapping[str, str]
    folder: Path
    root: Path
    arguments: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)

    def run(
        self, path: Path, configuration: Configuration, trace: Path | None = None, *, other_device: bool = False
    ) -> ProgramRun:
        """Run a program of the executor, or of hipcc, once.

        With `trace`, a file, the contents of the device's memory after each launch are written there. With
        `other_device`, an original sees a device with another compute capability, and more shared memory.
        """
        kept = {name: value for name, value in self.env.items() if not name.startswith("SIMT_")}
        if configuration.side != "gpu":
            kept |= {"SIMT_ORDER": configuration.order, "SIMT_WAVE": str(configuration.lanes)}
            kept |= run_time_compiler.variables(self.env, run_time_compiler.folder_for(self.root))
        if other_device:
            kept["SIMT_OTHER_DEVICE"] = "1"
        if configuration.side == "original" and configuration.lanes != 32:
            # CUDA has no such warps: this shows what an unported source would do.
            kept["SIMT_FORCE_WAVE"] = str(configuration.lanes)

        with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
            report = Path(scratch, "report")
            kept["SIMT_REPORT"] = str(report)
            if trace is not None:
                kept["SIMT_TRACE"] = str(trace)
            said, errors = Path(scratch, "stdout"), Path(scratch, "stderr")
            # It may write files to its working folder, as when a person runs it.
            write = [self.folder, Path(scratch), *([trace.parent] if trace is not None else [])]
            if configuration.side != "gpu":
                write.append(run_time_compiler.folder_for(self.root))
            box = Box(tuple(write), self.limits.memory, toolchains.cache(self.env))
            start = time.monotonic()
            with said.open("wb") as out, errors.open("wb") as err:
                # Files, not pipes: a program that prints without end is stopped by its timeout, and its first lines are
                # kept. The original and its port have the same name, because some programs print it.
                named = [f"./{self.root.name or 'program'}", *self.arguments]
                run = Supervised(named, self.folder, kept, self.limits.seconds, executable=str(path), grace=_GRACE)
                status = supervise(run, box, out, err)
            seconds = time.monotonic() - start
            wrong = _text(errors)
            return ProgramRun(
                status,
                _lines(_text(said)),
                wrong[-4000:],
                seconds,
                _faults(report, self.root) + _sanitizer_faults(wrong, self.root),
                _lines(_EXECUTORS.sub("", wrong)),
                _MOST if max(said.stat().st_size, errors.stat().st_size) > _MOST else 0,
            )


_MOST = 16_000_000  # bytes of output that are read
# The executor's messages and their format: see native/runtime/faults.cpp.
_EXECUTORS = re.compile(r"^simt: .*\n(?:    .*\n)*", re.MULTILINE)


def _text(path: Path) -> str:
    return reading.beginning(path, _MOST).decode("utf-8", "replace")


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.rstrip() for line in text.splitlines())


def _faults(report: Path, root: Path) -> tuple[Fault, ...]:
    """Read the executor's findings, at most a hundred."""
    try:
        lines = reading.read(report).decode("utf-8", "replace").splitlines()[:100]
    except OSError:
        return ()
    found = []
    for line in lines:
        each = json.loads(line)
        path = _inside(each["file"], root) if each.get("file") else PurePath()
        found.append(Fault.read(each, path, each.get("line", 0)))
    return tuple(dict.fromkeys(found))


def _inside(path: str, root: Path) -> PurePath:
    place = Path(os.path.normpath(path))
    return PurePath(place.relative_to(root) if place.is_relative_to(root) else place)


# The output of the compilers' sanitizers: https://github.com/google/sanitizers/wiki/AddressSanitizer and
# https://clang.llvm.org/docs/UndefinedBehaviorSanitizer.html; that of g++ is the same.
_UNDEFINED = re.compile(r"^(/[^:\n]+):(\d+)(?::\d+)?: runtime error: (.+)$", re.M)
_ADDRESS = re.compile(r"^SUMMARY: AddressSanitizer: (\S+)(?: (/[^:\n]+):(\d+))?", re.M)
_ACCESS = re.compile(r"^(?:READ|WRITE) of size \d+", re.M)
_FRAME = re.compile(r"^ +#\d+ 0x\w+ in .+? (/[^:\n]+):(\d+)", re.M)


def _sanitizer_faults(errors: str, root: Path) -> tuple[Fault, ...]:
    """Read a sanitizer's output; a report of the address sanitizer is placed at its innermost frame in the tree."""
    found = [
        Fault("undefined", said, _inside(path, root), int(line)) for path, line, said in _UNDEFINED.findall(errors)
    ]
    if (summary := _ADDRESS.search(errors)) is not None:
        kind, path, line = summary.groups()
        own = (each for each in _FRAME.findall(errors) if Path(each[0]).is_relative_to(root))
        path, line = next(own, (path, line))
        access = _ACCESS.search(errors)
        said = f"the address sanitizer: {kind}" + (f", {access[0].lower()}" if access else "")
        found.append(Fault("address", said, _inside(path, root) if path else PurePath(), int(line or 0)))
    return tuple(dict.fromkeys(found))
