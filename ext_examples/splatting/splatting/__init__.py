# SPDX-License-Identifier: Apache-2.0
"""Images of 3D Gaussians, and their gradients."""

from typing import NamedTuple

import torch

from . import _C


class Camera(NamedTuple):
    """Focal lengths are in pixels; `view` (3 x 4) takes points to the camera, which looks along z."""

    width: int
    height: int
    fx: float
    fy: float
    view: torch.Tensor
    background: torch.Tensor
    debug: bool = False


class _RasterizeGaussians(torch.autograd.Function):
    @staticmethod
    def forward(ctx, means, scales, quats, opacities, colors, camera):
        gaussians = tuple(x.contiguous() for x in (means, scales, quats, opacities, colors))
        background, view = camera.background.contiguous(), camera.view.contiguous()
        pairs, color, transmittance, blended, radii, *buffers = _C.rasterize_gaussians(
            *gaussians, background, view, camera.width, camera.height, camera.fx, camera.fy, camera.debug
        )
        ctx.camera, ctx.pairs = camera, pairs
        ctx.save_for_backward(*gaussians, background, view, radii, *buffers)
        ctx.mark_non_differentiable(blended, radii)
        return color, transmittance, blended, radii

    @staticmethod
    def backward(ctx, grad_color, grad_transmittance, _grad_blended, _grad_radii):
        *scene, radii, geometry, binning, image = ctx.saved_tensors
        grads = _C.rasterize_gaussians_backward(
            *scene, ctx.camera.fx, ctx.camera.fy, ctx.pairs, radii, geometry, binning, image,
            grad_color.contiguous(), grad_transmittance.contiguous(), ctx.camera.debug,
        )  # fmt: skip
        return (*grads, None)


def rasterize(means, scales, quats, opacities, colors, camera):
    """Color (3 x H x W), transmittance to the background, the number of Gaussians of each pixel, and radii."""
    return _RasterizeGaussians.apply(means, scales, quats, opacities, colors, camera)
