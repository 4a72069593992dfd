# SPDX-License-Identifier: Apache-2.0
"""The cost of a rewrite grows as its input does, told by how many lines run, which is the same on every machine.

`bench/growth.py` has the inputs, and measures seconds on larger ones.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import hipport

KINDS: dict[str, tuple[Callable[[int], dict[str, bytes]], int]] = runpy.run_path(
    str(Path(__file__).parents[1] / "bench" / "growth.py")
)["KINDS"]
# The last third of an input may take so many times the work of the second: 1 is linear, n log n comes to 1.1 at these
# sizes, n^1.5 to 1.3, and the square to 1.7.
MOST = 1.2
# What is compared in pairs, but only so far, is only told from what grows with the square beyond that.
SIZES = {
    **dict.fromkeys(("calls, shuffles", "masks"), 36),
    "calls": 72,
    **dict.fromkeys(("nested", "nested, apart", "else if", "many called"), 270),
    "cases": 520,
}


def work(files: dict[str, bytes]) -> int:
    """Return how many lines of hipport run to port the files."""
    lines = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        hipport.rewrite(files, jobs=1)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("kind", KINDS)
def test_each_part_of_an_input_takes_the_same_work(kind: str) -> None:
    make, smallest = KINDS[kind]
    size = SIZES.get(kind, max(12, smallest // 8))
    hipport.rewrite(make(size), jobs=1)
    once, twice, thrice = (work(make(size * times)) for times in (1, 2, 3))
    # What any input takes is in each, and gone in the difference.
    assert thrice - twice <= MOST * (twice - once), f"{size}, {2 * size}, {3 * size}: {once}, {twice}, {thrice}"
