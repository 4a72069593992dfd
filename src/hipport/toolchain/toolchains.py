# SPDX-License-Identifier: Apache-2.0
"""Find a hipcc, its version, and the GPUs that it can compile for.

The search order is: ROCM_PATH, ROCM_HOME and HIP_PATH, `/opt/rocm`, PATH, the `rocm` packages of pip, and the
installations of `hipport toolchain install`. Each hipcc is executed, the installed ones once, when they are installed:
one that does not answer does not count.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hipport.core import reading

# Makes hipcc compile for AMD, even if there is an nvcc; and drops variables that would lead one toolchain into
# another's files.
_PLATFORM = {"HIP_PLATFORM": "amd"}
_FOREIGN = frozenset(
    "ROCM_PATH ROCM_HOME HIP_PATH HIP_CLANG_PATH HIP_DEVICE_LIB_PATH DEVICE_LIB_PATH HIP_ROCCLR_HOME HIP_COMPILER "
    "HIP_RUNTIME".split()
)

_ISA = re.compile(r"oclc_isa_version_([0-9a-z-]+)\.bc")

# For an installation whose device libraries are not visible, these are tried one by one.
_ARCHS = (
    "gfx900 gfx906 gfx908 gfx90a gfx942 gfx950 gfx1010 gfx1030 gfx1100 gfx1101 gfx1102 gfx1150 gfx1151 gfx1200 gfx1201"
).split()

_ADVICE = (
    "Install ROCm, or set ROCM_PATH to its folder; on Debian, without root and without an AMD GPU: hipport "
    "toolchain install"
)


class NoToolchain(Exception):
    """No hipcc fits the request. The message says which exist and how to get one."""


@dataclass(frozen=True)
class Toolchain:
    """A working hipcc.

    `hip` is the version of the HIP headers as (major, minor, patch); the first two are those of the ROCm release that
    they belong to. Debian mixes releases: its hipcc 7.0.2 has the headers of 6.4.3, and the headers decide what
    compiles. `archs` are the processors with a device library. `found` says where it was found.
    """

    hipcc: Path
    hip: tuple[int, int, int]
    clang: str
    archs: frozenset[str]
    found: str

    @property
    def rocm(self) -> tuple[int, int]:
        """The ROCm release of the HIP headers."""
        return self.hip[:2]

    @property
    def root(self) -> Path:
        """The folder for ROCM_HOME: its bin contains the hipcc."""
        return self.hipcc.parent.parent

    @property
    def headers(self) -> Path | None:
        """The folder with HIP's headers: beside bin, or in the system that `hipport toolchain install` unpacks."""
        folders = (self.root / "include", self.root / "root/usr/include")
        return next((folder for folder in folders if (folder / "hip").is_dir()), None)

    def targets(self, archs: Iterable[str]) -> bool:
        """Say whether it can compile for all of `archs`; features (`gfx90a:xnack+`) are ignored."""
        return all(arch.split(":")[0] in self.archs for arch in archs)

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return `env` with the settings that this hipcc needs."""
        return _environment(env, self.found)

    def __str__(self) -> str:
        return f"{self.hipcc} (HIP {'.'.join(map(str, self.hip))}, clang {self.clang})"


def find(env: Mapping[str, str], python: Path | None = None, *, anew: bool = False) -> tuple[Toolchain, ...]:
    """Return the toolchains of this machine: first those that the environment names, then the newest.

    `env` has PATH, HOME and the ROCm variables; `python` is the interpreter whose packages are searched for the SDK
    from pip. Runs each hipcc twice, except those that `hipport toolchain install` has asked, unless `anew` is true; no
    GPU is needed.
    """
    found: dict[Path, Toolchain] = {}
    for source, hipcc in _candidates(env, python):
        if reading.is_file(hipcc) and hipcc.resolve() not in found:
            toolchain = probe(hipcc, env, source, anew=anew)
            if toolchain is not None:
                found[hipcc.resolve()] = toolchain
    return tuple(sorted(found.values(), key=lambda each: (each.found not in _VARIABLES, *(-part for part in each.hip))))


def choose(toolchains: Iterable[Toolchain], archs: Iterable[str]) -> Toolchain:
    """Return the first of `toolchains` that can compile for all of `archs`. Raises NoToolchain."""
    toolchains, archs = tuple(toolchains), tuple(archs)
    for toolchain in toolchains:
        if toolchain.targets(archs):
            return toolchain
    if not toolchains:
        raise NoToolchain(f"There is no hipcc here. {_ADVICE}")
    lacks = "; ".join(f"{each} lacks {', '.join(a for a in archs if not each.targets([a]))}" for each in toolchains)
    raise NoToolchain(f"No hipcc here can compile for {', '.join(archs)}: {lacks}. {_ADVICE}")


def probe(hipcc: Path, env: Mapping[str, str], found: str = "given", *, anew: bool = False) -> Toolchain | None:
    """Ask `hipcc` for its version. Returns None if it does not answer like a hipcc for AMD."""
    environment = _environment(env, found)
    said, command = (_known(hipcc) if found == _INSTALLED and not anew else None) or _answers(hipcc, environment)
    hip = re.search(r"HIP version: (\d+)\.(\d+)\.(\d+)", said)
    clang = re.search(r"clang version (\d[\w.]*)", said)
    if hip is None or clang is None:
        return None
    # The command that it prints names a device library, and the library's folder has one for each processor.
    library = re.search(r'"([^"]*oclc_isa_version_[^"]*)"', command)
    if library is not None and not anew and not Path(library[1]).parent.is_dir():
        # A part of an installed toolchain is gone.
        return probe(hipcc, env, found, anew=True)
    if library is not None:
        names = (_ISA.fullmatch(path.name) for path in Path(library[1]).parent.iterdir())
        archs = frozenset(f"gfx{name[1]}" for name in names if name)
    else:
        archs = frozenset(
            arch
            for arch in _ARCHS
            if "error" not in (answer := _ask([hipcc, *_DRY_RUN, f"--offload-arch={arch}"], environment)) and answer
        )
    return Toolchain(hipcc, (int(hip[1]), int(hip[2]), int(hip[3])), clang[1], archs, found)


_INSTALLED = "installed"
_DRY_RUN = ("-###", "-x", "hip", "-c", "--cuda-device-only", "/dev/null", "-o", "/dev/null")


def _answers(hipcc: Path, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the version lines of a hipcc, and the command that it would run."""
    said = _ask([hipcc, "--version", "--offload-arch=gfx900"], environment)
    return said, _ask([hipcc, *_DRY_RUN, "--offload-arch=gfx900"], environment) if said else ""


def remember(hipcc: Path, env: Mapping[str, str]) -> None:
    """Write the answers of an installed toolchain beside it, which nothing changes: asking takes 0.1 to 0.3 s."""
    said, command = _answers(hipcc, _environment(env, _INSTALLED))
    _file_of_answers(hipcc).write_text(json.dumps({"hipcc": _state(hipcc), "answers": [said, command]}))


def _known(hipcc: Path) -> tuple[str, str] | None:
    """Return the answers that were written beside a hipcc, if it is the same one."""
    try:
        kept = json.loads(_file_of_answers(hipcc).read_text())
        said, command = map(str, kept["answers"])
        return (said, command) if kept["hipcc"] == _state(hipcc) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _file_of_answers(hipcc: Path) -> Path:
    return hipcc.parents[1] / "answers.json"


def _state(hipcc: Path) -> list[object]:
    found = hipcc.stat()
    return [str(hipcc), found.st_size, found.st_mtime_ns]


_VARIABLES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")


def _candidates(env: Mapping[str, str], python: Path | None) -> Iterator[tuple[str, Path]]:
    for name in _VARIABLES:
        if env.get(name):
            yield name, Path(env[name]) / "bin/hipcc"
    for pattern in ("rocm/bin/hipcc", "rocm-*/bin/hipcc", "rocm/core-*/bin/hipcc"):
        for hipcc in sorted(Path("/opt").glob(pattern), reverse=True):
            yield "/opt", hipcc
    on_path = shutil.which("hipcc", path=env.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path)
    if python is not None:
        for name in ("_rocm_sdk_devel", "_rocm_sdk_core"):
            for hipcc in python.parent.parent.glob(f"lib/python3*/site-packages/{name}/bin/hipcc"):
                yield "pip", hipcc
    for hipcc in sorted((cache(env) / "toolchains").glob("*/bin/hipcc")):
        yield _INSTALLED, hipcc


def cache(env: Mapping[str, str]) -> Path:
    """Return the folder of hipport's caches, outside every tree.

    Raises ValueError if that would be in the current folder, which may be a tree that brings such a folder.
    """
    # The XDG Base Directory Specification 0.8 says that a relative path must be ignored.
    base = Path(env.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        base = Path(env.get("HOME") or "~").expanduser() / ".cache"
    if not base.is_absolute():
        raise ValueError(
            f"HOME is {env['HOME']!r}, which is not an absolute path, and hipport keeps its cache there: "
            "set HOME or XDG_CACHE_HOME to one"
        )
    return base / "hipport"


def _environment(env: Mapping[str, str], found: str) -> dict[str, str]:
    kept = env if found in _VARIABLES else {name: value for name, value in env.items() if name not in _FOREIGN}
    return {**kept, **_PLATFORM}


def _ask(command: list[str | Path], environment: Mapping[str, str]) -> str:
    # clang creates the temporary folders in its command line, even if it only prints the command, and leaves them.
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        try:
            done = subprocess.run(
                command,
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**environment, "TMPDIR": scratch},
                timeout=60,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    return done.stdout.decode("utf-8", "replace")
