# SPDX-License-Identifier: Apache-2.0
"""Write many files, all or none, and undo it; or write them into a copy of their tree.

A run in place keeps a journal at the root, which git is told to ignore. A process that is killed at any point leaves
nothing, or something that the next one undoes (`recover`). The last runs are kept and can be undone one after the
other; with the last of them the journal is removed. Module `journal` describes its contents.

A file that is replaced or put back gets the current time, so that a build compiles it again. Other names of a file
(hard links) keep their text. If a link leads to a file inside the root, that file is changed and the link stays. No
link may lead out of the root of the tree or of its copy: see `placing`.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

from hipport.core import reading
from hipport.core.placing import (
    Below,
    Refused,
    check_named,
    copy_new,
    make_new_folder,
    place,
    remove_tree,
    resolved,
    walk,
)
from hipport.core.source import Source
from hipport.syntax.file_languages import source
from hipport.workspace.discovery import left_by_tools
from hipport.workspace.journal import (
    FOLDER,
    KEPT,
    Journal,
    JournalEntry,
    JournalRun,
    Step,
    Steps,
    hash_of,
    is_reserved,
    journals_above,
    locked,
)
from hipport.workspace.journal import (
    recover as _recover,
)

__all__ = [
    "FOLDER", "KEPT", "Change", "Refused", "Step", "Written", "find_root", "find_roots", "now", "originals", "recover",
    "rewritten", "undo", "write", "write_tree",
]  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A file's bytes as they were read, or None for a file to be created, and its new bytes.

    `path` is relative to the root. `edits` lead from the old bytes to the new ones, in steps, if they are known.
    """

    path: PurePath
    before: bytes | None
    after: bytes
    edits: Steps = ()


@dataclass(frozen=True)
class Written:
    """The files that were written, and those that an earlier, killed run had left half-done and that were put back.

    `lost` lists the files whose saved originals were damaged, so that they stay as they are. `killed` says that the run
    that was undone had been killed before it was done.
    """

    paths: tuple[PurePath, ...]
    recovered: tuple[PurePath, ...] = ()
    lost: tuple[str, ...] = ()
    killed: bool = False


def write(root: Path, changes: Sequence[Change], *, patience: float = 10.0, at: Step = lambda step: None) -> Written:
    """Make `changes` below `root`, all or none; a run that was killed is undone first.

    Raises Refused if a file does not have the bytes from which the change was computed, lies outside the root through a
    link, or cannot be written (permission, space); or if another hipport is still writing there after `patience`
    seconds. Raises ValueError if two changes have the same file.
    """
    root = root.resolve()
    changes = _needed(root, changes)
    if not changes:
        lost: list[str] = []
        return Written((), recover(root, patience=patience, at=at, tell=lost.append), tuple(lost))
    with locked(root, patience) as journal:
        back = _recover(journal, at)
        # Another process that was writing until now may have created the same header.
        changes = _needed(root, changes)
        if not changes:
            return Written((), back.paths, back.lost)
        run = JournalRun(journal, f"{journal.next}.staging", *_checked(root, changes))
        try:
            run.stage([change.after for change in changes], [change.edits for change in changes], at)
            run.replace(at)
        except BaseException as error:
            run.abandon()
            if isinstance(error, OSError):
                raise Refused([run.problem(error)]) from error
            raise
        at("done")
        journal.prune()
    return Written(tuple(change.path for change in changes), back.paths, back.lost)


def undo(root: Path, *, patience: float = 10.0, at: Step = lambda step: None) -> Written:
    """Put back what the last run below `root` overwrote. Can be called once for each run, up to `KEPT` of them.

    A run that was killed counts as the last one. Files whose saved originals are damaged stay, and all others are put
    back. Raises Refused, and changes nothing, if there is nothing to undo, if a file was changed since, if one cannot
    be written, or if another hipport is writing there.
    """
    root = root.resolve()
    nothing = (
        f"{root}: hipport has changed nothing here that it could undo; `rewrite --out` writes only to its new folder"
    )
    if not (root / FOLDER).is_dir():
        raise Refused([nothing])
    with locked(root, patience) as journal:
        killed, half_done = bool(journal.unfinished), journal.half_done
        back = _recover(journal, at)
        if half_done or (killed and not journal.last):
            return Written((), back.paths, back.lost, killed=True)
        if not journal.last:
            raise Refused([nothing])
        run = JournalRun.load(journal, str(journal.last))
        try:
            taken = run.take_back(at)
        except OSError as error:
            raise Refused([run.problem(error)]) from error
    return Written(taken.paths, back.paths, taken.lost)


def recover(
    root: Path,
    *,
    patience: float = 10.0,
    at: Step = lambda step: None,
    tell: Callable[[str], None] = lambda problem: None,
) -> tuple[PurePath, ...]:
    """Undo what a killed run has left half-done at `root`, or in a tree that contains it; return the restored files.

    `tell` is called with files that stay because their saved originals are damaged.
    Does nothing, at no cost, if nothing is half-done. Raises Refused, and changes nothing, if one of the files was
    changed since or cannot be written, or if another hipport is writing there.
    """
    root = root.resolve()
    paths: list[PurePath] = []
    for found in journals_above(root):
        if found.unfinished or (found.root == root and not found.done and found.home.exists()):
            with locked(found.root, patience) as journal:
                back = _recover(journal, at)
            paths += (PurePath(os.path.relpath(found.root / path, root)) for path in back.paths)
            for problem in back.lost:
                tell(problem)
    return tuple(paths)


def originals(root: Path) -> dict[PurePath, bytes]:
    """Return the contents, before all runs that can be undone, of the files that these runs have overwritten."""
    journal = Journal(root.resolve())
    found: dict[PurePath, bytes] = {}
    for number in journal.done:
        run = JournalRun.load(journal, str(number))
        for entry in run.entries:
            if entry.before is not None and entry.path not in found:
                found[entry.path] = run.original_text(entry)
    return found


def rewritten(root: Path) -> dict[PurePath, Source]:
    """Return the files that were overwritten and not changed since, with the edits that made them.

    A journal is believed only if its edits turn an original of its own into the current text.
    """
    root = root.resolve()
    journal = Journal(root)
    found: dict[PurePath, Source] = {}
    for number in journal.done:
        run = JournalRun.load(journal, str(number))
        for entry, steps in zip(run.entries, run.edits(), strict=True):
            before = found.pop(entry.path, None)
            if entry.before is None or not steps:
                continue
            with suppress(OSError, ValueError):
                if before is None or hash_of(before.text) != entry.before:
                    before = source(entry.path, run.original_text(entry))
                for edits in steps:
                    before = before.apply(edits)
                if hash_of(before.text) == entry.after:
                    found[entry.path] = before
    return {path: each for path, each in found.items() if now(root / path) == each.text}


def find_root(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` in which something can be undone, or None."""
    start = start.resolve()
    for journal in journals_above(start if start.is_dir() else start.parent):
        if journal.done or journal.unfinished:
            return journal.root
    return None


def undo_first(root: Path) -> str:
    """Return what to do with a tree that was rewritten before it is read: undo, or what undo would say instead."""
    journal = Journal(root.resolve())
    try:
        for name in (*journal.unfinished, *map(str, journal.done[-1:])):
            JournalRun.load(journal, name)
    except Refused as problem:
        return "; ".join(problem.problems)
    return "hipport has rewritten this tree before; undo that first: hipport undo"


def find_roots(start: Path) -> list[Path]:
    """Return the result of `find_root` or, if that is None, all such folders below `start`, in order."""
    root = find_root(start)
    if root is not None:
        return [root]
    found = []
    for folder, names, _ in walk(start.resolve()):
        if FOLDER in names and ((journal := Journal(folder)).done or journal.unfinished):
            found.append(folder)
        names[:] = [name for name in names if not name.startswith(".") and name != "node_modules"]
    return sorted(found)


def _checked(root: Path, changes: Sequence[Change]) -> tuple[list[JournalEntry], list[str]]:
    """Check that changes can be made; return their entries, with links followed, and the folders to create."""
    entries: list[JournalEntry] = []
    folders: dict[str, None] = {}
    problems: list[str] = []
    below = Below(root)
    #: The targets of the files' folders, cached because most files share a folder with others.
    leads: dict[PurePath, Path] = {}
    there: dict[PurePath, bool] = {}
    for change in changes:
        parent = change.path.parent
        if parent not in leads:
            leads[parent] = Path(os.path.realpath(root / parent))
        target = leads[parent] / change.path.name
        if target.is_symlink() or change.path.name in ("", ".."):
            target = Path(os.path.realpath(target))
        if not target.is_relative_to(root) or is_reserved(target.relative_to(root)):
            problems.append(f"{change.path}: lies outside of {root}")
            continue
        path = PurePosixPath(target.relative_to(root))
        try:
            text = below.read(path)
        except FileNotFoundError:
            text = None
        except OSError as error:
            problems.append(f"{change.path}: {reading.said(error)}")
            continue
        if text != change.before:
            problems.append(_changed(change))
        elif text is not None and not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            problems.append(f"{change.path}: no permission to write")
        before = None if text is None else hash_of(text)
        entries.append(JournalEntry(len(entries), path, before, hash_of(change.after)))
        for above in path.parents:
            if above not in there:
                there[above] = (root / above).exists()
        folders.update((str(above), None) for above in reversed(path.parents) if not there[above])
    if problems:
        raise Refused(problems)
    if len({entry.path for entry in entries}) < len(entries):
        raise ValueError("two changes of one file")
    return entries, list(folders)


def _needed(root: Path, changes: Iterable[Change]) -> list[Change]:
    """Return the changes without those that change nothing: an earlier run may have created the same file."""
    return [
        change
        for change in changes
        if change.before != change.after and (change.before is not None or now(root / change.path) != change.after)
    ]


def _changed(change: Change) -> str:
    if change.before is None:
        return f"{change.path}: this file would be made, and there is another file of this name"
    return f"{change.path}: changed during the run; run hipport again"


# --- Copies -----------------------------------------------------------------------------------------------------------


def write_tree(root: Path, out: Path, only: Sequence[PurePath], changes: Sequence[Change]) -> Written:
    """Copy `only` (files and folders relative to `root`) to the new folder `out`, with `changes` made; all or nothing.

    Not copied: version control, hipport's journal, pipes and sockets. Links stay links; one with an absolute path into
    the tree gets a relative one, so that it does not lead from the copy into the original.
    Raises Refused if `out` exists and is not empty, lies inside the copied files, or cannot be written; if a file does
    not have the bytes from which its change was computed, or a link leads out of the tree where it is to be written.
    """
    root = root.resolve()
    if not out.is_symlink():
        check_named(out, [root], folder=True)
    out = out.absolute().parent.resolve() / out.absolute().name
    try:
        if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
            raise Refused([f"{out}: exists already; give a new folder, or an empty one"])
        for source in ((root / path).resolve() for path in only):
            if source.is_dir() and out.is_relative_to(source) and not _is_left(out, source):
                raise Refused([f"{out}: lies in {source}, which would be copied; give a folder outside of it"])
        changes = _needed(root, changes)
        problems = [_changed(change) for change in changes if now(root / change.path) != change.before]
        problems += [
            f"{change.path}: lies outside of {root}" for change in changes if resolved(root, change.path) is None
        ]
        if problems:
            raise Refused(problems)
        beside = out.with_name(f".hipport-{os.getpid()}~")
        try:
            _remove_leftovers(out.parent)
            beside.mkdir(parents=True)
            _copy(root, only, beside, out)
            for change in changes:
                _place(change, beside)
            if out.exists():
                out.rmdir()
            beside.rename(out)
        finally:
            remove_tree(beside)
    except OSError as error:
        beside = out.with_name(f".hipport-{os.getpid()}~")
        raise Refused([f"{_failed_at(error, beside, out)}: {reading.said(error)}"]) from error
    return Written(tuple(change.path for change in changes))


def _is_left(path: Path, tree: Path) -> bool:
    """Whether a copy of a tree leaves out a path in it, as it does hipport's cache."""
    inside = (path, *path.parents)
    return any(each.name in left_by_tools(each.parent, [each.name]) for each in inside[: inside.index(tree)])


def _failed_at(error: OSError, beside: Path, out: Path) -> str:
    """Name the file that could not be read or written: of a copy the copy, which the user knows as a file of `out`."""
    where = error.filename
    # What a file is copied with fails with both names. It is the second one where there is no room.
    if error.filename2 is not None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        where = error.filename2
    return str(where or out).replace(str(beside), str(out))


def _copy(root: Path, only: Sequence[PurePath], to: Path, out: Path) -> None:
    """Copy files and folders below `root` to their places below `to`, which becomes `out`.

    Raises Refused, with what could not be copied.
    """
    problems: list[str] = []

    def tell(error: OSError) -> None:
        problems.append(f"{_failed_at(error, to, out)}: {reading.said(error)}")

    folders: list[tuple[Path, Path]] = []
    # A path inside another of them is copied with it.
    for path in [path for path in dict.fromkeys(only) if not set(path.parents) & set(only)]:
        source, target = root / path, to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not source.is_dir():
            copy_new(source.resolve(), target)
            continue
        for folder, names, others in walk(source, tell):
            here = to / folder.relative_to(root)
            make_new_folder(here)
            folders.append((folder, here))
            # A Python environment contains its own path, and works only there.
            left = {FOLDER} | left_by_tools(folder, (*names, *others))
            left |= {name for name in names if reading.is_file(folder / name / "pyvenv.cfg")}
            names[:] = [name for name in names if name not in left]
            for name in others:
                try:
                    if name not in left:
                        _copy_file(folder / name, here / name, root, to)
                except OSError as error:
                    error.filename = error.filename or str(folder / name)
                    tell(error)
    if problems:
        more = [f"and {len(problems) - 5} more files"] if len(problems) > 5 else []
        raise Refused([*problems[:5], *more])
    for folder, here in reversed(folders):
        with suppress(OSError):
            shutil.copystat(folder, here)
        # The owner must be able to change the copy; the tree may be read-only.
        here.chmod(stat.S_IMODE(here.stat().st_mode) | stat.S_IRWXU)


def _copy_file(source: Path, target: Path, root: Path, to: Path) -> None:
    mode = source.lstat().st_mode
    if stat.S_ISLNK(mode):
        leads = source.readlink()
        if leads.is_absolute() and leads.is_relative_to(root):
            leads = Path(os.path.relpath(to / leads.relative_to(root), target.parent))
        target.symlink_to(leads)
    elif stat.S_ISREG(mode):
        copy_new(source, target)


def _place(change: Change, to: Path) -> None:
    """Write a changed file into a copy, with the mode of the copy."""
    place(to, change.path, change.after)


def _remove_leftovers(folder: Path) -> None:
    """Remove the leftovers of killed copies from a folder."""
    for path in folder.glob(".hipport-*~"):
        process = path.name[len(".hipport-") : -1]
        if process.isdecimal() and path.is_dir() and not path.is_symlink():
            try:
                os.kill(int(process), 0)
            except ProcessLookupError:
                remove_tree(path)
            except (OSError, OverflowError):
                pass


def now(path: Path) -> bytes | None:
    """Return the bytes of a file, None if it cannot be read."""
    try:
        return reading.read(path)
    except OSError:
        return None
