# SPDX-License-Identifier: Apache-2.0
"""Names that HIP lacks do not compile in a port, although the executor's headers have them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hipport.executor import compile as compiling
from hipport.executor import hip_lacks
from hipport.executor.messages import NotCompiled
from hipport.executor.prepare import rewritten
from hipport.program.project import Target
from hipport.workspace.discovery import discover

ENV = {**os.environ}
ROOT = Path(__file__).parent.parent
USES = """#include <hip/hip_runtime.h>
__global__ void kernel(unsigned* out, hipSurfaceObject_t surface) {
  out[0] = umax(out[1], out[2]);
  surf2Dwrite(out[3], surface, 0, 0, hipBoundaryModeZero);
  if (out[0] == 7) __trap();
}
int main() {
  (void)hipMemcpy3DPeer(nullptr);
}
"""
# Names that a program defines itself, members, names in a namespace, and the overload that HIP has.
HAS = """#include <hip/hip_runtime.h>
__device__ unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
#define __trap() __builtin_trap()
namespace own {
__device__ long long llmin(long long a, long long b) { return a < b ? a : b; }
struct Has { int fdivide; };
}
__device__ int variables(int n) {
  int first = n, *__brkpt = &n, ullmax;
  ullmax = *__brkpt + first;
  return ullmax;
}
__global__ void kernel(unsigned* out, hipSurfaceObject_t surface, own::Has has) {
  out[0] = umax(out[1], out[2]) + own::llmin(1, 2) + has.fdivide;
  surf2Dwrite(out[3], surface, 0, 0);
  if (out[0] == 7) __trap();
}
int main() { return 0; }
"""


def changed(text: str) -> list[str]:
    new = rewritten(Path("x.hip"), text.encode(), "hip").decode()
    return re.findall(r"hip_\d+_\d+__gfx\d+_gfx\d+___(\w+)", new)


def test_every_name_of_the_table_is_refused() -> None:
    names = sorted(each.decode() for each in hip_lacks.NAMES)
    assert len(names) > 80
    assert {"__trap", "umax", "__float2bfloat16_rn", "hipMemcpy3DPeer"} <= {*names}
    text = "__device__ void f() {\n" + "".join(f"  {each}(1);\n" for each in names) + "}\n"
    assert changed(text) == names


def test_functions_with_other_numbers_of_arguments_are_refused() -> None:
    assert hip_lacks.TAKEN[b"surf2Dwrite"] == {4}
    for name, taken in hip_lacks.TAKEN.items():
        for count in range(1, 8):
            call = f"__device__ void f() {{ {name.decode()}({', '.join(['x'] * count)}); }}\n"
            assert bool(changed(call)) == (count not in taken), call


@pytest.mark.parametrize("call", [
    "(umax)(1, 2)", "((umax))(1, 2)", "( umax ) (1, 2)", "f((umax)(1, 2))", "(surf2Dread<float>)(s, 4, 0)",
])  # fmt: skip
def test_a_name_in_brackets_is_called_all_the_same(call: str) -> None:
    assert len(changed(f"__device__ void g() {{ {call}; }}\n")) == 1


@pytest.mark.parametrize("text", ["f((umax) + (1))", "int x = (umax);", "(umax) - (2)", "if (umax) (x)();"])
def test_a_variable_in_brackets_is_no_call(text: str) -> None:
    assert changed(f"__device__ void g(int umax) {{ {text}; }}\n") == []


def test_names_that_hip_lacks_do_not_compile_for_the_target(tmp_path: Path) -> None:
    (tmp_path / "port").mkdir()
    file = tmp_path / "port" / "uses.hip"
    file.write_text(USES)
    with pytest.raises(NotCompiled) as raised:
        compiling.program([file], "hip", compiling.CompileOptions(ENV))
    said = {each.line: each.text for each in raised.value.messages if each.severity == "error"}
    target = "the port does not compile for the target (ROCm 6.4, gfx942,gfx1100)"
    for line, what in (
        (3, "umax"),
        (4, "surf2Dwrite with 5 arguments (it takes 4)"),
        (5, "__trap"),
        (8, "hipMemcpy3DPeer"),
    ):
        assert said[line] == f"HIP has no {what}, which CUDA has: {target}", said


def test_a_programs_own_functions_compile(tmp_path: Path) -> None:
    (tmp_path / "port").mkdir()
    file = tmp_path / "port" / "has.hip"
    file.write_text(HAS)
    assert changed(HAS) == []
    assert compiling.program([file], "hip", compiling.CompileOptions(ENV)).path.exists()


def test_the_target_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.hip"
    file.write_text("__device__ int f() { return umin(1, 2); }\n")
    project = discover([file], target=Target(archs=("gfx90a:xnack+",), rocm=(7, 0)))
    (finding,) = hip_lacks.find(project.sources[0], project)
    assert "ROCm 7.0, gfx90a" in hip_lacks.said(f"'{finding.edits[0].new.decode()}' was not declared in this scope")


@pytest.mark.further
def test_the_table_follows_the_headers() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "update_hip_lacks.py"), "--check"], check=False)
    if done.returncode == 2:
        pytest.skip("no hipcc")
    assert done.returncode == 0
