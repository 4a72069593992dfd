# SPDX-License-Identifier: Apache-2.0
"""Real extensions from their source packages, on the CPU executor: as CUDA, and ported, at both wavefronts.

They give what their own CPU code gives, which is built beside them. Building takes minutes.
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import hipport
from hipport import verifier, verify_report
from hipport.simt import extension
from hipport.verifier import Configuration

PACKAGES = ("torch-scatter==2.1.2", "torch-cluster==1.6.3")
CASES = Path(__file__).parent / "packages"

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(
        "HIPPORT_VERIFY_PACKAGES" not in os.environ,
        reason="not seen to pass yet: torch-scatter and torch-cluster were not run on the executor "
        "(set HIPPORT_VERIFY_PACKAGES to run them)",
    ),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_gives_what_its_cpu_code_gives(package: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: the packages were not run")
    env = {name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CUDA_PATH")}
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, package], check=True, env=env)
    (archive,) = tmp_path.glob("*.tar.gz")
    # The same place each time: what was compiled is kept by it.
    folder = verifier.Driver(tmp_path, env, Path(sys.executable)).kept / "packages"
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    tree = folder / archive.name.removesuffix(".tar.gz")
    name = package.partition("==")[0].replace("-", "_")
    driver = verifier.Driver(
        tree,
        {**env, "FORCE_ONLY_CUDA": "1"},
        Path(sys.executable),
        cases=CASES / f"{name}_cases.py",
        port=lambda root: hipport.rewrite([root]),
        jobs=2,
    )
    built = {
        "cpu": extension.build(
            tree, "host", env={**env, "FORCE_ONLY_CPU": "1"}, cache=driver.kept, python=driver.python, jobs=2
        ),
        "original": driver.build("original"),
        "ported": driver.build("ported", driver.ported()),
    }
    configurations = [
        Configuration("cpu", 1),
        *(Configuration("original", 32, order) for order in ("forward", "random:1")),
        *(Configuration("ported", lanes, order) for lanes in (32, 64) for order in ("forward", "random:1")),
    ]
    ran, _ = driver.run(configurations, built)
    assert all(outcome.status == "ok" for outcome in ran[0].outcomes), ran[0]
    whole = verifier.Verified(driver.root, name, ran[1:], ())
    assert all(each.ok for each in whole.ran), verify_report.as_text(whole)
    compared = sum(bool(output.differences) for each in whole.ran for o in each.outcomes for output in o.outputs)
    assert compared >= len(whole.ran) * len(ran[0].outcomes)
