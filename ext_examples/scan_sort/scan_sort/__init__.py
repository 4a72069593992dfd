# SPDX-License-Identifier: Apache-2.0
from typing import NamedTuple

import torch

from . import _C


class Bins(NamedTuple):
    order: torch.Tensor  # [N] int32: points along a space-filling curve
    codes: torch.Tensor  # [N] int32: their places on it, ascending
    ranges: torch.Tensor  # [cells, 2] int32: where each cell's points start and end in `order`
    offsets: torch.Tensor  # [cells + 1] int32: points before each cell


def bin_points(points, level=2):
    """Sort `points` ([N, 3] float32, CUDA) into the 8 ** level cells of their bounding box."""
    return Bins(*_C.bin_points(points, level))


class _RowCumsum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return _C.row_cumsum(x, False)

    @staticmethod
    def backward(ctx, grad):
        return _C.row_cumsum(grad.contiguous(), True)


def row_cumsum(x):
    """Cumulative sums along the last dimension of a 2-D tensor."""
    return _RowCumsum.apply(x)
