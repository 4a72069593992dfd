# SPDX-License-Identifier: Apache-2.0
"""Programs for the executor are compiled, kept and run; calls stay where the user wrote them."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import hipport
from endless import ENDLESS
from hipport.building.dry_runs import portable
from hipport.executor import compile as compiling
from hipport.executor import compilers
from hipport.executor.compile import Builder, CompileOptions, program
from hipport.executor.compilers import NoCompiler, find_compiler, probe
from hipport.executor.messages import NotCompiled
from hipport.executor.prepare import Dialect
from hipport.toolchain import toolchains

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")

# Each of these is compiled with equal calls, which must stay as many as in the source, and with numbered calls, which
# must stay in order: a call that waits at a lower address is assumed to be later in the code.
TRICKY = """
FUNCTION(int x) { int r; if (x) r = OP(1); else r = OP(2); return r; }
FUNCTION(int x, int y) { int r; if (x) { r = OP(1); r += y; } else { r = OP(2); r += y; } return r * 3; }
FUNCTION(int x, int* p) { int r = 0; bool f = false; if (x > 3) { f = true; p[0] = 1; } p[1] = 2; if (f) r = OP(1);
  r += OP(2); if (x > 3) r += OP(3); return r; }
FUNCTION(int x, int* p) { int s = 0; for (int i = 0; i < x; i++) { if (p[i] < 0) s |= 1; else s = 0; if (s) OP(1);
  OP(2); } return s; }
FUNCTION(int n, int* p) { int s = 0; for (int i = 0; i < n; i++) { if (p[i] & 1) continue; s += OP(1);
  if (p[i] & 2) continue; s -= OP(2); } return s + OP(3); }
FUNCTION(int n, int* p) { int s = 0; for (int i = 0; ; i++) { if (p[i] == n) break; s += OP(1);
  if (s > 100) { s = OP(2); break; } } return s + OP(3); }
FUNCTION(int x) { int r = 0; switch (x) { case 0: r = OP(1); break; case 1: r = OP(2); break; case 2: r = 3;
  case 3: r += OP(3); break; case 7: return OP(4); default: r = OP(5); } return r + OP(6); }
FUNCTION(int x, int* p) { if (x == 0) return OP(1); p[0] = x; if (x == 1) { p[1] = 2; return OP(2); } if (x < 0)
  return 0; return OP(3); }
FUNCTION(int* p) { int n = 0; do { n++; if (*p++ > 4) OP(1); } while (OP(2) != n); return n; }
FUNCTION(int n, int m, int* p) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { if (p[i] > p[j])
  s += OP(1); else s -= OP(2); } return s; }
FUNCTION(int n, int flag, int* p) { int s = 0; for (int i = 0; i < n; i++) { p[i] += 1; if (flag) s += OP(1);
  s += OP(2); p[i] *= s; } return s; }
FUNCTION(int x) { return x > 4 ? OP(1) : x < -4 ? OP(2) : OP(3); }
FUNCTION(int x, int y) { if ((x && OP(1)) || (y && OP(2))) return OP(3); return OP(4); }
FUNCTION(int x, int* p) { p[1] = 2; return OP(1); }
FUNCTION(int x, int* p) { again: if (*p++ < x) { OP(1); if (*p == 3) goto out; goto again; } OP(2); out: return OP(3); }
FUNCTION(int x, int y, int* p) { if (x) { if (y) return OP(1); p[0]++; } else { p[1]++; } return OP(2); }
FUNCTION(int a, int b, int* p) { bool t = a > b; if (t) p[0] = 1; bool u = t || p[1]; if (u) { OP(1); if (t) OP(2);
  else OP(3); } return t; }
FUNCTION(int x, int* p) { if (__builtin_expect(x > 0, 0)) p[0] = OP(1); p[1] = OP(2); if (__builtin_expect(x == 7, 1))
  OP(3); else OP(4); return OP(5); }
FUNCTION(int n, int* p) { for (int i = 0; i < n; i++) { if (p[i] == 1) { OP(1); return i; } if (p[i] == 2) { OP(2);
  return -i; } } OP(3); return 0; }
FUNCTION(int n, float* a, float* b) { for (int i = 0; i < n; i++) a[i] = b[i] * 2; OP(1); for (int i = 0; i < n; i++)
  a[i] += b[i]; return OP(2); }
FUNCTION(int n, int* p) { int first = 1; for (int i = 0; i < n; i++) { if (first) { OP(1); first = 0; } else
  p[i] = OP(2); } return first; }
FUNCTION(int n, int m, int* p) { int s = 0; for (int i = 0; i < n; i++) { if (i < m) s += OP(1); else s += p[i];
  p[i] = OP(2); } return s; }
FUNCTION(int n, int* p) { int s = 0; for (int i = 0; i < n; OP(3), i++) { if (p[i]) continue; if (p[i + 1]) s += OP(1);
  s ^= OP(2); } return s + OP(4); }
FUNCTION(int* p) { int n = 0; while (*p) { n++; p += OP(1); if (n == 3) OP(2); } return OP(3); }
FUNCTION(int x, int* p) { if (OP(1) > 3) { OP(2); return 1; } if (OP(3) > 3) { OP(4); return 1; }
  for (int i = 0; i < 4; i += 4) p[i] += OP(5); return p[x] * 3 + OP(6); }
FUNCTION(int x, int* p) { int s = 0; if (p[x] == 1) { for (int i = 0; i < 16; i += 16, OP(4)) { p[i] = OP(1);
  p[i] = OP(2); s = p[i] == 0 ? s + 1 : OP(3); } } return s + OP(5); }
FUNCTION(int x, int y, int* p) { for (int b = 0; b < 256; b += 512) { int t = b + x; if (t < 256) { bool f = y & p[7];
  int o = OP(1); if (o >= 0) p[t] = -1; else if (f) { OP(2); p[t + y] = 4; } if (o & 7) p[o] = 3;
  int r = OP(3); if (x == 0) p[9] = r; } } return OP(4); }
FUNCTION(int x, int n, int* p) { int s = 0; for (int b = 0; b < n; b++) { for (int i = 0; i < 3; i++) { if (p[i] < x)
  s += OP(1); else if (s) { OP(2); p[i] = s; } if (p[b] & 1) p[b] = s; OP(3); } if (s < 3) OP(4); } return OP(5); }
"""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return the environment, with a new cache, for an unchanged executor."""
    copy = tmp_path_factory.mktemp("executor")
    with pytest.MonkeyPatch.context() as patch:
        for name, place in (("INCLUDE", "native/include"), ("RUNTIME", "native/runtime"), ("HELPERS", "include")):
            shutil.copytree(getattr(compiling, name), copy / place)
            patch.setattr(compiling, name, copy / place)
        # Except for entries that depend on the runtime's files.
        kept, shared = copy / "cache/hipport/simt/runtime", toolchains.cache(os.environ) / "simt/runtime"
        shared.mkdir(parents=True, exist_ok=True)
        kept.parent.mkdir(parents=True)
        kept.symlink_to(shared)
        yield {**os.environ, "XDG_CACHE_HOME": str(copy / "cache"), "CXX": ""}


def calls(compiler: compilers.Compiler, level: str, source: Path, *, numbered: bool) -> dict[str, list[int]]:
    """Return the calls of each function by address, as their numbers."""
    flags = [level, "-fPIC", "-w", *compiler.keeps_calls, *(["-DNUMBERED"] if numbered else [])]
    done = subprocess.run([compiler.path, *flags, "-S", str(source), "-o", "-"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[int]] = {}
    function, number = "", 0
    for line in done.stdout.splitlines():
        if label := re.match(r"(f\d+):", line):
            function = label[1]
        elif re.search(r"\b(?:callq?|jmp|bl?)\s+op\b", line):
            assert "jmp" not in line, f"{function}: a call became a jump"
            found.setdefault(function, []).append(number)
        elif given := re.search(r"\bmov\w*\s+(?:\$(\d+), %edi|w0, #?(\d+))", line):
            number = int(given[1] or given[2])
    return found


def compiler_named(name: str) -> compilers.Compiler:
    """Return a compiler by the name of its program, or the clang of a ROCm."""
    path = next(compilers.of_toolchains(os.environ), None) if name == "rocm" else shutil.which(name)
    compiler = probe(Path(path), os.environ) if path else None
    if compiler is None:
        pytest.skip(f"NOT CHECKED with this compiler: no {name} here")
    return compiler


@pytest.mark.parametrize("name", ["g++", "clang++", "clang++-15", "rocm"])
@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_calls_are_neither_joined_nor_copied_nor_moved(name: str, level: str, tmp_path: Path) -> None:
    compiler = compiler_named(name)
    functions = re.split(r"^FUNCTION", TRICKY, flags=re.MULTILINE)[1:]
    text = "#ifdef NUMBERED\nint op(int);\n#define OP(n) op(n)\n#else\nint op();\n#define OP(n) op()\n#endif\n"
    text += "".join(f"int f{i}{function}" for i, function in enumerate(functions))
    source = tmp_path / "tricky.cpp"
    source.write_text(f'extern "C" {{\n{text}}}\n')
    expected = {f"f{i}": len(re.findall(r"\bOP\(", function)) for i, function in enumerate(functions)}
    assert {name: len(each) for name, each in calls(compiler, level, source, numbered=False).items()} == expected
    for function, numbers in calls(compiler, level, source, numbered=True).items():
        assert numbers == sorted(numbers), function


PROGRAM = {
    "Makefile": """
CC = nvcc
CFLAGS := -std=c++14 -Xcompiler -Wall,-fopenmp -arch=sm_60 -DSCALE=2 -Iinclude -O3 -Itoolkit
program: main.o kernel.o host.o plain.o
\t$(CC) $(CFLAGS) $^ -o $@
%.o: %.cu
\t$(CC) $(CFLAGS) -c $< -o $@
%.o: %.cpp
\t$(CC) $(CFLAGS) -c $< -o $@
%.o: %.c
\t$(CC) $(CFLAGS) -c $< -o $@
""",
    "main.cu": """
#include <cstdio>
#include <cstdlib>
#include "k.h"
int main(int argc, char** argv) {
  float *x, *y, sum;
  cudaMalloc((void**)&x, 1000 * sizeof(float));
  cudaMalloc((void**)&y, sizeof(float));
  fill<float><<<4, 256>>>(x, argc > 1 ? 2000 : 1000);
  cudaMemset(y, 0, 4);
  run(x, y);
  cudaMemcpy(&sum, y, 4, cudaMemcpyDeviceToHost);
  printf("%g %s:%d\\n", sum * twice(1) * thrice(1), __FILE__, __LINE__);
  if (argc > 2) return bounds(argc);
  return sum != SCALE * 999 * 500;
}
""",
    "kernel.cu": """
#include <cuda_runtime.h>
#include "k.h"
__global__ void total(const float* x, float* y, int n) {
  __shared__ float part[256];
  extern __shared__ float scale[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0;
  scale[threadIdx.x] = SCALE;
  __syncthreads();
  for (unsigned left = blockDim.x / 2; left > 0; left /= 2) {
    if (threadIdx.x < left) part[threadIdx.x] += part[threadIdx.x + left];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(y, part[0] * scale[255]);
}
void run(float* x, float* y) { total<<<4, 256, 256 * sizeof(float)>>>(x, y, 1000); }
""",
    "include/k.h": """
#pragma once
template <typename T>
__global__ void fill(T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i;
}
void run(float* x, float* y);
int twice(int);
int bounds(int);
extern "C" int thrice(int);
""",
    "host.cpp": """
#ifdef __CUDACC__
#error "nvcc gives this to the host's compiler"
#endif
int twice(int x) { return 2 * x; }
int bounds(int n) {
  int a[3] = {1, 2, 3};
  return a[n];
}
""",
    "plain.c": "int thrice(int class) { return 3 * class; }\n",
    "toolkit/cuda_runtime.h": '#error "not with the executor"\n',
    "toolkit/cuda_runtime_api.h": "",
    "unused.cu": '#error "the Makefile does not compile this"\n',
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def ran(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(path), *arguments], capture_output=True, text=True, timeout=ENDLESS)


def test_a_program_is_built_once_and_run(tmp_path: Path, env: dict[str, str]) -> None:
    tree = write(tmp_path / "tree", PROGRAM)
    options = CompileOptions(env=env)
    built = program([tree], "cuda", options)
    assert [str(unit.path) for unit in built.units] == ["main.cu", "kernel.cu", "host.cpp", "plain.c"]
    done = ran(built.path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"5.994e+06 {tree / 'main.cu'}:13\n"
    # The same input again compiles nothing.
    again = program([tree], "cuda", options)
    assert again.cached and again.path == built.path
    # A changed header does not affect units that do not include it.
    write(tree, {"include/k.h": PROGRAM["include/k.h"].replace("= i;", "= i + 1;")})
    changed = program([tree], "cuda", options)
    assert {str(unit.path): unit.cached for unit in changed.units} == {
        "main.cu": False,
        "kernel.cu": False,
        "host.cpp": True,
        "plain.c": True,
    }
    assert ran(changed.path).returncode == 1
    # Faults name the user's line.
    fault = ran(built.path, "too", "far")
    assert fault.returncode == 97
    assert "include/k.h:6" in fault.stderr


@pytest.mark.parametrize(
    ("dialect", "wave", "name"), [("cuda", "32", "g++"), ("hip", "64", "g++"), ("hip", "32", "rocm")]
)
def test_every_form_of_launches_and_shared_memory(
    dialect: Dialect, wave: str, name: str, tmp_path: Path, env: dict[str, str]
) -> None:
    compiler = compiler_named(name)
    source = Path(__file__).parent / "simt_programs" / "forms.cu"
    tree = write(tmp_path / "tree", {"forms.cu": source.read_text()})
    what = [tree] if dialect == "cuda" else hipport.rewrite([tree])
    built = program(what, dialect, CompileOptions(env=env, compiler=compiler, precompile=False))
    assert not built.reported
    done = subprocess.run(
        [str(built.path)], capture_output=True, text=True, env={**env, "SIMT_WAVE": wave}, timeout=ENDLESS
    )
    assert done.returncode == 0, done.stderr
    # Computed by hand; the original prints the same on a GPU.
    assert done.stdout == "158 59 60 61\n7 8.5 42 42 43\n9 11 12 1 4 5\n"


def test_lanes_of_different_iterations_are_separate(tmp_path: Path, env: dict[str, str]) -> None:
    source = Path(__file__).parent / "simt_programs" / "turns.cu"
    tree = write(tmp_path / "tree", {"turns.cu": source.read_text()})
    built = program([tree], "hip", CompileOptions(env=env, precompile=False))
    done = subprocess.run(
        [str(built.path)], capture_output=True, text=True, env={**env, "SIMT_WAVE": "64"}, timeout=ENDLESS
    )
    # Each row: the four iterations of one loop; first those of lane 0, then those of lane 1.
    rows = ["5 0 5 0", "0 0 3 9", "1 0 0 0", "f f f f", "0 a 0 a", "0 6 3 0", "0 2 0 0", "a a a a"]
    expected = [" ".join(digit if digit == "0" else digit * 16 for digit in row.split()) for row in rows]
    assert done.stdout.splitlines() == expected


def test_a_lane_that_leads_atomic_operations_is_waited_for(tmp_path: Path, env: dict[str, str]) -> None:
    source = Path(__file__).parent / "simt_programs" / "leaders.cu"
    tree = write(tmp_path / "tree", {"leaders.cu": source.read_text()})
    options = CompileOptions(env=env, precompile=False)
    original, ported = program([tree], "cuda", options), program(hipport.rewrite([tree]), "hip", options)
    for (built, wave), order in product(
        ((original, "32"), (ported, "32"), (ported, "64")), ("forward", "reverse", "random:1")
    ):
        given = {**env, "SIMT_WAVE": wave, "SIMT_ORDER": order}
        done = subprocess.run([str(built.path)], capture_output=True, text=True, env=given, timeout=ENDLESS)
        assert done.stdout == "0 wrong\n", (wave, order, done.stderr)


@pytest.mark.parametrize("name", ["g++", "rocm"])
def test_code_after_a_waiting_loop_runs_after_it(name: str, tmp_path: Path, env: dict[str, str]) -> None:
    compiler = compiler_named(name)
    source = Path(__file__).parent / "simt_programs" / "chained_blocks.cu"
    tree = write(tmp_path / "tree", {"chained_blocks.cu": source.read_text()})
    options = CompileOptions(env=env, compiler=compiler, optimize="-O1", precompile=False)
    built = program(hipport.rewrite([tree]), "hip", options)
    assert any(b"SIMT_TOGETHER" in each.read_bytes() for each in built.prepared.sources)
    for wave in ("32", "64"):
        given = {**env, "SIMT_WAVE": wave}
        done = subprocess.run([str(built.path)], capture_output=True, text=True, env=given, timeout=ENDLESS)
        assert done.stdout == "0 wrong\n", (wave, done.stderr)


def test_errors_are_at_the_users_lines(tmp_path: Path, env: dict[str, str]) -> None:
    tree = write(
        tmp_path / "tree",
        {
            "a.cu": '#include "b.h"\nint main() {\n  k<<<1, 1>>>(1, 2);\n  f<int>();\n}\n',
            "b.h": "__global__ void k(int) { __shared__ int a; a = undeclared; }\n"
            "template <typename T> void f() { T::g(); }\n",
        },
    )
    with pytest.raises(NotCompiled) as raised:
        program([tree], "cuda", CompileOptions(env=env))
    said = {(str(each.path), each.line): each for each in raised.value.messages if each.severity == "error"}
    assert "undeclared" in said["b.h", 1].text
    assert ("a.cu", 3) in said, "a launch with the wrong arguments stands where it is, not in our header"
    assert any(note.line == 4 for note in said["b.h", 2].notes), "where a template is used from is a note"
    write(tree, {"a.cu": "int missing(int);\nint main() { return missing(1); }\n", "b.h": ""})
    with pytest.raises(NotCompiled, match="nothing here defines missing"):
        program([tree], "cuda", CompileOptions(env=env))
    write(tree, {"a.cu": "int main() {}\n", "c.cu": "int main() {}\n"})
    with pytest.raises(NotCompiled, match="several programs"):
        program([tree], "cuda", CompileOptions(env=env))


def test_sanitizers_report_their_findings(tmp_path: Path, env: dict[str, str]) -> None:
    files = {
        "a.cu": "__global__ void k(int n) {\n  __shared__ int a[4];\n  a[n] = 1;\n}\n"
        "int main() { k<<<1, 1>>>(4); cudaDeviceSynchronize(); }\n"
    }
    tree = write(tmp_path / "tree", files)
    done = ran(program([tree], "cuda", CompileOptions(env=env, sanitize=("bounds",), precompile=False)).path)
    assert done.returncode != 0
    assert "a.cu:3" in done.stderr and "out of bounds" in done.stderr
    # The address sanitizer knows the stacks of fibers: it reports errors on one, and nothing else.
    text = (
        "__global__ void k(int n) {\n  int a[4];\n  a[threadIdx.x & 3] = 1;\n  __syncthreads();\n"
        "  a[n + threadIdx.x] = a[1];\n  __syncthreads();\n  if (a[0] == 7) __trap();\n}\n"
        "int main(int argc, char**) { k<<<2, 4>>>(argc - 1); cudaDeviceSynchronize(); }\n"
    )
    built = program(
        [write(tmp_path / "b", {"b.cu": text})],
        "cuda",
        CompileOptions(env=env, sanitize=("address",), precompile=False),
    )
    assert ran(built.path).returncode == 0
    done = ran(built.path, "one too far")
    assert done.returncode != 0 and "stack-buffer-overflow" in done.stderr and "b.cu:5" in done.stderr
    with pytest.raises(ValueError, match="nonsense"):
        CompileOptions(env=env, sanitize=("nonsense",))


@pytest.mark.parametrize("defined", ["MINE", "NDEBUG"])
def test_a_macro_that_headers_test_makes_them_read_again(defined: str, tmp_path: Path, env: dict[str, str]) -> None:
    builder = compiling.Builder(compiling.CompileOptions(env, optimize="-O0"), "cuda")
    if builder.compiler.family != "g++":
        pytest.skip("what g++ compares of macros was NOT checked: there is no g++")
    (tmp_path / "a.cu").write_text("void f(int n) { assert(n); }\n")
    front = [builder.compiler.path, *builder.front(), *builder.flags(), f"-D{defined}", *builder.includes, "-x", "c++"]
    # -H shows for each precompiled header whether it was used (!) or rejected (x).
    done = subprocess.run(
        [*front, "-H", "-S", "-o", "-", "a.cu"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    function = done.stdout.partition("_Z1fi:")[2].partition(".cfi_endproc")[0]
    assert function
    assert ("simt_assert_fail" in function) == (defined != "NDEBUG")
    assert (re.search(r"^! .*prelude\.h\.gch$", done.stderr, re.MULTILINE) is not None) == (defined != "NDEBUG")


@pytest.mark.parametrize("name", ["g++", "rocm"])
def test_a_reinstalled_header_is_precompiled_again(
    name: str, tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """clang rejects the old one because a file was modified, even if only its time changed; g++ would use it."""
    monkeypatch.setattr(Builder, "compiler", compiler_named(name))
    (tmp_path / "first.h").write_text('#include "second.h"\n')
    (tmp_path / "second.h").write_text("constexpr int VALUE = 1;\n")

    def result(*, newly: bool) -> int:
        builder = Builder(CompileOptions(env=env, optimize="-O0"), "cuda")
        flags = (f"-I{tmp_path}",)
        made = builder.precompiled("first.h", flags) / "first.h.gch"
        before = made.stat().st_mtime_ns
        assert (before not in times) == newly
        times.add(before)
        front = [builder.compiler.path, *builder.front("first.h", flags), *builder.flags(), *flags, *builder.includes]
        source = tmp_path / "a.cpp"
        source.write_text("int main() { return VALUE; }\n")
        subprocess.run([*front, str(source), "-o", str(tmp_path / "a")], check=True)
        return subprocess.run([tmp_path / "a"], check=False).returncode

    times: set[int] = set()
    assert result(newly=True) == 1
    assert result(newly=False) == 1
    os.utime(tmp_path / "second.h", (1, 1))
    assert result(newly=True) == 1
    (tmp_path / "second.h").write_text("constexpr int VALUE = 2;\n")
    assert result(newly=True) == 2


def test_flags_of_other_compilers_are_left_out() -> None:
    given = "-O3 -arch=sm_70 -Xcompiler -fopenmp,-Wall --define-macro=A=1 -D B -Iinc -I inc2 -use_fast_math -lm".split()
    assert portable(given) == ["-fopenmp", "-DA=1", "-D", "B", "-Iinc", "-I", "inc2"]


def test_a_missing_compiler_is_reported_with_advice(tmp_path: Path, env: dict[str, str]) -> None:
    old = tmp_path / "g++"
    old.write_text('#!/bin/sh\n[ "$1" = -dumpfullversion ] && echo 9.4.0 || echo "g++ (GCC) 9.4.0"\n')
    old.chmod(0o755)
    with pytest.raises(NoCompiler, match=r"g\+\+ 11 or clang 14.*there is .*9\.4\.0"):
        find_compiler({**env, "PATH": str(tmp_path)})
    with pytest.raises(NoCompiler, match=r"or later\. On Debian"):
        find_compiler({**env, "PATH": ""})
    compiler = find_compiler(env)
    assert compiler.version[0] >= 11
    assert Builder(CompileOptions(env=env, compiler=compiler), "hip").compiler is compiler


def test_inline_ptx_runs_as_functions(tmp_path: Path, env: dict[str, str]) -> None:
    """The original's assembly is hipport's translation: the executor cannot run it in another way."""
    from hipport_passes.device import inline_ptx

    text = """
#include <cstdio>
__global__ void k(unsigned* out) {
  __shared__ unsigned s[2];
  unsigned lane, below, field, at, got, now;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(field) : "r"(0xabcd1234u), "r"(8), "r"(8));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(now));
  asm volatile("nanosleep.u32 %0;" : : "r"(1));
  at = static_cast<unsigned>(__cvta_generic_to_shared(&s[1]));
  if (threadIdx.x == 0) asm volatile("st.shared.u32 [%0], %1;" : : "r"(at), "r"(77) : "memory");
  __syncthreads();
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(got) : "r"(at));
  if (threadIdx.x == 35) out[0] = lane, out[1] = below, out[2] = field, out[3] = got, out[4] = now;
}
int main() {
  unsigned* out;
  cudaMallocManaged(&out, 20);
  k<<<1, 64>>>(out);
  cudaDeviceSynchronize();
  printf("%u %x %x %u %u\\n", out[0], out[1], out[2], out[3], out[4]);
}
"""
    tree = write(tmp_path / "tree", {"a.cu": text})
    built = program([tree], "cuda", CompileOptions(env=env, passes=(inline_ptx.PASS,)))
    assert ran(built.path).stdout == "3 7 12 77 0\n"
    assert built.prepared.made(tree / "a.cu").read_text().count("asm") == 0


def test_loops_of_the_host_are_rewritten_and_need_no_headers(tmp_path: Path, env: dict[str, str]) -> None:
    """A host function may have the name of one that kernels call between accesses to volatile memory."""
    host = """
    #include "count.h"
    static void step(float* p) { *p += 1; }
    int count(int n) {
      float sum = 0;
      for (int i = 0; i < n; i++) { if (i == 2) continue; step(&sum); }
      return static_cast<int>(sum);
    }
    """
    main = """
    #include <cstdio>
    #include "count.h"
    __device__ void step(volatile float* p) { *p = *p + 1; }
    __global__ void k() {
      __shared__ volatile float s[32];
      s[threadIdx.x] = 0;
      for (int i = 0; i < 3; i++) { if (threadIdx.x > 4) continue; step(s + threadIdx.x); }
    }
    int main() { k<<<1, 32>>>(); std::printf("%d\\n", count(5)); }
    """
    tree = write(tmp_path / "tree", {"main.cu": main, "host.cpp": host, "count.h": "int count(int n);\n"})
    built = program([tree], "cuda", CompileOptions(env=env))
    prepared = next(path for path in built.prepared.sources if path.name == "host.cpp")
    assert b"SIMT_LOCKSTEP_ITERATION" in prepared.read_bytes()
    done = subprocess.run([built.path], capture_output=True, text=True, check=True, timeout=ENDLESS)
    assert done.stdout == "4\n"


LEAF = """
#include <cstdio>
#include "simt/core.h"
bool simt::detail::compiled_as(simt::Dialect) { return true; }  // the runtime's, which is not needed here
static void* back;
static void* nowhere;
alignas(16) static unsigned char stack[1 << 16];
static void returns_at_once() { simt::detail::leave_stack(&nowhere, back); }
__attribute__((noinline)) int leaf(void** save, void* load, int x, int y, int z) {
  simt::detail::leave_stack(save, load);
  return x + 2 * y + 4 * z;
}
int main() {
  void** top = reinterpret_cast<void**>(stack + sizeof stack - 16);
  *top = reinterpret_cast<void*>(&returns_at_once);
  std::printf("%d", leaf(&back, top, 1, 1, 1));
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have no jump of the executor's own")
def test_a_leaf_function_keeps_the_memory_below_its_stack(tmp_path: Path, env: dict[str, str]) -> None:
    # The value needed after the jump is in the 128 bytes below the top of the stack, because nothing is called.
    (tmp_path / "leaf.cpp").write_text(LEAF)
    compiler = find_compiler(env)
    program = tmp_path / "leaf"
    command = [
        compiler.path,
        "-std=c++17",
        "-O2",
        f"-I{compiling.INCLUDE}",
        str(tmp_path / "leaf.cpp"),
        "-o",
        str(program),
    ]
    subprocess.run(command, env=env, check=True)
    assert subprocess.run([program], capture_output=True, check=True).stdout == b"7"


def test_asm_statements_follow_the_manual(tmp_path: Path, env: dict[str, str]) -> None:
    source = Path(__file__).parent / "simt_programs" / "asm_statements.cu"
    tree = write(tmp_path / "tree", {"asm_statements.cu": source.read_text()})
    ported = hipport.rewrite([tree])
    assert not any(b"asm(" in source.text for source in ported.project.sources)
    built = program(ported, "hip", CompileOptions(env=env, precompile=False))
    for wave in ("32", "64"):
        given = {**env, "SIMT_WAVE": wave}
        done = subprocess.run([str(built.path)], capture_output=True, text=True, env=given, timeout=ENDLESS)
        assert done.stdout == "checked\n", (wave, done.stdout, done.stderr)


_SPECIAL_FUNCTIONS = """#include <cmath>
#include <cstdio>
__global__ void k(double *p) { p[0] = std::beta(2.0, 3.0) + std::cyl_bessel_jf(0, 0.f); }
int main() {
#ifdef __cpp_lib_math_special_functions
  double *p;
  cudaMallocManaged(&p, sizeof *p);
  k<<<1, 1>>>(p);
  cudaDeviceSynchronize();
  std::printf("%.4f %.4f\\n", p[0], std::riemann_zeta(2.0));
#endif
}
"""


def test_special_functions_are_those_of_the_library(tmp_path: Path, env: dict[str, str]) -> None:
    """simt/less_math.h leaves them out of <cmath>: a unit that uses them is compiled with them."""
    (tmp_path / "main.cu").write_text(_SPECIAL_FUNCTIONS)
    for cached in (False, True):
        made = program([tmp_path / "main.cu"], "cuda", CompileOptions(env))
        assert [each.cached for each in made.units] == [cached]
        assert ran(made.path).stdout == "1.0833 1.6449\n"
