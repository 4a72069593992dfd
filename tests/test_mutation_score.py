# SPDX-License-Identifier: Apache-2.0
"""Ports with one thing wrong, of programs and examples that print their results: differences are noticed.

The score is printed at the end of the run. A mutant whose results equal the port's, bit for bit, does not count.
"""

import os
import sys
from pathlib import Path

import pytest

import verifying
from further import further
from hipport import api
from hipport.reporting import verify_report
from hipport.verifying.results import MutationScore
from hipport_passes.device import inline_ptx

MEASURED = Path(__file__).parent / "measured"
EXAMPLES = Path(__file__).parent.parent / "ext_examples"
PROGRAMS = sorted(path.stem for path in MEASURED.glob("*.cu"))
EXTENSIONS = sorted(path.parent.name for path in EXAMPLES.glob("*/cases.py"))
#: Programs that are tested each time, with few mutants.
SAMPLE = {"compact"}
MOST, FEW = 10, 4
#: Mutants with other results that are nevertheless right: (program, what, line) and the reason.
EQUIVALENT: dict[tuple[str, str, int], str] = {}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the executor is for Linux")


def judged(name: str, score: MutationScore, record: pytest.FixtureRequest) -> None:
    """Record the score for printing, and check the missed mutants."""
    counts = (len(score.noticed), len(score.missed), len(score.unnoticed) - len(score.missed))
    record.node.user_properties.append(("mutation score", counts))
    missed = [each for each in score.missed if (name, each.what, each.line) not in EQUIVALENT]
    assert not missed, verify_report.mutation_score_as_text(score)
    assert score.noticed, "nothing is noticed"


def test_there_are_programs_of_many_kinds() -> None:
    assert len(PROGRAMS) >= 30 and set(PROGRAMS) > SAMPLE
    assert {name for name, *_ in EQUIVALENT} <= {*PROGRAMS, *EXTENSIONS}


@pytest.mark.parametrize("name", further(PROGRAMS, set(PROGRAMS) - SAMPLE))
def test_a_wrong_port_of_a_program_is_noticed(name: str, request: pytest.FixtureRequest) -> None:
    words = {"env": {**os.environ}, "port": api.rewrite, "passes": (inline_ptx.PASS,)}
    program = [MEASURED / f"{name}.cu"]
    # Its port must be right, and so must the original in all orders: otherwise there is nothing to measure.
    verified = verifying.program(program, orders=("forward", "reverse"), **words)
    assert verified.ok and all(each.ok for each in verified.ran), verify_report.as_text(verified)
    most = MOST if request.config.getoption("--further") else FEW
    judged(name, verifying.program_mutation_score(program, most=most, **words), request)


@pytest.mark.parametrize("name", further(EXTENSIONS, EXTENSIONS))
def test_a_wrong_port_of_an_example_is_noticed(name: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: the examples were not run")
    score = verifying.extension_mutation_score(
        EXAMPLES / name,
        env={**os.environ},
        python=Path(sys.executable),
        port=api.rewrite,
        passes=(inline_ptx.PASS,),
        jobs=2,
        most=FEW,
    )
    judged(name, score, request)
