# SPDX-License-Identifier: Apache-2.0
"""Compare what a program and its port print, and how they end: line by line, in order.

What differs from run to run of the original, lines that its threads print in another order, and numbers in sums that
depend on the order of threads, are known by running it more than once. Integers are compared exactly.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hipport.verifying.amd_gpus import Hardware
from hipport.verifying.program_runs import ProgramRun
from hipport.verifying.results import CaseOutcome, Difference, Output, not_on_gpu

#: What a decimal number may differ by that a program prints, of itself: sums in another order. And a number that a line
#: says is an error: what is left where two results are the same up to rounding.
RELATIVE, LEFT_OVER = 1e-3, 1e-6
#: And how many times as much as the original's differs from itself in other orders of its threads. A few orders show
#: a part of what a sum can be, and the port's wavefronts add in orders of their own.
SPREADS = 4.0
# A line that tells how many lanes the device's wavefronts have.
_WARP_SIZE = re.compile(
    r"\b(?:warp|wave(?:front)?)[ _-]?sizes?\b|\b(?:lanes|threads)\b.*\bper (?:warp|wave)", re.IGNORECASE
)
# What a port prints where the original asks for the name of an error.
_HIP_NAME = re.compile(r"\bhip(?=(?:Error|Success))")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|[-+]?\b(?:nan|inf)\b", re.ASCII)
# Numbers near zero are what is left of larger ones, where they are printed with so many decimals.
_DECIMALS = 4
_INTEGER = re.compile(r"[-+]?\d+")
_ERROR = re.compile(r"err(?:or)?s?\b|diff(?:erence)?s?\b|residual|deviation|\br?mse\b|norm of", re.IGNORECASE)
# Lines that tell how long something took are about the machine. (`in 3 s`, `12.5 GB/s`, `Kernel time:` …)
_TIMES = re.compile(
    r"\b(?:time|elapsed|seconds?|secs?|msec|usec|latency|bandwidth|throughput|speed-?up|[KMGT]?i?B/s|[KMGT]?FLOPS?"
    r"(?:/s)?|[KMGT]?flops?|fps)\b|\d\s*(?:ms|us|ns|µs|s)\b",
    re.IGNORECASE,
)


_SAID = 5  # lines of what a program that failed said that are shown


@dataclass(frozen=True)
class Varying:
    """Output that depends on the run or the device. `places` are (line, number in it), or (line, -1) for all of it.

    `more` are the shapes of lines that another device has printed besides. `moved` are lines that the original prints
    in another place in other orders of its threads: they may be in any order among those beside them. `spreads` are the
    places of numbers by which the original differs from itself in such orders, and by how much at the most.
    """

    places: frozenset[tuple[int, int]] = frozenset()
    more: frozenset[str] = frozenset()
    moved: frozenset[int] = frozenset()
    spreads: Mapping[tuple[int, int], float] = field(default_factory=dict)


def outcome(name: str, ran: ProgramRun, first: ProgramRun, ignored: Varying, index: int) -> CaseOutcome:
    if ran.status is None:
        return CaseOutcome(name, "timeout", f"did not end within {ran.seconds:.0f} s", ran.seconds, ran.faults)
    # Races are only looked for where that was asked for.
    if any(fault.level == "fault" or fault.kind == "race" for fault in ran.faults):
        return CaseOutcome(name, "fault", "", ran.seconds, ran.faults)
    last = _last(ran) if ran.status else ""
    if ran.status < 0:
        text = f"signal {-ran.status}" + (f": {last.splitlines()[-1]}" if last else "")
        return CaseOutcome(name, "crash", text, ran.seconds, ran.faults)
    # An original that fails its own check is nothing to compare with.
    trusted = first.status == 0
    status = _status(ran, first, trusted)
    said = printed(ran, first, ignored, trusted)
    outputs = [Output("exit status", "int", (), (status,))]
    if index != 0:
        outputs.append(Output("stdout", "text", (len(ran.lines),), (said,)))
    return CaseOutcome(name, "ok", last, ran.seconds, ran.faults, tuple(outputs))


def _last(ran: ProgramRun) -> str:
    """Return the last lines of what a program that failed said: why, if it says so anywhere."""
    said = [line.rstrip() for line in ran.errors.splitlines() if line.strip()]
    return "\n".join((said or [line for line in ran.lines if line.strip()])[-_SAID:])


def _status(ran: ProgramRun, first: ProgramRun, trusted: bool) -> Difference:
    why = ""
    if ran.status != 0:
        why = (
            "another exit status"
            if trusted
            else "fails its own check" + (", as the original does" if ran is not first else "")
        )
    return Difference("original", why, 0.0, 0.0, None, int(bool(why)), 1, str(ran.status), "0")


def printed(ran: ProgramRun, first: ProgramRun, varying: Varying, trusted: bool) -> Difference:
    """Compare what was printed, line by line; lines that threads print in any order, as they do in the original."""
    found = _compared(ran.lines, first.lines, varying)
    if found[2] and varying.more:
        ran = replace(ran, lines=_without_more(ran.lines, first.lines, varying))
        found = _compared(ran.lines, first.lines, varying)
    if found[2] and varying.moved and len(ran.lines) == len(first.lines):
        again = _compared(*_in_one_order(ran.lines, first.lines, varying))
        if not again[2]:
            found = again
    absolute, relative, wrong = found
    if not wrong:
        return Difference("original", "", absolute, relative, None, 0, len(first.lines), trusted=trusted)
    line = wrong[0]
    mine_line = ran.lines[line] if line < len(ran.lines) else "(nothing)"
    their_line = first.lines[line] if line < len(first.lines) else "(nothing)"
    why = f"{len(wrong)} of {max(len(ran.lines), len(first.lines))} lines differ"
    return Difference(
        "original", why, absolute, relative, (line + 1,), len(wrong), len(first.lines), repr(mine_line[:200]),
        repr(their_line[:200]), trusted,
    )  # fmt: skip


def _in_one_order(
    mine: Sequence[str], theirs: Sequence[str], varying: Varying
) -> tuple[Sequence[str], Sequence[str], Varying]:
    """Sort each group of lines that stand beside each other and that threads print in any order."""
    own, others = list(mine), list(theirs)
    moved = {index: index for index in range(len(theirs))}
    for group in _groups(varying.moved):
        # Numbers that are nearly the same sort nearly the same.
        own[group.start : group.stop] = sorted(own[group.start : group.stop], key=_as_cuda)
        order = sorted(group, key=lambda index: _as_cuda(theirs[index]))
        others[group.start : group.stop] = [theirs[index] for index in order]
        moved |= {old: group.start + new for new, old in enumerate(order)}
    places = frozenset((moved[line], token) for line, token in varying.places if line in moved)
    spreads = {(moved[line], token): spread for (line, token), spread in varying.spreads.items()}
    return own, others, replace(varying, places=places, spreads=spreads)


def _groups(lines: frozenset[int]) -> Iterator[range]:
    """Yield the lines in groups that stand beside each other."""
    start = end = -1
    for line in sorted(lines):
        if line != end:
            if start >= 0:
                yield range(start, end)
            start = line
        end = line + 1
    if start >= 0:
        yield range(start, end)


def moved_in(first: ProgramRun, others: Sequence[ProgramRun]) -> frozenset[int]:
    """Return the lines that the original prints in another place in other orders of its threads.

    Those between them that look the same are of the same threads, though they stayed where they were.
    """
    found: set[int] = set()
    shapes = _shapes(first.lines)
    for other in others:
        if len(other.lines) != len(first.lines) or sorted(_shapes(other.lines)) != sorted(shapes):
            continue
        same = sorted(map(_as_cuda, other.lines)) == sorted(map(_as_cuda, first.lines))
        if same:
            found |= {
                index for index, pair in enumerate(zip(first.lines, other.lines, strict=True)) if pair[0] != pair[1]
            }
    among = {shapes[index] for index in found}
    lines = sorted(found)
    for one, two in pairwise(lines):
        between = range(one + 1, two)
        if all(shapes[index] in among for index in between):
            found.update(between)
    for line in lines:
        # What stands in front of the first and behind the last of them, too.
        for step in (-1, 1):
            at = line + step
            while 0 <= at < len(shapes) and at not in found and shapes[at] in among:
                found.add(at)
                at += step
    return frozenset(found)


def _compared(mine: Sequence[str], theirs: Sequence[str], varying: Varying) -> tuple[float, float, list[int]]:
    """Return the largest absolute and relative error of numbers, and the lines that are not the same."""
    absolute = relative = 0.0
    wrong = []
    ignored = varying.places
    for index in range(max(len(mine), len(theirs))):
        if index >= len(mine) or index >= len(theirs):
            wrong.append(index)
            continue
        a, b = _as_cuda(mine[index]), _as_cuda(theirs[index])
        if a == b or (index, -1) in ignored:
            continue
        x, y = _NUMBER.findall(a), _NUMBER.findall(b)
        if _shape(a) != _shape(b) or len(x) != len(y):
            wrong.append(index)
            continue
        for token, (p, q) in enumerate(zip(x, y, strict=True)):
            if p == q or (index, token) in ignored:
                continue
            if (p, q) == ("64", "32") and _WARP_SIZE.search(b):
                continue
            u, v = float(p), float(q)
            error = abs(u - v)
            absolute = max(absolute, error)
            relative = max(relative, error / max(abs(u), abs(v), 1e-300))
            if not error <= within(p, q, b, varying.spreads.get((index, token), 0.0)):
                wrong.append(index)
                break
    return absolute, relative, wrong


def within(one: str, two: str, line: str, spread: float) -> float:
    """Return by how much two numbers of a line may differ, as they are printed: integers by nothing.

    `spread` is what the original differs by in other orders of its threads.
    """
    u, v = float(one), float(two)
    if u.is_integer() and v.is_integer() and max(abs(u), abs(v)) < 2**24:
        # Whole numbers are counts, also where they are printed as decimal ones: such sums have no rounding.
        return SPREADS * spread
    if _INTEGER.fullmatch(one) and _INTEGER.fullmatch(two):
        return SPREADS * spread
    left_over = LEFT_OVER if _ERROR.search(line) else 0.0
    return max(RELATIVE * max(abs(u), abs(v)), _last_digit(one, two), SPREADS * spread, left_over)


def _last_digit(one: str, two: str) -> float:
    """What the last of at least four decimals stands for that two numbers are printed with; 0 for others."""
    decimals = {len(each.partition(".")[2]) if "e" not in each.lower() else 0 for each in (one, two)}
    digits = decimals.pop() if len(decimals) == 1 else 0
    return 10.0**-digits * (1 + 1e-6) if digits >= _DECIMALS else 0.0


def _as_cuda(line: str) -> str:
    """A line with CUDA's names of errors, which are HIP's in a port."""
    return _HIP_NAME.sub("cuda", line)


def _shape(line: str) -> str:
    """A line without its numbers."""
    return _NUMBER.sub("#", _as_cuda(line))


def _shapes(lines: Sequence[str]) -> list[str]:
    return [_shape(line) for line in lines]


def varying_in(first: ProgramRun, again: ProgramRun) -> Varying:
    """Return what is about the run and not its result."""
    found = set()
    more = set()
    lines: list[str | None] = [None] * len(first.lines)
    for kind, start, end, other_start, other_end in _aligned(first.lines, again.lines):
        if kind == "equal" or end - start == other_end - other_start:
            lines[start:end] = list(again.lines[other_start:other_end])
        else:
            more.update(_shapes(again.lines[other_start:other_end]))
    for index, (line, other) in enumerate(zip(first.lines, lines, strict=True)):
        if (_TIMES.search(line) and _NUMBER.search(line)) or other is None:
            found.add((index, -1))
        elif line != other:
            x, y = _NUMBER.findall(line), _NUMBER.findall(other)
            if _shape(line) == _shape(other) and len(x) == len(y):
                found |= {(index, token) for token, (p, q) in enumerate(zip(x, y, strict=True)) if p != q}
            else:
                found.add((index, -1))
    return Varying(frozenset(found), frozenset(more))


def spreads_of(first: ProgramRun, others: Sequence[ProgramRun], varying: Varying) -> Mapping[tuple[int, int], float]:
    """Return by how much numbers of the original differ from themselves in other orders of its threads.

    Where they differ by more than a number may, or in the text around them, the original is no measure, and nothing
    follows.
    """
    found: dict[tuple[int, int], float] = {}
    for other in others:
        if len(other.lines) != len(first.lines) or _compared(other.lines, first.lines, varying)[2]:
            continue
        for index, (line, again) in enumerate(zip(first.lines, other.lines, strict=True)):
            if line == again or (index, -1) in varying.places:
                continue
            for token, (p, q) in enumerate(zip(_NUMBER.findall(line), _NUMBER.findall(again), strict=True)):
                error = abs(float(p) - float(q))
                if p != q and (index, token) not in varying.places and math.isfinite(error):
                    found[index, token] = max(found.get((index, token), 0.0), error)
    return found


#: Longer outputs are compared line by line, without looking for lines that one of them has besides.
_MOST_LINES = 5000


def _aligned(first: Sequence[str], other: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """Return which lines of one output are which of the other, as difflib does, by their shapes."""
    if len(first) == len(other):
        return [("equal", 0, len(first), 0, len(first))]
    if max(len(first), len(other)) > _MOST_LINES:
        common = min(len(first), len(other))
        return [("equal", 0, common, 0, common), ("replace", common, len(first), common, len(other))]
    return difflib.SequenceMatcher(None, _shapes(first), _shapes(other), autojunk=False).get_opcodes()


def _without_more(mine: Sequence[str], first: Sequence[str], varying: Varying) -> tuple[str, ...]:
    """Return `mine` without the lines that `first` lacks and that another device prints besides."""
    kept: list[str] = []
    for kind, first_start, first_end, start, end in _aligned(first, mine):
        own = [line for line in mine[start:end] if kind == "equal" or _shape(line) not in varying.more]
        if not own and all((index, -1) in varying.places for index in range(first_start, first_end)):
            # In place of lines that are not compared.
            own = list(first[first_start:first_end])
        kept += own
    return tuple(kept)


def _alone(line: str, token: int) -> float:
    """By how much a number of a line may differ without what the original differs by."""
    number = _NUMBER.findall(line)[token]
    return within(number, number, line, 0.0)


def left_out(ported: bool, gpu: Hardware | str, first: ProgramRun, varying: Varying) -> Iterator[str]:
    yield from not_on_gpu(gpu)
    if not ported:
        yield "a port: none was given"
    lines = sorted({line for line, _ in varying.places})
    if lines:
        shown = ", ".join(str(line + 1) for line in lines[:8]) + (" …" if len(lines) > 8 else "")
        yield (
            f"{len(lines)} of {len(first.lines)} lines that it prints (times, or values that differ between runs): "
            f"{shown}"
        )
    wider = {
        line: SPREADS * spread
        for (line, token), spread in sorted(varying.spreads.items())
        if SPREADS * spread > _alone(first.lines[line], token)
    }
    if wider:
        shown = ", ".join(f"{line + 1} within {within:.2g}" for line, within in list(wider.items())[:8])
        yield (
            f"numbers more precisely than {SPREADS:g} times the original's differences in other orders of its "
            f"threads: line {shown}" + (" …" if len(wider) > 8 else "")
        )
    if any(not _INTEGER.fullmatch(number) for line in first.lines for number in _NUMBER.findall(line)):
        yield f"decimal numbers more precisely than by {RELATIVE:g} of them, or the last of four or more decimals"
    if varying.moved:
        yield (
            f"the order of {len(varying.moved)} lines among those beside them: the original prints them in others, too"
        )
    yield "other arguments than these" if first.status == 0 else "results: the original fails its own check here"
    yield "files that the program writes"
