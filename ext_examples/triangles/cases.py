# SPDX-License-Identifier: Apache-2.0
"""Cases of triangles; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "triangles"

CASES = {
    "empty": {"n": 0, "width": 20, "height": 9},
    "one": {"n": 1, "width": 20, "height": 9, "size": 0.9},
    "one_pixel": {"n": 3, "width": 1, "height": 1, "size": 1.5, "spread": 0.2},
    "half_a_warp": {"n": 16, "width": 37, "height": 23, "size": 0.4},
    "warp_and_one": {"n": 33, "width": 40, "height": 16, "size": 0.3},
    "a_batch": {"n": 512, "width": 33, "height": 65, "size": 0.1},
    "batch_and_one": {"n": 513, "width": 64, "height": 32, "size": 0.1},
    "chunks": {"n": 1300, "width": 70, "height": 50, "size": 0.1},
    "one_tile": {"n": 700, "width": 8, "height": 8, "size": 0.5},
    "large": {"n": 40, "width": 96, "height": 48, "size": 3.0},
    "far_corners": {"n": 12, "width": 48, "height": 48, "size": 60.0},
    "many": {"n": 2000, "width": 100, "height": 90, "size": 0.08},
    "perspective": {"n": 60, "width": 50, "height": 40, "size": 0.4, "nearness": 6.0},
    "same_depth": {"n": 200, "width": 40, "height": 40, "size": 0.3, "layers": 2},
    "twice_the_same": {"n": 150, "width": 32, "height": 32, "size": 0.3, "copies": 3},
    "edges_on_centers": {"n": 0, "width": 64, "height": 32, "mesh": 4},
    "unseen": {"n": 120, "width": 30, "height": 30, "size": 0.4, "broken": True},
    "outside": {"n": 64, "width": 24, "height": 24, "size": 0.2, "shift": 3.0},
    "double": {"n": 10, "width": 14, "height": 11, "size": 0.7, "nearness": 2.0, "dtype": "float64"},
}

# Finite differences. Visibility stays fixed: it comes from `seen`, and `vertices` are varied.
GRADIENTS = {f"grad_{name}": ("image", "weights", name) for name in ("vertices", "attributes")}
GRADIENT_CASES = ("double",)


def inputs(
    rng, n, width, height, size=0.3, spread=2.0, nearness=0.0, layers=0, copies=1, mesh=0, broken=False, shift=0.0,
    dtype="float32",
):  # fmt: skip
    # Around a centre, about 120 degrees apart: the areas of thin triangles would be mostly rounding errors.
    centre = (rng.random((n, 1, 2)) - 0.5) * spread + shift
    angle = (rng.random((n, 1)) + np.arange(3) / 3) * 2 * np.pi * rng.choice([-1, 1], (n, 1))
    angle = angle + rng.uniform(-0.4, 0.4, (n, 3))
    corners = centre + rng.uniform(0.5, 1, (n, 3, 1)) * size * np.stack([np.cos(angle), np.sin(angle)], -1)
    depth = rng.uniform(-1.1, 1.1, (n, 3))
    if layers:
        depth[:] = (rng.integers(0, layers, (n, 1)) - 0.5) / layers
    w = 1 + nearness * rng.random((n, 3))
    vertices = np.concatenate([corners, depth[..., None], np.ones((n, 3, 1))], -1) * w[..., None]
    vertices = vertices.reshape(-1, 4)
    triangles = np.arange(3 * n).reshape(n, 3)
    if mesh:
        # Corners on centers of pixels, edges that two triangles share, and both ways around.
        y, x = np.mgrid[: height + 1 : mesh, : width + 1 : mesh]
        place = np.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], -1)
        height_of = rng.uniform(-0.5, 0.5, (*x.shape, 1))
        vertices = np.concatenate([place, height_of, np.ones((*x.shape, 1))], -1).reshape(-1, 4)
        at = np.arange(x.size).reshape(x.shape)
        a, b, c, d = (part.ravel() for part in (at[:-1, :-1], at[:-1, 1:], at[1:, :-1], at[1:, 1:]))
        triangles = np.concatenate([np.stack([a, b, c], -1), np.stack([b, c, d], -1)])
        triangles = triangles[rng.permutation(len(triangles))]
    triangles = np.concatenate([triangles] * copies)
    if broken:
        vertices[0 : 3 * 20, 3] *= -1
        vertices[3 * 20 + 1, 3] = 0
        vertices[3 * 30 : 3 * 40, :2] *= 4000
        vertices[3 * 40 + 2, 0] = np.nan
        triangles[50:60, 2] = triangles[50:60, 0]
        triangles[60:64, 1] = [-1, 3 * n, 2**31 - 1, -(2**31)]
    vertices = vertices.astype(dtype)
    return {
        "seen": vertices.astype("float32"),
        "vertices": np.nan_to_num(vertices),
        "attributes": rng.standard_normal((len(vertices), 3)).astype(dtype),
        "triangles": triangles.astype("int32"),
        "weights": rng.standard_normal((height, width, 3)).astype(dtype),
        "width": width,
        "height": height,
    }


def call(triangles_package, seen, vertices, attributes, triangles, weights, width, height):
    vertices.requires_grad_()
    attributes.requires_grad_()
    ids, depth = triangles_package.rasterize(seen, triangles, width, height)
    image = triangles_package.interpolate(vertices, attributes, triangles, ids)
    (image * weights).sum().backward()
    return {
        "ids": ids,
        "depth": depth,
        "image": image,
        "grad_vertices": vertices.grad,
        "grad_attributes": attributes.grad,
    }


def _rasterize(vertices, triangles, width, height):
    """One triangle after the other, in whole numbers of a sixteenth of a pixel."""
    ids = np.full((height, width), -1, dtype="int32")
    nearest = np.full((height, width), 2**24, dtype="int64")
    half = np.array([8 * width, 8 * height])
    for number, corners in enumerate(triangles):
        if corners.min() < 0 or corners.max() >= len(vertices) or not (vertices[corners, 3] > 0).all():
            continue
        v = vertices[corners]
        v = v[:, :3] / v[:, 3:]
        if not (abs(v[:, :2]) * [width, height] < 2 * 8192).all():
            continue
        p = np.rint(v[:, :2] * half.astype("float32")).astype("int64") + half
        z = np.rint(np.clip(v[:, 2], -1, 1) * np.float32(2**23)).astype("int64") + 2**23
        z = np.minimum(z, 2**24 - 1)
        area = (p[1, 0] - p[0, 0]) * (p[2, 1] - p[0, 1]) - (p[1, 1] - p[0, 1]) * (p[2, 0] - p[0, 0])
        if area == 0:
            continue
        if area < 0:
            p, z, area = p[::-1], z[::-1], -area
        low = np.clip(p.min(0) // 16, 0, [width, height])
        high = np.clip(p.max(0) // 16 + 1, 0, [width, height])
        window = np.s_[low[1] : high[1], low[0] : high[0]]
        y, x = np.mgrid[window] * 16 + 8
        inside = np.ones(x.shape, dtype=bool)
        depth = np.zeros(x.shape, dtype="int64")
        for i in range(3):
            a, b = p[i], p[(i + 1) % 3]
            side = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
            # Points on an edge belong to the triangle below it, or to its right.
            owns = a[1] > b[1] or (a[1] == b[1] and a[0] < b[0])
            inside &= (side > 0) | ((side == 0) & owns)
            depth += side * z[(i + 2) % 3]
        depth //= area
        better = inside & (depth < nearest[window])
        ids[window][better] = number
        nearest[window][better] = depth[better]
    return ids, nearest


def reference(seen, vertices, attributes, triangles, weights, width, height):
    with np.errstate(all="ignore"):
        ids, nearest = _rasterize(seen, triangles, width, height)
    v, attributes, weights = (a.astype("float64") for a in (vertices, attributes, weights))
    y, x = np.nonzero(ids >= 0)
    corners = triangles[ids[y, x]]
    # (x, y, w) of the pixel is a weighted sum of those of the corners; the normalized weights interpolate.
    matrix = v[corners][:, :, [0, 1, 3]].transpose(0, 2, 1)
    inverse = np.linalg.inv(matrix) if len(matrix) else matrix
    place = np.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1, np.ones(len(x))], -1)
    raw = np.einsum("pij,pj->pi", inverse, place)
    total = raw.sum(1, keepdims=True)
    share = raw / total
    image = np.zeros(weights.shape)
    image[y, x] = np.einsum("pi,pia->pa", share, attributes[corners])
    grad_attributes, grad_vertices = np.zeros_like(attributes), np.zeros_like(v)
    weight = weights[y, x]
    np.add.at(grad_attributes, corners, share[:, :, None] * weight[:, None, :])
    by_share = np.einsum("pia,pa->pi", attributes[corners], weight)
    by_raw = (by_share - (by_share * share).sum(1, keepdims=True)) / total
    # The derivative of an inverse: -inverse dmatrix inverse.
    by_matrix = -np.einsum("pji,pj,pk->pik", inverse, by_raw, raw)
    for row, column in enumerate((0, 1, 3)):
        np.add.at(grad_vertices[:, column], corners, by_matrix[:, row, :])
    return {
        "ids": ids,
        "depth": (nearest / 2**24).astype("float32"),
        "image": image,
        "grad_vertices": grad_vertices,
        "grad_attributes": grad_attributes,
    }


def tolerance(width, height, size=0.3, mesh=0, dtype="float32", nearness=0.0, **_):
    # Corners are rounded, and then subtracted from one another: the difference is of the order of the triangle's size.
    # The gradient grows as the triangle shrinks. It is a sum over pixels, perhaps all of them, in any order: each
    # addition rounds, and the error grows with the root of their number.
    eps = float(np.finfo(dtype).eps) * (1 + nearness)
    small = min(1.0, 0.1 if mesh else size)
    near = (32 * eps / small, 32 * eps / small)
    added = eps * float(np.sqrt(width * height))
    attributes = (near[0] + added, near[1] + added)
    return {
        "image": near,
        "grad_attributes": attributes,
        "grad_vertices": (attributes[0], 8 * attributes[1] / small),
    }
