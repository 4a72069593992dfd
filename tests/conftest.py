# SPDX-License-Identifier: Apache-2.0
"""Settings for all tests.

A test writes to the same folder in every run, because hipport looks up saved compilations by the paths and bytes of
their inputs. Two concurrent runs of one checkout do not share: the temporary folders of the second one have new names,
as usual in pytest.
"""

import fcntl
import gc
import hashlib
import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

import compiled

# The time of an example depends more on other load on the machine than on the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# One run needs more than the default limit of the cache, and its first entries are the least recently used.
os.environ.setdefault("HIPPORT_CACHE_MB", "6000")

#: Files whose tests take minutes: they start first, so that no processor waits for the last of them.
_SLOW = ("test_install", "test_verify_packages", "test_packages", "test_examples", "test_verify_examples", "test_build")
_LOCK = pytest.StashKey[int]()
_NOT_RUN = "NOT RUN, as it shows on a further input what others show: make test-all runs it"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--further`, with which `make test-all` runs more."""
    parser.addoption("--further", action="store_true", help="run what shows the same on further inputs, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Move slow tests to the front, and leave out tests of further inputs unless they are requested."""
    if not config.getoption("--further"):
        for item in items:
            if item.get_closest_marker("further"):
                item.add_marker(pytest.mark.skip(reason=_NOT_RUN))
    items.sort(key=lambda item: _SLOW.index(item.path.stem) if item.path.stem in _SLOW else len(_SLOW))


def pytest_collection_finish() -> None:
    """Leave the tests and modules out of garbage collections: there are millions of objects that stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Put temporary folders where the last run of this checkout had them, unless a run is in progress there."""
    compiled.prune()
    if config.option.basetemp is not None:
        return
    base = Path(tempfile.gettempdir()).resolve() / f"hipport-tests-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    if base.stat().st_uid != os.getuid():
        return
    name = hashlib.sha256(os.fsencode(config.rootpath)).hexdigest()[:8]
    lock = os.open(base / f"{name}.lock", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return
    config.stash[_LOCK] = lock
    config.option.basetemp = base / name


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests were left out, and how many wrong ports were noticed."""
    skipped = [each for each in terminalreporter.stats.get("skipped", ()) if _NOT_RUN in str(each.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests were {_NOT_RUN}")
    scores = [
        counts
        for kind in ("passed", "failed")
        for each in terminalreporter.stats.get(kind, ())
        for name, counts in each.user_properties
        if name == "mutation score"
    ]
    if scores:
        noticed, missed, same = (sum(column) for column in zip(*scores, strict=True))
        percent = 100 * noticed / max(1, noticed + missed)
        terminalreporter.write_line(
            f"MUTATION SCORE: {noticed} of {noticed + missed} wrong ports were noticed ({percent:.1f} %) in "
            f"{len(scores)} programs; {same} more give the same as the port",
            bold=True,
        )


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new, empty folder whose name is that of the test. It stays until the next run begins."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # The process of a test differs from run to run.
        base = base.parent
    digest = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:8]
    path = base / f"{re.sub(r'[^A-Za-z0-9]+', '_', request.node.name)[:30]}-{digest}"
    path.mkdir()
    return path
