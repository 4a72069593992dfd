# SPDX-License-Identifier: Apache-2.0
"""Ports of random kernels have the originals' results, or findings for a person."""

import os
from pathlib import Path

import pytest

from further import further
from generated_warps import KERNELS, found, program
from hipport.executor.compilers import NoCompiler, find_compiler

#: The output of an NVIDIA H100 (nvcc -std=c++17 -O2 -arch=sm_90): CRC-32 of each kernel's line, by seed.
RECORDED = {
    500: (
        770590968, 1896940623, 3191836503, 1085596005, 2260994451, 3679776566, 3938457750, 3104919976,
        146520595, 1749953463, 2001908588, 2261945277, 1844957265, 1575504191, 230640722, 4243582040,
        3967680407, 1901328835, 734608666, 3098989700, 4263812556, 3225241089, 1361615611, 3170728263,
    ),
    501: (
        1042257771, 2100483918, 1884448333, 1860101904, 341530563, 447652714, 631139145, 3306078516,
        1782312562, 1287089389, 1517043548, 2881567526, 3902499718, 489230832, 3634033610, 869669064,
        741365441, 3045393203, 373413468, 2707505505, 4129177934, 1944096130, 1884964489, 3220683782,
    ),
    540: (
        3765688722, 1673988334, 3533801746, 2446495594, 2117475975, 197616416, 4133820473, 28549843,
        2170639549, 4005187922, 2825095776, 306284882, 1157288395, 2380269290, 831187617, 1558315326,
        4078902624, 127214733, 2159810530, 3205249732, 736768030, 485032581, 1769692144, 2707033928,
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def compiler() -> str:
    try:
        return find_compiler(os.environ).path
    except NoCompiler as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("seed", further([500, 501], [501]))
def test_collectives_that_all_lanes_reach_have_equal_results(seed: int, tmp_path: Path) -> None:
    """Every call is reached by all lanes that its mask names: then no result may differ."""
    source = tmp_path / "generated.cu"
    source.write_text(program(seed))
    result = found(source)
    assert (result.said, result.silent, result.unfit, result.warned, result.right) == ((), (), (), (), KERNELS)
    assert result.printed == RECORDED[seed]


def test_changed_meanings_are_reported(tmp_path: Path) -> None:
    source = tmp_path / "generated.cu"
    source.write_text(program(540, meeting=0.05))
    result = found(source)
    assert (result.silent, result.unfit, result.printed) == ((), (), RECORDED[540])
    # Otherwise nothing was tested.
    assert result.said and result.right
    # Lanes of one mask meet in several branches, and there is no other warning.
    assert result.warned and all("warp-places" in each for each in result.warned)
