# SPDX-License-Identifier: Apache-2.0
"""Find Thrust on this machine, and return the executor's compiler flags for it.

Thrust is not part of the executor. Its own backend for CPUs runs in the place of that for GPUs (include/simt/thrust.h
selects it). Debian's libthrust-dev, CUDA toolkits and rocThrust all contain that backend.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hipport.executor.prepare import Dialect
from hipport.toolchain.toolchains import cache

_SYSTEM = (Path("/usr/local/include"), Path("/usr/include"))


@dataclass(frozen=True)
class Thrust:
    """`folder` contains thrust/, None if there is none; `flags` are for every unit.

    `reason` says which one it is, or that there is none and how to get one.
    """

    folder: Path | None
    flags: tuple[str, ...]
    reason: str


def find(env: Mapping[str, str], dialect: Dialect = "cuda", *, system: tuple[Path, ...] = _SYSTEM) -> Thrust:
    """Return the first Thrust in order: on the compiler's path (`system`), rocThrust, a CUDA toolkit's.

    CUDA's comes last, because its newer releases need CUDA's libcu++, which then replaces the executor's cuda::std;
    they cannot be used as HIP. From a toolkit only Thrust and its dependencies are visible to the compiler, by links in
    the cache: names that the executor lacks must cause an error, not come from headers for a GPU.
    """
    for folder in system:
        if _has(folder):
            return Thrust(folder, (), f"Thrust on the compiler's path ({folder / 'thrust'})")
    kept = cache(env) / "simt" / "thrust"
    for folder in _rocms(env):
        if _has(folder):
            shown = _shown(folder, kept, ("thrust",))
            return Thrust(folder, ("-isystem", str(shown)), f"rocThrust ({folder / 'thrust'})")
    for folder in _toolkits(env) if dialect == "cuda" else ():
        if not _has(folder):
            continue
        flags = ["-isystem", str(_shown(folder, kept, ("thrust", "cub")))]
        if (folder / "cuda" / "std").is_dir():
            first = _shown(folder, kept, ("nv", *(f"cuda/{each.name}" for each in (folder / "cuda").iterdir()
                                                 if each.name != "atomic")))  # fmt: skip
            flags = ["-DSIMT_LIBCUDACXX", f"-I{first}", *flags]
        return Thrust(folder, tuple(flags), f"CUDA's Thrust ({folder / 'thrust'})")
    return Thrust(
        None, (), "Thrust headers are needed: Debian's libthrust-dev, rocThrust or a CUDA toolkit's; none was found"
    )


def _has(folder: Path) -> bool:
    return (folder / "thrust" / "version.h").is_file()


def _rocms(env: Mapping[str, str]) -> Iterator[Path]:
    homes = [Path(env["ROCM_PATH"])] if env.get("ROCM_PATH") else []
    for home in [*homes, Path("/opt/rocm"), *sorted(Path("/opt").glob("rocm-*"), reverse=True)]:
        yield home / "include"
    yield from sorted((cache(env) / "toolchains").glob("*/root/usr/include"), reverse=True)


def _toolkits(env: Mapping[str, str]) -> Iterator[Path]:
    homes = [Path(env[name]) for name in ("CUDA_HOME", "CUDA_PATH") if env.get(name)]
    nvcc = shutil.which("nvcc", path=env.get("PATH", os.defpath))
    if nvcc:
        homes.append(Path(nvcc).resolve().parent.parent)
    for home in [*homes, Path("/usr/local/cuda"), *sorted(Path("/usr/local").glob("cuda-*"), reverse=True)]:
        yield home / "include"
        yield home / "include" / "cccl"


def _shown(folder: Path, kept: Path, names: tuple[str, ...]) -> Path:
    """Return a folder with links to those `names` that exist in `folder`, and nothing else."""
    folder = folder.resolve()
    shown = (kept / hashlib.sha256(repr((folder, names)).encode()).hexdigest()[:16]).absolute()
    shown.mkdir(parents=True, exist_ok=True)
    for name in names:
        target, link = folder / name, shown / name
        if not target.exists() or link.is_symlink():
            continue
        link.parent.mkdir(exist_ok=True)
        try:
            link.symlink_to(target)
        except FileExistsError:  # another process has just made it
            continue
    return shown
