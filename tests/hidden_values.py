# SPDX-License-Identifier: Apache-2.0
"""Kernels that are designed to make the analysis wrong: tests/hidden_values.txt.

Each begins with `@ name varying` or `@ name uniform`. The text before the kernel and a line `---` follow, if there is
such a text, and then its body.
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
