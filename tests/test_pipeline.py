# SPDX-License-Identifier: Apache-2.0
"""The engine enforces its laws on passes, whatever they do."""

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import PurePosixPath

import pytest

import hipport
from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.engine.outcomes import Outcome
from hipport.engine.pipeline import Pass, Progress, run
from hipport.program.own_headers import text
from hipport.program.project import Project, Target
from hipport.syntax.cuda import Cuda
from hipport.syntax.python_script import Python

TEXT = b"int first;\nint second;\n"


def source(text: bytes = TEXT, path: str = "a.cu") -> Cuda:
    return Cuda(PurePosixPath(path), text)


def replacing(old: bytes, new: bytes, certainty: Certainty = Certainty.SAFE) -> Pass[Cuda]:
    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        start = source.text.find(old)
        if start >= 0:
            span = Span(start, start + len(old))
            edits = () if certainty is Certainty.MANUAL else (Edit(span, new),)
            yield Finding(span, "replaced", "because", edits, certainty)

    return Pass(Cuda, find)


def test_no_pass_same_bytes() -> None:
    project = Project((source(b"\xff\x00\r\n\r"), source(b"", "b.cu")))
    ported = run(project, ())
    assert ported.changed == () and ported.project is project


def test_positions_are_those_of_the_file_as_it_was_read() -> None:
    shorten = replacing(b"int first;\n", b"")
    later = replacing(b"second", b"third")
    ported = run(Project((source(),)), (shorten, later))
    assert ported.project.sources[0].text == b"int third;\n"
    assert [(r.line, r.column, r.rule) for r in ported.reported] == [
        (1, 1, "test_pipeline/replaced"),
        (2, 5, "test_pipeline/replaced"),
    ]


def test_own_headers_of_an_earlier_run_are_finished() -> None:
    names = sorted(path.name for path in (files("hipport") / "include" / "hipport").iterdir())
    assert "warp.h" in names
    headers = tuple(source(text(name), f"hipport/{name}") for name in names)
    seen = []

    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        seen.append(source.path.name)
        yield from ()

    run(Project((*headers, source())), (Pass(Cuda, find),))
    assert seen == ["a.cu"]


def test_rejected_findings_are_reported() -> None:
    ported = run(Project((source(),)), (replacing(b"first", b"f", Certainty.REVIEW),), accept=Certainty.SAFE)
    assert not ported.changed
    assert [(r.outcome, r.needs_person) for r in ported.reported] == [(Outcome.DECLINED, True)]


@pytest.mark.parametrize(
    ("comment", "outcome"),
    [
        (b"// hipport: ignore[test_pipeline] known", Outcome.IGNORED),
        (b"/* hipport: ignore[other, test_pipeline/replaced] known */", Outcome.IGNORED),
        (b"// hipport: ignore[other] known", Outcome.APPLIED),
        (b"// hipport: ignore known", Outcome.IGNORED),
        (b"// hipport: ignore[] known", Outcome.APPLIED),
        (b"// hipport: ignored known", Outcome.APPLIED),
        (b'"hipport: ignore[test_pipeline]"', Outcome.APPLIED),
        (b'puts("// hipport: ignore[test_pipeline] no");', Outcome.APPLIED),
        (b'puts("//"); // hipport: ignore[test_pipeline] known', Outcome.IGNORED),
        (b"putchar('\"'); // hipport: ignore[test_pipeline] known", Outcome.IGNORED),
    ],
)
def test_a_comment_ignores_a_rule_on_its_line(comment: bytes, outcome: Outcome) -> None:
    text = b"int first; " + comment + b"\nint second;\n"
    ported = run(Project((source(text),)), (replacing(b"first", b"f"),))
    (reported,) = ported.reported
    assert reported.outcome is outcome
    assert (reported.reason == "known") == (outcome is Outcome.IGNORED)
    assert (ported.project.sources[0].text == text) == (outcome is Outcome.IGNORED)
    assert not reported.needs_person


@pytest.mark.parametrize(
    ("before", "outcome"),
    [
        (b"// hipport: ignore[test_pipeline] known\n", Outcome.IGNORED),
        (b"    /* hipport: ignore[test_pipeline] known */  \r\n", Outcome.IGNORED),
        (b"\xef\xbb\xbf// hipport: ignore known\n", Outcome.IGNORED),
        (b"// hipport: ignore[test_pipeline] known\n// hipport: ignore[other] not this\n", Outcome.IGNORED),
        (b"// hipport: ignore[other] known\n", Outcome.APPLIED),
        (b"// hipport: ignore[test_pipeline] known\n\n", Outcome.APPLIED),
        (b"int other; // hipport: ignore[test_pipeline] that line\n", Outcome.APPLIED),
        (b"/* hipport: ignore[test_pipeline] that line */ int other;\n", Outcome.APPLIED),
        (b'const char* text = R"(\n// hipport: ignore[test_pipeline] text)"\n;', Outcome.APPLIED),
    ],
)
def test_a_comment_alone_in_the_line_before_does_the_same(before: bytes, outcome: Outcome) -> None:
    ported = run(Project((source(before + b"int first;\nint second;\n"),)), (replacing(b"first", b"f"),))
    (reported,) = ported.reported
    assert reported.outcome is outcome
    assert (reported.reason == "known") == (outcome is Outcome.IGNORED)


def test_edits_that_break_the_syntax_are_dropped_and_reported() -> None:
    ported = run(Project((source(), source(b"int first;", "b.cu"))), (replacing(b"int second;", b"int (;"),))
    assert not ported.changed
    assert [(r.path.name, r.outcome, r.needs_person) for r in ported.reported] == [("a.cu", Outcome.DROPPED, True)]
    assert "syntax" in ported.reported[0].reason


def test_of_a_pass_only_the_edits_that_break_the_syntax_are_dropped() -> None:
    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        changes = {b"first": b"f", b"int second": b"long second", b"int third;": b"int (;", b"int fourth": b"long d"}
        for old, new in changes.items():
            at = source.text.index(old)
            span = Span(at, at + len(old))
            yield Finding(span, "replaced", "", (Edit(span, new),))

    text = b"int first;\nint second;\nint third;\nint fourth;\n"
    ported = run(Project((source(text),)), (Pass(Cuda, find),))
    assert ported.project.sources[0].text == b"int f;\nlong second;\nint third;\nlong d;\n"
    assert [r.line for r in ported.reported if r.outcome is Outcome.DROPPED] == [3]
    assert [r.line for r in ported.reported if r.outcome is Outcome.APPLIED] == [1, 2, 4]


def test_changes_for_review_that_break_the_syntax_are_dropped_together() -> None:
    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        changes = {b"int first": b"long a", b"int second": b"long b", b"int third;": b"int (;"}
        for old, new in changes.items():
            at = source.text.index(old)
            span = Span(at, at + len(old))
            certainty = Certainty.SAFE if old == b"int first" else Certainty.REVIEW
            yield Finding(span, "replaced", "", (Edit(span, new),), certainty)

    ported = run(Project((source(b"int first;\nint second;\nint third;\n"),)), (Pass(Cuda, find),))
    assert ported.project.sources[0].text == b"long a;\nint second;\nint third;\n"
    assert [r.line for r in ported.reported if r.outcome is Outcome.DROPPED] == [2, 3]


def test_a_file_with_syntax_errors_is_still_ported() -> None:
    ported = run(Project((source(b"int ( ;\nint first;\n"),)), (replacing(b"int first;", b"long first;"),))
    assert ported.changed and ported.reported[0].outcome is Outcome.APPLIED


def test_a_rule_that_finds_more_whenever_a_file_with_errors_is_ported_is_dropped_there() -> None:
    def growing(source: Cuda, project: Project) -> Iterator[Finding]:
        yield Finding(Span(0, 3), "grown", "because", (Edit(Span(0, 0), b"int more;\n"),))

    passes = (Pass(Cuda, growing), replacing(b"first", b"third"))
    broken = source(b"int first = ;\n")
    ported = run(Project((broken, source(TEXT, "b.cu"))), passes)
    assert [each.text for each in ported.project.sources] == [
        b"int third = ;\n",
        b"int more;\nint third;\nint second;\n",
    ]
    outcomes = {(str(each.path), each.rule.partition("/")[2]): each.outcome for each in ported.reported}
    assert outcomes == {
        ("a.cu", "grown"): Outcome.DROPPED,
        ("a.cu", "replaced"): Outcome.APPLIED,
        ("b.cu", "grown"): Outcome.APPLIED,
        ("b.cu", "replaced"): Outcome.APPLIED,
    }
    assert run(Project((source(ported.project.sources[0].text),)), passes).changed == ()


def test_a_file_that_comes_out_otherwise_each_time_stays_as_it_is() -> None:
    """The port without the rule that never ends would not be final: a second run could apply the rule to it."""

    def growing(source: Cuda, project: Project) -> Iterator[Finding]:
        lines = source.text.count(b"int more;\n")
        new = b"int more;\n" * (2 - lines - source.text.count(b"third") if lines < 2 else 1)
        if new:
            yield Finding(Span(0, 3), "grown", "because", (Edit(Span(0, 0), new),))

    passes = (Pass(Cuda, growing), replacing(b"first", b"third"))
    broken = source(b"int first = ;\n")
    ported = run(Project((broken,)), passes)
    assert ported.changed == () and not ported.failures
    assert {each.outcome for each in ported.reported} == {Outcome.DROPPED}
    # Without that rule's first step, the same file is ported.
    assert run(Project((broken,)), passes[1:]).changed


def test_conflicting_edits_of_a_pass_are_a_defect_that_harms_nothing() -> None:
    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        for new in (b"x", b"y"):
            yield Finding(Span(4, 9), "twice", "", (Edit(Span(4, 9), new),))

    ported = run(Project((source(),)), (Pass(Cuda, find),))
    assert not ported.changed
    failure, *dropped = ported.reported
    assert failure.rule == "test_pipeline/failed" and "conflict" in failure.reason
    assert [(r.outcome, r.reason) for r in dropped] == [(Outcome.DROPPED, "edits of this pass conflict")] * 2
    assert ported.failures == (failure,)


def test_edits_inside_a_removed_span_are_dropped() -> None:
    before = source(b"int a = 1;\nint b = 2;\nint c = /* why */ 3;\n")

    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        if source is before:
            yield Finding(Span(22, 43), "kept", "", (Edit(Span(22, 42), b""),))
            yield Finding(Span(40, 41), "in_kept", "", (Edit(Span(40, 41), b"4"),))
            yield Finding(Span(8, 9), "inside", "", (Edit(Span(8, 9), b"7"), Edit(Span(9, 9), b"0")))
            yield Finding(Span(0, 11), "gone", "", (Edit(Span(0, 11), b""),))
            yield Finding(Span(0, 11), "gone_too", "", (Edit(Span(0, 11), b""),))
            yield Finding(Span(8, 9), "both", "", (Edit(Span(8, 9), b"8"), Edit(Span(19, 20), b"9")))
            yield Finding(Span(11, 11), "beside", "", (Edit(Span(11, 11), b"/**/"),))

    ported = run(Project((before,)), (Pass(Cuda, find),))
    assert ported.project.sources[0].text == b"/**/int b = 9;\n/* why */\n"
    assert [each.rule.partition("/")[2] for each in ported.reported] == ["gone", "both", "beside", "kept"]
    assert {each.outcome for each in ported.reported} == {Outcome.APPLIED}


def test_edits_that_conflict_in_text_with_errors_are_dropped_and_the_others_made() -> None:
    """Text that is no program has no defined structure: the parser's guess at one place may overlap another's."""
    before = source(b"int a = 1;\n)int b = 2;\n")
    assert before.errors
    at = before.text.index(b"2")

    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        if source is before:
            for kind, start, new in (("one", 8, b"3"), ("two", 8, b"4"), ("other", at, b"5")):
                yield Finding(Span(start, start + 1), kind, "", (Edit(Span(start, start + 1), new),))

    ported = run(Project((before,)), (Pass(Cuda, find),))
    assert ported.project.sources[0].text == b"int a = 3;\n)int b = 5;\n"
    assert ported.failures == ()
    (dropped,) = (each for each in ported.reported if each.outcome is not Outcome.APPLIED)
    assert (dropped.rule, dropped.outcome) == ("test_pipeline/two", Outcome.DROPPED)
    assert "syntax errors" in dropped.reason


def test_a_pass_that_fails_on_a_file_leaves_it_and_ports_the_others() -> None:
    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        if source.path.name == "a.cu":
            raise RuntimeError("boom")
        yield Finding(Span(4, 9), "fine", "", (Edit(Span(4, 9), b"f"),))

    ported = run(Project((source(), source(TEXT, "b.cu"))), (Pass(Cuda, find),))
    assert [s.path.name for s in ported.changed] == ["b.cu"]
    (failed,) = ported.failures
    assert failed.rule == "test_pipeline/failed" and "boom" in failed.reason and failed.needs_person


def test_a_failure_is_reported_before_all_else() -> None:
    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        if source.path.name == "z.cu":
            raise RuntimeError("boom")
        yield Finding(Span(4, 9), "fine", "", (Edit(Span(4, 9), b"f"),))

    ported = run(Project((source(), source(TEXT, "z.cu"))), (Pass(Cuda, find),))
    assert [r.path.name for r in ported.reported] == ["z.cu", "a.cu"]


def test_passes_over_deep_nesting_may_call_themselves() -> None:
    def deep(levels: int) -> int:
        return levels and deep(levels - 1)

    def find(source: Python, project: Project) -> Iterator[Finding]:
        deep(3 * sys.getrecursionlimit() // 4)
        deep(5000)
        return iter(())

    assert not run(Project((Python(PurePosixPath("a.py"), b"x\n"),)), (Pass(Python, find),)).failures


def test_files_that_edits_need_are_made_once() -> None:
    header = NewFile(PurePosixPath("hipport/x.h"), b"new\n")

    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        if source.text.startswith(b"int"):
            yield Finding(Span(0, 3), "x", "", (Edit(Span(0, 3), b"long"),), creates=(header,))

    each = Pass(Cuda, find)
    ported = run(Project((source(), source(TEXT, "b.cu"))), (each,))
    assert ported.created == (header,)
    declined = run(Project((source(b"int x; // hipport: ignore[*] no\n"),)), (each,))
    assert declined.created == ()
    old = Source(PurePosixPath("hipport/x.h"), b"old\n")
    again = run(Project((source(), old)), (each,))
    assert again.created == () and again.project.by_path[old.path].text == b"new\n"


def test_passes_see_one_snapshot_and_progress_is_told() -> None:
    seen: list[bytes] = []

    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        seen.append(project.by_path[PurePosixPath("a.cu")].text)
        yield Finding(Span(0, 0), "x", "", (Edit(Span(0, 0), b"//"),))

    told: list[Progress] = []
    run(Project((source(), source(TEXT, "b.cu"))), (Pass(Cuda, find),), on_progress=told.append)
    assert seen == [TEXT, TEXT]
    assert [(p.done, p.total) for p in told] == [(1, 2), (2, 2)]


def counting(source: Cuda, project: Project) -> Iterator[Finding]:
    """Find the files that the file is connected to, so that a part of a project differs from the whole."""
    names = " ".join(sorted(str(other.path) for other in project.component(source)))
    yield Finding(Span(0, 0), "seen", names, (Edit(Span(0, 0), b"//" + names.encode() + b"\n"),))


def test_processes_give_the_same_result() -> None:
    sources = [source(b'#include "shared%d.h"\n' % (i % 3), f"{i}.cu") for i in range(20)]
    sources += [source(b"int x;\n", f"shared{i}.h") for i in range(3)]
    python = Source(PurePosixPath("setup.py"), b"")
    project = Project((*sources, python))
    told: list[Progress] = []
    parallel = run(project, (Pass(Cuda, counting),), on_progress=told.append, jobs=2)
    assert parallel == run(project, (Pass(Cuda, counting),))
    assert len(parallel.changed) == 23 and told[-1].done == told[-1].total == 23


def reading(source: Python, project: Project) -> Iterator[Finding]:
    """Report the amount of C++, which a process must see as earlier passes left it."""
    size = sum(len(other.text) for other in project.sources if isinstance(other, Cuda))
    if not source.text.startswith(b"#"):
        yield Finding(Span(0, 0), "read", str(size), (Edit(Span(0, 0), b"# %d\n" % size),))


def doubling(source: Python, project: Project) -> Iterator[Finding]:
    """Double the numbers below 8."""
    for match in re.finditer(rb"\b[1247]\b", source.text):
        new = b"%d" % (2 * int(match.group()))
        yield Finding(Span(*match.span()), "double", "twice", (Edit(Span(*match.span()), new),))


def toggling(source: Python, project: Project) -> Iterator[Finding]:
    """Put a for b and b for a."""
    for match in re.finditer(rb"\b[ab]\b", source.text):
        new = {b"a": b"b", b"b": b"a"}[match.group()]
        yield Finding(Span(*match.span()), "toggle", "the other", (Edit(Span(*match.span()), new),))


def test_a_second_run_changes_nothing_in_python() -> None:
    passes = (Pass(Python, doubling), Pass(Python, toggling))
    result = run(Project((Python(PurePosixPath("s.py"), b"f(1, a)\n"),)), passes)
    assert result.project.sources[0].text == b"f(8, a)\n"
    outcomes = {each.rule.partition("/")[2]: each.outcome for each in result.reported}
    assert outcomes == {"double": Outcome.APPLIED, "toggle": Outcome.DROPPED}
    assert run(result.project, passes).changed == ()


def test_processes_share_what_is_not_cpp() -> None:
    scripts = [Python(PurePosixPath(f"{i}.py"), b"x = 1\n" * i) for i in range(20)]
    project = Project((source(), source(TEXT, "b.cu"), *scripts))
    passes = (Pass(Cuda, counting), Pass(Python, reading))
    parallel = run(project, passes, jobs=2)
    assert parallel == run(project, passes)
    assert len({each.message for each in parallel.reported if each.rule.endswith("/read")}) == 1
    assert len(parallel.changed) == 22


def test_results_can_be_pickled() -> None:
    ported = run(Project((source(),)), (replacing(b"first", b"f"),))
    assert ported.project.sources[0].errors == 0  # Parsed: the tree must be dropped.
    again = pickle.loads(pickle.dumps(ported))
    assert again == ported and "tree" not in again.project.sources[0].__dict__


def test_a_finding_is_manual_exactly_when_it_has_no_edits() -> None:
    with pytest.raises(ValueError, match="manual exactly"):
        Finding(Span(0, 1), "x", "", (), Certainty.SAFE)
    with pytest.raises(ValueError, match="manual exactly"):
        Finding(Span(0, 1), "x", "", (Edit(Span(0, 1), b""),), Certainty.MANUAL)


@pytest.mark.parametrize(
    ("archs", "wavefronts"),
    [(("gfx942",), {64}), (("gfx1100",), {32}), (("gfx90a", "gfx1030"), {32, 64}), (("gfx908:xnack-",), {64})],
)
def test_wavefront_sizes(archs: tuple[str, ...], wavefronts: set[int]) -> None:
    assert Target(archs).wavefronts == wavefronts


@pytest.mark.parametrize("bad", [{"archs": ()}, {"archs": ("sm_80",)}, {"rocm": (4, 0)}, {"dialect": "sycl"}])
def test_targets_that_cannot_be(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        Target(**bad)  # type: ignore[arg-type]


def test_only_allowed_processors_are_used() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system cannot restrict a process to some processors: NOT CHECKED")
    one = min(os.sched_getaffinity(0))
    said = f"import os; os.sched_setaffinity(0, {{{one}}}); "
    said += "from hipport.toolchain.processors import processors; print(processors())"
    assert subprocess.run([sys.executable, "-c", said], capture_output=True, check=True).stdout.strip() == b"1"


@pytest.mark.parametrize(("before", "between"), [("if (n > {}) {{ s[{}] += 1; ", ""), ("", "else ")])
def test_hundreds_of_levels_are_no_failure(before: str, between: str) -> None:
    """Generated code nests as deep as it has cases."""
    count = 400
    body = "".join(before.format(i, i % 64) for i in range(count)) + "}" * count
    if between:
        body = between.join(f"if (n == {i}) {{ p[{i}] = s[{i % 64}]; }}\n" for i in range(count))
    text = f"__global__ void k(int* p, int n) {{\n  __shared__ int s[64];\n  s[threadIdx.x] = n;\n  {body}\n}}\n"
    ported = hipport.rewrite({"k.cu": text.encode()})
    assert [each for each in ported.reported if each.rule.endswith("/failed")] == []


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (b"first #if\n", b"first", b"  "),
        (b"first /*\n*/ #if\n", b"first", b""),
        (b"/*\n*/ first /*\n*/ /*\n*/ #if\n", b"first", b""),
        (b"}#if\nint first;\n", b"}", b"}\n"),
    ],
)
def test_edits_that_make_a_directive_of_a_stray_number_sign_are_dropped(text: bytes, old: bytes, new: bytes) -> None:
    ported = run(Project((source(text),)), (replacing(old, new),))
    assert [each.outcome for each in ported.reported] == [Outcome.DROPPED]
    assert ported.project.sources[0].text == text


def test_edits_beside_prose_with_number_signs_are_made() -> None:
    text = b"#if 0\nsee item #3 of first\n#endif\nint first;\nint second; // #4\n"
    for old in (b"int first", b"int second", b"of first"):
        ported = run(Project((source(text),)), (replacing(old, b"int other"),))
        assert [each.outcome for each in ported.reported] == [Outcome.APPLIED]
