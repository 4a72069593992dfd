# SPDX-License-Identifier: Apache-2.0
"""The hooks, run by the real pre-commit in a real repository: staged files only; a commit of ported code passes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

CUDA = b"#include <cuda_runtime.h>\nvoid *get(size_t n) {\n    void *p;\n    cudaMalloc(&p, n);\n    return p;\n}\n"


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)


@pytest.mark.network
def test_hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if git(ROOT, "rev-parse", "HEAD").returncode:
        pytest.skip("not a clone: the hooks were not tried, as pre-commit installs them from a commit")
    pre_commit = shutil.which("pre-commit", path=str(Path(sys.executable).parent))
    assert pre_commit, "pre-commit is not installed beside this Python"
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    # pip would compile all modules of what it installs, most of which no hook loads.
    monkeypatch.setenv("PIP_COMPILE", "0")
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "user.email", "someone@example.org")
    git(tree, "config", "user.name", "Someone")
    head = git(ROOT, "rev-parse", "HEAD").stdout.strip()

    def configure(hook: str) -> None:
        config = f"repos:\n  - repo: {ROOT}\n    rev: {head}\n    hooks:\n      - id: {hook}\n"
        (tree / ".pre-commit-config.yaml").write_text(config)
        git(tree, "add", ".pre-commit-config.yaml")

    configure("hipport-check")
    subprocess.run([pre_commit, "install"], cwd=tree, check=True, capture_output=True)
    (tree / "staged.cu").write_bytes(CUDA)
    (tree / "unstaged.cu").write_bytes(CUDA)
    git(tree, "add", "staged.cu")
    checked = git(tree, "commit", "-m", "check")
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert "would change" in checked.stderr + checked.stdout
    assert (tree / "staged.cu").read_bytes() == CUDA

    configure("hipport-rewrite")
    rewritten = git(tree, "commit", "-m", "rewrite")
    assert rewritten.returncode == 1 and "files were modified by this hook" in rewritten.stderr + rewritten.stdout
    assert b"hipMalloc(&p, n);" in (tree / "staged.cu").read_bytes()
    assert (tree / "unstaged.cu").read_bytes() == CUDA
    git(tree, "add", "staged.cu")
    again = git(tree, "commit", "-m", "again")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Passed" in again.stderr + again.stdout
    assert git(tree, "status", "--porcelain").stdout == "?? unstaged.cu\n"
