# SPDX-License-Identifier: Apache-2.0
"""The analysis of device code: calls, conditions, and values that vary by thread."""

import pickle
import re
from pathlib import PurePosixPath

import pytest

from hipport.analysis.functions import Call, Function, nodes
from hipport.analysis.kernels import Kernels
from hipport.analysis.uniform_values import BLOCK, WARP
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda

HEADER = b"""
#define DEVICE __host__ __device__ __forceinline__
#define LANE (threadIdx.x & 31)
constexpr int kWarp = 32;
template <typename T> DEVICE T twice(T x) { return x + x; }
DEVICE int rank() { return threadIdx.x; }
"""

KERNEL = b"""
#include "own.cuh"
namespace n {
struct S { DEVICE int get() const { return i; } int i; };
}
int host(int a) { return a; }
__global__ void k(const int *p, int n, int *q) {
    __shared__ int shared[64];
    __shared__ bool flag;
    int tid = threadIdx.x, count = n, old = 0;
    int i = blockIdx.x * blockDim.x + tid;
    if (i >= n) return;
    flag = p[tid] > 0;
    int warp = tid / kWarp, lane = LANE, half = warp / 2;
    if (tid < 64) count = 3;
    for (i = 0; i < n; ++i) probe(i);
    { int i = tid; probe(i); }
    old = atomicAdd(q, 1);
    probe(old);
    old = shared[0];
    probe(old, count, warp, lane, half, flag, twice(tid), rank(), p[blockIdx.x], p[tid], shared[lane]);
    probe(__syncthreads_or(tid), __any_sync(~0u, tid), __shfl_sync(~0u, tid, 0), __shfl_xor_sync(~0u, tid, 1), kWarp);
    while (n > 0) {
        if (lane == 0) { probe(1); } else if (flag) { probe(2); break; }
        probe(3);
    }
}
"""


def parsed(*more: bytes) -> tuple[Kernels, Function]:
    texts = {"own.cuh": HEADER, "k.cu": KERNEL} | {f"more{i}.cu": text for i, text in enumerate(more)}
    project = Project(tuple(Cuda(PurePosixPath(path), text) for path, text in texts.items()))
    kernels = Kernels.of(project)
    return kernels, kernels.functions(source(project, "k.cu"))[-1]


def source(project: Project, path: str) -> Cpp:
    found = project.by_path[PurePosixPath(path)]
    assert isinstance(found, Cpp)
    return found


def probes(function: Function) -> list[Call]:
    return list(function.calls(re.compile(rb"probe")))


def test_device_functions_are_found_by_macros_of_other_files() -> None:
    kernels, kernel = parsed()
    assert [each.name for each in kernels.functions(kernel.source)] == [b"get", b"k"]
    assert (kernel.kernel, kernel.parameters) == (True, (b"p", b"n", b"q"))
    assert [each.name for each in kernels.definitions(kernel.source, b"twice")] == [b"twice"]
    assert {call.function.name for call in kernels.callers(kernels.definitions(kernel.source, b"rank")[0])} == {b"k"}
    assert kernels.definitions(kernel.source, b"host") == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b"HD INLINE int f(int v) { return v; }", [b"f"]),
        (b"struct S { HD INLINE T f(T v) const { return v; } HD INLINE T *g() { return p; } };", [b"f", b"g"]),
        (b"struct S { HD INLINE S(int v) { a = v; } HD INLINE ~S() { f(); } };", [b"S", b"~S"]),
        (b"struct S {\n public:\n  HD INLINE operator int() const { return a; }\n};", [b"operator int"]),
        (b"struct S { HD INLINE auto operator()(int v) const -> int { return v; } };", [b"operator()"]),
        (b"template <class T> HD INLINE NOTHING std::pair<T, int> S<T>::f(T v) { return {v, 1}; }", [b"f"]),
        (b"INLINE NOTHING int f(int v) { return v; }", []),
        (b"HD INLINE VECTOR f(VECTOR v) { return v; }\nint g() { return 1; }", [b"f"]),
    ],
)
def test_macros_before_a_function_hide_neither_it_nor_that_it_is_of_the_device(text: bytes, names: list[bytes]) -> None:
    macros = b"#define HD __host__ __device__\n#define INLINE inline\n#define NOTHING\n"
    project = Project((Cuda(PurePosixPath("m.cuh"), macros), Cuda(PurePosixPath("a.cu"), b'#include "m.cuh"\n' + text)))
    found = project.fact(Kernels).functions(source(project, "a.cu"))
    assert [each.name for each in found] == names


def test_uniformity_is_of_the_block_of_a_warp_or_of_one_thread() -> None:
    kernels, kernel = parsed()
    found = [[kernels.uniformity(kernel, each) for each in call.arguments] for call in probes(kernel)]
    # The loop's own i; the inner i; the result of an atomic operation.
    assert found[:3] == [[BLOCK], [1], [1]]
    # old is the value of shared[0] since its last assignment; `tid < 64` divides no wavefront, but the block.
    assert found[3] == [BLOCK, 64, WARP, 1, WARP, BLOCK, 1, 1, BLOCK, 1, 1]
    assert found[4] == [BLOCK, WARP, WARP, 1, BLOCK]


def test_uniformity_follows_values_through_functions_that_call_each_other() -> None:
    """Facts about a function under analysis are assumptions; none is kept as a result."""
    text = b"""
    __device__ unsigned before(int lane) { return (1u << lane) - 1; }
    __device__ int counted(int n, int lane) { return n == 0 ? lane : counted(n - 1, lane) + before(n); }
    __device__ int even(int n, int x) { return n == 0 ? x : odd(n - 1, x); }
    __device__ int odd(int n, int x) { return n == 0 ? 1 : even(n - 1, x); }
    __global__ void k(const int *p, int n) {
        int lane = threadIdx.x & 31;
        struct { unsigned mask; int count; } mine;
        mine.mask = before(lane);
        mine.count = __popc(mine.mask & before(lane));
        unsigned all = before(n);
        probe(mine.count, before(lane), all, counted(n, n), counted(n, lane), even(n, blockIdx.x), even(n, lane));
    }
    """
    project = Project((Cuda(PurePosixPath("a.cu"), text),))
    kernels = Kernels.of(project)
    kernel = kernels.functions(source(project, "a.cu"))[-1]
    # None of them reads a thread's number: their results vary as much as their arguments here.
    own = [1, 1, BLOCK, BLOCK, 1, BLOCK, 1]
    assert [kernels.uniformity(kernel, each) for each in probes(kernel)[0].arguments] == own
    # The result of `before` is not used there, and the clock does not reach the result of `even` for a uniform
    # argument.
    asking = text.replace(b"return (1u", b"return clock() + (1u").replace(b"return n == 0", b"before(0); return n == 0")
    project = Project((Cuda(PurePosixPath("a.cu"), asking),))
    kernels = Kernels.of(project)
    kernel = kernels.functions(source(project, "a.cu"))[-1]
    assert [kernels.uniformity(kernel, each) for each in probes(kernel)[0].arguments] == [1, 1, 1, 1, 1, BLOCK, 1]
    other = re.sub(rb"(?<=, )lane\)", b"n)", text.replace(b"before(lane)", b"before(p[3])"))
    project = Project((Cuda(PurePosixPath("a.cu"), other),))
    kernels = Kernels.of(project)
    kernel = kernels.functions(source(project, "a.cu"))[-1]
    assert [kernels.uniformity(kernel, each) for each in probes(kernel)[0].arguments] == [BLOCK] * 7


def test_conditions_and_exits() -> None:
    _, kernel = parsed()
    one, two, three = probes(kernel)[-3:]

    def conditions(call: Call) -> list[tuple[bytes, bool | None, bool]]:
        return [(kernel.text(each.expression), each.taken, each.loop) for each in kernel.conditions(call.node)]

    assert conditions(one) == [(b"lane == 0", True, False), (b"n > 0", True, True)]
    assert conditions(two) == [(b"flag", True, False), (b"lane == 0", False, False), (b"n > 0", True, True)]
    # The `break` precedes the others in the next iteration; in its own branch it is exclusive with probe(1).
    assert [kernel.text(each) for each in kernel.exits_before(three.node)] == [b"return;", b"break;"]
    assert [kernel.text(each) for each in kernel.exits_before(one.node)] == [b"return;"]


@pytest.mark.parametrize(
    ("guard", "warp", "thread"),
    [
        ("if (threadIdx.x < 32)", True, False),
        ("if (threadIdx.x <= 31 && n > 3)", True, False),
        ("if (32 > threadIdx.x)", True, False),
        ("if (threadIdx.x / 32 == 0)", True, False),
        ("if (!(threadIdx.x >> 5))", True, False),
        ("if (threadIdx.x >= 32) return;", True, False),
        ("if (threadIdx.x >= 32 && n) return;", False, False),
        ("if (threadIdx.x < 33)", False, False),
        ("if (threadIdx.x > 32)", False, False),
        ("if (threadIdx.x % 32 == 0)", False, False),
        ("if (threadIdx.x % 32 < 16)", False, False),
        ("if ((int)threadIdx.x - 5 < 32)", False, False),
        ("if (threadIdx.x == 0)", False, True),
        ("if (0 == threadIdx.x && n)", False, True),
        ("if (threadIdx.x == 0 || n)", False, False),
        ("if (!threadIdx.x)", False, True),
        ("if (threadIdx.x) return;", False, True),
        ("if (threadIdx.x > 0) return;", True, True),
        ("if (threadIdx.x < 1)", True, True),
        ("if (threadIdx.x == 0 && threadIdx.y < 4)", False, False),
        ("if (blockIdx.x == 0)", False, False),
    ],
)
def test_one_warp_and_one_thread(guard: str, warp: bool, thread: bool) -> None:
    text = f"__device__ void f(int n) {{ probe(n); }} __global__ void g(int n) {{ {guard} f(n); }}"
    project = Project((Cuda(PurePosixPath("a.cu"), text.encode()),))
    kernels = Kernels.of(project)
    f = kernels.functions(source(project, "a.cu"))[0]
    place = probes(f)[0].node
    assert (kernels.one_warp(f, place), kernels.one_thread(f, place)) == (warp, thread)


@pytest.mark.parametrize(
    ("code", "thread"),
    [
        (b"int t = threadIdx.x; if (t == 0) HERE;", True),
        (b"int t = threadIdx.x; by_value(t); if (t == 0) HERE;", True),
        (b"int t = threadIdx.x + n; if (t == 7) HERE;", True),
        (b"int t = (int)threadIdx.x - n; if (t < 1) HERE;", False),
        (b"int t = (int)threadIdx.x - n; if (t > 0) return; HERE;", False),
        (b"if (threadIdx.x % 64 == 0) HERE;", False),
        (b"if (threadIdx.x / 64 == 0) HERE;", False),
        (b"int t = threadIdx.x; const int& u = t; if (u == 0) HERE;", True),
        (b"int t = threadIdx.x; half_of(n, t); if (t == 0) HERE;", False),
        (b"int t = threadIdx.x; std::swap(t, n); if (t == 0) HERE;", False),
        (b"int t = threadIdx.x; int& u = t; u /= 2; if (t == 0) HERE;", False),
        (b"bool t = threadIdx.x; if (t == 1) HERE;", False),
        (b"if ((bool)threadIdx.x == 1) HERE;", False),
        (b"if (threadIdx.x != 0) return; if (n) HERE;", True),
        (b"for (; n; --n) { if (threadIdx.x != 0) return; HERE; }", True),
        (b"if (n) if (threadIdx.x != 0) return; HERE;", False),
        (b"if (n) { if (threadIdx.x != 0) return; } HERE;", False),
        (b"auto f = [&] { if (threadIdx.x != 0) return; ++n; }; f(); HERE;", False),
        (b"for (; n; --n) { HERE; if (threadIdx.x != 0) return; }", False),
        (b"auto b = cg::this_thread_block(); if (b.thread_rank() == 0) HERE;", True),
        (b"auto w = cg::tiled_partition<32>(block); if (w.thread_rank() == 0) HERE;", False),
        (b"auto w = cg::tiled_partition<32>(block); int r = w.thread_rank(); if (r == 0) HERE;", False),
        (b"auto w = cg::coalesced_threads(); if (w.thread_rank() == 0) HERE;", False),
    ],
)
def test_one_thread_is_not_taken_for_granted(code: bytes, thread: bool) -> None:
    # A change through a reference, a conversion to bool, returns that some threads do not reach.
    text = (
        b"__device__ void by_value(int t) { t /= 2; }\n__device__ void half_of(int n, int& t) { t /= 2; }\n"
        b"__global__ void f(int n) { " + code.replace(b"HERE", b"probe()") + b" }\n"
    )
    assert one_thread(text) == thread


@pytest.mark.parametrize(
    ("code", "level"),
    [
        ("cg::reduce(tile, v, cg::plus<int>())", 32),
        ("cg::reduce(small, v, cg::plus<int>())", 8),
        ("cg::reduce(part, v, cg::plus<int>())", 1),
        ("cg::reduce(of_any_size, v, cg::plus<int>())", 1),
        ("of_any_size.any(v)", 1),
        ("of_active.any(v)", 1),
        ("cg::coalesced_threads().any(v)", 32),
        ("cg::inclusive_scan(tile, v, cg::plus<int>())", 1),
        ("reduce(v, v)", 1),
    ],
)
def test_a_sum_over_a_group_is_one_for_the_group(code: str, level: int) -> None:
    text = f"""
    template <int N> __global__ void k(const int *p) {{
        auto of_any_size = cg::tiled_partition<N>(cg::this_thread_block());
        auto of_active = cg::tiled_partition<4>(cg::coalesced_threads());
        cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
        auto small = cg::tiled_partition<8>(cg::this_thread_block());
        auto part = cg::labeled_partition(cg::coalesced_threads(), p[threadIdx.x]);
        int v = p[threadIdx.x];
        probe({code});
    }}
    """
    project = Project((Cuda(PurePosixPath("k.cu"), text.encode()),))
    kernels = Kernels.of(project)
    (kernel,) = kernels.functions(source(project, "k.cu"))
    assert kernels.uniformity(kernel, probes(kernel)[0].arguments[0]) == level


@pytest.mark.parametrize(("more", "thread"), [(b"n", True), (b"threadIdx.y", False)])
def test_rows_of_threads_that_only_a_caller_knows_of(more: bytes, thread: bool) -> None:
    text = b"__device__ void f(int t) { if (t == 0) probe(); } __global__ void g(int n) { f(threadIdx.x); use(%b); }"
    assert one_thread(text % more) == thread


def one_thread(text: bytes) -> bool:
    project = Project((Cuda(PurePosixPath("k.cu"), text),))
    kernels = Kernels.of(project)
    place = next(call for each in kernels.functions(source(project, "k.cu")) for call in each.calls({b"probe"}))
    return kernels.one_thread(place.function, place.node)


@pytest.mark.parametrize(
    ("condition", "uniformity"),
    [
        ("threadIdx.x < n >> 1", 1),
        ("tid < blockDim.x >> 1", 1),
        ("tid < 64 && n > (m)", WARP * 2),
        ("tid < 64 || n > -m", WARP * 2),
        ("tid < 63 && n > (m)", 1),
        ("p->at < n >> m && tid", 1),
        ("n < m >> 1", BLOCK),
        ("same_v<int, float> && n > (m)", BLOCK),
        ("of<int, pair<int, int>>(n)", BLOCK),
    ],
)
def test_possible_templates_are_comparisons(condition: str, uniformity: int) -> None:
    text = "template <class T, class U> __device__ bool of(int n) { return n > 1; }\n"
    text += f"__global__ void k(P* p, int n, int m) {{ int tid = threadIdx.x; if ({condition}) probe(1); }}"
    kernels, _ = parsed(text.encode())
    [probe] = probes(kernels.functions(source(kernels._project, "more0.cu"))[-1])
    [asked] = probe.function.conditions(probe.node)
    assert kernels.uniformity(probe.function, asked.expression) == uniformity
    assert not probe.function.source.errors


def test_recursion_ends() -> None:
    text = b"__device__ int f(int n) { return n ? g(n - 1) : threadIdx.x; } __device__ int g(int n) { return f(f(n)); }"
    project = Project((Cuda(PurePosixPath("a.cu"), text),))
    kernels = Kernels.of(project)
    f, g = kernels.functions(source(project, "a.cu"))
    (returned,) = [each for each in nodes(g.body) if each.type == "return_statement"]
    assert kernels.uniformity(g, returned.named_children[0]) == 1
    assert kernels.reaches(f, re.compile(rb"g"))
    assert not kernels.reaches(f, re.compile(rb"__syncthreads"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [("WAIT();", True), ("Lock lock;", True), ("Lock a; a + 1;", True), ("g();", True), ("Lock* lock;", False)],
)
def test_a_barrier_is_reached_through_macros_constructors_and_operators(body: str, expected: bool) -> None:
    operator = b"int operator+(int) { __syncthreads(); return 1; }"
    constructor = b"Lock() { __syncthreads(); }"
    text = b"#define WAIT() __syncthreads()\n__device__ void g() { WAIT(); }\n"
    text += b"struct Lock { __device__ %s };\n" % (operator if "+" in body else constructor)
    text += b"__device__ void f() { %s }\n" % body.encode()
    project = Project((Cuda(PurePosixPath("a.cu"), text),))
    kernels = Kernels.of(project)
    (f,) = kernels.definitions(source(project, "a.cu"), b"f")
    assert kernels.reaches(f, re.compile(rb"__syncthreads")) == expected
    assert not kernels.reaches(f, re.compile(rb"__syncwarp"))


def test_a_project_with_kernels_is_pickled_without_trees() -> None:
    kernels, kernel = parsed()
    kernels.uniformity(kernel, probes(kernel)[0].arguments[0])
    again = pickle.loads(pickle.dumps(kernels))
    assert isinstance(again, Kernels)


@pytest.mark.parametrize(
    ("value", "uniformity"),
    [
        (b"__shfl_sync(~0u, tid, 0)", WARP),
        (b"__shfl_sync(~0u, tid, 0, 32)", WARP),
        (b"__shfl_sync(~0u, tid, 0, 8)", 8),
        (b"__shfl_sync(~0u, tid, 0, n)", 1),
        (b"__shfl(tid, 0, 16)", 16),
        (b"__any_sync(~0u, tid)", WARP),
        (b"__any_sync(1u << n, tid)", WARP),
        (b"__any_sync(peers, tid)", 1),
        (b"__reduce_add_sync(peers, tid)", 1),
        (b"tile.any(tid)", 4),
        (b"tile.shfl(tid, 0)", 4),
        (b"tid % 64 < 32", WARP),
        (b"(tid & 63) > 31", WARP),
        (b"(tid % 96) / 16", 16),
        (b"(tid & 127) >> 6", 64),
        (b"tid & 32", WARP),
        (b"(tid & 0x60) == 0x20", WARP),
        # Not so many, and no remainder by a power of two.
        (b"tid % 64 < 31", 1),
        (b"tid % 48 < 32", 16),
        (b"(tid & 62) < 32", 2),
        (b"tid & 33", 1),
        (b"(tid + n) % 64 < 32", 1),
        (b"tid % n < 32", 1),
    ],
)
def test_uniformity_is_that_of_the_shared_value(value: bytes, uniformity: int) -> None:
    text = (
        b"__global__ void k(int n) { int tid = threadIdx.x; auto tile = cg::tiled_partition<4>(block);"
        b" unsigned peers = __match_any_sync(~0u, tid); probe(" + value + b"); }"
    )
    project = Project((Cuda(PurePosixPath("k.cu"), text),))
    kernels = Kernels.of(project)
    call = probes(kernels.functions(source(project, "k.cu"))[0])[0]
    assert kernels.uniformity(call.function, call.arguments[0]) == uniformity


def named(code: bytes) -> Project:
    return Project(
        (Cuda(PurePosixPath("k.cu"), b"__global__ void k(float *s) { f(s); }"), Cuda(PurePosixPath("f.cuh"), code))
    )


@pytest.mark.parametrize(
    "code",
    [
        b"__device__ void f(float *s) { s[0] = 1; }",
        b"__device__ void f\n (float *s) const noexcept { if (true) { s[0] = 1; } }",
        b"template <> __device__ void f<4, 8>(float *s) { s[0] = 1; }",
        b"__device__ void f(float *s, int4 at = {1, 2}) { s[0] = 1; }",
        b"struct f { int a, b; __device__ f(float *s) : a{1}, b{2} { s[0] = 1; } };",
        b"__device__ void f(float *s) { s[0] = 1;",
        b"void g() { f(1); } __device__ void f(float *s) { s[0] = 1; }",
    ],
)
def test_functions_with_elements_are_found_before_their_files_are_parsed(code: bytes) -> None:
    project = named(code)
    source = project.sources[1]
    assert isinstance(source, Cuda)
    assert Kernels.of(project).may_have_elements(source, b"f")
    assert "tree" not in source.__dict__


@pytest.mark.parametrize(
    "code",
    [
        b"__device__ float f(float x) { return x; } __device__ void g(float *s) { s[0] = f(1); }",
        b"__device__ float f(float x); __device__ void g(float *s) { s[0] = 1; }",
        b"__device__ void g(float *s) { if (s < f) { s[0] = 1; } }",
    ],
)
def test_functions_without_elements_are_excluded_before_their_files_are_parsed(code: bytes) -> None:
    project = named(code)
    source = project.sources[1]
    assert isinstance(source, Cuda)
    assert not Kernels.of(project).may_have_elements(source, b"f")
    assert "tree" not in source.__dict__


def test_nodes_of_some_kinds_are_those_of_all_in_the_same_order() -> None:
    source = Cuda(PurePosixPath("k.cu"), KERNEL)
    kinds = frozenset(("declaration", "call_expression", "assignment_expression"))
    root = source.tree.root_node
    assert list(nodes(root, kinds)) == [node for node in nodes(root) if node.type in kinds] != []


@pytest.mark.parametrize(
    ("declared", "uniform"),
    [
        ("Unseen x(n); probe(x);", False),
        ("Unseen x{n}; probe(x.v);", False),
        ("ns::Unseen<3> x(n + 1); probe(x.v);", False),
        ("const Unseen x(n); probe(x);", False),
        ("__half x(n); probe(x);", True),
        ("float x{float(n)}; probe(x);", True),
        ("index_t x(n); probe(x);", True),
        ("Unseen *x(p); probe(x);", True),
    ],
)
def test_a_constructor_that_is_not_seen_may_read_the_number_of_a_thread(declared: str, uniform: bool) -> None:
    text = f'#include "unseen.h"\n__global__ void k(int n, Unseen *p) {{ {declared} }}\n'
    project = Project((Cuda(PurePosixPath("k.cu"), text.encode()),))
    kernels = Kernels.of(project)
    (kernel,) = kernels.functions(source(project, "k.cu"))
    assert (kernels.uniformity(kernel, probes(kernel)[0].arguments[0]) >= BLOCK) == uniform
