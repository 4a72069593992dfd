# SPDX-License-Identifier: Apache-2.0
"""Every fixture obeys every law, and every pass has fixtures, of its own name."""

from pathlib import Path
from typing import Any

import pytest

from hipport.engine.pipeline import Pass
from hipport.testing import LAWS, Fixture, fixtures
from hipport_passes import PASSES

FOLDER = Path(__file__).parent.parent / "fixtures"
BY_NAME = {each.name: each for each in PASSES}
CASES = [(BY_NAME[folder.name], case) for folder in sorted(FOLDER.iterdir()) for case in fixtures(folder)]


# One test for all laws: to begin and to report one takes longer than most laws do.
@pytest.mark.parametrize(("each", "case"), CASES, ids=[str(case) for _, case in CASES])
def test_laws(each: Pass[Any], case: Fixture) -> None:
    for law in LAWS:
        law(each, case)


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.name)
def test_pass_has_a_hit_and_a_look_alike(each: Pass[Any]) -> None:
    cases = [case for of, case in CASES if of is each]
    assert any(case.findings for case in cases), "no fixture in which the pass finds something"
    assert any(not case.findings for case in cases), "no look-alike that the pass must leave alone"


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.name)
def test_first_sentence_is_an_imperative(each: Pass[Any]) -> None:
    first = each.doc.split("\n\n")[0]
    assert first[0].isupper() and first.endswith(".")
    assert not first.split()[0].endswith("s"), first
