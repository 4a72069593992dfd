# SPDX-License-Identifier: Apache-2.0
"""Data races in shared and global memory are found; accesses that a barrier, a lock or a warp orders are none.

So are reads of shared memory that the block has not written.
"""

import os
import re
from pathlib import Path

import pytest

from endless import ENDLESS
from hipport.executor import compile as compiling
from hipport.verifying.execution import Limits
from hipport.verifying.results import Configuration
from verifying import run

PROGRAM = Path(__file__).parent / "simt_faults/races.cu"
ENV = {**os.environ}


@pytest.fixture(scope="module")
def program() -> Path:
    return compiling.program([PROGRAM], "cuda", compiling.CompileOptions(ENV, sanitize=("thread",))).path


@pytest.mark.parametrize("order", ["forward", "reverse", "random:9"])
def test_races(program: Path, order: str) -> None:
    ran = run(program, [], Configuration("original", 32, order), ENV, PROGRAM.parent, Limits(ENDLESS), PROGRAM.parent)
    assert (ran.status, ran.lines) == (0, ("0",)), ran.errors
    assert {(each.kind, each.level) for each in ran.faults} == {("race", "warning"), ("uninitialized", "warning")}
    kernels: dict[str, list[str]] = {}
    line_of = {}
    unwritten = {}
    kernel = ""
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        if line.startswith("__global__ void "):
            kernel = line.split("(")[0].split()[-1]
        if line.endswith("// races"):
            line_of[kernel] = number
        if line.endswith("// unwritten"):
            unwritten[kernel] = number
    # If a barrier is missing, unwritten memory is read as well.
    found = {each.kernel: each.line for each in ran.faults if each.kind == "uninitialized"}
    assert {kernel: line for kernel, line in found.items() if kernel not in line_of} == unwritten, ran.errors
    for each in ran.faults:
        if each.kind == "race":
            kernels.setdefault(each.kernel, []).append(each.message)
    assert set(kernels) == set(line_of), ran.errors
    # This is the only race; an intended one gets the hint that it is of one word.
    assert all("an atomic write" in message for message in kernels["looksAtACount"]), kernels
    assert all("of one word" in message for message in kernels["looksAtACount"]), kernels
    assert not any("atomic" in message for message in kernels["noBarrier"] + kernels["blocks"]), kernels
    for name, number in line_of.items():
        # The marked line, or the next one races with itself, depending on the order.
        places = {f"{PROGRAM.name}:{number}", f"{PROGRAM.name}:{number + 1}"}
        assert any(place in message for message in kernels[name] for place in places), kernels[name]


def test_the_handler_of_interrupts_does_not_ask_the_loader() -> None:
    """The interrupted thread may be in `dladdr`, and then has the loader's lock."""
    runtime = Path(compiling.__file__).parent / "native/runtime"
    path_of = (runtime / "faults.cpp").read_text().partition("\nvoid path_of(")[2].partition("\n}\n")[0]
    for text in ((runtime / "watch.cpp").read_text(), path_of):
        assert "object_at(" in text
        assert not re.search(r"\b(?:dladdr1?|dl_iterate_phdr|dlsym)\b", text)


@pytest.mark.further
def test_interrupts_do_not_stop_what_looks_for_places(program: Path) -> None:
    for _ in range(1000):
        ran = run(
            program, [], Configuration("original", 32, "random:9"), ENV, PROGRAM.parent, Limits(60), PROGRAM.parent
        )
        assert ran.status == 0
