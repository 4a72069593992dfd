# SPDX-License-Identifier: Apache-2.0
"""Every example: the original and its port on the CPU executor, against what a real NVIDIA GPU gave.

The first build compiles PyTorch's headers, which takes a minute and is kept, as are objects.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

import hipport
import verifying
from hipport import api
from hipport.reporting import verify_report
from hipport.verifying import execution, extension_verifier
from hipport.verifying.results import Configuration, Verified
from hipport_passes.device import inline_ptx

EXAMPLES = Path(__file__).parent.parent / "ext_examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/cases.py"))
#: Their kernels ask nothing of a warp, or CUB, or tiles of cooperative groups, which say their size.
#: So they give the same with any.
NO_WARPS = {"elementwise", "tiled_matmul", "tile_reduce", "scan_sort"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the executor is for Linux")


def driver(example: str) -> extension_verifier.Driver:
    pytest.importorskip("torch", reason="PyTorch is not installed: the examples were not run")
    return verifying.driver(
        EXAMPLES / example,
        os.environ,
        Path(sys.executable),
        port=lambda places: hipport.rewrite(places),
        passes=(inline_ptx.PASS,),
        jobs=2,
    )


@pytest.mark.parametrize("example", NAMES)
def test_verifies_at_both_wavefronts_in_all_orders(example: str) -> None:
    """And the original, which is built for that anyhow, is caught with 64 lanes if it counts on a warp's 32."""
    given = driver(example)
    sides = {"original": given.build("original"), "ported": given.build("ported", given.ported())}
    configurations = [Configuration("original", 32, order) for order in execution.ORDERS]
    configurations += [Configuration("ported", lanes, order) for lanes in execution.WAVES for order in execution.ORDERS]
    wrong = [] if example in NO_WARPS else [Configuration("original", 64)]
    # What extension_verifier.extension does, but for the last: that it does so is tested in test_simt_torch.py.
    recorded = EXAMPLES / example / "recorded.npz"
    gradients = "GRADIENTS" in given.file.read_text(encoding="utf-8")
    every, not_checked = given.run([*configurations, *wrong], sides, recorded=recorded, gradients=gradients)
    ran, caught = every[: len(configurations)], every[len(configurations) :]

    verified = Verified(given.root, example, ran, not_checked)
    assert verified.ok, verify_report.as_text(verified)
    assert {str(each.configuration) for each in ran} == {
        f"{side} {order}" for side in ("original@32", "ported@32", "ported@64") for order in execution.ORDERS
    }
    against = {d.against for each in ran for o in each.outcomes for output in o.outputs for d in output.differences}
    assert {"original", "reference", "recorded"} <= against
    # The recordings are of these inputs.
    assert not [each for each in not_checked if "recorded" in each], not_checked

    for each in caught:
        failed = [outcome for outcome in each.outcomes if not outcome.ok]
        assert failed, "no case notices that the warp is twice as wide"
        # What is found has a place in the example.
        faults = [fault for outcome in failed for fault in outcome.faults if fault.level == "fault"]
        assert all((EXAMPLES / example / fault.path).is_file() and fault.line > 0 for fault in faults), faults


def test_what_an_extension_includes_from_above_its_folder_is_ported_with_it(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: the examples were not run")
    (tmp_path / ".git").mkdir()
    ext, include = tmp_path / "ext", tmp_path / "include"
    shutil.copytree(EXAMPLES / "ballot_compact", ext)
    include.mkdir()
    (ext / "csrc/lanes.cuh").rename(include / "lanes.cuh")
    for source in (ext / "csrc").iterdir():
        source.write_text(source.read_text().replace('"lanes.cuh"', '"../../include/lanes.cuh"'))
    verified = api.verify(ext, env=os.environ, names=["one"], waves=[64], orders=["forward"], gpu=False)
    assert verified.ok, verify_report.as_text(verified)
    assert "__ballot_sync" in (include / "lanes.cuh").read_text()
