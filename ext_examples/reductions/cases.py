# SPDX-License-Identifier: Apache-2.0
"""Cases of reductions; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "reductions"

CASES = {
    "empty": {"rows": 0, "columns": 3},
    "one": {"rows": 1, "columns": 1},
    "half_a_warp": {"rows": 3, "columns": 16, "block": 16, "width": 16},
    "less_than_a_warp": {"rows": 5, "columns": 31, "block": 20},
    "warp_and_one": {"rows": 4, "columns": 33, "block": 33},
    "a_warp": {"rows": 33, "columns": 40, "block": 32},
    "block_of_48": {"rows": 7, "columns": 500, "block": 48, "width": 4},
    "block_of_64": {"rows": 7, "columns": 500, "block": 64},
    "block_of_96": {"rows": 6, "columns": 90, "block": 96},
    "block_of_1000": {"rows": 2, "columns": 3001, "block": 1000},
    "block_of_1024": {"rows": 2, "columns": 3001, "block": 1024, "width": 16},
    "ties": {"rows": 9, "columns": 70, "kind": "ties", "width": 4},
    "nan": {"rows": 9, "columns": 70, "kind": "nan"},
    "half": {"rows": 4, "columns": 300, "dtype": "float16"},
    "double": {"rows": 4, "columns": 700, "block": 512, "dtype": "float64"},
}


def inputs(rng, rows, columns, block=128, width=32, kind="", dtype="float32"):
    x = rng.standard_normal((rows, columns))
    if kind == "ties":
        x = np.round(x)
    if kind == "nan":
        x[rng.random(x.shape) < 0.02] = np.nan
        x[-1] = 1  # a row without one, as long as there is one
    ints = rng.integers(-(2**31), 2**31, rows * columns).astype("int32")
    return {"x": x.astype(dtype), "ints": ints, "block": block, "width": width}


def call(reductions, x, ints, block, width):
    outputs = {}
    for style in reductions.STYLES:
        outputs[f"sum_{style}"], outputs[f"max_{style}"] = reductions.reduce_rows(x, style, block)
    outputs["best"], outputs["best_at"] = reductions.argmax_rows(x, block)
    outputs["mean"], outputs["variance"] = reductions.moments(x, width)
    names = ("warps", "even", "odd", "total", "greatest")
    return outputs | {f"int_{name}": value for name, value in zip(names, reductions.reduce_ints(ints, block))}


def reference(x, ints, block, width):
    accumulated = "float64" if x.dtype == "float64" else "float32"
    exact = x.astype("float64")
    best = np.array([row.argmax() for row in exact], dtype="int32")  # NaN counts as the greatest, ties as the first
    greatest = x[np.arange(len(x)), best].astype(accumulated)
    outputs = {"best": greatest, "best_at": best, "mean": exact.mean(1), "variance": exact.var(1)}
    for style in ("tree", "shared", "halving"):
        outputs |= {f"sum_{style}": exact.sum(1), f"max_{style}": greatest}

    starts = np.arange(0, len(ints), 32)

    def by_warp(function, values):
        return function.reduceat(values, starts) if len(values) else values

    wide, bits, place = ints.astype("int64"), ints.view("uint32"), np.arange(len(ints)) % 32
    warps = [by_warp(np.add, wide), by_warp(np.minimum, ints), by_warp(np.maximum, ints)]
    warps += [by_warp(f, bits) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.maximum)]

    def wrapped(values):
        return np.asarray(values).astype("int64").astype("uint32").view("int32")

    return outputs | {
        "int_warps": np.stack([wrapped(row) for row in warps]),
        "int_even": wrapped(by_warp(np.add, np.where(place % 2 == 0, wide, 0))),
        "int_odd": wrapped(by_warp(np.add, np.where(place % 2 == 1, wide, 0))),
        "int_total": wrapped([wide.sum()]),
        "int_greatest": np.array([ints.max(initial=-(2**31))], dtype="int32"),
    }


def tolerance(columns, dtype="float32", **_):
    # Sums of `columns` values of the order of 1 in float or double (halves are added as floats), in another order.
    eps = float(np.finfo("float64" if dtype == "float64" else "float32").eps)
    near = (16 * eps, 16 * eps * columns**0.5)
    names = ("sum_tree", "sum_shared", "sum_halving", "mean", "variance")
    return dict.fromkeys(names, near)
