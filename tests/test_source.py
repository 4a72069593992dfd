# SPDX-License-Identifier: Apache-2.0
"""Edits, origins and positions, compared with models that work byte by byte."""

from __future__ import annotations

import pickle
from dataclasses import fields
from itertools import combinations
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipport.core.edits import Conflict, Edit, Span
from hipport.core.source import Source
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.make import Makefile
from hipport.syntax.packaging import Requirements, SetupCfg, ToxIni
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Dockerfile, Shell

PATH = PurePosixPath("a.cu")
TEXTS = st.text("ab\r\n", max_size=12).map(str.encode) | st.binary(max_size=12)


@st.composite
def some_edits(draw: st.DrawFn, length: int, most: int = 5) -> list[Edit]:
    edits = []
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, length))
        end = min(length, start + draw(st.integers(0, 3)))
        edits.append(Edit(Span(start, end), draw(st.sampled_from([b"", b"x", b"yz", b"a\r"]))))
    return edits


@st.composite
def edited(draw: st.DrawFn, generations: int = 1) -> Source:
    """Return a source that was changed `generations` times without a conflict."""
    source = Source(PATH, draw(TEXTS))
    for _ in range(generations):
        kept: list[Edit] = []
        for edit in draw(some_edits(len(source.text))):
            if not any(conflict(edit, other) for other in kept):
                kept.append(edit)
        source = source.apply(kept)
    return source


def conflict(a: Edit, b: Edit) -> bool:
    """Return whether edits conflict by the rules of `hipport.core.source`, stated pair by pair and byte by byte."""
    if a == b:
        return False
    if not len(a.span) and not len(b.span):
        return a.span == b.span
    if not len(a.span) or not len(b.span):
        insertion, other = (a, b) if not len(a.span) else (b, a)
        return other.span.start < insertion.span.start < other.span.end
    return bool(set(range(a.span.start, a.span.end)) & set(range(b.span.start, b.span.end)))


def by_byte(text: bytes, edits: list[Edit]) -> bytes:
    """Return the result of `apply` for edits without conflicts, by looking up insertions and replacements for each
    byte.
    """
    out = b""
    for offset in range(len(text) + 1):
        for edit in set(edits):
            if edit.span == Span(offset, offset):
                out += edit.new
        replacing = [e for e in set(edits) if e.span.start <= offset < e.span.end]
        for edit in replacing:
            if edit.span.start == offset:
                out += edit.new
        if not replacing:
            out += text[offset : offset + 1]
    return out


@given(st.data())
def test_edits_are_made_whatever_their_order_or_refused(data: st.DataObject) -> None:
    text = data.draw(TEXTS)
    edits = data.draw(some_edits(len(text)))
    shuffled = data.draw(st.permutations(edits))
    source = Source(PATH, text)
    if any(conflict(a, b) for a, b in combinations(edits, 2)):
        for order in (edits, shuffled):
            with pytest.raises(Conflict):
                source.apply(order)
    else:
        assert source.apply(edits).text == by_byte(text, edits)
        assert source.apply(shuffled) == source.apply(edits)


@given(st.data())
def test_edits_without_conflict_commute(data: st.DataObject) -> None:
    """The meaning of "conflict": applied one by one, in both orders, two edits have the same result as together."""
    text = data.draw(TEXTS)
    edits = data.draw(some_edits(len(text), 2))
    if len(edits) != 2 or edits[0] == edits[1] or conflict(*edits):
        return
    together = Source(PATH, text).apply(edits).text
    for first, second in (edits, edits[::-1]):
        shift = len(first.new) - len(first.span)
        behind = second.span.start >= first.span.end
        moved = Span(second.span.start + shift, second.span.end + shift) if behind else second.span
        assert Source(PATH, text).apply([first]).apply([Edit(moved, second.new)]).text == together


def test_conflict_rules_as_documented() -> None:
    source = Source(PATH, b"0123456789")
    replace, inside, before, after = (
        Edit(Span(2, 5), b"R"),
        Edit(Span(3, 3), b"i"),
        Edit(Span(2, 2), b"b"),
        Edit(Span(5, 5), b"a"),
    )
    assert source.apply([after, replace, before]).text == b"01bRa56789"
    assert source.apply([replace, replace, before, before]).text == b"01bR56789"
    for clash in (
        [replace, inside],
        [replace, Edit(Span(4, 6), b"")],
        [replace, Edit(Span(2, 5), b"S")],
        [before, Edit(Span(2, 2), b"c")],
        [Edit(Span(10, 11), b"")],
    ):
        with pytest.raises(Conflict):
            source.apply(clash)
    top = Edit(Span(2, 2), b"t", on_top=True)
    assert source.apply([before, top, replace]).text == b"01tbR56789"
    with pytest.raises(Conflict):
        source.apply([top, Edit(Span(2, 2), b"u", on_top=True)])
    assert source.apply([]) is source


@pytest.mark.parametrize("bad", [(-1, 0), (3, 2)])
def test_a_span_is_in_order(bad: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="not a span"):
        Span(*bad)


def one_step_back(after: Source, span: Span) -> Span:
    """Return the place of `span` before the edits, from a list that records for each byte the edit that wrote it."""
    assert after.before is not None
    before = after.before.text
    cells: list[tuple[Span, bool]] = []  # Per byte: the span it comes from, and whether an edit wrote it.
    done = 0
    for edit in after.edits:
        cells += [(Span(i, i + 1), False) for i in range(done, edit.span.start)]
        cells += [(edit.span, True)] * len(edit.new)
        done = edit.span.end
    cells += [(Span(i, i + 1), False) for i in range(done, len(before))]
    if len(span):
        start, end = cells[span.start][0].start, cells[span.end - 1][0].end
        return Span(start, max(start, end))
    left = cells[span.start - 1] if span.start else None
    right = cells[span.start] if span.start < len(cells) else (Span(len(before), len(before)), False)
    if left is not None and left[1] and right[1] and left[0] == right[0]:
        return left[0]
    return Span(right[0].start, right[0].start)


@given(edited(3), st.data())
def test_origin_goes_back_edit_by_edit(source: Source, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(source.text)))
    span = Span(start, data.draw(st.integers(start, len(source.text))))
    expected, at = span, source
    while at.before is not None:
        expected, at = one_step_back(at, expected), at.before
    assert source.origin(span) == expected


@given(edited(4))
def test_origins_are_in_order_and_untouched_bytes_are_their_own(source: Source) -> None:
    first = source.first.text
    origins = [source.origin(Span(i, i + 1)) for i in range(len(source.text))]
    assert [o.start for o in origins] == sorted(o.start for o in origins)
    assert [o.end for o in origins] == sorted(o.end for o in origins)
    assert all(o.end <= len(first) for o in origins)
    untouched = set(range(len(first)))
    at, spans = source, []
    while at.before is not None:
        spans += [at.before.origin(edit.span) for edit in at.edits if len(edit.span)]
        at = at.before
    for span in spans:
        untouched -= set(range(span.start, span.end))
    there = {o.start: source.text[i : i + 1] for i, o in enumerate(origins) if len(o) == 1}
    for offset in untouched:
        assert there[offset] == first[offset : offset + 1]


def test_origin_of_written_text_is_the_replaced_span() -> None:
    source = Source(PATH, b"k << <1, 2>> >(x);").apply([Edit(Span(2, 6), b"<<<"), Edit(Span(10, 14), b">>>")])
    assert source.text == b"k <<<1, 2>>>(x);"
    assert source.origin(Span(2, 5)) == Span(2, 6)
    assert source.origin(Span(3, 3)) == Span(2, 6)
    assert source.origin(Span(0, 12)) == Span(0, 14)
    again = source.apply([Edit(Span(3, 4), b"?!")])
    assert again.origin(Span(3, 5)) == Span(2, 6)
    assert again.origin(Span(13, 14)) == Span(14, 15)


@given(TEXTS)
def test_positions_count_every_line_ending_once(text: bytes) -> None:
    source = Source(PATH, text)
    line, column = 1, 1
    lines = [b""]
    for offset in range(len(text) + 1):
        assert source.position(offset) == (line, column)
        byte = text[offset : offset + 1]
        column += 1
        if byte == b"\n" or (byte == b"\r" and text[offset + 1 : offset + 2] != b"\n"):
            line, column = line + 1, 1
            lines.append(b"")
        elif byte != b"\r":
            lines[-1] += byte
    assert [source.line(number) for number in range(1, len(lines) + 2)] == [*lines, b""]


@pytest.mark.parametrize(
    ("text", "newline"),
    [(b"a\r\nb\n", b"\r\n"), (b"a\nb\r\n", b"\n"), (b"a", b"\n"), (b"", b"\n"), (b"a\rb\r\n", b"\r\n")],
)
def test_inserted_lines_end_as_the_first_one_does(text: bytes, newline: bytes) -> None:
    assert Source(PATH, text).newline == newline


@pytest.mark.parametrize("language", [Cpp, Python, ToxIni, SetupCfg, Requirements])
def test_a_carriage_return_alone_ends_lines_of_some_languages(language: type[Source]) -> None:
    source = language(PATH, b"a\rb c")
    assert source.newline == b"\r" and source.line_start(4) == 2 and source.indent(2) == b""


@pytest.mark.parametrize("language", [Source, CMake, Makefile, Dockerfile, Shell])
def test_a_carriage_return_alone_ends_no_lines_of_others(language: type[Source]) -> None:
    source = language(PATH, b"a\rb c")
    assert source.newline == b"\n" and source.line_start(4) == 0


@pytest.mark.parametrize("language", [Source, Cpp, Cuda, Python])
def test_pickling_drops_cached_facts(language: type[Source]) -> None:
    source = language(PATH, b"int x;\n").apply([Edit(Span(4, 5), b"y")])
    fresh = pickle.dumps(source)
    assert source.position(6) == (1, 7)
    assert source.origin(Span(4, 5)) == Span(4, 5)
    assert source.errors in (0, 1)
    source.fact(len_of_text)
    if isinstance(source, Cpp):
        assert source.code == source.text
        assert not source.directives
    assert pickle.dumps(source) == fresh
    again = pickle.loads(fresh)
    assert again == source
    assert type(again) is language
    assert set(again.__dict__) == {field.name for field in fields(language)}


def test_an_edit_keeps_positions_and_drops_other_facts() -> None:
    source = Cpp(PATH, b"#include <a.h>\nint x;\n")
    edited = source.apply([Edit(Span(19, 20), b"y")])
    assert edited.before is source
    assert (source.position(19), len(source.includes), source.errors) == ((2, 5), 1, 0)
    source.fact(len_of_text)
    source.settle()
    assert {"_line_starts", "includes"} <= set(source.__dict__)
    assert {"tree", "code", "_facts", "_lexed"}.isdisjoint(source.__dict__)
    assert (source.position(19), len(source.includes), source.errors) == ((2, 5), 1, 0)


def len_of_text(source: Source) -> int:
    return len(source.text)


def test_a_fact_is_computed_once_per_text() -> None:
    asked: list[bytes] = []

    def fact(source: Source) -> int:
        asked.append(source.text)
        return len(asked)

    source = Source(PATH, b"a")
    assert [source.fact(fact), source.fact(fact)] == [1, 1]
    assert source.apply([Edit(Span(0, 1), b"b")]).fact(fact) == 2
    assert asked == [b"a", b"b"]
