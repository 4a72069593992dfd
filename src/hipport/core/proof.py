# SPDX-License-Identifier: Apache-2.0
"""What a finding rests on: the grounds of its proof, and which parts are not proven."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath


class Scope(Enum):
    """The threads that a ground holds for, the largest group first; each group is part of the one before."""

    GRID = "grid"  #: all threads of a launch
    BLOCK = "block"  #: all threads of a block
    WARP = "warp"  #: the lanes of a warp, or of a wavefront
    GROUP = "group"  #: neighbouring lanes, or the lanes of a mask, a group or a branch
    THREAD = "thread"  #: one thread

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Ground:
    """A claim that a finding rests on: `claim` holds for the threads of `scope` because of `reason`.

    `path` and `line` are the place of the reason, in the files as they were read. A ground that is not `proven` is
    assumed; its reason then says what is missing.
    """

    claim: str
    scope: Scope
    reason: str
    path: PurePath
    line: int
    proven: bool = True


@dataclass(frozen=True, slots=True)
class NeededChange:
    """The change of a finding of `kind`, at `start` in the file `path`, without which a proof does not hold.

    `here`: whether it replaces the code that the proof is about.
    """

    path: PurePath
    start: int
    kind: str
    here: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """Code from `start` to `end` that waits for other threads and stays as it is: what it is, and why it may stay.

    The proof holds if all of `needs` are made. If one of them replaces the code itself, the code does not stay.
    """

    start: int
    end: int
    name: str
    proof: tuple[Ground, ...]
    needs: tuple[NeededChange, ...] = ()


#: Precedes the missing parts of a proof at the end of a message.
_NOT_PROVEN = "; not proven: "


def without_reason(message: str) -> str:
    """Return a message without the missing parts of its proof."""
    return message.partition(_NOT_PROVEN)[0]


def missing(proof: tuple[Ground, ...]) -> str:
    """Return the end of a message whose proof is not complete: the missing parts; empty if all is proven."""
    reason = next((each.reason for each in proof if not each.proven), "")
    return f"{_NOT_PROVEN}{reason}" if reason else ""
