# SPDX-License-Identifier: Apache-2.0
"""Compile every translation unit of extensions and programs with hipcc, for every target.

Each unit is compiled once for the host and once for each architecture, so that an error has its target; any number of
compilations run at once. Nothing is linked. Only the compiler's messages are kept, under a hash of all its input.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, TypeVar

from hipport.building.blocking_files import blocks, refuse_blocking
from hipport.building.compiler_messages import EmbeddedLines, Message, SourcePlaces, parse
from hipport.building.digests import Digests, keep_states, load_states
from hipport.building.just_in_time import JustInTime, just_in_time
from hipport.building.oracle import Oracle
from hipport.building.programs import programs
from hipport.building.proving import Prover, UnitProof, find_opt, judged_targets
from hipport.building.recorder import Recorder, check_torch, setup_script, setup_scripts
from hipport.building.session import BuildSession, Toolkit, build_session
from hipport.building.units import FoundUnits, NotBuilt, Unit
from hipport.core.placing import Refused, walk
from hipport.core.reading import read_or_nothing
from hipport.core.source import Source
from hipport.engine.knowledge import Knowledge
from hipport.engine.pipeline import Progress
from hipport.program.included import includes
from hipport.program.project import Project
from hipport.syntax.cpp import UNITS, Cpp
from hipport.syntax.file_languages import HEADERS
from hipport.toolchain.overlay import NoOverlay, overlay
from hipport.toolchain.processes import Box, run_contained
from hipport.toolchain.processors import processors
from hipport.toolchain.toolchains import Toolchain, cache, choose, find
from hipport.workspace.discovery import discover, left_by_tools, refuse_conflicts

HOST = "host"

# As PyTorch's extension build passes: HIP 6.4 declares the *_sync intrinsics only with it, ROCm 7 always.
_HIP_FLAGS = ("-DHIP_ENABLE_WARP_SYNC_BUILTINS=1",)
# hipcc's header requires it before a plain C++ file gets the API.
_API_FLAGS = ("-D__HIP_PLATFORM_AMD__=1",)
# g++, which PyTorch and most build scripts use for these files, only warns about narrowing in braces.
_HOST_FLAGS = ("-Wno-error=c++11-narrowing",)
# For a compiler that a Makefile names, which may be gcc or clang.
_SAY_GCC = ("-fdiagnostics-color=never",)
# A line marker in preprocessed text: `# 12 "file.cu" 2`.
_MARKER = re.compile(r'# \d+ "(?P<path>[^"]*)"')
# What a compiler says with -H and -v: files that it opens, folders that it searches, and what it does not find.
_OPENED = re.compile(r"^\.+ (?P<path>.+)$", re.MULTILINE)
_SEARCHED = re.compile(r"^ (?P<path>/[^\"\n]*)$", re.MULTILINE)
_FOLDER_FLAGS = ("-I", "-isystem", "-iquote", "-idirafter", "-cxx-isystem")
_SAY = (
    "-fno-color-diagnostics",
    "-fno-caret-diagnostics",
    "-ferror-limit=100",
    # A tree's flags are written for several compilers.
    "-Wno-unused-command-line-argument",
    "-Wno-unknown-warning-option",
)

#: Words of code in which lanes wait for each other, including hipport's helpers.
_WAITS = (b"hipport", b"__sync", b"cooperative_groups")

_Done = TypeVar("_Done", "Compiled", UnitProof)
_FORMAT = 2
#: The number of states of its files that are kept for one unit and target.
_STATES = 4


@dataclass(frozen=True)
class Compiled:
    """One unit compiled for one target, which is `host` or an architecture.

    `path` is the file as the user knows it, relative to the root. `seconds` is the time that its compilation took, even
    if the result was `cached`. `made` is the file that the compiler read, and `command` its command line. `guess` says
    what about the unit is a guess.
    """

    path: PurePath
    owner: str
    target: str
    ok: bool
    seconds: float
    cached: bool
    messages: tuple[Message, ...] = ()
    made: Path = Path()
    command: tuple[str, ...] = field(default=(), repr=False)
    guess: str = ""


@dataclass(frozen=True)
class Built:
    """The result of a build. Paths are relative to `root`.

    `ran` are the files of the tree that were executed to find the units. `oracle` is LLVM's answer about the compiled
    code, if it was asked. `not_kept` is the reason why results are not in the cache, empty if they are.
    """

    root: Path
    toolchain: Toolchain
    targets: tuple[str, ...]
    compiled: tuple[Compiled, ...]
    not_built: tuple[NotBuilt, ...]
    ran: tuple[str, ...]
    oracle: Oracle | None = None
    not_kept: str = ""

    @property
    def ok(self) -> bool:
        """Whether something was compiled, everything compiled, and LLVM contradicts no SAFE change."""
        left_out = any(each.needs_person for each in self.not_built)
        contradicted = self.oracle is not None and bool(self.oracle.contradictions)
        return bool(self.compiled) and not left_out and not contradicted and all(each.ok for each in self.compiled)

    @property
    def units(self) -> tuple[tuple[Compiled, ...], ...]:
        """The results grouped by unit, host first: the rows of a table."""
        rows: dict[tuple[PurePath, str, Path], list[Compiled]] = {}
        for each in self.compiled:
            rows.setdefault((each.path, each.owner, each.made), []).append(each)
        order = (HOST, *self.targets)
        return tuple(tuple(sorted(row, key=lambda each: order.index(each.target))) for row in rows.values())

    @property
    def messages(self) -> tuple[tuple[Message, tuple[str, ...]], ...]:
        """Each distinct message, with the targets that it was issued for."""
        said: dict[Message, list[str]] = {}
        for each in self.compiled:
            for message in each.messages:
                said.setdefault(replace(message, notes=()), []).append(each.target)
        whole = {replace(m, notes=()): m for each in self.compiled for m in each.messages}
        return tuple(
            (whole[message], tuple(dict.fromkeys(targets)))
            for message, targets in sorted(said.items(), key=lambda item: (item[0].path, item[0].line, item[0].column))
        )


@dataclass(frozen=True)
class BuildOptions:
    """Options of a build.

    `env` is the environment, with PATH, HOME and the ROCm variables. `toolchain` is a given one; else one is searched.
    `python` is the interpreter that extensions are built with, and the one whose PyTorch they are compiled against.
    `sources` are files that hipport rewrote, by absolute path, so that messages are reported at their original lines.
    `exclude` and `exclude_base` are as for `discovery.discover`. `jobs` is the number of concurrent compilers (by
    default that of processors), `timeout` the limit for each in seconds. `judge` makes the build ask LLVM which lanes
    reach collectives and barriers, and compares its answer; it gets the folder that paths are relative to.
    """

    env: Mapping[str, str]
    knowledge: Knowledge = field(default_factory=Knowledge)
    toolchain: Toolchain | None = None
    python: Path = Path(sys.executable)
    sources: Mapping[Path, Source] = field(default_factory=dict)
    exclude: Sequence[str] = ()
    exclude_base: Path | None = None
    jobs: int | None = None
    timeout: float = 900.0
    on_progress: Callable[[Progress], None] | None = None
    judge: Callable[[Sequence[UnitProof], Path], Oracle] | None = None


def build(paths: Sequence[Path], archs: Sequence[str], options: BuildOptions) -> Built:
    """Compile the sources at `paths` (folders, sources, setup.py files) for all of `archs`.

    A source that a setup.py beside it or above it builds is compiled as in that build; any other is a program.
    Runs code of the tree: setup.py files, on a copy, and `make --dry-run`; `Built.ran` names them. Writes nothing to
    the tree. Raises NoToolchain, recorder.NoPyTorch if PyTorch is needed, discovery.NotFound for a path that does not
    exist, and placing.Refused if a compiler would block on a pipe, or a merge is not resolved.
    """
    vendored = options.knowledge.vendored
    trees, asked = _trees(paths)
    project = discover(trees, exclude=options.exclude, base=options.exclude_base, vendored=vendored)
    refuse_conflicts(project, {each for sources in asked.values() for each in sources})
    assert project.root is not None
    _refuse_pipes(trees, project)
    toolchain = options.toolchain or choose(find(options.env, options.python), archs)
    kept = cache(options.env).resolve()
    toolkit = Toolkit(toolchain.root, ".".join(map(str, toolchain.hip)), tuple(archs))
    with ExitStack() as held:
        sessions: dict[Path, BuildSession] = {}
        found: list[tuple[PurePath, FoundUnits]] = []
        for tree in trees:
            folder = tree if tree.is_dir() else tree.parent
            # A single source may include files around it that were not given.
            around = project if tree.is_dir() else discover([folder], vendored=vendored)
            assert around.root is not None
            members = tuple(around.root / source.path for source in around.sources)
            members = tuple(path for path in members if path.is_relative_to(folder))
            if folder not in sessions:
                name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
                # The copy is used until the last compiler ends.
                sessions[folder] = held.enter_context(build_session(kept / "trees" / name, folder, members))
            recorder = Recorder(sessions[folder], options.python, toolkit, options.env, members)
            everything = list(_found(tree, recorder, options))
            if tree in asked:
                everything = _only(everything, asked[tree], recorder, options)
            found += ((PurePath(folder.relative_to(project.root)), each) for each in everything)
        units, not_built, places = _gathered(found, project.root, sessions.values(), options)
        try:
            units = [_with_overlay(unit, options.python, kept) for unit in units]
        except NoOverlay as problem:
            not_built += (NotBuilt(places.locate(u.source, 0, 0, u.folder)[0], 0, str(problem)) for u in units)
            units = []
        refuse_blocking(units, options.env, toolchain.root)
        compiler = _Compiler(toolchain, toolchain.environment(options.env), kept / "compiled", places, options.timeout)
        tasks = [(unit, target) for unit in units for target in _targets(unit, archs)]
        compiled = _all(compiler.compile, tasks, options)
        oracle = None
        if options.judge is not None:
            oracle = _asked(compiler, tasks, compiled, project.root, options)
    ran = tuple(str(prefix / name) for prefix, each in found for name in each.ran)
    left_out = tuple(dict.fromkeys(not_built))
    return Built(project.root, toolchain, tuple(archs), compiled, left_out, ran, oracle, compiler.not_kept)


def _asked(
    compiler: _Compiler,
    tasks: Iterable[tuple[Unit, str]],
    compiled: Iterable[Compiled],
    root: Path,
    options: BuildOptions,
) -> Oracle:
    """Let LLVM prove which lanes reach the collectives and barriers of the compiled code, and compare."""
    assert options.judge is not None
    tasks = [(unit, target) for unit, target in tasks if target != HOST]
    targets = judged_targets(list(dict.fromkeys(target for _, target in tasks)))
    tasks = [(unit, target) for unit, target in tasks if target in targets and compiler.may_wait(unit, target)]
    failed = tuple(
        UnitProof(each.path, each.target, 0.0, False, why_not="it does not compile")
        for each in compiled
        if each.target in targets and not each.ok
    )
    opt = find_opt(compiler.toolchain, compiler.env, options.timeout) if tasks else None
    if isinstance(opt, str):
        return Oracle(targets=targets, why_not=opt)
    proofs: tuple[UnitProof, ...] = ()
    if opt is not None:
        kept = compiler.folder.parent / "proven"
        places, digests = compiler.places, compiler.digests
        prover = Prover(compiler.toolchain, compiler.env, kept, places, opt, compiler.command, digests)
        proofs = _all(prover.prove, tasks, options)
    return options.judge((*proofs, *failed), root)


def _gathered(
    found: Sequence[tuple[PurePath, FoundUnits]], root: Path, sessions: Iterable[BuildSession], options: BuildOptions
) -> tuple[list[Unit], list[NotBuilt], SourcePlaces]:
    """Return all units, what is not built, and the mapping from compiled files to those of the tree."""
    made: dict[Path, Path] = {}
    embedded: dict[Path, tuple[EmbeddedLines, ...]] = {}
    units: list[Unit] = []
    not_built: list[NotBuilt] = []
    for prefix, each in found:
        units += each.units
        made.update(each.made)
        embedded.update(each.embedded)
        not_built += (replace(why, path=prefix / why.path) for why in each.not_built)
    if not any(unit.language == "hip" for unit in units) and not not_built:
        # A program may have no device code of its own, and call a library's.
        not_built.append(NotBuilt(PurePath(), 0, "there is no device code to compile here", needs_person=not units))
    copies = {session.whole: session.top for session in sessions}
    return units, not_built, SourcePlaces(root, copies, made, embedded, options.sources)


def _refuse_pipes(trees: Iterable[Path], project: Project) -> None:
    """Raise Refused if a folder has something that a compiler would open and wait for.

    So a folder is refused before anything of it is run. What lies elsewhere, `refuse_blocking` finds once the flags are
    known.
    """
    included = {
        PurePath(each.path).name for source in project.sources if isinstance(source, Cpp) for each in source.includes
    }
    problems = []
    for folder, names, others in (each for tree in trees if tree.is_dir() for each in walk(tree)):
        left = left_by_tools(folder, (*names, *others))
        names[:] = [name for name in names if name not in left]
        for name in others:
            if name in included or PurePath(name).suffix in UNITS | HEADERS:
                place = folder / name
                if place.exists() and not place.is_file() and not place.is_dir():
                    problems.append(blocks(place))
    if problems:
        raise Refused(problems)


def _trees(paths: Iterable[Path]) -> tuple[list[Path], dict[Path, set[Path]]]:
    """Return the trees to build, and for those of which only some sources were asked for, these sources."""
    asked: dict[Path, set[Path]] = {}
    places = []
    for path in paths:
        place = path.resolve()
        if place.is_file() and place.suffix in UNITS:
            owner = _owner(place)
            if owner is not None:
                asked.setdefault(owner, set()).add(place)
                place = owner
        places.append(place)
    trees = _outermost(places)
    # A folder that was given itself, or lies in one that was, is built completely.
    whole = [place for path, place in zip(paths, places, strict=True) if path.resolve() == place]
    return trees, {
        owner: sources
        for owner, sources in asked.items()
        if owner in trees and not any(owner.is_relative_to(folder) for folder in whole if folder.is_dir())
    }


def _owner(path: Path) -> Path | None:
    """The nearest folder above `path`, within its repository, with a setup.py that builds extensions."""
    for folder in path.parents:
        if setup_script(folder) is not None:
            return folder
        if (folder / ".git").exists():
            break
    return None


def _only(found: Sequence[FoundUnits], asked: set[Path], recorder: Recorder, options: BuildOptions) -> list[FoundUnits]:
    """Keep of a setup.py's units only the sources that were asked for; those that it does not build are programs."""
    left = set(asked)
    chosen = []
    for each in found:
        units = []
        for unit in each.units:
            copied = each.made.get(unit.source, unit.source)
            if copied.is_relative_to(recorder.copy):
                path = recorder.root / copied.relative_to(recorder.copy)
                if path in asked:
                    units.append(unit)
                    left.discard(path)
        failed = tuple(why for why in each.not_built if why.path.suffix not in UNITS)
        chosen.append(replace(each, units=tuple(units), not_built=failed))
    for path in sorted(left):
        chosen += _found(path, recorder, options)
    return chosen


def _outermost(paths: Iterable[Path]) -> list[Path]:
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return sorted(kept)


def _found(tree: Path, recorder: Recorder, options: BuildOptions) -> Iterator[FoundUnits]:
    """Yield the units at `tree`: extensions first, then programs of the remaining sources."""
    root, members = recorder.root, recorder.members
    env, translate = options.env, options.knowledge.translate
    if tree.is_file() and not setup_scripts([tree]):
        units, not_built, ran = programs(root, [tree], members, env, translate, asked=[tree])
        chosen = tuple(unit for unit in units if unit.source == tree)
        yield FoundUnits(chosen, () if chosen else tuple(not_built), tuple(ran))
        return
    scripts = [path for path in members if path.suffix == ".py" and path.is_relative_to(tree)]
    setups = setup_scripts(scripts)
    calls: list[tuple[Path, JustInTime]] = []
    unreadable: list[NotBuilt] = []
    for path in scripts:
        readable, others = just_in_time(path, root)
        calls += ((path, call) for call in readable)
        unreadable += others
    if setups or calls or unreadable:
        wanting = [path for path in (*setups, *(path for path, _ in calls)) if b"torch" in read_or_nothing(path)]
        if wanting:
            check_torch(recorder.python, env, wanting[0].relative_to(root).as_posix())
        recorder.session.fill()
    results = [recorder.setup(script) for script in setups]
    results += [recorder.call(script, call) for script, call in calls]
    if unreadable and not results:
        results.append(recorder.guess(root, f"{unreadable[0].path}: {unreadable[0].why}"))
    # Beside a setup.py, building at first use is another way to build the same extension.
    folders = [script.parent.relative_to(root) for script in setups]
    yield FoundUnits(
        (),
        tuple(
            replace(n, needs_person=not any(n.path.is_relative_to(folder) for folder in folders)) for n in unreadable
        ),
    )
    yield from results
    if tree.is_file():
        return
    used = {result.made.get(unit.source, unit.source) for result in results for unit in result.units}
    left = [path for path in members if path.suffix in UNITS and recorder.copy / path.relative_to(root) not in used]
    if results:
        # Beside an extension, plain C++ belongs to another program; but device code must not be skipped silently.
        owned = [script.parent for script in setups] or [tree]
        left = [path for path in left if path.suffix in (".cu", ".hip")]
        unused = {path for path in left if any(path.is_relative_to(folder) for folder in owned)}
        included = {PurePath(include.path).name for path in members for include in includes(path)} if unused else set()
        why = "no extension that is built here has it among its sources"
        names = [PurePath(path.relative_to(root)) for path in sorted(unused) if path.name not in included]
        yield FoundUnits((), tuple(NotBuilt(name, 0, why) for name in names))
        left = [path for path in left if path not in unused]
    if left:
        units, not_built, ran = programs(root, left, members, env, translate)
        yield FoundUnits(tuple(units), tuple(not_built), tuple(ran))


def _with_overlay(unit: Unit, python: Path, kept: Path) -> Unit:
    """Put the converted PyTorch headers before those of a PyTorch that lacks them."""
    for flag, before in zip(unit.flags, ("", *unit.flags), strict=False):
        folder = Path(
            flag.removeprefix("-I") if flag.startswith("-I") else flag if before in ("-isystem", "-I") else ""
        )
        if (folder / "ATen/cuda").is_dir() and not (folder / "ATen/hip/HIPContext.h").exists():
            return replace(unit, flags=(f"-I{overlay(python, folder, kept)}", *unit.flags))
    return unit


def _targets(unit: Unit, archs: Sequence[str]) -> tuple[str, ...]:
    return (HOST, *archs) if unit.language == "hip" else (HOST,)


def _all(
    work: Callable[[Unit, str], _Done], tasks: Sequence[tuple[Unit, str]], options: BuildOptions
) -> tuple[_Done, ...]:
    done = 0
    with ThreadPoolExecutor(options.jobs or processors()) as pool:
        running = [pool.submit(work, unit, target) for unit, target in tasks]
        try:
            for each in as_completed(running):
                done += 1
                if options.on_progress is not None:
                    options.on_progress(Progress(str(each.result().path), done, len(tasks)))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return tuple(each.result() for each in running)


def _not_found(line: str) -> str:
    """Return the header that a line of a compiler's output calls missing; empty if it does not."""
    what = line.partition("fatal error: ")[2]
    for end in ("' file not found", ": No such file or directory"):  # clang's and gcc's
        if what.endswith(end):
            return what.removesuffix(end).lstrip("'")
    return ""


class _Compiler:
    """Runs hipcc, or returns its earlier result for the same input."""

    def __init__(
        self, toolchain: Toolchain, env: Mapping[str, str], folder: Path, places: SourcePlaces, timeout: float
    ) -> None:
        self.toolchain = toolchain
        self.env = dict(env)
        self.folder = folder
        self.places = places
        self.timeout = timeout
        self.digests = Digests()
        self._read: dict[tuple[Unit, str], tuple[str, ...]] = {}
        #: Why results could not be kept, as on a full disk; empty if all were.
        self.not_kept = ""

    def may_wait(self, unit: Unit, target: str) -> bool:
        """Whether a file of the tree that went into a unit may contain code in which lanes wait for each other."""
        read = self._read.get((unit, target), ())
        own = (path for path in read if self.places.locate(PurePath(path), 0, 0, unit.folder)[3])
        return any(word in text for text in map(read_or_nothing, map(Path, own)) for word in _WAITS)

    def compile(self, unit: Unit, target: str) -> Compiled:
        """Compile `unit` for `target`."""
        command = self.command(unit, target)
        key = hashlib.sha256(
            json.dumps([_FORMAT, self._identity(unit), str(unit.folder), command]).encode()
        ).hexdigest()
        known = self.folder / key[:2] / f"{key[2:]}.json.z"
        states = load_states(known)
        for state in states:
            if self.digests.are(state["read"]):
                if state["ok"]:
                    self._read[unit, target] = tuple(state["read"])
                return self._result(unit, target, command, state, cached=True)
        with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
            made, read = Path(scratch, "out.o"), Path(scratch, "read")
            # In clang 15, -MD has no effect if only the device is compiled; these options do the same in all releases.
            listing = ("-dependency-file", str(read), "-MT", "out", "-sys-header-deps")
            lists = [word for each in listing for word in ("-Xclang", each)]
            if unit.compiler:
                lists = ["-MD", "-MF", str(read), "-MT", "out"]
            start = time.monotonic()
            status, said = self._run([*command, "-o", str(made), *lists], unit.folder, scratch)
            seconds = time.monotonic() - start
            made_now: dict[str, Any] = {"ok": status == 0, "said": said.replace(scratch, ""), "seconds": seconds}
            if status == 0 and target == HOST:
                made_now["empty"] = self._nothing_left(unit, command, scratch)
            if status == 0:
                made_now["read"] = self._all_read(read, unit)
                self._read[unit, target] = tuple(made_now["read"])
            elif status is not None:
                made_now["read"] = self._all_tried(unit, command, scratch)
            if made_now.get("read"):
                # Without a cache the result is the same, but is computed again the next time.
                self.not_kept = keep_states(known, [made_now, *states][:_STATES]) or self.not_kept
        return self._result(unit, target, command, made_now, cached=False)

    def _all_tried(self, unit: Unit, command: Sequence[str], scratch: str) -> dict[str, str]:
        """Return the files that a failed compilation has read, and those that it has looked for in vain; {} if unknown.

        The compiler lists no dependencies where a header is missing, or after `#error`, but says what it opens.
        """
        _, said = self._run([*command, "-E", "-H", "-v", "-o", os.devnull], unit.folder, scratch)
        opened = {str(unit.source), *(each["path"] for each in _OPENED.finditer(said))}
        searched = {each["path"] for each in _SEARCHED.finditer(said)} | {str(Path(each).parent) for each in opened}
        flags = iter(command)
        for word in flags:
            for option in _FOLDER_FLAGS:
                if word.startswith(option):
                    searched.add(word.removeprefix(option) or next(flags, ""))
        missing = {name for line in said.splitlines() if (name := _not_found(line))}
        names = {os.path.normpath(unit.folder / each) for each in opened}
        names |= {os.path.normpath(unit.folder / folder / each) for folder in searched for each in missing}
        if not _SEARCHED.search(said):
            return {}
        return self._digests(names)

    def _nothing_left(self, unit: Unit, command: Sequence[str], scratch: str) -> str:
        """Return the condition that removes the whole file, or an empty string if something is left."""
        try:
            source = Cpp(PurePath(unit.source), unit.source.read_bytes())
        except OSError:
            return ""
        code = bytearray(source.code)
        for span in (*source.conditional, *source.directives):
            code[span.start : span.end] = b" " * len(span)
        if code.strip() or not source.conditional:
            return ""
        status, text = self._run([*command, "-E"], unit.folder, scratch)
        here = False
        for line in text.splitlines() if status == 0 else ("left",):
            if marker := _MARKER.match(line):
                here = marker["path"] == str(unit.source)
            elif here and line.strip() and not line.lstrip().startswith("#pragma"):
                return ""
        if status != 0:
            return ""
        start = source.conditional[0].start
        return " ".join(source.text[start:].split(b"\n", 1)[0].decode("utf-8", "replace").split())

    def command(self, unit: Unit, target: str) -> list[str]:
        """Return the command that compiles a unit for a target, without the output."""
        flags = list(unit.flags)
        headers = self.toolchain.headers
        # After all others, because it may be the machine's include folder.
        for_headers = ["-idirafter", str(headers)] if headers is not None else []
        if unit.compiler:
            flags += [flag for flag in _API_FLAGS if flag not in flags]
            return [unit.compiler, *flags, *for_headers, *_SAY_GCC, "-x", unit.language, "-c", str(unit.source)]
        if unit.language == "hip":
            flags += [flag for flag in _HIP_FLAGS if flag not in flags]
            flags += ["--cuda-host-only"] if target == HOST else ["--cuda-device-only", f"--offload-arch={target}"]
        else:
            flags += [flag for flag in (*_API_FLAGS, *_HOST_FLAGS) if flag not in flags]
            flags += for_headers
        if target == HOST:
            # hipcc queries the machine's GPUs unless it gets an architecture. For the host any will do.
            flags.append(f"--offload-arch={max(self.toolchain.archs)}")
        return [str(self.toolchain.hipcc), *flags, *_SAY, "-x", unit.language, "-c", str(unit.source)]

    def _identity(self, unit: Unit) -> list[object]:
        state = Path(unit.compiler or self.toolchain.hipcc).stat()
        return [str(self.toolchain), state.st_mtime_ns, state.st_size]

    def _run(self, command: Sequence[str], folder: Path, scratch: str) -> tuple[int | None, str]:
        """Return the exit status, None if the command did not finish, and its output."""
        # The command has flags of the tree, which may load code into the compiler: `-fplugin=`.
        box = Box((Path(scratch),))
        try:
            status, said = run_contained(command, folder, self.env, self.timeout, box)
        except OSError as problem:
            return None, f"error: {problem}"
        if status is None:
            return None, f"error: the compiler did not end within {self.timeout:.0f} s"
        if status < 0:
            # For example out of memory: that says nothing about the source.
            return None, f"{said}\nerror: the compiler was ended by signal {-status}"
        return status, said

    def _all_read(self, listing: Path, unit: Unit) -> dict[str, str]:
        words = re.split(r"(?<!\\)\s+", listing.read_text(errors="surrogateescape").replace("\\\n", " "))
        paths = [word.replace("\\ ", " ") for word in words[1:] if word]
        return self._digests({os.path.normpath(unit.folder / path) for path in (*paths, unit.source)})

    def _digests(self, names: set[str]) -> dict[str, str]:
        # The toolchain's own files are identified by its version.
        own = str(self.toolchain.root) + os.sep
        return self.digests.all_of(n for n in sorted(names) if not n.startswith(own) or own in ("/usr/", "/"))

    def _result(self, unit: Unit, target: str, command: list[str], state: dict[str, Any], *, cached: bool) -> Compiled:
        said, ok = state["said"], state["ok"]
        messages = self.places.located(parse(said, unit.source), unit.folder)
        path = self.places.locate(unit.source, 0, 0, unit.folder)[0]
        if not ok and not any(message.severity == "error" for message in messages):
            last = "\n".join(line for line in said.splitlines() if line.strip())[-2000:]
            messages = (*messages, Message(path, 0, 0, "error", last or "the compiler failed without a message"))
        if condition := state.get("empty"):
            # The tree's own build may intend this; with guessed flags, the guess is wrong.
            ok = not unit.guess
            text = f"the compiler saw nothing of the file: all of it stands under `{condition}`"
            text += (
                ""
                if ok
                else "; define in the build script the macros that its build defines, or add a Makefile that does"
            )
            messages = (*messages, Message(path, 0, 0, "warning" if ok else "error", text))
        return Compiled(
            path, unit.owner, target, ok, state["seconds"], cached, messages, unit.source, tuple(command), unit.guess
        )
