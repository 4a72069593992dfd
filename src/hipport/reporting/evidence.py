# SPDX-License-Identifier: Apache-2.0
"""The manifest of a port: what was shown about it, and what was not checked. No claim should be made without it.

Values, and pure functions of them. `shown` lists only what was observed, `not_checked` everything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from hipport import __version__
from hipport.building.builder import HOST, Built
from hipport.building.oracle import Oracle
from hipport.core.terminal import joined
from hipport.engine.outcomes import Outcome, Ported
from hipport.program.extension_facts import Extension
from hipport.reporting import report, verify_report
from hipport.reporting.oracle_report import oracle_summary
from hipport.verifying.results import Verified

#: What only manifests have: the keys that JSON has first, and the line about the port.
_MANIFEST = re.compile(rb'\A\{\s*"compiled": |^the port in ', re.MULTILINE)


@dataclass(frozen=True)
class Verification:
    """The result of running one extension or program, `what`, and its port.

    `path` is relative to the tree. `inputs` describes the input of the run, and `digest` is the SHA-256 of the file
    that defines it, if there is one. `why_not` is why it was not run.
    """

    what: str
    path: PurePath
    inputs: str = ""
    digest: str = ""
    verified: Verified | None = None
    why_not: str = ""


@dataclass(frozen=True)
class Evidence:
    """A port and all that was found about it.

    `root` is the place of the port, `source` the tree that was read. `earlier` says that the port had been written
    before, and was only examined. `why_not_built` is why nothing was compiled; `declined` names the steps that the user
    disabled. `gpus` are those of this machine.
    """

    source: Path
    root: Path
    extensions: tuple[Extension, ...]
    ported: Ported
    built: Built | None
    verifications: tuple[Verification, ...]
    why_not_built: str = ""
    earlier: bool = False
    declined: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is left for a person: nothing to review or do, and every requested step succeeded."""
        clear = not any(each.needs_person for each in self.ported.reported)
        clear = clear and not any(skipped.kind == "refused" for skipped in self.ported.before.skipped)
        built = "build" in self.declined or (self.built is not None and self.built.ok)
        ran = all(each.verified is not None and each.verified.ok for each in self.verifications)
        return clear and built and (ran or "verify" in self.declined)

    @property
    def shown(self) -> tuple[str, ...]:
        """The statements that were checked, each with its method."""
        return tuple(_shown(self))

    @property
    def not_checked(self) -> tuple[str, ...]:
        """The statements that no check supports."""
        return tuple(_not_checked(self))


def _shown(evidence: Evidence) -> Iterator[str]:
    applied = [each for each in evidence.ported.reported if each.outcome is Outcome.APPLIED]
    if applied:
        files = len(evidence.ported.changed)
        yield f"rewritten: {_count(len(applied), 'place')} in {_count(files, 'file')}, each with its rule and reason"
    built = evidence.built
    if built is not None and built.compiled:
        good = sum(all(each.ok for each in row) for row in built.units)
        targets = ", ".join((HOST, *built.targets))
        whole = f"{good} of {len(built.units)}" if good < len(built.units) else f"all {good}"
        yield f"compiled: {whole} units for {targets}, not linked, by {built.toolchain}"
    if built is not None and built.oracle is not None and any(not proof.why_not for proof in built.oracle.proofs):
        yield f"proven: {oracle_summary(built.oracle)}"
    for each in evidence.verifications:
        verified = each.verified
        if verified is None:
            continue
        cases = len({outcome.case for ran in verified.ran for outcome in ran.outcomes})
        ported = [ran for ran in verified.ran if ran.configuration.side == "ported"]
        there = [ran for ran in verified.ran if ran.configuration.side == "gpu"]
        lanes = " and ".join(str(n) for n in sorted({ran.configuration.lanes for ran in ported}))
        orders = ", ".join(dict.fromkeys(ran.configuration.order for ran in ported))
        result = "agrees with the original" if verified.ok else "DIFFERS from the original, or fails"
        if verified.without_reference:
            whys = dict.fromkeys(map(verified.why_no_measure, verified.without_reference))
            result = f"has nothing to be compared with: the original {' or '.join(whys)}"
        yield (
            f"run on the CPU: {each.what}, {_count(cases, 'case')}, with wavefronts of {lanes} lanes, orders {orders}: "
            f"the port {result}"
        )
        for ran in there:
            result = "agrees with the original on the CPU" if ran.ok else "DIFFERS from the original, or fails"
            yield f"run on {ran.configuration.order}: {each.what}, {_count(cases, 'case')}: the port {result}"


#: Every verification lists these as not checked; the manifest lists them once.
_EVERYWHERE = ("the machine code that hipcc generates", "the port on an AMD GPU: there is none")


def _not_checked(evidence: Evidence) -> Iterator[str]:
    results = [each.verified.ran for each in evidence.verifications if each.verified is not None]
    if not any(ran.configuration.side == "gpu" for each in results for ran in each):
        here = f"; this machine has {', '.join(evidence.gpus)}" if evidence.gpus else "; this machine has none"
        yield f"run on an AMD GPU: nothing{here}. hipcc's machine code was not executed"
    if evidence.built is None:
        yield f"compiled: nothing: {evidence.why_not_built}"
    else:
        bad = [row[0].path.as_posix() for row in evidence.built.units if not all(each.ok for each in row)]
        if bad:
            yield f"compiled: not without errors: {', '.join(bad)}"
        for left in evidence.built.not_built:
            yield f"compiled: not {left.path.as_posix()}: {left.why}"
        yield from _not_proven(evidence.built.oracle)
        for guess in dict.fromkeys(each.guess for each in evidence.built.compiled if each.guess):
            yield f"compiled as in the repository's own build: {guess}"
    if not evidence.verifications:
        yield "run on the CPU: there is no extension or program in it"
    for each in evidence.verifications:
        if each.verified is None:
            yield f"run on the CPU: not {each.what}: {each.why_not}"
        else:
            for line in each.verified.not_checked:
                if not line.startswith(_EVERYWHERE):
                    yield f"{each.what}: {line}"
    review = sum(1 for r in evidence.ported.reported if r.needs_person and r.outcome is Outcome.APPLIED)
    oracle = evidence.built.oracle if evidence.built is not None else None
    proven = len(oracle.discharged) if oracle is not None else 0
    left_over = sum(1 for r in evidence.ported.reported if r.needs_person and r.outcome is not Outcome.APPLIED)
    if review:
        less = f", of which LLVM has proven {proven}" if proven else ""
        yield f"right under its assumptions: {_count(review, 'change')} to review{less}"
    if left_over:
        yield f"ported: not {_count(left_over, 'place')}, which need a person"
    for skipped in evidence.ported.before.skipped:
        if skipped.kind != "excluded":
            yield f"ported: not {skipped.path.as_posix()}: {skipped.why}"


def _not_proven(oracle: Oracle | None) -> Iterator[str]:
    if oracle is None:
        yield "proven by LLVM, who reaches collectives and barriers: it was not asked"
        return
    if oracle.why_not:
        yield f"proven by LLVM, who reaches collectives and barriers: {oracle.why_not}"
    for proof in oracle.not_judged:
        yield f"proven by LLVM, who reaches collectives and barriers: not {proof.path.as_posix()}: {proof.why_not}"
    for each in oracle.contradictions:
        yield f"right at {each.path.as_posix()}:{each.line}: {each.message}"


def as_values(evidence: Evidence) -> dict[str, Any]:
    """Return the manifest as JSON values. Positions are in the files as they were read."""
    return {
        "schema": report.SCHEMA,
        "hipport": __version__,
        "ok": evidence.ok,
        "source": str(evidence.source),
        "root": str(evidence.root),
        "written_earlier": evidence.earlier,
        "shown": list(evidence.shown),
        "not_checked": list(evidence.not_checked),
        "extensions": [extension.as_json() for extension in evidence.extensions],
        "rewritten": json.loads(report.as_json(evidence.ported)),
        "compiled": json.loads(report.built_as_json(evidence.built)) if evidence.built else None,
        "verified": [
            {
                "what": each.what,
                "path": each.path.as_posix(),
                "inputs": each.inputs,
                "inputs_sha256": each.digest,
                "why_not": each.why_not,
                "result": verify_report.as_values(each.verified) if each.verified else None,
            }
            for each in evidence.verifications
        ],
    }


def as_json(evidence: Evidence) -> str:
    """Return the manifest as JSON, with sorted keys."""
    return json.dumps(as_values(evidence), indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"


def is_manifest(text: bytes) -> bool:
    """Whether a text is a manifest as JSON or for people, or empty: a new one may replace it."""
    return not text.strip() or bool(_MANIFEST.search(text))


def as_text(evidence: Evidence, *, colour: bool = False) -> str:
    """Return the manifest for a person: the steps, their results, and last what was not checked."""
    parts = [report.as_text(evidence.ported, colour=colour)]
    if evidence.built is not None:
        parts.append(report.built_as_text(_with_errors(evidence.built), colour=colour))
        warnings = sum(message.severity != "error" for message, _ in evidence.built.messages)
        if warnings:
            parts.append(f"{_count(warnings, 'warning')} of the compiler: hipport build, or the manifest, has them\n")
    for each in evidence.verifications:
        if each.verified is not None:
            parts.append(verify_report.as_text(each.verified, colour=colour))
    where = f"{evidence.root}" if evidence.root == evidence.source else f"{evidence.root}, of {evidence.source}"
    lines = [f"the port in {where}" + (", written earlier" if evidence.earlier else "")]
    lines += ["shown", *(f"  {line}" for line in evidence.shown or ("nothing",))]
    lines += ["not checked", *(f"  {line}" for line in evidence.not_checked)]
    return "\n".join([*parts, joined(lines)])


def _with_errors(built: Built) -> Built:
    """A build without the compiler's warnings: there are many, and few concern the port."""
    return replace(
        built,
        compiled=tuple(
            replace(each, messages=tuple(message for message in each.messages if message.severity == "error"))
            for each in built.compiled
        ),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
