# SPDX-License-Identifier: Apache-2.0
"""Render a verification, as text or JSON: pure functions of results."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hipport.core.terminal import block, joined, painter
from hipport.engine.outcomes import Reported
from hipport.verifying.results import CaseOutcome, Difference, Fault, Mutant, MutationScore, Ran, Tolerance, Verified

_COLOUR = {"bad": "31", "good": "32", "dim": "2", "bold": "1"}


def as_text(verified: Verified, colour: bool = False) -> str:
    """Return a table of cases by configuration, then the differences and faults, then what was not checked."""
    paint = painter(_COLOUR if colour else {})
    lines = [paint("bold", f"{verified.package} in {verified.root}")]
    if verified.original:
        lines.append(f"the original is {verified.original}")
    lines += _table(verified, paint)
    told: set[str] = set()
    lines += _faults(verified, "fault", paint)
    for ran in verified.ran:
        for outcome in ran.outcomes:
            lines += _problems(ran, outcome, paint)
            if outcome.status == "ok" and not outcome.ok and outcome.message and outcome.message not in told:
                # Most messages are the same in every configuration.
                told.add(outcome.message)
                lines += [f"    {line}" for line in outcome.message.splitlines()]
    lines += _faults(verified, "warning", paint)
    for first in verified.first_differences:
        where = f"{first.path}:{first.line}: " if first.line else ""
        lines.append(
            f"{where}{first.case}, {first.configuration}: first differs from the original after launch {first.launch} "
            f"({first.kernel}): {first.what}"
        )
    lines += _depends_on_order(verified, paint)
    lines += _tolerances(verified, paint)
    slow = sorted(verified.compiled.items(), key=lambda item: -item[1])[:3]
    if slow:
        total = sum(verified.compiled.values())
        lines.append(paint("dim", f"compiled {len(verified.compiled)} units in {total:.0f} s"))
    lines += _for_a_person("left to a person in the port:", verified.left)
    if not verified.ok:
        # A wrong assumption may explain a difference.
        lines += _for_a_person("assumed in the port:", verified.assumed)
    lines += ["", "not checked:", *(f"  {each}" for each in verified.not_checked)]
    lines += _last(verified, paint)
    return joined(lines)


def _table(verified: Verified, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Yield a table of cases by configurations; orders are next to each other because they should agree."""
    cases = list(dict.fromkeys(outcome.case for ran in verified.ran for outcome in ran.outcomes))
    groups: dict[tuple[str, int], list[Ran]] = {}
    for ran in verified.ran:
        groups.setdefault((ran.configuration.side, ran.configuration.lanes), []).append(ran)
    header = ["case", *(f"{side}@{lanes}" for side, lanes in groups)]
    rows = [[case, *(_cell(case, group) for group in groups.values())] for case in cases]
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    yield "  ".join(cell.ljust(width) for cell, width in zip(header, widths, strict=True)).rstrip()
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        for cell, width in zip(row[1:], widths[1:], strict=True):
            cells.append(paint("good" if cell.startswith("ok") else "bad", cell.ljust(width)))
        yield "  ".join(cells).rstrip()
    orders = list(dict.fromkeys(ran.configuration.order for ran in verified.ran if ran.configuration.side != "gpu"))
    yield paint("dim", f"orders: {', '.join(orders)}; largest absolute / relative error over all of them")
    yield ""


def _depends_on_order(verified: Verified, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Yield the cases in which the original differs from itself."""
    same: dict[tuple[str, ...], list[str]] = {}
    for case, others in verified.depends_on_order.items():
        same.setdefault(others, []).append(case)
    for others, of in same.items():
        yield (
            f"{', '.join(of)}: the {paint('bad', 'original')} differs from itself when its threads run in another "
            f"order ({', '.join(others)}): a data race, or sums that rounding changes by more than the tolerance. "
            "The port cannot be measured by its results there"
        )


def _tolerances(verified: Verified, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Yield the tolerances of values that differ within them, each with its source; and warnings."""
    widest: dict[tuple[str, str, str, str], tuple[Tolerance, str]] = {}
    for ran in verified.ran:
        for outcome in ran.outcomes:
            for output in outcome.outputs:
                for difference in output.differences:
                    if difference.why or not difference.trusted:
                        continue
                    for each in difference.tolerances:
                        key = (outcome.case, output.name, difference.against, each.origin)
                        if key not in widest or each.error_relative > widest[key][0].error_relative:
                            widest[key] = (each, f"{ran.configuration}")
    used = [(key, each, where) for key, (each, where) in widest.items() if each.count]
    if used:
        yield "within a tolerance:"
    for (case, name, against, _), each, where in used[:_SHOWN]:
        at = f" at [{', '.join(map(str, each.where))}]" if each.where is not None else ""
        off = f"by {each.error:.2g}{at} ({each.error_relative:.2g} of it) at the most in {where}"
        allowed = tolerance_as_text(each)
        yield f"  {case}: {name}, against {against}: {each.count} differ, {off}; allowed {allowed}"
    if len(used) > _SHOWN:
        yield f"  and {len(used) - _SHOWN} more; --format json has them all"
    warnings: dict[str, list[str]] = {}
    for (case, name, *_), (each, _) in widest.items():
        if each.warning:
            warnings.setdefault(each.warning, []).append(f"{name} of {case}")
    for warning, of in list(warnings.items())[:_SHOWN]:
        names = list(dict.fromkeys(of))
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        yield f"{paint('bad', 'warning')}: {warning} ({', '.join(names[:4])}{more})"
    if len(warnings) > _SHOWN:
        yield f"  and {len(warnings) - _SHOWN} more of tolerances that are wider than the type can tell"


def tolerance_as_text(tolerance: Tolerance) -> str:
    """Return a tolerance and its source."""
    if not tolerance.relative:
        return f"{tolerance.absolute:.2g}: {tolerance.origin}"
    absolute = f" and {tolerance.absolute:.2g}" if tolerance.absolute else ""
    return f"{tolerance.relative:.2g} of it{absolute}: {tolerance.origin}"


def _last(verified: Verified, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Yield the conclusion: whether the port is verified, or why there is nothing to compare with."""
    if not verified.without_reference:
        yield paint("good", "verified") if verified.ok else paint("bad", "differs")
        return
    whys: dict[str, list[str]] = {}
    for case in verified.without_reference:
        whys.setdefault(verified.why_no_measure(case), []).append(case)
    for why, of in whys.items():
        yield paint("bad", f"nothing to compare with: the original {why} in {', '.join(of)}")


#: The maximum number of shown findings of passes; `hipport rewrite --check` shows all.
_SHOWN = 10


def _for_a_person(title: str, findings: Sequence[Reported]) -> Iterator[str]:
    if not findings:
        return
    yield from ("", title)
    for each in findings[:_SHOWN]:
        yield f"  {each.path}:{each.line}: {each.message} [{each.rule}]"
    if len(findings) > _SHOWN:
        yield f"  and {len(findings) - _SHOWN} more; `hipport rewrite --check` lists them"


def _cell(case: str, group: Iterable[Ran]) -> str:
    outcomes = [outcome for ran in group for outcome in ran.outcomes if outcome.case == case]
    bad = [outcome for outcome in outcomes if not outcome.ok]
    if bad:
        word = bad[0].faults[-1].kind if bad[0].status == "fault" and bad[0].faults else bad[0].status
        return ("differs" if bad[0].status == "ok" else word) + (
            f" {len(bad)}/{len(outcomes)}" if len(outcomes) > 1 else ""
        )
    # Finite differences are imprecise: a difference that they leave open is not the kernel's error.
    compared = [d for outcome in outcomes for o in outcome.outputs for d in o.differences]
    differences = [d for d in compared if d.trusted and d.against != "differences"]
    absolute = max((d.absolute for d in differences), default=0.0)
    relative = max((d.relative for d in differences), default=0.0)
    return f"ok {absolute:.1e} / {relative:.1e}" if absolute else "ok equal"


def _problems(ran: Ran, outcome: CaseOutcome, paint: Any) -> Iterator[str]:
    where = f"{outcome.case}, {ran.configuration}"
    if (
        outcome.status != "ok"
        and (outcome.message or not outcome.faults)
        and not any(fault.level == "fault" for fault in outcome.faults)
    ):
        yield from block(f"{where}: {paint('bad', outcome.status)}: {outcome.message}")
    for output in outcome.outputs:
        for difference in output.differences:
            if difference.why and difference.trusted:
                yield f"{where}: {paint('bad', output.name)}: {_difference(difference)}"


def _faults(verified: Verified, level: str, paint: Any) -> Iterator[str]:
    """Yield each fault or warning once for a line of a kernel, with its first place and its count."""
    given: dict[tuple[Any, ...], list[tuple[Fault, str]]] = {}
    for ran in verified.ran:
        for outcome in ran.outcomes:
            for fault in outcome.faults:
                if (fault.level == "warning") == (level == "warning"):
                    key = (ran.configuration.side, fault.path, fault.line, fault.kind, fault.kernel)
                    given.setdefault(key, []).append((fault, f"{outcome.case}, {ran.configuration}"))
    for places in given.values():
        fault, where = places[0]
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield from _fault(fault, where + more, paint)


def _fault(fault: Fault, where: str, paint: Any) -> list[str]:
    place = f"{fault.path}:{fault.line}: " if fault.line else ""
    numbers = (("block", fault.block), ("thread", fault.thread))
    inside = [fault.kernel] if fault.kernel else []
    inside += [f"{what} ({', '.join(map(str, index))})" for what, index in numbers if index]
    # A message may have further lines, about other threads.
    first, *rest = fault.message.splitlines() or [""]
    in_what = f" in {', '.join(inside)}" if inside else ""
    head = f"{place}{paint('bad', fault.level)}: {first}{in_what} [{fault.rule}] ({where})"
    return [head, *rest]


def _difference(difference: Difference) -> str:
    text = f"{difference.why}, against {difference.against}"
    if difference.where is not None:
        index = ", ".join(map(str, difference.where))
        text += (
            f": [{index}] is {difference.output}, not {difference.expected} "
            f"(largest error {difference.absolute:.3g}, relative {difference.relative:.3g})"
        )
    for tolerance in difference.tolerances:
        text += f"; allowed {tolerance_as_text(tolerance)}"
    return text


def as_json(verified: Verified) -> str:
    """Return the result as JSON."""
    return json.dumps(as_values(verified), indent=2, allow_nan=False) + "\n"


def as_values(verified: Verified) -> dict[str, Any]:
    """Return the result as JSON values. A non-finite error is the string `inf`."""
    return {
        "ok": verified.ok,
        "root": str(verified.root),
        "original": verified.original,
        "package": verified.package,
        "configurations": [
            {
                "name": str(ran.configuration),
                "side": ran.configuration.side,
                "lanes": ran.configuration.lanes,
                "order": ran.configuration.order,
                "ok": ran.ok,
                "cases": [_outcome_values(outcome) for outcome in ran.outcomes],
            }
            for ran in verified.ran
        ],
        "first_differences": [
            {
                "case": first.case,
                "configuration": str(first.configuration),
                "launch": first.launch,
                "kernel": first.kernel,
                "path": first.path.as_posix(),
                "line": first.line,
                "what": first.what,
            }
            for first in verified.first_differences
        ],
        "compiled": dict(verified.compiled),
        "not_checked": list(verified.not_checked),
        "left_to_a_person": [_finding_values(each) for each in verified.left],
        "assumed": [_finding_values(each) for each in verified.assumed],
        "without_reference": list(verified.without_reference),
        "depends_on_order": {case: list(orders) for case, orders in verified.depends_on_order.items()},
    }


def _finding_values(each: Reported) -> dict[str, Any]:
    return {"path": each.path.as_posix(), "line": each.line, "rule": each.rule, "message": each.message}


def _outcome_values(outcome: CaseOutcome) -> dict[str, Any]:
    return {
        "case": outcome.case,
        "ok": outcome.ok,
        "status": outcome.status,
        "message": outcome.message,
        "seconds": outcome.seconds,
        "faults": [
            {
                "rule": fault.rule,
                "level": fault.level,
                "message": fault.message,
                "path": fault.path.as_posix(),
                "line": fault.line,
                "kernel": fault.kernel,
                "block": list(fault.block),
                "thread": list(fault.thread),
            }
            for fault in outcome.faults
        ],
        "outputs": [
            {
                "name": output.name,
                "dtype": output.dtype,
                "shape": list(output.shape),
                "differences": [
                    {
                        "against": each.against,
                        "ok": each.ok,
                        "why": each.why,
                        "absolute": _number(each.absolute),
                        "relative": _number(each.relative),
                        "where": list(each.where) if each.where is not None else None,
                        "output": each.output,
                        "expected": each.expected,
                        "count": each.count,
                        "size": each.size,
                        "trusted": each.trusted,
                        "tolerances": [_tolerance_values(tolerance) for tolerance in each.tolerances],
                    }
                    for each in output.differences
                ],
            }
            for output in outcome.outputs
        ],
    }


def _tolerance_values(each: Tolerance) -> dict[str, Any]:
    return {
        "origin": each.origin,
        "relative": each.relative,
        "absolute": _number(each.absolute),
        "count": each.count,
        "error": _number(each.error),
        "error_relative": _number(each.error_relative),
        "where": list(each.where) if each.where is not None else None,
        "warning": each.warning,
    }


def mutation_score_as_text(score: MutationScore, colour: bool = False) -> str:
    """Return which mutants are noticed, and which cases are weak."""
    paint = painter(_COLOUR if colour else {})
    lines = [f"the original is {score.original}"] if score.original else []
    for mutant in score.mutants:
        if mutant.why_not:
            lines.append(f"{_place(mutant)}{mutant.what}: {paint('dim', f'not run: {mutant.why_not}')}")
        elif mutant.noticed:
            count = f"{len(mutant.noticed)} of {len(mutant.noticed) + len(mutant.passed)} cases"
            lines.append(f"{_place(mutant)}{mutant.what}: {paint('good', 'noticed')} by {count}")
        elif mutant.changes:
            lines.append(f"{_place(mutant)}{mutant.what}: {paint('bad', 'not noticed')}, though {mutant.changes}")
        else:
            lines.append(f"{_place(mutant)}{mutant.what}: {paint('dim', 'not noticed: it gives the same here')}")
    noticed, judged = len(score.noticed), len(score.noticed) + len(score.missed)
    if judged:
        percent = f"{100 * noticed / judged:.0f} %"
        lines.append(f"mutation score: {noticed} of {judged} that give something else are noticed ({percent})")
    if score.weak:
        lines.append(f"weak, because they notice nothing: {', '.join(score.weak)}")
    return joined(lines)


def mutation_score_as_json(score: MutationScore) -> str:
    """Return the same as JSON."""
    mutants = [
        {
            "what": mutant.what,
            "path": mutant.path.as_posix(),
            "line": mutant.line,
            "noticed": list(mutant.noticed),
            "passed": list(mutant.passed),
            "why_not": mutant.why_not,
            "changes": mutant.changes,
        }
        for mutant in score.mutants
    ]
    values = {
        "original": score.original,
        "mutants": mutants,
        "noticed": len(score.noticed),
        "missed": len(score.missed),
        "weak": list(score.weak),
    }
    return json.dumps(values, indent=2) + "\n"


def _place(mutant: Mutant) -> str:
    return f"{mutant.path}:{mutant.line}: " if mutant.line else ""


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"
