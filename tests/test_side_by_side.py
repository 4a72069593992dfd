# SPDX-License-Identifier: Apache-2.0
"""A tree of many programs is not one program: each file has the same port as in its own program alone."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from random import Random

import pytest

import hipport
from hipport.core.source import Source
from hipport.syntax.cpp import Cpp
from hipport.syntax.file_languages import source
from hipport.testing import Fixture, fixtures, side_by_side
from hipport_passes import PASSES

FOLDER = Path(__file__).parent.parent / "fixtures"
CASES = [
    case
    for folder in sorted(FOLDER.iterdir())
    for case in fixtures(folder)
    if isinstance(case.before, Cpp) and not case.skipped
]
#: A program's definitions in its `utils.h` or beside it, which must not affect another program with a `utils.h`.
SAID = (
    b"#ifdef USE_ROCM\ntypedef __hip_bfloat16 __nv_bfloat16;\ntypedef __half half;\n#endif\n",
    b"#define WARP_SIZE 64\n#define FULL_MASK 0xffffffffffffffffull\n",
    b"static inline int cudaMalloc(void** p, int n) { return 0; }\n#define cudaFree free\n",
    b"__device__ int __shfl_down(int v, int by) { return v; }\n__device__ void __syncwarp() {}\n",
    b"namespace cg = cooperative_groups;\nusing namespace thrust;\nstruct dim3 { int x; };\n",
    b"#define DEVICE __device__\n#define KERNEL __global__\n#define SHARED __shared__\n",
    b"#ifdef MY_HIP\n#include <hip/hip_runtime.h>\n#else\n#include <cuda_runtime.h>\n#endif\n",
    b"template <int N> __device__ float reduce(float v) { return __shfl_xor_sync(0xffffffff, v, N); }\n",
)
MAKEFILE = b"all: main\nmain: main.cu\n\tnvcc -I/opt/elsewhere -o main main.cu\n"
SETUP = b"""from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="x", ext_modules=[CUDAExtension("x", ["t.cu"])], cmdclass={"build_ext": BuildExtension})
"""
SCRIPTS = (
    {"Makefile": MAKEFILE},
    {"CMakeLists.txt": b"project(x CUDA)\nadd_executable(x t.cu)\n"},
    {"setup.py": SETUP},
    {},
)


def placed(path: str, text: bytes) -> Source:
    return source(PurePosixPath(path), text)


def program(case: Fixture, random: Random) -> list[Source]:
    """Return a fixture as a program that includes a `utils.h`: its own, or one that its build finds elsewhere."""
    before = case.before
    text = b'#include "utils.h"\n' + before.text if random.random() < 0.7 else before.text
    files = [type(before)(before.path, text), *case.beside]
    said = random.choice(SAID)
    if random.random() < 0.5:
        files += [placed("utils.h", b"#pragma once\n" + said), placed("t.cu", b'#include "utils.h"\n')]
    else:
        files += [placed("deep/utils.h", b"#pragma once\n"), placed("deep/t.cu", b'#include "utils.h"\n' + said)]
    names = {str(file.path) for file in files}
    files += [placed(name, text) for name, text in random.choice(SCRIPTS).items() if name not in names]
    return sorted({file.path: file for file in files}.values(), key=lambda file: str(file.path))


@pytest.mark.parametrize("seed", range(16))
def test_programs_side_by_side(seed: int) -> None:
    random = Random(seed)
    cases = random.sample(CASES, 8)
    side_by_side({f"p{i}": program(case, random) for i, case in enumerate(cases)}, PASSES)


#: The smallest input of a bug report: `a` finds its header elsewhere, and `b` has one of that name.
MAIN = b"""#include <cuda_bf16.h>
#include "utils.h"
__global__ void k(__nv_bfloat16* x) { x[0] = __float2bfloat16(1.0f); }
"""
OTHER = b"""#include "utils.h"
#ifdef USE_ROCM
typedef __hip_bfloat16 __nv_bfloat16;
#endif
"""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: next(iter(script), "none"))
@pytest.mark.parametrize("where", ["", "src/", "deep/er/"])
def test_a_header_of_another_program_is_not_meant(script: dict[str, bytes], where: str) -> None:
    tree = {
        "a": [placed(f"{where}main.cu", MAIN)],
        "b": [placed(f"{where}utils.h", b"#pragma once\n"), placed(f"{where}t.cu", OTHER)],
    }
    for files in tree.values():
        files += [placed(name, text) for name, text in script.items()]
    side_by_side(tree, PASSES)
    ported = hipport.rewrite({f"{name}/{file.path}": file.text for name, files in tree.items() for file in files})
    texts = {str(file.path): file.text for file in ported.project.sources}
    assert b"__hip_bfloat16* x" in texts[f"a/{where}main.cu"]


def test_programs_with_a_header_for_all() -> None:
    """A definition in one file does not affect another one that includes the same header, in any folder."""
    common = b"#pragma once\n#include <cuda_bf16.h>\nstatic inline int blocks(int n) { return (n + 255) / 256; }\n"
    begun = b"int main() { return 0; }\n"
    here = {
        "common/common.h": common,
        "a/main.cu": MAIN.replace(b"utils.h", b"../common/common.h") + begun,
        "b/main.cu": OTHER.replace(b"utils.h", b"../common/common.h") + begun,
        "one/common.h": common,
        "one/main.cu": MAIN.replace(b"utils.h", b"common.h") + begun,
        "one/other.cu": OTHER.replace(b"utils.h", b"common.h") + begun,
        "two/common.h": common,
        "two/k.cu": MAIN.replace(b"utils.h", b"common.h"),
        "two/t.cu": OTHER.replace(b"utils.h", b"common.h"),
    }
    texts = {str(file.path): file.text for file in hipport.rewrite(here).project.sources}
    for path in ("a/main.cu", "one/main.cu", "two/k.cu"):
        assert b"__hip_bfloat16* x" in texts[path], path
    assert b"typedef __hip_bfloat16 __nv_bfloat16;" in texts["b/main.cu"]


def test_scripts_of_a_program_do_not_affect_the_one_beside_it() -> None:
    """C++20, a linked library, a choice by capability: each belongs to the program that has it."""
    lerp = b"#include <math.h>\n__device__ float lerp(float a, float b, float t) { return a + t * (b - a); }\n"
    tensor_cores = (
        b'__global__ void k(float* x) {\n#if __CUDA_ARCH__ >= 750\n  asm volatile("mma.sync" :: "r"(1));\n#endif\n}\n'
        b"void run(float* x) { k<<<1, 1>>>(x); }\n"
    )
    cmake = (
        b"cmake_minimum_required(VERSION 3.20)\nproject(%b LANGUAGES CXX CUDA)\nfind_package(CUDAToolkit REQUIRED)\n"
    )
    tree = {
        "plain": [placed("CMakeLists.txt", cmake % b"plain" + b"add_executable(x k.cu)\n"), placed("k.cu", lerp)],
        "newer": [
            placed("CMakeLists.txt", cmake % b"newer" + b"set(CMAKE_CUDA_STANDARD 20)\nadd_executable(x k.cu)\n"),
            placed("k.cu", lerp),
        ],
        "linking": [
            placed(
                "CMakeLists.txt",
                cmake % b"linking" + b"add_executable(x k.cu)\ntarget_link_libraries(x CUDA::cufft CUDA::cusolver)\n",
            ),
            placed("k.cu", tensor_cores),
        ],
        "choosing": [
            placed("setup.py", SETUP),
            placed("t.cu", tensor_cores),
            placed("use.py", b"import torch\nallow = torch.cuda.get_device_capability() >= (7, 5)\n"),
        ],
    }
    side_by_side(tree, PASSES)
    ported = hipport.rewrite({f"{name}/{file.path}": file.text for name, files in tree.items() for file in files})
    assert {str(each.path) for each in ported.reported if each.rule == "math_names/lerp"} == {"newer/k.cu"}
    told = {str(each.path) for each in ported.reported if "capability" in each.message}
    assert told == {"choosing/t.cu", "choosing/use.py"}
    scripts = {str(each.path.parent): each.text for each in ported.project.sources if each.path.suffix == ".txt"}
    assert {name for name, text in scripts.items() if b"hipfft" in text} == {"linking"}


def test_a_folder_of_a_cmake_project_needs_what_it_links() -> None:
    """In samples of one project, a library that one links is not searched by the one beside it."""
    top = b"project(x LANGUAGES CXX CUDA)\nadd_subdirectory(a)\nadd_subdirectory(b)\n"
    folder = b"find_package(CUDAToolkit REQUIRED)\nadd_executable(%b m.cu)\ntarget_link_libraries(%b %b)\n"
    ported = hipport.rewrite(
        {
            "CMakeLists.txt": top,
            "a/CMakeLists.txt": folder % (b"a", b"a", b"CUDA::cudart"),
            "b/CMakeLists.txt": folder % (b"b", b"b", b"CUDA::cufft"),
            **{f"{name}/m.cu": b"int main() { return cudaDeviceSynchronize(); }\n" for name in "ab"},
        }
    )
    scripts = {str(each.path.parent): each.text for each in ported.project.sources if each.path.suffix == ".txt"}
    assert b"hipfft" in scripts["b"] and b"hipfft" not in scripts["a"]


#: A kernel that both programs of a test share: with its shuffles, and the warp size of each program.
REDUCE = b"""#pragma once
__device__ inline float sum(float v) {
  for (int by = WARP / 2; by > 0; by /= 2) v += __shfl_down_sync(0xffffffff, v, by);
  return v;
}
"""


def sharing(warp: bytes, name: str) -> bytes:
    return (
        b"#define WARP " + warp + b'\n#include "../common/reduce.cuh"\n'
        b"__global__ void k(float* x) { x[threadIdx.x] = sum(x[threadIdx.x]); }\nint main() { k<<<1, 32>>>(0); }\n"
        b"// " + name.encode() + b"\n"
    )


def test_shared_device_code_is_ported_as_with_each_program_alone() -> None:
    tree = {
        "common/reduce.cuh": REDUCE,
        **{f"{name}/main.cu": sharing(b"32", name) for name in "abc"},
        **{f"{name}/Makefile": b"main: main.cu\n\tnvcc -o main main.cu\n" for name in "abc"},
        # A declaration of one of them does not affect the others.
        "b/main.cu": b"#define cudaFree mine\n" + sharing(b"32", "b") + b"void f(void* p) { cudaFree(p); }\n",
        "c/main.cu": sharing(b"32", "c") + b"void f(void* p) { cudaFree(p); }\n",
    }
    ported = hipport.rewrite(tree)
    texts = {str(file.path): file.text for file in ported.project.sources}
    for name in "abc":
        kept = ("common/", f"{name}/")
        alone = hipport.rewrite({path: text for path, text in tree.items() if path.startswith(kept)})
        for file in alone.project.sources:
            assert texts[str(file.path)] == file.text, file.path
        assert {each for each in ported.reported if str(each.path).startswith(kept)} >= {*alone.reported}
    assert b"hipFree" in texts["c/main.cu"] and b"hipFree" not in texts["b/main.cu"]
    assert not [each for each in ported.reported if each.rule == "headers/shared"]
    assert hipport.rewrite(tree, jobs=2).reported == ported.reported


def test_a_header_of_the_c_library_that_one_program_needs_is_included_for_all() -> None:
    tree = {
        "common/hash.cuh": b"#pragma once\n__device__ __host__ inline int hash(float x) { return isnan(x) ? 0 : x; }\n",
        "a/main.cu": b'#include "../common/hash.cuh"\n__global__ void k() {}\nint main() { return hash(1.f); }\n',
        "b/main.cu": b'#include <math.h>\n#include "../common/hash.cuh"\n__global__ void k() {}\nint main() {}\n',
        **{f"{name}/Makefile": b"main: main.cu\n\tnvcc -o main main.cu\n" for name in "ab"},
    }
    ported = hipport.rewrite(tree)
    assert not [each for each in ported.reported if each.rule == "headers/shared"]
    text = {str(file.path): file.text for file in ported.project.sources}["common/hash.cuh"]
    assert text.count(b"#include <math.h>") == 1


def test_programs_that_do_not_agree_on_what_they_share_are_reported() -> None:
    """One uses the header for wavefronts of 64, by its own branch for AMD: no program has priority."""
    native = b"#ifdef USE_ROCM\n#define WARP 64\n#else\n#define WARP 32\n#endif\n"
    tree = {
        "common/reduce.cuh": b"#pragma once\n__device__ inline void step() { cudaFree(0); }\n",
        "a/main.cu": b'#include "../common/reduce.cuh"\n__global__ void k() { step(); }\nint main() {}\n',
        "b/main.cu": b"#define cudaFree(p) mine(p)\n__device__ void mine(int);\n" + native
        + b'#include "../common/reduce.cuh"\n__global__ void k() { step(); }\nint main() {}\n',
        **{f"{name}/Makefile": b"main: main.cu\n\tnvcc -o main main.cu\n" for name in "ab"},
    }  # fmt: skip
    ported = hipport.rewrite(tree)
    (told,) = [each for each in ported.reported if each.rule == "headers/shared"]
    assert (str(told.path), told.line) == ("common/reduce.cuh", 2)
    assert told.needs_person and "with a alone it comes out differently than with b alone" in told.message
    swapped = {f"{'ba'['ab'.index(p[0])]}{p[1:]}" if p[0] in "ab" else p: text for p, text in tree.items()}
    other = hipport.rewrite(swapped)
    assert ported.project.by_path[told.path].text == other.project.by_path[told.path].text
