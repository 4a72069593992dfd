# SPDX-License-Identifier: Apache-2.0
"""Kernels made at random, all of them right for CUDA, to find ports that mean something else and do not say so.

Every kernel knows the mask of the lanes that are at a statement, as CUDA asks for, and works on integers that wrap, so
that any order of threads gives the same. What a port gives at 32 and at 64 lanes is compared with the original; where
it differs, the port must have said of that kernel that a person has to look. By hand, for as many as one likes:

    python tests/generated_warps.py FIRST_SEED PROGRAMS [MEETING]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

from hipport import api
from hipport.simt import compile as compiling
from hipport.simt.compile import Options

KERNELS = 24
BLOCK = 96

_HEAD = """#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
namespace cg = cooperative_groups;
#define SHUFFLE(mask, value, lane) __shfl_sync(mask, value, lane)
#define WARP_SIZE 32
template <int W> __device__ unsigned tree(unsigned mask, unsigned v) {
  for (int o = W / 2; o > 0; o /= 2) v += __shfl_xor_sync(mask, v, o, W);
  return v;
}
__device__ __forceinline__ unsigned prefix(unsigned mask, unsigned lane) { return mask & ((1u << lane) - 1u); }
template <typename F> __device__ unsigned applied(F f, unsigned v) { return f(v); }
struct Warp {
  unsigned mask, lane;
  __device__ unsigned first(unsigned v) const { return __shfl_sync(mask, v, __ffs(mask) - 1); }
  __device__ unsigned count(bool p) const { return __popc(__ballot_sync(mask, p)); }
};
"""

_MAIN = """
int main(int argc, char** argv) {
  const int n = 2 * %(block)d;
  unsigned *in, *out;
  cudaMallocManaged(&in, n * 4);
  cudaMallocManaged(&out, n * 4);
  for (int i = 0; i < n; ++i) in[i] = i * 2654435761u >> 7;
  switch (atoi(argv[1])) {
%(cases)s
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < n; ++i) printf("%%u ", out[i]);
}
"""


class _Kernel:
    """The text of one kernel, or of a function that it calls."""

    def __init__(self, random: Random, helpers: Sequence[str], meeting: float) -> None:
        self.random = random
        self.meeting = meeting
        self.helpers = helpers
        self.lines: list[str] = []
        self.names = 0

    def say(self, depth: int, text: str) -> None:
        self.lines.append("  " * (depth + 1) + text)

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def value(self) -> str:
        return self.random.choice(["a", "b", "c", "a + b", "c ^ lane", "b * 3u", "lane", "a >> 3"])

    def condition(self) -> str:
        r = self.random
        return r.choice(
            [
                "lane & 1", f"lane < {r.randrange(1, 32)}", f"lane == {r.randrange(32)}", "a > b", "(a & 3u) == 0",
                "(c ^ b) & 4u", f"threadIdx.x < {r.randrange(3, 90)}", "blockIdx.x == 0", "(threadIdx.x >> 5) & 1",
                f"(a + lane) % {r.randrange(2, 6)}u == 0", "prefix(a, lane) & 1u",
            ]
        )  # fmt: skip

    def target(self) -> str:
        return self.random.choice("abc")

    def body(self, depth: int, mask: str, full: bool, top: bool, count: int) -> None:
        for _ in range(count):
            plain: list[Callable[[int, str, bool], None]] = [
                self.shuffle, self.shuffle, self.vote, self.match, self.reduce, self.leaders, self.method, self.prefix,
                self.wrapped, self.stored, self.skipped, self.guarded,
            ]  # fmt: skip
            if self.random.random() < self.meeting:
                plain = [self.parted]
            elif depth < 3:
                plain += [
                    self.branch, self.branch, self.loop, self.shrinking, self.repeated, self.cases, self.continued,
                    self.helper,
                ]  # fmt: skip
            if full and plain != [self.parted]:
                plain += [self.exchange, self.tree, self.tile, self.segments]
            if top and plain != [self.parted]:
                plain += [self.block]
            self.random.choice(plain)(depth, mask, full)

    # -- one thing that lanes do together

    def shuffle(self, depth: int, mask: str, full: bool) -> None:
        to, value = self.target(), self.value()
        call = self.random.choice(["__shfl_sync", "SHUFFLE"])
        if not full:
            self.say(depth, f"{to} += {call}({mask}, {value}, __ffs({mask}) - 1);")
            return
        r = self.random
        width = r.choice([4, 8, 16, 32])
        self.say(
            depth,
            r.choice(
                [
                    f"{to} ^= {call}({mask}, {value}, (lane + {r.randrange(32)}) & 31);",
                    f"{to} += __shfl_sync({mask}, {value}, {r.randrange(32)}, {width});",
                    f"{to} += __shfl_up_sync({mask}, {value}, {r.randrange(1, 31)});",
                    f"{to} += __shfl_down_sync({mask}, {value}, {r.randrange(1, width)}, {width});",
                    f"{to} ^= __shfl_xor_sync({mask}, {value}, {r.choice([1, 2, 4, 8, 16, 31])});",
                    f"{to} += (unsigned)__shfl_sync({mask}, (unsigned long long)({value}) << 20, lane ^ 7) >> 3;",
                ]
            ),
        )

    def vote(self, depth: int, mask: str, full: bool) -> None:
        to, p = self.target(), self.condition()
        self.say(
            depth,
            self.random.choice(
                [
                    f"{to} += __popc(__ballot_sync({mask}, {p}));",
                    f"{to} ^= __ballot_sync({mask}, {p});",
                    f"if (__any_sync({mask}, {p})) {to} += 5u;",
                    f"{to} += __all_sync({mask}, {p}) ? 7u : 9u;",
                    f"{to} += __clz(__ballot_sync({mask}, {p})) + 3 * __ffs(__ballot_sync({mask}, {p}));",
                ]
            ),
        )

    def match(self, depth: int, mask: str, full: bool) -> None:
        self.say(
            depth, f"{self.target()} += __match_any_sync({mask}, ({self.value()}) & {self.random.choice([1, 3])}u);"
        )

    def reduce(self, depth: int, mask: str, full: bool) -> None:
        of = self.random.choice(["add", "min", "max", "and", "or", "xor"])
        self.say(depth, f"{self.target()} += __reduce_{of}_sync({mask}, {self.value()});")

    def leaders(self, depth: int, mask: str, full: bool) -> None:
        todo = self.name("todo")
        self.say(
            depth, f"for (unsigned {todo} = __ballot_sync({mask}, {self.condition()}); {todo}; {todo} &= {todo} - 1)"
        )
        self.say(depth + 1, f"{self.target()} += __shfl_sync({mask}, {self.value()}, __ffs({todo}) - 1);")

    def method(self, depth: int, mask: str, full: bool) -> None:
        warp = self.name("warp")
        self.say(depth, f"Warp {warp}{{{mask}, lane}};")
        self.say(depth, f"{self.target()} += {warp}.first({self.value()}) + {warp}.count({self.condition()});")

    def prefix(self, depth: int, mask: str, full: bool) -> None:
        self.say(depth, f"{self.target()} += __popc(prefix(__ballot_sync({mask}, {self.condition()}), lane));")

    def wrapped(self, depth: int, mask: str, full: bool) -> None:
        self.say(depth, f"{self.target()} += applied([=](unsigned v) {{")
        lane = "lane ^ 5" if full else f"__ffs({mask}) - 1"
        self.say(
            depth + 1, f"return __shfl_sync({mask}, v, {lane}) + __popc(__ballot_sync({mask}, {self.condition()}));"
        )
        self.say(depth, f"}}, {self.value()});")

    def stored(self, depth: int, mask: str, full: bool) -> None:
        """A mask in a number with a sign, in one of 64 bits, and in memory."""
        votes, ballot = self.name("votes"), f"__ballot_sync({mask}, {self.condition()})"
        kind = self.random.choice(["int", "unsigned long long", "auto", "const long", "uint32_t"])
        self.say(depth, f"{kind} {votes} = {ballot};")
        if kind == "int":
            self.say(depth, f"if ({votes} < 0) {self.target()} += 3u;")
        elif kind == "unsigned long long":
            self.say(depth, f"{self.target()} += __popcll({votes}) + ({votes} >> 31 ? 4u : 8u);")
        elif kind == "auto":
            self.say(depth, f"{self.target()} += __popc({votes} >> (31 - lane)) + sizeof({votes});")
        elif kind == "const long":
            self.say(depth, f"{self.target()} += {votes} == 0xffffffffL ? 21u : __ffsll({votes});")
        else:
            self.say(depth, f"{votes} = ~{votes}; {self.target()} += __brev({votes}) >> 3;")

    def exchange(self, depth: int, mask: str, full: bool) -> None:
        self.say(depth, f"__syncwarp({mask}); exchanged[thread] = {self.value()}; __syncwarp({mask});")
        self.say(depth, f"{self.target()} += exchanged[thread ^ {self.random.choice([1, 3, 16, 31])}];")

    def tree(self, depth: int, mask: str, full: bool) -> None:
        width = self.random.choice(["8", "16", "32", "WARP_SIZE"])
        self.say(depth, f"{self.target()} += tree<{width}>({mask}, {self.value()});")

    def tile(self, depth: int, mask: str, full: bool) -> None:
        tile, size = self.name("tile"), self.random.choice([4, 8, 16, 32])
        self.say(depth, f"auto {tile} = cg::tiled_partition<{size}>(cg::this_thread_block());")
        call = self.random.choice(
            [f"shfl({self.value()}, {self.random.randrange(size)})", f"shfl_xor({self.value()}, 1)",
             f"shfl_up({self.value()}, 1)", f"any({self.condition()})", f"ballot({self.condition()})"]
        )  # fmt: skip
        self.say(depth, f"{self.target()} += {tile}.{call} + {tile}.thread_rank();")

    def segments(self, depth: int, mask: str, full: bool) -> None:
        self.say(depth, f"for (int o = 1; o < 32; o <<= 1) {{ unsigned up = __shfl_up_sync({mask}, a, o);")
        self.say(depth + 1, "if (lane >= o) a += up; }")

    def block(self, depth: int, mask: str, full: bool) -> None:
        self.say(depth, f"__syncthreads(); exchanged[thread] = {self.value()}; __syncthreads();")
        self.say(depth, f"{self.target()} += exchanged[{BLOCK - 1} - thread]; __syncthreads();")

    # -- lanes that part

    def branch(self, depth: int, mask: str, full: bool) -> None:
        p, m = self.name("p"), self.name("m")
        self.say(depth, f"const bool {p} = {self.condition()};")
        self.say(depth, f"const unsigned {m} = __ballot_sync({mask}, {p});")
        self.say(depth, f"if ({p}) {{")
        self.body(depth + 1, m, False, False, self.random.randrange(1, 3))
        if self.random.random() < 0.5:
            self.say(depth, "} else {")
            self.body(depth + 1, f"({mask} & ~{m})", False, False, self.random.randrange(1, 3))
        self.say(depth, "}")

    def parted(self, depth: int, mask: str, full: bool) -> None:
        """Calls in two branches, in which CUDA lets all lanes of the mask meet."""
        lane = "3" if full else f"__ffs({mask}) - 1"
        self.say(depth, f"if ({self.condition()}) a += __shfl_sync({mask}, b, {lane});")
        self.say(depth, f"else a ^= __shfl_sync({mask}, {self.random.choice(['b', 'c'])}, {lane});")

    def skipped(self, depth: int, mask: str, full: bool) -> None:
        """No lane needs another here."""
        self.say(depth, f"if ({self.condition()}) {self.target()} += {self.value()};")

    def guarded(self, depth: int, mask: str, full: bool) -> None:
        p, m = self.name("p"), self.name("m")
        self.say(depth, f"const bool {p} = {self.condition()};")
        self.say(depth, f"const unsigned {m} = __ballot_sync({mask}, {p});")
        self.say(depth, f"if ({p} && __any_sync({m}, {self.condition()})) {self.target()} += 11u;")
        self.say(depth, f"{self.target()} += {p} ? __popc(__ballot_sync({m}, {self.condition()})) : 2u;")

    def loop(self, depth: int, mask: str, full: bool) -> None:
        i = self.name("i")
        self.say(depth, f"for (int {i} = 0; {i} < {self.random.randrange(2, 4)}; ++{i}) {{")
        self.body(depth + 1, mask, full, False, self.random.randrange(1, 3))
        self.say(depth, "}")

    def shrinking(self, depth: int, mask: str, full: bool) -> None:
        i, m, go = self.name("i"), self.name("m"), self.name("go")
        limit = self.random.choice(["lane & 3u", "a & 3u", "(threadIdx.x >> 4) & 3u"])
        n = self.name("n")
        self.say(depth, f"unsigned {m} = {mask}; const unsigned {n} = {limit};")
        self.say(depth, f"for (unsigned {i} = 0;; ++{i}) {{")
        self.say(depth + 1, f"const bool {go} = {i} < {n};")
        self.say(depth + 1, f"{m} = __ballot_sync({m}, {go});")
        self.say(depth + 1, f"if (!{go}) break;")
        self.body(depth + 1, m, False, False, self.random.randrange(1, 3))
        self.say(depth, "}")
        if self.random.random() < 0.5:
            self.say(depth, f"__syncwarp({mask});")

    def repeated(self, depth: int, mask: str, full: bool) -> None:
        """As often as the lane that wants most."""
        n, m = self.name("n"), self.name("m")
        self.say(depth, f"unsigned {n} = ({self.value()}) & 3u, {m} = {mask};")
        self.say(depth, "do {")
        self.body(depth + 1, m, False, False, 1)
        self.say(depth + 1, f"{n} = {n} ? {n} - 1 : 0;")
        self.say(depth, f"}} while (__any_sync({m}, {n} != 0));")

    def cases(self, depth: int, mask: str, full: bool) -> None:
        key, m = self.name("key"), self.name("m")
        self.say(depth, f"const unsigned {key} = ({self.value()}) % 3u, {m} = __match_any_sync({mask}, {key});")
        self.say(depth, f"switch ({key}) {{")
        for case in ("case 0:", "case 1:", "default:"):
            self.say(depth, f"{case} {{")
            self.body(depth + 1, m, False, False, 1)
            self.say(depth, "} break;")
        self.say(depth, "}")

    def continued(self, depth: int, mask: str, full: bool) -> None:
        i, m, skip = self.name("i"), self.name("m"), self.name("skip")
        self.say(depth, f"for (int {i} = 0; {i} < 3; ++{i}) {{")
        self.say(depth + 1, f"const bool {skip} = {self.condition()};")
        self.say(depth + 1, f"const unsigned {m} = __ballot_sync({mask}, !{skip});")
        self.say(depth + 1, f"if ({skip}) continue;")
        self.body(depth + 1, m, False, False, 1)
        self.say(depth, "}")

    def helper(self, depth: int, mask: str, full: bool) -> None:
        if self.helpers:
            name = self.random.choice(self.helpers)
            self.say(depth, f"{self.target()} += {name}({mask}, {self.value()}, lane, exchanged);")

    def leave(self, mask: str, how: str) -> str:
        m = self.name("m")
        self.say(0, f"const bool stay{m} = {self.condition()};")
        self.say(0, f"const unsigned {m} = __ballot_sync({mask}, stay{m});")
        self.say(0, f"if (!stay{m}) {{ {how} }}")
        return m


def program(seed: int, meeting: float = 0.0) -> str:
    """Return a program whose kernel number `argv[1]` prints what each of its threads has worked out.

    `meeting` is how often lanes meet in calls that stand in two branches, which has no counterpart on AMD.
    """
    random = Random(seed)
    text = [_HEAD]
    helpers: list[str] = []
    for number in range(4):
        function = _Kernel(random, helpers[:], meeting)
        function.body(0, "mask", False, False, random.randrange(1, 3))
        if random.random() < 0.4:
            mask = function.leave("mask", "return a ^ b;")
            function.body(0, mask, False, False, 1)
        helpers.append(f"helper{number}")
        text.append(
            f"__device__ unsigned helper{number}(unsigned mask, unsigned a, unsigned lane, unsigned* exchanged) {{"
        )
        text += ["  unsigned b = a * 5u + lane, c = lane;", *function.lines, "  return a + 3u * b + c;", "}"]
    lanes = ["thread & 31", "thread % warpSize", "thread % WARP_SIZE"]
    blocks = []
    for number in range(KERNELS):
        kernel = _Kernel(random, helpers, meeting)
        kernel.body(0, "0xffffffffu", True, True, random.randrange(1, 5))
        if random.random() < 0.3:
            mask = kernel.leave("0xffffffffu", "out[t] = a + b; return;")
            kernel.body(0, mask, False, False, random.randrange(1, 3))
        text.append(f"__global__ void kernel{number}(const unsigned* in, unsigned* out) {{")
        text.append(f"  __shared__ unsigned exchanged[{BLOCK}];")
        flat = random.random() < 0.7
        blocks.append(f"{BLOCK}" if flat else f"dim3({random.choice(['24, 4', '32, 3', '12, 4, 2'])})")
        thread = "threadIdx.x" if flat else "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
        text.append(
            f"  const unsigned thread = {thread}, t = blockIdx.x * {BLOCK} + thread, lane = {random.choice(lanes)};"
        )
        text.append("  unsigned a = in[t], b = t * 7u + 3u, c = lane;")
        text += [*kernel.lines, "  out[t] = a * 31u + b * 17u + c;", "}"]
    cases = "\n".join(f"    case {i}: kernel{i}<<<2, {blocks[i]}>>>(in, out); break;" for i in range(KERNELS))
    return "\n".join(text) + _MAIN % {"block": BLOCK, "cases": cases}


@dataclass(frozen=True)
class Found:
    """What came of the kernels of one program: how many gave what the original gave, and what is wrong with the others.

    `said` are kernels that differ where the port has said that a person has to look; `silent` those where it has not;
    `unfit` those whose original does not end, or depends on the order of threads.
    `printed` is the CRC-32 of what each original prints, a space between numbers.
    """

    right: int
    said: tuple[str, ...]
    silent: tuple[str, ...]
    unfit: tuple[str, ...]
    printed: tuple[int, ...]


def found(source: Path) -> Found:
    """Port the program `source` and compare its kernels."""
    options = Options(os.environ, optimize="-O1", jobs=1)
    original = compiling.program([source], "cuda", options).path
    ported = api.rewrite([source])
    port = compiling.program(ported, "hip", options, given=[source]).path
    lines = source.read_text().splitlines()
    starts = [i for i, line in enumerate(lines, 1) if line.startswith(("__global__", "__device__", "int main"))]
    spans = {lines[start - 1].partition("(")[0].split()[-1]: (start, end) for start, end in pairwise(starts)}
    asked = [each.line for each in ported.reported if each.needs_person]

    def is_said(name: str, seen: set[str]) -> bool:
        start, end = spans[name]
        text = "\n".join(lines[start - 1 : end - 1])
        if any(start <= line < end for line in asked):
            return True
        inner = [each for each in spans if each != name and each not in seen and f"{each}(" in text]
        return any(is_said(each, seen | {name}) for each in inner)

    right, said, silent, unfit, printed = 0, [], [], [], []
    for number in range(KERNELS):
        first = _run(original, number, 32, "forward")
        printed.append(zlib.crc32(first[1].strip().encode()))
        if first[0] != 0 or any(_run(original, number, 32, order) != first for order in ("reverse", "random:1")):
            unfit.append(f"kernel{number}: {first[1][:200]!r}")
            continue
        runs = {(n, order): _run(port, number, n, order) for n in (32, 64) for order in ("forward", "random:2")}
        wrong = [
            f"{n} lanes, {order}: {run[0]} {run[2][-300:]}" for (n, order), run in runs.items() if run[:2] != first[:2]
        ]
        if not wrong:
            right += 1
        else:
            (said if is_said(f"kernel{number}", set()) else silent).append(f"kernel{number}: {wrong[0]}")
    return Found(right, tuple(said), tuple(silent), tuple(unfit), tuple(printed))


def _run(path: Path, number: int, lanes: int, order: str) -> tuple[int, str, str]:
    env = {**os.environ, "SIMT_WAVE": str(lanes), "SIMT_ORDER": order}
    try:
        ran = subprocess.run(
            [path, str(number)], env=env, capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        return -1, "", "did not end"
    return ran.returncode, ran.stdout, ran.stderr


if __name__ == "__main__":
    for seed in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"seed{seed}.cu")
            path.write_text(program(seed, *map(float, sys.argv[3:])))
            result = found(path)
        print(seed, f"right {result.right}, said {len(result.said)}", flush=True)
        lists = {"silent": result.silent, "unfit": result.unfit, "said": result.said}
        for what, each in [(what, each) for what, those in lists.items() for each in those]:
            print(f"  {what} {each}", flush=True)
