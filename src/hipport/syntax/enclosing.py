# SPDX-License-Identifier: Apache-2.0
"""The conditionals and loops around a line of a build script, as a linked list from the inside out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

_Part = TypeVar("_Part")


@dataclass(frozen=True, eq=False)
class EnclosingBlock(Generic[_Part]):
    """A block up to one of its parts: an `elseif` whose `if` is `before` and `first`.

    `outer` is the enclosing block.
    """

    part: _Part
    first: _Part
    before: EnclosingBlock[_Part] | None
    outer: EnclosingBlock[_Part] | None

    @property
    def parts(self) -> tuple[_Part, ...]:
        """The commands that begin it: `(if,)`, `(if, elseif)`, `(if, elseif, else)`."""
        found = [self.part]
        block = self.before
        while block is not None:
            found.append(block.part)
            block = block.before
        return tuple(reversed(found))


def around(block: EnclosingBlock[_Part] | None) -> tuple[tuple[_Part, ...], ...]:
    """Return the parts of a block and of the blocks around it, the outermost first."""
    found = []
    while block is not None:
        found.append(block.parts)
        block = block.outer
    return tuple(reversed(found))


def answered(
    block: EnclosingBlock[_Part] | None,
    known: dict[EnclosingBlock[_Part], bool | None],
    answer: Callable[[EnclosingBlock[_Part]], bool | None],
    *,
    by_part: bool = False,
) -> bool | None:
    """Return the answer of the outermost block that has one; the result of each block is cached in `known`.

    So each block is asked once, however deeply they nest. With `by_part` the parts of a block are asked one after the
    other, else `answer` is for the whole block.
    """
    way = []
    while block is not None and block not in known:
        way.append(block)
        block = (block.before if by_part else None) or block.outer
    found = known[block] if block is not None else None
    for each in reversed(way):
        found = known[each] = answer(each) if found is None else found
    return found
