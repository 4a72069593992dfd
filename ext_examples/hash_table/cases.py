# SPDX-License-Identifier: Apache-2.0
"""Cases of hash_table; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "hash_table"

CASES = {
    "empty": {"n": 0},
    "one": {"n": 1},
    "half_a_warp": {"n": 16, "keys": 3},
    "one_key": {"n": 300, "keys": 1},
    "one_key_in_a_warp": {"n": 32, "keys": 1, "block": 32},
    "a_key_to_a_lane": {"n": 640, "keys": 32},
    "warp_and_one": {"n": 33, "keys": 33},
    "block_of_48": {"n": 500, "keys": 20, "block": 48},
    "block_of_1024": {"n": 1500, "keys": 100, "block": 1024},
    "one_bucket": {"n": 200, "keys": 32, "log_buckets": 1},
    "grows": {"n": 2000, "keys": 1500},
    "many_buckets": {"n": 1000, "keys": 400, "log_buckets": 8},
    "large_keys": {"n": 400, "keys": 40, "scale": 2**50 + 1},
    "double": {"n": 600, "keys": 30, "dtype": "float64"},
}


def inputs(rng, n, keys=10, block=128, log_buckets=4, scale=1, dtype="float32"):
    return {
        "keys": (rng.integers(0, keys, n) * scale).astype("int64"),
        # Small integers: their sums are exact in any order.
        "values": rng.integers(-40, 41, n).astype(dtype),
        "log_buckets": log_buckets,
        "block": block,
    }


def call(hash_table, keys, values, log_buckets, block):
    outputs = {}
    for method in hash_table.METHODS:
        found, sums, counts = hash_table.sum_by_key(keys, values, method, log_buckets, block)
        order = found.argsort()
        outputs |= {f"{method}_keys": found[order], f"{method}_sums": sums[order], f"{method}_counts": counts[order]}
    return outputs


def reference(keys, values, log_buckets, block):
    found, where, counts = np.unique(keys, return_inverse=True, return_counts=True)
    sums = np.bincount(where, values, len(found)).astype(values.dtype)
    outputs = {}
    for method in ("retry", "spin", "patient", "warp", "open"):
        outputs |= {f"{method}_keys": found, f"{method}_sums": sums, f"{method}_counts": counts.astype("int32")}
    return outputs


def tolerance(**_):
    return {}  # integers, also in floats: exact
