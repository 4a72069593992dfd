# SPDX-License-Identifier: Apache-2.0
"""The library: one function for each thing that hipport does.

Only `save`, `undo` and `port` change a tree; only `build`, `port` and the verifications run code of a tree. That code
sees the part of `env` that `environment.allowed` lists, and the variables in `pass_on`; processes.Box describes its
other rights.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeAlias

from hipport.core.finding import Certainty
from hipport.core.placing import check_given
from hipport.core.source import Source
from hipport.engine.outcomes import Ported, Scanned
from hipport.engine.pipeline import Pass, Progress, run
from hipport.program import extensions
from hipport.program.project import Target
from hipport.syntax import file_languages
from hipport.toolchain.processors import processors
from hipport.workspace import discovery, writing
from hipport.workspace.environment import allowed, from_anywhere

if TYPE_CHECKING:
    from hipport.building import builder, oracle
    from hipport.building.proving import UnitProof
    from hipport.engine.knowledge import Knowledge
    from hipport.reporting.assumptions import Reviewed
    from hipport.reporting.evidence import Evidence, Verification
    from hipport.reporting.explained_places import Explained
    from hipport.reporting.explainer import Explanation
    from hipport.toolchain.diagnosis import Diagnosis
    from hipport.toolchain.install_plan import Plan
    from hipport.verifying.execution import Execution, Matrix
    from hipport.verifying.restored import Sides
    from hipport.verifying.results import MutationScore, Verified

#: One path, or several. A string is one path, not an iterable of characters.
Paths: TypeAlias = str | Path | Iterable[str | Path]

#: The size of a tree, in bytes, from which a process for each processor pays off.
_PARALLEL = 4_000_000


def rewrite(
    what: Paths | Mapping[str, bytes],
    *,
    target: Target | None = None,
    accept: Certainty = Certainty.REVIEW,
    exclude: Sequence[str] = (),
    exclude_base: Path | None = None,
    rules: Mapping[str, Any] | None = None,
    passes: Sequence[Pass[Any]] | None = None,
    device_agnostic: bool | None = None,
    repository: bool = False,
    staged: bool = False,
    jobs: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Ported:
    """Port files and folders, or texts in memory by their names, and return the result. Writes nothing: see `save`.

    Texts in memory that cannot be edited reliably are in `before.skipped`, like files.
    Changes up to `accept` are made. `exclude` has patterns of paths to leave alone, as in .gitignore and relative to
    `exclude_base` or the common folder of all paths; `rules` are the user's rows for the tables of passes, as
    config.read_rules returns them; `passes` are the passes to run instead of all; `device_agnostic` says whether Python
    must also run without a GPU (default: as the target says); `repository` and `staged` are as for discovery.Extent;
    `jobs` is the number of processes (default: one for each processor, for a large tree).
    Raises discovery.NotFound for a path that does not exist, writing.Refused for a tree with an unresolved merge, and
    ValueError for invalid rules.
    """
    _check_rules(rules)
    if passes is None:
        from hipport_passes import PASSES

        passes = PASSES
    if device_agnostic is not None:
        target = replace(target or Target(), device_agnostic=device_agnostic)
    if isinstance(what, Mapping):
        project = replace(discovery.in_memory(what, target), rules=rules or {})
    else:
        project = discovery.discover(
            _listed(what),
            target,
            exclude=exclude,
            base=exclude_base,
            vendored=_markers(),
            named=_named(rules),
            of=discovery.Extent(repository, staged),
        )
        discovery.refuse_conflicts(project)
        project = replace(project, rules=rules or {})
    if jobs is None:
        cores = processors()
        large = sum(len(source.text) for source in project.sources) >= _PARALLEL
        jobs = cores if large else 1
    return run(project, passes, accept, on_progress, jobs)


def left_out(ported: Ported, env: Mapping[str, str]) -> Mapping[PurePath, PurePath]:
    """Return hipport's files that a commit would omit, each with a file that includes it. Runs Git."""
    from hipport.workspace import staged

    return staged.left_out(ported, env)


def _listed(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]


def _check_there(paths: Iterable[Path]) -> None:
    """Raise NotFound for a path that does not exist: a tree around it might not be the one that was meant."""
    missing = [str(path) for path in paths if not os.path.lexists(path)]
    if missing:
        raise discovery.NotFound(f"there is no {', '.join(missing)}")


def scan(
    paths: Paths,
    *,
    target: Target | None = None,
    accept: Certainty = Certainty.REVIEW,
    exclude: Sequence[str] = (),
    exclude_base: Path | None = None,
    rules: Mapping[str, Any] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Scanned:
    """Return the extensions and programs at `paths`, and what a rewrite of them would do. Writes nothing.

    Raises discovery.NotFound for a path that does not exist, and ValueError for invalid rules.
    """
    ported = rewrite(
        paths,
        target=target,
        accept=accept,
        exclude=exclude,
        exclude_base=exclude_base,
        rules=rules,
        on_progress=on_progress,
    )
    return Scanned(extensions.extensions(ported.before), ported)


def changes(ported: Ported) -> tuple[writing.Change, ...]:
    """Return the changes that `ported` would write, as bytes before and after."""
    before = ported.before.by_path
    changed = [
        writing.Change(source.path, before[source.path].text, source.text, source.steps_from(before[source.path]))
        for source in ported.changed
    ]
    root = ported.before.root
    made = []
    for file in ported.created:
        # One of hipport's headers, which an earlier run left, if only a part of the tree was given this time.
        place = root / file.path if root is not None else None
        made.append(writing.Change(file.path, writing.now(place) if place else None, file.text))
    return (*changed, *made)


def save(ported: Ported, out: str | Path | None = None, only: Sequence[str | Path] = ()) -> writing.Written:
    """Write a port: in place, or as a copy of the tree, or of the paths `only` of it, in a new folder.

    All files are written or none. Raises writing.Refused if a pass failed, if a file has changed since it was read or
    cannot be written, or if one of `only` leads out of its tree; OSError if writing fails, and ValueError for texts
    that did not come from files.
    """
    root = ported.before.root
    if root is None:
        raise ValueError("this port was made from texts in memory, so there is no place to save it")
    _complete(ported)
    if out is None:
        check_given(map(Path, only))
        return writing.write(root, changes(ported))
    inside = [PurePath(Path(path).resolve().relative_to(root.resolve())) for path in only] or [PurePath()]
    return writing.write_tree(root, Path(out), inside, changes(ported))


def _complete(ported: Ported) -> Ported:
    """Return `ported`. Raises writing.Refused if a pass failed, because its changes are missing."""
    if ported.failures:
        raise writing.Refused([f"{each.path}: {each.rule}: {each.message} ({each.reason})" for each in ported.failures])
    return ported


def recover(paths: Paths, tell: Callable[[str], None] = lambda problem: None) -> tuple[PurePath, ...]:
    """Undo what a killed rewrite of `paths`, or of a tree around them, has left half-done.

    Returns the restored files; cheap if there are none. `tell` is called with files that stay because their saved
    originals are damaged. Raises writing.Refused if one of them was changed since, or a path leads out of its tree.
    """
    given = _listed(paths)
    check_given(given)
    places = [path.resolve() for path in given]
    folders = [path if path.is_dir() else path.parent for path in places]
    return writing.recover(Path(os.path.commonpath(folders)), tell=tell) if folders else ()


def undo(path: str | Path = ".") -> writing.Written:
    """Undo the last rewrite in the tree around `path`, or the only one below it.

    Raises writing.Refused if that is not possible, and discovery.NotFound for a path that does not exist.
    """
    _check_there([Path(path)])
    start = Path(path).resolve()
    roots = writing.find_roots(start)
    if not roots:
        raise writing.Refused(
            [
                f"{start}: hipport has changed nothing here that it could undo; `rewrite --out` writes only to its new "
                "folder, which you can remove"
            ]
        )
    if len(roots) > 1:
        raise writing.Refused([f"{root}: has something to undo; give this folder to undo it" for root in roots])
    return writing.undo(roots[0])


def review(
    paths: Paths,
    *,
    target: Target | None = None,
    accept: Certainty = Certainty.REVIEW,
    exclude: Sequence[str] = (),
    exclude_base: Path | None = None,
    rules: Mapping[str, Any] | None = None,
) -> tuple[Reviewed, ...]:
    """Return the assumptions of the rewrites in place of the trees around `paths`, at their present lines.

    The journal of `rewrite` has the originals, which are ported again; the result is the same if the options are.
    Raises writing.Refused if there is no journal, or if it is damaged; discovery.NotFound for a path that does not
    exist.
    """
    from hipport.reporting.assumptions import review as reviewed
    from hipport_passes import PASSES

    _check_rules(rules)
    found = []
    for root, inside in _journals(paths).items():
        try:
            originals = writing.originals(root)
        except OSError as error:
            raise writing.Refused(
                [
                    f"{root}: the originals that hipport saved there are damaged: {error}; check the source out anew, "
                    "and rewrite it"
                ]
            ) from error
        project = discovery.discover(
            [root], target, exclude=exclude, base=exclude_base, vendored=_markers(), named=_named(rules)
        )
        kept = {path: text for path, text in originals.items() if any((root / path).is_relative_to(i) for i in inside)}
        project = replace(project, rules=rules or {})
        found.append(reviewed(root, project, kept, lambda project: run(project, PASSES, accept)))
    return tuple(found)


def _journals(paths: Paths) -> dict[Path, list[Path]]:
    """The roots of the trees that were rewritten in place, with those of `paths` that lie in each."""
    found: dict[Path, list[Path]] = {}
    _check_there(_listed(paths))
    for path in _listed(paths):
        roots = writing.find_roots(path.resolve())
        if not roots:
            raise writing.Refused(
                [
                    f"{path}: hipport has no record of a rewrite here. A rewrite in place keeps one in "
                    f"{writing.FOLDER}, which git does not commit: use the tree in which the rewrite was made. "
                    "`rewrite --out` keeps none: `hipport scan`, on the source that was copied, lists the same "
                    "assumptions"
                ]
            )
        for root in roots:
            found.setdefault(root, []).append(path.resolve())
    return {root: [root if root.is_relative_to(i) else i for i in inside] for root, inside in found.items()}


def build(
    paths: Paths,
    *,
    target: Target | None = None,
    exclude: Sequence[str] = (),
    exclude_base: Path | None = None,
    env: Mapping[str, str],
    pass_on: Sequence[str] = (),
    python: str | Path = sys.executable,
    jobs: int | None = None,
    timeout: float = 900.0,
    prove: bool = False,
    accept: Certainty = Certainty.REVIEW,
    rules: Mapping[str, Any] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> builder.Built:
    """Compile every unit at `paths` for every architecture of `target`. Runs code of the tree; writes nothing to it.

    With `prove`, LLVM is asked which lanes reach collectives and barriers, and its answer is compared with the
    statements of the rewrite in place, with the same `accept` and `rules`: see `oracle.compared`. See `builder.build`
    for each parameter and the exceptions.
    """
    env = allowed(env, pass_on)
    from hipport.building import builder

    places = _listed(paths)
    target = target or Target()
    judge = None
    if prove:
        _check_rules(rules)
        judge = partial(_judged, places, target=target, accept=accept, rules=rules or {})
    options = builder.BuildOptions(
        env,
        _knowledge(),
        python=Path(python),
        sources=_rewritten(places),
        exclude=exclude,
        exclude_base=exclude_base,
        jobs=jobs,
        timeout=timeout,
        on_progress=on_progress,
        judge=judge,
    )
    return builder.build(places, target.archs, options)


def not_ported(built: builder.Built, **settings: Any) -> tuple[PurePath, ...]:
    """Return the files that were not compiled and that a rewrite with these `settings` would still change."""
    failed = {built.root / each.path for each in built.compiled if not each.ok}
    there = sorted(path for path in failed if path.is_file())
    if not there:
        return ()
    return tuple(source.path for source in rewrite(there, **settings).changed)


def _judged(
    paths: Sequence[Path],
    proofs: Sequence[UnitProof],
    built_at: Path,
    *,
    target: Target,
    accept: Certainty,
    rules: Mapping[str, Any],
) -> oracle.Oracle:
    """Compare LLVM's answers with the statements of the rewrites of the trees around `paths`."""
    from hipport.building import oracle
    from hipport_passes import PASSES

    found: list[oracle.Oracle] = []
    for root in dict.fromkeys(root for path in paths for root in writing.find_roots(path.resolve())):
        originals = writing.originals(root)
        project = discovery.discover([root], target, vendored=_markers(), named=_named(rules))
        before = tuple(
            file_languages.source(source.path, originals[source.path]) if source.path in originals else source
            for source in project.sources
        )
        ported = run(replace(project, sources=before, rules=rules), PASSES, accept)
        found.append(oracle.compared(proofs, built_at, root, ported))
    return oracle.merged(proofs, found)


def doctor(*, env: Mapping[str, str], root: str | Path = "/", python: str | Path | None = sys.executable) -> Diagnosis:
    """Say what on this machine would break a run on an AMD GPU, and what to do about it.

    Runs ROCm's tools and each hipcc, and with `python` a program that uses its PyTorch. With another `root`, a copy of
    another machine's files in /sys, /proc, /dev and /etc, it reads those and runs nothing.
    """
    from hipport.toolchain.diagnosis import diagnose
    from hipport.toolchain.machine import look, me

    return diagnose(look(Path(root).resolve(), from_anywhere(env), me(), Path(python) if python is not None else None))


def port(
    paths: Paths,
    out: str | Path | None = None,
    arguments: Sequence[str] = (),
    *,
    env: Mapping[str, str],
    pass_on: Sequence[str] = (),
    python: str | Path = sys.executable,
    target: Target | None = None,
    accept: Certainty = Certainty.REVIEW,
    exclude: Sequence[str] = (),
    exclude_base: Path | None = None,
    rules: Mapping[str, Any] | None = None,
    cases: Path | None = None,
    recording: Path | None = None,
    declined: Sequence[str] = (),
    seconds: float = 120.0,
    jobs: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Evidence:
    """Port `paths`, in place or as a copy in the new folder `out`, run the port, compile it, and report the evidence.

    The original and its port are run on the CPU before anything is written: extensions with cases.py beside their
    setup.py (or with `cases`, or a `recording`, if there is one extension), and a program if `arguments` are given or
    `paths` are files. The written port is then compiled for `target`, and LLVM is asked which lanes reach collectives
    and barriers. A step that is not possible, or is one of `declined` (`build`, `prove`, `verify`), appears in the
    evidence as not checked. Runs code of the tree. Raises discovery.NotFound, writing.Refused and
    extension_verifier.BadCases.
    """
    env = allowed(env, pass_on)
    from hipport.porting import Porting
    from hipport.reporting.evidence import Evidence
    from hipport.toolchain.machine import known_gpus

    places = _listed(paths)
    options: dict[str, Any] = {
        "target": target, "accept": accept, "exclude": exclude, "exclude_base": exclude_base, "rules": rules,
    }  # fmt: skip
    how = _execution(env, python, seconds, jobs, on_progress)
    porting = Porting(how, options, scan, rewrite)
    scanned = scan(places, on_progress=on_progress, **options)
    root = scanned.ported.before.root
    assert root is not None
    _complete(scanned.ported)
    earlier, why_not_run = None, ""
    if (rewritten := writing.find_root(root)) is not None:
        why_not_run = writing.undo_first(rewritten)
        if out is None and not scanned.ported.changed:
            earlier, why_not_run = porting.originals(root, places)
    scanned = earlier or scanned
    ported = scanned.ported
    verifications: list[Verification] = []
    if "verify" not in declined:
        read = scanned.ported.before.root or root
        originals = [read / path.resolve().relative_to(root) for path in places]
        verifications += porting.verifications(
            scanned, originals, arguments, why_not=why_not_run, cases=cases, recording=recording
        )
    if earlier is None:
        save(ported, out, places)
    else:
        verifications = [
            replace(each, verified=each.verified and replace(each.verified, root=root)) for each in verifications
        ]
    to = Path(out).resolve() if out is not None else root
    built, why_not = None, "it was not asked for"
    if "build" not in declined:
        moved = [to / path.resolve().relative_to(root) for path in places]
        archs = (target or Target()).archs
        built, why_not = porting.built(moved, to, ported, archs, prove="prove" not in declined)
    gpus = tuple(str(gpu) for gpu in known_gpus(Path("/"))[0])
    return Evidence(
        root, to, scanned.extensions, ported, built, tuple(verifications), why_not, earlier is not None,
        tuple(declined), gpus,
    )  # fmt: skip


def explain(name: str, *, target: Target | None = None, rules: Mapping[str, Any] | None = None) -> Explanation:
    """Return what hipport does with `name`, and why: a pass, a rule, the number of a pitfall, or a name in programs.

    Ports small programs in memory, for `target` and with the user's `rules`. Raises explainer.Unknown, which has names
    of similar spelling.
    """
    import hipport_passes
    from hipport.reporting import explainer

    tables = Path(hipport_passes.__file__).parent
    # In the wheel, fixtures lie in the package; in the repository, beside it.
    cases = next(path for path in (tables / "fixtures", tables.parents[1] / "fixtures") if path.is_dir())
    return explainer.explain(
        name, hipport_passes.PASSES, tables, cases, lambda texts: rewrite(texts, target=target, rules=rules)
    )


def explain_place(
    path: str | Path,
    line: int,
    *,
    target: Target | None = None,
    exclude: Sequence[str] = (),
    exclude_base: Path | None = None,
    rules: Mapping[str, Any] | None = None,
) -> Explained:
    """Return the findings in a line of a file, the waits in it that stay, and the grounds of both.

    The file is read together with its Git repository, or else alone, and `set_aside` says why a run on the whole tree
    would leave it alone. Nothing is written. Raises discovery.NotFound for a file that does not exist, and ValueError
    for a line that does not exist, or a file that hipport does not read.
    """
    import hipport_passes
    from hipport.reporting import explained_places

    given = Path(path).resolve()
    ported = rewrite(
        given, target=target, exclude=exclude, exclude_base=exclude_base, rules=rules, repository=True, jobs=1
    )
    root = ported.before.root
    assert root is not None
    inside = PurePath(given.relative_to(root.resolve()))
    set_aside = discovery.set_aside(given, exclude=exclude, base=exclude_base, vendored=_markers())
    return explained_places.explain_place(ported, hipport_passes.PASSES, inside, line, set_aside)


def has_cases(paths: Sequence[Path], cases: Path | None = None) -> bool:
    """Say whether `paths` is an extension with cases to run, and not a program."""
    if len(paths) != 1 or not paths[0].is_dir():
        return False
    return cases is not None or (paths[0] / "cases.py").is_file()


def verify_program(
    paths: Paths,
    arguments: Sequence[str] = (),
    *,
    env: Mapping[str, str],
    pass_on: Sequence[str] = (),
    target: Target | None = None,
    exclude: Sequence[str] = (),
    port: bool = True,
    waves: Sequence[int] | None = None,
    orders: Sequence[str] | None = None,
    sanitize: Sequence[str] = (),
    flags: Sequence[str] = (),
    folder: Path | None = None,
    seconds: float = 120.0,
    jobs: int | None = None,
    gpu: bool = True,
    on_progress: Callable[[Progress], None] | None = None,
) -> Verified:
    """Run a program as CUDA and its port as HIP on the CPU, and compare their output and how they end.

    With `gpu` the port also runs on this machine's AMD GPUs, if a test program does. Runs code of the tree; see
    program_verifier.program for the parameters and the exceptions.
    """
    env = allowed(env, pass_on)
    from hipport.verifying import extension_verifier as verifying
    from hipport.verifying import program_verifier as running

    places = _listed(paths)
    discovery.refuse_conflicts(discovery.discover(places, exclude=exclude, vendored=_markers()))
    verifying.refuse_extension(places)
    sides = _sides(places, env, lambda places: rewrite(places, target=target, exclude=exclude))
    how = _execution(env, sys.executable, seconds, jobs, on_progress)
    what = running.ProgramToRun(sides.original, arguments, folder, exclude, flags, sanitize)
    matrix = _matrix(env, waves, orders, gpu)
    return sides.run(lambda: running.program(what, how, port=sides.port if port else None, matrix=matrix))


def verify(
    path: str | Path,
    *,
    env: Mapping[str, str],
    pass_on: Sequence[str] = (),
    python: str | Path = sys.executable,
    target: Target | None = None,
    exclude: Sequence[str] = (),
    port: bool = True,
    cases: Path | None = None,
    names: Sequence[str] = (),
    waves: Sequence[int] | None = None,
    orders: Sequence[str] | None = None,
    seconds: float = 120.0,
    jobs: int | None = None,
    gpu: bool = True,
    gpu_python: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Verified:
    """Run the cases of an extension and of its port on the CPU, and report where their outputs differ.

    With `gpu` the port also runs on this machine's AMD GPUs, if a test program does, with the PyTorch of `gpu_python`
    or `python`. Runs code of the tree; see extension_verifier.extension for the parameters and the exceptions.
    """
    env = allowed(env, pass_on)
    from hipport.verifying import extension_verifier as verifying

    discovery.refuse_conflicts(discovery.discover([Path(path)], exclude=exclude, vendored=_markers()))
    sides = _sides([Path(path)], env, lambda places: rewrite(_own(places), target=target, exclude=exclude))
    how = _execution(env, python, seconds, jobs, on_progress)
    matrix = _matrix(env, waves, orders, gpu, gpu_python)
    made = sides.port if port else None
    return sides.run(
        lambda: verifying.extension(sides.original[0], how, port=made, cases=cases, names=names, matrix=matrix)
    )


def _execution(
    env: Mapping[str, str],
    python: str | Path,
    seconds: float,
    jobs: int | None,
    on_progress: Callable[[Progress], None] | None,
) -> Execution:
    """Return how both sides are compiled and run, with defaults for missing parameters."""
    from hipport.verifying.execution import Execution, Limits

    return Execution(env, _knowledge(), Path(python), Limits(seconds), jobs or processors(), on_progress)


def _matrix(
    env: Mapping[str, str],
    waves: Sequence[int] | None,
    orders: Sequence[str] | None,
    gpu: bool,
    gpu_python: str | Path | None = None,
) -> Matrix:
    """Return the configurations, with defaults for missing parameters; queries the GPUs."""
    from hipport.verifying.amd_gpus import hardware
    from hipport.verifying.execution import ORDERS, WAVES, Matrix

    there = hardware(env) if gpu else "it was not asked for"
    own = Path(gpu_python) if gpu_python is not None else None
    return Matrix(waves or WAVES, orders or ORDERS, there, own)


def _knowledge() -> Knowledge:
    from hipport_passes import knowledge

    return knowledge()


def _sides(places: Sequence[Path], env: Mapping[str, str], make: Callable[[list[Path]], Ported]) -> Sides:
    """Return the original and the port of `places`; raises if the port is not complete."""
    from hipport.verifying.restored import Sides

    return Sides(places, env, lambda places: _complete(make(list(places))), _knowledge().of_hip)


def _own(places: Sequence[Path]) -> list[Path]:
    """Return an extension's folder, and the files around it that do not belong to a third-party library."""
    from hipport.program.included import own_files

    folder, *around = places
    return [folder, *own_files(around, _markers())]


def replay(
    path: str | Path,
    recording: str | Path,
    *,
    env: Mapping[str, str],
    pass_on: Sequence[str] = (),
    python: str | Path = sys.executable,
    target: Target | None = None,
    exclude: Sequence[str] = (),
    port: bool = True,
    waves: Sequence[int] | None = None,
    orders: Sequence[str] | None = None,
    seconds: float = 120.0,
    jobs: int | None = None,
    gpu: bool = True,
    gpu_python: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **_: Any,
) -> tuple[Verified, ...]:
    """Repeat the calls of an extension that `record` recorded, and compare: one result for each of its modules.

    Runs code of the tree; see extension_verifier.replay for the parameters and the exceptions.
    """
    env = allowed(env, pass_on)
    from hipport.verifying import extension_verifier as verifying

    discovery.refuse_conflicts(discovery.discover([Path(path)], exclude=exclude, vendored=_markers()))
    sides = _sides([Path(path)], env, lambda places: rewrite(_own(places), target=target, exclude=exclude))
    how = _execution(env, python, seconds, jobs, on_progress)
    matrix = _matrix(env, waves, orders, gpu, gpu_python)
    made = sides.port if port else None
    return sides.run(lambda: verifying.replay(sides.original[0], Path(recording), how, port=made, matrix=matrix))


def record(
    command: Sequence[str],
    out: str | Path,
    *,
    env: Mapping[str, str],
    folder: str | Path = ".",
    modules: Sequence[str] = (),
    calls: int = 4,
) -> int:
    """Run a Python program and record calls of extension modules with their results, for `replay`; returns its status.

    See recordings.record.
    """
    from hipport.verifying import recordings

    return recordings.record(command, Path(out), env=env, folder=Path(folder), modules=modules, calls=calls)


def mutation_score(
    paths: Paths,
    arguments: Sequence[str] = (),
    *,
    env: Mapping[str, str],
    pass_on: Sequence[str] = (),
    python: str | Path = sys.executable,
    target: Target | None = None,
    exclude: Sequence[str] = (),
    cases: Path | None = None,
    names: Sequence[str] = (),
    seconds: float = 120.0,
    jobs: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **_: Any,
) -> MutationScore:
    """Say which cases notice the unported source with 64 lanes, and ports with one deliberate error.

    `paths` is an extension, or the sources of a program that is run with `arguments`. See the functions
    `mutation_score` of extension_verifier and program_verifier.
    """
    env = allowed(env, pass_on)
    from hipport.verifying import extension_verifier as verifying
    from hipport.verifying import program_verifier as running

    places = _listed(paths)
    how = _execution(env, python, seconds, jobs, on_progress)
    if arguments or not has_cases(places, cases):
        verifying.refuse_extension(places)
        sides = _sides(places, env, lambda places: rewrite(places, target=target, exclude=exclude))
        what = running.ProgramToRun(sides.original, arguments, exclude=exclude)
        return sides.run(lambda: running.mutation_score(what, how, port=sides.port))
    own = _sides(places, env, lambda places: rewrite(_own(places), target=target, exclude=exclude))
    return own.run(lambda: verifying.mutation_score(own.original[0], how, port=own.port, cases=cases, names=names))


def _rewritten(paths: Sequence[Path]) -> dict[Path, Source]:
    """The files that hipport rewrote in place, by absolute path, with their edits."""
    roots = {root for path in paths for root in writing.find_roots(path.resolve())}
    return {root / path: source for root in roots for path, source in writing.rewritten(root).items()}


def deps(
    paths: Paths,
    *,
    target: Target | None = None,
    rocm: tuple[int, int] | None = None,
    exclude: Sequence[str] = (),
    exclude_base: Path | None = None,
    rules: Mapping[str, Any] | None = None,
) -> Plan:
    """Return a plan to install the requirements of the repository at `paths` on ROCm. Runs and installs nothing.

    The plan is for the release `rocm`, or the one that suits the packages found. `install_plan` shows it, writes it as
    a script and runs its checks. Raises discovery.NotFound for a path that does not exist, and ValueError for invalid
    rules.
    """
    from hipport_passes.packages import planning

    _check_rules(rules)
    project = discovery.discover(
        _listed(paths), target, exclude=exclude, base=exclude_base, vendored=_markers(), named=_named(rules)
    )
    discovery.refuse_conflicts(project)
    return planning.plan(replace(project, rules=rules or {}), rocm)


def read_rules(of_tree: Sequence[Path], given: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the rows in files of rules: those that a tree's own configuration names, and those that the user gives.

    The rules of a tree are data: they must not define commands, for this machine or in a script for another. Raises
    config.BadConfig.
    """
    from hipport.workspace.config import BadConfig
    from hipport.workspace.config import read_rules as read
    from hipport_passes.packages import recipes

    own = {path.resolve() for path in given}
    for path in of_tree:
        rows = read([path]).get("requirements", {}) if path.resolve() not in own else {}
        if field := recipes.executed(rows):
            raise BadConfig(
                f"{path}: {field} would be executed, and the tree's own configuration names this file. hipport runs "
                f"nothing of a tree unasked; if you trust it, say so: --rules {path}"
            )
    return read([*(path for path in of_tree if path.resolve() not in own), *given])


def _check_rules(rules: Mapping[str, Any] | None) -> None:
    """Raise ValueError for rows that no pass can use."""
    if not rules:
        return
    from hipport_passes.packages import recipes

    unknown = set(rules) - {"requirements"}
    if unknown:
        raise ValueError(f"{min(unknown)}: no pass of that name takes rules; requirements does")
    recipes.merged(rules["requirements"])


def _named(rules: Mapping[str, Any] | None) -> Callable[[bytes], bool]:
    """Return a function that says whether a text names a package that has a recipe."""
    from hipport_passes.packages import recipes

    return recipes.naming((rules or {}).get("requirements", {}))


def _markers() -> Mapping[str, tuple[str, ...]]:
    return _knowledge().vendored
