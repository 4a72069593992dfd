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
from hipport.verifying import recordings
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


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["port", ".", "--timeout", "nan"], "is not a number of seconds"),
        (["verify", ".", "--timeout", "inf"], "1000000"),
        (["verify", ".", "--order", "random:" + "9" * 5000], "of up to 18 digits"),
        (["build", ".", "--env", "NAME=value"], "give its name alone"),
        (["verify", ".", "--env", ""], "is not a name"),
        (["port", ".", "--env", "HIPPORT_NOT_SET"], "HIPPORT_NOT_SET is not set"),
        (["port", ".", "--cases", "missing.py"], "missing.py: there is no such file"),
        (["port", ".", "--replay", "."], ".: not a regular file"),
        (["verify", ".", "--replay", "missing.json"], "missing.json: there is no such file"),
        (["verify", ".", "--replay", "list.json"], "list.json is not a recording"),
        (["verify", ".", "--replay", "empty.json"], "empty.json is not a recording"),
        (["verify", ".", "--cases", "folder"], "folder is not a regular file"),
        (["scan", ".", "--rocm", "6." + "4" * 5000], "for example: 6.4"),
        (["scan", ".", "--rocm", "٦.٤"], "for example: 6.4"),
        (["undo", "missing"], "there is no missing"),
        (["review", "missing"], "there is no missing"),
        (["explain", "missing.cu:1"], "missing.cu: there is no such file"),
        (["explain", "folder:1"], "folder: not a regular file"),
        (["explain", "p.cu:" + "9" * 5000], "p.cu has 2 lines, and no line 9"),
        (["toolchain", "install", "--mirror", ""], "'' is not an address; for example: http"),
        (["toolchain", "install", "--mirror", "debian"], "'debian' is not an address"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.cu").write_text("int main() {}\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "empty.json").write_text("{}")
    assert message in said(*command)


@pytest.mark.parametrize("out", ["train.py", "calls.npz", "calls"])
def test_a_recording_has_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str) -> None:
    """`hipport record train.py -- python train.py` must not replace the program."""
    monkeypatch.chdir(tmp_path)
    Path(out).write_text("mine")
    assert "ends in .json" in said("record", out, "--", sys.executable, "-c", "open('ran', 'w')")
    assert Path(out).read_text() == "mine" and not Path("ran").exists()


@pytest.mark.parametrize(("there", "message"), [("x.json", "is not a recording"), ("x.npz", "no recording is beside")])
def test_a_recording_replaces_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(there).write_text('{"name": "mine"}')
    assert message in said("record", "x.json", "--", sys.executable, "-c", "open('ran', 'w')")
    assert Path(there).read_text() == '{"name": "mine"}' and not Path("ran").exists()


def test_ctrl_c_leaves_the_recording_to_the_program(tmp_path: Path) -> None:
    """It reaches hipport and the program; the program may take its time to write what it has."""
    code = (
        "import os, signal, time\n"
        "try:\n    os.kill(os.getppid(), signal.SIGINT); time.sleep(0.6)\n    open('ended', 'w')\n"
        "except KeyboardInterrupt: pass\n"
    )
    status = recordings.record([sys.executable, "-c", code], tmp_path / "x.json", env=os.environ, folder=tmp_path)
    assert status == 0 and (tmp_path / "ended").exists() and (tmp_path / "x.json").exists()


@pytest.mark.parametrize("manifest", ["p.cu", "setup.py", "requirements.json", "CMakeLists.json"])
def test_a_manifest_replaces_only_a_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: str) -> None:
    """Neither a file that was meant as input, nor the text beside it: the manifest for people has the suffix .txt."""
    monkeypatch.chdir(tmp_path)
    for name in ("p.cu", "setup.py", "requirements.txt", "CMakeLists.txt"):
        Path(name).write_text("# mine\n")
    steps = ("--no-build", "--no-verify")
    assert "is not a manifest" in said("port", "p.cu", *steps, "--manifest", manifest)
    assert all(path.read_text() == "# mine\n" for path in tmp_path.iterdir())
    Path("new.json").touch()
    for _ in range(2):
        result = CliRunner().invoke(main, ["port", "p.cu", *steps, "--manifest", "new.json"])
        assert result.exit_code in (0, 1), result.output
    assert Path("new.txt").read_text().strip() and Path("new.json").read_text().startswith("{")
