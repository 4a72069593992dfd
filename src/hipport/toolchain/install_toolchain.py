# SPDX-License-Identifier: Apache-2.0
"""Install a real hipcc on a Debian machine, without root, outside the tree, and without other changes.

    hipport toolchain install hipcc-7.0      # clang 21, HIP 6.4 headers: gfx90a gfx942 gfx1030 gfx1100 ...
    hipport toolchain install hipcc-5.2      # clang 15, HIP 5.2 headers: gfx90a gfx1030

apt (with its own lists and cache) downloads the packages of one Debian release and their dependencies, and dpkg-deb
unpacks them into a folder. Two things would still refer to the machine's own files: the programs' ELF interpreter and
library path, which patchelf redirects into the folder, and clang's search for headers, which a wrapper named hipcc
redirects with --sysroot. So the compilers are ordinary programs: any user may run any number of them at once, with
sources, headers and outputs in any place. A chroot would need root, a mounted /proc and bind mounts for each of those
places.

The result is <cache>/hipport/toolchains/<name>/bin/hipcc, where <cache> is XDG_CACHE_HOME or ~/.cache. It is installed
completely or not at all.
"""

from __future__ import annotations

import fcntl
import re
import shlex
import shutil
import subprocess
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hipport.toolchain.toolchains import cache, remember


@dataclass(frozen=True)
class Recipe:
    """The parts of a toolchain.

    `suites` are Debian releases, the preferred one first. `packages` are installed with all their dependencies,
    `headers` without, because the libraries behind them are gigabytes that no compilation reads.
    """

    suites: tuple[str, ...]
    packages: tuple[str, ...]
    headers: tuple[str, ...]
    archs: tuple[str, ...]


RECIPES: Mapping[str, Recipe] = {
    "hipcc-5.2": Recipe(
        suites=("bookworm",),
        packages=("hipcc", "librocprim-dev"),
        headers=("libhiprand-dev", "librocrand-dev", "libhipsparse-dev", "librocsparse-dev"),
        archs=("gfx90a", "gfx1030"),
    ),
    # The packages move from sid to forky and back out of it, so packages that forky lacks today come from sid.
    "hipcc-7.0": Recipe(
        suites=("forky", "sid"),
        packages=("hipcc", "libhipcub-dev", "librocprim-dev", "librocthrust-dev"),
        headers=(
            "libhipblas-common-dev",
            "libhipblas-dev",
            "libhipblaslt-dev",
            "libhipfft-dev",
            "libhiprand-dev",
            "libhipsolver-dev",
            "libhipsparse-dev",
            "libmiopen-dev",
            "librccl-dev",
            "librocblas-dev",
            "librocfft-dev",
            "librocrand-dev",
            "librocsolver-dev",
            "librocsparse-dev",
            "libroctx-dev",
        ),
        archs=("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"),
    ),
}

OS_RELEASE = Path("/etc/os-release")

TRIPLE = "x86_64-linux-gnu"
PYTHONS = tuple(f"python3.{minor}" for minor in range(10, 16))
"""Debian's names for the Python versions that hipport supports: extensions are built for any of them."""

SMOKE_TEST = """\
#include <hip/hip_runtime.h>
#include <vector>
__global__ void scale(float* x, float by) { x[threadIdx.x] = sinf(x[threadIdx.x]) * by; }
int main() { std::vector<float> x(64); scale<<<1, 64>>>(x.data(), 2.f); return hipDeviceSynchronize(); }
"""


class Impossible(Exception):
    """The toolchain cannot be installed here; the message says why, and what would help."""


@dataclass(frozen=True)
class Mirror:
    """A package archive that this machine is configured to use, and its `Signed-By` value."""

    uri: str
    signed_by: str


def mirrors(etc: Path, codename: str) -> Iterator[Mirror]:
    """Yield the archives from which /etc/apt takes release `codename`, in both of apt's formats."""
    parts = etc / "sources.list.d"
    for file in [etc / "sources.list", *sorted(parts.glob("*.list"))]:
        for line in file.read_text().splitlines() if file.is_file() else ():
            match = re.match(r"deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)", line)
            if match and match["suite"] == codename:
                signed = re.search(r"signed-by=(\S+)", match["options"] or "")
                yield Mirror(match["uri"], signed[1] if signed else "")
    for file in sorted(parts.glob("*.sources")):
        text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE)
        for stanza in re.split(r"\n\s*\n", text):
            # A field's value may continue on indented lines: Signed-By may be a whole key.
            fields = {m[1].lower(): m[2] for m in re.finditer(r"^([\w-]+):[ \t]*((?:.*)(?:\n[ \t].*)*)", stanza, re.M)}
            if "deb" in fields.get("types", "").split() and codename in fields.get("suites", "").split():
                for uri in fields.get("uris", "").split():
                    yield Mirror(uri, fields.get("signed-by", ""))


def debian_mirror(given: str | None) -> Mirror:
    """Return the Debian archive to use: the given one, or the one that this Debian machine is configured with."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise Impossible(
                f"there is no {program} here: this command installs Debian packages, so it needs Debian's tools"
            )
    if given:
        return Mirror(given, "")
    release = OS_RELEASE.read_text() if OS_RELEASE.is_file() else ""
    facts = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', release, re.MULTILINE))
    if facts.get("ID") != "debian":
        raise Impossible(
            "this is not Debian; name a Debian mirror with --mirror, and have debian-archive-keyring installed"
        )
    found = next(mirrors(Path("/etc/apt"), facts.get("VERSION_CODENAME", "")), None)
    if found is None:
        raise Impossible("/etc/apt has no source for this Debian release; name a Debian mirror with --mirror")
    return found


def run(command: Sequence[str | Path], cwd: Path | None = None) -> str:
    """Run a command and return its output. Raises Impossible with the last lines if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        check=False,
        cwd=cwd,
    )
    if done.returncode:
        said = textwrap.indent("\n".join(done.stdout.splitlines()[-12:]), "    ")
        raise Impossible(f"{shlex.join(map(str, command))} failed with status {done.returncode}:\n{said}")
    return done.stdout


def download(recipe: Recipe, mirror: Mirror, work: Path) -> list[Path]:
    """Download the packages of `recipe` into `work` and return them."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True)
    # An empty status file: nothing counts as installed, so everything that the packages need is downloaded.
    (work / "status").touch()
    signed = f"Signed-By: {mirror.signed_by}\n" if mirror.signed_by else ""
    (work / "mirror.sources").write_text(
        f"Types: deb\nURIs: {mirror.uri}\nSuites: {' '.join(recipe.suites)}\nComponents: main\n{signed}"
    )
    (work / "preferences").write_text(
        "".join(f"Package: *\nPin: release n={suite}\nPin-Priority: 100\n\n" for suite in recipe.suites[1:])
    )
    # Read after the machine's own settings, which are kept because they have its proxies. Its hooks are disabled.
    settings = {
        "Dir::Etc::sourcelist": work / "mirror.sources",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": work / "preferences",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State": work / "state",
        "Dir::State::status": work / "status",
        "Dir::Cache": work / "cache",
        "Acquire::Languages": "none",
        # An archive that is no longer updated, such as a snapshot, is good enough.
        "Acquire::Check-Valid-Until": "false",
        "Acquire::Retries": "3",
        "APT::Architecture": "amd64",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",
    }
    hooks = (
        "APT::Update::Pre-Invoke",
        "APT::Update::Post-Invoke",
        "APT::Update::Post-Invoke-Success",
        "DPkg::Post-Invoke",
    )
    config = work / "apt.conf"
    config.write_text(
        "".join(f"#clear {name};\n" for name in (*hooks, "APT::Architectures", "Dir::Cache::pkgcache"))
        + "".join(f'{name} "{value}";\n' for name, value in settings.items())
    )
    apt: list[str | Path] = ["apt-get", "-c", config, "-qq"]
    run([*apt, "update", "-o", "APT::Update::Error-Mode=any"])
    archives = work / "cache" / "archives"
    run([*apt, "install", "--yes", "--download-only", "patchelf", *recipe.packages])
    # clang's own omp.h: PyTorch's headers and programs that use several CPU cores include it.
    [clang] = {match[1] for file in archives.iterdir() if (match := re.match(r"clang-(\d+)_", file.name))}
    run([*apt, "download", *recipe.headers, f"libomp-{clang}-dev"], cwd=archives)
    return sorted(archives.glob("*.deb"))


def relocate(root: Path, final: Path) -> Path:
    """Make the compilers unpacked in `root` run from `final`, and return clang's folder there."""
    [llvm] = (root / "usr/lib").glob("llvm-*/bin")
    folders = [folder for name in ("lib", "usr/lib") if (folder := root / name / TRIPLE).is_dir()]
    here = ":".join(map(str, folders))
    there = ":".join(str(final / folder.relative_to(root)) for folder in folders)
    [interpreter] = [path for folder in folders for path in folder.glob("ld-linux-x86-64.so.2")]
    patchelf: list[str | Path] = [interpreter, "--library-path", here, root / "usr/bin/patchelf"]
    for program in [*llvm.iterdir(), root / "usr/bin/hipcc"]:
        if program.is_file() and not program.is_symlink() and program.read_bytes()[:4] == b"\x7fELF":
            # RPATH, not RUNPATH: it holds for the libraries of the libraries too, unless they have a RUNPATH.
            where: list[str | Path] = [
                "--set-interpreter",
                final / interpreter.relative_to(root),
                "--force-rpath",
                "--set-rpath",
                there,
            ]
            run([*patchelf, *where, program])
    for folder in folders:
        for library in [*folder.glob("libLLVM*.so*"), *folder.glob("libclang*.so*")]:
            if not library.is_symlink():
                run([*patchelf, "--remove-rpath", library])
    major = llvm.parent.name.removeprefix("llvm-")
    # Debian's hipcc 5.2 asks for clang++ by this name.
    (llvm / f"clang++-{major}").symlink_to("clang++")
    return final / llvm.relative_to(root)


def install(name: str, mirror: Mirror, toolchains: Path) -> str:
    """Install the toolchain `name` in `toolchains` and return its version lines."""
    recipe = RECIPES[name]
    final = toolchains / name
    partial = toolchains / f".{name}.partial"
    if partial.exists():
        shutil.rmtree(partial)
    root = partial / "root"
    root.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=partial) as work:
        for package in download(recipe, mirror, Path(work)):
            run(["dpkg-deb", "--extract", package, root])
    for folder in ("doc", "man", "locale", "info"):
        shutil.rmtree(root / "usr/share" / folder, ignore_errors=True)
    [bitcode] = {library.parent for library in (root / "usr/lib").glob("**/amdgcn/bitcode/ockl.bc")}
    settings = {
        "HIP_PLATFORM": "amd",
        "HIP_PATH": final / "root/usr",
        "ROCM_PATH": final / "root/usr",
        "HIP_CLANG_PATH": relocate(root, final / "root"),
        # hipcc 5.2 puts the include folder below this one before the C++ library's, which then cannot find the C
        # headers. So name a folder without include.
        "HIP_ROCCLR_HOME": final / "root",
        "HIP_DEVICE_LIB_PATH": final / bitcode.relative_to(partial),
    }
    # Newer packages install everything in /usr; linker scripts still say /lib.
    for folder in ("lib", "lib64"):
        if not (root / folder).exists():
            (root / folder).symlink_to(f"usr/{folder}")
    # Debian's pyconfig.h includes <x86_64-linux-gnu/python3.11/pyconfig.h>. Of the machine's own headers, only those of
    # its Pythons are found, so that a compilation does not depend on what else is installed.
    machine = partial / "python" / TRIPLE
    machine.mkdir(parents=True)
    for python in PYTHONS:
        (machine / python).symlink_to(Path("/usr/include", TRIPLE, python))
    flags = {
        "COMPILE": f"--sysroot={final / 'root'} -idirafter {final / 'python'}",
        "LINK": f"--sysroot={final / 'root'}",
    }
    appended = "".join(
        f'export HIPCC_{step}_FLAGS_APPEND="{given} $HIPCC_{step}_FLAGS_APPEND"\n' for step, given in flags.items()
    )
    # hipcc 5.2 is a script that calls this one, which uses a Perl module that a minimal Debian lacks.
    script = "hipcc.pl" if (root / "usr/bin/hipcc.pl").exists() else "hipcc"
    wrapper = partial / "bin/hipcc"
    wrapper.parent.mkdir()
    wrapper.write_text(
        "#!/bin/sh\n"
        f"# {name}, made by `hipport toolchain install`: everything it reads of its own lies in this folder.\n"
        f"export {' '.join(f'{name}={value}' for name, value in settings.items())}\n{appended}"
        f'exec {final / "root/usr/bin" / script} "$@"\n'
    )
    wrapper.chmod(0o755)
    partial.rename(final)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(scratch) / "smoke.hip"
            source.write_text(SMOKE_TEST)
            archs = [f"--offload-arch={arch}" for arch in recipe.archs]
            run([final / "bin/hipcc", "-c", *archs, source, "-o", source.with_suffix(".o")])
        return run([final / "bin/hipcc", "--version"])
    except BaseException:
        shutil.rmtree(final)
        raise


def folder(env: Mapping[str, str]) -> Path:
    """Return the folder of toolchains. Raises Impossible if none could run."""
    toolchains = cache(env) / "toolchains"
    if re.search(r"[^\w./+@:=,-]", str(toolchains)):
        raise Impossible(
            f"hipcc does not run from {toolchains}: the path has a character at which a shell splits words"
        )
    return toolchains


def installed(env: Mapping[str, str]) -> dict[str, Path]:
    """Return the hipcc of each installed toolchain, by the name of the toolchain."""
    places = {name: cache(env) / "toolchains" / name / "bin" / "hipcc" for name in RECIPES}
    return {name: place for name, place in places.items() if place.exists()}


@contextmanager
def _locked(toolchains: Path, name: str) -> Iterator[None]:
    toolchains.mkdir(parents=True, exist_ok=True)
    # Of each toolchain, because two can be installed at the same time: much of the time is downloading.
    with (toolchains / f".{name}.lock").open("w") as lock:
        # Two processes would unpack into the same folder; the second waits and then finds the result.
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ensure(name: str, env: Mapping[str, str], mirror: str | None, tell: Callable[[str], None]) -> tuple[Path, bool]:
    """Install the toolchain `name` if it is not; return its hipcc, and whether it was installed now.

    `mirror` is a Debian archive, if /etc/apt names none. Raises Impossible, OSError.
    """
    toolchains = folder(env)
    hipcc = toolchains / name / "bin" / "hipcc"
    with _locked(toolchains, name):
        if hipcc.exists():
            return hipcc, False
        found = debian_mirror(mirror)
        tell(f"installing {name} (Debian {' and '.join(RECIPES[name].suites)}) from {found.uri} ...")
        install(name, found, toolchains)
        remember(hipcc, env)
    return hipcc, True


def remove(name: str, env: Mapping[str, str]) -> Path:
    """Remove the toolchain `name`, and return its former place. Raises Impossible if it is not installed, OSError."""
    toolchains = folder(env)
    place = toolchains / name
    with _locked(toolchains, name):
        if not place.exists():
            raise Impossible(f"{name} is not installed: there is no {place}")
        # Renamed first, because a partly deleted toolchain would be found.
        gone = toolchains / f".{name}.partial"
        shutil.rmtree(gone, ignore_errors=True)
        place.rename(gone)
        shutil.rmtree(gone)
    return place
