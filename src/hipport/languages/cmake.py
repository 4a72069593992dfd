# SPDX-License-Identifier: Apache-2.0
"""CMake scripts."""

from __future__ import annotations

from dataclasses import dataclass

from hipport.source import Source


@dataclass(frozen=True)
class CMake(Source):
    """A CMakeLists.txt or .cmake file."""
