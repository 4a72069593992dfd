# SPDX-License-Identifier: Apache-2.0
"""Waits of lanes for each other end as in the original, and in `no-progress` if one wavefront has both lanes."""

import os
import re
from pathlib import Path

import pytest

from endless import ENDLESS
from hipport.executor import compile as compiling
from hipport.verifying.execution import Limits
from hipport.verifying.program_runs import ProgramRun
from hipport.verifying.results import Configuration
from verifying import run

HERE = Path(__file__).parent / "simt_faults"
WAITS = HERE / "lockstep.cu"
ENV = {**os.environ}
TEXT = WAITS.read_text()
HANGS = re.findall(r"^HANGS\((\w+)\) \{", TEXT, re.MULTILINE)
ENDS = re.findall(r"^ENDS\((\w+)\) \{", TEXT, re.MULTILINE)
#: Waits inside of a function that several kernels use.
ELSEWHERE = {"underAnd": "inTemplate", "underQuestion": "inTemplate", "inCondition": "inTemplate"}
#: Waits whose lanes also wait for each other in a wavefront of 32.
NARROW = frozenset(("inThen", "inElse", "forEachOther", "ticket", *(each for each in HANGS if each.startswith("lock"))))


@pytest.fixture(scope="module")
def original() -> Path:
    return compiling.program([WAITS], "cuda", compiling.CompileOptions(ENV)).path


@pytest.fixture(scope="module")
def port() -> Path:
    return compiling.program([WAITS], "hip", compiling.CompileOptions(ENV)).path


def ran(program: Path, what: str, side: str, lanes: int, order: str = "forward") -> ProgramRun:
    wrapped = ["SIMT_WATCHDOG=0.3" if side == "ported" and what in HANGS else "SIMT_WATCHDOG=20", str(program), what]
    return run(Path("/usr/bin/env"), wrapped, Configuration(side, lanes, order), ENV, HERE, Limits(ENDLESS), HERE)


def marked(what: str) -> int:
    name = ELSEWHERE.get(what, what)
    (line,) = [number for number, each in enumerate(TEXT.splitlines(), 1) if each.endswith(f"// here: {name}")]
    return line


def hangs(program: Path, what: str, lanes: int, order: str) -> None:
    result = ran(program, what, "ported", lanes, order)
    assert result.status == 97, (what, lanes, order, result.errors)
    (fault,) = result.faults
    assert (fault.kind, fault.line) == ("no-progress", marked(what)), (what, result.errors)
    assert "lanes wait here for what thread" in fault.message
    assert "the launch hangs. Do what they wait for before it" in fault.message


def ends(program: Path, what: str, side: str, lanes: int, order: str = "forward") -> None:
    result = ran(program, what, side, lanes, order)
    assert (result.status, result.lines, result.faults) == (0, ("done",), ()), (what, lanes, order, result.errors)


def test_there_are_waits_of_all_kinds() -> None:
    assert (len(HANGS), len(ENDS)) >= (35, 19)
    assert {*HANGS} >= NARROW


# Otherwise a branch with the waiting lanes runs after the one that stores.
ORDER = {"inElse": "reverse"}


@pytest.mark.parametrize("part", range(5))
def test_lanes_wait_forever_for_others_of_their_wavefront(port: Path, part: int) -> None:
    for what in HANGS[part::5]:
        hangs(port, what, 64, ORDER.get(what, "forward"))


def test_lanes_of_other_wavefronts_are_waited_for(original: Path, port: Path) -> None:
    for what in HANGS:
        ends(original, what, "original", 32)
        if what not in NARROW:
            ends(port, what, "ported", 32)


def test_waits_that_end_on_amd_end(original: Path, port: Path) -> None:
    for what in ENDS:
        ends(original, what, "original", 32)
        ends(port, what, "ported", 64)


@pytest.mark.further
@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("order", ["forward", "reverse", "random:3"])
def test_waits_in_every_order(original: Path, port: Path, order: str, lanes: int) -> None:
    for what in ENDS:
        ends(original, what, "original", 32, order)
        ends(port, what, "ported", lanes, order)
    for what in HANGS:
        ends(original, what, "original", 32, order)
        if lanes == 32 and what not in NARROW:
            ends(port, what, "ported", lanes, order)
