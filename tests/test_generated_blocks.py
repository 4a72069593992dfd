# SPDX-License-Identifier: Apache-2.0
"""Random kernels for blocks have the same results if their warps are whole wavefronts."""

import os
from pathlib import Path

import pytest

from further import further
from generated_blocks import KERNELS, found, program
from hipport.executor.compilers import NoCompiler, find_compiler


@pytest.mark.parametrize("seed", further([2, 15], [15]))
def test_results_of_blocks_are_the_same_on_whole_wavefronts(seed: int, tmp_path: Path) -> None:
    try:
        find_compiler(os.environ)
    except NoCompiler as reason:
        pytest.skip(str(reason))
    source = tmp_path / "generated.cu"
    source.write_text(program(seed))
    native, wrong = found(source)
    assert wrong == []
    # Otherwise nothing was tested.
    assert native > KERNELS // 3
