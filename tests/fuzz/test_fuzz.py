# SPDX-License-Identifier: Apache-2.0
"""The laws hold for all inputs that ever broke one, and for some random inputs; `make fuzz` tries many more."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from deep import DEEP, nested
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inputs import CORPUS, Random, seeds, tree
from laws import TARGETS, Broken, broken, suspects


class _Drawn:
    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def choice(self, among: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(among))

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))  # type: ignore[no-any-return]


@st.composite
def trees(draw: Any) -> dict[str, bytes]:
    """Draw a tree, as `tree` makes it."""
    return tree(_Drawn(draw))


@pytest.mark.parametrize("case", sorted(CORPUS.iterdir()), ids=lambda case: case.name)
def test_inputs_that_broke_a_law_break_none(case: Path) -> None:
    texts = {path.relative_to(case).as_posix(): path.read_bytes() for path in case.rglob("*") if path.is_file()}
    assert broken(texts, TARGETS[case.name.partition("@")[2]]) == []


# The same inputs each time: `make fuzz` tries others.
@settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees())
def test_no_input_breaks_a_law(texts: dict[str, bytes]) -> None:
    assert broken(texts) == []


@pytest.mark.parametrize("target", TARGETS)
def test_no_inputs_break_a_law_side_by_side(target: str) -> None:
    chance = Random(0)
    assert suspects([tree(chance) for _ in range(100)], TARGETS[target]) == []


def test_a_tree_that_breaks_a_law_is_found_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The responsible tree is found, by itself."""
    bad = {"Makefile": b"NVCC = nvcc\n"}
    monkeypatch.setattr("laws._OF_FILES", (lambda before, after: [Broken("always", before.path)],))
    assert suspects([{"a.cu": b"int x;\n"}, bad, {"setup.py": b"x = 1\n"}]) == [bad]
    assert broken(bad) == ["always"]


@pytest.mark.parametrize("kind", DEEP)
def test_deeply_nested_input_breaks_no_law(kind: str) -> None:
    assert broken(nested(kind, 60)) == []


# The depth of generated programs: more levels than Python's stack has. In CMake each level counts twice.
@pytest.mark.parametrize(
    "kind", ["cpp_parentheses", "cmake_expressions", "python_parentheses", "json_arrays", "toml_arrays"]
)
def test_input_nested_beyond_all_limits_breaks_no_law(kind: str) -> None:
    assert broken(nested(kind, 1250 if kind == "cmake_expressions" else 2500)) == []


def test_inputs_are_of_all_kinds_and_differ() -> None:
    chance = Random(0)
    made = [tree(chance) for _ in range(2000)]
    assert len({str(each) for each in made}) > 1900
    assert len({name for each in made for name in each}) > len(seeds())
