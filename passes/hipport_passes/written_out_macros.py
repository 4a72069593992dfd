# SPDX-License-Identifier: Apache-2.0
"""Report uses of a macro of PTX that an earlier run has written out, and that is gone since.

`inline_ptx` leaves a comment with its name where it takes such a macro away. What upstream adds since, and a merge
brings, may use it again; hipcc would not know it, or take it for a function that is declared nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Certainty, Finding
from hipport.languages.cpp import Cpp
from hipport.pipeline import Pass
from hipport.project import Project

_MARK = re.compile(rb"// hipport wrote (\w+) out at its uses\b")
_DEFINES = re.compile(rb"#[ \t]*(?:define|undef)[ \t]+(\w+)")


def mark(name: bytes) -> bytes:
    """Return the comment that stands where the macro `name` was defined."""
    return b"// hipport wrote %b out at its uses" % name


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use."""
    files = [other for other in project.component(source) if isinstance(other, Cpp)]
    gone = {name for file in files for name in file.fact(_gone)}
    gone -= {name for file in files if gone for name in file.fact(_defined)}
    for span, name in source.names(gone) if gone else ():
        directive = source.directive(span.start)
        defines = _DEFINES.match(source.code, directive.start, directive.end) if directive is not None else None
        if defines is None or defines[1] != name:
            said = (
                f"{name.decode()}: an earlier run of hipport wrote this macro out at its uses, and it is gone; put its "
                "definition back, with upstream's text, and hipport writes this use out, too"
            )
            yield Finding(span, "gone", said, certainty=Certainty.MANUAL)


def _gone(source: Cpp) -> frozenset[bytes]:
    found = _MARK.finditer(source.text) if b"// hipport wrote " in source.text else ()
    return frozenset(
        each[1]
        for each in found
        if not source.code[each.start() : each.end()].strip() and not source.quoted(each.start())
    )


def _defined(source: Cpp) -> frozenset[bytes]:
    found = (_DEFINES.match(source.code, span.start, span.end) for span in source.directives)
    return frozenset(match[1] for match in found if match is not None)


PASS = Pass(Cpp, find)
