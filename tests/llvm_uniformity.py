# SPDX-License-Identifier: Apache-2.0
"""The results of LLVM's UniformityAnalysis for the arguments of `probe`; `opt` lies beside hipcc's clang."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hipport.toolchain.toolchains import Toolchain, find

#: The last argument of `probe` in LLVM's text.
_PROBE = re.compile(r"call [^\n]*void @\w*probe\w*\((?:i32 (?:noundef )?(\d+), )?i32 (?:noundef )?([^)]*)\)")
_CALLED = re.compile(r"call [^\n]*?(?:@([\w.$]+)|(%[\w.]+))\(")


@dataclass(frozen=True)
class Judge:
    """A hipcc, and its `opt`."""

    toolchain: Toolchain
    opt: Path

    @property
    def clang(self) -> Path:
        """Return hipcc's clang."""
        return self.opt.with_name("clang++")

    def compiled(self, source: Path, flags: Sequence[str], compiler: str | Path = "") -> tuple[Path, str]:
        """Compile a file to LLVM's text; return its path, or the compiler's messages."""
        made = source.with_suffix(".ll")
        command = [compiler or self.toolchain.hipcc, "-x", "hip", "--cuda-device-only", "-std=c++17"]
        command += ["--offload-arch=gfx942", "-O1", "-w", "-S", "-emit-llvm", *flags, "-o", made, source]
        environment = self.toolchain.environment(os.environ)
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return made, ran.stderr if ran.returncode else ""

    def said(self, made: Path) -> list[Said]:
        """Return the results for each call of `probe`, by function."""
        ran = subprocess.run(
            [self.opt, "-passes=print<uniformity>", "-disable-output", made],
            env=self.toolchain.environment(os.environ),
            capture_output=True,
            text=True,
            check=True,
        )
        varying: dict[str, set[str]] = {}
        names: set[str] = set()
        for line in ran.stderr.splitlines():
            if match := re.match(r"UniformityInfo for function '(.*)'", line):
                names = varying.setdefault(match[1], set())
            elif match := re.search(r"DIVERGENT:\s+(%[\w.$-]+) =", line) or re.search(
                r"DIVERGENT:.*\s(%[\w.$-]+)\s*$", line
            ):
                names.add(match[1])
            elif line.startswith("Used by") and (match := _PROBE.search(line)):
                names.add(match[2])  # Computed in a loop that lanes leave in different iterations.
        found = []
        for match in re.finditer(r"(?ms)^define [^\n]*@([\w.$]+)\(.*?^}", made.read_text()):
            called = {name or value for name, value in _CALLED.findall(match[0])}
            own = any(not name.startswith("llvm.") and "probe" not in name for name in called)
            hidden = own or " alloca " in match[0]
            for probe in _PROBE.finditer(match[0]):
                number = int(probe[1]) if probe[1] else None
                found.append(Said(match[1], number, probe[2] in varying.get(match[1], ()), hidden))
        return found


@dataclass(frozen=True)
class Said:
    """A call of `probe`: its function, its number, and whether its argument varies.

    `hidden`: variables of the function stay in private memory, or it calls functions that are not inlined; LLVM treats
    all values from there as varying.
    """

    function: str
    probe: int | None
    varies: bool
    hidden: bool


def judge() -> Judge | None:
    """Return a hipcc with an `opt`; None if there is none."""
    for each in find(os.environ, Path(sys.executable)):
        if each.hip[:2] < (6, 4):
            continue
        found = sorted(Path(each.hipcc).resolve().parent.parent.rglob("opt"))
        found = found or sorted(Path(each.hipcc).parents[2].rglob("bin/opt"))
        if found:
            return Judge(each, found[0])
    return None
