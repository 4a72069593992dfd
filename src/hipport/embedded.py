# SPDX-License-Identifier: Apache-2.0
"""Code inside of files that are in another language, for passes that know the code and not the file.

A pass over Python is called with the Python of a notebook as it is called with that of a .py file; what it finds is
carried over to the notebook by whoever knows how the one lies in the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from hipport.finding import Certainty, Finding
from hipport.source import Edit, Source, Span


class Layout(Protocol):
    """How code lies in a file."""

    def span(self, span: Span) -> Span:
        """Return where in the file the code at `span` is."""
        ...

    def edit(self, edit: Edit) -> Edit | None:
        """Return the edit of the file that makes `edit` of the code; None where there is none."""
        ...

    def place(self, offset: int) -> str:
        """Say in words where the code at `offset` is, as people see the file."""
        ...


@dataclass(frozen=True)
class Embedded:
    """Code inside of a file: as a source of its own, and how it lies there."""

    source: Source
    layout: Layout

    def carried(self, finding: Finding) -> Finding:
        """Return what was found in the code as it is of the file.

        Edits that cannot be made there leave the finding to a person.
        """
        message = f"{finding.message} ({self.layout.place(finding.span.start)})"
        span = self.layout.span(finding.span)
        edits = [self.layout.edit(edit) for edit in finding.edits]
        made = tuple(edit for edit in edits if edit is not None)
        if len(made) < len(edits):
            message += "; as it is written here, change it by hand"
            return Finding(span, finding.kind, message, (), Certainty.MANUAL)
        return replace(finding, span=span, message=message, edits=made)
