# SPDX-License-Identifier: Apache-2.0
"""Cases of torch-spline-conv: bases of every degree, open and closed, and their gradients. Its CPU code is right."""

import numpy as np

PACKAGE = "torch_spline_conv"
SHAPES = {
    "one": {"edges": 1, "nodes": 1},
    "warp_and_one": {"edges": 33, "nodes": 9, "channels": (3, 5)},
    "block_and_one": {"edges": 1025, "nodes": 40, "dims": 1, "channels": (1, 2)},
    "three_dims": {"edges": 70, "nodes": 12, "dims": 3, "open_": (1, 0, 1)},
    "at_the_ends": {"edges": 20, "nodes": 5, "ends": True},
    "double": {"edges": 50, "nodes": 8, "dtype": "float64"},
}
CASES = {f"{name}_{degree}": {"degree": degree, **shape} for name, shape in SHAPES.items() for degree in (1, 2, 3)}


def inputs(rng, degree, edges, nodes, dims=2, channels=(2, 4), open_=(1, 0), ends=False, dtype="float32"):
    size = np.full(dims, degree + 3)
    pseudo = rng.integers(0, 2, (edges, dims)) if ends else rng.random((edges, dims))
    into, out = channels
    return {
        "degree": degree,
        "x": rng.standard_normal((nodes, into)).astype(dtype),
        "edges": rng.integers(0, nodes, (2, edges)).astype("int64"),
        "pseudo": pseudo.astype(dtype),
        "weight": rng.standard_normal((int(size.prod()), into, out)).astype(dtype),
        "size": size.astype("int64"),
        "open_": np.array(open_[:dims], dtype="uint8"),
        "upstream": rng.standard_normal((nodes, out)).astype(dtype),
    }


def call(torch_spline_conv, degree, x, edges, pseudo, weight, size, open_, upstream):
    basis, which = torch_spline_conv.spline_basis(pseudo, size, open_, degree)
    leaves = {"x": x, "pseudo": pseudo, "weight": weight}
    for leaf in leaves.values():
        leaf.requires_grad_()
    out = torch_spline_conv.spline_conv(x, edges, pseudo, weight, size, open_, degree)
    (out * upstream).sum().backward()
    return {"basis": basis, "which": which, "out": out} | {f"slope_{name}": leaf.grad for name, leaf in leaves.items()}


def tolerance(edges, degree, dims=2, dtype="float32", **_):
    # Sums with at most as many products as a node or a weight has edges, in any order.
    unit = float(np.finfo(dtype).eps)
    many = 16 * unit * max(4, edges) ** 0.5 * (degree + 1) ** (dims / 2)
    return {"basis": (16 * unit, 4 * unit)} | dict.fromkeys(
        ("out", "slope_x", "slope_pseudo", "slope_weight"), (16 * unit, many)
    )
