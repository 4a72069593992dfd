# SPDX-License-Identifier: Apache-2.0
"""Show code to HIP again that hipport had hidden, where upstream has added to it since.

`#ifndef __HIPCC__ /* hipport */` stands around functions that HIP has itself. New code between them would be missing on
AMD, and a function that has changed is no longer the one that HIP has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from hipport.core.edits import Edit, Span
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.own_guards import ends_marked
from hipport.syntax.preprocessor import left_to_hip

_ADDED = re.compile(rb"\s*&&\s*!\s*defined\s*\(\s*__HIPCC__\s*\)\s*/\*[ \t]*hipport[ \t]*\*/")


def opened(source: Cpp, about: Iterable[Span], hips: Iterable[Span]) -> Iterator[tuple[Span, tuple[Edit, ...]]]:
    """Yield the stretches that have to be opened, with the edits that do it.

    These stretches contain one of `about`, and something other than `hips`, the functions that HIP has itself.
    """
    if not source.left_to_hip:
        return
    spans, known = list(about), sorted(hips)
    for group in source.conditionals:
        if len(group) != 2 or not ends_marked(source[group[0].span]):
            continue
        for stretch in left_to_hip([group]):
            if not any(within(each.start, (stretch,)) for each in spans):
                continue
            place, rest = stretch.start, b""
            for each in known:
                if place <= each.start and each.end <= stretch.end:
                    rest += source.code[place : each.start]
                    place = each.end
            if (rest + source.code[place : stretch.end]).strip():
                yield stretch, tuple(_away(source, group[0].span, group[1].span))


def seen_again(source: Cpp, offset: int, stretches: Collection[Span]) -> bool:
    """Return whether opening the stretches shows HIP what is at an offset: no other mark of hipport's hides it."""
    return within(offset, tuple(stretches)) and all(
        stretch in stretches
        for group in source.conditionals
        for stretch in left_to_hip([group])
        if within(offset, (stretch,))
    )


def _away(source: Cpp, opening: Span, closing: Span) -> Iterator[Edit]:
    added = _ADDED.search(source.text, opening.start, opening.end)
    if added is not None:
        yield Edit(Span(*added.span()), b"")
        return
    for directive in (opening, closing):
        line_end = source.line_end.search(source.text, directive.end)
        end = line_end.end() if line_end is not None else len(source.text)
        start = directive.start if (indent := source.indent(directive.start)) is None else directive.start - len(indent)
        yield Edit(Span(start, end), b"")
