# SPDX-License-Identifier: Apache-2.0
"""Files that say which packages to install."""

from __future__ import annotations

from dataclasses import dataclass

from hipport.source import Source


@dataclass(frozen=True)
class Requirements(Source):
    """A file of requirements or constraints for pip."""
