# SPDX-License-Identifier: Apache-2.0
"""Cases of tiled_matmul; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "tiled_matmul"

CASES = {
    "empty": {"m": 0, "k": 3, "n": 4},
    "no_inner": {"m": 2, "k": 0, "n": 3},
    "one": {"m": 1, "k": 1, "n": 1},
    "vector": {"m": 1, "k": 33, "n": 17},
    "tile": {"m": 16, "k": 16, "n": 16},
    "odd": {"m": 31, "k": 47, "n": 19},
    "large_deep": {"m": 65, "k": 129, "n": 66, "backward": False},
    "large_backward": {"m": 64, "k": 65, "n": 64},
    "half_odd": {"m": 20, "k": 65, "n": 33, "dtype": "float16"},
    "half_large": {"m": 66, "k": 64, "n": 65, "dtype": "float16", "backward": False},
}

GRADIENTS = {"grad_a": ("c", "grad", "a"), "grad_b": ("c", "grad", "b")}


def inputs(rng, m, k, n, dtype="float32", backward=True):
    shapes = {"a": (m, k), "b": (k, n), "bias": (n,), "grad": (m, n)}
    arrays = {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
    return {**arrays, "backward": backward}


def call(tiled_matmul, a, b, bias, grad, backward):
    outputs = {"with_bias": tiled_matmul.linear(a, b, bias)}
    if backward:
        a.requires_grad_()
        b.requires_grad_()
        outputs["c"] = tiled_matmul.matmul(a, b)
        outputs["c"].backward(grad)
        outputs |= {"grad_a": a.grad, "grad_b": b.grad}
    return outputs


def reference(a, b, bias, grad, backward):
    a, b, bias, grad = (array.astype("float64") for array in (a, b, bias, grad))
    outputs = {"with_bias": a @ b + bias}
    return {**outputs, "c": a @ b, "grad_a": grad @ b.T, "grad_b": a.T @ grad} if backward else outputs


def tolerance(m, k, n, dtype="float32", **_):
    # Sums of K products in float, each product of the order of 1; a half result is then rounded once, and once
    # more if the bias is added in half.
    unit = float(np.finfo(np.float32).eps)
    rounding = 0.0 if dtype == "float32" else float(np.finfo(np.float16).eps)
    return {
        name: (rounding + unit, 4 * unit * length + rounding * max(1, length) ** 0.5)
        for name, length in (("c", k), ("with_bias", k), ("grad_a", n), ("grad_b", m))
    }
