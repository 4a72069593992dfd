# SPDX-License-Identifier: Apache-2.0
"""Write many files, all of them or none, and take it back.

A run keeps a journal in `.hipport` below the root (which tells git to ignore it): the originals and a manifest. The
name of a run's folder says how far it is:

    7.staging     originals are being saved, new texts are written beside their targets; nothing is replaced yet
    7.replacing   targets are being replaced, or put back: whoever comes next puts back what is not the original
    7             done; `undo` puts it back

So a process that is killed, at any point, leaves either nothing or what the next one takes back (`recover`). The last
runs are kept and can be undone one after the other.

Originals are kept as the files they were, by a hard link where the file system has them: nothing is copied, and undo
brings back mode, owner and links. A file that is replaced or put back has the time of that, so that what was built
from its other text is built again. Other names of a file (hard links) keep the text that they had. Where links lead
to a file inside the root, that file is changed and the link stays.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

FOLDER = ".hipport"
#: How many runs can be undone.
KEPT = 10

_IGNORE = "# Made by hipport: what it needs to take its changes back.\n*\n"


@dataclass(frozen=True)
class Change:
    """A file's bytes as they were read, and as they shall be. `path` is relative to the root.

    `before` is None for a file that is not there yet.
    """

    path: PurePath
    before: bytes | None
    after: bytes


@dataclass(frozen=True)
class Written:
    """What a run did. `run` counts up; it is 0 when there was nothing to do."""

    run: int
    changed: tuple[PurePath, ...] = ()
    created: tuple[PurePath, ...] = ()


@dataclass(frozen=True)
class Undone:
    """What was taken back, and how many runs can still be undone."""

    run: int
    restored: tuple[PurePath, ...]
    removed: tuple[PurePath, ...]
    left: int


class NotWritten(Exception):
    """Nothing was changed, because of `why`; `paths` are the files it is about."""

    def __init__(self, why: str, paths: Sequence[PurePath] = ()) -> None:
        super().__init__(why, tuple(paths))
        self.why = why
        self.paths = tuple(paths)

    def __str__(self) -> str:
        shown = ", ".join(path.as_posix() for path in self.paths[:5])
        more = f" and {len(self.paths) - 5} more" if len(self.paths) > 5 else ""
        return f"{shown}{more}: {self.why}" if self.paths else self.why


class Changed(NotWritten):
    """Files do not have the bytes that they should have: somebody else changed them meanwhile."""


class Busy(NotWritten):
    """Another process is writing below this root."""


class NothingToUndo(NotWritten):
    """There is no run to take back."""


#: Called with the name of each step, for tests to fail or be killed there.
Step = Callable[[str], None]


def _nothing(step: str) -> None:
    pass


def write(root: Path, changes: Sequence[Change], *, patience: float = 10.0, at: Step = _nothing) -> Written:
    """Make all `changes` below `root`, or none.

    A run that was interrupted is taken back first. Waits up to `patience` seconds for another process. Raises Changed
    when a file does not have the bytes `before`, Busy, or NotWritten when it cannot be written: no permission, no
    space, outside of the root.
    """
    root = _resolved(root)
    changes = [change for change in changes if change.before != change.after]
    if not changes:
        return Written(0)
    with _Journal.locked(root, patience) as journal:
        journal.recover(at)
        run = _Run.start(journal, _checked(root, changes))
        try:
            run.stage([change.after for change in changes], at)
            run.replace(at)
        except BaseException as error:
            run.abandon()
            if isinstance(error, OSError):
                raise NotWritten(_said(error), run.named(error)) from error
            raise
        at("done")
        journal.prune()
    return Written(
        run.number,
        tuple(entry.path for entry in run.entries if entry.before is not None),
        tuple(entry.path for entry in run.entries if entry.before is None),
    )


def undo(root: Path, *, patience: float = 10.0, at: Step = _nothing) -> Undone:
    """Take back the last run below `root` that was not taken back yet.

    Raises NothingToUndo; Changed, naming them, when files were changed since, and then nothing is restored; Busy; or
    NotWritten when a file cannot be written.
    """
    root = _resolved(root)
    if not (root / FOLDER).is_dir():
        raise NothingToUndo(f"hipport has changed nothing below {root}")
    with _Journal.locked(root, patience) as journal:
        journal.recover(at)
        numbers = journal.done()
        if not numbers:
            raise NothingToUndo(f"there is nothing left to undo below {root}")
        run = _Run.load(journal, str(numbers[-1]))
        try:
            back = run.take_back(at)
        except OSError as error:
            raise NotWritten(_said(error), run.named(error)) from error
        return Undone(
            run.number,
            tuple(entry.path for entry in back if entry.before is not None),
            tuple(entry.path for entry in back if entry.before is None),
            len(numbers) - 1,
        )


def recover(root: Path, *, patience: float = 10.0) -> tuple[PurePath, ...]:
    """Take back what an interrupted run has left half-done below `root`; return the files that it was about.

    Cheap when there is nothing to do. Raises Changed when a file was changed since, and then leaves all as it is;
    Busy; or NotWritten when a file cannot be written.
    """
    root = _resolved(root)
    if not _Journal(root).unfinished():
        return ()
    with _Journal.locked(root, patience) as journal:
        return journal.recover(_nothing)


def find_root(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` that has something to undo or to recover, or None."""
    start = _resolved(start)
    for folder in (start, *start.parents):
        journal = _Journal(folder)
        if journal.done() or journal.unfinished():
            return folder
    return None


# --- The journal ------------------------------------------------------------------------------------------------------


class _Journal:
    """The runs below one root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / FOLDER
        self.runs = self.home / "runs"

    @classmethod
    @contextmanager
    def locked(cls, root: Path, patience: float) -> Iterator[_Journal]:
        """Make the journal's folder, hold its lock, and remove what is empty in the end."""
        import fcntl  # not there on Windows, where everything else can be imported

        journal = cls(root)
        lock = journal.home / "lock"
        give_up = time.monotonic() + patience
        while True:
            try:
                if journal.home.is_symlink() or journal.runs.is_symlink():
                    raise NotWritten(f"{journal.home} leads somewhere else: it must lie below the root")
                journal.home.mkdir(exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                descriptor = os.open(lock, flags, 0o666)
            except OSError as error:
                # Whoever had it may have removed the folder just now.
                if isinstance(error, FileNotFoundError) and root.is_dir():
                    continue
                with suppress(OSError):
                    journal.home.rmdir()
                raise NotWritten(f"no journal can be kept below {root}: {_said(error)}") from error
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever had it may have removed this very file.
                if lock.exists() and os.path.samestat(os.fstat(descriptor), lock.stat()):
                    break
            except BlockingIOError:
                if time.monotonic() > give_up:
                    os.close(descriptor)
                    raise Busy(f"another hipport is writing below {root}") from None
                time.sleep(0.02)
            os.close(descriptor)
        try:
            ignore = journal.home / ".gitignore"
            if not ignore.exists():
                with _as_not_written(f"no journal can be kept below {root}"):
                    ignore.write_text(_IGNORE, encoding="ascii")
            yield journal
        finally:
            journal._tidy()
            os.close(descriptor)

    def _tidy(self) -> None:
        with suppress(OSError):
            self.runs.rmdir()
        with suppress(OSError):
            if {entry.name for entry in self.home.iterdir()} <= {"lock", ".gitignore"}:
                (self.home / ".gitignore").unlink(missing_ok=True)
                (self.home / "lock").unlink()
                self.home.rmdir()

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.runs)
        except OSError:
            return []

    def done(self) -> list[int]:
        """The runs that can be undone, oldest first."""
        return sorted(int(name) for name in self._names() if name.isdecimal())

    def unfinished(self) -> list[str]:
        """The runs that were interrupted."""
        return sorted(name for name in self._names() if not name.isdecimal())

    def recover(self, at: Step) -> tuple[PurePath, ...]:
        """Take back the runs that were interrupted; return their files."""
        paths: list[PurePath] = []
        for name in self.unfinished():
            run = _Run.load(self, name)
            with _as_not_written("an interrupted run could not be taken back"):
                run.roll_back(run.entries, at)
            paths += [entry.path for entry in run.entries]
        return tuple(paths)

    def prune(self) -> None:
        """Forget the oldest runs."""
        for number in self.done()[:-KEPT]:
            # Renamed first: a run that is half gone must not be undone.
            gone = self.runs / f"{number}.staging"
            with suppress(OSError):
                (self.runs / str(number)).rename(gone)
                shutil.rmtree(gone)


@dataclass(frozen=True)
class _Entry:
    """A file of a run: its number there, its path below the root, and hashes of its two texts."""

    number: int
    path: PurePosixPath
    before: str | None
    after: str


class _Run:
    """One run: its entries, its folder, and what is done with both."""

    def __init__(self, journal: _Journal, name: str, entries: tuple[_Entry, ...], folders: tuple[str, ...]) -> None:
        self.root = journal.root
        self.number = int(name.partition(".")[0])
        self.folder = journal.runs / name
        self.entries = entries
        self.folders = folders  #: those that the run makes, outer ones first
        self.replaced: list[_Entry] = []

    @classmethod
    def start(cls, journal: _Journal, entries: tuple[_Entry, ...]) -> _Run:
        number = max(journal.done(), default=0) + 1
        folders: dict[str, None] = {}
        for entry in entries:
            for parent in reversed(entry.path.parents):
                if not (journal.root / parent).exists():
                    folders[parent.as_posix()] = None
        return cls(journal, f"{number}.staging", entries, tuple(folders))

    @classmethod
    def load(cls, journal: _Journal, name: str) -> _Run:
        """Read a run's manifest. One that is not whole is of a run that had not begun to write."""
        number, _, state = name.partition(".")
        if number.isdecimal() and state in ("", "staging", "replacing"):
            try:
                said = json.loads((journal.runs / name / "manifest.json").read_bytes())
                entries = tuple(
                    _Entry(i, PurePosixPath(path), before, after)
                    for i, (path, before, after) in enumerate(said["entries"])
                )
                # A repository may bring a journal with it: nothing that it says may lead out of the root.
                if all(_stays_inside(journal.root, path) for path in (*(e.path for e in entries), *said["folders"])):
                    return cls(journal, name, entries, tuple(said["folders"]))
            except (OSError, ValueError, KeyError, TypeError):
                if state == "staging":
                    return cls(journal, name, (), ())
        raise NotWritten(f"{journal.runs / name} is not hipport's: remove it if you do not need what is in it")

    def target(self, entry: _Entry) -> Path:
        return self.root / entry.path

    def temporary(self, entry: _Entry) -> Path:
        # Short enough where the file's own name is as long as names can be.
        return self.target(entry).with_name(f".hipport-{self.number}-{entry.number}~")

    def original(self, entry: _Entry) -> Path:
        return self.folder / str(entry.number)

    def ported(self, entry: _Entry) -> Path:
        """Where the new text is kept while it is undone."""
        return self.folder / f"{entry.number}.after"

    def named(self, error: OSError) -> tuple[PurePath, ...]:
        """Return the file of the run that an error is about."""
        names = (os.fspath(name) for name in (error.filename, error.filename2) if name is not None)
        about = {os.fsdecode(name) for name in names}
        return tuple(e.path for e in self.entries if about & {str(self.target(e)), str(self.temporary(e))})

    def rename(self, state: str) -> None:
        to = self.folder.with_name(f"{self.number}{state}")
        self.folder.rename(to)
        self.folder = to
        _settle(to.parent)

    def stage(self, texts: Sequence[bytes], at: Step) -> None:
        """Save the originals, and write the new texts beside their targets."""
        self.folder.mkdir(parents=True)
        at("begun")
        entries = [(str(entry.path), entry.before, entry.after) for entry in self.entries]
        manifest = json.dumps({"entries": entries, "folders": self.folders})
        _write(self.folder / "manifest.json", manifest.encode("ascii"))
        at("manifest")
        for entry in self.entries:
            if entry.before is not None:
                _keep(self.target(entry), self.original(entry))
                at(f"saved {entry.path}")
        for folder in self.folders:
            (self.root / folder).mkdir()
            at(f"made {folder}")
        for entry, text in zip(self.entries, texts, strict=True):
            _write(self.temporary(entry), text, None if entry.before is None else self.target(entry))
            at(f"staged {entry.path}")
        _settle(self.folder)

    def replace(self, at: Step) -> None:
        """Put the new texts where they belong."""
        self.rename(".replacing")
        at("ready")
        for entry in self.entries:
            # The original that was saved is this very file: what was written into it since is in neither text.
            if self.state(entry) != "before":
                raise Changed("it was changed since it was read", [entry.path])
            self.replaced.append(entry)
            os.replace(self.temporary(entry), self.target(entry))
            at(f"replaced {entry.path}")
        for folder in {self.target(entry).parent for entry in self.entries}:
            _settle(folder)
        at("settled")
        self.rename("")

    def abandon(self) -> None:
        """Take back what this process has done of the run so far."""
        with _as_not_written("what was done so far could not be taken back; the next run of hipport will try again"):
            self.roll_back(self.replaced, _nothing)

    def roll_back(self, entries: Sequence[_Entry], at: Step) -> None:
        """Put back those of `entries` that are replaced, and remove everything else that the run has left.

        Raises Changed, and leaves all as it is, when a file has neither of its texts.
        """
        if self.folder.suffix == ".replacing":
            states = [(entry, self.state(entry)) for entry in entries]
            lost = [entry.path for entry, state in states if state == "other"]
            if lost:
                why = "changed since a run of hipport that was interrupted; the originals are in"
                raise Changed(f"{why} {self.folder}: remove that folder when you have what you need", lost)
            for entry, state in states:
                if state == "after":
                    self.put_back(entry)
                    at(f"restored {entry.path}")
        for entry in self.entries:
            self.temporary(entry).unlink(missing_ok=True)
        self.remove(at)

    def take_back(self, at: Step) -> list[_Entry]:
        """Undo the run, which is done; return what was put back. What fails half-way is done again."""
        states = [(entry, self.state(entry)) for entry in self.entries]
        changed = [entry.path for entry, state in states if state == "other"]
        if changed:
            raise Changed("changed since the run that is to be undone", changed)
        self.rename(".replacing")
        at("marked")
        back: list[_Entry] = []
        try:
            for entry, state in states:
                if state == "after":
                    _keep(self.target(entry), self.ported(entry))
                    back.append(entry)
                    self.put_back(entry)
                    at(f"restored {entry.path}")
        except BaseException:
            for entry in back:
                if entry.before is not None and not self.original(entry).exists():
                    _keep(self.target(entry), self.original(entry))
                _move(self.ported(entry), self.target(entry), self.temporary(entry))
            self.rename("")
            raise
        self.remove(at)
        return back

    def put_back(self, entry: _Entry) -> None:
        target, original = self.target(entry), self.original(entry)
        if entry.before is None:
            target.unlink()
            return
        if _hash(_read(original)) != entry.before:
            raise NotWritten(f"its original, {original}, is damaged", [entry.path])
        os.utime(original)
        _move(original, target, self.temporary(entry))

    def remove(self, at: Step) -> None:
        """Remove the folders that the run has made, then its own."""
        for folder in reversed(self.folders):
            with suppress(OSError):
                (self.root / folder).rmdir()
        for folder in {self.target(entry).parent for entry in self.entries}:
            with suppress(OSError):
                _settle(folder)
        if self.folder.exists():
            # So that nobody puts files back out of a folder that is going away file by file.
            if self.folder.suffix != ".staging":
                self.rename(".staging")
            at("restored")
            shutil.rmtree(self.folder)

    def state(self, entry: _Entry) -> str:
        """Say which text a file has: `before`, `after` or `other`."""
        try:
            found = _hash(_read(self.target(entry)))
        except FileNotFoundError:
            found = None
        except OSError:
            return "other"
        return "before" if found == entry.before else "after" if found == entry.after else "other"


# --- Trees ------------------------------------------------------------------------------------------------------------


def _checked(root: Path, changes: Sequence[Change]) -> tuple[_Entry, ...]:
    """Return the entries of a run, with links followed, after checking that each file is as it was read."""
    entries: list[_Entry] = []
    changed: list[PurePath] = []
    for change in changes:
        target = root / change.path
        real = Path(os.path.realpath(target))
        if change.path.is_absolute() or not real.is_relative_to(root):
            raise NotWritten(f"it lies outside of {root}", [change.path])
        if real.is_relative_to(root / FOLDER):
            raise NotWritten("it lies in hipport's own folder", [change.path])
        try:
            text = _read(real)
        except FileNotFoundError:
            text = None
        except OSError as error:
            raise NotWritten(_said(error), [change.path]) from error
        if text != change.before:
            changed.append(change.path)
        if text is not None and not os.access(real, os.W_OK):
            raise NotWritten("it is read-only", [change.path])
        before = None if text is None else _hash(text)
        entries.append(_Entry(len(entries), PurePosixPath(real.relative_to(root)), before, _hash(change.after)))
    if changed:
        raise Changed("it was changed since it was read", changed)
    if len({entry.path for entry in entries}) < len(entries):
        raise ValueError("two changes of one file")
    return tuple(entries)


def _stays_inside(root: Path, path: PurePath | str) -> bool:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or FOLDER in pure.parts:
        return False
    return Path(os.path.realpath(root / pure)) == root / pure


# --- Files ------------------------------------------------------------------------------------------------------------


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _read(path: Path) -> bytes:
    """Return the bytes of a regular file. Raises OSError for anything else, without waiting for a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def _write(path: Path, text: bytes, like: Path | None = None) -> None:
    """Write a new file and see it to the disk; with mode, owner and attributes of `like`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if like else 0o666)
    with open(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        if like is not None:
            _make_like(descriptor, like)
        os.fsync(descriptor)


def _make_like(descriptor: int, like: Path) -> None:
    status = os.stat(like)
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        # Only root may give a file away; whoever may write to somebody else's file takes it over.
        for uid, gid in ((status.st_uid, status.st_gid), (-1, status.st_gid)):
            with suppress(PermissionError):
                os.fchown(descriptor, uid, gid)
                break
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(like):  # access control lists among them
                os.setxattr(descriptor, name, os.getxattr(like, name))
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _keep(path: Path, to: Path) -> None:
    """Give a file another name, or where the file system cannot do that, copy it."""
    try:
        os.link(path, to)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOSPC, errno.EROFS):
            raise
        _write(to, _read(path), path)


def _move(path: Path, to: Path, temporary: Path) -> None:
    """Put a file in the place of another, on whatever file system that is."""
    try:
        os.replace(path, to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _write(temporary, _read(path), path)
        os.replace(temporary, to)
    # Two names of one file are no file in the place of another.
    path.unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    """See the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _as_not_written(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotWritten(f"{what}: {_said(error)}") from error


def _said(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
