# SPDX-License-Identifier: Apache-2.0
"""The grounds of findings in code in which threads wait for each other, and `hipport explain FILE:LINE`.

hipport.testing has a law that each such finding of a fixture carries a proof.
"""

import json
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from click.testing import CliRunner

import hipport
from hipport.cli import main
from hipport.core.proof import Ground, Scope, missing, without_reason
from hipport.engine.outcomes import Reported
from hipport.reporting.explained_places import Explained
from hipport.reporting.grouped_findings import decisions
from hipport.testing import fixture, proved
from hipport_passes import PASSES

ROOT = Path(__file__).parent.parent
PROGRAM = """\
#include <cuda_runtime.h>
#include "helpers.cuh"
__global__ void k(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int warp = threadIdx.x / 32;
    if (i >= n) return;
    float v = x[i];
    if (n > 4) v = __shfl_sync(~0u, v, 0);
    if (warp == 1) v = sum(v);
    if (odd(i)) v = __shfl_sync(~0u, v, 0);
    else v = __shfl_sync(~0u, v, 1);
    if (blockIdx.x < 3) __syncthreads();
    x[i] = v;
}
__global__ void parted(float *x) {
    if (lane() > 7) { x[0] = 1; __syncthreads(); x[1] = 2; }
    else { for (int i = 0; i < 3; ++i) __syncthreads(); }
}
__global__ void masks(int *x) {
    x[0] = __ballot_sync(0xffffffffffffffffull, x[0]);
    x[1] = __shfl_down_sync(0xfffffff, x[0], 1);
}
int main() { k<<<1, 256>>>(0, 3); masks<<<1, 32>>>(0); }
"""
HELPERS = """\
#pragma once
__device__ bool odd(int n);
__device__ int lane() {
    return threadIdx.x % 32;
}
__device__ float sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / ".git").mkdir()
    (folder / "k.cu").write_text(PROGRAM)
    (folder / "helpers.cuh").write_text(HELPERS)
    return folder


@pytest.fixture(scope="module")
def reported(tree: Path) -> tuple[Reported, ...]:
    return hipport.scan([tree]).ported.reported


def of_line(reported: tuple[Reported, ...], path: str, line: int, rule: str) -> Reported:
    (found,) = (each for each in reported if (each.path.as_posix(), each.line, each.rule) == (path, line, rule))
    return found


def said(found: Reported) -> list[tuple[str, str, str, int]]:
    return [(str(each.scope), each.claim, each.reason, each.line) for each in found.proof]


def test_a_collective_under_a_condition_that_is_uniform(reported: tuple[Reported, ...]) -> None:
    found = of_line(reported, "k.cu", 8, "warp_intrinsics/helper")
    assert str(found.certainty) == "safe" and all(each.proven for each in found.proof)
    assert said(found) == [
        ("warp", "it waits for all lanes of a warp, except those that have exited", "its mask is `~0u`", 8),
        ("grid", "`n > 4` is uniform in the launch", "`n` is a parameter of the kernel `k`", 8),
        (
            "group",
            "the lanes that do not leave at `i >= n` in line 6 reach it together",
            "nothing waits for lanes that have left the kernel",
            6,
        ),
        ("block", "all threads of a block enter `k`", "it is a kernel", 3),
    ]


def test_a_collective_in_a_function_of_another_file_has_the_conditions_of_its_calls(
    reported: tuple[Reported, ...],
) -> None:
    found = of_line(reported, "helpers.cuh", 7, "warp_intrinsics/helper")
    assert str(found.certainty) == "safe"
    ways = [each for each in found.proof if each.path == PurePosixPath("k.cu")]
    assert [(each.claim, each.line) for each in ways] == [
        ("`warp == 1` is uniform in the warp", 9),
        ("the lanes that do not leave at `i >= n` in line 6 reach it together", 6),
    ]
    assert "the same result, in blocks of 256 × 1 × 1 threads" in ways[0].reason
    (called,) = (each for each in found.proof if each.claim == "threads that reach a call of `sum` reach it")
    assert called.reason == "1 call of it is seen, in the code of 1 kernel"


def test_an_unproven_collective_has_a_reason(reported: tuple[Reported, ...]) -> None:
    found = of_line(reported, "k.cu", 10, "warp_intrinsics/helper")
    assert str(found.certainty) == "review"
    why = "`odd(i)` in line 10 may vary between lanes: odd, which is not seen, may give each thread its own"
    assert said(found) == [("warp", "all lanes that its mask names reach this call together", why, 10)]
    assert found.message.endswith(f"; not proven: {why}") and not found.proof[0].proven
    # A person has one thing to check, whatever is missing at each place.
    other = replace(found, line=11, message=f"{without_reason(found.message)}; not proven: something else")
    assert len(decisions([found, other])) == 1 and "not proven" not in decisions([found, other])[0].message


def test_a_mask(reported: tuple[Reported, ...]) -> None:
    full = of_line(reported, "k.cu", 20, "lane_masks/full")
    assert said(full)[0][:2] == ("warp", "the mask names all lanes of a warp, and no others")
    assert "0xffffffffffffffffull" in full.proof[0].reason
    some = of_line(reported, "k.cu", 21, "warp_intrinsics/helper")
    assert str(some.certainty) == "review" and some.message.endswith(missing(some.proof))
    assert "28 lanes of a warp" in some.proof[1].claim


def test_a_place_where_nothing_changes(tree: Path) -> None:
    explained = hipport.explain_place(tree / "k.cu", 12)
    assert isinstance(explained, Explained) and not explained.reported
    (kept,) = explained.kept
    assert kept.name == "the barrier `__syncthreads()`" and all(each.proven for each in kept.proof)
    uniform = kept.proof[0]
    assert (uniform.scope, uniform.claim) == (Scope.BLOCK, "`blockIdx.x < 3` is uniform in the block")
    assert uniform.reason == "`blockIdx.x` is the same in a block"
    assert not hipport.explain_place(tree / "k.cu", 13).grounds


def test_a_barrier_that_is_not_proven(tree: Path, reported: tuple[Reported, ...]) -> None:
    found = of_line(reported, "k.cu", 16, "barriers/divergent")
    assert str(found.certainty) == "manual"
    (ground,) = found.proof
    # The reason is in the called function, in its file.
    assert (ground.path, ground.line, ground.proven) == (PurePosixPath("helpers.cuh"), 4, False)
    assert ground.reason == (
        "`lane() > 7` in line 16 may vary between lanes, because of `threadIdx.x` in line 4 of helpers.cuh"
    )
    assert found.message.endswith(missing(found.proof))
    (kept,) = hipport.explain_place(tree / "k.cu", 17).kept
    assert [each.proven for each in kept.proof] == [False]


_DIVIDED = """\
__global__ void k(float *a, int n) {
    if (threadIdx.x < n) {
        a[0] = 1;
        __syncthreads();
    } else {
        __syncthreads();
        a[1] = 2;
    }
    if (threadIdx.x % 3 == 1) __syncthreads();
"""
_LOOP = """\
    for (int i = 0; i < a[threadIdx.x]; i++) {
        __syncthreads();
    }
    __syncthreads();
"""


def explained_lines(tmp_path: Path, text: str) -> dict[int, Explained]:
    (tmp_path / "k.cu").write_text(text)
    return {n: hipport.explain_place(tmp_path / "k.cu", n) for n in range(1, text.count("\n") + 1)}


def test_a_repaired_divergence_proves_nothing_about_other_barriers(tmp_path: Path) -> None:
    lines = explained_lines(tmp_path, _DIVIDED + "}\n")
    (kept,) = lines[9].kept
    # Its own condition is the ground, and not that of the divided statement.
    assert [each.line for each in kept.proof] == [9, 1] and "threadIdx.x % 3" in kept.proof[0].claim
    for line in (4, 6):  # Both are replaced by one, so they do not stay.
        assert not lines[line].kept and [each.rule for each in lines[line].reported] == ["barriers/divergent"]
    left = explained_lines(tmp_path, _DIVIDED + _LOOP + "}\n")
    for line in (9, 11, 13):
        (kept,) = left[line].kept
        assert [each.proven for each in kept.proof] == [False] and "i < a[threadIdx.x]" in kept.proof[0].reason
    assert not left[4].kept and left[4].reported


def test_a_repair_that_is_not_made_is_missing_in_the_proofs_of_all_barriers(tmp_path: Path) -> None:
    ignoring = _DIVIDED.replace(
        "n) {\n    if (threadIdx.x < n) {", "n) {\n    if (threadIdx.x < n) { // hipport: ignore"
    )
    lines = explained_lines(tmp_path, ignoring + "}\n")
    assert str(lines[2].reported[0].outcome) == "ignored"
    for line in (4, 6, 9):
        (kept,) = lines[line].kept
        (ground,) = kept.proof
        assert not ground.proven and ground.line == 2
        assert ground.reason == "the change of barriers/divergent in line 2 of k.cu is not made"


def test_the_command_line(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    runner = CliRunner()
    shown = runner.invoke(main, ["explain", "k.cu:8"])
    assert shown.exit_code == 0
    assert "proven: `n > 4` is uniform in the launch" in shown.output
    assert "because `n` is a parameter of the kernel `k`" in shown.output
    assert "not proven: all lanes that its mask names" in runner.invoke(main, ["explain", "k.cu:10"]).output
    nothing = runner.invoke(main, ["explain", "k.cu:4"])
    assert "nothing here waits for other threads" in nothing.output
    document = json.loads(runner.invoke(main, ["explain", "k.cu:12", "--format", "json"]).output)
    assert document["kind"] == "place" and document["kept"][0]["proof"][0]["scope"] == "block"
    too_far = runner.invoke(main, ["explain", "k.cu:99"])
    assert too_far.exit_code == 2 and "no line 99" in too_far.output
    document = json.loads(runner.invoke(main, ["scan", ".", "--format", "json"]).output)
    proofs = [each["proof"] for each in document["findings"] if each["proof"]]
    keys = {"claim", "scope", "reason", "path", "line", "proven"}
    assert len(proofs) >= 6 and all(ground.keys() == keys for proof in proofs for ground in proof)


def test_a_program_that_is_ported_already(tree: Path, tmp_path: Path) -> None:
    ported = hipport.rewrite({each.name: each.read_bytes() for each in tree.iterdir() if each.is_file()})
    for source in ported.project.sources:
        (tmp_path / source.path).write_bytes(source.text)
    lines = (tmp_path / "k.cu").read_text().split("\n")
    numbers = [number for number, line in enumerate(lines, 1) if "hipport::shfl_sync" in line]
    explained = [hipport.explain_place(tmp_path / "k.cu", number) for number in numbers]
    assert [missing(each.kept[0].proof) != "" for each in explained] == [False, True, True]
    assert explained[0].kept[0].proof[1].claim == "`n > 4` is uniform in the launch"


def test_the_law_finds_missing_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    case = fixture(ROOT / "fixtures/warp_intrinsics/excluding_conditions.before.cu")
    (each,) = (of for of in PASSES if of.name == "warp_intrinsics")
    proved(each, case)
    at = PurePosixPath("excluding_conditions.cu")
    for wrong in (
        (),
        (Ground("it holds", Scope.WARP, "of a reason", at, 10**6),),
        (Ground("`not_there` is uniform in the warp", Scope.WARP, "of a reason", at, 1),),
        (Ground("it holds", Scope.WARP, "of nothing", at, 1, proven=False),),
    ):

        def find(source: object, project: object, wrong: tuple[Ground, ...] = wrong) -> object:
            return (replace(finding, proof=wrong) for finding in each.find(source, project))

        find.__module__ = each.find.__module__
        with pytest.raises(AssertionError):
            proved(replace(each, find=find), case)
