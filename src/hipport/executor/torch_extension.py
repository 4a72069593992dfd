# SPDX-License-Identifier: Apache-2.0
"""Build a PyTorch extension for the CPU executor, such that it can be imported under its own name.

Its setup.py is run up to the compilers, as for `hipport build`, by a PyTorch that takes itself for one with CUDA (the
original) or for ROCm (the port). Its sources are rewritten in a copy of the tree, compiled with the machine's C++
compiler against PyTorch's headers for the CPU and the executor's headers, and linked to the place where the package
looks for them. Objects are cached under a hash of all their inputs; PyTorch's headers are compiled once.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from hipport.building.compiler_messages import Message
from hipport.building.just_in_time import just_in_time
from hipport.building.recorder import setup_scripts
from hipport.building.session import BuildSession, Toolkit, build_session
from hipport.engine.outcomes import Ported, Reported
from hipport.executor import kept as keeping
from hipport.executor import torch_devices
from hipport.executor.missing_names import absent
from hipport.executor.prepare import Prepared, prepare
from hipport.executor.torch_installed import NotBuildable, PyTorch, allocator, torch_of
from hipport.executor.torch_units import (
    NO_CONSTANT,
    CompiledTorchUnit,
    ExtensionOptions,
    TorchUnit,
    UnitCompiler,
    kept_arguments,
)
from hipport.program.project import Project
from hipport.workspace.discovery import discover

#: The CUDA version that PyTorch reports while the build of an extension is recorded.
_CUDA = "12.4"
_HIP = "6.4.3"

_ONE_WAVE = "\nC10_WARP_SIZE is a constant in a run with one wavefront: give --wave 32, then --wave 64"


@dataclass(frozen=True)
class Module:
    """One extension module: `name` for importing it, and the library."""

    name: str
    path: Path


@dataclass(frozen=True)
class BuiltExtension:
    """An extension that can be imported.

    `paths` are prepended to sys.path. `libraries` are loaded first, and so is `allocator`, which puts tensors into
    memory where the executor sees out-of-bounds writes. `dialect` is that of the sources: `cuda`, `hip`, or `host` for
    a build without device code. `tree` is the copy of the tree in which it was built. `seconds` is the compile time of
    each unit that was not cached. `edited` are the changes of given passes before the executor's own, `reported` the
    places that were not understood. `around` are files that the sources of the tree include from elsewhere.
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


def build(tree: Path, dialect: str, options: ExtensionOptions, ported: Ported | None = None) -> BuiltExtension:
    """Build the extensions of the setup.py files in `tree`, which is not written to.

    `dialect` is `cuda` for original sources, `hip` for ported ones, `host` for a build without a GPU. With `ported`,
    the port of `tree` is built, and messages name the lines of `tree`. Raises NotBuildable.
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
        compiler = UnitCompiler(session, torch, dialect, project, prepared, options)
        with ThreadPoolExecutor(options.jobs) as pool:
            objects = list(pool.map(compiler.compile, units))
        failed = [message for each in objects for message in each.messages if message.severity == "error"]
        if failed:
            said = _first_messages(failed)
            raise NotBuildable(said + (_ONE_WAVE if options.wave is None and NO_CONSTANT.search(said) else ""))
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
    units: Sequence[TorchUnit],
    torch: PyTorch,
    options: ExtensionOptions,
) -> Prepared:
    """Return the tree of C++ that the executor compiles, with the include folders of units."""
    folders = [Path(each) for unit in units for each in kept_arguments(unit, torch, options.kept)[1] if each[0] == "/"]
    given = [session.original(each) for each in dict.fromkeys(folders) if each.is_relative_to(session.whole)]
    passes = (*options.passes, torch_devices.PASS)
    return prepare(code, session.kept / "made", "hip" if dialect == "hip" else "cuda", passes=passes, folders=given)


def _linked(
    compiler: UnitCompiler,
    units: Sequence[TorchUnit],
    objects: Sequence[CompiledTorchUnit],
    modules: Mapping[str, Path],
) -> Iterator[Module]:
    """Link each extension, and yield it."""
    for extension in dict.fromkeys(unit.extension for unit in units):
        place = modules.get(extension, compiler.session.copy / ".jit" / f"{extension}.so")
        members = [(unit, o.path) for unit, o in zip(units, objects, strict=True) if unit.extension == extension]
        # If several units define an inline function, the linker takes the first definition.
        members.sort(key=lambda each: not each[0].device)
        compiler.link([path for _, path in members], place)
        yield Module(extension, place)


def _import_paths(built: Sequence[Module], about: Mapping[str, str], links: Path) -> tuple[Path, ...]:
    """Return the paths to prepend to sys.path, and write the metadata `about` distributions there."""
    shutil.rmtree(links, ignore_errors=True)
    paths = tuple(dict.fromkeys(_import_path(module, links) for module in built))
    for name, text in about.items():
        # Packages read their own version through importlib.metadata.
        for path in paths:
            place = path / f"{name.replace('-', '_')}.egg-info"
            place.mkdir(exist_ok=True)
            (place / "PKG-INFO").write_text(text, encoding="utf-8")
    return paths


def _import_path(module: Module, links: Path) -> Path:
    """Return the folder from which a module is imported by its name.

    A package that setup.py places in a folder of another name (`package_dir`) gets a link by its own name in `links`.
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


def _first_messages(messages: Sequence[Message]) -> str:
    lines = [f"{m.path}:{m.line}: {m.text}" + (f" (at {m.at})" if m.at else "") for m in messages[:8]]
    more = [f"and {len(messages) - 8} more"] if len(messages) > 8 else []
    lacks = absent(message.text for message in messages)
    return "\n".join([*lines, *more, *([lacks] if lacks else [])])


# --- What an extension builds
# ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Recorder:
    """Runs the scripts of a copy through `record_extensions`."""

    session: BuildSession
    torch: PyTorch
    dialect: str
    options: ExtensionOptions

    def all(self) -> tuple[list[TorchUnit], dict[str, Path], dict[str, str]]:
        """Return the units of all extensions, the place of each extension, and the metadata of each distribution."""
        units: list[TorchUnit] = []
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

    def _units(self, answer: Mapping[str, Any]) -> Iterator[TorchUnit]:
        for each in answer["commands"]:
            yield TorchUnit(
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
    """Return a folder in which setup.py files find a toolkit's compiler; that only reports its version."""
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
