# SPDX-License-Identifier: Apache-2.0
"""Results of running an original and its port: values, and conclusions from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from hipport.core.finding import Certainty
from hipport.engine.outcomes import Outcome as Applied
from hipport.engine.outcomes import Ported, Reported
from hipport.verifying.amd_gpus import Hardware


@dataclass(frozen=True)
class Configuration:
    """A way to run: `side` is `original` or `ported`, `lanes` the wavefront size, `order` that of threads and blocks.

    `side` is `gpu` for the port on this machine's GPUs; then `order` has their architectures.
    """

    side: str
    lanes: int
    order: str = "forward"

    def __str__(self) -> str:
        return f"{self.side}@{self.lanes} {self.order}"


@dataclass(frozen=True)
class Fault:
    """A fault that the executor found, at the line that the user wrote. `level` is `fault` or `warning`.

    `path` is relative to the tree, or absolute for a file outside it; `line` is 0 if there is no place. `block` and
    `thread` are indices (x, y, z) in the kernel; empty if the fault concerns none.
    """

    kind: str
    message: str
    path: PurePath
    line: int
    kernel: str = ""
    level: str = "fault"
    block: tuple[int, ...] = ()
    thread: tuple[int, ...] = ()

    @staticmethod
    def read(values: Mapping[str, Any], path: PurePath, line: int) -> Fault:
        """Read a fault from the `values` in the executor's report."""
        return Fault(
            values.get("kind", "fault"),
            values.get("message", ""),
            path,
            line,
            values.get("kernel", ""),
            values.get("level", "fault"),
            tuple(values.get("block", ())),
            tuple(values.get("thread", ())),
        )

    @property
    def rule(self) -> str:
        """The text in brackets after the message, as for the findings of passes."""
        return f"simt/{self.kind}"


@dataclass(frozen=True)
class Tolerance:
    """By how much values may differ, and why: by `relative` times the expected value, plus `absolute`.

    `count` values differ within it, by at most `error`, which is `error_relative` of the expected value, at `where`.
    `warning` says what is wrong with it: it is wider than the precision of the values' type justifies.
    """

    origin: str
    relative: float
    absolute: float
    count: int = 0
    error: float = 0.0
    error_relative: float = 0.0
    where: tuple[int, ...] | None = None
    warning: str = ""

    @staticmethod
    def read(values: Mapping[str, Any]) -> Tolerance:
        """Read a tolerance from the result of comparing arrays."""
        return Tolerance(
            values["origin"],
            float(values["relative"]),
            float(values["absolute"]),
            values["count"],
            float(values["error"]),
            float(values["error_relative"]),
            tuple(values["where"]),
            values["warning"],
        )


@dataclass(frozen=True)
class Difference:
    """The difference of an output from its expected value.

    `against` is `original`, `reference`, `recorded` or `differences` (finite ones, for gradients). `why` is empty if it
    is within the tolerance. `absolute` and `relative` are the largest errors; `where` is the element with the largest
    error, among those beyond the tolerance if there are any, with its `output` and `expected` value; `count` of `size`
    elements are beyond it. `trusted` is false if the expected value itself is known to be wrong. `tolerances` are those
    within which values differ; if some are beyond, the one that is exceeded.
    """

    against: str
    why: str
    absolute: float
    relative: float
    where: tuple[int, ...] | None
    count: int
    size: int
    output: str = ""
    expected: str = ""
    trusted: bool = True
    tolerances: tuple[Tolerance, ...] = ()

    @staticmethod
    def read(against: str, values: Mapping[str, Any]) -> Difference:
        """Read a difference from the result of comparing arrays."""
        where = values.get("where")
        return Difference(
            against,
            values["why"],
            float(values["absolute"]),
            float(values["relative"]),
            tuple(where) if where is not None else None,
            values["count"],
            values["size"],
            values.get("output", ""),
            values.get("expected", ""),
            tolerances=(Tolerance.read(values["tolerance"]),) if "tolerance" in values else (),
        )

    @property
    def ok(self) -> bool:
        """Whether there is no difference, or no trusted value to compare with."""
        return not self.why or not self.trusted


@dataclass(frozen=True)
class Output:
    """One output of a case, and its differences from each value that it is compared with."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class CaseOutcome:
    """The result of one case in one configuration.

    `status` is `ok` (it ran to the end), `error` (Python raised), `fault` (the executor ended it), `crash`, or
    `timeout`; `message` gives details, such as the last output of a program with a non-zero status. `launches` is the
    number of kernel launches, if known.
    """

    case: str
    status: str
    message: str = ""
    seconds: float = 0.0
    faults: tuple[Fault, ...] = ()
    outputs: tuple[Output, ...] = ()
    launches: int | None = None

    @property
    def ok(self) -> bool:
        """Whether it ran, and its outputs are correct."""
        return self.status == "ok" and all(d.ok for output in self.outputs for d in output.differences)

    @property
    def ended_badly(self) -> bool:
        """Whether it is a program that ran to its end, but with a wrong exit status."""
        return any(each.name == "exit status" and not all(d.ok for d in each.differences) for each in self.outputs)

    @property
    def is_measure(self) -> bool:
        """Whether an original's outcome is a reference for a port: it ran to its end, and passes its own check.

        The same must hold for the run that it was compared with.
        """
        trusted = all(d.trusted for output in self.outputs for d in output.differences)
        return self.status in ("ok", "error") and trusted and not self.ended_badly


@dataclass(frozen=True)
class Ran:
    """All cases in one configuration."""

    configuration: Configuration
    outcomes: tuple[CaseOutcome, ...]

    @property
    def ok(self) -> bool:
        """Whether all cases are correct."""
        return all(outcome.ok for outcome in self.outcomes)


@dataclass(frozen=True)
class FirstDifference:
    """The first launch of a case after which the device's memory differs from the original's, bit for bit.

    Sums in another order differ in their last bits: the named kernel is the first to look at, but not always at fault.
    """

    case: str
    configuration: Configuration
    launch: int
    kernel: str
    path: PurePath
    line: int
    what: str


@dataclass(frozen=True)
class Verified:
    """The result of a verification. `not_checked` names what was left out, and why."""

    root: Path
    package: str
    ran: tuple[Ran, ...]
    not_checked: tuple[str, ...]
    first_differences: tuple[FirstDifference, ...] = ()
    #: Seconds spent on compiling units; cached results do not count.
    compiled: Mapping[str, float] = field(default_factory=dict)
    #: Findings in the port that a person has to see: changes with an assumption, and places that were not changed.
    for_a_person: tuple[Reported, ...] = ()
    #: The source of the original, if it is not the present tree.
    original: str = ""

    @property
    def left(self) -> tuple[Reported, ...]:
        """The findings of the port that are left to a person. The executor may support what HIP lacks, and run them."""
        return tuple(each for each in self.for_a_person if not _changed(each))

    @property
    def assumed(self) -> tuple[Reported, ...]:
        """The findings of the port that are correct only under an assumption."""
        return tuple(each for each in self.for_a_person if _changed(each))

    @property
    def without_reference(self) -> tuple[str, ...]:
        """The cases without a reference: the original is unsuitable, and there is no other one.

        It does not end, or fails its own check, so a port that passes that check differs from it.
        """
        known: dict[str, bool] = {}
        for ran in self.ran:
            for outcome in ran.outcomes:
                original = ran.configuration.side == "original" and outcome.is_measure
                against = {difference.against for output in outcome.outputs for difference in output.differences}
                other = bool(against - {"original", "differences"})
                known[outcome.case] = known.get(outcome.case, False) or original or other
        return tuple(case for case, is_known in known.items() if not is_known)

    def why_no_measure(self, case: str) -> str:
        """Return why the original of a case is not a reference: what it does."""
        original = [each for configuration, each in self.outcomes(case) if configuration.side == "original"]
        if any(each.ended_badly for each in original):
            return "fails its own check"
        # It ran to its end each time.
        races = all(each.faults and all(fault.level == "warning" for fault in each.faults) for each in original)
        return "has races" if races else "does not end"

    @property
    def depends_on_order(self) -> Mapping[str, tuple[str, ...]]:
        """The cases in which the original differs from itself in other orders of its threads, with these orders.

        Its results are then no reference: there is a race, or a sum whose rounding exceeds the tolerance.
        """
        found: dict[str, list[str]] = {}
        first: dict[str, str] = {}
        for ran in self.ran:
            if ran.configuration.side != "original":
                continue
            for outcome in ran.outcomes:
                first.setdefault(outcome.case, ran.configuration.order)
                compared = (each for output in outcome.outputs for each in output.differences)
                if any(each.against == "original" and each.trusted and not each.ok for each in compared):
                    found.setdefault(outcome.case, []).append(ran.configuration.order)
        # If the first order, the reference of the others, is wrong, another check reports it.
        return {case: tuple(orders) for case, orders in found.items() if first[case] not in orders}

    @property
    def ok(self) -> bool:
        """Whether the port, or the original if nothing was ported, is correct in all configurations.

        A case without a reference is not known to be correct.
        """
        sides = {each.configuration.side for each in self.ran}
        judged = {"ported", "gpu"} if "ported" in sides else {"original"}
        right = all(each.ok for each in self.ran if each.configuration.side in judged)
        return bool(self.ran) and right and not self.without_reference

    def outcomes(self, case: str) -> tuple[tuple[Configuration, CaseOutcome], ...]:
        """Return the outcomes of a case, configuration by configuration."""
        return tuple(
            (each.configuration, outcome) for each in self.ran for outcome in each.outcomes if outcome.case == case
        )


@dataclass(frozen=True)
class Mutant:
    """The original, or the port with one deliberate error: `noticed` are the cases that fail, `passed` the others.

    `why_not` says why it was not run: it does not compile. `changes` says, for one that is not noticed, where its
    output differs from the port's; empty if it is the same here, bit for bit.
    """

    what: str
    path: PurePath
    line: int
    noticed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    why_not: str = ""
    changes: str = ""


@dataclass(frozen=True)
class MutationScore:
    """The mutants, and whether the cases notice them."""

    mutants: tuple[Mutant, ...]
    #: The source of the original, if it is not the present tree.
    original: str = ""

    @property
    def weak(self) -> tuple[str, ...]:
        """The cases that notice no mutant."""
        cases = {case for mutant in self.mutants for case in (*mutant.noticed, *mutant.passed)}
        return tuple(sorted(cases - {case for mutant in self.mutants for case in mutant.noticed}))

    @property
    def unnoticed(self) -> tuple[Mutant, ...]:
        """The mutants that no case notices."""
        return tuple(mutant for mutant in self.mutants if not mutant.noticed and not mutant.why_not)

    @property
    def noticed(self) -> tuple[Mutant, ...]:
        """The mutants that a case notices."""
        return tuple(mutant for mutant in self.mutants if mutant.noticed)

    @property
    def missed(self) -> tuple[Mutant, ...]:
        """The mutants that no case notices, although their output differs from the port's."""
        return tuple(mutant for mutant in self.unnoticed if mutant.changes)


def for_a_person(ported: Ported | None) -> tuple[Reported, ...]:
    """Return the findings that passes left to a person or assumed, without duplicates; empty if nothing was ported."""
    found: dict[tuple[PurePath, int, str], Reported] = {}
    for each in ported.reported if ported is not None else ():
        if each.needs_person:
            found.setdefault((each.path, each.line, each.message), each)
    return tuple(found.values())


def _changed(reported: Reported) -> bool:
    return reported.outcome is Applied.APPLIED


def not_on_gpu(gpu: Hardware | str) -> Iterator[str]:
    """Say what is unknown because the port did not run on `gpu`, and why it did not."""
    if isinstance(gpu, str):
        yield "the machine code that hipcc generates: the executor runs the port's sources instead"
        yield f"the port on an AMD GPU: {gpu}"
    else:
        yield f"the port on other GPUs than {gpu}"


#: The maximum number of the original's assumed edits to show one by one.
_SHOWN = 4


def sides_of_host(reported: Iterable[Reported]) -> Iterator[str]:
    """Say where the host runs code that the program has for the device: the executor compiles one side for both."""
    places = sorted({(each.path, each.line) for each in reported if each.rule == "sides/left"})
    if places:
        shown = ", ".join(f"{path}:{line}" for path, line in places[:_SHOWN])
        more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        yield f"the host's side of conditions on __CUDA_ARCH__, where the device's side is used: {shown}{more}"


def edited_original(edited: Iterable[Reported]) -> Iterator[str]:
    """Say where the original is not what the user wrote, because the executor could not compile that.

    `edited` are the changes of passes that run before the executor's own. The port has the same changes, so an error in
    them affects both sides, and the comparison cannot find it.
    """
    edits = sorted(set(edited), key=lambda each: (each.path, each.span))
    if not edits:
        return
    counts = Counter(each.rule.partition("/")[0] for each in edits)
    by_pass = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    many = len(edits) > 1
    yield (
        f"the original as it is written: the executor ran it with {len(edits)} place{'s' * many} changed as in the "
        f"port ({by_pass})"
    )
    assumed = [each for each in edits if each.certainty is Certainty.REVIEW]
    for each in assumed[:_SHOWN]:
        yield (
            f"the assumption of one of these, which holds for original and port alike: {each.path}:{each.line}: "
            f"{each.message}"
        )
    if len(assumed) > _SHOWN:
        yield f"the assumptions of {len(assumed) - _SHOWN} more of these; `hipport rewrite --check` lists them"
