# SPDX-License-Identifier: Apache-2.0
"""Scripts in a process that has loaded PyTorch behave like in a process of their own."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from endless import ENDLESS
from hipport.toolchain import processes

PYTHON = Path(sys.executable)


@pytest.fixture(scope="module")
def loaded() -> Iterator[processes._Loaded]:
    pytest.importorskip("torch", reason="PyTorch is not installed: that scripts run in a fork was NOT checked")
    found = processes._Loaded(PYTHON, {**os.environ, "AT_START": "1"})
    yield found
    if found.process and found.process.stdin:
        found.process.stdin.close()


def script(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(text)
    return path


def run(
    loaded: processes._Loaded, path: Path, *arguments: str, seconds: float = ENDLESS, **env: str
) -> tuple[int | None, str]:
    answer = loaded.run(path, arguments, path.parent, {**os.environ, **env}, seconds)
    assert answer is not None, "it was not run in the process that has loaded PyTorch"
    return answer


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("print('a', flush=True)\nimport sys; print('b', file=sys.stderr)", 0, "a\nb\n"),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('no')", 1, "no\n"),
        ("import os; os.kill(os.getpid(), 9)", -9, ""),
        ("import os; os.write(1, b'raw\\n'); os._exit(4)", 4, "raw\n"),
        ("import atexit; atexit.register(print, 'last'); print('first')", 0, "first\nlast\n"),
        (
            "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()",
            0,
            "thread\n",
        ),
        ("import subprocess; subprocess.run(['echo', 'child'])", 0, "child\n"),
        (
            "import sys; print(sys.stdin.read() == '', __name__, sys.modules['__main__'].__dict__ is globals())",
            0,
            "True __main__ True\n",
        ),
    ],
)
def test_a_script_ends_and_prints_as_in_a_process_of_its_own(
    text: str, status: int, said: str, loaded: processes._Loaded, tmp_path: Path
) -> None:
    path = script(tmp_path, text)
    assert run(loaded, path) == (status, said)
    assert processes.limited([str(PYTHON), str(path)], tmp_path, os.environ, ENDLESS) == (status, said)


def test_a_script_gets_its_arguments_and_leaves_nothing(loaded: processes._Loaded, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("here = 1\n")
    path = script(
        tmp_path,
        "import os, sys, beside\n"
        "assert 'torch' in sys.modules and 'hipport' not in sys.modules\n"
        "print(sys.argv[1:], os.getcwd() == os.path.dirname(__file__), os.environ.get('ONLY_HERE'))\n"
        "print(os.environ.get('SEEN'), os.environ.get('AT_START'))\n"
        "os.environ['SEEN'] = 'yes'; sys.modules['torch'].changed = True\n",
    )
    assert run(loaded, path, "x", "y z", ONLY_HERE="1") == (0, "['x', 'y z'] True 1\nNone None\n")
    assert run(loaded, path) == (0, "[] True None\nNone None\n")
    path.write_text("import torch; print(hasattr(torch, 'changed'))")
    assert run(loaded, path) == (0, "False\n")
    status, said = run(loaded, script(tmp_path, "def f():\n    raise ValueError('what is wrong')\nf()\n"))
    assert status == 1 and said.endswith("ValueError: what is wrong\n") and f'{path}", line 2, in f' in said


def test_a_script_that_takes_too_long_is_ended_with_its_children(loaded: processes._Loaded, tmp_path: Path) -> None:
    sleep = f"{2 * ENDLESS}.{os.getpid()}"
    path = script(tmp_path, f"import subprocess; print('begun', flush=True); subprocess.run(['sleep', '{sleep}'])")
    start = time.monotonic()
    assert run(loaded, path, seconds=0.5) == (None, "begun\n")
    assert time.monotonic() - start < ENDLESS
    commands = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if each.exists()]
    assert not any(sleep.encode() in command for command in commands)


def test_a_process_that_ended_is_begun_anew_and_one_that_is_busy_is_not_waited_for(
    loaded: processes._Loaded, tmp_path: Path
) -> None:
    path = script(tmp_path, "import os; print(os.getppid())")
    first = run(loaded, path)
    assert run(loaded, path) == first
    assert loaded.process is not None
    loaded.process.kill()
    loaded.process.wait()
    assert run(loaded, path) != first
    go_on = tmp_path / "go_on"
    slow = script(tmp_path, f"import os, time\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.02)")
    thread = threading.Thread(target=run, args=(loaded, slow))
    thread.start()
    while not loaded.lock.locked():
        time.sleep(0.01)
    assert loaded.run(path, (), tmp_path, os.environ, ENDLESS) is None
    go_on.touch()
    thread.join()


def test_a_script_loads_its_modules_if_none_can_be_preloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('it is broken')\n")
    path = script(tmp_path, "import sys; print(sys.argv[1:])")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert processes._Loaded(PYTHON, env).run(path, (), tmp_path, env, ENDLESS) is None
    assert processes.run_script(PYTHON, path, ["x"], tmp_path, env, ENDLESS) == (0, "['x']\n")
    # Settings that an interpreter reads at its start need another process; others do not.
    asked: list[object] = []
    monkeypatch.setattr(processes, "_loaded", lambda python, start: asked.append(start))
    for more in ({"PYTHONHASHSEED": "1"}, {}, {"FORCE_CUDA": "1"}, {"TORCH_CUDA_ARCH_LIST": "8.0"}):
        processes.run_script(PYTHON, path, [], tmp_path, {"PATH": os.environ["PATH"], **more}, ENDLESS)
    assert asked[0] != asked[1] == asked[2] == asked[3]
