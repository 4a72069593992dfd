# SPDX-License-Identifier: Apache-2.0
"""Changes to bytes: spans, edits of them, and files to be made.

Two edits conflict when the order in which they are applied could matter. That leaves three rules:

* replacements (also deletions) must not overlap;
* an insertion strictly inside a replaced span conflicts; at the start of one it goes before the new text and at
  the end of one it goes after it, whichever is applied first;
* two insertions at one offset conflict unless they insert the same bytes (then they are one edit) or exactly one of
  them is `on_top`.

Equal edits are one edit. A conflict is an error of the caller that produced the edits. It is never resolved by
dropping one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True, order=True, init=False)
class Span:
    """Bytes from `start` up to `end`, exclusive. Raises ValueError if `end` is before `start`."""

    start: int
    end: int

    def __init__(self, start: int, end: int) -> None:
        if not 0 <= start <= end:
            raise ValueError(f"not a span: {start}..{end}")
        _set_start(self, start)
        _set_end(self, end)

    def __len__(self) -> int:
        return self.end - self.start


# A file has hundreds of spans. The `__init__` that dataclasses generates for a frozen class takes twice as long.
_set_start: Callable[[Span, int], None] = Span.__dict__["start"].__set__
_set_end: Callable[[Span, int], None] = Span.__dict__["end"].__set__


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace `span` by `new`. An empty span inserts, an empty `new` deletes.

    Lines that the whole file needs, such as an `#include`, are `on_top` of other insertions at the same place.
    """

    span: Span
    new: bytes
    on_top: bool = False


@dataclass(frozen=True, slots=True, order=True)
class NewFile:
    """A file to be made, at a path relative to the root of the tree.

    hipport moves no files: hipcc takes `.cu` as HIP, so a port keeps every name that a build file may mention.
    """

    path: PurePath
    text: bytes


class Conflict(ValueError):
    """Two edits whose order would matter, or one that lies outside the text."""


def place(edit: Edit) -> tuple[int, int, bool, bytes]:
    return edit.span.start, edit.span.end, not edit.on_top, edit.new
