# SPDX-License-Identifier: Apache-2.0
"""Conditions as they were before an earlier run decided them, and what has changed since.

Upstream may add code to a branch that hipport opened for AMD: code that is for a person, or a name that another branch
lacks. A decision that was right for the old text need not be right for the new one. So conditions are decided without
hipport's marked additions, as in a first run, and what differs from the present text is changed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import PurePath

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.own_guards import additions
from hipport_passes.device.arch_guards.chains import NAME, ON_DEVICE

_OPENING = re.compile(rb"\A#[ \t]*(?:el)?if\b[\s\\]*")


class Bare:
    """A project without the marked additions, and the files that have some."""

    def __init__(self, project: Project) -> None:
        marked: dict[PurePath, Cpp] = {}
        for source in project.sources:
            if isinstance(source, Cpp) and not source.is_hipport_header and b"hipport" in source.text:
                edits = tuple(_removals(source))
                if edits:
                    marked[source.path] = source.apply(edits)
        self.project = project.replacing(marked)
        self._of = marked

    def of(self, source: Cpp) -> Cpp:
        """Return a file without the additions."""
        return self._of.get(source.path, source)

    def carried(self, source: Cpp, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings in `of(source)` as findings in `source`, without the edits that it has already.

        If no edit is left, an earlier run has made the finding. A condition that gets no edit any more is as it was
        before.
        """
        bare = self.of(source)
        if bare is source:
            yield from findings
            return
        places = _Places(bare)
        marked = {part.span.start: part.span for group in bare.conditionals for part in group if places.has(part.span)}
        starts = sorted(marked)

        def directive(edit: Edit) -> int | None:
            at = bisect_right(starts, edit.span.start) - 1
            return starts[at] if at >= 0 and edit.span.end <= marked[starts[at]].end else None

        found = list(findings)
        edits: dict[int, set[Edit]] = {}
        for edit in (edit for each in found for edit in each.edits):
            if (start := directive(edit)) is not None:
                edits.setdefault(start, set()).add(edit)
        # What is to change of each directive, with the text that it has now.
        changes: dict[int, Edit] = {}
        for start, span in marked.items():
            wanted = _with(bare[span], start, edits.get(start, set()))
            if not _mean_the_same(wanted, source[places.span(span)]):
                changes[start] = Edit(places.span(span), wanted)
        for each in found:
            kept: list[Edit] = []
            for edit in each.edits:
                start = directive(edit)
                if start is None:
                    kept.append(replace(edit, span=places.span(edit.span)))
                elif start in changes:
                    kept.append(changes.pop(start))
            if kept or not each.edits:
                yield replace(each, span=places.span(each.span), edits=tuple(kept))
        for _, edit in sorted(changes.items()):
            message = "hipport chose this branch for AMD, and does not any more with the code that is there now"
            yield Finding(edit.span, "as_before", message, (edit,), Certainty.SAFE)


def _with(text: bytes, start: int, edits: Iterable[Edit]) -> bytes:
    """Return the text that begins at `start` with edits of the file."""
    moved = (replace(each, span=Span(each.span.start - start, each.span.end - start)) for each in edits)
    return Source(PurePath(), text).apply(moved).text


class _Places:
    """Where text of a file without additions is in the file with them."""

    def __init__(self, bare: Cpp) -> None:
        lengths = [len(edit.span) for edit in bare.edits]
        self._removed = [0, *accumulate(lengths)]
        # Where each removed text would be.
        self._at = [edit.span.start - gone for edit, gone in zip(bare.edits, self._removed, strict=False)]

    def has(self, span: Span) -> bool:
        """Return whether something was removed from a directive."""
        return bisect_left(self._at, span.start) != bisect_right(self._at, span.end)

    def span(self, span: Span) -> Span:
        """Return the place of a span, with what was removed from it and at its end."""
        start = span.start + self._removed[bisect_left(self._at, span.start)]
        behind = bisect_right if len(span) else bisect_left
        return Span(start, span.end + self._removed[behind(self._at, span.end)])


# For a host compiler, in headers without CUDA: such a header may have become CUDA since.
_HOST = (b"||defined(__HIP_PLATFORM_AMD__)", b"&&!defined(__HIP_PLATFORM_AMD__)")


def _mean_the_same(one: bytes, other: bytes) -> bool:
    """Return whether two directives are the same for AMD; a formatter may have changed blanks and lines."""
    first, second = (b"".join(each.replace(b"\\", b"").split()) for each in (one, other))
    for added in _HOST:
        first, second = first.replace(added, b""), second.replace(added, b"")
    return first == second


def _removals(source: Cpp) -> Iterator[Edit]:
    for group in source.conditionals if NAME.search(source.code) else ():
        for part in group:
            start = part.span.start
            for span in _added(source.code[start : part.span.end], source[part.span]):
                yield Edit(Span(start + span.start, start + span.end), b"")


def _added(code: bytes, text: bytes) -> Iterator[Span]:
    """Yield the stretches of a directive that `chains` has added: AMD's macro with the mark, and parentheses."""
    opening = _OPENING.match(code)
    if opening is None:
        return
    begin = opening.end()
    for place in additions(code[begin:], text[begin:]):
        place = Span(begin + place.start, begin + place.end)
        pair = _around(code, place)
        if pair is None and code[place.start : place.end].lstrip(b" \t\\\r\n\f\v").startswith(b"&&"):
            pair = _before(code, begin, place)
        part = code[pair.start if pair is not None else begin : place.start]
        # Other passes add other macros: they leave to HIP what it has itself.
        if (b"__CUDA_ARCH__" in part) == (ON_DEVICE in code[place.start : place.end]):
            yield place
            for bracket in (pair.start, pair.end - 1) if pair is not None else ():
                yield Span(bracket, bracket + 1)


def _before(code: bytes, begin: int, place: Span) -> Span | None:
    """Return the parentheses around all alternatives before an addition."""
    part = code[begin : place.start].rstrip()
    around = b"||" in part and part.startswith(b"(") and part.endswith(b")")
    return Span(begin, begin + len(part)) if around else None


def _around(code: bytes, place: Span) -> Span | None:
    """Return the parentheses that enclose an addition and what it is added to; the closing one is behind the mark."""
    end = place.end
    while code[end : end + 1].isspace():
        end += 1
    depth = 0
    for at in range(place.start - 1, -1, -1) if code[end : end + 1] == b")" else ():
        depth += (code[at] == 0x29) - (code[at] == 0x28)
        if depth < 0:
            return Span(at, end + 1)
    return None
