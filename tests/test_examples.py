# SPDX-License-Identifier: Apache-2.0
"""The bundled examples: complete, and their references agree with the originals' results on an NVIDIA GPU."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hipport
import quick_hipcc
from further import further
from hipport.toolchain import toolchains
from source_packages import without_cuda

np = pytest.importorskip("numpy", reason="numpy is not installed: the examples' cases and recordings were not checked")

EXAMPLES = Path(__file__).parent.parent / "ext_examples"


def _record() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record", EXAMPLES / "record.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


record = _record()
NAMES: list[str] = record.examples()
every_example = pytest.mark.parametrize("example", NAMES)


def recorded(example: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays, and their description."""
    with np.load(EXAMPLES / example / "recorded.npz") as arrays:
        return dict(arrays), json.loads((EXAMPLES / example / "recorded.json").read_text(encoding="utf-8"))


def test_the_examples_are_here() -> None:
    assert set(_STAYS) == set(_GOES) == set(NAMES)


@every_example
def test_is_a_whole_extension(example: str) -> None:
    folder = EXAMPLES / example
    script = (folder / "setup.py").read_text(encoding="utf-8")
    assert "CUDAExtension(" in script or "extension = CUDAExtension" in script
    for source in re.findall(r'"([\w/]+\.(?:cu|cpp))"', script):
        assert any(path.as_posix().endswith(f"/{source}") for path in folder.rglob("*")), source
    package = record.load_cases(example).PACKAGE
    assert (folder / package / "__init__.py").is_file()
    for path in folder.rglob("*"):
        if path.suffix in {".cu", ".cuh", ".cpp", ".h", ".inl", ".py"}:
            assert "SPDX-License-Identifier: Apache-2.0" in path.read_text(encoding="utf-8").splitlines()[0], path


def test_cases_need_no_torch() -> None:
    program = f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); import record\n"
    program += "for name in record.examples():\n    cases = record.load_cases(name)\n"
    program += "    for case in cases.CASES:\n        cases.reference(**record.inputs_of(cases, case))\n"
    program += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@every_example
def test_cases_cover_the_edges(example: str) -> None:
    cases = record.load_cases(example).CASES
    assert {"empty", "one"} <= set(cases)
    assert any("half" in name or "double" in name for name in cases), "a second type"


@every_example
def test_inputs_are_those_of_the_recording(example: str) -> None:
    cases = record.load_cases(example)
    _, about = recorded(example)
    assert {case: record.checksum(record.inputs_of(cases, case)) for case in cases.CASES} == about["inputs"]


@every_example
def test_reference_agrees_with_the_recording(example: str) -> None:
    cases = record.load_cases(example)
    arrays, about = recorded(example)
    assert "NVIDIA" in about["gpu"]
    compared = set()
    for case, parameters in cases.CASES.items():
        tolerance = cases.tolerance(**parameters)
        for name, expected in cases.reference(**record.inputs_of(cases, case)).items():
            assert record.difference(arrays[f"{case}/{name}"], expected, tolerance.get(name)) == "", f"{case}/{name}"
            compared.add(f"{case}/{name}")
    assert compared == set(arrays)


@every_example
def test_tolerances_notice_one_wrong_value(example: str) -> None:
    cases = record.load_cases(example)
    arrays, _ = recorded(example)
    for case, parameters in cases.CASES.items():
        tolerance = cases.tolerance(**parameters)
        for name in cases.reference(**record.inputs_of(cases, case)):
            array = arrays[f"{case}/{name}"]
            if array.size == 0:
                continue
            wrong = array.copy()
            if array.dtype.kind in "iu":
                wrong.flat[-1] ^= 1
            else:
                # A hundredth of the largest value: a lost lane or tile causes a larger error.
                wrong.flat[-1] += max(np.abs(array[np.isfinite(array)]).max() / 100, 0.01)
            assert record.difference(wrong, array, tolerance.get(name)), f"{case}/{name}"


def test_difference_distinguishes_values() -> None:
    one = np.array([1.0, np.nan], dtype="float32")
    assert record.difference(one, one, None) == ""
    assert "type" in record.difference(one, one.astype("float64"), None)
    assert record.difference(one, one.astype("float64"), (0.0, 0.0)) == ""
    assert "shape" in record.difference(one, one[:1], (1.0, 1.0))
    assert "1 of 2 values differ, first at (0,)" in record.difference(one, np.array([1.1, np.nan]), (0.01, 0.0))
    assert "first at (1,)" in record.difference(one, np.array([1.0, 1.0]), (1.0, 1.0))


@pytest.fixture
def copy(example: str, tmp_path: Path) -> Path:
    """Return a copy of the example, without files that belong to no repository."""
    return shutil.copytree(
        EXAMPLES / example, tmp_path / example, ignore=shutil.ignore_patterns("recorded.*", "__pycache__")
    )


def lines(folder: Path, example: str) -> set[str]:
    """Return the lines of the example's files, without those that hipport adds."""
    paths = [path.relative_to(EXAMPLES / example) for path in (EXAMPLES / example).rglob("*")]
    sources = [path for path in paths if path.suffix in {".cu", ".cuh", ".cpp", ".h", ".inl", ".py"}]
    return {line for path in sources for line in (folder / path).read_text(encoding="utf-8").splitlines()}


# Text that must not change, or that belongs to the example or to PyTorch.
_STAYS = {
    "elementwise": (
        "cudaMemcpyAsync for the bias",
        "launched act<<<grid, block>>>() per row",
        '#call " failed: "',
        "(cudaError_t ",
        "cudaGridFor(",
        "x.numel() << 1 > limit",
        "cudaErrorIllegalAddress",
        "at::cuda::getCurrentCUDAStream()",
        "(did you forget .cuda()?)",
    ),
    "tiled_matmul": ("TRANS ? data", "set CUDA_HOME and build again"),
    "scan_sort": ("namespace cg = cooperative_groups", "at::cuda::OptionalCUDAGuard", "// Calls a CUB algorithm twice"),
    "compaction": ("i / kBitsPerWord", "i >> 5, bit = i & 31", "threadIdx.x & 31"),
    "ballot_compact": (
        "typedef unsigned int lanemask_t",
        "i >> 5]) >> (i & 31) & 1u",
        "peers >> lane_id() & 1u",
        "31 - __clz(set)",
        "i * 32 + __ffs(word) - 1",
        "__syncthreads_count(",
    ),
    "reductions": (
        "constexpr int kWarpSize = 32",
        "constexpr unsigned kFullMask = 0xffffffff",
        "static __shared__ T shared[32]",
    ),
    "warp_scan": ("volatile T* places", "#define WARP_SIZE (1 << LOG_WARP_SIZE)", "threadIdx.x >> LOG_WARP_SIZE"),
    "match_atomics": ("using mask_t = std::uint32_t;", "31 - __clz(mask)", "~mask_t{1} << lane()", "threadIdx.x & 31u"),
    "tile_binning": (
        "atomicOr(&s_outMask[warp][x + y * p.binsX], 1u << lane)",
        "s_outMask[warp][x + y * p.binsX] |= 1u << owner",
        "(mask >> lane) & 1",
        "temp[BIN_WARPS] = sum",
        "dim3 block(32, BIN_WARPS)",
    ),
    "bitonic_sort": ("threadIdx.x / 32", "31 - lane", "using Key = unsigned long long", "(words & 0xFFFFFFFF)"),
    "hash_table": ("kSlots = 32", "bool done = false;", "__threadfence();", "atomicExch(word_, 0)"),
    "ptx_integers": (
        "permute(a, 0, 0x4103)",
        "__popc(ballot_odd(a) & lanemask_lt())",
        "while ((link = load_acquire(links + number)) >> 32 == 0)",
    ),
    "tile_reduce": (
        "cg::reduce(tile, sum, cg::plus<T>())",
        "cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block)",
        "coalesced_group here = coalesced_threads()",
        "binary_partition(tile, (value & 1) != 0)",
    ),
    "splatting": (
        "#define WARP_SIZE 32",
        "// Behind CUB, which has names of its own",
        "block.thread_rank() % WARP_SIZE",
        "key |= *((uint32_t*)&depth);",
        "cg::this_grid().thread_rank()",
        "at::cuda::getCurrentCUDAStream(), debug",
        "__host__ __device__ __forceinline__",
    ),
    "triangles": (
        "(word >> lane) & 1",
        "U64(1) << (ix + iy * TILE_SIZE)",
        "p.visible[threadIdx.y + WARPS * blockIdx.x] = word",
        "step = 16; step > 0",
        "key[lane] = key[lane + 32] = ~U64(0)",
        "atomicMin(&key[pixel], U64(depth) << 32",
        '"Cuda error: "',
    ),
}
# Code that does not compile with hipcc, or has another meaning.
_GOES = {
    "elementwise": ("<< <", ">> >", "device_launch_parameters.h", "cudaError_t status_", "cudaSuccess"),
    "tiled_matmul": ("cudaFuncSetAttribute", "cuda_fp16.h", "cudaStream_t", "hipFuncSetAttribute(\n      large"),
    "scan_sort": (
        "cooperative_groups/reduce.h",
        "math_constants.h>\n#include <cub",
        " = cub;",
        "namespace cub;",
        " cub::",
        "<cub/",
        "thrust::cuda::par",
        "CUDART_INF_F",
    ),
    "compaction": ("__ballot_sync(", "__shfl_sync(", "__syncwarp()", "__any_sync("),
    "ballot_compact": ("__ballot", "__shfl", "__activemask()", "%%laneid", "asm("),
    "reductions": (" __shfl_down_sync(", " __shfl_xor_sync(", "= __reduce_", "x / warpSize", "% warpSize"),
    "warp_scan": ("  __syncwarp();", "WARP_WAIT() __syncwarp()", "cudaError_t"),
    "match_atomics": (
        " __match_any_sync(",
        "{__match_any_sync(",
        " __match_all_sync(",
        " __reduce_max_sync(",
        "__activemask()",
    ),
    "tile_binning": (
        "__ballot_sync(",
        "__any_sync(",
        "__shfl_up_sync(",
        "__syncwarp();",
        "%lanemask_lt",
        "cudaLaunchKernel(",
    ),
    "bitonic_sort": ("__shfl_xor_sync(0x", "__any_sync(0x", ">= warpSize", "else __syncwarp()"),
    "hash_table": ("while (!done)", " __ballot_sync(", "  __nanosleep(", " __syncwarp();"),
    "ptx_integers": ("asm(", "asm volatile("),
    "tile_reduce": ("cooperative_groups/reduce.h", "cooperative_groups/scan.h", "else rowStatsKernel"),
    "splatting": (
        "<< <",
        ">> >",
        "device_launch_parameters.h",
        "cooperative_groups/reduce.h",
        " __syncthreads_count(",
        " __shfl_down_sync(",
        "(!__any_sync(",
        " cub::",
        "cudaMemsetAsync",
        "cudaError_t status_",
    ),
    "triangles": (
        "= __ballot_sync(",
        "(__shfl_sync(",
        "!__any_sync(",
        "= __shfl_up_sync(",
        "  __syncwarp();",
        "%lanemask_lt",
        "cudaLaunchKernel(",
        "cudaGetLastError()",
    ),
}


# One test, because rewriting takes longer than the rest.
@every_example
def test_rewritten_without_a_person_and_only_once(example: str, copy: Path) -> None:
    before = lines(copy, example)
    ported = hipport.rewrite([copy])
    assert ported.changed
    left = [r for r in ported.reported if r.certainty is hipport.Certainty.MANUAL or r.outcome.value != "applied"]
    assert [str(r) for r in left] == []
    hipport.save(ported)
    after = lines(copy, example)
    for text in _STAYS[example]:
        assert {line for line in before if text in line}, f"{text!r} is not in the example"
        assert any(text in line for line in after), text
    for text in _GOES[example]:
        assert not any(text in line for line in after), text
    # Most of a program does not depend on CUDA or HIP.
    assert len(before & after) > 0.7 * len(before)
    again = hipport.rewrite([copy])
    assert (again.changed, again.created) == ((), ())


#: rocPRIM, and AMD's library for __syncthreads_count, have code for waves of 64 only. Without optimizations it stays in
#: code for 32, and cannot be assembled.
_OPTIMIZED = {"scan_sort": "gfx1100", "splatting": "gfx1100", "ballot_compact": "gfx1100"}


#: Examples that are compiled each time: locks; ballots and inline PTX. Results of passes are also compiled in
#: test_fixture_builds.py, including CUB and groups; the tutorial's test builds one example completely (test_site.py).
_COMPILED = {"hash_table", "ballot_compact"}


@pytest.mark.toolchain
@pytest.mark.parametrize("example", further(NAMES, set(NAMES) - _COMPILED))
def test_compiles_for_both_wavefront_sizes(example: str, copy: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("torch", reason="torch is not installed: the examples were not compiled")
    hipport.save(hipport.rewrite([copy]))
    archs = ("gfx942", "gfx1100")
    try:
        hipcc = toolchains.choose(toolchains.find(os.environ), archs)
    except toolchains.NoToolchain as missing:
        pytest.skip(f"no hipcc for {archs}: not compiled: {missing}")
    # Only whether the kernels compile, for both devices, which takes less time without optimizations:
    # test_verify_examples.py compiles their C++.
    env = quick_hipcc.environment(hipcc, without_cuda(), tmp_path_factory)
    env |= {"HIPPORT_OPTIMIZED": _OPTIMIZED.get(example, ""), "HIPPORT_NO_HOST": "1"}
    if example == "tiled_matmul":
        # It has operators for half, for which alone PyTorch's headers would be precompiled.
        del env["HIPPORT_PRECOMPILED"]
    built = hipport.build(sorted(copy.rglob("*.cu")), env=env)
    assert built.targets == archs
    errors = [f"{said.path}:{said.line}: {said.text}" for said, _ in built.messages if said.severity == "error"]
    assert errors == []
    assert built.ok, built.not_built
    # Device code in the host's object for each target.
    assert {(row[0].path.suffix, len(row)) for row in built.units} == {(".cu", 3)}
