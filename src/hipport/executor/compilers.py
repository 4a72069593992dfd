# SPDX-License-Identifier: Apache-2.0
"""C++ compilers for the executor: which exist, and the flags under which they preserve the meaning of device code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hipport.executor.prepare import Prepared
from hipport.syntax.cpp import Cpp
from hipport.toolchain import toolchains
from hipport.toolchain.processes import limited

_OLDEST = {"g++": 11, "clang": 14}

# Divergent lanes are identified by the chain of calls in which they wait, and those that are further behind, by
# address, run first. So no optimization may merge or duplicate calls, or move blocks: no merging of equal ends of
# branches (tail merging, cross-jumping, identical code folding, sinking, hoisting), no copies of code after a branch
# for each of its sides (jump threading, splitting of paths and loops, tail duplication), no omitted frames. Each flag
# was found necessary by leaving it out (tests/test_simt_compile.py has the functions).
KEEP_CALLS = {
    "g++": (
        "-fno-tree-tail-merge",
        "-fno-crossjumping",
        "-fno-ipa-icf",
        "-fno-code-hoisting",
        "-fno-optimize-sibling-calls",
        "-fno-thread-jumps",
        "-fno-split-paths",
        "-fno-unswitch-loops",
        "-fno-split-loops",
        "-fno-peel-loops",
        "-fno-unroll-loops",
        # Loops with a constant trip count, mostly one (by 512 to 256), are peeled, and copies are laid out by
        # dominance: code after a branch comes before the branch. Complete unrolling has no flag of its own.
        "--param=max-completely-peel-times=0",
        "--param=max-completely-peeled-insns=0",
        "-fno-tree-vrp",
        # Jumps around conditions that are known on one path.
        "-fno-gcse",
        "-fno-tree-dominator-opts",
        "-fno-tree-ch",
        "-fno-version-loops-for-strides",
        "-fno-partial-inlining",
        "-fno-ipa-cp-clone",
        "-fno-reorder-blocks",
        "-fno-reorder-blocks-and-partition",
        "-fno-omit-frame-pointer",
        # Not because of calls: for vectors of four bytes, g++ 12 turns a comparison into a mask instead of 0 or 1.
        "-fno-tree-slp-vectorize",
    ),
    "clang": (
        "-fno-optimize-sibling-calls",
        "-fno-unroll-loops",
        "-fno-omit-frame-pointer",
        # As for a GPU: no call becomes control dependent on more conditions, or on fewer.
        *("-Xclang", "-fconvergent-functions"),
        # With lifetime markers, the exit of a loop is laid out before the loop.
        *("-Xclang", "-disable-lifetime-markers"),
        *("-mllvm", "-enable-tail-merge=0"),
        *("-mllvm", "-disable-tail-duplicate"),
        *("-mllvm", "-disable-early-taildup"),
        *("-mllvm", "-disable-block-placement"),
        *("-mllvm", "-simplifycfg-hoist-common=0"),
        *("-mllvm", "-simplifycfg-sink-common=0"),
    ),
}
#: The optimization of kernels. With g++, -O2 takes half as long again for a unit, and only trivial kernels are faster
#: by it. With clang at -O1, a spinning lane looked as if it had gone on.
OPTIMIZE = {"g++": "-O1", "clang": "-O2"}
# The meaning of device code on every machine and with every compiler: integers wrap, there is no type-based aliasing,
# char is signed, and operations are fused only if the text fuses them.
MEANING = (
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fsigned-char",
    "-ffp-contract=off",
    "-fno-math-errno",
)
# GPUs return 0 for an integer division by zero, where CPUs stop: the runtime has the function that this calls.
DIVISION = ("-fsanitize=integer-divide-by-zero", "-fno-sanitize-recover=integer-divide-by-zero")
# For an index outside of an array's type, the compiler calls the runtime (runtime/faults.cpp), and continues.
INDICES = {
    "g++": ("-fsanitize=bounds", "-fsanitize-recover=bounds"),
    "clang": ("-fsanitize=array-bounds", "-fsanitize-recover=array-bounds"),
}
# Code that nvcc accepts and other compilers reject, or warn about.
LENIENT = {
    "g++": ("-fpermissive", "-w", "-Wno-narrowing"),
    "clang": ("-w", "-Wno-c++11-narrowing", "-Wno-register"),
}
# Lanes that make each access to volatile shared memory together, as code from before __syncwarp expects, and that let
# others run while they poll other volatile memory: the compiler calls the runtime for each access (runtime/races.cpp),
# by its instrumentation for ThreadSanitizer.
TELL_VOLATILE = {"g++": ("--param=tsan-distinguish-volatile=1",), "clang": ("-mllvm", "-tsan-distinguish-volatile=1")}
_LOCKSTEP = {family: ("-fsanitize=thread", *flags, "-DSIMT_LOCKSTEP=1") for family, flags in TELL_VOLATILE.items()}
# Not `asm volatile`.
_VOLATILE = re.compile(rb"\bvolatile\b(?!\s*\()")
SAY = {
    "g++": ("-fdiagnostics-color=never", "-fno-diagnostics-show-caret", "-fmax-errors=50"),
    "clang": ("-fno-color-diagnostics", "-fno-caret-diagnostics", "-ferror-limit=50"),
}


def has_volatile(prepared: Prepared) -> bool:
    """Whether a tree uses volatile memory."""
    return any(_VOLATILE.search(source.code) for source in prepared.sources.values() if isinstance(source, Cpp))


class NoCompiler(Exception):
    """There is no C++ compiler that is new enough. The message says which exist."""


@dataclass(frozen=True)
class Compiler:
    """A working C++ compiler. `family` is `g++` or `clang`, `machine` its target (x86_64-linux-gnu)."""

    path: str
    family: str
    version: tuple[int, ...]
    identity: str = field(repr=False)
    machine: str = field(default="", repr=False)

    @property
    def precompiled(self) -> str:
        """The suffix of its precompiled headers."""
        return "pch" if self.family == "clang" else "gch"

    def lockstep(self, prepared: Prepared) -> tuple[str, ...]:
        """Return the flags for a tree that uses volatile memory; none for others."""
        return _LOCKSTEP[self.family] if has_volatile(prepared) else ()

    @property
    def keeps_calls(self) -> tuple[str, ...]:
        """The flags under which calls at different places of the text stay different calls."""
        return KEEP_CALLS[self.family]

    def __str__(self) -> str:
        return f"{self.path} ({self.family} {'.'.join(map(str, self.version))})"


def find_compiler(env: Mapping[str, str]) -> Compiler:
    """Return the compiler that `CXX` names, else the first g++ or clang++ that is new enough. Raises NoCompiler."""
    path = env.get("PATH", os.defpath)
    names = [env["CXX"]] if env.get("CXX") else []
    names += ["g++", *(f"g++-{n}" for n in range(16, 10, -1)), "clang++", *(f"clang++-{n}" for n in range(22, 13, -1))]
    seen = []
    for name in names:
        place = shutil.which(name, path=path)
        if place is None:
            continue
        compiler = probe(Path(place), env)
        if compiler is not None and compiler.version[0] >= _OLDEST[compiler.family]:
            return compiler
        seen.append(str(compiler or place))
    has = f"; there is {', '.join(seen)}" if seen else ""
    raise NoCompiler(f"The executor needs g++ 11 or clang 14, or later{has}. On Debian: apt-get install g++")


def of_toolchains(env: Mapping[str, str]) -> Iterator[Path]:
    """The clang of each ROCm installation, the newest first."""
    for found in sorted(toolchains.find(env), key=lambda each: each.hip, reverse=True):
        status, said = limited([str(found.hipcc), "-print-prog-name=clang++"], Path("/"), found.environment(env), 60)
        # Its wrapper script may print a warning first.
        if status == 0 and (last := said.strip().rpartition("\n")[2]).startswith("/"):
            yield Path(last)


def probe(path: Path, env: Mapping[str, str]) -> Compiler | None:
    """Ask a compiler for its family and version; None if it does not answer like g++ or clang."""
    said = _output_of([str(path), "--version"], env)
    clang = re.search(r"clang version (\d+(?:\.\d+)*)", said)
    version = clang[1] if clang else _output_of([str(path), "-dumpfullversion"], env).strip()
    if not re.fullmatch(r"\d+(?:\.\d+)*", version):
        return None
    family = "clang" if clang else "g++"
    machine = _output_of([str(path), "-dumpmachine"], env).strip()
    identity = f"{path.resolve()} {machine} {said}"
    return Compiler(str(path), family, tuple(map(int, version.split("."))), identity, machine)


def _output_of(command: Sequence[str], env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(env),
            cwd="/", timeout=60, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


def run_compiler(
    command: Sequence[str], env: Mapping[str, str], timeout: float, folder: Path | None = None
) -> tuple[int, str, float]:
    """Run a compiler; return its status, its output, and the seconds it took."""
    start = time.monotonic()
    try:
        status, said = limited(command, folder or Path(), {**env, "LC_ALL": "C"}, timeout)
    except OSError as problem:
        status, said = 1, f"error: {problem}"
    if status is None:
        status, said = 1, f"error: the compiler did not end within {timeout:.0f} s"
    return status, said, time.monotonic() - start
