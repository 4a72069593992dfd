# SPDX-License-Identifier: Apache-2.0
"""Compile the units of a PyTorch extension for the CPU executor.

Objects are cached under a hash of all their inputs. A unit gets only as many of PyTorch's headers as it needs, and
these are compiled once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal

from hipport.building.compiler_messages import Message, SourcePlaces, parse
from hipport.building.locks import locked
from hipport.building.session import BuildSession
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.executor import compile as compiling
from hipport.executor import compilers, linking, precompiled, special_functions
from hipport.executor.messages import NotCompiled
from hipport.executor.prepare import Dialect, Prepared
from hipport.executor.torch_installed import FORMAT, HERE, NotBuildable, PyTorch, host_compiler
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.toolchain.processes import limited

_TORCH_SHIMS = HERE / "include/torch_shims"
_PCH_HEADER = "simt/torch_headers.h"
#: Replacements for PyTorch's largest headers, used as long as a unit compiles with them.
_TORCH_LIGHT = HERE / "include/torch_light"
_TORCH_TENSORS = HERE / "include/torch_tensors"
_LISTS = Words.read(Path(__file__).with_suffix(".toml"))
#: An error that concerns PyTorch, or a missing header.
_OF_TORCH = _LISTS.compile(r"error: .*(?:(?&about_torch)|\b(?&about_at)|No such file|file not found)")
#: An error that missing parts of the light headers may cause, in messages of g++ or clang.
_LACKING = re.compile(
    r"error: .*(?:not (?:been )?declared|undeclared|not a member|no member|no matching|no type|not name a type"
    r"|unknown type|incomplete type|invalid use|could not convert|cannot convert|no viable"
    r"|is not a (?:namespace|class|type|template))"
)

# The same for every unit, because precompiled headers require it.
_STANDARD = 20
#: Code in a unit of kernels that needs more of PyTorch than tensors, and the header for it.
_OF_HOST = _LISTS.compile(rb"(?&of_host)")
_MORE = '#include "simt/torch_host.h"\n'
_TORCH_INCLUDE = _LISTS.compile(r"(?&torch_folders)/")

#: The optimization of units with PyTorch's headers. In host units, which check tensors and bind functions, a compiler
#: would mostly optimize the inline functions of these headers, and that takes longer than the rest.
_KERNELS, _HOST = "-O1", "-O0"

#: The number of units from which precompiling rarely used headers pays off: it takes as long as reading them three
#: times.
_WORTH = 3

#: PyTorch's precompiled headers take half a gigabyte of g++'s memory, which its garbage collector would traverse.
_NO_COLLECTING = {"g++": ("--param=ggc-min-expand=10000", "--param=ggc-min-heapsize=8000000")}

#: How much of PyTorch's headers a unit gets: tensors, what most extensions use, or everything that it includes.
Headers = Literal["tensors", "light", "whole"]
_HEADERS: tuple[Headers, ...] = ("tensors", "light", "whole")
#: The folders that are searched before PyTorch's own.
_IN_FRONT = {
    "tensors": (f"-I{_TORCH_TENSORS}", f"-I{_TORCH_LIGHT}"),
    "light": (f"-I{_TORCH_LIGHT}",),
    "whole": (),
}

# An error about C10_WARP_SIZE, which is not a constant if one build runs with wavefronts of 32 and of 64 lanes.
NO_CONSTANT = re.compile(r"call to non-.constexpr. function .*wave_size|non-constexpr function 'wave_size'")


@dataclass(frozen=True)
class TorchUnit:
    source: Path
    device: bool
    arguments: tuple[str, ...]
    folder: Path
    extension: str


@dataclass(frozen=True)
class ExtensionOptions:
    """How an extension is built.

    `env` is the environment, also for setup.py; `kept` a folder for results; `python` the interpreter whose PyTorch is
    used. `passes` are run before the executor's own, which do not handle inline PTX. `only` selects extensions by name.
    `wave` is the wavefront size if it is the same in all runs, and then a constant. `jobs` is the number of concurrent
    compilers, `timeout` the limit for each in seconds.
    """

    env: Mapping[str, str]
    kept: Path
    python: Path
    passes: tuple[Pass[Any], ...] = ()
    only: Callable[[str], bool] | None = None
    wave: int | None = None
    jobs: int = 1
    timeout: float = 600.0


def _said_as(dialect: str) -> Dialect:
    return "hip" if dialect == "hip" else "cuda"


@dataclass(frozen=True)
class CompiledTorchUnit:
    path: Path
    seconds: float
    cached: bool
    messages: tuple[Message, ...]


@dataclass
class UnitCompiler:
    session: BuildSession
    torch: PyTorch
    dialect: str
    project: Project
    prepared: Prepared | None
    options: ExtensionOptions
    runtime: Path = field(init=False)
    compiler: compilers.Compiler = field(init=False)
    host_compiler: compilers.Compiler = field(init=False)
    places: SourcePlaces = field(init=False)
    #: Precompiled headers that were checked and are current.
    current: set[Path] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        # Prepared files name their original lines themselves.
        self.places = SourcePlaces(self.session.tree, {self.session.whole: self.session.top})
        self.compiler = compilers.find_compiler(self.options.env)
        self.host_compiler = host_compiler(self.torch, self.options.env)
        if self.dialect != "host":
            try:
                self.runtime = compiling.runtime(self.compiler, self.options.kept, env=self.options.env)
            except NotCompiled as problem:
                raise NotBuildable(f"the executor's runtime does not compile: {problem}") from problem

    def compiler_of(self, unit: TorchUnit) -> compilers.Compiler:
        """Device code is compiled by the compiler for programs, because convergence of lanes depends on it."""
        return self.compiler if unit.device else self.host_compiler

    def builder(self, optimize: str, compiler: compilers.Compiler) -> compiling.Builder:
        """The builder of programs, used for its flags."""
        options = compiling.CompileOptions(self.options.env, compiler, optimize=optimize)
        return compiling.Builder(options, _said_as(self.dialect))

    def flags(self, optimize: str, compiler: compilers.Compiler) -> list[str]:
        """The flags of every unit, without macro definitions, which go into a header."""
        builder = self.builder(optimize, compiler)
        return [flag for flag in builder.flags(standard=_STANDARD) if not flag.startswith("-D")]

    def compile(self, unit: TorchUnit) -> CompiledTorchUnit:
        """Compile `unit`, or return the cached result for the same input."""
        least: Headers = "tensors" if unit.device and not self._is_of_host(unit.source) else "light"
        command = self._command(unit, least)
        key = hashlib.sha256(json.dumps([FORMAT, str(unit.source), command]).encode()).hexdigest()
        folder = self.options.kept / "objects" / key[:2] / key[2:]
        for state in sorted(folder.glob("*.json")):
            read: dict[str, str] = json.loads(state.read_text())
            if self.session.digests.are(read):
                return CompiledTorchUnit(state.with_suffix(".o"), 0.0, True, ())
        folder.mkdir(parents=True, exist_ok=True)
        made, listing = folder / f"{os.getpid()}.o", folder / f"{os.getpid()}.d"
        start = time.monotonic()
        source = str(self._made(unit.source))
        out = ["-MD", "-MF", str(listing), "-MT", "out", "-x", "c++", "-c", source, "-o", str(made)]
        status, said = limited([*command, *out], unit.folder, self.options.env, self.options.timeout)
        for headers in _HEADERS[_HEADERS.index(least) + 1 :]:
            # The error may be caused by the reduced headers. If not, it also occurs with PyTorch's own.
            lacking = _OF_TORCH.search(said) or (headers == "light" and _LACKING.search(said))
            # More headers do not turn a value into a constant.
            if status and f"-I{_TORCH_LIGHT}" in command and lacking and not NO_CONSTANT.search(said):
                command = self._command(unit, headers)
                status, said = limited([*command, *out], unit.folder, self.options.env, self.options.timeout)
        if status and special_functions.are_lacking(said):
            command = [*command, special_functions.FLAG]
            status, said = limited([*command, *out], unit.folder, self.options.env, self.options.timeout)
        seconds = time.monotonic() - start
        if status != 0:
            messages = self.places.located(parse(said, unit.source), unit.folder)
            if not any(message.severity == "error" for message in messages):
                path = self.places.locate(unit.source, 0, 0, unit.folder)[0]
                last = "\n".join(said.strip().splitlines()[-5:])
                ended = f"the compiler did not end within {self.options.timeout:.0f} s" if status is None else last
                messages = (*messages, Message(path, 0, 0, "error", ended))
            return CompiledTorchUnit(made, seconds, False, messages)
        # Files of PyTorch and the system are identified by their versions, which are part of the command.
        own = (str(self.torch.include), "/usr/")
        names = precompiled.files_listed(listing, unit.folder)
        digests = self.session.digests.all_of(n for n in names if not n.startswith(own) and not n.endswith(".gch"))
        name = hashlib.sha256(json.dumps(digests).encode()).hexdigest()[:24]
        made.replace(folder / f"{name}.o")
        listing.unlink()
        (folder / f"{name}.json").write_text(json.dumps(digests))
        return CompiledTorchUnit(folder / f"{name}.o", seconds, False, ())

    def link(self, objects: Iterable[Path], place: Path) -> None:
        """Link a module. Undefined symbols are errors now, not at import."""
        place.parent.mkdir(parents=True, exist_ok=True)
        runtime = [str(self.runtime), f"-Wl,-rpath,{self.runtime.parent}"] if self.dialect != "host" else []
        runtime += [linking.KEEP_USES] if runtime else []
        libraries = [f"-l{name}" for name in ("c10", "torch_cpu", "torch", "torch_python")]

        def command(objects: Sequence[Path]) -> list[str]:
            return [
                *(self.compiler.path, "-shared", "-o", str(place), *map(str, objects), *runtime),
                *(f"-L{self.torch.lib}", f"-Wl,-rpath,{self.torch.lib}", *libraries),
            ]

        status, said = linking.link(
            command,
            list(objects),
            lambda words: limited(words, place.parent, {**self.options.env, "LC_ALL": "C"}, self.options.timeout),
        )
        if status != 0:
            lines = [line for line in said.splitlines() if "undefined" in line or "multiple" in line or "error" in line]
            raise NotBuildable(f"{place.name} could not be linked: " + "\n".join(lines[:8] or said.splitlines()[-3:]))

    def _command(self, unit: TorchUnit, headers: Headers) -> list[str]:
        defines, given = kept_arguments(unit, self.torch, self.options.kept)
        includes = [str(self._made(Path(word))) if word[0] == "/" else word for word in given]
        compiler = self.compiler_of(unit)
        identity = f"// {self.torch.version} {compiler.identity.splitlines()[0]}\n"
        if self.dialect == "host":
            header = self._header(identity + _as_text(defines))
            return [*self._with_torch(unit, headers), "-include", str(header), *includes]
        dialect = _said_as(self.dialect)
        own = self.builder(_KERNELS, compiler).includes
        defines += [flag.removeprefix("-D") for flag in compiling.dialect_defines(dialect, device=unit.device)]
        if self.options.wave is not None and dialect == "hip":
            defines.append(f"SIMT_WAVE_OF_BUILD={self.options.wave}")
        text = f'{identity}{_as_text(defines)}#include "simt/prelude.h"\n'
        # With such flags PyTorch's headers are compiled again: the precompiled ones have other flags.
        step = compiler.lockstep(self.prepared) if unit.device and self.prepared is not None else ()
        if self._uses_torch(unit.source):
            text = text.replace('#include "simt/prelude.h"', '#define SIMT_WITH_TORCH 1\n#include "simt/prelude.h"')
            if unit.device and headers == "light":
                text = _MORE + text
            header = self._header(text + '#include "simt/torch_macros.h"\n')
            front = self._with_torch(unit, headers)
            return [*front, *step, "-include", str(header), *includes, f"-I{_TORCH_SHIMS}", *own]
        if unit.device and compiler.family == "g++":
            return [*self._with_prelude(defines, step, compiler), *includes, *own]
        front = [compiler.path, *self.flags("-O2", compiler), *step]
        return [*front, "-include", str(self._header(text)), *includes, *own]

    def _with_prelude(self, defines: list[str], step: tuple[str, ...], compiler: compilers.Compiler) -> list[str]:
        """The beginning of a command for a unit with the executor's headers, precompiled as for programs.

        If one of `defines` affects these headers, g++ reads them as text. clang would report an error.
        """
        builder = self.builder(_KERNELS, compiler)
        try:
            front = builder.front(flags=step, standard=_STANDARD)
        except NotCompiled as problem:
            raise NotBuildable(f"the executor's headers do not compile: {problem}") from problem
        own = [f"-U{each[1:]}" if each.startswith("-") else f"-D{each}" for each in defines]
        return [compiler.path, *front, *builder.flags(standard=_STANDARD), *step, *own]

    def _made(self, path: Path) -> Path:
        """The place of a file or folder of the copy in the prepared tree."""
        if self.prepared is None or not path.is_relative_to(self.session.whole):
            return path
        original = self.session.top / path.relative_to(self.session.whole)
        made = self.prepared.made(original)
        return path if made == original else made

    def _with_torch(self, unit: TorchUnit, headers: Headers) -> list[str]:
        compiler = self.compiler_of(unit)
        own = [word for each in self.torch.includes for word in ("-isystem", str(each))]
        folders = [*_IN_FRONT[headers], *own]
        flags = self.flags(_KERNELS if unit.device else _HOST, compiler)
        front = [compiler.path, *flags, *_NO_COLLECTING.get(compiler.family, ()), *folders]
        # Other headers of a unit of kernels are read after the precompiled ones.
        kernels = unit.device and headers != "whole"
        try:
            # Units that fail with the headers for kernels ask for more; some of them do not compile at all.
            enough = _WORTH if unit.device and headers != "tensors" else 1
            return [*front, "-include", str(self._precompiled(folders, compiler, flags, kernels, enough))]
        except NotBuildable:
            if headers == "tensors":
                # This PyTorch lacks a header for one of the operators.
                return self._with_torch(unit, "light")
            if compiler == self.compiler:
                raise
            # This clang does not work with this PyTorch, which was built by g++.
            self.host_compiler = self.compiler
            return self._with_torch(unit, headers)

    def _header(self, text: str) -> Path:
        """A header with `text`. Definitions on the command line would invalidate the precompiled PyTorch headers."""
        path = self.options.kept / "defines" / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.h"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Units are compiled by several threads of one process.
            partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            partial.write_text(text)
            partial.replace(path)
        return path

    def _precompiled(
        self, folders: Sequence[str], compiler: compilers.Compiler, flags: list[str], kernels: bool, enough: int
    ) -> Path:
        """PyTorch's headers, precompiled: by g++ in half a minute, half a gigabyte; a quarter of that by clang.

        They are not precompiled until `enough` units want them.
        """
        text = (_TORCH_SHIMS / _PCH_HEADER).read_text()
        if self.dialect != "host":
            text = (HERE / "include/simt/behind.h").read_text() + text
        if kernels:
            text = f"#define SIMT_TORCH_KERNELS 1\n{(HERE / 'include/simt/less_math.h').read_text()}{text}"
        shown = [
            path.read_text()
            for folder in (_TORCH_TENSORS, _TORCH_LIGHT)
            if f"-I{folder}" in folders
            for path in sorted(folder.rglob("*.h"))
        ]
        if compiler.family == "clang":
            flags = [*flags, "-Xclang", "-fpch-instantiate-templates"]
        else:
            # Flags that keep calls apart do not affect the meaning of headers; clang requires equal flags.
            flags = [flag for flag in flags if flag not in compiler.keeps_calls]
        what = json.dumps([FORMAT, text, *shown, compiler.identity, self.torch.version, flags, folders])
        folder = self.options.kept / "torch" / hashlib.sha256(what.encode()).hexdigest()[:24]
        header = folder / "torch_headers.h"
        compiled = folder / f"torch_headers.h.{compiler.precompiled}"
        with locked(folder):
            # This checks some thousand files, once for each command of this run.
            if not compiled.exists() and not precompiled.is_wanted(folder, 1, enough):
                header.write_text(text)
                return header
            if compiled not in self.current and not precompiled.is_current(compiled):
                header.write_text(text)
                # The names are unique to the process: a compiler may outlive the process that started it.
                partial, listing = folder / f"partial.{os.getpid()}", folder / f"read.{os.getpid()}"
                command = [compiler.path, *flags, *folders, *precompiled.LISTING, str(listing)]
                command += ["-x", "c++-header", str(header), "-o", str(partial)]
                # Not `limited`, because it takes about a gigabyte.
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env=dict(self.options.env),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=3 * self.options.timeout,
                    check=False,
                )
                if done.returncode:
                    said = done.stdout.decode("utf-8", "replace")
                    raise NotBuildable(f"PyTorch's headers do not compile: {said[-2000:]}")
                partial.replace(compiled)
                precompiled.note_sources(compiled, listing, folder)
            self.current.add(compiled)
        return header

    def _uses_torch(self, source: Path) -> bool:
        """Whether a unit, or a file of the tree that it includes, includes PyTorch's headers."""
        files = self._files_of(source)
        return any(file is None or any(_TORCH_INCLUDE.match(each.path) for each in file.includes) for file in files)

    def _is_of_host(self, source: Path) -> bool:
        """Whether a unit, or a file of the tree that it includes, uses more than tensors."""
        return any(file is None or file.matched(_OF_HOST) for file in self._files_of(source))

    def _files_of(self, source: Path) -> Iterator[Cpp | None]:
        """A unit and the files of the tree that it includes; None for one that cannot be read."""
        files = self.project.by_path
        assert self.project.root is not None
        if not source.is_relative_to(self.session.copy):
            yield None
            return
        start = PurePath((self.session.tree / source.relative_to(self.session.copy)).relative_to(self.project.root))
        seen, queue = {start}, [start]
        while queue:
            each = files.get(queue.pop())
            if not isinstance(each, Cpp):
                yield None
                return
            yield each
            for include in each.includes:
                for other in self.project.included(each, include):
                    if other.path not in seen:
                        seen.add(other.path)
                        queue.append(other.path)


def _as_text(defines: Iterable[str]) -> str:
    """The lines of a header for `NAME`, `NAME=VALUE` and `-NAME`, which undefines it."""
    lines = []
    for each in dict.fromkeys(defines):
        name, _, value = each.partition("=")
        if name.startswith("-"):
            lines.append(f"#undef {name[1:]}")
        else:
            lines.append(f"#undef {name.partition('(')[0]}\n#define {name} {value if '=' in each else '1'}")
    return "\n".join([*lines, ""])


def kept_arguments(unit: TorchUnit, torch: PyTorch, cache: Path) -> tuple[list[str], list[str]]:
    """Return a compiler's macro definitions, and its include folders other than PyTorch's own."""
    foreign = (str(torch.include.parent), str(cache / "toolkit"))
    defines: list[str] = []
    includes: list[str] = []
    words = iter([word for each in unit.arguments for word in (shlex.split(each) if " " in each else [each])])
    for word in words:
        for flag in ("-D", "-U", "-isystem", "-I", "-include"):
            if word.startswith(flag):
                value = word.removeprefix(flag) or next(words, "")
                place = str(unit.folder / value)
                if flag == "-D":
                    defines.append(value)
                elif flag == "-U":
                    defines.append(f"-{value}")
                elif not place.startswith(foreign) and not (Path(place) / "Python.h").exists():
                    includes += [flag, os.path.normpath(place)]
                break
    return defines, includes
