# SPDX-License-Identifier: Apache-2.0
"""Render results. Pure functions: values in, text out; the same values give the same text."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hipport import __version__
from hipport.core.finding import Certainty
from hipport.core.source import Source
from hipport.core.terminal import block, joined, painter, quoted_as_git
from hipport.engine.outcomes import Outcome, Ported, Reported
from hipport.program.project import Target
from hipport.reporting import facts_report
from hipport.reporting.facts import Fact, facts
from hipport.syntax.cpp import UNITS

if TYPE_CHECKING:
    from hipport.building.builder import Built, Compiled
    from hipport.reporting.assumptions import Reviewed
    from hipport.reporting.explainer import Explanation
    from hipport.toolchain.diagnosis import Diagnosis

#: The version of the JSON that `as_json` writes; a field is never renamed or removed within one.
SCHEMA = 1

# So many files are named in one line.
_NAMED = 20

_COLOUR = {"safe": "32", "review": "33", "manual": "31", "path": "1", "dim": "2"}


def as_text(
    ported: Ported, *, colour: bool = False, would: bool = False, width: int | None = None, whole: bool = False
) -> str:
    """Return what a person reads: what needs them, by what they do next, what was changed by rule, and what is left.

    `would` words it for a run that writes nothing. Lines are wrapped to `width`; `whole` has all places, and what is
    said of documents.
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
    found = facts(ported.reported)
    lines += facts_report.listed(found, paint, width, whole=whole)
    counts = Counter(r.rule for r in ported.reported if r.outcome is Outcome.APPLIED)
    if counts:
        lines.append("would change" if would else "changed")
        digits = max(len(str(count)) for count in counts.values())
        lines += [f"  {count:>{digits}}  {rule}" for rule, count in sorted(counts.items(), key=lambda i: (-i[1], i[0]))]
        lines.append("")
    lines += _files_lines(ported, width, would=would)
    lines += _skipped_lines(ported, paint)
    lines += facts_report.table(found, paint)
    lines += facts_report.wrapped(summary(ported, would=would), width)
    return joined(lines)


def _files_lines(ported: Ported, width: int | None, *, would: bool) -> Iterator[str]:
    """Name the files that are made, and those that would change: a tool that shows them else has not run."""
    of_files = {"would make" if would else "made": [file.path for file in ported.created]}
    if would:
        of_files["would change"] = [source.path for source in ported.changed]
    for what, paths in of_files.items():
        shown = [path.as_posix() for path in paths[:_NAMED]]
        more = [f"and {len(paths) - _NAMED} more"] if len(paths) > _NAMED else []
        if paths:
            yield from facts_report.wrapped(f"{what}: {', '.join([*shown, *more])}", width, "  ", begin="")
    if any(of_files.values()):
        yield ""


def summary(ported: Ported, *, would: bool = False) -> str:
    """Return the one line that says how it went."""
    applied = Counter(r.certainty for r in ported.reported if r.outcome is Outcome.APPLIED)
    files = len(ported.changed)
    if not files:
        text = "nothing would change" if would else "nothing to change"
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


def as_json(ported: Ported, *, would: bool = False, **more: Any) -> str:
    """Return the result as JSON, with sorted keys; positions are in the files as they were read.

    `would` words it for a run that writes nothing: then no file is `changed`, and some are that `would_change`.
    """
    before = ported.before.by_path
    document = {
        "schema": SCHEMA,
        "target": target_as_json(ported.before.target),
        "files": [
            {
                "path": source.path.as_posix(),
                "changed": not would and source.text != before[source.path].text,
                "would_change": would and source.text != before[source.path].text,
                "sha256_before": hashlib.sha256(before[source.path].text).hexdigest(),
                "sha256_after": hashlib.sha256(source.text).hexdigest(),
            }
            for source in ported.project.sources
            if ported.project.concerns(source.path)
        ],
        "created": [
            {"path": file.path.as_posix(), "sha256": hashlib.sha256(file.text).hexdigest()} for file in ported.created
        ],
        "findings": [_reported_as_json(reported) for reported in ported.reported],
        "facts": [_fact_as_json(fact) for fact in facts(ported.reported)],
        "skipped": [
            {"path": skipped.path.as_posix(), "kind": skipped.kind, "why": skipped.why}
            for skipped in ported.before.skipped
        ],
        "summary": summary(ported, would=would),
        **more,
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def as_sarif(ported: Ported, about: Mapping[str, str] | None = None) -> str:
    """Return the findings as SARIF 2.1.0, which code hosts and editors show beside the lines that they are about.

    Positions are in the files as they were read; columns count code points. What needs a person is a warning, or
    an error where nothing was changed, and one result with all its places; all else is a note for each place. `about`
    has a sentence for each pass.
    """
    found = [each for each in ported.reported if each.outcome is not Outcome.FAILED]
    rules = sorted({reported.rule for reported in found})
    seen: Counter[str] = Counter()
    by_path = ported.before.by_path
    results = []
    for fact in facts(ported.reported):
        first, *others = fact.places
        result = _sarif_result(first, rules, by_path[first.path], seen)
        if fact.subjects:
            result["message"] = {"text": fact.sentence}
        if others:
            result["relatedLocations"] = [
                {"id": number, **_sarif_place(each, by_path[each.path]), "message": {"text": each.message}}
                for number, each in enumerate(others, 1)
            ]
        results.append(result)
    results += [_sarif_result(each, rules, by_path[each.path], seen) for each in found if not each.needs_person]
    notices: list[dict[str, Any]] = [
        {
            "level": "error",
            "message": {"text": f"{each.rule}: {each.message}"},
            "descriptor": {"id": each.rule},
            "exception": {"message": each.reason},
            "locations": [{"physicalLocation": {"artifactLocation": _sarif_file(each.path)}}],
        }
        for each in ported.failures
    ]
    notices += [
        {
            "level": "warning" if skipped.kind == "refused" else "note",
            "message": {"text": skipped.why},
            "descriptor": {"id": f"skipped/{skipped.kind}"},
            "locations": [{"physicalLocation": {"artifactLocation": _sarif_file(skipped.path)}}],
        }
        for skipped in ported.before.skipped
    ]
    sentences = about or {}
    described = [
        {"id": rule, **({"fullDescription": {"text": text}} if (text := sentences.get(rule.split("/")[0])) else {})}
        for rule in rules
    ]
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "hipport", "version": __version__, "rules": described}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not ported.failures, "toolExecutionNotifications": notices}],
        "results": results,
    }
    if ported.before.root is not None:
        root = PurePath(ported.before.root).as_uri().rstrip("/") + "/"
        run["originalUriBaseIds"] = {_SARIF_ROOT: {"uri": root}}
    document = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The name that readers know for the folder that paths are relative to.
_SARIF_ROOT = "%SRCROOT%"


def _sarif_result(reported: Reported, rules: Sequence[str], source: Source, seen: Counter[str]) -> dict[str, Any]:
    text, span = source.text, reported.span
    start = text.rfind(b"\n", 0, span.start) + 1
    ends = text.find(b"\n", span.start)
    line = text[start : ends if ends >= 0 else len(text)]
    # The same result after lines were added elsewhere in the file: its line's text tells, and which of them it is.
    same = hashlib.sha256(f"{reported.rule}\0{reported.path}\0".encode("utf-8", "surrogateescape") + line.strip())
    number = seen[same.hexdigest()]
    seen[same.hexdigest()] += 1
    level = "note"
    if reported.needs_person:
        level = "warning" if reported.outcome is Outcome.APPLIED else "error"
    result: dict[str, Any] = {
        "ruleId": reported.rule,
        "ruleIndex": rules.index(reported.rule),
        "level": level,
        "message": {"text": reported.message},
        "locations": [_sarif_place(reported, source)],
        "partialFingerprints": {"hipport/v1": f"{same.hexdigest()}:{number}"},
        "properties": {
            "certainty": str(reported.certainty),
            "outcome": str(reported.outcome),
            "reason": reported.reason,
        },
    }
    if reported.outcome is Outcome.IGNORED:
        why = {"justification": reported.reason} if reported.reason else {}
        result["suppressions"] = [{"kind": "inSource", **why}]
    return result


def _sarif_place(reported: Reported, source: Source) -> dict[str, Any]:
    text, span = source.text, reported.span
    start = text.rfind(b"\n", 0, span.start) + 1
    last = text.rfind(b"\n", 0, span.end) + 1
    region = {
        "startLine": reported.line,
        "startColumn": _code_points(text[start : span.start]) + 1,
        "endLine": reported.line + text.count(b"\n", span.start, span.end),
        "endColumn": _code_points(text[max(last, 0) : span.end]) + 1,
        "byteOffset": span.start,
        "byteLength": len(span),
    }
    return {"physicalLocation": {"artifactLocation": _sarif_file(reported.path), "region": region}}


def _sarif_file(path: PurePath) -> dict[str, str]:
    return {"uri": quote(os.fsencode(path.as_posix())), "uriBaseId": _SARIF_ROOT}


def _code_points(text: bytes) -> int:
    return len(text.decode("utf-8", "surrogateescape"))


def target_as_json(target: Target) -> dict[str, Any]:
    """Return a target as plain values."""
    return {
        "archs": list(target.archs),
        "rocm": ".".join(map(str, target.rocm)),
        "dialect": target.dialect,
        "warp": target.warp,
    }


def assumed(reported: Reported) -> bool:
    """Whether a finding was applied on an assumption."""
    return reported.outcome is Outcome.APPLIED and reported.certainty is Certainty.REVIEW


def reviewed_as_json(reviewed: Sequence[Reviewed]) -> str:
    """Return what was assumed, in one tree or several, as JSON with sorted keys."""
    document = {
        "schema": SCHEMA,
        "trees": [
            {
                "root": str(each.root),
                "findings": [_reported_as_json(reported) for reported in each.reported],
                "facts": [_fact_as_json(fact) for fact in facts(each.reported)],
                "ignored": each.ignored,
                "gone": [path.as_posix() for path in each.gone],
            }
            for each in reviewed
        ],
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def reviewed_as_text(
    reviewed: Sequence[Reviewed], *, colour: bool = False, width: int | None = None, whole: bool = False
) -> str:
    """Return what a person reads of what was assumed: each assumption once, and where it was made."""
    paint = painter(_COLOUR if colour else {})
    lines: list[str] = []
    for each in reviewed:
        if len(reviewed) > 1:
            lines.append(paint("path", str(each.root)))
        found = facts(each.reported)
        lines += facts_report.listed(found, paint, width, whole=whole)
        lines += [f"{path.as_posix()} was rewritten and is not there any more" for path in each.gone]
        lines += facts_report.table(found, paint)
        text = f"{_plural(len(found), 'assumption')} at {_plural(len(each.reported), 'place')}"
        text += f"; {each.ignored} checked, as comments say" if each.ignored else ""
        lines.append(f"{text}. A comment `hipport: ignore[RULE] why` says that one was checked")
    return joined(lines)


def as_diff(ported: Ported) -> bytes:
    """Return a unified diff of the changed files, which `patch -p1` and `git apply` take. Bytes, as the files are."""
    before = ported.before.by_path
    changed = [_diff(before[source.path], source) for source in ported.changed]
    return b"".join(changed + [_diff(None, Source(file.path, file.text)) for file in ported.created])


def built_as_json(built: Built) -> str:
    """Return a build as JSON, with sorted keys: each unit for each target, and what the compiler said of it."""
    document = {
        "schema": SCHEMA,
        "root": str(built.root),
        "ok": built.ok,
        "toolchain": {
            "hipcc": str(built.toolchain.hipcc),
            "hip": ".".join(map(str, built.toolchain.hip)),
            "clang": built.toolchain.clang,
        },
        "targets": list(built.targets),
        "ran": list(built.ran),
        "compiled": [
            {
                "path": each.path.as_posix(),
                "owner": each.owner,
                "target": each.target,
                "ok": each.ok,
                "cached": each.cached,
                "seconds": round(each.seconds, 3),
                "guess": each.guess,
                "command": list(each.command),
                "messages": [
                    {
                        "path": message.path.as_posix(),
                        "line": message.line,
                        "column": message.column,
                        "severity": message.severity,
                        "option": message.option,
                        "text": message.text,
                        "notes": [
                            {"path": n.path.as_posix(), "line": n.line, "column": n.column, "text": n.text}
                            for n in message.notes
                        ],
                    }
                    for message in each.messages
                ],
            }
            for each in built.compiled
        ],
        "not_built": [
            {"path": n.path.as_posix(), "line": n.line, "why": n.why, "needs_person": n.needs_person}
            for n in built.not_built
        ],
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def built_as_text(built: Built, *, colour: bool = False) -> str:
    """Return what a person reads of a build: what the compiler said, then a table of unit by target."""
    paint = painter(_COLOUR if colour else {})
    lines: list[str] = []
    for message, targets in built.messages:
        severity = paint("manual" if message.severity == "error" else "review", message.severity)
        said = list(block(message.text))
        said[-1] += paint("dim", f"  [{', '.join(targets)}]")
        place = paint("path", _placed(message.path, message.line, message.column))
        lines += [f"{place}: {severity}: {said[0]}", *said[1:]]
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
        # A table of what was compiled reads as one of all there is.
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
    return joined(lines)


def diagnosis_as_json(diagnosis: Diagnosis) -> str:
    """Return what was found of a machine as JSON, with sorted keys."""
    machine = diagnosis.machine
    document = {
        "schema": SCHEMA,
        "ok": diagnosis.ok,
        "checks": [
            {"name": c.name, "status": str(c.status), "seen": c.seen, "why": c.why, "action": c.action}
            for c in diagnosis.checks
        ],
        "gpus": [asdict(gpu) for gpu in machine.gpus],
        "driver": machine.driver,
        "kernel": machine.kernel,
        "rocm": machine.rocm,
        "container": machine.container,
        "variables": dict(machine.variables),
        "toolchains": [
            {"hipcc": str(t.hipcc), "hip": ".".join(map(str, t.hip)), "clang": t.clang, "archs": sorted(t.archs)}
            for t in machine.toolchains or ()
        ],
        "torch": asdict(machine.torch) if machine.torch else None,
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def diagnosis_as_text(diagnosis: Diagnosis, *, colour: bool = False) -> str:
    """Return what a person reads of a machine: a line for each check, and what to do below those that need it."""
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
    lines += ["", (", ".join(named) or "nothing was seen that would break a run") + unknown]
    return joined(lines)


def explanation_as_json(explanation: Explanation) -> str:
    """Return what there is to say of a name as JSON, with sorted keys."""
    return json.dumps({"schema": SCHEMA, **asdict(explanation)}, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def explanation_as_text(explanation: Explanation, *, colour: bool = False) -> str:
    """Return what a person reads of a name."""
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


def _placed(path: PurePath, line: int, column: int) -> str:
    return path.as_posix() + (f":{line}" if line else "") + (f":{column}" if line and column else "")


def _cell(compiled: Compiled | None) -> str:
    if compiled is None:
        return "-"
    return f"{'ok' if compiled.ok else 'failed'} {compiled.seconds:.1f} s{' cached' if compiled.cached else ''}"


def _diff(before: Source | None, after: Source) -> bytes:
    path = after.path.as_posix().encode("utf-8", "surrogateescape")
    old, new = _lines(before.text if before else b""), _lines(after.text)
    # What is alike at both ends is most of the file; difflib need not look at it.
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    whole = difflib.SequenceMatcher(None, "", "")
    whole.opcodes = [  # type: ignore[attr-defined]  # what get_opcodes returns once it is set
        ("equal", 0, head, 0, head),
        *((tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in middle.get_opcodes()),
        ("equal", len(old) - tail, len(old), len(new) - tail, len(new)),
    ]
    # Behind a name with a blank in it git and patch need a tab, to see where it ends.
    end = b"\t\n" if b" " in path else b"\n"
    old_name = quoted_as_git(b"a/" + path) + end if before else b"/dev/null\n"
    out = [b"--- " + old_name + b"+++ " + quoted_as_git(b"b/" + path) + end]
    for group in whole.get_grouped_opcodes(3):
        out.append(b"@@ -%s +%s @@\n" % (_range(group[0][1], group[-1][2]), _range(group[0][3], group[-1][4])))
        for tag, i, j, k, m in group:
            if tag == "equal":
                out += _marked(b" ", old[i:j])
                continue
            out += _marked(b"-", old[i:j])
            out += _marked(b"+", new[k:m])
    return b"".join(out)


def _lines(text: bytes) -> list[bytes]:
    # Only a line feed ends a line for patch and git; a carriage return is a character of the line.
    lines = text.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _marked(mark: bytes, lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> bytes:
    length = end - start
    if length == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if length else start, length)


def _reported_as_json(reported: Reported) -> dict[str, Any]:
    return {
        "path": reported.path.as_posix(),
        "line": reported.line,
        "column": reported.column,
        "start": reported.span.start,
        "end": reported.span.end,
        "rule": reported.rule,
        "message": reported.message,
        "certainty": str(reported.certainty),
        "outcome": str(reported.outcome),
        "reason": reported.reason,
        "needs_person": reported.needs_person,
        "group": str(reported.group),
    }


def _fact_as_json(fact: Fact) -> dict[str, Any]:
    return {
        "group": str(fact.group),
        "certainty": str(fact.certainty),
        "outcome": str(fact.outcome),
        "reason": fact.reason,
        "rules": list(fact.rules),
        "message": fact.message,
        "subjects": list(fact.subjects),
        "places": [
            {"path": each.path.as_posix(), "line": each.line, "column": each.column, "rule": each.rule}
            for each in fact.places
        ],
    }


def _skipped_lines(ported: Ported, paint: Any) -> list[str]:
    lines = [f"  {skipped.path.as_posix()}  {paint('dim', skipped.why)}" for skipped in ported.before.skipped]
    return ["left alone", *lines, ""] if lines else []


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
