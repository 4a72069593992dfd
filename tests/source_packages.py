# SPDX-License-Identifier: Apache-2.0
"""Source packages of real extensions, as they were published."""

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

PACKAGES = ("torch-scatter==2.1.2", "torch-cluster==1.6.3", "torch-spline-conv==1.2.2", "chamferdist==1.0.3")
#: The CUDA units of each: what must be compiled.
UNITS = {"torch-scatter": 3, "torch-cluster": 7, "torch-spline-conv": 2, "chamferdist": 1}


def without_cuda(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return an environment in which no build finds a CUDA toolkit that happens to be here."""
    return {name: value for name, value in env.items() if name not in ("CUDA_HOME", "CUDA_PATH")}


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a source package. Python 3.11.2, which Debian 12 has, knows no filters yet."""
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)


def unpacked(folder: Path, packages: Sequence[str] = PACKAGES) -> dict[str, Path]:
    """Download the packages into `folder`, and return their trees by name. Their setup.py files import PyTorch."""
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, *packages], check=True, env=without_cuda())
    trees = {}
    for archive in sorted(folder.glob("*.tar.gz")):
        unpack(archive, folder)
        name = re.sub(r"-[\d.]+\.tar\.gz$", "", archive.name)
        trees[name.replace("_", "-")] = folder / archive.name.removesuffix(".tar.gz")
    assert set(trees) == {package.partition("==")[0] for package in packages}
    return trees
