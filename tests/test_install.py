# SPDX-License-Identifier: Apache-2.0
"""`pip install` of rewritten trees, as users do it, with a PyTorch that takes itself for one built for ROCm.

The code objects are in what is installed. Nothing of it can be run: `hipport verify` does that, on a CPU.
"""

import importlib.util
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hipport
from hipport import toolchain
from hipport.overlay import overlay

HERE = Path(__file__).parent
ARCHS = ("gfx942", "gfx1100")

pytestmark = pytest.mark.toolchain


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What pip is run in: the stand-in for PyTorch for ROCm, a hipcc, and two architectures."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        pytest.skip("PyTorch is not installed: that a rewritten tree can be installed was NOT checked")
    try:
        hipcc = toolchain.choose(toolchain.find(os.environ), ARCHS)
    except toolchain.NoToolchain as missing:
        pytest.skip(f"no hipcc for {ARCHS}: that a rewritten tree can be installed was NOT checked: {missing}")
    # For the linker: PyTorch for CPUs has no such libraries, and hipcc knows where its own is.
    libraries = tmp_path_factory.mktemp("libraries")
    for name in ("c10_hip", "torch_hip", "amdhip64"):
        made = ["g++", "-shared", "-o", str(libraries / f"lib{name}.so"), "-x", "c++", os.devnull]
        subprocess.run(made, check=True)
    headers = overlay(Path(sys.executable), Path(found.origin).parent / "include", toolchain.cache(os.environ))
    return {
        **hipcc.environment(os.environ),
        "PYTHONPATH": str(HERE / "rocm_pytorch"),
        "HIPPORT_OVERLAY": str(headers),
        "ROCM_HOME": str(hipcc.root),
        "PYTORCH_ROCM_ARCH": ";".join(ARCHS),
        "LIBRARY_PATH": str(libraries),
        "MAX_JOBS": "2",
        # What scripts that have it are told where there is no GPU, for ROCm as for CUDA.
        "FORCE_CUDA": "1",
    }


def install(tree: Path, target: Path, environment: dict[str, str]) -> list[Path]:
    """Rewrite the tree, install it, and return the shared objects that came of it."""
    ported = hipport.rewrite([tree])
    assert ported.changed
    hipport.save(ported)
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(tree)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return sorted(target.rglob("*.so"))


def bundled(path: Path) -> Iterator[str]:
    """Yield the targets of the code objects in a shared object, of those that have code in them.

    The format is that of clang-offload-bundler: a magic string, the number of entries, and of each the offset, the
    size, and the target with its length before it.
    """
    data = path.read_bytes()
    start = -1
    while (start := data.find(b"__CLANG_OFFLOAD_BUNDLE__", start + 1)) >= 0:
        place = start + 24
        (count,) = struct.unpack_from("<Q", data, place)
        place += 8
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", data, place)
            name = data[place + 24 : place + 24 + length].decode()
            place += 24 + length
            if data[start + offset : start + offset + 4] == b"\x7fELF" and size > 64:
                yield name.rpartition("-")[2]


# One more takes minutes, and shows nothing else.
@pytest.mark.parametrize("example", ["elementwise"])
def test_an_example_is_installed_with_code_for_both_wavefronts(
    example: str, environment: dict[str, str], tmp_path: Path
) -> None:
    tree = tmp_path / example
    shutil.copytree(HERE.parent / "ext_examples" / example, tree)
    objects = install(tree, tmp_path / "installed", environment)
    assert objects
    for path in objects:
        assert set(bundled(path)) == set(ARCHS)
