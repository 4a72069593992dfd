# SPDX-License-Identifier: Apache-2.0
"""Run passes over a project.

Within a step every call of a pass sees the same project. Edits are applied between steps. `run` states the laws for
passes.
"""

from __future__ import annotations

import gc
import posixpath
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import groupby
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from hipport.core.edits import Conflict, Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.group import Group, in_documents
from hipport.core.proof import Kept
from hipport.core.source import Source
from hipport.engine import byte_order
from hipport.engine.edits_together import breaks, edits_of, is_sound, without_conflicts, without_errors, without_moot
from hipport.engine.ignored import reason_to_ignore
from hipport.engine.outcomes import Outcome, Ported, Reported, Result
from hipport.engine.shared_code import settled
from hipport.program.dividing import Part, among, apart, concerning, fused
from hipport.program.hip_backends import known, left
from hipport.program.own_headers import missing, missing_modules, orphans, text, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.file_languages import source as as_read
from hipport.syntax.kept_comments import keeping_comments

L = TypeVar("L", bound=Source)
T = TypeVar("T")

# Nested calls. Python 3.10 needs about 500 bytes of stack for each, of the 8 MB that a process has.
_DEEPEST = 10_000

# The maximum number of runs over a file that is not parsed completely.
_ROUNDS = 4

_MEETING = "the file has syntax errors, and this edit conflicts with another one of the same pass"
_UNSETTLED = "this rule finds more to change each time the file is ported, so it does not understand the file"

# So many new objects trigger Python's garbage collector.
_COLLECTED = 50_000


@dataclass(frozen=True)
class Pass(Generic[L]):
    """A function that finds things in sources of one language. It reads and yields; it never writes."""

    language: type[L]
    find: Callable[[L, Project], Iterable[Finding]]
    #: The group of its findings, if it differs from that of the file.
    group: Group | None = None
    #: Whether it also reads a program's existing HIP backend: it may report there, but never change.
    at_backends: bool = False
    #: Files of one program that match this are put together, even if no include connects them.
    together: re.Pattern[bytes] | None = None
    #: Returns the text of a file by name, if the pass creates files other than headers in hipport's folder.
    module: Callable[[str, Project], bytes | None] | None = None
    #: The kinds of its findings about threads that wait for each other: these carry a proof.
    proves: frozenset[str] = frozenset()
    #: Returns the waiting code in a span, such as a line, that stays as it is.
    kept: Callable[[L, Project, Span], Iterable[Kept]] | None = None

    @cached_property
    def name(self) -> str:
        """The name of the module that defines the pass: one file is one pass."""
        return self.find.__module__.rpartition(".")[2]

    @property
    def doc(self) -> str:
        """The docstring of that module; its first sentence says what the pass does."""
        return (sys.modules[self.find.__module__].__doc__ or "").strip()


@dataclass(frozen=True)
class Progress:
    """The progress of a run: the current pass, and how many of its files are done."""

    name: str
    done: int
    total: int


@contextmanager
def _collecting_less() -> Iterator[None]:
    """Collect garbage less often: most objects created here are kept, so collections find little."""
    thresholds = gc.get_threshold()
    gc.set_threshold(max(thresholds[0], _COLLECTED) if thresholds[0] else 0, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@_collecting_less()
def run(
    project: Project,
    passes: Sequence[Pass[Any]],
    accept: Certainty = Certainty.REVIEW,
    on_progress: Callable[[Progress], None] | None = None,
    jobs: int = 1,
) -> Ported:
    """Run `passes` in order over `project` and return the result.

    Findings up to `accept` are applied. With more than one job, passes run in processes, each with files of its
    own; the result is the same. The laws for every pass:

    * its findings' edits must not conflict with each other (a conflict drops its edits to that file, and is a failure);
    * a file must not have more syntax errors after it than before (findings that cause them are dropped);
    * a failure inside a pass is reported before everything else, and the run goes on: it must not hide others.
    """
    before = project
    project = known(byte_order.bare(project))
    if ported := tuple(left(project)):
        before = replace(before, skipped=(*before.skipped, *ported))
    done = 0
    languages = {each.language for each in passes}
    concerned = {language: len(_concerned(language, project)) for language in languages}
    total = sum(concerned[each.language] for each in passes)

    def tell(name: str, steps: int) -> None:
        nonlocal done
        done += steps
        if on_progress is not None:
            on_progress(Progress(name, done, total))

    reported: list[Reported] = []
    created: dict[PurePath, NewFile] = {}
    for of_cpp, group in groupby(passes, key=lambda each: issubclass(each.language, Cpp)):
        steps = tuple(group)
        coming = {language for language in languages - {each.language for each in steps} if concerned[language]}
        # Files of the parts belong to another project, and their cached facts are dropped with it.
        if of_cpp:
            asked = concerning(project)
            seen = tuple(each.together for each in steps if each.together is not None)
            parts, shared = apart(asked, jobs, seen), fused(asked)
        else:
            parts, shared = among(project, jobs, partial(_concerns_any, steps)), []
        results = _worked_through(
            [*parts, *(view for _, views in shared for view in views)], steps, accept, jobs, tell, coming
        )
        result = _merged(results[: len(parts)])
        rest = iter(results[len(parts) :])
        for code, views in shared:
            result = settled(project, code, result, [next(rest) for _ in views])
        reported += result.reported
        for _, file in result.created:
            # A file that several files need is created once; different texts for one path are a defect of the passes.
            if created.setdefault(file.path, file) != file:
                raise Conflict(f"two different files would be made at {file.path}")
        changed = result.changed
        project = project.replacing(changed)
    reported += _own_files(project, created, passes)
    project = byte_order.restored(project, before)
    reported = [_in_file(each, before.by_path[each.path]) for each in reported]
    reported.sort(key=lambda r: (r.outcome is not Outcome.FAILED, r.path.as_posix(), r.span.start, r.span.end, r.rule))
    # Some exist already, from an earlier run, perhaps of an older release.
    project = project.replacing(
        {
            path: project.by_path[path].apply([Edit(Span(0, len(project.by_path[path].text)), file.text)])
            for path, file in created.items()
            if path in project.by_path and project.by_path[path].text != file.text
        }
    )
    for file in _beside_links(project, created):
        created.setdefault(file.path, file)
    new = tuple(sorted(file for path, file in created.items() if path not in project.by_path))
    return Ported(before, project, tuple(reported), new)


def _beside_links(project: Project, created: Mapping[PurePath, NewFile]) -> Iterator[NewFile]:
    """Yield hipport's headers again for each link to a file: a compiler searches for them beside the link."""
    for path, links in project.links.items():
        source = project.by_path.get(path) if project.concerns(path) else None
        for include in source.includes if isinstance(source, Cpp) else ():
            place = _resolved(path, include.path)
            known = created.get(place) or project.by_path.get(place)
            if include.angled or known is None or (isinstance(known, Source) and not _is_own(known)):
                continue
            for link in links:
                yield from with_included_headers(NewFile(_resolved(link, include.path), known.text))


def _own_files(project: Project, created: dict[PurePath, NewFile], passes: Sequence[Pass[Any]]) -> Iterator[Reported]:
    """Restore hipport's files that are included but missing, and report those that nothing includes."""

    def put_back(source: Source, span: Span, name: str, place: PurePath, files: Sequence[NewFile]) -> Reported:
        line, column = source.first.position(span.start)
        at = (source.path, line, column, span, "headers/missing")
        if place.parts[:1] == ("..",):
            message = f"{name} is not there, and lies outside of the given files: give its folder, too"
            return Reported(*at, message, Certainty.MANUAL, Outcome.REPORTED)
        for file in files:
            created.setdefault(file.path, file)
        return Reported(*at, f"{name} is not there: {place} is put back", Certainty.SAFE, Outcome.APPLIED)

    for source, include, place in list(missing(project, created)):
        files = with_included_headers(NewFile(place, text(place.name)))
        yield put_back(source, source.origin(include.target), include.path, place, files)
    for script, span, place in list(missing_modules(project, created)):
        texts = (each.module(place.name, project) for each in passes if each.module is not None)
        said = next((each for each in texts if each is not None), None)
        if said is not None:
            name = script[span].decode(errors="replace")
            yield put_back(script, script.origin(span), name, place, (NewFile(place, said),))
    for left_over in orphans(project, created):
        message = "no file includes this file of hipport any more: remove it"
        yield Reported(left_over.path, 1, 1, Span(0, 0), "headers/orphan", message, Certainty.MANUAL, Outcome.REPORTED)


def _is_own(source: Source) -> bool:
    return isinstance(source, Cpp) and source.is_hipport_header


def _resolved(path: PurePath, include: str) -> PurePath:
    return type(path)(posixpath.normpath((path.parent / include).as_posix()))


def _concerns(language: type[Source], source: Source) -> bool:
    """Whether a pass over the language is called for the file. hipport's own headers are not ported again."""
    if isinstance(source, language):
        return not (isinstance(source, Cpp) and source.is_hipport_header)
    return any(issubclass(inside, language) for inside in source.embeds)


def _concerns_any(passes: Sequence[Pass[Any]], source: Source) -> bool:
    return any(_concerns(each.language, source) for each in passes)


def _concerned(language: type[Source], project: Project) -> list[int]:
    """The indexes of the files that a pass over the language is called for: the same ones in every step."""
    return [
        i for i, source in enumerate(project.sources) if project.concerns(source.path) and _concerns(language, source)
    ]


def _found(each: Pass[Any], source: Source, project: Project) -> list[tuple[Finding, Source, Finding]]:
    """Call the pass for a file, or for embedded code in the pass's language.

    Each finding comes with the source that it was found in, and the finding as it is there; outside embedded code both
    findings are the same.
    """
    if isinstance(source, Cpp) and source.side and not each.at_backends:
        return []  # its authors have ported it
    if isinstance(source, each.language):
        return [(finding, source, finding) for finding in each.find(source, project)]
    return [
        (embedded.carried(finding), embedded.source, finding)
        for embedded in source.embedded
        if isinstance(embedded.source, each.language)
        for finding in each.find(embedded.source, project)
    ]


@contextmanager
def _deeply() -> Iterator[None]:
    """Raise the recursion limit to one call per level of nesting: a generated `else if` chain has hundreds of levels.

    Parsers of the edited text need it as well: otherwise deep nesting would look like an error of the edits.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@_deeply()
def _sequence(part: Part, passes: Sequence[Pass[Any]], accept: Certainty, tell: Callable[[str, int], None]) -> Result:
    """Run passes over a part of a project, until a second run would change nothing.

    Where the parser is lost it guesses, and its guess at one place depends on all others: after an edit it may see a
    function that it missed before, and an earlier pass would find something there in a second run. So such files go
    through the passes until nothing changes, and so do all files other than C++. Each time they are read as a second
    run reads them. If a rule never gets there, it says nothing about the file's code: the file is ported again without
    that rule's edits, and its findings are left to a person.
    """
    result, project, unsettled = _settled(part, passes, accept, tell)
    if unsettled:
        # A second run starts from other text, where the rule may do something else, or nothing. Then the file stays as
        # it was, because that is what a second run starts from, too.
        anew = {path: replace(project.by_path[path]) for path in unsettled}
        following = replace(part, project=project.replacing(anew), only=frozenset(unsettled))
        more, _, _ = _settled(following, passes, accept, _ignore_progress)
        result = result.undone(unsettled & more.changed.keys(), _UNSETTLED)
    return result


def _settled(
    part: Part, passes: Sequence[Pass[Any]], accept: Certainty, tell: Callable[[str, int], None]
) -> tuple[Result, Project, AbstractSet[PurePath]]:
    """Run passes until nothing changes, and return the files in which some rules' edits are left out for that."""
    unsettled: dict[PurePath, set[str]] = {}
    result, project = _once(part.project, part.only, passes, accept, tell)
    result, project, last = _again(part, result, project, passes, accept, unsettled)
    while last:
        for path, rules in last.items():
            unsettled.setdefault(path, set()).update(rules)
        anew, _ = _once(part.project, last.keys(), passes, accept, _ignore_progress, unsettled)
        result = result.without(last.keys()).followed(anew, last.keys())
        project = part.project.replacing(result.changed)
        result, project, last = _again(part, result, project, passes, accept, unsettled, anew.changed.keys())
    return result, project, unsettled.keys()


def _again(
    part: Part,
    result: Result,
    project: Project,
    passes: Sequence[Pass[Any]],
    accept: Certainty,
    unsettled: Mapping[PurePath, AbstractSet[str]],
    among: AbstractSet[PurePath] | None = None,
) -> tuple[Result, Project, dict[PurePath, set[str]]]:
    """Run passes again over the given files, and return the rules by which files still change at the end."""
    again = set(result.changed if among is None else among)
    last: dict[PurePath, set[str]] = {}
    for _ in range(_ROUNDS):
        project, others = _in_own_language(project, again)
        # The parser's tree of the text alone may differ from the one that it made of an earlier tree and the edits.
        anew = {path: project.by_path[path].read_again() for path in again}
        again = {path for path in again if _may_settle_later(part.project.by_path[path], anew[path])}
        project = project.replacing({path: anew[path] for path in again})
        again |= others if part.only is None else others & part.only
        if not again:
            return result, project, {}
        more, project = _once(project, again, passes, accept, _ignore_progress, unsettled)
        again = set(more.changed)
        last = {path: set() for path in again}
        for each in more.reported:
            if each.outcome is Outcome.APPLIED and each.path in last:
                last[each.path].add(each.rule)
        result = result.followed(more, others)
    return result, project, last


def _may_settle_later(before: Source, after: Source) -> bool:
    """Whether passes may find more in the result for a file: the parser is, or was, lost there.

    Build files and Python are short, so another run costs little, and passes read them partly by patterns: all of them
    are run again.
    """
    return any(not isinstance(each, Cpp) or each.guessed for each in (after, before))


def _in_own_language(project: Project, changed: AbstractSet[PurePath]) -> tuple[Project, set[PurePath]]:
    """Read files again in the language that they now have, and return their dependents as well.

    A header without CUDA that calls a function for which hipport has a header becomes CUDA by that include.
    """
    other: dict[PurePath, Source] = {}
    for path in changed:
        each = project.by_path[path]
        if isinstance(each, Cpp) and not isinstance(each, Cuda) and isinstance(as_read(path, each.text), Cuda):
            other[path] = Cuda(**{name.name: getattr(each, name.name) for name in fields(each)})
    project = project.replacing(other)
    return project, {near.path for each in other.values() for near in project.component(each)} & project.by_path.keys()


def _once(
    project: Project,
    only: AbstractSet[PurePath] | None,
    passes: Sequence[Pass[Any]],
    accept: Certainty,
    tell: Callable[[str, int], None],
    unsettled: Mapping[PurePath, AbstractSet[str]] = MappingProxyType({}),
) -> tuple[Result, Project]:
    """Run passes over some files of a project, and return the findings and the new project.

    Edits of rules that are `unsettled` in a file are not made.
    """
    result = Result({}, {}, [], [], [])
    concerned = {
        language: [i for i in _concerned(language, project) if only is None or project.sources[i].path in only]
        for language in {each.language for each in passes}
    }
    for each in passes:
        name = each.name
        changed: dict[PurePath, Source] = {}
        calls = 0
        for i in concerned[each.language]:
            source = project.sources[i]
            after, said, made = _step(each, source, project, accept, unsettled.get(source.path, frozenset()))
            result.reported.extend(said)
            result.created.extend((source.path, file) for file in made)
            if after is not source:
                changed[source.path] = after
                result.edits.setdefault(source.path, []).append(after.edits)
            calls += 1
            tell(name, 1)
        result.calls.append((name, calls))
        result.changed.update(changed)
        project = project.replacing(changed)
        for after in changed.values():
            assert after.before is not None
            after.before.settle()
    return result, project


#: The input of a process: the parts, and the other arguments of `_sequence`.
_given: list[tuple[Sequence[Part], Sequence[Pass[Any]], Certainty]] = []


def _give(parts: Sequence[Part], passes: Sequence[Pass[Any]], accept: Certainty) -> None:
    _given[:] = [(parts, passes, accept)]
    # Objects inherited from the parent stay alive; traversing them would only copy their pages.
    gc.freeze()


@_collecting_less()
def _edits_only(number: int) -> Result:
    ((parts, passes, accept),) = _given
    return replace(_sequence(parts[number], passes, accept, _ignore_progress), changed={})


def _merged(results: Sequence[Result]) -> Result:
    """Merge the results for parts of a project into one."""
    whole = Result({}, {}, [], [], [])
    for result in results:
        whole.changed.update(result.changed)
        whole.reported.extend(result.reported)
        whole.created.extend(result.created)
    return whole


def _worked_through(
    parts: Sequence[Part],
    passes: Sequence[Pass[Any]],
    accept: Certainty,
    jobs: int,
    tell: Callable[[str, int], None],
    coming: Iterable[type[Source]] = (),
) -> list[Result]:
    """Run the passes over the parts; with several jobs, each part in a process."""
    if jobs > 1 and len(parts) > 1:
        return _in_processes(parts, passes, accept, jobs, tell, coming)
    return [_sequence(part, passes, accept, _ignore_progress if part.view else tell) for part in parts]


def _in_processes(
    parts: Sequence[Part],
    passes: Sequence[Pass[Any]],
    accept: Certainty,
    jobs: int,
    tell: Callable[[str, int], None],
    coming: Iterable[type[Source]] = (),
) -> list[Result]:
    """Run the passes over the parts, each in a process, and meanwhile load the parsers that are needed next."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    # A forked process inherits everything that is loaded and computed: the passes with their tables, and the parts.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(jobs, context, _give, (parts, passes, accept)) as pool:
        futures = {pool.submit(_edits_only, number): number for number in range(len(parts))}
        for language in coming:
            language.prepare()
        results: dict[int, Result] = {}
        for future in as_completed(futures):
            result, number = future.result(), futures[future]
            part = parts[number]
            for path, steps in result.edits.items():
                source = part.project.by_path[path]
                source.forget()
                for edits in steps:
                    source = source.apply(edits)
                result.changed[path] = source
            results[number] = result
            for name, calls in result.calls if not part.view else ():
                tell(name, calls)
    return [results[number] for number in range(len(parts))]


def _ignore_progress(name: str, steps: int) -> None:
    """Discard progress: a process reports only when it is done."""


def _step(
    each: Pass[Any], source: Source, project: Project, accept: Certainty, unsettled: AbstractSet[str]
) -> tuple[Source, list[Reported], tuple[NewFile, ...]]:
    """Call a pass for a file and make its edits: return the new text, the findings, and the files that it needs."""
    try:
        findings = _found(each, source, project)
    except Exception as error:
        return source, [_failure(each, source, error)], ()
    if not findings:
        return source, [], ()
    outcomes: list[tuple[Finding, Outcome, str]] = []
    for found, inside, as_found in findings:
        finding = keeping_comments(source, found)
        reason = reason_to_ignore(inside, as_found, each.name)
        if reason is not None:
            outcomes.append((finding, Outcome.IGNORED, reason))
        elif not finding.edits:
            outcomes.append((finding, Outcome.REPORTED, ""))
        elif finding.certainty > accept:
            outcomes.append((finding, Outcome.DECLINED, f"only {accept} changes were accepted"))
        elif f"{each.name}/{finding.kind}" in unsettled:
            outcomes.append((finding, Outcome.DROPPED, _UNSETTLED))
        else:
            outcomes.append((finding, Outcome.APPLIED, ""))
    changing = [finding for finding, outcome, _ in outcomes if outcome is Outcome.APPLIED]
    failed: list[Reported] = []
    result, kept, problem = source, changing, ""
    try:
        try:
            result = source.apply(edits_of(changing))
        except Conflict:
            # Text that another edit deletes need not be changed.
            outcomes = list(without_moot(outcomes))
            changing = kept = [finding for finding, outcome, _ in outcomes if outcome is Outcome.APPLIED]
            result = source.apply(edits_of(changing))
    except Conflict as conflict:
        if source.errors:
            kept, problem = without_conflicts(source, changing), _MEETING
            result = source.apply(edits_of(kept))
        else:
            kept, problem, failed = [], "edits of this pass conflict", [_failure(each, source, conflict)]
    else:
        if not all(is_sound(source, finding) for finding in changing) and breaks(source, result):
            problem = "the edits of this finding would have broken the file's syntax"
            kept = without_errors(source, changing)
            result = source.apply(edits_of(kept))
    if problem:
        stay = {id(finding) for finding in kept}
        outcomes = [
            (f, Outcome.DROPPED, problem) if o is Outcome.APPLIED and id(f) not in stay else (f, o, r)
            for f, o, r in outcomes
        ]
    made = tuple(file for f, o, _ in outcomes if o is Outcome.APPLIED for file in f.creates)
    return result, [*failed, *(_reported(each, source, *outcome) for outcome in outcomes)], made


def _group(each: Pass[Any], source: Source) -> Group:
    """Return the group of a finding: that of its pass, or that of its file. Documents come last."""
    if source.group is Group.DOCUMENTS or in_documents(source.path):
        return Group.DOCUMENTS
    if each.group is None and source.path.name == "setup.py":
        return Group.BUILD
    return each.group or source.group


def _reported(each: Pass[Any], source: Source, finding: Finding, outcome: Outcome, reason: str) -> Reported:
    span = source.origin(finding.span)
    line, column = source.first.position(span.start)
    return Reported(
        source.path,
        line,
        column,
        span,
        f"{each.name}/{finding.kind}",
        finding.message,
        finding.certainty,
        outcome,
        reason,
        _group(each, source),
        finding.about,
        finding.proof,
    )


def _in_file(reported: Reported, source: Source) -> Reported:
    """Return a finding of a file without its byte-order mark at its place in the file as it was read."""
    if not source.beginning or reported.outcome is Outcome.FAILED:
        return reported
    span = byte_order.moved(reported.span, source.beginning)
    line, column = source.position(span.start)
    return replace(reported, span=span, line=line, column=column)


def _failure(each: Pass[Any], source: Source, error: Exception) -> Reported:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return Reported(
        source.path,
        1,
        1,
        Span(0, 0),
        f"{each.name}/failed",
        "this pass failed on this file, a defect of hipport's, so nothing is written; please report it with the file. "
        "To port the rest, leave the file out: exclude in hipport.toml",
        Certainty.MANUAL,
        Outcome.FAILED,
        f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})",
        _group(each, source),
    )
