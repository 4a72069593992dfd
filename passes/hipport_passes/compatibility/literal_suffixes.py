# SPDX-License-Identifier: Apache-2.0
"""Put a blank between a string and the macro after it, which clang would read as the suffix of a literal.

`"%"PRIu64` and, in a macro, `"error: "message` are adjacent strings in C++98. Since C++11 the name is a suffix of the
literal. nvcc warns and treats it as before, clang rejects it (-Wreserved-user-defined-literal; tried with nvcc 13.0
and hipcc 7.0). Only names of macros are separated from the string: parameters of the enclosing macro, macros of the
program, and those of <cinttypes>. With the blank it means for every compiler what it meant for nvcc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_STRING = re.compile(rb"\"[^\"\r\n]*\"(?P<name>[A-Za-z]\w*)?")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(?P<name>\w+)(?:\((?P<parameters>[^()]*)\))?")
_WORDS = Words.read(Path(__file__).with_name("compatibility_words.toml"))
# <cinttypes>: PRId64, SCNuPTR, PRIXLEAST32 and the like.
_OF_INTTYPES = _WORDS.compile(
    rb"(?:(?&printing)[diouxX]|(?&scanning)[dioux])(?:(?&of_least)?(?:8|16|32|64)|(?&of_kinds))"
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per string that a macro follows directly."""
    if source.path.suffix == ".c" or source.is_hipport_header:
        return
    found = [match for match in _STRING.finditer(source.code) if match["name"]]
    if not found:
        return
    macros = project.union_over(source, _macros)
    for match in found:
        span = Span(*match.span("name"))
        if source.ported(span.start):
            continue
        name = match["name"]
        if name in macros or name in _parameters(source, span) or _OF_INTTYPES.fullmatch(name):
            message = f"{name.decode()} directly after a string is a literal's suffix for clang, and a macro for nvcc"
            yield Finding(span, "macro", message, (Edit(Span(span.start, span.start), b" "),))


def _parameters(source: Cpp, span: Span) -> frozenset[bytes]:
    """Return the parameters of the macro definition around `span`."""
    directive = source.directive(span.start)
    define = _DEFINE.match(source.code, directive.start, directive.end) if directive else None
    return frozenset(re.findall(rb"\w+", define["parameters"] or b"")) if define else frozenset()


def _macros(source: Cpp) -> frozenset[bytes]:
    """Return the macros without parameters that the file defines."""
    if b"define" not in source.words and b"#" not in source.code:
        return frozenset()
    found = (_DEFINE.match(source.code, each.start, each.end) for each in source.directives)
    return frozenset(match["name"] for match in found if match and match["parameters"] is None)


PASS = Pass(Cpp, find)
