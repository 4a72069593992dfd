# SPDX-License-Identifier: Apache-2.0
"""The conditionals and loops that a line of a build script stands in, each known by the one around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

_Part = TypeVar("_Part")


@dataclass(frozen=True, eq=False)
class Block(Generic[_Part]):
    """A block up to one of its parts: the `elseif` behind the `if`, which is `before`, and `first`.

    `outer` is the block around it.
    """

    part: _Part
    first: _Part
    before: Block[_Part] | None
    outer: Block[_Part] | None

    @property
    def parts(self) -> tuple[_Part, ...]:
        """The commands that begin it: `(if,)`, `(if, elseif)`, `(if, elseif, else)`."""
        found = [self.part]
        block = self.before
        while block is not None:
            found.append(block.part)
            block = block.before
        return tuple(reversed(found))


def around(block: Block[_Part] | None) -> tuple[tuple[_Part, ...], ...]:
    """Return the parts of a block and of those around it, the outermost first."""
    found = []
    while block is not None:
        found.append(block.parts)
        block = block.outer
    return tuple(reversed(found))


def answered(
    block: Block[_Part] | None,
    known: dict[Block[_Part], bool | None],
    answer: Callable[[Block[_Part]], bool | None],
    *,
    by_part: bool = False,
) -> bool | None:
    """Return what the outermost block that has an answer says; what is found for a block is put down in `known`.

    So one answer per block is asked for, however deep they stand in each other. `by_part`: the parts of a block answer
    one after the other, else `answer` is for all of it.
    """
    way = []
    while block is not None and block not in known:
        way.append(block)
        block = (block.before if by_part else None) or block.outer
    found = known[block] if block is not None else None
    for each in reversed(way):
        found = known[each] = answer(each) if found is None else found
    return found
