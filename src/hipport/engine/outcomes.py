# SPDX-License-Identifier: Apache-2.0
"""Results of running passes: findings and their outcomes, and the project before and after."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import PurePath

from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty
from hipport.core.group import Group
from hipport.core.proof import Ground
from hipport.core.source import Source
from hipport.program.extension_facts import Extension
from hipport.program.project import Project


class Outcome(Enum):
    """The outcome of a finding."""

    APPLIED = "applied"  #: its edits were made
    DECLINED = "declined"  #: it is less certain than what was accepted; nothing was changed
    REPORTED = "reported"  #: it has no edits; a person must act
    IGNORED = "ignored"  #: a comment on its line says so
    DROPPED = "dropped"  #: its edits would have broken the file's syntax
    FAILED = "failed"  #: the pass failed on the file: a defect of hipport, so nothing may be written

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Reported:
    """A finding with its place in the user's file.

    `span` is in the file as it was read; `line` and `column` (bytes, both from 1) are its start.
    """

    path: PurePath
    line: int
    column: int
    span: Span
    rule: str
    message: str
    certainty: Certainty
    outcome: Outcome
    reason: str = ""
    group: Group = Group.KERNELS
    about: str = ""
    #: Of equal findings from several programs, the proof of the first is kept.
    proof: tuple[Ground, ...] = field(default=(), compare=False)

    @property
    def needs_person(self) -> bool:
        """Whether a person has to act: true unless it was applied as SAFE, or ignored on purpose."""
        if self.outcome is Outcome.APPLIED:
            return self.certainty is not Certainty.SAFE
        return self.outcome is not Outcome.IGNORED


@dataclass(frozen=True)
class Ported:
    """A project before and after, and all findings."""

    before: Project
    project: Project
    reported: tuple[Reported, ...]
    created: tuple[NewFile, ...] = ()

    @property
    def failures(self) -> tuple[Reported, ...]:
        """The findings of failed passes. Their changes are missing, so nothing of this result may be written."""
        return tuple(each for each in self.reported if each.outcome is Outcome.FAILED)

    @property
    def changed(self) -> tuple[Source, ...]:
        """The sources whose bytes differ from those that were read."""
        return tuple(
            after
            for before, after in zip(self.before.sources, self.project.sources, strict=True)
            if after.text != before.text
        )


@dataclass(frozen=True)
class Scanned:
    """The contents of a tree, and the result of a rewrite that was not written."""

    extensions: tuple[Extension, ...]
    ported: Ported


@dataclass(frozen=True)
class Result:
    """The result of running a sequence of passes on a project."""

    changed: dict[PurePath, Source]
    #: The edits that led to `changed`, step by step: a process sends these instead of all intermediate texts.
    edits: dict[PurePath, list[tuple[Edit, ...]]]
    reported: list[Reported]
    #: Each with the file that needs it.
    created: list[tuple[PurePath, NewFile]]
    #: How often each pass was called, in order.
    calls: list[tuple[str, int]]

    def without(self, paths: AbstractSet[PurePath]) -> Result:
        """Return the result without everything about the given files."""
        return Result(
            {path: each for path, each in self.changed.items() if path not in paths},
            {path: steps for path, steps in self.edits.items() if path not in paths},
            [each for each in self.reported if each.path not in paths],
            [(path, file) for path, file in self.created if path not in paths],
            self.calls,
        )

    def undone(self, paths: AbstractSet[PurePath], reason: str) -> Result:
        """Return the result with the given files as they were: what was applied in them is dropped."""
        kept = [
            replace(each, outcome=Outcome.DROPPED, reason=reason)
            if each.path in paths and each.outcome is Outcome.APPLIED
            else each
            for each in self.reported
        ]
        return replace(self.without(paths), reported=kept)

    def followed(self, more: Result, heard: AbstractSet[PurePath] = frozenset()) -> Result:
        """Return this result followed by `more`; applied findings replace reports at the same place.

        For the files in `heard`, only findings that were not reported before are added.
        """
        done = {(each.path, each.span, each.rule) for each in more.reported if each.outcome is Outcome.APPLIED}
        known = {(each.path, each.span, each.rule) for each in self.reported}
        return Result(
            self.changed | more.changed,
            self.edits | {path: [*self.edits.get(path, []), *steps] for path, steps in more.edits.items()},
            [
                *(
                    each
                    for each in self.reported
                    if each.outcome is Outcome.APPLIED or (each.path, each.span, each.rule) not in done
                ),
                *(
                    each
                    for each in more.reported
                    if each.outcome is Outcome.APPLIED
                    or (each.path in heard and (each.path, each.span, each.rule) not in known)
                ),
            ],
            [*self.created, *more.created],
            self.calls,
        )
