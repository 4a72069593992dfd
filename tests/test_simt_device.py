# SPDX-License-Identifier: Apache-2.0
"""The executor's device library, compared with a GPU's results, NumPy, and the documentation of CUDA, HIP and AMD.

`test_simt_device.json` has the output of simt_programs/device.cu on a GPU, compressed by zlib and in base64:

    nvcc -std=c++17 -O2 -arch=sm_90 tests/simt_programs/device.cu -o device && ./device
"""

from __future__ import annotations

import base64
import json
import os
import re
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from endless import ENDLESS
from executor_names import not_refused
from hipport.executor.compile import INCLUDE, CompileOptions, dialect_defines, program
from hipport.executor.compilers import NoCompiler, find_compiler
from hipport.executor.messages import NotCompiled
from hipport.executor.prepare import Dialect
from test_half_helpers import PROGRAM as HALF_PROGRAM
from test_half_helpers import cases as half_cases
from test_warp_helpers import CONTEXTS, Calls, Lanes, _reached, calls

PROGRAMS = Path(__file__).parent / "simt_programs"
RECORDED = json.loads((Path(__file__).parent / "test_simt_device.json").read_text(encoding="utf-8"))
BOTH: tuple[Dialect, ...] = ("cuda", "hip")


@pytest.fixture(scope="module", autouse=True)
def compiler() -> str:
    try:
        return find_compiler(os.environ).path
    except NoCompiler as reason:
        pytest.skip(str(reason))


@cache
def built(name: str, dialect: Dialect, *flags: str) -> Path:
    options = CompileOptions(os.environ, optimize="-O0", jobs=1, flags=flags)
    with not_refused():
        made = program([PROGRAMS / name], dialect, options)
    assert made.reported == ()
    return made.path


def run(path: Path, *arguments: str, given: bytes = b"", lanes: int = 32) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "SIMT_WAVE": str(lanes)}
    return subprocess.run([path, *arguments], input=given, env=env, capture_output=True, timeout=ENDLESS, check=False)


# ---- an NVIDIA GPU's output


def printed(text: str) -> dict[str, list[int]]:
    """Return the numbers of each line, by the text before them."""
    rows = (line.rpartition(": ") for line in text.splitlines())
    return {name: [int(word, 16) for word in numbers.split()] for name, _, numbers in rows}


def test_results_are_those_of_a_gpu() -> None:
    """Exactly, or within the documented error: `near 2 rsqrtf(x)` may be off by 2."""
    expected = printed(zlib.decompress(base64.b64decode(RECORDED["printed"])).decode())
    ran = run(built("device.cu", "cuda"))
    assert ran.returncode == 0, ran.stderr.decode()
    got = printed(ran.stdout.decode())
    assert got.keys() == expected.keys()
    assert len(got) > 500
    wrong = []
    for name, right in expected.items():
        kind, bound, of = re.fullmatch(r"(same|near)(?: (\d+))? (.*)", name).groups()  # type: ignore[union-attr]
        if kind == "same":
            wrong += [
                (name, i, hex(a), hex(b)) for i, (a, b) in enumerate(zip(got[name], right, strict=True)) if a != b
            ]
            continue
        size = max(each.bit_length() for each in right)
        step = 64 if size > 32 else 32 if size > 16 else 16
        field = 16 if of.startswith(("h2", "__h2")) else step
        for i, (a, b) in enumerate(zip(got[name], right, strict=True)):
            off = max(
                abs(_order(a >> at, field) - _order(b >> at, field)) for at in range(0, max(step, field), field)
            )  # fmt: skip
            if off > int(bound):
                wrong.append((name, i, hex(a), hex(b)))
    assert wrong == []


def _order(bits: int, size: int) -> int:
    """Return the rank of a floating-point number among all."""
    bits &= (1 << size) - 1
    return bits if bits >> (size - 1) == 0 else -(bits - (1 << (size - 1)))


# ---- half numbers


def _numbers() -> np.ndarray:
    source = np.random.default_rng(1)
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)].astype(np.float64)
    between = (halves[:-1] + halves[1:]) / 2
    tops = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)[::7]
    bits = source.integers(0, 1 << 32, 20000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = between[::5] * (1 + source.choice([-1, 1], between[::5].size) * 2.0**-50)
    limits = [65504.0, 65519.996, 65520.0, 1e300, -1e300, 3.4e38, 3.3961775e38, 2.0**-25, 2.0**-25 * 1.0001, 2.0**-150]
    singles = np.concatenate([tops, bits])
    singles = singles[~np.isnan(singles)].astype(np.float64)
    return np.concatenate([halves[::3], between[::3], near, singles, limits])


def _to_bfloat(bits: np.ndarray) -> np.ndarray:
    """Return a float's bits, rounded to the upper half: to nearest, ties to even."""
    return ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@pytest.mark.parametrize("dialect", BOTH)
def test_half_numbers_convert_exactly(dialect: Dialect) -> None:
    numbers = _numbers()
    ran = run(built("narrow.cu", dialect), given=numbers.tobytes())
    assert ran.returncode == 0, ran.stderr.decode()
    every = np.arange(65536, dtype=np.uint32)
    wide = np.frombuffer(ran.stdout[: 8 * 65536], dtype=np.float32)
    np.testing.assert_array_equal(wide[:65536], every.astype(np.uint16).view(np.float16).astype(np.float32))
    np.testing.assert_array_equal(wide[65536:].view(np.uint32), every << 16)
    rows = np.frombuffer(ran.stdout[8 * 65536 :], dtype=np.uint16).reshape(-1, 7).T
    with np.errstate(over="ignore"):
        singles = numbers.astype(np.float32)
        nearest = singles.astype(np.float16)
        of_double = numbers.astype(np.float16)
        assert (rows[0] == nearest.view(np.uint16)).all()
        assert (rows[1] == of_double.view(np.uint16)).all()
        # With a direction: the nearest one, or its neighbor on the right side.
        down = np.where(nearest.astype(np.float64) > singles, np.nextafter(nearest, np.float16(-np.inf)), nearest)
        up = np.where(nearest.astype(np.float64) < singles, np.nextafter(nearest, np.float16(np.inf)), nearest)
    up = np.where((up == 0) & (singles < 0), np.float16(-0.0), up)
    down = np.where((down == 0) & (singles > 0), np.float16(0.0), down)
    zero = np.where(np.signbit(singles), up, down)
    for row, right in zip(rows[2:5], (zero, up, down), strict=True):
        finite = np.isfinite(singles)
        assert (row[finite] == right.view(np.uint16)[finite]).all()
        assert (row[~finite] == nearest.view(np.uint16)[~finite]).all()
    assert (rows[5] == _to_bfloat(singles.view(np.uint32))).all()
    # Directly from double: if float has already lost the bits that decide a tie, the two differ.
    twice = rows[6] != _to_bfloat(singles.view(np.uint32))
    for number, bits in zip(numbers[twice], rows[6][twice], strict=True):
        here = struct.unpack("<f", struct.pack("<I", int(bits) << 16))[0]
        others = [struct.unpack("<f", struct.pack("<I", (int(bits) + by) << 16))[0] for by in (-1, 1)]
        assert all(abs(number - here) < abs(number - other) for other in others)


# The GPU's output of fp8.cu: for both formats, without and with saturation, hashes of the conversions from half, float
# and double, and back.
FP8 = """
958402e938751a25 424345124e84b049 1325e0f01a3b8519 88a1200e05ad2da5
304feac115993fa5 34b4614ab258e247 5a9389dc755e9193 616efa57faff6ca5
55456763debf12a5 fb30cd9047d27375 1325e0f01a3b8519 88a1200e05ad2da5
d102d7d39f29d5a5 9eaccc2ceaa2a65a 5a9389dc755e9193 616efa57faff6ca5
"""


def test_numbers_of_8_bits() -> None:
    assert run(built("fp8.cu", "cuda")).stdout.decode().split() == FP8.split()


# ---- a program's own functions


@pytest.mark.parametrize("dialect", BOTH)
def test_a_programs_own_functions_win(dialect: Dialect) -> None:
    ran = run(built("own_names.cu", dialect))
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stdout.decode().split() == "1004 77 5 -9 4 2 15 29 7 34 5.5 1001 1".split()


# ---- faults, and threads that wait


@pytest.mark.parametrize(
    ("dialect", "case", "kind", "says"),
    [
        ("cuda", 0, "assertion", "lane < 3"),
        ("cuda", 1, "trap", "__trap() was called"),
        ("cuda", 2, "assumption", "lane != 6"),
        ("cuda", 3, "mask", "__ballot_sync"),
        ("hip", 0, "assertion", "lane < 3"),
        ("hip", 1, "trap", "__trap() was called"),
        ("hip", 3, "mask", "does not name the caller, lane 0"),
        ("hip", 4, "mask", "the mask is 0"),
        ("hip", 5, "mask", "those that did are 0xaaaaaaaaaaaaaaaa"),
        ("hip", 6, "mask", "those that did are 0x5555555555555555"),
        ("hip", 7, "match", "a NaN never ends"),
        ("hip", 9, "unsupported", "pattern 0xc020"),
    ],
)
def test_misuse_is_a_fault(dialect: Dialect, case: int, kind: str, says: str) -> None:
    ran = run(built("faults.cu", dialect), str(case), lanes=64)
    said = ran.stderr.decode()
    assert ran.returncode == 97, said
    assert kind in said
    assert says in said
    assert "faults.cu:" in said


@pytest.mark.parametrize(
    ("dialect", "case", "kind", "says"),
    [
        ("cuda", 8, "inactive-lane", "reads from lane 2, which takes no part"),
        ("cuda", 9, "shuffle-width", "the width 3 is not a power of two"),
        ("hip", 8, "inactive-lane", "reads from lane 2, which takes no part"),
    ],
)
def test_undefined_results_are_a_warning(dialect: Dialect, case: int, kind: str, says: str) -> None:
    ran = run(built("faults.cu", dialect), str(case), lanes=64)
    said = ran.stderr.decode()
    assert ran.returncode == 0, said
    assert kind in said
    assert says in said
    if kind == "inactive-lane":
        # Lanes that read nothing get 0, as on GPUs.
        assert ran.stdout.decode().split()[:4] == ["0", "0", "0", "0"]


def test_lanes_that_have_exited_may_be_named_without_assertions() -> None:
    ran = run(built("faults.cu", "hip", "-DNDEBUG"), "6", lanes=64)
    assert ran.returncode == 0
    assert "names lanes that have exited" in ran.stderr.decode()


def test_a_wait_for_lanes_in_another_branch_makes_no_progress_on_amd() -> None:
    ran = run(built("faults.cu", "hip"), "11")
    assert ran.returncode != 0 and "fault: no-progress" in ran.stderr.decode()


@pytest.mark.parametrize(("case", "dialect"), [(10, "cuda"), (10, "hip"), (11, "cuda"), (12, "cuda"), (12, "hip")])
def test_threads_that_wait_let_others_run(dialect: Dialect, case: int) -> None:
    ran = run(built("faults.cu", dialect), str(case))
    assert ran.returncode == 0, ran.stderr.decode()
    first = ran.stdout.decode().split()
    assert first[0] == {10: "2", 11: "3f", 12: "1"}[case]


def test_cudas_atomic_objects() -> None:
    """Each thread waits for its turn; and numbers of 4, 8 and 16 bytes that all threads change."""
    turns = run(built("faults.cu", "cuda"), "13")
    assert turns.returncode == 0, turns.stderr.decode()
    assert turns.stdout.decode().split()[0] == "40"
    sums = run(built("faults.cu", "cuda"), "14").stdout.decode().split()
    assert (sums[0], sums[2], sums[3], sums[4]) == ("c0", "42800000", "4000000000000000", "c0")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("__ballot_sync(0xffffffffu, 1)", "64-bit integer"),
        ("__shfl_sync(0xffffffff, 1, 0)", "64-bit integer"),
        ("__vadd2(1u, 2u)", "__vadd2"),
        ("__ldcg((int*)0)", "__ldcg"),
    ],
)
def test_names_that_hip_lacks_do_not_compile(text: str, says: str, tmp_path: Path) -> None:
    source = tmp_path / "refused.cu"
    source.write_text(f"#include <hip/hip_runtime.h>\n__global__ void k(long* out) {{ *out = (long){text}; }}\n")
    with pytest.raises(NotCompiled) as refused:
        program([source], "hip", CompileOptions(os.environ, optimize="-O0", jobs=1))
    assert says in refused.value.said


# ---- AMD's wavefronts, by their definitions


def _mixed(lane: int) -> int:
    x = (lane * 0x9E3779B9 + 0x1234567) & 0xFFFFFFFF
    x = ((x ^ x >> 16) * 0x7FEB352D) & 0xFFFFFFFF
    return x ^ x >> 15


POISON = 0xDEADBEEF
ONES = 0xFFFFFFFF


def _without_masks(lane: int, there: list[int], wave: int) -> Iterator[int]:
    value = {each: _mixed(each) for each in there}
    votes = sum(1 << each for each in there if value[each] & 16)
    mask = sum(1 << each for each in there)
    below = (1 << lane) - 1
    yield lane
    yield votes
    yield int(votes != 0)
    yield int(votes == mask)
    yield mask
    yield mask & below
    yield lane
    yield 7 + bin(0xF0F0F0F0_FF00FF00 & below).count("1")
    yield value[there[0]]
    # The lane that sends to this one; none: 0.
    yield value.get(lane ^ 4, 0)
    yield value.get(lane ^ 4 if wave else lane, 0)
    yield value.get(lane & ~3 | (0x1B >> 2 * (lane & 3) & 3), 0)
    row, at = lane & ~15, lane & 15

    def moved(source: int | None, old: int = ONES) -> int:
        return old if source is None else value.get(source, old)

    yield moved(lane & ~3 | (0x1B >> 2 * (lane & 3) & 3))
    yield moved(lane - 1 if at else None)
    yield moved(lane + 2 if at + 2 < 16 else None, old=0)
    yield moved(row | (at - 4 & 15))
    yield moved(row | 15 - at)
    yield moved(lane & ~7 | 7 - (lane & 7))
    yield moved(row - 1 if lane >= 16 and 0xA >> lane // 16 & 1 else None)
    yield moved(31 if lane >= 32 and 0x3 >> at // 4 & 1 else None)
    yield wave
    yield sum(1 << each for each in there if value[each] % 3 == value[lane] % 3)
    yield sum(value.values()) & ONES
    yield sum(1 << each for each in there if value[each] % 3 == value[lane] % 3)
    yield mask
    yield 1
    yield votes
    yield int(votes == mask)
    yield 0


def _shuffled(lane: int, wave: int, delta: int, width: int) -> Iterator[int]:
    group = lane & ~(width - 1)
    at = (group + (delta & width - 1)) % wave
    up = lane if lane - delta < group else lane - delta
    down = lane if (lane & width - 1) + delta >= width else lane + delta
    xor = lane if lane ^ delta >= group + width else (lane ^ delta) % wave
    yield _mixed(at)
    yield _mixed(up)
    yield _mixed(down)
    yield _mixed(xor)
    signed = _mixed(xor) - (1 << 32 if _mixed(xor) >> 31 else 0)
    yield struct.unpack("<Q", struct.pack("<d", float(signed)))[0]
    yield _mixed(down) & 0xFFFF
    yield (_mixed(up) << 20) & ((1 << 64) - 1)
    yield _mixed((_mixed(lane) >> 2) % wave)


@pytest.mark.parametrize("wave", [32, 64])
def test_wavefronts_of_amd(wave: int) -> None:
    ran = run(built("wave.cu", "hip"), str(wave), lanes=wave)
    assert ran.returncode == 0, ran.stderr.decode()
    rows = printed(ran.stdout.decode())
    assert len(rows) == 2 + 6 * len(range(0, wave.bit_length(), 2))
    for name, row in rows.items():
        what, delta, width = name.split()
        for thread in range(64):
            lane = thread % wave
            there = [each for each in range(wave) if what != "some" or each % 3 == 1]
            got = row[64 * thread : 64 * thread + 64]
            right: list[int] = []
            if lane in there:
                expected = (
                    _shuffled(lane, wave, int(delta), int(width))
                    if what == "shuffle"
                    else _without_masks(lane, there, wave)
                )
                right = list(expected)
            assert got == right + [0] * (64 - len(right)), f"{name}: lane {lane}"


# ---- hipport's own headers on wavefronts, and CUDA's functions, against one reference

# CUDA's functions by the names of hipport's counterparts.
CUDA_NAMES = r"""
template <typename T>
__device__ auto shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  return __shfl_sync(mask, value, lane, width);
}
template <typename T>
__device__ auto shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return __shfl_up_sync(mask, value, delta, width);
}
template <typename T>
__device__ auto shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return __shfl_down_sync(mask, value, delta, width);
}
template <typename T>
__device__ auto shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  return __shfl_xor_sync(mask, value, lanes, width);
}
template <typename T>
__device__ unsigned match_any_sync(unsigned mask, T value) {
  return __match_any_sync(mask, value);
}
template <typename T>
__device__ unsigned match_all_sync(unsigned mask, T value, int* predicate) {
  return __match_all_sync(mask, value, predicate);
}
#define ballot_sync __ballot_sync
#define any_sync __any_sync
#define all_sync __all_sync
#define uni_sync __uni_sync
#define activemask __activemask
#define syncwarp __syncwarp
#define reduce_add_sync __reduce_add_sync
#define reduce_min_sync __reduce_min_sync
#define reduce_max_sync __reduce_max_sync
#define reduce_and_sync __reduce_and_sync
#define reduce_or_sync __reduce_or_sync
#define reduce_xor_sync __reduce_xor_sync
__device__ unsigned lane_id() { return threadIdx.x % 32; }
__device__ unsigned lanemask_eq() { return 1u << lane_id(); }
__device__ unsigned lanemask_lt() { return lanemask_eq() - 1; }
__device__ unsigned lanemask_le() { return lanemask_lt() | lanemask_eq(); }
__device__ unsigned lanemask_gt() { return ~lanemask_le(); }
__device__ unsigned lanemask_ge() { return ~lanemask_lt(); }
"""
HEADERS = "".join(
    f"#include <hipport/{name}.h>\n"
    for name in "atomics barrier device groups half lock memory ptx simd warp wave".split()
)
WARP_PROGRAM = r"""
@head@
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef __HIP__
#define cudaMallocManaged hipMallocManaged
#define cudaDeviceSynchronize hipDeviceSynchronize
#endif
using u64 = unsigned long long;
constexpr int call_count = @call_count@;

struct Input {
  unsigned warp, count;
  unsigned words[1024];
};
__device__ Input* input;
__device__ unsigned shared_words[1024];

struct Words { unsigned word[3]; };
struct Bytes { char byte[3]; };
struct Coordinate { __device__ operator unsigned() const { return input->words[threadIdx.x]; } };

template <typename To, typename From>
__device__ To as(From from) {
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}
__device__ unsigned bits(float value) { return as<unsigned>(value); }

template <typename Of>
__device__ lane_mask mask_of(unsigned tid, Of of) {
  lane_mask mask = 0;
  const unsigned warp = input->warp;
  for (unsigned other = tid - tid % warp; other < tid - tid % warp + warp; ++other) {
    if (other < input->count && of(input->words[other]) == of(input->words[tid])) mask |= lane_mask(1) << other % warp;
  }
  return mask;
}
__device__ u64 matched(lane_mask mask, unsigned value) {
  int predicate = 7;
  const u64 result = match_all_sync(mask, value, &predicate);
  return predicate == 0 ? result : predicate == 1 ? result ^ 0x5555 : 7;
}
__device__ unsigned exchanged(lane_mask mask, unsigned word, unsigned tid) {
  shared_words[tid] = word;
  syncwarp(mask);
  const unsigned result = shared_words[tid ^ 1];
  syncwarp(mask);
  return result;
}
__device__ void calls(lane_mask mask, unsigned tid, u64* out) {
  const unsigned word = input->words[tid];
  const unsigned there = shfl_xor_sync(mask, word, 3);
@calls@
}
__global__ void kernel(int context, u64* results) {
  const unsigned tid = threadIdx.x;
  const unsigned* in = input->words;
  u64* out = results + tid * call_count;
  const lane_mask full = ~lane_mask(0) >> (8 * sizeof(lane_mask) - input->warp);
  switch (context) {
@contexts@
  }
}

int main(int, char** arguments) {
  Input* words;
  (void)cudaMallocManaged(&words, sizeof(*words));
  words->warp = unsigned(atoi(arguments[1]));
  words->count = unsigned(atoi(arguments[2]));
  for (unsigned i = 0; i < words->count; ++i) {
    if (scanf("%u", &words->words[i]) != 1) return 1;
  }
  u64* out;
  const unsigned size = words->count * call_count;
  (void)cudaMallocManaged(&out, size * sizeof(u64));
  input = words;
  for (int context = 0; context < @context_count@; ++context) {
    memset(out, 0xff, size * sizeof(u64));
    kernel<<<1, words->count>>>(context, out);
    (void)cudaDeviceSynchronize();
    for (unsigned i = 0; i < size; ++i) printf("%llu%c", out[i], i % call_count == call_count - 1 ? '\n' : ' ');
  }
}
"""


def _reference(kind: str) -> Calls:
    found = calls(kind == "wave.h")
    if kind != "CUDA":
        return found
    # CUDA shuffles no classes; for common functions it returns results without the lanes that have exited.
    found = {name: call for name, call in found.items() if name not in ("shfl of three words", "shfl of three bytes")}

    def living(of: Callable[[Lanes, int], int | None]) -> Callable[[Lanes, int], int | None]:
        return lambda lanes, lane: of(Lanes(lanes.words, sum(1 << each for each in lanes.named), lanes.there), lane)

    return {name: (code, living(of) if name.startswith("match_all") else of) for name, (code, of) in found.items()}


HEAD = {
    "CUDA": f"using lane_mask = unsigned;\n{CUDA_NAMES}",
    "warp.h": f"{HEADERS}using namespace hipport;\nusing lane_mask = unsigned;\n",
    "wave.h": f"{HEADERS}using namespace hipport::native;\n",
}


@pytest.fixture(scope="module", params=list(HEAD))
def warps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    kind: str = request.param
    called = "\n".join(f"  out[{i}] = {code};" for i, (code, _) in enumerate(_reference(kind).values()))
    contexts = "\n".join(f"    case {i}: {{ {code} }} break;" for i, code in enumerate(CONTEXTS.values()))
    text = WARP_PROGRAM.replace("@head@", HEAD[kind]).replace("@calls@", called).replace("@contexts@", contexts)
    text = text.replace("@context_count@", str(len(CONTEXTS))).replace("@call_count@", str(len(_reference(kind))))
    source = tmp_path_factory.mktemp("warps") / "warps.cu"
    source.write_text(text, encoding="utf-8")
    made = program([source], "cuda" if kind == "CUDA" else "hip", CompileOptions(os.environ, optimize="-O0", jobs=1))
    return kind, made.path


@pytest.mark.parametrize("threads", [64, 20, 200])
@pytest.mark.parametrize("wave", [32, 64])
def test_warp_operations_follow_cudas_definition(wave: int, threads: int, warps: tuple[str, Path]) -> None:
    kind, path = warps
    if kind == "CUDA" and wave == 64:
        pytest.skip("CUDA's warps have 32 lanes")
    size = wave if kind == "wave.h" else 32
    words = [int(word) for word in np.random.default_rng(threads).integers(0, 1 << 32, threads)]
    ran = run(path, str(size), str(threads), given=" ".join(map(str, words)).encode(), lanes=wave)
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    rows = iter(ran.stdout.decode().splitlines())
    checked = 0
    for context in CONTEXTS:
        for thread in range(threads):
            given = [int(value) for value in next(rows).split()]
            reached = _reached(context, words, thread, size)
            if reached is None:
                assert set(given) == {(1 << 64) - 1}
                continue
            start = thread - thread % size
            lanes = Lanes([*words[start : start + size], *[0] * size][:size], *reached)
            for value, (name, (_, expected)) in zip(given, _reference(kind).items(), strict=True):
                right = expected(lanes, thread % size)
                if right is not None:
                    assert value == right, f"{context}: thread {thread}: {name}"
                    checked += 1
    assert checked > 60 * threads


@pytest.mark.parametrize("wave", [32, 64])
def test_hipports_other_headers(wave: int) -> None:
    ran = run(built("helpers.cu", "hip"), lanes=wave)
    assert ran.returncode == 0, ran.stderr.decode()
    words, totals = ran.stdout.decode().splitlines()
    got = [int(word, 16) for word in words.split()]
    for t in range(64):
        lane = t % 32
        next_lane = t if lane == 31 else t + 1
        right = [
            3 * (t ^ 1), 5, 2, 3 * t, 22, 128, t ^ 1, 13, next_lane, int(lane != 31), 0, 28,
            40 + (t & -t).bit_length() if t else 0, 0x3F000000, 1, lane + t // 32 * 100 + 64000,
        ]  # fmt: skip
        assert got[16 * t : 16 * t + 16] == right, t
    # Sums of 64 threads; each thread loops with strides of 7 and of 5.
    assert totals.split() == ("64 32 0 128 64 128 64 64 128 64 256 -63 63 128 -64 63 -63 255 9 1 1 0 0 64".split())


def test_half_helpers(tmp_path: Path) -> None:
    listed = [(code, expected) for code, expected in half_cases() if expected is not None][::9]
    assert len(listed) > 400
    stores = "\n".join(f"  out[{i}] = {code};" for i, (code, _) in enumerate(listed))
    source = tmp_path / "halves.cu"
    source.write_text(
        f"""#include <cstdio>
#include <hip/hip_runtime.h>
{HALF_PROGRAM}
__global__ void kernel(unsigned* out) {{
{stores}
}}
int main() {{
  unsigned* out;
  (void)hipMallocManaged(&out, {4 * len(listed)});
  kernel<<<1, 1>>>(out);
  (void)hipDeviceSynchronize();
  for (int i = 0; i < {len(listed)}; ++i) printf("%u ", out[i]);
}}
"""
    )
    made = program([source], "hip", CompileOptions(os.environ, optimize="-O0", jobs=1))
    got = run(made.path).stdout.split()
    wrong = [(code, hex(int(a)), hex(b)) for a, (code, b) in zip(got, listed, strict=True) if int(a) != b]
    assert wrong == []


def test_headers_are_quiet(compiler: str, tmp_path: Path) -> None:
    """No warnings in the executor's own headers under -Wall, in both dialects and both standards."""
    names = {
        "cuda": ("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuComplex.h", "math_constants.h"),
        "hip": ("hip/hip_runtime.h", "hip/hip_bf16.h", "hip/hip_bfloat16.h", "hip/hip_complex.h",
                "hip/hip_math_constants.h"),
    }  # fmt: skip
    for dialect in BOTH:
        source = tmp_path / f"{dialect}.cpp"
        source.write_text("".join(f"#include <{name}>\n" for name in names[dialect]))
        for standard in ("c++17", "c++20"):
            command = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-fsyntax-only", f"-I{INCLUDE}", str(source)]
            said = subprocess.run([*command, *dialect_defines(dialect)], capture_output=True, text=True, check=False)
            assert (said.returncode, said.stderr) == (0, "")
