# SPDX-License-Identifier: Apache-2.0
"""HIP sides of programs that show by PyTorch's headers, by AMD's builtins, by suffixes, or by pasted names."""

import pytest

import hipport

KERNEL = "__global__ void k(float *x) {{ float v = x[threadIdx.x]; {0}; if (threadIdx.x % {1} == 0) x[0] = v; }}\n"
CUDA = KERNEL.format("v += __shfl_xor_sync(0xffffffff, v, 16)", "32")
WAVE = KERNEL.format("v += __shfl_xor(v, 16) + __popcll(__ballot(v > 0))", "warpSize")
BUILTIN = KERNEL.format("v += __builtin_amdgcn_mbcnt_hi(~0u, 0u)", "warpSize")
TORCH = "#include <torch/extension.h>\n"

TREES = {
    "sources that a script chooses, with PyTorch's header for HIP": {
        "setup.py": "import torch\nfrom glob import glob\n"
        'sources = glob("csrc/hip/*.cu" if torch.version.hip else "csrc/cuda/*.cu")\n',
        "csrc/cuda/k.cu": TORCH + CUDA,
        "csrc/hip/k.cu": TORCH + "#include <ATen/hip/HIPContext.h>\n" + WAVE,
    },
    "sources whose names say it": {
        "k_nv.cu": TORCH + CUDA,
        "k_rocm.cpp": TORCH + "#include <c10/hip/HIPStream.h>\n" + WAVE,
    },
    "a header below the sources of a build": {
        "k_cuda.cu.cc": CUDA,
        "k_rocm.cu.cc": '#include "rocm/include/hip/hip_runtime.h"\n' + WAVE,
    },
    "a suffix without a header": {"src/cuda/k.cu": CUDA, "src/hip/k.hip": WAVE},
    "a suffix alone": {"k.hip": WAVE},
    "AMD's builtins alone": {"amd/k.cpp": BUILTIN},
    "two conditions": {
        "device.hpp": '#ifdef P_HAVE_ROCM\n#include "device_rocm.hpp"\n#endif\n'
        '#ifdef P_HAVE_CUDA\n#include "device_cuda.hpp"\n#endif\n',
        "device_rocm.hpp": "#include <hip/hip_runtime.h>\nstruct Rocm { hipStream_t stream; };\nusing Device = Rocm;\n",
        "device_cuda.hpp": "#include <cuda_runtime.h>\nstruct Cuda { cudaStream_t stream; };\nusing Device = Cuda;\n",
        "main.cu": '#include "device.hpp"\nint main() { Device device; }\n',
    },
    "include folders": {
        "CMakeLists.txt": "project(d)\nif(AMD)\nset(BACKEND amd)\nelse()\nset(BACKEND nvidia)\nendif()\n"
        "add_library(d k.cu)\ntarget_include_directories(d PRIVATE backends/${BACKEND})\n",
        "backends/amd/warp.h": "__device__ inline int lane() { return __builtin_amdgcn_mbcnt_hi(~0u, 0u); }\n",
        "backends/nvidia/warp.h": "__device__ inline int lane() { return threadIdx.x & 31; }\n",
        "k.cu": "#include <warp.h>\n__global__ void k(int *x) { x[0] = lane(); }\n",
    },
    "pasted names": {
        "api.h": "#if API == API_HIP\n#include <hip/hip_runtime.h>\n#define GPU(x) hip##x\n"
        "#else\n#include <cuda_runtime.h>\n#define GPU(x) cuda##x\n#endif\n",
        "k.cu": '#include "api.h"\n#if API == API_HIP\n#define VOTE(x) __popcll(__ballot(x))\n'
        "#else\n#define VOTE(x) __popc(__ballot_sync(~0u, x))\n#endif\n"
        "__global__ void k(int *x) { x[0] = VOTE(x[1]); }\n"
        "void go(int *x) { k<<<1, 64>>>(x); GPU(DeviceSynchronize)(); }\n",
    },
}


@pytest.mark.parametrize("tree", list(TREES))
def test_both_sides_stay(tree: str) -> None:
    ported = hipport.rewrite({name: text.encode() for name, text in TREES[tree].items()}, jobs=1)
    assert [source.path.as_posix() for source in ported.changed if source.path.suffix != ".py"] == []
    assert not {each.rule for each in ported.reported} & {"backends/alone", "backends/unmapped"}


def test_code_of_cuda_with_a_branch_for_amd_is_still_ported() -> None:
    branch = "#ifdef USE_ROCM\n#include <ATen/hip/HIPContext.h>\n#else\n#include <ATen/cuda/CUDAContext.h>\n#endif\n"
    builtin = "#ifdef USE_ROCM\n__device__ int first(int v) { return __builtin_amdgcn_readfirstlane(v); }\n#endif\n"
    for text in (branch + CUDA, builtin + CUDA):
        ported = hipport.rewrite({"k_cuda.cu": text.encode(), "other.cpp": b"int other;\n"}, jobs=1)
        assert b"hipport::shfl_xor_sync" in ported.project.by_path[ported.changed[0].path].text


def test_headers_for_older_releases_of_each_choose_no_side() -> None:
    files = {
        "cuda_compat.cuh": "__device__ inline void add(half *to, half by) { *to = __hadd(*to, by); }\n",
        "hip_compat.cuh": "__device__ inline half hrcp2(half x) { return __builtin_amdgcn_rcph(x); }\n",
        "k.cu": '#include "cuda_compat.cuh"\n#include "hip_compat.cuh"\n'
        + CUDA
        + "int go() { return cudaGetLastError(); }\n",
    }
    ported = hipport.rewrite({name: text.encode() for name, text in files.items()}, jobs=1)
    assert "k.cu" in {source.path.as_posix() for source in ported.changed}
