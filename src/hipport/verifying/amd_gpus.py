# SPDX-License-Identifier: Apache-2.0
"""Build a port with hipcc and run it on this machine's AMD GPUs, if there are any.

A GPU that the driver lists counts only after a kernel has run on it. Runs hipcc, and code of the tree in a copy.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipport.building.locks import locked
from hipport.building.programs import programs
from hipport.building.recorder import setup_script
from hipport.building.session import build_session
from hipport.building.units import Translate, Unit
from hipport.core.placing import place
from hipport.core.source import Source
from hipport.engine.outcomes import Ported
from hipport.toolchain.machine import Gpu, known_gpus
from hipport.toolchain.processes import Box, limited, run_contained
from hipport.toolchain.toolchains import NoToolchain, Toolchain, cache, choose, find
from hipport.workspace.copies import copy_tree

#: The headers of each library, and its linker name; libraries of ROCm 7.0.
_LIBRARIES = {
    "hipblas": "hipblas",
    "hipblaslt": "hipblaslt",
    "hipfft": "hipfft",
    "hiprand": "hiprand",
    "rocrand": "rocrand",
    "hipsolver": "hipsolver",
    "hipsparse": "hipsparse",
    "miopen": "MIOpen",
    "rccl": "rccl",
    "roctracer": "roctx64",
}
_HEADER = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"](\w+)/', re.MULTILINE)

# The smallest program that shows that code for the GPU can be compiled, loaded and run.
_PROBE = """
#include <hip/hip_runtime.h>
__global__ void add(int* values) { values[threadIdx.x] += threadIdx.x; }
int main() {
  int *device, host[64] = {};
  if (hipMalloc(&device, sizeof host) != hipSuccess) return 1;
  if (hipMemcpy(device, host, sizeof host, hipMemcpyHostToDevice) != hipSuccess) return 2;
  add<<<1, 64>>>(device);
  if (hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost) != hipSuccess) return 3;
  for (int i = 0; i < 64; i++)
    if (host[i] != i) return 4;
  return 0;
}
"""
_PROBED = ("no memory", "cannot be written", "a kernel does not run", "a kernel computes something else")
_SECONDS = 900.0


class NotBuiltForGpu(Exception):
    """hipcc does not compile the port; the message is its output."""


class NotLinked(Exception):
    """hipcc compiles the port, but does not link it; the message is its output.

    It may be unknown how a program is linked: with which libraries, from which folders.
    """


@dataclass(frozen=True)
class Hardware:
    """The GPUs of this machine on which a kernel ran, and the hipcc that compiled it."""

    gpus: tuple[Gpu, ...]
    archs: tuple[str, ...]
    toolchain: Toolchain

    @property
    def lanes(self) -> int:
        """The wavefront size of the first GPU."""
        return self.gpus[0].wavefront

    def __str__(self) -> str:
        return ", ".join(map(str, self.gpus))


def hardware(env: Mapping[str, str], root: Path = Path("/")) -> Hardware | str:
    """Return the usable GPUs, or why there are none. Compiles and runs a small program.

    `env` is the environment, `root` the folder that contains /sys.
    """
    gpus, withheld = known_gpus(root)
    if not gpus:
        return "there is none on this machine" + (" that this container may use" if withheld else "")
    archs = tuple(dict.fromkeys(_archs(gpus, env)))
    try:
        toolchain = choose(find(env), archs)
    except NoToolchain as problem:
        return str(problem)
    found = Hardware(gpus, archs, toolchain)
    folder = cache(env).resolve() / "hardware" / "probe"
    with locked(folder):
        source = folder / "probe.hip"
        source.write_text(_PROBE)
        try:
            made = _linked([Unit(source, "hip", (), folder, "probe")], (), folder, found, env)
        except (NotBuiltForGpu, NotLinked) as problem:
            return f"{toolchain.hipcc} does not build a small program for {', '.join(archs)}: {problem}"
        # It maps the GPU's memory into its address space, so there is no limit for that.
        status, said = limited([str(made)], folder, env, 120, memory=0)
    if status == 0:
        return found
    what = _PROBED[status - 1] if status is not None and 0 < status <= len(_PROBED) else f"it ends with {status}"
    said = "".join(said.strip().splitlines()[-1:])
    return f"{found}: a small program does not run ({what}{': ' + said if said else ''}); hipport doctor may know why"


def _archs(gpus: Sequence[Gpu], env: Mapping[str, str]) -> Iterator[str]:
    """Yield each GPU as the runtime sees it: with HSA_OVERRIDE_GFX_VERSION=11.0.0 all of them are gfx1100."""
    override = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", env.get("HSA_OVERRIDE_GFX_VERSION", ""))
    for gpu in gpus:
        yield f"gfx{override[1]}{int(override[2]):x}{int(override[3]):x}" if override else gpu.arch


def program(
    ported: Ported, given: Sequence[Path], found: Hardware, *, env: Mapping[str, str], translate: Translate
) -> Path:
    """Build the port of the program in the files and folders `given`, and return the executable.

    `translate` turns nvcc's arguments in Makefiles into hipcc's. Raises NotBuilt, NotLinked.
    """
    root = ported.before.root
    assert root is not None, "text in memory is not built"
    key = hashlib.sha256(repr([str(root), *map(str, given)]).encode()).hexdigest()[:16]
    folder = cache(env).resolve() / "hardware" / "programs" / key
    with locked(folder):
        tree = folder / (root.name or "program")
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir()
        for path in given:
            if path.is_dir():
                copy_tree(path, tree / path.relative_to(root))
        files = [(source.path, source.text) for source in ported.project.sources]
        for name, text in (*files, *((file.path, file.text) for file in ported.created)):
            # The copy may contain links, as the tree does.
            place(tree, name, text)
        members = [tree / source.path for source in ported.project.sources]
        asked = [tree / path.relative_to(root) for path in given]
        sources = [path for path in members if path.suffix in (".cu", ".hip", ".cpp", ".cc", ".cxx", ".c")]
        units, not_built, _ = programs(tree, sources, members, env, translate)
        units = [unit for unit in units if any(unit.source.is_relative_to(path) for path in asked)]
        if not units:
            raise NotBuiltForGpu("; ".join(each.why for each in not_built) or "there is nothing to compile")
        return _linked(units, tuple(_libraries(ported.project.sources)), folder, found, env)


def _libraries(sources: Sequence[Source]) -> Iterator[str]:
    named = {name.decode().lower() for source in sources for name in _HEADER.findall(source.text)}
    for header, library in _LIBRARIES.items():
        if header in named:
            yield f"-l{library}"


def _linked(
    units: Sequence[Unit], libraries: Sequence[str], folder: Path, found: Hardware, env: Mapping[str, str]
) -> Path:
    environment = found.toolchain.environment(env)
    hipcc = str(found.toolchain.hipcc)
    archs = [f"--offload-arch={arch}" for arch in found.archs]
    objects = []
    # Device code of several units is linked if one of them requires it.
    whole = ["-fgpu-rdc"] if any("-fgpu-rdc" in unit.flags for unit in units) else []
    for number, unit in enumerate(units):
        made = folder / f"{number}.o"
        flags = [*unit.flags, *(each for each in whole if each not in unit.flags)]
        given = [*archs, *flags, "-DHIP_ENABLE_WARP_SYNC_BUILTINS=1"] if unit.language == "hip" else [*unit.flags]
        if unit.language != "hip":
            given += ["-D__HIP_PLATFORM_AMD__=1", "-idirafter", str(found.toolchain.root / "include")]
        command = [hipcc, *given, "-O2", "-x", unit.language, "-c", str(unit.source), "-o", str(made)]
        # The command has flags of the tree, which may load code into the compiler: `-fplugin=`.
        status, said = run_contained(command, unit.folder, environment, _SECONDS, Box((folder,)))
        if status != 0:
            raise NotBuiltForGpu(_errors(said))
        objects.append(str(made))
    result = folder / "program"
    openmp = ["-fopenmp"] if any("-fopenmp" in unit.flags for unit in units) else []
    link = ["--hip-link", *whole, *archs, *openmp] if whole else openmp
    status, said = run_contained(
        [hipcc, *link, *objects, "-o", str(result), *libraries], folder, environment, _SECONDS, Box((folder,))
    )  # fmt: skip
    if status != 0:
        raise NotLinked(_errors(said))
    return result


def extension(tree: Path, ported: Ported, found: Hardware, *, env: Mapping[str, str], python: Path) -> Path:
    """Build the port of the extension in the folder `tree`, by its own setup.py, and return the folder of the result.

    `python` is an interpreter whose PyTorch is for ROCm. Raises NotBuilt.
    """
    key = hashlib.sha256(f"{tree}\0{python}".encode()).hexdigest()[:16]
    folder = cache(env).resolve() / "hardware" / "extensions" / key
    root = ported.before.root
    assert root is not None, "text in memory is not built"
    members = [root / source.path for source in ported.before.sources]
    with build_session(folder / "tree", tree, members) as session:
        session.fill(ported)
        copy, built = session.copy, folder / "built"
        shutil.rmtree(built, ignore_errors=True)
        environment = {
            **found.toolchain.environment(env),
            "ROCM_HOME": str(found.toolchain.root),
            "PYTORCH_ROCM_ARCH": ";".join(found.archs),
            # Makes scripts that ask for a GPU build for it.
            "FORCE_CUDA": "1",
        }
        script = setup_script(copy)
        if script is None:
            raise NotBuiltForGpu("there is no setup.py")
        command = [str(python), script.name, "build", "--build-base", str(folder / "base"), "--build-lib", str(built)]
        # A process that uses the GPU maps its memory into the address space, so there is no limit for that.
        status, said = run_contained(command, copy, environment, _SECONDS, Box((folder,), memory=0))
        if status != 0:
            raise NotBuiltForGpu(_errors(said))
        return built


def _errors(said: str) -> str:
    """The first errors in a compiler's output, or its last lines."""
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b|undefined (?:symbol|reference)", line)]
    return "\n".join(errors[:5] or lines[-5:]) or "it failed without a word"
