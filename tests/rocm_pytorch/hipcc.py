#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hipcc that reads PyTorch's headers once for all units of all builds, and not three times for each of them.

It does not optimize: whether code exists, and for which kernels, does not depend on it, and it takes half the time. Of
PyTorch's largest headers it reads the parts that kernels use: tensors, and no neural networks, autograd or Python. For
units of C++ it reads the parts that bindings use.

HIPPORT_HIPCC is the compiler. HIPPORT_PRECOMPILED is a folder for the precompiled headers, if they are to be kept.
HIPPORT_OPTIMIZED has the architectures whose code is optimized a little, for code that cannot be assembled otherwise.
With HIPPORT_NO_HOST no host code is generated: clang reports errors in host functions for a device, too.

The precompiled headers come before a unit's includes. So HIP's are for units that include HIP's, and PyTorch's for
those of them that include some of PyTorch's: a missing include of HIP's in a port is still noticed. A unit that does
not compile with them is compiled again with PyTorch's own headers, so that the messages are hipcc's.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

# It is run as a program.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import compiled

HIP, TORCH = "hip/hip_runtime.h", "torch/torch.h"
#: The executor's stand-ins for torch/extension.h and the like, which are found first, and tensors with few operators.
_LIGHT = Path(__file__).resolve().parents[2] / "src/hipport/executor/native/include/torch_light"
_OPERATORS = Path(__file__).resolve().with_name("operators")
_FRONT = (f"-I{_OPERATORS}", f"-I{_LIGHT}", "-DSIMT_TORCH_KERNELS=1", "-DAT_PER_OPERATOR_HEADERS=1")
#: Includes of the units that are read with them. A port's own includes, for example of ATen/hip/, are not among them.
_ASKS_FOR_TORCH = re.compile(r"(torch|ATen|c10)/")
_UNIT = ".hip"
_OF_HOST = (".cpp", ".cc", ".cxx")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)", re.MULTILINE)
#: Macros that these headers test. A package's other macros are defined after them, so that packages share them.
_TESTED = re.compile(r"-[DU](?:_(?!_HIP_NO_HALF2_)|HIPBLAS|HIP_ENABLE|USE_ROCM|CUDA_HAS|TORCH_API|AT_PER|NDEBUG|SIMT_)")
#: An include folder that these headers need contains at least one of these.
_OF_PYTORCH = ("torch/torch.h", "ATen/ATen.h", "ATen/Functions.h", "c10/hip", "hip/hip_runtime.h", "Python.h")
#: Options that do not change the meaning of headers. Nor do exactness and optimization, but clang requires headers that
#: were compiled with the same.
_OF_MESSAGES = ("-W", "-w", "-fno-color-diagnostics", "-fno-caret-diagnostics", "-ferror-limit=")
_OF_NUMBERS = (
    "-fgpu-flush-denormals-to-zero",
    "-fno-hip-fp32-correctly-rounded-divide-sqrt",
    "-fgpu-approx-transcendentals",
)


def settings(words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Divide a command that compiles a unit into the options for its headers, its own macros, and sides.

    A side is `host` or an architecture that the command compiles for.
    """
    folders, of_headers, defined, archs = [], [], [], []
    tested: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        # ninja's rule has its own -c in front of PyTorch's.
        if word == "-c" or word.endswith(_UNIT):
            continue
        if word in ("-o", "-x"):
            next(rest)
        elif word == "-Xclang":
            of_headers += [word, each] if (each := next(rest)).startswith("-f") else []
        elif word.startswith("--offload-arch="):
            archs.append(word.partition("=")[2])
        elif word.startswith(("-D", "-U")) and not _TESTED.match(word):
            defined.append(word)
        elif word.startswith(("-D", "-U")):
            # The last one counts.
            name, _, value = word[2:].partition("=")
            tested[name] = word if word[1] == "U" else f"-D{name}={value or 1}"
        elif word.startswith("-I"):
            folder = Path(word[2:]).absolute()
            folders += [f"-I{folder}"] if any((folder / name).exists() for name in _OF_PYTORCH) else []
        elif word.startswith(_OF_MESSAGES) or word in _OF_NUMBERS:
            continue
        # All levels of optimization count as one, and options for debuggers do not affect headers.
        elif word not in ("--cuda-host-only", "--cuda-device-only") and not word.startswith(("-O", "-g")):
            of_headers.append(word)
    of_headers = [*folders, *(tested[name] for name in sorted(tested)), *of_headers, "-O0"]
    if "--cuda-host-only" in words:
        return of_headers, defined, ["host"]
    return of_headers, defined, archs if "--cuda-device-only" in words else ["host", *archs]


def precompiled(hipcc: str, words: Sequence[str], folder: Path, headers: Sequence[str]) -> list[str] | None:
    """Return the command with which hipcc reads precompiled `headers`, and precompile them if needed.

    None if they do not compile with these options, for example as older C++: some units do with their own includes.
    """
    of_headers, defined, sides = settings(words)
    # They are kept from run to run, with the compiler and inputs that they were made from.
    stamps = [compiled.stamp(hipcc), compiled.digest(_OPERATORS), compiled.digest(_LIGHT)]
    stamps += [compiled.stamp(Path(word[2:], name)) for word in of_headers if word[:2] == "-I" for name in _OF_PYTORCH]
    folder = folder / hashlib.sha256("\0".join([*of_headers, *headers, *stamps]).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "used").touch()
    command = [word for word in words if word not in defined]
    if "-O1" in words or any(word in _OF_NUMBERS for word in words):
        command += ["-Xclang", "-fno-validate-pch"]
    for side in sides:
        header = folder / f"{side}.h"
        with (folder / f"{side}.lock").open("w") as lock:
            # Another process may be making it.
            fcntl.flock(lock, fcntl.LOCK_EX)
            made, failed = header.with_suffix(".h.pch"), header.with_suffix(".failed")
            if failed.exists():
                return None
            if not made.exists():
                header.write_text("".join(f"#include <{name}>\n" for name in headers))
                # Without this option hipcc looks for GPUs of the machine.
                of_side = ["--cuda-host-only", "--offload-arch=gfx942"]
                if side != "host":
                    of_side = ["--cuda-device-only", f"--offload-arch={side}"]
                # One job of the compiler, with another last step: precompiling has no option for HIP. With instantiated
                # templates of inline functions: otherwise each unit would instantiate them again.
                step = ["-w", "-x", "hip", "-S", "-emit-llvm", "-Xclang", "-emit-pch"]
                step += ["-Xclang", "-fpch-instantiate-templates"]
                part = made.with_suffix(".part")
                making = [hipcc, *of_headers, *of_side, *step, "-o", str(part), str(header)]
                if subprocess.run(making, capture_output=True, check=False).returncode:
                    failed.touch()
                    return None
                part.rename(made)
        command += [f"-Xarch_{side}", f"-include{header}"]
    # clang compares the macros of a command with those with which headers were compiled.
    text = "".join(_directive(word) for word in defined)
    own = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.h"
    part = own.with_suffix(f".{os.getpid()}")
    part.write_text(text)
    part.rename(own)
    return [*command, "-include", str(own)]


def _directive(word: str) -> str:
    name, _, value = word[2:].partition("=")
    return f"#undef {name}\n" if word[1] == "U" else f"#define {name} {value if '=' in word else 1}\n"


def includes(path: Path, seen: set[Path]) -> set[str]:
    """Return the headers from elsewhere that a file includes, directly or through a file beside it."""
    path = path.resolve()
    if path in seen:
        return set()
    seen.add(path)
    found = set()
    for bracket, name in _INCLUDE.findall(path.read_text(errors="replace")):
        beside = bracket == '"' and (path.parent / name).is_file()
        found |= includes(path.parent / name, seen) if beside else {name}
    return found


def main(words: Sequence[str]) -> int:
    """Run hipcc with the words of a command, or repeat its output; with precompiled headers for units of HIP."""
    hipcc = os.environ["HIPPORT_HIPCC"]
    units = [Path(word) for word in words if word.endswith(_UNIT)]
    if not units:
        return of_host(hipcc, words)
    if "--cuda-host-only" in words and "HIPPORT_NO_HOST" in os.environ:
        for place in compiled.written_by(words):
            Path(words[place]).touch()
        return 0
    archs = [word.partition("=")[2] for word in words if word.startswith("--offload-arch=")]
    optimized = bool(archs) and set(archs) <= set(os.environ.get("HIPPORT_OPTIMIZED", "").split(","))
    words = [*words, "-O1" if optimized else "-O0"]
    # A unit's includes may be anywhere in its package.
    packages = [next((f for f in unit.resolve().parents if (f / "setup.py").exists()), unit.parent) for unit in units]
    trees = [*packages, _OPERATORS, _LIGHT]
    done = compiled.run([hipcc, *words], cwd=Path.cwd(), trees=trees, running=partial(run, hipcc, words, units))
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode


def of_host(hipcc: str, words: Sequence[str]) -> int:
    """Run hipcc for units of C++, or to link."""
    if "-c" in words and any(word.endswith(_OF_HOST) for word in words):
        done = _run([hipcc, f"-I{_LIGHT}", *words, "-O0", "-g0"])
        if done.returncode == 0:
            sys.stdout.write(done.stdout)
            sys.stderr.write(done.stderr)
            return 0
    return subprocess.run([hipcc, *words], check=False).returncode


def run(hipcc: str, words: Sequence[str], units: Sequence[Path], _: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run hipcc, with precompiled headers if they compile the units."""
    included = [includes(unit, set()) for unit in units]
    folder = os.environ.get("HIPPORT_PRECOMPILED", "")
    if all(HIP in each for each in included):
        torch = all(any(map(_ASKS_FOR_TORCH.match, each)) for each in included)
        light = [*_FRONT, *words] if torch else list(words)
        command = precompiled(hipcc, light, Path(folder), (HIP, TORCH) if torch else (HIP,)) if folder else light
        done = _run([hipcc, *command]) if command else None
        if done is not None and done.returncode == 0:
            return done
    return _run([hipcc, *words])


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
