# SPDX-License-Identifier: Apache-2.0
"""Loops in which lanes wait for lanes of their own wavefront are noticed in any form; look-alikes are not."""

import pytest

import hipport
from hipport_passes.device import inline_ptx, spin_locks
from waiting_kernels import FINE, WAITS


def found_in(text: str) -> list[str]:
    """Return the findings of the rules on locks and waits in a program."""
    done = hipport.rewrite({"a.cu": text.encode()}, jobs=1, passes=(inline_ptx.PASS, spin_locks.PASS))
    assert not done.failures
    return [f"{each.rule} {each.message}" for each in done.reported if each.rule.startswith("spin_locks/")]


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_is_noticed_once(name: str) -> None:
    found = found_in(WAITS[name])
    assert found
    # One loop has one finding.
    assert len(found) <= WAITS[name].count("while") + WAITS[name].count("for (") + 2


@pytest.mark.parametrize("name", FINE)
def test_look_alikes_are_left_alone(name: str) -> None:
    assert found_in(FINE[name]) == []


def test_a_wait_names_the_waiting_lanes_and_the_others() -> None:
    (found,) = found_in(WAITS["while"])
    assert "until flag changes, and a lane of the same wavefront may have to change it, in line 3" in found
    (found,) = found_in(WAITS["stored where it is not seen"])
    assert "by a store that is not seen" in found


def test_a_wait_in_a_function_is_reported_once_for_all_kernels() -> None:
    text = "__device__ void wait(volatile int *f) { while (*f == 0); }\n" + "".join(
        f"__global__ void k{i}(volatile int *flag) {{\n"
        "    if (threadIdx.x < 32) wait(flag);\n    if (threadIdx.x == 32) *flag = 1;\n}\n"
        for i in range(2)
    )
    (found,) = found_in(text)
    assert "in line 4 and line 8" in found
