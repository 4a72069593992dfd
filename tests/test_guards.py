# SPDX-License-Identifier: Apache-2.0
"""A condition has one decision in a program, in any context and at any place."""

from __future__ import annotations

import pytest

import hipport
from hipport.core.finding import Certainty

OPENED = b" || defined(__HIP_DEVICE_COMPILE__)"


def ported(files: dict[str, bytes]) -> tuple[dict[str, str], list[tuple[int, str]]]:
    result = hipport.rewrite(files)
    manual = [(r.line, r.message) for r in result.reported if r.certainty is Certainty.MANUAL]
    return {str(file.path): file.text.decode() for file in result.project.sources}, manual


@pytest.mark.parametrize("inner", [b"CUDART_VERSION >= 5000", b"CUDA_VERSION < 20000", b"__CUDA_ARCH__ > 210"])
def test_a_condition_in_another_does_not_keep_it_closed(inner: bytes) -> None:
    text = (
        b"""#if __CUDA_ARCH__ >= 200
#if %b
__device__ float step(float x) { return x + 1; }
#endif
#endif
__global__ void k(float* x) {
#if __CUDA_ARCH__ >= 200
  x[0] = step(x[0]);
#endif
}
"""
        % inner
    )
    texts, manual = ported({"a.cu": text})
    if inner == b"CUDA_VERSION < 20000":  # Not every CUDA release answers it alike.
        assert texts["a.cu"].count("__CUDA_ARCH__ >= 200\n") == 2 and len(manual) == 3
    else:
        assert texts["a.cu"].count("__CUDA_ARCH__ >= 200" + OPENED.decode()) == 2 and not manual


def test_conditions_in_a_body() -> None:
    text = (
        b"__global__ void k(float* x) {\n"
        + b"#if __CUDA_ARCH__ >= 200\n" * 3
        + b"#if CUDART_VERSION >= 5000\n  x[0] = 1;\n#endif\n"
    )
    texts, manual = ported({"a.cu": text + b"#endif\n" * 3 + b"}\n"})
    assert texts["a.cu"].count("defined(__HIP_DEVICE_COMPILE__)") == 3
    assert texts["a.cu"].count("CUDART_VERSION >= 5000 || defined(__HIPCC__)") == 1
    assert not manual


STEP = b'#if __CUDA_ARCH__ >= 700\n__device__ float step(float x) { asm("foo.bar;"); return x; }\n%b#endif\n'
USE = b"__global__ void %b(float* x) {\n#if __CUDA_ARCH__ >= 700\n  x[0] = %b;\n#endif\n}\n"


def test_declarations_of_a_closed_branch_close_their_users() -> None:
    """In the same file or another one of the program; branches that use none of the names are still opened."""
    here = {
        "step.cuh": STEP % b"",
        "a.cu": b'#include "step.cuh"\n' + USE % (b"k", b"step(x[0])") + USE % (b"l", b"x[1]"),
    }
    texts, manual = ported(here)
    assert texts["a.cu"].count(OPENED.decode()) == 1
    assert (3, True) in [(line, "step.cuh:1, where step is" in message) for line, message in manual]


def test_names_with_other_declarations_close_nothing() -> None:
    other = b"#else\n__device__ float step(float x) { return x; }\n"
    texts, _ = ported({"a.cu": STEP % other + USE % (b"k", b"step(x[0])")})
    assert texts["a.cu"].count(OPENED.decode()) == 1


def test_closing_is_transitive() -> None:
    second = b"#if __CUDA_ARCH__ >= 700\n__device__ float twice(float x) { return step(step(x)); }\n#endif\n"
    texts, _ = ported({"a.cu": STEP % b"" + second + USE % (b"k", b"twice(x[0])")})
    assert OPENED.decode() not in texts["a.cu"]


def test_another_program_closes_nothing() -> None:
    files = {"a/main.cu": STEP % b"", "b/main.cu": USE % (b"k", b"step(x[0])")}
    texts, _ = ported(files)
    assert texts["b/main.cu"].count(OPENED.decode()) == 1


def test_what_a_branch_has_is_reported_in_the_run_that_opens_it() -> None:
    """So opening a branch that all GPUs of today take needs no review of its own."""
    text = b"""#include <cuda_runtime.h>
__global__ void wait(int* flag, float* x)
{
#if __CUDA_ARCH__ >= 800
    if (threadIdx.x % 32 == 0) {
        x[0] = 1;
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {
        }
        x[threadIdx.x] = x[0];
    }
#endif
}
__global__ void meet(float* x)
{
#if __CUDA_ARCH__ >= 700
    if (threadIdx.x < 16) {
        x[0] = __shfl_sync(0xffffffff, x[1], 3);
        __syncthreads();
    } else {
        __syncthreads();
    }
#endif
}
"""
    reported = hipport.rewrite({"a.cu": text}).reported
    left = {(each.rule, each.certainty) for each in reported if each.needs_person}
    opened = [each.certainty for each in reported if each.rule == "arch_guards/architecture"]
    assert opened == [Certainty.SAFE, Certainty.SAFE]
    assert left == {("spin_locks/wait", Certainty.MANUAL), ("barriers/divergent", Certainty.MANUAL)}
