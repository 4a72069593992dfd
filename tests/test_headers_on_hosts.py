# SPDX-License-Identifier: Apache-2.0
"""Host compilers read hipport's headers in files shared by host and GPU code, and see no device code."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import hipport

INCLUDE = Path(hipport.__file__).parent / "include"
HEADERS = sorted(path.name for path in (INCLUDE / "hipport").glob("*.h") if not path.name.startswith("ptx_"))
# HIP as a host compiler sees it, as far as the headers use it.
HIP = "#pragma once\nenum hipError_t { hipSuccess };\nenum { hipDeviceAttributeWarpSize };\n" + (
    "enum { hipDeviceAttributeMultiprocessorCount, hipDeviceAttributeClockRate };\n"
    "inline const char* hipGetErrorName(hipError_t) { return nullptr; }\n"
    "inline hipError_t hipGetLastError() { return hipSuccess; }\n"
    "inline hipError_t hipGetDeviceCount(int* count) { return *count = 1, hipSuccess; }\n"
    "inline hipError_t hipSetDevice(int) { return hipSuccess; }\n"
    "inline hipError_t hipDeviceGetAttribute(int* value, int, int) { return *value = 64, hipSuccess; }\n"
    "#include <cstddef>\nusing std::size_t;\nusing hipStream_t = void*;\nconstexpr int hipCpuDeviceId = -1;\n"
    "enum hipMemLocationType { hipMemLocationTypeInvalid, hipMemLocationTypeDevice };\nenum hipMemoryAdvise {};\n"
    "struct hipMemLocation { hipMemLocationType type; int id; };\n"
    "inline hipError_t hipMemPrefetchAsync(const void*, size_t, int, hipStream_t) { return hipSuccess; }\n"
    "inline hipError_t hipMemAdvise(const void*, size_t, hipMemoryAdvise, int) { return hipSuccess; }\n"
)


@pytest.mark.parametrize("macros", [[], ["-D__HIP_PLATFORM_AMD__=1", "-DUSE_ROCM=1"]], ids=["plain", "pytorch"])
def test_host_compilers(tmp_path: Path, macros: list[str]) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport's headers were not read by a host compiler")
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip" / "hip_runtime_api.h").write_text(HIP)
    program = "".join(f'#include "hipport/{name}"\n' for name in HEADERS)
    program += "int main() { return hipport::warp_size - 32 + hipport::native::max_lanes - 64; }\n"
    (tmp_path / "program.cpp").write_text(program)
    flags = ["-std=c++14", "-Wall", "-Werror", *macros, "-I.", f"-I{INCLUDE}"]
    done = subprocess.run(
        ["g++", *flags, "program.cpp", "-o", "program"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "program"], check=False).returncode == 0


def test_shifts_by_all_bits(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport's shifts were not computed")
    to_the_left = "1u, 32, 0 | 1u, 31, 0x80000000u | -1, 32, 0 | 3u, -1, 0 | 1ull, 63, 1ull << 63 | 1ull, 64, 0"
    to_the_right = "~0u, 32, 0 | ~0u, 31, 1 | -8, 32, -1 | 8, 40, 0 | ~0ull, 64, 0 | ~0ull, 63, 1 | -8ll, 64, -1"
    lines = []
    for name, cases in (("shl", to_the_left), ("shr", to_the_right)):
        for x, bits, result in (case.split(", ") for case in cases.split(" | ")):
            lines.append(f'static_assert(hipport::{name}({x}, {bits}) == {result}, "");')
    (tmp_path / "shifts.cpp").write_text("\n".join(['#include "hipport/shift.h"', *lines, ""]))
    flags = ["-std=c++14", "-Wall", "-Werror", f"-I{INCLUDE}", "-fsyntax-only"]
    done = subprocess.run(["g++", *flags, "shifts.cpp"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_parts_that_are_rounded_up(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport's ceil_div was not computed")
    cases = (
        "0, 4, 0 | 1, 4, 1 | 8, 4, 2 | 9, 4, 3 | 2147483647, 2, 1073741824 | 4294967295u, 2u, 2147483648u | 9l, 4, 3"
    )
    lines = [
        f'static_assert(hipport::ceil_div({a}, {b}) == {result}, "");'
        for a, b, result in (case.split(", ") for case in cases.split(" | "))
    ]
    lines.append('static_assert(std::is_same<decltype(hipport::ceil_div<long>(9, 4)), long>::value, "");')
    (tmp_path / "parts.cpp").write_text("\n".join(['#include "hipport/ceil_div.h"', *lines, ""]))
    flags = ["-std=c++14", "-Wall", "-Werror", f"-I{INCLUDE}", "-fsyntax-only"]
    done = subprocess.run(["g++", *flags, "parts.cpp"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
