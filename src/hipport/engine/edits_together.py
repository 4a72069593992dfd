# SPDX-License-Identifier: Apache-2.0
"""Which findings of one pass can be applied together: their edits do not conflict and add no syntax errors."""

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
    """Return the edits of findings; lines that several of them insert at the top are merged into one edit, in order."""
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
    """Drop edits of text that an earlier or larger edit of another finding deletes, and findings left without edits."""
    applied = [finding for finding, outcome, _ in outcomes if outcome is Outcome.APPLIED]
    gone = [
        (edit.span, i)
        for i, finding in enumerate(applied)
        for edit in finding.edits
        # Comments stay, so they do not count.
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
    """Say whether `span` is a proper part of `other`, or with `as_well` equal to it; a place at its edge is not."""
    if not span:
        return other.start < span.start < other.end
    return other.start <= span.start and span.end <= other.end and (as_well or span != other)


def without_conflicts(source: Source, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings whose edits do not conflict with those of an earlier one."""
    kept: list[Finding] = []
    for finding in findings:
        try:
            source.apply(edits_of([*kept, finding]))
        except Conflict:
            continue
        kept.append(finding)
    return kept


def breaks(source: Source, result: Source) -> bool:
    """Say whether edits add syntax errors, or turn text outside them into comments or strings."""
    return result.errors > source.errors or not source.reads_the_same(result)


def is_sound(source: Source, finding: Finding) -> bool:
    """Whether the edits provably break no syntax without parsing, or the parser cannot tell."""
    rest = [edit for edit in finding.edits if not source.harmless(edit)]
    return not rest or (source.errors > 0 and source.same_shape(rest))


def without_errors(source: Source, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with whose edits the text has no more syntax errors than before.

    In a file full of macros the parser gets lost, and its errors at one place say nothing about others. REVIEW findings
    may hold only together with the others of the pass, so they are kept or dropped as a group.
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
