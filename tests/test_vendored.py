# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own hipify on third-party code, with and without the lines that `vendored` writes."""

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path, PurePosixPath

import pytest

from endless import ENDLESS
from hipport.engine.pipeline import run
from hipport.program.project import Project, Skipped
from hipport.syntax.cuda import Cuda
from hipport.syntax.python_script import Python
from hipport.workspace.discovery import discover
from hipport_passes.packages import vendored

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed: that PyTorch's hipify leaves third-party code alone was NOT checked",
)

# A library like GLM: names that hipify rewrites in headers and in a comment, and `.inl` files, which hipify does not
# read, that include the headers again.
LIBRARY = {
    "glm/glm.hpp": '#pragma once\n// for a cudaStream_t\n#include "detail/setup.hpp"\n#include "detail/vec.hpp"\n',
    "glm/detail/setup.hpp": "#pragma once\n#if CUDA_VERSION >= 7000\n#include <cuda.h>\n#endif\nstruct Setup {};\n",
    "glm/detail/vec.hpp": '#pragma once\n#include "setup.hpp"\nstruct Vec {};\n#include "vec.inl"\n',
    "glm/detail/vec.inl": '#include "setup.hpp"\ninline Vec add(Vec a, Vec) { return a; }\n',
}
KERNEL = "#include <glm/glm.hpp>\n#include <cuda_runtime.h>\n__global__ void k(Vec* v) { v[0] = add(v[0], v[1]); }\n"
SETUP = """\
import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

here = os.path.dirname(os.path.abspath(__file__))

setup(
    name="splat",
    ext_modules=[CUDAExtension("splat", ["splat.cu"], include_dirs=[os.path.join(here, "third_party", "glm")])],
    cmdclass={"build_ext": BuildExtension},
)
"""
# hipify does not read the flags; but it converts a file of the library that a source includes in quotes.
BY_FLAG = SETUP.replace("include_dirs=[os.path.join(here, ", 'extra_compile_args={"nvcc": ["-I" + os.path.join(here, ')
BY_FLAG = BY_FLAG.replace('"glm")])]', '"glm")]})]')
LOAD = """\
import os

from torch.utils.cpp_extension import load

here = os.path.dirname(os.path.abspath(__file__))
os.makedirs(os.path.join(here, "out"), exist_ok=True)
load(
    "splat",
    [os.path.join(here, "splat.cu")],
    extra_include_paths=[os.path.join(here, "third_party", "glm")],
    build_directory=os.path.join(here, "out"),
)
"""
# Makes PyTorch act as one built for ROCm, up to the call of a compiler. It is loaded once, and each script has a
# process of its own, because the lines under test change PyTorch in theirs.
PRETEND = """\
import os, runpy, sys
os.environ.update(ROCM_HOME="/opt/rocm", PYTORCH_ROCM_ARCH="gfx942")
import torch
torch.version.hip, torch.version.cuda = "6.4.0", None
torch.cuda._is_compiled = lambda: True
import torch.utils.cpp_extension as extension
assert extension.IS_HIP_EXTENSION
import setuptools
setuptools.setup = lambda **options: None
class Compiles(Exception): pass
def compiles(*args, **options): raise Compiles
extension._write_ninja_file_and_build_library = compiles
for script in sys.argv[1:]:
    child = os.fork()
    if not child:
        os.chdir(os.path.dirname(script))
        try:
            runpy.run_path(script, run_name="__main__")
        except Compiles:
            pass
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, script
"""


def _tree(folder: Path, script: str, text: str) -> Path:
    files = {script: text, "splat.cu": KERNEL, **{f"third_party/glm/{name}": body for name, body in LIBRARY.items()}}
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(body)
    return folder


def _library(folder: Path) -> dict[str, str]:
    top = folder / "third_party" / "glm"
    return {path.relative_to(top).as_posix(): path.read_text() for path in top.rglob("*") if path.is_file()}


def _build(*scripts: Path) -> None:
    arguments = [sys.executable, "-c", PRETEND, *map(str, scripts)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=ENDLESS)
    assert done.returncode == 0, done.stderr[-2000:]


def _port(folder: Path, script: str) -> None:
    project = discover([folder], vendored=vendored.markers())
    assert [skipped.path.as_posix() for skipped in project.vendored] == ["third_party/glm"]
    ported = run(project, (vendored.PASS,))
    (changed,) = ported.changed
    assert changed.path.name == script
    (folder / script).write_bytes(changed.text)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    scripts = []
    for script, text in {"setup.py": SETUP, "build.py": LOAD}.items():
        _tree(folder / script / "alone", script, text)
        _port(_tree(folder / script / "kept", script, text), script)
        scripts += [folder / script / "alone" / script, folder / script / "kept" / script]
    scripts.append(_tree(folder / "flag", "setup.py", BY_FLAG) / "setup.py")
    _build(*scripts)
    return folder


@needs_torch
@pytest.mark.parametrize("script", ["setup.py", "build.py"])
def test_hipify_mangles_third_party_code_only_without_the_lines(built: Path, script: str) -> None:
    mangled = _library(built / script / "alone")
    assert mangled != LIBRARY, "PyTorch's hipify has learnt to leave third-party code alone: is the pass needed?"
    # The copy of a header includes other copies; the .inl file still includes the original: everything is there twice.
    assert any("vec_hip" in name or "hip/" in body for name, body in mangled.items() if body not in LIBRARY.values())
    assert mangled["glm/detail/vec.inl"] == LIBRARY["glm/detail/vec.inl"]

    kept = built / script / "kept"
    assert _library(kept) == LIBRARY
    # The program's own kernel was converted, and includes the library by its name.
    (converted,) = kept.rglob("splat*.hip")
    assert "#include <glm/glm.hpp>" in converted.read_text()
    assert "hip/hip_runtime.h" in converted.read_text()


@needs_torch
def test_a_library_for_the_compiler_alone_needs_nothing(built: Path) -> None:
    assert _library(built / "flag") == LIBRARY
    project = discover([_tree(built / "flag again", "setup.py", BY_FLAG)], vendored=vendored.markers())
    assert project.vendored
    assert not run(project, (vendored.PASS,)).reported


@needs_torch
def test_the_lines_have_no_effect_without_rocm(tmp_path: Path) -> None:
    text = SETUP.replace("CUDAExtension\n", "CppExtension, CUDAExtension\n")
    text = text.replace("[CUDAExtension(", "[(CUDAExtension if not here else CppExtension)(")
    folder = _tree(tmp_path, "setup.py", text)
    _port(folder, "setup.py")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    program = (
        "import setuptools, runpy; setuptools.setup = lambda **o: print(o['ext_modules'][0].name);"
        "runpy.run_path('setup.py')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "splat\n"), done.stderr
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_markers_are_paths_below_a_folder_that_is_included() -> None:
    markers = vendored.markers()
    assert markers["glm"] == ("glm/glm.hpp",)
    for library, files in markers.items():
        assert files, library
        for file in files:
            assert not file.startswith("/") and ".." not in file and "\\" not in file, (library, file)
    # One file identifies one library.
    every = [file for files in markers.values() for file in files]
    assert len(every) == len(set(every))


def _found(script: str, text: str, *skipped: Skipped) -> str:
    project = Project((Python(PurePosixPath(script), textwrap.dedent(text).encode()),), skipped=skipped)
    return run(project, (vendored.PASS,)).project.sources[0].text.decode()


def test_cmakes_own_module_is_left_alone(tmp_path: Path) -> None:
    for name in ("cmake/FindCUDA.cmake", "cmake/FindTorch.cmake", "modules/FindCUDA/run_nvcc.cmake"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("find_package(CUDA)\n")
    (tmp_path / "setup.py").write_text(
        "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('a', ['a.cu'], include_dirs=['.'])\n"
    )
    project = discover([tmp_path], vendored=vendored.markers())
    assert {str(each.path) for each in project.skipped} == {"cmake/FindCUDA.cmake", "modules/FindCUDA"}
    assert "cmake/FindTorch.cmake" in {str(each.path) for each in project.sources}
    assert not list(vendored.PASS.find(next(each for each in project.sources if isinstance(each, Python)), project))


def test_a_tree_elsewhere_counts_when_the_script_names_it() -> None:
    glm = Skipped(PurePosixPath("external/glm"), "vendored", "")
    script = """\
    from torch.utils.cpp_extension import CUDAExtension
    CUDAExtension("a", ["a.cu"], include_dirs=["{}"])
    """
    assert '"*/external/glm/*"' in _found("python/setup.py", script.format("../external/glm"), glm)
    assert "hipify" not in _found("python/setup.py", script.format("../external/glmath"), glm)
    assert "hipify" not in _found("python/setup.py", script.format("include"), glm)


def test_sources_of_another_script_do_not_affect_the_one_above(tmp_path: Path) -> None:
    text = (
        "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('a', ['a.cu'], include_dirs=['i'{more}])\n"
    )
    for name in ("viewer/pybind11/include/pybind11/pybind11.h", "glm/glm/glm.hpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "viewer/setup.py").write_text("from setuptools import setup\n")
    for more, said in (("", ["*/glm/*"]), (", 'viewer/pybind11/include'", ["*/glm/*", "*/viewer/pybind11/*"])):
        (tmp_path / "setup.py").write_text(text.replace("{more}", more))
        project = discover([tmp_path], vendored=vendored.markers())
        script = next(each for each in project.sources if str(each.path) == "setup.py" and isinstance(each, Python))
        (found,) = vendored.PASS.find(script, project)
        edit = b"".join(edit.new for edit in found.edits).decode()
        assert [name for name in ("*/glm/*", "*/viewer/pybind11/*") if f'"{name}"' in edit] == said


def test_a_submodule_that_is_not_checked_out_will_be_third_party_code() -> None:
    script = "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('a', ['a.cu'], include_dirs=[b])\n"
    missing = Skipped(PurePosixPath("third_party/Eigen"), "missing", "a git submodule")
    assert '"*/third_party/Eigen/*"' in _found("setup.py", script, missing)
    other = Skipped(PurePosixPath("third_party/our_kernels"), "missing", "a git submodule")
    assert "hipify" not in _found("setup.py", script, other)


def test_a_library_that_is_included_in_quotes_is_found() -> None:
    script = b"from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('a', ['src/a.cu'])\n"
    kernel = b'#include "../external/glm/glm/glm.hpp"\n'
    glm = (Skipped(PurePosixPath("external/glm"), "vendored", ""),)
    for include, wanted in ((kernel, True), (kernel.replace(b"../", b""), False), (b"#include <glm/glm.hpp>\n", False)):
        sources = (Python(PurePosixPath("setup.py"), script), Cuda(PurePosixPath("src/a.cu"), include))
        assert bool(run(Project(sources, skipped=glm), (vendored.PASS,)).changed) is wanted, include


def test_nvidias_headers_for_optix_are_not_a_programs_own(tmp_path: Path) -> None:
    theirs, mine = "/* Copyright NVIDIA Corporation */\n", "#include <optix.h>\nstruct Params { CUdeviceptr at; };\n"
    files = {
        "deps/optix/optix.h": theirs, "deps/optix/optix_7_types.h": theirs, "deps/optix/internal/x.h": theirs,
        "include/optix_types.h": theirs, "include/internal/optix_device_impl.h": theirs, "include/params.h": mine,
        "src/optix/optix.h": mine,
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    project = discover([tmp_path], vendored=vendored.markers())
    assert {str(each.path) for each in project.skipped} == {"deps/optix", "include/internal", "include/optix_types.h"}
    assert {str(each.path) for each in project.sources} == {"include/params.h", "src/optix/optix.h"}
