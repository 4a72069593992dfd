# SPDX-License-Identifier: Apache-2.0
"""Write many files, all of them or none, and take it back.

A run keeps a journal in `.hipport` at the root (which tells git to ignore it): the originals and a manifest. The name
of a run's folder says how far it is:

    7.staging     originals are being saved, new texts are written beside their targets; nothing is replaced yet
    7.replacing   targets are being replaced, or put back: whoever comes next puts back what is not the original
    7             done; `undo` puts it back

So a process that is killed, wherever it is, leaves nothing, or what the next one takes back (`recover`). The last runs
are kept and can be undone one after the other; when none is left, the journal is gone too.

Originals are kept as the files they were, by a hard link where the file system has them: nothing is copied, and undo
brings back mode, owner and links. A file that is replaced or put back has the time of that, so that what was built
from its other text is built again. Other names of a file (hard links) keep the text that they had. Where a link leads
to a file inside the root, that file is changed and the link stays.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

from hipport.discover import left_by_tools

FOLDER = ".hipport"
#: How many runs can be taken back.
KEPT = 10

_IGNORE = "# What hipport needs to take its changes back.\n*\n"

#: Told of every step, for tests that stop or fail there.
Step = Callable[[str], None]


class Refused(Exception):
    """Nothing was changed. `problems` say why, each with the file it is about."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True)
class Change:
    """A file's bytes as they were read, None if it is to be made, and as they shall be.

    `path` is relative to the root.
    """

    path: PurePath
    before: bytes | None
    after: bytes


@dataclass(frozen=True)
class Written:
    """The files that were written, and those that a run killed earlier had left half-done and that were put back."""

    paths: tuple[PurePath, ...]
    recovered: tuple[PurePath, ...] = ()


def write(root: Path, changes: Sequence[Change], *, patience: float = 10.0, at: Step = lambda step: None) -> Written:
    """Make `changes` below `root`, all or none; a run that was killed is taken back first.

    Raises Refused when a file does not have the bytes that the change was worked out from, lies outside the root
    through a link, or cannot be written (permission, space); or when another hipport is still writing there after
    `patience` seconds. `ValueError` when two changes are about one file.
    """
    root = root.resolve()
    changes = _needed(root, changes)
    if not changes:
        return Written((), recover(root, patience=patience, at=at))
    with _locked(root, patience) as journal:
        recovered = _recover(journal, at)
        run = _Run(journal, f"{journal.last + 1}.staging", *_checked(root, changes))
        try:
            run.stage([change.after for change in changes], at)
            run.replace(at)
        except BaseException as error:
            run.abandon()
            if isinstance(error, OSError):
                raise Refused([run.problem(error)]) from error
            raise
        at("done")
        journal.prune()
    return Written(tuple(change.path for change in changes), recovered)


def undo(root: Path, *, patience: float = 10.0, at: Step = lambda step: None) -> Written:
    """Put back what the last run below `root` overwrote. Can be called once for each run, up to `KEPT` of them.

    Raises Refused, and changes nothing, when there is nothing to take back, when a file was changed since, when one
    cannot be written, or when another hipport is writing there.
    """
    root = root.resolve()
    nothing = f"{root}: hipport has changed nothing here that could be taken back"
    if not (root / FOLDER).is_dir():
        raise Refused([nothing])
    with _locked(root, patience) as journal:
        recovered = _recover(journal, at)
        if not journal.last:
            raise Refused([nothing])
        run = _Run.load(journal, str(journal.last))
        try:
            back = run.take_back(at)
        except OSError as error:
            raise Refused([run.problem(error)]) from error
    return Written(tuple(entry.path for entry in back), recovered)


def recover(root: Path, *, patience: float = 10.0, at: Step = lambda step: None) -> tuple[PurePath, ...]:
    """Take back what a killed run has left half-done below `root`; return the files that were put back.

    Costs nothing when there is nothing to do. Raises Refused, and leaves all as it is, when one of the files was
    changed since or cannot be written, or when another hipport is writing there.
    """
    root = root.resolve()
    journal = _Journal(root)
    if not journal.unfinished and (journal.done or not journal.home.exists()):
        return ()
    with _locked(root, patience) as journal:
        return _recover(journal, at)


def originals(root: Path) -> dict[PurePath, bytes]:
    """Return what was there, before all runs that can be undone, of the files that they have overwritten."""
    journal = _Journal(root.resolve())
    found: dict[PurePath, bytes] = {}
    for number in journal.done:
        run = _Run.load(journal, str(number))
        for entry in run.entries:
            if entry.before is not None and entry.path not in found:
                found[entry.path] = _read(run.original(entry))
    return found


def find_root(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` in which something can be taken back, or None."""
    start = start.resolve()
    for folder in (start, *start.parents):
        journal = _Journal(folder)
        if journal.done or journal.unfinished:
            return folder
    return None


def find_roots(start: Path) -> list[Path]:
    """Return what `find_root` does or, where that is None, all such folders below `start`, in order."""
    root = find_root(start)
    if root is not None:
        return [root]
    found = []
    for folder, names, _ in os.walk(start.resolve()):
        if FOLDER in names and _Journal(Path(folder)).done:
            found.append(Path(folder))
        names[:] = [name for name in names if not name.startswith(".") and name != "node_modules"]
    return sorted(found)


# --- The journal ------------------------------------------------------------------------------------------------------


class _Journal:
    """The runs below one root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / FOLDER
        self.runs = self.home / "runs"

    def _names(self) -> list[str]:
        try:
            return sorted(path.name for path in self.runs.iterdir())
        except OSError:
            return []

    @property
    def done(self) -> list[int]:
        """The runs that can be undone, oldest first."""
        return sorted(int(name) for name in self._names() if name.isdecimal())

    @property
    def last(self) -> int:
        return max(self.done, default=0)

    @property
    def unfinished(self) -> list[str]:
        """The runs that were killed."""
        return [name for name in self._names() if not name.isdecimal()]

    def prune(self) -> None:
        """Forget the oldest runs."""
        for number in self.done[:-KEPT]:
            # Renamed first, so that nobody undoes a run that is half gone.
            with suppress(OSError):
                shutil.rmtree((self.runs / str(number)).rename(self.runs / f"{number}.staging"))

    def tidy(self) -> None:
        """Leave no trace when there is nothing to take back."""
        with suppress(OSError):
            self.runs.rmdir()
        with suppress(OSError):
            if {path.name for path in self.home.iterdir()} <= {"lock", ".gitignore"}:
                (self.home / ".gitignore").unlink(missing_ok=True)
                (self.home / "lock").unlink()
                self.home.rmdir()


@contextmanager
def _locked(root: Path, patience: float) -> Iterator[_Journal]:
    import fcntl  # not there on Windows, where everything else can be imported

    journal = _Journal(root)
    cannot = f"{root}: hipport keeps here what it overwrites, and cannot"
    give_up = time.monotonic() + patience
    while True:
        if journal.home.is_symlink() or journal.runs.is_symlink():
            raise Refused([f"{journal.home}: leads somewhere else through a link"])
        try:
            journal.home.mkdir(exist_ok=True)
            lock = os.open(journal.home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and root.is_dir():
                continue  # another hipport has just removed its empty journal
            with suppress(OSError):
                journal.home.rmdir()
            raise Refused([f"{cannot}: {_said(error)}"]) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                # Whoever held it before may have removed this very file.
                if os.path.samestat(os.fstat(lock), (journal.home / "lock").stat()):
                    break
        except BlockingIOError:
            if time.monotonic() > give_up:
                os.close(lock)
                raise Refused([f"{root}: another hipport is writing here; wait for it to end"]) from None
            time.sleep(0.02)
        os.close(lock)
    try:
        ignore = journal.home / ".gitignore"
        if not ignore.exists():
            try:
                ignore.write_text(_IGNORE, encoding="ascii")
            except OSError as error:
                ignore.unlink(missing_ok=True)
                raise Refused([f"{cannot}: {_said(error)}"]) from error
        yield journal
    finally:
        journal.tidy()
        os.close(lock)


def _recover(journal: _Journal, at: Step) -> tuple[PurePath, ...]:
    paths: list[PurePath] = []
    for name in journal.unfinished:
        run = _Run.load(journal, name)
        try:
            paths += [entry.path for entry in run.roll_back(run.entries, at)]
        except OSError as error:
            raise Refused([f"{run.problem(error)}; so a run that was killed cannot be taken back"]) from error
    return tuple(paths)


@dataclass(frozen=True)
class _Entry:
    """A file of a run: its number there, its path below the root and in full, and hashes of its two texts."""

    number: int
    path: PurePosixPath
    target: Path
    before: str | None
    after: str


class _Run:
    """One run: its entries, the folders that it makes (outer ones first), and its own folder in the journal."""

    def __init__(self, journal: _Journal, name: str, entries: Sequence[_Entry], folders: Sequence[str]) -> None:
        self.root = journal.root
        self.number = int(name.partition(".")[0])
        self.folder = journal.runs / name
        self.entries = entries
        self.folders = folders
        self.replaced: list[_Entry] = []

    @classmethod
    def load(cls, journal: _Journal, name: str) -> _Run:
        """Read a run's manifest. One that is not whole is of a run that had not begun to write."""
        number, _, state = name.partition(".")
        if number.isdecimal() and state in ("", "staging", "replacing"):
            try:
                said = json.loads((journal.runs / name / "manifest.json").read_bytes())
                entries = [
                    _Entry(i, PurePosixPath(path), journal.root / path, *texts)
                    for i, (path, *texts) in enumerate(said["entries"])
                ]
                # A repository may bring a journal with it: nothing that it says may lead out of the root.
                if all(_stays_inside(journal.root, path) for path in (*(e.path for e in entries), *said["folders"])):
                    return cls(journal, name, entries, said["folders"])
            except (OSError, ValueError, KeyError, TypeError):
                if state == "staging":
                    return cls(journal, name, (), ())
        raise Refused([f"{journal.runs / name}: not made by hipport; remove it if you do not need what is in it"])

    def temporary(self, entry: _Entry) -> Path:
        # Not made from the file's name, which may be as long as names can be.
        return entry.target.with_name(f".hipport-{self.number}-{entry.number}~")

    def original(self, entry: _Entry) -> Path:
        return self.folder / str(entry.number)

    def ported(self, entry: _Entry) -> Path:
        """Where the new text is kept while it is undone."""
        return self.folder / f"{entry.number}.after"

    def problem(self, error: OSError) -> str:
        """Say what went wrong with which file of the run."""
        about = {os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, (str, bytes))}
        for entry in self.entries:
            if about & {str(entry.target), str(self.temporary(entry))}:
                return f"{entry.path}: {_said(error)}"
        return f"{min(about, default=self.root)}: {_said(error)}"

    def rename(self, state: str) -> None:
        self.folder = self.folder.rename(self.folder.with_name(f"{self.number}{state}"))
        _settle([self.folder.parent])

    def stage(self, texts: Sequence[bytes], at: Step) -> None:
        """Save the originals, and write the new texts beside their targets."""
        self.folder.mkdir(parents=True)
        at("begun")
        entries = [(str(entry.path), entry.before, entry.after) for entry in self.entries]
        manifest = json.dumps({"entries": entries, "folders": self.folders})
        _write(self.folder / "manifest.json", manifest.encode("ascii"))
        # It tells what to remove: it has to be there before anything else is.
        _settle([self.folder / "manifest.json", self.folder])
        at("manifest")
        for entry in self.entries:
            if entry.before is not None:
                _keep(entry.target, self.original(entry))
                at(f"saved {entry.path}")
        for folder in self.folders:
            (self.root / folder).mkdir()
            at(f"made {folder}")
        for entry, text in zip(self.entries, texts, strict=True):
            _write(self.temporary(entry), text, None if entry.before is None else entry.target)
            at(f"staged {entry.path}")
        _settle([*map(self.temporary, self.entries), self.folder])

    def replace(self, at: Step) -> None:
        """Put the new texts where they belong."""
        self.rename(".replacing")
        at("ready")
        for entry in self.entries:
            if self.state(entry) != "before":
                raise Refused([f"{entry.path}: changed while hipport was at work; run it again"])
            self.replaced.append(entry)
            self.temporary(entry).replace(entry.target)
            at(f"replaced {entry.path}")
        _settle({entry.target.parent for entry in self.entries})
        at("settled")
        self.rename("")

    def abandon(self) -> None:
        """Take back what this process has done of the run so far."""
        try:
            self.roll_back(self.replaced, lambda step: None)
        except OSError as error:
            raise Refused([f"{self.problem(error)}; run hipport again to take back what was done so far"]) from error

    def roll_back(self, entries: Sequence[_Entry], at: Step) -> list[_Entry]:
        """Put back those of `entries` that are replaced, return them, and remove everything else that the run has left.

        Raises Refused, and leaves all as it is, when a file has neither of its texts.
        """
        back: list[_Entry] = []
        if self.folder.suffix == ".replacing":
            states = [(entry, self.state(entry)) for entry in entries]
            lost = [entry for entry, state in states if state == "other"]
            if lost:
                raise Refused(
                    f"{entry.path}: changed after hipport was killed while it wrote; its original is "
                    f"{self.original(entry)}; remove {self.folder} when you need nothing from it"
                    for entry in lost
                )
            back = [entry for entry, state in states if state == "after"]
            for entry in back:
                self.put_back(entry)
                at(f"put back {entry.path}")
        for entry in self.entries:
            self.temporary(entry).unlink(missing_ok=True)
        self.remove(at)
        return back

    def take_back(self, at: Step) -> list[_Entry]:
        """Undo the run, which is done; return what was put back. When that fails half-way, do it again."""
        states = [(entry, self.state(entry)) for entry in self.entries]
        changed = [f"{entry.path}: changed since hipport wrote it" for entry, state in states if state == "other"]
        if changed:
            raise Refused(changed)
        back: list[_Entry] = []
        try:
            self.rename(".replacing")
            at("marked")
            for entry, state in states:
                if state == "after":
                    _keep(entry.target, self.ported(entry))
                    back.append(entry)
                    self.put_back(entry)
                    at(f"put back {entry.path}")
        except BaseException:
            for entry in back:
                if entry.before is not None and not self.original(entry).exists():
                    _keep(entry.target, self.original(entry))
                _move(self.ported(entry), entry.target, self.temporary(entry))
            self.rename("")
            raise
        self.remove(at)
        return back

    def put_back(self, entry: _Entry) -> None:
        target, original = entry.target, self.original(entry)
        if entry.before is None:
            target.unlink()
            return
        if _hash(_read(original)) != entry.before:
            raise OSError(errno.EIO, "its saved original is damaged", str(target))
        os.utime(original)
        _move(original, target, self.temporary(entry))

    def remove(self, at: Step) -> None:
        """Remove the folders that the run has made, then its own; what cannot be removed now, the next one removes."""
        for folder in reversed(self.folders):
            with suppress(OSError):
                (self.root / folder).rmdir()
        with suppress(OSError):
            if self.folder.suffix != ".staging":
                _settle({parent for entry in self.entries if (parent := entry.target.parent).exists()})
                # So that nobody puts files back out of a folder that is going away file by file.
                self.rename(".staging")
            at("back")
            shutil.rmtree(self.folder)

    def state(self, entry: _Entry) -> str:
        """Say which text a file has: `before`, `after` or `other`."""
        try:
            found = _hash(_read(entry.target))
        except FileNotFoundError:
            found = None
        except OSError:
            return "other"
        return "before" if found == entry.before else "after" if found == entry.after else "other"


def _checked(root: Path, changes: Sequence[Change]) -> tuple[list[_Entry], list[str]]:
    """Return entries for changes, links followed, and the folders to make, after looking for what stands against it."""
    entries: list[_Entry] = []
    folders: dict[str, None] = {}
    problems: list[str] = []
    #: Where the folders of the files lead, and which folders are there: most files share theirs with others.
    leads: dict[PurePath, Path] = {}
    there: dict[PurePath, bool] = {}
    for change in changes:
        parent = change.path.parent
        if parent not in leads:
            leads[parent] = Path(os.path.realpath(root / parent))
        target = leads[parent] / change.path.name
        if target.is_symlink() or change.path.name in ("", ".."):
            target = Path(os.path.realpath(target))
        if not target.is_relative_to(root) or FOLDER in target.relative_to(root).parts:
            problems.append(f"{change.path}: lies outside of {root}")
            continue
        try:
            text = _read(target)
        except FileNotFoundError:
            text = None
        except OSError as error:
            problems.append(f"{change.path}: {_said(error)}")
            continue
        if text != change.before:
            problems.append(_changed(change))
        elif text is not None and not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            problems.append(f"{change.path}: no permission to write")
        path = PurePosixPath(target.relative_to(root))
        before = None if text is None else _hash(text)
        entries.append(_Entry(len(entries), path, target, before, _hash(change.after)))
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
    """Return the changes without those that change nothing: a file to be made may be there, from an earlier run."""
    return [
        change
        for change in changes
        if change.before != change.after and (change.before is not None or _now(root / change.path) != change.after)
    ]


def _changed(change: Change) -> str:
    if change.before is None:
        return f"{change.path}: is to be made, and there is another file of this name"
    return f"{change.path}: changed while hipport was at work; run it again"


def _stays_inside(root: Path, path: PurePath | str) -> bool:
    pure = PurePosixPath(path)
    inside = not pure.is_absolute() and FOLDER not in pure.parts
    return inside and os.path.realpath(root / pure) == str(root / pure)


# --- Copies -----------------------------------------------------------------------------------------------------------


def write_tree(root: Path, out: Path, only: Sequence[PurePath], changes: Sequence[Change]) -> Written:
    """Copy `only` (files and folders relative to `root`) to the new folder `out`, with `changes` made; all or nothing.

    Not copied: version control, hipport's journal, pipes and sockets. Links stay links; one with an absolute path into
    the tree gets a relative one, so as not to lead from the copy into the original.
    Raises Refused when `out` exists and is not empty, lies in what is copied, or cannot be written, and when a file
    does not have the bytes that its change was worked out from.
    """
    root = root.resolve()
    out = out.absolute().parent.resolve() / out.absolute().name
    try:
        if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
            raise Refused([f"{out}: exists already; give a folder that does not, or an empty one"])
        for source in ((root / path).resolve() for path in only):
            if source.is_dir() and out.is_relative_to(source):
                raise Refused([f"{out}: lies in {source}, which is to be copied; give a folder outside of it"])
        changes = _needed(root, changes)
        changed = [_changed(change) for change in changes if _now(root / change.path) != change.before]
        if changed:
            raise Refused(changed)
        beside = out.with_name(f".hipport-{os.getpid()}~")
        try:
            _remove_leftovers(out.parent)
            beside.mkdir(parents=True)
            for path in only:
                _copy(root, path, beside)
            for change in changes:
                _place(change, beside)
            if out.exists():
                out.rmdir()
            beside.rename(out)
        finally:
            _remove(beside)
    except shutil.Error as error:
        # One for each file: (from, to, why), where the last is an error's text with both paths again.
        found = [(str(each[0]), str(each[2])) for each in error.args[0]]
        problems = [f"{place}: {re.sub(r'^.Errno [0-9]+. |: .*', '', why).lower()}" for place, why in found[:5]]
        more = [f"and {len(found) - 5} more files"] if len(found) > 5 else []
        raise Refused([*problems, *more]) from error
    except OSError as error:
        raise Refused([f"{error.filename or out}: {_said(error)}"]) from error
    return Written(tuple(change.path for change in changes))


def _copy(root: Path, path: PurePath, to: Path) -> None:
    """Copy a file or a folder below `root` to its place below `to`."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        special = {name for name in names if not _copyable(Path(folder, name).lstat().st_mode)}
        # An environment of Python has its own place in it, and works only there.
        environments = {name for name in names if Path(folder, name, "pyvenv.cfg").exists()}
        return special | environments | {FOLDER} | left_by_tools(folder, names)

    source, place = root / path, to / path
    place.parent.mkdir(parents=True, exist_ok=True)
    if not source.is_dir():
        shutil.copy2(source, place)
        return
    shutil.copytree(source, place, symlinks=True, ignore=left_out, dirs_exist_ok=True)
    _open(place)
    for folder, names, files in os.walk(place):
        for link in (Path(folder, name) for name in (*names, *files)):
            if link.is_symlink() and (target := link.readlink()).is_absolute() and target.is_relative_to(root):
                link.unlink()
                link.symlink_to(os.path.relpath(to / target.relative_to(root), link.parent))


def _open(top: Path) -> None:
    """Let the owner change what is in folders: those of a tree that is only to be read were copied as they are."""
    for folder, _, _ in os.walk(top):
        Path(folder).chmod(stat.S_IMODE(Path(folder).stat().st_mode) | stat.S_IRWXU)


def _remove(top: Path) -> None:
    with suppress(OSError):
        _open(top)
    shutil.rmtree(top, ignore_errors=True)


def _copyable(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _place(change: Change, to: Path) -> None:
    """Write a changed file into a copy, with the mode that it has there."""
    place = to / change.path
    place.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(place.stat().st_mode) if change.before is not None else None
    place.unlink(missing_ok=True)
    place.write_bytes(change.after)
    if mode is not None:
        place.chmod(mode)


def _remove_leftovers(folder: Path) -> None:
    """Remove what copies that were killed have left in a folder."""
    for path in folder.glob(".hipport-*~"):
        process = path.name[len(".hipport-") : -1]
        if path.is_dir() and process.isdecimal():
            try:
                os.kill(int(process), 0)
            except ProcessLookupError:
                _remove(path)
            except OSError:
                pass


# --- Files ------------------------------------------------------------------------------------------------------------


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _now(path: Path) -> bytes | None:
    """Return the bytes of a file, None where there is none."""
    try:
        return _read(path)
    except OSError:
        return None


def _read(path: Path) -> bytes:
    """Return the bytes of a regular file. Raises OSError for anything else, without waiting for a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def _write(path: Path, text: bytes, like: Path | None = None) -> None:
    """Write a new file, with mode, owner and attributes of `like`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if like else 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        if like is not None:
            _make_like(descriptor, like)


def _make_like(descriptor: int, like: Path) -> None:
    status = like.stat()
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        # Only root may give a file away: otherwise it is now of who has written it.
        with suppress(PermissionError):
            os.fchown(descriptor, -1, status.st_gid)
            os.fchown(descriptor, status.st_uid, -1)
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(like):  # access control lists among them
                os.setxattr(descriptor, name, os.getxattr(like, name))
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _keep(path: Path, to: Path) -> None:
    """Give a file another name, or where the file system cannot do that, copy it."""
    try:
        os.link(path, to)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOENT, errno.ENOSPC, errno.EROFS):
            raise
        _write(to, _read(path), path)
        _settle([to])


def _move(path: Path, to: Path, temporary: Path) -> None:
    """Put a file in the place of another, on whatever file system that is."""
    try:
        path.replace(to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _write(temporary, _read(path), path)
        temporary.replace(to)
    # Two names of one file do not replace each other.
    path.unlink(missing_ok=True)


def _settle(paths: Iterable[Path]) -> None:
    """See files, and the names in folders, to the disk."""

    def settle(some: Sequence[Path]) -> None:
        for path in some:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    # Many at once share what each would wait for alone: 800 files take 0.2 s, one by one 6 s.
    every = list(paths)
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(settle, (every[i::8] for i in range(min(8, len(every))))):
            pass


def _said(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
