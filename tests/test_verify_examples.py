# SPDX-License-Identifier: Apache-2.0
"""Every example: its port, and some originals, on the CPU executor, compared with a real NVIDIA GPU's results.

The first build compiles PyTorch's headers, which takes a minute; headers and objects are cached.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import hipport
import verifying
from further import further
from hipport import api
from hipport.executor.torch_extension import BuiltExtension
from hipport.reporting import verify_report
from hipport.verifying import execution, extension_verifier
from hipport.verifying.results import Configuration, Ran, Verified
from hipport_passes.device import inline_ptx

EXAMPLES = Path(__file__).parent.parent / "ext_examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/cases.py"))
#: Their kernels use no warp functions, or only CUB and tiles of cooperative groups, which have a size. So their results
#: do not depend on it.
NO_WARPS = {"elementwise", "tiled_matmul", "tile_reduce", "scan_sort"}
#: Examples whose ports run each time: locks, and CUB with groups. The others are similar; the tutorial verifies
#: elementwise (test_site.py), and ballot_compact, ballots with inline PTX, runs below.
PORTS = {"hash_table", "scan_sort"}
#: The example whose original runs, and fails with 64 lanes: it relies on lockstep. test_simt_libraries.py also shows
#: that the executor has CUDA's names.
ORIGINALS = {"warp_scan"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the executor is for Linux")


def driver(example: str) -> extension_verifier.Driver:
    pytest.importorskip("torch", reason="PyTorch is not installed: the examples were not run")
    return verifying.driver(
        EXAMPLES / example,
        port=lambda places: hipport.rewrite(places),
        passes=(inline_ptx.PASS,),
        jobs=2,
    )


def run(
    given: extension_verifier.Driver, side: str, built: BuiltExtension, configurations: Sequence[Configuration]
) -> tuple[tuple[Ran, ...], tuple[str, ...]]:
    """Run one side, and compare it with itself, with NumPy, and with the original's results on a GPU."""
    recorded = EXAMPLES / given.root.name / "recorded.npz"
    gradients = "GRADIENTS" in given.file.read_text(encoding="utf-8")
    return given.run(configurations, {side: built}, recorded=recorded, gradients=gradients)


def agrees(given: extension_verifier.Driver, ran: tuple[Ran, ...], not_checked: tuple[str, ...]) -> None:
    verified = Verified(given.root, given.root.name, ran, not_checked)
    assert verified.ok, verify_report.as_text(verified)
    for number, each in enumerate(ran):
        outputs = [output for outcome in each.outcomes for output in outcome.outputs]
        against = {difference.against for output in outputs for difference in output.differences}
        # The first side counts as an original.
        assert {"reference", "recorded", *(["original"] if number else [])} <= against
    # The recordings have these inputs.
    assert not [each for each in not_checked if "recorded" in each], not_checked


@pytest.mark.parametrize("example", further(NAMES, set(NAMES) - PORTS))
def test_a_port_has_the_originals_results_with_both_wavefront_sizes(example: str) -> None:
    given = driver(example)
    configurations = [Configuration("ported", 32, order) for order in ("forward", "random:1")]
    configurations += [Configuration("ported", 64, order) for order in execution.ORDERS]
    agrees(given, *run(given, "ported", given.build("ported", given.ported()), configurations))


@pytest.mark.parametrize("example", further(NAMES, set(NAMES) - ORIGINALS))
def test_an_original_has_its_recorded_results_in_all_orders(example: str) -> None:
    """And with 64 lanes its errors are found, if it relies on a warp's 32."""
    given = driver(example)
    # The same as extension_verifier.extension, except the last step, which test_simt_torch.py tests.
    configurations = [Configuration("original", 32, order) for order in execution.ORDERS]
    wrong = [] if example in NO_WARPS else [Configuration("original", 64)]
    every, not_checked = run(given, "original", given.build("original"), [*configurations, *wrong])
    agrees(given, every[: len(configurations)], not_checked)
    for each in every[len(configurations) :]:
        failed = [outcome for outcome in each.outcomes if not outcome.ok]
        assert failed, "no case notices that the warp is twice as wide"
        # Each fault has a place in the example.
        faults = [fault for outcome in failed for fault in outcome.faults if fault.level == "fault"]
        assert all((EXAMPLES / example / fault.path).is_file() and fault.line > 0 for fault in faults), faults


def test_includes_from_above_an_extensions_folder_are_ported(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: the examples were not run")
    (tmp_path / ".git").mkdir()
    ext, include = tmp_path / "ext", tmp_path / "include"
    shutil.copytree(EXAMPLES / "ballot_compact", ext)
    include.mkdir()
    (ext / "csrc/lanes.cuh").rename(include / "lanes.cuh")
    for source in (ext / "csrc").iterdir():
        source.write_text(source.read_text().replace('"lanes.cuh"', '"../../include/lanes.cuh"'))
    verified = api.verify(ext, env=os.environ, names=["one"], waves=[32, 64], orders=["forward"], gpu=False)
    assert verified.ok, verify_report.as_text(verified)
    assert "__ballot_sync" in (include / "lanes.cuh").read_text()
