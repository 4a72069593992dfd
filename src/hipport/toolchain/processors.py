# SPDX-License-Identifier: Apache-2.0
"""Count the processors that this process may use."""

from __future__ import annotations

import os


def processors() -> int:
    """Return the number of processors that the system lets this process use, in a container often a few of many."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
