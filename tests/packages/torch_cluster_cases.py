# SPDX-License-Identifier: Apache-2.0
"""Cases of torch-cluster, on random and degenerate input. The results of its CPU code are right.

If an output depends on chance, or on the choice among equals, the case checks a property that always holds.
"""

import numpy as np

PACKAGE = "torch_cluster"
CLOUDS = {
    "one": {"points": 1, "queries": 1},
    "few": {"points": 5, "queries": 3},
    "warp_and_one": {"points": 33, "queries": 33},
    "batches": {"points": 90, "queries": 70, "batches": 3},
    "line": {"points": 40, "queries": 20, "dims": 1},
    "high": {"points": 30, "queries": 10, "dims": 9},
    "double": {"points": 20, "queries": 9, "dtype": "float64"},
    "all_the_same": {"points": 12, "queries": 4, "same": True},
}
GRAPHS = {
    "pairs": {"nodes": 70, "edges": "pairs"},
    "complete": {"nodes": 33, "edges": "complete"},
    "ring": {"nodes": 65, "edges": "ring"},
    "none": {"nodes": 5, "edges": "none"},
}
CASES = {
    **{
        f"{function}_{name}": {"function": function, **cloud}
        for name, cloud in CLOUDS.items()
        for function in ("knn", "radius", "nearest", "fps", "grid")
    },
    **{
        f"{function}_{name}": {"function": function, **graph}
        for name, graph in GRAPHS.items()
        for function in ("graclus", "weighted_graclus", "walk", "biased_walk")
        # On a GPU, a biased walk continues from the neighbor that it has rejected, even if there is no edge.
        if (function, name) != ("biased_walk", "ring")
    },
}


def inputs(rng, function, nodes=0, edges="none", **cloud):
    if not nodes:
        return {"function": function, **_cloud(rng, **cloud)}
    node = np.arange(nodes)
    if edges == "pairs":
        row, column = node, node ^ 1
    elif edges == "complete":
        row, column = (part.ravel() for part in np.meshgrid(node, node, indexing="ij"))
    elif edges == "ring":
        row, column = np.repeat(node, 2), np.stack([(node + 1) % nodes, (node - 1) % nodes], 1).ravel()
    else:
        row = column = node[:0]
    weight = rng.random((nodes, nodes)).astype("float32")
    return {
        "function": function,
        "row": row.astype("int64"),
        "column": column.astype("int64"),
        "weight": np.maximum(weight, weight.T)[row, column],
        "start": node.astype("int64"),
    }


def _cloud(rng, points, queries, dims=3, batches=1, dtype="float32", same=False):
    # Distances are distinct, because the order of equals is undefined; or all are equal.
    x, y = (rng.permutation(4096)[: n * dims].reshape(n, dims) / 4096 for n in (points, queries))
    x = np.full_like(x, 0.5) if same else x + rng.random(x.shape) * 1e-3
    return {
        "x": x.astype(dtype),
        "y": y.astype(dtype),
        "batch_x": np.sort(np.arange(points) % batches).astype("int64"),
        "batch_y": np.sort(np.arange(queries) % batches).astype("int64"),
    }


def call(torch_cluster, function, **arguments):
    return (_on_graph if "row" in arguments else _on_cloud)(torch_cluster, function, **arguments)


def _on_cloud(torch_cluster, function, x, y, batch_x, batch_y):
    import torch

    if function == "knn":
        row, column = torch_cluster.knn(x, y, 4, batch_x, batch_y)
        distance = (x[column] - y[row]).square().sum(1)
        # Ordered by distance on one device, and by index on another: only the set counts.
        order = (row * 1e6).double() + distance
        outputs = {"row": row.sort().values, "distance": distance[order.argsort()]}
        if (x != x[0]).any():
            outputs["pairs"] = (row * len(x) + column).sort().values
        return outputs
    if function == "radius":
        row, column = torch_cluster.radius(x, y, 0.4, batch_x, batch_y, max_num_neighbors=1000)
        return {"pairs": (row * len(x) + column).sort().values}
    if function == "nearest":
        which = torch_cluster.nearest(y, x, batch_y, batch_x)
        return {"distance": (x[which] - y).square().sum(1)}
    if function == "fps":
        which = torch_cluster.fps(x, batch_x, ratio=0.5, random_start=False)
        return {"points": x[which], "of": batch_x[which]}
    return {"cells": torch_cluster.grid_cluster(x, torch.full((x.size(1),), 0.3, dtype=x.dtype, device=x.device))}


def _on_graph(torch_cluster, function, row, column, weight, start):
    import torch

    nodes = len(start)
    adjacent = torch.zeros(nodes, nodes, dtype=torch.bool, device=row.device)
    adjacent[row, column] = True
    if "graclus" in function:
        given = weight if function == "weighted_graclus" else None
        cluster = torch_cluster.graclus_cluster(row, column, given, nodes)
        size = torch.bincount(cluster, minlength=nodes)[cluster]
        first, second = (cluster[:, None] == cluster).nonzero().T
        alone = size == 1
        others = adjacent & (start[:, None] != start)
        outputs = {
            "at_most_two": (size <= 2).all(),
            "of_neighbors": (adjacent[first, second] | (first == second)).all(),
            "no_neighbors_alone": ~(others & alone[:, None] & alone).any(),
        }
        # In a ring, the number of single nodes is undefined.
        if int(adjacent.sum()) != 2 * nodes:
            outputs["alone"] = alone.sum()
        return outputs
    bias = {"p": 2.0, "q": 0.5} if function == "biased_walk" else {}
    walk, edges = torch_cluster.random_walk(row, column, start, 6, **bias, num_nodes=nodes, return_edge_indices=True)
    here, there = walk[:, :-1].reshape(-1), walk[:, 1:].reshape(-1)
    stuck = edges.reshape(-1) < 0
    outputs = {
        "from": walk[:, 0],
        "along_edges": (adjacent[here, there] | (stuck & (here == there))).all(),
        "stuck": stuck,
    }
    # If every node has at most one neighbor, chance does not matter.
    if len(row) <= nodes:
        outputs["walk"] = walk
    return outputs


def tolerance(dtype="float32", **_):
    unit = float(np.finfo(dtype).eps)
    return {"distance": (8 * unit, 8 * unit)}
