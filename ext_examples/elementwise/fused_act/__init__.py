# SPDX-License-Identifier: Apache-2.0
"""y = gain * act(x + bias), in one kernel."""

import torch

from . import _C

ACTIVATIONS = {"lrelu": 0, "gelu": 1, "silu": 2}


class _FusedAct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias, act, slope, gain):
        ctx.save_for_backward(x, bias)
        ctx.params = (act, slope, gain)
        return _C.forward(x, bias, act, slope, gain)

    @staticmethod
    def backward(ctx, grad_y):
        x, bias = ctx.saved_tensors
        grad_x, grad_bias = _C.backward(grad_y, x, bias, *ctx.params)
        return grad_x, grad_bias if bias.numel() else None, None, None, None


def fused_act(x, bias=None, act="lrelu", slope=0.2, gain=1.0):
    """`x` is [..., C] on a CUDA device, `bias` is [C] or None."""
    if act not in ACTIVATIONS:
        raise ValueError(f"unknown activation {act!r}; there are: {', '.join(ACTIVATIONS)}")
    if bias is None:
        bias = x.new_empty(0)
    return _FusedAct.apply(x, bias, ACTIVATIONS[act], float(slope), float(gain))
