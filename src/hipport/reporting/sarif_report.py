# SPDX-License-Identifier: Apache-2.0
"""Findings as SARIF 2.1.0."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from hipport import __version__
from hipport.core.source import Source
from hipport.engine.outcomes import Outcome, Ported, Reported
from hipport.reporting.grouped_findings import decisions
from hipport.reporting.json_report import outcome_said

_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The base id by which readers of SARIF know the folder that paths are relative to.
_SARIF_ROOT = "%SRCROOT%"


def as_sarif(ported: Ported, about: Mapping[str, str] | None = None, *, would: bool = False) -> str:
    """Return the findings as SARIF 2.1.0, which code hosts and editors show beside the lines that they are about.

    Positions are in the files as they were read; columns count code points. A finding that needs a person is a warning,
    or an error if nothing was changed, and one result with all its places; any other is a note for each place. `about`
    has a sentence for each pass; `would` is for a run that writes nothing.
    """
    found = [each for each in ported.reported if each.outcome is not Outcome.FAILED]
    rules = sorted({reported.rule for reported in found})
    seen: Counter[str] = Counter()
    by_path = ported.before.by_path
    results = []
    for decision in decisions(ported.reported):
        first, *others = decision.places
        result = _sarif_result(first, rules, by_path[first.path], seen, would=would)
        if decision.subjects:
            result["message"] = {"text": decision.sentence}
        if others:
            result["relatedLocations"] = [
                {"id": number, **_sarif_place(each, by_path[each.path]), "message": {"text": each.message}}
                for number, each in enumerate(others, 1)
            ]
        results.append(result)
    results += [
        _sarif_result(each, rules, by_path[each.path], seen, would=would) for each in found if not each.needs_person
    ]
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


def _sarif_result(
    reported: Reported, rules: Sequence[str], source: Source, seen: Counter[str], *, would: bool
) -> dict[str, Any]:
    text, span = source.text, reported.span
    start = text.rfind(b"\n", 0, span.start) + 1
    ends = text.find(b"\n", span.start)
    line = text[start : ends if ends >= 0 else len(text)]
    # Identifies a result after lines were added elsewhere in the file: by the text of its line, and its count there.
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
            "outcome": outcome_said(reported.outcome, would=would),
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
