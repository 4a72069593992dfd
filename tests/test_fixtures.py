# SPDX-License-Identifier: Apache-2.0
"""Every fixture obeys every law, and every pass has fixtures, in a folder of its own name."""

from pathlib import Path
from typing import Any

import pytest

from hipport.engine.pipeline import Pass, run
from hipport.program.project import Project, Target
from hipport.syntax.cpp import Cpp
from hipport.syntax.file_languages import is_of_gpus
from hipport.syntax.shell import Definition
from hipport.testing import LAWS, Fixture, fixtures
from hipport_passes import PASSES
from hipport_passes.packages.recipes import naming

FOLDER = Path(__file__).parent.parent / "fixtures"
BY_NAME = {each.name: each for each in PASSES}
CASES = [(BY_NAME[folder.name], case) for folder in sorted(FOLDER.iterdir()) for case in fixtures(folder)]


# One test for all laws: starting and reporting a test takes longer than most laws.
@pytest.mark.parametrize(("each", "case"), CASES, ids=[str(case) for _, case in CASES])
def test_laws(each: Pass[Any], case: Fixture) -> None:
    for law in LAWS:
        law(each, case)


@pytest.mark.parametrize("of", sorted({each.name for each, case in CASES if not isinstance(case.before, Cpp)}))
def test_findings_in_a_line_are_found_in_a_tree(of: str) -> None:
    """In a tree, only files that mention GPUs are read; this one line may be the only mention."""
    named = naming({})
    for case in (case for each, case in CASES if each.name == of and not isinstance(case.before, Cpp)):
        # A definition has another line that shows its kind.
        for line in () if isinstance(case.before, Definition) else case.before.text.splitlines(keepends=True):
            alone = type(case.before)(case.before.path, line.lstrip())
            if not is_of_gpus(alone, alone.text, named):
                assert not run(Project((alone,), Target()), [BY_NAME[of]]).reported, (case.name, line)


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
