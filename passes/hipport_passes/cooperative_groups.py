# SPDX-License-Identifier: Apache-2.0
"""Replace `<cooperative_groups/reduce.h>`, which HIP before ROCm 7.13 lacks, by a header that has what is used of it.

`cg::reduce(tile, value, cg::plus<T>())` then stands as it is. A file that includes the header and uses nothing of it
(as most files of the 3D Gaussian splatting family) is left to `headers`, which drops the include.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Finding
from hipport.headers import header
from hipport.languages.cpp import Cpp, within
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit

_HEADER = "cooperative_groups/reduce.h"
_USES = re.compile(
    rb"\b(?:reduce)\s*\(|\b(?:cg|cooperative_groups)\s*::\s*(?:plus|less|greater|bit_and|bit_or|bit_xor)\b"
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per include of the header in a program that uses it."""
    if b"cooperative_groups/reduce.h" not in source.text or project.target.rocm >= (7, 13):
        return
    if not any(isinstance(other, Cpp) and other.fact(_uses) for other in project.component(source)):
        return
    path, own = header(source, project, "cooperative_groups.h")
    _, warp = header(source, project, "warp.h")
    for directive in source.includes:
        if directive.path != _HEADER or within(directive.directive.start, source.cuda_only):
            continue
        yield Finding(
            directive.target,
            "reduce",
            f"<{_HEADER}> → hipport's, for ROCm before 7.13",
            (Edit(directive.target, path),),
            creates=(own, warp),
        )


def _uses(source: Cpp) -> bool:
    return _USES.search(source.code) is not None


PASS = Pass(Cpp, find)
