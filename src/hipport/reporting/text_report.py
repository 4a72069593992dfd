# SPDX-License-Identifier: Apache-2.0
"""Results as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from hipport.core.finding import Certainty
from hipport.core.proof import Ground
from hipport.core.terminal import block, joined, painter
from hipport.engine.outcomes import Outcome, Ported
from hipport.reporting import decisions_report
from hipport.reporting.grouped_findings import decisions
from hipport.reporting.oracle_report import oracle_lines
from hipport.syntax.cpp import UNITS

if TYPE_CHECKING:
    from hipport.building.builder import Built, Compiled
    from hipport.reporting.assumptions import Reviewed
    from hipport.reporting.explained_places import Explained
    from hipport.reporting.explainer import Explanation
    from hipport.toolchain.diagnosis import Diagnosis

# The maximum number of files named on one line.
_NAMED = 20

_COLOUR = {"safe": "32", "review": "33", "manual": "31", "path": "1", "dim": "2"}


def as_text(
    ported: Ported, *, colour: bool = False, would: bool = False, width: int | None = None, whole: bool = False
) -> str:
    """Return a report: what needs a person, by the next step, what was changed by rule, and what is left alone.

    `would` words it for a run that writes nothing. Lines are wrapped to `width`; `whole` includes all places, and
    findings in documents.
    """
    paint = painter(_COLOUR if colour else {})
    failures = ported.failures
    would = would or bool(failures)
    lines: list[str] = []
    if failures:
        lines += [paint("manual", "hipport failed, and nothing was written"), f"  {failures[0].message}"]
        for each in failures:
            lines.append(f"  {paint('path', each.path.as_posix())}  {each.reason}  " + paint("dim", f"[{each.rule}]"))
        lines.append("")
    found = decisions(ported.reported)
    lines += decisions_report.listed(found, paint, width, whole=whole)
    counts = Counter(r.rule for r in ported.reported if r.outcome is Outcome.APPLIED)
    if counts:
        lines.append("would change" if would else "changed")
        digits = max(len(str(count)) for count in counts.values())
        lines += [f"  {count:>{digits}}  {rule}" for rule, count in sorted(counts.items(), key=lambda i: (-i[1], i[0]))]
        lines.append("")
    lines += _files_lines(ported, width, would=would)
    lines += _skipped_lines(ported, paint)
    lines += decisions_report.table(found, paint)
    lines += decisions_report.wrapped(summary(ported, would=would), width)
    return joined(lines)


def _files_lines(ported: Ported, width: int | None, *, would: bool) -> Iterator[str]:
    """Name the files that are created, and those that a run which writes nothing would change."""
    of_files = {"would make" if would else "made": [file.path for file in ported.created]}
    if would:
        of_files["would change"] = [source.path for source in ported.changed]
    for what, paths in of_files.items():
        shown = [path.as_posix() for path in paths[:_NAMED]]
        more = [f"and {len(paths) - _NAMED} more"] if len(paths) > _NAMED else []
        if paths:
            yield from decisions_report.wrapped(f"{what}: {', '.join([*shown, *more])}", width, "  ", begin="")
    if any(of_files.values()):
        yield ""


def summary(ported: Ported, *, would: bool = False) -> str:
    """Return one line with the result."""
    applied = Counter(r.certainty for r in ported.reported if r.outcome is Outcome.APPLIED)
    files = len(ported.changed)
    if not files:
        text = "nothing would change" if would else "nothing to change"
        if ported.created:
            text = f"{_plural(len(ported.created), 'new file')} {'would be made' if would else 'made'}"
    else:
        verb = "would change" if would else "changed"
        text = f"{_plural(files, 'file')} {verb}: {_plural(sum(applied.values()), 'place')}"
        if ported.created:
            text += f", {_plural(len(ported.created), 'new file')}"
        if applied[Certainty.REVIEW]:
            text += f", {applied[Certainty.REVIEW]} of them to review"
    done = (Outcome.APPLIED, Outcome.FAILED)
    open_ = sum(1 for r in ported.reported if r.needs_person and r.outcome not in done)
    text += f"; {_plural(open_, 'place')} {'needs' if open_ == 1 else 'need'} a person" if open_ else ""
    ignored = sum(1 for r in ported.reported if r.outcome is Outcome.IGNORED)
    text += f"; {ignored} ignored by comments" if ignored else ""
    failed = f"hipport failed {_plural(len(ported.failures), 'time')}; " if ported.failures else ""
    read = sum(ported.before.concerns(source.path) for source in ported.before.sources)
    return failed + text + f" ({_plural(read, 'file')} read)"


def reviewed_as_text(
    reviewed: Sequence[Reviewed], *, colour: bool = False, width: int | None = None, whole: bool = False
) -> str:
    """Return a report of assumptions: each one once, with its places."""
    paint = painter(_COLOUR if colour else {})
    lines: list[str] = []
    for each in reviewed:
        if len(reviewed) > 1:
            lines.append(paint("path", str(each.root)))
        found = decisions(each.reported)
        lines += decisions_report.listed(found, paint, width, whole=whole)
        lines += [f"{path.as_posix()} was rewritten and is no longer there" for path in each.gone]
        lines += decisions_report.table(found, paint)
        text = f"{_plural(len(found), 'assumption')} at {_plural(len(each.reported), 'place')}"
        text += f"; {each.ignored} checked, as comments say" if each.ignored else ""
        lines.append(f"{text}. When you have checked one, write a comment `hipport: ignore[RULE] why` on its line")
    return joined(lines)


def built_as_text(built: Built, *, colour: bool = False) -> str:
    """Return a report of a build: the compiler's messages, then a table of unit by target."""
    paint = painter(_COLOUR if colour else {})
    lines: list[str] = []
    for message, targets in built.messages:
        severity = paint("manual" if message.severity == "error" else "review", message.severity)
        said = list(block(message.text))
        said[-1] += paint("dim", f"  [{', '.join(targets)}]")
        place = paint("path", _placed(message.path, message.line, message.column))
        lines += [f"{place}: {severity}: {said[0]}", *said[1:]]
        lines += [f"    {message.at}: found here"] if message.at else []
        lines += [f"    {_placed(note.path, note.line, note.column)}: {note.text}" for note in message.notes]
    for each in built.not_built:
        lines += block(f"not built: {_placed(each.path, each.line, 0)}: {each.why}")
    lines += [f"ran {path} to learn how it is built" for path in built.ran]
    if lines:
        lines.append("")
    if built.compiled:
        columns = list(dict.fromkeys(each.target for row in built.units for each in row))
        rows = [["unit", *columns]]
        styles = [["path"] * len(rows[0])]
        for row in built.units:
            cells = {each.target: each for each in row}
            guess = " (guessed)" if row[0].guess else ""
            rows.append([row[0].path.as_posix() + guess, *(_cell(cells.get(column)) for column in columns)])
            styles.append(["", *("manual" if c in cells and not cells[c].ok else "safe" for c in columns)])
        # A table of compiled units could be mistaken for a list of all.
        left = [each.path.as_posix() for each in built.not_built if each.path.suffix in UNITS]
        rows += [[path, "not built", *[""] * (len(columns) - 1)] for path in left]
        styles += [["", "review", *[""] * (len(columns) - 1)] for _ in left]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row_, style in zip(rows, styles, strict=True):
            padded = [cell.ljust(width) for cell, width in zip(row_, widths, strict=True)]
            lines.append("  ".join(paint(s, c) if s else c for s, c in zip(style, padded, strict=True)).rstrip())
        lines.append("")
    guesses = dict.fromkeys(each.guess for each in built.compiled if each.guess)
    lines += [f"guessed: {guess}" for guess in guesses]
    good = sum(each.ok for each in built.compiled)
    last = f"{good} of {len(built.compiled)} compiled with {built.toolchain}"
    if count := sum(each.path.suffix in UNITS for each in built.not_built):
        last += f"; {count} {'source' if count == 1 else 'sources'} not built"
    lines.append(last)
    for kind, text in oracle_lines(built.oracle) if built.oracle is not None else ():
        said = list(block(text))
        lines += [paint(kind, said[0]) if kind else said[0], *said[1:]]
    return joined(lines)


def diagnosis_as_text(diagnosis: Diagnosis, *, colour: bool = False) -> str:
    """Return a report of a machine: a line for each check, with what to do below those that need it."""
    paint = painter(_COLOUR if colour else {})
    styles = {"ok": "safe", "note": "dim", "unknown": "dim", "warning": "review", "problem": "manual"}
    width = max((len(check.name) for check in diagnosis.checks), default=0)
    lines = []
    for check in diagnosis.checks:
        status = str(check.status)
        lines.append(f"{paint(styles[status], status.ljust(7))}  {check.name.ljust(width)}  {check.seen}")
        indent = " " * (width + 11)
        lines += [
            f"{indent}{paint('dim', label)} {text}"
            for label, text in (("why", check.why), ("do ", check.action))
            if text
        ]
    counts = Counter(str(check.status) for check in diagnosis.checks)
    named = [_plural(counts[status], status) for status in ("problem", "warning") if counts[status]]
    unknown = f"; {_plural(counts['unknown'], 'check')} could not be made" if counts["unknown"] else ""
    lines += ["", (", ".join(named) or "nothing found that would break a run") + unknown]
    return joined(lines)


def explanation_as_text(explanation: Explanation, *, colour: bool = False) -> str:
    """Return the explanation of a name."""
    paint = painter(_COLOUR if colour else {})
    parts = [] if explanation.kind == "pitfall" else [paint("path", explanation.name)]
    if explanation.text:
        parts.append(explanation.text)
    for example in explanation.examples:
        lines = [f"{paint(example.certainty, example.certainty)}  {paint('dim', f'[{example.rule}]')}"]
        lines[0] += paint("dim", f"  from fixtures/{example.source}") if example.source else ""
        lines += [f"  - {line}" for line in example.before.split("\n")]
        if example.after != example.before:
            lines += [f"  + {line}" for line in example.after.split("\n")]
        parts.append("\n".join([*lines, f"  {example.message}"]))
    if explanation.rows:
        lines = ["In the tables"]
        for row in explanation.rows:
            said = "; ".join(value if key == "is" else f"{key}: {value}" for key, value in row.values.items())
            said += f" (last seen to hold: {row.checked})" if row.checked else ""
            lines.append(f"  {row.table}{f' [{row.section}]' if row.section else ''}  {said}")
        parts.append("\n".join(lines))
    if explanation.rules and explanation.kind == "pass":
        parts.append("\n".join(["Rules", *(f"  {rule}" for rule in explanation.rules)]))
    for pitfall in explanation.pitfalls:
        parts.append(f"Pitfall {pitfall.number}. {pitfall.title}: {pitfall.ends}\n  {pitfall.says}")
    if explanation.passes:
        width = max(map(len, explanation.passes))
        lines = ["Passes", *(f"  {name.ljust(width)}  {first}" for name, first in explanation.passes.items())]
        parts.append("\n".join(lines))
    return joined("\n\n".join(parts).split("\n"))


def place_as_text(explained: Explained, *, colour: bool = False) -> str:
    """Return the explanation of a line."""
    paint = painter(_COLOUR if colour else {})
    head = paint("path", f"{explained.path.as_posix()}:{explained.line}")
    parts = [f"{head}\n  {explained.text.strip()}"]
    if explained.set_aside:
        parts.append(
            f"A run on the whole tree leaves this file alone: {explained.set_aside}\n"
            "  A run on the file itself, as here, gives:"
        )
    before = len(parts)
    for reported in explained.reported:
        certainty = str(reported.certainty)
        outcome = "" if reported.outcome is Outcome.APPLIED else f" {reported.outcome}"
        first = f"{paint(certainty, certainty)}{outcome}  {paint('dim', f'[{reported.rule}]')}"
        parts.append("\n".join([first, f"  {reported.message}", *_grounds(reported.proof, explained, paint)]))
    for kept in explained.kept:
        first = f"{kept.name} stays as it is"
        parts.append("\n".join([first, *_grounds(kept.proof, explained, paint)]))
    if len(parts) == before:
        parts.append("hipport changes nothing here, and nothing here waits for other threads")
    return joined("\n\n".join(parts).split("\n"))


def _grounds(proof: Sequence[Ground], explained: Explained, paint: Any) -> Iterator[str]:
    """Yield the lines of a proof: what holds or is assumed, and why."""
    for ground in proof:
        word = "proven" if ground.proven else "not proven"
        where = "" if (ground.path, ground.line) == (explained.path, explained.line) else f" ({_at(ground, explained)})"
        yield f"  {paint('safe' if ground.proven else 'review', word)}: {ground.claim}"
        yield f"    {'because' if ground.proven else 'as'} {ground.reason}{paint('dim', where)}"


def _at(ground: Ground, explained: Explained) -> str:
    line = f"line {ground.line}"
    return line if ground.path == explained.path else f"{ground.path.as_posix()}, {line}"


def _placed(path: PurePath, line: int, column: int) -> str:
    return path.as_posix() + (f":{line}" if line else "") + (f":{column}" if line and column else "")


def _cell(compiled: Compiled | None) -> str:
    if compiled is None:
        return "-"
    return f"{'ok' if compiled.ok else 'failed'} {compiled.seconds:.1f} s{' cached' if compiled.cached else ''}"


def _skipped_lines(ported: Ported, paint: Any) -> list[str]:
    lines = [f"  {skipped.path.as_posix()}  {paint('dim', skipped.why)}" for skipped in ported.before.skipped]
    return ["left alone", *lines, ""] if lines else []


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
