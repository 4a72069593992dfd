# SPDX-License-Identifier: Apache-2.0
"""Write `#define UNROLL #pragma unroll`, which nvcc accepts and clang does not, with `_Pragma`.

`_Pragma("unroll")` is C++'s form of a pragma in a macro. A pragma with a macro's parameter in it is made a string by a
helper macro, which is defined before the first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_DEFINE = re.compile(
    rb"#[ \t]*define[ \t]+\w+(?P<parameters>\([^()]*\))?[ \t]+"
    rb"(?P<pragma>#[ \t]*pragma[ \t]+(?P<text>[^\r\n\\\"]*[^\s\\\"]))[ \t]*"
)
_HELPER = b"#ifndef HIPPORT_PRAGMA\n#define HIPPORT_PRAGMA(text) _Pragma(#text)\n#endif\n"


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per such macro."""
    if b"pragma" not in source.words:
        return
    helper: Edit | None = None
    for directive in source.directives:
        match = _DEFINE.fullmatch(source.code, directive.start, directive.end)
        if match is None or source.ported(directive.start):
            continue
        span = Span(*match.span("pragma"))
        edits: tuple[Edit, ...]
        if match["parameters"] is None:
            edits = (Edit(span, b'_Pragma("' + match["text"] + b'")'),)
        else:
            # Each finding has the same helper, because a person may reject the first one.
            text = _HELPER.replace(b"\n", source.newline)
            helper = helper or Edit(Span(directive.start, directive.start), text)
            edits = (helper, Edit(span, b"HIPPORT_PRAGMA(" + match["text"] + b")"))
        yield Finding(span, "pragma", "#pragma in a macro → _Pragma", edits)


PASS = Pass(Cpp, find)
