# SPDX-License-Identifier: Apache-2.0
"""Operations on integers that CUDA has no functions for, with PTX instructions.

Words are int32 tensors; each row of a result is one operation, in the order of the kernels.
"""

import torch  # noqa: F401  it loads what the extension links to

from ._C import bits, chained_sums, lanes, reverse4, round, tables, video, wide

__all__ = ["bits", "chained_sums", "lanes", "reverse4", "round", "tables", "video", "wide"]
