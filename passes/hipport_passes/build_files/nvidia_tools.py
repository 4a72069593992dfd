# SPDX-License-Identifier: Apache-2.0
"""Recognize NVIDIA's profilers, debuggers and checkers in commands, and name ROCm's counterparts."""

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
    """Return a pattern for the names of the tools in any text."""
    return re.compile(rb"(?<![\w-])(?:" + "|".join(map(re.escape, load(_TABLE)["tool"])).encode() + rb")(?![\w-])")


def run_by(words: Sequence[str]) -> tuple[int, str] | None:
    """Return the index of the word that runs a tool of NVIDIA's, and the tool; None if no word does."""
    tools, launchers = load(_TABLE)["tool"], load(_TABLE)["launcher"]["names"]
    looked_at = words if words and _name(words[0]) in launchers else words[:1]
    for i, word in enumerate(looked_at):
        name = _name(word)
        # `command -v nsys` only asks, and the options of `time -p` are not the program.
        if i and words[0] == "command" and words[1].startswith("-"):
            break
        if name in tools:
            return i, name
    return None


def reported(places: Mapping[str, Sequence[Span]]) -> Iterator[Finding]:
    """Yield a finding for each tool that a file runs, at its first run."""
    for name, (first, *others) in places.items():
        yield Finding(first, "tool", told(name, len(others)), (), Certainty.MANUAL)


def told(name: str, others: int = 0) -> str:
    """Return the message about a tool at its first run; `others` is the number of other runs in the file."""
    more = f", like {others} more here" if others else ""
    return f"runs {name}, which is for NVIDIA's GPUs{more}: {load(_TABLE)['tool'][name]}"


def _name(word: str) -> str:
    """Return the name of a program without its folder, which may be a variable."""
    return re.sub(r"(?:\.exe)?$", "", word.rpartition("/")[2], count=1)
