# SPDX-License-Identifier: Apache-2.0
"""A tree of many programs is not one program: each file comes out as with its own program alone."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from random import Random

import pytest

import hipport
from hipport.discover import source
from hipport.languages.cpp import Cpp
from hipport.source import Source
from hipport.testing import Fixture, fixtures, side_by_side
from hipport_passes import PASSES

FOLDER = Path(__file__).parent.parent / "fixtures"
CASES = [
    case
    for folder in sorted(FOLDER.iterdir())
    for case in fixtures(folder)
    if isinstance(case.before, Cpp) and not case.skipped
]
#: What one program says in its `utils.h` or beside it, and must change nothing in another that includes a `utils.h`.
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
    """A fixture as a program that includes a `utils.h`: its own, or one that its own build finds elsewhere."""
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


#: The smallest input of a report: `a` finds its header elsewhere, and `b` has one of that name.
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
    """What one file defines is nothing to another that includes the same header, in another folder or in the same."""
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
