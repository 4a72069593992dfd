# SPDX-License-Identifier: Apache-2.0
"""The visible triangle at each pixel, and its interpolated attributes."""

import torch

from . import _plugin


def rasterize(vertices, triangles, width, height):
    """The triangle (-1: none) and the depth at each pixel's center; `vertices` (V x 4) are in clip space.

    Triangles with a corner behind the eye are left out. What is seen has no gradient.
    """
    return _plugin.rasterize_fwd(vertices.detach().float().contiguous(), triangles.contiguous(), width, height)


class _Interpolate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, vertices, attributes, triangles, ids):
        ctx.save_for_backward(vertices, attributes, triangles, ids)
        return _plugin.interpolate_fwd(vertices, attributes, triangles, ids)

    @staticmethod
    def backward(ctx, d_out):
        return (*_plugin.interpolate_bwd(*ctx.saved_tensors, d_out.contiguous()), None, None)


def interpolate(vertices, attributes, triangles, ids):
    """Attributes (V x A) at each pixel, in perspective; zero where there is no triangle."""
    return _Interpolate.apply(vertices.contiguous(), attributes.contiguous(), triangles.contiguous(), ids)
