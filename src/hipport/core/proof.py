# SPDX-License-Identifier: Apache-2.0
"""What a finding rests on: the grounds of its proof, and what is missing to one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath


class Scope(Enum):
    """The threads that a ground is said of, the largest group first; each is part of the one before."""

    GRID = "grid"  #: all threads of a launch
    BLOCK = "block"  #: all threads of a block
    WARP = "warp"  #: the lanes of a warp, or of a wavefront
    GROUP = "group"  #: neighbouring lanes, or the lanes that a mask, group or branch has
    THREAD = "thread"  #: a thread for itself

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Ground:
    """One fact that a finding rests on: `claim`, said of the threads of `scope`, holds because of `reason`.

    `path` and `line` are where the reason stands, in the files as they were read. What is not `proven` is assumed: the
    reason then says what is missing.
    """

    claim: str
    scope: Scope
    reason: str
    path: PurePath
    line: int
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that waits for other threads and stays as it is, from `start` to `end`: what it is, and why it may."""

    start: int
    end: int
    name: str
    proof: tuple[Ground, ...]


#: In front of what is missing, at the end of a message.
_NOT_PROVEN = "; not proven: "


def without_reason(message: str) -> str:
    """Return a message without what is missing to a proof of what it assumes."""
    return message.partition(_NOT_PROVEN)[0]


def missing(proof: tuple[Ground, ...]) -> str:
    """Return the end of a message that rests on something that is not proven: what that is; empty if all is."""
    reason = next((each.reason for each in proof if not each.proven), "")
    return f"{_NOT_PROVEN}{reason}" if reason else ""
