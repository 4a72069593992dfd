# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own hipify breaks what `shared_min_max` changes, and leaves it alone once it is changed."""

from pathlib import Path

import pytorch_hipify

FOLDER = Path(__file__).parent.parent / "fixtures" / "shared_min_max"


def test_hipify_leaves_it_alone() -> None:
    hipify = pytorch_hipify.module("PyTorch's hipify was NOT run")
    before, after = ((FOLDER / f"header.{step}.cuh").read_text() for step in ("before", "after"))
    assert " ::min(" in hipify.replace_math_functions(before).replace("(::min(", " ::min(")
    kept = hipify.replace_math_functions(after)
    assert "::min(" not in kept.replace("std::min(", "")
    assert "(std::max)(low, (std::min)(x, high))" in kept
