# SPDX-License-Identifier: Apache-2.0
"""Jupyter notebooks."""

from __future__ import annotations

from dataclasses import dataclass

from hipport.source import Source


@dataclass(frozen=True)
class Notebook(Source):
    """An .ipynb file: JSON with cells of Python in it."""
