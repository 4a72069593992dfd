# SPDX-License-Identifier: Apache-2.0
"""Cases of tile_binning; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "tile_binning"

CASES = {
    "empty": {"n": 0},
    "one": {"n": 1, "size": 100},
    "one_large": {"n": 1, "size": 9000, "spread": 0},
    "half_a_warp": {"n": 16, "size": 600},
    "warp_and_one": {"n": 33, "size": 600},
    "half_of_the_warps": {"n": 256, "size": 300},
    "a_batch": {"n": 512, "size": 300},
    "batch_and_one": {"n": 513, "size": 300},
    "a_chunk": {"n": 1300, "size": 200},
    "chunks": {"n": 4000, "size": 150},
    "large": {"n": 700, "size": 5000, "bins": (16, 16)},
    "even_warps_large": {"n": 1024, "size": 40, "large_warps": 0},
    "odd_warps_large": {"n": 1024, "size": 40, "large_warps": 1},
    "one_bin": {"n": 900, "size": 500, "bins": (1, 1)},
    "one_row": {"n": 300, "size": 900, "bins": (33, 1)},
    "most_unseen": {"n": 2000, "size": 200, "spread": 8},
    "all_unseen": {"n": 600, "size": 0},
    "no_room": {"n": 1500, "size": 700, "room": 1},
    "same_place": {"n": 1400, "size": 300, "spread": 0},
}


def inputs(rng, n, size=100, bins=(8, 5), spread=1, room=64, large_warps=None):
    width, height = bins[0] * 256, bins[1] * 256
    centre = (rng.random((n, 1, 2)) - 0.5) * spread * [width, height] + [width / 2, height / 2]
    scale = np.full(n, size)
    if large_warps is not None:
        scale[np.arange(n) // 32 % 2 == large_warps] = 1500
    corners = centre + (rng.random((n, 3, 2)) - 0.5) * scale[:, None, None]
    return {"triangles": np.round(corners).astype("int32").reshape(n, 6), "bins": bins, "room": room}


def call(tile_binning, triangles, bins, room):
    offsets, members = tile_binning.bin_triangles(triangles, *bins, room)
    return {"offsets": offsets, "members": members}


def reference(triangles, bins, room):
    """A triangle and a bin touch unless a side of one of them separates it from the other."""
    corners = triangles.reshape(-1, 1, 3, 2).astype("int64")
    low = np.stack(np.meshgrid(np.arange(bins[0]), np.arange(bins[1]), indexing="xy"), -1).reshape(1, -1, 2)
    inside = (corners.max(2) >> 8 >= low) & (corners.min(2) >> 8 <= low)
    touch = inside.all(-1)
    box = (low[:, :, None] + [[0, 0], [1, 0], [0, 1], [1, 1]]) * 256
    area = np.zeros(touch.shape[:1], dtype="int64")
    for i in range(3):
        a, b, c = (corners[:, :, (i + k) % 3] for k in range(3))
        normal = (a - b)[..., ::-1] * [1, -1]
        area = (normal * (c - a)).sum(-1)[:, 0]
        side = (normal[:, :, None] * (box - a[:, :, None])).sum(-1) * np.sign(area)[:, None, None]
        touch &= side.max(-1) >= 0
    touch &= (area != 0)[:, None]
    members = [np.flatnonzero(column) for column in touch.T]
    return {
        "offsets": np.cumsum([0] + [len(m) for m in members]).astype("int32"),
        "members": np.concatenate(members).astype("int32"),
    }


def tolerance(**_):
    return {}  # integers
