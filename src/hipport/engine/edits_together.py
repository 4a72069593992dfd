# SPDX-License-Identifier: Apache-2.0
"""Which findings of one pass can be applied together: edits without conflicts, and without new errors of syntax."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from hipport.core.edits import Conflict, Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.engine.outcomes import Outcome
from hipport.program.own_headers import in_order

_COMMENTS = re.compile(rb"(?:\s|/\*(?:[^*]|\*(?!/))*\*/)*")


def edits_of(findings: Iterable[Finding]) -> list[Edit]:
    """Return the edits of findings; lines that several of them put on top are one edit, in the order they come in."""
    edits = [edit for finding in findings for edit in finding.edits]
    top = {edit.new for edit in edits if edit.on_top and not len(edit.span)}
    if len(top) < 2:
        return edits
    several: dict[Span, set[bytes]] = {}
    for edit in edits:
        if edit.on_top and not len(edit.span):
            several.setdefault(edit.span, set()).add(edit.new)
    rest = [edit for edit in edits if not edit.on_top or len(edit.span)]
    return [*rest, *(Edit(span, in_order(lines), on_top=True) for span, lines in several.items())]


def without_moot(outcomes: Sequence[tuple[Finding, Outcome, str]]) -> Iterator[tuple[Finding, Outcome, str]]:
    """Leave out edits in what an earlier or larger edit of another finding takes away, and findings without others."""
    applied = [finding for finding, outcome, _ in outcomes if outcome is Outcome.APPLIED]
    gone = [
        (edit.span, i)
        for i, finding in enumerate(applied)
        for edit in finding.edits
        # But for the comments, which stay.
        if edit.span and _COMMENTS.fullmatch(edit.new)
    ]
    number = {id(finding): i for i, finding in enumerate(applied)}
    for finding, outcome, reason in outcomes:
        own = number.get(id(finding))
        if own is not None and outcome is Outcome.APPLIED:
            edits = tuple(
                edit
                for edit in finding.edits
                if not any(i != own and _lies_in(edit.span, span, as_well=i < own) for span, i in gone)
            )
            if not edits:
                continue
            finding = replace(finding, edits=edits)
        yield finding, outcome, reason


def _lies_in(span: Span, other: Span, *, as_well: bool) -> bool:
    """Say whether `span` is a part of `other`, or, `as_well`, all of it; a place at its edge is none."""
    if not span:
        return other.start < span.start < other.end
    return other.start <= span.start and span.end <= other.end and (as_well or span != other)


def without_conflicts(source: Source, findings: Sequence[Finding]) -> list[Finding]:
    """Return those of the findings whose edits do not conflict with those of an earlier one."""
    kept: list[Finding] = []
    for finding in findings:
        try:
            source.apply(edits_of([*kept, finding]))
        except Conflict:
            continue
        kept.append(finding)
    return kept


def breaks(source: Source, result: Source) -> bool:
    """Say whether edits have made more errors of syntax, or comments or strings of what they have not touched."""
    return result.errors > source.errors or not source.reads_alike(result)


def is_sound(source: Source, finding: Finding) -> bool:
    """Whether the edits are known to break no syntax without parsing, or nothing can be known by that."""
    rest = [edit for edit in finding.edits if not source.harmless(edit)]
    return not rest or (source.errors > 0 and source.alike(rest))


def without_errors(source: Source, findings: Sequence[Finding]) -> list[Finding]:
    """Return those of the findings with whose edits the text has no more errors of syntax than before.

    In a file full of macros the parser loses its way; what it then makes of one place is no matter of the others. What
    is for review may hold only with what else of the pass is, and stays or goes together.
    """
    kept = [finding for finding in findings if is_sound(source, finding)]
    sure = {id(finding) for finding in kept}
    rest = [finding for finding in findings if id(finding) not in sure]
    for_review = [finding for finding in rest if finding.certainty is not Certainty.SAFE]
    groups = [for_review, [finding for finding in rest if finding.certainty is Certainty.SAFE]]
    while groups:
        group = groups.pop()
        if not breaks(source, source.apply(edits_of([*kept, *group]))):
            kept += group
        elif len(group) > 1 and group is not for_review:
            half = len(group) // 2
            groups += [group[half:], group[:half]]
    return kept
