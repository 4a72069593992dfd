# SPDX-License-Identifier: Apache-2.0
"""Cases of splatting; ../README.md says what each name here means."""

import numpy as np

PACKAGE = "splatting"

CASES = {
    "empty": {"n": 0, "width": 20, "height": 17},
    "one": {"n": 1, "width": 33, "height": 20, "size": 0.3},
    "one_pixel": {"n": 5, "width": 1, "height": 1, "size": 0.5},
    "a_tile": {"n": 40, "width": 16, "height": 16, "size": 0.3},
    "no_whole_tile": {"n": 60, "width": 41, "height": 13, "size": 0.2},
    "two_batches": {"n": 420, "width": 18, "height": 16, "size": 0.05, "opacity": (0.02, 0.2)},
    "ties": {"n": 90, "width": 32, "height": 24, "size": 0.2, "layers": 3},
    "opaque": {"n": 400, "width": 17, "height": 16, "size": 0.65, "opacity": (0.9, 1.0)},
    "faint": {"n": 50, "width": 40, "height": 20, "size": 0.3, "opacity": (0.001, 0.02)},
    "needles": {"n": 60, "width": 50, "height": 34, "size": 0.4, "flat": 0.03},
    "behind_and_outside": {"n": 200, "width": 34, "height": 34, "size": 0.2, "spread": 6.0, "depth": (-2.0, 3.0)},
    "all_outside": {"n": 30, "width": 20, "height": 20, "size": 0.05, "shift": 40.0},
    "many": {"n": 900, "width": 112, "height": 90, "size": 0.06},
    "double": {"n": 14, "width": 19, "height": 18, "size": 0.25, "dtype": "float64"},
    "double_wide": {
        "n": 12,
        "width": 17,
        "height": 9,
        "size": 0.5,
        "spread": 3.5,
        "opacity": (0.5, 1),
        "dtype": "float64",
    },
}

# Finite differences: for the smaller cases, and for doubles, whose steps cross no threshold.
GRADIENTS = {f"grad_{name}": ("image", "weights", name) for name in ("means", "scales", "quats", "opacities", "colors")}
GRADIENT_CASES = ("double", "double_wide")

NEAR, ALPHA_MIN, ALPHA_MAX, T_MIN, LOW_PASS = 0.2, 1 / 255, 0.99, 1e-4, 0.3
# Inputs this close to a threshold are not drawn, because rounding would decide there.
MARGIN = 1e-3


def inputs(
    rng, n, width, height, size=0.1, spread=1.0, depth=(2.0, 5.0), opacity=(0.05, 0.95), flat=0.3, layers=0, shift=0.0,
    dtype="float32",
):  # fmt: skip
    focal = 0.8 * max(width, height)
    means = (rng.random((n, 3)) - 0.5) * spread * np.array([width, height, 0]) / focal
    means[:, 2] = rng.uniform(*depth, n) - 3.5
    means[:, :2] *= means[:, 2:] + 3.5
    means[:, 0] += shift
    if layers:
        means[:, 2] = rng.integers(0, layers, n)
        means[: n // 2] = means[n // 2 : n // 2 * 2]
    angle = np.array([0.11, -0.07, 0.2])
    cross = np.cross(np.eye(3), angle)
    length = np.linalg.norm(angle)
    turn = np.eye(3) + np.sin(length) / length * cross + (1 - np.cos(length)) / length**2 * cross @ cross
    gaussians = {
        "means": means,
        "scales": size * rng.uniform(flat, 1.0, (n, 3)),
        "quats": rng.standard_normal((n, 4)) * 0.7,
        "opacities": rng.uniform(*opacity, n),
        "colors": rng.random((n, 3)),
    }
    gaussians = {name: array.astype(dtype) for name, array in gaussians.items()}
    view = np.concatenate([turn, [[0.05], [-0.02], [3.5]]], 1).astype(dtype)
    kept = _clear(gaussians, view, width, height, focal)
    return {
        **{name: array[kept] for name, array in gaussians.items()},
        "view": view,
        "background": np.array([0.2, 0.5, 0.9], dtype=dtype),
        "weights": rng.standard_normal((4, height, width)).astype(dtype),
        "width": width,
        "height": height,
        "focal": focal,
    }


def call(splatting, means, scales, quats, opacities, colors, view, background, weights, width, height, focal):
    gaussians = {"means": means, "scales": scales, "quats": quats, "opacities": opacities, "colors": colors}
    for x in gaussians.values():
        x.requires_grad_()
    camera = splatting.Camera(width, height, focal, focal, view, background)
    color, transmittance, blended, radii = splatting.rasterize(**gaussians, camera=camera)
    ((color * weights[:3]).sum() + (transmittance * weights[3]).sum()).backward()
    image = color.new_empty(4, height, width)
    image[:3], image[3] = color.detach(), transmittance.detach()
    outputs = {"image": image, "blended": blended, "radii": radii}
    return outputs | {f"grad_{name}": x.grad for name, x in gaussians.items()}


def _project(means, scales, quats, view, width, height, focal):
    """Depth, and position and covariance in pixels. It accepts complex numbers, for derivatives."""
    t = means @ view[:, :3].T + view[:, 3]
    q = quats / np.sqrt((quats**2).sum(-1, keepdims=True))
    # The columns are the axes, rotated by the quaternion: v + 2 w (u × v) + 2 u × (u × v).
    w, u = q[:, :1], q[:, 1:]
    columns = []
    for axis in np.eye(3):
        once = np.cross(u, np.broadcast_to(axis, u.shape))
        columns.append(axis + 2 * w * once + 2 * np.cross(u, once))
    turned = np.stack(columns, -1)
    covariance = np.einsum("nij,nj,nkj->nik", turned, scales**2, turned)
    x, y = t[:, 0] / t[:, 2], t[:, 1] / t[:, 2]
    limits = 1.3 * width / (2 * focal), 1.3 * height / (2 * focal)
    slopes = [np.where(abs(s.real) < m, s, np.sign(s.real) * m) for s, m in zip((x, y), limits, strict=True)]
    jacobian = np.zeros((len(means), 2, 3), dtype=t.dtype)
    for i, slope in enumerate(slopes):
        jacobian[:, i, i] = focal / t[:, 2]
        jacobian[:, i, 2] = -focal * slope / t[:, 2]
    rows = jacobian @ view[:, :3]
    seen = rows @ covariance @ rows.transpose(0, 2, 1) + LOW_PASS * np.eye(2)
    return t[:, 2], np.stack([focal * x + width / 2, focal * y + height / 2], -1), seen


def _visible(depth, centre, seen, opacities, width, height):
    """The radius, exactly, and as the kernel rounds it; 0 if the Gaussian is not visible."""
    middle = (seen[:, 0, 0] + seen[:, 1, 1]) / 2
    largest = middle + np.sqrt(np.maximum(0, middle**2 - np.linalg.det(seen)))
    with np.errstate(all="ignore"):
        exact = np.sqrt(2 * np.log(opacities * 255) * largest)
    seen_at_all = (depth > NEAR) & (opacities >= ALPHA_MIN)
    radius = np.where(seen_at_all, np.ceil(np.nan_to_num(exact)), 0)
    tiles = np.ceil(np.array([width, height]) / 16)
    low = np.floor((centre - radius[:, None]) / 16)
    high = np.floor((centre + radius[:, None]) / 16) + 1
    reached = ((np.minimum(high, tiles) > np.maximum(low, 0)).all(-1)) & seen_at_all
    return np.nan_to_num(exact), np.where(reached, radius, 0)


def _exact(arrays):
    return [np.asarray(array, dtype="float64") for array in arrays]


def _alpha(centre, seen, opacity, x, y):
    conic = np.linalg.inv(seen)
    dx, dy = centre[0] - (x + 0.5), centre[1] - (y + 0.5)
    gauss = np.exp(-0.5 * (conic[0, 0] * dx**2 + conic[1, 1] * dy**2) - conic[0, 1] * dx * dy)
    return dx, dy, gauss, opacity * gauss


def _clear(gaussians, view, width, height, focal):
    """Which Gaussians are far from the thresholds where rounding decides whether they are visible."""
    means, scales, quats, opacities, _ = _exact(gaussians.values())
    depth, centre, seen = _project(means, scales, quats, view.astype("float64"), width, height, focal)
    exact, radius = _visible(depth, centre, seen, opacities, width, height)
    kept = (abs(depth - NEAR) > MARGIN) & (abs(opacities - ALPHA_MIN) > 1e-5)
    kept &= (radius == 0) | (abs(exact - np.round(exact)) > MARGIN)
    # The limit of the slope, where the gradient jumps.
    t = means @ view[:, :3].T.astype("float64") + view[:, 3]
    kept &= (abs(abs(t[:, :2] / t[:, 2:]) - 1.3 * np.array([width, height]) / (2 * focal)) > 1e-4).all(-1)
    for side in (centre - np.ceil(exact)[:, None], centre + np.ceil(exact)[:, None]):
        kept &= (abs(side / 16 - np.round(side / 16)) > MARGIN / 16).all(-1)
    y, x = np.mgrid[:height, :width]
    for i in np.flatnonzero(kept & (radius > 0)):
        alpha = _alpha(centre[i], seen[i], opacities[i], x, y)[3]
        kept[i] = all((abs(alpha / limit - 1) > MARGIN).all() for limit in (ALPHA_MIN, ALPHA_MAX))
    # Depths are equal or clearly different.
    order = np.argsort(depth, kind="stable")
    last = -np.inf
    for i in order[kept[order]]:
        if 0 < depth[i] - last < 1e-5:
            kept[i] = False
        else:
            last = depth[i]
    return kept


def reference(means, scales, quats, opacities, colors, view, background, weights, width, height, focal):
    """All pixels at once, one Gaussian after the other, no tiles; derivatives of the projection by complex steps."""
    means, scales, quats, opacities, colors, view, background, weights = arrays = _exact(
        (means, scales, quats, opacities, colors, view, background, weights)
    )
    camera = view, width, height, focal
    depth, centre, seen = _project(means, scales, quats, *camera)
    _, radius = _visible(depth, centre, seen, opacities, width, height)
    through = np.ones((height, width))
    image = np.zeros((4, height, width))
    blended = np.zeros((height, width), dtype="int32")
    alive = np.ones((height, width), dtype=bool)
    seen_here = []
    for i in np.argsort(depth, kind="stable"):
        if radius[i] == 0:
            continue
        low = np.maximum(np.floor(centre[i] - radius[i]), 0).astype(int)
        high = np.maximum(np.ceil(centre[i] + radius[i]), 0).astype(int)
        window = np.s_[low[1] : high[1], low[0] : high[0]]
        y, x = np.mgrid[:height, :width][(slice(None), *window)]
        dx, dy, gauss, raw = _alpha(centre[i], seen[i], opacities[i], x, y)
        alpha = np.where(raw < ALPHA_MIN, 0, np.minimum(raw, ALPHA_MAX))
        over = alive[window] & (alpha > 0) & (through[window] * (1 - alpha) < T_MIN)
        alive[window] &= ~over
        alpha = np.where(alive[window], alpha, 0)
        image[(slice(3), *window)] += colors[i][:, None, None] * alpha * through[window]
        seen_here.append((i, window, dx, dy, gauss, alpha, raw <= ALPHA_MAX, through[window].copy()))
        through[window] *= 1 - alpha
        blended[window] += alpha > 0
    image[:3] += background[:, None, None] * through
    image[3] = through

    # Back to front: color and transmittance behind a Gaussian are multiplied by 1 - alpha.
    behind = np.broadcast_to([*background, 1.0], (height, width, 4)).copy()
    to_projected = np.zeros((len(means), 5))
    grad_opacities, grad_colors = np.zeros(len(means)), np.zeros_like(colors)
    for i, window, dx, dy, gauss, alpha, smooth, before in reversed(seen_here):
        weight = weights[(slice(None), *window)].transpose(1, 2, 0)
        own = np.array([*colors[i], 0.0])
        grad_colors[i] = ((alpha * before)[..., None] * weight[..., :3]).sum((0, 1))
        slope = before * ((own - behind[window]) * weight).sum(-1) * (smooth & (alpha > 0))
        behind[window] = alpha[..., None] * own + (1 - alpha[..., None]) * behind[window]
        grad_opacities[i] = (slope * gauss).sum()
        power = slope * gauss * opacities[i]
        a, b, c = np.linalg.inv(seen[i])[[0, 0, 1], [0, 1, 1]]
        parts = (-a * dx - b * dy, -c * dy - b * dx, -0.5 * dx**2, -dx * dy, -0.5 * dy**2)
        to_projected[i] = [(power * part).sum() for part in parts]
    outputs = {
        "image": image,
        "blended": blended,
        "radii": radius.astype("int32"),
        "grad_opacities": grad_opacities,
        "grad_colors": grad_colors,
    }
    for number, name in enumerate(("means", "scales", "quats")):
        grad = np.zeros_like(arrays[number])
        for k in range(grad.shape[1]):
            moved = [a.astype("complex128") for a in arrays[:3]]
            moved[number][:, k] += 1e-30j
            _, place, cov = _project(*moved, *camera)
            det = cov[:, 0, 0] * cov[:, 1, 1] - cov[:, 0, 1] * cov[:, 1, 0]
            conic = (cov[:, 1, 1] / det, -cov[:, 0, 1] / det, cov[:, 0, 0] / det)
            derivative = np.stack([place[:, 0], place[:, 1], *conic], -1).imag / 1e-30
            grad[:, k] = (derivative * to_projected).sum(-1)
        outputs[f"grad_{name}"] = np.where(radius[:, None] > 0, grad, 0)
    return outputs


def tolerance(n, width, height, dtype="float32", **_):
    # Positions of the order of the image's size are rounded before they are subtracted; then pixels add up in any
    # order.
    eps = float(np.finfo(dtype).eps)
    unit = eps * max(width, height)
    return {"image": (8 * unit, 8 * unit)} | dict.fromkeys(GRADIENTS, (64 * unit, 64 * unit))
