# SPDX-License-Identifier: Apache-2.0
"""Cases of bitonic_sort; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "bitonic_sort"

CASES = {
    "empty": {"rows": 0, "columns": 7, "n": 0},
    "one": {"rows": 1, "columns": 1, "n": 1},
    "half_a_warp": {"rows": 3, "columns": 16, "n": 1000},
    "less_than_a_warp": {"rows": 5, "columns": 31, "n": 1024},
    "a_warp": {"rows": 4, "columns": 32, "n": 1025},
    "warp_and_one": {"rows": 9, "columns": 33, "n": 2048},
    "two_warps": {"rows": 2, "columns": 64, "n": 2049},
    "two_warps_and_one": {"rows": 2, "columns": 65, "n": 5000},
    "odd": {"rows": 11, "columns": 200, "k": 7, "width": 8},
    "longest": {"rows": 2, "columns": 1024, "n": 3001, "k": 1},
    "ties": {"rows": 3, "columns": 300, "values": 3, "width": 16},
    "all_equal": {"rows": 2, "columns": 100, "values": 1},
    "zeros_infinities_nan": {"rows": 6, "columns": 90, "special": True, "width": 8},
    "sorted": {"rows": 2, "columns": 257, "arranged": 1},
    "reversed": {"rows": 2, "columns": 257, "arranged": -1},
    "half": {"rows": 3, "columns": 150, "dtype": "float16"},
    "double": {"rows": 3, "columns": 150, "dtype": "float64", "special": True},
    "int": {"rows": 3, "columns": 150, "dtype": "int32"},
    "int64": {"rows": 3, "columns": 150, "dtype": "int64", "width": 16},
}


def inputs(rng, rows, columns, n=300, k=20, width=32, values=0, special=False, arranged=0, dtype="float32"):
    shape = (rows, columns)
    if values:
        x = rng.integers(0, values, shape)
    elif dtype.startswith("int"):
        x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype)
    else:
        x = rng.standard_normal(shape)
    if special:
        pick = rng.integers(0, 9, shape)
        for i, value in enumerate((0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan)):
            x[pick == i] = value
        x[:, columns // 2] = 1
    if arranged:
        x = np.sort(x, 1)[:, ::arranged]
    keys = rng.integers(0, 2**31, n) if n % 2 else rng.integers(0, 50, n)
    return {
        "x": np.ascontiguousarray(x.astype(dtype)),
        "keys": keys.astype("int32"),
        "values": rng.integers(0, 2**31, n).astype("int32"),
        "k": k,
        "width": width,
    }


def call(bitonic_sort, x, keys, values, k, width):
    outputs = {"top": bitonic_sort.top_rows(x, k), "ranks": bitonic_sort.rank_groups(x, width)}
    for name, descending in (("rising", False), ("falling", True)):
        _, outputs[name] = bitonic_sort.sort_rows(x, descending)
    outputs["keys"], outputs["values"] = bitonic_sort.sort_pairs(keys, values)
    return outputs


def reference(x, keys, values, k, width):
    # The ranks of the values; NaN is the greatest, and 0 is -0.
    levels = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    rising, falling = (np.argsort(sign * levels, 1, kind="stable").astype("int32") for sign in (1, -1))
    top = np.full((len(x), k), -1, dtype="int32")
    top[:, : x.shape[1]] = falling[:, :k]
    flat, ranks = levels.reshape(-1), np.empty(x.size, dtype="int32")
    for first in range(0, x.size, width):
        order = np.argsort(flat[first : first + width], kind="stable")
        ranks[first + order] = np.arange(len(order))
    pairs = np.lexsort((values, keys))
    return {
        "rising": rising,
        "falling": falling,
        "top": top,
        "ranks": ranks.reshape(x.shape),
        "keys": keys[pairs],
        "values": values[pairs],
    }


def tolerance(**_):
    return {}  # indices and integers
