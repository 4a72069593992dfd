# SPDX-License-Identifier: Apache-2.0
"""Find parts that lines of a makefile for HIP lack, compared with those for CUDA beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hipport.core.edits import Edit, Span
from hipport.program.project import Project
from hipport.syntax.make import Makefile, MakeLine
from hipport_passes.build_files import makefile

_FOR_HIP, _FOR_CUDA = b"ifeq ($(USE_HIP),1)", b"ifneq ($(USE_HIP),1)"
_SAYS = re.compile(rb"\w")
_GOES_ON = re.compile(rb"\\\r?\n")


@dataclass
class _Both:
    """A conditional in the form that hipport writes: its own lines, and those for HIP and for CUDA."""

    own: list[MakeLine]
    hip: list[MakeLine] = field(default_factory=list)
    cuda: list[MakeLine] = field(default_factory=list)
    other: bool = False


def behind(source: Makefile, project: Project) -> Iterator[tuple[Span, Sequence[bytes]]]:
    """Yield the places of lines for HIP, and the parts that they lack."""
    now = _conditionals(source) if makefile.is_own(source) and not source.errors else []
    if not now:
        return
    gone = [line for both in now for line in (*both.own, *both.hip)]
    before = Makefile(source.path, source.text).apply(Edit(_whole(source, line), b"") for line in gone)
    found = [*makefile.find(before, project)]
    left = [before.origin(each.span).start for each in found if not each.edits]
    again = before.apply(edit for each in found for edit in each.edits)
    # The lines for HIP are counted at the first line for CUDA beside them; the other lines for CUDA get none.
    wanted: dict[int, list[bytes]] = {}
    for both in _conditionals(again):
        for line in both.cuda:
            wanted[again.origin(line.span).start] = []
        wanted[again.origin(both.cuda[0].span).start] = [word for each in both.hip for word in _words(again, each)]
    for both in now:
        if any(line.span.start <= place < line.span.end for line in both.cuda for place in left):
            continue
        has = {word for line in both.hip for word in _words(source, line)}
        words = (word for line in both.cuda for word in wanted.get(line.span.start, _words(source, line)))
        missing = list(dict.fromkeys(word for word in words if word not in has and _SAYS.search(word)))
        if missing:
            yield (both.hip or both.cuda)[0].span, missing


def _whole(source: Makefile, line: MakeLine) -> Span:
    end = source.text.find(b"\n", line.span.end)
    return Span(line.span.start, len(source.text) if end < 0 else end + 1)


def _words(source: Makefile, line: MakeLine) -> list[bytes]:
    if line.kind in ("comment", "blank"):
        return []
    text = source[line.span]
    remark = re.search(rb"\s#", text)
    return _GOES_ON.sub(b" ", text[: remark.start()] if remark and line.kind != "recipe" else text).split()


def _conditionals(source: Makefile) -> list[_Both]:
    """Return the conditionals in the form that hipport writes, without nested ones."""
    found: list[_Both] = []
    opened: list[_Both] = []
    for line in source.lines:
        text, inner = source[line.span].strip(), opened[-1] if opened else None
        if line.kind.startswith("if"):
            if inner is not None:
                inner.other = True
            opened.append(_Both([line], other=text not in (_FOR_HIP, _FOR_CUDA)))
        elif inner is None:
            continue
        elif line.kind == "endif":
            opened.pop()
            inner.own.append(line)
            parts = 3 if source[inner.own[0].span].strip() == _FOR_HIP else 2
            if inner.cuda and not inner.other and len(inner.own) == parts:
                found.append(inner)
        elif line.kind == "else":
            inner.own.append(line)
            inner.hip, inner.cuda = inner.cuda, []
        else:
            inner.cuda.append(line)
    return found
