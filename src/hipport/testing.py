# SPDX-License-Identifier: Apache-2.0
"""Check the laws of a pass on fixtures: small files before and after it.

A fixture is `<pass>/<case>.before.<suffix>`, with optional files beside it: `<case>.after.<suffix>` (absent: the text
must not change) and `<case>.findings` (absent: nothing may be found). A line of `.findings` reads

    line:column kind certainty [part of the message]

with the position in the file before. `<case>.vendored` lists the paths of third-party code that was found beside it,
and the folder `<case>.beside` contains other files of the same project.
Use it for your own passes:

    import pytest
    from hipport.testing import LAWS, fixtures

    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize("fixture", fixtures("fixtures/my_pass"), ids=str)
    def test_law(law, fixture):
        law(my_pass.PASS, fixture)
"""

from __future__ import annotations

import difflib
import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from hipport.analysis.functions import function_at
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty
from hipport.core.proof import missing, without_reason
from hipport.core.source import BYTE_ORDER_MARK as MARK
from hipport.core.source import Source
from hipport.engine.outcomes import Outcome, Ported, Reported
from hipport.engine.pipeline import Pass, run
from hipport.program.project import Project, Skipped, Target
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.json import CMakePresets, Devcontainer
from hipport.syntax.make import Makefile
from hipport.syntax.notebook import Notebook
from hipport.syntax.packaging import CondaEnvironment, Lock, Requirements, SetupCfg, ToxIni
from hipport.syntax.program_settings import ProgramSettings
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Definition, Dockerfile, Markdown, Shell
from hipport.syntax.toml import Toml
from hipport.syntax.unread_builds import OtherBuild
from hipport.syntax.yaml import Compose, Manifest, Workflow

_LANGUAGES: dict[str, type[Source]] = {
    ".cu": Cuda,
    ".cuh": Cuda,
    ".inl": Cuda,
    ".py": Python,
    ".c": Cpp,
    ".h": Cpp,
    ".hpp": Cpp,
    ".cpp": Cpp,
    ".cmake": CMake,
    ".mk": Makefile,
    ".ipynb": Notebook,
    ".txt": Requirements,
    ".toml": Toml,
    ".cfg": SetupCfg,
    ".ini": ToxIni,
    ".yml": CondaEnvironment,
    ".dockerfile": Dockerfile,
    ".sh": Shell,
    ".md": Markdown,
    ".workflow": Workflow,
    ".compose": Compose,
    ".manifest": Manifest,
    ".def": Definition,
    ".build": OtherBuild,
    ".json": ProgramSettings,
    ".yaml": ProgramSettings,
    ".bzl": OtherBuild,
    ".rs": OtherBuild,
    ".lock": Lock,
    ".conda_lock": Lock,
    ".devcontainer": Devcontainer,
    ".presets": CMakePresets,
}


#: The folder of compiled Python files, which importing or installing fixtures in Python creates.
_COMPILED = "__pycache__"

# Between two tokens, where a comment may be inserted.
_GAP = re.compile(rb"(?<=[(,])(?=\S)|(?<=\w)(?=\()|(?<=[\w,;)])[ ](?=\S)")
# Where a blank is optional.
_TIGHT = re.compile(rb"(?<=[(,])(?=\w)|(?<=\w)(?=[(),\[;])|(?<=[A-Za-z_])(?=\.|->)")
# Where a line break is possible: at a blank, and where a blank is optional.
_BREAKS = re.compile(_TIGHT.pattern + rb"|(?<=\S) (?=\S)")
# A declaration of a variable, an array or a pointer, whose type further declarators may share.
_DECLARES = re.compile(
    rb"(?<=[;{}])\s*(?P<type>(?:unsigned\s+|long\s+)*\b(?:int|float|double|half|__half|bool|long|unsigned|char|size_t"
    rb"|u?int(?:8|16|32|64)_t|CUdeviceptr|cuda\w+_t))\b(?=[\s*]+(?!const\b|int\b)\w+\s*[=;\[])"
)
_WORD = re.compile(r"\w+")
#: Passes about other tools, which go by the written text: to PyTorch's hipify, `max (a, b)` is not a call, and comments
#: are code. And one that does not rewrite code that contains comments.
_BY_LETTERS = frozenset(("hipify_launches", "shared_min_max", "miscompiled"))
#: A rule that does the same, of a pass whose other rules do not.
_RULES_BY_LETTERS = frozenset(("host_math/std",))
#: A pass that changes the type of a variable only if it is declared alone.
_BY_DECLARATION = frozenset(("native_waves",))
_COMMENT = b"/* kept */"
#: The maximum number of places in a fixture at which a comment is tried.
_MOST_COMMENTS = 3


@dataclass(frozen=True)
class Fixture:
    """A case: the text before, the expected text after, and the expected findings."""

    name: str
    before: Source
    after: bytes
    findings: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()
    beside: tuple[Source, ...] = ()

    def __str__(self) -> str:
        return self.name


def fixtures(folder: str | Path) -> Iterator[Fixture]:
    """Yield the fixtures in `folder`, by name. Raises ValueError for files there that belong to none."""
    folder = Path(folder)
    used = set()
    for before in sorted(folder.glob("*.before.*")):
        case, _, suffix = before.name.partition(".before")
        used |= {before} | {folder / f"{case}{end}" for end in (f".after{suffix}", ".findings", ".vendored", ".beside")}
        yield fixture(before)
    stray = [path.name for path in sorted(folder.iterdir()) if path not in used and path.name != _COMPILED]
    if stray:
        raise ValueError(f"{folder}: files of no fixture: {', '.join(stray)}; each needs NAME.before.SUFFIX")


def fixture(before: Path) -> Fixture:
    """Return the fixture with the file `before`."""
    folder = before.parent
    case, _, suffix = before.name.partition(".before")
    ends = (f".after{suffix}", ".findings", ".vendored", ".beside")
    after, said, vendored, beside = (folder / f"{case}{end}" for end in ends)
    text = before.read_bytes()
    lines = said.read_text().splitlines() if said.exists() else []
    trees = vendored.read_text().splitlines() if vendored.exists() else []
    return Fixture(
        f"{folder.name}/{case}",
        _LANGUAGES[suffix](PurePosixPath(case + suffix), text),
        after.read_bytes() if after.exists() else text,
        tuple(line for line in lines if line.strip() and not line.startswith("#")),
        tuple(Skipped(PurePosixPath(tree), "vendored", "third-party code") for tree in trees),
        tuple(
            _LANGUAGES[path.suffix](PurePosixPath(path.relative_to(beside).as_posix()), path.read_bytes())
            for path in sorted(beside.rglob("*"))
            if path.is_file() and _COMPILED not in path.parts
        ),
    )


def port(
    each: Pass[Any],
    source: Source,
    accept: Certainty = Certainty.REVIEW,
    skipped: tuple[Skipped, ...] = (),
    beside: tuple[Source, ...] = (),
) -> Ported:
    """Run one pass over one source, which is the first of the result.

    Raises AssertionError if the pass fails, or the engine drops its edits.
    """
    ported = run(Project((source, *beside), Target(), skipped), (each,), accept)
    for reported in ported.reported:
        assert reported.outcome is not Outcome.DROPPED, f"{reported.rule}: {reported.reason}"
    return ported


def expected(each: Pass[Any], fixture: Fixture) -> None:
    """The text and the findings are those of the fixture."""
    ported = _ported(each, fixture)
    text = _text(ported)
    assert text == fixture.after, _difference(text, fixture.after)
    found = [(_place(reported), reported.message) for reported in ported.reported]
    stated = [(place, part) for place, part in (_stated(line) for line in fixture.findings)]
    assert [place for place, _ in found] == [place for place, _ in stated], "\n".join(
        f"{place} {message}" for place, message in found
    )
    for (_, message), (_, part) in zip(found, stated, strict=True):
        assert part in message, f"the fixture states `{part}`, but the message is `{message}`"


def _difference(made: bytes, stated: bytes) -> str:
    """Return the difference as a patch, because an assertion outside of a test module does not show it."""
    was, now = stated.decode("utf-8", "replace").splitlines(), made.decode("utf-8", "replace").splitlines()
    return "\n".join(difflib.unified_diff(was, now, "the fixture", "the result of the pass", lineterm=""))


def converges(each: Pass[Any], fixture: Fixture) -> None:
    """A second run changes nothing, and reports only what a person must do, as the first run did."""
    first = _ported(each, fixture)
    once = first.project.sources[0]
    # A second run reads the parts that the first run left unchanged as the first run did.
    again = first
    if first.changed or first.created:
        again = port(each, type(once)(once.path, once.text), skipped=fixture.skipped, beside=fixture.beside)
    assert _text(again) == once.text
    assert all(reported.outcome is Outcome.REPORTED for reported in again.reported)
    left, still = (Counter(r.rule for r in run.reported if r.outcome is Outcome.REPORTED) for run in (first, again))
    assert left <= still, f"no longer reported: {left - still}"


def parses(each: Pass[Any], fixture: Fixture) -> None:
    """The text after has no syntax error that the text before did not have."""
    after = _ported(each, fixture).project.sources[0]
    assert type(after)(after.path, after.text).errors <= fixture.before.errors


def lossless(each: Pass[Any], fixture: Fixture) -> None:
    """Text that no finding changes stays, byte for byte and in its place; all of it, if nothing is accepted."""
    after = _ported(each, fixture).project.sources[0]
    # Checks the engine's `apply`, so the text is assembled here in another way.
    text = fixture.before.text
    for edit in reversed(after.edits):
        text = text[: edit.span.start] + edit.new + text[edit.span.end :]
    assert after.text == text
    for previous, following in itertools.pairwise((None, *after.edits, None)):
        length = len(fixture.before.text)
        untouched = Span(previous.span.end if previous else 0, following.span.start if following else length)
        shift = sum(len(e.new) - len(e.span) for e in after.edits if e.span.end <= untouched.start)
        # Between two deletions there is no byte whose origin could be checked.
        assert not len(untouched) or after.origin(Span(untouched.start + shift, untouched.end + shift)) == untouched
    # A run that changed nothing has shown this.
    if not _ported(each, fixture).changed:
        return
    refused = run(Project((fixture.before, *fixture.beside), Target(), fixture.skipped), (_without_edits(each),))
    assert refused.project.sources[0].text == fixture.before.text
    assert not refused.changed


def text_of_windows(each: Pass[Any], fixture: Fixture) -> None:
    """A file with a byte-order mark and CR LF line ends has the same result, with findings at the same places."""
    before = fixture.before.text
    mark, end = b"" if before.startswith(MARK) else MARK, b"\n" if b"\r" in before else b"\r\n"

    def written(text: bytes) -> bytes:
        return mark + text.replace(b"\n", end)

    def found(ported: Ported, text: bytes) -> list[tuple[str, int, int, bytes]]:
        # A line end belongs to the text of its line, with CR or without.
        return [(r.rule, r.line, r.span.start, text[r.span.start : r.span.end].rstrip(b"\r")) for r in ported.reported]

    text = type(fixture.before)(fixture.before.path, written(before))
    ported = port(each, text, skipped=fixture.skipped, beside=fixture.beside)
    assert _text(ported) == written(fixture.after)
    assert found(ported, text.text) == [
        (rule, line, len(written(before[:start])), spanned.replace(b"\n", end).rstrip(b"\r"))
        for rule, line, start, spanned in found(_ported(each, fixture), before)
    ]


def side_by_side(programs: Mapping[str, Sequence[Source]], passes: Sequence[Pass[Any]]) -> None:
    """Programs in one tree have the same result as each alone; `programs` has their files by folder.

    The texts, the findings and the created headers are the same.
    """
    placed = {
        folder: tuple(replace(file, path=PurePosixPath(folder) / file.path) for file in files)
        for folder, files in programs.items()
    }
    tree = run(Project(tuple(file for files in placed.values() for file in files)), passes)
    texts = {file.path: file.text for file in tree.project.sources}
    made = set(tree.created)
    for folder, files in placed.items():
        alone = run(Project(files), passes)
        for file in alone.project.sources:
            assert texts[file.path] == file.text, f"{file.path} comes out otherwise beside {', '.join(programs)}"
        found = [each for each in tree.reported if folder in map(str, each.path.parents)]
        assert found == list(alone.reported), folder
        assert {file for file in made if folder in map(str, file.path.parents)} == set(alone.created), folder


def comments(each: Pass[Any], fixture: Fixture) -> None:
    """A comment inside replaced text is still there afterwards, whatever happens to the place."""
    before = fixture.before
    if not isinstance(before, Cpp):
        return
    first = _ported(each, fixture).project.sources[0]
    tried = 0
    for edit in first.edits:
        gap = _GAP.search(before.code, edit.span.start + 1, edit.span.end - 1)
        if gap is None or tried == _MOST_COMMENTS or before.quoted(gap.start()) or before.directive(gap.start()):
            continue
        tried += 1
        text = before.text[: gap.start()] + _COMMENT + before.text[gap.start() :]
        ported = port(each, type(before)(before.path, text), skipped=fixture.skipped, beside=fixture.beside)
        assert _text(ported).count(_COMMENT) >= 1, before.text[edit.span.start : edit.span.end]


def blanks(each: Pass[Any], fixture: Fixture) -> None:
    """Blanks and comments before and inside brackets do not change the meaning of C++, so findings are the same."""
    before = fixture.before
    if not isinstance(before, Cpp) or before.errors or each.name in _BY_LETTERS:
        return
    places = [
        match.start()
        for match in _TIGHT.finditer(before.code)
        if before.text[match.start() - 1 : match.start() + 1] == before.code[match.start() - 1 : match.start() + 1]
        and not before.quoted(match.start())
        and not before.directive(match.start())
    ]
    if not places:
        return  # the same text
    pieces = [before.text[i:j] for i, j in itertools.pairwise((0, *places, len(before.text)))]
    text = (b" " + _COMMENT + b" ").join(pieces)
    ported = port(each, type(before)(before.path, text), skipped=fixture.skipped, beside=fixture.beside)
    plain = _ported(each, fixture)
    found, expected = (
        [(r.rule, r.certainty) for r in some.reported if r.rule not in _RULES_BY_LETTERS] for some in (ported, plain)
    )
    assert found == expected


def line_breaks(each: Pass[Any], fixture: Fixture) -> None:
    """Line breaks do not change the meaning of C++, except in directives, so findings are the same.

    A finding that is reported once for a line may be reported for each of several lines.
    """
    before = fixture.before
    if not isinstance(before, Cpp) or before.errors or each.name in _BY_LETTERS:
        return
    places = [
        match.start()
        for match in _BREAKS.finditer(before.code)
        if before.text[match.start() - 1 : match.end() + 1] == before.code[match.start() - 1 : match.end() + 1]
        and not before.quoted(match.start())
        and not before.directive(match.start())
    ]
    if not places:
        return  # the same text
    pieces = [before.text[i:j] for i, j in itertools.pairwise((0, *places, len(before.text)))]
    text = b"\n".join(pieces)
    ported = port(each, type(before)(before.path, text), skipped=fixture.skipped, beside=fixture.beside)
    plain = _ported(each, fixture)
    found, stated = (
        Counter((r.rule, r.certainty) for r in run.reported if r.rule not in _RULES_BY_LETTERS)
        for run in (ported, plain)
    )
    assert stated <= found, f"no longer found: {stated - found}"
    assert found.keys() == stated.keys(), f"found as well: {found.keys() - stated.keys()}"


def behind_another(each: Pass[Any], fixture: Fixture) -> None:
    """A variable that is not the first declarator of its declaration has the same findings."""
    before = fixture.before
    if not isinstance(before, Cpp) or before.errors or each.name in _BY_LETTERS | _BY_DECLARATION:
        return
    places = [
        match.end("type")
        for match in _DECLARES.finditer(before.code)
        if not before.quoted(match.start())
        and not before.directive(match.start())
        and (function := function_at(before, match.start())) is not None
        and match.start() > function.body.start_byte
    ]
    if not places:
        return  # the same text
    pieces = [before.text[i:j] for i, j in itertools.pairwise((0, *places, len(before.text)))]
    text = pieces[0] + b"".join(b" unused," + piece for piece in pieces[1:])
    ported = port(each, type(before)(before.path, text), skipped=fixture.skipped, beside=fixture.beside)
    plain = _ported(each, fixture)
    assert [(r.rule, r.certainty) for r in ported.reported] == [(r.rule, r.certainty) for r in plain.reported]


def proved(each: Pass[Any], fixture: Fixture) -> None:
    """A finding about threads that wait for each other states its grounds, at existing places.

    If it is SAFE, all grounds are proven. Otherwise one is not, and the end of the message names it.
    """
    if not each.proves:
        return
    files = {source.path: source for source in (fixture.before, *fixture.beside)}
    for reported in _ported(each, fixture).reported:
        if reported.rule.partition("/")[2] not in each.proves or reported.outcome is Outcome.IGNORED:
            continue
        assert reported.proof, reported.message
        lacks = missing(reported.proof)
        assert bool(lacks) == (reported.certainty is not Certainty.SAFE), reported.proof
        assert reported.message.endswith(lacks) and (lacks or without_reason(reported.message) == reported.message)
        for ground in reported.proof:
            lines = files[ground.path].text.splitlines()
            assert ground.claim and ground.reason and 1 <= ground.line <= max(len(lines), 1), ground
            # The expression that is uniform begins there.
            expression, uniform, _ = ground.claim.partition(" is uniform in ")
            first = _WORD.search(expression) if ground.proven and uniform else None
            assert first is None or first[0].encode() in lines[ground.line - 1], ground


def lines_as_read(each: Pass[Any], fixture: Fixture) -> None:
    """Messages name lines of the file as it was read, also where an earlier pass has moved them."""
    if not any(" line" in message for message in fixture.findings) or fixture.before.text.startswith(MARK):
        return
    moved = fixture.before.apply([Edit(Span(0, 0), b"\n\n")])
    said = Counter(reported.message for reported in _ported(each, fixture).reported)
    ported = port(each, moved, skipped=fixture.skipped, beside=fixture.beside)
    found = Counter(reported.message for reported in ported.reported)
    assert found == said, f"other lines: {found - said}"


LAWS: tuple[Callable[[Pass[Any], Fixture], None], ...] = (
    expected,
    converges,
    parses,
    lossless,
    text_of_windows,
    comments,
    blanks,
    line_breaks,
    behind_another,
    proved,
    lines_as_read,
)


@functools.lru_cache(maxsize=2)
def _ported(each: Pass[Any], fixture: Fixture) -> Ported:
    """Return the port of the fixture, cached because every law starts with it."""
    return port(each, fixture.before, skipped=fixture.skipped, beside=fixture.beside)


def _text(ported: Ported) -> bytes:
    return ported.project.sources[0].text


def _place(reported: Reported) -> str:
    kind = reported.rule.partition("/")[2]
    return f"{reported.line}:{reported.column} {kind} {reported.certainty}"


def _stated(line: str) -> tuple[str, str]:
    words = line.split(" ", 3)
    return " ".join(words[:3]), words[3] if len(words) > 3 else ""


def _without_edits(each: Pass[Any]) -> Pass[Any]:
    def find(source: Any, project: Project) -> Iterator[Any]:
        for finding in each.find(source, project):
            if not finding.edits:
                yield finding

    return Pass(each.language, find)
