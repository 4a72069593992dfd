# SPDX-License-Identifier: Apache-2.0
"""LLVM's results on collectives and barriers: read from opt's output, mapped to the user's lines, and compared."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePath

import pytest
from click.testing import CliRunner

from hipport import api
from hipport.analysis.kernels import Kernels
from hipport.analysis.uniform_values import BLOCK
from hipport.building.builder import Built
from hipport.building.oracle import Oracle, compared, condition_at
from hipport.building.proving import Branch, ReachedSite, UnitProof, find_opt, judged_targets
from hipport.cli import main
from hipport.core.finding import Certainty
from hipport.engine.outcomes import Ported
from hipport.program.project import Target
from hipport.reporting.evidence import Evidence, as_values
from hipport.reporting.report import built_as_json, built_as_text
from hipport.syntax.cuda import Cuda
from hipport.toolchain.control_dependence import all_deciding, deciding, leading
from hipport.toolchain.device_code import CompiledDeviceCode, CompiledPlace
from hipport.toolchain.toolchains import Toolchain, find

#: One kernel for each question; the comments mark the places.
PROGRAM = """\
struct Pair { int first, second; };
#define FIRST(v) __shfl_sync(~0u, v, 0)
__device__ int both(int v, int n) {
  if (n) return __shfl_sync(~0u, v, 1); else return __shfl_sync(~0u, -v, 1);  // both
}
__global__ void proven(int *out, int n) {
  int same = (threadIdx.x ^ threadIdx.x) + n;
  if (same) out[n] = __shfl_sync(~0u, n, 0); else out[n] = __shfl_sync(~0u, -n, 0);  // proven
}
__global__ void open(int *out, int n) {
  auto odd = [&](int i) { return (i + threadIdx.x) & 1; };
  if (odd(n)) out[n] = __shfl_sync(~0u, n, 0); else out[n] = __shfl_sync(~0u, -n, 0);  // open
}
__global__ void warps(int *out, int n) {
  if (threadIdx.x / 32 == 1) out[n] = __shfl_sync(~0u, n, 0); else out[n] = __shfl_sync(~0u, -n, 0);  // warps
}
__global__ void behind(int *out, int n) {
  if (threadIdx.x < 7) out[0] = __shfl_sync(~0u, n, 0);  // first
  if (threadIdx.x >= 7) out[0] = __shfl_sync(~0u, n, 0);  // second
}
__global__ void leaves(int *out, int n) {
  if (threadIdx.x < n) return;
  out[0] = FIRST(n) + both(n, n);  // macro
  for (int i = 0; i < n; ++i) { __syncthreads(); out[i] += 1; }  // barrier
}
__global__ void arrays(int *out, int n) {
  int values[2] = {n, n + 1}, *const all[2] = {values, values + 1};
  for (int value : values)
    if (value > 0 && *all[value & 1]) out[n] += __reduce_add_sync(~0u, n);  // array
}
__global__ void votes(int *out, int n) {
  if (__syncthreads_or(threadIdx.x > n)) out[n] = __any_sync(~0u, n); else out[n] = __any_sync(~0u, -n);  // vote
}
void launch(int *out, int n) {
  votes<<<1, 64>>>(out, n);
  arrays<<<1, 64>>>(out, n);
  proven<<<1, 64>>>(out, n);
  open<<<1, 64>>>(out, n);
  warps<<<1, 64>>>(out, n);
  behind<<<1, 64>>>(out, n);
  leaves<<<1, 64>>>(out, n);
}
"""
TARGET = Target(archs=("gfx1100",))


def line(comment: str, text: str = PROGRAM) -> int:
    return next(i for i, each in enumerate(text.splitlines(), 1) if each.endswith(f"// {comment}"))


def hipcc() -> Toolchain:
    found = [each for each in find(os.environ, Path(sys.executable)) if each.targets(["gfx1100"]) and each.hip[0] >= 6]
    if not found:
        pytest.skip("NOT CHECKED against LLVM: no hipcc (hipport toolchain install)")
    return found[0]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ported, Built]:
    chosen = hipcc()
    folder = tmp_path_factory.mktemp("oracle")
    tree = folder / "tree"
    tree.mkdir()
    (tree / "a.cu").write_text(PROGRAM)
    ported = api.rewrite([tree], target=TARGET)
    api.save(ported)
    env = {**chosen.environment(os.environ), "XDG_CACHE_HOME": str(folder / "cache"), "ROCM_PATH": str(chosen.root)}
    return tree, ported, api.build([tree], env=env, target=TARGET, prove=True)


def oracle_of(built: Built) -> Oracle:
    assert built.ok
    assert built.oracle is not None
    assert built.oracle.why_not == ""
    return built.oracle


@pytest.mark.toolchain
def test_llvm_discharges_review_findings(built: tuple[Path, Ported, Built]) -> None:
    _, ported, done = built
    oracle = oracle_of(done)
    asked = {each.line for each in ported.reported if each.certainty is Certainty.REVIEW}
    assert asked == {line("proven"), line("open"), line("first"), line("second")}
    assert {each.finding.line for each in oracle.discharged} == {line("proven")}
    assert {each.targets for each in oracle.discharged} == {("gfx1100",)}
    # All lanes that reach the second call do so alone, and those at the first wait for them there.
    waiting = "lanes may still wait at an earlier call that not all of them reach"
    whys = {each.finding.line: each.why for each in oracle.undecided}
    assert whys.keys() == {line("open"), line("first"), line("second")}
    assert whys[line("second")] == waiting
    assert oracle.contradictions == ()
    text = built_as_text(done)
    assert f"a.cu:{line('proven')}:22: proven by LLVM for gfx1100, needs no check: __shfl_sync" in text
    assert f"a.cu:{line('open')}:24: not proven by LLVM: lanes may diverge at a.cu:{line('open')}" in text
    assert "2 assumptions proven, 4 not proven, 0 contradictions" in text
    values = json.loads(built_as_json(done))["oracle"]
    assert [each["line"] for each in values["discharged"]] == [line("proven")] * 2


@pytest.mark.toolchain
def test_places_are_those_of_the_original(built: tuple[Path, Ported, Built]) -> None:
    """An include was added above all of them, and names on their lines became longer."""
    (proof,) = oracle_of(built[2]).proofs
    rows = PROGRAM.splitlines()
    found = {(each.line, rows[each.line - 1][each.column - 1 :][:11]) for each in proof.reached}
    shuffles = {(line(each), "__shfl_sync") for each in ("proven", "open", "warps", "first", "second", "both")}
    votes = {(line("array"), "__reduce_ad"), (line("vote"), "__any_sync("), (line("vote"), "__syncthrea")}
    assert found == {*shuffles, *votes, (line("macro"), "FIRST(n) + "), (line("barrier"), "__syncthrea")}
    kernels = {(each.line, each.proven) for each in proof.reached}
    apart = ("open", "warps", "first", "second", "array", "vote")
    # A thread that returned early reaches nothing more, and does not affect the others' proof.
    assert {row for row, proven in kernels if not proven} == {line(e) for e in apart}


@pytest.mark.toolchain
def test_memory_of_a_lane_is_not_proven_and_contradicts_nothing(built: tuple[Path, Ported, Built]) -> None:
    """LLVM treats all values that a lane loads from private memory as varying, and all that it loads through them."""
    (proof,) = oracle_of(built[2]).proofs
    (call,) = (each for each in proof.reached if each.line == line("array"))
    said = {(each.line, each.proven, each.varies_in_block, each.varies_in_warp) for each in call.branches}
    assert said == {(line("array"), False, False, False)}


@pytest.mark.toolchain
def test_a_vote_of_the_block_is_not_derived_from_threads(built: tuple[Path, Ported, Built]) -> None:
    """LLVM sees how it is computed from the lanes' values."""
    (proof,) = oracle_of(built[2]).proofs
    at_vote = [each for each in proof.reached if each.line == line("vote")]
    assert {each.barrier for each in at_vote} == {True, False}
    assert {branch.varies_in_block for each in at_vote for branch in each.branches} == {False}


@pytest.mark.toolchain
def test_a_contradiction_is_an_error_of_hipports(
    built: tuple[Path, Ported, Built], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, _, done = built
    proofs = oracle_of(done).proofs
    level, differ = Kernels.uniformity, Kernels.may_differ

    def wrong(function: object, node: object) -> bool:
        return function.text(node) == b"odd(n)"  # type: ignore[attr-defined]

    monkeypatch.setattr(
        Kernels, "uniformity", lambda self, f, n, **more: BLOCK if wrong(f, n) else level(self, f, n, **more)
    )
    monkeypatch.setattr(
        Kernels,
        "may_differ",
        lambda self, f, n, size, **more: not wrong(f, n) and differ(self, f, n, size, **more),
    )
    faulty = api.rewrite({"a.cu": PROGRAM.encode()}, target=TARGET, jobs=1)
    assert line("open") not in {each.line for each in faulty.reported if each.certainty is Certainty.REVIEW}
    oracle = compared(proofs, tree, tree, faulty)
    (only,) = oracle.contradictions
    assert (only.path, only.line, only.column, only.condition) == (PurePath("a.cu"), line("open"), 7, "odd(n)")
    assert only.scope == "block"
    assert only.calls == ((PurePath("a.cu"), line("open"), "__shfl_sync"),)
    worse = replace(done, oracle=oracle)
    assert not worse.ok
    text = built_as_text(worse)
    assert f"a.cu:{line('open')}:7: error of hipport's: hipport said SAFE of __shfl_sync" in text
    assert "please report it" in text
    assert json.loads(built_as_json(worse))["oracle"]["contradictions"][0]["targets"] == ["gfx1100"]


@pytest.mark.toolchain
def test_answers_are_cached(built: tuple[Path, Ported, Built]) -> None:
    tree, _, done = built
    chosen = done.toolchain
    env = {
        **chosen.environment(os.environ),
        "XDG_CACHE_HOME": str(tree.parent / "cache"),
        "ROCM_PATH": str(chosen.root),
    }
    again = oracle_of(api.build([tree], env=env, target=TARGET, prove=True))
    assert [each.cached for each in again.proofs] == [True]
    assert again.discharged == oracle_of(done).discharged


# ---- what needs no compiler

KERNEL = "__global__ void k(int *out, int n) {\n  if (n) out[0] = __shfl_sync(~0u, n, 0);\n}\n"


#: Lanes diverge at it, and both calls are REVIEW: they are in columns 33 and 71.
BOTH = """\
__global__ void k(int *out, int n) {
  if (threadIdx.x & 1) out[0] = __shfl_sync(~0u, n, 0); else out[1] = __shfl_sync(~0u, n, 1);
}
"""


def proof(
    *, proven: bool = False, block: bool = True, why_not: str = "", columns: tuple[int, ...] = (19,)
) -> UnitProof:
    path = PurePath("a.cu")
    branch = Branch(path, 2, 7, True, proven, block, block)
    reached = [ReachedSite("shfl_sync", False, path, 2, column, "k", (branch,)) for column in columns]
    return UnitProof(path, "gfx942", 1.0, False, () if why_not else tuple(reached), why_not=why_not)


def held(*proofs: UnitProof, text: str = KERNEL) -> Oracle:
    return compared(proofs, Path("/t"), Path("/t"), api.rewrite({"a.cu": text.encode()}, jobs=1))


@pytest.mark.parametrize(
    ("asked", "contradicted"),
    [(proof(), 1), (proof(block=False), 0), (proof(proven=True), 0), (proof(why_not="no opt"), 0)],
)
def test_only_values_from_a_threads_number_contradict(asked: UnitProof, contradicted: int) -> None:
    oracle = held(asked)
    assert len(oracle.contradictions) == contradicted
    assert len(oracle.not_judged) == bool(asked.why_not)


@pytest.mark.parametrize(
    ("masks", "warp", "contradicted"),
    [((-1, -1), True, 1), ((0xFF, 0xFF00), True, 0), ((-1, None), True, 0), ((-1, -1), False, 0)],
)
def test_calls_on_both_ways_of_a_branch_that_hipport_says_nothing_of(
    masks: tuple[int, int | None], warp: bool, contradicted: int
) -> None:
    """As if the analysis had missed the branch: the macro hides it from `condition_at`, too."""
    text = "#define EITHER(x, y) if (x) { y; return; }\n__global__ void k(int *out, int n) {\n"
    text += "  EITHER(n, out[0] = __shfl_sync(~0u, n, 0))\n  out[0] = __shfl_sync(~0u, n, 1);\n}\n"
    path = PurePath("a.cu")
    branch = Branch(path, 3, 3, True, False, True, warp, 7)
    calls = [
        ReachedSite("shfl_sync", False, path, 3 + way, 22 - 10 * way, "k", (branch,), ((7, way),), mask)
        for way, mask in enumerate(masks)
    ]
    oracle = held(UnitProof(path, "gfx942", 1.0, False, tuple(calls)), text=text)
    assert [each.scope for each in oracle.contradictions] == ["ways"] * contradicted
    for each in oracle.contradictions:
        assert [(line_, name) for _, line_, name in each.calls] == [(3, "__shfl_sync"), (4, "__shfl_sync")]
        assert "which lanes of one warp reach on different ways" in each.message


def test_manual_findings_are_no_contradiction() -> None:
    oracle = held(proof(columns=(33, 71)), text=BOTH)
    assert oracle.contradictions == ()
    assert {each.why for each in oracle.undecided} == {"lanes may diverge at a.cu:2, as far as LLVM sees"}


def test_a_unit_that_was_not_judged_leaves_its_findings_open() -> None:
    oracle = held(proof(proven=True, columns=(33, 71)), proof(why_not="it does not compile"), text=BOTH)
    assert oracle.discharged == ()
    assert {each.why for each in oracle.undecided} == {"LLVM was not asked about all units: it does not compile"}


def test_the_other_call_on_a_line_proves_nothing() -> None:
    oracle = held(proof(proven=True, columns=(33,)), text=BOTH)
    assert [each.finding.column for each in oracle.discharged] == [33]
    assert {each.why for each in oracle.undecided} == {"no kernel that was compiled has it"}


def test_conditions_are_found_where_compilers_place_branches() -> None:
    text = b"__global__ void k(int n) { for (int i = 0; i < n; ++i) if (n > 3 && i) n = i ? 1 : 2; while (n) --n; }"
    (function,) = Kernels.of(api.rewrite({"a.cu": text}, jobs=1).before).functions(Cuda(PurePath("a.cu"), text))
    rows = {b"for": b"i < n", b"> 3": b"n > 3 && i", b"i) n": b"n > 3 && i", b"i ?": b"i", b"while": b"n"}
    for at, wanted in rows.items():
        node = condition_at(function, text.index(at))
        assert node is not None
        assert function.text(node) == wanted
    assert condition_at(function, text.index(b"--n")) is None


def test_one_target_for_each_size_of_wavefronts_is_asked_about() -> None:
    assert judged_targets(("gfx90a", "gfx942:xnack+", "gfx1030", "gfx1100")) == ("gfx90a", "gfx1030")
    assert judged_targets(("gfx1201",)) == ("gfx1201",)


def test_control_dependence() -> None:
    # 0 → 1 or 2, which join in 3; 3 is a loop of 3 and 4, left for 5; nothing leaves 6.
    graph = [(1, 2), (3,), (3,), (4, 5), (3,), (), (6,)]
    direct = deciding(graph)
    assert [set(each) for each in direct] == [set(), {(0, 0)}, {(0, 1)}, {(3, 0)}, {(3, 0)}, set(), set()]
    assert all_deciding(direct, 4) == {(3, 0)}
    assert leading(graph, [4]) == {0, 1, 2, 3, 4}
    nested = deciding([(1, 4), (3, 2), (3,), (4,), ()])
    assert all_deciding(nested, 2) == {(0, 0), (1, 1)}


def test_llvms_text_is_read() -> None:
    code = CompiledDeviceCode(
        """\
define amdgpu_kernel void @_Z1kv(ptr %0) #0 !dbg !4 {
  %2 = call range(i32 0, 8) %"class.a b" @"f g"(ptr dereferenceable(4) %0), !dbg !7
  br i1 true, label %3, label %6, !dbg !7

3:                                                ; preds = %1
  switch i32 %2, label %6 [
    i32 0, label %"a b"
    i32 1, label %6
  ], !dbg !8

"a b":                                            ; preds = %3
  br label %6

6:
  ret void
}
!1 = !DIFile(filename: "a.cu", directory: "/x")
!4 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 1)
!5 = !DILexicalBlock(scope: !4, line: 2)
!7 = !DILocation(line: 2, column: 5, scope: !5, inlinedAt: !8)
!8 = distinct !DILocation(line: 9, column: 1, scope: !4)
"""
    )
    (kernel,) = code.functions.values()
    assert kernel.kernel
    blocks = code.blocks(kernel)
    assert [each.following for each in blocks] == [(1,), (3, 2), (3,), ()]
    assert blocks[0].calls[0].callee == "f g"
    assert blocks[0].calls[0].places == (CompiledPlace("/x/a.cu", 2, 5), CompiledPlace("/x/a.cu", 9, 1))
    assert [each.branch for each in blocks] == [(), (CompiledPlace("/x/a.cu", 9, 1),), (), ()]


def fake(tmp_path: Path, said: str) -> Toolchain:
    script = tmp_path / "bin/hipcc"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho '{said}'\n")
    script.chmod(0o755)
    return Toolchain(script, (6, 4, 0), "21", frozenset({"gfx942"}), "given")


@pytest.mark.parametrize("said", ["opt", "/nowhere/opt", ""])
def test_without_opt_it_says_so(tmp_path: Path, said: str) -> None:
    why = find_opt(fake(tmp_path, said), os.environ, 60.0)
    assert isinstance(why, str)
    assert "has no `opt`" in why
    assert "hipport toolchain install" in why


def test_a_requested_proof_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.cu").write_text(KERNEL)
    (tmp_path / "cache").mkdir()
    chosen = fake(tmp_path / "cache", "opt")
    result = Built(tmp_path, chosen, ("gfx942",), (), (), (), Oracle(targets=("gfx942",), why_not="it has no opt"))

    def build(*_: object, prove: bool, **__: Mapping[str, object]) -> Built:
        assert prove
        return result

    monkeypatch.setattr(api, "build", build)
    ran = CliRunner().invoke(main, ["build", str(tmp_path), "--prove"])
    assert ran.exit_code == 1
    assert "LLVM was not asked who reaches collectives and barriers: it has no opt" in ran.output


def test_a_manifest_lists_llvms_proofs_and_open_findings(tmp_path: Path) -> None:
    ported = api.rewrite({"a.cu": BOTH.encode()}, jobs=1)
    oracle = compared([proof(proven=True, columns=(33, 71))], tmp_path, tmp_path, ported)
    assert len(oracle.discharged) == 2
    chosen = Toolchain(tmp_path / "hipcc", (7, 0, 0), "21", frozenset({"gfx942"}), "given")
    done = Built(tmp_path, chosen, ("gfx942",), (), (), (), oracle)
    found = Evidence(tmp_path, tmp_path, (), ported, done, ())
    assert "proven: LLVM's uniformity analysis for gfx942: 2 places" in "\n".join(found.shown)
    assert "right under its assumptions: 2 changes to review, of which LLVM has proven 2" in found.not_checked
    assert len(as_values(found)["compiled"]["oracle"]["discharged"]) == 2
    missing = replace(done, oracle=Oracle(targets=("gfx942",), why_not="it has no opt"))
    said = Evidence(tmp_path, tmp_path, (), ported, missing, ()).not_checked
    assert "proven by LLVM, who reaches collectives and barriers: it has no opt" in said
