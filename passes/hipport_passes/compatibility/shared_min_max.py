# SPDX-License-Identifier: Apache-2.0
"""Keep `std::min` and `std::max` in `.cuh` files that host C++ includes, where PyTorch's hipify would break them.

hipify replaces `std::min(` by `::min(` in files named `.cu` and `.cuh`, literally (MATH_TRANSPILATIONS and
replace_math_functions in torch/utils/hipify of PyTorch 2.13, and tried). Device code has such a function; C++ that a
host compiler reads has none. `(std::min)(a, b)` is not replaced and calls the same function: parentheses around a
qualified name change nothing. The pass handles only headers that a `.cpp` file of the repository includes, and whose
component includes PyTorch's headers. The other functions of hipify's list are also declared by `<math.h>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.source import Source
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport_passes.names.pytorch_headers import includes_pytorch

_WORDS = Words.read(Path(__file__).with_name("compatibility_words.toml"), general=NAMES)
_CALL = _WORDS.compile(rb"(?<![\w:])(?&std)::(?&minima)(?=\()")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per call that hipify would replace in code for the host's compiler."""
    if source.path.suffix != ".cuh" or b"std" not in source.words or source.is_hipport_header:
        return
    calls = [Span(*match.span()) for match in _CALL.finditer(source.code)]
    if not calls or not project.union_over(source, includes_pytorch) or source.path not in project.fact(_on_host):
        return
    for span in calls:
        if source.ported(span.start):
            continue
        name = source[span].decode()
        edits = (Edit(Span(span.start, span.start), b"("), Edit(Span(span.end, span.end), b")"))
        message = (
            f"PyTorch's hipify makes it ::{name[5:]}, which host C++ does not have, and host code includes this header "
            "too"
        )
        yield Finding(span, "hipify", message, edits)


def _on_host(project: Project) -> frozenset[PurePath]:
    """Return the C++ files for the host, and all files that they include."""
    waiting: list[Source] = [each for each in project.sources if isinstance(each, Cpp) and each.for_host]
    seen = {each.path for each in waiting}
    while waiting:
        each = waiting.pop()
        for include in each.includes if isinstance(each, Cpp) else ():
            for other in project.included(each, include):
                if other.path not in seen:
                    seen.add(other.path)
                    waiting.append(other)
    return frozenset(seen)


PASS = Pass(Cpp, find)
