# SPDX-License-Identifier: Apache-2.0
"""Keep the elements of a vector that exceed a threshold."""

import torch

from . import _C


class _Compact(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, threshold, method, block):
        run = {"atomic": _C.compact_atomic, "queue": _C.compact_queue, "stable": _C.compact_stable}[method]
        values, indices = run(x, threshold, block)
        ctx.save_for_backward(indices)
        ctx.length = x.numel()
        ctx.mark_non_differentiable(indices)
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, _grad_indices):
        (indices,) = ctx.saved_tensors
        return _C.scatter(grad_values.contiguous(), indices, ctx.length), None, None, None


def compact(x, threshold, method="stable", block=256):
    """Return the elements of `x` (1-D) above `threshold` and their indices (int32).

    "stable" keeps their order; "atomic" and "queue" return them in any order.
    """
    return _Compact.apply(x, float(threshold), method, block)


def pack_bits(x, threshold, block=256):
    """One bit for each element above `threshold`, 32 to an int32 word, lowest bit first."""
    return _C.pack_bits(x, float(threshold), block)


def warp_totals(x, block=256):
    """Inclusive sums of `x` (int32) within each run of 32 elements, and the total of each run."""
    return _C.warp_totals(x, block)
