# SPDX-License-Identifier: Apache-2.0
"""The assumptions of a rewrite, at their present lines.

A later run finds nothing to change in a rewritten file, so it does not repeat the assumptions. The journal has the
original files: they are ported again, and each place is mapped to its present line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path, PurePath

from hipport.core.edits import Span
from hipport.core.finding import Certainty
from hipport.core.source import Source
from hipport.engine.ignored import ignored
from hipport.engine.outcomes import Outcome, Ported, Reported
from hipport.program.project import Project
from hipport.syntax import file_languages


@dataclass(frozen=True)
class Reviewed:
    """The assumptions in a tree that hipport has rewritten, each at its present place.

    `ignored` counts assumptions that a comment marks as checked, `gone` lists rewritten files that no longer exist.
    """

    root: Path
    reported: tuple[Reported, ...]
    ignored: int
    gone: tuple[PurePath, ...]


def review(
    root: Path, now: Project, originals: Mapping[PurePath, bytes], port: Callable[[Project], Ported]
) -> Reviewed:
    """Return the assumptions for `originals` of the tree `now` at `root`; `port` runs the passes."""
    before = tuple(
        file_languages.source(source.path, originals[source.path]) if source.path in originals else source
        for source in now.sources
    )
    ported = port(replace(now, sources=before))
    found: list[Reported] = []
    checked = 0
    places: dict[PurePath, _Places] = {}
    for each in ported.reported:
        assumed = each.certainty is Certainty.REVIEW and each.outcome is Outcome.APPLIED
        if not assumed or each.path not in originals:
            continue
        if each.path not in places:
            places[each.path] = _Places(ported.project.by_path[each.path], now.by_path[each.path])
        moved = places[each.path].moved(each)
        if ignored(now.by_path[each.path], moved.span, moved.rule) is not None:
            checked += 1
        else:
            found.append(moved)
    gone = tuple(path for path in originals if path not in now.by_path)
    return Reviewed(root, tuple(found), checked, gone)


class _Places:
    """A mapping from the places of a file before the rewrite to now, through hipport's edits and later changes."""

    def __init__(self, ported: Source, now: Source) -> None:
        self._ported = ported
        self._now = now
        self._steps: list[Source] = []
        step = ported
        while step.before is not None:
            self._steps.append(step)
            step = step.before
        self._steps.reverse()
        self._blocks = list(_blocks(ported.text, now.text))

    def moved(self, reported: Reported) -> Reported:
        """Return a finding at its present place: the nearest line if its own line was changed."""
        offset = reported.span.start
        for step in self._steps:
            offset = _behind(step, offset)
        line, column = self._ported.position(offset)
        for start, end, to, to_end, same in self._blocks:
            if start <= line - 1 < end:
                inside = line - 1 - start if same else min(line - 1 - start, max(to_end - to - 1, 0))
                line, column = to + inside + 1, column if same else 1
                break
        at = self._now.offset(line, column)
        return replace(reported, line=line, column=column, span=Span(at, at))


def _behind(step: Source, offset: int) -> int:
    """Map a byte of the text before a step to the text after it; replaced bytes map to the start of the replacement."""
    shift = 0
    for edit in step.edits:
        if edit.span.start > offset:
            break
        if edit.span.end > offset:
            return edit.span.start + shift
        shift += len(edit.new) - len(edit.span)
    return offset + shift


def _blocks(old: bytes, new: bytes) -> Iterator[tuple[int, int, int, int, bool]]:
    """Yield which lines became which, from 0 and up to an end, and whether they are equal."""
    one, two = old.splitlines(keepends=True), new.splitlines(keepends=True)
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(two)) - head and one[-1 - tail] == two[-1 - tail]:
        tail += 1
    yield 0, head, 0, head, True
    middle = SequenceMatcher(None, one[head : len(one) - tail], two[head : len(two) - tail], autojunk=False)
    for tag, i, j, k, m in middle.get_opcodes():
        yield i + head, j + head, k + head, m + head, tag == "equal"
    yield len(one) - tail, len(one) + 1, len(two) - tail, len(two) + 1, True
