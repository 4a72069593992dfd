# SPDX-License-Identifier: Apache-2.0
"""A ROCm whose hipcc is tests/rocm_pytorch/hipcc.py, for tests that only check that PyTorch extensions compile."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

import pytest

import compiled
from hipport.toolchain.toolchains import Toolchain
from source_packages import of_this_run

_SCRIPT = Path(__file__).parent / "rocm_pytorch/hipcc.py"


def environment(toolchain: Toolchain, env: Mapping[str, str], factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return `env` with a ROCm that compiles with `toolchain` and reads PyTorch's headers once."""
    # ROCm has its headers beside its programs; those of `hipport toolchain install` are elsewhere.
    headers = toolchain.root / "include/hip"
    if not headers.is_dir():
        headers = toolchain.root / "root/usr/include/hip"
    # One folder for all processes: the results for the headers are stored under the folders that contain them.
    home = of_this_run(factory) / "rocm"
    for name, place in (("bin/hipcc", _SCRIPT), ("include/hip", headers)):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (home / name).symlink_to(place)
    kept = compiled.kept()
    kept.mkdir(parents=True, exist_ok=True)
    return {
        **toolchain.environment(env),
        "ROCM_HOME": str(home),
        "ROCM_PATH": str(home),
        "HIPPORT_HIPCC": str(toolchain.hipcc),
        "HIPPORT_PRECOMPILED": str(kept / "precompiled"),
        "HIPPORT_KEPT": str(kept),
        # Stored like ccache's results: in the one folder beside the copy that a compiler may write to.
        "CCACHE_DIR": str(kept),
    }
