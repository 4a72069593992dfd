# SPDX-License-Identifier: Apache-2.0
"""Reductions of rows and of vectors."""

from . import _C

STYLES = ("tree", "shared", "halving")


def reduce_rows(x, style="tree", block=128):
    """Sum and maximum of each row, by one of STYLES."""
    return _C.reduce_rows(x.contiguous(), STYLES.index(style), block)


def argmax_rows(x, block=128):
    """The greatest value of each row, and its first index."""
    return _C.argmax_rows(x.contiguous(), block)


def moments(x, width=32):
    """Mean and variance of each row; `width` lanes (4, 16 or 32) to a row."""
    return _C.moments(x.contiguous(), width)


def reduce_ints(x, block=128):
    """Sum, min, max, and, or, xor, unsigned max of each 32; sums of their even and odd elements; sum and max of all."""
    return _C.reduce_ints(x.contiguous(), block)
