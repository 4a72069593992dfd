# SPDX-License-Identifier: Apache-2.0
"""`pip install` of rewritten extensions, like users do, with a PyTorch that acts as one for ROCm.

The installed files contain the code objects. They cannot be run here: `hipport verify` runs kernels, on a CPU.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hipport
import quick_hipcc
from further import further
from hipport.toolchain import toolchains
from hipport.toolchain.overlay import overlay
from source_packages import PACKAGES, UNITS, unpacked, without_cuda

HERE = Path(__file__).parent
ARCHS = ("gfx942", "gfx1100")
#: The executor's stand-ins for PyTorch's largest headers, which are sufficient for operators.
LIGHT = HERE.parent / "src/hipport/executor/native/include/torch_light"
#: Libraries of these that are not built: test_verify_packages.py runs their kernels, and their compilation resembles
#: the others'.
LEFT_OUT = {"torch-scatter": ("segment_coo",), "torch-cluster": ("grid", "knn", "nearest", "rw")}
#: A bundled example shows that pip builds what is rewritten. Published packages take a minute each, mostly for their
#: templates: tests/test_packages.py rewrites one, and test_verify_packages.py runs another one's kernels.
EXAMPLE = "hash_table"
_ALL_TYPES = r"(?<=AT_DISPATCH_)ALL_TYPES_AND2?\(at::ScalarType::Half,( at::ScalarType::BFloat16,)?"
#: Reductions of files of these packages: the pattern, and the number of its matches.
FEWER = {
    # Its kernels are compiled for each number of dimensions and neighbors up to 8 and 32: a few of those are
    # sufficient.
    "chamferdist": (("chamferdist/knn.cu", r"(?<=_MAX_)([DK]) = \d+;", r"\1 = 3;", 5),),
    # Most of the rest are types of numbers. Atomics depend on the size of the type, and on the addition.
    "torch-scatter": (
        (
            "csrc/cuda/scatter_cuda.cu",
            _ALL_TYPES,
            "FLOATING_TYPES_AND3(at::ScalarType::Half, at::ScalarType::BFloat16, at::ScalarType::Byte,",
            1,
        ),
        ("csrc/cuda/segment_csr_cuda.cu", _ALL_TYPES, "FLOATING_TYPES(", 2),
    ),
    "torch-cluster": (("csrc/cuda/graclus_cuda.cu", _ALL_TYPES, "FLOATING_TYPES(", 2),),
}

pytestmark = [pytest.mark.toolchain, pytest.mark.network]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return pip's environment: the stand-in for PyTorch for ROCm, a hipcc, and two architectures."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        pytest.skip("PyTorch is not installed: that a rewritten tree can be installed was NOT checked")
    try:
        hipcc = toolchains.choose(toolchains.find(os.environ), ARCHS)
    except toolchains.NoToolchain as missing:
        pytest.skip(f"no hipcc for {ARCHS}: that a rewritten tree can be installed was NOT checked: {missing}")
    # For the linker: PyTorch for CPUs has no such libraries, and hipcc knows its own place.
    libraries = tmp_path_factory.mktemp("libraries")
    for name in ("c10_hip", "torch_hip", "amdhip64"):
        made = ["g++", "-shared", "-o", str(libraries / f"lib{name}.so"), "-x", "c++", os.devnull]
        subprocess.run(made, check=True)
    of_pytorch = overlay(Path(sys.executable), Path(found.origin).parent / "include", toolchains.cache(os.environ))
    return {
        **quick_hipcc.environment(hipcc, without_cuda(), tmp_path_factory),
        "PYTHONPATH": str(HERE / "rocm_pytorch"),
        "HIPPORT_OVERLAY": str(of_pytorch),
        "PYTORCH_ROCM_ARCH": ";".join(ARCHS),
        "LIBRARY_PATH": str(libraries),
        "MAX_JOBS": "2",
        # The variable that scripts read on machines without a GPU, for ROCm as for CUDA.
        "FORCE_CUDA": "1",
    }


def rewritten(package: str, folder: Path) -> Path:
    """Return the source tree of a package or of the example, rewritten. Its setup.py has the files that it needs."""
    if package == EXAMPLE:
        tree = shutil.copytree(HERE.parent / "ext_examples" / EXAMPLE, folder / EXAMPLE)
    else:
        (source,) = (each for each in PACKAGES if each.partition("==")[0] == package)
        (tree,) = unpacked(folder, [source]).values()
    for path, pattern, with_what, count in FEWER.get(package, ()):
        text, changed = re.subn(pattern, with_what, (tree / path).read_text())
        assert changed == count, path
        (tree / path).write_text(text)
    for name in LEFT_OUT.get(package, ()):
        for path in (f"{name}.cpp", f"cuda/{name}_cuda.cu"):
            (tree / "csrc" / path).unlink()
    ported = hipport.rewrite([tree])
    assert ported.changed
    hipport.save(ported)
    return tree


def install(tree: Path, target: Path, environment: dict[str, str]) -> list[Path]:
    """Install the tree, and return the resulting shared objects."""
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(tree)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return sorted(target.rglob("*.so"))


def kernels(path: Path, environment: dict[str, str], scratch: Path) -> dict[str, set[str]]:
    """Return the kernels in a shared object, by the architecture of their code."""

    def run(*command: str | Path) -> str:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    sections = run("readelf", "--section-headers", "--wide", path)
    if ".hip_fatbin" not in sections:
        return {}
    bundle = scratch / "bundle"
    run("objcopy", "--dump-section", f".hip_fatbin={bundle}", path, scratch / "copy.so")
    bundler = run(environment["HIPPORT_HIPCC"], "-print-prog-name=clang-offload-bundler").strip()
    found = {}
    for target in run(bundler, "--list", "--type=o", f"--input={bundle}").split():
        if not target.startswith("host-"):
            out = scratch / "code"
            run(bundler, "--unbundle", "--type=o", f"--input={bundle}", f"--targets={target}", f"--output={out}")
            # Each kernel has a descriptor of its name.
            names = re.findall(r"\b(\w+)\.kd$", run("readelf", "--dyn-syms", "--wide", out), re.MULTILINE)
            found[target.rpartition("-")[2]] = set(names)
    return found


@pytest.mark.parametrize("package", further([EXAMPLE, *UNITS], UNITS))
def test_a_package_is_installed_with_code_for_both_wavefronts(
    package: str, environment: dict[str, str], tmp_path: Path
) -> None:
    # Three of them build each file twice, for a CPU too, unless a variable is set.
    environment = {**environment, "FORCE_ONLY_CUDA": "1"}
    compiler = str(without_cpp(tmp_path))
    environment |= {"CXX": compiler, "CC": compiler, "CFLAGS": f"-O0 -g0 -I{LIGHT}"}
    objects = install(rewritten(package, tmp_path), tmp_path / "installed", environment)
    # Each extension has its own shared object, and these have at most one CUDA unit each.
    found = [each for path in objects if (each := kernels(path, environment, tmp_path))]
    assert len(found) == UNITS.get(package, 1) - len(LEFT_OUT.get(package, ()))
    for each in found:
        assert set(each) == set(ARCHS)
        assert each["gfx942"] == each["gfx1100"] != set()


def without_cpp(folder: Path) -> Path:
    """Return a compiler that skips C++: the packages' other files take most of the time.

    The examples show that ported C++ compiles, in test_verify_examples.py and test_site.py.
    """
    compiler = folder / "c++"
    compiler.write_text(
        "#!/bin/bash\n"
        "words=()\n"
        'for word; do case "$word" in *.cpp) words+=(-x c++ /dev/null) ;; *) words+=("$word") ;; esac; done\n'
        'exec g++ "${words[@]}"\n'
    )
    compiler.chmod(0o755)
    return compiler
