# SPDX-License-Identifier: Apache-2.0
"""Knowledge of CUDA's and HIP's names, for packages that must not import passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hipport.engine.pipeline import Pass


def _of_nothing(path: str) -> bool:
    return False


@dataclass(frozen=True)
class Knowledge:
    """Knowledge of the passes for builders and verifiers; empty by itself.

    `before_executor` are passes that run on an original before the executor's own, such as the one that turns inline
    PTX into C++. `vendored` has the markers of third-party code by its name, `translate` turns nvcc's arguments in
    makefiles into hipcc's, and `of_hip` says whether an include is a HIP header.
    """

    before_executor: tuple[Pass[Any], ...] = ()
    vendored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    translate: Callable[[Sequence[str]], Sequence[str]] = tuple
    of_hip: Callable[[str], bool] = _of_nothing
