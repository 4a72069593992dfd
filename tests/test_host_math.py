# SPDX-License-Identifier: Apache-2.0
"""Ported host code computes max and min with nvcc's results."""

import math
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import compiled
import hipport
from hipport.toolchain.toolchains import find

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
def test_results_are_those_of_nvcc(flags: tuple[str, ...], tmp_path: Path) -> None:
    """The compiler computes the result: main returns 0."""
    toolchains = find(os.environ, Path(sys.executable))
    if not toolchains:
        pytest.skip("NOT CHECKED with a real compiler: no hipcc (hipport toolchain install)")
    for name, text in ((s.path.name, s.text) for s in hipport.rewrite({"main.cu": PROGRAM}).project.sources):
        (tmp_path / name).write_bytes(text)
    (tmp_path / "hipport").mkdir()
    header = Path(hipport.__file__).parent / "include/hipport/host_math.h"
    (tmp_path / "hipport/host_math.h").write_bytes(header.read_bytes())
    for toolchain in toolchains:
        if "-std=c++20" in flags and toolchain.hip < (6, 4):
            continue  # Only newer compilers have the macro.
        command = [toolchain.hipcc, "-w", "-O2", *flags, "-x", "hip", "--cuda-host-only", "-S", "-emit-llvm"]
        command += [f"--offload-arch={max(toolchain.archs)}", "main.cu", "-o", "main.ll"]
        done = compiled.run(command, cwd=tmp_path, env=toolchain.environment(os.environ))
        assert done.returncode == 0, done.stderr
        function = (tmp_path / "main.ll").read_text().partition("@main(")[2].partition("\n}")[0]
        assert "ret i32 0" in function, (toolchain.hip, function)


VALUES = r"""
#include <cstdio>
#include <initializer_list>
#include "hipport/host_math.h"
int main() {
  for (double y : {-0.999999, -0.5, -1e-9, 1e-300, 0.1, 0.4999, 0.51, 0.9, 1 - 1e-15})
    printf("erfinv %.17g %.17g\n", y, erfinv(y));
  for (double y : {1e-300, 1e-100, 1e-10, 1e-3, 0.5, 1.0, 1.5, 1.999}) printf("erfcinv %.17g %.17g\n", y, erfcinv(y));
  for (double p : {1e-200, 1e-5, 0.02425, 0.3, 0.5, 0.7, 0.999}) printf("normcdfinv %.17g %.17g\n", p, normcdfinv(p));
  for (double x : {-6.0, -3.0, -0.5, 0.0, 0.25, 1.0, 6.0}) printf("normcdf %.17g %.17g\n", x, normcdf(x));
  for (double x : {-3.0, 0.0, 0.5, 2.9, 3.1, 9.0, 30.0, 1e5, 1e200}) printf("erfcx %.17g %.17g\n", x, erfcx(x));
  for (double x : {0.001, 8.0, 1e9}) printf("rcbrt %.17g %.17g\n", x, rcbrt(x));
  for (double x : {0.0, 1e-9, 0.125, 1 / 3., 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, -0.3, -1.75, 12345.625, 1e300}) {
    double s, c;
    sincospi(x, &s, &c);
    printf("sinpi %.17g %.17g\ncospi %.17g %.17g\n", x, s, x, c);
  }
  const float x = 0.75f;
  printf("erfinv %.17g %.17g\n", 0.0, erfinv(0.0));
  if (erfinvf(x) != static_cast<float>(erfinv(0.75)) || sizeof(erfinv(x)) != sizeof(float)) return 1;
  return erfcinv(0.0) < 1e300 ? 2 : erfinv(2.0) == erfinv(2.0) ? 3 : 0;
}
"""


def test_functions_of_the_host(tmp_path: Path) -> None:
    """Inverses are checked through C's functions; the others are computed here in another way."""
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport's functions for the host were not computed")
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip/hip_runtime.h").write_text("#include <cmath>\n#define __host__\n")
    (tmp_path / "values.cpp").write_text(VALUES)
    include = Path(hipport.__file__).parent / "include"
    command = ["g++", "-std=c++14", "-D__HIP__", "-I.", f"-I{include}", "values.cpp", "-o", "values"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "values"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    for name, *numbers in (line.split() for line in done.stdout.splitlines()):
        x, result = map(float, numbers)
        assert _off(name, x, result) <= 2e-14, (name, x, result)


def _off(name: str, x: float, result: float) -> float:
    """Return the relative error of the result."""
    if name in ("erfinv", "erfcinv"):
        back = math.erf(result) if name == "erfinv" else math.erfc(result)
        # The error of the inverse is the error of the function's value, divided by the slope there.
        return abs(back - x) * math.sqrt(math.pi) / 2 * math.exp(min(result * result, 700)) / max(abs(result), 1e-300)
    if name == "normcdfinv":
        return _off("erfcinv", 2 * x, -result / math.sqrt(2))
    if name in ("sinpi", "cospi"):
        quarter = Fraction(x) * 2 % 4
        turn, rest = int(quarter), float(quarter % 1) * math.pi / 2
        sine, cosine = (math.sin(rest), math.cos(rest)) if rest else (0.0, 1.0)
        exact = [sine, cosine, -sine, -cosine, sine][turn + (name == "cospi")]
        return abs(result - exact)
    if name == "erfcx":
        if x < 2:
            exact = math.exp(x * x) * math.erfc(x)
        else:
            fraction = x
            for k in range(400, 0, -1):
                fraction = x + k / 2 / fraction
            exact = 1 / math.sqrt(math.pi) / fraction
    else:
        exact = {"rcbrt": x ** (-1 / 3), "normcdf": math.erfc(-x / math.sqrt(2)) / 2}[name] if x else 0.5
    return abs(result / exact - 1)
