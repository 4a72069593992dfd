# SPDX-License-Identifier: Apache-2.0
"""Results as JSON, with sorted keys: the same values give the same bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hipport.core.proof import Ground
from hipport.engine.outcomes import Outcome, Ported, Reported
from hipport.program.project import Target
from hipport.reporting.grouped_findings import Decision, decisions
from hipport.reporting.oracle_report import oracle_as_values

if TYPE_CHECKING:
    from hipport.building.builder import Built
    from hipport.reporting.assumptions import Reviewed
    from hipport.reporting.explained_places import Explained
    from hipport.reporting.explainer import Explanation
    from hipport.toolchain.diagnosis import Diagnosis
from hipport.reporting.text_report import summary

#: The version of the JSON that `as_json` writes; a field is never renamed or removed within one.
SCHEMA = 1


def as_json(ported: Ported, *, would: bool = False, **more: Any) -> str:
    """Return the result as JSON, with sorted keys; positions are in the files as they were read.

    `would` is for a run that writes nothing: then no file is `changed`, and some `would_change`; no finding is
    `applied`, and some are `would_apply`.
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
        "findings": [_reported_as_json(reported, would=would) for reported in ported.reported],
        "decisions": [_decision_as_json(decision, would=would) for decision in decisions(ported.reported)],
        "skipped": [
            {"path": skipped.path.as_posix(), "kind": skipped.kind, "why": skipped.why}
            for skipped in ported.before.skipped
        ],
        "summary": summary(ported, would=would),
        **more,
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def target_as_json(target: Target) -> dict[str, Any]:
    """Return a target as JSON values."""
    return {
        "archs": list(target.archs),
        "rocm": ".".join(map(str, target.rocm)),
        "dialect": target.dialect,
        "warp": target.warp,
    }


def reviewed_as_json(reviewed: Sequence[Reviewed]) -> str:
    """Return assumptions, in one tree or several, as JSON with sorted keys."""
    document = {
        "schema": SCHEMA,
        "trees": [
            {
                "root": str(each.root),
                "findings": [_reported_as_json(reported) for reported in each.reported],
                "decisions": [_decision_as_json(decision) for decision in decisions(each.reported)],
                "ignored": each.ignored,
                "gone": [path.as_posix() for path in each.gone],
            }
            for each in reviewed
        ],
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def built_as_json(built: Built) -> str:
    """Return a build as JSON, with sorted keys: each unit for each target, and the compiler's messages."""
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
                        "at": message.at,
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
        "oracle": oracle_as_values(built.oracle) if built.oracle is not None else None,
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def diagnosis_as_json(diagnosis: Diagnosis) -> str:
    """Return the diagnosis of a machine as JSON, with sorted keys."""
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


def explanation_as_json(explanation: Explanation) -> str:
    """Return the explanation of a name as JSON, with sorted keys."""
    return json.dumps({"schema": SCHEMA, **asdict(explanation)}, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def place_as_json(explained: Explained) -> str:
    """Return the explanation of a line as JSON, with sorted keys."""
    document = {
        "schema": SCHEMA,
        "kind": "place",
        "path": explained.path.as_posix(),
        "line": explained.line,
        "text": explained.text,
        "set_aside": explained.set_aside,
        "findings": [_reported_as_json(each, would=True) for each in explained.reported],
        "kept": [
            {
                "start": each.start,
                "end": each.end,
                "name": each.name,
                "proof": [ground_as_json(ground) for ground in each.proof],
            }
            for each in explained.kept
        ],
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def outcome_said(outcome: Outcome, *, would: bool) -> str:
    """Return the word for an outcome; `would` is for a run that writes nothing."""
    return "would_apply" if would and outcome is Outcome.APPLIED else str(outcome)


def _reported_as_json(reported: Reported, *, would: bool = False) -> dict[str, Any]:
    return {
        "path": reported.path.as_posix(),
        "line": reported.line,
        "column": reported.column,
        "start": reported.span.start,
        "end": reported.span.end,
        "rule": reported.rule,
        "message": reported.message,
        "certainty": str(reported.certainty),
        "outcome": outcome_said(reported.outcome, would=would),
        "reason": reported.reason,
        "needs_person": reported.needs_person,
        "group": str(reported.group),
        "proof": [ground_as_json(each) for each in reported.proof],
    }


def ground_as_json(ground: Ground) -> dict[str, Any]:
    """Return one ground of a proof as JSON values."""
    return {
        "claim": ground.claim,
        "scope": str(ground.scope),
        "reason": ground.reason,
        "path": ground.path.as_posix(),
        "line": ground.line,
        "proven": ground.proven,
    }


def _decision_as_json(decision: Decision, *, would: bool = False) -> dict[str, Any]:
    return {
        "group": str(decision.group),
        "certainty": str(decision.certainty),
        "outcome": outcome_said(decision.outcome, would=would),
        "reason": decision.reason,
        "rules": list(decision.rules),
        "message": decision.message,
        "subjects": list(decision.subjects),
        "places": [
            {"path": each.path.as_posix(), "line": each.line, "column": each.column, "rule": each.rule}
            for each in decision.places
        ],
    }
