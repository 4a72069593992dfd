# SPDX-License-Identifier: Apache-2.0
"""The contents of `pip install hipport`: the wheel, built once, in a separate environment outside the repository."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hipport_passes import PASSES

ROOT = Path(__file__).parent.parent
#: Requirements of hipport that the tests have: visible in the new environment, and not installed again.
NEEDED = (
    "click",
    "libcst",
    "packaging",
    "rich",
    "tree_sitter",
    "tree_sitter_cpp",
    "tree_sitter_cuda",
    "yaml",
    "markdown_it",
)

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `hipport` of an environment with the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    run = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    built = subprocess.run(
        [*run, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True
    )
    if built.returncode and "hatchling" in built.stderr:
        pytest.skip(f"NOT CHECKED what the wheel does: there is nothing to build it with: {built.stderr[-300:]}")
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("hipport-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    (packages,) = folder.glob("venv/lib/python3*/site-packages")
    subprocess.run(
        [*run, "install", "--quiet", "--no-deps", "--no-index", "--compile", "--target", str(packages), str(wheel)],
        check=True,
    )
    places = {
        Path(found.origin).parents[1] for name in NEEDED if (found := importlib.util.find_spec(name)) and found.origin
    }
    (packages / "needed.pth").write_text("".join(f"{place}\n" for place in sorted(places)))
    program = folder / "venv/bin/hipport"
    program.write_text(f"#!{folder}/venv/bin/python\nfrom hipport.cli import main\nmain()\n")
    program.chmod(0o755)
    where = subprocess.run(
        [folder / "venv/bin/python", "-c", "import hipport; print(hipport.__file__)"],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert Path(where.stdout.strip()).is_relative_to(packages), where.stderr
    return program


def call(program: Path, *words: str, cwd: Path, status: tuple[int, ...] = (0, 1)) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([program, *words], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode in status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_it_ports_and_takes_back(installed: Path, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    text = "#include <cuda_runtime.h>\n__global__ void k(int* x) { *x = __shfl_sync(~0u, *x, 0); }\n"
    source.write_text(text)
    (tmp_path / "requirements.txt").write_text("xformers\n")
    assert "2 files would change" in call(installed, "scan", ".", cwd=tmp_path)
    assert "hip_runtime.h" in call(installed, "rewrite", "--diff", ".", cwd=tmp_path)
    call(installed, "rewrite", ".", cwd=tmp_path)
    assert source.read_text() != text
    call(installed, "undo", ".", cwd=tmp_path, status=(0,))
    assert source.read_text() == text
    assert call(installed, "deps", "--script", ".", cwd=tmp_path).startswith("#!/usr/bin/env bash")
    assert "hipcc-7.0" in call(installed, "toolchain", "list", cwd=tmp_path, status=(0,))
    assert call(installed, "doctor", cwd=tmp_path)


def test_it_explains_every_pass_by_its_fixtures(installed: Path, tmp_path: Path) -> None:
    """pip compiles the Python files among them."""
    code = (
        "from hipport import explain\nfrom hipport_passes import PASSES\n"
        "for each in PASSES:\n    said = explain(each.name)\n    "
        "print(each.name, len(said.rules), len(said.examples))\n"
    )
    done = subprocess.run(
        [installed.with_name("python"), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, _, _ in lines] == [each.name for each in PASSES]
    assert all(int(rules) and int(examples) for _, rules, examples in lines), done.stdout
    assert list(installed.parents[1].rglob("fixtures/**/*.pyc"))


def test_it_runs_a_program_on_the_cpu(installed: Path, tmp_path: Path) -> None:
    """The executor's headers and runtime are in the wheel, too."""
    (tmp_path / "p.cu").write_text(
        "#include <cstdio>\n__global__ void k(int* x) { atomicAdd(x, 1); }\n"
        "int main() { int *x, y = 0; cudaMalloc(&x, 4); cudaMemset(x, 0, 4); k<<<2, 32>>>(x);\n"
        '  cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost); printf("%d\\n", y); return y != 64; }\n'
    )
    call(installed, "verify", "p.cu", "--order", "forward", "--no-gpu", cwd=tmp_path, status=(0,))
