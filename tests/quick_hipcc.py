# SPDX-License-Identifier: Apache-2.0
"""A ROCm whose hipcc is tests/rocm_pytorch/hipcc.py, for tests that ask only whether PyTorch extensions compile."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

import pytest

import compiled
from hipport.toolchain.toolchains import Toolchain
from source_packages import of_this_run

_SCRIPT = Path(__file__).parent / "rocm_pytorch/hipcc.py"


def environment(toolchain: Toolchain, env: Mapping[str, str], factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return `env` with a ROCm that compiles with `toolchain`, PyTorch's headers once."""
    # ROCm has its headers beside its programs; where hipport toolchain install put it, they are elsewhere.
    headers = toolchain.root / "include/hip"
    if not headers.is_dir():
        headers = toolchain.root / "root/usr/include/hip"
    # One for all processes: what is made of the headers is kept by the folders that they are in.
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
        # It is kept as ccache keeps what it compiled: the one folder beside the copy that a compiler may write to.
        "CCACHE_DIR": str(kept),
    }
