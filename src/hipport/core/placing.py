# SPDX-License-Identifier: Apache-2.0
"""Write below a folder, and nowhere else: no symbolic link is followed on the way.

A tree may have a link in the place of any folder or file that is to be written. All writing into a tree, or into a copy
of one, happens here; a test enforces that.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from hipport.core import reading

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
#: ioctl_ficlone(2): the copy shares its blocks with the original until one of them is written.
_FICLONE = 0x40049409


class Refused(Exception):
    """Nothing was changed. `problems` are the reasons, each with its file."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Below:
    """Operations below the folder `root`, on paths relative to it. A link on the way to a path is an OSError."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def _folder(self, path: PurePath) -> Iterator[int]:
        descriptor = os.open(self.root, _FOLDER)
        try:
            for name in path.parts:
                if name == ".." or path.is_absolute():
                    raise OSError(errno.EINVAL, "leads out of its folder")
                try:
                    inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
                except OSError as error:
                    if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(name, descriptor):
                        raise OSError(errno.ELOOP, "leads somewhere else through a link") from error
                    raise
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _at(self, path: PurePath) -> Iterator[tuple[int, str]]:
        """Yield the descriptor of the path's folder, and its name there. Errors mention the whole path."""
        try:
            with self._folder(path.parent) as folder:
                yield folder, path.name or "."
        except OSError as error:
            raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(self.root / path)) from error

    def status(self, path: PurePath) -> os.stat_result | None:
        """Return the status of the path itself, or None if it does not exist."""
        try:
            with self._at(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read(self, path: PurePath, largest: int | None = None) -> bytes:
        """Return the bytes of a regular file."""
        with self._at(path) as (folder, name):
            return reading.read(name, largest, inside=folder)

    def names(self, path: PurePath) -> list[str]:
        """Return the names in a folder, sorted."""
        with self._at(path / ".") as (folder, name):
            inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            try:
                return sorted(os.listdir(inner))  # noqa: PTH208  # a descriptor
            finally:
                os.close(inner)

    def open_lock(self, path: PurePath) -> int:
        """Open a file that is used only as a lock; create it if it does not exist."""
        with self._at(path) as (folder, name):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            return os.open(name, flags, 0o666, dir_fd=folder)

    def make_folder(self, path: PurePath) -> None:
        """Make a folder; its parent must exist."""
        with self._at(path) as (folder, name):
            os.mkdir(name, dir_fd=folder)

    def make_folders(self, path: PurePath) -> None:
        """Make a folder and its missing parents."""
        for each in (*reversed(path.parents), path):
            if each.parts and self.status(each) is None:
                with suppress(FileExistsError):
                    self.make_folder(each)

    def make(self, path: PurePath, text: bytes, like: PurePath | None = None) -> None:
        """Write a new file, with the mode, owner and attributes of `like`."""
        with self._new(path, private=like is not None) as descriptor:
            _write_all(descriptor, text)
            if like is not None:
                with self._opened(like) as other:
                    _make_like(descriptor, other)

    def copy(self, path: PurePath, to: PurePath) -> None:
        """Copy a file with its mode, owner and attributes. The copy shares its blocks where the file system can."""
        with self._opened(path) as one, self._new(to, private=True) as other:
            if not _shares(one, other):
                _write_all(other, reading.read_open(one))
            _make_like(other, one)
        settle([self.root / to])

    def put(self, path: PurePath, text: bytes) -> None:
        """Replace a file, keeping its mode, or make it."""
        status = self.status(path)
        if status is not None and not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(self.root / path))
        temporary = path.parent / f".hipport-{os.getpid()}~"
        self.remove(temporary)
        try:
            self.make(temporary, text, path if status is not None else None)
            self.replace(temporary, path)
        except BaseException:
            self.remove(temporary)
            raise

    def keep(self, path: PurePath, to: PurePath) -> None:
        """Give a file a second name (a hard link), or copy it where the file system has no hard links."""
        try:
            with self._at(path) as (folder, name), self._at(to) as (other, new):
                os.link(name, new, src_dir_fd=folder, dst_dir_fd=other, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOENT, errno.ENOSPC, errno.EROFS):
                raise
            self.copy(path, to)

    def replace(self, path: PurePath, to: PurePath) -> None:
        """Rename a file or a folder; it replaces what is at `to`."""
        with self._at(to) as (other, new), self._at(path) as (folder, name):
            os.replace(name, new, src_dir_fd=folder, dst_dir_fd=other)

    def move(self, path: PurePath, to: PurePath, temporary: PurePath) -> None:
        """Move a file over another, also between file systems."""
        try:
            self.replace(path, to)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            self.copy(path, temporary)
            self.replace(temporary, to)
        # rename(2) does nothing if both are links to the same file.
        self.remove(path)

    def touch(self, path: PurePath) -> None:
        """Set a file's times to now."""
        with self._opened(path) as descriptor:
            os.utime(descriptor)

    def remove(self, path: PurePath) -> None:
        """Remove a file, if it exists."""
        with suppress(FileNotFoundError), self._at(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, path: PurePath) -> None:
        """Remove an empty folder."""
        with self._at(path) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def remove_files(self, path: PurePath) -> None:
        """Remove a folder that contains only files."""
        for name in self.names(path):
            self.remove(path / name)
        self.remove_folder(path)

    @contextmanager
    def _new(self, path: PurePath, *, private: bool) -> Iterator[int]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with self._at(path) as (folder, name):
            descriptor = os.open(name, flags, 0o600 if private else 0o666, dir_fd=folder)
        try:
            yield descriptor
        except OSError as error:
            raise OSError(error.errno, error.strerror, error.filename or str(self.root / path)) from error
        finally:
            os.close(descriptor)

    @contextmanager
    def _opened(self, path: PurePath) -> Iterator[int]:
        with self._at(path) as (folder, name):
            descriptor = reading.opened(name, folder)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def place(root: Path, path: PurePath, text: bytes) -> None:
    """Write a file of a tree that hipport has copied; links that stay inside the copy are followed.

    Raises Refused if a link leads out of it.
    """
    inside = resolved(root, path)
    if inside is None:
        raise Refused([f"{path}: a link leads out of the tree; nothing is written there"])
    below = Below(Path(os.path.realpath(root)))
    try:
        below.make_folders(inside.parent)
        below.put(inside, text)
    except OSError as error:
        raise Refused([f"{path}: {reading.said(error)}"]) from error


def resolved(root: Path, path: PurePath) -> PurePath | None:
    """Return the target of a path below `root`, relative to it, with all links followed; None if it is outside."""
    top, real = (Path(os.path.realpath(each)) for each in (root, root / path))
    return PurePath(real.relative_to(top)) if real.is_relative_to(top) and real != top else None


def write_named(path: Path, text: bytes, trees: Sequence[Path] = ()) -> None:
    """Write a file that the user has named. In a tree no link is followed; elsewhere the file may be a pipe.

    A tree is one of `trees`, or a repository. Raises Refused.
    """
    below, inside = _named(path, trees)
    try:
        if below is None:
            path.write_bytes(text)
        else:
            below.put(inside, text)
    except OSError as error:
        raise Refused([f"{path}: {reading.said(error)}; give another file"]) from error


def check_named(path: Path, trees: Sequence[Path] = (), *, folder: bool = False, coming: Path | None = None) -> None:
    """Raise Refused where `write_named` would, as far as that is known before; or the same for a new `folder`.

    The folder `coming` does not exist yet, but will by then.
    """
    below, inside = _named(path, trees)
    if not folder and not path.parent.is_dir() and not (coming is not None and path.is_relative_to(coming)):
        raise Refused([f"{path}: there is no folder {path.parent}; make it, or give another file"])
    if below is None:
        if not folder and path.is_dir():
            raise Refused([f"{path}: a folder; give another file"])
        return
    try:
        status = below.status(inside)
    except OSError as error:
        raise Refused([f"{path}: {reading.said(error)}; give another {'folder' if folder else 'file'}"]) from error
    if status is not None and not (stat.S_ISDIR(status.st_mode) if folder else stat.S_ISREG(status.st_mode)):
        wanted = "a folder; give one that is empty, or not there yet" if folder else "a regular file; give another file"
        raise Refused([f"{path}: not {wanted}"])


def check_given(paths: Iterable[Path]) -> None:
    """Raise Refused if a path leads out of the tree that it is spelled in: the target must not be changed.

    The tree is a repository or, for a file, the current folder. A hook or a pattern of the shell gives such paths, so
    nobody has looked where they lead.
    """
    problems = []
    for path in paths:
        whole, real = Path(os.path.normpath(path.absolute())), Path(os.path.realpath(path))
        trees = [folder for folder in whole.parents if (folder / ".git").exists()]
        if not path.is_absolute() and not real.is_dir() and whole.is_relative_to(Path.cwd()):
            trees.append(Path.cwd())
        if not all(real.is_relative_to(os.path.realpath(tree)) for tree in trees):
            problems.append(f"{path}: leads somewhere else through a link; if that is meant, give {real}")
    if problems:
        raise Refused(problems)


def _named(path: Path, trees: Sequence[Path]) -> tuple[Below | None, PurePath]:
    # The path as it is spelled: the check is about where links on the way lead.
    whole = Path(os.path.normpath(path.absolute()))
    given = {Path(os.path.normpath(tree.absolute())) for tree in trees} | {tree.resolve() for tree in trees}
    if not path.is_absolute():
        given.add(Path.cwd())
    above = [folder for folder in whole.parents if folder in given or (folder / ".git").exists()]
    if not above:
        return None, whole
    return Below(above[-1]), PurePath(whole.relative_to(above[-1]))


def settle(paths: Iterable[Path]) -> None:
    """Flush files, and the names in folders, to the disk."""

    def see(some: Sequence[Path]) -> None:
        for path in some:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    # Parallel flushes share their waiting: 800 files take 0.2 s, and 6 s one by one.
    every = list(paths)
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(see, (every[i::8] for i in range(min(8, len(every))))):
            pass


def walk(
    top: Path, tell: Callable[[OSError], None] = lambda error: None
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield each folder at and below `top`, its subfolders (the caller may remove some), and its other entries.

    Follows no link, and has no limit of depth. `tell` is called for each folder that cannot be read.
    """
    waiting = [str(top)]
    while waiting:
        folder = waiting.pop()
        folders: list[str] = []
        others: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    (folders if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
        except OSError as error:
            tell(error)
            continue
        yield Path(folder), folders, others
        waiting += [f"{folder}{os.sep}{name}" for name in folders]


#: A tree may have a link by one name, and a folder or a file by the other.
_SAME_NAME = "two files of the tree have this name in upper and lower case, which are the same here; rename one"


def make_new_folder(path: Path, *, parents: bool = False) -> None:
    """Make a folder of a new copy. It may exist already, for another path of the tree, but not as a link."""
    if path.is_symlink():
        raise OSError(errno.EEXIST, _SAME_NAME, str(path))
    path.mkdir(parents=parents, exist_ok=True)


def copy_new(path: Path, to: Path) -> None:
    """Copy a regular file into a new copy of its tree. Nothing may exist by its name."""
    if os.path.lexists(to):
        raise OSError(errno.EEXIST, _SAME_NAME, str(to))
    shutil.copy2(path, to, follow_symlinks=False)


def remove_tree(top: Path) -> None:
    """Remove a folder that hipport has made, with its contents, as far as possible."""
    found = []
    with suppress(OSError):
        if not top.is_symlink():
            top.chmod(stat.S_IRWXU)
    for folder, names, others in walk(top):
        found.append(folder)
        for name in names:
            with suppress(OSError):
                # Read-only folders of a tree were copied as read-only.
                (folder / name).chmod(stat.S_IRWXU)
        for name in others:
            with suppress(OSError):
                (folder / name).unlink()
    for folder in reversed(found):
        with suppress(OSError):
            folder.rmdir()


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _write_all(descriptor: int, text: bytes) -> None:
    left = memoryview(text)
    while left:
        left = left[os.write(descriptor, left) :]


def _shares(one: int, other: int) -> bool:
    import fcntl  # missing on Windows, where the rest of the module can be imported

    try:
        fcntl.ioctl(other, _FICLONE, one)
    except OSError:
        return False
    return True


def _make_like(descriptor: int, like: int) -> None:
    status, mine = os.fstat(like), os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        # Only root may change the owner; otherwise the file belongs to the current user.
        with suppress(PermissionError):
            os.fchown(descriptor, -1, status.st_gid)
            os.fchown(descriptor, status.st_uid, -1)
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(like):  # access control lists among them
                os.setxattr(descriptor, name, os.getxattr(like, name))
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
