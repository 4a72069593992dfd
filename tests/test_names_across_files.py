# SPDX-License-Identifier: Apache-2.0
"""Cases of the passes for names and headers that fixtures, with one file and one target, cannot show."""

from pathlib import PurePosixPath

import pytest

import hipport
from hipport.core.finding import Certainty
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport_passes.device import arch_guards
from hipport_passes.names import api_names, headers, namespaces


def port(files: dict[str, str], **target: tuple[int, int]) -> Ported:
    sources = []
    for name, content in files.items():
        path = PurePosixPath(name)
        sources.append((Cuda if path.suffix in (".cu", ".cuh") else Cpp)(path, content.encode()))
    passes = (api_names.PASS, namespaces.PASS, headers.PASS, arch_guards.PASS)
    return run(Project(tuple(sources), Target(**target)), passes)


def text(ported: Ported, path: str) -> str:
    return ported.project.by_path[PurePosixPath(path)].text.decode()


def test_a_declaration_holds_for_the_files_that_include_it() -> None:
    use = "cuComplex z; cub::Sum s;\n"
    ported = port(
        {
            "lib/own.h": "struct cuComplex { float r, i; };\nnamespace cub { struct Sum {}; }\n",
            "lib/a.cu": '#include "own.h"\n' + use,
            "other/b.cu": "#include <cuComplex.h>\n#include <cub/cub.cuh>\n" + use,
        }
    )
    assert use in text(ported, "lib/a.cu")
    assert "hipComplex z; hipcub::Sum s;" in text(ported, "other/b.cu")


@pytest.mark.parametrize(("choice", "other"), [("#ifdef __CUDACC__", "#else"), ("#ifndef NO_MOCKS", "#else")])
def test_mocks_for_where_there_is_no_cuda_go_by_the_new_names(choice: str, other: str) -> None:
    """A file that is included elsewhere, or under any other condition, declares the program's own names."""
    mocked = choice == "#ifdef __CUDACC__"
    files = {
        "mocks.h": '#include "more.h"\n#define cudaFree(p) free(p)\ninline int cudaDeviceSynchronize() { return 0; }\n',
        "more.h": "#define cudaMalloc(p, n) (*(p) = malloc(n))\n",
        "always.h": "inline void cudaProfilerStart() {}\n",
        "times.h": "inline void cudaEventCreate() {}\n",
        "a.cu": f"""#include "always.h"
{choice}
#include <cuda_runtime.h>
{other}
#include "mocks.h"
#endif
#ifdef WITH_TIMES
#include "times.h"
#endif
void f(void *p) {{ cudaFree(p); cudaMalloc(&p, 4); cudaDeviceSynchronize(); cudaProfilerStart(); cudaEventCreate(); }}
""",
    }
    ported = port(files)
    old, new = ("cudaFree(p); cudaMalloc(&p, 4); cudaDeviceSynchronize();", "cudaProfilerStart(); cudaEventCreate();")
    assert (old.replace("cuda", "hip") if mocked else old) + " " + new in text(ported, "a.cu")
    assert ("hipFree(p)" in text(ported, "mocks.h")) == mocked == ("hipMalloc" in text(ported, "more.h"))
    assert "cudaProfilerStart" in text(ported, "always.h")
    assert "cudaEventCreate" in text(ported, "times.h")
    assert not any(each.edits for each in port({path: text(ported, path) for path in files}).reported)


def test_a_local_name_holds_for_its_function() -> None:
    files = {
        "a.h": "int f(int cudaSuccess) { return cudaSuccess; }\n",
        "b.cpp": '#include "a.h"\nint g = cudaSuccess;\n',
    }
    assert "return cudaSuccess;" in text(port(files), "a.h")
    assert "int g = hipSuccess;" in text(port(files), "b.cpp")


@pytest.mark.parametrize(("rocm", "hip"), [((7, 0), "hipLaunchKernelEx(&c)"), ((6, 4), "cudaLaunchKernelEx(&c)")])
def test_names_of_later_releases(rocm: tuple[int, int], hip: str) -> None:
    ported = port({"a.cpp": "int e = cudaLaunchKernelEx(&c);\n"}, rocm=rocm)
    assert hip in text(ported, "a.cpp")
    assert [r.certainty for r in ported.reported] == [Certainty.SAFE if rocm == (7, 0) else Certainty.MANUAL]


def test_headers_of_later_releases() -> None:
    files = {"a.h": "#include <cuda_bf16.h>\n"}
    assert text(port(files, rocm=(5, 7)), "a.h") == "#include <hip/hip_bf16.h> /* hipport */\n"
    ported = port(files, rocm=(5, 6))
    assert text(ported, "a.h") == files["a.h"]
    assert "--rocm 5.7" in ported.reported[0].message


@pytest.mark.parametrize(
    ("own", "left"),
    [("src/cuda_runtime.h", True), ("include/cuda_runtime.h", True), ("far/away/cuda_runtime.h", False)],
)
def test_a_header_of_the_program_is_not_cudas(own: str, left: bool) -> None:
    include = '#include "cuda_runtime.h"\n'
    ported = port({own: "#pragma once\n", "src/a.cpp": include + "#include <cuda_runtime.h>\n"})
    assert text(ported, "src/a.cpp") == (include if left else "") + "#include <hip/hip_runtime.h> /* hipport */\n"


def test_the_runtime_is_included_where_a_header_of_the_program_needs_it_first() -> None:
    kernel = "__global__ void k(float4 v);\n"
    files = {"a.cu": '#include "k.cuh"\n#include <cuda_runtime.h>\n', "k.cuh": kernel}
    assert text(port(files), "a.cu") == '#include <hip/hip_runtime.h> /* hipport */\n#include "k.cuh"\n'
    files = {"a.cu": '#include "k.cuh"\nint x;\n', "k.cuh": "#include <cuda_runtime.h>\n" + kernel}
    assert text(port(files), "a.cu") == files["a.cu"]


def test_a_part_of_a_program_is_not_given_the_runtime() -> None:
    kernel = "__global__ void k(float* p) { p[threadIdx.x] = 0; }\n"
    ported = port({"main.cu": '#include <cuda.h>\n#include "kernels.cu"\n', "kernels.cu": kernel})
    assert text(ported, "kernels.cu") == kernel


@pytest.mark.parametrize(("call", "macro"), [("cublasCgemm", "#define HIPBLAS_V2 1\n"), ("cublasSgemm", "")])
def test_hipblas_is_steered_by_what_any_file_of_the_program_uses(call: str, macro: str) -> None:
    ported = port({"b.h": "#include <cublas_v2.h>\n", "a.cpp": f'#include "b.h"\nint f() {{ return {call}(h); }}\n'})
    assert text(ported, "b.h") == macro + "#include <hipblas/hipblas.h> /* hipport */\n"


@pytest.mark.parametrize("used", [True, False])
def test_cooperative_groups_are_used_by_a_file_that_includes_the_header(used: bool) -> None:
    header = "#include <cooperative_groups/scan.h>\nnamespace cg = cooperative_groups;\n"
    call = f"__device__ int f() {{ return {'cg' if used else 'mine'}::inclusive_scan(t, 1); }}\n"
    ported = port({"g.h": header, "a.cu": '#include "g.h"\n' + call})
    assert ("<cooperative_groups/scan.h>" in text(ported, "g.h")) is used
    assert any("uses its inclusive_scan" in r.message for r in ported.reported) is used


def test_hipports_own_headers_lead_no_kernel_to_a_barrier_with_a_number() -> None:
    """They are sources only when ported code is read again; a function of theirs has a common name."""
    text = b"""#include <cuda_fp16.h>
struct Shared {
  __device__ void update(int n) { asm volatile("bar.sync %0, %1;" ::"r"(1), "r"(n) : "memory"); }
};
__global__ void meets(int* out) { Shared().update(64); out[threadIdx.x] = 1; }
__global__ void adds(__half2* out) { atomicAdd(out, __float2half2_rn(1.0f)); }
"""
    once = hipport.rewrite({"a.cu": text})
    written = {str(each.path): each.text for each in (*once.project.sources, *once.created)}
    assert written["a.cu"].count(b"begin_numbered_barriers") == 1
    again = hipport.rewrite(written)
    assert {str(each.path): each.text for each in again.project.sources} == written
