# SPDX-License-Identifier: Apache-2.0
"""Write many files, all or none, and take it back.

What is about to be overwritten is saved first, in a journal: the folder `.hipport` at the root of the tree. A run that
is killed leaves a journal that says so, and the next one puts back what was there before it goes on. So a tree is
either as it was or as it was meant to be, whatever happens in between, and `undo` has the bytes that were there.

A file is written beside its place and put there by a rename. Its mode is kept, its owner where that is allowed; its
time of change is now, so that build tools see it; another name of the same file (a hard link) keeps the old bytes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

FOLDER = ".hipport"
#: How many runs can be taken back.
KEPT = 10

_NEW = ".hipport-new"


class Refused(Exception):
    """Nothing was written. `problems` say why, each with the file it is about."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True)
class Change:
    """What to make of the file at `path`, relative to the root: None stands for no file."""

    path: PurePath
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Written:
    """The files that were written, and those that a run killed earlier had left half done and that were put back."""

    paths: tuple[PurePath, ...]
    recovered: tuple[PurePath, ...] = ()


def write(root: Path, changes: Sequence[Change], *, at: Callable[[str], None] = lambda step: None) -> Written:
    """Make `changes` below `root`, all or none.

    Each file must still have the bytes that the change was worked out from. Raises Refused when one has not, when a
    file lies outside the root through a link, cannot be written, or when another hipport is at work there; and OSError,
    with everything put back, when writing fails. `at` is told of every step, for tests that stop there.
    """
    with _locked(root):
        recovered = _recover(root)
        changes = [change for change in changes if change.before != change.after]
        if not changes:
            return Written((), recovered)
        places = _checked(root, changes)
        run = _begin(root, changes, places)
        at("saved")
        try:
            for change, place in zip(changes, places, strict=True):
                if change.after is not None:
                    _put_beside(place, change.after)
                    at(f"beside {change.path}")
            for change, place in zip(changes, places, strict=True):
                if _bytes(place) != change.before:
                    raise Refused([f"{change.path}: changed while hipport was at work; run it again"])
                if change.after is None:
                    place.unlink()
                else:
                    _beside(place).replace(place)
                at(f"replaced {change.path}")
            _sync_folders(places)
            _set_state(run, "done")
        except BaseException:
            _put_back(root, run)
            raise
        at("done")
        _prune(root)
    return Written(tuple(change.path for change in changes), recovered)


def undo(root: Path, *, at: Callable[[str], None] = lambda step: None) -> Written:
    """Put back what the last run below `root` overwrote. Can be called once for each run, up to `KEPT` of them.

    Raises Refused, and changes nothing, when there is nothing to take back or when a file has been changed since.
    """
    with _locked(root):
        recovered = _recover(root)
        runs = _runs(root)
        if not runs:
            raise Refused([f"{root}: hipport has changed nothing here that could be taken back"])
        manifest = _manifest(runs[-1])
        problems = [
            f"{file['path']}: changed since hipport wrote it; put it back by hand, or restore hipport's version first"
            for file in manifest["files"]
            if _hash(_bytes(_place(root, file["path"]))) != file["after"]
        ]
        if problems:
            raise Refused(problems)
        _set_state(runs[-1], "undoing")
        at("undoing")
        _put_back(root, runs[-1], at)
    return Written(tuple(PurePath(file["path"]) for file in manifest["files"]), recovered)


def recover(root: Path) -> tuple[PurePath, ...]:
    """Put back what a killed run below `root` left half done, and return the files; nothing if there is none."""
    if not (root / FOLDER).is_dir():
        return ()
    with _locked(root):
        return _recover(root)


def find_root(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` in which hipport has written, or None."""
    for folder in (start, *start.parents):
        if (folder / FOLDER / "runs").is_dir():
            return folder
    return None


def write_tree(root: Path, out: Path, only: Sequence[PurePath], changes: Sequence[Change]) -> Written:
    """Copy `only` (files and folders relative to `root`) to the new folder `out`, with `changes` made; all or nothing.

    Links stay links. Raises Refused when `out` exists and is not empty, or lies in what is copied.
    """
    out = out.absolute()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Refused([f"{out}: exists already; give a folder that does not, or an empty one"])
    for path in only:
        source = (root / path).resolve()
        if source.is_dir() and out.resolve().is_relative_to(source):
            raise Refused([f"{out}: lies inside {source}, which is to be copied there; give a folder outside of it"])
    beside = out.parent / (out.name + _NEW)
    out.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(beside, ignore_errors=True)
    try:
        for path in only:
            place = beside / path
            if (root / path).is_dir():
                shutil.copytree(root / path, place, symlinks=True, ignore=_not_copied, dirs_exist_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / path, place)
        beside.mkdir(exist_ok=True)
        for change in changes:
            place = beside / change.path
            if place.is_symlink():
                place.unlink()  # The copy gets a file of its own; what the link means lies in the tree that stays.
            place.parent.mkdir(parents=True, exist_ok=True)
            if change.after is not None:
                place.write_bytes(change.after)
        if out.exists():
            out.rmdir()
        beside.rename(out)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return Written(tuple(change.path for change in changes))


def _not_copied(folder: str, names: list[str]) -> set[str]:
    # Pipes and sockets cannot be copied; a repository's history and hipport's journal belong to the tree that stays.
    special = {
        name
        for name in names
        if not stat.S_ISREG(mode := (Path(folder) / name).lstat().st_mode)
        and not stat.S_ISDIR(mode)
        and not stat.S_ISLNK(mode)
    }
    return special | ({".git", FOLDER} & set(names))


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    folder = root / FOLDER
    fresh = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        if fresh:
            (folder / ".gitignore").write_text("*\n")
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise Refused([f"{folder}: {error.strerror}; hipport keeps there what it overwrites"]) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Refused([f"{root}: another hipport is writing here; wait for it to end"]) from error
        yield
        if not _runs(root):
            # Nothing to take back: leave no trace.
            shutil.rmtree(folder, ignore_errors=True)


def _checked(root: Path, changes: Sequence[Change]) -> list[Path]:
    problems = []
    places = []
    for change in changes:
        try:
            place = _place(root, change.path)
            now = _bytes(place)
        except OSError as error:
            problems.append(f"{change.path}: {error.strerror or error}")
            continue
        folder = next(folder for folder in place.parents if folder.exists())
        if not place.is_relative_to(root.resolve()):
            problems.append(f"{change.path}: lies outside of {root} through a link")
        elif now != change.before:
            problems.append(f"{change.path}: changed while hipport was at work; run it again")
        elif now is not None and not os.access(place, os.W_OK):
            problems.append(f"{change.path}: no permission to write")
        elif not os.access(folder, os.W_OK):
            problems.append(f"{change.path}: no permission to write in {folder}")
        places.append(place)
    if problems:
        raise Refused(problems)
    return places


def _place(root: Path, path: PurePath | str) -> Path:
    """Where the bytes of a file are: behind a link, in the file that it means."""
    return (root / path).resolve()


def _bytes(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None


def _hash(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def _begin(root: Path, changes: Sequence[Change], places: Sequence[Path]) -> Path:
    """Save what is to be overwritten; from when this returns, `_put_back` can put it back."""
    runs = root / FOLDER / "runs"
    runs.mkdir(exist_ok=True)
    last = max((int(run.name) for run in _runs(root)), default=0)
    unfinished = runs / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        files = []
        for change, place in zip(changes, places, strict=True):
            if change.before is not None:
                _write(unfinished / str(_hash(change.before)), change.before)
            files.append(
                {
                    "path": change.path.as_posix(),
                    "before": _hash(change.before),
                    "after": _hash(change.after),
                    "mode": stat.S_IMODE(place.stat().st_mode) if change.before is not None else None,
                    "made_folders": _missing_folders(root, place),
                }
            )
        _write(unfinished / "manifest.json", _json({"state": "writing", "files": files}))
        run = runs / f"{last + 1:06d}"
        unfinished.rename(run)
        _sync(runs)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return run


def _missing_folders(root: Path, place: Path) -> list[str]:
    missing = [folder for folder in place.parents if not folder.exists()]
    return [folder.relative_to(root.resolve()).as_posix() for folder in missing]


def _runs(root: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(run for run in (root / FOLDER / "runs").iterdir() if run.name.isdigit())
    return []


def _manifest(run: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((run / "manifest.json").read_bytes())
    return manifest


def _set_state(run: Path, state: str) -> None:
    new = run / "manifest.new"
    _write(new, _json({**_manifest(run), "state": state}))
    new.replace(run / "manifest.json")
    _sync(run)


def _recover(root: Path) -> tuple[PurePath, ...]:
    shutil.rmtree(root / FOLDER / "runs" / "unfinished", ignore_errors=True)
    put_back: list[PurePath] = []
    for run in reversed(_runs(root)):
        if _manifest(run)["state"] != "done":
            put_back += _put_back(root, run)
    return tuple(put_back)


def _put_back(root: Path, run: Path, at: Callable[[str], None] = lambda step: None) -> list[PurePath]:
    """Put back what `run` overwrote, and forget the run. May be stopped anywhere and called again.

    A file that somebody else has changed in the meantime is left as it is.
    """
    put_back = []
    for file in _manifest(run)["files"]:
        place = _place(root, file["path"])
        with suppress(FileNotFoundError):
            _beside(place).unlink()
        now = _hash(_bytes(place))
        if now == file["after"] and now != file["before"]:
            if file["before"] is None:
                place.unlink()
            else:
                _put_beside(place, (run / file["before"]).read_bytes(), file["mode"])
                _beside(place).replace(place)
            put_back.append(PurePath(file["path"]))
            at(f"put back {file['path']}")
        for folder in file["made_folders"]:
            with suppress(OSError):
                (root / folder).rmdir()
    # The manifest goes last of all: until then the run can be found.
    for blob in run.iterdir():
        if blob.name != "manifest.json":
            blob.unlink()
    shutil.rmtree(run)
    return put_back


def _prune(root: Path) -> None:
    for run in _runs(root)[:-KEPT]:
        shutil.rmtree(run, ignore_errors=True)


def _beside(place: Path) -> Path:
    return place.with_name("." + place.name + _NEW)


def _put_beside(place: Path, data: bytes, mode: int | None = None) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = _beside(place)
    _write(beside, data)
    with suppress(FileNotFoundError):
        was = place.stat()
        beside.chmod(stat.S_IMODE(was.st_mode))
        with suppress(OSError):
            os.chown(beside, was.st_uid, was.st_gid)
    if mode is not None:
        beside.chmod(mode)


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folders(places: Iterable[Path]) -> None:
    for folder in {place.parent for place in places}:
        _sync(folder)
