# SPDX-License-Identifier: Apache-2.0
"""Report the findings in a line of a program, or that replace a wait in it, the waits that stay, and the grounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from hipport.core.edits import Span
from hipport.core.proof import Ground, Kept, NeededChange, Scope
from hipport.core.source import Source
from hipport.engine.outcomes import Outcome, Ported, Reported
from hipport.engine.pipeline import Pass


@dataclass(frozen=True)
class Explained:
    """A line of a file: its text, the findings in it or that replace a wait in it, and the waits in it that stay.

    `set_aside` says why a run on the whole tree leaves the file alone; empty if it does not. If it does, the findings
    are those of a run on the file itself.
    """

    path: PurePath
    line: int
    text: str
    reported: tuple[Reported, ...]
    kept: tuple[Kept, ...]
    set_aside: str = ""

    @property
    def grounds(self) -> tuple[Ground, ...]:
        """All grounds, proven or missing."""
        proofs = (*(each.proof for each in self.reported), *(each.proof for each in self.kept))
        return tuple(dict.fromkeys(ground for proof in proofs for ground in proof))


def explain_place(
    ported: Ported, passes: Sequence[Pass[Any]], path: PurePath, line: int, set_aside: str = ""
) -> Explained:
    """Return the explanation of a line in one of the files of `ported`. Raises ValueError if there is no such line."""
    source = ported.before.by_path.get(path)
    around = {path, *path.parents} - {PurePath()}
    left = next((each for each in ported.before.skipped if each.path in around), None)
    if source is None:
        why = left.why if left is not None else set_aside or "its name is not that of a file for a GPU or its build"
        raise ValueError(f"{path.as_posix()}: hipport does not read this file: {why}")
    if left is not None and not set_aside:
        set_aside = f"{left.path.as_posix()}: {left.why}"
    lines = source.text.split(source.newline)
    if not 1 <= line <= len(lines):
        raise ValueError(f"{path.as_posix()} has {len(lines)} lines, and no line {line}; give one that it has")
    start = sum(len(each) + len(source.newline) for each in lines[: line - 1])
    part = Span(start, start + len(lines[line - 1]))
    reported = tuple(
        each
        for each in ported.reported
        if each.path == path and (each.line == line or (each.span.start < part.end and part.start < each.span.end))
    )
    kept: list[Kept] = []
    for each, owner in _kept(ported, passes, source, part):
        changes = [(need, _change(ported, owner, need)) for need in each.needs]
        missed = next((need for need, change in changes if change is None), None)
        replaced = [change for need, change in changes if need.here and change is not None]
        reported += tuple(change for change in replaced if change not in reported)
        if not replaced:
            kept.append(each if missed is None else replace(each, proof=(_not_made(ported, owner, missed),)))
    return Explained(path, line, lines[line - 1].decode("utf-8", "replace"), reported, tuple(kept), set_aside)


def _change(ported: Ported, owner: str, need: NeededChange) -> Reported | None:
    """Return the finding of the pass `owner` whose change was needed and is made; None if it is not made."""
    wanted = (need.path, f"{owner}/{need.kind}", need.start, Outcome.APPLIED)
    found = (each for each in ported.reported if (each.path, each.rule, each.span.start, each.outcome) == wanted)
    return next(found, None)


def _not_made(ported: Ported, owner: str, need: NeededChange) -> Ground:
    """Return the ground that a proof lacks because a change that it needs is not made."""
    source = ported.before.by_path[need.path]
    line = source.position(need.start)[0]
    reason = f"the change of {owner}/{need.kind} in line {line} of {need.path.as_posix()} is not made"
    return Ground("all threads that wait with it reach it together", Scope.BLOCK, reason, need.path, line, proven=False)


def _kept(ported: Ported, passes: Sequence[Pass[Any]], source: Source, part: Span) -> Iterator[tuple[Kept, str]]:
    """Yield the waits in a part of a file, without duplicates, each with the name of the pass that judges it."""
    seen: set[tuple[int, int]] = set()
    for each in passes:
        if each.kept is None or not isinstance(source, each.language):
            continue
        for kept in each.kept(source, ported.before, part):
            if (kept.start, kept.end) not in seen:
                seen.add((kept.start, kept.end))
                yield kept, each.name
