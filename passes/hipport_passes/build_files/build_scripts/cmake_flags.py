# SPDX-License-Identifier: Apache-2.0
"""Flags for nvcc in a CMake script: words in arguments and in generator expressions, and the same text for HIP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hipport.core.edits import Span
from hipport.core.finding import Certainty
from hipport.syntax.build_names import NAMES
from hipport.syntax.cmake_script import Argument, CMake, CMakeCommand, GeneratorExpression
from hipport.syntax.holes import HOLE
from hipport_passes.build_files.build_scripts.standards import settled
from hipport_passes.build_files.nvcc_flags import FlagChange, telling, translate

if TYPE_CHECKING:
    from hipport_passes.build_files.build_scripts.cmake_trees import Tree

# Quotes within an unquoted argument are part of its value; a part of an argument may have only one of them.
_WORD = re.compile(rb'(?:SHELL:)?((?:\\"(?:[^"\\]|\\[^"])*\\"|"[^"\r\n]*"|[^\s;\\]|\\.)+)')
_QUOTED = re.compile(r'"([^"\s]+)"')
_REFERENCE = NAMES.compile(r"\$(?&cmake_variables)?\{[^{}]*\}|\$<[^<>]*>|@\w+@")
_ABI = NAMES.compile(rb"(?:-D)?(?&abi)=0")

#: A test for the language CUDA in a generator expression: for CUDA alone, or for several languages.
LANGUAGE = re.compile(rb"\$<COMPILE_LANG(?:UAGE:(?P<languages>[A-Z,]+)|_AND_ID:(?P<language>[A-Z]+),(?P<ids>[\w,]+))>")


@dataclass
class FlagCopy:
    """The replacements for words of a text, and their messages."""

    #: The replacement text of each span inside the copied text.
    puts: dict[Span, bytes] = field(default_factory=dict)
    changes: list[FlagChange] = field(default_factory=list)
    #: The number of words, and of those that remain.
    words: int = 0
    kept: int = 0
    #: The variables whose values are among the words.
    references: set[str] = field(default_factory=set)

    @property
    def certainty(self) -> Certainty:
        """Return the least certain of the changes that have a replacement."""
        return max((c.certainty for c in self.changes if c.certainty is not Certainty.MANUAL), default=Certainty.SAFE)

    @property
    def manual(self) -> list[FlagChange]:
        """Return the advice for changes without a replacement."""
        return [change for change in self.changes if change.certainty is Certainty.MANUAL]

    def text(self, source: CMake, span: Span, more: Iterable[tuple[Span, bytes]] = ()) -> bytes:
        """Return the text of `span` with all replacements made."""
        pieces: list[bytes] = []
        done = span.start
        for place, new in sorted([*self.puts.items(), *more]):
            if span.start <= place.start and place.end <= span.end:
                pieces += (source.text[done : place.start], new)
                done = place.end
        return b"".join([*pieces, source.text[done : span.end]])


def words(source: CMake, span: Span) -> list[tuple[str, Span]]:
    """Return the words in `span`; an unknown part is HOLE."""
    return [
        (
            _REFERENCE.sub(HOLE, _plain(match[1].decode("utf-8", "replace"))).replace('\\"', '"'),
            Span(span.start + match.start(1), span.start + match.end(1)),
        )
        for match in _WORD.finditer(_unquoted(source, span))
    ]


def _unquoted(source: CMake, span: Span) -> bytes:
    """Return the text of `span` with blanks for the quotes of the arguments in it, which are not part of words."""
    text = bytearray(source[span])
    for token in source.tokens_in(span) if b'"' in text else ():
        if token.kind == "quoted":
            text[token.span.start - span.start] = text[token.span.end - 1 - span.start] = ord(" ")
    return bytes(text)


def _plain(word: str) -> str:
    """Return a word without its quotes, and without the expression that stands for a comma in expressions."""
    quoted = _QUOTED.fullmatch(word)
    return (quoted[1] if quoted else word).replace("$<COMMA>", ",")


def tells(source: CMake, arguments: Sequence[Argument], torch: bool) -> bool:
    """Return whether one of the words is a flag that only nvcc has, or sets PyTorch's ABI."""
    return any(
        telling().fullmatch(word) or (torch and _ABI.fullmatch(source[span]))
        for argument in arguments
        for word, span in words(source, argument.content)
    )


def copied(
    source: CMake, regions: Sequence[Span], tree: Tree, rocm: tuple[int, int], of: str = "nvcc", gap: bytes = b" "
) -> FlagCopy:
    """Translate the words of `regions`, one list of flags: arguments, or parts of a generator expression.

    `gap` separates the new words where there was only one word.
    """
    copy = FlagCopy()
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
    """Replace each HOLE by the part of the flags `given` that belongs there; None if that is ambiguous."""
    parts = [part for flag in given for part in _REFERENCE.findall(_plain(flag))]
    holes = sum(flag.count(HOLE) for flag in hip)
    if holes and holes != len(parts):
        return None
    rest = iter(parts)
    return [re.sub(HOLE, lambda _: next(rest), flag).replace('"', '\\"') for flag in hip]


def _text(source: CMake, span: Span) -> str:
    return source[span].decode("utf-8", "replace")


def _joined(source: CMake, region: Span, kept: Sequence[str], gap: bytes) -> bytes:
    """Join words as those of `region` are joined: by semicolons, by blanks, or one per line."""
    text = source[region]
    gaps = re.findall(rb"[\s;]+", text.strip())
    gap = next((b";" if b";" in each else each for each in gaps), gap)
    if b";" in text or b"SHELL:" in text:
        gap = b";"
    # The text between these words and an adjacent expression is kept.
    begin = re.match(rb"[\s;]*", text)
    assert begin is not None
    end = text[len(text.rstrip(b"; \t\r\n")) :] if text.strip(b"; \t\r\n") else b""
    return begin.group() + gap.join(word.encode() for word in kept) + end


def leaves(source: CMake, expression: GeneratorExpression) -> list[Span]:
    """Return the plain parts of an expression's content, and those of the expressions inside it.

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


def stands_alone(source: CMake, expression: GeneratorExpression) -> bool:
    """Return whether a copy of an expression may follow it: it ends in the argument or list item in which it begins."""
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
    """Return the arguments from `first` on that are flags, without those that tell `set` about the variable."""
    found: list[Argument] = []
    for argument in command.arguments[first:]:
        if argument.kind == "unquoted" and source[argument.span] in (b"CACHE", b"PARENT_SCOPE"):
            break
        if argument.kind in ("unquoted", "quoted"):
            found.append(argument)
    return found
