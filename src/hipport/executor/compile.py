# SPDX-License-Identifier: Apache-2.0
"""Compile the tree that `prepare` made with the machine's C++ compiler, and link it to the executor's runtime.

The runtime is compiled once and cached, like the executor's precompiled headers; every unit is cached under a hash of
all its inputs. Messages name the files and lines that the user wrote.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from hipport.building.compiler_messages import Message, SourcePlaces
from hipport.building.digests import Digests, digest_of, hash_tree, load_states, save_states
from hipport.building.locks import locked
from hipport.building.units import Unit
from hipport.engine.outcomes import Ported, Reported
from hipport.engine.pipeline import Pass
from hipport.executor import kept as keeping
from hipport.executor import linking, precompiled, special_functions, thrust
from hipport.executor.compilers import (
    DIVISION,
    INDICES,
    KEEP_CALLS,
    LENIENT,
    MEANING,
    OPTIMIZE,
    SAY,
    TELL_VOLATILE,
    Compiler,
    find_compiler,
    run_compiler,
)
from hipport.executor.messages import NotCompiled, link_errors, located
from hipport.executor.prepare import Dialect, Prepared, prepare, project_of, rewriter, rewritten
from hipport.executor.unit_flags import header_folders, own_flags, units_of
from hipport.program.project import Project
from hipport.toolchain.processors import processors
from hipport.toolchain.toolchains import cache

HERE = Path(__file__).with_name("native")
INCLUDE = HERE / "include"
RUNTIME = HERE / "runtime"
#: cuBLAS and similar libraries use this one, which is linked only to programs that need it.
MATH = HERE / "math"
#: hipport's helper headers, which ported code includes.
HELPERS = HERE.parents[1] / "include"

_FORMAT = 1
#: The number of units from which precompiling pays off: it takes as long as reading the headers in four units.
_WORTH = 4
#: For how many days a precompiled header that is not used is kept.
_DAYS = 3
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
# Loops are rewritten in all files; host files do not include the executor's headers, which define these macros.
_NO_TURNS = (
    "-DSIMT_ITERATION_END=((void)0)",
    "-DSIMT_LOCKSTEP_ITERATION=((void)0)",
    "-DSIMT_LOOP_ITERATION=((void)0)",
    "-DSIMT_TOGETHER(n)=",
    "-DSIMT_TOGETHER_FROM_HERE(n)=",
    "-DSIMT_TOGETHER_LATER(n)=",
    "-DSIMT_ENTERS(n)=",
    "-DSIMT_SIDE(n,number)=",
    "-DSIMT_LEAVES(n)=",
    "-DSIMT_KEPT(...)=",
    "-DSIMT_ON_DEVICE=0",
)
_HOST_DEFINES: Mapping[str, tuple[str, ...]] = {"cuda": (), "hip": ("-DSIMT_HIP", "-D__HIP_PLATFORM_AMD__=1")}
_SANITIZERS = frozenset(("address", "bounds", "undefined", "thread"))


@dataclass(frozen=True)
class CompileOptions:
    """Options of a compilation. `env` is the environment, with PATH and HOME.

    `optimize` is the level for kernels (None: the one of OPTIMIZE for the compiler); `sanitize` has any of `address`,
    `undefined`, `bounds`, and `thread`, for races; `indices` reports array indices outside the array's type, and
    continues. `flags` are additional ones for every unit. `precompile` compiles the executor's headers once, after a
    few units have used them. `jobs` is the number of concurrent compilers (None: the number of processors), `timeout`
    the limit for each in seconds. `compiler` is a given one; else g++ or clang++ is searched. `passes` are run on the
    sources before the executor's own, such as the one that turns inline PTX into C++.
    """

    env: Mapping[str, str]
    compiler: Compiler | None = None
    standard: int = 17
    optimize: str | None = None
    debug: bool = True
    sanitize: tuple[str, ...] = ()
    indices: bool = False
    flags: tuple[str, ...] = ()
    precompile: bool = True
    jobs: int | None = None
    timeout: float = 600.0
    passes: tuple[Pass[Any], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        unknown = set(self.sanitize) - _SANITIZERS
        if unknown:
            raise ValueError(
                f"unknown sanitizer {', '.join(sorted(unknown))}; known are: {', '.join(sorted(_SANITIZERS))}"
            )


@dataclass(frozen=True)
class CompiledUnit:
    """One unit: the file as the user knows it, relative to the root, and its object file."""

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
    """An executable program, and how it was built. `reported` are the places that the rewriter did not understand."""

    path: Path
    prepared: Prepared
    units: tuple[CompiledUnit, ...]
    cached: bool

    @property
    def reported(self) -> tuple[Reported, ...]:
        """The places that the rewriter did not understand."""
        return self.prepared.reported


@dataclass(frozen=True)
class _Command:
    """The command for a unit, without its prefix, the flags that include a header first.

    `fronted` are the flags and the standard with which that header must be compiled; None for a unit without the
    executor's headers.
    """

    language: str
    words: tuple[str, ...]
    fronted: tuple[tuple[str, ...], int] | None = None


@dataclass(frozen=True)
class Builder:
    """Compiles units, with a cache, for one set of options and one dialect."""

    options: CompileOptions
    dialect: Dialect

    @cached_property
    def compiler(self) -> Compiler:
        """The compiler that is used."""
        return self.options.compiler or find_compiler(self.options.env)

    @cached_property
    def kept(self) -> Path:
        """The folder for results that are kept between runs."""
        return cache(self.options.env).resolve() / "simt"

    @cached_property
    def own_headers(self) -> str:
        """A hash of the executor's headers, on which everything compiled depends."""
        return hash_tree((INCLUDE, HELPERS, MATH))

    def flags(self, *, device: bool = True, standard: int | None = None) -> tuple[str, ...]:
        """Return the flags for a unit of C++, without its own: for device code, or for host code without any."""
        family = self.compiler.family
        return (
            f"-std=gnu++{standard or self.options.standard}",
            self.options.optimize or OPTIMIZE[family],
            # addr2line of binutils 2.40 takes a file's folder from the wrong entry of DWARF 5's tables.
            *(("-gdwarf-4", "-g1") if self.options.debug else ()),
            "-fPIC",
            # Allows a kernel to be inlined into the loop over its threads.
            "-fno-semantic-interposition",
            "-ftls-model=initial-exec",
            # The speed of a short loop over threads depends on its alignment: 0.75 to 1.25 ns a thread.
            "-falign-loops=64",
            # Assemblers emit no relocation for a call within a section, and linking.KEEP_USES would miss it.
            *(("-ffunction-sections",) if device else ()),
            *KEEP_CALLS[family],
            *MEANING,
            *LENIENT[family],
            *(DIVISION if self.compiler.machine.startswith("aarch64") else ()),
            *self._sanitize(),
            *(INDICES[family] if self.options.indices and device else ()),
            *(_DEFINES if device else _HOST_DEFINES)[self.dialect],
            *(() if device else _NO_TURNS),
            *self.options.flags,
        )

    def _sanitize(self, *, linking: bool = False) -> tuple[str, ...]:
        # The runtime looks for races itself: it uses only the calls that the compiler inserts for ThreadSanitizer.
        names = [name for name in self.options.sanitize if not (linking and name == "thread")]
        told = TELL_VOLATILE[self.compiler.family] if "thread" in names else ()
        return (f"-fsanitize={','.join(names)}", "-fno-sanitize-recover=all", *told) if names else ()

    @cached_property
    def includes(self) -> tuple[str, ...]:
        """The folders of the executor's headers, and of Thrust, which follow a program's own."""
        folders = tuple(f"-I{folder}" for folder in include_folders(self.dialect, self.kept))
        return (*thrust.find(self.options.env, self.dialect).flags, *folders)

    def runtime(self) -> Path:
        """Return the runtime library, compiling it if necessary. Raises NotCompiled."""
        options = self.options
        return runtime(self.compiler, self.kept, env=options.env, timeout=options.timeout)

    def math(self) -> Path:
        """Return the library of linear algebra and transforms, compiling it if necessary. Raises NotCompiled."""
        options = self.options
        return _library(self.compiler, self.kept, MATH, env=options.env, timeout=options.timeout)

    def precompiled(self, header: str = _PRELUDE, flags: Sequence[str] = (), *, standard: int | None = None) -> Path:
        """Return a folder with the precompiled `header` for units of device code, compiling it if necessary.

        `header` is a path below an include folder; `flags` are those of the units, which must be the same. To be used,
        it must be the first header that a unit includes. Raises NotCompiled.
        """
        command, folder = self._precompiling(header, flags, standard)
        made = folder / f"{header}.gch"
        with locked(folder):
            if not precompiled.is_current(made):
                _prune(folder.parent)
                made.parent.mkdir(parents=True, exist_ok=True)
                source = folder / "source.h"
                source.write_text(f"#include <{header}>\n")
                new, listing = made.with_suffix(".new"), made.with_suffix(".read")
                listed = (*precompiled.LISTING, str(listing))
                status, said, _ = self._run([*command, *listed, "-x", "c++-header", str(source), "-o", str(new)])
                if status:
                    raise NotCompiled(located(said, source, SourcePlaces(HERE)), said)
                new.replace(made)
                precompiled.note_sources(made, listing, folder)
        return folder

    def _precompiling(self, header: str, flags: Sequence[str], standard: int | None) -> tuple[list[str], Path]:
        command = [self.compiler.path, *self.flags(standard=standard), *flags, *self.includes]
        key = digest_of(_FORMAT, self.compiler.identity, command, header, self.own_headers)
        return command, self.kept / "precompiled" / key

    def front(
        self, header: str = _PRELUDE, flags: Sequence[str] = (), *, standard: int | None = None, units: int = _WORTH
    ) -> list[str]:
        """Return the flags that put `header` before `units` units: precompiled, if there were enough of them."""
        _, folder = self._precompiling(header, flags, standard)
        with locked(folder):
            if not self.options.precompile or not precompiled.is_wanted(folder, units, _WORTH):
                return ["-include", header]
        self.precompiled(header, flags, standard=standard)
        if self.compiler.family == "clang":
            return ["-include-pch", str(folder / f"{header}.gch")]
        return [f"-I{folder}", "-include", header]

    def compile(self, units: Iterable[Unit], prepared: Prepared, *, header: str = _PRELUDE) -> tuple[CompiledUnit, ...]:
        """Compile `units`, whose sources are the user's, from the tree that was prepared from them."""
        units = tuple(units)
        places = SourcePlaces(prepared.root, copies={prepared.folder: prepared.base})
        digests = Digests()
        commands = [self._command(unit, prepared) for unit in units]
        wanted = Counter(each.fronted for each in commands if each.fronted)
        fronts = {
            each: self.front(header, each[0], standard=each[1], units=count) for each, count in wanted.items() if each
        }

        def compiled(unit: Unit, command: _Command) -> CompiledUnit:
            front = fronts[command.fronted] if command.fronted else []
            return self._compile(unit, command, front, prepared, places, digests)

        with ThreadPoolExecutor(self.options.jobs or processors()) as pool:
            return tuple(pool.map(compiled, units, commands))

    def _command(self, unit: Unit, prepared: Prepared) -> _Command:
        own, standard = own_flags(unit, prepared)
        if unit.language == "c":
            given = [
                flag for flag in self.flags(device=False) if not flag.startswith("-std=") and flag != "-fpermissive"
            ]
            return _Command("c", (*given, "-std=gnu11", *own, *self.includes))
        # A standard that is older than the executor's headers must not cause an error.
        used = max(standard or 0, self.options.standard)
        device = unit.language == "hip"
        # Sanitizers, of which there can be only one, instrument accesses in another way.
        step = self.compiler.lockstep(prepared) if device and not self.options.sanitize else ()
        fronted = ((*(f for f in own if f == "-fopenmp"), *step), used) if device else None
        return _Command("c++", (*self.flags(device=device, standard=used), *step, *own, *self.includes), fronted)

    def _compile(
        self,
        unit: Unit,
        command: _Command,
        front: Sequence[str],
        prepared: Prepared,
        places: SourcePlaces,
        digests: Digests,
    ) -> CompiledUnit:
        source = prepared.made(unit.source)
        path = places.locate(unit.source, 0, 0, prepared.root)[0]
        begin = [self.compiler.path, "-x", command.language]
        end = [*command.words, *SAY[self.compiler.family], "-c", str(source)]
        whole = [*begin, *front, *end]
        # The result does not depend on whether headers are precompiled.
        key = digest_of(_FORMAT, self.compiler.identity, [*begin, *end], bool(front), self.own_headers)
        folder = self.kept / "objects" / key[:2] / key[2:]
        states = folder / "states.json"
        for state in load_states(states):
            made = folder / state["object"]
            if digests.are(state["read"]) and made.exists():
                keeping.used(folder)
                messages = located(state["said"], source, places)
                return CompiledUnit(path, made, True, True, state["seconds"], messages, state["said"], tuple(whole))
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
            new, listing = Path(scratch, "out.o"), Path(scratch, "read")
            out = ["-o", str(new), "-MMD", "-MF", str(listing), "-MT", "out"]
            status, said, seconds = self._run([*whole, *out], unit.folder)
            if status and front and special_functions.are_lacking(said):
                # The precompiled headers lack them.
                whole = [*begin, special_functions.FLAG, "-include", _PRELUDE, *end]
                status, said, more = self._run([*whole, *out], unit.folder)
                seconds += more
            messages = located(said, source, places)
            if status:
                return CompiledUnit(path, Path(), False, False, seconds, messages, said, tuple(whole))
            read = digests.all_of(_all_read(listing, unit.folder))
            name = digest_of(sorted(read.items())) + ".o"
            # Renamed when complete, because other processes may read it.
            shutil.copyfile(new, folder / f"{name}.{os.getpid()}")
            (folder / f"{name}.{os.getpid()}").replace(folder / name)
        state = {"read": read, "said": said, "seconds": seconds, "object": name}
        save_states(states, [state, *(each for each in load_states(states) if each["object"] != name)][:4])
        return CompiledUnit(path, folder / name, True, False, seconds, messages, said, tuple(whole))

    def link(
        self,
        units: Sequence[CompiledUnit],
        libraries: Sequence[str] = (),
        *,
        shared: bool = False,
        name: str = "program",
    ) -> tuple[Path, bool]:
        """Link objects to the runtime; return the program, or the shared object, and whether it existed already."""
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
                linking.KEEP_USES,
                "-pthread",
                *libraries,
            ]

        key = digest_of(_FORMAT, self.compiler.identity, command(objects))
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
                raise NotCompiled(link_errors(said), said)
            new.replace(made)
        return made, False

    def _run(self, command: Sequence[str], folder: Path | None = None) -> tuple[int, str, float]:
        return run_compiler(command, self.options.env, self.options.timeout, folder)


_OF_MATH = re.compile(r"undefined reference to `simt::(?:blas|fft|sparse)::")


def runtime(compiler: Compiler, kept: Path, *, env: Mapping[str, str], timeout: float = 600.0) -> Path:
    """Return the runtime library in the folder `kept`, compiling it if necessary. Raises NotCompiled.

    It has no dialect, and is never instrumented; in a program with AddressSanitizer it informs that about its stacks.
    """
    return _library(compiler, kept, RUNTIME, env=env, timeout=timeout)


def _library(
    compiler: Compiler,
    kept: Path,
    folder: Path,
    *,
    env: Mapping[str, str],
    timeout: float,
) -> Path:
    """Return the shared library of the sources in `folder`, compiling it if necessary. Raises NotCompiled."""
    # -O1 takes two thirds of the time of -O2 to compile, and the result is as fast (bench/executor.py).
    flags = ["-std=c++17", "-O1", "-g1", "-fPIC", "-fvisibility=hidden", "-fno-semantic-interposition"]
    flags += ["-ftls-model=initial-exec", "-pthread", "-fno-omit-frame-pointer", "-Wall"]
    flags += [*SAY[compiler.family], "-DSIMT_RUNTIME"]
    sources = sorted(folder.glob("*.cpp"))
    key = digest_of(_FORMAT, compiler.identity, flags, hash_tree((INCLUDE, folder)))
    library = kept / folder.name / key / f"libhipport_{'simt' if folder == RUNTIME else folder.name}.so"
    with locked(library.parent):
        if library.exists():
            return library
        units = _units(sources, library.parent)
        objects = [each.with_suffix(".o") for each in units]
        commands = [
            [compiler.path, *flags, f"-I{INCLUDE}", "-c", str(each), "-o", str(made)]
            for each, made in zip(units, objects, strict=True)
        ]
        with ThreadPoolExecutor(processors()) as pool:
            results = list(pool.map(lambda command: run_compiler(command, env, timeout), commands))
        for each, (status, said, _) in zip(units, results, strict=True):
            if status:
                raise NotCompiled(located(said, each, SourcePlaces(HERE)), said)
        new = library.with_suffix(".new")
        command = [compiler.path, "-shared", "-pthread", *map(str, objects), "-o", str(new), "-ldl"]
        status, said, _ = run_compiler(command, env, timeout)
        if status:
            raise NotCompiled(link_errors(said), said)
        new.replace(library)
    return library


def dialect_defines(dialect: Dialect, *, device: bool = True) -> tuple[str, ...]:
    """Return the macro definitions for a unit with device code, or for one of the host alone."""
    return (_DEFINES if device else _HOST_DEFINES)[dialect]


def include_folders(dialect: Dialect, kept: Path | None = None) -> tuple[Path, ...]:
    """Return the folders of the executor's headers, in search order; they follow a program's own.

    The second has hipport's helper headers, prepared for the executor in the folder `kept`, if one is given.
    """
    if kept is None:
        return INCLUDE, HELPERS
    folder = kept / "helpers" / f"{dialect}-{digest_of(hash_tree((HELPERS,)), *rewriter())[:16]}"
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
    options: CompileOptions,
    *,
    out: Path | None = None,
    given: Sequence[Path] = (),
    vendored: Mapping[str, tuple[str, ...]] | None = None,
    exclude: Sequence[str] = (),
) -> Executable:
    """Build the program that the sources at `what` make up, files or a folder or their port.

    `make --dry-run` of a Makefile beside them lists the compilations. `out` is the folder of the prepared tree, by
    default one in the cache. `given` are the paths that a port was asked for, if it has more: files from elsewhere that
    these include. Raises NotCompiled, NoCompiler, and discovery.NotFound.
    """
    builder = Builder(options, dialect)
    builder.compiler  # noqa: B018 - without one, nothing else need be done
    project = project_of(what, exclude=exclude, vendored=vendored)
    if project.root is None:
        raise ValueError("this port was made from texts in memory, so there is no tree to prepare")
    units, libraries = units_of(given or what, project, options.env, dialect)
    if not units:
        raise NotCompiled((), "there is nothing to compile here")
    folders = header_folders(units)
    out = out or builder.kept / "trees" / digest_of(str(project.root), dialect, sorted(map(str, folders)))[:16]
    with locked(out):
        asked = given or (() if isinstance(what, Project | Ported) else what)
        prepared = prepare(project, out / "tree", dialect, passes=options.passes, folders=folders, given=asked)
        compiled = builder.compile(units, prepared)
        failed = [message for unit in compiled for message in unit.messages if not unit.ok]
        if any(not unit.ok for unit in compiled):
            raise NotCompiled(failed, "\n".join(unit.said for unit in compiled if not unit.ok))
        path, cached = builder.link(compiled, libraries, name=project.root.name or "program")
    return Executable(path, prepared, compiled, cached and all(unit.cached for unit in compiled))


def _all_read(listing: Path, folder: Path) -> list[str]:
    """Return the files that a unit was made from, from the compiler's list."""
    names = precompiled.files_listed(listing, folder)
    return [name for name in names if not name.startswith(str(INCLUDE)) and not name.endswith(".gch")]


def _prune(folder: Path) -> None:
    """Delete files that were not used for days: precompiled headers are large."""
    for each in folder.iterdir():
        with suppress(OSError):
            if time.time() - (each / ".lock").stat().st_mtime > _DAYS * 86400:
                shutil.rmtree(each)


def _units(sources: Sequence[Path], folder: Path) -> list[Path]:
    """Write units that include `sources`, a few each: the standard library's headers take half of a unit's time.

    With fewer processors there are fewer units, each of which combines several units of more processors. So sources
    that compile with two processors compile with more.
    """
    count = 2
    while 2 * count <= processors():
        count *= 2
    # The longest first, so that all units take a similar time.
    by_size = sorted(sources, key=lambda each: (-each.stat().st_size, each.name))
    units = []
    for number in range(min(count, len(sources))):
        unit = folder / f"unit_{number}.cpp"
        unit.write_text("".join(f'#include "{each}"\n' for each in by_size[number::count]))
        units.append(unit)
    return units
