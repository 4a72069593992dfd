# SPDX-License-Identifier: Apache-2.0
"""Cases of torch-scatter: every reduction, on random and degenerate input. The results of its CPU code are right."""

import numpy as np

PACKAGE = "torch_scatter"
REDUCTIONS = ("sum", "mul", "mean", "min", "max")
SHAPES = {
    "empty": {"rows": 0, "columns": 4},
    "one": {"rows": 1, "columns": 1, "groups": 1},
    "vector": {"rows": 33, "columns": 1, "groups": 7},
    "one_group": {"rows": 65, "columns": 3, "groups": 1},
    "all_apart": {"rows": 40, "columns": 5, "groups": 40, "apart": True},
    "most_empty": {"rows": 20, "columns": 2, "groups": 300},
    "wide": {"rows": 6, "columns": 130, "groups": 3},
    "long": {"rows": 700, "columns": 2, "groups": 5},
    "columns": {"rows": 100, "columns": 9, "groups": 11},
    "int": {"rows": 100, "columns": 3, "groups": 11, "dtype": "int64"},
}
CASES = {
    f"{function}_{reduce}_{name}": {"function": function, "reduce": reduce, **shape}
    for name, shape in SHAPES.items()
    for function in ("scatter", "segment_coo", "segment_csr", "gather_csr", "gather_coo")
    for reduce in (REDUCTIONS if function == "scatter" else REDUCTIONS[:1] + REDUCTIONS[2:])
    if not function.startswith("gather") or reduce == "sum"
    # The CPU code divides by the number of elements.
    if not (function.endswith("_coo") and name == "empty" and reduce in ("sum", "mean"))
}


def inputs(rng, function, reduce, rows, columns, groups=1, dtype="float32", apart=False):
    # Small integers: sums do not depend on the order, and there are many ties. Means of integers are rounded down on a
    # GPU, and towards zero on the CPU.
    x = rng.integers(0 if dtype == "int64" else -3, 4, (rows, columns))
    index = rng.permutation(groups)[:rows] if apart else rng.integers(0, groups, rows)
    return {"x": x.astype(dtype), "index": np.sort(index).astype("int64"), "groups": groups, "function": function,
            "reduce": reduce}  # fmt: skip


def call(torch_scatter, x, index, groups, function, reduce):
    import torch

    ends = torch.bincount(index, minlength=groups).cumsum(0)
    pointers = torch.cat([torch.zeros(1, dtype=torch.int64, device=x.device), ends])
    if x.is_floating_point():
        x.requires_grad_()
    if function == "scatter":
        out = torch_scatter.scatter(x, index, dim=0, dim_size=groups, reduce=reduce)
    elif function == "segment_coo":
        out = torch_scatter.segment_coo(x, index, dim_size=groups, reduce=reduce)
    elif function == "segment_csr":
        out = torch_scatter.segment_csr(x, pointers, reduce=reduce)
    elif function == "gather_csr":
        out = torch_scatter.gather_csr(x[:groups] if len(x) >= groups else x.new_ones(groups, x.size(1)), pointers)
    else:
        out = torch_scatter.gather_coo(x[:groups] if len(x) >= groups else x.new_ones(groups, x.size(1)), index)
    outputs = {"out": out}
    # The choice of the least of equal elements is undefined: the gradient goes to one of them.
    if out.requires_grad and reduce not in ("min", "max"):
        out.sum().backward()
        outputs["slope"] = x.grad
    return outputs


def tolerance(dtype="float32", **_):
    unit = float(np.finfo(dtype).eps) if dtype.startswith("float") else 0.0
    # Products and quotients of small integers; the gradient of a product divides by its factors.
    return {"out": (4 * unit, 0.0), "slope": (16 * unit, 0.0)} if unit else {}
