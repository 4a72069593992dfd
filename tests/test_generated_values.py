# SPDX-License-Identifier: Apache-2.0
"""Random kernels: values uniform to hipport are uniform to LLVM, and ports without findings have equal results."""

import os
from pathlib import Path

import pytest

from further import further
from generated_values import made
from hipport.analysis.uniform_values import BLOCK, WARP
from hipport.executor.compilers import NoCompiler, find_compiler
from llvm_uniformity import judge
from value_judges import Answer, asked_of_hipport, asked_of_llvm, contradictions, disproved, run, small

#: First seeds, and numbers of kernels.
SEEDS = [1000, 2000, 3000, 4000]


@pytest.mark.toolchain
@pytest.mark.parametrize("first", further(SEEDS, SEEDS[1:]))
def test_values_uniform_to_hipport_are_uniform_to_llvm(first: int, tmp_path: Path) -> None:
    llvm = judge()
    if llvm is None:
        pytest.skip("NOT CHECKED against LLVM: no hipcc with an opt (hipport toolchain install)")
    kernels = {seed: made(seed) for seed in range(first, first + 40)}
    said = asked_of_llvm(llvm, kernels, tmp_path)
    answers = asked_of_hipport(kernels, both=False)
    bold, alarms = contradictions(answers, said, both=False)
    assert bold == set()
    varying = sum(1 for each in said.values() if each)
    # Otherwise nothing was tested.
    assert len(said) > 100 and varying > 10
    assert len(alarms) < len(said) / 6


@pytest.mark.parametrize("first", further(SEEDS, SEEDS[1:]))
def test_ports_without_findings_have_equal_results(first: int, tmp_path: Path) -> None:
    try:
        find_compiler(os.environ)
    except NoCompiler as reason:
        pytest.skip(str(reason))
    kernels = {seed: made(seed) for seed in range(first, first + 12)}
    ran = run(kernels, tmp_path)
    assert (ran.differ, ran.unfit) == ({}, {})
    assert len(ran.right) + len(ran.said) == len(kernels)
    assert disproved(ran, kernels) == {}


def test_contradictions_are_found_and_made_small() -> None:
    place = (0, 1)
    assert contradictions({place: Answer(BLOCK, WARP, "")}, {place: True}, both=False) == ({place}, set())
    assert contradictions({place: Answer(1, 1, "")}, {place: False}, both=True) == (set(), {place})
    assert contradictions({place: Answer(BLOCK, BLOCK, "")}, {place: None}, both=True) == (set(), set())
    kernel = made(7)
    least = small(kernel, lambda tried: {i for i, each in tried.items() if each.probes()})
    assert len(least.probes()) == 1 and len(least.body) == 1 and not least.before
