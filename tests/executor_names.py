# SPDX-License-Identifier: Apache-2.0
"""Programs that use all that the executor has, also in ports: normally, ports are refused names that HIP lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hipport.executor import hip_lacks, prepare


@contextmanager
def not_refused() -> Iterator[None]:
    """Let ports use names that HIP lacks and the executor has."""
    passes = tuple(each for each in prepare.PASSES["hip"] if each is not hip_lacks.HIP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "PASSES", {**prepare.PASSES, "hip": passes})
        yield
