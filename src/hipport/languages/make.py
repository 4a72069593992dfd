# SPDX-License-Identifier: Apache-2.0
"""Makefiles."""

from __future__ import annotations

from dataclasses import dataclass

from hipport.source import Source


@dataclass(frozen=True)
class Makefile(Source):
    """A makefile."""
