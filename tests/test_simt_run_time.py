# SPDX-License-Identifier: Apache-2.0
"""Run-time compilation by the executor's programs: by hipport, as data, within limits, and with the dialect's
functions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

import verifying
from endless import ENDLESS
from hipport import api
from hipport.executor import run_time_compiler
from hipport.executor.compile import CompileOptions, program
from hipport.executor.run_time_compiler import RefusedRequest, Request, flags_of
from hipport.toolchain.toolchains import cache as cache_of
from hipport_passes.device import inline_ptx

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")

SOURCE = Path(__file__).parent / "simt_libraries" / "run_time.cu"
CONFIGURATIONS = (("cuda", 32), ("hip", 32), ("hip", 64))


@cache
def built(dialect: str, *sanitize: str) -> Path:
    options = CompileOptions(env=dict(os.environ), optimize="-O0", sanitize=sanitize)
    return program([SOURCE], dialect, options).path  # type: ignore[arg-type]


def run(path: Path, what: str, wave: int = 32, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SIMT_WAVE": str(wave), **run_time_compiler.variables(os.environ), **more}
    return subprocess.run([path, what], env=env, capture_output=True, text=True, timeout=ENDLESS, check=False)


@pytest.mark.parametrize(("dialect", "wave"), CONFIGURATIONS)
def test_a_fault_names_the_line_of_the_source_that_the_program_gave(dialect: str, wave: int) -> None:
    done = run(built(dialect), "fault", wave)
    assert done.returncode == 97, done.stderr
    assert re.search(r"out-of-bounds.*\n.*/beyond\.cu:2\n.*in kernel beyond", done.stderr), done.stderr


@pytest.mark.parametrize(("dialect", "wave"), CONFIGURATIONS)
def test_code_of_a_gpu_is_named(dialect: str, wave: int) -> None:
    done = run(built(dialect), "code", wave)
    assert done.returncode == 97 and "code for a GPU (PTX, cubins, code objects) cannot run" in done.stderr
    assert re.search(r"run_time\.cu:\d+", done.stderr), done.stderr


def test_races_are_found_in_code_compiled_at_run_time() -> None:
    done = run(built("cuda", "thread"), "race")
    assert re.search(r"race: .*\n.*reversed\.cu:[34]", done.stderr), done.stdout + done.stderr


def test_without_hipport_the_call_is_named() -> None:
    done = run(built("cuda"), "fault", SIMT_RTC="")
    env = {name: value for name, value in os.environ.items() if name != run_time_compiler.VARIABLE}
    alone = subprocess.run([built("cuda"), "fault"], env=env, capture_output=True, text=True, check=False)
    assert alone.returncode == 97 and "which needs hipport" in alone.stderr
    # A missing compiler is an error of the call, and is not silent.
    assert "NVRTC_ERROR_INTERNAL_ERROR" in done.stdout and "hipport's compiler failed" in done.stdout


def test_a_cache_that_may_not_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (*words, _) = run_time_compiler.variables(os.environ)[run_time_compiler.VARIABLE].split("\n")
    done = run(built("cuda"), "fault", SIMT_RTC="\n".join([*words, "/proc/none"]), TMPDIR=str(tmp_path))
    assert "in kernel beyond" in done.stderr, done.stdout + done.stderr
    assert list(tmp_path.glob("hipport-*/programs/*/*/module.so"))


def test_nothing_beside_the_program_is_imported(tmp_path: Path) -> None:
    for name in ("json", "tempfile", "hipport"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    env = {**os.environ, **run_time_compiler.variables(os.environ), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [built("cuda"), "fault"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=ENDLESS, check=False
    )
    assert "in kernel beyond" in done.stderr, done.stdout + done.stderr
    assert not (tmp_path / "ran").exists()


def test_compiled_code_is_cached_for_one_tree(tmp_path: Path) -> None:
    one, other = (run_time_compiler.folder_for(tmp_path / name) for name in ("one", "other"))
    assert one != other and one.is_dir() and other.is_dir()
    assert one == run_time_compiler.folder_for(tmp_path / "one")
    assert not one.is_relative_to(cache_of(os.environ))


@pytest.mark.parametrize("name", ["../up.h", "/etc/up.h", "a/../../up.h", ""])
def test_headers_stay_in_their_folder(name: str, tmp_path: Path) -> None:
    request = Request("cuda", (), tmp_path, "x.cu", b"", headers=((name, b"int x;"),))
    with pytest.raises(RefusedRequest, match="outside of its folder") as why:
        run_time_compiler.compiled(request, tmp_path / "kept", os.environ)
    assert why.value.kind == "input" and not list(tmp_path.rglob("up.h"))


@pytest.mark.parametrize(
    ("dialect", "options", "kept"),
    [
        (
            "cuda",
            ["--gpu-architecture=compute_80", "-DN=3", "-D", "M", "-UX"],
            ["#define N 3", "#define M 1", "#undef X"],
        ),
        (
            "cuda",
            ["-arch", "sm_90", "--define-macro=A=1", "--include-path=/a", "-I/b"],
            ["-I/a", "-I/b", "#define A 1"],
        ),
        ("cuda", ["--use_fast_math", "-G", "-lineinfo", "--maxrregcount=32", "-default-device"], []),
        ("hip", ["--offload-arch=gfx942:xnack-", "-O3", "-ffast-math", "-Wno-unused", "-DN"], ["#define N 1"]),
        ("hip", ["--gpu-architecture=gfx1100", "-std=c++20", "-mllvm", "-x", "-I/a"], ["-I/a"]),
    ],
)
def test_options(dialect: str, options: list[str], kept: list[str]) -> None:
    flags = flags_of(options, dialect)  # type: ignore[arg-type]
    assert [*flags.kept, *flags.macros] == kept


@pytest.mark.parametrize(
    ("dialect", "option", "kind"),
    [
        ("cuda", "--offload-arch=gfx942", "option"),
        ("cuda", "-std=f77", "option"),
        ("hip", "--use_fast_math", "option"),
        ("hip", "-lineinfo", "option"),
        ("hip", "--define-macro=A", "option"),
        ("hip", "--gpu-architecture=compute_80", "source"),
        ("hip", "--offload-arch=sm_80", "source"),
    ],
)
def test_options_that_the_dialects_compiler_does_not_know(dialect: str, option: str, kind: str) -> None:
    with pytest.raises(RefusedRequest) as why:
        flags_of([option], dialect)  # type: ignore[arg-type]
    assert why.value.kind == kind and option in str(why.value)


VERIFIED = """
#include <cstdio>
#include <vector>
#include <cuda.h>
#include <nvrtc.h>
static const char* const source = R"(
extern "C" __global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = BODY;
})";
#define CHECK(x) if (int error = (int)(x)) { std::printf("error %d in %s\\n", error, #x); return 1; }
int main() {
  CUdevice device; CUcontext context; CUmodule module; CUfunction function; CUdeviceptr memory; nvrtcProgram program;
  CHECK(cuInit(0)); CHECK(cuDeviceGet(&device, 0)); CHECK(cuCtxCreate(&context, 0, device));
  CHECK(nvrtcCreateProgram(&program, source, "twice.cu", 0, NULL, NULL));
  const char* options[] = {OPTION};
  CHECK(nvrtcCompileProgram(program, 1, options));
  // Both come to be the code object that modules are loaded of.
  size_t size;
  CHECK(nvrtcGetPTXSize(program, &size));
  std::vector<char> text(size);
  CHECK(nvrtcGetPTX(program, text.data()));
  CHECK(cuModuleLoadData(&module, text.data()));
  CHECK(cuModuleUnload(module));
  CHECK(nvrtcGetCUBINSize(program, &size));
  std::vector<char> code(size);
  CHECK(nvrtcGetCUBIN(program, code.data()));
  CHECK(nvrtcDestroyProgram(&program));
  CHECK(cuModuleLoadData(&module, code.data()));
  CHECK(cuModuleGetFunction(&function, module, "twice"));
  std::vector<float> numbers(100, 3.f);
  int n = 100;
  CHECK(cuMemAlloc(&memory, 400)); CHECK(cuMemcpyHtoD(memory, numbers.data(), 400));
  void* arguments[] = {&memory, &n};
  CHECK(cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, 0, arguments, 0));
  CHECK(cuCtxSynchronize()); CHECK(cuMemcpyDtoH(numbers.data(), memory, 400));
  std::printf("%g %g\\n", numbers[0], numbers[99]);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("body", "option", "ok"),
    [
        ("x[i] * 2", '"-DA=1"', True),
        # Strings contain CUDA in the port as well, and so do options: hipRTC rejects both.
        ("__shfl_sync(0xffffffff, x[i], 0)", '"-DA=1"', False),
        # test_options_that_the_dialects_compiler_does_not_know shows the options without a program around them.
        pytest.param("x[i] * 2", '"--gpu-architecture=compute_80"', False, marks=pytest.mark.further),
    ],
)
def test_original_and_port_are_compared(body: str, option: str, ok: bool, tmp_path: Path) -> None:
    source = tmp_path / "main.cu"
    source.write_text(VERIFIED.replace("BODY", body).replace("OPTION", option))
    verified = verifying.program(
        [source], [], env={**os.environ}, port=lambda paths: api.rewrite(paths), orders=("forward",),
        waves=(32, 64) if ok else (64,), passes=(inline_ptx.PASS,),
    )  # fmt: skip
    assert verified.ok == ok
    by_side = {str(each.configuration): each for each in verified.ran}
    assert by_side["original@32 forward"].ok
    assert all(each.ok == ok for name, each in by_side.items() if name.startswith("ported"))
