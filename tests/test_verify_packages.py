# SPDX-License-Identifier: Apache-2.0
"""Real extensions from their source packages, on the CPU executor: as CUDA, and ported, with both wavefront sizes.

Their results are those of their own CPU code. These are in tests/packages, so that the code is not built in each run,
and were recorded for all packages, or for the named ones, by:

    python tests/test_verify_packages.py [torch-scatter==2.1.2 ...]

All CUDA files of a package are one unit and all others another one: PyTorch's headers take most of the time of each.
With `--further`, torch-spline-conv is also built by its own setup.py, which makes several libraries of a few files
each.
"""

import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

import hipport
import verifying
from further import further
from hipport.executor import torch_extension, torch_units
from hipport.reporting import verify_report
from hipport.verifying import extension_verifier
from hipport.verifying.results import Configuration, Verified
from source_packages import downloaded, unpack

#: For packages that are gathered: the files in csrc, csrc/cpu and csrc/cuda, by the name of their library.
PACKAGES = {
    "torch-scatter==2.1.2": ("scatter", "segment_coo", "segment_csr", "version"),
    "torch-cluster==1.6.3": ("fps", "graclus", "grid", "knn", "nearest", "radius", "rw", "sampler", "version"),
    "torch-spline-conv==1.2.2": ("basis", "weighting", "version"),
    "torch-sparse==0.6.18": ("convert", "diag", "rw", "spmm", "version"),
}
#: The package that is also built for GPUs by its own setup.py: the examples are built by theirs.
BY_OWN_SCRIPT = "torch-spline-conv==1.2.2"
CASES = Path(__file__).parent / "packages"

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(sys.platform != "linux", reason="the executor is for Linux"),
]

#: The types of numbers in the cases, among those that a kernel is compiled for: each of the others takes the same time.
TYPES = """\
#include <torch/extension.h>
#undef AT_DISPATCH_CASE_INTEGRAL_TYPES
#undef AT_DISPATCH_CASE_FLOATING_TYPES_AND
#undef AT_DISPATCH_CASE_FLOATING_TYPES_AND2
#undef AT_DISPATCH_CASE_ALL_TYPES_AND
#undef AT_DISPATCH_CASE_ALL_TYPES_AND2
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) AT_DISPATCH_CASE(at::ScalarType::Long, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(a, ...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(a, b, ...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(a, ...) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(a, b, ...) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)
"""

SETUP = """\
import os
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension

macros = [("WITH_PYTHON", None)]
folders = ["csrc", "third_party/parallel-hashmap"]
if "FORCE_ONLY_CPU" in os.environ:
    extension = CppExtension("{package}._version_cpu", ["gathered.cpp"], include_dirs=folders, define_macros=macros)
else:
    macros += [("WITH_CUDA", None)]
    sources = ["gathered.cu", "gathered.cpp"]
    extension = CUDAExtension("{package}._version_cuda", sources, include_dirs=folders, define_macros=macros)
setup(name="{package}", ext_modules=[extension],
      cmdclass={{"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)}})
"""


#: Libraries whose kernels have cases of float, and of long; and of float alone. torch-cluster has double as well.
FLOAT = """\
#undef AT_DISPATCH_CASE_FLOATING_TYPES
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) AT_DISPATCH_CASE(at::ScalarType::Float, __VA_ARGS__)
"""
FLOAT_ALONE = """\
#undef AT_DISPATCH_CASE_ALL_TYPES_AND
#define AT_DISPATCH_CASE_ALL_TYPES_AND(a, ...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
"""
FEWER = {"torch_scatter": FLOAT, "torch_sparse": FLOAT + FLOAT_ALONE}


def gather(tree: Path, package: str, libraries: tuple[str, ...], *, gpu: bool) -> None:
    """Make a unit of the CUDA files of several libraries and one of the others, and a setup.py that builds them.

    For a GPU, functions for CPUs have no bodies: nothing calls them there.
    """
    # Files other than CUDA include Python's headers, and have types with the names of CUDA's.
    for unit, parts in (
        ("gathered.cpp", (("csrc/cpu", "_cpu.h" if gpu else "_cpu.cpp"), ("csrc", ".cpp"))),
        ("gathered.cu", (("csrc/cuda", "_cuda.cu"),)),
    ):
        lines = [TYPES, FEWER.get(package, "")]
        for name in libraries:
            lines.append(f"#define registry registry_of_{name}")
            for folder, suffix in parts:
                path = tree / folder / f"{name}{suffix}"
                if path.exists():
                    lines.append(f'#include "{folder}/{name}{suffix}"')
                if path.exists() and suffix == "_cpu.h":
                    declared = re.sub(r"^#.*", "", path.read_text(), flags=re.MULTILINE)
                    lines.append(declared.replace(");", ") { std::abort(); }"))
            # A variable of one has the name of another's macro.
            lines += ["#undef registry", "#undef THREADS", "#undef BLOCKS"]
        (tree / unit).write_text("\n".join([*lines, ""]))
    (tree / "setup.py").write_text(SETUP.format(package=package))


def show_as(built: torch_extension.BuiltExtension, libraries: tuple[str, ...]) -> None:
    """Make a package find all its libraries in one."""
    for module in built.modules:
        for name in libraries:
            link = module.path.with_name(module.path.name.replace("_version_", f"_{name}_"))
            if not link.exists():
                link.symlink_to(module.path.name)


#: torch-cluster has plain kernels, like torch-spline-conv; torch-scatter and torch-sparse have shuffles within parts of
#: a warp, like some of the examples, and take longer to compile.
FURTHER = ("torch-scatter==2.1.2", "torch-cluster==1.6.3", "torch-sparse==0.6.18")


def name_of(package: str) -> str:
    return package.partition("==")[0].replace("-", "_")


def driver_of(package: str, folder: Path) -> extension_verifier.Driver:
    """Unpack a package, and return the driver that builds and runs it."""
    archive = downloaded(package)
    unpack(archive, folder)
    env = {name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CUDA_PATH")}
    return verifying.driver(
        folder / archive.name.removesuffix(".tar.gz"),
        {**env, "FORCE_ONLY_CUDA": "1"},
        cases=CASES / f"{name_of(package)}_cases.py",
        port=lambda places: hipport.rewrite(places),
        jobs=2,
    )


@pytest.mark.parametrize("package", further(PACKAGES, FURTHER))
def test_results_are_those_of_its_cpu_code(package: str, tmp_path: Path) -> None:
    compare(package, tmp_path, gathered=True)


@pytest.mark.further
def test_results_of_its_own_build_are_those_of_its_cpu_code(tmp_path: Path) -> None:
    compare(BY_OWN_SCRIPT, tmp_path, gathered=False)


def compare(package: str, tmp_path: Path, *, gathered: bool) -> None:
    """Run a package as CUDA and ported, and compare the results with the recording."""
    pytest.importorskip("torch", reason="PyTorch is not installed: the packages were not run")
    pytest.importorskip("scipy", reason="SciPy, which torch-cluster needs, is not installed: the packages were not run")
    driver = driver_of(package, tmp_path / "packages")
    if gathered:
        gather(driver.root, name_of(package), PACKAGES[package], gpu=True)
    built = {"original": driver.build("original"), "ported": driver.build("ported", driver.ported())}
    if gathered:
        for each in built.values():
            show_as(each, PACKAGES[package])
    # Dependence on the order of threads shows with either size: the examples run all orders.
    configurations = [
        Configuration("original", 32),
        Configuration("ported", 32, "random:1"),
        *(Configuration("ported", 64, order) for order in ("forward", "random:1")),
    ]
    ran, not_checked = driver.run(configurations, built, recorded=CASES / f"{name_of(package)}.npz")
    whole = Verified(driver.root, name_of(package), ran, not_checked)
    assert all(each.ok for each in ran), verify_report.as_text(whole)
    # Each case has results, and all results were compared with the recording of these inputs.
    assert not not_checked
    outcomes = [outcome for each in ran for outcome in each.outcomes]
    assert all(outcome.outputs for outcome in outcomes)
    against = [{each.against for each in output.differences} for outcome in outcomes for output in outcome.outputs]
    assert all("recorded" in each for each in against)
    # The kernels computed them.
    assert all(sum(outcome.launches or 0 for outcome in each.outcomes) for each in ran)


def record(package: str) -> None:
    """Record the results of a package's CPU code."""
    # It loads PyTorch.
    from hipport.executor import run_cases

    numpy = run_cases.numpy
    file = CASES / f"{name_of(package)}.npz"
    with tempfile.TemporaryDirectory() as scratch:
        driver = driver_of(package, Path(scratch) / "packages")
        gather(driver.root, name_of(package), PACKAGES[package], gpu=False)
        options = torch_units.ExtensionOptions(
            {**os.environ, "FORCE_ONLY_CPU": "1"}, driver.kept, driver.how.python, jobs=2
        )
        built = torch_extension.build(driver.root, "host", options)
        show_as(built, PACKAGES[package])
        (ran,), _ = driver.run([Configuration("cpu", 1)], {"cpu": built}, folder=Path(scratch))
        assert all(outcome.status == "ok" for outcome in ran.outcomes), ran
        arrays: dict[str, object] = {}
        for outcome in ran.outcomes:
            with numpy.load(Path(scratch) / "0" / f"{outcome.case}.npz") as outputs:
                arrays |= {f"{outcome.case}/{output}": outputs[output] for output in outputs.files}
    numpy.savez_compressed(file, **arrays)
    spec = importlib.util.spec_from_file_location("cases", driver.file)
    assert spec is not None and spec.loader is not None
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    inputs = {case: run_cases.checksum(run_cases.inputs_of(cases, case)) for case in cases.CASES}
    about = {"package": package, "torch": run_cases.torch.__version__, "inputs": inputs}
    file.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in sys.argv[1:] or PACKAGES:
        record(each)
