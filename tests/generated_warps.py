# SPDX-License-Identifier: Apache-2.0
"""Random kernels, all right for CUDA, to find ports that silently change the meaning.

Every kernel passes the mask of the lanes at a statement, as CUDA requires, and computes with integers that wrap, so
that the order of threads does not matter. The results of a port at 32 and at 64 lanes are compared with the original;
if they differ, the port must have a finding for a person on that kernel. By hand, for any number of programs:

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

from endless import ENDLESS
from hipport import api
from hipport.executor import compile as compiling
from hipport.executor.compile import CompileOptions
from hipport_passes.device import inline_ptx

KERNELS = 24
BLOCK = 96

_HEAD = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/cub.cuh>
#include <cstdio>
#include <cstdlib>
namespace cg = cooperative_groups;
#define SHUFFLE(mask, value, lane) __shfl_sync(mask, value, lane)
#define WARP_SIZE 32
#define VOTES(mask, p) __popc(__ballot_sync((mask), (p)))
template <int W> __device__ unsigned tree(unsigned mask, unsigned v) {
  for (int o = W / 2; o > 0; o /= 2) v += __shfl_xor_sync(mask, v, o, W);
  return v;
}
__device__ __forceinline__ unsigned prefix(unsigned mask, unsigned lane) { return mask & ((1u << lane) - 1u); }
template <typename F> __device__ unsigned applied(F f, unsigned v) { return f(v); }
struct Votes { unsigned yes, no[2]; };
__device__ void count(unsigned mask, bool p, Votes& v) {
  v.yes = __ballot_sync(mask, p);
  v.no[0] = v.no[1] = mask & ~v.yes;
}
__device__ inline unsigned lanes_before() {
  unsigned lanes;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
  return lanes;
}
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
                self.wrapped, self.stored, self.skipped, self.guarded, self.assembly, self.bits, self.typed,
            ]  # fmt: skip
            if self.random.random() < self.meeting:
                plain = [self.parted]
            elif depth < 3:
                plain += [
                    self.branch, self.branch, self.loop, self.shrinking, self.repeated, self.cases, self.continued,
                    self.helper,
                ]  # fmt: skip
            if full and plain != [self.parted]:
                plain += [self.exchange, self.tree, self.tile, self.segments, self.group, self.library]
            if top and plain != [self.parted]:
                plain += [self.block, self.stages, self.counted, self.bins]
            self.random.choice(plain)(depth, mask, full)

    # -- collectives

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
        """Return a mask in a signed number, in a 64-bit number, and in memory."""
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

    def assembly(self, depth: int, mask: str, full: bool) -> None:
        """Return the same in PTX."""
        x, to, p = self.name("x"), self.target(), self.condition()
        lane = f"(lane + {self.random.randrange(32)}) & 31" if full else f"__ffs({mask}) - 1"
        texts = [
            f'asm volatile("mov.u32 %0, %%laneid;" : "=r"({x}));',
            f'asm volatile("{{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }}" : "=r"({x}) : '
            f'"r"((unsigned)({p})), "r"({mask}));',
            f'asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, %3;" : "=r"({x}) : "r"({self.value()}), "r"({lane}), '
            f'"r"({mask}));',
            f'asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"({x}) : "r"({self.value()}), "r"({mask}));',
            f'asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"({x}) : "r"(({self.value()}) & 1u), "r"({mask}));',
            f'asm("bfind.u32 %0, %1;" : "=r"({x}) : "r"(__ballot_sync({mask}, {p})));',
            f'asm("prmt.b32 %0, %1, %2, 0x3715;" : "=r"({x}) : "r"(a), "r"(__ballot_sync({mask}, {p})));',
            f"{x} = __popc(__ballot_sync({mask}, {p}) & lanes_before());",
        ]
        if full:
            texts.append(
                f'asm volatile("{{ .reg .pred p; .reg .u32 r; shfl.sync.up.b32 r|p, %1, 1, 0, %2; mov.u32 %0, %1; @p '
                f'add.u32 %0, r, %1; }}" : "=&r"({x}) : "r"({self.value()}), "r"({mask}));'
            )
        self.say(depth, f"unsigned {x}; {self.random.choice(texts)}")
        self.say(depth, f"{to} += {x};")

    def bits(self, depth: int, mask: str, full: bool) -> None:
        """Return operations on a ballot."""
        votes, to = self.name("votes"), self.target()
        self.say(depth, f"const unsigned {votes} = __ballot_sync({mask}, {self.condition()});")
        texts = [
            f"{to} += ({votes} >> lane) & 1u;",
            f"if ({votes} & (1 << lane)) {to} += 13u;",
            f"{to} += __popcll(((unsigned long long){votes} << 32 | {votes}) >> lane);",
            f"{to} += __funnelshift_l({votes}, {votes}, lane);",
            f"{to} += ({votes} >> (8 * (lane & 3))) & 0xff;",
            f"{to} += {votes} ? 31 - __clz({votes}) : 32;",
            f"{to} += {votes} == {mask} ? 3u : {votes} == 0 ? 5u : 7u;",
            f"{to} += __popc({votes} & ((2u << lane) - 1)) - 1;",
            f"{to} += __popc({votes} << (31 - lane)) + VOTES({mask}, {self.condition()});",
            f"Votes v{votes}; count({mask}, {self.condition()}, v{votes}); "
            f"{to} += v{votes}.yes ^ v{votes}.no[lane & 1];",
        ]
        self.say(depth, self.random.choice(texts))

    def typed(self, depth: int, mask: str, full: bool) -> None:
        """Shuffles of other types than int."""
        kind = self.random.choice(["float", "double", "long long", "int", "unsigned long", "short"])
        lane = "lane ^ 9" if full else f"__ffs({mask}) - 1"
        value = f"({self.value()}) & 1023u"
        self.say(depth, f"{self.target()} += (unsigned)__shfl_sync({mask}, ({kind})({value}), {lane});")

    def group(self, depth: int, mask: str, full: bool) -> None:
        """Return tiles that reduce, scan and are divided."""
        tile, size = self.name("tile"), self.random.choice([4, 8, 16, 32])
        self.say(depth, f"const auto {tile} = cg::tiled_partition<{size}>(cg::this_thread_block());")
        to, value = self.target(), self.value()
        texts = [
            f"{to} += cg::reduce({tile}, {value}, cg::plus<unsigned>());",
            f"{to} ^= cg::reduce({tile}, {value}, cg::greater<unsigned>());",
            f"{to} += cg::inclusive_scan({tile}, {value});",
            f"{to} += cg::exclusive_scan({tile}, {value}, cg::plus<unsigned>());",
            f"const auto part{tile} = cg::binary_partition({tile}, {self.condition()}); "
            f"{to} += part{tile}.size() * 8 + part{tile}.thread_rank() + part{tile}.shfl({value}, 0);",
            f"const auto part{tile} = cg::labeled_partition({tile}, ({value}) & 1u); {to} += part{tile}.size() * 8 + "
            f"part{tile}.thread_rank() + cg::reduce(part{tile}, {value}, cg::plus<unsigned>());",
            f"{to} += {tile}.meta_group_rank() * 16 + __popc({tile}.match_any(({value}) & 3u));",
        ]
        self.say(depth, self.random.choice(texts))

    def library(self, depth: int, mask: str, full: bool) -> None:
        """Return CUB's warps, perhaps with fewer lanes."""
        size, of = self.random.choice([4, 8, 16, 32]), self.name("Of")
        to, value, v = self.target(), self.value(), self.name("v")
        kind = self.random.choice(["WarpReduce", "WarpScan"])
        self.say(depth, f"using {of} = cub::{kind}<unsigned, {size}>;")
        self.say(depth, f"__shared__ typename {of}::TempStorage temp{of}[{BLOCK} / {size}];")
        if kind == "WarpReduce":
            self.say(depth, f"const unsigned {v} = {of}(temp{of}[thread / {size}]).Sum({value});")
            self.say(depth, f"if (lane % {size} == 0) {to} += {v};")
        else:
            self.say(depth, f"unsigned {v}; {of}(temp{of}[thread / {size}]).InclusiveSum({value}, {v});")
            self.say(depth, f"{to} += {v};")
        self.say(depth, "__syncwarp();")

    def stages(self, depth: int, mask: str, full: bool) -> None:
        """Return a sum over the block: first in each warp, then of those."""
        warp = self.random.choice(["thread / 32", "thread >> 5", "thread / WARP_SIZE", "thread / warpSize"])
        first = self.random.choice(["thread < 32", "thread < warpSize", f"{warp} == 0", "thread < WARP_SIZE"])
        v = self.name("v")
        self.say(depth, f"unsigned {v} = tree<32>({mask}, {self.value()});")
        self.say(depth, f"if (lane == 0) sums[{warp}] = {v};")
        self.say(depth, "__syncthreads();")
        self.say(depth, f"if ({first}) {{")
        self.say(depth + 1, f"{v} = lane < {BLOCK} / 32 ? sums[lane] : 0;")
        self.say(depth + 1, f"for (int o = 16; o > 0; o >>= 1) {v} += __shfl_down_sync({mask}, {v}, o);")
        self.say(depth + 1, f"if (lane == 0) sums[0] = {v};")
        self.say(depth, "}")
        self.say(depth, f"__syncthreads(); {self.target()} += sums[0]; __syncthreads();")

    def counted(self, depth: int, mask: str, full: bool) -> None:
        of = self.random.choice(["count", "and", "or"])
        self.say(depth, f"{self.target()} += __syncthreads_{of}({self.condition()}) ? 3u : 4u;")

    def bins(self, depth: int, mask: str, full: bool) -> None:
        """Return a histogram in which one lane adds for all lanes with the same key."""
        key, m = self.name("key"), self.name("m")
        self.say(depth, "if (thread < 4) sums[thread] = 0;")
        self.say(depth, f"__syncthreads(); const unsigned {key} = ({self.value()}) & 3u;")
        self.say(depth, f"const unsigned {m} = __match_any_sync({mask}, {key});")
        self.say(depth, f"if (lane == __ffs({m}) - 1) atomicAdd(&sums[{key}], __popc({m}));")
        self.say(depth, f"__syncthreads(); {self.target()} += sums[lane & 3]; __syncthreads();")

    # -- divergence

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
        """Return calls in two branches, which on CUDA all lanes of the mask execute together."""
        lane = "3" if full else f"__ffs({mask}) - 1"
        self.say(depth, f"if ({self.condition()}) a += __shfl_sync({mask}, b, {lane});")
        self.say(depth, f"else a ^= __shfl_sync({mask}, {self.random.choice(['b', 'c'])}, {lane});")

    def skipped(self, depth: int, mask: str, full: bool) -> None:
        """Return code in which no lane needs another."""
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
        """Return a loop with the greatest trip count of all lanes."""
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
    """Return a program whose kernel number `argv[1]` prints the results of its threads.

    `meeting` is the frequency of collectives that lanes reach through calls in two branches, which has no counterpart
    on AMD.
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
        text.append(f"  __shared__ unsigned exchanged[{BLOCK}], sums[4];")
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
    """The results of the kernels of one program: the number with equal results, and the problems of the others.

    `said` are kernels with other results for which the port has a finding for a person; `silent` those without; `unfit`
    those whose original does not end, or depends on the order of threads; `warned` are the warnings about originals.
    `printed` is the CRC-32 of each original's output, with one space between numbers.
    """

    right: int
    said: tuple[str, ...]
    silent: tuple[str, ...]
    unfit: tuple[str, ...]
    warned: tuple[str, ...]
    printed: tuple[int, ...]


def found(source: Path) -> Found:
    """Port the program `source` and compare its kernels."""
    options = CompileOptions(os.environ, optimize="-O1", jobs=1, passes=(inline_ptx.PASS,))
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

    right = 0
    said: list[str] = []
    silent: list[str] = []
    unfit: list[str] = []
    warned: list[str] = []
    printed: list[int] = []
    for number in range(KERNELS):
        first = run(original, number, 32, "forward")
        printed.append(zlib.crc32(first[1].strip().encode()))
        # The lane that a warning names depends on the order.
        others = [run(original, number, 32, order) for order in ("reverse", "random:1")]
        warned += [f"kernel{number}: {each[2][:300]}" for each in (first, *others) if each[2]]
        if first[0] != 0 or any(other[:2] != first[:2] for other in others):
            unfit.append(f"kernel{number}: {first[0]} {(first[1] + first[2])[-300:]!r}")
            continue
        runs = {(n, order): run(port, number, n, order) for n in (32, 64) for order in ("forward", "random:2")}
        wrong = [
            f"{n} lanes, {order}: {run[0]} {run[2][-300:]}" for (n, order), run in runs.items() if run[:2] != first[:2]
        ]
        if not wrong:
            right += 1
        else:
            (said if is_said(f"kernel{number}", set()) else silent).append(f"kernel{number}: {wrong[0]}")
    return Found(right, tuple(said), tuple(silent), tuple(unfit), tuple(warned), tuple(printed))


def run(path: Path, number: int, lanes: int, order: str) -> tuple[int, str, str]:
    """Return the exit status, output and errors of a kernel of a program."""
    env = {**os.environ, "SIMT_WAVE": str(lanes), "SIMT_ORDER": order}
    try:
        ran = subprocess.run(
            [path, str(number)], env=env, capture_output=True, text=True, errors="replace", timeout=ENDLESS, check=False
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
