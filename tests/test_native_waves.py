# SPDX-License-Identifier: Apache-2.0
"""Native waves: the functions that get them across files, and equal results on 32 and on 64 lanes."""

import os
import pickle
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hipport
from hipport.core.finding import Certainty
from hipport.engine.outcomes import Outcome, Ported

TESTS = Path(__file__).parent
INCLUDE = TESTS.parent / "src/hipport/include"

HELPER = (
    "#pragma once\n__device__ inline int sum(int v) {\n"
    "  for (int o = 16; o; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);\n  return v;\n}\n"
)
KERNEL = '#include "sum.h"\n{}__global__ void {}(int* p) {{ p[threadIdx.x] = sum(p[0]); }}\n'
ASKS = "// hipport: warp=native\n"


def port(files: dict[str, str], accept: Certainty = Certainty.REVIEW, **target: object) -> Ported:
    texts = {name: text.encode() for name, text in files.items()}
    return hipport.rewrite(texts, target=hipport.Target(**target), accept=accept)  # type: ignore[arg-type]


def text(ported: Ported, path: str) -> str:
    return next(source.text.decode() for source in ported.project.sources if source.path.as_posix() == path)


def test_a_header_is_widened_with_all_kernels_that_use_it() -> None:
    files = {"sum.h": HELPER, "a.cu": KERNEL.format(ASKS, "a"), "b.cu": KERNEL.format(ASKS, "b")}
    header = text(port(files), "sum.h")
    assert "int o = hipport::native::wave_size() / 2" in header and "hipport::native::shfl_xor_sync(" in header


def test_a_header_that_a_kernel_of_32_lanes_uses_gets_a_second_version() -> None:
    files = {"sum.h": HELPER, "a.cu": KERNEL.format(ASKS, "a"), "b.cu": KERNEL.format("", "b")}
    ported = port(files)
    header = text(ported, "sum.h")
    assert "int o = 16" in header and " hipport::shfl_xor_sync(" in header
    assert "sum_of_wave(" in header and " hipport::native::shfl_xor_sync(" in header
    assert "sum_of_wave(" in text(ported, "a.cu") and "sum_of_wave(" not in text(ported, "b.cu")
    assert not [each for each in ported.reported if each.rule == "native_waves/refused"]
    again = port({path: text(ported, path) for path in files})
    assert all(text(again, path) == text(ported, path) for path in files)


@pytest.mark.parametrize("more", ["__device__ double sum(double v) { return v; }\n", "#define SUM sum\n"])
def test_a_function_without_a_second_version_keeps_its_kernel(more: str) -> None:
    files = {"sum.h": HELPER + more, "a.cu": KERNEL.format(ASKS, "a"), "b.cu": KERNEL.format("", "b")}
    ported = port(files)
    assert "int o = 16" in text(ported, "sum.h") and " hipport::shfl_xor_sync(" in text(ported, "sum.h")
    (refused,) = [each for each in ported.reported if each.rule == "native_waves/refused"]
    assert (refused.path.as_posix(), refused.line, refused.outcome) == ("a.cu", 3, Outcome.REPORTED)
    assert "sum is shared with b" in refused.message


@pytest.mark.parametrize(
    ("target", "kernel", "native"),
    [
        ({"warp": "native"}, "", True),
        ({"warp": "native"}, "// hipport: warp=logical32\n", False),
        ({"native": ("src/*.cu",)}, "", True),
        ({"native": ("other/*.cu",)}, "", False),
        ({}, ASKS, True),
        ({}, "// hipport: warp=native\n\n/* about it */\n", True),
        ({}, "int x; // hipport: warp=native\nint y;\n", False),
    ],
)
def test_comments_and_settings_that_request_native_waves(target: dict[str, object], kernel: str, native: bool) -> None:
    files = {"src/sum.h": HELPER, "src/a.cu": KERNEL.format(kernel, "a")}
    assert ("hipport::native::" in text(port(files, **target), "src/sum.h")) == native


def test_safe_changes_alone_give_warps_of_32_lanes() -> None:
    ported = port({"sum.h": HELPER, "a.cu": KERNEL.format(ASKS, "a")}, Certainty.SAFE)
    assert "int o = 16" in text(ported, "sum.h") and " hipport::shfl_xor_sync(" in text(ported, "sum.h")


def test_a_project_travels_between_processes() -> None:
    ported = port({"sum.h": HELPER, "a.cu": KERNEL.format(ASKS, "a")})
    assert pickle.loads(pickle.dumps(ported)).reported == ported.reported


PROGRAM = r"""
#include <hip/hip_runtime.h>
struct Votes { unsigned mask; int before; };
__device__ int lane_of() { return threadIdx.x & 31; }
__device__ int sum(int v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return __shfl_sync(0xffffffff, v, 0);
}
// hipport: warp=native
__global__ void k(int* out, const int* in) {
  __shared__ int kept[32];
  const int lane = lane_of();
  const int v = in[threadIdx.x];
  Votes votes;
  votes.mask = __ballot_sync(0xffffffff, v & 1);
  votes.before = __popc(votes.mask & ((1u << lane) - 1));
  kept[lane] = v;
  __syncwarp();
  int scan = v;
  for (int o = 1; o < 32; o <<= 1) {
    const int other = __shfl_up_sync(0xffffffff, scan, o);
    if (lane >= o) scan += other;
  }
  const unsigned same = __match_any_sync(__activemask(), v % 5);
  int* row = out + 8 * threadIdx.x;
  row[0] = sum(v);
  row[1] = votes.before;
  row[2] = scan;
  row[3] = __ffs(votes.mask) - 1;
  row[4] = 31 - __clz(same);
  row[5] = kept[31 - lane];
  row[6] = __shfl_sync(0xffffffff, v, 31);
  row[7] = __popc(same) + 100 * (votes.mask == 0xffffffff);
}
#include <cstdio>
int main(int, char** arguments) {
  const unsigned wave = unsigned(std::atoi(arguments[1]));
  std::vector<int> in(wave), out(8 * wave);
  for (int& each : in) if (std::scanf("%d", &each) != 1) return 1;
  simulated::run(wave, wave, [&](unsigned) { k(out.data(), in.data()); });
  for (int each : out) std::printf("%d ", each);
}
"""


def expected(values: list[int]) -> list[list[int]]:
    odd = [lane for lane, value in enumerate(values) if value & 1]
    rows = []
    for lane, value in enumerate(values):
        same = [other for other, each in enumerate(values) if each % 5 == value % 5]
        rows.append(
            [
                sum(values),
                sum(1 for each in odd if each < lane),
                sum(values[: lane + 1]),
                odd[0] if odd else -1,
                same[-1],
                values[len(values) - 1 - lane],
                values[-1],
                len(same) + 100 * (len(odd) == len(values)),
            ]
        )
    return rows


@pytest.mark.parametrize("wave", [32, 64])
def test_computes_the_same_on_both_sizes(wave: int, tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++: a native kernel was not run on simulated wavefronts")
    ported = port({"program.cu": PROGRAM})
    assert [each.rule for each in ported.reported if each.certainty is Certainty.MANUAL] == []
    (tmp_path / "program.cpp").write_text(text(ported, "program.cu"))
    flags = ["-std=c++14", "-O0", "-fno-omit-frame-pointer", "-w", "-D__HIP__"]
    command = ["g++", *flags, f"-I{TESTS / 'simulated_wave'}", f"-I{INCLUDE}", "program.cpp", "-o", "program"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    source = random.Random(wave)
    for odd in (False, True):
        values = [source.randrange(1000) | odd for _ in range(wave)]
        given = " ".join(map(str, values))
        ran = subprocess.run(["./program", str(wave)], cwd=tmp_path, input=given, capture_output=True, text=True)
        assert [int(each) for each in ran.stdout.split()] == [each for row in expected(values) for each in row]


def test_reports_do_not_depend_on_the_order_of_sets() -> None:
    # In the other examples nothing is left on warps of 32 lanes.
    examples = [f"ext_examples/{name}" for name in ("bitonic_sort", "compaction", "match_atomics", "reductions")]
    command = [sys.executable, "-m", "hipport", "rewrite", *examples, "fixtures/lane_masks", "--warp", "native"]
    said = [
        subprocess.run(
            [*command, "--check", "--format", "json"],
            cwd=Path(__file__).parent.parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for seed in ("1", "2")
    ]
    assert "stays on warps of 32 lanes" in said[0]
    assert said[0] == said[1]


_SHARED = b"""// hipport: warp=native
__device__ float sum(float v, float *s) {
    if (v < 0) *s = 1.0f;
    v = v * 2.0f;
    // The rest.
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffff, v, o);
    return v;
}
// hipport: warp=logical32
__global__ void rows(float *y, float *s) { y[threadIdx.x / 32] = sum(y[0], s); }
// hipport: warp=native
__global__ void all(float *y, float *s) { y[threadIdx.x] = sum(y[threadIdx.x], s); }
"""


@pytest.mark.parametrize(
    ("was", "by_now"),
    [
        (b"v = v * 2.0f;", b"v = v * 3.0f;"),
        (b"v = v * 2.0f;", b"v = v * 2.0f;\n    v += y_offset;"),
        (b"*s = 1.0f;", b"*s = bias;"),
        (b"    v = v * 2.0f;\n", b""),
    ],
    ids=["a number", "a line more", "a name", "a line less"],
)
def test_a_second_version_that_a_merge_has_left_behind_is_reported(was: bytes, by_now: bytes) -> None:
    first = hipport.rewrite({"a.cu": _SHARED}).project.sources[0].text
    assert b"sum_of_wave" in first and was in first
    assert not [each for each in hipport.rewrite({"a.cu": first}).reported if each.rule == "native_waves/versions"]
    # Upstream's line is merged into the first version only.
    found = hipport.rewrite({"a.cu": first.replace(was, by_now, 1)})
    assert [each.rule for each in found.reported if each.outcome is Outcome.REPORTED] == ["native_waves/versions"]
