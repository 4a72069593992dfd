# SPDX-License-Identifier: Apache-2.0
"""Compile what `prepare` made with the machine's C++ compiler, and link it to the executor's runtime.

The runtime is compiled once and kept, as are the executor's headers, precompiled, and every unit under a hash of all
that it was made from. Messages name the files and lines that the user wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from hipport.diagnostics import Message, Places, parse
from hipport.extensions import UNITS
from hipport.languages.cpp import Cpp
from hipport.pipeline import Pass, Ported, Reported
from hipport.processors import processors
from hipport.programs import programs
from hipport.project import Project
from hipport.simt import kept as keeping
from hipport.simt import linking, thrust
from hipport.simt.absent import absent
from hipport.simt.kept import locked
from hipport.simt.prepare import Dialect, Prepared, prepare, project_of, rewritten
from hipport.toolchain import cache
from hipport.units import Unit

HERE = Path(__file__).parent
INCLUDE = HERE / "include"
RUNTIME = HERE / "runtime"
#: What cuBLAS and its like stand on: a library of its own, for the programs that use it.
MATH = HERE / "math"
#: hipport's own headers, which ported code includes.
HELPERS = HERE.parent / "include"

_FORMAT = 1
_PASSES = frozenset(("assembly", "ballots", "launches", "loops", "prepare", "shared"))
#: For how long a precompiled header that is not used is kept.
_DAYS = 3
_OLDEST = {"g++": 11, "clang": 14}
_PRELUDE = "simt/prelude.h"

_DEFINES: Mapping[str, tuple[str, ...]] = {
    "cuda": ("-D__CUDACC__", "-D__NVCC__", "-D__CUDA_ARCH__=800"),
    "hip": (
        "-DSIMT_HIP",
        "-D__HIP__=1",
        "-D__HIPCC__=1",
        "-D__HIP_PLATFORM_AMD__=1",
        "-D__HIP_DEVICE_COMPILE__=1",
    ),
}
# Loops are rewritten in all files; those of the host have none of the executor's headers to say what stands in them.
_NO_TURNS = (
    "-DSIMT_NEXT_TURN=((void)0)",
    "-DSIMT_LOCKSTEP_TURN=((void)0)",
    "-DSIMT_LOOP_TURN=((void)0)",
    "-DSIMT_WAITING_LOOP=",
    "-DSIMT_KEPT(...)=",
)
_HOST_DEFINES: Mapping[str, tuple[str, ...]] = {"cuda": (), "hip": ("-DSIMT_HIP", "-D__HIP_PLATFORM_AMD__=1")}

# Lanes that go different ways are told apart by the chain of calls that they wait in, and those that are further behind
# go first, by the address. So no optimization may make one call of two, or two of one, or move blocks: no joining of
# equal ends of branches (tail merging, cross-jumping, folding equal functions, sinking, hoisting), no copies of what
# follows a branch for each of its ways (jump threading, splitting paths and loops, duplicating tails), no frames left
# out. What is needed was found by leaving out one after the other (tests/test_simt_compile.py has the functions).
_KEEP_CALLS = {
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
        # Loops that turn a known number of times, once above all (by 512 to 256), are taken apart, and what is copied
        # is laid out by who dominates whom: what follows a branch before the branch. Unrolling them completely has no
        # flag of its own.
        "--param=max-completely-peel-times=0",
        "--param=max-completely-peeled-insns=0",
        "-fno-tree-vrp",
        # Jumps around conditions that are known on one way.
        "-fno-gcse",
        "-fno-tree-dominator-opts",
        "-fno-tree-ch",
        "-fno-version-loops-for-strides",
        "-fno-partial-inlining",
        "-fno-ipa-cp-clone",
        "-fno-reorder-blocks",
        "-fno-reorder-blocks-and-partition",
        "-fno-omit-frame-pointer",
        # Not for calls: g++ 12 makes a comparison of vectors of four bytes a mask where it should be 0 or 1.
        "-fno-tree-slp-vectorize",
    ),
    "clang": (
        "-fno-optimize-sibling-calls",
        "-fno-unroll-loops",
        "-fno-omit-frame-pointer",
        # As for a GPU: no call becomes dependent on more conditions, or on fewer.
        *("-Xclang", "-fconvergent-functions"),
        # With lifetimes, the way out of a loop is laid out before the loop.
        *("-Xclang", "-disable-lifetime-markers"),
        *("-mllvm", "-enable-tail-merge=0"),
        *("-mllvm", "-disable-tail-duplicate"),
        *("-mllvm", "-disable-early-taildup"),
        *("-mllvm", "-disable-block-placement"),
        *("-mllvm", "-simplifycfg-hoist-common=0"),
        *("-mllvm", "-simplifycfg-sink-common=0"),
    ),
}
# What device code means on every machine and with every compiler: integers wrap, memory has no types, char has a sign,
# and nothing is fused that the text does not fuse.
_MEANING = (
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fsigned-char",
    "-ffp-contract=off",
    "-fno-math-errno",
)
# Processors that give 0 for a division by it, where others stop: the runtime has what this calls.
_DIVISION = ("-fsanitize=integer-divide-by-zero", "-fno-sanitize-recover=integer-divide-by-zero")
# What nvcc takes and other compilers refuse, or warn of.
_LENIENT = {
    "g++": ("-fpermissive", "-w", "-Wno-narrowing"),
    "clang": ("-w", "-Wno-c++11-narrowing", "-Wno-register"),
}
# Lanes that make each access to volatile shared memory together, as code from before __syncwarp has it, and let others
# go on where they look at other volatile memory in vain: the compiler calls the runtime for each access
# (runtime/races.cpp), by what it has for ThreadSanitizer.
_LOCKSTEP = {
    "g++": ("-fsanitize=thread", "--param=tsan-distinguish-volatile=1", "-DSIMT_LOCKSTEP=1"),
    "clang": ("-fsanitize=thread", "-mllvm", "-tsan-distinguish-volatile=1", "-DSIMT_LOCKSTEP=1"),
}
# Not that of assembly.
_VOLATILE = re.compile(rb"\bvolatile\b(?!\s*\()")
_SAY = {
    "g++": ("-fdiagnostics-color=never", "-fno-diagnostics-show-caret", "-fmax-errors=50"),
    "clang": ("-fno-color-diagnostics", "-fno-caret-diagnostics", "-ferror-limit=50"),
}
_SANITIZERS = frozenset(("address", "bounds", "undefined", "thread"))


class NoCompiler(Exception):
    """There is no C++ compiler that is new enough. The message says what there is."""


class NotCompiled(Exception):
    """Something did not compile. `messages` say what, at the user's lines; the text is the first of them."""

    def __init__(self, messages: Sequence[Message], said: str = "") -> None:
        first = next((each for each in messages if each.severity == "error"), None)
        #: What of CUDA's and HIP's the executor lacks, as a sentence.
        self.absent = absent(each.text for each in messages if each.severity == "error")
        text = f"{first.path}:{first.line}: {first.text}" if first else said or "did not compile"
        super().__init__(f"{text}; {self.absent}" if self.absent else text)
        self.messages = tuple(messages)
        self.said = said


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler that works. `family` is `g++` or `clang`, `machine` what it compiles for (x86_64-linux-gnu)."""

    path: str
    family: str
    version: tuple[int, ...]
    identity: str = field(repr=False)
    machine: str = field(default="", repr=False)

    @property
    def precompiled(self) -> str:
        """The suffix of headers that it has compiled."""
        return "pch" if self.family == "clang" else "gch"

    def lockstep(self, prepared: Prepared) -> tuple[str, ...]:
        """Return the flags for a tree that has volatile memory; none for others."""
        sources = [source for source in prepared.sources.values() if isinstance(source, Cpp)]
        return _LOCKSTEP[self.family] if any(_VOLATILE.search(s.code) for s in sources) else ()

    @property
    def keeps_calls(self) -> tuple[str, ...]:
        """The flags under which calls in different places of the text stay different calls."""
        return _KEEP_CALLS[self.family]

    def __str__(self) -> str:
        return f"{self.path} ({self.family} {'.'.join(map(str, self.version))})"


@dataclass(frozen=True)
class Options:
    """How to compile. `env` is the environment, with PATH and HOME.

    `optimize` is the level for kernels; `sanitize` has any of `address`, `undefined`, `bounds`, and
    `thread`, for races. `flags` are further
    ones for every unit. `precompile` has the executor's headers compiled once for all units: without, a single unit is
    there sooner. `jobs` is how many compilers run at once (None: as many as there are processors), `timeout` the
    seconds that each may take. `compiler` is one that was chosen; else g++ or clang++ is looked for. `passes` are run
    on the sources before the executor's own: what makes C++ of inline PTX.
    """

    env: Mapping[str, str]
    compiler: Compiler | None = None
    standard: int = 17
    optimize: str = "-O2"
    debug: bool = True
    sanitize: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    precompile: bool = True
    jobs: int | None = None
    timeout: float = 600.0
    passes: tuple[Pass[Any], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        unknown = set(self.sanitize) - _SANITIZERS
        if unknown:
            raise ValueError(f"there is no sanitizer {', '.join(sorted(unknown))}")


@dataclass(frozen=True)
class CompiledUnit:
    """One unit: the file as the user knows it, relative to the root, and the object it became."""

    path: PurePath
    object: Path
    ok: bool
    cached: bool
    seconds: float
    messages: tuple[Message, ...]
    said: str = field(default="", repr=False)
    command: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Executable:
    """A program that can be run, and how it came to be. `reported` is what the rewriter did not understand."""

    path: Path
    prepared: Prepared
    units: tuple[CompiledUnit, ...]
    cached: bool

    @property
    def reported(self) -> tuple[Reported, ...]:
        """What the rewriter did not understand."""
        return self.prepared.reported


# ---------------------------------------------------------------------------------------------------------- compilers


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


def probe(path: Path, env: Mapping[str, str]) -> Compiler | None:
    """Ask a compiler what it is; None where it does not answer as g++ or clang does."""
    said = _said([str(path), "--version"], env)
    clang = re.search(r"clang version (\d+(?:\.\d+)*)", said)
    version = clang[1] if clang else _said([str(path), "-dumpfullversion"], env).strip()
    if not re.fullmatch(r"\d+(?:\.\d+)*", version):
        return None
    family = "clang" if clang else "g++"
    machine = _said([str(path), "-dumpmachine"], env).strip()
    identity = f"{path.resolve()} {machine} {said}"
    return Compiler(str(path), family, tuple(map(int, version.split("."))), identity, machine)


def _said(command: Sequence[str], env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(env),
            timeout=60, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


# ----------------------------------------------------------------------------------------------------------- building


@dataclass(frozen=True)
class Builder:
    """Compiles, and remembers what it compiled, for one set of options and one dialect."""

    options: Options
    dialect: Dialect

    @cached_property
    def compiler(self) -> Compiler:
        """The compiler that is used."""
        return self.options.compiler or find_compiler(self.options.env)

    @cached_property
    def kept(self) -> Path:
        """The folder for what is kept between runs."""
        return cache(self.options.env).resolve() / "simt"

    @cached_property
    def own_headers(self) -> str:
        """A hash of the executor's headers: all that is compiled depends on them."""
        return _hash_tree((INCLUDE, HELPERS, MATH))

    def flags(self, *, device: bool = True, standard: int | None = None) -> tuple[str, ...]:
        """Return the flags for a unit of C++, without its own: device code, or a host's that has none."""
        family = self.compiler.family
        return (
            f"-std=gnu++{standard or self.options.standard}",
            self.options.optimize,
            # addr2line of binutils 2.40 takes the folder of a file from the wrong entry of DWARF 5's tables.
            *(("-gdwarf-4", "-g1") if self.options.debug else ()),
            "-fPIC",
            # So that a kernel can become part of the loop over its threads.
            "-fno-semantic-interposition",
            "-ftls-model=initial-exec",
            # How fast a short loop over threads is depends on where its instructions lie: 0.75 to 1.25 ns a thread.
            "-falign-loops=64",
            *_KEEP_CALLS[family],
            *_MEANING,
            *_LENIENT[family],
            *(_DIVISION if self.compiler.machine.startswith("aarch64") else ()),
            *self._sanitize(),
            *(_DEFINES if device else _HOST_DEFINES)[self.dialect],
            *(() if device else _NO_TURNS),
            *self.options.flags,
        )

    def _sanitize(self, *, linking: bool = False) -> tuple[str, ...]:
        # The runtime looks for races itself: of ThreadSanitizer only what the compiler inserts is used.
        names = [name for name in self.options.sanitize if not (linking and name == "thread")]
        return (f"-fsanitize={','.join(names)}", "-fno-sanitize-recover=all") if names else ()

    @cached_property
    def includes(self) -> tuple[str, ...]:
        """The folders of the executor's headers, and of Thrust, which come after a program's own."""
        folders = tuple(f"-I{folder}" for folder in include_folders(self.dialect, self.kept))
        return (*thrust.find(self.options.env, self.dialect).flags, *folders)

    def runtime(self) -> Path:
        """Return the runtime library, compiled now if it was not yet. Raises NotCompiled."""
        options = self.options
        return runtime(self.compiler, self.kept, env=options.env, sanitize=options.sanitize, timeout=options.timeout)

    def math(self) -> Path:
        """Return the library of linear algebra and transforms, compiled now if it was not yet. Raises NotCompiled."""
        options = self.options
        return _library(self.compiler, self.kept, MATH, env=options.env, timeout=options.timeout)

    def precompiled(self, header: str = _PRELUDE, flags: Sequence[str] = (), *, standard: int | None = None) -> Path:
        """Return a folder with the precompiled `header` for units of device code, made now if it was not yet.

        `header` is a path below a folder of includes; `flags` are those of the units, which must be the same. To be
        used, it has to be the first that a unit includes. Raises NotCompiled.
        """
        command = [self.compiler.path, *self.flags(standard=standard), *flags, *self.includes]
        key = _digest(_FORMAT, self.compiler.identity, command, header, self.own_headers)
        folder = self.kept / "precompiled" / key
        made = folder / f"{header}.gch"
        with locked(folder):
            if not made.exists():
                _prune(folder.parent)
                made.parent.mkdir(parents=True, exist_ok=True)
                source = folder / "source.h"
                source.write_text(f"#include <{header}>\n")
                new = made.with_suffix(".new")
                status, said, _ = self._run([*command, "-x", "c++-header", str(source), "-o", str(new)])
                if status:
                    raise NotCompiled(_messages(said, source, Places(HERE)), said)
                new.replace(made)
        return folder

    def front(self, header: str = _PRELUDE, flags: Sequence[str] = (), *, standard: int | None = None) -> list[str]:
        """Return the flags that put `header`, precompiled, in front of a unit."""
        if not self.options.precompile:
            return ["-include", header]
        folder = self.precompiled(header, flags, standard=standard)
        if self.compiler.family == "clang":
            return ["-include-pch", str(folder / f"{header}.gch")]
        return [f"-I{folder}", "-include", header]

    def compile(self, units: Iterable[Unit], prepared: Prepared, *, header: str = _PRELUDE) -> tuple[CompiledUnit, ...]:
        """Compile `units`, whose sources are the user's, from the tree that was prepared of them."""
        units = tuple(units)
        places = Places(prepared.root, copies={prepared.folder: prepared.base})
        hashes: dict[str, str] = {}
        commands = [self._command(unit, prepared, header) for unit in units]

        def compiled(unit: Unit, command: list[str]) -> CompiledUnit:
            return self._compile(unit, command, prepared, places, hashes)

        with ThreadPoolExecutor(self.options.jobs or processors()) as pool:
            return tuple(pool.map(compiled, units, commands))

    def _command(self, unit: Unit, prepared: Prepared, header: str) -> list[str]:
        own, standard = _own_flags(unit, prepared)
        if unit.language == "c":
            given = [
                flag for flag in self.flags(device=False) if not flag.startswith("-std=") and flag != "-fpermissive"
            ]
            compiler = [self.compiler.path, "-x", "c", *given, "-std=gnu11"]
            return [*compiler, *own, *self.includes]
        # A standard that is older than the executor's headers is no reason to fail.
        used = max(standard or 0, self.options.standard)
        device = unit.language == "hip"
        # Sanitizers, of which there can be one, look at accesses in another way.
        step = self.compiler.lockstep(prepared) if device and not self.options.sanitize else ()
        front = self.front(header, (*(f for f in own if f == "-fopenmp"), *step), standard=used) if device else []
        return [self.compiler.path, "-x", "c++", *front, *self.flags(device=device, standard=used), *step, *own,
                *self.includes]  # fmt: skip

    def _compile(
        self, unit: Unit, command: list[str], prepared: Prepared, places: Places, hashes: dict[str, str]
    ) -> CompiledUnit:
        source = prepared.made(unit.source)
        path = places.locate(unit.source, 0, 0, prepared.root)[0]
        whole = [*command, *_SAY[self.compiler.family], "-c", str(source)]
        key = _digest(_FORMAT, self.compiler.identity, whole, self.own_headers)
        folder = self.kept / "objects" / key[:2] / key[2:]
        states = folder / "states.json"
        for state in _load(states):
            made = folder / state["object"]
            if all(_hash(read, hashes) == digest for read, digest in state["read"].items()) and made.exists():
                keeping.used(folder)
                messages = _messages(state["said"], source, places)
                return CompiledUnit(path, made, True, True, state["seconds"], messages, state["said"], tuple(whole))
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
            new, listing = Path(scratch, "out.o"), Path(scratch, "read")
            status, said, seconds = self._run(
                [*whole, "-o", str(new), "-MMD", "-MF", str(listing), "-MT", "out"], unit.folder
            )
            messages = _messages(said, source, places)
            if status:
                return CompiledUnit(path, Path(), False, False, seconds, messages, said, tuple(whole))
            read = {name: _hash(name, hashes) for name in _all_read(listing, unit.folder)}
            name = _digest(sorted(read.items())) + ".o"
            # Complete before it has its name: others may look at the same time.
            shutil.copyfile(new, folder / f"{name}.{os.getpid()}")
            (folder / f"{name}.{os.getpid()}").replace(folder / name)
        state = {"read": read, "said": said, "seconds": seconds, "object": name}
        _save(states, [state, *(each for each in _load(states) if each["object"] != name)][:4])
        return CompiledUnit(path, folder / name, True, False, seconds, messages, said, tuple(whole))

    def link(
        self,
        units: Sequence[CompiledUnit],
        libraries: Sequence[str] = (),
        *,
        shared: bool = False,
        name: str = "program",
    ) -> tuple[Path, bool]:
        """Link objects to the runtime; returns the program, or the shared object, and whether it was there already."""
        runtime = self.runtime()
        try:
            keeping.prune(self.kept, keeping.limit(self.options.env))
        except ValueError as problem:
            raise NotCompiled((), str(problem)) from None
        objects = [unit.object for unit in units]

        def command(objects: Sequence[Path]) -> list[str]:
            return [
                self.compiler.path,
                *(("-shared",) if shared else ()),
                *self._sanitize(linking=True),
                *map(str, objects),
                str(runtime),
                f"-Wl,-rpath,{runtime.parent}",
                "-pthread",
                *libraries,
            ]

        key = _digest(_FORMAT, self.compiler.identity, command(objects))
        made = self.kept / "programs" / key[:2] / key[2:] / name
        with locked(made.parent):
            if made.exists():
                return made, True
            new = made.with_name(name + ".new")
            more = ["-o", str(new)]

            def run(words: Sequence[str]) -> tuple[int, str]:
                return self._run(words)[:2]

            status, said = linking.link(lambda own: [*command(own), *more], objects, run)
            if status and _OF_MATH.search(said):
                math = self.math()
                more += [str(math), f"-Wl,-rpath,{math.parent}"]
                status, said = linking.link(lambda own: [*command(own), *more], objects, run)
            if status:
                raise NotCompiled(_link_errors(said), said)
            new.replace(made)
        return made, False

    def _run(self, command: Sequence[str], folder: Path | None = None) -> tuple[int, str, float]:
        return _ran(command, self.options.env, self.options.timeout, folder)


_OF_MATH = re.compile(r"undefined reference to `simt::(?:blas|fft|sparse)::")


def runtime(
    compiler: Compiler, kept: Path, *, env: Mapping[str, str], sanitize: Sequence[str] = (), timeout: float = 600.0
) -> Path:
    """Return the runtime library in the folder `kept`, compiled now if it was not yet. Raises NotCompiled.

    It is never instrumented; under `address` it tells the sanitizer of its stacks.
    """
    # It is of no dialect.
    flags = ["-DSIMT_RUNTIME", *(("-DSIMT_ASAN=1",) if "address" in sanitize else ())]
    return _library(compiler, kept, RUNTIME, flags, env=env, timeout=timeout)


def _library(
    compiler: Compiler,
    kept: Path,
    folder: Path,
    own: Sequence[str] = ("-DSIMT_RUNTIME",),
    *,
    env: Mapping[str, str],
    timeout: float,
) -> Path:
    """Return the shared library of the sources in `folder`, compiled now if it was not yet. Raises NotCompiled."""
    flags = ["-std=c++17", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-fno-semantic-interposition"]
    flags += ["-ftls-model=initial-exec", "-pthread", "-fno-omit-frame-pointer", "-Wall"]
    flags += [*_SAY[compiler.family], f"-I{INCLUDE}", *own]
    sources = sorted(folder.glob("*.cpp"))
    key = _digest(_FORMAT, compiler.identity, flags, _hash_tree((INCLUDE, folder)))
    library = kept / folder.name / key / f"libhipport_{'simt' if folder == RUNTIME else folder.name}.so"
    with locked(library.parent):
        if library.exists():
            return library
        objects = [library.parent / f"{each.stem}.o" for each in sources]
        commands = [
            [compiler.path, *flags, "-c", str(each), "-o", str(made)]
            for each, made in zip(sources, objects, strict=True)
        ]
        with ThreadPoolExecutor(processors()) as pool:
            results = list(pool.map(lambda command: _ran(command, env, timeout), commands))
        for each, (status, said, _) in zip(sources, results, strict=True):
            if status:
                raise NotCompiled(_messages(said, each, Places(HERE)), said)
        new = library.with_suffix(".new")
        status, said, _ = _ran([compiler.path, "-shared", "-pthread", *map(str, objects), "-o", str(new), "-ldl"],
                               env, timeout)  # fmt: skip
        if status:
            raise NotCompiled(_link_errors(said), said)
        new.replace(library)
    return library


def dialect_defines(dialect: Dialect, *, device: bool = True) -> tuple[str, ...]:
    """Return what is defined for a unit with device code, or for one of the host alone."""
    return (_DEFINES if device else _HOST_DEFINES)[dialect]


def include_folders(dialect: Dialect, kept: Path | None = None) -> tuple[Path, ...]:
    """Return the folders of the executor's headers, in the order that they are looked in, after a program's own.

    The second has hipport's own headers, made ready for the executor in the folder `kept`, if one is given.
    """
    if kept is None:
        return INCLUDE, HELPERS
    folder = kept / "helpers" / f"{dialect}-{_digest(_hash_tree((HELPERS,)), *_rewriter())[:16]}"
    for path in sorted(HELPERS.rglob("*.h")):
        made = folder / path.relative_to(HELPERS)
        if not made.exists():
            made.parent.mkdir(parents=True, exist_ok=True)
            new = made.with_suffix(f".{os.getpid()}")
            new.write_bytes(f'#line 1 "{path}"\n'.encode() + rewritten(PurePath(path.name), path.read_bytes(), dialect))
            new.replace(made)
    return INCLUDE, folder


def program(
    what: Sequence[Path] | Project | Ported,
    dialect: Dialect,
    options: Options,
    *,
    out: Path | None = None,
    given: Sequence[Path] = (),
    vendored: Mapping[str, tuple[str, ...]] | None = None,
    exclude: Sequence[str] = (),
) -> Executable:
    """Build the one program that the sources at `what` make up, files or a folder or what they were ported to.

    A Makefile beside them is asked (`make --dry-run`) what it compiles, and how. `out` is where the prepared tree goes;
    by default a folder of the cache. `given` are the paths that a port was asked for, where it has more: files from
    elsewhere that these include. Raises NotCompiled, NoCompiler, and discover.NotFound.
    """
    builder = Builder(options, dialect)
    builder.compiler  # noqa: B018 - without one, nothing else need be done
    project = project_of(what, exclude=exclude, vendored=vendored)
    if project.root is None:
        raise ValueError("this was ported from memory: there is no tree to prepare")
    units, libraries = _units(given or what, project, options, dialect)
    if not units:
        raise NotCompiled((), "there is nothing here that could be compiled")
    folders = _folders(units)
    out = out or builder.kept / "trees" / _digest(str(project.root), dialect, sorted(map(str, folders)))[:16]
    with locked(out):
        prepared = prepare(
            what, out / "tree", dialect, passes=options.passes, folders=folders, given=given, vendored=vendored,
            exclude=exclude,
        )  # fmt: skip
        compiled = builder.compile(units, prepared)
        failed = [message for unit in compiled for message in unit.messages if not unit.ok]
        if any(not unit.ok for unit in compiled):
            raise NotCompiled(failed, "\n".join(unit.said for unit in compiled if not unit.ok))
        path, cached = builder.link(compiled, libraries, name=project.root.name or "program")
    return Executable(path, prepared, compiled, cached and all(unit.cached for unit in compiled))


# -------------------------------------------------------------------------------------------------------------- units


def _units(
    what: Sequence[Path] | Project | Ported, project: Project, options: Options, dialect: Dialect
) -> tuple[list[Unit], list[str]]:
    """Return the units of a program, and what it is linked to beyond the runtime."""
    assert project.root is not None
    root = project.root
    members = [root / each.path for each in project.sources]
    sources = [path for path in members if path.suffix in UNITS]
    given = [] if isinstance(what, Project | Ported) else [path.resolve() for path in what]
    units, _, _ = programs(root, sources, members, options.env, _portable, asked=given, hip=dialect == "hip")
    if given:
        units = [unit for unit in units if any(unit.source.resolve().is_relative_to(path) for path in given)]
    units = [replace(unit, flags=tuple(_portable(unit.flags))) for unit in units]
    libraries = ["-lm", "-ldl"]
    if any("-fopenmp" in unit.flags for unit in units):
        libraries.append("-fopenmp")
    return units, libraries


def _portable(flags: Sequence[str]) -> list[str]:
    """Keep of a compiler's flags those that say what the text means."""
    kept: list[str] = []
    rest = iter(flags)
    for flag in rest:
        if flag in ("-Xcompiler", "--compiler-options"):
            kept += _portable(next(rest, "").split(","))
        elif flag in ("-I", "-D", "-U", "-isystem", "-include"):
            kept += [flag, next(rest, "")]
        elif flag.startswith(("-I", "-D", "-U", "-std=", "-isystem", "-fopenmp", "-include")):
            kept.append(flag)
        elif flag.startswith(("--include-path=", "--define-macro=")):
            kept.append(("-I" if "include" in flag else "-D") + flag.partition("=")[2])
    return kept


def _folders(units: Sequence[Unit]) -> list[Path]:
    """Return the folders that units look for headers in, but for the machine's own."""
    found = []
    for unit in units:
        for flag, after in pairwise((*unit.flags, "")):
            name = after if flag in ("-I", "-isystem") else flag[2:] if flag.startswith("-I") else ""
            place = Path(os.path.normpath(unit.folder / name)) if name else None
            if place and place.is_dir() and not place.is_relative_to("/usr") and not _is_toolkit(place):
                found.append(place)
    return list(dict.fromkeys(found))


def _is_toolkit(folder: Path) -> bool:
    """Say whether a folder has the headers of a CUDA or ROCm installation, in whose place the executor's come."""
    return any((folder / name).is_file() for name in ("cuda_runtime_api.h", "hip/hip_runtime_api.h"))


def _own_flags(unit: Unit, prepared: Prepared) -> tuple[list[str], int | None]:
    """Return a unit's own flags with the folders of the prepared tree, and the standard it asks for."""
    kept: list[str] = []
    standard = None
    rest = iter(unit.flags)
    for flag in rest:
        asked = re.fullmatch(r"-std=(?:c|gnu)\+\+(\w+)", flag)
        if asked:
            years = {"98": 98, "03": 3, "0x": 11, "1y": 14, "1z": 17, "2a": 20, "2b": 23}
            standard = years.get(asked[1]) or int(asked[1])
            standard = None if standard > 90 else standard
        elif flag.startswith("-std="):
            continue
        elif flag in ("-I", "-isystem", "-include") or flag.startswith("-I"):
            flag, name = ("-I", flag[2:]) if flag.startswith("-I") and flag != "-I" else (flag, next(rest, ""))
            place = unit.folder / name
            if flag == "-include":
                kept += [flag, str(prepared.made(place)) if place.exists() else name]
            elif not _is_toolkit(place):
                kept += [flag, str(prepared.made(place))]
        else:
            kept.append(flag)
    return kept, standard


# ----------------------------------------------------------------------------------------------------------- messages


def _messages(said: str, source: Path, places: Places) -> tuple[Message, ...]:
    return places.located(parse(_as_clang(said), source), source.parent)


def _ran(
    command: Sequence[str], env: Mapping[str, str], timeout: float, folder: Path | None = None
) -> tuple[int, str, float]:
    """Run a compiler; returns its status, what it said, and the seconds it took."""
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=folder, env={**env, "LC_ALL": "C"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=timeout, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1, f"error: the compiler did not end within {timeout:.0f} s", time.monotonic() - start
    except OSError as problem:
        return 1, f"error: {problem}", time.monotonic() - start
    return done.returncode, done.stdout.decode("utf-8", "replace"), time.monotonic() - start


_REQUIRED = re.compile(r"(?P<where>[^\s:][^:]*:\d+:\d+):\s+(?P<text>(?:recursively )?required (?:from|by) .*)")
_CONTINUED = re.compile(r"\s+from (?P<path>.+?):(?P<line>\d+)[:,]")
_CONTEXT = re.compile(r"[^\s:][^:]*: (?:In|At) .*:$")


def _as_clang(said: str) -> str:
    """Put what g++ says into clang's order: where a template is used from behind the message, not before it."""
    lines: list[str] = []
    waiting: list[str] = []
    for line in said.splitlines():
        if required := _REQUIRED.fullmatch(line):
            waiting.append(f"{required['where']}: note: {required['text']}")
        elif more := _CONTINUED.match(line):
            lines.append(f"In file included from {more['path']}:{more['line']}:")
        elif _CONTEXT.fullmatch(line):
            continue
        else:
            lines.append(line)
            if ": error: " in line or ": fatal error: " in line or ": warning: " in line:
                lines += waiting
                waiting = []
    return "\n".join(lines)


def _link_errors(said: str) -> tuple[Message, ...]:
    """Name what a program needs and nobody has."""
    if "multiple definition of `main'" in said:
        return (Message(PurePath(), 0, 0, "error", "there are several programs here: give the sources of one"),)
    names = dict.fromkeys(re.findall(r"undefined reference to `([^']+)'", said))
    return tuple(Message(PurePath(), 0, 0, "error", f"nothing here defines {name}") for name in names) or (
        Message(PurePath(), 0, 0, "error", said.strip()[-2000:] or "the linker failed without a word"),
    )


# --------------------------------------------------------------------------------------------------------------- kept


def _digest(*what: object) -> str:
    return hashlib.sha256(json.dumps(what, default=str).encode()).hexdigest()


def _hash(path: str, known: dict[str, str]) -> str:
    if path not in known:
        try:
            known[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError:
            known[path] = ""
    return known[path]


def _hash_tree(folders: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                total.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def _rewriter() -> list[str]:
    """What the text of a prepared file depends on, besides the file."""
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(HERE.glob("*.py")) if path.stem in _PASSES]


def _all_read(listing: Path, folder: Path) -> list[str]:
    """Return the files that a unit was made from, of which the compiler has left a list."""
    words = re.split(r"(?<!\\)\s+", listing.read_text(errors="surrogateescape").replace("\\\n", " "))
    names = {os.path.normpath(folder / word.replace("\\ ", " ")) for word in words[1:] if word}
    return sorted(name for name in names if not name.startswith(str(INCLUDE)) and not name.endswith(".gch"))


def _prune(folder: Path) -> None:
    """Take away what nobody has used for days: precompiled headers are large."""
    for each in folder.iterdir():
        with suppress(OSError):
            if time.time() - (each / ".lock").stat().st_mtime > _DAYS * 86400:
                shutil.rmtree(each)


def _load(path: Path) -> list[dict[str, Any]]:
    try:
        states: list[dict[str, Any]] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    return states


def _save(path: Path, states: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        json.dump(states, file)
    Path(file.name).replace(path)
