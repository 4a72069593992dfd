# SPDX-License-Identifier: Apache-2.0
"""Impossible requests are refused at once, with a helpful message and exit status 2."""

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hipport.building import recorder
from hipport.cli import main
from hipport.toolchain import toolchains
from hipport.verifying.extension_verifier import refuse_extension

SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="ext", ext_modules=[CUDAExtension("ext", ["ext.cu"])], cmdclass={"build_ext": BuildExtension})
"""
BINDING = "#include <torch/extension.h>\n__global__ void k() {}\nPYBIND11_MODULE(ext, m) {}\n"


def said(*words: str) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.stderr


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    (tmp_path / "setup.py").write_text(SETUP)
    (tmp_path / "ext.cu").write_text(BINDING)
    return tmp_path


@pytest.mark.parametrize("more", [[], ["--mutation-score"], ["--", "argument"]])
@pytest.mark.parametrize("file", ["", "ext.cu"])
def test_an_extension_without_cases_gets_advice(extension: Path, more: list[str], file: str) -> None:
    message = said("verify", str(extension / file), *more)
    assert "cases.py" in message and "PACKAGE" in message and "hipport record" in message
    assert "No such file" not in message


def test_a_missing_file_with_cases_is_reported_too(extension: Path) -> None:
    message = said("verify", str(extension), "--cases", str(extension / "mine.py"))
    assert "mine.py is not there" in message and "hipport record" in message


def test_a_program_beside_a_binding_is_a_program(extension: Path) -> None:
    (extension / "main.cu").write_text("int main() {}\n")
    refuse_extension([extension])
    refuse_extension([extension / "main.cu"])


@pytest.mark.parametrize(
    "command",
    [
        ["build", "."],
        ["verify", "."],
        ["port", "."],
        ["deps", "--check", "."],
        ["doctor"],
        ["verify", ".", "--gpu-python"],
    ],
)
@pytest.mark.parametrize("kind", ["missing", "folder", "no program"])
def test_a_python_that_cannot_be_run(
    extension: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], kind: str
) -> None:
    monkeypatch.chdir(extension)
    path = {"missing": "/no/python", "folder": "/", "no program": "setup.py"}[kind]
    message = said(*command, *(["--python"] if "--gpu-python" not in command else []), path)
    assert path in message and "give the path of a Python" in message


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a Python without any package."""
    python = tmp_path / "bare" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    return python


def test_a_python_without_pytorch(
    extension: Path, tmp_path_factory: pytest.TempPathFactory, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with pytest.raises(
        recorder.NoPyTorch, match=r"setup.py builds extensions of PyTorch, and .* has no PyTorch.*--python"
    ):
        recorder.check_torch(bare, os.environ, "setup.py")
    (extension / "cases.py").write_text(
        "PACKAGE = 'ext'\nCASES = {'a': {}}\ndef inputs(rng): ...\ndef call(ext): ...\n"
    )
    assert "has no PyTorch" in said("verify", str(extension), "--python", str(bare))
    if toolchains.find(os.environ):
        assert "has no PyTorch" in said("build", str(extension), "--python", str(bare))


def test_a_python_without_numpy(extension: Path, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    torch = bare.parent / "packages/torch"
    torch.mkdir(parents=True)
    (torch / "__init__.py").touch()
    (torch / "version.py").write_text("__version__ = '2.6.0'\n")
    bare.write_text(f'#!/bin/sh\nPYTHONPATH={torch.parent} exec {sys.executable} -S "$@"\n')
    (extension / "cases.py").write_text(
        "PACKAGE = 'ext'\nCASES = {'a': {}}\ndef inputs(rng): ...\ndef call(ext): ...\n"
    )
    assert "has no NumPy" in said("verify", str(extension), "--python", str(bare))


@pytest.mark.parametrize("command", ["verify", "port", "record"])
def test_nothing_behind_the_dashes(tmp_path: Path, command: str) -> None:
    (tmp_path / "p.cu").write_text("int main() {}\n")
    assert "are missing after `--`" in said(command, str(tmp_path), "--")


@pytest.mark.parametrize("target", ["gfx999", "gfx94z", "gfx942,gfx1109", "sm_90", "gfx9421", "gfx942:fast+"])
@pytest.mark.parametrize("command", ["scan", "rewrite", "build", "verify", "port", "deps", "explain"])
def test_a_gpu_that_does_not_exist(tmp_path: Path, target: str, command: str) -> None:
    (tmp_path / "p.cu").write_text("int main() {}\n")
    what = "cudaMalloc" if command == "explain" else str(tmp_path)
    assert target.split(",")[-1] in (message := said(command, what, "--target", target)) and "gfx942" in message


@pytest.mark.parametrize("release", ["99.9", "8.0", "9.1", "6.5", "5.8", "6.40", "7.15"])
@pytest.mark.parametrize("command", ["scan", "rewrite", "verify", "port", "deps", "explain"])
def test_a_release_that_does_not_exist(tmp_path: Path, release: str, command: str) -> None:
    (tmp_path / "p.cu").write_text("int main() {}\n")
    what = "cudaMalloc" if command == "explain" else str(tmp_path)
    assert f"there is no ROCm {release}" in said(command, what, "--rocm", release)


@pytest.mark.parametrize("setting", ["target = 'gfx999'", "rocm = 99.9"])
def test_settings_of_a_tree_that_do_not_exist(tmp_path: Path, setting: str) -> None:
    (tmp_path / "hipport.toml").write_text(setting)
    (tmp_path / "p.cu").write_text("int main() {}\n")
    assert "hipport.toml" in said("scan", str(tmp_path))


@pytest.mark.parametrize("command", ["rewrite", "port"])
def test_a_file_is_no_folder_for_a_copy(command: str, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("int main() {}\n")
    (tmp_path / "taken").write_text("mine")
    message = said(command, str(tmp_path / "k.cu"), "--out", str(tmp_path / "taken"))
    assert "taken: not a folder" in message
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_copy_that_cannot_be_made_is_called_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k() {}\n")
    message = said("rewrite", str(tmp_path / "k.cu"), "--out", "/proc/copy")
    assert "/proc/copy" in message and ".hipport-" not in message


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_not_explained(name: str) -> None:
    assert "an empty name" in said("explain", name)
