# SPDX-License-Identifier: Apache-2.0
"""Further shapes of large inputs for `growth.py`: device code, and the files around it."""

from __future__ import annotations

import json
from collections.abc import Callable

_SHUFFLE = b"v += __shfl_xor_sync(~0u, v, 1)"
_SETUP = (
    b"import os\nimport torch\nfrom setuptools import setup\n"
    b"from torch.utils.cpp_extension import BuildExtension, CUDAExtension\n"
)


def methods_of_one_name(count: int) -> dict[str, bytes]:
    """Make classes that all have a method of the same name, and a kernel that calls each."""
    classes = b"".join(
        b"struct C%d { int n; __device__ int get(int v) const { if (v > n) %b; return v; } };\n" % (i, _SHUFFLE)
        for i in range(count)
    )
    calls = b"".join(b"  C%d c%d{n}; v += c%d.get(v);\n" % (i, i, i) for i in range(count))
    return {
        "a.cu": b"%b__global__ void k(int *p, int n) { int v = p[threadIdx.x];\n%b  p[0] = v; }\n" % (classes, calls)
    }


def guarded_functions(count: int) -> dict[str, bytes]:
    """Make functions in nested preprocessor conditions, with two branches each."""
    inside = b"".join(
        b"#if __CUDA_ARCH__ >= %d\n__device__ int f%d(int x) { return x + 1; }\n" % (i, i) for i in range(count)
    )
    ends = b"".join(b"#else\n__device__ int f%d(int x) { return x; }\n#endif\n" % i for i in reversed(range(count)))
    return {"a.cu": inside + ends}


def overloads_with_barriers(count: int) -> dict[str, bytes]:
    """Make overloads of one function, with a barrier in each."""
    overloads = b"".join(
        b"struct T%d { int v; };\n__device__ int sum(T%d t, int *s) { s[threadIdx.x] = t.v; __syncthreads();"
        b" return s[0]; }\n" % (i, i)
        for i in range(count)
    )
    calls = b"".join(b"  v += sum(T%d{v}, s);\n" % i for i in range(count))
    return {
        "a.cu": b"%b__global__ void k(int *p) { __shared__ int s[256]; int v = p[0];\n%b  p[0] = v; }\n"
        % (overloads, calls)
    }


def overloads(count: int) -> dict[str, bytes]:
    """Make overloads of one function, each of which calls the one before."""
    first = b"struct T0 { int v; };\n__device__ int f(T0 t, int v) { %b; return v; }\n" % _SHUFFLE
    others = b"".join(
        b"struct T%d { int v; T%d up; };\n__device__ int f(T%d t, int v) { return f(t.up, v + %d); }\n"
        % (i, i - 1, i, i)
        for i in range(1, count)
    )
    return {"a.cu": b"%b%b__global__ void k(int *p, T%d t) { p[0] = f(t, p[1]); }\n" % (first, others, count - 1)}


def choices(count: int) -> dict[str, bytes]:
    """Make one chain of `?:`."""
    chain = b"".join(b"x == %d ? y + %d :\n" % (i, i) for i in range(count))
    return {"a.cu": b"__global__ void k(int *p, int x, int y) { int v = %b 0;\n%b; p[0] = v; }\n" % (chain, _SHUFFLE)}


def atomics(count: int) -> dict[str, bytes]:
    """Make consecutive atomic operations in one kernel."""
    inside = b"".join(b"  atomicAdd(&p[%d], v); atomicMax(q + %d, v);\n" % (i, i) for i in range(count))
    return {"a.cu": b"__global__ void k(float *p, int *q, float v) {\n%b}\n" % inside}


def atomics_apart(count: int) -> dict[str, bytes]:
    """Make kernels with an atomic operation and a launch each, on memory that the host allocates."""
    return {
        "a.cu": b"".join(
            b"__global__ void k%d(float *p, float v) { atomicAdd(p + threadIdx.x, v); }\n"
            b"void l%d() { float *p; cudaMallocManaged(&p, 1024); k%d<<<1, 256>>>(p, 1.0f); cudaFree(p); }\n"
            % (i, i, i)
            for i in range(count)
        )
    }


def namespaces(count: int) -> dict[str, bytes]:
    """Make namespaces within namespaces, with a device function in each."""
    inside = b"".join(
        b"namespace n%d {\n__device__ int f%d(int v) { %b; return v; }\n" % (i, i, _SHUFFLE) for i in range(count)
    )
    return {"a.cu": b"%b%b\n" % (inside, b"}" * count)}


def brackets(count: int) -> dict[str, bytes]:
    """Make brackets within brackets, in one expression."""
    return {
        "a.cu": b"__global__ void k(int *p, int x) { int v = %bx%b;\n%b; p[0] = v; }\n"
        % (b"(1 + " * count, b")" * count, _SHUFFLE)
    }


def sums(count: int) -> dict[str, bytes]:
    """Make one long sum."""
    terms = b"".join(b" + p[%d] * x" % i for i in range(count))
    return {"a.cu": b"__global__ void k(int *p, int x) { int v = 0%b;\n%b; p[0] = v; }\n" % (terms, _SHUFFLE)}


def lambdas(count: int) -> dict[str, bytes]:
    """Make lambdas in one kernel, each of which calls the one before."""
    chain = b"".join(b"  auto f%d = [&](int x) { return f%d(x) + %d; };\n" % (i, i - 1, i) for i in range(1, count))
    return {
        "a.cu": b"__global__ void k(int *p) { int v = p[threadIdx.x];\n  auto f0 = [&](int x) { return x + v; };\n%b"
        b"  if (f%d(v)) { %b; }\n  p[0] = v; }\n" % (chain, count - 1, _SHUFFLE)
    }


def specializations(count: int) -> dict[str, bytes]:
    """Make specializations of one function template, and a kernel that calls each."""
    special = b"".join(
        b"template <> __device__ int f<%d>(int v) { %b; return v + %d; }\n" % (i, _SHUFFLE, i) for i in range(count)
    )
    calls = b"".join(b"  v += f<%d>(v);\n" % i for i in range(count))
    return {
        "a.cu": b"template <int N> __device__ int f(int v);\n%b__global__ void k(int *p) { int v = p[0];\n%b"
        b"  p[0] = v; }\n" % (special, calls)
    }


def vectors(count: int) -> dict[str, bytes]:
    """Make vectors that the host fills and passes to kernels."""
    lines = b"".join(
        b"  thrust::device_vector<float> d%d(n); std::vector<float> h%d(n);\n"
        b"  cudaMemcpy(thrust::raw_pointer_cast(d%d.data()), h%d.data(), n * 4, cudaMemcpyHostToDevice);\n"
        b"  k<<<1, 32>>>(thrust::raw_pointer_cast(d%d.data()));\n" % (i, i, i, i, i)
        for i in range(count)
    )
    return {
        "a.cu": b"#include <thrust/device_vector.h>\n#include <vector>\n__global__ void k(float *p) { *p = 1; }\n"
        b"void run(int n) {\n%b}\n" % lines
    }


def float_vectors(count: int) -> dict[str, bytes]:
    """Make a kernel that uses members of many `float4`."""
    lines = b"".join(
        b"  float4 a%d = p[%d]; a%d.x += a%d.y * v; v += __shfl_xor_sync(~0u, a%d.x, 1);\n" % (i, i, i, i, i)
        for i in range(count)
    )
    return {"a.cu": b"__global__ void k(float4 *p) { float v = 0;\n%b  p[0].x = v; }\n" % lines}


def includes(count: int) -> dict[str, bytes]:
    """Make a file that includes many headers, each of which includes the first."""
    files = {
        f"h{i}.cuh": b'#pragma once\n#include "h0.cuh"\n__device__ inline int f%d(int v) { return sum(v) + %d; }\n'
        % (i, i)
        for i in range(1, count)
    }
    files["h0.cuh"] = b"#pragma once\n__device__ inline int sum(int v) { %b; return v; }\n" % _SHUFFLE
    files["a.cu"] = (
        b"".join(b'#include "h%d.cuh"\n' % i for i in range(1, count))
        + b"__global__ void k(int *p) { int v = p[0];\n"
        + b"".join(b"  v += f%d(v);\n" % i for i in range(1, count))
        + b"  p[0] = v; }\n"
    )
    return files


def flags(count: int) -> dict[str, bytes]:
    """Make a setup.py that appends to its flags again and again."""
    lines = b"".join(
        b"nvcc_flags.append('-DX%d')\nnvcc_flags += ['-gencode', 'arch=compute_%d,code=sm_%d']\n" % (i, i, i)
        for i in range(count)
    )
    return {
        "setup.py": _SETUP + b"nvcc_flags = ['-O3']\n%bsetup(ext_modules=[CUDAExtension('a', ['a.cu'],"
        b" extra_compile_args={'nvcc': nvcc_flags})], cmdclass={'build_ext': BuildExtension})\n" % lines
    }


def images(count: int) -> dict[str, bytes]:
    """Make a Dockerfile of many steps."""
    lines = b"".join(
        b"ENV V%d=/usr/local/cuda/lib%d\nRUN pip install cupy-cuda12x==%d && nvcc -arch=sm_70 -o x%d a.cu\n"
        % (i, i, i, i)
        for i in range(count)
    )
    return {"Dockerfile": b"FROM nvidia/cuda:12.1.0-devel-ubuntu22.04\n" + lines}


def stages(count: int) -> dict[str, bytes]:
    """Make a Dockerfile of many stages, each of which copies from the one before."""
    lines = b"".join(
        b"FROM nvidia/cuda:12.1.0-devel-ubuntu22.04 AS s%d\nCOPY --from=s%d /a /a\n"
        b"RUN apt-get install -y cuda-toolkit-12-1\n" % (i + 1, i)
        for i in range(count)
    )
    return {"Dockerfile": b"FROM nvidia/cuda:12.1.0-devel-ubuntu22.04 AS s0\n" + lines}


def manifests(count: int) -> dict[str, bytes]:
    """Make manifests for Kubernetes in one file."""
    return {
        "deploy.yaml": b"---\n".join(
            b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p%d\nspec:\n  containers:\n    - name: c\n"
            b"      image: nvidia/cuda:12.1.0-base-ubuntu22.04\n      resources:\n        limits:\n"
            b"          nvidia.com/gpu: 1\n" % i
            for i in range(count)
        )
    }


def cmake_functions(count: int) -> dict[str, bytes]:
    """Make functions of a CMakeLists.txt, each of which calls the one before."""
    lines = b"".join(
        b"function(f%d target)\n  f%d(${target})\n  target_compile_options(${target} PRIVATE -DX%d)\nendfunction()\n"
        b"f%d(a)\n" % (i + 1, i, i, i + 1)
        for i in range(count)
    )
    return {
        "CMakeLists.txt": b"project(x LANGUAGES CXX CUDA)\nadd_library(a a.cu)\n"
        b"function(f0 target)\n  target_compile_options(${target} PRIVATE --use_fast_math)\nendfunction()\n" + lines
    }


# ---- shapes that no report named


def members(count: int) -> dict[str, bytes]:
    """Make a class of many members, and a kernel that reads each."""
    fields = b"".join(b"  int m%d; float *q%d;\n" % (i, i) for i in range(count))
    reads = b"".join(b"  if (a.m%d > v) a.q%d[threadIdx.x] += v;\n" % (i, i) for i in range(count))
    return {
        "a.cu": b"struct A {\n%b};\n__global__ void k(A a) { int v = a.m0;\n%b  %b; }\n" % (fields, reads, _SHUFFLE)
    }


def variables(count: int) -> dict[str, bytes]:
    """Make variables of one kernel, each calculated from the one before."""
    lines = b"".join(b"  int v%d = v%d * 3 + %d;\n" % (i + 1, i, i) for i in range(count))
    return {
        "a.cu": b"__global__ void k(int *p) { int v0 = p[threadIdx.x];\n%b  p[0] = __shfl_xor_sync(~0u, v%d, 1); }\n"
        % (lines, count)
    }


def constants(count: int) -> dict[str, bytes]:
    """Make constants, each calculated from the one before, and a kernel that uses each."""
    lines = b"constexpr int N0 = 32;\n" + b"".join(b"constexpr int N%d = N%d + 1;\n" % (i + 1, i) for i in range(count))
    uses = b"".join(b"  if (threadIdx.x < N%d) %b;\n" % (i, _SHUFFLE) for i in range(count))
    return {"a.cu": b"%b__global__ void k(int *p) { int v = p[0];\n%b  p[0] = v; }\n" % (lines, uses)}


def tables(count: int) -> dict[str, bytes]:
    """Make one long table of constant memory."""
    rows = b"".join(b"  {%d, 0x%x, %d.5f},\n" % (i, i, i) for i in range(count))
    return {
        "a.cu": b"struct R { int a; unsigned b; float c; };\n__constant__ R rows[] = {\n%b};\n"
        b"__global__ void k(int *p) { int v = rows[threadIdx.x].a; %b; p[0] = v; }\n" % (rows, _SHUFFLE)
    }


def instances(count: int) -> dict[str, bytes]:
    """Make explicit instances of one kernel template, and a switch that launches each."""
    made = b"".join(b"template __global__ void k<float, %d>(float *, int);\n" % i for i in range(count))
    launches = b"".join(
        b"    case %d: k<float, %d><<<n / 256, 256, 0, s>>>(p, n); break;\n" % (i, i) for i in range(count)
    )
    return {
        "a.cu": b"template <typename T, int N> __global__ void k(T *p, int n) { T v = p[threadIdx.x]; %b; p[N] = v; }\n"
        b"%bvoid run(float *p, int n, int d, cudaStream_t s) {\n  switch (d) {\n%b  }\n}\n" % (_SHUFFLE, made, launches)
    }


def assembly(count: int) -> dict[str, bytes]:
    """Make PTX instructions in one kernel."""
    lines = b"".join(
        b'  asm volatile("mad.lo.u32 %%0, %%1, %%2, %%0;" : "+r"(v) : "r"(p[%d]), "r"(%d));\n' % (i, i)
        for i in range(count)
    )
    return {"a.cu": b"__global__ void k(unsigned *p) { unsigned v = 0;\n%b  p[0] = v; }\n" % lines}


def shared_arrays(count: int) -> dict[str, bytes]:
    """Make a kernel that goes through many shared arrays without and with barriers."""
    lines = b"".join(
        b"  __shared__ volatile int s%d[64]; s%d[t] = v; v += s%d[t ^ 1];\n" % (i, i, i) for i in range(count)
    )
    return {"a.cu": b"__global__ void k(int *p) { int t = threadIdx.x, v = p[t];\n%b  p[t] = v; }\n" % lines}


def unrolled(count: int) -> dict[str, bytes]:
    """Make a reduction in one array without barriers, of many steps."""
    lines = b"".join(b"  if (t < %d) { s[t] += s[t + %d]; }\n" % (16 + i % 16, 16 - i % 16) for i in range(count))
    return {
        "a.cu": b"__global__ void k(int *p) { __shared__ volatile int s[64]; int t = threadIdx.x; s[t] = p[t];\n%b"
        b"  p[0] = s[0]; }\n" % lines
    }


def gotos(count: int) -> dict[str, bytes]:
    """Make labels and jumps between them."""
    lines = b"".join(
        b"  if (v == %d) goto l%d;\n  v += %d;\nl%d:\n  %b;\n" % (i, i, i, i, _SHUFFLE) for i in range(count)
    )
    return {"a.cu": b"__global__ void k(int *p) { int v = p[0];\n%b  p[0] = v; }\n" % lines}


def waits(count: int) -> dict[str, bytes]:
    """Make loops that wait for flags, one after the other."""
    lines = b"".join(
        b"  while (f[%d] == 0) {}\n  if (threadIdx.x == %d) f[%d] = 1;\n" % (i, i % 32, i) for i in range(count)
    )
    return {"a.cu": b"__global__ void k(volatile int *f) {\n%b}\n" % lines}


def nested_loops(count: int) -> dict[str, bytes]:
    """Make loops one after the other, each of three levels, that change what the others read."""
    lines = b"".join(
        b"  for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) for (int l = 0; l < j; l++) v%d += v%d * l;\n"
        % (i % 8, (i + 1) % 8)
        for i in range(count)
    )
    declared = b" ".join(b"int v%d = p[%d];" % (i, i) for i in range(8))
    return {
        "a.cu": b"__global__ void k(int *p, int n) { %b\n%b  p[0] = __shfl_xor_sync(~0u, v0, 1); }\n"
        % (declared, lines)
    }


def strings(count: int) -> dict[str, bytes]:
    """Make a host program that prints and checks."""
    lines = b"".join(
        b'  printf("step %d: %%s // no comment\\n", cudaGetErrorString(cudaGetLastError())); // cudaFree\n'
        b"  if (cudaMemcpy(p, q, %d, cudaMemcpyDefault) != cudaSuccess) return %d;\n" % (i, i, i)
        for i in range(count)
    )
    return {"a.cu": b"#include <cstdio>\nint run(void *p, void *q) {\n%b  return 0;\n}\n" % lines}


def python_devices(count: int) -> dict[str, bytes]:
    """Make functions of a Python module that use CUDA."""
    return {
        "a.py": b"import torch\n"
        + b"".join(
            b"def f%d(x, device='cuda:%d'):\n    with torch.cuda.device(device):\n        torch.cuda.synchronize()\n"
            b"        y = x.to(device)\n    return f%d(y) if y.is_cuda else y\n" % (i, i, max(0, i - 1))
            for i in range(count)
        )
    }


def python_branches(count: int) -> dict[str, bytes]:
    """Make one chain of `elif` on a capability."""
    lines = b"".join(
        b"elif c == (%d, %d):\n    name = 'sm_%d%d'\n" % (i // 10, i % 10, i // 10, i % 10) for i in range(count)
    )
    return {
        "a.py": b"import torch\nc = torch.cuda.get_device_capability()\nif c is None:\n    name = ''\n%bprint(name)\n"
        % lines
    }


def python_classes(count: int) -> dict[str, bytes]:
    """Make classes of a Python module, each derived from the one before, with attributes."""
    return {
        "a.py": b"import torch\nclass C0:\n    num_warps = 32\n    def size(self):\n        return self.num_warps\n"
        + b"".join(
            b"class C%d(C%d):\n    num_warps = %d\n    def size(self):\n        self.n = torch.cuda.device_count()\n"
            b"        return super().size() + self.n\n" % (i + 1, i, i)
            for i in range(count)
        )
    }


def triton_kernels(count: int) -> dict[str, bytes]:
    """Make Triton kernels with their configurations."""
    return {
        "a.py": b"import torch\nimport triton\nimport triton.language as tl\n"
        + b"".join(
            b"@triton.autotune(configs=[triton.Config({'B': %d}, num_warps=8, num_stages=4)], key=['n'])\n@triton.jit\n"
            b"def k%d(p, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n"
            b"    tl.store(p + i, tl.load(p + i, mask=i < n), mask=i < n)\n" % (i, i)
            for i in range(count)
        )
    }


def cmake_branches(count: int) -> dict[str, bytes]:
    """Make one chain of `elseif` in a CMakeLists.txt."""
    lines = b"".join(
        b"elseif(ARCH STREQUAL a%d)\n  list(APPEND CMAKE_CUDA_FLAGS -gencode arch=compute_%d,code=sm_%d)\n" % (i, i, i)
        for i in range(count)
    )
    return {
        "CMakeLists.txt": b"project(x LANGUAGES CXX CUDA)\nif(NOT ARCH)\n  set(ARCH a0)\n%bendif()\n"
        b"add_library(a a.cu)\n" % lines
    }


def cmake_targets(count: int) -> dict[str, bytes]:
    """Make targets of a CMakeLists.txt, each linked with the one before."""
    lines = b"".join(
        b"add_library(l%d a.cu)\nset_target_properties(l%d PROPERTIES CUDA_ARCHITECTURES 80)\n"
        b"target_link_libraries(l%d PUBLIC l%d CUDA::cublas)\n" % (i + 1, i + 1, i + 1, i)
        for i in range(count)
    )
    return {"CMakeLists.txt": b"project(x LANGUAGES CXX CUDA)\nadd_library(l0 a.cu)\n" + lines}


def workflow(count: int) -> dict[str, bytes]:
    """Make a workflow of jobs in containers."""
    return {
        ".github/workflows/ci.yml": b"on: push\njobs:\n"
        + b"".join(
            b"  j%d:\n    runs-on: ubuntu-latest\n    container: nvidia/cuda:12.1.0-devel-ubuntu22.04\n    steps:\n"
            b"      - uses: actions/checkout@v4\n      - run: |\n          pip install torch --index-url "
            b"https://download.pytorch.org/whl/cu121\n          nvcc -arch=sm_80 a%d.cu\n" % (i, i)
            for i in range(count)
        )
    }


def shell_cases(count: int) -> dict[str, bytes]:
    """Make one `case` of a shell script, and a here-document in each branch."""
    lines = b"".join(
        b"a%d)\nexport CUDA_VISIBLE_DEVICES=%d\ncat <<EOF > x%d\nnvcc $F\nEOF\nnvcc -arch=sm_70 -o x%d a.cu\n;;\n"
        % (i, i, i, i)
        for i in range(count)
    )
    return {"build.sh": b'#!/bin/bash\ncase "$1" in\n%besac\n' % lines}


def notebook(count: int) -> dict[str, bytes]:
    """Make a notebook of many cells."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": [
                f"!nvidia-smi -i {i}\n",
                f"x{i} = torch.zeros({i}, device='cuda')\n",
                "torch.cuda.empty_cache()\n",
            ],
        }
        for i in range(count)
    ]
    first = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": ["import torch\n"]}
    made = {"cells": [first, *cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return {"a.ipynb": json.dumps(made, indent=1).encode()}


def requirements(count: int) -> dict[str, bytes]:
    """Make a list of requirements."""
    return {
        "requirements.txt": b"".join(
            b"cupy-cuda12x==%d\nnvidia-cublas-cu12==%d\npackage%d>=1\n" % (i, i, i) for i in range(count)
        )
    }


def readme(count: int) -> dict[str, bytes]:
    """Make a long README with commands."""
    return {
        "README.md": b"# x\n"
        + b"".join(
            b"## Step %d\n\nNeeds CUDA 12.%d and an NVIDIA GPU.\n\n```bash\nnvcc -arch=sm_80 -o a a.cu\npip install "
            b"torch --index-url https://download.pytorch.org/whl/cu121\n```\n\n" % (i, i)
            for i in range(count)
        )
    }


#: By name: what makes an input of a size, and the smallest size that is measured.
def member_chains(count: int) -> dict[str, bytes]:
    """Make expressions that go through many pointers, in a kernel with a loop that may wait."""
    chains = b"p%b->x = p%b.n;\n%bx += y%b;\n" % (
        b"->q" * count,
        b"[p->x" * count + b"]" * count,
        b"(" * count,
        b" ) += y" * count,
    )
    return {
        "a.cu": b"struct P { P *q; int x, n; P &operator=(int); P operator+(int); };\n__global__ void k(P *p, int x, "
        b"int y, volatile int *flag) {\n  while (*flag == 0) ;\n%b  y = __shfl_sync(~0u, x, y);\n  *flag = y;\n}\n"
        % chains
    }


SHAPES: dict[str, tuple[Callable[[int], dict[str, bytes]], int]] = {
    "methods, one name": (methods_of_one_name, 25),
    "guarded functions": (guarded_functions, 100),
    "overloads, barriers": (overloads_with_barriers, 25),
    "overloads": (overloads, 25),
    "choices": (choices, 50),
    "atomics": (atomics, 50),
    "atomics apart": (atomics_apart, 50),
    "namespaces": (namespaces, 50),
    "brackets": (brackets, 50),
    "sums": (sums, 100),
    "lambdas": (lambdas, 25),
    "specializations": (specializations, 25),
    "vectors": (vectors, 50),
    "float vectors": (float_vectors, 50),
    "includes": (includes, 50),
    "flags": (flags, 50),
    "Dockerfile": (images, 50),
    "Docker stages": (stages, 50),
    "manifests": (manifests, 50),
    "CMake functions": (cmake_functions, 50),
    "members": (members, 50),
    "member chains": (member_chains, 25),
    "variables": (variables, 100),
    "constants": (constants, 50),
    "tables": (tables, 250),
    "instances": (instances, 50),
    "assembly": (assembly, 50),
    "shared arrays": (shared_arrays, 50),
    "unrolled": (unrolled, 50),
    "gotos": (gotos, 50),
    "waits": (waits, 25),
    "nested loops": (nested_loops, 25),
    "strings": (strings, 100),
    "Python devices": (python_devices, 50),
    "Python branches": (python_branches, 50),
    "Python classes": (python_classes, 50),
    "Triton": (triton_kernels, 50),
    "CMake branches": (cmake_branches, 100),
    "CMake targets": (cmake_targets, 50),
    "workflow": (workflow, 50),
    "shell cases": (shell_cases, 50),
    "notebook": (notebook, 50),
    "requirements": (requirements, 100),
    "README": (readme, 100),
}
