# SPDX-License-Identifier: Apache-2.0
"""The units of PyTorch extensions, by running their setup.py up to the compilers (see `record_extensions`).

This runs code of the tree, in a child process with a time limit, on a copy. If it cannot be run, every source below it
is taken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from hipport.building.compiler_messages import EmbeddedLines, script_advice
from hipport.building.dry_runs import without_places
from hipport.building.just_in_time import JustInTime
from hipport.building.session import BuildSession, Toolkit
from hipport.building.units import DEVICE, FoundUnits, NotBuilt, Unit
from hipport.core.reading import read_or_nothing
from hipport.program.included import not_included
from hipport.syntax.cpp import UNITS
from hipport.toolchain.processes import ask_python

_TESTS = frozenset(("test", "tests", "testing", "unittest", "unittests", "benchmark", "benchmarks", "examples", "docs"))

#: Names of scripts that build extensions; beside a `setup.py`, others are alternatives to it.
_SETUP = re.compile(r"setup(?:[-_]\w+)?\.py|\w+_setup\.py")


def setup_scripts(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that build extensions by setuptools: `setup.py`, or else similar names (`setup_cuda.py`)."""
    found = [path for path in paths if _SETUP.fullmatch(path.name) and b"Extension" in read_or_nothing(path)]
    named = {path.parent for path in found if path.name == "setup.py"}
    return [
        path
        for path in found
        if path.name == "setup.py"
        or (path.parent not in named and re.search(rb"(?<!def )\bsetup\s*\(", read_or_nothing(path)))
    ]


def setup_script(folder: Path) -> Path | None:
    """Return the script in a folder that builds extensions: `setup.py` whatever its contents, or else the first."""
    named = folder / "setup.py"
    return named if named.is_file() else next(iter(setup_scripts(sorted(folder.glob("*setup*.py")))), None)


class NoPyTorch(Exception):
    """The interpreter for building extensions has no PyTorch. The message says what to do."""


def check_torch(python: Path, env: Mapping[str, str], wanted_by: str) -> None:
    """Raise NoPyTorch if an interpreter has none; `wanted_by` is a file that needs it."""
    try:
        status, said, _ = ask_python(
            python, "import importlib.util as u; print(u.find_spec('torch') is not None)", env, 60
        )
    except OSError:
        status, said = 1, ""
    if status != 0 or said.strip() != "True":
        what = "has no PyTorch" if status == 0 else "does not run"
        raise NoPyTorch(
            f"{wanted_by} builds extensions of PyTorch, and {python} {what}: nothing was compiled. Name a Python that "
            "has PyTorch (any, for CUDA, ROCm or the CPU): --python PATH"
        )


@dataclass(frozen=True)
class Recorder:
    """Runs the scripts of one tree through `record_extensions`, in a copy of it.

    `members` are the tree's own files.
    """

    session: BuildSession
    python: Path
    toolkit: Toolkit
    env: Mapping[str, str]
    members: tuple[Path, ...]
    timeout: float = 300.0

    @property
    def root(self) -> Path:
        """The tree."""
        return self.session.tree

    @property
    def copy(self) -> Path:
        """The copy of the tree."""
        return self.session.copy

    def setup(self, script: Path) -> FoundUnits:
        """Run a setup.py, or an equivalent script, of the tree; if that fails, guess."""
        folder = self.copy / script.parent.relative_to(self.root)
        name = PurePath(script.relative_to(self.root))
        recorded, problem = self._run({"kind": "setup", "script": script.name}, folder)
        ran = (name.as_posix(),)
        if not problem:
            found = self._found(recorded, folder)
            return replace(found, ran=ran)
        found = self.guess(script.parent, f"{name} could not be run ({problem})")
        advice = script_advice(problem)
        why = NotBuilt(name, 0, f"it could not be run: {problem}" + (f"; {advice}" if advice else ""))
        return replace(found, not_built=(why, *found.not_built), ran=ran)

    def guess(self, folder: Path, why: str) -> FoundUnits:
        """Take every source below a folder of the tree, except tests, as one extension; `why` is the default reason."""
        sources = [
            path
            for path in self.members
            if path.suffix in UNITS
            and path.is_relative_to(folder)
            and not _TESTS.intersection(path.relative_to(folder).parts[:-1])
        ]
        sources = not_included(sources)
        if not any(path.suffix in DEVICE for path in sources):
            return FoundUnits()
        request = {
            "kind": "extension",
            "name": folder.name,
            "sources": [path.relative_to(folder).as_posix() for path in sources],
            "include_dirs": [],
        }
        found = self._jit(
            request, self.copy / folder.relative_to(self.root), PurePath(folder.relative_to(self.root)), 0
        )
        guess = f"{why}; so hipport takes every source below it"
        return replace(found, units=tuple(replace(unit, guess=guess) for unit in found.units))

    def call(self, script: Path, call: JustInTime) -> FoundUnits:
        """Do what a `load` or `load_inline` call in a file of the tree does."""
        folder = self.copy / script.parent.relative_to(self.root)
        arguments = dict(call.arguments)
        for name in ("sources", "extra_include_paths"):
            if name in arguments:
                values = [arguments[name]] if isinstance(arguments[name], str) else arguments[name]
                arguments[name] = [self._copied(value, script.parent) for value in values]
        place = PurePath(script.relative_to(self.root))
        written = self.session.scratch / f"{'-'.join(place.with_suffix('').parts)}-{call.line}"
        request = {
            "kind": "jit",
            "function": call.function,
            "arguments": arguments,
            "scratch": str(written),
            "hooks": call.hooks,
            "script": str(self.copy / place),
        }
        found = self._jit(request, folder, place, call.line)
        embedded: dict[Path, tuple[EmbeddedLines, ...]] = {}
        for file in sorted(written.glob("*.c*")) if call.function == "load_inline" else ():
            lines = read_or_nothing(file).decode("utf-8", "replace").splitlines()
            # Line 0 stands for the file.
            whole = EmbeddedLines(0, 1, self.copy / place, call.line)
            embedded[file] = (whole, *_embedded(lines, self.copy / place, call.texts))
        return replace(found, embedded=embedded)

    def _copied(self, path: str, folder: Path) -> str:
        return str(self.session.copied(Path(os.path.normpath(folder / path))))

    def _jit(self, request: dict[str, Any], folder: Path, name: PurePath, line: int) -> FoundUnits:
        recorded, problem = self._run(request, folder)
        if problem:
            return FoundUnits((), (NotBuilt(name, line, problem),))
        return self._found(recorded, folder)

    def _found(self, recorded: dict[str, Any], folder: Path) -> FoundUnits:
        units = tuple(
            Unit(
                Path(each["source"]),
                each["language"],
                without_places(each["arguments"]),
                Path(each["folder"]),
                each["extension"],
            )
            for each in recorded["commands"]
        )
        made = {Path(after): Path(before) for before, after in recorded["renamed"].items()}
        missing = recorded["missing"]
        not_built = (
            (NotBuilt(PurePath(folder.relative_to(self.copy)), 0, f"{missing} is missing: Python's headers"),)
            if missing
            else ()
        )
        return FoundUnits(units, not_built, (), made)

    def _run(self, request: dict[str, Any], folder: Path) -> tuple[dict[str, Any], str]:
        """Return the record, and a description of what went wrong."""
        return self.session.record(request, folder, self.python, self.toolkit, self.env, self.timeout)


def _embedded(lines: Sequence[str], script: Path, texts: Iterable[tuple[str, int]]) -> Iterator[EmbeddedLines]:
    """Locate `texts`, which are whole lines of a file, among its `lines`."""
    for text, line in texts:
        wanted = text.splitlines()
        for first in range(len(lines) - len(wanted) + 1 if text.strip() else 0):
            if lines[first : first + len(wanted)] == wanted:
                yield EmbeddedLines(first + 1, len(wanted), script, line)
                break
