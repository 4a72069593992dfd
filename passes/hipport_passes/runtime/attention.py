# SPDX-License-Identifier: Apache-2.0
"""Attention by xformers and flash-attn, put in terms of PyTorch's own where those are not installed."""

from __future__ import annotations

import libcst as cst

from hipport.finding import Finding
from hipport_passes.runtime.program import Program


def expressed(program: Program, node: cst.CSTNode, module: str) -> Finding | None:
    """Return the finding that gives an import of `module` something to fall back on, if its uses can be expressed."""
    return None
