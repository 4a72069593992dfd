# SPDX-License-Identifier: Apache-2.0
"""Build a PyTorch extension for the CPU executor, so that it is imported under its own name.

Its setup.py is run up to the compilers, as for `hipport build`, by a PyTorch that takes itself for one with CUDA (the
original) or for ROCm (the port). Its sources are rewritten in a copy of the tree, compiled with the machine's C++
compiler against PyTorch's headers for the CPU and the executor's for the rest, and linked to where the package looks
for them. Objects are kept under a hash of all they were made from, PyTorch's headers are compiled once.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, Literal

from hipport.building.compiler_messages import Message, SourcePlaces, parse
from hipport.building.just_in_time import just_in_time
from hipport.building.locks import locked
from hipport.building.recorder import setup_scripts
from hipport.building.session import BuildSession, Toolkit, build_session
from hipport.engine.outcomes import Ported, Reported
from hipport.engine.pipeline import Pass
from hipport.executor import compile as compiling
from hipport.executor import compilers, linking, precompiled, torch_devices
from hipport.executor import kept as keeping
from hipport.executor.messages import NotCompiled
from hipport.executor.missing_names import absent
from hipport.executor.prepare import Dialect, Prepared, prepare
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.toolchain.processes import ask_python, limited
from hipport.workspace.discovery import discover

#: What PyTorch takes itself for while it says how an extension is built.
_CUDA = "12.4"
_HIP = "6.4.3"

HERE = Path(__file__).with_name("native")
_TORCH_SHIMS = HERE / "include/torch_shims"
_PCH_HEADER = "simt/torch_headers.h"
#: Stand in for PyTorch's largest headers, as long as a unit compiles with them.
_TORCH_LIGHT = HERE / "include/torch_light"
_TORCH_TENSORS = HERE / "include/torch_tensors"
#: An error that has to do with PyTorch, or with a header that is not there.
_OF_TORCH = re.compile(r"error: .*(?:torch|\bat::|c10|std::|No such file|file not found)")
#: An error that what tensors lack may be the reason of, by g++ or clang.
_LACKING = re.compile(
    r"error: .*(?:not (?:been )?declared|undeclared|not a member|no member|no matching|no type|not name a type"
    r"|unknown type|incomplete type|invalid use|could not convert|cannot convert|no viable"
    r"|is not a (?:namespace|class|type|template))"
)

# The same for every unit: what PyTorch's headers are compiled with has to be what they are used with.
_STANDARD = 20
#: What a unit of kernels has that needs more of PyTorch than tensors, and the line that brings it.
_OF_HOST = re.compile(
    rb"py|pybind11|PYBIND11_\w+|Py\w+|THP\w+|TORCH_EXTENSION_NAME|python_\w+"
    rb"|autograd|AutogradContext|InferenceMode|(?:TORCH_LIBRARY|STABLE_TORCH_LIBRARY)\w*|RegisterOperators"
    rb"|requires_grad"
)
_MORE = '#include "simt/torch_host.h"\n'
_TORCH_INCLUDE = re.compile(r"(?:torch|ATen|c10|THC|pybind11)/")

#: How units with PyTorch's headers are optimized. Of the host's, which check tensors and bind functions, a compiler
#: optimizes little else than the inline functions of these headers, and for longer than it takes for the rest.
_KERNELS, _HOST = "-O1", "-O0"

#: The oldest clang that is preferred to g++ for code of the host.
_CLANG = 17
#: PyTorch's compiled headers are half a gigabyte of g++'s memory, which it would look through for what is not needed.
_NO_COLLECTING = {"g++": ("--param=ggc-min-expand=10000", "--param=ggc-min-heapsize=8000000")}

#: How much a unit gets of PyTorch's headers: tensors, what most extensions use, or all that it includes.
Headers = Literal["tensors", "light", "whole"]
_HEADERS: tuple[Headers, ...] = ("tensors", "light", "whole")
#: The folders that are searched before PyTorch's own.
_IN_FRONT = {
    "tensors": (f"-I{_TORCH_TENSORS}", f"-I{_TORCH_LIGHT}"),
    "light": (f"-I{_TORCH_LIGHT}",),
    "whole": (),
}

_FORMAT = 1
# Of C10_WARP_SIZE, which is none where one build is run with wavefronts of 32 and of 64.
_NO_CONSTANT = re.compile(r"call to non-.constexpr. function .*wave_size|non-constexpr function 'wave_size'")
_ONE_WAVE = "\nC10_WARP_SIZE is a constant in a run with one wavefront: give --wave 32, then --wave 64"


class NotBuildable(Exception):
    """The extension could not be built; the message says why, with the compiler's first words."""


@dataclass(frozen=True)
class Module:
    """One extension module: `name` as it is imported, and the library."""

    name: str
    path: Path


@dataclass(frozen=True)
class BuiltExtension:
    """An extension that can be imported: `paths` go in front of sys.path, `libraries` are loaded first, and
    `allocator`, which puts tensors where the executor sees who writes beside them.

    `dialect` is that of the sources: `cuda`, `hip`, or `host` for a build without device code. `tree` is the copy of
    the tree that it was built in. `seconds` is what each unit took to compile, of those that were not known.
    `edited` is what the passes that were given changed before the executor's own, `reported` what was not understood.
    `around` are files that the sources of the tree include from elsewhere.
    """

    dialect: str
    tree: Path
    modules: tuple[Module, ...]
    paths: tuple[Path, ...]
    libraries: tuple[Path, ...]
    allocator: Path | None
    seconds: Mapping[PurePath, float]
    messages: tuple[Message, ...] = ()
    edited: tuple[Reported, ...] = ()
    reported: tuple[Reported, ...] = ()
    around: tuple[Path, ...] = ()


@dataclass(frozen=True)
class _Unit:
    source: Path
    device: bool
    arguments: tuple[str, ...]
    folder: Path
    extension: str


@dataclass(frozen=True)
class PyTorch:
    """The PyTorch of an interpreter: where its headers and libraries are."""

    python: Path
    version: str
    include: Path
    lib: Path
    python_include: Path
    cxx11_abi: bool

    @property
    def includes(self) -> tuple[Path, ...]:
        return self.include, self.include / "torch/csrc/api/include", self.python_include


class NoTorch(NotBuildable):
    """The interpreter has no PyTorch."""


_ASK = """
import json, sysconfig
from importlib.util import find_spec
spec = find_spec("torch")
folder = list(spec.submodule_search_locations)[0] if spec else ""
print(json.dumps([folder, sysconfig.get_path("include"), find_spec("numpy") is not None]))
"""


def torch_of(python: Path, env: Mapping[str, str]) -> PyTorch:
    """Return the PyTorch of an interpreter, without importing it. Raises NoTorch."""
    try:
        status, said, wrong = ask_python(python, _ASK, env, 60)
    except OSError as problem:
        raise NoTorch(f"{python} does not run: {problem.strerror}; name another interpreter: --python") from None
    if status != 0:
        raise NoTorch(f"{python} does not run: {wrong.strip() or 'it does not answer'}")
    folder, include, numpy = json.loads(said.splitlines()[-1])
    if not folder:
        raise NoTorch(f"{python} has no PyTorch: name a Python that has it: --python PATH")
    if not numpy:
        raise NoTorch(f"{python} has no NumPy, which cases are written with: {python} -m pip install numpy")
    version = re.search(r"__version__ = '([^']*)'", (Path(folder) / "version.py").read_text())
    return PyTorch(
        python, version[1] if version else "", Path(folder, "include"), Path(folder, "lib"), Path(include), True
    )


@dataclass(frozen=True)
class ExtensionOptions:
    """Options of an extension's build.

    `env` is the environment, also for setup.py; `kept` a folder to keep what was made; `python` the interpreter whose
    PyTorch is built against. `passes` are run before the executor's own, which know no inline PTX. `only` chooses
    extensions by name. `wave`: how many lanes wavefronts have in all runs of it, which is a constant then. `jobs` is
    how many compilers run at once, `timeout` the seconds that each may take.
    """

    env: Mapping[str, str]
    kept: Path
    python: Path
    passes: tuple[Pass[Any], ...] = ()
    only: Callable[[str], bool] | None = None
    wave: int | None = None
    jobs: int = 1
    timeout: float = 600.0


def build(tree: Path, dialect: str, options: ExtensionOptions, ported: Ported | None = None) -> BuiltExtension:
    """Build the extensions of the setup.py files in `tree`, which is not written to.

    `dialect` is `cuda` for original sources, `hip` for ported ones, `host` for a build that has no GPU. With `ported`,
    what hipport made of `tree` is built, and messages name the lines of `tree`. Raises NotBuildable.
    """
    torch = torch_of(options.python, options.env)
    identity = hashlib.sha256(f"{tree}\0{dialect}\0{torch.include}".encode()).hexdigest()[:16]
    project = ported.project if ported is not None else discover([tree])
    assert project.root is not None, "text in memory is not built"
    members = [project.root / source.path for source in project.sources]
    with build_session(options.kept / "trees" / identity, tree, members) as session:
        session.fill(ported)
        units, modules, about = _Recorder(session, torch, dialect, options).all()
        units = [unit for unit in units if options.only is None or options.only(unit.extension)]
        if not units:
            asked = " that was asked for" if options.only else ""
            raise NotBuildable(f"{tree}: no setup.py there builds an extension{asked}")
        prepared = _prepared(session, ported or project, dialect, units, torch, options) if dialect != "host" else None
        compiler = _Compiler(session, torch, dialect, project, prepared, options)
        with ThreadPoolExecutor(options.jobs) as pool:
            objects = list(pool.map(compiler.compile, units))
        failed = [message for each in objects for message in each.messages if message.severity == "error"]
        if failed:
            said = _said(failed)
            raise NotBuildable(said + (_ONE_WAVE if options.wave is None and _NO_CONSTANT.search(said) else ""))
        built = list(_linked(compiler, units, objects, modules))
        libraries: tuple[Path, ...] = ()
        guard = None
        if dialect != "host":
            libraries = (compiler.runtime,)
            guard = allocator(torch, compiler.runtime, env=options.env, cache=options.kept)
    try:
        keeping.prune(options.kept, keeping.limit(options.env))
    except ValueError as problem:
        raise NotBuildable(str(problem)) from None
    paths = _import_paths(built, about, session.kept / "packages")
    seconds = {
        PurePath(
            unit.source.relative_to(session.copy) if unit.source.is_relative_to(session.copy) else unit.source
        ): each.seconds
        for unit, each in zip(units, objects, strict=True)
        if not each.cached
    }
    if prepared is None:
        return BuiltExtension(dialect, session.copy, tuple(built), paths, libraries, guard, seconds)
    names = {each.name for each in options.passes}
    edited = tuple(each for each in prepared.edited if each.rule.partition("/")[0] in names)
    of_tree = {prepared.base / each.path for each in prepared.sources.values()}
    around = tuple(sorted(path for path in of_tree if not path.is_relative_to(tree) and path.is_file()))
    return BuiltExtension(
        dialect,
        session.copy,
        tuple(built),
        paths,
        libraries,
        guard,
        seconds,
        edited=edited,
        reported=prepared.reported,
        around=around,
    )


def _prepared(
    session: BuildSession,
    code: Ported | Project,
    dialect: str,
    units: Sequence[_Unit],
    torch: PyTorch,
    options: ExtensionOptions,
) -> Prepared:
    """Return the tree of C++ that the executor compiles, with the folders that units include from."""
    folders = [Path(each) for unit in units for each in _kept(unit, torch, options.kept)[1] if each[0] == "/"]
    given = [session.original(each) for each in dict.fromkeys(folders) if each.is_relative_to(session.whole)]
    passes = (*options.passes, torch_devices.PASS)
    return prepare(code, session.kept / "made", "hip" if dialect == "hip" else "cuda", passes=passes, folders=given)


def _linked(
    compiler: _Compiler, units: Sequence[_Unit], objects: Sequence[_Object], modules: Mapping[str, Path]
) -> Iterator[Module]:
    """Link each extension, and yield it."""
    for extension in dict.fromkeys(unit.extension for unit in units):
        place = modules.get(extension, compiler.session.copy / ".jit" / f"{extension}.so")
        members = [(unit, o.path) for unit, o in zip(units, objects, strict=True) if unit.extension == extension]
        # Of an inline function that several units have, the linker takes the first.
        members.sort(key=lambda each: not each[0].device)
        compiler.link([path for _, path in members], place)
        yield Module(extension, place)


def _import_paths(built: Sequence[Module], about: Mapping[str, str], links: Path) -> tuple[Path, ...]:
    """Return what goes in front of sys.path, with what `about` says of distributions put there."""
    shutil.rmtree(links, ignore_errors=True)
    paths = tuple(dict.fromkeys(_import_path(module, links) for module in built))
    for name, text in about.items():
        # Packages ask importlib.metadata for their own version.
        for path in paths:
            place = path / f"{name.replace('-', '_')}.egg-info"
            place.mkdir(exist_ok=True)
            (place / "PKG-INFO").write_text(text, encoding="utf-8")
    return paths


def host_compiler(torch: PyTorch, env: Mapping[str, str]) -> compilers.Compiler:
    """Return the compiler for units without device code: the one that `CXX` names, else a clang, else g++.

    clang keeps what the inline functions of PyTorch's headers make of templates with the headers that it compiled
    before; g++ makes it again for each unit, which takes three times as long. A toolchain for ROCm has a clang.
    pybind11 3 counts both as one compiler; before that, modules by clang did not know the types of a PyTorch by g++.
    Raises NoCompiler.
    """
    return _host_compiler(torch.include, tuple(sorted(env.items())))


@lru_cache(maxsize=8)
def _host_compiler(include: Path, environment: tuple[tuple[str, str], ...]) -> compilers.Compiler:
    """Asking all compilers that there are takes a second, and each build of a verification asks."""
    env = dict(environment)
    if not env.get("CXX") and (include / "pybind11/conduit/pybind11_platform_abi_id.h").is_file():
        path = env.get("PATH", os.defpath)
        named = (shutil.which(name, path=path) for name in ("clang++", *(f"clang++-{n}" for n in range(22, 16, -1))))
        for place in (*(Path(each) for each in named if each), *compilers.of_toolchains(env)):
            compiler = compilers.probe(place, env)
            if compiler and compiler.family == "clang" and compiler.version[0] >= _CLANG and _has_library(place, env):
                return compiler
    return compilers.find_compiler(env)


def _has_library(clang: Path, env: Mapping[str, str]) -> bool:
    """Whether clang finds C++'s library, of which it has none itself."""
    command = [str(clang), "-std=gnu++20", "-fsyntax-only", "-x", "c++", "-include", "concepts", os.devnull]
    return limited(command, Path("/"), env, 60)[0] == 0


def allocator(torch: PyTorch, runtime: Path, *, env: Mapping[str, str], cache: Path, timeout: float = 600.0) -> Path:
    """Return the library that puts tensors into the executor's memory, made now if it was not. Raises NotBuildable."""
    compiler = compilers.find_compiler(env)
    source = HERE / "torch_allocator.cpp"
    command = [
        *(compiler.path, "-std=c++20", "-O2", "-fPIC", "-shared", "-w", str(source)),
        *("-isystem", str(torch.include), f"-I{HERE / 'include'}", str(runtime), f"-Wl,-rpath,{runtime.parent}"),
        *(f"-L{torch.lib}", f"-Wl,-rpath,{torch.lib}", "-lc10"),
    ]
    text = json.dumps([_FORMAT, compiler.identity, torch.version, source.read_text(), command])
    folder = cache / "torch" / hashlib.sha256(text.encode()).hexdigest()[:24]
    library = folder / "libhipport_simt_torch.so"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            new = library.with_suffix(".new")
            status, said = limited([*command, "-o", str(new)], folder, env, timeout)
            if status != 0:
                raise NotBuildable(f"the allocator of tensors does not compile: {said[-2000:]}")
            new.replace(library)
    return library


def _said_as(dialect: str) -> Dialect:
    return "hip" if dialect == "hip" else "cuda"


def _import_path(module: Module, links: Path) -> Path:
    """Return the folder from which a module is imported by its name.

    A package whose setup.py has it in a folder of another name (`package_dir`) gets a link by its own in `links`.
    """
    packages = module.name.split(".")[:-1]
    folder = module.path.parent
    same = 0
    while same < len(packages) and folder.parts[-1 - same] == packages[-1 - same]:
        same += 1
    top = folder.parents[same - 1] if same else folder
    if same == len(packages):
        return top
    link = links.joinpath(*packages[: len(packages) - same])
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(top)
    return links


def _said(messages: Sequence[Message]) -> str:
    lines = [f"{m.path}:{m.line}: {m.text}" + (f" (at {m.at})" if m.at else "") for m in messages[:8]]
    more = [f"and {len(messages) - 8} more"] if len(messages) > 8 else []
    lacks = absent(message.text for message in messages)
    return "\n".join([*lines, *more, *([lacks] if lacks else [])])


# --- What is built ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Recorder:
    """Has `record_extensions` run the scripts of a copy."""

    session: BuildSession
    torch: PyTorch
    dialect: str
    options: ExtensionOptions

    def all(self) -> tuple[list[_Unit], dict[str, Path], dict[str, str]]:
        """Return the units of all extensions, where each extension goes, and what is known of each distribution."""
        units: list[_Unit] = []
        modules: dict[str, Path] = {}
        about: dict[str, str] = {}
        scripts = [path for path in sorted(self.session.copy.rglob("*.py")) if ".hipport" not in path.parts]
        setups = setup_scripts(scripts)
        problems = []
        for script in setups:
            answer, problem = self._run({"kind": "setup", "script": script.name}, script.parent)
            if problem:
                problems.append(f"{script.relative_to(self.session.copy)}: {problem}")
                continue
            units += self._units(answer)
            modules |= {name: Path(path) for name, path in answer["modules"].items()}
            about |= answer["about"]
        if not setups:
            for script in scripts:
                for call in just_in_time(script, self.session.copy)[0]:
                    request = {
                        "kind": "jit",
                        "function": call.function,
                        "arguments": dict(call.arguments),
                        "hooks": call.hooks,
                        "script": str(script),
                    }
                    answer, problem = self._run(request, script.parent)
                    if problem:
                        problems.append(f"{script.relative_to(self.session.copy)}, line {call.line}: {problem}")
                    else:
                        units += self._units(answer)
        if problems and not units:
            raise NotBuildable("; ".join(problems))
        return units, modules, about

    def _units(self, answer: Mapping[str, Any]) -> Iterator[_Unit]:
        for each in answer["commands"]:
            yield _Unit(
                Path(each["source"]),
                each["language"] == "hip",
                tuple(each["arguments"]),
                Path(each["folder"]),
                each["extension"],
            )

    def _run(self, request: dict[str, Any], folder: Path) -> tuple[dict[str, Any], str]:
        self.session.clear()
        whole = {**request, "scratch": str(self.session.scratch / "build")}
        cuda = _CUDA if self.dialect == "cuda" else None
        toolkit = Toolkit(_toolkit(self.options.kept), _HIP, ("gfx942",), cuda, self.dialect != "host", hipify=False)
        options = self.options
        return self.session.record(whole, folder, self.torch.python, toolkit, options.env, options.timeout)


def _toolkit(cache: Path) -> Path:
    """A folder that setup.py files find a toolkit's compiler in, which says its version and nothing else."""
    folder = cache / "toolkit"
    for name, said in (
        ("nvcc", f"Cuda compilation tools, release {_CUDA}, V{_CUDA}.0"),
        ("hipcc", f"HIP version: {_HIP}"),
    ):
        script = folder / "bin" / name
        if not script.exists():
            script.parent.mkdir(parents=True, exist_ok=True)
            script.write_text(f"#!/bin/sh\necho '{said}'\n")
            script.chmod(0o755)
    (folder / "include").mkdir(exist_ok=True)
    return folder


# --- Compiling --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Object:
    path: Path
    seconds: float
    cached: bool
    messages: tuple[Message, ...]


@dataclass
class _Compiler:
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
    #: Precompiled headers that were found to be current.
    current: set[Path] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        # What was prepared says by itself which lines it comes from.
        self.places = SourcePlaces(self.session.tree, {self.session.whole: self.session.top})
        self.compiler = compilers.find_compiler(self.options.env)
        self.host_compiler = host_compiler(self.torch, self.options.env)
        if self.dialect != "host":
            try:
                self.runtime = compiling.runtime(self.compiler, self.options.kept, env=self.options.env)
            except NotCompiled as problem:
                raise NotBuildable(f"the executor's runtime does not compile: {problem}") from problem

    def compiler_of(self, unit: _Unit) -> compilers.Compiler:
        """Device code is compiled by what compiles programs: how lanes come together depends on it."""
        return self.compiler if unit.device else self.host_compiler

    def builder(self, optimize: str, compiler: compilers.Compiler) -> compiling.Builder:
        """Return a builder of programs with this compiler."""
        options = compiling.CompileOptions(self.options.env, compiler, optimize=optimize)
        return compiling.Builder(options, _said_as(self.dialect))

    def flags(self, optimize: str, compiler: compilers.Compiler) -> list[str]:
        """The flags of every unit, without what is defined: that goes into a header."""
        builder = self.builder(optimize, compiler)
        return [flag for flag in builder.flags(standard=_STANDARD) if not flag.startswith("-D")]

    def compile(self, unit: _Unit) -> _Object:
        """Compile `unit`, or find what was made of the same bytes."""
        least: Headers = "tensors" if unit.device and not self._is_of_host(unit.source) else "light"
        command = self._command(unit, least)
        key = hashlib.sha256(json.dumps([_FORMAT, str(unit.source), command]).encode()).hexdigest()
        folder = self.options.kept / "objects" / key[:2] / key[2:]
        for state in sorted(folder.glob("*.json")):
            read: dict[str, str] = json.loads(state.read_text())
            if self.session.digests.are(read):
                return _Object(state.with_suffix(".o"), 0.0, True, ())
        folder.mkdir(parents=True, exist_ok=True)
        made, listing = folder / f"{os.getpid()}.o", folder / f"{os.getpid()}.d"
        start = time.monotonic()
        source = str(self._made(unit.source))
        out = ["-MD", "-MF", str(listing), "-MT", "out", "-x", "c++", "-c", source, "-o", str(made)]
        status, said = limited([*command, *out], unit.folder, self.options.env, self.options.timeout)
        for headers in _HEADERS[_HEADERS.index(least) + 1 :]:
            # It may be what these headers leave out. If not, PyTorch's own say so, too.
            lacking = _OF_TORCH.search(said) or (headers == "light" and _LACKING.search(said))
            # What is no constant is none with more headers.
            if status and f"-I{_TORCH_LIGHT}" in command and lacking and not _NO_CONSTANT.search(said):
                command = self._command(unit, headers)
                status, said = limited([*command, *out], unit.folder, self.options.env, self.options.timeout)
        seconds = time.monotonic() - start
        if status != 0:
            messages = self.places.located(parse(said, unit.source), unit.folder)
            if not any(message.severity == "error" for message in messages):
                path = self.places.locate(unit.source, 0, 0, unit.folder)[0]
                last = "\n".join(said.strip().splitlines()[-5:])
                ended = f"the compiler did not end within {self.options.timeout:.0f} s" if status is None else last
                messages = (*messages, Message(path, 0, 0, "error", ended))
            return _Object(made, seconds, False, messages)
        # What PyTorch and the system have is told by their versions, which are part of the command.
        own = (str(self.torch.include), "/usr/")
        names = precompiled.files_listed(listing, unit.folder)
        digests = self.session.digests.all_of(n for n in names if not n.startswith(own) and not n.endswith(".gch"))
        name = hashlib.sha256(json.dumps(digests).encode()).hexdigest()[:24]
        made.replace(folder / f"{name}.o")
        listing.unlink()
        (folder / f"{name}.json").write_text(json.dumps(digests))
        return _Object(folder / f"{name}.o", seconds, False, ())

    def link(self, objects: Iterable[Path], place: Path) -> None:
        """Link a module. Everything it calls must be there: what is missing is said now and not at import."""
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

    def _command(self, unit: _Unit, headers: Headers) -> list[str]:
        defines, given = _kept(unit, self.torch, self.options.kept)
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
        # Where that is needed, PyTorch's headers are compiled again: those that were compiled have other flags.
        step = compiler.lockstep(self.prepared) if unit.device and self.prepared is not None else ()
        if self._uses_torch(unit.source):
            text = text.replace('#include "simt/prelude.h"', '#define SIMT_WITH_TORCH 1\n#include "simt/prelude.h"')
            if unit.device and headers == "light":
                text = _MORE + text
            header = self._header(text + '#include "simt/torch_macros.h"\n')
            front = self._with_torch(unit, headers)
            return [*front, *step, "-include", str(header), *includes, f"-I{_TORCH_SHIMS}", *own]
        # A unit without PyTorch's headers compiles fast: its kernels may as well run fast.
        if unit.device and compiler.family == "g++":
            return [*self._with_prelude(defines, step, compiler), *includes, *own]
        front = [compiler.path, *self.flags("-O2", compiler), *step]
        return [*front, "-include", str(self._header(text)), *includes, *own]

    def _with_prelude(self, defines: list[str], step: tuple[str, ...], compiler: compilers.Compiler) -> list[str]:
        """The start of a command whose unit has the executor's headers, compiled as for programs.

        Where one of `defines` is something to these headers, g++ reads them as they are. clang would refuse.
        """
        builder = self.builder("-O2", compiler)
        try:
            front = builder.front(flags=step, standard=_STANDARD)
        except NotCompiled as problem:
            raise NotBuildable(f"the executor's headers do not compile: {problem}") from problem
        own = [f"-U{each[1:]}" if each.startswith("-") else f"-D{each}" for each in defines]
        return [compiler.path, *front, *builder.flags(standard=_STANDARD), *step, *own]

    def _made(self, path: Path) -> Path:
        """Return the place of a prepared file or folder of the copy."""
        if self.prepared is None or not path.is_relative_to(self.session.whole):
            return path
        original = self.session.top / path.relative_to(self.session.whole)
        made = self.prepared.made(original)
        return path if made == original else made

    def _with_torch(self, unit: _Unit, headers: Headers) -> list[str]:
        compiler = self.compiler_of(unit)
        own = [word for each in self.torch.includes for word in ("-isystem", str(each))]
        folders = [*_IN_FRONT[headers], *own]
        flags = self.flags(_KERNELS if unit.device else _HOST, compiler)
        front = [compiler.path, *flags, *_NO_COLLECTING.get(compiler.family, ()), *folders]
        # What else a unit of kernels needs is read behind what was compiled.
        kernels = unit.device and headers != "whole"
        try:
            return [*front, "-include", str(self._precompiled(folders, compiler, flags, kernels))]
        except NotBuildable:
            if headers == "tensors":
                # A PyTorch that has no header for one of the operators.
                return self._with_torch(unit, "light")
            if compiler == self.compiler:
                raise
            # A clang that does not take this PyTorch, which is by g++.
            self.host_compiler = self.compiler
            return self._with_torch(unit, headers)

    def _header(self, text: str) -> Path:
        """A header with `text`. What is defined on the command line would forbid the compiled PyTorch headers."""
        path = self.options.kept / "defines" / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.h"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Units are compiled by threads of one process.
            partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            partial.write_text(text)
            partial.replace(path)
        return path

    def _precompiled(
        self, folders: Sequence[str], compiler: compilers.Compiler, flags: list[str], kernels: bool
    ) -> Path:
        """PyTorch's headers, compiled: by g++ half a minute once, and half a gigabyte; a quarter of it by clang."""
        text = (_TORCH_SHIMS / _PCH_HEADER).read_text()
        if self.dialect != "host":
            text = (HERE / "include/simt/behind.h").read_text() + text
        if kernels:
            text = "#define SIMT_TORCH_KERNELS 1\n" + text
        shown = [
            path.read_text()
            for folder in (_TORCH_TENSORS, _TORCH_LIGHT)
            if f"-I{folder}" in folders
            for path in sorted(folder.rglob("*.h"))
        ]
        if compiler.family == "clang":
            flags = [*flags, "-Xclang", "-fpch-instantiate-templates"]
        else:
            # What keeps calls apart is no matter of what headers mean; clang wants the same.
            flags = [flag for flag in flags if flag not in compiler.keeps_calls]
        what = json.dumps([_FORMAT, text, *shown, compiler.identity, self.torch.version, flags, folders])
        folder = self.options.kept / "torch" / hashlib.sha256(what.encode()).hexdigest()[:24]
        header = folder / "torch_headers.h"
        compiled = folder / f"torch_headers.h.{compiler.precompiled}"
        with locked(folder):
            # A look at some thousand files, once for each of this run's commands.
            if compiled not in self.current and not precompiled.is_current(compiled):
                header.write_text(text)
                # Not one name for all: a compiler may outlive the process that it was started by.
                partial, listing = folder / f"partial.{os.getpid()}", folder / f"read.{os.getpid()}"
                command = [compiler.path, *flags, *folders, *precompiled.LISTING, str(listing)]
                command += ["-x", "c++-header", str(header), "-o", str(partial)]
                # Not `limited`: it is about a gigabyte.
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
        """Whether a unit, or a file of the tree that it includes, has to do with more than tensors."""
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
    """Lines of a header for `NAME`, `NAME=VALUE` and `-NAME`, which is no longer defined."""
    lines = []
    for each in dict.fromkeys(defines):
        name, _, value = each.partition("=")
        if name.startswith("-"):
            lines.append(f"#undef {name[1:]}")
        else:
            lines.append(f"#undef {name.partition('(')[0]}\n#define {name} {value if '=' in each else '1'}")
    return "\n".join([*lines, ""])


def _kept(unit: _Unit, torch: PyTorch, cache: Path) -> tuple[list[str], list[str]]:
    """Return of a compiler's arguments what is defined, and the include folders that are not PyTorch's own."""
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
