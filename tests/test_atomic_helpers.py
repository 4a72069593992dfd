# SPDX-License-Identifier: Apache-2.0
"""hipport/atomics.h on threads of a CPU: neighbours in one word are not disturbed, and no update is lost."""

import shutil
import subprocess
from pathlib import Path

import pytest

from endless import ENDLESS

INCLUDE = Path(__file__).parent.parent / "src/hipport/include"

# The header's uses of HIP. A __half is a 16-bit number here: only its place is tested.
RUNTIME = r"""
#include <cstring>
#define __device__
#define __forceinline__ inline
#define HIP_VERSION 50200000
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#define __hip_atomic_load(p, order, scope) __atomic_load_n(p, order)
#define __hip_atomic_compare_exchange_strong(p, e, d, o, f, scope) __atomic_compare_exchange_n(p, e, d, false, o, f)
#define __hip_atomic_fetch_add(p, v, order, scope) __atomic_fetch_add(p, v, order)
#define __hip_atomic_fetch_and(p, v, order, scope) __atomic_fetch_and(p, v, order)
#define __hip_atomic_fetch_or(p, v, order, scope) __atomic_fetch_or(p, v, order)
#define __hip_atomic_fetch_xor(p, v, order, scope) __atomic_fetch_xor(p, v, order)
#define __hip_atomic_exchange(p, v, order, scope) __atomic_exchange_n(p, v, order)
#define __hip_atomic_fetch_min(p, v, order, scope) *p
#define __hip_atomic_fetch_max(p, v, order, scope) *p
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float atomicAdd(float* p, float v) { float old = *p; *p += v; return old; }
"""
HALF = r"""
struct __half { unsigned short bits; };
struct __half2 { __half x, y; };
inline __half __hadd(__half a, __half b) { return {static_cast<unsigned short>(a.bits + b.bits)}; }
inline __half2 __hadd2(__half2 a, __half2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
"""
PROGRAM = r"""
#include "hipport/atomics.h"
#include <cstdio>
#include <thread>
#include <vector>

constexpr unsigned turns = 20000;
alignas(4) __half halves[5] = {};
__half2 pair = {};
unsigned ring = 0, down = 2, inner[2] = {};
unsigned short locks[3] = {7, 0, 9};

void work(unsigned short number) {
  for (unsigned i = 0; i < turns; ++i) {
    atomicAdd(&halves[1 + number % 3], {1});
    atomicAdd(&pair, {{1}, {2}});
    hipport::atomicInc_block(&ring, 6);
    hipport::atomicDec_system(&down, 4);
    hipport::atomicAdd_block(&inner[0], 3);
    hipport::atomicSub_block(&inner[1], 1);
    // A lock of 16 bits between two others: only its holder counts.
    while (atomicCAS(&locks[1], 0, number) != 0) std::this_thread::yield();
    if (locks[1] != number) std::printf("broken ");
    hipport::atomicCAS_block(&locks[1], number, 0);
  }
}

int main() {
  std::vector<std::thread> threads;
  for (unsigned short number = 1; number <= 3; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
  for (const __half& half : halves) std::printf("%u ", half.bits);
  std::printf("%u %u %u %u %u %u ", pair.x.bits, pair.y.bits, ring, down, inner[0], inner[1]);
  std::printf("%u %u %u", locks[0], locks[1], locks[2]);
}
"""


def test_no_update_is_lost(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport/atomics.h was not run on a CPU")
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip" / "hip_runtime.h").write_text(RUNTIME)
    (tmp_path / "hip" / "hip_fp16.h").write_text(HALF)
    (tmp_path / "program.cpp").write_text(PROGRAM)
    command = ["g++", "-std=c++14", "-O1", "-w", "-pthread", "-D__HIP__", "-I.", f"-I{INCLUDE}", "program.cpp"]
    built = subprocess.run([*command, "-o", "program"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    ran = subprocess.run([str(tmp_path / "program")], capture_output=True, text=True, check=True, timeout=ENDLESS)
    turns = 20000
    ring = 3 * turns % 7
    down = (2 - 3 * turns) % 5
    assert ran.stdout.split() == [
        *map(str, (0, turns, turns, turns, 0)),
        *map(str, (3 * turns % 65536, 6 * turns % 65536, ring, down, 9 * turns, 2**32 - 3 * turns)),
        *("7", "0", "9"),
    ]
