# SPDX-License-Identifier: Apache-2.0
"""Find Thrust on this machine, and return the executor's compiler flags for it.

Thrust is not part of the executor: its own code for processors runs where a GPU's would (include/simt/thrust.h chooses
it). Debian's libthrust-dev, CUDA toolkits and rocThrust all have that code.
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
    """`folder` is where thrust/ lies, None without one; `flags` are for every unit.

    `reason` says which one it is, or that there is none and what would bring one.
    """

    folder: Path | None
    flags: tuple[str, ...]
    reason: str


def find(env: Mapping[str, str], dialect: Dialect = "cuda", *, system: tuple[Path, ...] = _SYSTEM) -> Thrust:
    """Return the first Thrust there is: on the compiler's path (`system`), rocThrust, a CUDA toolkit's.

    CUDA's comes last because its newer releases stand on CUDA's libcu++, which then takes the place of the executor's
    cuda::std; as HIP they cannot be used. From a toolkit only Thrust and what it needs is shown to the compiler, by
    links in the cache: what the executor does not have must be missed, not taken from headers for a GPU.
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
    """Return a folder that has links to those of `folder` that there are, and nothing else."""
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
        except FileExistsError:  # made at the same time by another
            continue
    return shown
