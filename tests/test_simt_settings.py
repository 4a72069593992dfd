# SPDX-License-Identifier: Apache-2.0
"""The SIMT_* variables: operating-system threads, orders, convergence of lanes, traces."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from endless import ENDLESS
from hipport.executor import compile as compiling

PROGRAM = Path(__file__).parent / "verified/atomics.cu"
COUNTS = "6250 " * 16
TOTAL = str(sum(range(0, 100000, 1000)))


@pytest.fixture(scope="module")
def program() -> Path:
    return compiling.program([PROGRAM], "cuda", compiling.CompileOptions(os.environ)).path


def ran(program: Path, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIMT_")}
    return subprocess.run(
        [str(program)], env={**kept, **env}, capture_output=True, text=True, timeout=ENDLESS, check=False
    )


@pytest.mark.parametrize("threads", ["1", "2", "7"])
@pytest.mark.parametrize("order", ["forward", "reverse", "random:5", "random:6"])
def test_blocks_on_several_threads_in_any_order(program: Path, threads: str, order: str) -> None:
    done = ran(program, SIMT_THREADS=threads, SIMT_ORDER=order)
    assert done.stdout.splitlines() == [COUNTS, TOTAL, "aaaaaaaa aaaaaaaa"], done.stderr


@pytest.mark.parametrize("order", ["forward", "reverse", "random:5"])
def test_lanes_that_meet_by_chance_go_on_in_parts(program: Path, order: str) -> None:
    done = ran(program, SIMT_CONVERGENCE="minimal", SIMT_ORDER=order)
    of_lane_1, of_lane_31 = (int(mask, 16) for mask in done.stdout.splitlines()[2].split())
    # Some of the odd lanes, including the one that asks, and never all.
    for lane, mask in ((1, of_lane_1), (31, of_lane_31)):
        assert mask >> lane & 1 and not mask & ~0xAAAAAAAA and mask != 0xAAAAAAAA, done.stdout
    # A lane is in one part.
    assert of_lane_1 == of_lane_31 or not of_lane_1 & of_lane_31
    assert ran(program, SIMT_CONVERGENCE="minimal", SIMT_ORDER=order).stdout == done.stdout


def test_reliance_on_lanes_that_meet_after_a_break_is_noticed() -> None:
    parts = compiling.program([PROGRAM.with_name("parts.cu")], "cuda", compiling.CompileOptions(os.environ)).path
    for order in ("forward", "reverse", "random:5"):
        assert ran(parts, SIMT_ORDER=order).stdout.split() == ["right", "right"]
        assert ran(parts, SIMT_CONVERGENCE="minimal", SIMT_ORDER=order).stdout.split() == ["wrong", "right"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIMT_WAVE", "48"),
        ("SIMT_WAVE", "64 lanes"),
        ("SIMT_ORDER", "sideways"),
        ("SIMT_ORDER", "random:one"),
        ("SIMT_ORDER", "randomly"),
        ("SIMT_THREADS", "0"),
        ("SIMT_THREADS", "2x"),
        ("SIMT_CONVERGENCE", "some"),
        ("SIMT_WATCHDOG", "1 minute"),
    ],
)
def test_what_is_not_understood_is_an_error(program: Path, name: str, value: str) -> None:
    done = ran(program, **{name: value})
    assert done.returncode == 2
    assert f"{name}={value}" in done.stderr


def test_a_trace_has_each_launch_and_what_memory_holds(program: Path, tmp_path: Path) -> None:
    traces = []
    for number, order in enumerate(("forward", "reverse")):
        file = tmp_path / str(number)
        assert ran(program, SIMT_TRACE=str(file), SIMT_ORDER=order).returncode == 0
        traces.append([json.loads(line) for line in file.read_text().splitlines()])
    assert [each["kernel"] for each in traces[0]] == ["count", "together"]
    assert [each["block"] for each in traces[0]] == [[96, 1, 1], [32, 1, 1]]
    assert [size for _, size, _ in traces[0][0]["memory"]] == [64, 128, 8]
    assert traces[0] == traces[1]
    # The second kernel wrote the masks, and nothing else.
    changed = [a[:2] for a, b in zip(traces[0][0]["memory"], traces[0][1]["memory"], strict=True) if a != b]
    assert [size for _, size in changed] == [128]
