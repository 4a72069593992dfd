# SPDX-License-Identifier: Apache-2.0
"""The journal of the files that hipport overwrites in a tree: the folder `.hipport` at its root.

A run saves there the originals, the edits that led to the new texts, and a manifest. The name of a run's folder says
how far the run got:

    7.staging     originals are being saved, new texts are written beside their targets; nothing is replaced yet
    7.replacing   targets are being replaced, or put back: the next run puts back every file that is not the original
    7             done; `undo` puts the originals back

Originals are kept as the same files, by a hard link where the file system has them: undo restores mode, owner and
links. A file with several names is also copied, because edits under another name change the kept file, too.
Nothing in a journal is trusted: a repository may bring one with it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shlex
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, TypeAlias

from hipport.core.edits import Edit, Span
from hipport.core.placing import Below, Refused, settle
from hipport.core.reading import SETTINGS, said

FOLDER = ".hipport"
#: How many runs can be undone.
KEPT = 10

_IGNORE = b"# What hipport needs to take its changes back.\n*\n"
_HOME = PurePath(FOLDER)
_RUNS = _HOME / "runs"
_LOCK = _HOME / "lock"
#: Where damaged originals are moved, for a person to look at.
_DAMAGED = _HOME / "damaged"
#: Numbers of runs. A tree may bring folders with any name.
_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
_LAST = 999_999_999
_HASH = re.compile("[0-9a-f]{64}")
_FOREIGN = "not made by hipport; remove it if you do not need its contents"

#: The edits of a run, compressed, and the limit of bytes for the uncompressed form.
_EDITS = "edits"
_MOST_EDITS = 1 << 28

#: The edits of a text, step by step: each step applies to the text after the one before.
Steps: TypeAlias = tuple[tuple[Edit, ...], ...]

#: Called at every step, for tests that stop or fail there.
Step = Callable[[str], None]


class Journal:
    """The runs below one root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.below = Below(root)
        self.home = root / _HOME
        self.runs = root / _RUNS

    def _names(self) -> list[str]:
        try:
            return self.below.names(_RUNS)
        except OSError:
            return []

    @property
    def done(self) -> list[int]:
        """The runs that can be undone, the oldest first."""
        return sorted(int(name) for name in self._names() if _NUMBER.fullmatch(name))

    @property
    def last(self) -> int:
        return max(self.done, default=0)

    @property
    def next(self) -> int:
        """The number of the next run. Raises Refused if there is none."""
        if self.last >= _LAST:
            raise Refused([f"{self.runs / str(self.last)}: {_FOREIGN}"])
        return self.last + 1

    @property
    def unfinished(self) -> list[str]:
        """The runs that were killed."""
        return [name for name in self._names() if not _NUMBER.fullmatch(name)]

    @property
    def half_done(self) -> bool:
        """Whether a run was killed, or is running, while files are being replaced."""
        return any(name.endswith(".replacing") for name in self.unfinished)

    def prune(self) -> None:
        """Remove the oldest runs."""
        for number in self.done[:-KEPT]:
            # Renamed first, so that nobody undoes a run that is partly deleted.
            with suppress(OSError):
                self.below.replace(_RUNS / str(number), _RUNS / f"{number}.staging")
                self.below.remove_files(_RUNS / f"{number}.staging")

    def tidy(self) -> None:
        """Remove the journal if there is nothing to undo."""
        with suppress(OSError):
            self.below.remove_folder(_RUNS)
        with suppress(OSError):
            if set(self.below.names(_HOME)) <= {"lock", ".gitignore"}:
                self.below.remove(_HOME / ".gitignore")
                self.below.remove(_LOCK)
                self.below.remove_folder(_HOME)


def journals_above(start: Path) -> Iterator[Journal]:
    """Yield the journals at and above the folder `start` that may be used, the nearest first.

    Above it they may be anybody's, such as in a folder that all users may write to. So only journals count that belong
    to this user, or to the owner of the tree.
    """
    mine = {os.geteuid(), start.stat().st_uid}
    for folder in (start, *start.parents):
        with suppress(OSError):
            if folder == start or (folder / FOLDER).lstat().st_uid in mine:
                yield Journal(folder)


def refuse_half_done(start: Path, patience: float = 10.0) -> None:
    """Wait for a hipport process that is writing at or above the folder `start`.

    Raises Refused if such a process was killed and has left some files replaced, or if something else lies there that
    looks like it.
    """
    give_up = time.monotonic() + patience
    for journal in journals_above(start):
        while journal.half_done:
            if not _is_locked(journal):
                if not journal.half_done:
                    break  # it has just ended
                # What undo would refuse to touch is not left to undo.
                for name in journal.unfinished:
                    JournalRun.load(journal, name)
                undo = shlex.join(["hipport", "undo", str(journal.root)])
                raise Refused(
                    [
                        (
                            f"{journal.root}: a run of hipport was killed here and has left files half-written; first: "
                            f"{undo}"
                        )
                    ]
                )
            if time.monotonic() > give_up:
                raise Refused([f"{journal.root}: another hipport is writing here; wait for it to end"])
            time.sleep(0.02)


def _is_locked(journal: Journal) -> bool:
    import fcntl

    lock = None
    try:
        lock = os.open(journal.root / _LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        if lock is not None:
            os.close(lock)
    return False


@contextmanager
def locked(root: Path, patience: float) -> Iterator[Journal]:
    """Lock the journal at `root` for this process alone. Raises Refused."""
    import fcntl  # missing on Windows, where the rest of the module can be imported

    journal = Journal(root)
    below = journal.below
    cannot = f"{root}: hipport cannot write here, where it keeps the originals of files"
    give_up = time.monotonic() + patience
    while True:
        for folder in (_HOME, _RUNS):
            with suppress(OSError):
                if (root / folder).is_symlink():
                    raise Refused([f"{root / folder}: a link; hipport keeps its records in the tree itself: remove it"])
        try:
            with suppress(FileExistsError):
                below.make_folder(_HOME)
            lock = below.open_lock(_LOCK)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and root.is_dir():
                continue  # another process has just removed its empty journal
            with suppress(OSError):
                below.remove_folder(_HOME)
            raise Refused([f"{cannot}: {said(error)}"]) from error
        try:
            if not stat.S_ISREG(os.fstat(lock).st_mode):
                os.close(lock)
                raise Refused([f"{journal.home / 'lock'}: not made by hipport; remove it"])
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous owner of the lock may have removed this very file.
            now = below.status(_LOCK)
            if now is not None and os.path.samestat(os.fstat(lock), now):
                break
        except BlockingIOError:
            if time.monotonic() > give_up:
                os.close(lock)
                raise Refused([f"{root}: another hipport is writing here; wait for it to end"]) from None
            time.sleep(0.02)
        os.close(lock)
    try:
        ignore = _HOME / ".gitignore"
        if below.status(ignore) is None:
            try:
                below.make(ignore, _IGNORE)
            except OSError as error:
                with suppress(OSError):
                    below.remove(ignore)
                raise Refused([f"{cannot}: {said(error)}"]) from error
        yield journal
    finally:
        journal.tidy()
        os.close(lock)


@dataclass(frozen=True)
class TakenBack:
    """The files that were put back, and problems with those that could not be."""

    paths: tuple[PurePath, ...] = ()
    lost: tuple[str, ...] = ()


def recover(journal: Journal, at: Step) -> TakenBack:
    """Undo what killed runs have left."""
    paths: list[PurePath] = []
    lost: list[str] = []
    for name in journal.unfinished:
        run = JournalRun.load(journal, name)
        try:
            back = run.roll_back(run.entries, at)
        except OSError as error:
            raise Refused([f"{run.problem(error)}; so hipport cannot undo a run that was killed"]) from error
        paths += back.paths
        lost += back.lost
    return TakenBack(tuple(paths), tuple(lost))


@dataclass(frozen=True)
class JournalEntry:
    """A file of a run: its number, its path below the root, and the hashes of both texts."""

    number: int
    path: PurePosixPath
    before: str | None
    after: str


class JournalRun:
    """One run: its entries, the folders that it creates (outer ones first), and its folder in the journal."""

    def __init__(self, journal: Journal, name: str, entries: Sequence[JournalEntry], folders: Sequence[str]) -> None:
        self.root = journal.root
        self.below = journal.below
        self.number = int(name.partition(".")[0])
        self.folder = _RUNS / name
        self.entries = entries
        self.folders = folders
        self.replaced: list[JournalEntry] = []

    @classmethod
    def load(cls, journal: Journal, name: str) -> JournalRun:
        """Read a run's manifest. An incomplete one belongs to a run that had not begun to write. Raises Refused."""
        number, _, state = name.partition(".")
        if _NUMBER.fullmatch(number) and state in ("", "staging", "replacing"):
            try:
                manifest = json.loads(journal.below.read(_RUNS / name / "manifest.json", SETTINGS * 16))
                entries = [
                    JournalEntry(i, PurePosixPath(path), *_texts(texts))
                    for i, (path, *texts) in enumerate(manifest["entries"])
                ]
                folders = [str(folder) for folder in manifest["folders"]]
                paths = [*(str(entry.path) for entry in entries), *folders]
                if len(set(paths)) == len(paths) and all(map(_is_inside, paths)):
                    _refuse_links(journal.root, paths, journal.runs / name)
                    return cls(journal, name, entries, folders)
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                if state == "staging":
                    return cls(journal, name, (), ())
        raise Refused([f"{journal.runs / name}: {_FOREIGN}"])

    def temporary(self, entry: JournalEntry) -> PurePath:
        # Not derived from the file's name, which may have the maximum length already.
        return entry.path.with_name(f".hipport-{self.number}-{entry.number}~")

    def original(self, entry: JournalEntry) -> PurePath:
        return self.folder / str(entry.number)

    def copied(self, entry: JournalEntry) -> PurePath:
        """Return the place of the copy of the original, if the file had other names."""
        return self.folder / f"{entry.number}.copy"

    def ported(self, entry: JournalEntry) -> PurePath:
        """Return the place of the new text during an undo."""
        return self.folder / f"{entry.number}.after"

    def original_text(self, entry: JournalEntry) -> bytes:
        """Return the original text. Raises OSError."""
        return self.below.read(self._sound(entry))

    def edits(self) -> list[Steps]:
        """Return the edits that made the new texts, in steps for each entry; empty if they are not known."""
        try:
            steps = _unpacked(self.below.read(self.folder / _EDITS, SETTINGS * 16))
        except (OSError, ValueError, TypeError, zlib.error):
            steps = []
        return steps if len(steps) == len(self.entries) else [()] * len(self.entries)

    def problem(self, error: OSError) -> str:
        """Describe an error with the file of the run."""
        about = {os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, (str, bytes))}
        for entry in self.entries:
            if about & {str(self.root / entry.path), str(self.root / self.temporary(entry))}:
                return f"{entry.path}: {said(error)}"
        return f"{min(about, default=self.root)}: {said(error)}"

    def rename(self, state: str) -> None:
        to = self.folder.with_name(f"{self.number}{state}")
        self.below.replace(self.folder, to)
        self.folder = to
        settle([self.root / _RUNS])

    def stage(self, texts: Sequence[bytes], edits: Sequence[Steps], at: Step) -> None:
        """Save the originals, and write the new texts beside their targets; `edits` are the steps between the two."""
        self.below.make_folders(self.folder)
        at("begun")
        entries = [(str(entry.path), entry.before, entry.after) for entry in self.entries]
        manifest = json.dumps({"entries": entries, "folders": self.folders})
        self.below.make(self.folder / "manifest.json", manifest.encode("ascii"))
        # The manifest lists what a recovery removes, so it must be on disk before anything else.
        settle([self.root / self.folder / "manifest.json", self.root / self.folder])
        at("manifest")
        self.below.make(self.folder / _EDITS, _packed(edits))
        for entry in self.entries:
            if entry.before is not None:
                self.below.keep(entry.path, self.original(entry))
                status = self.below.status(self.original(entry))
                if status is not None and status.st_nlink > 2:
                    self.below.copy(self.original(entry), self.copied(entry))
                at(f"saved {entry.path}")
        for folder in self.folders:
            self.below.make_folder(PurePath(folder))
            at(f"made {folder}")
        for entry, text in zip(self.entries, texts, strict=True):
            self.below.make(self.temporary(entry), text, None if entry.before is None else entry.path)
            at(f"staged {entry.path}")
        settle(self.root / path for path in (*map(self.temporary, self.entries), self.folder))

    def replace(self, at: Step) -> None:
        """Move the new texts to their targets."""
        self.rename(".replacing")
        at("ready")
        for entry in self.entries:
            if self.state(entry) != "before":
                raise Refused([f"{entry.path}: changed during the run; run hipport again"])
            self.replaced.append(entry)
            self.below.replace(self.temporary(entry), entry.path)
            at(f"replaced {entry.path}")
        settle({self.root / entry.path.parent for entry in self.entries})
        at("settled")
        self.rename("")

    def abandon(self) -> None:
        """Undo what this process has done of the run so far."""
        try:
            self.roll_back(self.replaced, lambda step: None)
        except OSError as error:
            raise Refused([f"{self.problem(error)}; run hipport again to undo what was done so far"]) from error

    def roll_back(self, entries: Sequence[JournalEntry], at: Step) -> TakenBack:
        """Put back those of `entries` that are replaced, and remove everything else of the run.

        Raises Refused, and changes nothing, if a file has neither of its texts.
        """
        back: list[JournalEntry] = []
        lost: list[str] = []
        if self.folder.suffix == ".replacing":
            states = [(entry, self.state(entry)) for entry in entries]
            other = [entry for entry, state in states if state == "other"]
            if other:
                raise Refused(
                    f"{entry.path}: changed after hipport was killed while it wrote; its original is "
                    f"{self.root / self.original(entry)}; remove {self.root / self.folder} when you need nothing "
                    "from it"
                    for entry in other
                )
            back, damaged = self._by_soundness([entry for entry, state in states if state == "after"])
            for entry in back:
                self.put_back(entry)
                at(f"put back {entry.path}")
            lost = self._set_aside(damaged)
        for entry in self.entries:
            self.below.remove(self.temporary(entry))
        self.remove(at)
        return TakenBack(tuple(entry.path for entry in back), tuple(lost))

    def take_back(self, at: Step) -> TakenBack:
        """Undo a run that is done. If that fails half-way, redo it."""
        states = [(entry, self.state(entry)) for entry in self.entries]
        changed = [
            f"{entry.path}: {self._since(entry)}; its original is {self.root / self.original(entry)}"
            if entry.before is not None
            else f"{entry.path}: {self._since(entry)}"
            for entry, state in states
            if state == "other"
        ]
        if changed:
            raise Refused(changed)
        sound, damaged = self._by_soundness([entry for entry, state in states if state == "after"])
        back: list[JournalEntry] = []
        try:
            self.rename(".replacing")
            at("marked")
            for entry in sound:
                self.below.keep(entry.path, self.ported(entry))
                back.append(entry)
                self.put_back(entry)
                at(f"put back {entry.path}")
        except BaseException:
            for entry in back:
                if entry.before is not None and self.below.status(self.original(entry)) is None:
                    self.below.keep(entry.path, self.original(entry))
                self.below.move(self.ported(entry), entry.path, self.temporary(entry))
            self.rename("")
            raise
        lost = self._set_aside(damaged)
        self.remove(at)
        return TakenBack(tuple(entry.path for entry in back), tuple(lost))

    def _sound(self, entry: JournalEntry) -> PurePath:
        """Return the place of the saved original. Raises OSError if it is damaged."""
        for place in (self.original(entry), self.copied(entry)):
            with suppress(FileNotFoundError):
                if hash_of(self.below.read(place)) == entry.before:
                    return place
        raise OSError(errno.EIO, "its saved original is damaged", str(self.root / entry.path))

    def _by_soundness(self, entries: Sequence[JournalEntry]) -> tuple[list[JournalEntry], list[JournalEntry]]:
        """Return the entries that can be put back, and those whose saved originals are damaged."""
        sound: list[JournalEntry] = []
        damaged: list[JournalEntry] = []
        for entry in entries:
            try:
                if entry.before is not None:
                    self._sound(entry)
                sound.append(entry)
            except OSError as error:
                if error.errno not in (errno.EIO, errno.EINVAL, errno.ELOOP):
                    raise  # for example no permission to read it; later that may change
                damaged.append(entry)
        return sound, damaged

    def _set_aside(self, entries: Sequence[JournalEntry]) -> list[str]:
        """Keep damaged originals for a person, and return their places."""
        said_of = []
        for entry in entries:
            kept = ""
            for place in (self.original(entry), self.copied(entry)):
                with suppress(OSError):
                    self.below.make_folders(_DAMAGED)
                    to = _DAMAGED / f"{self.number}-{place.name}"
                    self.below.replace(place, to)
                    kept = f"; its present contents are kept as {self.root / to}"
            said_of.append(f"{entry.path}: its saved original is damaged; the file stays as hipport wrote it{kept}")
        return said_of

    def _since(self, entry: JournalEntry) -> str:
        gone = self.below.status(entry.path) is None
        return f"{'removed' if gone else 'changed'} since hipport wrote it, so nothing was undone"

    def put_back(self, entry: JournalEntry) -> None:
        if entry.before is None:
            self.below.remove(entry.path)
            return
        original = self._sound(entry)
        self.below.touch(original)
        self.below.move(original, entry.path, self.temporary(entry))

    def remove(self, at: Step) -> None:
        """Remove the folders that the run created, then its own; the next run removes what cannot be removed now."""
        for folder in reversed(self.folders):
            with suppress(OSError):
                self.below.remove_folder(PurePath(folder))
        with suppress(OSError):
            if self.folder.suffix != ".staging":
                settle({parent for entry in self.entries if (parent := (self.root / entry.path).parent).exists()})
                # So that nobody puts files back from a folder that is being deleted.
                self.rename(".staging")
            at("back")
            self.below.remove_files(self.folder)

    def state(self, entry: JournalEntry) -> str:
        """Say which text a file has: `before`, `after` or `other`."""
        try:
            found = hash_of(self.below.read(entry.path))
        except FileNotFoundError:
            found = None
        except OSError:
            return "other"
        return "before" if found == entry.before else "after" if found == entry.after else "other"


def hash_of(text: bytes) -> str:
    """Return the hash of a text, as a manifest has it."""
    return hashlib.sha256(text).hexdigest()


def _packed(edits: Sequence[Steps]) -> bytes:
    plain = [[[(e.span.start, e.span.end, e.new.hex(), e.on_top) for e in s] for s in steps] for steps in edits]
    return zlib.compress(json.dumps(plain, separators=(",", ":")).encode("ascii"))


def _unpacked(packed: bytes) -> list[Steps]:
    """Read edits from an untrusted journal. Raises ValueError, TypeError and zlib.error."""
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(packed, _MOST_EDITS)
    if unpacking.unconsumed_tail:
        raise ValueError("too many edits")
    return [tuple(tuple(map(_edit, step)) for step in steps) for steps in json.loads(text)]


def _edit(said: Sequence[Any]) -> Edit:
    start, end, new, on_top = said
    return Edit(Span(int(start), int(end)), bytes.fromhex(new), bool(on_top))


def is_reserved(path: PurePath) -> bool:
    """Whether a path belongs to the journal, or to version control, whose settings name programs to run."""
    return any(part.lower() in (FOLDER, ".git", ".hg", ".svn") for part in path.parts)


def _texts(texts: Sequence[object]) -> tuple[str | None, str]:
    before, after = texts
    if not isinstance(after, str) or not isinstance(before, (str, type(None))):
        raise TypeError("no hashes")
    if not all(_HASH.fullmatch(each) for each in (before, after) if each is not None):
        raise ValueError("no hashes")
    return before, after


def _is_inside(path: str) -> bool:
    """Whether a path, as a manifest spells it, is one of the root's, and none that hipport does not write."""
    pure = PurePosixPath(path)
    return not pure.is_absolute() and bool(pure.parts) and ".." not in pure.parts and not is_reserved(pure)


def _refuse_links(root: Path, paths: Sequence[str], run: Path) -> None:
    """Raise Refused if a link leads one of `paths` elsewhere: somebody put it there since, or brought the journal."""
    top = os.path.realpath(root)
    real: dict[str, str] = {}
    problems = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder not in real:
            real[folder] = os.path.realpath(f"{top}/{folder}")
        place = os.path.normpath(f"{top}/{path}")
        if f"{real[folder]}/{name}" != place or Path(place).is_symlink():
            problems.append(
                f"{path}: a link leads it somewhere else; put back what was there, and run hipport again. The "
                f"originals are in {run}"
            )
    if problems:
        raise Refused(problems[:5])
