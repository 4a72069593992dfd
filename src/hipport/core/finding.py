# SPDX-License-Identifier: Apache-2.0
"""A finding: a pass's statement about a place in a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from hipport.core.edits import Edit, NewFile, Span
from hipport.core.proof import Ground


class Certainty(IntEnum):
    """How sure a pass is, which decides whether a person has to look.

    SAFE: the change means the same on every input and both wavefront sizes.
    REVIEW: it means the same if the assumption that the message states holds.
    MANUAL: a person must act; the finding has no edits.
    """

    SAFE = 0
    REVIEW = 1
    MANUAL = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a pass found at `span`, with the edits that port it. Either all edits are made or none.

    `kind` is the second half of the rule's name: `spaced` in `launch_syntax/spaced`. `creates` are files that the
    edits need, such as a helper header; they are made when the edits are. `about` names a subject that occurs in
    several kinds of file, such as a package or continuous integration: findings about it need one decision. `proof`
    holds the grounds of a finding about threads that wait for each other. A finding is MANUAL exactly when it has no
    edits; anything else raises ValueError.
    """

    span: Span
    kind: str
    message: str
    edits: tuple[Edit, ...] = ()
    certainty: Certainty = Certainty.SAFE
    creates: tuple[NewFile, ...] = ()
    about: str = ""
    proof: tuple[Ground, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if (self.certainty is Certainty.MANUAL) == bool(self.edits) or (self.creates and not self.edits):
            raise ValueError(f"{self.kind}: a finding is manual exactly when it has no edits")
