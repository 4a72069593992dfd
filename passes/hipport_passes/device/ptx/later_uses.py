# SPDX-License-Identifier: Apache-2.0
"""Find PTX strings that are passed to macros which, since an earlier run, call their argument.

`#define UNARY(name, ptx) … d = ptx(a); …` was `asm(ptx " %0, %1;" …)`: upstream continues to pass strings, in lines
that it adds or changes. No string can be called, so such a use can have no other meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Span
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport_passes.device.ptx.families import function
from hipport_passes.device.ptx.operations import Untranslated, operation
from hipport_passes.device.ptx.ptx_assembly import Unparsed, parse
from hipport_passes.device.ptx.statements import Unreadable

_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)\(([\w \t,]+)\)")
_CALL = re.compile(rb"\s*\(")
_PORTED = b"hipport/ptx.h"
_TEXT = re.compile(rb"\s*\"([\w.]+)\"\s*")


def later_uses(source: Cpp, project: Project) -> Iterator[tuple[Span, bytes]]:
    """Yield the PTX strings among the arguments, each with the function that replaces it; b"" if that is unknown."""
    if b'"' not in source.code:
        return
    calling = project.component(source).fact(_calling)
    if source.words.isdisjoint(calling):
        return
    for span, name in source.names(calling.keys(), _CALL):
        if source.directive(span.start) is not None or source.ported(span.start):
            continue
        given = source.arguments(source.code.index(b"(", span.end)) or ()
        for number, operands in calling[name]:
            text = _TEXT.fullmatch(source.text, *_bounds(given[number])) if number < len(given) else None
            if text is not None:
                yield Span(*text.span()), _function(text[1], operands)


def _bounds(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _calling(component: Component) -> dict[bytes, tuple[tuple[int, int], ...]]:
    """Return the macros that call an argument: the indices of such parameters, and the numbers of operands."""
    found: dict[bytes, tuple[tuple[int, int], ...]] = {}
    for source in component if any(_PORTED in each.text for each in component) else ():
        if not isinstance(source, Cpp) or b"define" not in source.code:
            continue
        for head in _DEFINE.finditer(source.code):
            directive = source.directive(head.start())
            parameters = [each.strip() for each in head[2].split(b",")]
            if directive is None or directive.start != head.start():
                continue
            calls = []
            for number, parameter in enumerate(parameters):
                # Uses of the parameter that are neither pasted nor made a string.
                uses = [
                    *re.finditer(
                        rb"(?<!#)(?<!# )\b%b\b(?!\s*##)" % re.escape(parameter), source.code[head.end() : directive.end]
                    )
                ]
                opening = _CALL.match(source.code, head.end() + uses[0].end()) if len(uses) == 1 else None
                operands = source.arguments(opening.end() - 1) if opening is not None else None
                if operands:
                    calls.append((number, len(operands)))
            if calls:
                found[head[1]] = tuple(calls)
    return found


def _function(text: bytes, operands: int) -> bytes:
    names = [b"%d" % number for number in range(operands + 1)]
    try:
        program = parse(text + b" " + b", ".join(b"%" + each for each in names) + b";", names)
        if len(program.instructions) != 1:
            return b""
        return function(operation(program.instructions[0], lambda _: b""))
    except (Unparsed, Unreadable, Untranslated):
        return b""
