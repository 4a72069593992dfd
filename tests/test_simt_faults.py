# SPDX-License-Identifier: Apache-2.0
"""The executor finds errors, names them and their places, and never hangs."""

import os
from pathlib import Path

import pytest

from endless import ENDLESS
from hipport.executor import compile as compiling
from hipport.verifying.execution import Limits
from hipport.verifying.program_runs import ProgramRun
from hipport.verifying.results import Configuration
from verifying import run

HERE = Path(__file__).parent / "simt_faults"
CUDA, HIP, WAITS, BALLOTS = (HERE / name for name in ("faults.cu", "faults.hip", "waits.hip", "ballots.hip"))
LIBRARIES, MEMORY, BRANCHES = (HERE / name for name in ("libraries.cu", "memory.cu", "branches.cu"))
ENV = {**os.environ}


def marked(file: Path, name: str) -> int:
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.endswith(f"// here: {name}"):
            return number
    raise AssertionError(f"{file.name} marks no line {name}")


@pytest.fixture(scope="module")
def cuda() -> Path:
    # The options with which `hipport verify` compiles originals.
    return compiling.program([CUDA], "cuda", compiling.CompileOptions(ENV, indices=True)).path


@pytest.fixture(scope="module")
def hip() -> Path:
    return compiling.program([HIP], "hip", compiling.CompileOptions(ENV)).path


def ran(
    program: Path, what: str, side: str = "original", lanes: int = 32, order: str = "forward", **env: str
) -> ProgramRun:
    # SIMT_* variables do not reach a program under verification: a wrapper sets those that a test needs.
    wrapped = ["env", *(f"{name}={value}" for name, value in env.items()), str(program), what]
    return run(Path("/usr/bin/env"), wrapped[1:], Configuration(side, lanes, order), ENV, HERE, Limits(ENDLESS), HERE)


FOUND = [
    ("deadlock", "deadlock", "deadlock"),
    ("mask-without-caller", "mask-without-caller", "maskWithoutCaller"),
    ("past-the-end", "out-of-bounds", "pastTheEnd"),
    ("released", "out-of-bounds", "released"),
    ("past-shared", "out-of-bounds", "pastShared"),
    ("past-dynamic", "out-of-bounds", "pastDynamic"),
    ("deep", "stack-overflow", "deep"),
    ("divides", "division", "divides"),
    ("traps", "trap", "traps"),
    ("copies", "out-of-bounds", ""),
    ("named-deadlock", "deadlock", "waitsForAnother"),
    ("arrives-too-often", "barrier-count", "arrivesTooOften"),
    ("never-initialized", "barrier-count", "neverInitialized"),
    ("launches", "launch-in-kernel", "launches"),
    ("meets-on-the-host", "not-in-kernel", ""),
    ("copies-aside", "misaligned", "copiesAside"),
    ("reads-nothing", "segmentation-fault", ""),
    ("misaligned-vector", "misaligned", "misalignedVector"),
]


@pytest.mark.parametrize(("what", "kind", "kernel"), FOUND, ids=[what for what, *_ in FOUND])
@pytest.mark.parametrize("order", ["forward", "random:3"])
def test_a_fault_names_the_error_and_its_place(cuda: Path, what: str, kind: str, kernel: str, order: str) -> None:
    result = ran(cuda, what, order=order)
    assert result.status == 97, (result.status, result.errors)
    (fault,) = [each for each in result.faults if each.level == "fault"]
    assert (fault.kind, fault.kernel, str(fault.path)) == (kind, kernel, CUDA.name), result.errors
    assert fault.line == marked(CUDA, what), result.errors


def test_a_copy_onto_itself_is_suspicious(cuda: Path) -> None:
    result = ran(cuda, "copies-onto-itself")
    (warning,) = result.faults
    assert (warning.kind, warning.level, warning.line) == (
        "overlapping-copy",
        "warning",
        marked(CUDA, "copies-onto-itself"),
    )


def test_a_deadlock_names_the_waiting_threads_and_places(cuda: Path) -> None:
    (fault,) = ran(cuda, "deadlock").faults
    assert "threads 0-15 wait in __shfl_sync (mask 0xffffffff)" in fault.message
    assert "threads 16-63 wait in __syncthreads" in fault.message


@pytest.mark.parametrize("order", ["forward", "reverse", "random:3", "random:4"])
def test_barriers_with_a_number(cuda: Path, order: str) -> None:
    # Each element has the value of the round and the lane, for 7 rounds in each of two blocks.
    total = [2 * sum(i + (31 - lane - i) % 32 for i in range(7)) for lane in range(2)]
    result = ran(cuda, "hands-over", order=order)
    assert (result.status, result.lines) == (0, (f"{total[0]} {total[1]}",)), result.errors
    assert not result.faults
    result = ran(cuda, "hands-over-with-fewer", order=order)
    assert (result.status, result.lines) == (0, ("5 6",)), result.errors
    result = ran(cuda, "arrives-at-the-blocks", order=order)
    assert (result.status, result.lines) == (0, ("96 93",)), result.errors


def test_a_deadlock_names_the_barrier_and_who_has_come(cuda: Path) -> None:
    (fault,) = ran(cuda, "named-deadlock").faults
    assert fault.line == marked(CUDA, "named-deadlock")
    assert "(number 1, where 32 of 96 threads have arrived)" in fault.message
    (fault,) = ran(cuda, "counts-differ").faults
    assert (fault.kind, fault.line) == ("barrier-number", marked(CUDA, "counts-differ"))
    assert "for 96 threads here, and for 64" in fault.message


@pytest.mark.parametrize(
    "what", ["spins-forever", "locks-forever", "asks-forever", "counts-votes-forever", "meets-forever"]
)
def test_a_spin_without_progress_ends_with_a_fault(cuda: Path, what: str) -> None:
    result = ran(cuda, what, SIMT_WATCHDOG="0.3")
    assert result.status == 97, (result.status, result.errors)
    (fault,) = result.faults
    assert fault.kind == "no-progress"
    assert f"{CUDA.name}:{marked(CUDA, what)}" in fault.message


def test_a_long_loop_of_collectives_is_no_spin(cuda: Path) -> None:
    result = ran(cuda, "asks-for-long", SIMT_WATCHDOG="0.1")
    assert (result.status, result.faults) == (0, ()), result.errors


@pytest.mark.parametrize("what", ["spins-forever", "calls-a-library"])
def test_an_ended_program_reports_its_place(cuda: Path, what: str) -> None:
    wrapped = ["SIMT_WATCHDOG=1000", str(cuda), what]
    result = run(Path("/usr/bin/env"), wrapped, Configuration("original", 32), ENV, HERE, Limits(1.5), HERE)
    assert result.status is None
    (fault,) = result.faults
    assert fault.kind == "time-limit"
    assert (fault.path.name if fault.path else None, fault.line) == (CUDA.name, marked(CUDA, what))
    assert f"{CUDA.name}:{marked(CUDA, what)}" in fault.message


@pytest.mark.parametrize("order", ["forward", "reverse", "random:5"])
def test_threads_that_spin_on_a_plain_load_let_others_run(cuda: Path, order: str) -> None:
    result = ran(cuda, "spins-for-a-while", order=order)
    assert (result.status, result.lines) == (0, ("9 1",)), result.errors


@pytest.mark.parametrize("what", ["computes", "computes-in-turns"])
def test_the_order_of_threads_and_blocks_does_not_depend_on_how_long_they_compute(cuda: Path, what: str) -> None:
    result = ran(cuda, what)
    assert (result.status, result.lines) == (0, ("0 1",)), result.errors


def test_threads_start_while_others_poll_for_them() -> None:
    program = compiling.program([HERE / "chain_in_turns.cu"], "cuda", compiling.CompileOptions(ENV)).path
    result = run(program, [], Configuration("original", 32, "reverse"), ENV, HERE, Limits(ENDLESS), HERE)
    assert (result.status, result.lines) == (0, ("512",)), result.errors
    # Lanes that meet at each read still make no progress.
    result = run(
        Path("/usr/bin/env"),
        ["SIMT_WATCHDOG=0.5", str(program), "spins"],
        Configuration("original", 32),
        ENV,
        HERE,
        Limits(ENDLESS),
        HERE,
    )
    (fault,) = result.faults
    assert (fault.kind, fault.line) == ("no-progress", marked(HERE / "chain_in_turns.cu", "spins-on-shared"))


def test_polling_in_vain_costs_no_time_slice() -> None:
    program = compiling.program([HERE / "chain.cu"], "cuda", compiling.CompileOptions(ENV)).path
    result = run(program, [], Configuration("original", 32, "reverse"), ENV, HERE, Limits(ENDLESS), HERE)
    assert (result.status, result.lines) == (0, ("512",)), result.errors


def test_blocks_that_wait_for_each_other_run_together(cuda: Path) -> None:
    result = ran(cuda, "waits-for-other-blocks")
    assert (result.status, result.lines) == (0, ("8 3",)), result.errors


@pytest.mark.parametrize("how", ["shuffles", "shuffles-and-sleeps", "barriers"])
def test_blocks_that_poll_together_let_other_blocks_run(cuda: Path, how: str) -> None:
    result = ran(cuda, f"polls-by-{how}")
    assert (result.status, result.lines) == (0, ("20 3",)), result.errors


def test_unwritten_memory_is_not_a_number(cuda: Path) -> None:
    assert ran(cuda, "uninitialized").lines[:2] == ("1 0", "-1")
    assert ran(cuda, "uninitialized", SIMT_POISON="0").lines[:2] != ("1 0", "-1")


def test_an_address_of_the_hosts_as_an_argument_is_suspicious(cuda: Path) -> None:
    (warning,) = ran(cuda, "host-memory").faults
    assert (warning.kind, warning.level, warning.line) == ("host-memory", "warning", marked(CUDA, "host-memory"))
    assert warning.message.startswith("argument 1 of released is an address in the host's memory")


def test_an_index_outside_of_an_arrays_type_is_named(cuda: Path) -> None:
    result = ran(cuda, "indices")
    assert {(each.kind, each.level, each.kernel) for each in result.faults} == {("index", "warning", "indices")}
    found = {each.line: each for each in result.faults}
    lines = [marked(CUDA, f"{what}-index") for what in ("local", "row", "device")]
    assert [found[line].message for line in lines] == [
        "an index of 8, outside of the type 'int [8]'",
        "an index of 9, outside of the type 'int [9]'",
        "an index of 8, outside of the type 'int [8]'",
    ]
    assert (found[lines[2]].block, found[lines[2]].thread) == ((0, 0, 0), (8, 0, 0))
    result = ran(cuda, "indices-that-are-right")
    assert (result.status, result.lines, result.faults) == (0, ("16 16",), ())


def test_a_launch_beyond_the_limits_is_an_error_of_the_api(cuda: Path) -> None:
    result = ran(cuda, "too-many-threads")
    assert result.lines[:2] == ("cudaErrorInvalidConfiguration", "cudaSuccess")
    (warning,) = result.faults
    assert (warning.kind, warning.level, warning.line) == ("launch-limit", "warning", marked(CUDA, "too-many-threads"))


def test_barriers_in_branches_are_fine_for_cuda_and_a_fault_on_amd(cuda: Path, hip: Path) -> None:
    result = ran(cuda, "barrier-in-branches")
    assert (result.status, result.lines) == (0, ("1 1",))
    assert [(each.kind, each.level) for each in result.faults] == [("barrier-places", "warning")]
    for lanes in (32, 64):
        result = ran(hip, "barrier-in-branches", "ported", lanes)
        assert result.status == 97
        (fault,) = result.faults
        assert fault.kind == "divergent-barrier"
        assert f"{HIP.name}:{marked(HIP, 'barrier-in-branches')}" in fault.message


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_lanes_that_meet_in_several_lines_are_reported(cuda: Path, order: str) -> None:
    """Each lane sees the stores of the other branch, which is not guaranteed on AMD."""
    result = ran(cuda, "warp-in-branches", order=order)
    assert (result.status, result.lines) == (0, ("1 1",)), result.errors
    (warning,) = result.faults
    # The last lane at the first __syncwarp continues first.
    place = marked(CUDA, "warp-in-its-other-branch" if order == "forward" else "warp-in-branches")
    assert (warning.kind, warning.level, warning.line) == ("warp-places", "warning", place)
    assert warning.message.startswith("lanes of one warp meet in this __syncwarp and in the one at ")
    result = ran(cuda, "warp-in-branches-of-their-own", order=order)
    assert (result.status, result.lines, result.faults) == (0, ("1 1",), ())


@pytest.mark.parametrize("order", ["forward", "reverse", "random:3"])
def test_a_barrier_that_others_have_passed_and_ended_orders_nothing(cuda: Path, hip: Path, order: str) -> None:
    runs = ((CUDA, cuda, "original", 32), (HIP, hip, "ported", 32), (HIP, hip, "ported", 64))
    for file, program, side, lanes in runs:
        result = ran(program, "passes-a-barrier-by", side, lanes, order)
        assert result.status == 97, (result.status, result.errors)
        (fault,) = [each for each in result.faults if each.level == "fault"]
        place = (fault.kind, fault.kernel, fault.line, fault.block)
        first = 0 if order != "reverse" or side == "ported" else 1
        assert place == ("divergent-barrier", "passesABarrierBy", marked(file, "passes-a-barrier-by"), (first, 0, 0))
        assert fault.message.startswith("threads 64-127 reach this barrier when threads 0-63 have passed it")


@pytest.mark.parametrize("order", ["forward", "reverse", "random:3"])
def test_parts_of_a_block_may_have_barriers_of_their_own_if_they_count_the_same(cuda: Path, order: str) -> None:
    result = ran(cuda, "barriers-of-roles", order=order)
    assert (result.status, result.lines) == (0, ("6 6",)), result.errors
    assert {(each.kind, each.level) for each in result.faults} == {("barrier-places", "warning")}


@pytest.mark.parametrize("lanes", [32, 64])
def test_amd(hip: Path, lanes: int) -> None:
    assert ran(hip, "barrier-after-return", "ported", lanes).lines == ("1 1",)
    assert ran(hip, "mask-of-others", "ported", lanes).lines == ("7 7",)
    assert ran(hip, "too-many-threads", "ported", lanes).lines[0] == "1"
    result = ran(hip, "too-much-shared", "ported", lanes)
    (fault,) = result.faults
    assert (result.status, fault.kind, fault.line) == (97, "launch-limit", marked(HIP, "too-much-shared"))


@pytest.fixture(scope="module")
def waits() -> Path:
    return compiling.program([WAITS], "hip", compiling.CompileOptions(ENV)).path


@pytest.mark.parametrize("order", ["forward", "reverse", "random:3"])
@pytest.mark.parametrize("lanes", [32, 64])
def test_lanes_that_wait_in_a_loop_for_others_of_their_wavefront_after_it(waits: Path, lanes: int, order: str) -> None:
    for what in ("takes-before", "after-the-lane-before", "returns-from-it"):
        result = ran(waits, what, "ported", lanes, order, SIMT_WATCHDOG="0.3")
        assert result.status == 97, (what, result.status, result.errors)
        (fault,) = result.faults
        assert (fault.kind, fault.line) == ("no-progress", marked(WAITS, what)), result.errors
        assert "wait in the end of a statement in which other lanes of the wavefront still are" in fault.message
        assert "spin at" in fault.message


@pytest.mark.parametrize("lanes", [32, 64])
def test_the_order_of_branches_is_unknown(waits: Path, lanes: int) -> None:
    # With 32 lanes the other wavefront does what lane 0 waits for.
    for what in ("in-two-branches", *(("in-two-branches-the-other-way",) if lanes == 64 else ())):
        result = ran(waits, what, "ported", lanes, "forward", SIMT_WATCHDOG="0.3")
        (fault,) = result.faults
        # Lane 0 is alone in its loop, and in the branch with others.
        line = marked(WAITS, "in-two-branches") + (what == "in-two-branches")
        assert (fault.kind, fault.line) == ("no-progress", line), result.errors
        assert "in another branch of the statement at" in fault.message
        result = ran(waits, what, "ported", lanes, "reverse", SIMT_WATCHDOG="10")
        assert (result.status, result.lines, result.faults) == (0, ("done",), ()), (what, result.errors)


@pytest.mark.parametrize("order", ["forward", "reverse", "random:3"])
@pytest.mark.parametrize("lanes", [32, 64])
def test_lanes_that_wait_for_others_end(waits: Path, lanes: int, order: str) -> None:
    for what in (
        "takes-inside",
        "after-the-block-before",
        "one-in-each-turn",
        "leaves-others-to-meet",
        "after-the-wave-before",
    ):
        result = ran(waits, what, "ported", lanes, order, SIMT_WATCHDOG="10")
        assert (result.status, result.lines, result.faults) == (0, ("done",), ()), (what, result.errors)


@pytest.fixture(scope="module")
def ballots() -> Path:
    return compiling.program([BALLOTS], "hip", compiling.CompileOptions(ENV)).path


LOST = {
    "variable": "variable",
    "constant": "constant",
    "element": "element",
    "member": "member",
    "pointed": "pointed",
    "active": "active",
    "counted": "counted",
    "inverted": "inverted",
    "by-variable": "byVariable",
    "counted-variable": "countedVariable",
    "argument": "argument",
    "variable-as-argument": "variableAsArgument",
    "returned": "inReturn",
    "template": "inTemplate",
    "method": "inMethod",
    "some-lanes": "someLanes",
}


@pytest.mark.parametrize("what", LOST)
def test_a_ballot_that_loses_votes_in_32_bits_is_a_fault_with_64_lanes(ballots: Path, what: str) -> None:
    result = ran(ballots, what, "ported", 64)
    assert result.status == 97, (result.status, result.errors)
    (fault,) = result.faults
    assert (fault.kind, fault.kernel, fault.line) == ("lost-lanes", LOST[what], marked(BALLOTS, what)), result.errors
    lanes = "lanes 40, 61-63" if what == "some-lanes" else "lanes 32-63"
    assert f"is kept in 32 bits: the votes of {lanes} are lost" in fault.message
    result = ran(ballots, what, "ported", 32)
    assert (result.status, result.lines, result.faults) == (0, ("done",), ()), result.errors


@pytest.mark.parametrize("lanes", [32, 64])
def test_a_half_of_a_ballot_that_is_taken_on_purpose_is_none(ballots: Path, lanes: int) -> None:
    result = ran(ballots, "halves", "ported", lanes)
    assert (result.status, result.lines, result.faults) == (0, ("done",), ()), result.errors
    result = ran(ballots, "others", "ported", lanes)
    assert (result.status, result.lines, result.faults) == (0, ("0", "done"), ()), result.errors


@pytest.fixture(scope="module")
def libraries() -> Path:
    return compiling.program([LIBRARIES], "cuda", compiling.CompileOptions(ENV)).path


WRONG_SIDE = [
    ("factor-of-the-device", "pointer-mode", "cublasSaxpy: a factor is in device memory"),
    ("factor-of-the-host", "pointer-mode", "cublasSscal: a factor is in host memory"),
    ("result-of-the-host", "pointer-mode", "cublasSasum: the result is in host memory"),
    ("result-of-the-device", "pointer-mode", "cublasSasum: the result is in device memory"),
    ("matrix-of-the-host", "host-memory", "cublasSgemm: B is host memory"),
    ("pointers-of-the-host", "host-memory", "cublasSgemmBatched: the array of pointers is in host memory"),
    ("signal-of-the-host", "host-memory", "cufftExecC2C: the output is host memory"),
]


@pytest.mark.parametrize(("what", "kind", "said"), WRONG_SIDE, ids=[what for what, *_ in WRONG_SIDE])
def test_memory_of_the_wrong_side_is_a_fault_of_a_library(libraries: Path, what: str, kind: str, said: str) -> None:
    result = ran(libraries, what)
    assert result.status == 97, (result.status, result.errors)
    (fault,) = result.faults
    assert (fault.kind, str(fault.path), fault.line) == (kind, LIBRARIES.name, marked(LIBRARIES, what)), result.errors
    assert said in fault.message
    right = ran(libraries, "right")
    assert (right.status, right.lines, right.faults) == (0, ("done",), ()), right.errors


def test_looking_for_races_without_memory_for_it_is_a_fault() -> None:
    program = compiling.program([MEMORY], "cuda", compiling.CompileOptions(ENV, sanitize=("thread",))).path
    result = run(program, [], Configuration("original", 32), ENV, HERE, Limits(ENDLESS, memory=8 << 30), HERE)
    assert (result.status, result.lines, result.faults) == (0, ("done",), ()), result.errors
    result = run(program, [], Configuration("original", 32), ENV, HERE, Limits(ENDLESS, memory=1 << 30), HERE)
    (fault,) = result.faults
    assert (result.status, fault.kind, fault.kernel) == (97, "out-of-memory", "touches"), result.errors


def test_more_threads_that_wait_than_there_is_memory_for_is_a_fault(tmp_path: Path) -> None:
    source = tmp_path / "waits.cu"
    source.write_text(
        "__device__ volatile int ready;\n"
        "__global__ void waits() {\n"
        "  if (blockIdx.x == gridDim.x - 1) ready = 1;\n"
        "  while (!ready) {}\n"
        "}\n"
        "int main() { waits<<<200, 64>>>(); return cudaDeviceSynchronize(); }\n"
    )
    program = compiling.program([source], "cuda", compiling.CompileOptions(ENV)).path
    result = run(program, [], Configuration("original", 32), ENV, HERE, Limits(ENDLESS, memory=16 << 30), HERE)
    assert (result.status, result.faults) == (0, ()), result.errors
    result = run(program, [], Configuration("original", 32), ENV, HERE, Limits(ENDLESS, memory=1 << 30), HERE)
    (fault,) = result.faults
    assert (result.status, fault.kind, fault.kernel) == (97, "out-of-memory", "waits"), result.errors
    assert fault.line == 4


@pytest.mark.parametrize("order", ["forward", "reverse", "random:3"])
def test_lanes_of_different_branches_are_separate_in_a_shared_function(order: str) -> None:
    program = compiling.program([BRANCHES], "cuda", compiling.CompileOptions(ENV)).path
    result = run(program, [], Configuration("original", 32, order), ENV, HERE, Limits(ENDLESS), HERE)
    assert (result.status, result.lines) == (0, ("55555555 aaaaaaaa 3 3 33333330 33333330",)), result.errors
