# SPDX-License-Identifier: Apache-2.0
"""The runtime API of the executor: one program in both spellings, its faults, and the compiler's required errors."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from endless import ENDLESS
from executor_names import not_refused
from hipport.executor.compile import INCLUDE, CompileOptions, dialect_defines, include_folders, program
from hipport.executor.compilers import NoCompiler, find_compiler
from hipport.executor.prepare import Dialect

HERE = Path(__file__).parent
TEXT = (HERE / "simt_programs" / "runtime_api.cu").read_text(encoding="utf-8")

# Names that differ in more than the prefix.
_NOT_ALIKE = {
    "<cuda_runtime.h>": "<hip/hip_runtime.h>",
    "#include <cuda_profiler_api.h>\n": "",
    "cudaDeviceProp ": "hipDeviceProp_t ",
    "cudaPointerAttributes": "hipPointerAttribute_t",
    "cudaDevAttrMultiProcessorCount": "hipDeviceAttributeMultiprocessorCount",
    "cudaDevAttr": "hipDeviceAttribute",
    "make_cuda": "make_hip",
}


def as_hip(text: str) -> str:
    """Return the program in HIP's spelling; parts for CUDA alone are under a condition."""
    for cuda, hip in _NOT_ALIKE.items():
        text = text.replace(cuda, hip)
    return re.sub(r"cuda(?=[A-Z])", "hip", text)


@pytest.fixture(scope="module", autouse=True)
def compiler() -> str:
    try:
        return find_compiler(os.environ).path
    except NoCompiler as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module", params=["cuda", "hip"])
def executable(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Dialect, Path]:
    dialect: Dialect = request.param
    source = tmp_path_factory.mktemp(dialect) / "runtime_api.cu"
    source.write_text(TEXT if dialect == "cuda" else as_hip(TEXT), encoding="utf-8")
    with not_refused():
        made = program([source], dialect, CompileOptions(os.environ, optimize="-O0", jobs=1))
    assert made.reported == ()
    return dialect, made.path


def run(path: Path, *arguments: str, lanes: int = 32) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SIMT_WAVE": str(lanes)}
    return subprocess.run(
        [str(path), *arguments], env=env, capture_output=True, text=True, timeout=ENDLESS, check=False
    )


def test_the_programs_own_checks(executable: tuple[Dialect, Path]) -> None:
    dialect, path = executable
    for lanes in (32,) if dialect == "cuda" else (32, 64):
        done = run(path, lanes=lanes)
        assert done.stdout.endswith("0 failed\n"), done.stdout + done.stderr
        assert done.returncode == 0
        version = {("cuda", 32): "8.0, 48", ("hip", 32): "11.0, 64", ("hip", 64): "9.4, 64"}[dialect, lanes]
        assert f"{lanes} lanes, {version} KiB\n" in done.stdout
        if dialect == "hip":
            assert {32: "gfx1100\n", 64: "gfx942\n"}[lanes] in done.stdout


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("copy", r"out-of-bounds: \w+Memcpy of 64 bytes at byte 4 of an allocation of 64 bytes"),
        ("memset", r"out-of-bounds: \w+Memset of 65 bytes"),
        ("rows", r"out-of-bounds: \w+Memcpy2D of 112 bytes"),
        ("symbol", r"out-of-bounds: \w+MemcpyToSymbol: 32 bytes at offset 4 of a symbol of 32 bytes"),
        ("kernel", r"unknown-kernel: the kernel was cast to a pointer without its type"),
        ("processes", r"unsupported: \w+IpcCloseMemHandle: the executor has no memory shared by processes"),
    ],
)
def test_fault(executable: tuple[Dialect, Path], fault: str, says: str) -> None:
    dialect, path = executable
    done = run(path, fault)
    assert done.returncode == 97, done.stdout + done.stderr
    assert re.search(says, done.stderr), done.stderr
    if fault in ("copy", "memset", "rows", "symbol"):
        assert re.search(r"runtime_api\.cu:\d+", done.stderr), done.stderr
        assert ("cudaM" if dialect == "cuda" else "hipM") in done.stderr


@pytest.mark.parametrize("dialect", ["cuda", "hip"])
@pytest.mark.parametrize("optimize", ["-O0", "-O2"])
def test_shared_memory_that_a_kernel_has_of_its_own(dialect: Dialect, optimize: str, tmp_path: Path) -> None:
    text = (HERE / "simt_programs" / "shared_sizes.cu").read_text(encoding="utf-8")
    source = tmp_path / "shared_sizes.cu"
    source.write_text(text if dialect == "cuda" else as_hip(text), encoding="utf-8")
    made = program([source], dialect, CompileOptions(os.environ, optimize=optimize, jobs=1)).path
    done = run(made)
    assert (done.returncode, done.stdout) == (0, "0 failed\n"), done.stdout + done.stderr
    # No number if it is unknown.
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "--strip-all", "-o", str(stripped), str(made)], check=True)
    done = run(stripped)
    assert done.returncode == 97, done.stdout + done.stderr
    assert "unsupported: the size of a kernel's static shared memory" in done.stderr
    assert re.search(r"shared_sizes\.cu:\d+", done.stderr), done.stderr


def test_a_suspicious_copy_is_made(executable: tuple[Dialect, Path]) -> None:
    done = run(executable[1], "direction")
    assert done.returncode == 0
    assert "copy-direction" in done.stderr
    assert "the source of a copy from the host is device memory" in done.stderr


def check(
    compiler: str, dialect: Dialect, text: str, folder: Path, *flags: str, lenient: bool = True
) -> subprocess.CompletedProcess[str]:
    """Compile a unit only for its messages."""
    source = folder / "unit.cpp"
    source.write_text(text, encoding="utf-8")
    command = [compiler, *(["-fpermissive"] if lenient and "clang" not in compiler else []), "-fsyntax-only"]
    command += [*dialect_defines(dialect), *(f"-I{each}" for each in include_folders(dialect))]
    command += ["-include", "simt/prelude.h", *(flags or ("-std=c++17",)), str(source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=ENDLESS, check=False)


def test_nothing_need_be_included(compiler: str, tmp_path: Path) -> None:
    text = """
    __global__ void __launch_bounds__(128, 2) k(float *__restrict__ x) { x[threadIdx.x] = min(1, 2) + fabsf(-1.f); }
    struct __align__(16) Four { float a; };
    static_assert(alignof(Four) == 16);
    __forceinline__ __device__ int f() { return 1; }
    static __inline__ __noinline__ __host__ __device__ int g() { return CUDART_VERSION >= 11000; }
    __attribute__((__noinline__)) int h() { return 0; }
    int main() {
      float* x;
      cudaError_t error = cudaMalloc(&x, 4);
      struct cudaDeviceProp prop;
      enum cudaMemcpyKind kind = cudaMemcpyDefault;
      size_t n = sizeof(prop) + strlen("x") + kind;
      printf("%zu\\n", n);
      assert(error == cudaSuccess);
      return EXIT_SUCCESS;
    }
    """
    assert check(compiler, "cuda", text, tmp_path).stderr == ""


def test_code_that_the_compiler_must_reject(compiler: str, tmp_path: Path) -> None:
    cuda = """
    #include <hip/hip_runtime.h>
    __constant__ const float table[2] = {1, 2};
    __global__ void k() { __shared__ int x; }
    int main() {
      float v[2];
      cudaMemcpyToSymbol(table, v, sizeof(v));
      cudaImportExternalMemory(0, 0);
      cudaStreamUpdateCaptureDependencies(0, 0, 0, 0);
      cuModuleGetTexRef(0, 0, "x");
      cudaGraphChildGraphNodeGetGraph(0, 0);
      cuStreamWaitValue32(0, 0, 1, 0);
    }
    """
    said = check(compiler, "cuda", cuda, tmp_path).stderr
    for words in (
        "hip/hip_runtime.h is a header of HIP, which CUDA does not have",
        "a copy to a symbol that is const",
        "__shared__ that the rewriter has not replaced",
        "cudaImportExternalMemory",
        "the executor has no changes of the dependencies of a capturing stream",
        "the executor has no textures of modules",
        "the executor has no access to the graph in a node",
        "the executor has no stream memory operations",
    ):
        assert words in said, words
    hip = """
    #include <cuda_runtime.h>
    int main() { cudaFree(0); hipDeviceProp_t p; return p.gcnArchName[0] + hipMemcpyToArrayAsync; }
    """
    said = check(compiler, "hip", hip, tmp_path).stderr
    for words in (
        "cuda_runtime.h is a header of CUDA, which HIP does not have",
        "cudaFree",
        "hipMemcpyToArrayAsync",
    ):
        assert words in said, words
    assert "no member" not in said


def test_no_warning_of_our_own(compiler: str, tmp_path: Path) -> None:
    compilers = [compiler, *filter(None, map(shutil.which, ("clang++", "clang++-15", "clang++-14")))][:2]
    dialects: tuple[Dialect, ...] = ("cuda", "hip")
    for each, dialect, standard in zip(compilers, dialects, ("-std=c++17", "-std=c++20"), strict=False):
        done = check(each, dialect, "int main() {}", tmp_path, "-Wall", "-Wextra", standard, lenient=False)
        ours = [line for line in done.stderr.splitlines() if "warning" in line or "error" in line]
        assert ours == []


def _names() -> ModuleType:
    spec = importlib.util.spec_from_file_location("names", HERE.parent / "tools" / "update_simt_names.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_names_is_up_to_date() -> None:
    names = _names()
    assert names.TABLE.read_text(encoding="utf-8") == names.table()
    assert "#define cudaMalloc hipMalloc\n" in names.table()


def test_every_function_has_a_name_of_cuda_s() -> None:
    """A function with only a HIP name must be listed here, so that none is forgotten."""
    text = "".join(path.read_text(encoding="utf-8") for path in (INCLUDE / "simt").glob("names*.h"))
    macros = set(re.findall(r"#define \w+ (hip\w+)", text))
    functions: set[str] = set()
    for header in ("errors.h", "memory_api.h", "streams.h", "properties.h", "launch_api.h"):
        functions.update(
            re.findall(r"^(?:inline )?\w+\*? (hip[A-Z]\w+)\(", (INCLUDE / "simt" / header).read_text(), re.MULTILINE)
        )
    ours_alone = {
        "hipExtGetLastError",
        "hipExtMallocWithFlags",
        "hipFreeHost",
        "hipMallocHost",
        "hipMemAllocHost",
        "hipMemPtrGetInfo",
        "hipMemcpyWithStream",
    }
    assert len(functions) > 100
    assert functions - macros == ours_alone
