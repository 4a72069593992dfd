# SPDX-License-Identifier: Apache-2.0
"""What is rendered is true: a diff applies, JSON says what the values say, colour is only there when asked for."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hipport
from hipport import report
from hipport.cli import main
from hipport.finding import Certainty, Finding
from hipport.languages.cuda import Cuda
from hipport.pipeline import Pass, Ported, run
from hipport.project import Project, Skipped
from hipport.report import as_diff, as_json, as_text, summary
from hipport.source import Edit, NewFile, Source, Span


def ported(text: bytes = b"a b\nc\n", certainty: Certainty = Certainty.REVIEW) -> Ported:
    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        for name, new in ((b"a", b"x"), (b"c", b"zz\n")):
            start = source.text.find(name)
            if start >= 0:
                span = Span(start, start + 1)
                yield Finding(span, "kind", f"{name.decode()} is old", (Edit(span, new),), certainty)
        yield Finding(Span(0, 0), "left", "do it by hand", certainty=Certainty.MANUAL)

    skipped = (Skipped(PurePosixPath("glm"), "vendored", "glm is third-party"),)
    return run(Project((Cuda(PurePosixPath("d/a.cu"), text),), skipped=skipped), (Pass(Cuda, find),))


def test_text_names_place_reason_and_rule() -> None:
    text = as_text(ported())
    assert "d/a.cu\n" in text
    assert "  1:1  review  a is old  [test_report/kind]" in text
    assert "  1:1  manual  do it by hand  [test_report/left]" in text
    assert "glm is third-party" in text
    assert text.endswith("1 file changed: 2 places, 2 of them to review; 1 place needs a person (1 file read)\n")


def test_safe_changes_are_counted_not_listed() -> None:
    text = as_text(ported(certainty=Certainty.SAFE))
    assert "a is old" not in text and "  2  test_report/kind" in text


def test_colour_only_when_asked() -> None:
    assert "\x1b[" not in as_text(ported())
    assert "\x1b[33mreview\x1b[0m" in as_text(ported(), colour=True)


def test_summary_of_nothing() -> None:
    assert summary(run(Project(()), ())) == "nothing to change (0 files read)"


def test_what_is_not_written_is_not_called_changed() -> None:
    document = json.loads(as_json(ported(), would=True))
    assert [(file["changed"], file["would_change"]) for file in document["files"]] == [(False, True)]
    assert document["summary"].startswith("1 file would change")
    document = json.loads(as_json(ported()))
    assert [(file["changed"], file["would_change"]) for file in document["files"]] == [(True, False)]
    assert document["summary"].startswith("1 file changed")


@pytest.mark.parametrize(
    ("words", "written"),
    [(["scan"], False), (["rewrite", "--check"], False), (["rewrite", "--diff"], False), (["rewrite"], True)],
)
def test_json_of_each_command_says_whether_anything_was_written(
    tmp_path: Path, words: list[str], written: bool
) -> None:
    (tmp_path / "a.cu").write_text("void f() { cudaFree(p); }\n")
    document = json.loads(CliRunner().invoke(main, [*words, str(tmp_path), "--format", "json"]).output)
    (file,) = document["files"]
    assert (document["written"], file["changed"], file["would_change"]) == (written, written, not written)
    assert ("would change" in document["summary"]) is not written


def test_json_is_stable_and_complete() -> None:
    document = json.loads(as_json(ported(), root="/r"))
    assert document["root"] == "/r" and document["schema"] == 1
    assert document["target"] == {"archs": ["gfx942", "gfx1100"], "dialect": "hip", "rocm": "6.4", "warp": "logical32"}
    (file,) = document["files"]
    assert file["path"] == "d/a.cu" and file["changed"] and file["sha256_before"] != file["sha256_after"]
    assert [(f["line"], f["rule"], f["outcome"]) for f in document["findings"]] == [
        (1, "test_report/left", "reported"),
        (1, "test_report/kind", "applied"),
        (2, "test_report/kind", "applied"),
    ]
    assert as_json(ported(), root="/r") == as_json(ported(), root="/r")


lines = st.lists(st.sampled_from([b"a", b"b", b"", b"a\r", b"\xff", b"same"]), max_size=12)


@example(old=[b"a", b"a", b"a", b"a", b"b", b"a"], new=[b"b", b"a", b"a", b"a", b"b", b"a"], ends=(False, False))
@settings(max_examples=60, deadline=None)
@given(old=lines, new=lines, ends=st.tuples(st.booleans(), st.booleans()))
def test_git_applies_the_diff(
    tmp_path_factory: object, old: list[bytes], new: list[bytes], ends: tuple[bool, bool]
) -> None:
    folder = tmp_path_factory.mktemp("diff")  # type: ignore[attr-defined]
    before, after = (b"\n".join(x) + (b"\n" if e and x else b"") for x, e in zip((old, new), ends, strict=True))
    source = Source(PurePosixPath("d/a.cu"), before)
    changed = source.apply([Edit(Span(0, len(before)), after)] if after != before else [])
    made = (NewFile(PurePosixPath("d/hipport/new.h"), b"one\ntwo"),)
    patch = as_diff(Ported(Project((source,)), Project((changed,)), (), made))
    root = Path(folder)
    (root / "d").mkdir()
    (root / "d/a.cu").write_bytes(before)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=root, check=True)
    assert (root / "d/a.cu").read_bytes() == after
    assert (root / "d/hipport/new.h").read_bytes() == b"one\ntwo"


# --- SARIF ------------------------------------------------------------------------------------------------------------

#: What the schema of SARIF 2.1.0 requires of the objects that are written here, and the values that it has lists of.
REQUIRED = {
    "runs": {"tool"},
    "driver": {"name"},
    "rules": {"id"},
    "results": {"message"},
    "invocations": {"executionSuccessful"},
    "toolExecutionNotifications": {"message"},
    "suppressions": {"kind"},
    "message": {"text"},
}
LEVELS = {"none", "note", "warning", "error"}
SARIF = {
    "a b/kérnel.cu": "#include <cuda_runtime.h>\n/* é𝄞 */ void f() { cudaMalloc(&p, 1); }\r\n"
    "void g() { cudaDeviceFlushGPUDirectRDMAWrites(a, b); }\n"
    "void h() { cudaFree(p); } // hipport: ignore[api_names] not ours\n",
}


def sarif(texts: dict[str, str]) -> dict[str, Any]:
    ported = hipport.rewrite({name: text.encode() for name, text in texts.items()})
    document: dict[str, Any] = json.loads(report.as_sarif(ported, {"api_names": "Rename."}))
    return document


def check(value: Any, name: str = "") -> None:
    """What the schema requires of each object, by the name of the property that has it."""
    if isinstance(value, list):
        for each in value:
            check(each, name)
    elif isinstance(value, dict):
        assert REQUIRED.get(name, set()) <= set(value), name
        if "level" in value:
            assert value["level"] in LEVELS
        if name == "region":
            assert all(value[each] >= 1 for each in ("startLine", "startColumn", "endLine", "endColumn"))
            assert value["byteOffset"] >= 0 and value["byteLength"] >= 0
        for key, inner in value.items():
            check(inner, key)


def test_sarif_has_what_its_schema_requires() -> None:
    document = sarif(SARIF)
    assert document["version"] == "2.1.0" and document["$schema"].endswith("sarif-schema-2.1.0.json")
    check(document["runs"], "runs")
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert {"id": "api_names/name", "fullDescription": {"text": "Rename."}} in rules


def test_sarif_says_where_in_code_points() -> None:
    results = sarif(SARIF)["runs"][0]["results"]
    malloc = next(each for each in results if "cudaMalloc" in each["message"]["text"])
    place = malloc["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/k%C3%A9rnel.cu", "uriBaseId": "%SRCROOT%"}
    line = SARIF["a b/kérnel.cu"].split("\n")[1]
    start = line.index("cudaMalloc")
    region = place["region"]
    assert (region["startLine"], region["startColumn"], region["endColumn"]) == (2, start + 1, start + 11)
    assert SARIF["a b/kérnel.cu"].encode()[region["byteOffset"] :][: region["byteLength"]] == b"cudaMalloc"


def test_sarif_tells_what_is_left_from_what_was_done() -> None:
    results = sarif(SARIF)["runs"][0]["results"]
    levels = {each["ruleId"]: each["level"] for each in results if "suppressions" not in each}
    assert levels["api_names/name"] == "note" and levels["api_names/unsupported"] == "error"
    (ignored,) = [each for each in results if "suppressions" in each]
    assert ignored["suppressions"] == [{"kind": "inSource", "justification": "not ours"}] and ignored["level"] == "note"


def test_sarif_knows_a_result_again_after_lines_were_added() -> None:
    def prints(texts: dict[str, str]) -> list[str]:
        return [each["partialFingerprints"]["hipport/v1"] for each in sarif(texts)["runs"][0]["results"]]

    (name, text), *_ = SARIF.items()
    twice = text + "void h() { cudaFree(p); }\nvoid h() { cudaFree(p); }\n"
    assert prints({name: twice}) == prints({name: "\n\n" + twice})
    assert len(set(prints({name: twice}))) == len(prints({name: twice}))


def test_sarif_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("void g() { cudaDeviceFlushGPUDirectRDMAWrites(a, b); }\n")
    (tmp_path / "binary.cu").write_bytes(b"cudaMalloc\0\xff")
    for command in (["scan"], ["rewrite", "--check"]):
        asked = CliRunner().invoke(main, [*command, str(tmp_path), "--format", "sarif"])
        assert asked.exit_code == 1, asked.output
        (run,) = json.loads(asked.output)["runs"]
        assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": tmp_path.as_uri() + "/"}}
        (notice,) = run["invocations"][0]["toolExecutionNotifications"]
        assert notice["level"] == "warning"
        assert any(rule.get("fullDescription") for rule in run["tool"]["driver"]["rules"])
