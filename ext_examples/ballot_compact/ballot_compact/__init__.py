# SPDX-License-Identifier: Apache-2.0
"""Split, select and bucket the elements of a vector."""

import torch

from . import _C


def split(x, pivot):
    """Elements above `pivot` first, then the others; returns them, their indices, and how many are above."""
    return _C.split(x.contiguous(), float(pivot))


def select(x, low, high, block=128):
    """The indices of elements below `low` and of those above `high`, each in any order."""
    return _C.select(x.contiguous(), float(low), float(high), block)


def bucket(keys, buckets, block=128):
    """For each key in 0 .. buckets-1 its indices, in any order."""
    return _C.bucket(keys.contiguous(), buckets, block)


def extent(x, block=128):
    """The first and the last nonzero of each 32 elements, or -1."""
    return _C.extent(x.contiguous(), block)


def unpack(words, block=128):
    """The bits of int32 words, lowest first, as bytes; and the indices of the set bits."""
    bits = torch.tensor([bin(word & 0xFFFFFFFF).count("1") for word in words.tolist()], dtype=torch.int32)
    starts = (bits.cumsum(0, dtype=torch.int32) - bits).to(words.device)
    return _C.unpack(words.contiguous(), starts, int(bits.sum()), block)
