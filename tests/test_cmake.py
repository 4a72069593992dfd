# SPDX-License-Identifier: Apache-2.0
"""CMake scripts, ported and configured with a real CMake: for HIP with a real compiler, for CUDA as before."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

from endless import ENDLESS
from hipport.core.finding import Certainty
from hipport.core.tables import load
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.syntax.cmake_script import CMake
from hipport.syntax.file_languages import source as sourced
from hipport.testing import fixtures
from hipport.toolchain.toolchains import Toolchain, find
from hipport_passes.build_files import cmake
from hipport_passes.build_files.nvcc_flags import translate

ROOT = Path(__file__).parent.parent
FIXTURES = {str(each).partition("/")[2]: each for each in fixtures(ROOT / "fixtures" / "cmake")}
ARCHS = ("gfx942", "gfx1100")


def _port(files: Mapping[str, str]) -> Ported:
    sources = tuple(CMake(PurePosixPath(name), text.encode()) for name, text in files.items())
    return run(Project(sources, Target(archs=ARCHS)), (cmake.PASS,))


def _written(ported: Ported, folder: Path) -> Path:
    """Write a ported tree, and a source file for each name in a script."""
    texts = [(source.path, source.text) for source in ported.project.sources]
    for path, text in [*texts, *((file.path, file.text) for file in ported.created)]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)
    for path, text in texts:
        for name in re.findall(r"[\w/]+\.(?:cpp|cu)\b", text.decode()):
            source = folder / path.parent / name
            source.parent.mkdir(parents=True, exist_ok=True)
            body = "int main() {}" if source.stem in ("main", "solve") else f"int {source.stem}_{source.suffix[1:]};"
            kernel = f"__global__ void {source.stem}(int* at) {{ *at = 1; }}\n" if source.suffix == ".cu" else ""
            source.write_text(f"#include <hip/hip_runtime.h>\n{kernel}{body}\n" if kernel else body + "\n")
    return folder


# CMake's results


@cache
def _cmake() -> str:
    """Return a CMake that has HIP as a language and finds it in Debian's place."""
    beside = str(Path(sys.executable).parent)
    for name in (str(Path(beside, "cmake")), "cmake"):
        try:
            said = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        match = re.search(r"version (\d+)\.(\d+)", said)
        if match and (int(match[1]), int(match[2])) >= (3, 28):
            return name
    pytest.skip("NOT CHECKED with a real CMake: there is none of 3.28 or newer (pip install cmake)")


@cache
def _toolchain() -> Toolchain:
    for each in find(os.environ, Path(sys.executable)):
        if each.hip >= (6, 0) and each.targets(ARCHS):
            return each
    pytest.skip("NOT CHECKED that CMake builds with HIP: no hipcc of HIP 6 (hipport toolchain install)")


def _configure(source: Path, *options: str, env: Mapping[str, str] | None = None) -> tuple[list[dict[str, str]], str]:
    """Return the commands that CMake writes for a tree, and its output."""
    build = source.parent / f"{source.name}-build"
    command = [_cmake(), "-S", str(source), "-B", str(build), "-G", "Unix Makefiles", *options]
    command.append("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    done = subprocess.run(command, capture_output=True, text=True, timeout=ENDLESS, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    commands = build / "compile_commands.json"
    return json.loads(commands.read_text()) if commands.exists() else [], done.stdout + done.stderr


# Values that CMake would get from nvcc, which need not be installed.
_NVCC = """\
set(CMAKE_CUDA_COMPILER_LOADED 1)
set(CMAKE_CUDA_COMPILER_ID NVIDIA)
set(CMAKE_CUDA_COMPILER_VERSION 12.4)
set(CMAKE_CUDA_COMPILER_ENV_VAR CUDACXX)
set(CMAKE_CUDA_SOURCE_FILE_EXTENSIONS cu)
set(CMAKE_CUDA_LINKER_PREFERENCE 15)
set(CMAKE_CUDA_STANDARD_COMPUTED_DEFAULT 17)
set(CMAKE_CUDA_EXTENSIONS_COMPUTED_DEFAULT ON)
set(CMAKE_CUDA_COMPILE_FEATURES cuda_std_14 cuda_std_17)
set(CMAKE_CUDA14_COMPILE_FEATURES cuda_std_14)
set(CMAKE_CUDA17_COMPILE_FEATURES cuda_std_17)
set(CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR})
set(CMAKE_CUDA_DEVICE_LINKER /nowhere/nvlink)
set(CMAKE_CUDA_FATBINARY /nowhere/fatbinary)
"""

# Replaces the search for an installed CUDA.
_MODULES = {
    "CMakeCUDACompiler.cmake": _NVCC,
    "CMakeDetermineCUDACompiler.cmake": (
        'file(COPY "${CMAKE_CURRENT_LIST_DIR}/CMakeCUDACompiler.cmake" DESTINATION ${CMAKE_PLATFORM_INFO_DIR})\n'
        "set(CMAKE_CUDA_COMPILER_ENV_VAR CUDACXX)\n"
    ),
    "CMakeTestCUDACompiler.cmake": "",
    "FindCUDAToolkit.cmake": """\
set(CUDAToolkit_FOUND TRUE)
set(CUDAToolkit_VERSION 12.4)
set(CUDAToolkit_INCLUDE_DIRS ${CMAKE_BINARY_DIR})
foreach(name cudart cublas cufft curand cusolver nvrtc nvml nppc culibos)
  add_library(CUDA::${name} INTERFACE IMPORTED)
  set_target_properties(CUDA::${name} PROPERTIES INTERFACE_COMPILE_DEFINITIONS WITH_${name})
endforeach()
""",
    "FindCUDA.cmake": """\
set(CUDA_FOUND TRUE)
set(CUDA_VERSION 12.4)
set(CUDA_LIBRARIES cudart)
function(cuda_add_library)
  message(STATUS "library: ${ARGN} with ${CUDA_NVCC_FLAGS}")
endfunction()
function(cuda_add_executable name)
  message(STATUS "executable: ${name} ${ARGN} with ${CUDA_NVCC_FLAGS}")
  add_library(${name} STATIC util.cpp)
endfunction()
""",
    "FindTorch.cmake": "set(TORCH_LIBRARIES torch)\nadd_library(torch_cuda INTERFACE IMPORTED GLOBAL)\n",
}


def _modules(folder: Path) -> list[str]:
    folder.mkdir()
    for name, text in {**_MODULES, "nvcc": ""}.items():
        (folder / name).write_text(text)
    (folder / "nvcc").chmod(0o755)
    return [f"-DCMAKE_MODULE_PATH={folder}", f"-DCMAKE_CUDA_COMPILER={folder}/nvcc", "-DCMAKE_CUDA_ARCHITECTURES=80"]


def _text(case: str) -> str:
    """Return a fixture without parts that only a person can port."""
    text = FIXTURES[case].before.text.decode()
    if "cmake_minimum_required" not in text:
        text = f"cmake_minimum_required(VERSION 3.18)\n{text}"
    return re.sub(r"\n\s*cuda_compile_ptx\(.*", "", text)


@pytest.mark.parametrize(
    "case", ["language", "expressions", "conditions", "find_cuda", "torch", "results", "functions"]
)
def test_with_cuda_nothing_changes(case: str, tmp_path: Path) -> None:
    text = _text(case)
    modules = _modules(tmp_path / "modules")
    ported = _port({"CMakeLists.txt": text})
    assert ported.changed
    said = []
    for name, files in (("before", {"CMakeLists.txt": text}), ("after", None)):
        tree = _written(ported, tmp_path / name)
        if files:
            (tree / "CMakeLists.txt").write_text(files["CMakeLists.txt"])
        commands, output = _configure(tree, *modules, "-DUSE_HIP=OFF")
        lines = [line for line in output.splitlines() if line.startswith(("-- library", "-- executable"))]
        said.append(json.dumps([commands, lines], indent=1).replace(str(tmp_path / name), "TREE"))
    assert ("nvcc" in said[0]) or ("-- library" in said[0])
    assert said[0] == said[1]


# With HIP


@pytest.fixture
def hip(tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    """Return the options and the environment with which CMake finds a toolchain outside of ROCm's usual place."""
    toolchain = _toolchain()
    said = subprocess.run(
        [toolchain.hipcc, "-###", "-x", "hip", "-c", "--offload-arch=gfx942", "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
        env=toolchain.environment(os.environ),
    ).stderr
    clang = re.search(r'^ "([^"]*/clang[-+\w]*)"', said, re.MULTILINE)
    library = re.search(r'"([^"]*)/oclc_isa_version_[^"]*"', said)
    root = next((path for path in toolchain.hipcc.parents if (path / "root/usr/bin").is_dir()), None)
    if clang is None or library is None or root is None:
        pytest.skip("NOT CHECKED that CMake builds with HIP: only for what hipport toolchain install made")
    root = root / "root"
    # CMake rejects a compiler whose path contains `hipcc`, because it takes it for hipcc; and it adds the folder of all
    # headers as one of ROCm's, which must not come before the C++ library's.
    for name in ("clang", "clang++"):
        wrapper = tmp_path / "compiler" / name
        wrapper.parent.mkdir(exist_ok=True)
        flags = f"--sysroot={root} --rocm-path={root}/usr --hip-device-lib-path={library[1]}"
        wrapper.write_text(
            "#!/bin/bash\nargs=()\n"
            "while [ $# -gt 0 ]; do\n"
            f'  [ "$1 $2" = "-isystem {root}/usr/include" ] && shift || args+=("$1")\n'
            "  shift\ndone\n"
            f'exec {Path(clang[1]).parent / name} {flags} "${{args[@]}}"\n'
        )
        wrapper.chmod(0o755)
    # The libraries themselves are not installed: their packages name them.
    for package in ("hipblas", "hipfft", "hiprand", "hipsolver", "hiprtc", "hipcub"):
        rows = load(ROOT / "passes/hipport_passes/build_files/cmake.toml")
        target = next(
            row["target"]
            for row in [*rows["target"].values(), *rows["other"].values()]
            if row.get("package") == package
        )
        config = tmp_path / "packages" / package / f"{package}-config.cmake"
        config.parent.mkdir(parents=True)
        config.write_text(f"if(NOT TARGET {target})\n  add_library({target} INTERFACE IMPORTED)\nendif()\n")
    options = [f"-DCMAKE_PREFIX_PATH={tmp_path / 'packages'};{root / 'usr'}", "-DCMAKE_BUILD_TYPE=Debug"]
    # Values that HIP's package would find by compiling.
    options += ["-DHIP_CLANG_SUPPORTS_PARALLEL_JOBS=OFF", "-DCMAKE_HAVE_LIBC_PTHREAD=ON", "-DCMAKE_HIP_ABI_COMPILED=ON"]
    compilers = {"CC": "clang", "CXX": "clang++", "HIPCXX": "clang++"}
    environment = {name: str(tmp_path / "compiler" / program) for name, program in compilers.items()}
    return options, {**toolchain.environment(os.environ), **environment}


def _built(tree: Path, target: str, env: Mapping[str, str]) -> None:
    command = [_cmake(), "--build", str(tree.parent / f"{tree.name}-build"), "--target", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(env))
    assert done.returncode == 0, done.stdout + done.stderr


def _commands(tree: Path, hip: tuple[list[str], dict[str, str]]) -> dict[str, list[str]]:
    options, env = hip
    commands, _ = _configure(tree, *options, env=env)
    return {Path(each["file"]).name: shlex.split(each["command"]) for each in commands}


@pytest.mark.toolchain
def test_hip_is_a_language(tmp_path: Path, hip: tuple[list[str], dict[str, str]]) -> None:
    cases = ("language", "expressions", "conditions", "results", "functions")
    # One tree, because CMake's tests of a compiler take long.
    top = "cmake_minimum_required(VERSION 3.21)\nproject(all LANGUAGES CXX)\n"
    top += "".join(f"add_subdirectory({case})\n" for case in cases)
    files = {"CMakeLists.txt": top, **{f"{case}/CMakeLists.txt": _text(case) for case in cases}}
    tree = _written(_port(files), tmp_path / "tree")
    flags = _commands(tree, hip)
    for source in ("field.cu", "rays.cu", "first.cu", "chosen.cu", "kernels.cu", "others.cu"):
        assert {"-x", "hip", *(f"--offload-arch={arch}" for arch in ARCHS)} <= set(flags[source])
        assert translate(flags[source]).changes == (), "no flag is nvcc's"
    language = {Path(each["file"]).parent.parent.name + each["command"] for each in _all(tree)}
    (device,) = (each for each in language if each.startswith("language") and "field.cu" in each)
    assert {"-O3", "-O0", "-g", "-fgpu-rdc", "-Wall", "-std=gnu++17"} <= set(shlex.split(device))
    assert "-D__HIP_PLATFORM_AMD__=1" in flags["io.cpp"] and "hip" not in flags["io.cpp"]
    rays = set(flags["rays.cu"])
    assert {
        "-O3",
        "-O2",
        "-Wextra",
        "-O0",
        "-gline-tables-only",
        "-fno-math-errno",
        "-fno-plt",
        "-DON_DEVICE=1",
    } <= rays
    assert not {"-Wpedantic", "-Wall"} & rays
    assert {"-Wpedantic", "-Wall", "-fno-plt"} <= set(flags["scene.cpp"]) and "-Wextra" not in flags["scene.cpp"]
    assert "-gline-tables-only" in flags["chosen.cu"] and "-gline-tables-only" in flags["kernels.cu"]
    # `set_source_files_properties(field.cpp PROPERTIES LANGUAGE CUDA)`
    assert "hip" in flags["field.cpp"]
    _built(tree, "waves", hip[1])
    archive = next((tmp_path / "tree-build").rglob("libwaves.a")).read_bytes()
    assert all(f"amdgcn-amd-amdhsa--{arch}".encode() in archive for arch in ARCHS)


def _all(tree: Path) -> list[dict[str, str]]:
    commands: list[dict[str, str]] = json.loads((tree.parent / f"{tree.name}-build/compile_commands.json").read_text())
    return commands


@pytest.mark.toolchain
def test_functions_of_find_cuda_in_scripts(tmp_path: Path, hip: tuple[list[str], dict[str, str]]) -> None:
    tree = _written(_port({"CMakeLists.txt": _text("find_cuda")}), tmp_path / "tree")
    flags = _commands(tree, hip)
    device = flags["flow.cu"]
    assert {"hip", "-O3", "-fPIC", "-gline-tables-only", "-fgpu-default-stream=per-thread", "-fgpu-rdc"} <= set(device)
    assert translate(device).changes == ()
    assert "hip" not in flags["util.cpp"] and "-O3" not in flags["util.cpp"]


# Several scripts together


def test_a_library_that_one_script_links_is_found_in_another() -> None:
    top = "project(a LANGUAGES CXX CUDA)\nfind_package(CUDAToolkit)\nadd_subdirectory(b)\n"
    ported = _port({"CMakeLists.txt": top, "b/CMakeLists.txt": "target_link_libraries(b CUDA::cusparse)\n"})
    first, second = ported.project.sources
    assert b"find_package(hipsparse)" in first.text
    assert second.text == b"target_link_libraries(b $<IF:$<BOOL:${USE_HIP}>,roc::hipsparse,CUDA::cusparse>)\n"
    assert [file.path.as_posix() for file in ported.created] == ["hipport/hipport.cmake"]
    assert not run(ported.project, (cmake.PASS,)).changed


def test_a_project_below_one_that_knows_hip_is_left_alone_and_the_other_way_round_is_not() -> None:
    knows = "project(a)\nif(USE_ROCM)\n  enable_language(HIP)\nendif()\nadd_subdirectory(b)\n"
    plain = "project(b LANGUAGES CUDA)\n"
    assert not _port({"CMakeLists.txt": knows, "b/CMakeLists.txt": plain}).reported
    changed = _port({"CMakeLists.txt": plain, "b/CMakeLists.txt": knows}).changed
    assert [source.path.as_posix() for source in changed] == ["CMakeLists.txt"]


def test_projects_below_another_share_what_hipport_writes() -> None:
    plain = "project(b LANGUAGES CUDA)\n"
    ported = _port({"CMakeLists.txt": "project(a)\n", "b/c/CMakeLists.txt": plain})
    assert [file.path.as_posix() for file in ported.created] == ["hipport/hipport.cmake"]
    texts = {source.path.as_posix(): source.text for source in ported.project.sources}
    assert b'include("${CMAKE_CURRENT_LIST_DIR}/../../hipport/hipport.cmake")' in texts["b/c/CMakeLists.txt"]


def test_the_choice_is_given_once_to_a_script_that_only_has_others_below_it() -> None:
    below = "project(p LANGUAGES CXX CUDA)\nadd_executable(p main.cu)\n"
    once = _port({"CMakeLists.txt": "project(all)\nadd_subdirectory(p)\n", "p/CMakeLists.txt": below})
    texts = {str(each.path): each.text.decode() for each in once.project.sources}
    assert all(text.count("hipport.cmake") == 1 for text in texts.values())
    assert {str(each.path): each.text.decode() for each in _port(texts).project.sources} == texts


def test_a_script_alone_gets_the_choice_too() -> None:
    (source,) = _port({"CMakeLists.txt": "enable_language(CUDA)\n"}).project.sources
    lines = source.text.decode().splitlines()
    assert lines == ['include("${CMAKE_CURRENT_LIST_DIR}/hipport/hipport.cmake")', "enable_language(${HIP_OR_CUDA})"]


def test_templates_for_cmake_are_not_edited() -> None:
    ported = _port({"CMakeLists.txt": "project(a CUDA)\n", "config.cmake": "@INIT@\nfind_package(CUDAToolkit)\n"})
    assert [source.path.name for source in ported.changed] == ["CMakeLists.txt"]
    assert [each.certainty for each in ported.reported if each.path.name == "config.cmake"] == [Certainty.MANUAL]


def test_every_row_of_the_table_has_one_meaning() -> None:
    table = load(ROOT / "passes/hipport_passes/build_files/cmake.toml")
    for name, row in [*table["target"].items(), *table["other"].items()]:
        assert set(row) in ({"package", "target"}, {"link"}, {"why"}, set()), name


# With PyTorch

_TORCH = """\
add_library(torch INTERFACE IMPORTED)
set_target_properties(torch PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/include")
set(TORCH_LIBRARIES torch)
set(Torch_FOUND TRUE)
"""
_FIELD = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.18)
project(field LANGUAGES CXX CUDA)
find_package(Torch REQUIRED)
add_library(guards INTERFACE)
target_include_directories(guards INTERFACE include)
target_link_libraries(guards INTERFACE ${TORCH_LIBRARIES})
add_library(field STATIC src/field.cu src/plain.cpp)
target_include_directories(field PRIVATE include)
target_link_libraries(field PUBLIC guards)
set_source_files_properties(src/field.cu PROPERTIES COMPILE_DEFINITIONS FIELD=1)
add_library(other STATIC src/other.cu)
""",
    "include/guard.h": "#pragma once\n#include <c10/cuda/CUDAStream.h>\ninline void* now() "
    "{ return c10::cuda::getCurrentCUDAStream().stream(); }\n",
    "src/field.cu": '#include "guard.h"\n#ifndef FIELD\n#error\n#endif\n#ifndef USE_ROCM\n#error\n#endif\n'
    "__global__ void fill(int* at) { *at = 1; }\n"
    "void launch(int* at) { fill<<<1, 1, 0, (hipStream_t)now()>>>(at); }\n",
    "src/plain.cpp": '#include "guard.h"\nvoid* plain() { return now(); }\n',
    "src/other.cu": "#include <hip/hip_runtime.h>\n__global__ void other(int* at) { *at = 2; }\n",
}


def test_sources_with_names_of_pytorch_are_converted_when_cmake_configures(
    hip: tuple[list[str], dict[str, str]], tmp_path: Path
) -> None:
    """The names for ROCm are those that the installed PyTorch's converter writes."""
    hipify = pytest.importorskip("torch.utils.hipify.hipify_python", reason="NOT CHECKED with PyTorch: it is not here")
    # A PyTorch for ROCm as far as these sources need it: the header that the converter names.
    mapped = next(m["c10/cuda/CUDAStream.h"] for m in hipify.CUDA_TO_HIP_MAPPINGS if "c10/cuda/CUDAStream.h" in m)
    headers = [mapped, "ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h", "c10/hip/HIPStream.h"]
    for name in headers:
        header = tmp_path / "torch/include" / name
        header.parent.mkdir(parents=True, exist_ok=True)
        body = "#pragma once\n#include <hip/hip_runtime.h>\n"
        if name == headers[0]:
            body += "struct Stream { hipStream_t stream() const { return nullptr; } };\n"
            for space in ("c10::cuda", "c10::hip", "at::hip"):
                for got in ("CUDAStream", "HIPStream", "HIPStreamMasqueradingAsCUDA"):
                    body += f"namespace {space} {{ inline Stream getCurrent{got}() {{ return {{}}; }} }}\n"
        header.write_text(body)
    (tmp_path / "torch/TorchConfig.cmake").write_text(_TORCH)

    sources = tuple(sourced(PurePosixPath(name), text.encode()) for name, text in _FIELD.items())
    ported = run(Project(sources, Target(archs=ARCHS[:1])), (cmake.PASS,))
    assert ("cmake/torch_names", Certainty.SAFE) in {(said.rule, said.certainty) for said in ported.reported}
    tree = tmp_path / "tree"
    for each in (*ported.project.sources, *ported.created):
        text = each.text
        (tree / each.path).parent.mkdir(parents=True, exist_ok=True)
        (tree / each.path).write_bytes(text)
    options, environment = hip
    options = [*options, f"-DTorch_DIR={tmp_path / 'torch'}", f"-DPython3_EXECUTABLE={sys.executable}"]
    for _ in range(2):  # An already converted source is not converted again.
        commands, _ = _configure(tree, *options, env=environment)
        built = {Path(each["file"]).relative_to(tree).as_posix() for each in commands}
        assert built == {"src/field.hip", "src/plain_hip.cpp", "src/other.cu"}
    assert (tree / "include/guard_hip.h").exists()
    _built(tree, "all", environment)
    # A source that changes is converted again.
    plain = tree / "src/plain.cpp"
    plain.write_text(plain.read_text().replace("plain()", "changed()"))
    _built(tree, "all", environment)
    assert "changed()" in (tree / "src/plain_hip.cpp").read_text()
    # What cannot be written is said at once, and not by the compiler.
    (tree / "src/plain_hip.cpp").unlink()
    (tree / "src/plain_hip.cpp").symlink_to(tmp_path / "nowhere" / "plain_hip.cpp")
    with pytest.raises(AssertionError, match="converter failed") as refused:
        _configure(tree, *options, env=environment)
    said = " ".join(str(refused.value).split())
    assert "it may not write beside" in said
    assert "plain.cpp" in said
