# SPDX-License-Identifier: Apache-2.0
"""A program's own code for HIP stays unchanged on both sides; code that no backend covers is ported."""

from pathlib import Path

import pytest

import hipport
from hipport.core.finding import Certainty
from hipport.engine.outcomes import Ported
from hipport.program.project import Target

HIP_LANES = """#pragma once
constexpr int kWarpSize = 64;
__device__ inline int lane() { return threadIdx.x % warpSize; }
__device__ inline unsigned long long active() { return __activemask(); }
"""
HIP_UNIT = """#include <hip/hip_runtime.h>
#include "lanes.h"
__global__ void k(int *x) { if (lane() == __ffsll(active()) - 1) atomicAdd(x, __popcll(active())); }
void go(int *x) { k<<<1, 64>>>(x); hipDeviceSynchronize(); }
"""
CUDA_LANES = HIP_LANES.replace("64", "32").replace("unsigned long long", "unsigned")
CUDA_UNIT = """#include <cuda_runtime.h>
#include "lanes.h"
__global__ void k(int *x) { if (lane() == __ffs(active()) - 1) atomicAdd(x, __popc(active())); }
void go(int *x) { k<<<1, 64>>>(x); cudaDeviceSynchronize(); }
"""
TOOL = "#include <cuda_runtime.h>\nvoid tool(int **x) { cudaMalloc(x, 4); }\n"
NAMES_OF_HIP = """#pragma once
#include <hip/hip_runtime.h>
#define cudaMalloc hipMalloc
#define cudaFree hipFree
#define cudaStream_t hipStream_t
"""
NAMES_OF_CUDA = "#pragma once\n#include <cuda_runtime.h>\n#include <cublas_v2.h>\n"
USING = """#include "vendor.h"
#if defined(ON_AMD) && defined(__GFX9__)
constexpr int kLanes = 64;
#else
constexpr int kLanes = 32;
#endif
__global__ void k(float *x) { x[threadIdx.x % kLanes] = warpSize; }
void go(float **x, cudaStream_t s) { cudaMalloc(x, 4); k<<<1, 32, 0, s>>>(*x); cudaFree(*x); }
"""


def port(files: dict[str, str], target: Target | None = None) -> Ported:
    return hipport.rewrite({name: text.encode() for name, text in files.items()}, target=target, jobs=1)


def changed(ported: Ported) -> set[str]:
    return {source.path.as_posix() for source in ported.changed}


def rules(ported: Ported) -> set[str]:
    return {each.rule for each in ported.reported}


@pytest.mark.parametrize(("hip", "cuda"), [("src/hip", "src/cuda"), ("rocm", "cuda"), ("k/amd", "k/nvidia")])
def test_folders_of_both_stay(hip: str, cuda: str) -> None:
    files = {
        f"{hip}/lanes.h": HIP_LANES,
        f"{hip}/ops.cpp": HIP_UNIT,
        f"{cuda}/lanes.h": CUDA_LANES,
        f"{cuda}/ops.cu": CUDA_UNIT,
        "tools/tool.cu": TOOL,
    }
    ported = port(files)
    assert changed(ported) == {"tools/tool.cu"}
    assert {skipped.path.as_posix(): skipped.kind for skipped in ported.before.skipped} == {
        hip: "ported",
        cuda: "ported",
    }
    alone = port({name: text for name, text in files.items() if not name.startswith(hip)})
    assert {f"{cuda}/lanes.h", f"{cuda}/ops.cu"} <= changed(alone)


def test_a_kernel_in_hips_folder_needs_no_name_of_hips_itself() -> None:
    kernel = "__global__ void k(int *p) { p[threadIdx.x % warpSize] = 1; }\n"
    ported = port(
        {
            "hip/device.h": "#include <hip/hip_runtime.h>\n",
            "hip/count.cu": '#include "device.h"\n' + kernel,
            "cuda/count.cu": "#include <cuda_runtime.h>\n" + kernel,
            "cuda/alone.cu": "#include <cuda_runtime.h>\n" + kernel,
        }
    )
    assert changed(ported) == {"cuda/alone.cu"}


@pytest.mark.parametrize("macro", ["GGML_USE_HIP", "USE_AMD_ROCM", "ON_AMD", "BACKEND_RADEON"])
@pytest.mark.parametrize("first", ["hip", "cuda"])
def test_both_sides_of_a_choice_stay_whatever_the_macro_is_called(macro: str, first: str) -> None:
    hip, cuda = '#include "vendors/a.h"', '#include "vendors/b.h"'
    choice = f"#ifdef {macro}\n{hip}\n#else\n{cuda}\n" if first == "hip" else f"#ifndef {macro}\n{cuda}\n#else\n{hip}\n"
    files = {
        "vendor.h": f"#pragma once\n{choice}#endif\n",
        "vendors/a.h": NAMES_OF_HIP,
        "vendors/b.h": NAMES_OF_CUDA,
        "k.cu": USING.replace("ON_AMD", macro),
        "tool.cu": TOOL,
    }
    assert changed(port(files)) == {"tool.cu"}


def test_a_source_that_is_hip_by_its_name_stands_for_the_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "scan.cu").write_text(TOOL)
    (tmp_path / "scan.hip").write_text(TOOL.replace("cuda_", "hip/hip_").replace("cuda", "hip"))
    (tmp_path / "other.cu").write_text(TOOL)
    assert changed(hipport.rewrite([tmp_path], jobs=1)) == {"other.cu"}


def test_a_number_may_choose() -> None:
    files = {
        "vendor.h": '#pragma once\n#if BACKEND == 2\n#include "a.h"\n#else\n#include "b.h"\n#endif\n',
        "a.h": NAMES_OF_HIP,
        "b.h": NAMES_OF_CUDA,
        "k.cu": USING,
    }
    assert changed(port(files)) == set()


def test_names_of_the_programs_own_for_both_stay() -> None:
    of = "#pragma once\n#include <{0}/{0}_runtime.h>\n#define gpuMalloc {0}Malloc\n#define gpuStream_t {0}Stream_t\n"
    files = {
        "vendor.h": '#pragma once\n#ifdef ON_AMD\n#include "a.h"\n#else\n#include "b.h"\n#endif\n',
        "a.h": of.format("hip") + HIP_LANES,
        "b.h": of.format("cuda").replace("<cuda/", "<") + CUDA_LANES,
        "k.cu": '#include "vendor.h"\n__global__ void k(int *x) { x[lane()] = kWarpSize; }\n'
        "void go(int **x) { gpuMalloc(x, 4); k<<<1, 64>>>(*x); }\n",
    }
    assert changed(port(files)) == set()


@pytest.mark.parametrize(
    ("chosen", "for_cuda"),
    [
        ("GPU_BACKEND == BACKEND_AMD", "else"),
        ("GPU_BACKEND == 2", "elif GPU_BACKEND == 1"),
        ("(GPU_BACKEND != BACKEND_NV)", "elif GPU_BACKEND == BACKEND_NV"),
    ],
)
def test_the_value_of_a_macro_may_choose_in_one_header(chosen: str, for_cuda: str) -> None:
    files = {
        "gpu.h": f"""#pragma once
#if {chosen}
#include <hip/hip_runtime.h>
#define gpuMalloc hipMalloc
#{for_cuda}
#include <cuda_runtime.h>
#define gpuMalloc cudaMalloc
#endif
""",
        "k.cu": f"""#include "gpu.h"
void go(int **p) {{
#if {chosen}
    hipDeviceSynchronize();
#else
    cudaDeviceSynchronize();
#endif
    gpuMalloc(p, 4);
}}
""",
        "other.cu": "#include <cuda_runtime.h>\nint main() { return cudaDeviceSynchronize(); }\n",
    }
    assert changed(port(files)) == {"other.cu"}


def test_one_header_may_choose_between_three() -> None:
    files = {
        "gpu.h": """#pragma once
#ifdef GPU_AMD
#define WAVE 64
#include <hip/hip_runtime.h>
#define gpuMalloc hipMalloc
#elif defined(GPU_NV)
#define WAVE 32
#include <cuda_runtime.h>
#define gpuMalloc cudaMalloc
#else
#error "choose"
#endif
""",
        "k.cu": """#include "gpu.h"
__global__ void k(int *x) {
#ifdef GPU_AMD
    if (threadIdx.x % WAVE == 0) x[0] = __popcll(__ballot(x[0]));
#else
    if (threadIdx.x % WAVE == 0) x[0] = __popc(__ballot_sync(~0u, x[0]));
#endif
}
void go(int **p) { gpuMalloc(p, 4); k<<<1, 64>>>(*p); }
""",
    }
    ported = port(files)
    assert changed(ported) == set()
    assert rules(ported) == {"hip_waves/fixed"}


def test_a_few_names_are_no_backend() -> None:
    """Most of the code uses CUDA directly: the program is ported, and its own names stay."""
    files = {
        "compat.h": "#pragma once\n#ifdef USE_ROCM\n#include <hip/hip_runtime.h>\n#define cudaFree hipFree\n#else\n"
        "#include <cuda_runtime.h>\n#endif\n",
        "k.cu": '#include "compat.h"\nvoid go(float **x, cudaStream_t s) { cudaMalloc(x, 4); cudaMemset(*x, 0, 4); '
        "cudaStreamSynchronize(s); cudaFree(*x); }\n",
    }
    text = port(files).project.sources[1].text
    assert b"hipMalloc" in text
    assert b"cudaFree(*x)" in text


def test_a_source_of_cudas_side_without_a_counterpart_is_reported_if_it_needs_that_side() -> None:
    files = {
        "hip/lanes.h": HIP_LANES,
        "hip/ops.cpp": HIP_UNIT,
        "cuda/lanes.h": CUDA_LANES,
        "cuda/ops.cu": CUDA_UNIT,
        "cuda/more.cu": '#include "lanes.h"\n__global__ void more(int *x) { x[0] = lane(); }\n',
        "cuda/by_itself.cu": TOOL,
    }
    ported = port(files)
    assert changed(ported) == {"cuda/by_itself.cu"}
    assert [each.path.as_posix() for each in ported.reported if each.rule == "backends/alone"] == ["cuda/more.cu"]


def test_an_include_of_cudas_side_without_a_condition_is_reported() -> None:
    files = {
        "vendor.h": '#pragma once\n#ifdef ON_AMD\n#include "a.h"\n#else\n#include "b.h"\n#endif\n',
        "a.h": NAMES_OF_HIP,
        "b.h": NAMES_OF_CUDA,
        "k.cu": USING,
        "all.h": '#ifdef ENABLE_CUDA\n#include "b.h"\n#endif\n',
        "apart/other.cu": '#include "../b.h"\nvoid other(int **x) { cudaMalloc(x, 4); }\n',
    }
    ported = port(files)
    assert "b.h" not in changed(ported)
    assert [(each.path.as_posix(), each.line) for each in ported.reported if each.rule == "backends/alone"] == [
        ("apart/other.cu", 1)
    ]


def test_headers_of_the_toolkits_choose_no_side_of_the_programs() -> None:
    """A header beside CUDA's in a branch is also included elsewhere, and ported."""
    files = {
        "prefix.h": "#pragma once\n#include <cuda_runtime.h>\ninline void f(void *p) { cudaFree(p); }\n",
        "scan.h": '#ifdef USE_ROCM\n#include <hipcub/hipcub.hpp>\n#else\n#include "prefix.h"\n'
        "#include <cub/cub.cuh>\n#endif\n",
        "k.cu": '#include "prefix.h"\n#include "scan.h"\nvoid g(void *p) { f(p); cudaFree(p); }\n',
    }
    assert {"prefix.h", "k.cu"} <= changed(port(files))


def test_unchanged_code_stays_in_a_second_run() -> None:
    files = {"hip/lanes.h": HIP_LANES, "hip/ops.cpp": HIP_UNIT, "cuda/lanes.h": CUDA_LANES, "cuda/ops.cu": CUDA_UNIT}
    first = port(files | {"tool.cu": TOOL})
    again = port({source.path.as_posix(): source.text.decode() for source in first.project.sources})
    assert changed(again) == set()
    assert sorted(each.rule for each in again.reported if each.certainty is Certainty.MANUAL) == sorted(
        each.rule for each in first.reported if each.certainty is Certainty.MANUAL
    )


def test_a_port_of_hipports_own_is_no_backend() -> None:
    """Its files are HIP by then, and a second run still finds the CUDA code left in them."""
    first = port({"k.cu": TOOL})
    text = first.project.sources[0].text.decode() + "void more(int *x) { cudaFree(x); }\n"
    assert b"hipFree(x)" in port({"k.cu": text}).project.sources[0].text


def test_code_of_64_lanes_is_reported_for_gpus_with_32_alone() -> None:
    files = {"lanes.h": HIP_LANES, "ops.cpp": HIP_UNIT}
    assert "hip_waves/fixed" in rules(port({"a.cpp": "#include <hip/hip_runtime.h>\n" + HIP_LANES}))
    assert rules(port({"a.cpp": "#include <hip/hip_runtime.h>\n" + HIP_LANES}, Target(archs=("gfx942",)))) == set()
    assert "hip_waves/fixed" in rules(port({f"hip/{name}": text for name, text in files.items()}))


@pytest.mark.parametrize(
    ("defined", "used"),
    [
        ("#define WARP {}", "k<WARP><<<1, 256>>>(x);"),
        ("constexpr int kW = {};", "k<kW><<<1, 256>>>(x);"),
        ("enum {{ W = {} }};", "k<W><<<1, 256>>>(x);"),
        ("inline constexpr int lanes() {{ return {}; }}", "k<lanes()><<<1, 256>>>(x);"),
        ("struct Traits {{ static constexpr int lanes = {}; }};", "k<Traits::lanes><<<1, 256>>>(x);"),
        ("constexpr int kWarp = {};\n", "constexpr int kHalf = kWarp / 2; k<2 * kHalf><<<1, kWarp>>>(x);"),
        ("#define WARP_SIZE {}", "k<32><<<1, WARP_SIZE>>>(x);"),
    ],
)
def test_a_size_for_hip_is_followed_to_kernels_of_32_lanes(defined: str, used: str) -> None:
    text = f"""#include <cuda_runtime.h>
#ifdef USE_ROCM
{defined.format(64)}
#else
{defined.format(32)}
#endif
template <int W> __global__ void k(float *x) {{
    float v = x[threadIdx.x];
    for (int o = W / 2; o; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
    x[threadIdx.x] = v;
}}
void go(float *x) {{ {used} }}
"""
    ported = port({"k.cu": text})
    assert defined.format(64).encode() not in ported.project.sources[0].text
    assert "lane_masks/size" in rules(ported)


def test_a_helper_in_a_header_keeps_the_wavefront_that_a_kernel_counts_on() -> None:
    kernel = """#include "lanes.cuh"
__global__ void count(int *out, const int *in) {
#ifdef USE_ROCM
    if (lane_id() == 0) atomicAdd(out, __popcll(__ballot(in[threadIdx.x] > 0)));
#else
    if (lane_id() == 0) atomicAdd(out, __popc(__ballot_sync(0xffffffff, in[threadIdx.x] > 0)));
#endif
}
"""
    logical = "__global__ void all(int *out) { out[lane_id()] = __shfl_sync(0xffffffff, out[0], 0); }\n"
    header = "__device__ inline int lane_id() { return threadIdx.x % warpSize; }\n"
    native = port({"lanes.cuh": header, "k.cu": kernel})
    assert b"% warpSize" in native.project.sources[0].text
    both = port({"lanes.cuh": header, "k.cu": kernel + logical})
    assert "warp_size/shared" in rules(both)
    alone = port({"lanes.cuh": header, "k.cu": '#include "lanes.cuh"\n' + logical})
    assert b"% hipport::warp_size" in alone.project.sources[0].text


def test_host_queries_for_pytorchs_warp_size_stay() -> None:
    kernel = """#include <c10/macros/Macros.h>
__global__ void k(float *x) {
    float v = x[threadIdx.x];
    for (int o = C10_WARP_SIZE / 2; o; o /= 2) v += WARP_SHFL_DOWN(v, o);
    x[threadIdx.x] = v;
}
void go(float *x) { k<<<1, dim3(at::cuda::getCurrentDeviceProperties()->warpSize, 4)>>>(x); }
"""
    logical = "__global__ void of_32(float *x) { x[0] = __shfl_sync(0xffffffff, x[1], 0); }\n"
    assert b"()->warpSize" in port({"k.cu": kernel}).project.sources[0].text
    both = port({"k.cu": kernel + logical})
    assert b"()->warpSize" in both.project.sources[0].text
    assert "warp_size/shared" in rules(both)


CMAKE = """project(x LANGUAGES CXX)
option(WITH_HIP "AMD" OFF)
option(WITH_CUDA "NVIDIA" OFF)
set(KERNELS k.cu a.cu b.cu)
if(WITH_CUDA)
  enable_language(CUDA)
  list(APPEND KERNELS conv.cu)
  if(LOADING)
    list(APPEND SOURCES stub.cc)
  endif()
  add_library(x ${KERNELS} ${SOURCES})
elseif(WITH_HIP)
  enable_language(HIP)
  set_source_files_properties(${KERNELS} PROPERTIES LANGUAGE HIP)
  add_compile_definitions(ON_AMD)
  add_library(x ${KERNELS})
endif()
"""
#: A file of a library without a counterpart on HIP's side: it has more such names than all other files.
_CONV = "Create Destroy SetStream GetVersion AddTensor OpTensor Im2Col DropoutForward"
CONV = '#include "vendor.h"\n#include <cudnn.h>\nvoid conv() {\n'
CONV += "".join(f"  cudnn{name}();\n" for name in _CONV.split()) + "}\n"
STUB = "#include <cublas_v2.h>\ncublasStatus_t cublasCreate_v2(cublasHandle_t* h) { return CUBLAS_STATUS_SUCCESS; }\n"
SHARED = """#pragma once
#ifdef PARALLEL
#include <nccl.h>
#endif
__device__ int up(int v) { return __shfl_up_sync(~0u, v, 1); }
"""
VENDOR = "#ifdef ON_AMD\n" + NAMES_OF_HIP.replace("#pragma once\n", "") + "#else\n#include <cuda_runtime.h>\n#endif\n"


def built_for_both() -> dict[str, str]:
    unit = '#include "shared.h"\n' + USING
    return {
        "CMakeLists.txt": CMAKE, "vendor.h": VENDOR, "shared.h": SHARED, "conv.cu": CONV, "stub.cc": STUB,
        **{f"{name}.cu": unit for name in "kab"},
    }  # fmt: skip


def test_what_cmake_compiles_for_cuda_alone_is_of_that_side() -> None:
    """The build decides: the library's stub, which includes nothing of the program, stays CUDA as well."""
    ported = port(built_for_both())
    assert not [path for path in changed(ported) if path != "CMakeLists.txt"]
    assert {str(each.path) for each in ported.reported if each.rule == "backends/alone"} == {"conv.cu", "stub.cc"}
    # A mask of 32 lanes in code that both compile is for a person; no 32-lane code is inserted as SAFE.
    assert ("shared.h", "backends/mask") in {(str(each.path), each.rule) for each in ported.reported}
    # Without a build for HIP in the script, nothing shows that the stub is for CUDA only.
    script = "project(x LANGUAGES CXX CUDA)\nif(WITH_CUDA)\n  list(APPEND SOURCES stub.cc)\nendif()\n"
    assert "stub.cc" in changed(port({**built_for_both(), "CMakeLists.txt": script}))


def test_one_file_with_a_library_that_hip_does_without_does_not_turn_the_others() -> None:
    files = {path: text for path, text in built_for_both().items() if path not in ("CMakeLists.txt", "stub.cc")}
    ported = port(files)
    assert not changed(ported)
    assert {str(each.path) for each in ported.reported if each.rule == "backends/unmapped"} == {"conv.cu"}
    # HIP's names that no file uses are no port.
    fft = '#include "vendor.h"\n#include <cufft.h>\nvoid f(cufftHandle h) { cufftDestroy(h); }\n'
    assert changed(port({"vendor.h": VENDOR, **{f"{name}.cu": fft for name in "kab"}}))


APART = """#if ENABLE_HIP
#include <hip/hip_runtime.h>
__device__ int count(int p) { return __popcll(__ballot(p)); }
#endif
// And NVIDIA's.
#if ENABLE_CUDA
#include <cuda_runtime.h>
__device__ int count(int p) { return __popc(__ballot_sync(0xffffffffu, p)); }
#endif
__global__ void k(int *o) { o[0] = count(o[threadIdx.x]); }
"""


@pytest.mark.parametrize(("hip", "cuda"), [("ENABLE_HIP", "ENABLE_CUDA"), ("FOR_AMD", "FOR_NVIDIA"), ("VENDOR2", "V1")])
@pytest.mark.parametrize("form", ["#if {}", "#ifdef {}", "#if defined({})", "#if defined {} && {}"])
@pytest.mark.parametrize("first", ["hip", "cuda"])
def test_consecutive_conditions_choose(form: str, hip: str, cuda: str, first: str) -> None:
    parts = APART.split("#endif\n")
    text = APART if first == "hip" else "#endif\n".join((parts[1], parts[0], parts[2]))
    for name, own in (("ENABLE_HIP", hip), ("ENABLE_CUDA", cuda)):
        text = text.replace(f"#if {name}", form.format(*[own] * form.count("{}")))
    assert changed(port({"a.cu": text})) == set()
    # A test of it together with HIP's is not left out.
    more = f"#if defined({cuda}) || defined({hip})\nvoid f(int *);\n#endif\n#if {hip}\n#elif {cuda}\n#endif\n"
    assert changed(port({"a.cu": text + more})) == set()
    # Scripts that define both decide nothing.
    both = f"add_definitions(-D{hip})\nadd_definitions(-D{cuda})\n"
    assert "a.cu" not in changed(port({"a.cu": text, "CMakeLists.txt": both}))


@pytest.mark.parametrize(
    "files",
    [
        # Nothing builds HIP's side.
        {"a.cu": APART, "CMakeLists.txt": "add_definitions(-DENABLE_CUDA)\n"},
        # CUDA's side elsewhere has no HIP beside it.
        {"a.cu": APART, "b.cu": '#include "a.cu"\n#if ENABLE_CUDA\nvoid f(int **x) { cudaMalloc(x, 4); }\n#endif\n'},
        # Nor if its code has no CUDA name, or a replacement for its absence.
        {"a.cu": APART, "b.cu": '#include "a.cu"\n#if ENABLE_CUDA\nvoid f(int *x) { k<<<1, 1>>>(x); }\n#endif\n'},
        {"a.cu": APART, "b.cu": '#include "a.cu"\n#if ENABLE_CUDA\nvoid f();\n#else\nvoid f() {}\n#endif\n'},
        {"a.cu": APART, "b.cu": '#include "a.cu"\n#if ENABLE_CUDA && FAST\nvoid f();\n#endif\n'},
        {"a.cu": APART, "b.cu": '#include "a.cu"\n#ifndef ENABLE_CUDA\nvoid f() {}\n#endif\n'},
        # There is code between the two, or code of both under one.
        {"a.cu": APART.replace("// And", "int code; // And")},
        {"a.cu": APART.replace("#if ENABLE_HIP\n", "#if ENABLE_HIP\n#include <cuda.h>\n")},
        {"a.cu": APART.replace("#if ENABLE_CUDA", "#if !ENABLE_CUDA")},
        {"a.cu": APART.replace("#if ENABLE_CUDA", "#if ENABLE_CUDA || OTHER")},
    ],
)
def test_conditions_that_cover_nothing_are_ported(files: dict[str, str]) -> None:
    assert "a.cu" in changed(port(files))
