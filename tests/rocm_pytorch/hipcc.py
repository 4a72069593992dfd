#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hipcc that reads PyTorch's headers once for all units of a build, and not three times for each of them.

It optimizes nothing: whether there is code, and of which kernels, is the same without, and takes half as long.

HIPPORT_HIPCC is the compiler, HIPPORT_PRECOMPILED a folder for what it makes of the headers. The headers come before
what a unit includes, so only units that include them anyhow get them: what a port forgets to include is still missing.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HEADERS = ("hip/hip_runtime.h", "torch/torch.h", "ATen/hip/HIPContext.h")
#: What includes all of them: torch/extension.h has torch/torch.h.
_ASKED = ({"hip/hip_runtime.h"}, {"torch/torch.h", "torch/extension.h"}, {"ATen/hip/HIPContext.h"})
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)", re.MULTILINE)
#: Words of a command that say nothing about how headers are read, or that differ for each unit.
_OF_THE_UNIT = ("-c", "-o", "--offload-arch=", "-DTORCH_EXTENSION_NAME=", "-Icsrc")


def settings(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide a command that compiles a unit into what its headers are read with, and its architectures."""
    of_headers, archs = [], []
    before = ""
    for word in words:
        if word.startswith("--offload-arch="):
            archs.append(word.partition("=")[2])
        elif before not in ("-c", "-o") and not word.startswith(_OF_THE_UNIT):
            of_headers.append(word)
        before = word
    return of_headers, archs


def precompiled(hipcc: str, words: Sequence[str], folder: Path) -> list[str]:
    """Return the options with which hipcc reads the headers from what it made of them, and make that if need be."""
    of_headers, archs = settings(words)
    folder = folder / hashlib.sha256("\0".join([*of_headers, *archs]).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    options = []
    with (folder / "lock").open("w") as lock:
        # Another process may be making it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        for side in ("host", *archs):
            header = folder / f"{side}.h"
            made = header.with_suffix(".h.pch")
            if not made.exists():
                header.write_text("".join(f"#include <{name}>\n" for name in HEADERS))
                of_side = ["--cuda-host-only"] if side == "host" else ["--cuda-device-only", f"--offload-arch={side}"]
                # One job of the compiler, whose last step is another: precompiling has no option for HIP.
                # With what its inline functions use of templates: each unit would instantiate that again.
                step = ["-w", "-x", "hip", "-S", "-emit-llvm", "-Xclang", "-emit-pch"]
                step += ["-Xclang", "-fpch-instantiate-templates"]
                part = made.with_suffix(".part")
                subprocess.run([hipcc, *of_headers, *of_side, *step, "-o", str(part), str(header)], check=True)
                part.rename(made)
            options += [f"-Xarch_{side}", f"-include{header}"]
    return options


def includes(path: Path, seen: set[Path]) -> set[str]:
    """Return the headers in angle brackets that a file, or one beside it that it includes, includes."""
    path = path.resolve()
    if path in seen or not path.is_file():
        return set()
    seen.add(path)
    found = set()
    for bracket, name in _INCLUDE.findall(path.read_text(errors="replace")):
        found |= {name} if bracket == "<" else includes(path.parent / name, seen)
    return found


def main(words: Sequence[str]) -> int:
    """Run hipcc with the words of a command, and with precompiled headers where they compile a unit of HIP."""
    hipcc = os.environ["HIPPORT_HIPCC"]
    options = []
    units = [Path(word) for word in words if word.endswith(".hip")]
    if units:
        words = [*words, "-O0"]
    if units and all(not each.isdisjoint(includes(unit, set())) for unit in units for each in _ASKED):
        options = precompiled(hipcc, words, Path(os.environ["HIPPORT_PRECOMPILED"]))
    return subprocess.run([hipcc, *words, *options], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
