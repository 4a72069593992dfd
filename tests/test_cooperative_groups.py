# SPDX-License-Identifier: Apache-2.0
"""Cooperative groups over several files, and for old releases."""

from pathlib import PurePosixPath

import pytest

from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.syntax.cuda import Cuda
from hipport_passes.device import cooperative_groups

HEADER = b"""#pragma once
#include <cooperative_groups.h>
__device__ inline void wait(cooperative_groups::thread_block block) { block.sync(); }
"""
NATIVE = b"""#include "wait.cuh"
__global__ void kernel() { wait(cooperative_groups::this_thread_block()); }
"""
SCAN = b"""#include "../wait.cuh"
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__device__ int prefix(cg::thread_block_tile<32> tile, int value) { return cg::exclusive_scan(tile, value); }
"""


def ported(texts: dict[str, bytes], rocm: tuple[int, int] = (6, 4)) -> dict[str, str]:
    sources = tuple(Cuda(PurePosixPath(path), text) for path, text in texts.items())
    result = run(Project(sources, Target(rocm=rocm)), (cooperative_groups.PASS,))
    found = {str(source.path): source.text.decode() for source in result.project.sources}
    return found | {str(file.path): "" for file in result.created}


def test_files_that_belong_together_have_the_same_groups() -> None:
    texts = {"wait.cuh": HEADER, "native.cu": NATIVE, "deep/scan.cu": SCAN, "other/wait.cuh": HEADER}
    out = ported(texts)
    assert '#include "hipport/groups.h"' in out["wait.cuh"]
    assert "wait(hipport::cooperative_groups::thread_block block)" in out["wait.cuh"]
    assert "wait(hipport::cooperative_groups::this_thread_block())" in out["native.cu"]
    assert '#include "../hipport/groups.h"' in out["deep/scan.cu"]
    # Nothing connects this file to the others.
    assert out["other/wait.cuh"] == HEADER.decode()
    assert set(out) - set(texts) == {"hipport/groups.h", "hipport/warp.h"}


@pytest.mark.parametrize("before", ["", "#include <cuda_runtime.h>\n", "#include <torch/extension.h>\n"])
def test_old_hip_needs_the_runtime_first(before: str) -> None:
    text = f"{before}#include <cooperative_groups.h>\n"
    assert ported({"a.cu": text.encode()})["a.cu"] == text
    added = "" if before else "#include <hip/hip_runtime.h>\n"
    assert ported({"a.cu": text.encode()}, (5, 2))["a.cu"] == added + text
