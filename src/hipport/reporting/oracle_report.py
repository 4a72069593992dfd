# SPDX-License-Identifier: Apache-2.0
"""LLVM's answers about a port: what it proved, what it left open, and where it contradicts hipport."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hipport.building.oracle import Oracle
    from hipport.building.proving import Branch
    from hipport.engine.outcomes import Reported


def oracle_lines(oracle: Oracle) -> Iterator[tuple[str, str]]:
    """Yield the lines for a person, each with its style: manual, review, safe or none."""
    for each in oracle.contradictions:
        place = f"{each.path.as_posix()}:{each.line}:{each.column}"
        yield "manual", f"{place}: error of hipport's: {each.message}  [{', '.join(each.targets)}]"
    for proven in oracle.discharged:
        place, targets = _place(proven.finding), ", ".join(proven.targets)
        yield "safe", f"{place}: proven by LLVM for {targets}, needs no check: {proven.finding.message}"
    for left in oracle.undecided:
        yield "", f"{_place(left.finding)}: not proven by LLVM: {left.why}"
    for proof in oracle.not_judged:
        yield "review", f"{proof.path.as_posix()} for {proof.target}: LLVM was not asked: {proof.why_not}"
    yield "", oracle_summary(oracle)


def oracle_summary(oracle: Oracle) -> str:
    """Say in one line what LLVM was asked and what it answered."""
    if oracle.why_not:
        return f"LLVM was not asked who reaches collectives and barriers: {oracle.why_not}"
    judged = [each for each in oracle.proofs if not each.why_not]
    units = len({each.path for each in judged})
    if not oracle.proofs:
        return "LLVM was not asked: no unit has collectives or barriers"
    return (
        f"LLVM's uniformity analysis for {', '.join(oracle.targets)}: {_count(oracle.calls, 'place')} with collectives "
        f"and barriers in {_count(units, 'unit')}; {_count(len(oracle.discharged), 'assumption')} proven, "
        f"{len(oracle.undecided)} not proven, {len(oracle.contradictions)} contradictions; {oracle.seconds:.0f} s"
    )


def oracle_as_values(oracle: Oracle) -> dict[str, Any]:
    """Return it as JSON values."""
    return {
        "targets": list(oracle.targets),
        "why_not": oracle.why_not,
        "contradictions": [
            {
                "path": each.path.as_posix(),
                "line": each.line,
                "column": each.column,
                "condition": each.condition,
                "scope": each.scope,
                "calls": [{"path": path.as_posix(), "line": line, "name": name} for path, line, name in each.calls],
                "targets": list(each.targets),
                "message": each.message,
            }
            for each in oracle.contradictions
        ],
        "discharged": [{**_finding(each.finding), "targets": list(each.targets)} for each in oracle.discharged],
        "not_proven": [{**_finding(each.finding), "why": each.why} for each in oracle.undecided],
        "units": [
            {
                "path": proof.path.as_posix(),
                "target": proof.target,
                "seconds": round(proof.seconds, 3),
                "cached": proof.cached,
                "why_not": proof.why_not,
                "apart": list(proof.apart),
                "calls": [
                    {
                        "path": each.path.as_posix(),
                        "line": each.line,
                        "column": each.column,
                        "name": each.name,
                        "barrier": each.barrier,
                        "kernel": each.kernel,
                        "proven": each.proven,
                        "branches": [_branch(branch) for branch in each.branches if not branch.proven],
                    }
                    for each in proof.reached
                ],
            }
            for proof in oracle.proofs
        ],
        "summary": oracle_summary(oracle),
    }


def _branch(branch: Branch) -> dict[str, Any]:
    return {
        "path": branch.path.as_posix(),
        "line": branch.line,
        "column": branch.column,
        "varies_in_block": branch.varies_in_block,
        "varies_in_warp": branch.varies_in_warp,
    }


def _finding(finding: Reported) -> dict[str, Any]:
    return {
        "path": finding.path.as_posix(),
        "line": finding.line,
        "column": finding.column,
        "rule": finding.rule,
        "message": finding.message,
    }


def _place(finding: Reported) -> str:
    return f"{finding.path.as_posix()}:{finding.line}:{finding.column}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
