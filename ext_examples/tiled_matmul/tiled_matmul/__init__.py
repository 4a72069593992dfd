# SPDX-License-Identifier: Apache-2.0
from .ops import linear, matmul

__all__ = ["linear", "matmul"]
