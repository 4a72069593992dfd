# SPDX-License-Identifier: Apache-2.0
"""The shapes of blocks that launches show, and the uniformity of values in such blocks."""

from pathlib import PurePosixPath

import pytest

from hipport.analysis.block_shapes import BlockShape, shapes
from hipport.analysis.kernels import Kernels
from hipport.analysis.uniform_values import BLOCK
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda

CONSTANTS = b"""
#define BLOCK_X 16
#define COUNT (BLOCK_X * 8)
constexpr int kRows = 4;
int threads_for(int n);
dim3 block_for(int n);
"""


def project_of(launches: bytes, kernel: bytes = b"") -> Project:
    text = CONSTANTS + b"template <int N = 4> __global__ void k(int *p, int t) { " + kernel + b" }\n" + launches
    return Project((Cuda(PurePosixPath("a.cu"), text),))


def kernels_of(project: Project) -> Kernels:
    return Kernels.of(project)


@pytest.mark.parametrize(
    ("launches", "found"),
    [
        (b"void f(int *p) { k<<<1, 256>>>(p, 0); }", [BlockShape(256)]),
        (b"void f(int *p) { k<4><<<1, COUNT>>>(p, 0); k<5><<<1, dim3(BLOCK_X, kRows)>>>(p, 0); }", [(128,), (16, 4)]),
        (b"void f(int *p, int n) { k<<<1, n>>>(p, 0); }", [BlockShape(None)]),
        (b"void f(int *p, int n) { auto t = n * 32; k<<<1, t>>>(p, 0); }", [BlockShape(None)]),
        (b"void f(int *p, int n) { k<<<1, std::min(n, 256)>>>(p, 0); }", [BlockShape(None)]),
        (b"void f(int *p, int n) { k<<<1, threads_for(n)>>>(p, 0); }", [BlockShape(None)]),
        (b"void f(int *p, int n) { int a, t = 64; t /= 2; k<<<1, t>>>(p, 0); }", [BlockShape(None)]),
        (b"void f(int *p) { const int a = 2, t = 64; k<<<1, t>>>(p, 0); }", [BlockShape(64)]),
        (b"template <int N = 32> void f(int *p) { k<N><<<1, N>>>(p, 0); }", [BlockShape(None)]),
        (b"void f(int *p, int n) { dim3 b(32, n); k<<<1, b>>>(p, 0); }", [(32, None)]),
        (b"void f(int *p) { dim3 b = dim3(32, 8), g; k<<<g, b>>>(p, 0); }", [(32, 8)]),
        (b"void f(int *p) { dim3 b; b.x = 64; b.y = 2; k<<<1, b>>>(p, 0); }", [(None, None)]),
        (b"void f(int *p) { dim3 b{32, 8}; k<<<1, b>>>(p, 0); }", [(32, 8)]),
        (b"void f(int *p) { dim3 b{32, 8}; b = block_for(1); k<<<1, b>>>(p, 0); }", None),
        (b"void f(int *p, dim3 b) { k<<<1, b>>>(p, 0); }", None),
        (b"void f(int *p) { dim3 a(1, 2), b(32, 8); k<<<a, b>>>(p, 0); }", [(32, 8)]),
        (b"void f(int *p, S b) { dim3 a(1, b), c(a, b); k<<<a, b>>>(p, 0); }", None),
        (b"void f(int *p, int n) { k<<<1, block_for(n)>>>(p, 0); }", None),
        (b"void f(int *p, bool b) { k<<<1, b ? block_for(1) : dim3(4)>>>(p, 0); }", None),
        (b"void f(int *p, S s) { k<<<1, s.block>>>(p, 0); }", None),
        (b"void f(int *p, S s) { k<<<1, s.block.x>>>(p, 0); }", [BlockShape(None)]),
        (b"#define LAUNCH(n) k<n><<<1, 64>>>(p, 0)\nvoid f(int *p) { LAUNCH(4); }", [BlockShape(64)]),
        (b"#define LAUNCH(n, b) k<n><<<1, b>>>(p, 0)\nvoid f(int *p) { LAUNCH(4, block_for(4)); }", None),
        (b"void f(int *p) { hipFuncSetAttribute(k<4>, A, 1); k<4><<<1, 64>>>(p, 0); }", [BlockShape(64)]),
        (b"void f(int *p) { void *a[1]; cudaLaunchKernel((void *)k<4>, 1, dim3(8, 2), a, 0, 0); }", [(8, 2)]),
        (b"void f(int *p) { auto g = &k<4>; g<<<1, 64>>>(p, 0); }", None),
        (b"void f(int *p) { run(k<4>); k<4><<<1, 64>>>(p, 0); }", None),
        (b"void f(int *p);", None),
    ],
)  # fmt: skip
def test_shapes_of_blocks_are_what_all_launches_show(
    launches: bytes, found: list[tuple[int | None, ...]] | None
) -> None:
    project = project_of(launches)
    source = project.sources[0]
    assert isinstance(source, Cpp)
    (kernel,) = (each for each in kernels_of(project).functions(source) if each.kernel)
    expected = None if found is None else tuple(BlockShape(*each) for each in found)
    assert shapes(kernel, project) == expected


@pytest.mark.parametrize(
    ("value", "block", "uniformity", "shown"),
    [
        (b"threadIdx.x / 32", b"256", 32, 32),
        (b"threadIdx.x / 32", b"t", 32, 32),
        (b"threadIdx.x / 32", b"dim3(48, 2)", 16, 16),
        (b"threadIdx.x / 32", b"dim3(64, 2)", 32, 32),
        (b"threadIdx.x / 32", b"dim3(8, 8)", BLOCK, BLOCK),
        (b"threadIdx.x < 32", b"dim3(8, 8)", BLOCK, BLOCK),
        (b"threadIdx.x >> 5", b"dim3(48, 2)", 16, 16),
        (b"threadIdx.x / 32", b"unseen(t)", 32, 1),
        (b"threadIdx.x / 32", b"dim3(t, 2)", 32, 1),
        (b"(blockIdx.x * blockDim.x + threadIdx.x) / 32", b"48", 16, 16),
        (b"(blockIdx.x * blockDim.x + threadIdx.x) / 32", b"64", 32, 32),
        (b"(blockIdx.x * blockDim.x + threadIdx.x) / 32", b"t", 32, 1),
        (b"(threadIdx.y * blockDim.x + threadIdx.x) / 32", b"dim3(12, t)", 32, 32),
        (b"(threadIdx.y * blockDim.x + threadIdx.x) / 32", b"dim3(12, 4, 4)", 16, 16),
        (b"threadIdx.y", b"dim3(32, 8)", 32, 32),
        (b"threadIdx.y", b"dim3(8, 8)", 8, 8),
        (b"threadIdx.y", b"64", BLOCK, BLOCK),
        (b"threadIdx.y", b"unseen(t)", 1, 1),
        (b"threadIdx.z", b"dim3(8, 8, 2)", 64, 64),
        (b"threadIdx.x / N", b"64", 4, 4),  # N is the value from the launch of k<4>, whatever else has that name.
        (b"cg::this_thread_block().thread_rank() / 32", b"unseen(t)", 32, 32),
    ],
)
def test_uniformity_is_limited_by_rows_of_blocks(value: bytes, block: bytes, uniformity: int, shown: int) -> None:
    launches = b"constexpr int N = 32;\nvoid f(int *p, int t) { k<4><<<1, " + block + b">>>(p, 0); }"
    project = project_of(launches, b"probe(" + value + b");")
    kernels = kernels_of(project)
    source = project.sources[0]
    assert isinstance(source, Cpp)
    (call,) = (call for each in kernels.functions(source) for call in each.calls({b"probe"}))
    assert kernels.uniformity(call.function, call.arguments[0]) == uniformity
    assert kernels.uniformity(call.function, call.arguments[0], shown=True) == shown


def test_a_function_is_in_the_blocks_of_all_kernels_that_call_it() -> None:
    text = b"""
    __device__ void f() { probe(threadIdx.x / 32); }
    __global__ void a() { f(); }
    __global__ void b() { f(); }
    void launches() { a<<<1, dim3(48, 2)>>>(); b<<<1, 64>>>(); }
    """
    for code, uniformity in (
        (text, 16),
        (text.replace(b"dim3(48, 2)", b"96"), 32),
        (text.replace(b"b<<<", b"c<<<"), 16),
    ):
        project = Project((Cuda(PurePosixPath("a.cu"), code),))
        kernels, source = Kernels.of(project), project.sources[0]
        assert isinstance(source, Cpp)
        (call,) = (call for each in kernels.functions(source) for call in each.calls({b"probe"}))
        assert kernels.uniformity(call.function, call.arguments[0]) == uniformity
