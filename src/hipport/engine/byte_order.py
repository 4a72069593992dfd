# SPDX-License-Identifier: Apache-2.0
"""Files that begin with a byte-order mark: passes read them without it, and results are put behind it.

The mark is no part of the first line: what is put on top goes behind it, and a first line that is matched, or written
once more elsewhere, is so without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TypeVar

from hipport.core.edits import Edit, Span
from hipport.core.source import Source
from hipport.program.project import Project

MARK = b"\xef\xbb\xbf"

SourceT = TypeVar("SourceT", bound=Source)


def bare(project: Project) -> Project:
    """Return the project with each file as it is behind its mark."""
    return project.replacing({path: replace(each, text=each.text[len(MARK) :]) for path, each in _marked(project)})


def restored(bare: Project, before: Project) -> Project:
    """Return what passes made of `bare`, with the marks that the files had `before`, and the same edits."""
    return bare.replacing({path: _behind_mark(bare.by_path[path]) for path, _ in _marked(before)})


def moved(span: Span) -> Span:
    """Return where a span of a file as it is behind its mark is in the file."""
    return Span(span.start + len(MARK), span.end + len(MARK))


def _marked(project: Project) -> Sequence[tuple[PurePath, Source]]:
    return [(each.path, each) for each in project.sources if each.text.startswith(MARK)]


def _behind_mark(source: SourceT) -> SourceT:
    steps: list[Source] = []
    step: Source = source
    while step.before is not None:
        steps.append(step)
        step = step.before
    result = replace(source, text=MARK + step.text, before=None, edits=())
    for each in reversed(steps):
        result = result.apply(Edit(moved(edit.span), edit.new, edit.on_top) for edit in each.edits)
    return result
