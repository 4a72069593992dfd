# SPDX-License-Identifier: Apache-2.0
"""Cooperative groups by the names of their types: of the block, the grid, active lanes, or a tile of a given size.

For a tile of unknown size, or a group of unknown type, nothing is known about neighbouring threads.
"""

from __future__ import annotations

import re

_TILE = re.compile(r"(?:thread_block_tile|tiled_partition)\s*<\s*(\d+)")


def group_of_type(type_name: str) -> str:
    tile = _TILE.search(type_name)
    if tile is not None:
        return f"group:{tile[1]}"
    if "grid_group" in type_name:
        return "group:grid"
    if "coalesced_group" in type_name:
        return "group:active"
    return (
        "group:block"
        if "thread_block" in type_name and "tile" not in type_name
        else "group:tile"
        if "thread_block_tile" in type_name
        else "group:part"
        if "thread_group" in type_name
        else ""
    )
