# SPDX-License-Identifier: Apache-2.0
"""Sums of values by key, in a hash table."""

import torch  # noqa: F401  it loads what the extension links to

from . import backend

METHODS = ("retry", "spin", "patient", "warp", "open")


def sum_by_key(keys, values, method="retry", log_buckets=1, block=128):
    """Return the keys (int64, not negative) in any order, the sums of their values, and how many each has."""
    return backend.sum_by_key(keys.contiguous(), values.contiguous(), METHODS.index(method), log_buckets, block)
