# SPDX-License-Identifier: Apache-2.0
"""hipport/half.h, computed by hipcc: for constants it gives constants, which must be those that CUDA specifies."""

import itertools
import math
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import compiled
import hipport
from hipport.toolchain.toolchains import find

pytestmark = pytest.mark.toolchain

# Zeros, ones, subnormal and largest numbers, infinities, NaNs, and some others.
BITS = [0x0000, 0x8000, 0x3C00, 0xBC00, 0x0001, 0x83FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E01, 0x2E66, 0xD800, 0x5BF9]
NAN = 0x7FFF
BFLOAT16 = [0x0000, 0x8000, 0x3F80, 0xBF80, 0x0001, 0x807F, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC1, 0xFFC0, 0x4049]
PAIRS = list(itertools.product(BITS, BITS))


def number(bits: int) -> float:
    return float(struct.unpack("<e", struct.pack("<H", bits))[0])


def bfloat16(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])


def bits(value: float) -> int:
    """Return the half nearest to `value`."""
    try:
        return int(struct.unpack("<H", struct.pack("<e", value))[0])
    except OverflowError:
        return 0xFC00 if value < 0 else 0x7C00


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x < y or x > y,
    "le": lambda x, y: x <= y,
    "ge": lambda x, y: x >= y,
    "lt": lambda x, y: x < y,
    "gt": lambda x, y: x > y,
}


def extreme(a: int, b: int, greatest: bool, keeps_nan: bool, of: Callable[[int], float] = number) -> int:
    x, y = of(a), of(b)
    if math.isnan(x) or math.isnan(y):
        if keeps_nan or (math.isnan(x) and math.isnan(y)):
            return NAN
        return b if math.isnan(x) else a
    key = (x, math.copysign(1, x)) > (y, math.copysign(1, y))
    return a if key == greatest else b


def cases() -> Iterator[tuple[str, int | None]]:
    """Yield expressions of bits, and their right values; None for any NaN of half."""
    for a, b in PAIRS:
        x, y = number(a), number(b)
        unordered = math.isnan(x) or math.isnan(y)
        for name, holds in COMPARISONS.items():
            low, high = holds(x, y), holds(y, x)
            yield f"h{name}2_mask(H2({a}, {b}), H2({b}, {a}))", low * 0xFFFF | high * 0xFFFF0000
            low, high = low or unordered, high or unordered
            yield f"h{name}u2_mask(H2({a}, {b}), H2({b}, {a}))", low * 0xFFFF | high * 0xFFFF0000
        for name, greatest in (("max", True), ("min", False)):
            for suffix, keeps_nan in (("", False), ("_nan", True)):
                expected = extreme(a, b, greatest, keeps_nan)
                yield f"B(h{name}{suffix}(H({a}), H({b})))", expected
                yield f"B(h{name}{suffix}(W({a}), W({b})))", expected
                yield f"B2(h{name}2{suffix}(H2({a}, {b}), H2({b}, {a})))", expected | expected << 16 if a != b else None
        for name, value in (("add", x + y), ("sub", x - y), ("mul", x * y)):
            yield f"B(h{name}_rn(H({a}), H({b})))", None if math.isnan(value) else bits(value)
        fused = x * y + number(0xC000)
        expected = NAN if math.isnan(fused) else max(bits(fused), 0) if fused > 0 else 0
        if abs(fused) < 65504:  # A double holds the intermediate sum exactly, or nearly so.
            yield f"B(hfma_relu(H({a}), H({b}), H(0xC000)))", expected
    for a, b in itertools.product(BFLOAT16, BFLOAT16):
        for name, greatest in (("max", True), ("min", False)):
            for suffix, keeps_nan in (("", False), ("_nan", True)):
                expected = extreme(a, b, greatest, keeps_nan, bfloat16)
                yield f"Z(h{name}{suffix}(Y({a}), Y({b})))", expected
                if a != b:
                    both = expected | expected << 16
                    yield f"Z2(h{name}2{suffix}(Y2({a}, {b}), Y2({b}, {a})))", both
        x, y = bfloat16(a), bfloat16(b)
        unordered = math.isnan(x) or math.isnan(y)
        for name, holds in COMPARISONS.items():
            low, high = holds(x, y) or unordered, holds(y, x) or unordered
            yield f"Z2(h{name}u2(Y2({a}, {b}), Y2({b}, {a})))", low * 0x3F80 | high * 0x3F800000
    for a in BFLOAT16:
        x = bfloat16(a)
        saturated = 0x3F80 if x > 1 else a if x > 0 else 0
        if not math.isinf(x) and abs(x) > 1e-30:  # Denormal numbers may be flushed.
            yield f"Z(hadd_sat(Y({a}), Y(0)))", saturated
            yield f"Z(hfma_sat(Y({a}), Y(0x3F80), Y(0)))", saturated
            yield f"Z2(hmul2_sat(Y2({a}, 0), Y2(0x3F80, 0x3F80)))", saturated
            yield f"Z(hfma_relu(Y({a}), Y(0x3F80), Y(0)))", NAN if math.isnan(x) else a if x > 0 else 0
    for a in (0x3400, 0x3E00, 0xBC00, 0x7E01):
        yield f"B(hadd_sat(H({a}), H(0)))", {0x3400: 0x3400, 0x3E00: 0x3C00}.get(a, 0)
    for a in BITS:
        x = number(a)
        whole = 0 if math.isnan(x) else int(max(-128, min(127, x)))
        yield f"unsigned(half2char_rz(H({a}))) & 255u", whole & 255
        yield f"unsigned(half2uchar_rz(H({a})))", 0 if math.isnan(x) else int(max(0, min(255, x)))
    for value in (0.1, -1e-8, 65519.99, 65520.0, 1 + 2**-11, 1 + 2**-11 + 2**-40, 1e300):
        yield f"B(double2half({value!r}))", bits(value)
    # (1 + 2i) * (3 + 4i) + (5 + 6i) = 0 + 16i
    yield "B2(hcmadd(H2(0x3C00, 0x4000), H2(0x4200, 0x4400), H2(0x4500, 0x4600)))", 0x4C000000


PROGRAM = r"""
#include "hipport/half.h"
#include <hip/hip_bf16.h>
using namespace hipport;
template <typename T>
static __device__ inline T of_bits(unsigned bits) { T value; __builtin_memcpy(&value, &bits, sizeof(T)); return value; }
template <typename T>
static __device__ inline unsigned bits_of(T value) {
  unsigned bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
#define Y(bits) of_bits<__hip_bfloat16>(bits)
#define Y2(low, high) of_bits<__hip_bfloat162>((low) | (high) << 16)
#define Z(value) bits_of<__hip_bfloat16>(value)
#define Z2(value) bits_of<__hip_bfloat162>(value)
static __device__ inline __half H(unsigned short bits) { return __ushort_as_half(bits); }
// As PyTorch's: a half by conversion.
struct Wrapped { unsigned short bits; __device__ operator __half() const { return __ushort_as_half(bits); } };
static __device__ inline Wrapped W(unsigned short bits) { return {bits}; }
static __device__ inline __half2 H2(unsigned short low, unsigned short high) { return __halves2half2(H(low), H(high)); }
static __device__ inline unsigned B(__half value) { return __half_as_ushort(value); }
static __device__ inline unsigned B2(__half2 value) { return B(__low2half(value)) | B(__high2half(value)) << 16; }
"""


def test_follows_cudas_definition(tmp_path: Path) -> None:
    toolchain = next((each for each in find(os.environ, Path(sys.executable)) if each.hip >= (6, 0)), None)
    if toolchain is None:
        pytest.skip("NOT CHECKED: no hipcc of HIP 6 (hipport toolchain install) to compute hipport/half.h")
    listed = [(code, expected) for code, expected in cases() if expected is not None]
    assert len(listed) > 4000
    lines = [PROGRAM]
    for i in range(0, len(listed), 500):
        stores = "\n".join(f"  *out = {code};" for code, _ in listed[i : i + 500])
        lines.append(f"__global__ void k{i}(volatile unsigned* out) {{\n{stores}\n}}")
    (tmp_path / "unit.cu").write_text("\n".join(lines))
    include = Path(hipport.__file__).parent / "include"
    command: list[str | Path] = [
        toolchain.hipcc,
        "--cuda-device-only",
        "-S",
        "-emit-llvm",
        "-O2",
        "-std=c++17",
        "--offload-arch=gfx942",
    ]
    done = compiled.run(
        [*command, "-x", "hip", f"-I{include}", "unit.cu", "-o", "unit.ll"],
        cwd=tmp_path,
        env=toolchain.environment(os.environ),
    )
    assert not done.returncode, done.stderr
    stored = re.findall(r"store volatile i32 (\S+), ptr", (tmp_path / "unit.ll").read_text())
    assert len(stored) == len(listed)
    for (code, expected), value in zip(listed, stored, strict=True):
        assert value.lstrip("-").isdigit(), f"{code} is not a constant: {value}"
        assert int(value) % (1 << 32) == expected, code
