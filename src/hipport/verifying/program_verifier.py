# SPDX-License-Identifier: Apache-2.0
"""Run a whole program and its port on the CPU, in every configuration, and compare their output.

Such a program has its own self-check: its output and its exit status. The original with CUDA's 32 lanes is the
reference. It runs twice, so that output that differs between its runs (times) is known and not compared.

Runs the program, in child processes with limits.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from hipport.building.dry_runs import sources_elsewhere
from hipport.engine.outcomes import Ported
from hipport.executor import compile as compiling
from hipport.executor.compilers import NoCompiler, has_volatile
from hipport.executor.messages import NotCompiled, left_to_a_person
from hipport.program.included import own_files
from hipport.verifying import amd_gpus
from hipport.verifying.amd_gpus import Hardware
from hipport.verifying.execution import ORDERS, WAVES, Execution, Matrix
from hipport.verifying.mutants import mutations
from hipport.verifying.printed_output import Measure
from hipport.verifying.program_runs import ProgramRun, Runner
from hipport.verifying.results import (
    CaseOutcome,
    Configuration,
    FirstDifference,
    Mutant,
    MutationScore,
    Ran,
    Verified,
    edited_original,
    for_a_person,
    sides_of_host,
)
from hipport.verifying.traces import first_changed


@dataclass(frozen=True)
class ProgramToRun:
    """The files and folders of a program, and how it is run: with `arguments`, in `folder`.

    `exclude` is as for discovery.discover, `flags` and `sanitize` are as for compile.CompileOptions.
    """

    paths: Sequence[Path]
    arguments: Sequence[str] = ()
    folder: Path | None = None
    exclude: Sequence[str] = ()
    flags: Sequence[str] = ()
    sanitize: Sequence[str] = ()

    def places(self, env: Mapping[str, str]) -> list[Path]:
        """Return its places; if a folder's Makefile compiles sources of other folders, including these."""
        places = [path.resolve() for path in self.paths]
        elsewhere = [source for place in places if place.is_dir() for source in sources_elsewhere(place, env, tuple)]
        return list(dict.fromkeys([*places, *elsewhere]))


class _Sides:
    """Compiles and runs a program and its ports."""

    def __init__(self, what: ProgramToRun, how: Execution) -> None:
        self.what = what
        self.how = how
        limits, env = how.limits, how.env
        if "address" in what.sanitize and limits.memory:
            # The shadow memory takes terabytes of address space, so the resident memory is limited instead.
            most = f"hard_rss_limit_mb={limits.memory >> 20}"
            env = {**env, "ASAN_OPTIONS": ":".join(filter(None, (most, env.get("ASAN_OPTIONS"))))}
            limits = replace(limits, memory=0)
        self.env = env
        self.places = what.places(env)
        self.root = self.places[0] if self.places[0].is_dir() else self.places[0].parent
        folder = what.folder or Path.cwd()
        self.name = " ".join([os.path.relpath(self.places[0], folder), *what.arguments])
        self.runner = Runner(env, folder, self.root, what.arguments, limits)
        self.options = compiling.CompileOptions(env, flags=tuple(what.flags), sanitize=tuple(what.sanitize))

    def original(self, sanitize: Sequence[str] | None = None, *, indices: bool = False) -> compiling.Executable:
        """Compile the original. With `indices`, array indices are checked; a wrong one is wrong in the port, too."""
        passes = self.how.knowledge.before_executor
        options = replace(self.options, indices=indices, passes=passes)
        if sanitize is not None:
            options = replace(options, sanitize=tuple(sanitize))
        vendored = self.how.knowledge.vendored
        return compiling.program(self.places, "cuda", options, vendored=vendored, exclude=self.what.exclude)

    def ported(self, ported: Ported) -> compiling.Executable:
        """Compile a port."""
        vendored = self.how.knowledge.vendored
        return compiling.program(
            ported, "hip", self.options, given=self.places, vendored=vendored, exclude=self.what.exclude
        )

    def around(self, original: compiling.Executable) -> list[Path]:
        """Return the given paths, and the files that the program includes from elsewhere: these are ported, too.

        Third-party libraries are not, as in a folder that contains them.
        """
        prepared = original.prepared
        files = [prepared.base / each.path for each in prepared.sources.values()]
        outside = [f for f in files if f.is_file() and not any(f.is_relative_to(place) for place in self.places)]
        return [*self.places, *own_files(outside, self.how.knowledge.vendored)]


def program(
    what: ProgramToRun,
    how: Execution,
    *,
    port: Callable[[Sequence[Path]], Ported] | None = None,
    matrix: Matrix | None = None,
) -> Verified:
    """Verify a program: the original with 32 lanes, and its port in each configuration of `matrix`.

    `port` ports paths; without one only the original runs. Raises messages.NotCompiled,
    compilers.NoCompiler, discovery.NotFound.
    """
    sides, matrix = _Sides(what, how), matrix or Matrix()
    how.tell("compiling the original", 0, 2)
    built = {"original": sides.original(indices=not what.sanitize)}
    ported = None
    if port is not None:
        how.tell("compiling the port", 1, 2)
        ported = port(sides.around(built["original"]))
        try:
            built["ported"] = sides.ported(ported)
        except NotCompiled as problem:
            problem.of, problem.left = "the port", left_to_a_person(problem.messages, ported.reported)
            raise
    configurations = list(matrix.configurations(ported=ported is not None))
    again, runs = _all_run(sides, built, configurations)
    first = runs[0]
    originals = [each for c, each in zip(configurations, runs, strict=True) if c.side == "original"]
    measure = Measure.of(first, again, originals[1:])
    outcomes = [measure.outcome(sides.name, each, c.side) for c, each in zip(configurations, runs, strict=True)]
    _explain_by_races(sides, built["original"], configurations, outcomes)
    found = _first_difference(sides, built, configurations, outcomes)
    results = [Ran(configuration, (o,)) for configuration, o in zip(configurations, outcomes, strict=True)]
    gpu = matrix.gpu
    if ported is not None and isinstance(gpu, Hardware):
        there = _on_gpu(sides, ported, gpu, measure)
        if isinstance(there, str):
            gpu = there
        else:
            results.append(there)
    prepared = built["original"].prepared
    return Verified(
        sides.root,
        built["original"].path.name,
        tuple(results),
        (
            *measure.left_out(port is not None, gpu),
            *edited_original(prepared.edited),
            *sides_of_host(prepared.reported),
        ),
        found,
        {f"{side}: {u.path}": u.seconds for side, b in built.items() for u in b.units if not u.cached},
        for_a_person(ported),
    )


def _all_run(
    sides: _Sides, built: Mapping[str, compiling.Executable], configurations: Sequence[Configuration]
) -> tuple[ProgramRun, list[ProgramRun]]:
    """Run every configuration, the first one again on another device if it ends the same there (returned first)."""
    done = 0

    def ran(configuration: Configuration, other_device: bool = False) -> ProgramRun:
        nonlocal done
        result = sides.runner.run(built[configuration.side].path, configuration, other_device=other_device)
        done += 1
        sides.how.tell("running", done, len(configurations) + 1)
        return result

    with ThreadPoolExecutor(max(1, sides.how.jobs)) as pool:
        other, *rest = [pool.submit(ran, configurations[0], True), *(pool.submit(ran, c) for c in configurations)]
        again, runs = other.result(), [each.result() for each in rest]
    if again.status != runs[0].status:
        # It behaves differently there, so output that depends on the device cannot be found in this way.
        again = ran(configurations[0])
    return again, runs


def _explain_by_races(
    sides: _Sides,
    original: compiling.Executable,
    configurations: Sequence[Configuration],
    outcomes: list[CaseOutcome],
) -> None:
    """Look for races if the original differs from itself for no known reason, and add them to its outcome."""
    unexplained = [
        index
        for index, (c, o) in enumerate(zip(configurations, outcomes, strict=True))
        if c.side == "original" and o.status == "ok" and not o.ok and not o.faults
    ]
    # Code that relies on lockstep races by the executor's criteria.
    if not unexplained or sides.what.sanitize or has_volatile(original.prepared):
        return
    sides.how.tell("looking for races in the original", 0, 1)
    failed = unexplained[0]
    with contextlib.suppress(NotCompiled, NoCompiler):
        racing = sides.original(("thread",))
        seen = sides.runner.run(racing.path, configurations[failed])
        why = tuple(fault for fault in seen.faults if fault.level == "warning")
        outcomes[failed] = replace(outcomes[failed], faults=why)


def _first_difference(
    sides: _Sides,
    built: Mapping[str, compiling.Executable],
    configurations: Sequence[Configuration],
    outcomes: Sequence[CaseOutcome],
) -> tuple[FirstDifference, ...]:
    """Run the original and a differing port once more, and compare the contents of memory after each launch."""
    pairs = zip(configurations, outcomes, strict=True)
    differing = next((c for c, o in pairs if c.side == "ported" and o.status == "ok" and not o.ok), None)
    if differing is None:
        return ()
    sides.how.tell("looking for the first kernel that differs", 0, 1)
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        both = (configurations[0], differing)
        traces = [Path(scratch, each.side) for each in both]
        for each, trace in zip(both, traces, strict=True):
            sides.runner.run(built[each.side].path, each, trace)
        changed = first_changed(*traces)
    if changed is None:
        return ()
    number, launch, what = changed
    path = Path(os.path.normpath(launch["file"]))
    where = PurePath(path.relative_to(sides.root) if path.is_relative_to(sides.root) else path)
    return (FirstDifference(sides.name, differing, number, launch["kernel"], where, launch["line"], what),)


def _on_gpu(sides: _Sides, ported: Ported, gpu: Hardware, measure: Measure) -> Ran | str:
    """Run the port on this machine's GPU; a text says why that is not done."""
    sides.how.tell("running the port on the GPU", 0, 1)
    there = Configuration("gpu", gpu.lanes, ",".join(gpu.archs))
    try:
        made = amd_gpus.program(ported, sides.places, gpu, env=sides.env, translate=sides.how.knowledge.translate)
    except amd_gpus.NotLinked as problem:
        return f"how to link it is not known: {problem}"
    except amd_gpus.NotBuiltForGpu as problem:
        return Ran(there, (CaseOutcome(sides.name, "error", f"hipcc does not compile the port: {problem}"),))
    # A process that uses a GPU maps its memory into the address space.
    wide = replace(sides.runner, limits=replace(sides.runner.limits, memory=0))
    return Ran(there, (measure.outcome(sides.name, wide.run(made, there), there.side),))


def mutation_score(
    what: ProgramToRun,
    how: Execution,
    *,
    port: Callable[[Sequence[Path]], Ported],
    most: int = 8,
    orders: Sequence[str] = ORDERS,
) -> MutationScore:
    """Say whether a program's own check notices the original with 64 lanes, and ports with one deliberate error.

    Parameters and exceptions are those of `program`; `most` is the number of mutants. Each runs in the configurations
    of the port, until something differs. One that is not noticed is compared with the port bit for bit.
    """
    sides = _Sides(what, how)
    how.tell("compiling the original", 0, most + 1)
    built = {"original": sides.original()}
    originals = [Configuration("original", 32, order) for order in orders]
    again, (first, *others) = _all_run(sides, built, originals)
    measure = Measure.of(first, again, others)
    ported = port(sides.around(built["original"]))
    right = sides.ported(ported).path
    configurations = [Configuration("ported", lanes, order) for lanes in WAVES for order in orders]
    runs: dict[Configuration, ProgramRun] = {}

    def unbroken(configuration: Configuration) -> ProgramRun:
        if configuration not in runs:
            runs[configuration] = sides.runner.run(right, configuration)
        return runs[configuration]

    def mutant(what: str, where: PurePath, line: int, path: Path, places: Sequence[Configuration]) -> Mutant:
        changes = ""
        for place in places:
            ran = sides.runner.run(path, place)
            if not measure.outcome(sides.name, ran).ok:
                return Mutant(what, where, line, noticed=(sides.name,))
            if place.side == "ported" and not changes and (text := measure.changed(ran, unbroken(place))):
                changes = f"{text} at {place}"
        if not changes and places[0].side == "ported":
            changes = _memory_changed(sides, right, path, places)
        return Mutant(what, where, line, passed=(sides.name,), changes=changes)

    wide = [Configuration("original", 64)]
    mutants = [mutant("the original, with 64 lanes", PurePath(), 0, built["original"].path, wide)]
    for number, (wrong, changed, where, line) in enumerate(mutations(ported, sides.root, most), 1):
        how.tell("running ports that were broken on purpose", number, most + 1)
        try:
            path = sides.ported(changed).path
        except NotCompiled as problem:
            mutants.append(Mutant(wrong, where, line, why_not=str(problem).splitlines()[0]))
            continue
        mutants.append(mutant(wrong, where, line, path, configurations))
    return MutationScore(tuple(mutants))


def _memory_changed(sides: _Sides, right: Path, broken: Path, places: Sequence[Configuration]) -> str:
    """Say where a mutant leaves other contents of memory than the port; empty if nowhere.

    Memory that depends on the order of threads is ignored, because the mutation may affect only that order.
    """
    place, *others = places
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:

        def trace(path: Path, place: Configuration) -> Path:
            left = Path(scratch, f"{path.name}-{path == right}-{place}")
            sides.runner.run(path, place, left)
            return left

        here = trace(right, place)
        changed = first_changed(here, trace(broken, place))
        if changed is None:
            return ""
        number, launch, what = changed
        by_order = (first_changed(here, trace(right, each)) for each in others if each.lanes == place.lanes)
        if any(each is not None and each[0] <= number for each in by_order):
            return ""
    return f"after launch {number} ({launch['kernel']}) {what} at {place}"
