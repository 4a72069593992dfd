# SPDX-License-Identifier: Apache-2.0
"""Cases of scan_sort; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "scan_sort"

CASES = {
    "empty": {"points": 0, "rows": 0, "columns": 5},
    "one": {"points": 1, "rows": 1, "columns": 1},
    "warp_and_one": {"points": 33, "rows": 3, "columns": 65},
    "block": {"points": 256, "rows": 2, "columns": 512},
    "block_and_one": {"points": 257, "rows": 2, "columns": 513, "level": 3},
    "many": {"points": 1500, "rows": 3, "columns": 1100, "level": 1},
    "ties": {"points": 200, "rows": 1, "columns": 40, "grid": 3},
    "one_plane": {"points": 100, "rows": 2, "columns": 31, "flat": True},
    "int64": {"points": 5, "rows": 4, "columns": 700, "dtype": "int64"},
    "double": {"points": 70, "rows": 2, "columns": 600, "dtype": "float64"},
}


def inputs(rng, points, rows, columns, level=2, grid=0, flat=False, dtype="float32"):
    # With `grid`, many points share a place, and a stable sort must keep their order.
    xyz = rng.integers(0, grid, (points, 3)) if grid else rng.random((points, 3))
    if flat:
        xyz[:, 2] = 0.5
    x = rng.integers(-(2**40), 2**40, (rows, columns)) if dtype == "int64" else rng.standard_normal((rows, columns))
    grad = rng.standard_normal((rows, columns))
    return {"points": xyz.astype("float32"), "level": level, "x": x.astype(dtype), "grad": grad.astype(dtype)}


def call(scan_sort, points, level, x, grad):
    bins = scan_sort.bin_points(points, level)
    outputs = {"order": bins.order, "codes": bins.codes, "ranges": bins.ranges, "offsets": bins.offsets}
    if not x.is_floating_point():
        return {**outputs, "cumsum": scan_sort.row_cumsum(x)}
    x.requires_grad_()
    y = scan_sort.row_cumsum(x)
    y.backward(grad)
    return {**outputs, "cumsum": y, "grad_x": x.grad}


def spread(x):
    """Put two zeros between each of the ten bits of x."""
    return sum(((x >> bit) & 1) << (3 * bit) for bit in range(10))


def reference(points, level, x, grad):
    codes = np.zeros(len(points), dtype="int64")
    if len(points):
        low, high = points.min(0), points.max(0)
        extent = np.where(high > low, high - low, np.float32(1))
        # The kernel's own float32 steps, so that every cell is the same.
        cells = ((points - low) / extent * np.float32(1023)).astype("int64")
        codes = spread(cells[:, 0]) | spread(cells[:, 1]) << 1 | spread(cells[:, 2]) << 2
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes >> 3 * (10 - level), minlength=8**level)
    ends = np.cumsum(counts)
    # A cell without points keeps the range 0, 0.
    ranges = np.stack([ends - counts, ends], 1) * (counts > 0)[:, None]
    outputs = {
        "order": order.astype("int32"),
        "codes": codes[order].astype("int32"),
        "ranges": ranges.astype("int32"),
        "offsets": np.concatenate([[0], ends]).astype("int32"),
    }
    if x.dtype == "int64":
        return {**outputs, "cumsum": np.cumsum(x, 1)}
    grad_x = np.cumsum(grad.astype("float64")[:, ::-1], 1)[:, ::-1]
    return {**outputs, "cumsum": np.cumsum(x.astype("float64"), 1), "grad_x": grad_x}


def tolerance(columns, dtype="float32", **_):
    if dtype == "int64":
        return {}
    # Sums of up to `columns` values of the order of 1, added in another order.
    absolute = 16 * float(np.finfo(dtype).eps) * max(1, columns) ** 0.5
    relative = 16 * float(np.finfo(dtype).eps)
    return {"cumsum": (relative, absolute), "grad_x": (relative, absolute)}
