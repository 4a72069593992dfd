# SPDX-License-Identifier: Apache-2.0
"""Cases of torch-cluster: those functions that give the same on any device, on random and degenerate input."""

import numpy as np

PACKAGE = "torch_cluster"
CLOUDS = {
    "one": {"points": 1, "queries": 1},
    "few": {"points": 5, "queries": 3},
    "warp_and_one": {"points": 33, "queries": 33},
    "batches": {"points": 90, "queries": 70, "batches": 3},
    "line": {"points": 40, "queries": 20, "dims": 1},
    "high": {"points": 30, "queries": 10, "dims": 9},
}
CASES = {
    f"{function}_{name}": {"function": function, **cloud}
    for name, cloud in CLOUDS.items()
    for function in ("knn", "radius", "nearest", "fps", "grid", "walk")
}


def inputs(rng, function, points, queries, dims=3, batches=1):
    # Distinct distances: which of equals is first is open.
    x, y = rng.permutation(4096)[: points * dims], rng.permutation(4096)[: queries * dims]
    batch_x = np.sort(np.arange(points) % batches)
    batch_y = np.sort(np.arange(queries) % batches)
    start = np.arange(points)
    return {
        "x": (x.reshape(points, dims) / 4096 + rng.random((points, dims)) * 1e-3).astype("float32"),
        "y": (y.reshape(queries, dims) / 4096).astype("float32"),
        "batch_x": batch_x.astype("int64"),
        "batch_y": batch_y.astype("int64"),
        "start": start.astype("int64"),
        "function": function,
    }


def call(torch_cluster, x, y, batch_x, batch_y, start, function):
    import torch

    if function == "knn":
        row, column = torch_cluster.knn(x, y, 4, batch_x, batch_y)
        # Nearest first, on one device, and by index on another: only which they are counts.
        return {"pairs": (row * len(x) + column).sort().values}
    if function == "radius":
        row, column = torch_cluster.radius(x, y, 0.4, batch_x, batch_y, max_num_neighbors=1000)
        return {"pairs": (row * len(x) + column).sort().values}
    if function == "nearest":
        return {"which": torch_cluster.nearest(y, x, batch_y, batch_x)}
    if function == "fps":
        return {"which": torch_cluster.fps(x, batch_x, ratio=0.5, random_start=False)}
    if function == "grid":
        return {"cells": torch_cluster.grid_cluster(x, torch.full((x.size(1),), 0.3, device=x.device))}
    # A walk along a ring: every node has one neighbour, so that chance has no say.
    return {"walk": torch_cluster.random_walk(start, (start + 1) % len(start), start, 5)}


def tolerance(**_):
    return {}
