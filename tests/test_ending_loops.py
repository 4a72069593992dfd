# SPDX-License-Identifier: Apache-2.0
"""Kernels whose loops end by what a lane does itself are not inlined: which these are, and which are not."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from hipport.analysis.ending_loops import EndingLoops
from hipport.analysis.inlined_program import Inlining
from hipport.analysis.kernels import Kernels
from hipport.analysis.wavefront_waits import wavefront_waits
from hipport.program.project import Project, Target
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.testing import fixtures

_HELPERS = b"""
__device__ double add(double *at, double v) {
  unsigned long long *p = (unsigned long long *)at, old = *p, assumed;
  do { assumed = old; old = atomicCAS(p, assumed, (unsigned long long)(v + assumed)); } while (assumed != old);
  return old;
}
__device__ void spin(volatile int *flag) { while (*flag == 0) {} }
__device__ int twice(int n) { return n < 2 ? n : twice(n - 1) + twice(n - 2); }
"""
_END = [
    "for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = atomicAdd(p, 1);",
    "int i = n; while (i > 0 && p[i]) { i /= 2; }",
    "add(d, 1.0);",
    "for (int i = 0; i < n; i++) { for (int k = 0; k < i; k++) add(d, k); }",
    "while (atomicAdd(p, 1) < n) {}",
    "while (clock64() < n) {}",
]
_MAY_WAIT = [
    "while (*(volatile int *)p == 0) {}",
    "for (int i = 0; i < n; i++) spin(p);",
    "while (atomicAdd(p, 0) < n) {}",
    "while (atomicCAS(p, 0, 1) != 0) {}",
    "while (atomicExch(p, 1)) {}",
    "for (int i = 0; ; i++) { if (p[0]) break; }",
    "again: if (p[0] == 0) goto again;",
    "out[0] = twice(n);",
    "auto f = [&] { while (atomicExch(p, 1)) {} }; f();",
]


def _answers(body: str) -> tuple[bool, bool]:
    """Whether all loops end, and whether the inlined program has one that waits."""
    text = b"__global__ void k(int *p, int *out, double *d, int n) { %s }\n" % body.encode()
    source = Cuda(PurePath("k.cu"), _HELPERS + text)
    kernels = Kernels.of(Project((source,), Target()))
    (kernel,) = (each for each in kernels.functions(source) if each.kernel)
    program = kernels.proofs(source).program
    whole = Inlining(program).of(program.callee(kernel))
    waits = wavefront_waits(whole, program.is_variable, lambda _: None, called=True)
    return EndingLoops(program).all_end(program.ir(kernel)), bool(list(waits))


@pytest.mark.parametrize("body", _END)
def test_a_loop_that_a_lane_ends_itself_does_not_wait(body: str) -> None:
    assert _answers(body) == (True, False)


@pytest.mark.parametrize("body", _MAY_WAIT)
def test_a_loop_that_others_may_end_is_looked_at(body: str) -> None:
    assert not _answers(body)[0]


def _missed(project: Project) -> tuple[int, list[str]]:
    """The number of functions all of whose loops end, and those of them that wait in the inlined program."""
    kernels = Kernels.of(project)
    ended, missed = 0, []
    for source in project.sources:
        for function in kernels.functions(source) if isinstance(source, Cpp) else ():
            program = kernels.proofs(source).program
            if not EndingLoops(program).all_end(program.ir(function)):
                continue
            ended += 1
            whole = Inlining(program).of(program.callee(function))
            if list(wavefront_waits(whole, program.is_variable, lambda _: None, called=function.kernel)):
                missed.append(f"{source.path}: {function.name.decode()}")
    return ended, missed


def test_no_function_of_a_fixture_that_ends_waits_when_it_is_inlined() -> None:
    """The game is one, but its facts stand in two places: what ends with one must end with the other."""
    folder = Path(__file__).parent.parent / "fixtures"
    total = 0
    for name in ("spin_locks", "atomics", "barriers", "memory_order", "warp_intrinsics", "cooperative_groups"):
        for case in fixtures(folder / name):
            ended, missed = _missed(Project((case.before, *case.beside), Target()))
            assert not missed, case
            total += ended
    assert total > 150
