# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own hipify on the fixtures, with and without the lines that `hipify_reach` writes."""

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

import hipport
from endless import ENDLESS
from hipport.testing import Fixture, fixtures
from test_vendored import PRETEND

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed: that PyTorch's hipify converts what is named to it was NOT checked",
)

CASES = {
    str(case).partition("/")[2]: case
    for case in fixtures(Path(__file__).parent.parent / "fixtures" / "hipify_reach")
    if case.beside and not case.skipped and "CppExtension" not in case.before.text.decode()
}
WRONG = {"folder_by_flag", "parts_in_another_folder", "header_twice", "loaded", "loaded_headers"}


def _tree(folder: Path, case: Fixture, script: bytes) -> Path:
    for source in case.beside:
        path = folder / source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.text)
    # A fixture has one line for the kind of call; the result of `load` is not tested.
    script = script.replace(b"def build():", b"if True:").replace(b"return load(", b"load(")
    script = re.sub(rb"\]\)$", b'], build_directory=__file__.replace("setup.py", "out"))', script, flags=re.MULTILINE)
    (folder / "out").mkdir(exist_ok=True)
    (folder / "setup.py").write_bytes(script)
    return folder / "setup.py"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built").resolve()
    scripts = []
    for name, case in CASES.items():
        scripts.append(_tree(folder / "before" / name, case, case.before.text))
        scripts.append(_tree(folder / "after" / name, case, case.after))
    arguments = [sys.executable, "-c", PRETEND, *map(str, scripts)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=ENDLESS)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def _faults(folder: Path) -> list[str]:
    """Return a compiler's errors on the converted sources: missing files, and files that are read twice."""
    said = []
    for source in sorted(folder.rglob("*.hip")):
        reached: list[Path] = []
        queue = [source]
        while queue:
            path = queue.pop()
            if path in reached:
                continue
            reached.append(path)
            # A PyTorch for ROCm has these headers, and not their includes.
            said += re.findall(r"<(?:ATen|c10)/cuda/[\w/]+\.h>", path.read_text())
            for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
                # The scripts use this name for an include folder.
                folders = (path.parent, *folder.rglob("include"))
                others = [Path(os.path.normpath(each / name)) for each in folders]
                if found := [other for other in others if other.is_file()]:
                    queue.append(found[0])
                elif name != "hip/hip_runtime.h":
                    said.append(f"{path.name}: {name} is not found")
        # A header and its copy; both may exist if they have guards.
        headers = Counter(
            path.stem.removesuffix("_hip") for path in reached if re.search(r"#pragma once", path.read_text())
        )
        said += [f"{name} comes twice" for name, count in headers.items() if count > 1]
    return said


@pytest.mark.parametrize("name", sorted(CASES))
def test_converted_files_find_their_includes(built: Path, name: str) -> None:
    assert list((built / "after" / name).rglob("*.hip")), "nothing was converted"
    assert not _faults(built / "after" / name)
    if name in WRONG:
        assert _faults(built / "before" / name), "PyTorch's hipify has learnt it: is the pass needed?"
    else:
        assert CASES[name].before.text == CASES[name].after


def test_headers_that_the_port_itself_brings_are_named(tmp_path: Path) -> None:
    files = {
        "run.py": 'from torch.utils.cpp_extension import load\n\nops = load("ops", sources=["cuda/ops.cu"])\n',
        "cuda/ops.cu": "__global__ void add(int* at) { *at = __reduce_add_sync(0xffffffff, *at); }\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    hipport.save(hipport.rewrite([tmp_path]))
    assert (tmp_path / "cuda/hipport/warp.h").exists()
    assert '"cuda/hipport/warp.h"' in (tmp_path / "run.py").read_text()
    again = hipport.rewrite([tmp_path])
    assert not again.changed and not again.created


def test_folders_above_the_tree_are_renamed_for_load_too(tmp_path: Path) -> None:
    """The output path of `load` has every `cuda` replaced by `hip`, in any part of the tree's path."""
    files = {
        "setup.py": """\
            import os

            from torch.utils.cpp_extension import load

            here = os.path.dirname(os.path.abspath(__file__))
            load("ops", sources=[here + "/ops.cu"], build_directory=here.replace("cuda", "out"))
            """,
        "ops.cu": '#include "ops.h"\n__global__ void add(int* at) { *at = __reduce_add_sync(~0u, *at + ONE); }\n',
        "ops.h": "#define ONE 1\n",
    }
    scripts = []
    for what in ("before", "after"):
        tree = tmp_path.resolve() / what / "some-cuda"
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(textwrap.dedent(text))
        (tree.parent / "some-out").mkdir()
        if what == "after":
            hipport.save(hipport.rewrite([tree]))
            again = hipport.rewrite([tree])
            assert not again.changed and not again.created
        scripts.append(tree / "setup.py")
    done = subprocess.run(
        [sys.executable, "-c", PRETEND, *map(str, scripts)],
        capture_output=True,
        text=True,
        check=False,
        timeout=ENDLESS,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert _faults(tmp_path / "before/some-hip") == ["ops.hip: ops.h is not found"]
    assert list((tmp_path / "after/some-hip").rglob("*.hip"))
    assert not _faults(tmp_path / "after/some-hip")
