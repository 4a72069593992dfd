# SPDX-License-Identifier: Apache-2.0
"""Reductions, scans and votes of cooperative groups."""

import torch  # noqa: F401  it loads what the extension links to

from ._C import block_bits, row_scans, row_stats, split, sum_by_key, votes

__all__ = ["block_bits", "row_scans", "row_stats", "split", "sum_by_key", "votes"]
