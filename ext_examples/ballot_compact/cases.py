# SPDX-License-Identifier: Apache-2.0
"""Cases of ballot_compact; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "ballot_compact"

CASES = {
    "empty": {"n": 0},
    "one": {"n": 1},
    "half_a_warp": {"n": 16, "block": 16},
    "a_warp": {"n": 32, "block": 32},
    "warp_and_one": {"n": 33, "block": 64},
    "two_warps_less_one": {"n": 63, "block": 64},
    "upper_warp_alone": {"n": 64, "block": 64, "only": (32, 64)},
    "lower_warp_alone": {"n": 64, "block": 64, "only": (0, 32)},
    "every_other_lane": {"n": 320, "block": 160, "stride": 2},
    "last_lanes": {"n": 512, "block": 96, "stride": 32},
    "block_of_48": {"n": 500, "block": 48},
    "block_of_1024": {"n": 1500, "block": 1024},
    "all_equal": {"n": 300, "keys": 1},
    "all_keys_differ": {"n": 257, "keys": 257},
    "nan": {"n": 200, "nan": True},
    "int": {"n": 700, "dtype": "int32"},
    "double": {"n": 1000, "block": 80, "dtype": "float64"},
}


def inputs(rng, n, block=128, dtype="float32", only=None, stride=0, keys=7, nan=False):
    # Small integers, so that some elements equal the limits.
    x = rng.integers(-9, 10, n)
    if only:
        inside = (np.arange(n) >= only[0]) & (np.arange(n) < only[1])
        x = np.where(inside, 9, 0)
    if stride:
        x = np.where(np.arange(n) % stride == stride - 1, 9, 0)
    x = x.astype(dtype)
    if nan:
        x[rng.random(n) < 0.3] = np.nan
        x[-1] = 0
    return {
        "x": x,
        "keys": rng.permutation(n).astype("int32") if keys == n else rng.integers(-1, keys + 1, n).astype("int32"),
        "flags": (rng.integers(0, 40, n) == 0).astype("int32") * rng.integers(-5, 6, n).astype("int32"),
        "words": rng.integers(-(2**31), 2**31, n % 97).astype("int32"),
        "buckets": keys,
        "block": block,
    }


def call(ballot_compact, x, keys, flags, words, buckets, block):
    outputs = {}
    outputs["split"], outputs["source"], above = ballot_compact.split(x, 2)
    outputs["split_at"] = outputs["source"].new_tensor([above])
    below, above = ballot_compact.select(x, -3, 3, block)
    outputs["below"], outputs["above"] = below.sort()[0], above.sort()[0]
    lists = [indices.sort()[0] for indices in ballot_compact.bucket(keys, buckets, block)]
    outputs["bucket_sizes"] = keys.new_tensor([len(indices) for indices in lists])
    outputs["bucketed"] = keys.new_tensor([i for indices in lists for i in indices.tolist()])
    outputs["first"], outputs["last"] = ballot_compact.extent(flags, block)
    outputs["bytes"], outputs["places"] = ballot_compact.unpack(words, block)
    return outputs


def reference(x, keys, flags, words, buckets, block):
    above = x > 2
    source = np.concatenate([np.flatnonzero(above), np.flatnonzero(~above)])
    lists = [np.flatnonzero(keys == key) for key in range(buckets)]
    rows = np.zeros(-(-len(flags) // 32) * 32, dtype=bool)
    rows[: len(flags)] = flags != 0
    rows = rows.reshape(-1, 32)
    bits = np.unpackbits(words.view("uint8"), bitorder="little")
    outputs = {
        "source": source,
        "split_at": np.array([above.sum()]),
        "below": np.flatnonzero(x < -3),
        "above": np.flatnonzero(x > 3),
        "bucket_sizes": np.array([len(indices) for indices in lists]),
        "bucketed": np.concatenate(lists),
        "first": np.where(rows.any(1), rows.argmax(1), -1),
        "last": np.where(rows.any(1), 31 - rows[:, ::-1].argmax(1), -1),
        "places": np.flatnonzero(bits),
    }
    return {"split": x[source], "bytes": bits} | {name: value.astype("int32") for name, value in outputs.items()}


def tolerance(**_):
    return {}  # elements are moved, and integers counted: equal bit for bit
