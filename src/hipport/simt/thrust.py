# SPDX-License-Identifier: Apache-2.0
"""Where Thrust is on this machine, and how the executor's compiler is told.

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

from hipport.toolchain import cache

#: What newer releases of Thrust include beside its own headers: libcu++ and CUB's configuration.
_WITH = ("thrust", "cuda", "nv", "cub")


@dataclass(frozen=True)
class Thrust:
    """`folder` is where thrust/ lies, None without one; `flags` go behind the executor's own folders of headers.

    `reason` says which one it is, or that there is none and what would bring one.
    """

    folder: Path | None
    flags: tuple[str, ...]
    reason: str


def find(env: Mapping[str, str], compiler_path: tuple[Path, ...] = (Path("/usr/local/include"), Path("/usr/include")),
         ) -> Thrust:  # fmt: skip
    """Return the first Thrust there is: on the compiler's path, a CUDA toolkit's, rocThrust.

    From a toolkit only Thrust and what it needs is shown to the compiler, by links in the cache: what the executor does
    not have must be missed, not taken from headers for a GPU.
    """
    for folder in compiler_path:
        if _has(folder):
            return Thrust(folder, (), f"Thrust on the compiler's path ({folder / 'thrust'})")
    for name, folder in _candidates(env):
        if _has(folder):
            shown = _shown(folder.resolve(), cache(env) / "simt" / "thrust", rocm=name == "rocThrust")
            return Thrust(folder, ("-isystem", str(shown)), f"{name} ({folder / 'thrust'})")
    return Thrust(
        None, (),
        "Thrust headers are needed: Debian's libthrust-dev, a CUDA toolkit's or rocThrust's; none was found",
    )  # fmt: skip


def _has(folder: Path) -> bool:
    return (folder / "thrust" / "version.h").is_file()


def _candidates(env: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    homes = [Path(env[name]) for name in ("CUDA_HOME", "CUDA_PATH") if env.get(name)]
    nvcc = shutil.which("nvcc", path=env.get("PATH", os.defpath))
    if nvcc:
        homes.append(Path(nvcc).resolve().parent.parent)
    homes += [Path("/usr/local/cuda"), *sorted(Path("/usr/local").glob("cuda-*"), reverse=True)]
    for home in homes:
        yield "CUDA's Thrust", home / "include"
        yield "CUDA's Thrust", home / "include" / "cccl"
    rocms = [Path(env["ROCM_PATH"])] if env.get("ROCM_PATH") else []
    rocms += [Path("/opt/rocm"), *sorted(Path("/opt").glob("rocm-*"), reverse=True)]
    for home in rocms:
        yield "rocThrust", home / "include"
    for home in sorted((cache(env) / "toolchains").glob("*/root/usr/include"), reverse=True):
        yield "rocThrust", home


def _shown(folder: Path, kept: Path, *, rocm: bool) -> Path:
    """Return a folder that has links to Thrust, and to what it needs, and nothing else."""
    shown = kept / hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    shown.mkdir(parents=True, exist_ok=True)
    for name in _WITH[:1] if rocm else _WITH:
        target, link = folder / name, shown / name
        if not target.is_dir() or link.is_symlink():
            continue
        try:
            link.symlink_to(target)
        except FileExistsError:  # made at the same time by another
            continue
    return shown.absolute()
