# SPDX-License-Identifier: Apache-2.0
"""Cases of warp_scan; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "warp_scan"

CASES = {
    "empty": {"rows": 0, "columns": 4},
    "one": {"rows": 1, "columns": 1, "block": 64},
    "half_a_warp": {"rows": 2, "columns": 16, "block": 64},
    "a_warp": {"rows": 3, "columns": 32, "block": 64},
    "warp_and_one": {"rows": 2, "columns": 33, "block": 128},
    "two_warps": {"rows": 2, "columns": 64, "block": 64},
    "block_and_one": {"rows": 2, "columns": 129, "block": 128},
    "block_of_256": {"rows": 3, "columns": 700, "block": 256},
    "block_of_1024": {"rows": 2, "columns": 1500, "block": 1024},
    "all_heads": {"rows": 1, "columns": 200, "heads": 1.0},
    "no_heads": {"rows": 1, "columns": 200, "heads": 0.0},
    "heads_at_warps": {"rows": 1, "columns": 320, "heads": 32},
    "segments_of_48": {"rows": 1, "columns": 300, "segment_block": 48},
    "wraps": {"rows": 2, "columns": 300, "low": -(2**31), "high": 2**31},
    "int64": {"rows": 2, "columns": 300, "low": -(2**40), "high": 2**40, "dtype": "int64"},
    "float": {"rows": 2, "columns": 400, "dtype": "float32"},
    "double": {"rows": 2, "columns": 400, "dtype": "float64"},
}


def inputs(rng, rows, columns, block=128, segment_block=128, heads=0.1, low=-9, high=10, dtype="int32"):
    shape = (rows, columns)
    # Small integers also where the type is a float: sums in any order are exact.
    x = rng.integers(low, high, shape).astype(dtype)
    flags = np.arange(rows * columns).reshape(shape) % heads == 0 if heads > 1 else rng.random(shape) < heads
    return {"x": x, "flags": flags.astype("int32"), "block": block, "segment_block": segment_block}


def call(warp_scan, x, flags, block, segment_block):
    outputs = {"segments": warp_scan.scan_segments(x.flatten(), flags.flatten(), segment_block)}
    outputs["inclusive"], outputs["exclusive"] = warp_scan.scan_rows(x, block)
    for size in (64, 128, 256, 512):
        outputs[f"sums_{size}"] = warp_scan.sum_blocks(x.flatten(), size, False)
        outputs[f"lockstep_{size}"] = warp_scan.sum_blocks(x.flatten(), size, True)
    return outputs


def reference(x, flags, block, segment_block):
    inclusive = np.cumsum(x, 1, dtype=x.dtype)
    flat, starts = x.reshape(-1), flags.reshape(-1) != 0
    segments = flat.copy()
    for i in range(1, len(flat)):
        if i % 32 and not starts[i]:
            segments[i : i + 1] += segments[i - 1]  # of one element, so that integers wrap silently
    outputs = {"segments": segments, "inclusive": inclusive, "exclusive": inclusive - x}
    for size in (64, 128, 256, 512):
        padded = np.zeros(-(-len(flat) // size) * size, dtype=x.dtype)
        padded[: len(flat)] = flat
        outputs[f"sums_{size}"] = outputs[f"lockstep_{size}"] = padded.reshape(-1, size).sum(1, dtype=x.dtype)
    return outputs


def tolerance(**_):
    return {}  # integers, also in floats: exact
