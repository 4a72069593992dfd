# SPDX-License-Identifier: Apache-2.0
"""Every example: the original and its port on the CPU executor, against what a real NVIDIA GPU gave.

The first build compiles PyTorch's headers, which takes a minute and is kept, as are objects.
"""

import os
import sys
from pathlib import Path

import pytest

import hipport
from hipport import verifier, verify_report
from hipport.verification import Configuration
from hipport_passes import inline_ptx

EXAMPLES = Path(__file__).parent.parent / "ext_examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/cases.py"))
#: Their kernels ask nothing of a warp, or CUB, or tiles of cooperative groups, which say their size.
#: So they give the same with any.
NO_WARPS = {"elementwise", "tiled_matmul", "tile_reduce", "scan_sort"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the executor is for Linux")


def driver(example: str) -> verifier.Driver:
    pytest.importorskip("torch", reason="PyTorch is not installed: the examples were not run")
    return verifier.Driver(
        EXAMPLES / example,
        os.environ,
        Path(sys.executable),
        port=lambda root: hipport.rewrite([root]),
        passes=(inline_ptx.PASS,),
        jobs=2,
    )


@pytest.mark.parametrize("example", NAMES)
def test_verifies_at_both_wavefronts_in_all_orders(example: str) -> None:
    given = driver(example)
    verified = verifier.extension(
        given.path, env=given.env, python=given.python, port=given.port, passes=given.passes, jobs=given.jobs
    )
    assert verified.ok, verify_report.as_text(verified)
    assert {str(ran.configuration) for ran in verified.ran} == {
        f"{side} {order}" for side in ("original@32", "ported@32", "ported@64") for order in verifier.ORDERS
    }
    against = {
        d.against for ran in verified.ran for o in ran.outcomes for output in o.outputs for d in output.differences
    }
    assert {"original", "reference", "recorded"} <= against
    # The recordings are of these inputs.
    assert not [each for each in verified.not_checked if "recorded" in each], verified.not_checked


@pytest.mark.parametrize("example", [name for name in NAMES if name not in NO_WARPS])
def test_the_original_is_caught_with_64_lanes(example: str) -> None:
    given = driver(example)
    built = {"original": given.build("original")}
    configurations = (Configuration("original", 32), Configuration("original", 64))
    ran, _ = given.run(configurations, built, recorded=EXAMPLES / example / "recorded.npz")
    caught = [outcome for outcome in ran[1].outcomes if not outcome.ok]
    assert caught, "no case notices that the warp is twice as wide"
    # What is found has a place in the example.
    faults = [fault for outcome in caught for fault in outcome.faults if fault.level == "fault"]
    assert all((EXAMPLES / example / fault.path).is_file() and fault.line > 0 for fault in faults), faults
