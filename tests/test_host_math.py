# SPDX-License-Identifier: Apache-2.0
"""What host code computes with max and min once it is ported: what nvcc makes of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hipport
from hipport.toolchain import find

PROGRAM = b"""#include <cuda_runtime.h>
#ifdef NAMESPACE
using namespace std;
#endif
// Not for the device alone, where HIP has its own.
template <typename T> __host__ __device__ T largest(T a, T b) { return max(a, b); }
extern "C" int differences(float half, unsigned many, long long far) {
    return (max(half, 0.25f) != 0.5f) + (min(half, 0.75) != 0.5) * 2 + (max(many, 1u) != 3000000000u) * 4 +
           (min(far, 6000000000ll) != 5000000000ll) * 8 + (largest(half, 0.25f) != 0.5f) * 16 +
           (max(-1, 1u) != 4294967295u) * 32 + (max(2, 3) != 3) * 64;
}
int main() { return differences(0.5f, 3000000000u, 5000000000ll); }
"""


@pytest.mark.parametrize("flags", [(), ("-DNAMESPACE",), ("-std=c++20", "-D__HIP_DEFINE_EXTENDED_HOST_MIN_MAX__=1")])
def test_numbers_stay_what_they_are(flags: tuple[str, ...], tmp_path: Path) -> None:
    """The compiler works the result out: main is to return 0."""
    toolchains = find(os.environ, Path(sys.executable))
    if not toolchains:
        pytest.skip("NOT CHECKED with a real compiler: no hipcc (tools/install_toolchain.py)")
    for name, text in ((s.path.name, s.text) for s in hipport.rewrite({"main.cu": PROGRAM}).project.sources):
        (tmp_path / name).write_bytes(text)
    (tmp_path / "hipport").mkdir()
    header = Path(hipport.__file__).parent / "include/hipport/host_math.h"
    (tmp_path / "hipport/host_math.h").write_bytes(header.read_bytes())
    for toolchain in toolchains:
        if "-std=c++20" in flags and toolchain.hip < (6, 4):
            continue  # The macro is of newer compilers.
        command = [toolchain.hipcc, "-w", "-O2", *flags, "-x", "hip", "--cuda-host-only", "-S", "-emit-llvm"]
        command += [f"--offload-arch={max(toolchain.archs)}", "main.cu", "-o", "main.ll"]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, env=toolchain.environment(os.environ)
        )
        assert done.returncode == 0, done.stderr
        function = (tmp_path / "main.ll").read_text().partition("@main(")[2].partition("\n}")[0]
        assert "ret i32 0" in function, (toolchain.hip, function)
