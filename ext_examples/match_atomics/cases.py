# SPDX-License-Identifier: Apache-2.0
"""Cases of match_atomics; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "matched"

CASES = {
    "empty": {"n": 0},
    "one": {"n": 1},
    "half_a_warp": {"n": 16, "block": 16},
    "warp_and_one": {"n": 33, "block": 64},
    "two_warps_less_one": {"n": 63, "block": 64},
    "one_key": {"n": 500, "keys": 1},
    "one_key_per_warp": {"n": 320, "block": 160, "runs": 32},
    "one_key_per_pair_of_warps": {"n": 512, "block": 128, "runs": 64},
    "runs_of_5": {"n": 333, "runs": 5},
    "all_keys_differ": {"n": 200, "keys": 200},
    "some_out_of_range": {"n": 700, "keys": 6, "outside": 3},
    "block_of_48": {"n": 450, "block": 48, "keys": 3},
    "block_of_1024": {"n": 2500, "block": 1024, "keys": 40},
    "zeros_and_nan": {"n": 300, "keys": 4, "dtype": "float32", "special": True},
    "int": {"n": 300, "keys": 4, "dtype": "int32"},
    "int64": {"n": 300, "keys": 4, "dtype": "int64"},
    "double": {"n": 300, "keys": 4, "dtype": "float64", "special": True},
}


def inputs(rng, n, keys=5, block=256, dtype="float32", runs=0, outside=0, special=False):
    if runs:
        index = np.arange(n) // runs % 7
        keys = 7
    else:
        index = rng.permutation(n) if keys == n else rng.integers(-outside, keys + outside, n)
    x = rng.integers(0, 3, n).astype(dtype)
    if dtype == "int64":
        x <<= 32  # only the upper words differ
    if special:
        x = np.array([0.0, -0.0, 1.0, np.nan], dtype=dtype)[rng.integers(0, 4, n)]
        x[:64] = np.nan  # two warps that agree
    elif n > 64:
        x[32:64] = x[0]
    return {
        "keys": index.astype("int32"),
        "values": rng.integers(-50, 50, n).astype("float64" if dtype == "float64" else "float32"),
        "ints": rng.integers(-(2**31), 2**31, n).astype("int32"),
        "wide": (index % 1024).astype("int64"),
        "x": x,
        "bins": int(keys),
        "block": block,
    }


def call(matched, keys, values, ints, wide, x, bins, block):
    outputs = {}
    outputs["counts"], outputs["ranks"] = matched.count(keys, bins, block)
    outputs["sums"], outputs["maxima"] = matched.accumulate(keys, values, ints, bins, block)
    # Each key has the places 0, 1, 2 …, whichever element has which.
    places = matched.places(wide, block)
    outputs["places"] = (wide * 4096 + places).sort()[0]
    outputs["alike"], outputs["all_alike"] = matched.alike(x, block)
    return outputs


def reference(keys, values, ints, wide, x, bins, block):
    inside = (keys >= 0) & (keys < bins)
    warps = np.arange(len(keys)) // block * 1024 + np.arange(len(keys)) % block // 32
    ranks = np.full(len(keys), -1)
    for warp in np.unique(warps):
        for key in range(bins):
            these = np.flatnonzero((warps == warp) & (keys == key))
            ranks[these] = np.arange(len(these))
    maxima = np.full(bins, -(2**31), dtype="int32")
    np.maximum.at(maxima, keys[inside], ints[inside])
    bits = x.view(f"int{x.itemsize * 8}")
    rows = [bits[i : i + 32] for i in range(0, len(bits), 32)]
    ordered = np.sort(wide)
    starts = np.searchsorted(ordered, ordered)
    alike = [(row[:, None] == row).sum(1) for row in rows]
    return {
        "counts": np.bincount(keys[inside], minlength=bins).astype("int32"),
        "ranks": ranks.astype("int32"),
        "sums": np.bincount(keys[inside], values[inside], bins).astype(values.dtype),
        "maxima": maxima,
        "places": ordered * 4096 + np.arange(len(wide)) - starts,
        "alike": np.concatenate([np.empty(0, int), *alike]).astype("int32"),
        "all_alike": np.array([(row == row[0]).all() for row in rows], dtype="int32"),
    }


def tolerance(**_):
    return {}  # integers, also in floats: exact
