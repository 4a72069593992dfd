# SPDX-License-Identifier: Apache-2.0
"""Cases of tile_reduce; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "tile_reduce"

CASES = {
    "empty": {"rows": 0, "columns": 3},
    "one": {"rows": 1, "columns": 1},
    "half_a_warp": {"rows": 1, "columns": 16, "tile": 16, "block": 16},
    "one_tile_of_8": {"rows": 1, "columns": 8, "tile": 8, "block": 8},
    "warp_and_one": {"rows": 3, "columns": 33, "block": 64},
    "two_warps_less_one": {"rows": 7, "columns": 63, "tile": 16, "block": 64},
    "block_of_40": {"rows": 29, "columns": 20, "tile": 8, "block": 40},
    "block_of_48": {"rows": 17, "columns": 50, "tile": 16, "block": 48},
    "block_of_96": {"rows": 40, "columns": 35, "block": 96},
    "block_of_1024": {"rows": 70, "columns": 40, "block": 1024, "tile": 8},
    "long_rows": {"rows": 2, "columns": 1000},
    "one_key": {"rows": 10, "columns": 40, "bins": 1},
    "all_keys_differ": {"rows": 10, "columns": 30, "bins": 300},
    "int": {"rows": 20, "columns": 45, "dtype": "int32", "low": 1 - 2**31, "high": 2**31},
    "double": {"rows": 20, "columns": 45, "dtype": "float64", "tile": 16},
}


def inputs(rng, rows, columns, tile=32, block=128, bins=9, low=-200, high=201, dtype="float32"):
    n = rows * columns
    # Small integers also where the type is a float: sums in any order are exact.
    keys = rng.permutation(n) if n == bins else rng.integers(0, bins, n)
    return {
        "x": rng.integers(low, high, (rows, columns)).astype(dtype),
        "keys": keys.astype("int32"),
        "words": rng.integers(-(2**31), 2**31, n).astype("int32") | (rng.random(n) < 0.9) * np.int32(0x5A5A),
        "small": (rng.integers(-3, 4, n // 16 * 16) * rng.integers(1, 5, n // 16 * 16)).astype("int32"),
        "bins": bins,
        "tile": tile,
        "block": block,
    }


def call(tile_reduce, x, keys, words, small, bins, tile, block):
    names = ("sums", "maxima", "minima", "magnitudes")
    outputs = dict(zip(names, tile_reduce.row_stats(x, tile, block)))
    outputs |= dict(zip(("inclusive", "exclusive", "greatest"), tile_reduce.row_scans(x, block)))
    outputs["bits"] = tile_reduce.block_bits(words, block)
    outputs["by_key"], outputs["counts"], outputs["first"] = tile_reduce.sum_by_key(keys, x.flatten(), bins, block)
    positive, negative = tile_reduce.split(small, block)
    outputs["positive"], outputs["negative"] = positive.sort()[0], negative.sort()[0]
    outputs["votes"] = tile_reduce.votes(small, (block + 15) // 16 * 16)
    return outputs


def reference(x, keys, words, small, bins, tile, block):
    def wrapped(sums):
        return sums.astype("int64").astype(x.dtype) if x.dtype == "int32" else sums.astype(x.dtype)

    exact = x.astype("int64")
    by_key = np.zeros(bins, dtype="int64")
    np.add.at(by_key, keys, exact.reshape(-1))
    inclusive = np.cumsum(exact, 1)

    starts = np.arange(0, len(words), block)
    bits = [function.reduceat(words, starts) if len(words) else words for function in (np.bitwise_and, np.bitwise_or)]
    bits.append(np.bitwise_xor.reduceat(words, starts) if len(words) else words)
    first = np.full(bins, 2**31 - 1, dtype="int32")
    np.minimum.at(first, keys, np.arange(len(keys), dtype="int32"))

    rows = small.reshape(-1, 16)
    place = 1 << np.arange(16)
    alike = rows[:, :, None] % 2 == rows[:, None, :] % 2
    votes = [
        np.broadcast_to(((rows > 0) * place).sum(1)[:, None], rows.shape),
        ((rows[:, :, None] == rows[:, None, :]) * place).sum(2),
        np.broadcast_to((rows > 8).any(1)[:, None], rows.shape),
        np.broadcast_to((rows > -9).all(1)[:, None], rows.shape),
        (alike * rows[:, None, :]).sum(2),
    ]
    return {
        "sums": wrapped(exact.sum(1)),
        "maxima": x.max(1, initial=-np.inf if x.dtype != "int32" else -(2**31)),
        "minima": x.min(1, initial=np.inf if x.dtype != "int32" else 2**31 - 1),
        "magnitudes": np.abs(x).max(1, initial=0),
        "inclusive": wrapped(inclusive),
        "exclusive": wrapped(inclusive - exact),
        "greatest": np.maximum.accumulate(x, 1),
        "bits": np.stack(bits).astype("int32"),
        "by_key": wrapped(by_key),
        "counts": np.bincount(keys, minlength=bins).astype("int32"),
        "first": first,
        "positive": np.flatnonzero(small > 0).astype("int32"),
        "negative": np.flatnonzero(small < 0).astype("int32"),
        "votes": np.stack(votes).reshape(5, -1).astype("int32"),
    }


def tolerance(**_):
    return {}  # integers, also in floats: exact
