# SPDX-License-Identifier: Apache-2.0
"""Files with a byte-order mark: passes read them without it, and results get it back.

The mark is not part of the first line. Text inserted at the top goes after it, and a first line that is matched or
copied does not include it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TypeVar

from hipport.core.edits import Edit, Span
from hipport.core.source import BYTE_ORDER_MARK as MARK
from hipport.core.source import Source
from hipport.program.project import Project

SourceT = TypeVar("SourceT", bound=Source)


def bare(project: Project) -> Project:
    """Return the project with the byte-order mark of each file removed."""
    return project.replacing({path: replace(each, text=each.text[each.beginning :]) for path, each in _marked(project)})


def restored(bare: Project, before: Project) -> Project:
    """Return the result of passes on `bare`, with the same edits and the byte-order marks that files had `before`."""
    return bare.replacing({path: _behind_mark(bare.by_path[path], each.beginning) for path, each in _marked(before)})


def moved(span: Span, mark: int) -> Span:
    """Return the place in the file of a span in the text without its mark, which has that length."""
    return Span(span.start + mark, span.end + mark)


def _marked(project: Project) -> Sequence[tuple[PurePath, Source]]:
    return [(each.path, each) for each in project.sources if each.beginning]


def _behind_mark(source: SourceT, length: int) -> SourceT:
    steps: list[Source] = []
    step: Source = source
    while step.before is not None:
        steps.append(step)
        step = step.before
    result = replace(source, text=MARK * (length // len(MARK)) + step.text, before=None, edits=())
    for each in reversed(steps):
        result = result.apply(Edit(moved(edit.span, length), edit.new, edit.on_top) for edit in each.edits)
    return result
