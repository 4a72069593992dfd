# SPDX-License-Identifier: Apache-2.0
"""What is known of CUDA's and HIP's names, for the parts of hipport that know none: they are given it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hipport.engine.pipeline import Pass


def _of_nothing(path: str) -> bool:
    return False


@dataclass(frozen=True)
class Knowledge:
    """What builders and verifiers are given of the passes; by itself it knows nothing.

    `before_executor` are passes that run on an original before the executor's own: what makes C++ of inline PTX.
    `vendored` has the markers of third-party code by its name, `translate` turns nvcc's arguments in makefiles into
    hipcc's, and `of_hip` says whether an include is of HIP.
    """

    before_executor: tuple[Pass[Any], ...] = ()
    vendored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    translate: Callable[[Sequence[str]], Sequence[str]] = tuple
    of_hip: Callable[[str], bool] = _of_nothing
