# SPDX-License-Identifier: Apache-2.0
"""The laws hold of all that ever broke one, and of some inputs made at random; `make fuzz` tries many more."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from inputs import Random, seeds, tree, trees
from laws import broken

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("case", sorted(CORPUS.iterdir()), ids=lambda case: case.name)
def test_what_broke_a_law_breaks_none(case: Path, request: pytest.FixtureRequest) -> None:
    if case.name.startswith("open_"):
        request.applymarker(pytest.mark.xfail(reason="not mended yet", strict=True))
    texts = {path.relative_to(case).as_posix(): path.read_bytes() for path in case.rglob("*") if path.is_file()}
    assert broken(texts) == []


# The same inputs each time: others are for `make fuzz`.
@settings(max_examples=200, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees())
def test_no_input_breaks_a_law(texts: dict[str, bytes]) -> None:
    assert broken(texts) == []


def test_inputs_are_of_all_kinds_and_differ() -> None:
    chance = Random(0)
    made = [tree(chance) for _ in range(2000)]
    assert len({str(each) for each in made}) > 1900
    assert len({name for each in made for name in each}) > len(seeds())
