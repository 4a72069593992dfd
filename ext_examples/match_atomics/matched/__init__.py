# SPDX-License-Identifier: Apache-2.0
"""Histograms and sums by key."""

import torch  # noqa: F401  it loads what the extension links to

from . import _C


def count(keys, bins, block=256):
    """How often each key in 0 .. bins-1 occurs in `keys`, and each element's rank among equals in its warp or -1."""
    return _C.count(keys.contiguous(), bins, block)


def accumulate(keys, values, ints, bins, block=256):
    """For each key in 0 .. bins-1 the sum of its values and the maximum of its integers."""
    return _C.accumulate(keys.contiguous(), values.contiguous(), ints.contiguous(), bins, block)


def places(keys, block=256):
    """For each element (int64, 0 .. 1023) a place of its own among those of its key: 0, 1, 2 ... in any order."""
    return _C.places(keys.contiguous(), block)


def alike(x, block=256):
    """How many of the same 32 elements have the same bits, and for each 32 whether all have."""
    return _C.alike(x.contiguous(), block)
