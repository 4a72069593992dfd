# SPDX-License-Identifier: Apache-2.0
"""Cases of torch-sparse's operators for GPUs: products of sparse and dense matrices, and conversions.

Its Python needs torch-scatter, so the operators are called directly. A warp has a row of the product: with 64 lanes,
two rows, of different lengths, share a wavefront.
"""

import sys
from pathlib import Path

import numpy as np

PACKAGE = "torch"
SHAPES = {
    "one": {"rows": 1, "columns": 1, "width": 1, "full": 1.0},
    "no_entries": {"rows": 5, "columns": 4, "width": 3, "full": 0.0},
    "rows_of_all_lengths": {"rows": 40, "columns": 90, "width": 33, "full": None},
    "a_warp_wide": {"rows": 9, "columns": 33, "width": 32, "full": 0.6},
    "wide": {"rows": 6, "columns": 7, "width": 70, "full": 0.5},
    "batches": {"rows": 7, "columns": 40, "width": 5, "full": 0.4, "batches": 3},
    "longer": {"rows": 12, "columns": 50, "width": 9, "full": 0.7},
}
CASES = {
    **{
        f"{reduce}_{name}{'' if valued else '_ones'}": {"reduce": reduce, "valued": valued, **shape}
        for name, shape in SHAPES.items()
        for reduce in ("sum", "mean", "min", "max")
        for valued in (True, False)
        if valued or name in ("rows_of_all_lengths", "batches")
    },
    "conversions": {"reduce": "", "rows": 300, "columns": 20, "width": 1, "full": 0.2},
    "conversions_empty": {"reduce": "", "rows": 3, "columns": 3, "width": 1, "full": 0.0},
}


def inputs(rng, reduce, rows, columns, width, full, valued=True, batches=0, dtype="float32"):
    chance = np.linspace(0, 1, rows)[:, None] if full is None else full
    row, column = np.nonzero(rng.random((rows, columns)) < chance)
    shape = (batches, columns, width) if batches else (columns, width)
    return {
        "reduce": reduce,
        "row": row.astype("int64"),
        "column": column.astype("int64"),
        # Distinct products: the choice of the least of equals is undefined.
        "value": (rng.permutation(len(row)) + 1.5).astype(dtype) if valued else None,
        "dense": (rng.permutation(int(np.prod(shape))).reshape(shape) + 0.25).astype(dtype),
        "rows": rows,
    }


def call(torch, reduce, row, column, value, dense, rows):
    if not hasattr(torch.ops.torch_sparse, "spmm_sum"):
        (library,) = (path for folder in sys.path[:3] for path in Path(folder).glob("torch_sparse/_version_*.so"))
        torch.ops.load_library(str(library))
    ops = torch.ops.torch_sparse
    pointers = ops.ind2ptr(row, rows)
    if not reduce:
        mask = ops.non_diag_mask(row, column, rows, 20, 0) if len(row) else row
        walk = ops.random_walk(torch.arange(rows + 1), torch.arange(rows).flip(0), torch.arange(rows), 3)
        return {"pointers": pointers, "row": ops.ptr2ind(pointers, len(row)), "mask": mask, "walk": walk}
    dense.requires_grad_()
    if value is not None:
        value.requires_grad_()
    columns = dense.size(-2)
    order = (column * rows + row).argsort()
    back = ops.ind2ptr(column[order], columns)
    outputs = {}
    if reduce == "sum":
        out = ops.spmm_sum(row, pointers, column, value, back, order, dense)
    elif reduce == "mean":
        out = ops.spmm_mean(row, pointers, column, value, pointers.diff(), back, order, dense)
    else:
        out, outputs["which"] = getattr(ops, f"spmm_{reduce}")(pointers, column, value, dense)
    outputs["out"] = out
    if not len(row):
        return outputs
    out.square().sum().backward()
    outputs["slope_dense"] = dense.grad
    # It does not exist for several matrices at once.
    if value is not None and dense.dim() == 2:
        outputs["slope_value"] = value.grad
    return outputs


def tolerance(reduce, columns, width, rows, dtype="float32", **_):
    unit = float(np.finfo(dtype).eps)
    return dict.fromkeys(("out", "slope_dense", "slope_value"), (8 * unit * max(4, columns, width, rows) ** 0.5, 0.0))
