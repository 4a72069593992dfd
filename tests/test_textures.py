# SPDX-License-Identifier: Apache-2.0
"""Textures, by the target GPUs: those without units, and those that cannot filter floats."""

from __future__ import annotations

import pytest

import hipport
from hipport.program.project import Target

HOST = b"void make(cudaTextureDesc* texture) { texture->filterMode = cudaFilterModeLinear; }\n"
KERNEL = b"__global__ void k(cudaTextureObject_t t, float* x) { x[0] = tex2D<float>(t, 0.5f, 0.5f); }\n"
POINT = b"void make(cudaTextureDesc* texture) { texture->filterMode = cudaFilterModePoint; }\n"


@pytest.mark.parametrize(
    ("archs", "text", "kinds"),
    [
        ("gfx90a", HOST + KERNEL, ["filter"]),
        ("gfx90a:xnack-", HOST, ["filter"]),
        ("gfx90a", POINT + KERNEL, []),
        ("gfx942", HOST, ["filter"]),
        ("gfx942", HOST + KERNEL, ["fetch"]),
        ("gfx942,gfx90a", HOST + KERNEL, ["filter", "fetch"]),
        ("gfx1100", HOST + KERNEL, []),
        ("gfx908", HOST + KERNEL, []),
    ],
)
def test_by_target(archs: str, text: bytes, kinds: list[str]) -> None:
    result = hipport.rewrite({"main.cu": text}, target=Target(archs=tuple(archs.split(","))))
    found = [each for each in result.reported if each.rule.startswith("textures/")]
    assert [each.rule.partition("/")[2] for each in found] == kinds
    assert all(arch.partition(":")[0] in each.message for each in found[:1] for arch in archs.split(",")[-1:])
