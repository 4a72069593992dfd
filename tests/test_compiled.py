# SPDX-License-Identifier: Apache-2.0
"""A compiler's output is repeated for the same bytes, and for no others."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import compiled

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "sources"
    (folder / "headers").mkdir(parents=True)
    (folder / "headers/a.h").write_text("#define A 1\n")
    (folder / "headers/unknown.suffix").write_text("int wanted = A;\n")
    (folder / "a.cpp").write_text("#include <a.h>\n#include <unknown.suffix>\nint main() { return wanted; }\n")
    return folder


def run(folder: Path, *words: str, beside: bool = True) -> tuple[bool, CompletedProcess[str]]:
    """Return whether the compiler ran, and its output."""
    ran: list[bool] = []
    command = ["g++", "-Iheaders" if beside else f"-I{folder / 'headers'}", *words]
    source = "a.cpp" if beside else str(folder / "a.cpp")

    def running(words: Sequence[str]) -> CompletedProcess[str]:
        ran.append(True)
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)

    done = compiled.run([*command, source], cwd=folder if beside else None, running=running)
    return bool(ran), done


@pytest.mark.parametrize("beside", [True, False])
def test_the_same_bytes_are_compiled_once(folder: Path, beside: bool) -> None:
    out = folder / "program"
    for runs in (True, False):
        ran, done = run(folder, "-o", str(out), beside=beside)
        assert ran == runs and done.returncode == 0, done.stderr
        assert out.stat().st_mode & 0o111
        out.unlink()
    for name, text in {"a.h": "#define A 2\n", "unknown.suffix": "int wanted = 3 * A;\n", "more.h": ""}.items():
        (folder / "headers" / name).write_text(text)
        ran, _ = run(folder, "-o", str(out), beside=beside)
        assert ran, name
    assert run(folder, "-O1", "-o", str(out), beside=beside)[0]


def test_the_output_path_does_not_matter(folder: Path) -> None:
    for number in (1, 2):
        out, read = folder.parent / f"{number}.o", folder.parent / f"{number}.read"
        ran, done = run(folder, "-c", "-MMD", "-MF", str(read), "-MT", "out", "-o", str(out))
        assert ran == (number == 1) and not done.returncode, done.stderr
        assert out.stat().st_size and read.read_text().startswith("out: a.cpp headers/a.h")


def test_failures_are_remembered_too(folder: Path) -> None:
    (folder / "a.cpp").write_text("#include <a.h>\nint main() { return B; }\n")
    first, again = run(folder, "-fsyntax-only"), run(folder, "-fsyntax-only")
    assert (first[0], again[0]) == (True, False)
    assert first[1].returncode == again[1].returncode == 1
    assert "B" in first[1].stderr and first[1].stderr == again[1].stderr


def test_another_folder_is_the_same_program(folder: Path, tmp_path: Path) -> None:
    assert run(folder, "-fsyntax-only")[0]
    moved = tmp_path / "moved"
    folder.rename(moved)
    assert not run(moved, "-fsyntax-only")[0]


def test_a_folder_behind_its_option_is_read_and_no_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-I headers`: a compiler without a named folder runs in the checkout, with all its installed files."""
    (folder.parent / "elsewhere").mkdir()
    monkeypatch.chdir(folder.parent / "elsewhere")
    command = ["g++", "-fsyntax-only", "-I", str(folder / "headers"), str(folder / "a.cpp")]
    digested: list[Path] = []
    monkeypatch.setattr(compiled, "digest", lambda tree: digested.append(tree) or "")
    assert not compiled.run(command).returncode
    assert digested == [folder]
