# SPDX-License-Identifier: Apache-2.0
"""hipport/ptx.h: the arithmetic of every instruction, compared with its definition and with an NVIDIA GPU's results.

One program runs every instruction on the same words: as hipport's function on a CPU, as PTX on a GPU. The name of the
function follows from the opcode. `test_ptx_helpers.json` has a hash of the GPU's results for each instruction, and the
results themselves for approximations. It was made by:

    python tests/test_ptx_helpers.py write FOLDER
    cd FOLDER && nvcc -arch=sm_90 program.cu -o program && ./program
    python tests/test_ptx_helpers.py record FOLDER 'NVIDIA H200, CUDA 13.0'

Built with -DHELPERS, with hipport's functions for the GPU, the program had the same results as on a CPU.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
from array import array
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import compiled
import hipport
from further import further_rows
from hipport.toolchain.toolchains import Toolchain, find
from hipport_passes.device.ptx.operations import review
from ptx_columns import APPROXIMATE, FORMATS, Column, Format, bits_of, columns, words
from ptx_definitions import decoded, defined, flushed
from ptx_statements import device_program

INCLUDE = Path(__file__).parent.parent / "src/hipport/include"
RECORDED = Path(__file__).with_suffix(".json")

# ---- the program

PROGRAM = r"""
#if !defined(__CUDACC__) || defined(__HIP__) || defined(HELPERS)
#include "hipport/ptx.h"
#endif
#include <cstdio>
#include <string>
#include <vector>

#if defined(__HIP__)
#define BOTH __host__ __device__
#elif defined(__CUDACC__)
#define BOTH __device__
#else
#define BOTH
#endif

// What an argument is for a function; and, as In_..., for an asm statement, whose registers have 16 bits at least.
@types@

/// The lower bits of a word.
template <typename T>
BOTH T value(u64 word) {
  T result;
  __builtin_memcpy(&result, &word, sizeof(T));
  return result;
}
template <>
BOTH bool value<bool>(u64 word) {
  return static_cast<unsigned>(word) != 0;
}

// What is kept of a result: of a NaN only that it is one.
BOTH u64 nan_or(u64 word, u64 infinity, u64 sign) { return (word & (sign - 1)) > infinity ? sign - 1 : word; }
template <typename Kind>
struct Kept {
  template <typename T>
  static BOTH u64 of(T result) {
    return static_cast<u64>(static_cast<typename Kind::type>(result));
  }
};
#define KIND(name, stored) struct Kind_##name { using type = stored; };
@kinds@
template <>
struct Kept<Kind_f32> {
  static BOTH u64 of(float result) { 
    unsigned word;
    __builtin_memcpy(&word, &result, 4);
    return nan_or(word, 0x7f800000u, 0x80000000u);
  }
};
template <>
struct Kept<Kind_f64> {
  static BOTH u64 of(double result) {
    u64 word;
    __builtin_memcpy(&word, &result, 8);
    return nan_or(word, 0x7ffull << 52, 1ull << 63);
  }
};
template <>
struct Kept<Kind_tf32> {
  static BOTH u64 of(unsigned result) { return nan_or(result, 0x7f800000u, 0x80000000u); }
};
#define HALF(kind, infinity)                                                                             \
  template <>                                                                                            \
  struct Kept<Kind_##kind> {                                                                             \
    static BOTH u64 of(unsigned short result) { return nan_or(result, infinity, 0x8000u); }              \
  };                                                                                                     \
  template <>                                                                                            \
  struct Kept<Kind_##kind##x2> {                                                                         \
    static BOTH u64 of(unsigned result) {                                                                \
      return nan_or(result & 0xffffu, infinity, 0x8000u) | nan_or(result >> 16, infinity, 0x8000u) << 16; \
    }                                                                                                    \
  };
HALF(f16, 0x7c00u)
HALF(bf16, 0x7f80u)

struct Words {
  u64 of[4];
};
struct Place {
  u64* results;
  long rows, row;
  BOTH void put(long column, u64 result) const { results[column * rows + row] = result; }
};

@chunks@

struct Pool {
  const char* name;
  long columns;
  std::vector<void (*)(const Words*, u64*, long)> chunks;
};

int main() {
  const std::vector<Pool> pools = {
@pools@
  };
  for (const Pool& pool : pools) {
    std::FILE* file = std::fopen((std::string(pool.name) + ".words").c_str(), "rb");
    std::fseek(file, 0, SEEK_END);
    std::vector<Words> words(std::ftell(file) / sizeof(Words));
    std::rewind(file);
    if (std::fread(words.data(), sizeof(Words), words.size(), file) != words.size()) return 1;
    std::fclose(file);
    const long rows = long(words.size());
    std::vector<u64> results(rows * pool.columns);
#if defined(__CUDACC__) && !defined(__HIP__)
    Words* there;
    u64* made;
    cudaMalloc(&there, words.size() * sizeof(Words));
    cudaMalloc(&made, results.size() * 8);
    cudaMemcpy(there, words.data(), words.size() * sizeof(Words), cudaMemcpyDefault);
    for (auto chunk : pool.chunks) chunk<<<unsigned(rows + 63) / 64, 64>>>(there, made, rows);
    const cudaError_t error = cudaMemcpy(results.data(), made, results.size() * 8, cudaMemcpyDefault);
    if (error != cudaSuccess) {
      std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
      return 1;
    }
#else
    for (auto chunk : pool.chunks) chunk(words.data(), results.data(), rows);
#endif
    file = std::fopen((std::string(pool.name) + ".results").c_str(), "wb");
    std::fwrite(results.data(), 8, results.size(), file);
    if (std::fclose(file)) return 1;
  }
}
"""

CHUNK = """
static BOTH void run_@number@(const Words& words, const Place& place) {
  const u64 a = words.of[0], b = words.of[1], c = words.of[2], d = words.of[3];
  (void)a, (void)b, (void)c, (void)d;
  unsigned carry = d & 1u;
  (void)carry;
#if !defined(__CUDACC__) || defined(__HIP__) || defined(HELPERS)
@calls@
#else
@assembler@
#endif
}
#if (defined(__CUDACC__) && !defined(__HIP__)) || defined(__HIP_DEVICE_COMPILE__)
__global__ void chunk_@number@(const Words* words, u64* results, long rows) {
  const long row = blockIdx.x * long(blockDim.x) + threadIdx.x;
  if (row < rows) run_@number@(words[row], Place{results, rows, row});
}
#else
static void chunk_@number@(const Words* words, u64* results, long rows) {
  for (long row = 0; row < rows; ++row) run_@number@(words[row], Place{results, rows, row});
}
#endif
"""

TYPES = {
    "u8": ("unsigned char", "unsigned"),
    "s8": ("signed char", "int"),
    "b8": ("unsigned char", "unsigned"),
    "u16": ("unsigned short",),
    "s16": ("short",),
    "b16": ("unsigned short",),
    "u32": ("unsigned",),
    "s32": ("int",),
    "b32": ("unsigned",),
    "u64": ("unsigned long long",),
    "s64": ("long long",),
    "u16x2": ("unsigned",),
    "s16x2": ("unsigned",),
    "b64": ("unsigned long long",),
    "f16": ("unsigned short",),
    "bf16": ("unsigned short",),
    "f16x2": ("unsigned",),
    "bf16x2": ("unsigned",),
    "tf32": ("unsigned",),
    "f32": ("float",),
    "f64": ("double",),
    "pred": ("bool", "unsigned"),
}


@cache
def pools() -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    for column in columns().values():
        found.setdefault(column.pool, []).append(column)
    return found


def program() -> str:
    types, kinds = [], []
    for kind, spellings in TYPES.items():
        types += [f"using {kind} = {spellings[0]};", f"using In_{kind} = {spellings[-1]};"]
        # A result of 8 bits fills the register.
        stored = {"s8": "u32", "s16": "u16", "s32": "u32"}.get(kind, f"In_{kind}")
        kinds.append(f"KIND({kind}, {stored})")
    chunks: list[str] = []
    listed = []
    for pool, members in pools().items():
        first = len(chunks)
        for start in range(0, len(members), 64):
            calls, assembler = [], []
            for i, column in enumerate(members[start : start + 64], start):
                kept = f"place.put({i}, Kept<Kind_{column.stored}>::of(@));"
                calls.append(f"  {{ carry = d & 1u; {kept.replace('@', column.call())} }}")
                assembler.append(f"  {{ {column.assembler()} {kept.replace('@', 'result')} }}")
            chunks.append(
                CHUNK.replace("@number@", str(len(chunks)))
                .replace("@calls@", "\n".join(calls))
                .replace("@assembler@", "\n".join(assembler))
            )
        numbers = ", ".join(f"chunk_{number}" for number in range(first, len(chunks)))
        listed.append(f'    {{"{pool}", {len(members)}, {{{numbers}}}}},')
    text = PROGRAM.replace("@types@", "\n".join(types)).replace("@kinds@", "\n".join(kinds))
    return text.replace("@chunks@", "".join(chunks)).replace("@pools@", "\n".join(listed))


def write(folder: Path) -> None:
    (folder / "program.cu").write_text(program())
    for pool, rows in words().items():
        (folder / f"{pool}.words").write_bytes(array("Q", itertools.chain.from_iterable(rows)).tobytes())


Results = dict[str, "array[int]"]


def read(folder: Path) -> Results:
    """Return the results of each column."""
    names = {column: name for name, column in columns().items()}
    found: Results = {}
    for pool, members in pools().items():
        rows = len(words()[pool])
        results = array("Q", (folder / f"{pool}.results").read_bytes())
        assert len(results) == rows * len(members)
        for i, column in enumerate(members):
            found[names[column]] = results[i * rows : (i + 1) * rows]
    return found


# ---- the recording


def hashes(results: Results) -> list[str]:
    """Return a hash for each column except approximations, in their order."""
    return [
        hashlib.sha256(results[name].tobytes()).hexdigest()[:8] for name in columns() if not APPROXIMATE.search(name)
    ]


def fingerprint(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def record(folder: Path, gpu: str) -> None:
    results = read(folder)
    made = hashes(results)
    exact = [name for name in columns() if not APPROXIMATE.search(name)]
    unlike = []
    for name in exact:
        column = columns()[name]
        if any(results[name][i] != defined(column, row) for i, row in enumerate(words()[column.pool])):
            unlike.append(name)
            print(name)
    digits = {name: bits_of(columns()[name].result) // 4 for name in columns() if APPROXIMATE.search(name)}
    recording = {
        "gpu": gpu,
        "columns": fingerprint(list(columns())),
        "words": fingerprint(words()),
        "hashes": [" ".join(made[i : i + 12]) for i in range(0, len(made), 12)],
        "unlike the manual": unlike,
        "approximations": {name: "".join(f"{each:0{n}x}" for each in results[name]) for name, n in digits.items()},
    }
    RECORDED.write_text(json.dumps(recording, indent=1) + "\n")


@cache
def recorded() -> dict[str, list[str] | dict[str, str] | str]:
    found: dict[str, list[str] | dict[str, str] | str] = json.loads(RECORDED.read_text())
    assert found["columns"] == fingerprint(list(columns()))
    assert found["words"] == fingerprint(words())
    return found


def differing(results: Results) -> list[str]:
    """Return the columns that differ from the GPU's."""
    names = [name for name in columns() if not APPROXIMATE.search(name)]
    known = " ".join(recorded()["hashes"]).split()
    return [name for name, ours, theirs in zip(names, hashes(results), known, strict=True) if ours != theirs]


# ---- the tests

WARNINGS = "-Wall -Wextra -Werror -Wno-unused-command-line-argument -Wno-unused-but-set-variable".split()


def build(command: list[str], folder: Path, env: dict[str, str] | None = None) -> None:
    """Build `program.cu` with hipport's functions."""
    write(folder)
    (folder / "device.cu").write_text(device_program())
    command = [*command, *WARNINGS, "-DHELPERS", f"-I{INCLUDE}"]
    built = compiled.run(command, cwd=folder, env=env)
    assert not built.returncode, built.stderr[-5000:]


def run(folder: Path) -> Results:
    subprocess.run(["./program"], cwd=folder, check=True)
    return read(folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    if shutil.which("g++") is None:
        pytest.skip("no g++: the arithmetic of hipport/ptx.h was not checked")
    # The oldest C++ that may include it; and no step may have undefined behaviour.
    flags = "-std=c++11 -O0 -pedantic -Wconversion -fsanitize=undefined -fno-sanitize-recover".split()
    folder = tmp_path_factory.mktemp("ptx")
    build(["g++", *flags, "-x", "c++", "program.cu", "-o", "program"], folder)
    return run(folder)


FAMILIES = sorted({column.opcode.split(".")[0] for name, column in columns().items() if not APPROXIMATE.search(name)})


@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_with_its_definition(family: str, results: Results) -> None:
    tried = 0
    for name, column in columns().items():
        if column.opcode.split(".")[0] != family or APPROXIMATE.search(name):
            continue
        rows = words()[column.pool]
        # Other rows for each column, so that all rows are used.
        step = len(rows) // 40
        for i in range(len(name) * 7 % step, len(rows), step):
            assert results[name][i] == defined(column, rows[i]), (name, [hex(word) for word in rows[i]])
            tried += 1
    assert tried >= 40


def test_agrees_with_the_gpu(results: Results) -> None:
    """All except some video instructions, for which NVIDIA's compiler does not follow the manual.

    No GPU since Kepler has them in hardware. CUDA 13 keeps the upper half of a result for .h1, does not always saturate
    to the part that receives the result, and is not exact before .min, .max, shifts and clamps.
    """
    unlike = recorded()["unlike the manual"]
    assert differing(results) == unlike
    assert {name.split(".")[0] for name in unlike} <= {
        "vadd",
        "vsub",
        "vabsdiff",
        "vmin",
        "vmax",
        "vset",
        "vshl",
        "vshr",
        "vmad",
    }
    # Plain ones, and those that add, are right.
    plain = re.compile(r"v(add|sub|min|max|absdiff|set|shr)(\.[us]32)+(\.(eq|ne|lt|le|gt|ge))?(\.add)?( |$)")
    assert not [name for name in unlike if plain.match(name)]


Truth = Callable[[float, float], float]


def quotient(a: float, b: float) -> float:
    return 0.0 if 2.0**126 < abs(b) < 2.0**128 else a / b


# The function, the greatest error that PTX guarantees, and whether that is relative.
APPROXIMATIONS: dict[str, tuple[Truth, float, bool]] = {
    "rcp.approx.f32": (lambda a, b: 1 / a, 2.0**-23, True),
    "rcp.approx.ftz.f32": (lambda a, b: 1 / a, 2.0**-23, True),
    "rsqrt.approx.f32": (lambda a, b: 1 / math.sqrt(a), 2.0**-22.9, True),
    "rsqrt.approx.ftz.f32": (lambda a, b: 1 / math.sqrt(a), 2.0**-22.9, True),
    "sqrt.approx.f32": (lambda a, b: math.sqrt(a), 2.0**-23, True),
    "sqrt.approx.ftz.f32": (lambda a, b: math.sqrt(a), 2.0**-23, True),
    "sin.approx.f32": (lambda a, b: math.sin(a), 2.0**-20.5, False),
    "sin.approx.ftz.f32": (lambda a, b: math.sin(a), 2.0**-20.5, False),
    "cos.approx.f32": (lambda a, b: math.cos(a), 2.0**-20.5, False),
    "cos.approx.ftz.f32": (lambda a, b: math.cos(a), 2.0**-20.5, False),
    "lg2.approx.f32": (lambda a, b: math.log2(a), 2.0**-22, True),
    "lg2.approx.ftz.f32": (lambda a, b: math.log2(a), 2.0**-22, True),
    "ex2.approx.f32": (lambda a, b: 2.0**a, 2.0**-22, True),
    "ex2.approx.ftz.f32": (lambda a, b: 2.0**a, 2.0**-22, True),
    "tanh.approx.f32": (lambda a, b: math.tanh(a), 2.0**-11, True),
    "div.approx.f32": (quotient, 2.0**-22, True),
    "div.approx.ftz.f32": (quotient, 2.0**-22, True),
    "div.full.f32": (lambda a, b: a / b, 2.0**-22, True),
    "div.full.ftz.f32": (lambda a, b: a / b, 2.0**-22, True),
    "rcp.approx.ftz.f64": (lambda a, b: 1 / a, 2.0**-20, True),
    "rsqrt.approx.ftz.f64": (lambda a, b: 1 / math.sqrt(a), 2.0**-20, True),
    "ex2.approx.f16": (lambda a, b: 2.0**a, 2.0**-9.9, True),
    "ex2.approx.f16x2": (lambda a, b: 2.0**a, 2.0**-9.9, True),
    "ex2.approx.ftz.bf16": (lambda a, b: 2.0**a, 2.0**-7, True),
    "ex2.approx.ftz.bf16x2": (lambda a, b: 2.0**a, 2.0**-7, True),
    "tanh.approx.bf16": (lambda a, b: math.tanh(a), 2.0**-8, False),
    "tanh.approx.bf16x2": (lambda a, b: math.tanh(a), 2.0**-8, False),
    "tanh.approx.f16": (lambda a, b: math.tanh(a), 2.0**-10.987, False),
    "tanh.approx.f16x2": (lambda a, b: math.tanh(a), 2.0**-10.987, False),
}


@pytest.mark.parametrize("name", [name for name in columns() if APPROXIMATE.search(name)])
def test_approximation_is_within_the_bound(name: str, results: Results) -> None:
    """hipport's and the GPU's; and both are the same if the result is infinite or a NaN."""
    truth, bound, relative = APPROXIMATIONS[name]
    column = columns()[name]
    kind = column.result.removesuffix("x2")
    form, digits = FORMATS[kind], bits_of(column.result) // 4
    text = recorded()["approximations"][name]
    theirs = [int(text[i : i + digits], 16) for i in range(0, len(text), digits)]
    least, greatest = 2.0 ** (1 - form.bias), float(form.number(form.infinity - 1) or 0)
    finite = 0
    for row, *found in zip(words()[column.pool], results[name], theirs, strict=True):
        # The lower of two halves.
        arguments = [word & (2 * form.sign - 1) for word in row[:2]]
        if ".ftz" in name:
            arguments = [flushed(each, kind) for each in arguments]
        x, y = (float(decoded(each, kind)) for each in arguments)
        if name.startswith(("sin", "cos")) and abs(x) > 2 * math.pi:
            continue
        try:
            exact = truth(x, y)
        except (ValueError, ZeroDivisionError, OverflowError):
            exact = math.nan
        if not math.isfinite(exact) or not math.isfinite(x) or abs(exact) > greatest / 2:
            assert found[0] % (2 * form.sign) == found[1] % (2 * form.sign), [hex(each) for each in arguments]
            continue
        scale = abs(exact) if relative and not (name.startswith("lg2") and 0.5 < x < 2) else 1.0
        # Subnormal numbers may be flushed, or come from flushed arguments.
        tolerance = scale * bound * (1 + 2.0**-10) + (2 * least if abs(exact) < 2 * least else 0)
        for each in found:
            assert abs(float(decoded(each % (2 * form.sign), kind)) - exact) <= tolerance, [
                hex(each) for each in arguments
            ]
        finite += 1
    assert finite >= 30


def kind_of(word: int, form: Format) -> str:
    """Return the kind of a number with its sign: zero, subnormal, infinite, or other."""
    magnitude, sign = word & (form.sign - 1), "-" if word & form.sign else "+"
    if magnitude > form.infinity:
        return "not a number"
    if magnitude == form.infinity:
        return sign + "infinite"
    return sign + ("zero" if not magnitude else "tiny" if magnitude < 1 << form.precision - 1 else "normal")


@pytest.mark.parametrize("name", [name for name in columns() if APPROXIMATE.search(name)])
def test_approximation_of_special_numbers_is_the_gpu_s(name: str, results: Results) -> None:
    """Signed zeros, flushed values, infinities and NaNs are the GPU's for instructions that inline_ptx calls SAFE."""
    column = columns()[name]
    form, digits = FORMATS[column.result.removesuffix("x2")], bits_of(column.result) // 4
    text = recorded()["approximations"][name]
    theirs = [int(text[i : i + digits], 16) for i in range(0, len(text), digits)]
    other = [
        row
        for row, *found in zip(words()[column.pool], results[name], theirs, strict=True)
        if len({kind_of(int(each) % (2 * form.sign), form) for each in found}) > 1
    ]
    for_review = [why for row, why in review() if row.match(name.encode())]
    assert bool(other) == bool(for_review), [hex(each) for row in other for each in row]


TAKEN_APART = """
#include "hipport/ptx.h"
using namespace hipport::ptx;
int main() {
  b32 low, high;
  mov_b64(low, high, 0x0123456789abcdefull);
  if (low != 0x89abcdefu || high != 0x01234567u) return 1;
  float number;
  int word;
  mov_b64(number, word, 0xffffffff3f800000ull);
  if (number != 1.0f || word != -1) return 2;
  b16 a, b, c, d;
  mov_b64(a, b, c, d, 0x0123456789abcdefull);
  if (a != 0xcdef || b != 0x89ab || c != 0x4567 || d != 0x0123) return 3;
  mov_b32(a, b, 0x89abcdefu);
  if (a != 0xcdef || b != 0x89ab) return 4;
  b8 e, f, g, h;
  mov_b32(e, f, g, h, 0x89abcdefu);
  if (e != 0xef || f != 0xcd || g != 0xab || h != 0x89) return 5;
  mov_b16(e, f, static_cast<b16>(0x1234));
  if (e != 0x34 || f != 0x12) return 6;
  if (mov_b32(e, f, g, h) != 0x89ab1234u || mov_b16(g, h) != 0x89ab) return 7;
  put(word, static_cast<s8>(-3));
  if (word != -3) return 8;
  if (set_u32(true) != 0xffffffffu || set_s32(true) != -1 || set_f32(true) != 1.0f || set_u32(false) != 0) return 9;
  return as<unsigned>(1.0f) == 0x3f800000u ? 0 : 10;
}
"""


def test_words_are_taken_apart(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport/ptx.h was not checked")
    (tmp_path / "parts.cpp").write_text(TAKEN_APART)
    command = ["g++", "-std=c++11", *WARNINGS, f"-I{INCLUDE}", "parts.cpp", "-o", "parts"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./parts"], cwd=tmp_path, check=True)


def test_a_port_leaves_it_alone() -> None:
    """It is in the ported tree, which may be ported again."""
    ported = hipport.rewrite(sorted((INCLUDE / "hipport").glob("ptx*.h")))
    assert (ported.changed, ported.created, ported.reported) == ((), (), ())


# ---- with compilers for GPUs

TARGETS = {(5, 2): ("gfx90a", "gfx1030"), (6, 4): ("gfx90a", "gfx942", "gfx1100", "gfx1201")}
#: One architecture of each release, and one of each wavefront size, show all differences.
FURTHER = [((5, 2), "gfx90a"), ((6, 4), "gfx90a"), ((6, 4), "gfx1201")]


@cache
def toolchains() -> tuple[Toolchain, ...]:
    return find(os.environ)


def hipcc(release: tuple[int, int], target: str) -> tuple[list[str], dict[str, str]]:
    """Return the command that compiles HIP for `target`, and its environment."""
    for each in toolchains():
        if each.rocm == release and each.targets([target]):
            command = [str(each.hipcc), "-Wshorten-64-to-32", f"--offload-arch={target}", "-x", "hip"]
            return command, each.environment(os.environ)
    pytest.skip(f"no hipcc with HIP {release[0]}.{release[1]}: hipport/ptx.h was not compiled with it for {target}")


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("release", "target"),
    further_rows([(release, target) for release, targets in TARGETS.items() for target in targets], FURTHER),
)
def test_compiles_for_amd(release: tuple[int, int], target: str, tmp_path: Path) -> None:
    command, env = hipcc(release, target)
    # One program may need all of hipport's headers.
    others = [f"-include{path}" for path in sorted((INCLUDE / "hipport").glob("[!p]*.h"))]
    build([*command, *others, "-O2", "device.cu", "--cuda-device-only", "-S", "-o", "device"], tmp_path, env)
    instructions = set((tmp_path / "device").read_text().split())
    assert {"ds_bpermute_b32", "s_sleep"} <= instructions
    assert "s_trap" not in instructions
    build([*command, "device.cu", "--cuda-host-only", "-fsyntax-only"], tmp_path, env)


# Host functions; functions for devices only are compiled above, and those that ports use in test_fixture_builds.py.
@pytest.mark.further
@pytest.mark.toolchain
def test_every_function_becomes_instructions(tmp_path: Path) -> None:
    command, env = hipcc((6, 4), "gfx1100")
    build([*command, "-O1", "program.cu", "--cuda-device-only", "-S", "-o", "device"], tmp_path, env)
    assert {"v_rndne_f32_e32", "v_fma_f64", "v_exp_f32_e32"} <= set((tmp_path / "device").read_text().split())


@pytest.mark.toolchain
def test_host_code_of_hip_agrees_with_the_gpu(tmp_path: Path) -> None:
    command, env = hipcc((6, 4), "gfx90a")
    # This allows a compiler to fuse operations, which it must not do here.
    flags = ["-O1", "-mfma", "-ffp-contract=fast", "--cuda-host-only", "-c"]
    build([*command, *flags, "program.cu", "-o", "program.o"], tmp_path, env)
    # With this machine's mathematical library, not with the toolchain's.
    subprocess.run(["g++", "program.o", "-o", "program"], cwd=tmp_path, check=True)
    assert differing(run(tmp_path)) == recorded()["unlike the manual"]


@pytest.mark.toolchain
def test_compiles_with_nvcc(tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc: hipport/ptx.h was not compiled for NVIDIA")
    (tmp_path / "device.cu").write_text(device_program())
    for flags in (["-DHELPERS", f"-I{INCLUDE}", "-Werror=all-warnings"], []):
        command = ["nvcc", "-arch=sm_90", *flags, "-cubin", "device.cu", "-o", "device"]
        subprocess.run(command, cwd=tmp_path, check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", folder]:
            write(Path(folder))
            (Path(folder) / "device.cu").write_text(device_program())
        case ["record", folder, gpu]:
            record(Path(folder), gpu)
