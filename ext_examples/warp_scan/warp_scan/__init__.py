# SPDX-License-Identifier: Apache-2.0
"""Scans and sums through shared memory."""

import torch  # noqa: F401  it loads what the extension links to

from ._C import scan_rows, scan_segments, sum_blocks

__all__ = ["scan_rows", "scan_segments", "sum_blocks"]
