# SPDX-License-Identifier: Apache-2.0
"""Kernels of the shapes that somebody would choose who wants the analysis to be wrong: tests/hidden_values.txt.

Each stands there as `@ name varying` or `@ name uniform`, what comes in front of the kernel and a line `---` if
anything does, and its body.
"""

from __future__ import annotations

import re
from pathlib import Path

from varying_kernels import Kernel


def _read() -> dict[str, Kernel]:
    found: dict[str, Kernel] = {}
    for text in re.split(r"(?m)^@ ", Path(__file__).with_suffix(".txt").read_text())[1:]:
        first, _, rest = text.partition("\n")
        name, said = first.split()
        before, line, body = rest.partition("\n---\n")
        assert name not in found and said in ("varying", "uniform"), first
        found[name] = Kernel(said == "varying", (body if line else before).strip(), before if line else "")
    return found


HIDDEN = _read()
