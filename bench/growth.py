# SPDX-License-Identifier: Apache-2.0
"""The growth of a rewrite's time with its input, for each kind of input that once grew faster than linearly.

    python bench/growth.py                  all kinds, four sizes of each
    python bench/growth.py guards --sizes 3

Each size is twice the one before, in a process of its own that has ported a small input first. The exponent is that of
the line through the logarithms of the sizes and of the CPU times: 1 is linear. The smallest sizes are mostly fixed
cost, so that it is low rather than high; the last column has the cost of the last doubling alone.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Callable

import hipport
from growth_shapes import SHAPES


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
    """Make programs side by side, each with a header whose name all programs use."""
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
    """Make the same with divergence at each condition."""
    return {"a.cu": nested(count)["a.cu"].replace(b"x >", b"threadIdx.x >")}


def else_ifs(count: int) -> dict[str, bytes]:
    """Make a chain of `else if` with a shuffle in each branch."""
    branches = b"".join(b"else if (x == %d) { %b; }\n" % (i, _SHUFFLE) for i in range(count))
    return {"a.cu": b"__global__ void k(int *p, int x) { int v = p[0];\nif (x < 0) v = 0;\n%bp[0] = v; }\n" % branches}


def cases(count: int) -> dict[str, bytes]:
    """Make a switch with a shuffle in each case."""
    inside = b"".join(b"case %d: %b; break;\n" % (i, _SHUFFLE) for i in range(count))
    return {"a.cu": b"__global__ void k(int *p) { int v = p[threadIdx.x];\nswitch (v) {\n%b}\np[0] = v; }\n" % inside}


def many_called(count: int) -> dict[str, bytes]:
    """Make functions that one kernel calls, each under a condition of its own."""
    functions = b"".join(b"__device__ int f%d(int v) { %b; return v; }\n" % (i, _SHUFFLE) for i in range(count))
    called = b"".join(b"if (threadIdx.x < %d) v += f%d(v);\n" % (i, i) for i in range(count))
    return {"a.cu": b"%b__global__ void k(int *p) { int v = p[0];\n%bp[0] = v; }\n" % (functions, called)}


def barriers(count: int) -> dict[str, bytes]:
    """Make functions with a barrier that call each other, the last one first."""
    functions = b"".join(
        b"__device__ void f%d(int *s) { s[threadIdx.x] = %d; %b }\n"
        % (i, i, b"f%d(s);" % (i + 1) if i + 1 < count else b"__syncthreads();")
        for i in range(count)
    )
    declared = b"".join(b"__device__ void f%d(int *s);\n" % i for i in range(count))
    return {"a.cu": b"%b%b__global__ void k(int *p) { f0(p); }\n" % (declared, functions)}


def barriers_apart(count: int) -> dict[str, bytes]:
    """Make consecutive barriers, each under a condition of its own."""
    inside = b"".join(b"if (threadIdx.x > %d) __syncthreads();\n" % i for i in range(count))
    return {"a.cu": b"__global__ void k(int *p) { p[0] = 0;\n%b}\n" % inside}


def barriers_nested(count: int) -> dict[str, bytes]:
    """Make conditions within conditions, with a barrier in each."""
    inside = b"".join(b"if (threadIdx.x > %d) { __syncthreads();\n" % i for i in range(count))
    return {"a.cu": b"__global__ void k(int *p) { p[0] = 0;\n%b%b}\n" % (inside, b"}" * count)}


def barriers_in_loops(count: int) -> dict[str, bytes]:
    """Make consecutive loops, with a barrier in each."""
    inside = b"for (int i = 0; i < x; i++) { v += i; __syncthreads(); }\n" * count
    return {"a.cu": b"__global__ void k(int *p, int x) { int v = p[0];\n%bp[0] = v; }\n" % inside}


def barriers_and_exits(count: int) -> dict[str, bytes]:
    """Make barriers with a way out in front of each."""
    inside = b"".join(b"if (p[%d]) return; __syncthreads();\n" % i for i in range(count))
    return {"a.cu": b"__global__ void k(int *p) { p[0] = 0;\n%b}\n" % inside}


def macros(count: int) -> dict[str, bytes]:
    """Make macros of which each uses the one before."""
    chain = b"".join(b"#define M%d(x) (M%d(x) + %d)\n" % (i + 1, i, i) for i in range(count))
    first = b"#define M0(x) __shfl_xor_sync(~0u, (x), 1)\n"
    return {"a.cu": b"%b%b__global__ void k(int *p) { p[0] = M%d(p[threadIdx.x]); }\n" % (first, chain, count)}


def masks(count: int) -> dict[str, bytes]:
    """Make functions that pass on a mask."""
    functions = b"".join(
        b"__device__ int f%d(unsigned m, int v) { return f%d(m, v); }\n" % (i + 1, i) for i in range(count)
    )
    first = b"__device__ int f0(unsigned m, int v) { return __shfl_xor_sync(m, v, 1); }\n"
    return {
        "a.cu": b"%b%b__global__ void k(int *p) { p[0] = f%d(__activemask(), p[1]); }\n" % (first, functions, count)
    }


def on_wavefronts(count: int) -> dict[str, bytes]:
    """Make a chain of functions beside one that a person has ported to whole wavefronts."""
    chain = b"".join(b"__device__ int f%d(int v) { return f%d(v); }\n" % (i + 1, i) for i in range(count))
    return {
        "a.cu": b"#ifdef __HIP_PLATFORM_AMD__\n__device__ unsigned long long all(int v) { return __ballot(v); }\n"
        b"__device__ int w(int v) { return __shfl(v, warpSize - 1); }\n#endif\n"
        b"__device__ int f0(int v) { return __shfl_xor_sync(~0u, v, 1); }\n%b"
        b"__global__ void k(int *p) { p[0] = f%d(p[threadIdx.x]); }\n" % (chain, count)
    }


def kernels(count: int) -> dict[str, bytes]:
    """Make consecutive kernels with their launches, in one file."""
    return {
        "a.cu": b"".join(
            b"__global__ void k%d(float *p, int n) { float v = p[threadIdx.x]; %b; if (v < n) p[%d] = v; }\n"
            b"void l%d(float *p, int n) { k%d<<<n / 256, 256>>>(p, n); cudaDeviceSynchronize(); }\n"
            % (i, _SHUFFLE, i, i, i)
            for i in range(count)
        )
    }


def files(count: int) -> dict[str, bytes]:
    """Make files that include one header."""
    made = {
        f"d{i % 20}/f{i}.cu": b'#include "../common.cuh"\n__global__ void k%d(int *p) { p[0] = sum(p[1]); }\n' % i
        for i in range(count)
    }
    made["common.cuh"] = b"#pragma once\n__device__ inline int sum(int v) { %b; return v; }\n" % _SHUFFLE
    return made


def script(count: int) -> dict[str, bytes]:
    """Make a shell script whose variables refer to each other."""
    lines = b"".join(b'F%d="$F%d -DX"\nnvcc $F%d -arch=sm_70 -o x%d a.cu\n' % (i + 1, i, i, i) for i in range(count))
    return {"build.sh": b"#!/bin/bash\n" + lines}


def shell_ifs(count: int) -> dict[str, bytes]:
    """Make conditions within conditions of a shell script, of many branches, that look for a tool."""
    lines = b"".join(
        b'if [ "$A%d" = 1 ]; then\nnvcc -arch=sm_70 a.cu\nelif ! command -v nvcc; then\necho %d\n' % (i, i)
        for i in range(count)
    )
    return {"build.sh": b"#!/bin/bash\n%b%b" % (lines, b"fi\n" * count)}


def shell_branches(count: int) -> dict[str, bytes]:
    """Make one `if` of many branches in a shell script."""
    lines = b"".join(b'elif [ "$A%d" = 1 ]; then\nnvcc -arch=sm_70 -o x%d a.cu\n' % (i, i) for i in range(count))
    return {"build.sh": b"#!/bin/bash\nif true; then\n:\n%bfi\n" % lines}


def shell_functions(count: int) -> dict[str, bytes]:
    """Make functions of a shell script that print flags."""
    lines = b"".join(b"f%d() {\n echo -D_GLIBCXX_USE_CXX11_ABI=0\n}\nnvcc $(f%d) a.cu\n" % (i, i) for i in range(count))
    return {"build.sh": b"#!/bin/bash\n" + lines}


def commands(count: int) -> dict[str, bytes]:
    """Make a CMakeLists.txt whose variables refer to each other."""
    lines = b"".join(b"set(V%d ${V%d} -DA%d)\n" % (i + 1, i, i) for i in range(count))
    return {"CMakeLists.txt": b"project(x LANGUAGES CXX CUDA)\nset(V0 -O2)\n%badd_executable(x a.cu)\n" % lines}


def rules(count: int) -> dict[str, bytes]:
    """Make a Makefile of many rules."""
    lines = b"".join(b"a%d.o: a%d.cu\n\t$(NVCC) $(FLAGS) -c a%d.cu -o a%d.o\n" % (i, i, i, i) for i in range(count))
    return {"Makefile": b"NVCC = nvcc\nFLAGS = -arch=sm_70\n" + lines}


def nested_commands(count: int) -> dict[str, bytes]:
    """Make conditions within conditions of a CMakeLists.txt."""
    inside = b"".join(b"if(A%d)\nset(B%d -O2)\n" % (i, i) for i in range(count))
    return {
        "CMakeLists.txt": b"project(x LANGUAGES CXX CUDA)\n%bfind_package(CUDA)\n%b" % (inside, b"endif()\n" * count)
    }


def nested_rules(count: int) -> dict[str, bytes]:
    """Make conditions within conditions of a Makefile."""
    inside = b"".join(b"ifdef A%d\nX%d = -arch=sm_70\n" % (i, i) for i in range(count))
    return {"Makefile": b"NVCC = nvcc\n%b%b" % (inside, b"endif\n" * count)}


def conditions(count: int) -> dict[str, bytes]:
    """Make a setup.py whose functions test for ROCm, each by two calls of the one before."""
    functions = b"".join(b"def f%d():\n    return f%d() and bool(f%d())\n" % (i + 1, i, i) for i in range(count))
    first = (
        b"import torch\nfrom torch.utils.cpp_extension import CUDAExtension\ndef f0():\n    return torch.version.hip\n"
    )
    asked = b"".join(b"if f%d():\n    x = ['-O%d']\n" % (i, i) for i in range(count))
    return {"setup.py": first + functions + asked + b"CUDAExtension('x', ['a.cu'], extra_compile_args={'nvcc': x})\n"}


def nested_guards(count: int) -> dict[str, bytes]:
    """Make nested preprocessor conditions on the architecture."""
    inside = b"".join(b"#if __CUDA_ARCH__ >= %d\nint x%d;\n" % (i, i) for i in range(count))
    return {"a.cu": inside + b"#endif\n" * count}


def gates(count: int) -> dict[str, bytes]:
    """Make conditions on a capability in a Python file that give one name its values."""
    lines = b"".join(
        b"if torch.cuda.get_device_capability() >= (9, %d):\n    x = %d\n" % (i % 10, i) for i in range(count)
    )
    return {"a.py": b"import torch\n" + lines}


def gates_again(count: int) -> dict[str, bytes]:
    """Make the same of a name that is given another capability, or another release, before each."""
    lines = b"".join(
        b"c = torch.cuda.get_device_capability(%d)\nif c >= (9, 0):\n    use(c[0])\n"
        b"v = torch.version.cuda\nif v >= '12.%d':\n    y = %d\n" % (i, i, i)
        for i in range(count)
    )
    return {"a.py": b"import torch\n" + lines}


def returned(count: int) -> dict[str, bytes]:
    """Make functions of a Python file that return what the one before returns, and conditions on that."""
    functions = b"".join(b"def f%d():\n    return f%d()\n" % (i + 1, i) for i in range(count))
    asked = b"".join(b"if f%d() >= (9, 0):\n    x = %d\n" % (i, i) for i in range(count))
    return {"a.py": b"import torch\ndef f0():\n    return torch.cuda.get_device_capability()\n" + functions + asked}


def folders(count: int) -> dict[str, bytes]:
    """Make a CMake project of folders with a script and a file each."""
    made = {"CMakeLists.txt": b"project(x LANGUAGES CXX CUDA)\n"}
    for i in range(count):
        made["CMakeLists.txt"] += b"add_subdirectory(d%d)\n" % i
        made[f"d{i}/CMakeLists.txt"] = b"add_library(l%d a.cu)\ntarget_link_libraries(l%d CUDA::cudart)\n" % (i, i)
        made[f"d{i}/a.cu"] = b"__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }\n"
    return made


def nested_expressions(count: int) -> dict[str, bytes]:
    """Make generator expressions within generator expressions of a CMakeLists.txt."""
    inside = b"$<$<COMPILE_LANGUAGE:CUDA>:" * count + b"-O3" + b">" * count
    return {
        "CMakeLists.txt": b"project(x LANGUAGES CXX CUDA)\nadd_library(a a.cu)\n"
        b"target_compile_options(a PRIVATE %b)\n" % inside
    }


def questions(count: int) -> dict[str, bytes]:
    """Make a setup.py that asks for a GPU before each of its flags."""
    lines = b"".join(
        b"if torch.cuda.is_available() and CUDA_HOME is not None and os.getenv('A%d'):\n    flags += ['-DX%d']\n"
        % (i, i)
        for i in range(count)
    )
    return {
        "setup.py": b"import os\nimport torch\nfrom setuptools import setup\n"
        b"from torch.utils.cpp_extension import CUDA_HOME, CUDAExtension\nflags = []\n%b"
        b"setup(ext_modules=[CUDAExtension('a', ['a.cu'], extra_compile_args={'nvcc': flags})])\n" % lines
    }


def services(count: int) -> dict[str, bytes]:
    """Make a compose file of services that get GPUs."""
    return {
        "docker-compose.yml": b"services:\n"
        + b"".join(
            b"  s%d:\n    image: nvidia/cuda:12.1.0-base-ubuntu22.04\n    runtime: nvidia\n    deploy:\n"
            b"      resources:\n        reservations:\n          devices:\n            - driver: nvidia\n"
            b"              count: 1\n              capabilities: [gpu]\n" % i
            for i in range(count)
        )
    }


def lines_of_macro(count: int) -> dict[str, bytes]:
    """Make one macro of many lines, with a shuffle in each."""
    lines = b"".join(b"  p[%d] = __shfl_xor_sync(~0u, p[%d], 1); \\\n" % (i, i) for i in range(count))
    return {"a.cu": b"#define ALL(p) do { \\\n%b} while (0)\n__global__ void k(int *p) { ALL(p) }\n" % lines}


#: By name: what makes an input of a size, and the smallest size that is measured.
KINDS: dict[str, tuple[Callable[[int], dict[str, bytes]], int]] = {
    "guards": (guards, 200),
    "header chain": (headers, 100),
    "programs": (programs, 50),
    "group methods": (methods, 250),
    "calls": (calls, 50),
    "calls, shuffles": (calls_and_shuffles, 50),
    "nested": (nested, 100),
    "nested, apart": (nested_apart, 100),
    "else if": (else_ifs, 300),
    "cases": (cases, 300),
    "many called": (many_called, 300),
    "barriers": (barriers, 50),
    "barriers apart": (barriers_apart, 100),
    "barriers nested": (barriers_nested, 300),
    "barriers, loops": (barriers_in_loops, 100),
    "barriers, exits": (barriers_and_exits, 100),
    "macros": (macros, 100),
    "masks": (masks, 50),
    "wavefronts": (on_wavefronts, 100),
    "kernels": (kernels, 50),
    "files": (files, 50),
    "shell script": (script, 50),
    "shell ifs": (shell_ifs, 100),
    "shell branches": (shell_branches, 100),
    "shell functions": (shell_functions, 100),
    "CMake": (commands, 200),
    "make": (rules, 100),
    "nested CMake": (nested_commands, 250),
    "nested make": (nested_rules, 250),
    "conditions": (conditions, 50),
    "nested guards": (nested_guards, 250),
    "gates": (gates, 100),
    "gates, again": (gates_again, 100),
    "returned": (returned, 100),
    "CMake folders": (folders, 50),
    "expressions": (nested_expressions, 200),
    "questions": (questions, 50),
    "services": (services, 100),
    "macro's lines": (lines_of_macro, 100),
}

#: All kinds; `tests/test_growth.py` counts the calls for those of `KINDS`, and for some of the others.
EVERY = KINDS | SHAPES


def measured(kind: str, size: int) -> float:
    """Return the CPU seconds of porting one input, in a process of its own."""
    command = [sys.executable, __file__, "--one", kind, str(size)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def port(kind: str, size: int) -> float:
    make, smallest = EVERY[kind]
    hipport.rewrite(make(smallest // 10), jobs=1)
    files = make(size)
    start = time.process_time()
    if failures := hipport.rewrite(files, jobs=1).failures:
        # A pass that fails does not do its work, and looks fast.
        sys.exit(f"{failures[0].rule}: {failures[0].reason}")
    return time.process_time() - start


def exponent(points: list[tuple[int, float]]) -> float:
    """Return the slope of the line through the logarithms."""
    xs = [math.log(size) for size, _ in points]
    ys = [math.log(seconds) for _, seconds in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(EVERY)}; default: all")
    parser.add_argument("--sizes", type=int, default=4, help="how many sizes, each twice the one before")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "SIZE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(port(given.one[0], int(given.one[1])))
        return
    if unknown := set(given.kinds) - EVERY.keys():
        parser.error(f"there is no kind {', '.join(sorted(unknown))}; there are: {', '.join(EVERY)}")
    print(f"{'kind':<20}{'sizes':>16}  {'CPU seconds':<36}{'exponent':>9}{'last':>7}")
    for kind in given.kinds or EVERY:
        sizes = [EVERY[kind][1] << step for step in range(max(2, given.sizes))]
        points = [(size, measured(kind, size)) for size in sizes]
        seconds = " ".join(f"{each:.2f}" for _, each in points)
        last = math.log2(points[-1][1] / points[-2][1])
        shown = f"{sizes[0]}…{sizes[-1]}"
        print(f"{kind:<20}{shown:>16}  {seconds:<36}{exponent(points):>9.2f}{last:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
