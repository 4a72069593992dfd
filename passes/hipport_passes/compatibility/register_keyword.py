# SPDX-License-Identifier: Apache-2.0
"""Delete the storage class `register`, which C++17 removed.

nvcc ignores it in every dialect. clang, and so hipcc, rejects it in C++17 and later. It never had an effect on the
meaning of C++ code. It stays where GNU code names a register (`register int x asm("r1")`), and in C.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES

_DECLARED = re.compile(rb"[ \t\r\n]+[A-Za-z_:]")
_NAMED = NAMES.compile(rb"[^;{}=]*\b(?&asm)\s*\(")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per `register` of a declaration."""
    if source.path.suffix == ".c" or b"register" not in source.text:
        return
    code = source.code
    for span, _ in source.names({b"register"}, _DECLARED):
        if within(span.start, source.cuda_only) or _NAMED.match(code, span.end):
            continue
        # `#define register`: such a macro is the program's own solution.
        directive = source.directive(span.start)
        if directive is not None and re.match(
            rb"#[ \t]*(?:define|undef|ifdef|ifndef)[ \t]+register\b", code[directive.start :]
        ):
            continue
        blank = re.compile(rb"[ \t]*").match(code, span.end)
        end = blank.end() if blank else span.end
        yield Finding(
            span,
            "removed",
            "register has no effect, and clang refuses it in C++17",
            (Edit(Span(span.start, end), b""),),
        )


PASS = Pass(Cpp, find)
