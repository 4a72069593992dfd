# SPDX-License-Identifier: Apache-2.0
"""CPU time of the executor on three kernels, beside plain loops and, where its headers are at hand, HIP-CPU.

    python bench/executor.py [--runs N] [--size N] [--hip-cpu FOLDER]

FOLDER is a checkout of HIP-CPU (it needs TBB). Times are the CPU time of one process, the best of N runs, in ms.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from hipport import api
from hipport.executor import compile as compiling

PROGRAM = Path(__file__).with_suffix(".cu")


def times(program: Path, arguments: list[str], **env: str) -> dict[str, float]:
    """Run a program and return what it printed."""
    done = subprocess.run(
        [str(program), *arguments], env={**os.environ, **env}, capture_output=True, text=True, check=True
    )
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def hip_cpu(folder: Path, scratch: Path) -> Path:
    """Compile the port for HIP-CPU, which has no `_sync` operations: its shuffles are those without mask."""
    ported = next(s for s in api.rewrite([PROGRAM]).project.sources if s.path.name == PROGRAM.name).text.decode()
    text = ported.replace('#include "hipport/warp.h"', "")
    text = text.replace("hipport::shfl_down_sync(0xffffffffu, ", "__shfl_down(").replace(", lanes)", ", lanes, 32)")
    # Its shuffles of less than 64 lanes are wrong; only their time is measured.
    text = text.replace("std::exit(1);", "")
    source = scratch / "hip_cpu.cpp"
    # It has no launch brackets.
    for kernel in ("saxpy", "reduce", "matmul"):
        while f"{kernel}<<<" in text:
            start = text.index(f"{kernel}<<<")
            middle = text.index(">>>(", start)
            launch = text[start + len(kernel) + 3 : middle]
            text = f"{text[:start]}hipLaunchKernelGGL({kernel}, {launch}, 0, nullptr, {text[middle + 4 :]}"
    source.write_text(text)
    program = scratch / "hip_cpu"
    subprocess.run(
        ["g++", "-std=c++17", "-O3", f"-I{folder}/include", str(source), "-o", str(program), "-ltbb", "-pthread"],
        check=True,
    )
    return program


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--hip-cpu", type=Path)
    given = parser.parse_args()
    arguments = [str(given.runs), str(given.size)]
    options = compiling.CompileOptions(os.environ)
    original = compiling.program([PROGRAM], "cuda", options).path
    port = compiling.program(api.rewrite([PROGRAM]), "hip", options, given=[PROGRAM]).path
    rows = {
        "original, 32 lanes": times(original, arguments),
        "port, 32 lanes": times(port, arguments, SIMT_WAVE="32"),
        "port, 64 lanes": times(port, arguments, SIMT_WAVE="64"),
    }
    if given.hip_cpu:
        with tempfile.TemporaryDirectory() as scratch:
            rows["HIP-CPU"] = times(hip_cpu(given.hip_cpu, Path(scratch)), arguments)
    print("| | saxpy 1M | reduce 1M | matmul", given.size, "|")
    print("|---|---|---|---|")
    for name, row in rows.items():
        print(f"| {name} | {row['saxpy']:.2f} | {row['reduce']:.1f} | {row['matmul']:.0f} |")
    loops = rows["original, 32 lanes"]
    print(f"| loops | {loops['saxpy-loop']:.2f} | {loops['reduce-loop']:.2f} | {loops['matmul-loop']:.0f} |")


if __name__ == "__main__":
    main()
