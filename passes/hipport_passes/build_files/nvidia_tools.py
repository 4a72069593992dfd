# SPDX-License-Identifier: Apache-2.0
"""Know NVIDIA's profilers, debuggers and checkers in commands, and what ROCm has in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load

_TABLE = Path(__file__).with_suffix(".toml")


@cache
def mentioned() -> re.Pattern[bytes]:
    """Return a pattern for the names of the tools, wherever they stand."""
    return re.compile(rb"(?<![\w-])(?:" + "|".join(map(re.escape, load(_TABLE)["tool"])).encode() + rb")(?![\w-])")


def run_by(words: Sequence[str]) -> tuple[int, str] | None:
    """Return which word of a command runs a tool of NVIDIA's, and the tool; None if none does."""
    tools, launchers = load(_TABLE)["tool"], load(_TABLE)["launcher"]["names"]
    looked_at = words if words and _name(words[0]) in launchers else words[:1]
    for i, word in enumerate(looked_at):
        name = _name(word)
        # `command -v nsys` and `time -p` ask and count.
        if i and words[0] == "command" and words[1].startswith("-"):
            break
        if name in tools:
            return i, name
    return None


def reported(places: Mapping[str, Sequence[Span]]) -> Iterator[Finding]:
    """Yield a finding for each tool that a file runs, where it first does."""
    for name, (first, *others) in places.items():
        yield Finding(first, "tool", told(name, len(others)), (), Certainty.MANUAL)


def told(name: str, others: int = 0) -> str:
    """Return what is said of a tool where it is run, with so many `others` in the same file."""
    more = f", like {others} more here" if others else ""
    return f"runs {name}, which is for NVIDIA's GPUs{more}: {load(_TABLE)['tool'][name]}"


def _name(word: str) -> str:
    """Return the name of a program without its folder, which may be a variable's."""
    return re.sub(r"(?:\.exe)?$", "", word.rpartition("/")[2], count=1)
