# SPDX-License-Identifier: Apache-2.0
"""Sorting by bitonic networks: rows, groups, and whole vectors."""

import torch

from . import _C


def sort_rows(x, descending=False):
    """Sort the rows (up to 1024 columns), as torch.sort with stable=True does; returns values and int32 indices."""
    order = _C.order_of_rows(x.contiguous(), descending)
    return x.gather(1, order.long()), order


def top_rows(x, k):
    """Indices of the `k` greatest of each row (k up to 32), the earliest of equals first; -1 where there are fewer."""
    return _C.top_of_rows(x.contiguous(), k)


def rank_groups(x, width=32):
    """For each element how many come before it, of its group of `width` (8, 16 or 32) consecutive elements."""
    return _C.rank_groups(x.contiguous(), width)


def sort_pairs(keys, values):
    """Sort int32 keys that are not negative, and with them int32 values; ties by value."""
    words = keys.long() << 32 | values.long() & 0xFFFFFFFF
    size = max(1024, 1 << (len(words) - 1).bit_length()) if len(words) else 1024
    words = torch.nn.functional.pad(words, (0, size - len(words)), value=2**63 - 1)
    _C.sort_words(words)
    words = words[: len(keys)]
    return (words >> 32).int(), (words & 0xFFFFFFFF).int()
