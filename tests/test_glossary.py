# SPDX-License-Identifier: Apache-2.0
"""Code, messages and pages use the glossary's words, and none that it replaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs/glossary.md"
#: Where words that are not used are listed, and therefore stand.
_LISTS = (GLOSSARY, Path(__file__))
_TERM = re.compile(r"\*\*([^*]+)\*\*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@cache
def _rows() -> tuple[tuple[str, ...], ...]:
    """Return the cells of each row in the glossary's tables."""
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()
    rows = (tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("| "))
    return tuple(row for row in rows if row[0] not in ("Word", "Not"))


def terms() -> dict[str, str]:
    """Return the glossary's words with their meanings."""
    return {term: row[1] for row in _rows() for term in _TERM.findall(row[0])}


@cache
def unused(where: str) -> tuple[str, ...]:
    """Return the words that must not be in `names`, or in `texts`."""
    rows = [row for row in _rows() if len(row) == 3]
    return tuple(word for row in rows if where in row[2].split(", ") for word in row[0].split(", "))


def parts(name: str) -> str:
    """Return the words of a name: `_LookAlike` is ` look alike `."""
    return f" {' '.join(_PART.findall(name)).lower()} "


@cache
def wrong_in_name(name: str) -> list[str]:
    """Return the words of a name that must not be used; one within a word of the glossary may be."""
    said = parts(name)
    if any(f" {word} " in said for word in unused("names")):
        for term in sorted(terms(), key=len, reverse=True):
            said = re.sub(rf" {term.replace('-', ' ')}s? ", "  ", said)
    return [word for word in unused("names") if f" {word} " in said]


def wrong_in_text(text: str) -> list[str]:
    """Return the words of a text that must not be used."""
    lower = text.lower()
    if not any(first in lower for first in _first_words()):
        return []  # a search for plain words is much faster
    return [match[0] for match in _unused_in_texts().finditer(text)]


@cache
def _first_words() -> tuple[str, ...]:
    """The longest word of each of these."""
    return tuple({max(word.split(), key=len) for word in unused("texts")})


@cache
def _unused_in_texts() -> re.Pattern[str]:
    """A pattern for these words, also with the end of a line or of a string between them."""
    words = (re.escape(word).replace(r"\ ", r'[\s"#/*f]+') for word in unused("texts"))
    return re.compile(rf"(?<![\w.])(?:{'|'.join(words)})\b", re.IGNORECASE)


def names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module defines: of functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def _code() -> list[Path]:
    return [path for folder in ("src", "passes", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]


def _texts() -> Iterator[Path]:
    yield from _code()
    yield from sorted(path for folder in ("src", "passes") for path in (ROOT / folder).rglob("*.toml"))
    # Messages of the executor. Headers that ported code includes are code, and stay as they are.
    yield from sorted(
        path for path in (ROOT / "src/hipport/executor/native").rglob("*") if path.suffix in (".cpp", ".h")
    )
    yield from sorted((ROOT / "docs").rglob("*.md"))
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted((ROOT / "fixtures").rglob("*.findings"))


def test_words_have_one_meaning() -> None:
    every = [term for row in _rows() for term in _TERM.findall(row[0])]
    assert len(every) > 60
    assert len(every) == len(set(every))
    assert all(terms().values())
    # What is to be written instead is in the glossary, or an ordinary word.
    ordinary = {"result", "equal", "iterations"}
    instead = {word for row in _rows() if len(row) == 3 for word in row[1].split(", ")}
    known = terms().keys() | {f"{term}s" for term in terms()}
    assert instead - ordinary <= known


def test_names_of_code_are_the_glossarys() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}: {', '.join(wrong)}"
        for path in _code()
        for name in (path.stem, *names(ast.parse(path.read_text(encoding="utf-8"))))
        if (wrong := wrong_in_name(name))
    }
    assert not found, "\n".join(sorted(found))


def test_names_of_fixtures_and_passes_are_the_glossarys() -> None:
    files = {(path.parent.name, path.name.partition(".")[0]) for path in (ROOT / "fixtures").glob("*/*")}
    found = {
        f"{of}/{name}: {', '.join(wrong)}"
        for of, name in files
        for each in (of, name)
        if (wrong := wrong_in_name(each))
    }
    assert not found, "\n".join(sorted(found))


def test_messages_and_pages_use_the_glossarys_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{text[: text.index(word)].count(chr(10)) + 1}: {word}"
        for path in _texts()
        if path not in _LISTS
        for text in (path.read_text(encoding="utf-8"),)
        for word in wrong_in_text(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_Reaching", ["reaching"]),
        ("reaching_definition", []),
        ("is_reaching", ["reaching"]),
        ("look_alikes", []),
        ("alike_in_warps", ["alike"]),
        ("trips", ["trips"]),
        ("trip_counts", []),
    ],
)
def test_words_are_found_in_names(name: str, wrong: list[str]) -> None:
    assert wrong_in_name(name) == wrong


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("all lanes agree on `x`", 1),
        ('"all lanes agree "\n    "on `x`"', 1),
        ("Lanes part at `x`", 1),
        ("a part of the lanes", 0),
        ("an operation without\n# a mask", 1),
        ("barriers/parted", 1),
    ],
)
def test_words_are_found_in_texts(text: str, count: int) -> None:
    assert len(wrong_in_text(text)) == count
