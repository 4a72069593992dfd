# SPDX-License-Identifier: Apache-2.0
"""Write includes without blanks behind the `#`, where PyTorch's hipify must read them.

hipify looks for `#include <` and `#include "` literally, as its source shows (RE_QUOTE_HEADER and RE_ANGLE_HEADER in
torch/utils/hipify/hipify_python.py of PyTorch 2.13, and tried). In `# include <c10/cuda/CUDAStream.h>` it leaves a name
that a PyTorch for ROCm does not have. With `# include "common.h"` the original file is included, beside the converted
copy that others include. For every compiler both spellings are the same. The pass handles only files whose component
includes PyTorch's headers, and there only includes of PyTorch's headers for CUDA and of files of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cpp_text import Include
from hipport.syntax.cuda_names import NAMES
from hipport_passes.names.pytorch_headers import includes_pytorch

_SPELLED = re.compile(rb"#include [<\"]")
_FOR_CUDA = NAMES.compile(r"(?&torch_headers)/.*")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per include that hipify would not recognize."""
    missed = [each for each in source.includes if not _SPELLED.match(source.code, each.directive.start)]
    if not missed or source.is_hipport_header or not project.union_over(source, includes_pytorch):
        return
    for each in missed:
        if _converted(source, each, project):
            # From the `#` to the path. If there is a comment in between, the include stays unchanged.
            between = source.text[each.directive.start + 1 : each.target.start]
            if between.replace(b"include", b"", 1).strip():
                continue
            edit = Edit(Span(each.directive.start + 1, each.target.start), b"include ")
            message = (
                f"PyTorch's hipify reads `#include` only without further blanks, and would leave {each.path} as it is"
            )
            yield Finding(each.directive, "hipify", message, (edit,))


def _converted(source: Cpp, include: Include, project: Project) -> bool:
    """Return whether hipify may move the included file."""
    if _FOR_CUDA.fullmatch(include.path):
        return "cuda" in include.path.lower() or include.path.startswith("THC/")
    found = project.included(source, include)
    return any(isinstance(other, Cpp) and not other.is_hipport_header for other in found)


PASS = Pass(Cpp, find)
