# SPDX-License-Identifier: Apache-2.0
"""Cases of compaction; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "compaction"

CASES = {
    "empty": {"n": 0},
    "one": {"n": 1, "threshold": -10.0},
    "none_kept": {"n": 100, "threshold": 10.0},
    "all_kept": {"n": 129, "threshold": -10.0},
    "half_a_warp": {"n": 16},
    "two_warps_less_one": {"n": 63},
    "upper_warp_alone": {"n": 64, "only": (32, 64)},
    "lower_warp_alone": {"n": 64, "only": (0, 32)},
    "block_of_48": {"n": 250, "block": 48},
    "block_of_80": {"n": 1000, "block": 80, "threshold": 0.5},
    "block_of_96": {"n": 777, "block": 96, "threshold": -1.0},
    "block_of_1024": {"n": 1500, "block": 1024},
    "sparse": {"n": 2000, "threshold": 2.0},
    "half": {"n": 300, "dtype": "float16"},
    "double": {"n": 95, "dtype": "float64"},
}


def inputs(rng, n, threshold=0.0, block=256, dtype="float32", only=None):
    # Multiples of 1/8, so that some elements equal the threshold, and no type rounds.
    x = np.round(rng.standard_normal(n) * 8) / 8
    if only:
        inside = (np.arange(n) >= only[0]) & (np.arange(n) < only[1])
        x = np.where(inside, np.abs(x) + 1, -np.abs(x))
    return {
        "x": x.astype(dtype),
        "grad": (np.round(rng.standard_normal(n) * 8) / 8).astype(dtype),
        "counts": rng.integers(0, 100, n).astype("int32"),
        "threshold": threshold,
        "block": block,
    }


def call(compaction, x, grad, counts, threshold, block):
    outputs = {"bits": compaction.pack_bits(x, threshold, block=block)}
    outputs["sums"], outputs["totals"] = compaction.warp_totals(counts, block=block)
    for method in ("stable", "atomic", "queue"):
        leaf = x.detach().clone().requires_grad_()
        values, indices = compaction.compact(leaf, threshold, method, block)
        values.backward(grad[indices.long()])
        if method != "stable":  # any order is right
            order = indices.argsort()
            values, indices = values[order], indices[order]
        outputs |= {f"{method}_values": values, f"{method}_indices": indices, f"{method}_grad": leaf.grad}
    return outputs


def reference(x, grad, counts, threshold, block):
    keep = x > threshold
    padded = np.zeros(-(-len(x) // 32) * 32, dtype="int32")
    padded[: len(x)] = counts
    sums = np.cumsum(padded.reshape(-1, 32), 1)
    bits = np.zeros_like(padded, dtype=bool)
    bits[: len(x)] = keep
    outputs = {
        "bits": np.packbits(bits, bitorder="little").view("<i4"),
        "sums": sums.reshape(-1)[: len(x)].astype("int32"),
        "totals": sums[:, -1].astype("int32"),
    }
    for method in ("stable", "atomic", "queue"):
        outputs |= {
            f"{method}_values": x[keep],
            f"{method}_indices": np.flatnonzero(keep).astype("int32"),
            f"{method}_grad": np.where(keep, grad, 0).astype(x.dtype),
        }
    return outputs


def tolerance(**_):
    return {}  # elements are moved, and integers added: equal bit for bit
