# SPDX-License-Identifier: Apache-2.0
"""Patterns of paths: their matches, and that no pattern takes long."""

import fnmatch
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hipport.core.globs import Glob


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("a.cu", ["a.cu"], ["b/a.cu", "a.cu/b", "axcu"]),
        ("*.cu", ["a.cu", ".cu", "a\nb.cu"], ["b/a.cu"]),
        ("a/*/c", ["a/b/c"], ["a/c", "a/b/b/c"]),
        ("**/a*b", ["ab", "x/axb", "x/y/ab"], ["ab/x", "x/ba"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a", "b", "a/x/b/c"]),
        ("**", ["a", "a/b"], []),
        ("**/t/**/u/*", ["t/u/x", "a/t/b/u/x", "t/u/u/x"], ["t/u", "u/t/x"]),
        ("[ab]?[!c]", ["axd", "bcd"], ["cxd", "axc", "ax/"]),
        ("[z-a]", [], ["z", "a", "[z-a]"]),
        ("[!z-a]", ["z"], ["zz"]),
        ("a[", ["a["], ["a"]),
        ("é*", ["é", "éa"], ["e"]),
    ],
)
def test_matches(pattern: str, matching: list[str], others: list[str]) -> None:
    glob = Glob(pattern)
    assert [path for path in matching if not glob.matches(path)] == []
    assert [path for path in others if glob.matches(path)] == []


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
@settings(max_examples=400, deadline=None)
def test_names_match_as_in_a_shell(pattern: str, name: str) -> None:
    assert Glob(re.sub(r"\*+", "*", pattern)).matches(name) == fnmatch.fnmatchcase(name, pattern)


@given(st.lists(st.sampled_from(["**", "a", "b", "*"]), min_size=1, max_size=6), st.text("ab/", min_size=1, max_size=9))
@settings(max_examples=400, deadline=None)
def test_folders_match_like_an_exhaustive_search(parts: list[str], path: str) -> None:
    names = path.split("/")

    def all_ways(row: list[str], left: list[str]) -> bool:
        if not row:
            return not left
        if row[0] == "**":
            most = range(1 if len(row) == 1 else 0, len(left) + 1)
            return any(all_ways(row[1:], left[count:]) for count in most)
        return bool(left) and (row[0] in ("*", left[0])) and all_ways(row[1:], left[1:])

    assert Glob("/".join(parts)).matches(path) == all_ways(parts, names)


@pytest.mark.parametrize("pattern", ["*a" * 30 + "x", "**/a/" * 30 + "x", "**/*a*a*a*a*a*ax/" * 20, "*" * 4000 + "x"])
def test_no_pattern_takes_long(pattern: str) -> None:
    start = time.monotonic()
    assert not Glob(pattern).matches("a" * 255)
    assert not Glob(pattern).matches("a/" * 1000 + "a" * 255)
    assert time.monotonic() - start < 2
