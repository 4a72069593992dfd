# SPDX-License-Identifier: Apache-2.0
"""Ports of kernels made at random give what the originals give, or have said that a person has to look."""

import os
from pathlib import Path

import pytest

from generated_warps import KERNELS, found, program
from hipport.simt.compile import NoCompiler, find_compiler


@pytest.fixture(scope="module", autouse=True)
def compiler() -> str:
    try:
        return find_compiler(os.environ).path
    except NoCompiler as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("seed", [1, 2])
def test_what_lanes_do_where_they_are_together(seed: int, tmp_path: Path) -> None:
    """Every call is reached by all lanes that its mask names: then nothing may differ."""
    source = tmp_path / "generated.cu"
    source.write_text(program(seed))
    result = found(source)
    assert (result.said, result.silent, result.unfit, result.right) == ((), (), (), KERNELS)


def test_what_means_something_else_is_said(tmp_path: Path) -> None:
    source = tmp_path / "generated.cu"
    source.write_text(program(3, meeting=0.05))
    result = found(source)
    assert (result.silent, result.unfit) == ((), ())
    # Else nothing was tried.
    assert result.said and result.right
