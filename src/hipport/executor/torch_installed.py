# SPDX-License-Identifier: Apache-2.0
"""The PyTorch that extensions are built against: its place, the compiler that fits it, and its allocator."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hipport.executor import compilers
from hipport.toolchain.processes import ask_python, limited

HERE = Path(__file__).with_name("native")
FORMAT = 1
#: The oldest clang that is preferred to g++ for host code.
_CLANG = 17


class NotBuildable(Exception):
    """The extension could not be built; the message says why, with the beginning of the compiler's output."""


@dataclass(frozen=True)
class PyTorch:
    """The PyTorch of an interpreter: the places of its headers and libraries."""

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


def host_compiler(torch: PyTorch, env: Mapping[str, str]) -> compilers.Compiler:
    """Return the compiler for units without device code: that in `CXX`, else a clang, else g++.

    clang stores the template instantiations of inline functions in PyTorch's headers with the precompiled headers; g++
    repeats them for each unit, which takes three times as long. A toolchain for ROCm has a clang. pybind11 3 treats
    both as one compiler; with older releases, modules by clang do not know the types of a PyTorch by g++. Raises
    NoCompiler.
    """
    return _host_compiler(torch.include, tuple(sorted(env.items())))


@lru_cache(maxsize=8)
def _host_compiler(include: Path, environment: tuple[tuple[str, str], ...]) -> compilers.Compiler:
    """Cached, because probing all compilers takes a second, and each build of a verification needs it."""
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
    """Whether clang finds a C++ standard library; it comes without one."""
    command = [str(clang), "-std=gnu++20", "-fsyntax-only", "-x", "c++", "-include", "concepts", os.devnull]
    return limited(command, Path("/"), env, 60)[0] == 0


def allocator(torch: PyTorch, runtime: Path, *, env: Mapping[str, str], cache: Path, timeout: float = 600.0) -> Path:
    """Return the library that allocates tensors in the executor's memory, built if necessary. Raises NotBuildable."""
    compiler = compilers.find_compiler(env)
    source = HERE / "torch_allocator.cpp"
    command = [
        *(compiler.path, "-std=c++20", "-O2", "-fPIC", "-shared", "-w", str(source)),
        *("-isystem", str(torch.include), f"-I{HERE / 'include'}", str(runtime), f"-Wl,-rpath,{runtime.parent}"),
        *(f"-L{torch.lib}", f"-Wl,-rpath,{torch.lib}", "-lc10"),
    ]
    text = json.dumps([FORMAT, compiler.identity, torch.version, source.read_text(), command])
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
