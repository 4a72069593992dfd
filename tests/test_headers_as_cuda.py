# SPDX-License-Identifier: Apache-2.0
"""C++ that nvcc compiles as CUDA gets the runtime header, and hipport's own headers work with any macros."""

import shutil
import subprocess
from pathlib import Path

import pytest

import hipport

UNIT = b"""#include "device.h"

#ifdef __CUDACC__
__global__ void kernel(float *x) { x[threadIdx.x] = 0; }
#endif
"""
HEADER = b"#pragma once\ninline int twice(int x) { return 2 * x; }\n"
HEADERS = Path(hipport.__file__).parent / "include" / "hipport"


def _ported(makefile: bytes) -> bytes:
    sources = {"Makefile": makefile, "main.cpp": UNIT, "device.h": HEADER}
    ported = hipport.rewrite(sources)
    return next(each.text for each in ported.project.sources if each.path.name == "main.cpp")


def test_a_unit_that_nvcc_takes_for_cuda() -> None:
    text = _ported(b"main: main.cpp\n\tnvcc -x cu -o main main.cpp\n")
    assert text.startswith(b'#ifdef __HIPCC__\n#include <hip/hip_runtime.h> /* hipport */\n#endif\n#include "device.h"')


def test_a_unit_of_the_host() -> None:
    assert b"hip_runtime" not in _ported(b"main: main.cpp kernel.o\n\tg++ -o main main.cpp kernel.o\n")


@pytest.mark.parametrize("header", ["simd.h", "ptx.h"])
def test_macros_by_the_names_of_types(header: str, tmp_path: Path) -> None:
    """`-Df64` and `#define u32 unsigned` are a program's own, before and after them."""
    compiler = shutil.which("g++") or pytest.skip("no g++")
    file = tmp_path / "main.cpp"
    file.write_text(f'#define u32 unsigned\n#include "{HEADERS / header}"\nu32 x = f64 + s32(1);\n')
    options = ["-fsyntax-only", "-std=c++17", "-Df64=1", "-Ds32(x)=x"]
    subprocess.run([compiler, *options, file], check=True)


def test_a_second_run_finds_the_runtime_behind_headers_of_ours() -> None:
    """`helper_cuda.h` comes first, and a header of the program after it includes the runtime."""
    sources = {
        "main.cu": b'#include <helper_cuda.h>\n#include "kernels.h"\n\nint main() { checkCudaErrors(cudaFree(0)); }\n',
        "kernels.h": b"#pragma once\n#include <cuda.h>\n__global__ inline void kernel(int *x) { *x = 1; }\n",
    }
    first = {str(each.path): each.text for each in hipport.rewrite(sources).project.sources}
    assert b'#include "hipport/samples.h"\n#include "kernels.h"' in first["main.cu"]
    first["hipport/samples.h"] = (HEADERS / "samples.h").read_bytes()
    again = {str(each.path): each.text for each in hipport.rewrite(first).project.sources}
    assert again == first


def test_a_programs_own_checks_stay(tmp_path: Path) -> None:
    """It includes a header of NVIDIA's samples, has checks of its own, and includes another header."""
    compiler = shutil.which("g++") or pytest.skip("no g++")
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip/hip_runtime_api.h").write_text("")
    own = "#define checkCudaErrors(call) own(call)\n#define getLastCudaError(message) own(message)\n"
    uses = "int a = checkCudaErrors(1), b = getLastCudaError(2);\nint c = printLastCudaError(3);\n"
    (tmp_path / "main.cpp").write_text(f'{own}#include "{HEADERS / "samples.h"}"\n{uses}')
    command = [compiler, "-E", "-Werror", f"-I{tmp_path}", tmp_path / "main.cpp"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "int a = own(1), b = own(2);" in done.stdout and "int c = hipport::samples::check_last(3," in done.stdout
