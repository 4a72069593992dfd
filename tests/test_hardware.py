# SPDX-License-Identifier: Apache-2.0
"""The port on an AMD GPU, with a GPU made of files and a hipcc that compiles for the executor (tests/fake_rocm).

This tests hipport's handling of a GPU; it was not tried on one.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hipport
import verifying
from endless import ENDLESS
from hipport.reporting import verify_report
from hipport.toolchain import toolchains
from hipport.verifying import amd_gpus
from hipport.verifying.amd_gpus import Hardware
from hipport.verifying.execution import Limits
from hipport.verifying.results import CaseOutcome, Configuration, Verified

HERE = Path(__file__).parent

PROGRAM = """
#include <cstdio>
#include <cuda_runtime.h>
__global__ void sums(int* out) {
  int value = threadIdx.x;
  for (int step = 16; step; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
#ifdef WRONG_GPU
  value++;
#endif
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = value;
}
int main(int argc, char** argv) {
  int *device, host[4];
  cudaMalloc(&device, sizeof host);
  sums<<<1, 128>>>(device);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  for (int each : host) printf("%d\\n", each);
  return argc == 2 ? 0 : 1;
}
"""


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the fake hipcc's cache: the executor's, without the toolchains of this machine."""
    folder, executor = tmp_path_factory.mktemp("fake-hipcc"), toolchains.cache(os.environ) / "simt"
    executor.mkdir(parents=True, exist_ok=True)
    (folder / "hipport").mkdir()
    (folder / "hipport/simt").symlink_to(executor)
    return folder


@pytest.fixture
def env(tmp_path: Path, compiled: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PATH": path, "ROCM_PATH": str(HERE / "fake_rocm"), "FAKE_GPU_CACHE": str(compiled)}
    # A compiler's own cache, to which it may write.
    own["CCACHE_DIR"] = str(compiled / "hipport/simt")
    python_path = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, **own, "PYTHONPATH": python_path, "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return the root of a machine with one MI300X, in its driver's files."""
    node = tmp_path / "machine/sys/class/kfd/kfd/topology/nodes/1"
    node.mkdir(parents=True)
    (node / "properties").write_text(
        "cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\nwave_front_size 64\ngfx_target_version 90402\n"
    )
    return tmp_path / "machine"


def verified(tmp_path: Path, env: dict[str, str], machine: Path) -> tuple[Verified, CaseOutcome | None]:
    """Verify the program on that machine; return the result, and that of its run on the GPU."""
    folder = tmp_path / "sums"
    folder.mkdir()
    (folder / "main.cu").write_text(PROGRAM)
    gpu = amd_gpus.hardware(env, machine)
    result = verifying.program(
        [folder / "main.cu"],
        ["argument"],
        # The executor's own part is not tested here.
        env={**env, "XDG_CACHE_HOME": env["FAKE_GPU_CACHE"]},
        port=lambda places: hipport.rewrite(places),
        waves=(64,),
        orders=("forward",),
        limits=Limits(ENDLESS),
        folder=folder,
        gpu=gpu,
    )
    there = [ran.outcomes[0] for ran in result.ran if ran.configuration == Configuration("gpu", 64, "gfx942")]
    return result, there[0] if there else None


def test_no_gpu_is_assumed(tmp_path: Path, env: dict[str, str]) -> None:
    assert amd_gpus.hardware(env, tmp_path) == "there is none on this machine"


def test_a_gpu_that_does_not_run_a_kernel_is_not_believed(machine: Path, env: dict[str, str]) -> None:
    said = amd_gpus.hardware({**env, "FAKE_GPU": "absent"}, machine)
    assert isinstance(said, str)
    assert "gfx942" in said
    assert "no ROCm-capable device" in said
    lacks = amd_gpus.hardware({**env, "HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, machine)
    assert isinstance(lacks, str)
    assert "gfx1100" in lacks


def test_a_program_runs_on_the_gpu_too(tmp_path: Path, env: dict[str, str], machine: Path) -> None:
    result, there = verified(tmp_path, env, machine)
    assert there is not None
    assert there.ok, there
    assert result.ok
    text = verify_report.as_text(result)
    assert "gpu@64" in text
    assert "orders: forward;" in text
    assert not any("there is none" in line or "machine code" in line for line in result.not_checked)
    assert json.loads(verify_report.as_json(result))["configurations"][-1]["name"] == "gpu@64 gfx942"


def test_other_results_of_a_gpu_are_noticed(tmp_path: Path, env: dict[str, str], machine: Path) -> None:
    result, there = verified(tmp_path, {**env, "FAKE_GPU": "wrong"}, machine)
    assert there is not None
    assert not there.ok
    assert not result.ok
    assert all(ran.ok for ran in result.ran if ran.configuration.side != "gpu")


def test_a_port_that_hipcc_does_not_compile(tmp_path: Path, env: dict[str, str], machine: Path) -> None:
    result, there = verified(tmp_path, {**env, "FAKE_GPU": "strict"}, machine)
    assert there is not None
    assert there.status == "error"
    assert "not on this GPU" in there.message
    assert not result.ok


def test_a_port_that_cannot_be_linked_is_not_checked(tmp_path: Path, env: dict[str, str], machine: Path) -> None:
    result, there = verified(tmp_path, {**env, "FAKE_GPU": "unlinkable"}, machine)
    assert there is None
    assert result.ok
    assert any(line.startswith("the port on an AMD GPU: how to link it") for line in result.not_checked)


def test_cases_on_the_device_are_compared_with_the_originals_results(tmp_path: Path) -> None:
    # An extension in Python, with the CPU as a GPU: only the way there is tested.
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed: that cases run on a GPU's tensors was NOT checked")
    built = tmp_path / "built"
    built.mkdir()
    (built / "doubling.py").write_text("def double(x):\n    return x * 2\n")
    (tmp_path / "cases.py").write_text(
        "import numpy\nPACKAGE = 'doubling'\nCASES = {'good': {'n': 5}, 'bad': {'n': 5}}\n"
        "def inputs(rng, n):\n    return {'x': numpy.arange(n, dtype='float32')}\n"
        "def call(package, x):\n    return {'y': package.double(x)}\n"
    )
    import numpy

    originals = tmp_path / "originals"
    originals.mkdir()
    numpy.savez(originals / "good.npz", y=numpy.arange(5, dtype="float32") * 2)
    numpy.savez(originals / "bad.npz", y=numpy.arange(5, dtype="float32") * 3)
    side = {"paths": [str(built)], "libraries": [], "allocator": None, "modules": {}, "dialect": "gpu", "device": "cpu"}
    request = {
        "cases": str(tmp_path / "cases.py"),
        "names": [],
        "folder": str(tmp_path / "scratch"),
        "seconds": 60,
        "memory": 0,
        "recorded": None,
        "output": str(tmp_path / "answer.json"),
        "originals": str(originals),
        "sides": {"gpu": side},
        "runs": [{"name": "gpu@64 gfx942", "side": "gpu", "env": {}, "is_reference": False}],
    }
    (tmp_path / "request.json").write_text(json.dumps(request))
    script = Path(amd_gpus.__file__).parents[1] / "executor/run_cases.py"
    subprocess.run([sys.executable, str(script), str(tmp_path / "request.json")], check=True)
    cases = json.loads((tmp_path / "answer.json").read_text())["runs"][0]["cases"]
    assert cases["good"]["outputs"]["y"]["original"]["why"] == ""
    assert cases["bad"]["outputs"]["y"]["original"]["why"] != ""
    assert cases["good"]["launches"] is None


def test_an_interpreter_without_pytorch_for_rocm_says_so(tmp_path: Path, env: dict[str, str], machine: Path) -> None:
    gpu = amd_gpus.hardware(env, machine)
    assert isinstance(gpu, Hardware)
    driver = verifying.driver(tmp_path, env)
    ported = hipport.rewrite({"a.cu": b"int x;\n"})
    said = driver.run_on_gpu(ported, gpu, Path(sys.executable), tmp_path)
    assert isinstance(said, str)
    assert str(sys.executable) in said


def test_an_extension_is_built_as_it_was_ported_by_its_own_setup(
    tmp_path: Path, env: dict[str, str], machine: Path
) -> None:
    gpu = amd_gpus.hardware(env, machine)
    assert isinstance(gpu, Hardware)
    tree = tmp_path / "tree"
    (tree / "package").mkdir(parents=True)
    (tree / "package/__init__.py").write_text("import os\n")
    (tree / "package/kernel.cu").write_text("#include <cuda_runtime.h>\n")
    # Its targets and sources, in a file that can be read.
    (tree / "setup.py").write_text(
        "import os, sys\nfrom setuptools import setup\n"
        "if 'cuda' in open('package/kernel.cu').read():\n    sys.exit('error: nvcc is wanted here')\n"
        "open('package/made_for.py', 'w').write('ARCHS = %r' % os.environ['PYTORCH_ROCM_ARCH'])\n"
        "setup(name='package', packages=['package'])\n"
    )
    ported = hipport.rewrite([tree])
    built = amd_gpus.extension(tree, ported, gpu, env=env, python=Path(sys.executable))
    assert (built / "package/made_for.py").read_text() == "ARCHS = 'gfx942'"
    assert not (tree / "package/made_for.py").exists()
    with pytest.raises(amd_gpus.NotBuiltForGpu, match="nvcc is wanted"):
        amd_gpus.extension(tree, hipport.rewrite([tree], passes=[]), gpu, env=env, python=Path(sys.executable))
