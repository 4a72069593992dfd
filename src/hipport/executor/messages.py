# SPDX-License-Identifier: Apache-2.0
"""Messages of compilers and linkers, at the lines that the user wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from hipport.building.compiler_messages import Message, SourcePlaces, parse
from hipport.core.finding import Certainty
from hipport.engine.outcomes import Reported
from hipport.executor import hip_lacks
from hipport.executor.missing_names import absent


class NotCompiled(Exception):
    """Something did not compile. `messages` say what, at the user's lines; the text is the first of them.

    `of` is the original or its port; `left` are the findings of the port, left to a person, on the lines of the
    messages.
    """

    of = ""
    left: tuple[Reported, ...] = ()

    def __init__(self, messages: Sequence[Message], said: str = "") -> None:
        first = next((each for each in messages if each.severity == "error"), None)
        #: The names of CUDA and HIP that the executor lacks, as a sentence.
        self.absent = absent(each.text for each in messages if each.severity == "error")
        text = f"{first.path}:{first.line}: {first.text}" if first else said or "did not compile"
        super().__init__(f"{text}; {self.absent}" if self.absent else text)
        self.messages = tuple(messages)
        self.said = said


def left_to_a_person(messages: Sequence[Message], reported: Sequence[Reported]) -> tuple[Reported, ...]:
    """Return the findings that need a person on the lines of a compiler's messages, or else in their files."""
    lines = {(each.path.name, each.line) for each in messages if each.severity == "error"}
    names = {name for name, _ in lines}
    manual = [each for each in reported if each.needs_person and each.certainty is Certainty.MANUAL]
    here = [each for each in manual if (each.path.name, each.line) in lines]
    return tuple(here or [each for each in manual if each.path.name in names])


def located(said: str, source: Path, places: SourcePlaces) -> tuple[Message, ...]:
    """Return the messages in a compiler's output for `source`, at the lines that the user wrote."""
    found = places.located(parse(_as_clang(said), source), source.parent)
    return tuple(replace(each, text=hip_lacks.said(each.text)) for each in found)


_REQUIRED = re.compile(r"(?P<where>[^\s:][^:]*:\d+:\d+):\s+(?P<text>(?:recursively )?required (?:from|by) .*)")
_CONTINUED = re.compile(r"\s+from (?P<path>.+?):(?P<line>\d+)[:,]")
_CONTEXT = re.compile(r"[^\s:][^:]*: (?:In|At) .*:$")


def _as_clang(said: str) -> str:
    """Put the parts of g++'s messages into clang's order: the uses of a template follow the message."""
    lines: list[str] = []
    waiting: list[str] = []
    for line in said.splitlines():
        if required := _REQUIRED.fullmatch(line):
            waiting.append(f"{required['where']}: note: {required['text']}")
        elif more := _CONTINUED.match(line):
            lines.append(f"In file included from {more['path']}:{more['line']}:")
        elif _CONTEXT.fullmatch(line):
            continue
        else:
            lines.append(line)
            if ": error: " in line or ": fatal error: " in line or ": warning: " in line:
                lines += waiting
                waiting = []
    return "\n".join(lines)


def link_errors(said: str) -> tuple[Message, ...]:
    """Name the undefined symbols of a program."""
    if "multiple definition of `main'" in said:
        return (Message(PurePath(), 0, 0, "error", "there are several programs here: give the sources of one"),)
    names = dict.fromkeys(re.findall(r"undefined reference to `([^']+)'", said))
    return tuple(Message(PurePath(), 0, 0, "error", f"nothing here defines {name}") for name in names) or (
        Message(PurePath(), 0, 0, "error", said.strip()[-2000:] or "the linker failed without a message"),
    )
