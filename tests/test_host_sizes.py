# SPDX-License-Identifier: Apache-2.0
"""mixed_waves on large trees: what uses a kernel is looked for only where a host counts by 32."""

from pathlib import PurePosixPath

import pytest

import hipport
from hipport.analysis.references import Mentions, NamedDefinition
from hipport.program.project import Project
from hipport.syntax.cuda import Cuda
from hipport_passes.device import mixed_waves

KERNEL = b"""#include <hip/hip_runtime.h>
constexpr int kWarpSize = 32;
__global__ void sums(float *o) { if (threadIdx.x % warpSize == 0) o[threadIdx.x / warpSize] = 1; }
"""
HOST = b'#include "sums.cuh"\nvoid run%d(float *o) { sums<<<1, 256>>>(o); }\n'
COUNTS = b'#include "sums.cuh"\nint rows(float *o) { sums<<<1, 256>>>(o); return 256 / kWarpSize; }\n'


def test_users_of_kernels_are_found_once_for_each_host_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[NamedDefinition] = []
    found = Mentions.transitive_users

    def counted(self: Mentions, definition: NamedDefinition) -> list[NamedDefinition]:
        asked.append(definition)
        return found(self, definition)

    monkeypatch.setattr(Mentions, "transitive_users", counted)
    texts = {"sums.cuh": KERNEL, **{f"host{number}.cu": HOST % number for number in range(20)}}
    assert hipport.rewrite(texts, passes=[mixed_waves.PASS]).reported == ()
    assert asked == []
    (reported,) = hipport.rewrite({**texts, "rows.cu": COUNTS}, passes=[mixed_waves.PASS]).reported
    assert (reported.path.name, reported.line, reported.rule) == ("rows.cu", 2, "mixed_waves/host")
    assert [each.name for each in asked] == ["sums"]


def test_a_class_uses_its_constructor_wherever_that_is_defined() -> None:
    text = b"struct A { A(); int n; friend int operator*(A, int) { return 2; } }; A::A() { n = 1; } int f() { A a; }"
    source = Cuda(PurePosixPath("a.cu"), text)
    mentions = Project((source,)).component(source).fact(Mentions)
    (user,) = mentions.named(b"f")
    reached = [text[each.span.start : each.span.end] for each in mentions.reached(user)]
    assert b"A::A() { n = 1; }" in reached
    assert b"int operator*(A, int) { return 2; }" in reached
