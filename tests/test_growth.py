# SPDX-License-Identifier: Apache-2.0
"""The cost of a rewrite grows like its input, measured by the number of calls, which is the same on every machine.

`bench/growth.py` has the inputs, and measures seconds on larger ones.
"""

from __future__ import annotations

import re
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import hipport
from further import further
from hipport_passes.device import atomics
from hipport_passes.device.arch_guards import deciding

_BENCH = Path(__file__).parents[1] / "bench"
Kinds = dict[str, tuple[Callable[[int], dict[str, bytes]], int]]
SHAPES: Kinds = runpy.run_path(str(_BENCH / "growth_shapes.py"))["SHAPES"]


def _kinds() -> Kinds:
    sys.path.insert(0, str(_BENCH))
    try:
        kinds: Kinds = runpy.run_path(str(_BENCH / "growth.py"))["KINDS"]
    finally:
        sys.path.remove(str(_BENCH))
    return kinds


KINDS = _kinds()
#: Shapes that once grew faster than linearly, by the calls that are counted here.
COUNTED = {each: SHAPES[each] for each in ("methods, one name", "guarded functions", "Dockerfile", "member chains")}
# The allowed ratio of the last quarter's work to the third one's: 1 is linear, n log n has 1.05 at these sizes, n^1.5
# 1.18, and the square 1.4.
MOST = 1.1
# Pairs are compared only up to a limit: beyond it, only quadratic growth can be distinguished.
SIZES = {
    "calls, shuffles": 36,
    "masks": 100,
    "member chains": 8,
    "calls": 72,
    # Large enough to distinguish the square from the small work for each.
    "barriers": 80,
    "wavefronts": 80,
    **dict.fromkeys(("barriers, loops", "barriers, exits", "shell ifs", "shell branches", "shell functions"), 60),
    "barriers apart": 60,
    "barriers nested": 270,
    **dict.fromkeys(("nested", "nested, apart", "else if", "many called"), 270),
    "cases": 520,
}


def work(files: dict[str, bytes]) -> int:
    """Return the number of calls for porting the files, including functions in C."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert not hipport.rewrite(files, jobs=1).failures
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("kind", further([*KINDS, *COUNTED], COUNTED))
def test_each_part_of_an_input_takes_the_same_work(kind: str) -> None:
    make, smallest = (KINDS | COUNTED)[kind]
    size = SIZES.get(kind, max(12, smallest // 8))
    sizes = [size, size + size // 2, size + size // 2 * 2]
    hipport.rewrite(make(size), jobs=1)
    half, more, all_of_it = (work(make(each)) for each in sizes)
    # The fixed cost of any input is in each, and cancels in the difference.
    assert all_of_it - more <= MOST * (more - half), f"{sizes}: {half}, {more}, {all_of_it}"


@pytest.mark.parametrize("link", [b"[0]", b"()", b".a", b".a()", b"[0]\\\n  (1)"])
def test_chains_in_python_are_read_up_to_a_bound(link: bytes) -> None:
    """Beyond the bound, the parser's time grows with the square: that is reported, not tried."""
    text = b"import torch\nx = f%b\nif torch.version.cuda >= '11': pass\n"
    short, long = ({each.rule for each in hipport.rewrite({"a.py": text % (link * n)}).reported} for n in (60, 2000))
    assert "python_gates/unread" not in short and "python_gates/unread" in long


def test_barriers_that_are_not_compared_are_reported() -> None:
    make, _ = KINDS["barriers apart"]
    few, many = (
        [each.message for each in hipport.rewrite(make(n), jobs=1).reported if each.rule == "barriers/divergent"]
        for n in (20, 60)
    )
    assert not few and len(many) == 1 and "too many barriers" in many[0]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (deciding._LOADS, b" " * 8000 + b"x("),
        (deciding._LOADS, b"\n# define __ldg(x) *x" + b" " * 8000 + b"!"),
        (deciding._CONSTANT, b"const " * 4000),
        (deciding._DECLARES, b"int " * 4000),
        (atomics._MEMBER, b"(" * 8000 + b"a.b" + b"[0]" * 8000 + b"!"),
        (atomics._MEMBER, b"a.b" + b" " * 8000 + b"!"),
        (atomics._DECLARED, b" " * 8000 + b"!"),
    ],
    ids=["loads", "loads by a macro", "constants", "declares", "members", "members, blanks", "declared"],
)
def test_a_pattern_that_does_not_match_is_soon_done(pattern: re.Pattern[bytes], text: bytes) -> None:
    start = time.process_time()
    assert pattern.fullmatch(text) is None
    if pattern in (deciding._CONSTANT, deciding._DECLARES):
        assert pattern.search(text) is None
    assert time.process_time() - start < 0.5
