# SPDX-License-Identifier: Apache-2.0
"""A function that calls what only a GPU has is device code, whatever a macro before it means that nobody sees."""

from __future__ import annotations

import pytest

from hipport import Certainty, rewrite

_DIVERGES = b"""
    float v = o[threadIdx.x];
    if (threadIdx.x < n) v = __shfl_sync(~0u, v, 0);
    else v = __shfl_sync(~0u, v, 1);
    o[threadIdx.x] = v;
"""
_UNIFORM = b"\n    o[threadIdx.x] = __shfl_sync(~0u, o[threadIdx.x], 0);\n"


def _found(code: bytes, rule: str = "warp_intrinsics/helper") -> list[tuple[int, Certainty]]:
    ported = rewrite({"a.cu": b'#include "unseen/macros.h"\n' + code})
    return [(each.line, each.certainty) for each in ported.reported if each.rule == rule]


@pytest.mark.parametrize(
    "head",
    [
        b"UNSEEN_DEVICE void f(float *o, int n)",
        b"UNSEEN_DEVICE UNSEEN_INLINE void f(float *o, int n)",
        b"static UNSEEN_DEVICE void f(float *o, int n)",
        b"template <class T> UNSEEN_DEVICE void f(float *o, T n)",
        b"template <class T> void f(float *o, T n)",
        b"_QUALIFIER void f(float *o, int n)",
        b"struct S { UNSEEN_DEVICE void operator()(float *o, int n) const",
        b"struct S { UNSEEN_DEVICE S(float *o, int n)",
        b"struct S { UNSEEN_DEVICE static void f(float *o, int n)",
    ],
)
def test_divergent_lanes_are_seen(head: bytes) -> None:
    end = b"};\n" if head.startswith(b"struct") else b"\n"
    assert {certainty for _, certainty in _found(head + b" {" + _DIVERGES + b"}" + end)} == {Certainty.REVIEW}
    assert {certainty for _, certainty in _found(head + b" {" + _UNIFORM + b"}" + end)} == {Certainty.SAFE}


def test_a_caller_with_the_same_macro_is_device_code() -> None:
    code = (
        b"UNSEEN_DEVICE float inner(float v) { return __shfl_sync(~0u, v, 0); }\n"
        b"UNSEEN_DEVICE float outer(float v, int n) {\n"
        b"    if (threadIdx.x < n) return inner(v);\n    return inner(-v);\n}\n"
        b"__global__ void k(float *o, int n) { o[threadIdx.x] = outer(o[threadIdx.x], n); }\n"
    )
    assert _found(code) == [(2, Certainty.REVIEW)]


def test_barriers_are_seen() -> None:
    code = (
        b"UNSEEN_DEVICE void f(float *o, int n) {\n    if (threadIdx.x < n) { __syncthreads(); o[0] = 1; }\n"
        b"    else { __syncthreads(); o[1] = 2; }\n}\n"
    )
    assert _found(code, "barriers/divergent")


def test_a_macro_that_is_seen_keeps_its_meaning() -> None:
    """`INLINE` is `inline`: a host function with it is none of the device's."""
    code = (
        b"#define INLINE inline\n__device__ INLINE float g(float v) { return __shfl_sync(~0u, v, 0); }\n"
        b"INLINE void h(int n) {\n    if (n) g(1);\n    else g(2);\n}\n"
    )
    assert _found(code) == [(3, Certainty.SAFE)]


def test_a_lambda_in_host_code_is_not_proven() -> None:
    code = (
        b"void run(float *o, int n) {\n    launch([=] __device__(int i) {\n"
        b"        if (i < n) o[i] = __shfl_sync(~0u, o[i], 0);\n"
        b"        else o[i] = __shfl_sync(~0u, o[i], 1);\n    });\n}\n"
    )
    assert _found(code) == [(4, Certainty.REVIEW), (5, Certainty.REVIEW)]


_CALLS = b"""{
    float v = o[threadIdx.x];
    if (threadIdx.x < n) v = inner(v);
    else v = inner(-v);
    o[threadIdx.x] = v;
}
"""
_INNER = b"float inner(float v) { return __shfl_sync(~0u, v, 0); }\n"
#: Device code that calls nothing by name that only a GPU has; what it would be with `__device__` is `UNSEEN_OUTER`.
INDIRECT = {
    "a macro": b"#define inner(v) __shfl_sync(~0u, v, 0)\nUNSEEN_OUTER void f(float *o, int n) " + _CALLS,
    "a macro of a macro": (
        b"#define SHUFFLE(v) __shfl_sync(~0u, v, 0)\n#define inner(v) SHUFFLE(v)\nUNSEEN_OUTER void f(float *o, int n) "
        + _CALLS
    ),
    "a function behind another macro": b"UNSEEN_INNER " + _INNER + b"UNSEEN_OUTER void f(float *o, int n) " + _CALLS,
    "a marked function": b"__device__ " + _INNER + b"UNSEEN_OUTER void f(float *o, int n) " + _CALLS,
    "a function that calls one": (
        b"UNSEEN_INNER float innermost(float v) { return __shfl_sync(~0u, v, 0); }\n"
        b"UNSEEN_MIDDLE float inner(float v) { return innermost(v); }\n"
        b"UNSEEN_OUTER void f(float *o, int n) " + _CALLS
    ),
    "an initializer": (
        b"struct S {\n  float a;\n  UNSEEN_OUTER S(float *o, int n)\n"
        b"      : a(threadIdx.x < n ? __shfl_sync(~0u, o[0], 0) : __shfl_sync(~0u, o[0], 1)) {}\n};\n"
    ),
}


@pytest.mark.parametrize("code", INDIRECT.values(), ids=INDIRECT)
def test_what_it_calls_may_be_indirect(code: bytes) -> None:
    """The findings are those with `__device__` written."""
    marked = code.replace(b"UNSEEN_OUTER", b"__device__")
    assert Certainty.REVIEW in {certainty for _, certainty in _found(code)}
    assert _found(code) == _found(marked)


#: The same for other functions of a GPU, with the rule that has to find their divergence.
OTHERS = {
    "a parameter that is a tile": (
        "cooperative_groups/apart",
        b"UNSEEN void f(float *o, int n, cooperative_groups::thread_block_tile<32> t) {\n"
        b"    if (threadIdx.x < n) o[0] = t.any(n);\n    else o[1] = t.any(-n);\n}\n",
    ),
    "a parameter of any type with a shuffle": (
        "cooperative_groups/apart",
        b"template <class G> UNSEEN void f(float *o, int n, G t) {\n"
        b"    if (threadIdx.x < n) o[0] = t.shfl(o[0], 0);\n    else o[1] = t.shfl(o[1], 0);\n}\n",
    ),
    "a parameter that is a block": (
        "barriers/divergent",
        b"UNSEEN void f(float *o, int n, const cooperative_groups::thread_block &t) {\n"
        b"    if (threadIdx.x < n) { o[0] = 1; t.sync(); o[1] = 2; }\n    else { o[2] = 1; t.sync(); o[3] = 2; }\n}\n",
    ),
    "a barrier of PTX": (
        "barriers/divergent",
        b'UNSEEN void f(float *o, int n) {\n    if (threadIdx.x < n) { o[0] = 1; asm volatile("bar.sync 0;"); }\n'
        b'    else { o[1] = 1; asm volatile("bar.sync 0;"); }\n}\n',
    ),
    "a shuffle of PTX": (
        "inline_ptx/instruction",
        b"UNSEEN void f(float *o, int n) {\n    float v = o[0];\n    if (threadIdx.x < n)\n"
        b'        asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, -1;" : "=f"(v) : "f"(v));\n    else\n'
        b'        asm volatile("shfl.sync.idx.b32 %0, %1, 1, 31, -1;" : "=f"(v) : "f"(v));\n    o[0] = v;\n}\n',
    ),
}


@pytest.mark.parametrize(("rule", "code"), OTHERS.values(), ids=OTHERS)
def test_other_functions_of_a_gpu_are_seen(rule: str, code: bytes) -> None:
    found = _found(b"#include <cooperative_groups.h>\n" + code, rule)
    assert found
    assert found == _found(b"#include <cooperative_groups.h>\n" + code.replace(b"UNSEEN", b"__device__"), rule)


_SPINS = b"{ while (*o) {} }\n"
#: Host code; as device code, its loop would wait for a lane that cannot come.
HOST = {
    "a macro that also stands before functions that launch": (
        b"API float g(float v) { return __shfl_sync(~0u, v, 0); }\n__global__ void k() {}\n"
        b"API void launch() { k<<<1, 32>>>(); }\nAPI void wait(volatile int *o) " + _SPINS
    ),
    "a fallback of the CPU": (
        b"#ifndef __CUDACC__\nvoid f(volatile int *o) { __syncwarp(); while (*o) {} }\n#endif\n__global__ void k() {}\n"
    ),
    "a macro that is empty for the host": (
        b"#ifdef __CUDA_ARCH__\n#define SYNC() __syncthreads()\n#else\n#define SYNC()\n#endif\n"
        b"void f(volatile int *o) { SYNC(); while (*o) {} }\n"
    ),
    "methods of vectors": (
        b"void f(volatile int *o, V v) { if (v.any()) v.all(); while (*o) {} }\n__global__ void k() {}\n"
    ),
    "a variable called like a type": (
        b"__global__ void k() {}\n"
        b"void f(volatile int *o) { dim3 thread_block(256); k<<<1, thread_block>>>(); while (*o) {} }\n"
    ),
    "a host function called like a device function": (
        b"__device__ float g(float v) { return __shfl_sync(~0u, v, 0); }\n"
        b"float g(double v) { return v; }\nAPI void f(volatile int *o) { g(1.0); while (*o) {} }\n"
    ),
}


@pytest.mark.parametrize("code", HOST.values(), ids=HOST)
def test_host_code_stays_host_code(code: bytes) -> None:
    assert _found(b"UNSEEN void f(volatile int *o) { __syncwarp(); while (*o) {} }\n", "spin_locks/wait")
    assert not _found(code, "spin_locks/wait")
