# SPDX-License-Identifier: Apache-2.0
import torch

from . import _C


class _Matmul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return _C.matmul(a, b, False, False)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        grad = grad.contiguous()
        grad_a = _C.matmul(grad, b, False, True) if ctx.needs_input_grad[0] else None
        grad_b = _C.matmul(a, grad, True, False) if ctx.needs_input_grad[1] else None
        return grad_a, grad_b


def matmul(a, b):
    """[M, K] @ [K, N], float32 or float16; sums are float32."""
    return _Matmul.apply(a, b)


def linear(a, b, bias):
    """[M, K] @ [K, N] + [N]. The sum with the bias is rounded to the type of `a`. No gradient."""
    return _C.add_bias(_C.matmul(a, b, False, False), bias)
