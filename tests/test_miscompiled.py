# SPDX-License-Identifier: Apache-2.0
"""Code that clang 21 miscompiled, checked in hipcc's output at -O3: hipport's headers, and user code."""

import os
import re
import sys
from pathlib import Path

import pytest

import hip_header
import hipport
from further import further
from hipport.toolchain.toolchains import Toolchain, find

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parent.parent
INCLUDE = ROOT / "src/hipport/include"
# Two dots of mixed signs, and enough code beside them for the compiler to treat all as sums of unsigned bytes.
DOTS = r"""
#include <hipport/ptx.h>
extern "C" __global__ void dots(const unsigned* as, const unsigned* bs, const unsigned* cs, int n, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned a = as[i], b = bs[i], c = cs[i];
  out[i] = hipport::ptx::dp4a_s32_u32(a, b, c);
  out[n + i] = hipport::ptx::dp4a_u32_s32(a, b, c);
  out[2 * n + i] = a < b ? a - c : a + c;
  out[3 * n + i] = hipport::ptx::bfe_u32(a, b & 255u, 8);
}
"""
# A field, and a shift that the same number clamps.
FIELDS = r"""
#include <hipport/ptx.h>
extern "C" __global__ void fields(const unsigned* a, const unsigned* c, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned n = c[i];
  out[2 * i] = hipport::ptx::bfe_s32(a[i], n, c[i + 1]);
  out[2 * i + 1] = hipport::ptx::shf_DIRECTION_clamp_b32(a[i], a[i + 1], n & 255u);
}
"""
# The same in a program's own code. Loaded values are not moved, so the length is calculated.
CLAMPS = b"""__global__ void clamps(const unsigned* c, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned n = c[i] & 255u, length = c[i] >> 8 & 255u;
  const unsigned found = n < 32u ? min(length, 32u - n) : 0u;
  out[2 * i] = found;
  out[2 * i + 1] = min(n, 32u);
}
"""
SIGNS = b"""__global__ void signs(const unsigned* as, const unsigned* bs, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = as[i], b = bs[i];
  int s = 0, t = 0;
  for (int k = 0; k < 4; ++k) {
    int x = (a >> 8 * k) & 0xff, y = (b >> 8 * k) & 0xff;
    int xs = x, ys = y;
    if (xs & 0x80) xs |= 0xffffff00;
    if (ys & 0x80) ys |= 0xffffff00;
    s += xs * y;
    t += x * ys;
  }
  out[2 * i] = s;
  out[2 * i + 1] = t;
}
"""
#: Other forms that remove the clamp, or become unsigned dots: reported, and unchanged.
CLAMP_FORMS = (
    b"n <= 31u ? min(length, 32u - n) : 0u", b"n > 31u ? 0u : min(length, 32u - n)",
    b"n < 32u ? min(length, 32u - n) : 7u", b"n < 32u && length ? min(length, 32u - n) : 0u",
)  # fmt: skip
#: Functions that return the smaller of two numbers.
OWN_MINIMA = (
    b"__device__ unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }",
    b"template <typename T> __device__ __forceinline__ T smaller(T a, T b) { return b < a ? b : a; }",
    b"__device__ unsigned smaller(const unsigned a, const unsigned b) { if (a >= b) return b; return a; }",
    b"__device__ unsigned smaller(unsigned a, unsigned b) { return min(a, b); }",
)
#: Functions that return something else.
OTHERS = (
    b"__device__ unsigned smaller(unsigned a, unsigned b) { return a < b ? b : a; }",
    b"__device__ unsigned smaller(unsigned a, unsigned b) { return max(a, b); }",
    b"__device__ unsigned smaller(unsigned a, unsigned b) { return a < b ? a : a; }",
)
SIGN_FORMS = (
    b"xs = x | ((x & 0x80) ? ~0xff : 0)", b"if (xs & 0x80) xs -= 256", b"xs = x + ((x & 0x80) ? ~0xff : 0)",
    b"if (x & 0x80) xs = x | ~0xff; else xs = x", b"xs = (x >> 7) & 1 ? x | ~0xff : x",
)  # fmt: skip
CLAMPED = re.compile(r"call[^\n]*@llvm\.umin\.i32\([^\n]*%\w+, i32 (?:range\([^()]*\) )?32\)")


@pytest.fixture(scope="module")
def clang_21() -> Toolchain:
    toolchain = next((each for each in find(os.environ, Path(sys.executable)) if each.hip >= (6, 0)), None)
    if toolchain is None:
        pytest.skip("NOT CHECKED what hipcc makes of the headers: no hipcc of ROCm 7 (hipcc-7.0)")
    return toolchain


def assembly_of(toolchain: Toolchain, text: str, arch: str, folder: Path, *flags: str) -> str:
    """Return hipcc's device assembly."""
    unit, out = folder / "unit.hip", folder / "out"
    unit.write_text("#include <hip/hip_runtime.h>\n" + text)
    command = [toolchain.hipcc, f"--offload-arch={arch}", "-O3", "--cuda-device-only", "-S", f"-I{INCLUDE}", *flags]
    done = hip_header.run([*command, "-o", out.name, unit.name], cwd=folder, env=toolchain.environment(os.environ))
    assert done.returncode == 0, done.stderr
    return out.read_text()


def ported(text: bytes) -> str:
    result = hipport.rewrite({"unit.cu": text})
    return result.project.sources[0].text.decode()


# One for each wavefront size: the other two have the same instructions.
@pytest.mark.parametrize("arch", further(["gfx90a", "gfx942", "gfx1100", "gfx1201"], ["gfx90a", "gfx1201"]))
def test_dots_of_mixed_signs_are_not_dots_of_unsigned(clang_21: Toolchain, arch: str, tmp_path: Path) -> None:
    assembly = assembly_of(clang_21, DOTS, arch, tmp_path)
    assert "dots:" in assembly and "v_dot4_u32_u8" not in assembly


def test_the_example_has_one_dot_of_unsigned(clang_21: Toolchain, tmp_path: Path) -> None:
    result = hipport.rewrite([ROOT / "ext_examples/ptx_integers"])
    hipport.save(result, tmp_path / "ported")
    unit = next((tmp_path / "ported").rglob("bits.cu"))
    assembly = assembly_of(clang_21, unit.read_text(), "gfx942", tmp_path, f"-I{unit.parent}")
    # `dot4` is one, `dot4_mixed` none.
    assert assembly.count("v_dot4_u32_u8") == 1


@pytest.mark.parametrize("direction", ["l", "r"])
def test_a_field_takes_no_clamp_away(clang_21: Toolchain, direction: str, tmp_path: Path) -> None:
    ir = assembly_of(clang_21, FIELDS.replace("DIRECTION", direction), "gfx942", tmp_path, "-emit-llvm")
    assert "@fields(" in ir and CLAMPED.search(ir)


def test_a_difference_under_its_condition_takes_no_clamp_away(clang_21: Toolchain, tmp_path: Path) -> None:
    wrong = assembly_of(clang_21, CLAMPS.decode(), "gfx942", tmp_path, "-emit-llvm")
    right = assembly_of(clang_21, ported(CLAMPS), "gfx942", tmp_path, "-emit-llvm")
    assert CLAMPED.search(right)
    # If a compiler has fixed it, `miscompiled` must name the last release with the defect.
    assert not CLAMPED.search(wrong), "this hipcc keeps the clamp: give miscompiled/clamp the releases that do not"


def test_functions_that_return_the_smaller_number_count(clang_21: Toolchain, tmp_path: Path) -> None:
    texts = [
        (own + b"\n" + CLAMPS.replace(b"min(", b"smaller("))
        .replace(b"smaller", b"smaller%d" % n)
        .replace(b"clamps", b"clamps%d" % n)
        for n, own in enumerate(OWN_MINIMA)
    ]
    wrong = assembly_of(clang_21, b"".join(texts).decode(), "gfx942", tmp_path, "-emit-llvm")
    right = assembly_of(clang_21, "".join(map(ported, texts)), "gfx942", tmp_path, "-emit-llvm")
    assert len(CLAMPED.findall(right)) == len(texts)
    assert not CLAMPED.search(wrong)


@pytest.mark.parametrize("own", OTHERS)
def test_other_functions_of_two_numbers_do_not_count(own: bytes) -> None:
    text = own + b"\n" + CLAMPS.replace(b"min(", b"smaller(")
    assert not [each for each in hipport.rewrite({"unit.cu": text}).reported if each.rule.startswith("miscompiled/")]


def test_signs_that_an_or_puts_in_stay_in_sums(clang_21: Toolchain, tmp_path: Path) -> None:
    wrong = assembly_of(clang_21, SIGNS.decode(), "gfx1100", tmp_path)
    right = assembly_of(clang_21, ported(SIGNS), "gfx1100", tmp_path)
    assert "v_dot4_u32_u8" not in right
    assert "v_dot4_u32_u8" in wrong, "this hipcc keeps the sign: give miscompiled/sign the releases that do not"


def test_other_forms_are_reported_with_an_option_that_helps(clang_21: Toolchain, tmp_path: Path) -> None:
    texts = [CLAMPS.replace(b"n < 32u ? min(length, 32u - n) : 0u", form) for form in CLAMP_FORMS]
    assert len({*texts, CLAMPS}) == len(CLAMP_FORMS) + 1
    for text in texts:
        rules = [each.rule for each in hipport.rewrite({"unit.cu": text}).reported if each.needs_person]
        assert rules == ["miscompiled/guarded"], text
    together = b"".join(text.replace(b"clamps", b"clamps%d" % n) for n, text in enumerate(texts)).decode()
    option = ("-mllvm", "-spec-exec-max-speculation-cost=0")
    assert not CLAMPED.search(assembly_of(clang_21, together, "gfx942", tmp_path, "-emit-llvm"))
    assert len(CLAMPED.findall(assembly_of(clang_21, together, "gfx942", tmp_path, "-emit-llvm", *option))) == len(
        texts
    )


def test_other_forms_of_signs_are_reported(clang_21: Toolchain, tmp_path: Path) -> None:
    line = b"    if (xs & 0x80) xs |= 0xffffff00;\n    if (ys & 0x80) ys |= 0xffffff00;\n"
    texts = []
    for n, form in enumerate(SIGN_FORMS):
        both = form + b"; " + form.replace(b"x", b"y").replace(b"0y", b"0x") + b";\n"
        texts.append(SIGNS.replace(line, both).replace(b"signs", b"signs%d" % n))
        rules = [each.rule for each in hipport.rewrite({"unit.cu": texts[-1]}).reported if each.needs_person]
        assert rules == ["miscompiled/sign"] * 2, form
    assembly = assembly_of(clang_21, b"".join(texts).decode(), "gfx1100", tmp_path)
    assert assembly.count("v_dot4_u32_u8") == 2 * len(texts)
