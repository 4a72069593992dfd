# SPDX-License-Identifier: Apache-2.0
"""PyTorch's headers, and the files that include them."""

from __future__ import annotations

from hipport.syntax.cpp import Cpp

#: Their folders; `TH/` and `THC/` are those of old releases.
FOLDERS = ("torch/", "ATen/", "c10/", "caffe2/", "TH/", "THC/")


def includes_pytorch(source: Cpp) -> frozenset[bool]:
    """Return {True} for a file that includes a header of PyTorch's, else nothing; asked of a component."""
    return frozenset((True,)) if any(each.path.startswith(FOLDERS) for each in source.includes) else frozenset()
