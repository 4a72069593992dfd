# SPDX-License-Identifier: Apache-2.0
"""The executor's cache does not grow without bound, and entries in use are kept."""

import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hipport.building import locks
from hipport.executor import kept

DAY = 86400.0


def entry(root: Path, name: str, age: float, size: int = 1000, mark: str = ".lock") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "made").write_bytes(b"x" * size)
    (folder / mark).touch()
    for path in (folder / mark, folder):
        os.utime(path, (time.time() - age,) * 2)
    return folder


def test_the_least_recently_used_entry_is_removed(tmp_path: Path) -> None:
    old = entry(tmp_path, "objects/aa/1", 3 * DAY, mark="states.json")
    older = entry(tmp_path, "trees/2", 4 * DAY)
    new = entry(tmp_path, "programs/bb/3", 2 * DAY)
    assert kept.prune(tmp_path, 1500) == [older, old]
    assert new.is_dir()
    assert not old.exists()
    assert not older.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".pruned", "objects", "programs", "trees"]


def test_below_the_limit_all_stays(tmp_path: Path) -> None:
    entry(tmp_path, "trees/1", 9 * DAY)
    assert kept.prune(tmp_path, 1000) == []


def test_recently_used_entries_stay(tmp_path: Path) -> None:
    entry(tmp_path, "trees/1", 60)
    used = entry(tmp_path, "objects/aa/1", 3 * DAY, mark="states.json")
    kept.used(used)
    with locks.locked(entry(tmp_path, "programs/aa/1", 3 * DAY)):
        assert kept.prune(tmp_path, 0) == []


def test_locked_entries_stay(tmp_path: Path) -> None:
    folder = entry(tmp_path, "programs/aa/1", 3 * DAY)
    holding = "import sys, time; from pathlib import Path; from hipport.building import locks\n"
    holding += "with locks.locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", holding, str(folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for path in (folder / ".lock", folder):
            os.utime(path, (time.time() - 3 * DAY,) * 2)
        assert kept.prune(tmp_path, 0) == []
        process.kill()
    assert kept.prune(tmp_path, 0, pause=0) == [folder]


def test_the_limit_is_not_checked_twice_in_a_row(tmp_path: Path) -> None:
    assert kept.prune(tmp_path, 0) == []
    folder = entry(tmp_path, "trees/1", 3 * DAY)
    assert kept.prune(tmp_path, 0) == []
    assert kept.prune(tmp_path, 0, pause=0) == [folder]


def test_an_entry_that_is_made_anew_while_its_lock_is_asked_for_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = entry(tmp_path, "trees/1", 3 * DAY)

    def replaced(lock: int, how: int) -> None:
        # Another process deletes the entry, and a third one makes a new one.
        folder.rename(tmp_path / "gone")
        folder.mkdir()
        (folder / ".lock").touch()
        (folder / "new").write_text("whole")

    monkeypatch.setattr(fcntl, "flock", replaced)
    assert kept.prune(tmp_path, 0) == []
    assert (folder / "new").read_text() == "whole"


def test_entries_that_are_made_and_taken_at_once_are_whole(tmp_path: Path) -> None:
    """Some processes make entries, like the compiler, and others remove all of them."""
    failures: list[str] = []
    until = time.monotonic() + 2

    def make() -> None:
        while time.monotonic() < until:
            folder = tmp_path / "programs" / "aa" / "1"
            with locks.locked(folder):
                try:
                    (folder / "new").write_text("whole")
                    (folder / "new").replace(folder / "made")
                    if (folder / "made").read_text() != "whole":
                        failures.append("cut off")
                except OSError as problem:
                    failures.append(str(problem))

    def take() -> None:
        while time.monotonic() < until:
            # A day ahead, nothing was used within the hour.
            kept.prune(tmp_path, 0, now=time.time() + DAY, pause=-1)

    threads = [threading.Thread(target=each) for each in (make, make, take, take)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize(("said", "limit"), [(None, 4 << 30), ("100", 100 << 20), ("0", 0)])
def test_the_limit_is_the_environments(said: str | None, limit: int) -> None:
    assert kept.limit({} if said is None else {"HIPPORT_CACHE_MB": said}) == limit


def test_a_limit_that_is_no_number(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="HIPPORT_CACHE_MB is 'much'"):
        kept.limit({"HIPPORT_CACHE_MB": "much"})
