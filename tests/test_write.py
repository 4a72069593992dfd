# SPDX-License-Identifier: Apache-2.0
"""Writing many files: all or none, whatever happens in between; and undoing it."""

from __future__ import annotations

import codecs
import errno
import json
import os
import pickle
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePath, PurePosixPath

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hipport
from endless import ENDLESS
from hipport import api
from hipport.cli import main
from hipport.core.edits import Span
from hipport.core.placing import Below
from hipport.workspace import writing
from hipport.workspace.journal import Journal, hash_of, refuse_half_done
from hipport.workspace.writing import Change, Refused, Written

ROOT_USER = os.geteuid() == 0


def change(path: str, before: bytes | None, after: bytes) -> Change:
    return Change(PurePosixPath(path), before, after)


def paths(*names: str) -> tuple[PurePosixPath, ...]:
    return tuple(map(PurePosixPath, names))


def tree(root: Path) -> dict[str, object]:
    """Return everything below `root`: bytes and modes of files, targets of links, folders."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
    return found


def lay(root: Path, files: Mapping[str, bytes], modes: Mapping[str, int] = {}) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        path.chmod(modes.get(name, 0o644))


#: Forks for each request that it reads. To fork the process of the tests would take a hundred times as long: its pages
#: are copied as they are touched.
FORKS = """
import os, pickle, signal, sys

def act(step, what, arguments, links):
    count = 0

    def at(name):
        nonlocal count
        count += 1
        if step in (count, name):
            os.kill(os.getpid(), signal.SIGKILL)

    def link(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    if not links:
        os.link = link
    what(*arguments, at=at)

while True:
    try:
        request = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    child = os.fork()
    if not child:
        try:
            act(*request)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    pickle.dump(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, sys.stdout.buffer)
    sys.stdout.flush()
"""


@cache
def forks() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def killed_at(step: int | str, act: Callable[..., object], *arguments: object, links: bool = True) -> bool:
    """Do `act` in a process that gets SIGKILL at the step of this number or name; return whether it got that far.

    Without `links`, no file can have a second name there.
    """
    asked, answered = forks().stdin, forks().stdout
    assert asked is not None and answered is not None
    pickle.dump((step, act, arguments, links), asked)
    asked.flush()
    return bool(pickle.load(answered))


def failing_at(step: int, error: BaseException) -> writing.Step:
    count = 0

    def at(name: str) -> None:
        nonlocal count
        count += 1
        if count == step:
            raise error

    return at


# ---- Trees and changes to try --------------------------------------------------------------------------------------

NAMES = ("a.cu", "b.h", "src/a.cu", "src/deep/c.cpp", "x" * 255, "src/ü\udcff.cu")
NEW = ("new.h", "made/n.h", "made/here/n.h", "src/n.h")


@dataclass(frozen=True)
class Case:
    files: Mapping[str, bytes]
    modes: Mapping[str, int]
    changes: tuple[Change, ...] = field(repr=False)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    texts = st.binary(max_size=4)
    files = {name: draw(texts) for name in draw(st.sets(st.sampled_from(NAMES), min_size=1))}
    modes = {name: draw(st.sampled_from([0o644, 0o600, 0o755, 0o664])) for name in files}
    changes = [change(name, files[name], draw(texts)) for name in draw(st.sets(st.sampled_from(sorted(files))))]
    changes += [change(name, None, draw(texts)) for name in draw(st.sets(st.sampled_from(NEW)))]
    return Case(files, modes, tuple(changes))


@contextmanager
def laid(case: Case) -> Iterator[Path]:
    # In memory if possible: the same system calls, without waiting for a disk.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        root = Path(folder) / "root"
        root.mkdir()
        lay(root, case.files, case.modes)
        yield root


def expected(case: Case, before: dict[str, object]) -> dict[str, object]:
    after = dict(before)
    umask = os.umask(0)
    os.umask(umask)
    for each in case.changes:
        name = each.path.as_posix()
        after[name] = (case.modes.get(name, 0o666 & ~umask), each.after)
        for parent in each.path.parents[:-1]:
            after[parent.as_posix()] = "folder"
    return after


def without_journal(found: dict[str, object]) -> dict[str, object]:
    return {name: what for name, what in found.items() if not name.startswith(".hipport")}


# ---- Laws ------------------------------------------------------------------------------------------------------------


@given(cases())
@settings(max_examples=60, deadline=None)
def test_everything_is_written_and_undo_restores_it(case: Case) -> None:
    with laid(case) as root:
        before = tree(root)
        written = writing.write(root, case.changes)
        changed = [each for each in case.changes if each.before != each.after]
        assert written == Written(tuple(each.path for each in changed))
        assert without_journal(tree(root)) == expected(case, before)
        if changed:
            assert (root / ".hipport" / ".gitignore").read_text().splitlines()[-1] == "*"
            assert set(writing.undo(root).paths) == {each.path for each in changed}
        assert tree(root) == before


@given(cases(), st.integers(1, 40))
@settings(max_examples=80, deadline=None)
def test_killed_anywhere_the_tree_is_all_before_or_all_after(case: Case, step: int) -> None:
    with laid(case) as root:
        before = tree(root)
        after = expected(case, before)
        killed = killed_at(step, writing.write, root, case.changes)
        half = {name for name, what in tree(root).items() if before.get(name) != what and after.get(name) == what}
        done = not killed or (without_journal(tree(root)) == after and not Journal(root).unfinished)
        recovered = writing.recover(root)
        if done:
            assert without_journal(tree(root)) == after
        else:
            assert tree(root) == before
            assert {str(path) for path in recovered} == {n for n in half if after[n] != "folder"}
        assert writing.recover(root) == ()


@given(cases(), st.integers(1, 25), st.booleans())
@settings(max_examples=50, deadline=None)
def test_killed_while_undoing_the_next_one_ends_it(case: Case, step: int, again: bool) -> None:
    with laid(case) as root:
        before = tree(root)
        writing.write(root, case.changes)
        if tree(root) == before:
            return
        after = tree(root)
        if killed_at(step, writing.undo, root):
            if again:  # Killed while recovering, too.
                killed_at(step, writing.write, root, [])
            writing.recover(root)
        assert tree(root) in (before, after)


@given(cases(), st.integers(1, 40), st.sampled_from([OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()]))
@settings(max_examples=100, deadline=None)
def test_a_failure_anywhere_leaves_everything_as_it_was(case: Case, step: int, error: BaseException) -> None:
    with laid(case) as root:
        before = tree(root)
        try:
            writing.write(root, case.changes, at=failing_at(step, error))
        except (Refused, KeyboardInterrupt, OSError):
            if Journal(root).done:  # It failed after all was done.
                writing.undo(root)
            assert tree(root) == before


@given(cases(), st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_an_undo_that_fails_leaves_everything_written(case: Case, step: int) -> None:
    with laid(case) as root:
        before = tree(root)
        writing.write(root, case.changes)
        after = tree(root)
        try:
            writing.undo(root, at=failing_at(step, OSError(errno.EACCES, "Permission denied")))
        except Refused:
            assert tree(root) == after
            if after != before:
                writing.undo(root)
        writing.recover(root)  # The rest of a journal that could not be removed.
        assert tree(root) == before


@given(st.lists(cases(), min_size=2, max_size=3))
@settings(max_examples=30, deadline=None)
def test_runs_are_undone_one_after_the_other(many: list[Case]) -> None:
    with laid(many[0]) as root:
        states = [tree(root)]
        first: dict[str, bytes] = {}
        for case in many:
            changes = []
            for each in case.changes:
                path = root / each.path
                changes.append(Change(each.path, path.read_bytes() if path.exists() else None, each.after))
            if writing.write(root, changes).paths:
                states.append(without_journal(tree(root)))
            for each in changes:
                if each.before is not None and each.before != each.after:
                    first.setdefault(str(each.path), each.before)
        assert {str(path): text for path, text in writing.originals(root).items()}.keys() <= first.keys()
        for state in reversed(states[:-1]):
            writing.undo(root)
            assert without_journal(tree(root)) == state
        assert tree(root) == states[0]
        with pytest.raises(Refused, match="changed nothing here"):
            writing.undo(root)


@given(cases(), st.integers(1, 40))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_where_files_can_have_one_name_only(monkeypatch: pytest.MonkeyPatch, case: Case, step: int) -> None:
    def link(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with laid(case) as root:
        before = tree(root)
        killed_at(step, writing.write, root, case.changes, links=False)
        writing.recover(root)
        if tree(root) != before:
            assert without_journal(tree(root)) == expected(case, before)
            killed_at(step, writing.undo, root, links=False)
            writing.recover(root)
            if tree(root) != before:
                writing.undo(root)
        assert tree(root) == before


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Not only between steps: a process that writes and undoes repeatedly is killed at any time."""
    files = {f"d{i % 3}/f{i}.cu": b"a" * 2000 for i in range(60)}
    lay(tmp_path, files)
    before = tree(tmp_path)
    script = f"""
from pathlib import Path, PurePath, PurePosixPath
from hipport.core.placing import Below
from hipport.workspace.writing import Change, undo, write
root = Path({str(tmp_path)!r})
print("on", flush=True)
while True:
    write(root, [Change(PurePosixPath(f"d{{i % 3}}/f{{i}}.cu"), b"a" * 2000, b"b" * 3000) for i in range(60)])
    undo(root)
"""
    interrupted = 0
    for attempt in range(40):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.007 * (attempt + 1))
            process.kill()
        interrupted += bool(Journal(tmp_path).unfinished)
        writing.recover(tmp_path)
        found = without_journal(tree(tmp_path))
        if found != before:
            assert {what[1] for what in found.values() if what != "folder"} == {b"b" * 3000}
            writing.undo(tmp_path)
        assert tree(tmp_path) == before
        if interrupted == 3:
            return
    pytest.fail("no process was killed in the middle: give them other times")


# ---- Refusals --------------------------------------------------------------------------------------------------------


def test_files_that_changed_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"mine", "b.cu": b"b", "c.cu": b"c", "new.h": b"there"})
    before = tree(tmp_path)
    with pytest.raises(Refused) as refused:
        writing.write(
            tmp_path,
            [
                change("a.cu", b"a", b"A"),
                change("b.cu", b"b", b"B"),
                change("gone.cu", b"g", b"G"),
                change("new.h", None, b"new"),
            ],
        )
    assert [problem.partition(":")[0] for problem in refused.value.problems] == ["a.cu", "gone.cu", "new.h"]
    assert tree(tmp_path) == before


def test_a_file_that_changes_while_others_are_written_is_left_as_it_is(tmp_path: Path) -> None:
    for how in ("in place", "another file"):
        root = tmp_path / how
        lay(root, {"a.cu": b"a", "b.cu": b"b"})

        def at(step: str, root: Path = root, how: str = how) -> None:
            if step == "replaced a.cu":
                if how == "another file":
                    (root / "b.cu").unlink()
                (root / "b.cu").write_bytes(b"somebody's")

        with pytest.raises(Refused, match=r"b\.cu: changed during"):
            writing.write(root, [change("a.cu", b"a", b"A"), change("b.cu", b"b", b"B")], at=at)
        assert {name: what[1] for name, what in tree(root).items()} == {"a.cu": b"a", "b.cu": b"somebody's"}


def test_undo_refuses_when_files_were_changed_since_and_restores_none(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a", "b.cu": b"b", "c.cu": b"c"})
    changes = [change(f"{name}.cu", name.encode(), name.upper().encode()) for name in "abc"]
    writing.write(tmp_path, [*changes, change("n.h", None, b"n")])
    (tmp_path / "b.cu").write_bytes(b"edited")
    (tmp_path / "c.cu").unlink()
    (tmp_path / "n.h").write_bytes(b"edited")
    before = tree(tmp_path)
    with pytest.raises(Refused) as refused:
        writing.undo(tmp_path)
    assert [problem.partition(":")[0] for problem in refused.value.problems] == ["b.cu", "c.cu", "n.h"]
    assert tree(tmp_path) == before
    (tmp_path / "b.cu").write_bytes(b"b")  # Restored by hand: nothing to do there.
    (tmp_path / "c.cu").write_bytes(b"C")
    (tmp_path / "n.h").unlink()
    assert writing.undo(tmp_path).paths == paths("a.cu", "c.cu")
    assert {name: what[1] for name, what in tree(tmp_path).items()} == {"a.cu": b"a", "b.cu": b"b", "c.cu": b"c"}


def test_edits_after_a_killed_run_are_not_overwritten(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a", "b.cu": b"b"})
    changes = [change("a.cu", b"a", b"A"), change("b.cu", b"b", b"B")]
    step = 1
    while not (killed_at(step, writing.write, tmp_path, changes) and len(replaced(tmp_path)) == 1):
        writing.recover(tmp_path)
        step += 1
    (tmp_path / "a.cu").write_bytes(b"edited")
    before = tree(tmp_path)
    for act in (writing.recover, writing.undo, lambda root: writing.write(root, changes)):
        with pytest.raises(Refused, match=r"a\.cu: changed after hipport was killed") as refused:
            act(tmp_path)
        assert tree(tmp_path) == before
    original = Path(refused.value.problems[0].partition("its original is ")[2].partition(";")[0])
    assert original.read_bytes() == b"a"
    # As the message advises.
    original.replace(tmp_path / "a.cu")
    writing.recover(tmp_path)
    assert {name: what[1] for name, what in tree(tmp_path).items()} == {"a.cu": b"a", "b.cu": b"b"}


def replaced(root: Path) -> list[Path]:
    return [path for path in root.glob("*.cu") if path.read_bytes().isupper()]


def test_two_changes_of_one_file_are_a_mistake(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a"})
    (tmp_path / "l.cu").symlink_to("a.cu")
    with pytest.raises(ValueError, match="two changes"):
        writing.write(tmp_path, [change("a.cu", b"a", b"A"), change("l.cu", b"a", b"B")])
    assert not (tmp_path / ".hipport").exists()


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket"])
def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.cu"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        os.mknod(path, stat.S_IFSOCK | 0o600)
    with pytest.raises(Refused, match=r"a\.cu"):
        writing.write(tmp_path, [change("a.cu", b"", b"A")])


# ---- Links -----------------------------------------------------------------------------------------------------------


def test_links_inside_are_followed_and_stay(tmp_path: Path) -> None:
    root = tmp_path / "root"
    lay(root, {"real/a.cu": b"a"})
    (root / "link.cu").symlink_to("real/a.cu")
    (root / "folder").symlink_to("real")
    before = tree(root)
    writing.write(root, [change("link.cu", b"a", b"A"), change("folder/new.h", None, b"n")])
    assert (root / "link.cu").readlink() == Path("real/a.cu")
    assert {"real/a.cu", "real/new.h"} < tree(root).keys()
    assert (root / "real/a.cu").read_bytes() == b"A"
    writing.undo(root)
    assert tree(root) == before


@pytest.mark.parametrize("name", ["out.cu", "folder/b.cu", "../b.cu", ".hipport/lock"])
def test_nothing_is_written_outside_the_root(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    lay(tmp_path, {"outside/b.cu": b"b", "root/c.cu": b"c", "b.cu": b"b"})
    (root / "out.cu").symlink_to("../outside/b.cu")
    (root / "folder").symlink_to("../outside")
    before = tree(tmp_path)
    with pytest.raises(Refused, match="lies outside"):
        writing.write(root, [change("c.cu", b"c", b"C"), change(name, b"b", b"B")])
    assert tree(tmp_path) == before


def test_other_names_of_a_file_keep_their_text_and_undo_joins_them_again(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a"})
    os.link(tmp_path / "a.cu", tmp_path / "b.cu")
    writing.write(tmp_path, [change("a.cu", b"a", b"A")])
    assert (tmp_path / "b.cu").read_bytes() == b"a"
    writing.undo(tmp_path)
    assert (tmp_path / "a.cu").samefile(tmp_path / "b.cu")
    assert (tmp_path / "a.cu").stat().st_nlink == 2


def test_build_tools_see_that_a_file_was_written_and_put_back(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a"})
    os.utime(tmp_path / "a.cu", (1, 1))
    start = time.time() - 1
    writing.write(tmp_path, [change("a.cu", b"a", b"A")])
    assert (tmp_path / "a.cu").stat().st_mtime > start
    os.utime(tmp_path / "a.cu", (1, 1))
    writing.undo(tmp_path)
    assert (tmp_path / "a.cu").stat().st_mtime > start


def test_a_hostile_journal_leads_nowhere(tmp_path: Path) -> None:
    """A repository can contain a journal of its own."""
    outside = tmp_path / "outside"
    for entry in ("../outside", str(outside), ".hipport/../../outside", "link/outside", "."):
        root = tmp_path / "root"
        shutil.rmtree(root, ignore_errors=True)
        run = root / ".hipport" / "runs" / "1.replacing"
        run.mkdir(parents=True)
        (root / "link").symlink_to("..")
        outside.write_bytes(b"new")
        (run / "0").write_bytes(b"old")
        hashes = [hash_of(b"old"), hash_of(b"new")]
        (run / "manifest.json").write_text(json.dumps({"entries": [[entry, *hashes]], "folders": []}))
        with pytest.raises(Refused):
            writing.recover(root)
        assert outside.read_bytes() == b"new"
        (root / ".hipport" / "x").write_bytes(b"new")
        (run / "manifest.json").write_text(json.dumps({"entries": [[".hipport/x", *hashes]], "folders": []}))
        with pytest.raises(Refused):
            writing.recover(root)
        assert (root / ".hipport" / "x").read_bytes() == b"new"
        (run / "manifest.json").write_text(json.dumps({"entries": [["x", None, hashes[1]]], "folders": ["../outside"]}))
        run.rename(run.with_name("1"))
        with pytest.raises(Refused):
            writing.undo(root)
    for link in (".hipport", ".hipport/runs"):
        root = tmp_path / link.replace("/", "-")
        lay(root, {"a.cu": b"a"})
        (root / link).parent.mkdir(exist_ok=True)
        (root / link).symlink_to(tmp_path)
        with pytest.raises(Refused, match=re.escape(f"{root / link}: a link; ")):
            writing.write(root, [change("a.cu", b"a", b"A")])


def test_a_link_in_place_of_a_folder_does_not_make_the_journal_a_foreign_one(tmp_path: Path) -> None:
    """The advice to remove a foreign journal would lose the originals."""
    lay(tmp_path, {"sub/a.cu": b"a", "b.cu": b"b"})
    writing.write(tmp_path, [change("sub/a.cu", b"a", b"A"), change("b.cu", b"b", b"B")])
    (tmp_path / "sub").rename(tmp_path / "real")
    (tmp_path / "sub").symlink_to("real")
    with pytest.raises(Refused, match=r"sub/a.cu: a link leads it somewhere else; put back what was there") as said:
        writing.undo(tmp_path)
    assert "remove" not in str(said.value)
    (tmp_path / "sub").unlink()
    (tmp_path / "real").rename(tmp_path / "sub")
    writing.undo(tmp_path)
    assert (tmp_path / "sub/a.cu").read_bytes() == b"a" and (tmp_path / "b.cu").read_bytes() == b"b"


def test_a_file_that_was_removed_is_named_with_its_original(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a", "b.cu": b"b"})
    writing.write(tmp_path, [change("a.cu", b"a", b"A"), change("b.cu", b"b", b"B")])
    (tmp_path / "a.cu").unlink()
    with pytest.raises(Refused, match=r"a.cu: removed since hipport wrote it, so nothing was undone; its original"):
        writing.undo(tmp_path)
    assert (tmp_path / ".hipport/runs/1/0").read_bytes() == b"a"


def test_a_trees_own_journal_leaves_a_number_for_the_next_run(tmp_path: Path) -> None:
    """A run with a number that is too long could not be undone."""
    lay(tmp_path, {"a.cu": b"a", ".hipport/runs/999999999/x": b""})
    with pytest.raises(Refused, match=r"runs/999999999: not made by hipport; remove it"):
        writing.write(tmp_path, [change("a.cu", b"a", b"A")])
    assert (tmp_path / "a.cu").read_bytes() == b"a"
    shutil.rmtree(tmp_path / ".hipport/runs/999999999")
    lay(tmp_path, {".hipport/runs/999999998/x": b""})
    writing.write(tmp_path, [change("a.cu", b"a", b"A")])
    writing.undo(tmp_path)
    assert (tmp_path / "a.cu").read_bytes() == b"a"


@pytest.mark.parametrize(
    "bring",
    [os.mkfifo, lambda place: place.write_text("{}"), lambda place: place.symlink_to("/dev/zero"), lambda place: None],
    ids=["pipe", "empty", "device", "nothing"],
)
@pytest.mark.parametrize("run", ["1.replacing", "x.replacing"])
def test_all_commands_say_the_same_of_a_foreign_journal(
    tmp_path: Path, run: str, bring: Callable[[Path], None]
) -> None:
    """Commands that only read do not send a person to an undo that refuses."""
    folder = tmp_path / ".hipport/runs" / run
    folder.mkdir(parents=True)
    (tmp_path / "a.cu").write_text("int i = cudaFree(0);\n")
    bring(folder / "manifest.json")
    for words in (["scan"], ["rewrite", "--check"], ["rewrite"], ["review"], ["undo"], ["port", "--no-verify"]):
        done = CliRunner().invoke(main, [*words, str(tmp_path)])
        assert done.exit_code == 2
        assert f"runs/{run}: not made by hipport; remove it" in done.output and "hipport undo" not in done.output


def test_a_foreign_run_is_not_called_an_earlier_rewrite(tmp_path: Path) -> None:
    lay(tmp_path, {".hipport/runs/1/manifest.json": b"{}"})
    assert "runs/1: not made by hipport; remove it" in writing.undo_first(tmp_path)
    shutil.rmtree(tmp_path / ".hipport")
    lay(tmp_path, {"a.cu": b"a"})
    writing.write(tmp_path, [change("a.cu", b"a", b"A")])
    assert "undo that first: hipport undo" in writing.undo_first(tmp_path)


@pytest.mark.parametrize("entry", ['["a",null,"x"]', '["a",null,"%s"]' % ("0" * 64)])
def test_a_large_manifest_of_a_trees_own_takes_no_time(tmp_path: Path, entry: str) -> None:
    entries = ",".join([entry] * 50_000)
    lay(tmp_path, {".hipport/runs/1/manifest.json": f'{{"folders":[],"entries":[{entries}]}}'.encode()})
    start = time.process_time()
    with pytest.raises(Refused, match="not made by hipport"):
        writing.undo(tmp_path)
    assert time.process_time() - start < 4


@pytest.mark.parametrize(
    ("undone", "step"),
    [
        *((False, step) for step in ("begun", "manifest", "staged d/a.cu", "ready", "replaced d/a.cu")),
        *((True, step) for step in ("marked", "put back d/a.cu")),
    ],
)
def test_a_link_that_is_put_there_meanwhile_is_not_followed(tmp_path: Path, undone: bool, step: str) -> None:
    """Somebody replaces a folder by a link, between the check and the write."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    lay(root, {"d/a.cu": b"a", "d/b.cu": b"b"})
    lay(outside, {"a.cu": b"a", "b.cu": b"b"})
    changes = [change("d/a.cu", b"a", b"A"), change("d/b.cu", b"b", b"B")]
    if undone:
        writing.write(root, changes)
        lay(outside, {"a.cu": b"A", "b.cu": b"B"})
    before = tree(outside)

    def swap(now: str) -> None:
        if now == step:
            (root / "d").rename(root / "gone")
            (root / "d").symlink_to(outside)

    with suppress(Refused):
        _ = writing.undo(root, at=swap) if undone else writing.write(root, changes, at=swap)
    assert tree(outside) == before
    assert (root / "d").is_symlink()
    with pytest.raises(Refused):
        writing.undo(root)
    assert tree(outside) == before


@pytest.mark.parametrize("name", [".git/config", "sub/.GIT/hooks/post-checkout", ".hg/hgrc", ".hipport/lock"])
def test_a_hostile_journal_does_not_set_up_version_control(tmp_path: Path, name: str) -> None:
    """The contents of `.git/config` in a fresh clone can be guessed, and it names programs that git runs."""
    lay(tmp_path, {name: b"new", ".hipport/runs/1.replacing/0": b"evil"})
    manifest = {"entries": [[name, hash_of(b"evil"), hash_of(b"new")]], "folders": []}
    (tmp_path / ".hipport/runs/1.replacing/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(Refused, match="not made by hipport"):
        writing.recover(tmp_path)
    with pytest.raises(Refused):
        writing.undo(tmp_path)
    assert (tmp_path / name).read_bytes() == b"new"


@pytest.mark.parametrize("name", ["notes", "2.other", "x.staging", "3", "٣", "9" * 200, "9" * 255, "-1", "1 2"])
def test_foreign_files_in_the_journal_are_left_alone(tmp_path: Path, name: str) -> None:
    lay(tmp_path, {"a.cu": b"a", f".hipport/runs/{name}/file": b"f"})
    before = tree(tmp_path)
    with pytest.raises(Refused, match="not made by hipport"):
        writing.undo(tmp_path)
    assert {k: v for k, v in tree(tmp_path).items() if k not in (".hipport/lock", ".hipport/.gitignore")} == before


# ---- Disks and rights ------------------------------------------------------------------------------------------------


@contextmanager
def as_somebody() -> Iterator[None]:
    """Return a context without root's rights, for which nothing is read-only."""
    codecs.lookup("ascii")  # Loaded now: the other user may not be able to read Python's folder.
    if not ROOT_USER:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """Return a folder that anybody can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    folder.chmod(0o777)
    shutil.rmtree(folder)


@pytest.mark.parametrize("what", ["root", "folder", "file"])
def test_read_only_files_stop_everything(open_path: Path, what: str) -> None:
    root = open_path / "root"
    lay(root, {"a.cu": b"a", "folder/b.cu": b"b"})
    if ROOT_USER:
        for path in (root, root / "folder", root / "a.cu", root / "folder/b.cu"):
            os.chown(path, 65534, 65534)
    readonly = {"root": root, "folder": root / "folder", "file": root / "folder/b.cu"}[what]
    readonly.chmod(0o555 if what != "file" else 0o444)
    before = tree(root)
    try:
        with as_somebody(), pytest.raises(Refused, match=r"permission") as refused:
            writing.write(root, [change("a.cu", b"a", b"A"), change("folder/b.cu", b"b", b"B")])
        assert tree(root) == before
        if what != "root":
            assert refused.value.problems[0].startswith("folder/b.cu:")
    finally:
        readonly.chmod(0o755)


def test_an_undo_into_a_read_only_folder_undoes_nothing(open_path: Path) -> None:
    root = open_path / "root"
    lay(root, {"a.cu": b"a", "folder/b.cu": b"b"})
    if ROOT_USER:
        for path in (root, root / "folder", root / "a.cu", root / "folder/b.cu"):
            os.chown(path, 65534, 65534)
    with as_somebody():
        writing.write(root, [change("a.cu", b"a", b"A"), change("folder/b.cu", b"b", b"B")])
        after = tree(root)
        (root / "folder").chmod(0o555)
        with pytest.raises(Refused, match=r"folder/b\.cu: permission"):
            writing.undo(root)
        (root / "folder").chmod(0o755)
        assert tree(root) == after
        writing.undo(root)
    assert {name: what[1] for name, what in tree(root).items() if what != "folder"} == {
        "a.cu": b"a",
        "folder/b.cu": b"b",
    }


@pytest.mark.skipif(not ROOT_USER, reason="NOT CHECKED: keeping the owner of a file, which only root can")
def test_the_owner_of_a_file_is_kept(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a"}, {"a.cu": 0o640})
    os.chown(tmp_path / "a.cu", 1234, 2345)
    writing.write(tmp_path, [change("a.cu", b"a", b"A")])
    status = (tmp_path / "a.cu").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o640)


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """Return a separate file system, in memory."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    if done.returncode:
        pytest.skip(f"NOT CHECKED: needs the right to mount a file system ({done.stderr.decode().strip()})")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("room", [0, 3, 6, 9, 12])
def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path, room: int) -> None:
    with mounted(tmp_path / "disk", "256k") as disk:
        root = disk / "root"
        lay(root, {f"f{i}.cu": b"a" * 8000 for i in range(6)})
        with (disk / "ballast").open("wb") as ballast, pytest.raises(OSError):
            while True:
                os.write(ballast.fileno(), bytes(4096))
        os.truncate(disk / "ballast", (disk / "ballast").stat().st_size - 4096 * room)
        before = tree(root)
        with pytest.raises(Refused, match="no space left"):
            writing.write(root, [change(f"f{i}.cu", b"a" * 8000, b"b" * 9000) for i in range(6)])
        assert tree(root) == before


def test_a_full_disk_can_be_undone(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "256k") as disk:
        root = disk / "root"
        lay(root, {f"f{i}.cu": b"a" * 8000 for i in range(6)})
        before = tree(root)
        writing.write(root, [change(f"f{i}.cu", b"a" * 8000, b"b" * 9000) for i in range(6)])
        with (disk / "ballast").open("wb") as ballast, pytest.raises(OSError):
            while True:
                os.write(ballast.fileno(), bytes(4096))
        writing.undo(root)
        assert tree(root) == before


def test_a_tree_may_lie_on_two_disks(tmp_path: Path) -> None:
    root = tmp_path / "root"
    lay(root, {"a.cu": b"a"})
    with mounted(root / "other", "1m"):
        lay(root, {"other/b.cu": b"b", "other/d/c.cu": b"c"}, {"other/b.cu": 0o600})
        before = tree(root)
        changes = [
            change("a.cu", b"a", b"A"),
            change("other/b.cu", b"b", b"B"),
            change("other/d/c.cu", b"c", b"C"),
            change("other/n/n.h", None, b"n"),
        ]
        count = 0
        while killed_at(count := count + 1, writing.write, root, changes):
            writing.recover(root)
            if tree(root) != before:
                break
        assert tree(root)["other/b.cu"] == (0o600, b"B")
        after = tree(root)
        with pytest.raises(Refused):
            writing.undo(root, at=failing_at(4, OSError(errno.EIO, "broken")))
        assert tree(root) == after
        writing.undo(root)
        assert tree(root) == before


def test_access_control_lists_and_the_like_are_kept(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a"})
    try:
        os.setxattr(tmp_path / "a.cu", "user.note", b"n")
    except (OSError, AttributeError):
        pytest.skip("NOT CHECKED: keeping extended attributes, which the file system of the tests does not have")
    writing.write(tmp_path, [change("a.cu", b"a", b"A")])
    assert os.getxattr(tmp_path / "a.cu", "user.note") == b"n"


# ---- The journal -----------------------------------------------------------------------------------------------------


def test_only_the_last_runs_are_kept(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"0"})
    for i in range(writing.KEPT + 3):
        writing.write(tmp_path, [change("a.cu", b"%d" % i, b"%d" % (i + 1))])
    assert len(list((tmp_path / ".hipport/runs").iterdir())) == writing.KEPT
    assert writing.originals(tmp_path) == {PurePosixPath("a.cu"): b"3"}
    for _ in range(writing.KEPT):
        writing.undo(tmp_path)
    assert tree(tmp_path).keys() == {"a.cu"}
    assert (tmp_path / "a.cu").read_bytes() == b"3"


def test_a_run_that_overwrites_nothing_leaves_no_trace(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a"})
    assert writing.write(tmp_path, [change("a.cu", b"a", b"a")]) == Written(())
    assert writing.write(tmp_path, []) == Written(())
    assert writing.recover(tmp_path) == ()
    assert writing.find_root(tmp_path) is None
    with pytest.raises(Refused, match="changed nothing here"):
        writing.undo(tmp_path)
    assert tree(tmp_path).keys() == {"a.cu"}


def test_a_file_to_be_made_may_be_there_already(tmp_path: Path) -> None:
    lay(tmp_path, {"same.h": b"n", "other.h": b"o"})
    assert writing.write(tmp_path, [change("same.h", None, b"n")]) == Written(())
    assert not (tmp_path / ".hipport").exists()
    with pytest.raises(Refused, match=r"other\.h: this file would be made, and there is another"):
        writing.write(tmp_path, [change("other.h", None, b"n")])
    assert writing.write(tmp_path, [change("same.h", None, b"n"), change("a.h", None, b"a")]).paths == paths("a.h")
    assert writing.undo(tmp_path).paths == paths("a.h")
    assert tree(tmp_path).keys() == {"same.h", "other.h"}


def test_nothing_to_write_needs_no_right_to_write(open_path: Path) -> None:
    lay(open_path, {"a.cu": b"a"})
    open_path.chmod(0o555)
    with as_somebody():
        assert writing.write(open_path, [change("a.cu", b"a", b"a")]) == Written(())


def test_the_journal_is_found_from_below_and_from_above(tmp_path: Path) -> None:
    lay(tmp_path, {"one/src/a.cu": b"a", "two/b.cu": b"b", "two/deep/c.cu": b"c"})
    writing.write(tmp_path / "one", [change("src/a.cu", b"a", b"A")])
    for start in ("one", "one/src", "one/src/a.cu"):
        assert writing.find_root(tmp_path / start) == tmp_path / "one"
        assert writing.find_roots(tmp_path / start) == [tmp_path / "one"]
    assert writing.find_root(tmp_path) is writing.find_root(tmp_path / "two") is None
    writing.write(tmp_path / "two", [change("b.cu", b"b", b"B")])
    assert writing.find_root(tmp_path / "two/deep") == tmp_path / "two"
    assert writing.find_roots(tmp_path) == [tmp_path / "one", tmp_path / "two"]


def test_one_waits_for_another_and_gives_up(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a", "b.cu": b"b"})
    started, go_on = threading.Event(), threading.Event()

    def hold(step: str) -> None:
        started.set()
        assert go_on.wait(ENDLESS)

    first = threading.Thread(target=writing.write, args=(tmp_path, [change("a.cu", b"a", b"A")]), kwargs={"at": hold})
    first.start()
    assert started.wait(ENDLESS)
    with pytest.raises(Refused, match="another hipport is writing here"):
        writing.write(tmp_path, [change("b.cu", b"b", b"B")], patience=0.1)
    with pytest.raises(Refused, match="another hipport"):
        writing.recover(tmp_path, patience=0)
    go_on.set()
    writing.write(tmp_path, [change("b.cu", b"b", b"B")])
    first.join()
    assert [writing.undo(tmp_path).paths for _ in "ab"] == [paths("b.cu"), paths("a.cu")]
    assert tree(tmp_path).keys() == {"a.cu", "b.cu"}


def test_a_lock_that_was_removed_meanwhile_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the previous run removes its empty journal just before this one gets its lock."""
    import fcntl

    lay(tmp_path, {"a.cu": b"a"})
    flock, calls = fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        flock(descriptor, how)
        calls.append(descriptor)
        if len(calls) == 1:
            (tmp_path / ".hipport/lock").unlink()

    monkeypatch.setattr(fcntl, "flock", late)

    def at(step: str) -> None:
        if step == "begun":
            with pytest.raises(Refused, match="another hipport"):
                writing.write(tmp_path, [change("b.cu", None, b"b")], patience=0)

    writing.write(tmp_path, [change("a.cu", b"a", b"A")], at=at)
    assert (tmp_path / "a.cu").read_bytes() == b"A"
    assert not (tmp_path / "b.cu").exists()


@pytest.mark.parametrize("how", ["written over", "gone", "a link", "a pipe"])
def test_a_damaged_original_is_not_put_back_and_all_others_are(tmp_path: Path, how: str) -> None:
    lay(tmp_path, {"a.cu": b"a", "b.cu": b"b", "c.cu": b"c"})
    writing.write(tmp_path, [change(f"{name}.cu", name.encode(), name.upper().encode()) for name in "abc"])
    saved = tmp_path / ".hipport/runs/1/1"
    if how == "written over":
        saved.write_bytes(b"damaged")
    else:
        saved.unlink()
        if how == "a link":
            (tmp_path / "elsewhere").write_bytes(b"b")
            saved.symlink_to(tmp_path / "elsewhere")
        elif how == "a pipe":
            os.mkfifo(saved)
    undone = writing.undo(tmp_path)
    assert undone.paths == paths("a.cu", "c.cu")
    assert len(undone.lost) == 1 and undone.lost[0].startswith("b.cu: its saved original is damaged; the file stays")
    assert [(tmp_path / f"{name}.cu").read_bytes() for name in "abc"] == [b"a", b"B", b"c"]
    if how == "written over":
        assert (tmp_path / ".hipport/damaged/1-1").read_bytes() == b"damaged"
    with pytest.raises(Refused, match="changed nothing here"):
        writing.undo(tmp_path)


def test_another_name_of_a_file_that_is_edited_does_not_damage_the_saved_original(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a", "c.cu": b"c"}, {"a.cu": 0o640})
    os.link(tmp_path / "a.cu", tmp_path / "b.cu")
    writing.write(tmp_path, [change("a.cu", b"a", b"A"), change("c.cu", b"c", b"C")])
    with (tmp_path / "b.cu").open("r+b") as other:
        other.write(b"edited")
    assert writing.originals(tmp_path) == {PurePosixPath("a.cu"): b"a", PurePosixPath("c.cu"): b"c"}
    undone = writing.undo(tmp_path)
    assert (undone.paths, undone.lost) == (paths("a.cu", "c.cu"), ())
    assert tree(tmp_path) == {"a.cu": (0o640, b"a"), "b.cu": (0o640, b"edited"), "c.cu": (0o644, b"c")}


def test_a_killed_run_with_a_damaged_original_is_taken_back_but_for_that(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a", "b.cu": b"b"})
    changes = [change("a.cu", b"a", b"A"), change("b.cu", b"b", b"B")]
    kill_when(tmp_path, changes, "settled")
    (tmp_path / ".hipport/runs/1.replacing/0").write_bytes(b"damaged")
    told: list[str] = []
    assert writing.recover(tmp_path, tell=told.append) == paths("b.cu")
    assert [each.partition(";")[0] for each in told] == ["a.cu: its saved original is damaged"]
    assert [(tmp_path / name).read_bytes() for name in ("a.cu", "b.cu")] == [b"A", b"b"]
    assert writing.recover(tmp_path) == ()


def kill_when(root: Path, changes: list[Change], step: str) -> None:
    """Make the changes in a process that is killed at the step of this name."""
    assert killed_at(step, writing.write, root, changes)


@pytest.mark.parametrize("step", ["begun", "manifest", "staged a.cu", "ready", "replaced a.cu", "settled"])
def test_undo_after_a_kill_takes_that_run_back_and_no_other(tmp_path: Path, step: str) -> None:
    lay(tmp_path, {"a.cu": b"a", "b.cu": b"b"})
    kill_when(tmp_path, [change("a.cu", b"a", b"A"), change("b.cu", b"b", b"B")], step)
    undone = writing.undo(tmp_path)
    assert undone.killed and undone.paths == () and undone.lost == ()
    assert undone.recovered == {"replaced a.cu": paths("a.cu"), "settled": paths("a.cu", "b.cu")}.get(step, ())
    assert tree(tmp_path) == {"a.cu": (0o644, b"a"), "b.cu": (0o644, b"b")}
    writing.write(tmp_path, [change("b.cu", b"b", b"B")])
    kill_when(tmp_path, [change("a.cu", b"a", b"A"), change("b.cu", b"B", b"BB")], "replaced a.cu")
    assert writing.undo(tmp_path).recovered == paths("a.cu")
    assert (tmp_path / "b.cu").read_bytes() == b"B"
    assert writing.undo(tmp_path).paths == paths("b.cu")


def test_a_killed_run_above_is_undone_from_below(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": b"a", "sub/b.cu": b"b", "sub/deep/c.cu": b"c"})
    kill_when(tmp_path, [change("a.cu", b"a", b"A"), change("sub/b.cu", b"b", b"B")], "settled")
    for start in (tmp_path, tmp_path / "sub", tmp_path / "sub/deep"):
        with pytest.raises(Refused, match="killed here and has left files half-written; first: hipport undo"):
            refuse_half_done(start, patience=0)
    assert writing.recover(tmp_path / "sub/deep") == (PurePath("../../a.cu"), PurePath("../b.cu"))
    assert (tmp_path / "a.cu").read_bytes() == b"a" and (tmp_path / "sub/b.cu").read_bytes() == b"b"
    refuse_half_done(tmp_path / "sub", patience=0)


@pytest.mark.skipif(not ROOT_USER, reason="NOT CHECKED: journals of other users, which only root can make")
def test_a_journal_above_that_is_somebody_elses_is_not_acted_on(open_path: Path) -> None:
    """In a world-writable folder, anybody can put one that names another user's files."""
    lay(open_path, {"mine/a.cu": b"a"})
    kill_when(open_path, [change("mine/a.cu", b"a", b"evil")], "settled")
    os.chown(open_path / ".hipport", 4711, 4711)
    assert writing.recover(open_path / "mine") == ()
    assert (open_path / "mine/a.cu").read_bytes() == b"evil"
    refuse_half_done(open_path / "mine", patience=0)
    assert writing.find_root(open_path / "mine") is None


def test_killed_while_the_journal_is_removed(tmp_path: Path) -> None:
    """A run whose manifest is already gone, while the rest of it is not."""
    lay(tmp_path, {"a.cu": b"a"})
    writing.write(tmp_path, [change("a.cu", b"a", b"A")])
    child = os.fork()
    if not child:

        def remove_files(self: Below, folder: PurePath) -> None:
            self.remove(folder / "manifest.json")
            os.kill(os.getpid(), signal.SIGKILL)

        Below.remove_files = remove_files  # type: ignore[method-assign,assignment]
        writing.undo(tmp_path)
    os.waitpid(child, 0)
    writing.recover(tmp_path)
    assert tree(tmp_path) == {"a.cu": (0o644, b"a")}


def test_many_at_once(tmp_path: Path) -> None:
    """Runs of many processes, each with a journal that the previous one may just have removed."""
    lay(tmp_path, {f"{i}.cu": b"a" for i in range(8)})
    children = []
    for i in range(8):
        child = os.fork()
        if not child:
            status = 1
            try:
                for _ in range(10):
                    writing.write(tmp_path, [change(f"{i}.cu", b"a", b"b")], patience=ENDLESS)
                    writing.write(tmp_path, [change(f"{i}.cu", b"b", b"a")], patience=ENDLESS)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert {what[1] for what in without_journal(tree(tmp_path)).values()} == {b"a"}


# ---- Copies ----------------------------------------------------------------------------------------------------------


@given(cases())
@settings(max_examples=30, deadline=None)
def test_a_copy_equals_the_result_in_place(case: Case) -> None:
    with laid(case) as root:
        before = tree(root)
        writing.write_tree(root, root.parent / "out", [PurePosixPath(".")], case.changes)
        assert tree(root) == before
        copy = tree(root.parent / "out")
        assert {path.name for path in root.parent.iterdir()} == {"root", "out"}
        writing.write(root, case.changes)
        assert without_journal(tree(root)) == copy


def test_copied_files(tmp_path: Path) -> None:
    root = tmp_path / "root"
    lay(
        root, {"a.cu": b"a", "src/b.cu": b"b", "data.bin": b"\0", ".github/x": b"", "other/o.cu": b"o"}, {"a.cu": 0o751}
    )
    lay(root, {".git/HEAD": b"", ".hipport/x": b"", "build/CMakeCache.txt": b"", "src/__pycache__/x": b""})
    lay(root, {"build_tools/x.py": b"", "venv/pyvenv.cfg": b"", "venv/bin/x": b""})
    (root / "link.cu").symlink_to("src/b.cu")
    (root / "absolute.cu").symlink_to(root / "src/b.cu")
    (root / "out.cu").symlink_to("../elsewhere")
    os.mkfifo(root / "pipe")
    out = tmp_path / "copy" / "of" / "it"
    changes = [change("a.cu", b"a", b"A"), change("new/n.h", None, b"n")]
    assert writing.write_tree(root, out, [PurePosixPath(".")], changes) == Written(paths("a.cu", "new/n.h"))
    assert tree(out) == {
        ".github": "folder",
        ".github/x": (0o644, b""),
        "a.cu": (0o751, b"A"),
        "absolute.cu": ("link", "src/b.cu"),
        "build_tools": "folder",
        "build_tools/x.py": (0o644, b""),
        "data.bin": (0o644, b"\0"),
        "link.cu": ("link", "src/b.cu"),
        "new": "folder",
        "new/n.h": ((out / "new/n.h").stat().st_mode & 0o777, b"n"),
        "other": "folder",
        "other/o.cu": (0o644, b"o"),
        "out.cu": ("link", "../elsewhere"),
        "src": "folder",
        "src/b.cu": (0o644, b"b"),
    }
    some = tmp_path / "some"
    some.mkdir()
    writing.write_tree(root, some, [PurePosixPath("src"), PurePosixPath("a.cu")], changes[:1])
    assert {name: what[1] for name, what in tree(some).items() if what != "folder"} == {"a.cu": b"A", "src/b.cu": b"b"}


@pytest.mark.parametrize("out", ["full", "root/inside", "root", "file", "link"])
def test_no_copy_into_an_existing_folder(tmp_path: Path, out: str) -> None:
    lay(tmp_path, {"root/a.cu": b"a", "full/x": b"x", "file": b""})
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    before = tree(tmp_path)
    with pytest.raises(Refused):
        writing.write_tree(tmp_path / "root", tmp_path / out, [PurePosixPath(".")], [])
    assert tree(tmp_path) == before


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, {"root/a.cu": b"a", "root/b.cu": b"b"})
    before = tree(tmp_path)
    with pytest.raises(Refused, match=r"a\.cu: changed during"):
        writing.write_tree(tmp_path / "root", tmp_path / "out", [PurePosixPath(".")], [change("a.cu", b"x", b"A")])
    assert tree(tmp_path) == before

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "there")

    monkeypatch.setattr(writing, "_place", fail)
    with pytest.raises(Refused, match="there: no space left"):
        writing.write_tree(tmp_path / "root", tmp_path / "out", [PurePosixPath(".")], [change("a.cu", b"a", b"A")])
    assert tree(tmp_path) == before


def test_files_that_could_not_be_copied_are_named(open_path: Path) -> None:
    lay(open_path / "closed", {f"{i}.cu": b"a" for i in range(7)})
    for path in (open_path / "closed").iterdir():
        path.chmod(0)
    with as_somebody(), pytest.raises(Refused) as refused:
        writing.write_tree(open_path / "closed", open_path / "out", [PurePosixPath(".")], [])
    *files, more = refused.value.problems
    assert len(files) == 5
    assert all(re.fullmatch(r".*/closed/\d\.cu: permission denied", each) for each in files)
    assert more == "and 2 more files"


def test_a_tree_that_is_only_to_be_read_can_be_copied(open_path: Path) -> None:
    root = open_path / "root"
    lay(root, {"a.cu": b"a", "folder/b.cu": b"b"}, {"a.cu": 0o444})
    if ROOT_USER:
        for path in (root, root / "folder", root / "a.cu", root / "folder/b.cu"):
            os.chown(path, 65534, 65534)
    for folder in (root / "folder", root):
        folder.chmod(0o555)
    wanted = [change("a.cu", b"a", b"A"), change("folder/b.cu", b"b", b"B")]
    with as_somebody():
        # A failure half-way leaves no copy that nobody can remove.
        with pytest.raises(Refused, match="changed during"):
            writing.write_tree(root, open_path / "out", [PurePosixPath(".")], [change("folder/b.cu", b"x", b"B")])
        with pytest.raises(Refused):
            writing.write_tree(root, open_path / "out", [PurePosixPath(".")], [*wanted, change("a.cu/c", None, b"C")])
        assert [path.name for path in open_path.iterdir()] == ["root"]
        writing.write_tree(root, open_path / "out", [PurePosixPath(".")], wanted)
        assert (open_path / "out/a.cu").read_bytes() == b"A"
        assert (open_path / "out/folder/b.cu").read_bytes() == b"B"
        (open_path / "out/folder/c.cu").write_bytes(b"")
    for folder in (root, root / "folder"):
        folder.chmod(0o755)


def test_remains_of_a_killed_copy_are_removed_by_the_next_one(tmp_path: Path) -> None:
    lay(tmp_path, {"root/a.cu": b"a"})
    child = os.fork()
    if not child:
        writing._place = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        writing.write_tree(tmp_path / "root", tmp_path / "out", [PurePosixPath(".")], [change("a.cu", b"a", b"A")])
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 2
    writing.write_tree(tmp_path / "root", tmp_path / "out", [PurePosixPath(".")], [change("a.cu", b"a", b"A")])
    assert {path.name for path in tmp_path.iterdir()} == {"root", "out"}


def test_headers_lie_where_a_link_to_a_source_looks_for_them(tmp_path: Path) -> None:
    (tmp_path / "binding").mkdir()
    source = tmp_path / "scan.cu"
    source.write_text("__global__ void k(int *p) { p[0] = __shfl_up_sync(~0u, p[0], 1); }\n")
    (tmp_path / "plain.cu").write_text("__global__ void k(int *p) { p[0] = 1; }\n")
    for name in ("scan.cu", "plain.cu"):
        (tmp_path / "binding" / name).symlink_to(f"../{name}")
    hipport.save(hipport.rewrite([tmp_path]))
    names = sorted(path.name for path in (tmp_path / "hipport").iterdir())
    assert '#include "hipport/warp.h"' in source.read_text() and "warp.h" in names
    assert sorted(path.name for path in (tmp_path / "binding/hipport").iterdir()) == names
    assert (tmp_path / "binding/scan.cu").is_symlink()
    again = hipport.rewrite([tmp_path])
    assert not again.changed and not again.created


def test_the_origin_of_a_text_is_kept_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a compiler's message is reported at the user's line, without running the passes again."""
    (tmp_path / "a.cu").write_text("#include <cuda_runtime.h>\n\nvoid f() { cudaFree(0); }\n")
    ported = hipport.rewrite([tmp_path])
    hipport.save(ported)
    monkeypatch.setattr("hipport.api.run", lambda *_: pytest.fail("passes ran again"))
    (source,) = api._rewritten([tmp_path]).values()
    assert source.text == (tmp_path / "a.cu").read_bytes() and b"hipFree" in source.text
    at = source.text.index(b"hipFree")
    place = source.first.text[source.origin(Span(at, at + len(b"hipFree"))).start :]
    assert place.startswith(b"cudaFree")
    # A file that was changed since is not the written one.
    written = (tmp_path / "a.cu").read_bytes()
    (tmp_path / "a.cu").write_bytes(written + b"// by hand\n")
    assert api._rewritten([tmp_path]) == {}
    (tmp_path / "a.cu").write_bytes(written)
    (edits,) = tmp_path.glob(".hipport/runs/*/edits")
    for said in (b"", b"x", zlib.compress(b'[[[[1, 0, "", false]]]]'), zlib.compress(b'[[[[0, 3, "00", false]]]]')):
        edits.write_bytes(said)
        assert api._rewritten([tmp_path]) == {}
    edits.unlink()
    assert api._rewritten([tmp_path]) == {}
    hipport.undo(tmp_path)
    assert not (tmp_path / ".hipport").exists()
