# SPDX-License-Identifier: Apache-2.0
"""hipport/warp.h and wave.h: every function, on simulated wavefronts, compared with CUDA's definition.

The wavefronts have 32 and 64 lanes. With wave.h a warp is the wavefront, and CUDA's definition for 32 lanes must hold
for its number of lanes.
"""

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import compiled
import hipport
from further import further_rows
from hipport.toolchain.toolchains import Toolchain, find

TESTS = Path(__file__).parent
INCLUDE = TESTS.parent / "src/hipport/include"

# In each context lanes reach the calls in another way; `in` has a random word for every thread.
CONTEXTS = {
    # All together; the lanes of one mask have the same last two bits.
    "groups": "calls(mask_of(tid, [](unsigned word) { return word % 4; }), tid, out);",
    "full": "calls(full, tid, out);",
    # The mask also names the lanes that return first.
    "exited": "if (in[tid] % 4 == 1) return; calls(full, tid, out);",
    "branch": """
        const lane_mask mask = mask_of(tid, [](unsigned word) { return word % 2; });
        if (in[tid] % 2) {
          calls(mask, tid, out);
        } else if (tid % 3) {
          activemask();
        }""",
    # Lanes leave a loop after different numbers of iterations; the last iteration is checked.
    "loop": """
        for (unsigned turn = 0; turn <= in[tid] % 3; ++turn) {
          const lane_mask mask = mask_of(tid, [=](unsigned word) { return turn <= word % 3; });
          calls(mask, tid, out);
        }""",
}
# The calls: the C++, and the right result. None: CUDA does not define it.
Calls = dict[str, tuple[str, Callable[["Lanes", int], int | None]]]
WIDTHS = (32, 16, 4, 1)
DELTAS = (0, 1, 5, 16, 31, 33)  # The instruction uses only the last five bits.


class Lanes:
    """The lanes that make a call together: the words of the warp, the mask, and the present lanes."""

    def __init__(self, words: list[int], mask: int, there: set[int]) -> None:
        self.words, self.mask, self.there = words, mask, there
        self.size = len(words)
        self.named = [lane for lane in sorted(there) if mask >> lane & 1]

    def votes(self, says: Callable[[int], bool]) -> int:
        return sum(1 << lane for lane in self.named if says(self.words[lane]))

    def word(self, lane: int) -> int | None:
        return self.words[lane] if lane in self.named else None


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _odd(word: int) -> bool:
    return word >> 4 & 1 == 1


def _folded(combine: Callable[[int, int], int], shape: Callable[[int], int] = lambda word: word) -> Callable[..., int]:
    def fold(lanes: Lanes, lane: int) -> int:
        values = [shape(lanes.words[each]) for each in lanes.named]
        result = values[0]
        for value in values[1:]:
            result = combine(result, value)
        return result % (1 << 32)

    return fold


def _shuffled(source: Callable[[int, int], int]) -> Callable[[int], Callable[[Lanes, int], int | None]]:
    """Return the expected value; `source` computes the read lane from the lane in the group and the group's width."""

    def of(width: int) -> Callable[[Lanes, int], int | None]:
        def moved(lanes: Lanes, lane: int) -> int | None:
            return lanes.word(lane - lane % width + source(lane % width, width))

        return moved

    return of


@cache
def calls(native: bool = False) -> Calls:
    found: Calls = {
        "activemask() & mask": ("activemask() & mask", lambda lanes, lane: lanes.votes(lambda word: True)),
        "ballot": ("ballot_sync(mask, word & 16)", lambda lanes, lane: lanes.votes(_odd)),
        "any": ("any_sync(mask, word & 16)", lambda lanes, lane: lanes.votes(_odd) != 0),
        "all": ("all_sync(mask, word & 16)", lambda lanes, lane: lanes.votes(_odd) == lanes.votes(lambda word: True)),
        "all are": ("all_sync(mask, 1)", lambda lanes, lane: 1),
        "uni": (
            "uni_sync(mask, word & 16)",
            lambda lanes, lane: lanes.votes(_odd) in (0, lanes.votes(lambda word: True)),
        ),
        "match_any": (
            "match_any_sync(mask, word >> 8 & 3)",
            lambda lanes, lane: lanes.votes(lambda word: word >> 8 & 3 == lanes.words[lane] >> 8 & 3),
        ),
        "match_any of doubles": (
            "match_any_sync(mask, double(int(word >> 8 & 3)))",
            lambda lanes, lane: lanes.votes(lambda word: word >> 8 & 3 == lanes.words[lane] >> 8 & 3),
        ),
        "match_all": ("matched(mask, word >> 8 & 3)", _match_all(lambda word: word >> 8 & 3)),
        "match_all of few": ("matched(mask, word >> 12 & 1)", _match_all(lambda word: word >> 12 & 1)),
        "match_all of equals": ("matched(mask, 3)", _match_all(lambda word: 3)),
        "add": ("reduce_add_sync(mask, word)", _folded(lambda a, b: a + b)),
        "add of ints": ("unsigned(reduce_add_sync(mask, int(word)))", _folded(lambda a, b: a + b)),
        "add of bools": ("reduce_add_sync(mask, bool(word & 16))", _folded(lambda a, b: a + b, _odd)),
        "add of bytes": (
            "reduce_add_sync(mask, static_cast<unsigned char>(word))",
            _folded(lambda a, b: a + b, lambda word: word % 256),
        ),
        "min": ("reduce_min_sync(mask, word)", _folded(min)),
        "max": ("reduce_max_sync(mask, word)", _folded(max)),
        "min of ints": ("unsigned(reduce_min_sync(mask, int(word)))", _folded(min, _signed)),
        "max of ints": ("unsigned(reduce_max_sync(mask, int(word)))", _folded(max, _signed)),
        "and": ("reduce_and_sync(mask, word | 0xffff)", _folded(lambda a, b: a & b, lambda word: word | 0xFFFF)),
        "or": ("reduce_or_sync(mask, word & 0xf0f)", _folded(lambda a, b: a | b, lambda word: word & 0xF0F)),
        "xor": ("reduce_xor_sync(mask, word)", _folded(lambda a, b: a ^ b)),
        "lane_id": ("lane_id()", lambda lanes, lane: lane),
        "eq": ("lanemask_eq()", lambda lanes, lane: 1 << lane),
        "lt": ("lanemask_lt()", lambda lanes, lane: (1 << lane) - 1),
        "le": ("lanemask_le()", lambda lanes, lane: (2 << lane) - 1),
        "gt": ("lanemask_gt()", lambda lanes, lane: (1 << lanes.size) - (2 << lane)),
        "ge": ("lanemask_ge()", lambda lanes, lane: (1 << lanes.size) - (1 << lane)),
        "own lane": (
            "shfl_sync(mask, word, int(word >> 5))",
            lambda lanes, lane: lanes.word((lanes.words[lane] >> 5) % lanes.size),
        ),
        "through memory": ("exchanged(mask, word, tid)", lambda lanes, lane: lanes.word(lane ^ 1)),
    }
    for type_, made in TYPES.items():
        found[f"shfl of {type_}"] = (made, lambda lanes, lane: lanes.word(lane ^ 3))
    if native:
        found |= {
            "popc": ("popc(mask)", lambda lanes, lane: bin(lanes.mask).count("1")),
            "ffs": ("ffs(mask)", lambda lanes, lane: (lanes.mask & -lanes.mask).bit_length()),
            "last_lane": ("last_lane(mask)", lambda lanes, lane: lanes.mask.bit_length() - 1),
            "last_lane of none": ("2 + last_lane(mask & 0)", lambda lanes, lane: 1),
            "wave_size": ("wave_size()", lambda lanes, lane: lanes.size),
            "full_mask": ("full_mask()", lambda lanes, lane: (1 << lanes.size) - 1),
        }
    for width in WIDTHS:
        for delta in DELTAS[: -1 if native else None]:
            arguments = f"mask, word, {delta}, {width}"
            at = _shuffled(lambda lane, width, d=delta: d % width)
            up = _shuffled(lambda lane, width, d=delta % 32: lane if lane < d else lane - d)
            down = _shuffled(lambda lane, width, d=delta % 32: lane if lane + d >= width else lane + d)
            found[f"shfl {delta} {width}"] = (f"shfl_sync({arguments})", at(width))
            found[f"up {delta} {width}"] = (f"shfl_up_sync({arguments})", up(width))
            found[f"down {delta} {width}"] = (f"shfl_down_sync({arguments})", down(width))
            found[f"xor {delta} {width}"] = (
                f"shfl_xor_sync({arguments})",
                lambda lanes, lane, d=delta % 32, w=width: lanes.word(_xor_source(lane, d, w)),
            )
    return found


def _xor_source(lane: int, by: int, width: int) -> int:
    source = lane ^ by
    # Earlier groups may be read; a later one gives the lane's own value.
    return lane if source >= lane - lane % width + width else source


def _match_all(of: Callable[[int], int]) -> Callable[[Lanes, int], int]:
    def matched(lanes: Lanes, lane: int) -> int:
        same = len({of(lanes.words[each]) for each in lanes.named}) == 1
        # CUDA returns the lanes of the mask that have not exited (seen on an H200), or 0; the call makes the predicate
        # part of it.
        return sum(1 << each for each in lanes.named) ^ 0x5555 if same else 0

    return matched


# Each returns the word unchanged, moved as another type.
TYPES = {
    "bool": "shfl_xor_sync(mask, bool(word >> 31), 3) == int(there >> 31) ? there : 0u",
    "short": "shfl_xor_sync(mask, short(word), 3) == short(there) ? there : 0u",
    "float": "bits(shfl_xor_sync(mask, as<float>(word), 3))",
    "double": "unsigned(shfl_xor_sync(mask, double(word), 3))",
    "long long": "unsigned(shfl_xor_sync(mask, (long long)(word) << 20, 3) >> 20)",
    "three words": "shfl_xor_sync(mask, Words{{1, 2, word}}, 3).word[2]",
    "three bytes": "shfl_xor_sync(mask, Bytes{{0, 0, char(word)}}, 3).byte[2] == char(there) ? there : 0u",
    "class like a number": "shfl_xor_sync(mask, Coordinate{}, 3)",
}

PROGRAM = r"""
#ifdef NATIVE
#include "hipport/wave.h"
using namespace hipport::native;
#else
#include "hipport/warp.h"
using namespace hipport;
using lane_mask = unsigned;
#endif
#include <cstdio>

unsigned warp;  // lanes in a warp

std::vector<unsigned> in;
unsigned count;
unsigned start;  // the first thread of the wave
unsigned shared_words[1024];

struct Words { unsigned word[3]; };
struct Bytes { char byte[3]; };
struct Coordinate { operator unsigned() const { return in[start + __lane_id()]; } };

template <typename To, typename From>
To as(From from) {
  To to;
  static_assert(sizeof(to) == sizeof(from), "");
  std::memcpy(&to, &from, sizeof(to));
  return to;
}
unsigned bits(float value) { return as<unsigned>(value); }

template <typename Of>
lane_mask mask_of(unsigned tid, Of of) {
  lane_mask mask = 0;
  for (unsigned other = tid - tid % warp; other < tid - tid % warp + warp; ++other) {
    if (other < count && of(in[other]) == of(in[tid])) mask |= lane_mask(1) << other % warp;
  }
  return mask;
}
unsigned long long matched(lane_mask mask, unsigned value) {
  int predicate = 7;
  const unsigned long long result = match_all_sync(mask, value, &predicate);
  return predicate == 0 ? result : predicate == 1 ? result ^ 0x5555 : 7;
}
unsigned exchanged(lane_mask mask, unsigned word, unsigned tid) {
  shared_words[tid] = word;
  syncwarp(mask);
  const unsigned result = shared_words[tid ^ 1];
  syncwarp(mask);
  return result;
}
void calls(lane_mask mask, unsigned tid, unsigned long long* out) {
  const unsigned word = in[tid];
  const unsigned there = shfl_xor_sync(mask, word, 3);
@calls@
}
void in_context(unsigned context, unsigned tid, unsigned long long* out) {
  const lane_mask full = ~lane_mask(0) >> (8 * sizeof(lane_mask) - warp);
  switch (context) {
@contexts@
  }
}

int main(int, char** arguments) {
  const unsigned wave = unsigned(std::atoi(arguments[1]));
  count = unsigned(std::atoi(arguments[2]));
  warp = sizeof(lane_mask) == 4 ? 32 : wave;
  in.resize(count);
  for (unsigned& word : in) {
    if (std::scanf("%u", &word) != 1) return 1;
  }
  for (unsigned context = 0; context < @context_count@; ++context) {
    std::vector<std::vector<unsigned long long>> out(count, std::vector<unsigned long long>(@call_count@, ~0ull));
    for (start = 0; start < count; start += wave) {
      const unsigned lanes = count - start < wave ? count - start : wave;
      simulated::run(wave, lanes, [&](unsigned lane) { in_context(context, start + lane, out[start + lane].data()); });
    }
    for (const auto& row : out) {
      for (unsigned long long value : row) std::printf("%llu ", value);
      std::printf("\n");
    }
  }
}
"""


def program(native: bool) -> str:
    called = "\n".join(f"  out[{i}] = {code};" for i, (code, _) in enumerate(calls(native).values()))
    contexts = "\n".join(f"    case {i}: {{ {code} }} break;" for i, code in enumerate(CONTEXTS.values()))
    text = PROGRAM.replace("@calls@", called).replace("@contexts@", contexts)
    return text.replace("@context_count@", str(len(CONTEXTS))).replace("@call_count@", str(len(calls(native))))


@pytest.fixture(scope="module", params=[False, True], ids=["warp.h", "wave.h"])
def simulator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, Path]:
    """Return whether a warp is the wavefront, and the program."""
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport/warp.h and wave.h were not run on simulated wavefronts")
    native = bool(request.param)
    folder = tmp_path_factory.mktemp("warp")
    (folder / "program.cpp").write_text(program(native))
    # Unoptimized: the simulator relies on return addresses, see there.
    flags = ["-std=c++14", "-O0", "-fno-omit-frame-pointer", "-Wall", "-Wno-unknown-pragmas", "-D__HIP__"]
    flags += ["-DNATIVE"] if native else []
    command = ["g++", *flags, f"-I{TESTS / 'simulated_wave'}", f"-I{INCLUDE}", "program.cpp", "-o", "program"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    return native, folder / "program"


def _reached(context: str, words: list[int], thread: int, size: int) -> tuple[int, set[int]] | None:
    """Return the mask of a thread's last calls and the lanes of its warp that make them, or None if it makes none."""
    start = thread - thread % size
    warp = {lane: words[start + lane] for lane in range(size) if start + lane < len(words)}
    word = words[thread]
    if context == "full":
        return (1 << size) - 1, set(warp)
    if context == "exited":
        there = {lane for lane, each in warp.items() if each % 4 != 1}
        return ((1 << size) - 1, there) if word % 4 != 1 else None
    if context == "groups":
        there = {lane for lane, each in warp.items() if each % 4 == word % 4}
    elif context == "branch":
        there = {lane for lane, each in warp.items() if each % 2 == word % 2}
        if not word % 2:
            return None
    else:
        there = {lane for lane, each in warp.items() if each % 3 >= word % 3}
    return sum(1 << lane for lane in there), there


@pytest.mark.parametrize("threads", [32, 64, 20, 48, 200])
@pytest.mark.parametrize("wave", [32, 64])
def test_follows_cudas_definition(wave: int, threads: int, simulator: tuple[bool, Path]) -> None:
    native, path = simulator
    size = wave if native else 32
    source = random.Random(threads)
    words = [source.getrandbits(32) for _ in range(threads)]
    ran = subprocess.run(
        [str(path), str(wave), str(threads)],
        input=" ".join(map(str, words)),
        capture_output=True,
        text=True,
        check=True,
    )
    rows = iter(ran.stdout.splitlines())
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
            for value, (name, (_, expected)) in zip(given, calls(native).items(), strict=True):
                right = expected(lanes, thread % size)
                if right is not None:
                    assert value == right, f"{context}: thread {thread}: {name}"
                    checked += 1
    assert checked > 60 * threads


@pytest.mark.parametrize("name", ["warp.h", "wave.h"])
def test_a_port_leaves_it_alone(name: str) -> None:
    """It is in the ported tree, which may be ported again."""
    ported = hipport.rewrite([INCLUDE / "hipport" / name])
    assert (ported.changed, ported.created, ported.reported) == ((), (), ())


# ---- with compilers for GPUs

TARGETS = {(5, 2): ("gfx90a", "gfx1030"), (6, 4): ("gfx90a", "gfx942", "gfx1100", "gfx1201")}
BUILTINS = "-DHIP_ENABLE_WARP_SYNC_BUILTINS"
ALL = [
    (release, target, macro) for release, targets in TARGETS.items() for target in targets for macro in ("", BUILTINS)
]
#: One architecture of each release, and one of each wavefront size, show all differences; the older release does not
#: know the macro, and with it HIP has more functions.
FURTHER = [
    each
    for each in ALL
    if each[:2] in (((5, 2), "gfx90a"), ((6, 4), "gfx90a"), ((6, 4), "gfx1201"))
    or each in (((5, 2), "gfx1030", BUILTINS), ((6, 4), "gfx1100", ""))
]
# Every type that CUDA shuffles or matches; bfloat16 if HIP has it.
DEVICE_PROGRAM = r"""
#ifdef NATIVE
#include "hipport/wave.h"
using namespace hipport::native;
#else
#include "hipport/warp.h"
using namespace hipport;
using lane_mask = unsigned;
#endif
#if defined(__HIP__)
#include <hip/hip_fp16.h>
#if HIP_VERSION >= 60000000
#include <hip/hip_bf16.h>
#define BFLOAT __hip_bfloat16
#define BFLOAT2 __hip_bfloat162
#else
#include <hip/hip_bfloat16.h>
#define BFLOAT hip_bfloat16
#define BFLOAT2 float2
#endif
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define BFLOAT __nv_bfloat16
#define BFLOAT2 __nv_bfloat162
#endif
template <typename T>
__global__ void shuffled(T* values, lane_mask mask) {
  T value = values[threadIdx.x];
  value = shfl_sync(mask, value, 3);
  value = shfl_up_sync(mask, value, 1);
  value = shfl_down_sync(mask, value, 2, 16);
  value = shfl_xor_sync(mask, value, 4, 8);
#if !defined(__CUDA_ARCH__)
  value = shfl(value, 3);
  value = shfl_up(value, 1);
  value = shfl_down(value, 2);
  value = shfl_xor(value, 4);
#endif
  values[threadIdx.x] = value;
}
template <typename T>
__global__ void matched(const T* values, lane_mask mask, lane_mask* found) {
  int predicate;
  found[threadIdx.x] = match_any_sync(mask, values[threadIdx.x]);
  found[threadIdx.x] |= match_all_sync(mask, values[threadIdx.x], &predicate);
}
#define BOTH(T)                                        \
  template __global__ void shuffled<T>(T*, lane_mask); \
  template __global__ void matched<T>(const T*, lane_mask, lane_mask*);
BOTH(int) BOTH(unsigned) BOTH(long) BOTH(unsigned long) BOTH(long long) BOTH(unsigned long long)
BOTH(float) BOTH(double)
template __global__ void shuffled<__half>(__half*, lane_mask);
template __global__ void shuffled<__half2>(__half2*, lane_mask);
template __global__ void shuffled<BFLOAT>(BFLOAT*, lane_mask);
template __global__ void shuffled<BFLOAT2>(BFLOAT2*, lane_mask);

__global__ void all_others(unsigned* out, lane_mask* masks, lane_mask mask, int p, bool flag, signed char byte) {
  masks[0] = ballot_sync(mask, p) & activemask();
  out[0] = unsigned(any_sync(mask, p) + all_sync(mask, p) + uni_sync(mask, p));
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  out[1] = reduce_add_sync(mask, out[0]) + reduce_min_sync(mask, out[0]) + reduce_max_sync(mask, out[0]);
  out[2] = unsigned(reduce_add_sync(mask, flag) + reduce_min_sync(mask, p) + reduce_max_sync(mask, byte));
  out[3] = reduce_and_sync(mask, out[0]) + reduce_or_sync(mask, out[0]) + reduce_xor_sync(mask, out[0]);
  out[6] = reduce_add_sync(mask, threadIdx.x);
#endif
  out[4] = unsigned(lane_id());
  masks[1] = lanemask_eq() ^ lanemask_lt() ^ lanemask_le() ^ lanemask_gt() ^ lanemask_ge();
  syncwarp();
  syncwarp(mask);
  const int sum = shfl_sync(mask, flag, 1) + shfl_sync(mask, byte, 2);
  out[5] = unsigned(sum) + shfl_sync(mask, threadIdx.x, 0);
  masks[2] = match_any_sync(mask, threadIdx.x);
#if !defined(__CUDA_ARCH__)
  masks[3] = ballot(p);
  out[7] = unsigned(any(p) + all(p));
#endif
#ifdef NATIVE
  masks[4] = full_mask() & one_lane(wave_size() - 1);
  out[8] = unsigned(popc(mask) + ffs(mask) + last_lane(mask));
#endif
}
#ifdef NATIVE
int threads_of(int device) {
  int size = 0;
  return wave_size_of(device, &size) ? 0 : size * max_waves / max_lanes;
}
#endif
"""


@cache
def toolchains() -> tuple[Toolchain, ...]:
    return find(os.environ)


@pytest.mark.toolchain
@pytest.mark.parametrize("native", ["", "-DNATIVE"], ids=["warp.h", "wave.h"])
@pytest.mark.parametrize(("release", "target", "macro"), further_rows(ALL, FURTHER))
def test_compiles_for_amd(release: tuple[int, int], target: str, macro: str, native: str, tmp_path: Path) -> None:
    each = next((each for each in toolchains() if each.rocm == release and each.targets([target])), None)
    if each is None:
        pytest.skip(f"no hipcc with HIP {release[0]}.{release[1]}: warp.h was not compiled with it for {target}")
    (tmp_path / "program.cu").write_text(DEVICE_PROGRAM)
    warnings = ["-Wall", "-Wextra", "-Wshorten-64-to-32", "-Werror", "-Wno-unused-command-line-argument"]
    flags = ["-O1", f"--offload-arch={target}", *warnings, *filter(None, (macro, native)), f"-I{INCLUDE}"]
    command = [str(each.hipcc), *flags, "--cuda-device-only", "-S", "-x", "hip", "program.cu", "-o", "program.s"]
    built = compiled.run(command, cwd=tmp_path, env=each.environment(os.environ))
    assert not built.returncode, built.stderr
    instructions = set(re.findall(r"^\s+([a-z]\w+)", (tmp_path / "program.s").read_text(), re.MULTILINE))
    assert "ds_bpermute_b32" in instructions
    assert "s_trap" not in instructions


@pytest.mark.toolchain
@pytest.mark.parametrize("native", ["", "-DNATIVE"], ids=["warp.h", "wave.h"])
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_compiles_with_nvcc(architecture: str, native: str, tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc: hipport/warp.h was not compiled for NVIDIA")
    (tmp_path / "program.cu").write_text(DEVICE_PROGRAM)
    command = [
        "nvcc",
        f"-arch={architecture}",
        "-Werror=all-warnings",
        *filter(None, [native]),
        f"-I{INCLUDE}",
        "-ptx",
        "program.cu",
    ]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    instructions = (tmp_path / "program.ptx").read_text()
    assert {"shfl.sync.idx.b32", "match.any.sync.b32", "vote.sync.ballot.b32"} <= set(
        re.findall(r"[\w.]+", instructions)
    )
