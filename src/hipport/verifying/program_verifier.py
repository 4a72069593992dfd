# SPDX-License-Identifier: Apache-2.0
"""Run a whole program and its port on the CPU, in every configuration, and compare what they print.

Such a program has a self-check of its own: what it prints, and its exit status. The original with CUDA's 32 lanes is
the reference. It runs twice, so that what differs from run to run of it (times) is known and is not compared.

Runs the program, in child processes with limits.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import math
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from hipport.building.dry_runs import sources_elsewhere
from hipport.building.units import Translate
from hipport.core import reading
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import Pass, Progress
from hipport.executor import compile as compiling
from hipport.executor import run_time_compiler
from hipport.executor.compilers import NoCompiler, has_volatile
from hipport.executor.messages import NotCompiled, left_to_a_person
from hipport.program.included import own_files
from hipport.toolchain import toolchains
from hipport.toolchain.processes import Box, supervise
from hipport.verifying import amd_gpus
from hipport.verifying.amd_gpus import Hardware
from hipport.verifying.extension_verifier import ORDERS, WAVES, Limits
from hipport.verifying.mutants import mutations
from hipport.verifying.results import (
    Configuration,
    Difference,
    Fault,
    FirstDifference,
    Mutant,
    Outcome,
    Output,
    Ran,
    Teeth,
    Verified,
    edited_original,
    for_a_person,
    not_on_gpu,
    sides_of_host,
)
from hipport.verifying.traces import first_changed

#: What a number may differ by that a program prints: sums in another order, rounded to what is shown.
RELATIVE, ABSOLUTE = 1e-3, 1e-6
#: And how many times as much as the original's differs from itself in other orders of its threads. A few orders show
#: a part of what a sum can be, and the port's wavefronts add in orders of their own.
SPREADS = 4.0
# A line that tells how many lanes the device's wavefronts have.
_WARP_SIZE = re.compile(
    r"\b(?:warp|wave(?:front)?)[ _-]?sizes?\b|\b(?:lanes|threads)\b.*\bper (?:warp|wave)", re.IGNORECASE
)
# What a port prints where the original asks for the name of an error.
_HIP_NAME = re.compile(r"\bhip(?=(?:Error|Success))")
#: Seconds that a program which was told to end has for saying where it was.
_GRACE = 30.0

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|[-+]?\b(?:nan|inf)\b", re.ASCII)
# Lines that tell how long something took are about the machine. (`in 3 s`, `12.5 GB/s`, `Kernel time:` …)
_TIMES = re.compile(
    r"\b(?:time|elapsed|seconds?|secs?|msec|usec|latency|bandwidth|throughput|speed-?up|[KMGT]?i?B/s|[KMGT]?FLOPS?"
    r"(?:/s)?|[KMGT]?flops?|fps)\b|\d\s*(?:ms|us|ns|µs|s)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Run:
    """What one run of a program did. `status` is None where it was ended for taking too long."""

    status: int | None
    lines: tuple[str, ...]
    errors: str
    seconds: float
    faults: tuple[Fault, ...]


def program(
    paths: Sequence[Path],
    arguments: Sequence[str] = (),
    *,
    env: Mapping[str, str],
    port: Callable[[Sequence[Path]], Ported] | None = None,
    waves: Sequence[int] = WAVES,
    orders: Sequence[str] = ORDERS,
    passes: Sequence[Pass[Any]] = (),
    vendored: Mapping[str, tuple[str, ...]] | None = None,
    exclude: Sequence[str] = (),
    flags: Sequence[str] = (),
    sanitize: Sequence[str] = (),
    folder: Path | None = None,
    limits: Limits | None = None,
    jobs: int = 1,
    gpu: Hardware | str = "it was not asked for",
    translate: Translate = tuple,
    on_progress: Callable[[Progress], None] | None = None,
) -> Verified:
    """Verify the program that the files and folders `paths` make up, run with `arguments` in `folder`.

    `port` makes the port of `paths`; without one only the original runs. `passes` are run on the original before the
    executor's own: what makes C++ of inline PTX. `flags` and `sanitize` are as for compile.Options, `limits` for one
    run, `jobs` the runs at once. The port also runs on `gpu`, or that says why not; `translate` turns nvcc's arguments
    in Makefiles into hipcc's. Raises compile.NotCompiled, compile.NoCompiler, discover.NotFound.
    """
    limits = limits or Limits()
    if "address" in sanitize and limits.memory:
        # Its map of what may be accessed is terabytes of address space: what counts is what is in use.
        most = f"hard_rss_limit_mb={limits.memory >> 20}"
        env = {**env, "ASAN_OPTIONS": ":".join(filter(None, (most, env.get("ASAN_OPTIONS"))))}
        limits = replace(limits, memory=0)
    places = _places(paths, env)
    root = places[0] if places[0].is_dir() else places[0].parent
    # What is wrong with an index is so in the port, too.
    options = compiling.Options(
        env, flags=tuple(flags), sanitize=tuple(sanitize), indices=not sanitize, passes=tuple(passes)
    )
    configurations = [Configuration("original", 32, order) for order in orders]
    tell = on_progress or (lambda progress: None)
    tell(Progress("compiling the original", 0, 2))
    built = {"original": compiling.program(places, "cuda", options, vendored=vendored, exclude=exclude)}
    ported = None
    if port is not None:
        tell(Progress("compiling the port", 1, 2))
        ported = port([*places, *_included(built["original"], places, vendored or {})])
        own = compiling.Options(env, flags=tuple(flags), sanitize=tuple(sanitize))
        try:
            built["ported"] = compiling.program(ported, "hip", own, given=places, vendored=vendored, exclude=exclude)
        except NotCompiled as problem:
            problem.of, problem.left = "the port", left_to_a_person(problem.messages, ported.reported)
            raise
        configurations += [Configuration("ported", lanes, order) for lanes in waves for order in orders]

    done = 0

    def ran(configuration: Configuration, other_device: bool = False) -> Run:
        nonlocal done
        side = built[configuration.side]
        result = run(
            side.path, arguments, configuration, env, folder or Path.cwd(), limits, root, other_device=other_device
        )
        done += 1
        tell(Progress("running", done, len(configurations) + 1))
        return result

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        other, *rest = [pool.submit(ran, configurations[0], True), *(pool.submit(ran, c) for c in configurations)]
        again, runs = other.result(), [each.result() for each in rest]
    first = runs[0]
    if again.status != first.status:
        # It does something else there: what is about the device alone cannot be told so.
        again = ran(configurations[0])
    name = " ".join([os.path.relpath(places[0], folder or Path.cwd()), *arguments])
    varying = _varying(first, again)
    originals = [each for c, each in zip(configurations, runs, strict=True) if c.side == "original"]
    spread = replace(varying, spreads=_spreads(first, originals[1:], varying))
    outcomes = [
        # By what it differs from itself, the original is not judged.
        _outcome(name, each, first, varying if c.side == "original" else spread, index)
        for index, (c, each) in enumerate(zip(configurations, runs, strict=True))
    ]
    unexplained = [
        index
        for index, (c, o) in enumerate(zip(configurations, outcomes, strict=True))
        if c.side == "original" and o.status == "ok" and not o.ok and not o.faults
    ]
    # Code that counts on lanes in step has races by what they look for.
    if unexplained and not sanitize and not has_volatile(built["original"].prepared):
        tell(Progress("looking for races in the original", 0, 1))
        failed = unexplained[0]
        with contextlib.suppress(NotCompiled, NoCompiler):
            racing = compiling.program(
                places,
                "cuda",
                replace(options, sanitize=("thread",), indices=False),
                vendored=vendored,
                exclude=exclude,
            )
            seen = run(racing.path, arguments, configurations[failed], env, folder or Path.cwd(), limits, root)
            why = tuple(fault for fault in seen.faults if fault.level == "warning")
            outcomes[failed] = replace(outcomes[failed], faults=why)
    differs = [
        c for c, o in zip(configurations, outcomes, strict=True) if c.side == "ported" and o.status == "ok" and not o.ok
    ]
    found = []
    if differs:
        tell(Progress("looking for the first kernel that differs", 0, 1))
        found = _first_difference(
            name, (configurations[0], differs[0]), built, arguments, env, folder or Path.cwd(), limits, root
        )
    results = [Ran(configuration, (o,)) for configuration, o in zip(configurations, outcomes, strict=True)]
    if ported is not None and isinstance(gpu, Hardware):
        tell(Progress("running the port on the GPU", 0, 1))
        there = Configuration("gpu", gpu.lanes, ",".join(gpu.archs))
        try:
            made = amd_gpus.program(ported, places, gpu, env=env, translate=translate)
        except amd_gpus.NotLinked as problem:
            gpu = f"how it is linked is not known: {problem}"
        except amd_gpus.NotBuilt as problem:
            results.append(Ran(there, (Outcome(name, "error", f"hipcc does not compile the port: {problem}"),)))
        else:
            # A GPU's memory and more is mapped into a process that uses it.
            wide = replace(limits, memory=0)
            seen = run(made, arguments, there, env, folder or Path.cwd(), wide, root)
            results.append(Ran(there, (_outcome(name, seen, first, spread, len(results)),)))
    prepared = built["original"].prepared
    return Verified(
        root,
        built["original"].path.name,
        tuple(results),
        (
            *_left_out(port is not None, gpu, first, spread),
            *edited_original(prepared.edited),
            *sides_of_host(prepared.reported),
        ),
        tuple(found),
        {f"{side}: {u.path}": u.seconds for side, b in built.items() for u in b.units if not u.cached},
        for_a_person(ported),
    )


def _places(paths: Sequence[Path], env: Mapping[str, str]) -> list[Path]:
    """Return where the program is: with a folder whose Makefile compiles sources of other folders, these too."""
    places = [path.resolve() for path in paths]
    elsewhere = [source for place in places if place.is_dir() for source in sources_elsewhere(place, env, tuple)]
    return list(dict.fromkeys([*places, *elsewhere]))


def _first_difference(
    name: str,
    configurations: tuple[Configuration, Configuration],
    built: Mapping[str, compiling.Executable],
    arguments: Sequence[str],
    env: Mapping[str, str],
    folder: Path,
    limits: Limits,
    root: Path,
) -> list[FirstDifference]:
    """Run the original and a port that differs from it once more, and compare what memory holds after each launch."""
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        traces = [Path(scratch, each.side) for each in configurations]
        for each, trace in zip(configurations, traces, strict=True):
            run(built[each.side].path, arguments, each, env, folder, limits, root, trace)
        changed = first_changed(*traces)
    if changed is None:
        return []
    number, launch, what = changed
    path = Path(os.path.normpath(launch["file"]))
    where = PurePath(path.relative_to(root) if path.is_relative_to(root) else path)
    return [FirstDifference(name, configurations[1], number, launch["kernel"], where, launch["line"], what)]


def _included(
    original: compiling.Executable, places: Sequence[Path], vendored: Mapping[str, tuple[str, ...]]
) -> list[Path]:
    """Return what a program includes from elsewhere, beside what was given: the port is of this too.

    Third-party libraries stay as they are, as where a folder is ported that has them.
    """
    prepared = original.prepared
    files = [prepared.base / each.path for each in prepared.sources.values()]
    return own_files(
        [file for file in files if file.is_file() and not any(file.is_relative_to(place) for place in places)], vendored
    )


def teeth(
    paths: Sequence[Path],
    arguments: Sequence[str] = (),
    *,
    env: Mapping[str, str],
    port: Callable[[Sequence[Path]], Ported],
    most: int = 8,
    passes: Sequence[Pass[Any]] = (),
    vendored: Mapping[str, tuple[str, ...]] | None = None,
    exclude: Sequence[str] = (),
    folder: Path | None = None,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Teeth:
    """Say whether a program's own check notices the original with 64 lanes, and ports with one thing wrong.

    Parameters and exceptions are those of `program`; `most` is how many broken ports are made.
    """
    limits = limits or Limits()
    places = _places(paths, env)
    root = places[0] if places[0].is_dir() else places[0].parent
    tell = on_progress or (lambda progress: None)
    name = " ".join([os.path.relpath(places[0], folder or Path.cwd()), *arguments])
    tell(Progress("compiling the original", 0, most + 1))
    options = compiling.Options(env, passes=tuple(passes))
    built_original = compiling.program(places, "cuda", options, vendored=vendored, exclude=exclude)
    original = built_original.path

    def ran(path: Path, side: str, lanes: int) -> Run:
        return run(path, arguments, Configuration(side, lanes), env, folder or Path.cwd(), limits, root)

    first, again = ran(original, "original", 32), ran(original, "original", 32)
    varying = _varying(first, again)

    def mutant(what: str, where: PurePath, line: int, runs: Sequence[Run]) -> Mutant:
        noticed = any(not _outcome(name, each, first, varying, 1).ok for each in runs)
        return Mutant(what, where, line, (name,) if noticed else (), () if noticed else (name,))

    mutants = [mutant("the original, with 64 lanes", PurePath(), 0, [ran(original, "original", 64)])]
    ported = port([*places, *_included(built_original, places, vendored or {})])
    for number, (what, changed, where, line) in enumerate(mutations(ported, root, most), 1):
        tell(Progress("running ports with one thing wrong", number, most + 1))
        try:
            built = compiling.program(
                changed, "hip", compiling.Options(env), given=places, vendored=vendored, exclude=exclude
            ).path
        except NotCompiled as problem:
            mutants.append(Mutant(what, where, line, why_not=str(problem).splitlines()[0]))
            continue
        mutants.append(mutant(what, where, line, [ran(built, "ported", lanes) for lanes in WAVES]))
    return Teeth(tuple(mutants))


def run(
    path: Path,
    arguments: Sequence[str],
    configuration: Configuration,
    env: Mapping[str, str],
    folder: Path,
    limits: Limits,
    root: Path,
    trace: Path | None = None,
    other_device: bool = False,
) -> Run:
    """Run a program of the executor, or of hipcc, once, in `folder`.

    Places in faults are relative to `root` where they lie in it.

    With `trace`, a file, what memory of the device holds after each launch is left there. With `other_device` an
    original is told that its device has another capability, and more shared memory.
    """
    kept = {name: value for name, value in env.items() if not name.startswith("SIMT_")}
    if configuration.side != "gpu":
        kept |= {"SIMT_ORDER": configuration.order, "SIMT_WAVE": str(configuration.lanes)}
        kept |= run_time_compiler.variables(env, run_time_compiler.folder_for(root))
    if other_device:
        kept["SIMT_OTHER_DEVICE"] = "1"
    if configuration.side == "original" and configuration.lanes != 32:
        # CUDA has no such warps: this is what an unported source would meet.
        kept["SIMT_FORCE_WAVE"] = str(configuration.lanes)

    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        report = Path(scratch, "report")
        kept["SIMT_REPORT"] = str(report)
        if trace is not None:
            kept["SIMT_TRACE"] = str(trace)
        said, errors = Path(scratch, "stdout"), Path(scratch, "stderr")
        # Where it runs it may leave files, as it does for a person.
        write = [folder, Path(scratch), *([trace.parent] if trace is not None else [])]
        if configuration.side != "gpu":
            write.append(run_time_compiler.folder_for(root))
        box = Box(tuple(write), limits.memory, toolchains.cache(env))
        start = time.monotonic()
        with said.open("wb") as out, errors.open("wb") as err:
            # Files, not pipes: a program that prints without end is ended by its time, and its first lines are kept.
            # The original and its port go by one name, as some print it.
            named = [f"./{root.name or 'program'}", *arguments]
            status = supervise(
                named, folder, kept, limits.seconds, box, out, err, executable=str(path), grace=_GRACE
            )  # fmt: skip
        seconds = time.monotonic() - start
        wrong = _text(errors)
        return Run(status, _lines(said), wrong[-4000:], seconds, _faults(report, root) + _sanitizer_faults(wrong, root))


_SAID = 5  # lines of what a program that failed said that are shown
_MOST = 4_000_000  # bytes of output that are looked at


def _text(path: Path) -> str:
    return reading.beginning(path, _MOST).decode("utf-8", "replace")


def _lines(path: Path) -> tuple[str, ...]:
    return tuple(line.rstrip() for line in _text(path).splitlines())


@dataclass(frozen=True)
class Varying:
    """What of an output is about the run or the device. `places` are (line, number in it), or (line, -1) for all of it.

    `more` are the shapes of lines that another device has printed besides. `spreads` are the places of numbers by which
    the original differs from itself in other orders of its threads, and by how much at the most.
    """

    places: frozenset[tuple[int, int]] = frozenset()
    more: frozenset[str] = frozenset()
    spreads: Mapping[tuple[int, int], float] = field(default_factory=dict)


def _outcome(name: str, ran: Run, first: Run, ignored: Varying, index: int) -> Outcome:
    if ran.status is None:
        return Outcome(name, "timeout", f"did not end within {ran.seconds:.0f} s", ran.seconds, ran.faults)
    # Races are only looked for where that was asked for.
    if any(fault.level == "fault" or fault.kind == "race" for fault in ran.faults):
        return Outcome(name, "fault", "", ran.seconds, ran.faults)
    last = _last(ran) if ran.status else ""
    if ran.status < 0:
        text = f"signal {-ran.status}" + (f": {last.splitlines()[-1]}" if last else "")
        return Outcome(name, "crash", text, ran.seconds, ran.faults)
    # An original that fails its own check is nothing to compare with.
    trusted = first.status == 0
    status = _status(ran, first, trusted)
    printed = _printed(ran, first, ignored, trusted)
    outputs = [Output("exit status", "int", (), (status,))]
    if index != 0:
        outputs.append(Output("stdout", "text", (len(ran.lines),), (printed,)))
    return Outcome(name, "ok", last, ran.seconds, ran.faults, tuple(outputs))


def _last(ran: Run) -> str:
    """Return the last lines of what a program that failed said: why, if it says so anywhere."""
    said = [line.rstrip() for line in ran.errors.splitlines() if line.strip()]
    return "\n".join((said or [line for line in ran.lines if line.strip()])[-_SAID:])


def _status(ran: Run, first: Run, trusted: bool) -> Difference:
    why = ""
    if ran.status != 0:
        why = (
            "another exit status"
            if trusted
            else "fails its own check" + (", as the original does" if ran is not first else "")
        )
    return Difference("original", why, 0.0, 0.0, None, int(bool(why)), 1, str(ran.status), "0")


def _printed(ran: Run, first: Run, varying: Varying, trusted: bool) -> Difference:
    """Compare what was printed, line by line; where that differs, as sets of lines: threads print in any order."""
    found = _compared(ran.lines, first.lines, varying)
    if found[2] and varying.more:
        ran = replace(ran, lines=_without_more(ran.lines, first.lines, varying))
        found = _compared(ran.lines, first.lines, varying)
    if found[2] and sorted(_shapes(ran.lines)) == sorted(_shapes(first.lines)) and len(ran.lines) == len(first.lines):
        order = sorted(range(len(first.lines)), key=lambda i: _as_cuda(first.lines[i]))
        # Numbers that are nearly the same sort nearly the same.
        mine = tuple(sorted(ran.lines, key=_as_cuda))
        theirs = tuple(first.lines[i] for i in order)
        moved = {old: new for new, old in enumerate(order)}
        places = frozenset((moved[i], t) for i, t in varying.places if i in moved)
        spreads = {(moved[i], t): spread for (i, t), spread in varying.spreads.items()}
        again = _compared(mine, theirs, Varying(places, spreads=spreads))
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
            spread = SPREADS * varying.spreads.get((index, token), 0.0)
            if not error <= max(ABSOLUTE, RELATIVE * max(abs(u), abs(v)), spread):
                wrong.append(index)
                break
    return absolute, relative, wrong


def _as_cuda(line: str) -> str:
    """A line with CUDA's names of errors, which are HIP's in a port."""
    return _HIP_NAME.sub("cuda", line)


def _shape(line: str) -> str:
    """A line without its numbers."""
    return _NUMBER.sub("#", _as_cuda(line))


def _shapes(lines: Sequence[str]) -> list[str]:
    return [_shape(line) for line in lines]


def _varying(first: Run, again: Run) -> Varying:
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


def _spreads(first: Run, others: Sequence[Run], varying: Varying) -> Mapping[tuple[int, int], float]:
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


def _left_out(ported: bool, gpu: Hardware | str, first: Run, varying: Varying) -> Iterator[str]:
    yield from not_on_gpu(gpu)
    if not ported:
        yield "a port: none was given"
    lines = sorted({line for line, _ in varying.places})
    if lines:
        shown = ", ".join(str(line + 1) for line in lines[:8]) + (" …" if len(lines) > 8 else "")
        yield (
            f"{len(lines)} of {len(first.lines)} lines that it prints (times, or what differs from run to run): {shown}"
        )
    wider = {
        line: SPREADS * spread
        for (line, token), spread in sorted(varying.spreads.items())
        if SPREADS * spread > max(ABSOLUTE, RELATIVE * abs(float(_NUMBER.findall(first.lines[line])[token])))
    }
    if wider:
        shown = ", ".join(f"{line + 1} within {within:.2g}" for line, within in list(wider.items())[:8])
        yield (
            f"numbers to better than {SPREADS:g} times what the original's differ by in other orders of its threads: "
            f"line {shown}" + (" …" if len(wider) > 8 else "")
        )
    yield "other arguments than these" if first.status == 0 else "results: the original fails its own check here"
    yield "files that it writes"


def _faults(report: Path, root: Path) -> tuple[Fault, ...]:
    """Read what the executor found, at most a hundred things."""
    try:
        lines = reading.read(report).decode("utf-8", "replace").splitlines()[:100]
    except OSError:
        return ()
    found = []
    for line in lines:
        each = json.loads(line)
        path = _inside(each["file"], root) if each.get("file") else PurePath()
        found.append(Fault.read(each, path, each.get("line", 0)))
    return tuple(dict.fromkeys(found))


def _inside(path: str, root: Path) -> PurePath:
    place = Path(os.path.normpath(path))
    return PurePath(place.relative_to(root) if place.is_relative_to(root) else place)


# What the compilers' sanitizers print: https://github.com/google/sanitizers/wiki/AddressSanitizer and
# https://clang.llvm.org/docs/UndefinedBehaviorSanitizer.html; g++ prints the same.
_UNDEFINED = re.compile(r"^(/[^:\n]+):(\d+)(?::\d+)?: runtime error: (.+)$", re.M)
_ADDRESS = re.compile(r"^SUMMARY: AddressSanitizer: (\S+)(?: (/[^:\n]+):(\d+))?", re.M)
_ACCESS = re.compile(r"^(?:READ|WRITE) of size \d+", re.M)
_FRAME = re.compile(r"^ +#\d+ 0x\w+ in .+? (/[^:\n]+):(\d+)", re.M)


def _sanitizer_faults(errors: str, root: Path) -> tuple[Fault, ...]:
    """Read what a sanitizer printed: the address sanitizer's report at the innermost of its frames in the tree."""
    found = [
        Fault("undefined", said, _inside(path, root), int(line)) for path, line, said in _UNDEFINED.findall(errors)
    ]
    if (summary := _ADDRESS.search(errors)) is not None:
        kind, path, line = summary.groups()
        own = (each for each in _FRAME.findall(errors) if Path(each[0]).is_relative_to(root))
        path, line = next(own, (path, line))
        access = _ACCESS.search(errors)
        said = f"the address sanitizer: {kind}" + (f", {access[0].lower()}" if access else "")
        found.append(Fault("address", said, _inside(path, root) if path else PurePath(), int(line or 0)))
    return tuple(dict.fromkeys(found))
