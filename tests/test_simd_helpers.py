# SPDX-License-Identifier: Apache-2.0
"""hipport/simd.h: every function, compared with its definition, written again here, and with an NVIDIA GPU's results.

One program calls every function on the same words: hipport's on a CPU, CUDA's own on a GPU. `test_simd_helpers.json`
has a hash of the GPU's results for each function. It was made by:

    python tests/test_simd_helpers.py write FOLDER
    cd FOLDER && nvcc -arch=sm_90 program.cu -o program && ./program words results
    python tests/test_simd_helpers.py record FOLDER 'NVIDIA H200, CUDA 13.0'

Built for compute_75, for which CUDA emulates some functions, the results were the same; and with -DHELPERS too.
"""

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from array import array
from collections.abc import Callable
from functools import cache
from itertools import chain, product
from pathlib import Path

import pytest

import compiled
import hipport
from further import further_rows
from hipport.toolchain.toolchains import Toolchain, find
from hipport_passes.device import simd_in_word

INCLUDE = Path(__file__).parent.parent / "src/hipport/include"
RECORDED = Path(__file__).with_suffix(".json")
Results = dict[str, "array[int]"]

# ---- the program

PROGRAM = r"""
#ifdef HELPERS
#include "hipport/simd.h"
#define CALL(name) hipport::name
#else
#define CALL(name) __##name
#endif
#include <cstdio>
#include <vector>

#if defined(__HIP__)
#define BOTH __host__ __device__
#define VECTORS 1
#elif defined(__CUDACC__)
#define BOTH __device__
#define VECTORS 1
#else
#define BOTH
#define VECTORS 0
#endif

template <typename To>
BOTH To bits(unsigned word) {
  To to;
  __builtin_memcpy(&to, &word, sizeof(word));
  return to;
}

BOTH void call_all(const unsigned* words, unsigned* results, long row, long rows) {
  const unsigned a = words[3 * row], b = words[3 * row + 1], c = words[3 * row + 2];
  bool high = false, low = false;
@calls@
}

// Where host code sees no kernel of HIP, the program needs no library of HIP to run on the CPU.
#if defined(__HIP_DEVICE_COMPILE__) || (defined(__CUDACC__) && !defined(__HIP__))
__global__ void kernel(const unsigned* words, unsigned* results, long rows) {
  const long row = blockIdx.x * long(blockDim.x) + threadIdx.x;
  if (row < rows) call_all(words, results, row, rows);
}
#endif

std::vector<unsigned> run(const std::vector<unsigned>& words) {
  const long rows = long(words.size()) / 3;
  std::vector<unsigned> results(rows * @columns@);
#if defined(__CUDACC__) && !defined(__HIP__)
  unsigned *there, *made;
  cudaMalloc(&there, words.size() * 4);
  cudaMalloc(&made, results.size() * 4);
  cudaMemcpy(there, words.data(), words.size() * 4, cudaMemcpyDefault);
  kernel<<<unsigned(rows + 255) / 256, 256>>>(there, made, rows);
  const cudaError_t error = cudaMemcpy(results.data(), made, results.size() * 4, cudaMemcpyDefault);
  if (error != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return {};
  }
#else
  for (long row = 0; row < rows; ++row) call_all(words.data(), results.data(), row, rows);
#endif
  return results;
}

int main(int, char** paths) {
  std::FILE* file = std::fopen(paths[1], "rb");
  std::fseek(file, 0, SEEK_END);
  std::vector<unsigned> words(std::ftell(file) / 4);
  std::rewind(file);
  if (std::fread(words.data(), 4, words.size(), file) != words.size()) return 1;
  std::fclose(file);
  const std::vector<unsigned> results = run(words);
  file = std::fopen(paths[2], "wb");
  std::fwrite(results.data(), 4, results.size(), file);
  return std::fclose(file) || results.empty();
}
"""


@cache
def columns() -> dict[str, str]:
    """Return the called expressions: the C++ of each, by the name of its column of results."""
    found = {}
    for name in sorted(name[2:] for name in simd_in_word.names()):
        if name.startswith("dp"):
            for word, sign in [("int", ""), ("unsigned", "u")]:
                found[f"{name} {word}"] = f"CALL({name})({word}(a), {word}(b), {word}(c))"
                first = f"{sign}{'char4' if name == 'dp4a' else 'short2'}"
                found[f"{name} {first}"] = f"CALL({name})(bits<{first}>(a), bits<{sign}char4>(b), {word}(c))"
            continue
        word = "int" if "_s32" in name else "unsigned"
        count = 1 if re.match(r"v(abs|neg)(ss)?\d", name) else 3 if re.match(r"vi(add|m\w\w3)", name) else 2
        arguments = [f"{word}({each})" for each in "abc"[:count]]
        if name.startswith("vib"):
            arguments += ["&high", "&low"] if "x2" in name else ["&low"]
        found[name] = f"CALL({name})({', '.join(arguments)})"
        if name.startswith("vib"):
            found[f"{name} first"] = "2 * high + low" if "x2" in name else "low"
    return found


def is_of_vectors(column: str) -> bool:
    return re.search(r" u?(char|short)\d", column) is not None


def program() -> str:
    lines = []
    for i, (column, call) in enumerate(columns().items()):
        line = f"  results[{i} * rows + row] = static_cast<unsigned>({call});"
        lines.append(f"#if VECTORS\n{line}\n#endif" if is_of_vectors(column) else line)
    return PROGRAM.replace("@calls@", "\n".join(lines)).replace("@columns@", str(len(columns())))


EDGES = {
    4: (0, 1, 0x7F, 0x80, 0xFF, 2, 0x7E, 0x81, 0xFE),
    2: (0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x8001, 0x7FFE, 0xFFFE, 2, 0x7F, 0x80, 0xFF, 0x100),
    1: (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80000001, 0x7FFFFFFE, 0xFFFFFFFE, 2),
}


@cache
def edges() -> tuple[tuple[int, ...], ...]:
    """Return edge cases as arguments: all pairs, and all triples of the first six; others in each field."""
    found = []
    for size, edge in EDGES.items():
        for combinations in (list(product(edge, edge, (0, 1))), list(product(edge[:6], repeat=3))):
            for i in range(len(combinations)):
                fields = [combinations[(i + 37 * k) % len(combinations)] for k in range(size)]
                found.append(
                    tuple(sum(each[word] << 32 // size * k for k, each in enumerate(fields)) for word in range(3))
                )
    return tuple(found)


@cache
def words() -> tuple[tuple[int, ...], ...]:
    """Return the arguments of the functions: edge cases, random words, and every pair of bytes in every place."""
    source = random.Random(20)
    rows = [*edges(), *(tuple(source.getrandbits(32) for _ in range(3)) for _ in range(4000))]
    pairs = [(odd, source.getrandbits(16)) for odd in (1, 3, 5, 7)]
    for i in range(1 << 16):
        fields = [(i * odd + start) % (1 << 16) for odd, start in pairs]
        a, b = (sum((pair >> 8 * word & 255) << 8 * k for k, pair in enumerate(fields)) for word in range(2))
        rows.append((a, b, source.getrandbits(32)))
    return tuple(rows)


def write(folder: Path) -> None:
    (folder / "program.cu").write_text(program())
    (folder / "words").write_bytes(array("I", chain.from_iterable(words())).tobytes())


def read(folder: Path) -> Results:
    results = array("I", (folder / "results").read_bytes())
    rows = len(words())
    assert len(results) == rows * len(columns())
    return {column: results[i * rows : (i + 1) * rows] for i, column in enumerate(columns())}


def build(compiler: list[str], folder: Path, env: dict[str, str] | None = None) -> None:
    """Write the program and build it with hipport's functions."""
    write(folder)
    command = [*compiler, "-DHELPERS", f"-I{INCLUDE}", "-o", "program"]
    built = compiled.run(command, cwd=folder, env=env)
    assert not built.returncode, built.stderr


def run(folder: Path) -> Results:
    subprocess.run(["./program", "words", "results"], cwd=folder, check=True)
    return read(folder)


def hashes(results: Results) -> dict[str, str]:
    return {column: hashlib.sha256(values.tobytes()).hexdigest()[:16] for column, values in results.items()}


# ---- the definitions, in integers of any size

# The operation on a field of each argument, in unlimited precision.
OPERATIONS: dict[str, Callable[[int, int, int], int]] = {
    "abs": lambda x, y, z: abs(x),
    "neg": lambda x, y, z: -x,
    "add": lambda x, y, z: x + y,
    "sub": lambda x, y, z: x - y,
    "absdiff": lambda x, y, z: abs(x - y),
    "avg": lambda x, y, z: rounded_half(x + y),
    "hadd": lambda x, y, z: (x + y) // 2,
    "max": lambda x, y, z: max(x, y),
    "min": lambda x, y, z: min(x, y),
    "max3": max,
    "min3": min,
    "cmpeq": lambda x, y, z: -(x == y),
    "cmpne": lambda x, y, z: -(x != y),
    "cmpge": lambda x, y, z: -(x >= y),
    "cmpgt": lambda x, y, z: -(x > y),
    "cmple": lambda x, y, z: -(x <= y),
    "cmplt": lambda x, y, z: -(x < y),
    "seteq": lambda x, y, z: x == y,
    "setne": lambda x, y, z: x != y,
    "setge": lambda x, y, z: x >= y,
    "setgt": lambda x, y, z: x > y,
    "setle": lambda x, y, z: x <= y,
    "setlt": lambda x, y, z: x < y,
}


def split(word: int, bits: int, signed: bool) -> list[int]:
    """Return the fields of `word`, the lowest first."""
    fields = [word >> at & (1 << bits) - 1 for at in range(0, 32, bits)]
    return [field - (1 << bits) if signed and field >> bits - 1 else field for field in fields]


def nearest(value: int, bits: int, signed: bool) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return sorted((low, value, high))[1]


def rounded_half(value: int) -> int:
    """Return value / 2, rounded to nearest, ties away from zero."""
    return (abs(value) + 1) // 2 * (1 if value > 0 else -1)


FIELDS = re.compile(r"v((?:cmp|set)[a-z]{2}|absdiff|abs|[a-z]+?)([su]s?)?([24])")
DYNAMIC = re.compile(r"vib?([a-z]+3?)_([su])(32|16)(?:x2)?(_relu)?( first)?")
DOT = re.compile(r"dp(4a|2a_lo|2a_hi) (u?)")


def defined(column: str, row: tuple[int, ...]) -> int:
    """Return the defined result of the column for the arguments `row`."""
    if dot := DOT.match(column):
        signed = not dot[2]
        left = split(row[0], 8 if dot[1] == "4a" else 16, signed)
        right = split(row[1], 8, signed)[2 * (dot[1] == "2a_hi") :]
        # The shorter argument limits it: 2a_lo uses the low bytes.
        return (row[2] + sum(x * y for x, y in zip(left, right, strict=False))) % (1 << 32)
    if dynamic := DYNAMIC.fullmatch(column):
        operation, sign, bits, signed = dynamic[1], "", int(dynamic[3]), dynamic[2] == "s"
    else:
        simple = FIELDS.fullmatch(column)
        assert simple is not None, column
        operation, sign, bits = simple[1], simple[2] or "", 32 // int(simple[3])
        signed = sign.startswith("s") or operation in ("abs", "neg")
    arguments = list(zip(*(split(word, bits, signed) for word in row), strict=True))
    if operation == "sad":
        return sum(abs(x - y) for x, y, _ in arguments)
    if dynamic and dynamic[5]:
        return sum((x >= y if operation == "max" else x <= y) << k for k, (x, y, _) in enumerate(arguments))
    if operation.startswith("add") and dynamic:
        # The sum is truncated to a field before it is compared.
        arguments = [(split((x + y) % (1 << bits), bits, signed)[0], z, 0) for x, y, z in arguments]
        operation = operation[3:]
    values = [OPERATIONS[operation](*each) for each in arguments]
    if len(sign) == 2:
        values = [nearest(value, bits, signed) for value in values]
    if dynamic and dynamic[4]:
        values = [max(value, 0) for value in values]
    return sum(value % (1 << bits) << bits * k for k, value in enumerate(values))


# ---- the tests

WARNINGS = "-Wall -Wextra -Werror -Wno-unused-command-line-argument".split()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    if shutil.which("g++") is None:
        pytest.skip("no g++: the arithmetic of hipport/simd.h was not checked")
    # The oldest C++ that may include it; and no step may have undefined behaviour.
    flags = "-std=c++11 -O1 -pedantic -Wconversion -fsanitize=undefined -fno-sanitize-recover".split()
    folder = tmp_path_factory.mktemp("simd")
    build(["g++", *flags, *WARNINGS, "-x", "c++", "program.cu"], folder)
    return run(folder)


@pytest.mark.parametrize("column", [column for column in columns() if not is_of_vectors(column)])
def test_agrees_with_its_definition(column: str, results: Results) -> None:
    known = len(edges())
    for i in [*range(known), *range(known, len(words()), 101)]:
        assert results[column][i] == defined(column, words()[i]), [hex(word) for word in words()[i]]


def test_agrees_with_the_gpu(results: Results) -> None:
    assert differing(results) == {column for column in columns() if is_of_vectors(column)}


def differing(results: Results) -> set[str]:
    """Return the columns that differ from the GPU's."""
    recorded = json.loads(RECORDED.read_text())
    assert recorded["words"] == hashlib.sha256(repr(words()).encode()).hexdigest()
    assert recorded["results"].keys() == columns().keys()
    return {column for column, each in hashes(results).items() if each != recorded["results"][column]}


def test_a_port_leaves_it_alone() -> None:
    """It is in the ported tree, which may be ported again."""
    ported = hipport.rewrite([INCLUDE / "hipport/simd.h"])
    assert (ported.changed, ported.created, ported.reported) == ((), (), ())


# ---- with compilers for GPUs

TARGETS = {(5, 2): ("gfx90a", "gfx1030"), (6, 4): ("gfx90a", "gfx942", "gfx1100", "gfx1201")}
#: One architecture of each release, and one of each wavefront size, show all differences: no lane asks for others here.
FURTHER = [((5, 2), "gfx90a"), ((6, 4), "gfx90a"), ((6, 4), "gfx1100"), ((6, 4), "gfx1201")]


@cache
def toolchains() -> tuple[Toolchain, ...]:
    return find(os.environ)


def hipcc(release: tuple[int, int], target: str) -> tuple[list[str], dict[str, str]]:
    """Return the command that compiles HIP for `target`, and its environment."""
    for each in toolchains():
        if each.rocm == release and each.targets([target]):
            command = [str(each.hipcc), "-O2", *WARNINGS, f"--offload-arch={target}", "-x", "hip", "program.cu"]
            return command, each.environment(os.environ)
    pytest.skip(f"no hipcc with HIP {release[0]}.{release[1]}: hipport/simd.h was not compiled with it for {target}")


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("release", "target"),
    further_rows([(release, target) for release, targets in TARGETS.items() for target in targets], FURTHER),
)
def test_compiles_for_amd(release: tuple[int, int], target: str, tmp_path: Path) -> None:
    command, env = hipcc(release, target)
    # One program may need all of hipport's headers.
    others = [f"-include{path}" for path in sorted((INCLUDE / "hipport").iterdir())]
    build([*command, *others, "--cuda-device-only", "-S"], tmp_path, env)
    instructions = (tmp_path / "program").read_text()
    assert {"v_pk_add_u16", "v_pk_max_i16"} <= set(instructions.split())
    assert {"i", "u"} <= set(re.findall(r"\bv_dot4c?_([iu])32_", instructions))


@pytest.mark.toolchain
@pytest.mark.parametrize("release", TARGETS, ids=str)
def test_host_code_of_hip_agrees_with_the_gpu(release: tuple[int, int], tmp_path: Path) -> None:
    command, env = hipcc(release, TARGETS[release][0])
    build([*command, "--cuda-host-only", "-Wl,--as-needed"], tmp_path, env)
    assert differing(run(tmp_path)) == set()


@pytest.mark.toolchain
def test_compiles_with_nvcc(tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc: hipport/simd.h was not compiled for NVIDIA")
    flags = ["-arch=sm_75", "-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra", "-ptx"]
    build(["nvcc", *flags, "program.cu"], tmp_path)
    # Native instructions, not hipport's arithmetic.
    instructions = (tmp_path / "program").read_text()
    assert instructions.count("dp4a.s32.s32") == 2


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", folder]:
            write(Path(folder))
        case ["record", folder, gpu]:
            recording = {
                "gpu": gpu,
                "words": hashlib.sha256(repr(words()).encode()).hexdigest(),
                "results": hashes(read(Path(folder))),
            }
            RECORDED.write_text(json.dumps(recording, indent=1) + "\n")
