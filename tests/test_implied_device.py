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
    assert _found(code, "barriers/parted")


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
