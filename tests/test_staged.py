# SPDX-License-Identifier: Apache-2.0
"""Files that a commit would leave out, and independence from the given files: `--staged`, as hooks run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from hipport.cli import main

ROOT = Path(__file__).parent.parent
KERNEL = b"__global__ void k(int *p) { p[0] = __shfl_sync(0xffffffffu, p[1], 0); }\n"


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def hipport(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of two programs that share a header."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "tree"
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}.cu").write_bytes(b'#include "../common.h"\n' + KERNEL)
    (folder / "common.h").write_bytes(b"#pragma once\n#define W 32\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.email", "someone@example.org")
    git(folder, "config", "user.name", "Someone")
    git(folder, "add", "-A")
    return folder


def test_header_that_git_does_not_know(tree: Path) -> None:
    """The hook creates a header, and `git commit -am` would leave it out."""
    first = hipport("rewrite", "--staged", tree / "a/a.cu")
    assert first.exit_code == 1 and "made: hipport/warp.h" in first.output
    again = hipport("rewrite", "--staged", tree / "a/a.cu")
    assert again.exit_code == 1
    assert "a/a.cu includes hipport/warp.h, which is not in Git: git add hipport/warp.h" in again.output
    assert hipport("rewrite", "--check", "--staged", tree / "a/a.cu").exit_code == 1
    git(tree, "add", "-A")
    assert hipport("rewrite", "--check", "--staged", tree / "a/a.cu").exit_code == 0


def test_a_header_of_which_git_has_the_name_alone(tree: Path) -> None:
    """After `git add --intent-to-add`, a commit leaves the file out."""
    hipport("rewrite", "--staged", tree / "a/a.cu")
    git(tree, "add", "-N", "hipport/warp.h")
    found = hipport("rewrite", "--check", "--staged", tree / "a/a.cu")
    assert found.exit_code == 1 and "hipport/warp.h, which is not in Git" in found.output
    git(tree, "add", "hipport/warp.h")
    assert "not in Git" not in hipport("rewrite", "--check", "--staged", tree / "a/a.cu").output


def test_header_that_is_missing(tree: Path) -> None:
    """A fresh clone without the header does not compile: it is reported, and a rewrite restores it."""
    hipport("rewrite", tree)
    made = (tree / "hipport/warp.h").read_bytes()
    assert hipport("rewrite", "--check", tree).exit_code == 0
    (tree / "hipport/warp.h").unlink()
    checked = hipport("rewrite", "--check", tree)
    assert checked.exit_code == 1
    assert "headers/missing" in checked.output and "would make: hipport/warp.h" in checked.output
    assert not (tree / "hipport/warp.h").exists()
    assert hipport("rewrite", tree).exit_code == 0
    assert (tree / "hipport/warp.h").read_bytes() == made
    below = hipport("rewrite", "--check", tree / "a")
    assert below.exit_code == 0, below.output
    (tree / "hipport/warp.h").unlink()
    below = hipport("rewrite", tree / "a")
    assert below.exit_code == 1 and "give its folder, too" in below.output
    assert not (tree / "hipport").is_dir() or not list((tree / "hipport").iterdir())


def test_script_that_is_missing(tree: Path) -> None:
    """A fresh clone without the files that CMake scripts include does not configure."""
    (tree / "b/CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.18)\nadd_library(b b.cu)\n")
    (tree / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(x CXX)\nfind_package(CUDA)\n"
        "cuda_add_library(a a/a.cu)\nadd_subdirectory(b)\n"
    )
    git(tree, "add", "-A")
    hipport("rewrite", tree)
    made = {path: path.read_bytes() for path in (tree / "hipport").glob("*.cmake")}
    assert {path.name for path in made} == {"hipport.cmake", "find_cuda.cmake"}
    said = hipport("rewrite", "--check", "--staged", tree / "CMakeLists.txt")
    assert said.exit_code == 1
    assert "CMakeLists.txt includes hipport/hipport.cmake, which is not in Git: git add" in said.output
    assert "CMakeLists.txt includes hipport/find_cuda.cmake, which is not in Git: git add" in said.output
    for path in made:
        path.unlink()
    checked = hipport("rewrite", "--check", tree)
    assert checked.exit_code == 1 and "headers/missing" in checked.output
    assert "would make: hipport/find_cuda.cmake, hipport/hipport.cmake" in checked.output
    assert hipport("rewrite", tree).exit_code == 0
    assert {path: path.read_bytes() for path in made} == made
    git(tree, "add", "-A")
    assert hipport("rewrite", "--check", "--staged", tree / "CMakeLists.txt").exit_code == 0


def test_folder_does_not_depend_on_what_is_staged(tree: Path) -> None:
    for name in ("a/a.cu", "b/b.cu"):
        hipport("rewrite", "--staged", tree / name)
    assert [path.relative_to(tree) for path in tree.rglob("warp.h")] == [Path("hipport/warp.h")]
    assert b'"../hipport/warp.h"' in (tree / "a/a.cu").read_bytes()
    # Without the option, too; only given files are ported.
    git(tree, "checkout", "-q", "--", "a/a.cu", "b/b.cu")
    hipport("rewrite", tree / "b/b.cu")
    assert [path.relative_to(tree) for path in tree.rglob("warp.h")] == [Path("hipport/warp.h")]
    assert (tree / "a/a.cu").read_bytes().endswith(KERNEL)


def test_given_files_are_ported_as_in_the_whole_tree(tree: Path) -> None:
    hipport("rewrite", tree / "a/a.cu")
    alone = (tree / "a/a.cu").read_bytes()
    git(tree, "checkout", "-q", "--", ".")
    hipport("rewrite", tree)
    assert (tree / "a/a.cu").read_bytes() == alone


def test_all_kinds_of_files_may_be_staged(tree: Path) -> None:
    """Hooks pass all files, and files that hipport does not read are left alone."""
    (tree / "notes.txt").write_text("nothing of it\n")
    (tree / "picture.png").write_bytes(b"\x89PNG\x00")
    (tree / "requirements.txt").write_text("torch==2.1.0+cu118\n")
    (tree / "CMakeLists.txt").write_text("project(x CUDA)\nadd_executable(a a/a.cu)\n")
    quiet = hipport("rewrite", "--check", "--staged", tree / "notes.txt", tree / "picture.png")
    assert quiet.exit_code == 0, quiet.output
    names = ("notes.txt", "picture.png", "requirements.txt", "CMakeLists.txt")
    found = hipport("rewrite", "--check", "--staged", *(tree / name for name in names))
    assert found.exit_code == 1
    assert "requirements/" in found.output and "cmake/" in found.output and "a/a.cu" not in found.output
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()):
        # Without `types`, pre-commit leaves submodules out; with `files`, it passes anything that matches.
        assert hook["types"] == [] and "files" not in hook
        assert "--staged" in hook["entry"].split() and hook["require_serial"]


def test_submodule_is_another_repository(tree: Path) -> None:
    other = tree / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "c.cu").write_bytes(KERNEL)
    found = hipport("rewrite", "--check", "--staged", other)
    assert found.exit_code == 1 and "other/c.cu" in found.output
    assert "which is not in Git" not in found.output


def test_header_that_nothing_includes(tree: Path) -> None:
    hipport("rewrite", tree)
    assert "headers/orphan" not in hipport("rewrite", "--check", tree).output
    for name in ("a/a.cu", "b/b.cu"):
        (tree / name).write_bytes(b"__global__ void k(int *p) { p[0] = 1; }\n")
    found = hipport("rewrite", tree)
    assert found.exit_code == 1
    assert "headers/orphan" in found.output and "hipport/warp.h" in found.output


def test_git_that_does_not_answer(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hipport("rewrite", tree)
    monkeypatch.setenv("GIT_DIR", str(tree / "nowhere"))
    found = hipport("rewrite", "--check", "--staged", tree / "a/a.cu")
    assert found.exit_code == 2 and "Git" in found.output


def test_staged_is_not_about_copies(tree: Path) -> None:
    assert hipport("rewrite", "--staged", "--out", tree / "o", tree / "a/a.cu").exit_code == 2


def test_git_runs_nothing_that_the_repository_names(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither programs in its configuration, nor hooks, nor a `git` inside it."""
    program = tree / "program"
    program.write_text(f"#!/bin/sh\ntouch '{tree}/PWNED'\n")
    program.chmod(0o755)
    (tree / ".git/hooks/post-index-change").symlink_to(program)
    names = "core.fsmonitor core.pager pager.ls-files core.sshCommand core.editor core.askPass diff.external "
    names += "filter.x.clean filter.x.smudge diff.x.textconv credential.helper gpg.program core.gitProxy "
    names += "uploadpack.packObjectsHook core.alternateRefsCommand"
    for name in names.split():
        git(tree, "config", name, str(program))
    for name, value in (("core.hooksPath", str(tree)), ("alias.ls-files", f"!{program}"), ("core.fsmonitor", "true")):
        git(tree, "config", "--replace-all", name, value)
    (tree / "post-index-change").symlink_to(program)
    (tree / "git").symlink_to(program)
    (tree / ".gitattributes").write_text("* filter=x diff=x\n")
    (tree / "PWNED").unlink(missing_ok=True)
    monkeypatch.chdir(tree)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}:")
    hipport("rewrite", "--staged", "a/a.cu")
    assert "which is not in Git" in hipport("rewrite", "--check", "--staged", "a/a.cu").output
    assert not (tree / "PWNED").exists()


def test_git_fetches_nothing_by_a_program_that_the_repository_names(tree: Path) -> None:
    """The index of a sparse checkout names a folder by one entry; Git fetches the folder to list what is in it."""
    (tree / "hipport").mkdir()
    (tree / "hipport/warp.h").write_text("// of this repository\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "files")
    git(tree, "sparse-checkout", "init", "--cone", "--sparse-index")
    assert "hipport/" in git(tree, "ls-files", "--sparse").split()
    (tree / ".git/objects").rename(tree / ".git/elsewhere")
    (tree / ".git/objects").mkdir()
    program = tree / "program"
    program.write_text(f"#!/bin/sh\ntouch '{tree}/PWNED'\n")
    program.chmod(0o755)
    for name, value in (("url", "ssh://h/x"), ("promisor", "true"), ("partialclonefilter", "tree:0")):
        git(tree, "config", f"remote.origin.{name}", value)
    git(tree, "config", "core.sshCommand", str(program))
    (tree / "a.cu").write_bytes(KERNEL)
    result = hipport("rewrite", "--check", "--staged", tree / "a.cu")
    assert not (tree / "PWNED").exists()
    # Some releases of Git then list what they have, others fail.
    assert ("which is not in Git" in result.output, result.exit_code) in ((True, 1), (False, 2))


def test_batches_at_the_same_time(tree: Path) -> None:
    """Pre-commit divides many files among processes: each ports its own, and a shared header is written once."""
    names = [f"c{number}.cu" for number in range(4)]
    for name in names:
        (tree / name).write_bytes(b'#include "common.h"\n' + KERNEL)
    git(tree, "add", "-A")
    command = [sys.executable, "-m", "hipport", "rewrite", "--staged"]
    running = [
        subprocess.Popen([*command, *batch], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for batch in (names[:2], names[2:])
    ]
    said = [each.communicate()[0] for each in running]
    assert [each.returncode for each in running] == [1, 1], said
    assert all("hipport/warp.h, which is not in Git" in each for each in said)
    assert all(b"hipport::shfl_sync" in (tree / name).read_bytes() for name in names)
    assert [path.relative_to(tree) for path in tree.rglob("warp.h")] == [Path("hipport/warp.h")]
    assert hipport("undo", tree).exit_code == 0 and hipport("undo", tree).exit_code == 0
    assert git(tree, "diff", "--name-only") == "" and not (tree / "hipport/warp.h").exists()


def test_without_git_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 2 means that nothing was changed: Git is asked first."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "a.cu").write_bytes(KERNEL)
    found = hipport("rewrite", "--staged", tmp_path / "a.cu")
    assert found.exit_code == 2 and "--staged is for files of a Git repository" in found.stderr
    assert "not a git repository" in found.stderr and "Command" not in found.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.cu"] and (tmp_path / "a.cu").read_bytes() == KERNEL
