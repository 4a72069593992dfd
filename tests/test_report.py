# SPDX-License-Identifier: Apache-2.0
"""What is rendered is true: a diff applies, JSON says what the values say, colour is only there when asked for."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from hypothesis import example, given, settings
from hypothesis import strategies as st

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
