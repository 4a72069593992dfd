# SPDX-License-Identifier: Apache-2.0
"""Which triangles touch which bins of an image."""

import torch

from . import _plugin

UNITS = 256  # a bin's width and height in the units of the coordinates


def bin_triangles(triangles, bins_x, bins_y, room=64):
    """For each bin, row by row, the triangles (n x 6 int32: x0 y0 x1 y1 x2 y2) that touch it, in their order.

    Returns where each bin's list starts, and all lists. `room` is how many segments to begin with.
    """
    counts, first, segments, following = (t.cpu() for t in _plugin.bin_triangles(triangles, bins_x, bins_y, room))
    lists = []
    for tile in range(bins_x * bins_y):
        members = []
        for chunk in range(len(counts)):
            left, segment = int(counts[chunk, tile]), int(first[chunk, tile])
            while left > 0:
                members.append(segments[segment, : min(left, segments.shape[1])])
                left -= segments.shape[1]
                segment = int(following[segment])
            assert segment == -1, "the list goes on"
        lists.append(torch.cat([segments.new_empty(0), *members]))
    sizes = torch.tensor([0] + [len(members) for members in lists], dtype=torch.int32)
    return sizes.cumsum(0, dtype=torch.int32).to(triangles.device), torch.cat(lists).to(triangles.device)
