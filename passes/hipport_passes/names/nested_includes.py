# SPDX-License-Identifier: Apache-2.0
"""Include the headers that a file needs outside of the braces in which the file is included.

`namespace here { #include "kernels.cuh" }` puts everything that `kernels.cuh` includes into the namespace. For CUDA the
file may need no CUDA header, because nvcc includes it first; hipport's headers, and HIP's where `headers` has put one,
would become part of the first such namespace, and be missing in the next one. They are therefore included at the top of
the file with the braces, and their guards prevent a second inclusion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import FOLDER, header, line_of
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cpp_text import Include

_OWN = re.compile(rf"(?:.*/)?{FOLDER}/(\w+\.h)")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per file that includes others inside of braces, if these need headers."""
    if source.is_hipport_header or b"{" not in source.code:
        return
    nested = [
        each
        for each in source.includes
        if source.code.count(b"{", 0, each.directive.start) > source.code.count(b"}", 0, each.directive.start)
        and not _guarded(source, each.directive.start)
    ]
    if not nested:
        return
    outside = {each.path for each in source.includes if each not in nested}
    there = {match[1] for path in outside if (match := _OWN.fullmatch(path))} | outside
    lines: dict[int, list[bytes]] = {}
    for path in _needed(source, project, nested):
        match = _OWN.fullmatch(path)
        if (match[1] if match else path) in there:
            continue
        line = header(source, project, match[1])[0] if match else b"<" + path.encode() + b">"
        here = lines.setdefault(line_of(source, path), [])
        here += [line] if line not in here else []
    if lines:
        edits = tuple(
            Edit(Span(point, point), b"".join(b"#include " + each + source.newline for each in here))
            for point, here in lines.items()
        )
        names = ", ".join(line.decode(errors="replace") for here in lines.values() for line in here)
        message = f"needed inside of braces, where a header must not be read for the first time: {names}"
        yield Finding(nested[0].directive, "outside", message, edits)


def _guarded(source: Cpp, offset: int) -> bool:
    """Return whether the braces are those of an `extern "C" {` that only C++ sees, around code that is also C."""
    opening = source.code.rfind(b"{", 0, offset)
    return re.search(rb"extern\s*\"C\"\s*\Z", source.text[max(0, opening - 40) : opening]) is not None


def _needed(source: Cpp, project: Project, nested: list[Include]) -> Iterator[str]:
    """Yield the headers of hipport and HIP that the `nested` includes need, directly or through others."""
    seen = {source.path}
    waiting = [other for include in nested for other in project.included(source, include)]
    while waiting:
        each = waiting.pop(0)
        if each.path in seen or not isinstance(each, Cpp) or each.is_hipport_header:
            continue
        seen.add(each.path)
        for include in each.includes:
            if _OWN.fullmatch(include.path) or include.path.startswith("hip/"):
                yield include.path
            else:
                waiting += project.included(each, include)


PASS = Pass(Cpp, find)
