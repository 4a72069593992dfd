# SPDX-License-Identifier: Apache-2.0
"""Constant expressions, against the values that C++ gives them."""

from pathlib import PurePosixPath

import pytest

from hipport.analysis.constant_values import size, value
from hipport.program.project import Project
from hipport.syntax.cuda import Cuda

SOURCE = Cuda(
    PurePosixPath("a.cu"),
    b"""#include "b.cuh"
#define WIDTH 32
#define AREA (WIDTH * HEIGHT)
#define CALL(x) (x)
constexpr int kernel = 2 * AREA + 1;
static const unsigned int mask = 0xffu;
enum { first = 3, second = first << 2 };
#ifdef LARGE
#define TILE 64
#else
#define TILE 16
#endif
template <int N> struct S { static constexpr int size = 32; };
struct Small { static constexpr int size{16}; enum { half = 8 }; };
template <class T, class U> struct Other : Base<T> { constexpr static int of() { return 2 * Small::size; } };
namespace inner { enum class Lanes : int { full = 64 }; }
constexpr unsigned braced{0x20u};
__host__ __device__ constexpr int lanes() noexcept { return braced; }
int asked() { return query(); }
struct Two { int wide() { return 32; } int wide() const { int n = 1; return n; } };
struct Base2 { virtual int row() { return 32; } int of() { return WIDTH; } int plain() { return (4 * 8); } };
""",
)
HEADER = Cuda(PurePosixPath("b.cuh"), b"constexpr size_t HEIGHT = 8;\n#define LOOP LOOP2\n#define LOOP2 LOOP\n")
PROJECT = Project((SOURCE, HEADER))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"7", 7),
        (b"0x10 + 010", 24),
        (b"1'000ull", 1000),
        (b"2 + 3 * 4 - 1", 13),
        (b"(2 + 3) * 4 / 3 % 4", 2),
        (b"1 << 4 | 1", 17),
        (b"-3 + 4", 1),
        (b"-7 / 2", -3),  # Towards zero.
        (b"-7 % 4", -3),
        (b"7 / (WIDTH - 32)", None),
        (b"WIDTH", 32),
        (b"AREA", 256),
        (b"kernel", 513),
        (b"mask & 0x3f", 63),
        (b"second", 12),
        (b"sizeof(float4) * WIDTH", 512),
        (b"TILE", None),  # Two values.
        (b"braced", 32),
        (b"lanes() * 2", 64),
        (b"lanes", None),  # The function.
        (b"asked()", None),
        (b"wide()", None),  # Another one does more.
        (b"row()", None),  # It may be another class's.
        (b"of()", None),  # WIDTH may be a member's name.
        (b"plain()", 32),
        (b"size", None),  # Of two classes.
        (b"S::size", 32),
        (b"Small::size / 2", 8),
        (b"Small::half", 8),
        (b"Other::of()", 32),
        (b"Lanes::full", 64),
        (b"inner::Lanes :: full", 64),
        (b"::braced", 32),
        (b"Unknown::size", None),
        (b"N", None),  # A template parameter.
        (b"CALL(3)", None),
        (b"LOOP", None),
        (b"1 / 0", None),
        (b"x + 1", None),
        (b"", None),
        (b"3 4", None),
    ],
)
def test_value(text: bytes, expected: int | None) -> None:
    assert value(SOURCE, PROJECT, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"char", 1),
        (b"const unsigned short", 2),
        (b"unsigned", 4),
        (b"unsigned int", 4),
        (b"unsigned long long", 8),
        (b"long long int", 8),
        (b"std::uint64_t", 8),
        (b"float3", 12),
        (b"ulonglong2", 16),
        (b"uchar4", 4),
        (b"float *", 8),
        (b"__half2", 4),
        (b"scalar_t", None),
        (b"struct Node", None),
    ],
)
def test_size(text: bytes, expected: int | None) -> None:
    assert size(text) == expected
