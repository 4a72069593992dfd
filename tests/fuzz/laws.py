# SPDX-License-Identifier: Apache-2.0
"""Properties of every input, however odd: the laws, checked with all passes together."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath, PurePosixPath
from typing import NamedTuple

from hipport import Target, rewrite
from hipport.core.edits import Conflict, NewFile, Span
from hipport.core.source import BYTE_ORDER_MARK as MARK
from hipport.core.source import Source
from hipport.engine.outcomes import Outcome, Ported
from hipport.syntax import own_guards
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.file_languages import source
from hipport.syntax.json import Json
from hipport.syntax.notebook import Notebook
from hipport.syntax.preprocessor_values import _Condition as Condition
from hipport.syntax.preprocessor_values import tokens
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Markdown

#: A tree: the bytes of its files by their paths.
Tree = Mapping[str, bytes]

#: The target of a tree, by the suffix after `@` in the name of its case in the corpus.
TARGETS = {
    "": Target(),
    "agnostic": Target(device_agnostic=True),
    "native": Target(warp="native"),
    "gfx942": Target(archs=("gfx942",)),
    "gfx1100": Target(archs=("gfx1100",)),
    "newest": Target(archs=("gfx950", "gfx1201"), rocm=(7, 0)),
}

#: Words in the inputs' comments that must be found again.
REMARK = re.compile(rb"\bkept\d+\b")


class Broken(NamedTuple):
    """A law that does not hold, with the responsible rule or file."""

    what: str
    #: The path of the file; None if it is unknown.
    path: PurePath | None = None


def broken(tree: Tree, target: Target | None = None) -> list[str]:
    """Return the laws that a tree breaks, each with the responsible rule or file; empty if there are none."""
    return [each.what for each in _broken(tree, target)]


def suspects(trees: Sequence[Tree], target: Target | None = None) -> list[Tree]:
    """Return the trees that seem to break a law.

    They are ported side by side, which halves the time. If no single one is responsible, all of them are returned as
    one more tree.
    """
    number_of: dict[str, int] = {}
    together: dict[str, bytes] = {}
    for i, tree in enumerate(trees):
        for name, text in tree.items():
            place = _beside(name, i)
            number_of[place] = i
            together[place] = text

    def number(path: PurePath) -> str:
        known = number_of.get(path.as_posix())
        return path.parts[0] if known is None else str(known)

    of = [None if each.path is None else number(each.path) for each in _broken(together, target, number)]
    single = [trees[int(each)] for each in dict.fromkeys(of) if each and each.isdigit()]
    return single if all(each and each.isdigit() for each in of) else [*single, together]


def _beside(name: str, number: int) -> str:
    """Return a path for a file of one of several trees; folders known by their place at the root stay there."""
    folder, _, rest = name.partition("/")
    if folder == ".github":
        return f".github/workflows/{number}.yml"
    return f"{folder}/{number}/{rest}" if folder == ".devcontainer" else f"{number}/{name}"


def _broken(tree: Tree, target: Target | None, part: Callable[[PurePath], str] = lambda path: "") -> list[Broken]:
    """Return the laws that a tree breaks; `part` tells which files are connected."""
    try:
        ported = rewrite(tree, target=target, jobs=1)
    except Conflict as conflict:
        return [Broken(f"conflict: {conflict}")]
    except Exception as error:
        return [Broken(f"exception: {type(error).__name__}")]
    return [
        *_fails_nowhere(ported),
        *_drops_nothing(ported),
        *(each for pair in _changed(ported) for law in _OF_FILES for each in law(*pair)),
        *_converges(ported, target, part),
    ]


def _fails_nowhere(ported: Ported) -> Iterator[Broken]:
    """Check that no pass raises, and no edits of a pass conflict."""
    for each in ported.failures:
        yield Broken(f"exception: {each.rule}: {each.reason}", each.path)


def _drops_nothing(ported: Ported) -> Iterator[Broken]:
    """Check that, in text without syntax errors, no edit is dropped because of errors that it causes.

    The parser accepts much text that is not C++; for that, the laws over the fixtures apply.
    """
    before = ported.before.by_path
    for each in ported.reported:
        if each.outcome is Outcome.DROPPED and not isinstance(before[each.path], Cpp) and not before[each.path].errors:
            yield Broken(f"dropped: {each.rule}", each.path)


def _adds_no_errors(before: Source, after: Source) -> Iterator[Broken]:
    """Check that a file without syntax errors has none after the port, and that text stays text.

    In C++ with errors, a parser's reading of one place depends on all others, and the number of errors means nothing.
    Nor does an error count that the parser finds only because of a comment, as in `DE half t;` after an `#include` with
    one.
    """
    if _fresh(_unmarked(after)).errors and _is_sound(_fresh(before), after):
        yield Broken(f"syntax: {before.path}", before.path)
    if _is_text(before.text) and not _is_text(after.text):
        yield Broken(f"undecodable: {before.path}", before.path)
    if before.text.startswith(MARK) != after.text.startswith(MARK) or (
        MARK in after.text[1:] and MARK not in before.text
    ):
        yield Broken(f"byte-order mark: {before.path}", before.path)


def _keeps_line_endings(before: Source, after: Source) -> Iterator[Broken]:
    """Check that a file keeps its line endings, if all its lines end in the same way."""
    kinds = set(before.line_end.findall(before.text))
    if len(kinds) == 1 and not kinds >= set(before.line_end.findall(after.text)):
        yield Broken(f"line endings: {before.path}", before.path)


def _keeps_comments(before: Source, after: Source) -> Iterator[Broken]:
    """Check that the contents of all comments are still there, as often as before."""
    for word in set(REMARK.findall(before.text)):
        said = sum(word in REMARK.findall(each) for each in _comments(before))
        if said > len(re.findall(rb"\b%s\b" % word, after.text)):
            yield Broken(f"comment: {before.path}", before.path)


def _leaves_the_rest(before: Source, after: Source) -> Iterator[Broken]:
    """Check that text outside of edits is unchanged and in order, and that taking back the edits restores the file."""
    step, text = after, after.text
    while step.before is not None:
        pieces, done, shift = [], 0, 0
        for edit in step.edits:
            start = edit.span.start + shift
            pieces += [text[done:start], step.before.text[edit.span.start : edit.span.end]]
            done = start + len(edit.new)
            shift += len(edit.new) - len(edit.span)
        text = b"".join([*pieces, text[done:]])
        step = step.before
    if text != before.text:
        yield Broken(f"not undone: {before.path}", before.path)


def _converges(ported: Ported, target: Target | None, part: Callable[[PurePath], str]) -> Iterator[Broken]:
    """Check that a second run changes nothing.

    Parts that the first run did not change must stay the same in any case. But Python imports anywhere affect the
    packages of the whole tree.
    """
    files: list[Source | NewFile] = [*ported.project.sources, *ported.created]
    written: list[Source | NewFile] = [*ported.changed, *ported.created]
    concerned = {part(each.path) for each in written}
    texts = {e.path.as_posix(): e.text for e in files if part(e.path) in concerned or isinstance(e, Python)}
    if not concerned:
        return
    again = rewrite(texts, target=target, jobs=1)
    changed = {each.path for each in again.changed}
    for each in again.reported:
        if each.outcome is Outcome.APPLIED:
            yield Broken(f"not idempotent: {each.rule}", each.path)
            changed.discard(each.path)
    for each in again.failures:
        yield Broken(f"exception: {each.rule}: {each.reason}", each.path)
    for path in sorted(changed):
        yield Broken(f"not idempotent: {path}", path)


def _keeps_conditions(before: Source, after: Source) -> Iterator[Broken]:
    """Check that no condition of the preprocessor is written that compilers reject: to the parser it is any text."""
    if isinstance(before, Cpp) and isinstance(after, Cpp) and _rejected(after) > _rejected(before):
        yield Broken(f"condition: {before.path}", before.path)


#: The laws about single changed files.
_OF_FILES = (_adds_no_errors, _keeps_line_endings, _keeps_comments, _keeps_conditions, _leaves_the_rest)

# A line with a backslash before an empty line, which the parser does not know.
_NOTHING = re.compile(rb"\\\r?\n[ \t]*(?:\r?\n|\Z)")
_DIRECTIVE = re.compile(
    rb"#[ \t]*((?:ifn?def|define|undef)(?=[ \t]+[A-Za-z_])|(?:el)?if\b(?=[ \t(!]*[\w(])|else(?=\s)|endif\b"
    rb"|include(?=[ \t]*[\w\"<])|pragma|error|warning|line)"
)
_CONDITION = re.compile(rb"#[ \t]*(?:el)?if\b")
_NAMED = re.compile(rb"#[ \t]*(?:ifn?def|elifn?def)[\s\\]+[A-Za-z_]")
_ANY_CONDITION = re.compile(rb"#[ \t]*(?:ifn?def|(?:el)?if|elifn?def)\b")
_PARAMETERS = re.compile(rb"#[ \t]*define[ \t]+\w+\(")
_NAME = re.compile(rb"\b[A-Za-z_]\w*")
_REMARK = re.compile(rb"//(?:[^\\\r\n]|\\[ \t\f\v]*(?:\r\n?|\n)|\\)*|/\*(?:[^*]|\*(?!/))*\*/")
_REMARKS = re.compile(rb"(?:^|[ \t])#[^\r\n]*", re.MULTILINE)


def _comments(each: Source) -> Iterator[bytes]:
    """Yield the comments of a file; not all of them if a line has quotes and there is no parser for it."""
    if isinstance(each, Cpp):
        for match in REMARK.finditer(each.text):
            before = each.text.rfind(b"/", 0, match.start())
            opens = each.text[max(0, before - 1) : before + 2].lstrip() if before >= 0 else b""
            code = each.code[match.start() : match.end()]
            path = any(include.target.start < match.start() < include.target.end for include in each.includes)
            if not code.strip() and not path and opens.startswith((b"//", b"/*")) and not each.quoted(match.start()):
                yield match.group()
    elif isinstance(each, Python):
        try:
            for token in tokenize.tokenize(io.BytesIO(each.text).readline):
                if token.type == tokenize.COMMENT:
                    yield token.string.encode("utf-8", "surrogateescape")
        except (tokenize.TokenError, SyntaxError, ValueError):
            return
    elif isinstance(each, CMake):
        yield from (each[token.span] for token in each.tokens if token.kind == "comment")
    elif not isinstance(each, (Json, Notebook, Markdown)):
        for match in _REMARKS.finditer(each.text):
            line = each.text[each.text.rfind(b"\n", 0, match.start()) + 1 : match.start()]
            if not re.search(rb"[\"'\[\]\\`#]|<<", line):
                yield match.group()


class _AllDefined:
    """Macros that are all defined, as 1."""

    def defined(self, name: bytes) -> bool | None:
        return True

    def number(self, name: bytes) -> int | None:
        return 1


def _rejected(each: Cpp) -> int:
    """Return the number of conditions that are none."""
    return sum(
        bool(_ANY_CONDITION.match(each.code, span.start)) and not _is_condition(each.code[span.start : span.end])
        for span in each.directives
    )


def _is_condition(directive: bytes) -> bool:
    asked = _CONDITION.match(directive)
    if asked is None:
        return _NAMED.match(directive) is not None
    try:
        Condition(tokens(directive[asked.end() :]), _AllDefined()).value()
    except (IndexError, ValueError, RecursionError):
        return False
    return True


def _changed(ported: Ported) -> Iterator[tuple[Source, Source]]:
    for before, after in zip(ported.before.sources, ported.project.sources, strict=True):
        if before.text != after.text:
            yield before, after


def _fresh(each: Source) -> Source:
    """Return the same text without cached facts."""
    return source(PurePosixPath(each.path), each.text)


def _is_sound(each: Source, after: Source) -> bool:
    """Return whether a file, which became `after`, has no syntax errors.

    The parser may accept text that every compiler rejects: brackets, or an `#if`, without an end, a number sign within
    code, and a directive without its argument, such as an `#include` without a path, which then takes one from the next
    line. If the parser accepts a text, but finds an error in another spelling of it, it has guessed.
    """
    if isinstance(each, Cpp):
        directives = [_DIRECTIVE.match(each.code, span.start) for span in each.directives]
        opened = sum(match is not None and match[1].startswith(b"if") for match in directives)
        whole = all(directives) and not any(_cut_short(each.code[span.start : span.end]) for span in each.directives)
        if each.guessed or not whole or _NOTHING.search(each.code) or opened != len(each.conditionals):
            return False
        if any(_fresh(replace(each, text=text)).errors for text in _spelled_otherwise(each, after)):
            return False
    return not each.errors


def _spelled_otherwise(each: Cpp, after: Source) -> Iterator[bytes]:
    """Yield other spellings of the text that are the same to a compiler."""
    yield _replaced(each, dict.fromkeys(_remarks(each), b" "))
    mark = MARK if each.text.startswith(MARK) else b""
    yield mark + b'#include "a.h"\n' + each.text[len(mark) :]
    # With the final names: to the parser, MACRO TYPE name is valid, but TYPE TYPE name is not.
    names = dict(_renamed(after))
    yield _NAME.sub(lambda match: names.get(match.group(), match.group()), each.text)


def _renamed(step: Source) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names that edits replace by other names."""
    while step.before is not None:
        for edit in step.edits:
            old = step.before[edit.span]
            if _NAME.fullmatch(old) and _NAME.fullmatch(edit.new):
                yield old, edit.new
        step = step.before


def _unmarked(each: Source) -> Source:
    """Return the text without the marks of hipport's own text."""
    if not isinstance(each, Cpp):
        return each
    marks = [span for span in _remarks(each) if each[span] == own_guards.MARK.strip()]
    blank = {Span(span.start - each.text.endswith(b" ", 0, span.start), span.end): b"" for span in marks}
    return replace(each, text=_replaced(each, blank))


def _replaced(each: Source, news: Mapping[Span, bytes]) -> bytes:
    pieces, done = [], 0
    for span, new in news.items():
        pieces += [each.text[done : span.start], new]
        done = span.end
    return b"".join([*pieces, each.text[done:]])


def _remarks(each: Cpp) -> Iterator[Span]:
    """Yield the comments of C++."""
    for match in _REMARK.finditer(each.text):
        if not each.code[match.start() : match.end()].strip() and not each.quoted(match.start()):
            yield Span(*match.span())


def _cut_short(directive: bytes) -> bool:
    """Return whether the parameters of a macro, or the brackets of a condition, do not end on their line."""
    if _CONDITION.match(directive):
        return directive.count(b"(") != directive.count(b")")
    return _PARAMETERS.match(directive) is not None and b")" not in directive


def _is_text(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
