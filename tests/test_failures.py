# SPDX-License-Identifier: Apache-2.0
"""A pass that fails: nothing is written, the exit status is 2, and every form of the report says it first."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hipport
import hipport_passes
from hipport.cli import main
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.reporting import report
from hipport.reporting.explainer import Unknown
from hipport.syntax.cuda import Cuda
from hipport.workspace import writing
from hipport_passes.names import api_names

TEXT = b"void f() { cudaDeviceSynchronize(); }\n"


def _fails(source: Cuda, project: Project) -> Iterator[Finding]:
    if source.path.name == "z.cu":
        raise RuntimeError("boom")
    yield from api_names.PASS.find(source, project)


_fails.__module__ = api_names.__name__


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    passes = tuple(Pass(Cuda, _fails) if each is api_names.PASS else each for each in hipport_passes.PASSES)
    monkeypatch.setattr(hipport_passes, "PASSES", passes)
    for name in ("a.cu", "z.cu"):
        (tmp_path / "tree" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "tree" / name).write_bytes(TEXT)
    return tmp_path / "tree"


def _all(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        ["rewrite"],
        ["rewrite", "--check"],
        ["rewrite", "--diff"],
        ["rewrite", "--format", "json"],
        ["scan"],
        ["port", "--no-build", "--no-verify"],
        ["verify"],
    ],
    ids=" ".join,
)
def test_nothing_is_written_and_the_status_is_2(tree: Path, command: list[str]) -> None:
    result = CliRunner().invoke(main, [*command, str(tree / "z.cu" if command == ["verify"] else tree)])
    assert result.exit_code == 2, result.output
    assert _all(tree) == {"a.cu": TEXT, "z.cu": TEXT}


def test_a_copy_is_not_written_either(tree: Path) -> None:
    out = tree.parent / "out"
    assert CliRunner().invoke(main, ["rewrite", str(tree), "--out", str(out)]).exit_code == 2
    assert not out.exists()


def test_text_reports_it_first_with_advice(tree: Path) -> None:
    lines = CliRunner().invoke(main, ["rewrite", str(tree)]).output.splitlines()
    assert lines[0] == "hipport failed, and nothing was written"
    assert "exclude in hipport.toml" in lines[1]
    assert lines[2].startswith("  z.cu  RuntimeError: boom") and lines[2].endswith("[api_names/failed]")
    assert lines[-1].startswith("hipport failed 1 time; 2 files would change")


def test_json_has_it_first(tree: Path) -> None:
    document = json.loads(CliRunner().invoke(main, ["rewrite", str(tree), "--format", "json"]).output)
    assert document["written"] is False
    first = document["findings"][0]
    assert (first["path"], first["rule"], first["outcome"]) == ("z.cu", "api_names/failed", "failed")


def test_sarif_has_it_as_a_notification(tree: Path) -> None:
    (run,) = json.loads(CliRunner().invoke(main, ["scan", str(tree), "--format", "sarif"]).output)["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    first = invocation["toolExecutionNotifications"][0]
    assert first["level"] == "error" and first["descriptor"] == {"id": "api_names/failed"}
    assert "boom" in first["exception"]["message"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "z.cu"
    assert "api_names/failed" not in {each["ruleId"] for each in run["results"]}


def test_the_rest_is_ported_without_the_file(tree: Path) -> None:
    (tree / "hipport.toml").write_text('exclude = ["z.cu"]\n')
    assert CliRunner().invoke(main, ["rewrite", str(tree)]).exit_code == 0
    assert b"hipDeviceSynchronize" in (tree / "a.cu").read_bytes() and (tree / "z.cu").read_bytes() == TEXT


def test_the_library_saves_nothing(tree: Path) -> None:
    ported = hipport.rewrite(tree)
    assert [str(each.path) for each in ported.failures] == ["z.cu"]
    with pytest.raises(writing.Refused, match="boom"):
        hipport.save(ported)
    assert _all(tree) == {"a.cu": TEXT, "z.cu": TEXT}


def test_explain_knows_the_rule_of_every_pass() -> None:
    for each in hipport_passes.PASSES:
        said: Any = hipport.explain(f"{each.name}/failed")
        assert said.kind == "rule" and each.name in said.passes
        assert "exclude" in report.explanation_as_text(said)
    with pytest.raises(Unknown):
        hipport.explain("nothing/failed")
