# SPDX-License-Identifier: Apache-2.0
"""`hipport review`: a rewrite's assumptions stay visible, at the present lines."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hipport import api
from hipport.cli import main

SETUP = """from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(ext_modules=[CUDAExtension("k", ["k.cu"], extra_compile_args={"nvcc": ["--use_fast_math"]})])
"""
KERNEL = """#include <cuda_runtime.h>

int lanes(const cudaDeviceProp &properties)
{
    return properties.warpSize;
}

void left()
{
    cudaDeviceFlushGPUDirectRDMAWrites(a, b);
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree that was rewritten in place."""
    (tmp_path / "setup.py").write_text(SETUP)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/k.cu").write_text(KERNEL)
    done = CliRunner().invoke(main, ["rewrite", str(tmp_path)])
    assert done.exit_code == 1 and done.output.endswith("`hipport review` lists the assumptions again\n")
    return tmp_path


def review(*words: object) -> Result:
    return CliRunner().invoke(main, ["review", *map(str, words)])


def places(tree: Path) -> list[tuple[str, int, str]]:
    (reviewed,) = api.review(tree)
    return [(each.path.as_posix(), each.line, each.rule) for each in reviewed.reported]


def line_of(file: Path, text: str) -> int:
    return next(number for number, line in enumerate(file.read_text().splitlines(), 1) if text in line)


def test_assumptions_stay_visible_after_the_rewrite(tree: Path) -> None:
    # A scan reports them no longer.
    assert "means the program's warps" not in CliRunner().invoke(main, ["scan", str(tree)]).output
    done = review(tree)
    assert done.exit_code == 1
    assert "assumes that this means the program's warps" in done.output and "--use_fast_math" in done.output
    assert "2 assumptions at 2 places." in done.output
    # A change that was not made is no assumption.
    assert "RDMA" not in done.output


def test_they_are_at_the_lines_of_today(tree: Path) -> None:
    kernel = tree / "src/k.cu"
    assert places(tree) == [
        ("setup.py", line_of(tree / "setup.py", "-fgpu-approx"), "cpp_extension/fast_math"),
        ("src/k.cu", line_of(kernel, "hipport::warp_size"), "warp_size/property"),
    ]
    text = kernel.read_text()
    before = line_of(kernel, "hipport::warp_size")
    kernel.write_text("// one\n// two\n" + text.replace("{\n    return", "{\n    // three\n    return"))
    assert places(tree)[1][1] == before + 3 == line_of(kernel, "hipport::warp_size")
    # Its own line was changed: it is still reported.
    kernel.write_text(text.replace("return hip", "return  hip"))
    assert places(tree)[1][1] == before


def test_a_comment_says_that_one_was_checked(tree: Path) -> None:
    kernel = tree / "src/k.cu"
    kernel.write_text(kernel.read_text().replace("warp_size;", "warp_size;  // hipport: ignore[warp_size] seen"))
    done = review(tree)
    assert "1 assumption at 1 place; 1 checked, as comments say." in done.output and "warps" not in done.output
    setup = tree / "setup.py"
    lines = setup.read_text().splitlines(keepends=True)
    lines.insert(line_of(setup, "-fgpu-approx") - 1, "# hipport: ignore[cpp_extension] bits do not matter\n")
    setup.write_text("".join(lines))
    assert review(tree).exit_code == 0


def test_paths_and_json(tree: Path) -> None:
    (found,) = json.loads(review(tree / "src", "--format", "json").output)["trees"]
    assert [each["rule"] for each in found["findings"]] == ["warp_size/property"] and len(found["decisions"]) == 1
    (tree / "src/k.cu").unlink()
    (found,) = json.loads(review(tree, "--format", "json").output)["trees"]
    assert [each["rule"] for each in found["findings"]] == ["cpp_extension/fast_math"]
    assert found["gone"] == ["src/k.cu"]


def test_it_writes_nothing_and_follows_several_runs(tree: Path) -> None:
    (tree / "src/new.cu").write_text(KERNEL.replace("lanes(", "other("))
    assert CliRunner().invoke(main, ["rewrite", str(tree)]).exit_code == 1
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    assert [path for path, *_ in places(tree)] == ["setup.py", "src/k.cu", "src/new.cu"]
    assert before == {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}


def test_a_missing_record_is_reported(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    done = review(tmp_path)
    assert done.exit_code == 2 and "hipport has no record of a rewrite here" in done.stderr
