# SPDX-License-Identifier: Apache-2.0
"""Read the tables that passes keep beside them."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOMLDecodeError = tomllib.TOMLDecodeError


def parse(text: str) -> dict[str, Any]:
    """Return the TOML table that `text` is. Raises TOMLDecodeError."""
    return tomllib.loads(text)


@cache
def load(path: Path) -> dict[str, Any]:
    """Return the TOML table at `path`. The result is shared: do not change it. Raises OSError and TOMLDecodeError."""
    with path.open("rb") as file:
        return tomllib.load(file)
