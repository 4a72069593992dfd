# SPDX-License-Identifier: Apache-2.0
"""The driver's evaluation of runs: differences, trust, mutants, tables. Nothing is compiled here."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path, PurePath
from types import ModuleType, SimpleNamespace

import pytest

import hipport
import verifying
from hipport.program.project import Project
from hipport.reporting import verify_report
from hipport.verifying import extension_verifier, traces
from hipport.verifying.mutants import mutations
from hipport.verifying.results import (
    CaseOutcome,
    Configuration,
    Difference,
    Fault,
    FirstDifference,
    Mutant,
    MutationScore,
    Output,
    Ran,
    Verified,
)

RUN_CASES = Path(extension_verifier.__file__).parents[1] / "executor/run_cases.py"


@pytest.fixture(scope="session")
def run_cases() -> ModuleType:
    pytest.importorskip("torch", reason="PyTorch is not installed: how outputs are compared was not tested")
    spec = importlib.util.spec_from_file_location("run_cases", RUN_CASES)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_importing_needs_neither_numpy_nor_torch() -> None:
    code = "import sys, hipport.verifying.extension_verifier, hipport.reporting.verify_report; "
    code += "print({'numpy', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


def difference(against: str = "original", why: str = "") -> Difference:
    return Difference(against, why, 0.5, 0.25, (1, 2), int(bool(why)), 6, "1.5", "2.0")


def outcome(case: str, *differences: Difference, status: str = "ok", faults: tuple[Fault, ...] = ()) -> CaseOutcome:
    outputs = (Output("y", "float32", (2, 3), differences),) if differences else ()
    return CaseOutcome(case, status, "", 0.1, faults, outputs)


FAULT = Fault(
    "mask", "lane 32 is not in its own mask", PurePath("a.cu"), 7, "k<float>", block=(0, 1, 0), thread=(32, 0, 0)
)


def verified() -> Verified:
    return Verified(
        Path("/tree"),
        "package",
        (
            Ran(Configuration("original", 32), (outcome("one", difference("reference")), outcome("two"))),
            Ran(Configuration("ported", 32), (outcome("one", difference()), outcome("two"))),
            Ran(
                Configuration("ported", 64),
                (
                    outcome("one", difference(why="1 of 6 values differ")),
                    outcome("two", status="fault", faults=(FAULT,)),
                ),
            ),
        ),
        ("the port on an AMD GPU",),
        (FirstDifference("one", Configuration("ported", 64), 3, "k", PurePath("a.cu"), 9, "memory of 8 bytes"),),
        {"original: a.cu": 2.0},
    )


def test_only_the_port_decides_if_there_is_one() -> None:
    whole = verified()
    assert not whole.ok
    assert replace(whole, ran=whole.ran[:2]).ok
    assert replace(whole, ran=whole.ran[:1]).ok
    assert not replace(whole, ran=()).ok
    assert [str(configuration) for configuration, _ in whole.outcomes("one")] == [
        "original@32 forward",
        "ported@32 forward",
        "ported@64 forward",
    ]


def test_text() -> None:
    lines = verify_report.as_text(verified()).splitlines()
    assert lines[0] == "package in /tree"
    assert lines[1].split() == ["case", "original@32", "ported@32", "ported@64"]
    assert lines[2].split() == ["one", *("ok", "5.0e-01", "/", "2.5e-01") * 2, "differs"]
    assert lines[3].split() == ["two", "ok", "equal", "ok", "equal", "mask"]
    text = "\n".join(lines)
    place = "k<float>, block (0, 1, 0), thread (32, 0, 0)"
    assert f"a.cu:7: fault: lane 32 is not in its own mask in {place} [simt/mask] (two, ported@64 forward)" in text
    assert "one, ported@64 forward: y: 1 of 6 values differ, against original: [1, 2] is 1.5, not 2.0" in text
    assert "a.cu:9: one, ported@64 forward: first differs from the original after launch 3 (k): memory of" in text
    assert "not checked:\n  the port on an AMD GPU" in text
    assert lines[-1] == "differs"
    assert "\x1b[" in verify_report.as_text(verified(), colour=True)


def test_a_fault_is_reported_once_per_line_with_its_further_lines() -> None:
    waits = replace(FAULT, message="nobody goes on\n    threads 0-3 wait", thread=())
    found = (outcome("two", status="fault", faults=(waits,)),)
    ran = [Ran(Configuration("ported", 64, order), found) for order in "abc"]
    text = verify_report.as_text(replace(verified(), ran=tuple(ran)))
    first = "a.cu:7: fault: nobody goes on in k<float>, block (0, 1, 0) [simt/mask] (two, ported@64 a and 2 more)"
    assert f"{first}\n    threads 0-3 wait\n" in text
    assert text.count("nobody goes on") == 1


def test_json() -> None:
    values = json.loads(verify_report.as_json(verified()))
    assert values["ok"] is False
    assert [c["name"] for c in values["configurations"]][2] == "ported@64 forward"
    two = values["configurations"][2]["cases"][1]
    assert two["faults"][0] == {
        "rule": "simt/mask",
        "level": "fault",
        "message": "lane 32 is not in its own mask",
        "path": "a.cu",
        "line": 7,
        "kernel": "k<float>",
        "block": [0, 1, 0],
        "thread": [32, 0, 0],
    }
    infinite = replace(difference(), absolute=float("inf"))
    whole = replace(verified(), ran=(Ran(Configuration("ported", 32), (outcome("one", infinite),)),))
    assert json.loads(verify_report.as_json(whole))["configurations"][0]["cases"][0]["outputs"][0]["differences"][0][
        "absolute"
    ] == "inf"  # fmt: skip


def test_a_wrong_original_is_no_reference() -> None:
    wrong = outcome("one", difference("recorded", "1 of 6 values differ"))
    ported = outcome("one", difference("original", "2 of 6 values differ"), difference("recorded"))
    ran = extension_verifier._with_trust(
        [Ran(Configuration("original", 32), (wrong,)), Ran(Configuration("ported", 64), (ported,))]
    )
    assert not ran[0].ok and ran[1].ok
    right = replace(wrong, outputs=(replace(wrong.outputs[0], differences=(difference("recorded"),)),))
    ran = extension_verifier._with_trust(
        [Ran(Configuration("original", 32), (right,)), Ran(Configuration("ported", 64), (ported,))]
    )
    assert ran[0].ok and not ran[1].ok


def test_the_first_launch_that_differs() -> None:
    a = {"kernel": "k", "grid": [1, 1, 1], "memory": [[0, 64, 1], [1, 8, 2]]}
    assert traces._changed(a, a) == ""
    assert traces._changed(a, {**a, "memory": [[0, 64, 1], [1, 8, 3]]}) == "memory of 8 bytes holds something else"
    assert traces._changed(a, {**a, "memory": [[0, 64, 1]]}) == "they allocate different memory"


KERNEL = b"""__global__ void k(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  __syncthreads();
  if (i < n) x[i] = __shfl_xor_sync(0xffffffffu, x[i], 16) + lane + warp;
  __syncthreads();
}
"""


def test_mutants_are_one_change_each_at_the_users_line(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_bytes(KERNEL)
    ported = hipport.rewrite([tmp_path])
    mutants = list(mutations(ported, tmp_path, 20))
    whats = [what for what, *_ in mutants]
    assert whats.count("a barrier is missing") == 2
    assert {
        "a warp's number is that of a wavefront",
        "a lane's number is that of a wavefront",
        "an index is one too large",
    } <= set(whats)
    for what, mutant, path, line in mutants:
        assert path == PurePath("k.cu")
        before = ported.project.sources[0].text.splitlines()
        after = mutant.project.sources[0].text.splitlines()
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1, what
        if what == "a barrier is missing":
            assert line in (3, 5)
        if what == "a helper for 32 lanes is HIP's own for all":
            # HIP rejects a mask of 32 bits.
            assert b" __shfl_xor_sync((unsigned long long)0xffffffffu, x[i], 16)" in mutant.project.sources[0].text
    assert "a helper for 32 lanes is HIP's own for all" in whats
    assert len(list(mutations(ported, tmp_path, 2))) == 2


PORTED = b"""#include "hipport/warp.h"
#include <hip/hip_runtime.h>
__global__ void k(int *x, int n) {
  const int lane = threadIdx.x & 31;
  for (int step = 16; step > 0; step /= 2) x[0] += hipport::shfl_down_sync(0xffffffff, x[lane], step);
  const unsigned votes = hipport::ballot_sync(~0u, x[lane] > 0);
  const int leader = __ffs(votes) - 1;
  hipport::syncwarp();
  auto tile = hipport::cooperative_groups::tiled_partition<32>(hipport::cooperative_groups::this_thread_block());
  tile.sync();
  x[lane] = __popc(votes & hipport::lanemask_lt()) + __popc(votes & ((1u << lane) - 1));
  if (lane == 0) x[n] = tile.shfl_xor(x[n], 16);
  if (lane >= leader) x[n] = 0;
  for (int i = 0; i < n; ++i) x[i] = 0;
}
void run(int *x, int n) { k<<<(n + 63) / 64, 64>>>(x, n); }
"""


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a barrier is missing", "  ;"),
        ("a lane's number is that of a wavefront", "  const int lane = threadIdx.x & 63;"),
        ("the lanes of a warp are in reverse order", "  const int lane = (threadIdx.x ^ 31) & 31;"),
        (
            "a helper for 32 lanes is HIP's own for all",
            "  const unsigned votes = __ballot_sync((unsigned long long)~0u, x[lane] > 0);",
        ),
        ("a ballot of 64 lanes is kept in 32 bits", "  const unsigned votes = (unsigned)__ballot( x[lane] > 0);"),
        (
            "a mask names half of the lanes",
            "  const unsigned votes = hipport::ballot_sync(0x0000ffffu, x[lane] > 0);",
        ),
        (
            "a shuffle reads from one lane further on",
            "  for (int step = 16; step > 0; step /= 2) x[0] += "
            "hipport::shfl_down_sync(0xffffffff, x[lane], 1 + ( step));",
        ),
        (
            "half of the lanes are left out",
            "  for (int step = 8; step > 0; step /= 2) x[0] += hipport::shfl_down_sync(0xffffffff, x[lane], step);",
        ),
        ("a shuffle reaches twice as far", "  if (lane == 0) x[n] = tile.shfl_xor(x[n], 32);"),
        (
            "a tile has half of the lanes",
            "  auto tile = hipport::cooperative_groups::tiled_partition<16>"
            "(hipport::cooperative_groups::this_thread_block());",
        ),
        (
            "a lane counts itself",
            "  x[lane] = __popc(votes & hipport::lanemask_le()) + __popc(votes & ((1u << lane) - 1));",
        ),
        (
            "a lane counts itself",
            "  x[lane] = __popc(votes & hipport::lanemask_lt()) + __popc(votes & hipport::lanemask_le());",
        ),
        ("another lane leads", "  const int leader = __ffs(votes);"),
        ("another lane leads", "  if (lane == 1) x[n] = tile.shfl_xor(x[n], 16);"),
        ("a lane too few takes part", "  if (lane > leader) x[n] = 0;"),
        ("an index is one too large", "  for (int i = 0; i <= n; ++i) x[i] = 0;"),
        ("the last element is left out", "  for (int i = 0; i < n - 1; ++i) x[i] = 0;"),
        ("the last block is left out", "void run(int *x, int n) { k<<<(n) / 64, 64>>>(x, n); }"),
    ],
)
def test_kinds_of_mutants(of_ported: list[tuple[str, str, list[str]]], what: str, line: str) -> None:
    """Each changes one line of the port, at a user's line that contains the code."""
    found = [(own, changed) for kind, own, changed in of_ported if kind == what]
    assert [line] in [changed for _, changed in found]
    users = PORTED.decode().splitlines()
    assert all(own in users for own, _ in found)


@pytest.fixture(scope="module")
def of_ported(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, list[str]]]:
    """Return each mutant's kind, the user's line that it names, and the lines of the port that it changes."""
    folder = tmp_path_factory.mktemp("ported")
    (folder / "k.cu").write_bytes(PORTED)
    ported = hipport.rewrite([folder])
    users = PORTED.decode().splitlines()

    def lines(project: Project) -> list[str]:
        return next(s for s in project.sources if s.path.name == "k.cu").text.decode().splitlines()

    return [
        (
            what,
            users[number - 1],
            [a for a, b in zip(lines(mutant.project), lines(ported.project), strict=True) if a != b],
        )
        for what, mutant, _, number in mutations(ported, folder, 99)
    ]


def test_cases_that_launch_nothing_are_reported() -> None:
    def ran(**launches: int) -> list[Ran]:
        outcomes = tuple(replace(outcome(case), launches=count) for case, count in launches.items())
        return [Ran(Configuration("original", 32), outcomes)]

    assert list(extension_verifier._without_kernels(ran(one=1, two=2))) == []
    assert list(extension_verifier._without_kernels(ran(empty=0, two=2))) == ["kernels in empty: no case launches them"]
    assert list(extension_verifier._without_kernels(ran(one=0, two=0))) == ["the kernels: no case launches one"]
    assert list(extension_verifier._without_kernels([Ran(Configuration("original", 32), (outcome("one"),))])) == []


def test_weak_cases() -> None:
    score = MutationScore(
        (
            Mutant("barrier", PurePath("a.cu"), 3, noticed=("one",), passed=("two",)),
            Mutant("width", PurePath("a.cu"), 4, passed=("one", "two")),
            Mutant("mask", PurePath("a.cu"), 5, why_not="does not compile"),
        )
    )
    assert score.weak == ("two",)
    assert [mutant.what for mutant in score.unnoticed] == ["width"]
    # A mutant with the port's results is not missed.
    assert not score.missed and [mutant.what for mutant in score.noticed] == ["barrier"]
    missed = replace(score, mutants=(*score.mutants, Mutant("order", PurePath("a.cu"), 6, changes="stdout is another")))
    assert [mutant.what for mutant in missed.missed] == ["order"]
    said = verify_report.mutation_score_as_text(missed)
    assert "a.cu:6: order: not noticed, though stdout is another\n" in said
    assert "mutation score: 1 of 2 that give something else are noticed (50 %)" in said
    assert "mutation score: 1 of 1 that give something else" in verify_report.mutation_score_as_text(score)
    values = json.loads(verify_report.mutation_score_as_json(missed))
    assert (values["noticed"], values["missed"], values["mutants"][3]["changes"]) == (1, 1, "stdout is another")
    text = verify_report.mutation_score_as_text(score)
    assert "a.cu:3: barrier: noticed by 1 of 2 cases" in text and "a.cu:4: width: not noticed" in text
    assert json.loads(verify_report.mutation_score_as_json(score))["weak"] == ["two"]


def test_cases_that_cannot_be_used(tmp_path: Path) -> None:
    driver = verifying.driver(tmp_path, {})
    with pytest.raises(extension_verifier.BadCases, match=r"cases\.py is not there"):
        driver.file  # noqa: B018 - it looks
    (tmp_path / "cases.py").write_text("PACKAGE = 'p'\nCASES = {}\n")
    with pytest.raises(extension_verifier.BadCases, match="does not define call, inputs"):
        extension_verifier._declared(driver.file)
    (tmp_path / "cases.py").write_text("PACKAGE = 'p'\nCASES = {}\ndef inputs(rng): ...\ndef call(p): ...\n")
    assert extension_verifier._declared(driver.file)[0] == "p"
    (tmp_path / "cases.py").write_text("PACKAGE = 'p'\nCASES = {'a': {}}\ndef inputs(rng): ...\ndef call(p): ...\n")
    with pytest.raises(extension_verifier.BadCases, match="there is no case b; CASES has a"):
        extension_verifier._declared(driver.file, ["a", "b"])


def test_nothing_to_run_is_no_result(run_cases: ModuleType) -> None:
    with pytest.raises(ValueError, match="CASES is empty"):
        run_cases._check(SimpleNamespace(CASES={}))
    with pytest.raises(ValueError, match="there is no case two; CASES has one"):
        run_cases._check(SimpleNamespace(CASES={"one": {}}), ["one", "two"])
    run_cases._check(SimpleNamespace(CASES={"one": {}}), ["one"])


def test_an_original_that_depends_on_the_order_of_its_threads_is_named() -> None:
    def ran(side: str, order: str, why: str = "") -> Ran:
        outcomes = (outcome("one", difference(why=why)), outcome("two", difference()))
        return Ran(Configuration(side, 32, order), outcomes)

    racy = replace(
        verified(),
        ran=(ran("original", "forward"), ran("original", "reverse", "off"), ran("ported", "reverse", "off")),
    )
    assert racy.depends_on_order == {"one": ("reverse",)} and not racy.ok
    assert "one: the original differs from itself when its threads run in another order (reverse)" in (
        verify_report.as_text(racy)
    )
    assert json.loads(verify_report.as_json(racy))["depends_on_order"] == {"one": ["reverse"]}
    wrong = replace(racy, ran=(ran("original", "forward"), ran("ported", "reverse", "off")))
    assert wrong.depends_on_order == {} and "differs from itself" not in verify_report.as_text(wrong)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("CASES = ['a']", r"CASES must be a dict"),
        ("CASES = {'a': 1}", r"CASES must be a dict"),
        ("CASES = {}\nGRADIENTS = ['x']", r"GRADIENTS must be a dict"),
        ("CASES = {}\nGRADIENTS = {'g': 'x'}", r"GRADIENTS must be a dict"),
        ("CASES = {}\nGRADIENT_CASES = ('a',)", r"GRADIENT_CASES has names that CASES does not have: a"),
    ],
)
def test_cases_of_a_wrong_shape(tmp_path: Path, line: str, said: str) -> None:
    run_cases = pytest.importorskip(
        "hipport.executor.run_cases", reason="NOT CHECKED: no PyTorch", exc_type=ImportError
    )
    (tmp_path / "cases.py").write_text(f"PACKAGE = 'p'\n{line}\ndef inputs(rng): ...\ndef call(p): ...\n")
    request = {"cases": str(tmp_path / "cases.py"), "folder": str(tmp_path), "runs": [], "output": str(tmp_path / "o")}
    (tmp_path / "request.json").write_text(json.dumps(request))
    with pytest.raises(SystemExit, match=said):
        run_cases.main(str(tmp_path / "request.json"))


def test_an_output_that_is_no_array_is_named() -> None:
    """The gradient of an unused input is None, which can be written and not be read."""
    run_cases = pytest.importorskip(
        "hipport.executor.run_cases", reason="NOT CHECKED: no PyTorch", exc_type=ImportError
    )
    cases = SimpleNamespace(CASES={"a": {}}, inputs=lambda _rng: {}, call=lambda _package: {"out": 1.0, "slope": None})
    with pytest.raises(TypeError, match=r"call\(\) must return tensors and numbers, but slope is None"):
        run_cases._one(cases, None, "a", "cpu")
    cases.call = lambda _package: {"out": 1.0, "flags": [True]}
    assert set(run_cases._one(cases, None, "a", "cpu")[0]) == {"out", "flags"}


def test_a_port_with_nothing_to_compare_with_is_not_verified() -> None:
    hangs = CaseOutcome("one", "timeout", "did not end")
    against_original, against_reference = (
        Ran(Configuration("ported", 64), (outcome("one", difference(against)),))
        for against in ("original", "reference")
    )
    unknown = replace(verified(), ran=(Ran(Configuration("original", 32), (hangs,)), against_original))
    assert unknown.without_reference == ("one",)
    assert not unknown.ok
    assert "nothing to compare with" in verify_report.as_text(unknown)
    assert json.loads(verify_report.as_json(unknown))["without_reference"] == ["one"]
    known = replace(unknown, ran=(unknown.ran[0], against_reference))
    assert known.without_reference == ()
    assert known.ok
    in_other_orders = Ran(Configuration("original", 32, "reverse"), (outcome("one", difference("original")),))
    assert replace(unknown, ran=(*unknown.ran, in_other_orders)).ok
