# SPDX-License-Identifier: Apache-2.0
"""Cases of fused_act; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "fused_act"

CASES = {
    "empty": {"shape": (0, 8)},
    "one": {"shape": (1,), "act": "silu"},
    "row_of_31": {"shape": (31,), "act": "gelu", "bias": False},
    "gelu_100x33": {"shape": (100, 33), "act": "gelu"},
    "silu_7x5x65": {"shape": (7, 5, 65), "act": "silu", "gain": 1.5},
    "lrelu_257x3": {"shape": (257, 3)},
    "many_rows": {"shape": (700, 2), "act": "silu"},
    "transposed": {"shape": (40, 37), "act": "gelu", "transpose": True},
    "half": {"shape": (50, 48), "act": "gelu", "dtype": "float16"},
    "double": {"shape": (10, 30), "act": "silu", "dtype": "float64"},
    "nan_and_inf": {"shape": (4, 64), "special": True},
}

GRADIENTS = {"grad_x": ("y", "grad_y", "x"), "grad_bias": ("y", "grad_y", "bias")}


def inputs(rng, shape, act="lrelu", dtype="float32", bias=True, gain=1.0, transpose=False, special=False):
    x = rng.standard_normal(shape) * 2
    if special:
        x.flat[[0, 65, 130]] = np.nan, np.inf, -np.inf
    return {
        "x": x.astype(dtype),
        "bias": rng.standard_normal(shape[-1] if bias else 0).astype(dtype),
        "grad_y": rng.standard_normal(shape[::-1] if transpose else shape).astype(dtype),
        "act": act,
        "gain": gain,
        "transpose": transpose,
    }


def call(fused_act, x, bias, grad_y, act, gain, transpose):
    x.requires_grad_()
    bias.requires_grad_()
    # A transposed view of x has as many channels as x has rows: the bias does not fit it and is omitted.
    view, b = (x.t(), None) if transpose else (x, bias)
    y = fused_act.fused_act(view, b if b is not None and b.numel() else None, act, gain=gain)
    y.backward(grad_y)
    outputs = {"y": y, "grad_x": x.grad}
    return outputs if bias.grad is None else {**outputs, "grad_bias": bias.grad}


def reference(x, bias, grad_y, act, gain, transpose):
    x, bias, grad_y = (a.astype("float64") for a in (x, bias, grad_y))
    with_bias = bias.size > 0 and not transpose
    z = x.T if transpose else x + bias if with_bias else x
    with np.errstate(over="ignore", invalid="ignore"):
        if act == "lrelu":
            value, slope = np.where(z > 0, z, 0.2 * z), np.where(z > 0, 1.0, 0.2)
        elif act == "silu":
            s = 1 / (1 + np.exp(-z))
            value, slope = z * s, s * (1 + z * (1 - s))
        else:
            u = np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)
            t = np.tanh(u)
            du = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * z**2)
            value, slope = 0.5 * z * (1 + t), 0.5 * (1 + t) + 0.5 * z * (1 - t**2) * du
    grad_z = grad_y * gain * slope
    outputs = {"y": gain * value, "grad_x": grad_z.T if transpose else grad_z}
    return {**outputs, "grad_bias": grad_z.reshape(-1, bias.size).sum(0)} if with_bias else outputs


def tolerance(shape, dtype="float32", **_):
    # __expf and __fdividef are accurate to a few ulp here; half rounds the result and each summand of grad_bias.
    relative = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-13}[dtype]
    rows = int(np.prod(shape[:-1]))
    return {"y": (relative, relative), "grad_x": (relative, relative), "grad_bias": (relative, relative * max(1, rows) ** 0.5)}
