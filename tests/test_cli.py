# SPDX-License-Identifier: Apache-2.0
"""The command line as a user meets it: exit statuses, written files, and that bad input loses nothing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hipport.cli import main
from hipport.cli.output import progress_shown
from hipport.engine.pipeline import Progress

CUDA = b"#include <cuda_runtime.h>\r\nint main() {\r\n    cudaDeviceSynchronize();\r\n}\r\n"
HIP = b"#include <hip/hip_runtime.h> /* hipport */\r\nint main() {\r\n    hipDeviceSynchronize();\r\n}\r\n"
MANUAL = b"#include <cuda_runtime.h>\nvoid f() { cudaDeviceFlushGPUDirectRDMAWrites(a, b); }\n"


def hipport(*arguments: object, cwd: Path, status: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hipport", *map(str, arguments)]
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})
    assert result.returncode == status, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "main.cu").write_bytes(CUDA)
    (tree / "notes.txt").write_bytes(b"cudaMalloc")
    return tree


def bytes_of(tree: Path) -> dict[str, bytes]:
    return {str(p.relative_to(tree)): p.read_bytes() for p in sorted(tree.rglob("*")) if p.is_file()}


def test_rewrite_in_place_then_nothing_then_undo(tree: Path) -> None:
    before = bytes_of(tree)
    out = hipport("rewrite", tree, cwd=tree, status=0).stdout
    assert out.endswith("1 file changed: 2 places (1 file read)\n")
    assert (tree / "sub/main.cu").read_bytes() == HIP
    again = hipport("rewrite", "--check", ".", cwd=tree, status=0).stdout
    assert again == "nothing would change (1 file read)\n"
    assert hipport("undo", cwd=tree, status=0).stdout == "put back sub/main.cu\n"
    assert bytes_of(tree) == before


def test_check_and_diff_write_nothing(tree: Path) -> None:
    before = bytes_of(tree)
    assert "1 file would change" in hipport("rewrite", "--check", tree, cwd=tree, status=1).stdout
    hipport("rewrite", "--diff", tree, cwd=tree, status=0)
    hipport("scan", tree, cwd=tree, status=0)
    assert bytes_of(tree) == before


def test_out_leaves_the_tree_alone(tree: Path, tmp_path: Path) -> None:
    before = bytes_of(tree)
    hipport("rewrite", tree, "--out", tmp_path / "new", cwd=tmp_path, status=0)
    assert bytes_of(tree) == before
    assert bytes_of(tmp_path / "new") == {**before, "sub/main.cu": HIP}
    refused = hipport("rewrite", tree, "--out", tmp_path / "new", cwd=tmp_path, status=2)
    assert "exists already" in refused.stderr or "not empty" in refused.stderr


def test_work_for_a_person_is_status_1(tree: Path) -> None:
    (tree / "sub" / "main.cu").write_bytes(MANUAL)
    out = hipport("rewrite", tree, cwd=tree, status=1).stdout
    assert "  manual  cudaDeviceFlushGPUDirectRDMAWrites" in out and "\n          sub/main.cu:2\n" in out


def test_json(tree: Path) -> None:
    (tree / "sub" / "main.cu").write_bytes(MANUAL)
    result = hipport(
        "rewrite", "--check", "--format", "json", "--rocm", "7.0", "--target", "gfx1100", ".", cwd=tree, status=1
    )
    document = json.loads(result.stdout)
    assert document["target"]["archs"] == ["gfx1100"] and document["target"]["rocm"] == "7.0"
    assert document["written"] is False and Path(document["root"]) == tree
    assert {f["outcome"] for f in document["findings"]} == {"would_apply", "reported"}


#: A file with a change that is SAFE, and one to review.
TO_APPLY = b"#include <cuda_runtime.h>\n__device__ int f(int v) { if (v) v = __shfl_sync(~0u, v, 0); return v; }\n"


@pytest.mark.parametrize(
    "words", [["scan"], ["rewrite", "--check"], ["rewrite", "--diff"], ["rewrite", "--out", "../out"], ["rewrite"]]
)
def test_nothing_is_called_applied_that_is_not_written(
    tree: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tree)
    (tree / "sub" / "main.cu").write_bytes(TO_APPLY)
    before = (tree / "sub" / "main.cu").read_bytes()
    for form in ("sarif", "json"):
        (tree / "sub" / "main.cu").write_bytes(before)
        shutil.rmtree(tree.parent / "out", ignore_errors=True)
        document = json.loads(CliRunner().invoke(main, [*words, "--format", form, "sub"]).stdout)
        if form == "sarif":
            said = [each["properties"]["outcome"] for each in document["runs"][0]["results"]]
        else:
            said = [each["outcome"] for each in (*document["findings"], *document["decisions"])]
        done = words in (["rewrite"], ["rewrite", "--out", "../out"])
        assert ("applied" in said, "would_apply" in said) == (done, not done)


def test_scan_of_a_file_that_was_ported(tree: Path) -> None:
    (tree / "sub/main.cu").write_bytes(CUDA + b"__global__ void k(int *p) { *p = __any_sync(~0u, *p); }\r\n")
    hipport("rewrite", tree / "sub/main.cu", cwd=tree, status=0)
    assert (tree / "sub/hipport/warp.h").is_file()
    assert "program" in hipport("scan", tree / "sub/main.cu", cwd=tree, status=0).stdout


def test_configuration_and_ignoring(tree: Path) -> None:
    (tree / "sub" / "main.cu").write_bytes(MANUAL.replace(b"}\n", b"} // hipport: ignore[api_names] dead code\n"))
    (tree / "hipport.toml").write_text('exclude = ["other/"]\ntarget = ["gfx90a"]\n')
    (tree / "other").mkdir()
    (tree / "other" / "a.cu").write_bytes(CUDA)
    result = hipport("rewrite", "--check", "--format", "json", ".", cwd=tree, status=1)
    document = json.loads(result.stdout)
    assert document["target"]["archs"] == ["gfx90a"]
    assert [f["path"] for f in document["files"]] == ["sub/main.cu"]
    assert [(f["outcome"], f["reason"]) for f in document["findings"] if f["rule"] == "api_names/unsupported"] == [
        ("ignored", "dead code")
    ]


def test_native_waves_by_option_and_by_configuration(tree: Path) -> None:
    kernel = b"__global__ void k(int *p) { p[threadIdx.x] = __any_sync(~0u, p[0]); }\n"
    for folder in ("fast", "slow"):
        (tree / folder).mkdir()
        (tree / folder / "k.cu").write_bytes(kernel)
    diff = hipport("rewrite", "--diff", "--warp", "native", "fast", cwd=tree, status=1).stdout
    assert "hipport::native::any_sync(hipport::native::full_mask(), p[0])" in diff
    assert "hipport::any_sync(~0u" in hipport("rewrite", "--diff", "fast", cwd=tree, status=0).stdout
    (tree / "hipport.toml").write_text('native = ["fast/*.cu"]\n')
    hipport("rewrite", ".", cwd=tree, status=1)
    assert b"hipport::native::any_sync" in (tree / "fast/k.cu").read_bytes()
    assert b"hipport::any_sync" in (tree / "slow/k.cu").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rewrite", "missing"], "missing"),
        (["rewrite"], "Missing argument"),
        (["rewrite", ""], "empty path"),
        (["undo", ""], "empty path"),
        (["rewrite", ".", "--out", ""], "empty path"),
        (["rewrite", ".", "--target", "sm_80"], "sm_80"),
        (["rewrite", ".", "--rocm", "latest"], "6.4"),
        (["rewrite", ".", "--warp", "64"], "native"),
        (["rewrite", ".", "--check", "--out", "x"], "--out"),
        (["build", "missing"], "missing"),
        (["undo"], "nothing"),
    ],
)
def test_bad_input_is_status_2_and_says_what_to_do(tree: Path, arguments: list[str], says: str) -> None:
    before = bytes_of(tree)
    assert says in hipport(*arguments, cwd=tree, status=2).stderr
    assert bytes_of(tree) == before


def test_long_work_says_where_it_is_in_a_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0]
    monkeypatch.setattr("time.monotonic", lambda: clock[-1])
    with progress_shown() as tell:
        assert tell is not None
        for done, now in enumerate((10, 29, 31, 40, 60, 62)):
            clock.append(now)
            tell(Progress("headers", done, 9))
    assert capsys.readouterr().err == "hipport: headers, 2 of 9\nhipport: headers, 5 of 9\n"


def test_bad_configuration_is_status_2(tree: Path) -> None:
    (tree / "hipport.toml").write_text("targets = 1\n")
    assert "unknown setting" in hipport("rewrite", ".", cwd=tree, status=2).stderr


def test_files_that_cannot_be_handled_are_reported_and_left(tree: Path) -> None:
    (tree / "binary.cu").write_bytes(b"cudaMalloc\0\xff")
    (tree / "wide.cu").write_bytes("cudaMalloc".encode("utf-16"))
    before = bytes_of(tree)
    out = hipport("rewrite", ".", cwd=tree, status=1).stdout
    assert "binary.cu" in out and "wide.cu" in out
    assert bytes_of(tree)["binary.cu"] == before["binary.cu"] and bytes_of(tree)["wide.cu"] == before["wide.cu"]


def test_read_only_tree_is_status_2(tree: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere: that a read-only folder is refused was not checked")
    (tree / "sub").chmod(0o555)
    before = bytes_of(tree)
    hipport("rewrite", ".", cwd=tree, status=2)
    assert bytes_of(tree) == before
    (tree / "sub").chmod(0o755)


def test_help_names_every_command(tmp_path: Path) -> None:
    out = hipport("--help", cwd=tmp_path, status=0).stdout
    assert all(f"\n  {command} " in out for command in ("rewrite", "scan", "undo", "build"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["main.cu", "--order", "sideways"], "'sideways' is not forward, reverse or random:SEED"),
        (["main.cu", "--mutation-score", "--races"], "--mutation-score runs without --races"),
        (["main.cu", "--races", "--sanitize", "address"], "exclude each other"),
        (["extension", "--cases", "cases.py", "--races"], "for programs, not for extensions"),
        (["main.cu", "--case", "one"], "for extensions, not for programs"),
        (["nowhere.cu"], "nowhere.cu"),
    ],
)
def test_verify_refuses_what_it_would_not_do(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "main.cu").write_text("int main() {}\n")
    (tmp_path / "extension").mkdir()
    (tmp_path / "extension/setup.py").write_text("")
    (tmp_path / "cases.py").write_text("")
    done = hipport("verify", *arguments, cwd=tmp_path, status=2)
    assert said in " ".join(done.stderr.split())
    assert not done.stdout
