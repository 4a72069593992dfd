# SPDX-License-Identifier: Apache-2.0
"""The format of 8-bit floating point numbers follows the targets: types, limits, and Python with them."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest

import compiled
import hipport
from hipport.engine.outcomes import Ported
from hipport.program.project import Target
from hipport.toolchain.toolchains import find
from hipport_passes.device.fp8_formats import formats, replaced

KERNEL = b"""#include <cuda_fp8.h>
constexpr float kFp8Max = 448.0f;
__global__ void narrow(const float* x, __nv_fp8_storage_t* y) {
  y[0] = __nv_cvt_float_to_fp8(fminf(x[0], kFp8Max), __NV_SATFINITE, __NV_E4M3);
  y[1] = __nv_fp8_e4m3(x[1]).__x;
  y[2] = __nv_fp8_e5m2(x[2]).__x;
}
"""
PYTHON = b"""import torch
FP8_MAX = 448.0
def quantize(x):
    return x.clamp(-FP8_MAX, FP8_MAX).to(torch.float8_e4m3fn)
"""


def ported(archs: str, rocm: tuple[int, int] = (6, 4), **files: bytes) -> Ported:
    given = {PurePosixPath(name.replace("_dot_", ".")): text for name, text in files.items()}
    return hipport.rewrite(
        {str(path): text for path, text in given.items()}, target=Target(archs=tuple(archs.split(",")), rocm=rocm)
    )


def text(result: Ported, name: str) -> str:
    return result.project.by_path[PurePosixPath(name)].text.decode()


@pytest.mark.parametrize("archs", ["gfx942", "gfx940", "gfx941:sramecc+", "gfx942,gfx1100", "gfx90a,gfx942"])
def test_fnuz_where_a_target_has_nothing_else(archs: str) -> None:
    result = ported(archs, k_dot_cu=KERNEL, q_dot_py=PYTHON)
    assert "__HIP_E4M3_FNUZ" in text(result, "k.cu") and "__hip_fp8_e5m2_fnuz(" in text(result, "k.cu")
    assert "240.0f" in text(result, "k.cu") and "448" not in text(result, "k.cu")
    python = text(result, "q.py")
    assert "torch.float8_e4m3fnuz if torch.version.hip else torch.float8_e4m3fn" in python
    assert "FP8_MAX = 240.0 if torch.version.hip else 448.0" in python
    said = {each.rule for each in result.reported if each.needs_person}
    assert {"fp8_formats/format", "fp8_formats/greatest", "fp8_python/type", "fp8_python/greatest"} <= said


@pytest.mark.parametrize(
    "archs", ["gfx950", "gfx1200,gfx1201", "gfx1250", "gfx1100", "gfx1151,gfx90a", "gfx950,gfx1100"]
)
def test_cudas_own_format_where_no_target_lacks_it(archs: str) -> None:
    result = ported(archs, k_dot_cu=KERNEL, q_dot_py=PYTHON)
    kernel = text(result, "k.cu")
    assert "FNUZ" not in kernel and "fnuz" not in kernel and "448.0f" in kernel
    assert "__HIP_E4M3)" in kernel and "__hip_fp8_e4m3(" in kernel and "__hip_fp8_e5m2(" in kernel
    assert text(result, "q.py") == PYTHON.decode()


@pytest.mark.parametrize("archs", ["gfx942,gfx950", "gfx1201,gfx942", "gfx940,gfx1250,gfx1100"])
def test_targets_without_a_common_format_are_refused_with_the_reason(archs: str) -> None:
    result = ported(archs, k_dot_cu=KERNEL, q_dot_py=PYTHON)
    kernel = text(result, "k.cu")
    assert "__NV_E4M3" in kernel and "448.0f" in kernel and "__hip_fp8_e" not in kernel
    assert text(result, "q.py") == PYTHON.decode()
    (of_kernel,) = [each for each in result.reported if each.rule.startswith("fp8_formats/")]
    assert "FNUZ numbers only" in of_kernel.message and "port twice" in of_kernel.message
    (of_python,) = [each for each in result.reported if each.rule.startswith("fp8_python/")]
    assert "gcnArchName" in of_python.message


def test_the_first_release_with_the_format_is_required() -> None:
    result = ported("gfx1100", (6, 2), k_dot_cu=KERNEL)
    assert "__NV_E4M3" in text(result, "k.cu")
    assert any(each.rule == "fp8_formats/too_new" and "6.3" in each.message for each in result.reported)
    assert "__HIP_E4M3_FNUZ" in text(ported("gfx942", (6, 2), k_dot_cu=KERNEL), "k.cu")


def test_a_port_for_one_format_is_reported_for_targets_of_the_other() -> None:
    first = ported("gfx942", k_dot_cu=KERNEL)
    again = ported("gfx950", k_dot_cu=text(first, "k.cu").encode())
    assert [each.rule for each in again.reported if each.needs_person] == ["fp8_formats/other_format"]
    same = ported("gfx942,gfx1100", k_dot_cu=text(first, "k.cu").encode())
    assert not [each for each in same.reported if each.needs_person]
    assert not same.changed


def test_upstreams_additions_to_a_ported_file_are_found() -> None:
    """Code that the first run wrote is not a person's choice between the formats."""
    first = text(ported("gfx942", k_dot_cu=KERNEL, q_dot_py=PYTHON), "k.cu")
    added = first.encode() + b"constexpr float kOther = 1.0f / 448.0f;\n__nv_fp8_e4m3 other;\n"
    assert "1.0f / 240.0f" in text(ported("gfx942", k_dot_cu=added), "k.cu")
    python = text(ported("gfx942", q_dot_py=PYTHON), "q.py") + "OTHER = torch.float8_e5m2\n"
    assert "OTHER = torch.float8_e5m2fnuz if torch.version.hip" in text(
        ported("gfx942", q_dot_py=python.encode()), "q.py"
    )


def test_a_limit_without_a_name_of_its_own_is_of_the_type_that_it_is_specialized_for() -> None:
    text_of = b"""#include <cuda_fp8.h>
template <class T> struct Most { static constexpr float value = 127; };
template <> struct Most<__nv_fp8_e4m3> { static constexpr float value = 448; };
template <class T> constexpr float top() { return 1; }
template <> constexpr float top<__nv_fp8_e4m3>() { return 448; }
struct Image { static constexpr int rows = 448; };
"""
    made = text(ported("gfx942", k_dot_cu=text_of), "k.cu")
    assert "value = 240" in made and "return 240" in made and "rows = 448" in made
    assert "value = 448" in text(ported("gfx1100", k_dot_cu=text_of), "k.cu")


def test_a_limit_in_a_header_of_the_program_is_reported() -> None:
    header = b"#pragma once\nconstexpr float kMax = 448.0f;\n"
    result = ported("gfx942", limits_dot_h=header, k_dot_cu=b'#include "limits.h"\n' + KERNEL)
    (found,) = [each for each in result.reported if each.path.name == "limits.h" and each.needs_person]
    assert found.rule == "fp8_formats/greatest" and "240" in found.message
    alone = ported("gfx942", limits_dot_h=header, k_dot_cu=b'#include "limits.h"\n__global__ void k() {}\n')
    assert not [each for each in alone.reported if each.needs_person]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("448", "240"),
        ("448.0f", "240.0f"),
        ("448.F", "240.0F"),
        ("4.48e2", "240.0"),
        ("0x1.cp+8f", "240.0f"),
        ("0x43e00000", "0x43700000"),
        ("0.00223214f", "(1.0f / 240.0f)"),
        ("2.2321e-3", "(1.0 / 240.0)"),
        ("0.002f", None),
        ("449.0", None),
        ("57344.0f", None),
        ("0x448", None),
        ("0.0", None),
    ],
)
def test_replacements_of_numbers(old: str, new: str | None) -> None:
    assert replaced(old) == new


def test_every_known_architecture_has_one_answer() -> None:
    for (
        arch
    ) in "gfx803 gfx906 gfx908 gfx90a gfx1030 gfx1100 gfx1151 gfx9-4-generic gfx10-3-generic gfx11-generic".split():
        assert formats([arch]) == ((), ())
    for arch in "gfx950 gfx1200 gfx1201 gfx1250 gfx12-generic".split():
        assert formats([arch]) == ((), (arch,))


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_the_result_compiles_for_the_target(arch: str, tmp_path: Path) -> None:
    """It also converts: HIP 6.4.3 compiles the wrong format for gfx942 to a trap."""
    toolchain = next((each for each in find(os.environ) if each.rocm >= (6, 4) and each.targets([arch])), None)
    if toolchain is None:
        pytest.skip(f"no hipcc of ROCm 6.4 or later for {arch}: what is written was not compiled")
    file = tmp_path / "k.hip"
    file.write_text(text(ported(arch, k_dot_cu=KERNEL), "k.cu"))
    command = [toolchain.hipcc, f"--offload-arch={arch}", "--cuda-device-only", "-O1", "-S", "-emit-llvm"]
    done = compiled.run([*command, "-o", "k.ll", file.name], cwd=file.parent, env=toolchain.environment(os.environ))
    assert done.returncode == 0, done.stderr
    assert "llvm.trap" not in file.with_suffix(".ll").read_text()
