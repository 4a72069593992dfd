# SPDX-License-Identifier: Apache-2.0
"""Results of intrinsics: the executor compared with an NVIDIA GPU, the original with 32 lanes, its port with 32 and 64.

`simt_conformance/recorded.txt` is the output of `conformance.cu`, compiled by nvcc 13.0 for sm_90, on an NVIDIA H200.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from endless import ENDLESS
from executor_names import not_refused
from hipport import api
from hipport.executor import compile as compiling
from hipport.verifying.execution import Limits
from hipport.verifying.results import Configuration
from hipport_passes.device import inline_ptx
from verifying import run

HERE = Path(__file__).parent / "simt_conformance"
PROGRAM = HERE / "conformance.cu"
RECORDED = (HERE / "recorded.txt").read_text().splitlines()

#: Lines in which AMD differs, by their beginnings: conversions of NaN. AMD converts it to 0 where CUDA has the least
#: integer, and to other patterns of half and bfloat16.
ELSE_ON_AMD = "conversions 10:"


def printed(executable: compiling.Executable, configuration: Configuration) -> tuple[str, ...]:
    ran = run(executable.path, [], configuration, os.environ, HERE, Limits(ENDLESS), HERE)
    assert ran.status == 0, (ran.errors, ran.faults)
    return ran.lines


def differences(lines: Sequence[str]) -> list[str]:
    assert len(lines) == len(RECORDED)
    return [mine for mine, theirs in zip(lines, RECORDED, strict=True) if mine != theirs]


@pytest.fixture(scope="module")
def original() -> compiling.Executable:
    options = compiling.CompileOptions(os.environ, passes=(inline_ptx.PASS,))
    return compiling.program([PROGRAM], "cuda", options)


@pytest.fixture(scope="module")
def port() -> compiling.Executable:
    with not_refused():
        return compiling.program(api.rewrite([PROGRAM]).project, "hip", compiling.CompileOptions(os.environ))


@pytest.mark.parametrize("order", ["forward", "reverse", "random:7"])
def test_the_original_has_the_gpus_results(original: compiling.Executable, order: str) -> None:
    assert differences(printed(original, Configuration("original", 32, order))) == []


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("order", ["forward", "random:7"])
def test_the_port_has_the_gpus_results(port: compiling.Executable, lanes: int, order: str) -> None:
    different = differences(printed(port, Configuration("ported", lanes, order)))
    assert [line.split(" 0")[0] for line in different] == [ELSE_ON_AMD]
