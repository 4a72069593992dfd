# SPDX-License-Identifier: Apache-2.0
"""Ports of kernels made at random give what the originals give, or have said that a person has to look."""

import os
from pathlib import Path

import pytest

from generated_warps import KERNELS, found, program
from hipport.simt.compile import NoCompiler, find_compiler

#: What an NVIDIA H100 printed (nvcc -std=c++17 -O2 -arch=sm_90): CRC-32 of each kernel's line, by seed.
RECORDED = {
    500: (
        333032818, 81535207, 1844694558, 1452460430, 671106241, 1988683328, 1732208207, 1516973172,
        1661781792, 4167870429, 619093251, 2230294842, 1318343376, 2164643055, 903411814, 3167070113,
        2271050287, 529285201, 895424500, 916102819, 1502110298, 962975707, 1990540660, 2588446901,
    ),
    501: (
        4179559243, 4040594638, 1569060041, 1714886760, 2389150673, 2938692649, 2797345109, 2201465989,
        2492942731, 3775310994, 683699024, 1499327607, 894112657, 1167625664, 1786812956, 3488703806,
        1064901083, 2738279167, 875201933, 1157667079, 1923965966, 3378120751, 1905076333, 2266600606,
    ),
    540: (
        2808503878, 2489042053, 1006035347, 1338488170, 2147592119, 3383196723, 1411113449, 836684557,
        1628979134, 2671215563, 2539597977, 2068179309, 2717144531, 2558053044, 2739014579, 2117475975,
        627853377, 428255210, 3194067473, 2513957422, 1323037848, 4016880749, 2828197779, 2801769189,
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def compiler() -> str:
    try:
        return find_compiler(os.environ).path
    except NoCompiler as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("seed", [500, 501])
def test_what_lanes_do_where_they_are_together(seed: int, tmp_path: Path) -> None:
    """Every call is reached by all lanes that its mask names: then nothing may differ."""
    source = tmp_path / "generated.cu"
    source.write_text(program(seed))
    result = found(source)
    assert (result.said, result.silent, result.unfit, result.right) == ((), (), (), KERNELS)
    assert result.printed == RECORDED[seed]


def test_what_means_something_else_is_said(tmp_path: Path) -> None:
    source = tmp_path / "generated.cu"
    source.write_text(program(540, meeting=0.05))
    result = found(source)
    assert (result.silent, result.unfit, result.printed) == ((), (), RECORDED[540])
    # Else nothing was tried.
    assert result.said and result.right
