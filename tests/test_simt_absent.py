# SPDX-License-Identifier: Apache-2.0
"""Functions that the executor lacks are named if a program does not compile for it."""

import os
from pathlib import Path

import pytest

from hipport.executor import compile as compiling
from hipport.executor import messages
from hipport.executor.missing_names import absent

PROGRAMS = {
    "the generator MTGP32": (
        "#include <curand_kernel.h>\n#include <curand_mtgp32_host.h>\n"
        "int main() { return curandMakeMTGP32Constants(nullptr, nullptr); }\n",
        "curandMakeMTGP32Constants",
    ),
    "code that is linked at run time": (
        "#include <cuda.h>\nint main() { CUlinkState state; return cuLinkCreate(0, nullptr, nullptr, &state); }\n",
        "cuLinkCreate",
    ),
    "transforms over several GPUs": (
        "#include <cufftXt.h>\nint main() { int gpu[1]; return cufftXtSetGPUs(0, 1, gpu); }\n",
        "cufftXtSetGPUs",
    ),
    "incomplete factorizations": (
        "#include <cusparse.h>\nint main() { csrilu02Info_t info; return cusparseCreateCsrilu02Info(&info); }\n",
        "cusparseCreateCsrilu02Info",
    ),
    "matrix instructions": ("#include <mma.h>\nint main() {}\n", "mma.h"),
    "cub::DeviceMerge": (
        "#include <cub/cub.cuh>\nint main() { size_t n; int* k = 0; "
        "return cub::DeviceMerge::MergeKeys(nullptr, n, k, 1, k, 1, k); }\n",
        "cub::DeviceMerge",
    ),
    "cub::BlockRadixRank": (
        "#include <cub/cub.cuh>\ntypedef cub::BlockRadixRank<128, 4, false> Rank;\nint main() {}\n",
        "cub::BlockRadixRank",
    ),
    "cub/device/device_transform.cuh": (
        "#include <cub/device/device_transform.cuh>\nint main() {}\n",
        "cub/device/device_transform.cuh",
    ),
    "interoperation with graphics": ("#include <cuda_gl_interop.h>\nint main() {}\n", "cuda_gl_interop.h"),
}


@pytest.mark.parametrize("area", PROGRAMS)
def test_names_that_the_executor_lacks_are_reported(area: str, tmp_path: Path) -> None:
    text, name = PROGRAMS[area]
    (tmp_path / "main.cu").write_text(text)
    with pytest.raises(messages.NotCompiled) as problem:
        compiling.program([tmp_path / "main.cu"], "cuda", compiling.CompileOptions({**os.environ}))
    assert "the CPU executor does not have" in str(problem.value)
    assert name in problem.value.absent and area in problem.value.absent


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("'cudaFoo' was not declared in this scope; did you mean 'cudaFree'?", ["cudaFoo"]),
        ("use of undeclared identifier 'cufftXtFree'", ["cufftXtFree"]),
        ("no member named 'nvrtcProgram' in the global namespace", ["nvrtcProgram"]),
        ("'nccl.h' file not found", ["nccl.h"]),
        ("no member named 'DeviceTransform' in namespace 'cub'; did you mean 'DeviceFor'?", ["cub::DeviceTransform"]),
        ("'DeviceTopK' is not a member of 'cub'", ["cub::DeviceTopK"]),
        ("cuda/ptx: No such file or directory", ["cuda/ptx"]),
        # A program's own.
        ("'customers' was not declared in this scope", []),
        ("'Cube' does not name a type", []),
        ("mine.h: No such file or directory", []),
        ("no member named 'Merge' in namespace 'mine'", []),
        ("'Merge' is not a member of 'mine'", []),
        ("expected ';' before 'cudaStream_t'", []),
    ],
)
def test_only_vendors_names_are_reported(said: str, names: list[str]) -> None:
    sentence = absent([said])
    assert all(name in sentence for name in names) and bool(sentence) == bool(names)
