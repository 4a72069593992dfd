# SPDX-License-Identifier: Apache-2.0
"""Device code that several programs share must come out as with each of them alone; otherwise it is reported.

It is ported once with each program. If all results are equal, they become the files, and the programs get their own
results; includes that one program needs are added for all. If they differ, no program takes precedence: the files are
ported as those of one program, and a finding says which programs differ, and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from hipport.core.edits import Span
from hipport.core.finding import Certainty
from hipport.core.group import Group
from hipport.core.proof import without_reason
from hipport.core.source import Source
from hipport.engine.outcomes import Outcome, Reported, Result
from hipport.program.include_graph import Shared
from hipport.program.own_headers import without
from hipport.program.project import Project


def settled(project: Project, code: Shared, together: Result, alone: Sequence[Result]) -> Result:
    """Return the result for the tree, from that with all programs together and those with each program alone."""
    files = frozenset(code.files)
    differing = _differing(project, code, alone)
    if differing is not None:
        path, one, other, at = differing
        source = project.by_path[path]
        names = code.names[one], code.names[other]
        message = (
            f"{_listed(code.names)} share this, and their ports of it differ: with {names[0]} alone it comes out "
            f"differently than with {names[1]} alone. hipport ported it as one program with all of them: check whether "
            "that is right for each, or give each its own copy"
        )
        line, column = source.first.position(at.start)
        told = Reported(
            path, line, column, at, "headers/shared", message, Certainty.MANUAL, Outcome.REPORTED, "", Group.KERNELS
        )
        return replace(together, reported=[*together.reported, told])
    changed = {path: source for path, source in together.changed.items() if path not in files}
    reported = [each for each in together.reported if each.path not in files]
    created = [each for each in together.created if each[0] not in files]
    found: dict[tuple[object, ...], list[Reported]] = {}
    for view, result in zip(code.views, alone, strict=True):
        own = files.intersection(view)
        for path in own.intersection(result.changed):
            # Lines that one program needs at the top are added for all.
            known, source = changed.get(path), result.changed[path]
            changed[path] = source if known is None or len(known.text) < len(source.text) else known
        created += [each for each in result.created if each[0] in own]
        # Of findings that differ only in certainty, the one that asks for more is kept.
        for each in result.reported:
            if each.path in own:
                found.setdefault((each.path, each.span, each.rule, each.outcome), []).append(each)
    for same in found.values():
        most = max(each.certainty for each in same)
        # The missing parts of a proof may differ between programs: the first one counts.
        once: dict[Reported, Reported] = {}
        for each in same:
            once.setdefault(replace(each, message=without_reason(each.message)), each)
        reported += (each for each in once.values() if each.certainty is most)
    return replace(together, changed=changed, reported=reported, created=created)


def _differing(project: Project, code: Shared, alone: Sequence[Result]) -> tuple[PurePath, int, int, Span] | None:
    """Return a file whose results for two programs differ, the two programs, and the place in the file."""
    first: dict[PurePath, int] = {}
    made: dict[PurePath, tuple[bytes, PurePath, int]] = {}
    for number, (view, result) in enumerate(zip(code.views, alone, strict=True)):
        for path in sorted(set(view).intersection(code.files)):
            before = first.setdefault(path, number)
            source = project.by_path.get(path)
            if source is None:
                continue
            one = alone[before].changed.get(path, source)
            other = result.changed.get(path, source)
            if one.text != other.text and without(one.text) != without(other.text):
                return path, before, number, _place(path, one, other, alone[before], result)
        for path, file in result.created:
            text, of, before = made.setdefault(file.path, (file.text, path, number))
            if text != file.text:
                return of, before, number, Span(0, 0)
    return None


def _place(path: PurePath, one: Source, other: Source, first: Result, second: Result) -> Span:
    """Return the first difference of two results, as a place in the file as it was read."""
    found = [
        {(each.span, each.rule, each.outcome) for each in result.reported if each.path == path}
        for result in (first, second)
    ]
    spans = [span for span, _, _ in found[0] ^ found[1]]
    if spans:
        return min(spans, key=lambda span: (span.start, span.end))
    same = 0
    for a, b in zip(one.text, other.text, strict=False):
        if a != b:
            break
        same += 1
    return one.origin(Span(same, same)) if same < len(one.text) else Span(0, 0)


def _listed(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
