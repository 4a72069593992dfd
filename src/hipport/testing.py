# SPDX-License-Identifier: Apache-2.0
"""Hold a pass to the laws, on fixtures: small files before and after it.

A fixture is `<pass>/<case>.before.<suffix>`, with beside it `<case>.after.<suffix>` (absent: the text must come out
as it went in) and `<case>.findings` (absent: nothing may be found). A line of `.findings` reads

    line:column kind certainty [part of the message]

with the position in the file before. `<case>.vendored` has the paths of third-party code that was found beside it,
and the folder `<case>.beside` other files of the same project.
Use it for passes of your own:

    import pytest
    from hipport.testing import LAWS, fixtures

    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize("fixture", fixtures("fixtures/my_pass"), ids=str)
    def test_law(law, fixture):
        law(my_pass.PASS, fixture)
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from hipport.analysis.functions import function_at
from hipport.core.edits import Span
from hipport.core.finding import Certainty
from hipport.core.proof import missing, without_reason
from hipport.core.source import Source
from hipport.engine.byte_order import MARK
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
from hipport.syntax.python import Python
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


#: Where Python, and pip when it installs the wheel, puts what it has compiled: fixtures in Python are sources to both.
_COMPILED = "__pycache__"

# Between two tokens, where a comment may stand; and one.
_GAP = re.compile(rb"(?<=[(,])(?=\S)|(?<=\w)(?=\()|(?<=[\w,;)])[ ](?=\S)")
# Where a blank may stand as well as not.
_TIGHT = re.compile(rb"(?<=[(,])(?=\w)|(?<=\w)(?=[(),\[;])|(?<=[A-Za-z_])(?=\.|->)")
# Where a line may end as well: at a blank, and around what stands without one.
_BREAKS = re.compile(_TIGHT.pattern + rb"|(?<=\S) (?=\S)")
# A declaration of a variable, or of an array or a pointer, whose type others may have, too.
_DECLARES = re.compile(
    rb"(?<=[;{}])\s*(?P<type>(?:unsigned\s+|long\s+)*\b(?:int|float|double|half|__half|bool|long|unsigned|char|size_t"
    rb"|u?int(?:8|16|32|64)_t|CUdeviceptr|cuda\w+_t))\b(?=[\s*]+(?!const\b|int\b)\w+\s*[=;\[])"
)
_WORD = re.compile(r"\w+")
#: Passes about what other tools do with text: to PyTorch's hipify, `max (a, b)` is no call, and comments are code. And
#: one that does not write again what has comments in it.
_BY_LETTERS = frozenset(("hipify_launches", "shared_min_max", "miscompiled"))
#: One that gives what is declared alone another type.
_BY_DECLARATION = frozenset(("native_waves",))
_COMMENT = b"/* kept */"
#: So many places of a fixture get one in turn.
_MOST_COMMENTS = 3


@dataclass(frozen=True)
class Fixture:
    """A case: the text before, the text that must come out, and what must be found."""

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
        raise ValueError(f"{folder}: files of no fixture: {', '.join(stray)}")


def fixture(before: Path) -> Fixture:
    """Return the fixture whose text before is the file `before`."""
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
    """Run one pass over one source, the first one of what is returned.

    A pass that fails, or whose edits the engine drops, raises AssertionError.
    """
    ported = run(Project((source, *beside), Target(), skipped), (each,), accept)
    for reported in ported.reported:
        assert reported.outcome is not Outcome.DROPPED, f"{reported.rule}: {reported.reason}"
    return ported


def expected(each: Pass[Any], fixture: Fixture) -> None:
    """The text and the findings are the ones that the fixture states."""
    ported = _ported(each, fixture)
    assert _text(ported) == fixture.after
    found = [(_place(reported), reported.message) for reported in ported.reported]
    stated = [(place, part) for place, part in (_stated(line) for line in fixture.findings)]
    assert [place for place, _ in found] == [place for place, _ in stated], "\n".join(
        f"{place} {message}" for place, message in found
    )
    for (_, message), (_, part) in zip(found, stated, strict=True):
        assert part in message


def converges(each: Pass[Any], fixture: Fixture) -> None:
    """A second run changes nothing, and reports again what a person must do, and only that."""
    first = _ported(each, fixture)
    once = first.project.sources[0]
    again = port(each, type(once)(once.path, once.text), skipped=fixture.skipped, beside=fixture.beside)
    assert _text(again) == once.text
    assert all(reported.outcome is Outcome.REPORTED for reported in again.reported)
    left, still = (Counter(r.rule for r in run.reported if r.outcome is Outcome.REPORTED) for run in (first, again))
    assert left <= still, f"no longer reported: {left - still}"


def parses(each: Pass[Any], fixture: Fixture) -> None:
    """No syntax error is in the text after that was not in it before."""
    after = _ported(each, fixture).project.sources[0]
    assert type(after)(after.path, after.text).errors <= fixture.before.errors


def lossless(each: Pass[Any], fixture: Fixture) -> None:
    """Text that no finding changes stays, byte for byte and in its place: with nothing accepted, all of it."""
    after = _ported(each, fixture).project.sources[0]
    # The engine's own `apply` is what is being checked, so the text is put together here in another way.
    text = fixture.before.text
    for edit in reversed(after.edits):
        text = text[: edit.span.start] + edit.new + text[edit.span.end :]
    assert after.text == text
    for previous, following in itertools.pairwise((None, *after.edits, None)):
        length = len(fixture.before.text)
        untouched = Span(previous.span.end if previous else 0, following.span.start if following else length)
        shift = sum(len(e.new) - len(e.span) for e in after.edits if e.span.end <= untouched.start)
        # Between two deletions there is no byte whose place could be asked for.
        assert not len(untouched) or after.origin(Span(untouched.start + shift, untouched.end + shift)) == untouched
    refused = run(Project((fixture.before, *fixture.beside), Target(), fixture.skipped), (_without_edits(each),))
    assert refused.project.sources[0].text == fixture.before.text
    assert not refused.changed


def text_of_windows(each: Pass[Any], fixture: Fixture) -> None:
    """A file with a byte-order mark and CR LF line endings comes out the same, and the same is found in its places."""
    before = fixture.before.text
    mark, end = b"" if before.startswith(MARK) else MARK, b"\n" if b"\r" in before else b"\r\n"

    def written(text: bytes) -> bytes:
        return mark + text.replace(b"\n", end)

    def found(ported: Ported, text: bytes) -> list[tuple[str, int, int, bytes]]:
        # A line's end is that of what stands on it, with CR or without.
        return [(r.rule, r.line, r.span.start, text[r.span.start : r.span.end].rstrip(b"\r")) for r in ported.reported]

    text = type(fixture.before)(fixture.before.path, written(before))
    ported = port(each, text, skipped=fixture.skipped, beside=fixture.beside)
    assert _text(ported) == written(fixture.after)
    assert found(ported, text.text) == [
        (rule, line, len(written(before[:start])), spanned.replace(b"\n", end).rstrip(b"\r"))
        for rule, line, start, spanned in found(_ported(each, fixture), before)
    ]


def side_by_side(programs: Mapping[str, Sequence[Source]], passes: Sequence[Pass[Any]]) -> None:
    """Programs in one tree come out as each does alone: `programs` are their files, by the folder that they are put in.

    The texts, what is found and the headers that are made are the same.
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
    """A comment within what is replaced is still there afterwards, whatever becomes of the place."""
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
    """C++ with blanks and comments in front of brackets, and within them, means the same: the same is found."""
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
    pieces = [before.text[i:j] for i, j in itertools.pairwise((0, *places, len(before.text)))]
    text = (b" " + _COMMENT + b" ").join(pieces)
    ported = port(each, type(before)(before.path, text), skipped=fixture.skipped, beside=fixture.beside)
    plain = _ported(each, fixture)
    assert [(r.rule, r.certainty) for r in ported.reported] == [(r.rule, r.certainty) for r in plain.reported]


def line_breaks(each: Pass[Any], fixture: Fixture) -> None:
    """C++ means the same whatever lines it stands on, but for directives: the same is found.

    What is told once for a line may be told for each of several.
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
    pieces = [before.text[i:j] for i, j in itertools.pairwise((0, *places, len(before.text)))]
    text = b"\n".join(pieces)
    ported = port(each, type(before)(before.path, text), skipped=fixture.skipped, beside=fixture.beside)
    plain = _ported(each, fixture)
    found, stated = (Counter((r.rule, r.certainty) for r in run.reported) for run in (ported, plain))
    assert stated <= found, f"no longer found: {stated - found}"
    assert found.keys() == stated.keys(), f"found as well: {found.keys() - stated.keys()}"


def behind_another(each: Pass[Any], fixture: Fixture) -> None:
    """A variable that is declared behind another one, in one declaration, has the same findings."""
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
    pieces = [before.text[i:j] for i, j in itertools.pairwise((0, *places, len(before.text)))]
    text = pieces[0] + b"".join(b" unused," + piece for piece in pieces[1:])
    ported = port(each, type(before)(before.path, text), skipped=fixture.skipped, beside=fixture.beside)
    plain = _ported(each, fixture)
    assert [(r.rule, r.certainty) for r in ported.reported] == [(r.rule, r.certainty) for r in plain.reported]


def proved(each: Pass[Any], fixture: Fixture) -> None:
    """A finding of code in which threads wait for each other says what it rests on, at places that there are.

    All of that is proven where it is SAFE. Elsewhere something is not, and the end of the message says what.
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
            # What threads agree on begins there.
            agreed = _WORD.search(ground.claim.partition(" agree on ")[2]) if ground.proven else None
            assert agreed is None or agreed[0].encode() in lines[ground.line - 1], ground


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
)


@functools.lru_cache(maxsize=2)
def _ported(each: Pass[Any], fixture: Fixture) -> Ported:
    """Return what becomes of the fixture; kept, as every law begins with it, one after another."""
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
