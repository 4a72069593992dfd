# SPDX-License-Identifier: Apache-2.0
"""C++17's special functions, such as std::beta: <cmath> has them only in units that use one.

libstdc++'s definitions call templates. g++ instantiates these in each unit, even if its headers are precompiled, and
that takes a fifth of the time of a small unit.
"""

from __future__ import annotations

import re
from pathlib import Path

from hipport.core.tables import load, one_of

#: The flag for a unit that uses one, which simt/less_math.h looks for.
FLAG = "-DSIMT_SPECIAL_FUNCTIONS=1"
_NAMES = one_of(load(Path(__file__).with_suffix(".toml"))["functions"]["names"])
_LACKING = re.compile(rf"error: .*\b{_NAMES}[fl]?\b")


def are_lacking(said: str) -> bool:
    """Whether a compiler's errors may come from functions that <cmath> lacks."""
    return _LACKING.search(said) is not None
