# SPDX-License-Identifier: Apache-2.0
"""Report uses of a PTX macro that an earlier run expanded and removed.

`inline_ptx` leaves a comment with the macro's name where it removes such a macro. A merge may bring new code that uses
it; hipcc would not know the macro, or would read it as an undeclared function. A merge may also remove the comment. An
undefined macro is then recognized by its arguments: names of PTX types that have no other meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_MARK = re.compile(rb"// hipport wrote (\w+) out at its uses\b")
_TYPE = re.compile(rb"(?:[busf](?:8|16|32|64)|f16x2|[su]16x2|bf16(?:x2)?|pred)")
_OWN_TYPE = re.compile(rb"(?<![\w.#])(%b)(?!\w|\s*[,)])" % _TYPE.pattern)
_PORTED = re.compile(rb"hipport/ptx\.h|hipport::ptx::")
_BEFORE = re.compile(rb"(\w+|[*&>])\s*\Z")
_USE = re.compile(rb"(?<![\w.:>#])([A-Za-z_]\w*)\s*\(([^()]*)\)")
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
                f"{name.decode()}: an earlier run of hipport wrote this macro out at its uses and removed it; put "
                "its definition back, with upstream's text, and hipport writes this use out, too"
            )
            yield Finding(span, "gone", said, certainty=Certainty.MANUAL)
    for span, name, given in source.fact(_given_types):
        if name not in gone and not any(name in file.fact(_defined) or given in file.fact(_types) for file in files):
            said = (
                f"{name.decode()}: this macro takes PTX types, but the program does not define it, perhaps since a "
                "merge; put its definition back, with upstream's text, and hipport writes this use out, too"
            )
            yield Finding(span, "nowhere", said, certainty=Certainty.MANUAL)


def _given_types(source: Cpp) -> tuple[tuple[Span, bytes, bytes], ...]:
    """Return the calls with a PTX type as argument, in a file whose PTX an earlier run has ported."""
    found: list[tuple[Span, bytes, bytes]] = []
    for match in _USE.finditer(source.code) if _PORTED.search(source.text) else ():
        types = [each for part in match[2].split(b",") if _TYPE.fullmatch(each := part.strip())]
        before = _BEFORE.search(source.code, max(0, match.start() - 64), match.start())
        declares = before is not None and before[1] not in (b"else", b"do", b"return")
        if types and not declares and source.directive(match.start()) is None:
            found.append((Span(*match.span(1)), match[1], types[0]))
    return tuple(found)


def _types(source: Cpp) -> frozenset[bytes]:
    """Return the names of PTX's types that a file uses for something else."""
    return frozenset(match[1] for match in _OWN_TYPE.finditer(source.code))


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
