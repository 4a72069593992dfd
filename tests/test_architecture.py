# SPDX-License-Identifier: Apache-2.0
"""What may import what, and what importing costs."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE = sorted((ROOT / "src" / "hipport").rglob("*.py"))
#: The only files of the engine that know the passes: the command line, and the one-call library functions.
MAY_KNOW_PASSES = {"cli.py", "api.py"}
#: What runs in child processes, whose environment is theirs.
SCRIPTS = {"loaded_python.py", "record_extensions.py", "run_cases.py", "record_calls.py", "replay_cases.py"}
HEAVY = {"torch", "numpy", "libcst", "clang", "tree_sitter", "rich", "click"}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.name)
def test_the_engine_does_not_know_the_passes(path: Path) -> None:
    knows = any(name.split(".")[0] == "hipport_passes" for name in imported(path))
    assert not knows or path.name in MAY_KNOW_PASSES


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.name)
def test_the_library_does_not_print_exit_or_read_the_environment(path: Path) -> None:
    if path.name == "cli.py" or path.name in SCRIPTS:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("print", "exit", "input"), f"line {node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in {("os", "environ"), ("os", "getenv"), ("sys", "exit")}, (
                f"line {node.lineno}"
            )


@pytest.mark.parametrize("module", ["hipport", "hipport.pipeline", "hipport_passes"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


#: Who begins processes without `processes`, and which: tools of this machine's, and what the user says to run.
BEGIN = {
    "processes.py": "all others",
    "contained.py": "what it contains",
    "loaded_python.py": "forks of it, contained",
    "pipeline.py": "passes, in processes of hipport's own",
    "run_cases.py": "forks of it, inside",
    "toolchain.py": "hipcc, to ask what it is",
    "compilers.py": "g++ and clang, with flags of hipport's",
    "machine.py": "ROCm's tools",
    "overlay.py": "PyTorch's hipify on PyTorch's headers",
    "extension.py": "a compiler on PyTorch's headers",
    "verifier.py": "hipport record: the user's own program",
    "install_toolchain.py": "apt-get and dpkg-deb",
}


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.name)
def test_processes_are_begun_in_few_places(path: Path) -> None:
    """What is run for a tree is contained: what begins a process says here what for."""
    begins = {"subprocess", "multiprocessing", "pty"} & imported(path)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            begins |= set(re.findall(r"fork\w*|system|popen|(?:posix_)?spawn\w*|exec\w*", node.attr))
    assert not begins or path.name in BEGIN
