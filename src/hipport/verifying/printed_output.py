# SPDX-License-Identifier: Apache-2.0
"""Compare the output of a program and its port, and how they end: line by line, in order.

Output that differs between runs of the original, lines that its threads print in another order, and sums that depend on
the order of threads, are found by running it several times. Integers are compared exactly.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hipport.verifying.amd_gpus import Hardware
from hipport.verifying.printed_numbers import (
    LEFT_OVER,
    RELATIVE,
    RELATIVE_ON_GPU,
    SPREADS,
    PrintedToken,
    allowed,
    is_warp_size,
    read,
    same,
)
from hipport.verifying.program_runs import ProgramRun
from hipport.verifying.results import CaseOutcome, Difference, Output, Tolerance, not_on_gpu

_SAID = 5  # the number of lines to show from a failed program's output

#: The largest relative difference of an original's number from itself, in another order of threads, that sums explain.
RELATIVE_OF_ORIGINAL = 1e-3


@dataclass(frozen=True)
class Varying:
    """Output that depends on the run or the device. `places` are (line, index of a number), or (line, -1) for a line.

    For such a line, `ends` has the number of words at its beginning and at its end that do not depend on it, and are
    compared. `more` are the shapes of additional lines from another device. `moved` are groups of lines whose order
    depends on the order of threads in the original: each group has its place, and its lines may have any order.
    `spreads` are the places of numbers that differ in such orders, and the largest difference.
    """

    places: frozenset[tuple[int, int]] = frozenset()
    ends: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    more: frozenset[str] = frozenset()
    moved: tuple[tuple[int, ...], ...] = ()
    spreads: Mapping[tuple[int, int], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """The reference for runs: the first run of the original, and the varying parts of each text that it prints."""

    first: ProgramRun
    varying: Mapping[str, Varying] = field(default_factory=dict)

    @staticmethod
    def of(first: ProgramRun, again: ProgramRun, others: Sequence[ProgramRun]) -> Measure:
        """Return the reference.

        `again` is the run of the original on another device, `others` are its runs in other orders of threads.
        """
        found = {}
        for name, lines in first.texts.items():
            varying = varying_in(lines, again.texts.get(name, ()))
            differing = [each.texts.get(name, ()) for each in others]
            varying = replace(varying, moved=moved_in(lines, differing, varying))
            found[name] = replace(varying, spreads=spreads_of(lines, differing, varying))
        return Measure(first, found)

    def outcome(self, name: str, ran: ProgramRun, side: str = "ported") -> CaseOutcome:
        """Return the outcome of a run of a `side`, under the name of a case."""
        if ran.status is None:
            return CaseOutcome(name, "timeout", f"did not end within {ran.seconds:.0f} s", ran.seconds, ran.faults)
        # Races are looked for only on request.
        if any(fault.level == "fault" or fault.kind == "race" for fault in ran.faults):
            return CaseOutcome(name, "fault", "", ran.seconds, ran.faults)
        last = _last(ran) if ran.status else ""
        if ran.status < 0:
            text = f"signal {-ran.status}" + (f": {last.splitlines()[-1]}" if last else "")
            return CaseOutcome(name, "crash", text, ran.seconds, ran.faults)
        # An original that fails its own check is not a reference.
        trusted = self.first.status == 0
        outputs = [Output("exit status", "int", (), (_status(ran, self.first, trusted),))]
        for text in _texts_of(ran, self.first, side):
            mine, theirs = ran.texts.get(text, ()), self.first.texts.get(text, ())
            varying = self.varying.get(text, Varying())
            if side == "original":
                # The original is not judged with the tolerances that its own differences give.
                varying = replace(varying, spreads={})
            said = printed(mine, theirs, varying, trusted, _RELATIVE.get(side, RELATIVE))
            outputs.append(Output(text, "text", (len(mine),), (said,)))
        return CaseOutcome(name, "ok", last, ran.seconds, ran.faults, tuple(outputs))

    def changed(self, one: ProgramRun, other: ProgramRun) -> str:
        """Say where the output of two runs differs to the last digit; empty if only times differ."""
        for name in one.texts:
            mine, theirs = one.texts[name], other.texts[name]
            moved = self.varying.get(name, Varying()).moved
            if moved and len(mine) == len(theirs):
                mine = tuple(_in_order_of(mine, theirs, moved))
            ignored = {line for line, _ in self.varying.get(name, Varying()).places}
            for index in range(max(len(mine), len(theirs))):
                a, b = (read(each[index]) if index < len(each) else None for each in (mine, theirs))
                if index not in ignored and (a is None or b is None or not a.says_the_same(b)):
                    return f"{name} is another in line {index + 1}"
        return ""

    def left_out(self, ported: bool, gpu: Hardware | str) -> Iterator[str]:
        """Say what is not compared."""
        yield from not_on_gpu(gpu)
        if not ported:
            yield "a port: none was given"
        for name, lines in self.first.texts.items():
            yield from _left_out(name, lines, self.varying.get(name, Varying()))
        if self.first.cut:
            yield f"what it prints behind its first {self.first.cut} bytes"
        yield (
            "other arguments than these" if self.first.status == 0 else "results: the original fails its own check here"
        )
        yield "files that the program writes"


_RELATIVE = {"original": RELATIVE_OF_ORIGINAL, "gpu": RELATIVE_ON_GPU}


def _texts_of(ran: ProgramRun, first: ProgramRun, side: str) -> Iterator[str]:
    """Yield the texts to compare; on a GPU without stderr, to which the runtime may print."""
    for text in dict.fromkeys((*first.texts, *ran.texts)):
        # Without output on either side there is nothing to compare.
        if text == "stdout" or (side != "gpu" and (ran.texts.get(text) or first.texts.get(text))):
            yield text


def _last(ran: ProgramRun) -> str:
    """Return the last lines of a failed program's output, which may say why."""
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


def printed(
    mine: Sequence[str], theirs: Sequence[str], varying: Varying, trusted: bool = True, relative: float = RELATIVE
) -> Difference:
    """Compare printed output, line by line; lines whose order varies in the original may have any order."""
    found = _compared(mine, theirs, varying, relative)
    if found.wrong and varying.more:
        mine = _without_more(mine, theirs, varying)
        found = _compared(mine, theirs, varying, relative)
    if found.wrong and varying.moved and len(mine) == len(theirs):
        again = _compared(_in_order_of(mine, theirs, varying.moved), theirs, varying, relative)
        if not again.wrong:
            found = again
    if not found.wrong:
        return Difference(
            "original", "", found.absolute, found.relative, None, 0, len(theirs), trusted=trusted,
            tolerances=tuple(found.within.values()),
        )  # fmt: skip
    line = min(found.wrong)
    mine_line = mine[line] if line < len(mine) else "(nothing)"
    their_line = theirs[line] if line < len(theirs) else "(nothing)"
    why = f"{len(found.wrong)} of {max(len(mine), len(theirs))} lines differ"
    beyond = found.wrong[line]
    return Difference(
        "original", why, found.absolute, found.relative, (line + 1,), len(found.wrong), len(theirs),
        repr(mine_line[:200]), repr(their_line[:200]), trusted, (beyond,) if beyond is not None else (),
    )  # fmt: skip


class _Compared:
    """How two texts differ: the largest errors of numbers, `wrong` lines, and tolerances that others are `within`."""

    def __init__(self) -> None:
        self.absolute = self.relative = 0.0
        #: For each wrong line, the exceeded tolerance of a number, if it is a number.
        self.wrong: dict[int, Tolerance | None] = {}
        self.within: dict[str, Tolerance] = {}

    def number(
        self, line: int, mine: PrintedToken, theirs: PrintedToken, spread: float | None, relative: float
    ) -> bool:
        """Compare one number of a line."""
        limit = allowed(mine, theirs, spread, relative)
        if "exact" in (mine.kind, theirs.kind):
            self.wrong[line] = None
            return False
        error = mine.off(theirs)
        of_it = error / max(abs(float(mine.text)), abs(float(theirs.text)), 1e-300)
        self.absolute = max(self.absolute, error)
        self.relative = max(self.relative, of_it)
        used = Tolerance(limit.why, 0.0, max(limit.absolute, 0.0), 1, error, of_it, (line + 1,))
        if not error <= limit.absolute:
            self.wrong[line] = used
            return False
        before = self.within.get(limit.why)
        if before is None:
            self.within[limit.why] = used
        else:
            widest = max(before, used, key=lambda each: each.error_relative)
            self.within[limit.why] = replace(widest, count=before.count + 1)
        return True


def _compared(mine: Sequence[str], theirs: Sequence[str], varying: Varying, relative: float) -> _Compared:
    """Return the differences of two texts."""
    found = _Compared()
    ignored = varying.places
    for index in range(max(len(mine), len(theirs))):
        if index >= len(mine) or index >= len(theirs):
            found.wrong[index] = None
            continue
        if mine[index] == theirs[index]:
            continue
        one, two = mine[index], theirs[index]
        if (index, -1) in ignored:
            ends = varying.ends.get(index, (0, 0))
            if len(one.split()) < sum(ends):
                found.wrong[index] = None
                continue
            one, two = (_ends(each, *ends) for each in (one, two))
        a, b = read(one), read(two)
        if a.shape != b.shape:
            found.wrong[index] = None
            continue
        for number, (p, q) in enumerate(zip(a.tokens, b.tokens, strict=True)):
            if q.kind == "time" or (index, number) in ignored or same(p, q) or is_warp_size(p, q):
                continue
            if not found.number(index, p, q, varying.spreads.get((index, number)), relative):
                break
    return found


def _ends(line: str, first: int, last: int) -> str:
    """Return the first and last words of a line, as many as given."""
    words = line.split()
    return " ".join((*words[:first], *words[len(words) - last :]))


def _equal_words(one: str, other: str) -> tuple[int, int]:
    """Return the number of equal words of two lines at their beginnings, and at their ends."""
    a, b = one.split(), other.split()
    most = min(len(a), len(b))
    first = next((n for n in range(most) if a[n] != b[n]), most)
    last = next((n for n in range(most - first) if a[-1 - n] != b[-1 - n]), most - first)
    return first, last


def _key(line: str) -> tuple[object, ...]:
    """Return a sort key for lines in any order: exact parts come first."""
    parts = read(line)
    shown = [t for t in parts.tokens if t.kind != "time"]
    whole = [t.text for t in shown if t.kind == "exact" or t.is_whole]
    # Nearly equal numbers get nearly the same position.
    rest = [float(t.text) for t in shown if t.kind != "exact" and not t.is_whole]
    return parts.shape, whole, [each if math.isfinite(each) else math.copysign(1e308, each) for each in rest]


def _in_order_of(mine: Sequence[str], theirs: Sequence[str], moved: Iterable[Sequence[int]]) -> Sequence[str]:
    """Return `mine` with the lines of each group in the order of `theirs`; a group's lines may be in any order."""
    own = list(mine)
    for group in moved:
        order = sorted(group, key=lambda index: _key(theirs[index]))
        for index, line in zip(order, sorted((mine[index] for index in group), key=_key), strict=True):
            own[index] = line
    return own


def moved_in(first: Sequence[str], others: Iterable[Sequence[str]], varying: Varying) -> tuple[tuple[int, ...], ...]:
    """Return groups of lines whose order in the original depends on the order of its threads.

    A group is the smallest one that keeps its place as a whole: it excludes lines of the host, and of other launches.
    """
    shapes = _shapes(first)
    own = {line for line, _ in varying.places}
    still = [index for index in range(len(first)) if index not in own]
    together: set[int] = set()  # indexes in `still` whose line is in one group with the next
    for other in others:
        if len(other) != len(first) or sorted(_shapes(other)) != sorted(shapes):
            continue
        # After sorting, both have the same lines.
        mine, theirs = (
            sorted(range(len(still)), key=lambda place: _key(lines[still[place]])) for lines in (first, other)
        )
        if all(_equal(other[still[b]], first[still[a]]) for a, b in zip(mine, theirs, strict=True)):
            went = dict(zip(mine, theirs, strict=True))
            reach = -1
            for place in range(len(still)):
                reach = max(reach, went[place])
                if reach > place:
                    together.add(place)
    groups: list[list[int]] = []
    for place, line in enumerate(still):
        if place - 1 in together:
            groups[-1].append(line)
        else:
            groups.append([line])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def _equal(one: str, other: str) -> bool:
    """Whether two lines of the original are equal, except for sums in another order."""
    return not _compared((one,), (other,), Varying(), RELATIVE_OF_ORIGINAL).wrong


def _shapes(lines: Sequence[str]) -> list[str]:
    return [read(line).shape for line in lines]


def varying_in(first: Sequence[str], again: Sequence[str]) -> Varying:
    """Return the output that depends on the run, and not on its input."""
    found = set()
    ends = {}
    more = set()
    lines: list[str | None] = [None] * len(first)
    for kind, start, end, other_start, other_end in _aligned(first, again):
        if kind == "equal" or end - start == other_end - other_start:
            lines[start:end] = list(again[other_start:other_end])
        else:
            more.update(_shapes(again[other_start:other_end]))
    for index, (line, other) in enumerate(zip(first, lines, strict=True)):
        if other is None:
            found.add((index, -1))
        elif line != other:
            a, b = read(line), read(other)
            if a.shape == b.shape:
                pairs = enumerate(zip(a.tokens, b.tokens, strict=True))
                found |= {(index, number) for number, (p, q) in pairs if p.text != q.text and q.kind != "time"}
            else:
                found.add((index, -1))
                ends[index] = _equal_words(line, other)
    return Varying(frozenset(found), ends, frozenset(more))


def spreads_of(
    first: Sequence[str], others: Iterable[Sequence[str]], varying: Varying
) -> Mapping[tuple[int, int], float]:
    """Return by how much numbers of the original differ in other orders of its threads.

    If a difference exceeds the limit for numbers, or is in the surrounding text, the original is not a reference, and
    the result is empty.
    """
    found: dict[tuple[int, int], float] = {}
    for other in others:
        if len(other) != len(first):
            continue
        ordered = _in_order_of(other, first, varying.moved)
        if _compared(ordered, first, varying, RELATIVE_OF_ORIGINAL).wrong:
            continue
        for index, (line, again) in enumerate(zip(first, ordered, strict=True)):
            if line == again or (index, -1) in varying.places:
                continue
            for number, (p, q) in enumerate(zip(read(line).tokens, read(again).tokens, strict=True)):
                if p.text == q.text or p.kind != "number" or (index, number) in varying.places:
                    continue
                error = p.off(q)
                if math.isfinite(error):
                    found[index, number] = max(found.get((index, number), 0.0), error)
    return found


#: In longer outputs, lines are compared one by one, without searching for additional lines.
_MOST_LINES = 5000


def _aligned(first: Sequence[str], other: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the matching lines of two outputs, in the form of difflib, by their shapes."""
    if len(first) == len(other):
        return [("equal", 0, len(first), 0, len(first))]
    if max(len(first), len(other)) > _MOST_LINES:
        common = min(len(first), len(other))
        return [("equal", 0, common, 0, common), ("replace", common, len(first), common, len(other))]
    return difflib.SequenceMatcher(None, _shapes(first), _shapes(other), autojunk=False).get_opcodes()


def _without_more(mine: Sequence[str], first: Sequence[str], varying: Varying) -> tuple[str, ...]:
    """Return `mine` without the additional lines of another device that `first` lacks."""
    kept: list[str] = []
    for kind, first_start, first_end, start, end in _aligned(first, mine):
        own = [line for line in mine[start:end] if kind == "equal" or read(line).shape not in varying.more]
        if not own and all((index, -1) in varying.places for index in range(first_start, first_end)):
            # Lines that are not compared are replaced by the original's.
            own = list(first[first_start:first_end])
        kept += own
    return tuple(kept)


def _left_out(name: str, lines: Sequence[str], varying: Varying) -> Iterator[str]:
    """Say which part of a text is not compared, and how precisely the rest is."""
    if not lines:
        return
    of = "" if name == "stdout" else f" to {name}"
    timed = {index for index, line in enumerate(lines) if any(t.kind == "time" for t in read(line).tokens)}
    ignored = sorted({line for line, _ in varying.places} | timed)
    if ignored:
        yield (
            f"times, or values that differ between runs, in {len(ignored)} of {len(lines)} lines that it prints{of}: "
            f"{_numbered(ignored)}"
        )
    wider = [
        f"{line + 1} within {limit.absolute:.2g}"
        for (line, number), spread in sorted(varying.spreads.items())
        for token in (read(lines[line]).tokens[number],)
        for limit in (allowed(token, replace(token, text=token.text + "1"), spread),)
        if limit.absolute == SPREADS * spread > 0
    ]
    if wider:
        yield (
            f"numbers more precisely than {SPREADS:g} times the original's differences in other orders of its "
            f"threads{of}: line {', '.join(wider[:8])}" + (" …" if len(wider) > 8 else "")
        )
    tokens = [t for line in lines for t in read(line).tokens if t.kind == "number"]
    if any(not t.is_whole for t in tokens):
        yield (
            f"decimal numbers{of} more precisely than by {RELATIVE:g} of them (on a GPU {RELATIVE_ON_GPU:g}), or by "
            f"their last digit; {LEFT_OVER:g} in lines that tell an error"
        )
    if varying.moved:
        yield (
            f"the order of {sum(map(len, varying.moved))} lines{of} among those beside them: the original prints them "
            "in others, too"
        )


def _numbered(lines: Sequence[int]) -> str:
    return ", ".join(str(line + 1) for line in lines[:8]) + (" …" if len(lines) > 8 else "")
