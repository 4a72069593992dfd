# SPDX-License-Identifier: Apache-2.0
"""Flags for nvcc in a CMake script: words in arguments and in generator expressions, and the same text for HIP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hipport.core.edits import Span
from hipport.core.finding import Certainty
from hipport.syntax.cmake_script import Argument, CMake, CMakeCommand, Expression
from hipport.syntax.holes import HOLE
from hipport_passes.build_files.build_scripts.standards import settled
from hipport_passes.build_files.nvcc_flags import FlagChange, telling, translate

if TYPE_CHECKING:
    from hipport_passes.build_files.build_scripts.cmake_trees import Tree

_WORD = re.compile(rb'(?:SHELL:)?((?:\\"(?:[^"\\]|\\[^"])*\\"|[^\s;"\\]|\\.)+)')
_REFERENCE = re.compile(r"\$(?:ENV|CACHE)?\{[^{}]*\}|\$<[^<>]*>|@\w+@")
_ABI = re.compile(rb"(?:-D)?_GLIBCXX_USE_CXX11_ABI=0")

#: A test of a generator expression for the language CUDA: alone, or with others.
LANGUAGE = re.compile(rb"\$<COMPILE_LANG(?:UAGE:(?P<languages>[A-Z,]+)|_AND_ID:(?P<language>[A-Z]+),(?P<ids>[\w,]+))>")


@dataclass
class Copy:
    """What is put for words of a text, and what is to be said of it."""

    #: The text put for a span, inside of the copied text.
    puts: dict[Span, bytes] = field(default_factory=dict)
    changes: list[FlagChange] = field(default_factory=list)
    #: How many words there are, and how many remain.
    words: int = 0
    kept: int = 0
    #: The variables whose value is among the words.
    references: set[str] = field(default_factory=set)

    @property
    def certainty(self) -> Certainty:
        """The least certain of the changes, as far as text is put for them."""
        return max((c.certainty for c in self.changes if c.certainty is not Certainty.MANUAL), default=Certainty.SAFE)

    @property
    def manual(self) -> list[FlagChange]:
        """What a person must do."""
        return [change for change in self.changes if change.certainty is Certainty.MANUAL]

    def text(self, source: CMake, span: Span, more: Iterable[tuple[Span, bytes]] = ()) -> bytes:
        """Return the text of `span` with everything put."""
        pieces: list[bytes] = []
        done = span.start
        for place, new in sorted([*self.puts.items(), *more]):
            if span.start <= place.start and place.end <= span.end:
                pieces += (source.text[done : place.start], new)
                done = place.end
        return b"".join([*pieces, source.text[done : span.end]])


def words(source: CMake, span: Span) -> list[tuple[str, Span]]:
    """Return the words in `span`; a part that is not known is HOLE."""
    return [
        (_REFERENCE.sub(HOLE, _plain(match[1].decode("utf-8", "replace"))).replace('\\"', '"'), Span(*match.span(1)))
        for match in _WORD.finditer(source.text, span.start, span.end)
    ]


def _plain(word: str) -> str:
    """Return a word without the expression that a comma has to be in generator expressions."""
    return word.replace("$<COMMA>", ",")


def tells(source: CMake, arguments: Sequence[Argument], torch: bool) -> bool:
    """Say whether one of the words is a flag that only nvcc has, or sets PyTorch's ABI."""
    return any(
        telling().fullmatch(word) or (torch and _ABI.fullmatch(source[span]))
        for argument in arguments
        for word, span in words(source, argument.content)
    )


def copied(
    source: CMake, regions: Sequence[Span], tree: Tree, rocm: tuple[int, int], of: str = "nvcc", gap: bytes = b" "
) -> Copy:
    """Translate the words of `regions`, one list of flags: arguments, or parts of a generator expression.

    `gap` is what comes between words where there was but one.
    """
    copy = Copy()
    found = [(word, span, i) for i, region in enumerate(regions) for word, span in words(source, region)]
    texts = [word for word, _, _ in found]
    torch = tree.torch
    bare = ["-D" + word if torch and word.startswith("_GLIBCXX_USE_CXX11_ABI=") else word for word in texts]
    kept: list[list[str]] = [[] for _ in regions]
    touched: set[int] = set()
    done = 0
    translated = settled(translate(bare, torch=False, of=of, rocm=rocm).changes, tree.sources)
    if torch:
        abi = translate(bare, torch=True, of="host", rocm=rocm).changes
        translated += [change for change in abi if change.kind == "abi"]
    for change in sorted(translated, key=lambda change: change.start):
        for _, span, i in found[done : change.start]:
            kept[i].append(_text(source, span))
        done = change.stop
        touched |= {i for _, _, i in found[change.start : change.stop]}
        hip = None
        if change.certainty is not Certainty.MANUAL:
            hip = _filled(change.hip, [_text(source, span) for _, span, _ in found[change.start : change.stop]])
        if hip is None:
            copy.changes.append(replace(change, hip=change.flags, certainty=Certainty.MANUAL))
        else:
            copy.changes.append(change)
            kept[found[change.start][2]] += hip
    for _, span, i in found[done:]:
        kept[i].append(_text(source, span))
    for i, region in enumerate(regions):
        copy.kept += len(kept[i])
        if i in touched:
            copy.puts[region] = _joined(source, region, kept[i], gap)
    copy.words = len(found)
    copy.references = {reference.name for region in regions for reference in source.references(region)}
    return copy


def _filled(hip: Sequence[str], given: Sequence[str]) -> list[str] | None:
    """Put what the flags `given` have in place of each HOLE; None if it is not clear which belongs where."""
    parts = [part for flag in given for part in _REFERENCE.findall(_plain(flag))]
    holes = sum(flag.count(HOLE) for flag in hip)
    if holes and holes != len(parts):
        return None
    rest = iter(parts)
    return [re.sub(HOLE, lambda _: next(rest), flag).replace('"', '\\"') for flag in hip]


def _text(source: CMake, span: Span) -> str:
    return source[span].decode("utf-8", "replace")


def _joined(source: CMake, region: Span, kept: Sequence[str], gap: bytes) -> bytes:
    """Write words as those of `region` are: apart by semicolons, by blanks, or on lines of their own."""
    text = source[region]
    gaps = re.findall(rb"[\s;]+", text.strip())
    gap = next((b";" if b";" in each else each for each in gaps), gap)
    if b";" in text or b"SHELL:" in text:
        gap = b";"
    # What stands between these words and an expression beside them is kept.
    begin = re.match(rb"[\s;]*", text)
    assert begin is not None
    end = text[len(text.rstrip(b"; \t\r\n")) :] if text.strip(b"; \t\r\n") else b""
    return begin.group() + gap.join(word.encode() for word in kept) + end


def leaves(source: CMake, expression: Expression) -> list[Span]:
    """Return the parts of an expression's content that are no expressions themselves, and those of the ones inside.

    `$<COMMA>` is text; comments between arguments are not.
    """
    if expression.content is None:
        return []
    found: list[Span] = []
    start = expression.content.start
    for inside in expression.inside:
        if inside.span.start < expression.content.start or source[inside.span] == b"$<COMMA>":
            continue
        found.append(Span(start, inside.span.start))
        found += leaves(source, inside)
        start = inside.span.end
    found.append(Span(start, expression.content.end))
    return [part for span in found for part in source.without_comments(span)]


def stands_alone(source: CMake, expression: Expression) -> bool:
    """Whether an expression may stand once more beside itself: it ends in the argument, or the list, it begins in."""
    start, end = expression.span.start, expression.span.end
    depth = 0
    for token in source.tokens_around(expression.span):
        if token.kind in ("quoted", "bracket") and (token.span.start < start) != (end < token.span.end):
            return False
        depth += (token.kind == "open") - (token.kind == "close")
        if depth < 0:
            return False
    return depth == 0


def values(source: CMake, command: CMakeCommand, first: int) -> list[Argument]:
    """Return the arguments from `first` on that are flags, not what `set` says about the variable."""
    found: list[Argument] = []
    for argument in command.arguments[first:]:
        if argument.kind == "unquoted" and source[argument.span] in (b"CACHE", b"PARENT_SCOPE"):
            break
        if argument.kind in ("unquoted", "quoted"):
            found.append(argument)
    return found
