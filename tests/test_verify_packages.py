# SPDX-License-Identifier: Apache-2.0
"""Real extensions from their source packages, on the CPU executor: as CUDA, and ported, at both wavefronts.

They give what their own CPU code gives, which is built beside them. torch-spline-conv is built by its own setup.py. Of
the others, whose setup.py makes a library of each few files, all CUDA files are one unit and all others one: PyTorch's
headers take most of the time of each.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

import hipport
import verifying
from hipport.executor import torch_extension
from hipport.reporting import verify_report
from hipport.verifying.results import Configuration, Verified
from source_packages import downloaded, unpack

#: Of those that are gathered, the files in csrc, csrc/cpu and csrc/cuda, by the name of their library.
PACKAGES = {
    "torch-scatter==2.1.2": ("scatter", "segment_coo", "segment_csr", "version"),
    "torch-cluster==1.6.3": ("fps", "graclus", "grid", "knn", "nearest", "radius", "rw", "sampler", "version"),
    "torch-spline-conv==1.2.2": ("basis", "weighting", "version"),
    "torch-sparse==0.6.18": ("convert", "diag", "rw", "spmm", "version"),
}
#: Those that are built for GPUs by their own setup.py; for CPUs, which they are compared with, they are gathered, too.
BY_OWN_SCRIPT = ("torch-spline-conv==1.2.2",)
CASES = Path(__file__).parent / "packages"
ORDERS = ("forward", "random:1")

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(sys.platform != "linux", reason="the executor is for Linux"),
]

#: Of the types of numbers that a kernel is compiled for, those that cases have: each of the others takes as long.
TYPES = """\
#include <torch/torch_extension.h>
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


#: Whose kernels have cases of float, and of long; and of float alone. torch-cluster has double as well.
FLOAT = """\
#undef AT_DISPATCH_CASE_FLOATING_TYPES
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) AT_DISPATCH_CASE(at::ScalarType::Float, __VA_ARGS__)
"""
FLOAT_ALONE = """\
#undef AT_DISPATCH_CASE_ALL_TYPES_AND
#define AT_DISPATCH_CASE_ALL_TYPES_AND(a, ...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
"""
FEWER = {"torch_scatter": FLOAT, "torch_sparse": FLOAT + FLOAT_ALONE}


def gather(tree: Path, package: str, libraries: tuple[str, ...]) -> None:
    """Make a unit of the CUDA files of several libraries and one of the others, and a setup.py that builds them."""
    # What is not CUDA brings Python's headers, and has types of the same names as what is.
    for unit, parts in (
        ("gathered.cpp", (("csrc/cpu", "_cpu.cpp"), ("csrc", ".cpp"))),
        ("gathered.cu", (("csrc/cuda", "_cuda.cu"),)),
    ):
        lines = [TYPES, FEWER.get(package, "")]
        for name in libraries:
            lines.append(f"#define registry registry_of_{name}")
            for folder, suffix in parts:
                if (tree / folder / f"{name}{suffix}").exists():
                    lines.append(f'#include "{folder}/{name}{suffix}"')
            # One has a variable of the name that is another's macro.
            lines += ["#undef registry", "#undef THREADS", "#undef BLOCKS"]
        (tree / unit).write_text("\n".join([*lines, ""]))
    (tree / "setup.py").write_text(SETUP.format(package=package))


def show_as(built: torch_extension.Built, libraries: tuple[str, ...]) -> None:
    """Have a package find all its libraries where there is one."""
    for module in built.modules:
        for name in libraries:
            link = module.path.with_name(module.path.name.replace("_version_", f"_{name}_"))
            if not link.exists():
                link.symlink_to(module.path.name)


@pytest.mark.parametrize("package", PACKAGES)
def test_gives_what_its_cpu_code_gives(package: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: the packages were not run")
    pytest.importorskip("scipy", reason="SciPy, which torch-cluster needs, is not installed: the packages were not run")
    env = {name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CUDA_PATH")}
    archive = downloaded(package)
    folder = tmp_path / "packages"
    unpack(archive, folder)
    tree = folder / archive.name.removesuffix(".tar.gz")
    name = package.partition("==")[0].replace("-", "_")
    libraries = PACKAGES[package]
    for_cpus = tree
    if package in BY_OWN_SCRIPT:
        for_cpus = folder / "gathered" / tree.name
        shutil.copytree(tree, for_cpus, dirs_exist_ok=True)
    gather(for_cpus, name, libraries)
    driver = verifying.driver(
        tree,
        {**env, "FORCE_ONLY_CUDA": "1"},
        cases=CASES / f"{name}_cases.py",
        port=lambda places: hipport.rewrite(places),
        jobs=2,
    )
    built = {
        "cpu": torch_extension.build(
            for_cpus,
            "host",
            torch_extension.ExtensionOptions({**env, "FORCE_ONLY_CPU": "1"}, driver.kept, driver.how.python, jobs=2),
        ),
        "original": driver.build("original"),
        "ported": driver.build("ported", driver.ported()),
    }
    for side, each in built.items():
        if side == "cpu" or package not in BY_OWN_SCRIPT:
            show_as(each, libraries)
    configurations = [
        Configuration("cpu", 1),
        *(Configuration("original", 32, order) for order in ORDERS),
        *(Configuration("ported", lanes, order) for lanes in (32, 64) for order in ORDERS),
    ]
    ran, _ = driver.run(configurations, built)
    assert all(outcome.status == "ok" for outcome in ran[0].outcomes), ran[0]
    whole = Verified(driver.root, name, ran[1:], ())
    assert all(each.ok for each in whole.ran), verify_report.as_text(whole)
    compared = sum(bool(output.differences) for each in whole.ran for o in each.outcomes for output in o.outputs)
    assert compared >= len(whole.ran) * len(ran[0].outcomes)
    # It was the kernels that gave it.
    assert all(sum(outcome.launches or 0 for outcome in each.outcomes) for each in whole.ran)
