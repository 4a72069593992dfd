# SPDX-License-Identifier: Apache-2.0
"""Source packages of real extensions, as they were published."""

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import compiled

PACKAGES = ("torch-scatter==2.1.2", "torch-cluster==1.6.3", "torch-spline-conv==1.2.2", "chamferdist==1.0.3")
#: The CUDA units of each, which must be compiled.
UNITS = {"torch-scatter": 3, "torch-cluster": 7, "torch-spline-conv": 2, "chamferdist": 1}


def without_cuda(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return an environment in which no build finds an installed CUDA toolkit."""
    return {name: value for name, value in env.items() if name not in ("CUDA_HOME", "CUDA_PATH")}


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a source package. Python 3.11.2, which Debian 12 has, knows no filters yet."""
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)


def of_this_run(factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder that all processes of this run of the tests share."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def downloaded(package: str) -> Path:
    """Return the archive of a package, downloaded once: pip runs setup.py for that, which imports PyTorch."""
    # The contents of a published version never change.
    folder = compiled.kept() / "archives" / package
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.tar.gz")):
            with tempfile.TemporaryDirectory() as scratch:
                options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", scratch]
                command = [sys.executable, "-m", "pip", "download", *options, package]
                subprocess.run(command, check=True, env=without_cuda())
                (made,) = Path(scratch).glob("*.tar.gz")
                # Completely, or not at all.
                shutil.copyfile(made, folder / "part")
                (folder / "part").rename(folder / made.name)
        (archive,) = folder.glob("*.tar.gz")
    return archive


def unpacked(folder: Path, packages: Sequence[str] = PACKAGES) -> dict[str, Path]:
    """Unpack the packages into `folder`, and return their trees by name. Their setup.py files import PyTorch."""
    trees = {}
    for package in packages:
        archive = downloaded(package)
        unpack(archive, folder)
        trees[package.partition("==")[0]] = folder / archive.name.removesuffix(".tar.gz")
    return trees
