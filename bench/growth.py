# SPDX-License-Identifier: Apache-2.0
"""How the time of a rewrite grows with the input, for each kind of input that once grew faster than it.

    python bench/growth.py                  all kinds, four sizes of each
    python bench/growth.py guards --sizes 3

Each size is twice the one before, in a process of its own that has ported a small input first. The exponent is that of
the line through the logarithms of the sizes and of the CPU times: 1 is linear. The smallest sizes are mostly what any
input takes, so that it comes out low rather than high; the last column tells what the last doubling alone cost.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Callable

import hipport


def guards(count: int) -> dict[str, bytes]:
    """Make functions that choose by architecture, one after the other in one file."""
    return {
        "a.cu": b"".join(
            b"#if __CUDA_ARCH__ >= 700\n__device__ int f%d(int x) { return x + 1; }\n#else\n"
            b"__device__ int f%d(int x) { return x; }\n#endif\n" % (i, i)
            for i in range(count)
        )
    }


def headers(count: int) -> dict[str, bytes]:
    """Make a chain of headers, each of which includes the next one, and a kernel that includes the first."""
    files = {
        f"h{i}.cuh": b'#pragma once\n#include <cuda_runtime.h>\n#include "h%d.cuh"\n' % (i + 1)
        + b"template <typename T> __device__ T f%d(thrust::complex<T> x, T y) {\n" % i
        + b"  return __shfl_down_sync(0xffffffff, x.real(), 1) + max(y, T(%d));\n}\n" % i
        + b'inline void g%d() { cudaDeviceSynchronize(); printf("%%d", std::max(1, 2)); }\n' % i
        for i in range(count)
    }
    files[f"h{count}.cuh"] = b"#pragma once\n"
    files["a.cu"] = b'#include "h0.cuh"\n__global__ void k(float* x) { x[threadIdx.x] = f0(x[threadIdx.x], 1.0f); }\n'
    return files


def programs(count: int) -> dict[str, bytes]:
    """Make programs side by side, each with a header of its own that is called as in all others."""
    files: dict[str, bytes] = {}
    for i in range(count):
        files[f"p{i}/Makefile"] = b"main: main.cu\n\tnvcc -o main main.cu\n"
        files[f"p{i}/utils.h"] = b"#pragma once\n#include <cuda_runtime.h>\nstatic const int kind = %d;\n" % i
        files[f"p{i}/main.cu"] = (
            b'#include "utils.h"\n#include "shared.h"\n'
            b"__global__ void k(int* x) { x[threadIdx.x] = __shfl_down_sync(0xffffffff, kind, 16); }\n"
            b"int main() { k<<<1, 32>>>(nullptr); return cudaDeviceSynchronize(); }\n"
        )
    return files


def methods(count: int) -> dict[str, bytes]:
    """Make one long kernel that calls methods of a group."""
    return {
        "a.cu": b"#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void k(int* p) {\n"
        b"  auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n  int v = 0;\n"
        + b"  tile.sync();\n  v += other.size();\n" * count
        + b"  p[0] = tile.shfl_down(v, 1);\n}\n"
    }


_SHUFFLE = b"v += __shfl_xor_sync(~0u, v, 1)"


def calls(count: int) -> dict[str, bytes]:
    """Make a chain of device functions, each called under a condition."""
    functions = (
        b"__device__ int f%d(int v, int l) { if (l < %d) %b; return v; }\n"
        % (i, i, b"v += f%d(v, l)" % (i - 1) if i else _SHUFFLE)
        for i in range(count)
    )
    kernel = b"__global__ void k(int *p) { p[0] = f%d(p[1], threadIdx.x); }\n" % (count - 1)
    return {"a.cu": b"".join(functions) + kernel}


def calls_and_shuffles(count: int) -> dict[str, bytes]:
    """Make the same with a shuffle in the other branch of each."""
    return {"a.cu": calls(count)["a.cu"].replace(b"; return", b"; else %b; return" % _SHUFFLE)}


def nested(count: int) -> dict[str, bytes]:
    """Make conditions within conditions, with a shuffle in each."""
    inside = b"".join(b"if (x > %d) { %b;\n" % (i, _SHUFFLE) for i in range(count))
    return {"a.cu": b"__global__ void k(int *p, int x) { int v = p[0];\n%b%b\np[0] = v; }\n" % (inside, b"}" * count)}


def nested_apart(count: int) -> dict[str, bytes]:
    """Make the same where the lanes of a warp part at each condition."""
    return {"a.cu": nested(count)["a.cu"].replace(b"x >", b"threadIdx.x >")}


#: By name: what makes an input of a size, and the smallest size that is measured.
KINDS: dict[str, tuple[Callable[[int], dict[str, bytes]], int]] = {
    "guards": (guards, 200),
    "header chain": (headers, 100),
    "programs": (programs, 50),
    "group methods": (methods, 250),
    "calls": (calls, 50),
    "calls, shuffles": (calls_and_shuffles, 25),
    "nested": (nested, 50),
    "nested, apart": (nested_apart, 25),
}


def measured(kind: str, size: int) -> float:
    """Return the CPU seconds of porting one input, in a process of its own."""
    command = [sys.executable, __file__, "--one", kind, str(size)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def port(kind: str, size: int) -> float:
    make, smallest = KINDS[kind]
    hipport.rewrite(make(smallest // 10), jobs=1)
    files = make(size)
    start = time.process_time()
    hipport.rewrite(files, jobs=1)
    return time.process_time() - start


def exponent(points: list[tuple[int, float]]) -> float:
    """Return the slope of the line through the logarithms."""
    xs = [math.log(size) for size, _ in points]
    ys = [math.log(seconds) for _, seconds in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--sizes", type=int, default=4, help="how many sizes, each twice the one before")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "SIZE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(port(given.one[0], int(given.one[1])))
        return
    if unknown := set(given.kinds) - KINDS.keys():
        parser.error(f"there is no kind {', '.join(sorted(unknown))}; there are: {', '.join(KINDS)}")
    print(f"{'kind':<16}{'sizes':>16}  {'CPU seconds':<36}{'exponent':>9}{'last':>7}")
    for kind in given.kinds or KINDS:
        sizes = [KINDS[kind][1] << step for step in range(max(2, given.sizes))]
        points = [(size, measured(kind, size)) for size in sizes]
        seconds = " ".join(f"{each:.2f}" for _, each in points)
        last = math.log2(points[-1][1] / points[-2][1])
        shown = f"{sizes[0]}…{sizes[-1]}"
        print(f"{kind:<16}{shown:>16}  {seconds:<36}{exponent(points):>9.2f}{last:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
