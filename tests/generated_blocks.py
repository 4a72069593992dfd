# SPDX-License-Identifier: Apache-2.0
"""Random kernels with one result per block, which does not depend on the number of lanes in a warp.

With `--warp native` each kernel is kept, or widened to whole wavefronts: its results must stay the same at 32 and at 64
lanes. By hand, for any number of kernels:

    python tests/generated_blocks.py FIRST_SEED PROGRAMS
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from generated_warps import run
from hipport import api
from hipport.engine.outcomes import Outcome
from hipport.executor import compile as compiling
from hipport.executor.compile import CompileOptions
from hipport.program.project import Target
from hipport_passes.device import inline_ptx

KERNELS = 24
THREADS = 1024

_HEAD = """#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define WARP_SIZE 32
#define FULL_MASK 0xffffffff
#define LOG_WARP 5
constexpr int kWarp = 32;
namespace cg = cooperative_groups;
template <int W> __device__ unsigned summed(unsigned v) {
  for (int o = W / 2; o > 0; o >>= 1) v += __shfl_down_sync(FULL_MASK, v, o, W);
  return v;
}
template <typename T, int Lanes = 32> struct Warp {
  static constexpr int kLanes = Lanes;
  static __device__ T largest(T v) {
    for (int o = kLanes / 2; o > 0; o /= 2) v = max(v, __shfl_xor_sync(0xffffffff, v, o));
    return v;
  }
  static __device__ int lane() { return threadIdx.x & (kLanes - 1); }
};
__device__ unsigned before_me() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}
"""

_MAIN = """
int main(int argc, char** argv) {
  const int n = %(threads)d;
  unsigned *in, *out;
  cudaMallocManaged(&in, n * 4);
  cudaMallocManaged(&out, n * 4);
  for (int i = 0; i < n; ++i) in[i] = (i * 2654435761u) >> 9, out[i] = 0;
  switch (atoi(argv[1])) {
%(cases)s
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < n; ++i) printf("%%u ", out[i]);
}
"""


class _Kernel:
    """The text of one kernel, and of a function that it calls, with randomly chosen names for a warp."""

    def __init__(self, random: Random, number: int) -> None:
        r = self.random = random
        self.number = number
        self.block = r.choice([64, 128, 256, 512])
        self.size = r.choice(["32", "WARP_SIZE", "warpSize", "kWarp"])
        self.mask = r.choice(["0xffffffff", "FULL_MASK", "~0u", "0xffffffffu", "-1", "(unsigned)-1"])
        self.lane = r.choice([f"threadIdx.x % {self.size}", "threadIdx.x & 31", f"threadIdx.x & ({self.size} - 1)"])
        self.warp = r.choice([f"threadIdx.x / {self.size}", "threadIdx.x >> 5", "threadIdx.x >> LOG_WARP"])
        self.half = r.choice([f"{self.size} / 2", "16", f"{self.size} >> 1"])
        block = self.block
        self.room = r.choice(["32", f"{block} / 32", f"{block} / WARP_SIZE", "1024 / 32", f"({block} + 31) / 32"])
        self.warps = r.choice(
            [f"blockDim.x / {self.size}", f"{block} / 32", "(blockDim.x + 31) / 32", "blockDim.x >> 5"]
        )
        self.function = ""
        styles: list[Callable[[], list[str]]] = [
            self.reduced, self.reduced, self.scanned, self.compacted, self.counted, self.added, self.smallest,
            self.asked, self.rows, self.tail, self.tiled, self.templated, self.ranked, self.strided,
        ]  # fmt: skip
        self.shape = str(self.block)
        self.lines = r.choice(styles)()

    def text(self) -> str:
        lines = [
            f"const int lane = {self.lane}, warp = {self.warp};",
            "const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;",
            "unsigned v = in[at];",
            *self.lines,
        ]
        head = f"__global__ void kernel{self.number}(const unsigned* in, unsigned* out) {{"
        return self.function + "\n  ".join([head, *lines]) + "\n}\n"

    def reduced(self) -> list[str]:
        r = self.random
        step = r.choice(["v += {x};", "v = max(v, {x});", "v ^= {x};"])
        shuffle = r.choice(["__shfl_down_sync", "__shfl_xor_sync"])
        loops = [
            f"for (int o = {self.half}; o > 0; o /= 2)", f"for (int o = {self.half}; o; o >>= 1)",
            f"for (unsigned o = {self.half}; o >= 1; o >>= 1)",
        ]  # fmt: skip
        if shuffle == "__shfl_xor_sync":
            loops.append(f"for (int o = 1; o < {self.size}; o <<= 1)")
        tree = f"{r.choice(loops)} {step.format(x=f'{shuffle}({self.mask}, v, o)')}"
        if r.random() < 0.5:
            name = f"tree{self.number}"
            self.function = f"__device__ unsigned {name}(unsigned v) {{ {tree} return v; }}\n"
            tree = f"v = {name}(v);"
        lines = [f"__shared__ unsigned part[{self.room}];", tree, "if (lane == 0) part[warp] = v;", "__syncthreads();"]
        if r.random() < 0.7:
            first = r.choice(["warp == 0", f"threadIdx.x < {self.size}", "threadIdx.x < 32"])
            lines += [
                f"if ({first}) {{", f"  v = lane < {self.warps} ? part[lane] : 0;", f"  {tree}",
                "  if (threadIdx.x == 0) out[blockIdx.x] = v;", "}",
            ]  # fmt: skip
        else:
            each = step.format(x="part[i]")
            lines.append(f"v = 0; for (int i = 0; i < {self.warps}; ++i) {each}")
            lines.append("if (threadIdx.x == 0) out[blockIdx.x] = v;")
        return lines

    def scanned(self) -> list[str]:
        last = self.random.choice([f"lane == {self.size} - 1", "lane == 31"])
        return [
            f"__shared__ unsigned sums[{self.room}];",
            f"for (int o = 1; o < {self.size}; o *= 2) {{",
            f"  const unsigned up = __shfl_up_sync({self.mask}, v, o);",
            "  if (lane >= o) v += up;",
            "}",
            f"if ({last}) sums[warp] = v;",
            "__syncthreads();",
            "for (int i = 0; i < warp; ++i) v += sums[i];",
            "out[at] = v;",
        ]

    def compacted(self) -> list[str]:
        r = self.random
        before = r.choice(["(1u << lane) - 1", "(1 << lane) - 1", "~(~0u << lane)", "0xffffffffu >> (31 - lane) >> 1"])
        return [
            f"__shared__ int counts[{self.room}];",
            "const bool keep = v % 3 == 0;",
            f"{r.choice(['unsigned', 'const unsigned int', 'uint32_t'])} votes = __ballot_sync({self.mask}, keep);",
            f"int rank = __popc(votes & ({before}));",
            f"if ({r.choice(['lane == 0', '!lane'])}) counts[warp] = __popc(votes);",
            "__syncthreads();",
            "for (int i = 0; i < warp; ++i) rank += counts[i];",
            "if (keep) out[blockIdx.x * blockDim.x + rank] = v;",
        ]

    def counted(self) -> list[str]:
        leads = self.random.choice(
            ["lane == __ffs(peers) - 1", "(peers & ((1u << lane) - 1)) == 0", "lane == 31 - __clz(peers)"]
        )
        return [
            "__shared__ unsigned bins[16];",
            "if (threadIdx.x < 16) bins[threadIdx.x] = 0;",
            "__syncthreads();",
            "const unsigned key = v & 15;",
            f"const unsigned peers = __match_any_sync({self.mask}, key);",
            f"if ({leads}) atomicAdd(&bins[key], __popc(peers));",
            "__syncthreads();",
            "if (threadIdx.x < 16) out[blockIdx.x * 16 + threadIdx.x] = bins[threadIdx.x];",
        ]

    def added(self) -> list[str]:
        add = "atomicAdd(&out[blockIdx.x], (unsigned)__popc(m))"
        return [
            "const bool p = v & 1;",
            f"const unsigned m = __ballot_sync({self.mask}, p);",
            "const int leader = __ffs(m) - 1;",
            self.random.choice(
                [
                    f"if (p && lane == leader) {add};",
                    f"if (m && lane == leader) {add};",
                    f"unsigned base = 0; if (p && lane == leader) base = {add}; "
                    f"base = __shfl_sync({self.mask}, base, leader < 0 ? 0 : leader); (void)base;",
                ]
            ),
        ]

    def smallest(self) -> list[str]:
        return [
            f"__shared__ unsigned best[{self.room}], where[{self.room}];",
            "unsigned w = threadIdx.x;",
            f"for (int o = {self.half}; o > 0; o >>= 1) {{",
            f"  const unsigned x = __shfl_down_sync({self.mask}, v, o), y = __shfl_down_sync({self.mask}, w, o);",
            "  if (x < v || (x == v && y < w)) v = x, w = y;",
            "}",
            "if (lane == 0) best[warp] = v, where[warp] = w;",
            "__syncthreads();",
            "if (threadIdx.x == 0) {",
            f"  for (int i = 1; i < {self.warps}; ++i) if (best[i] < v) v = best[i], w = where[i];",
            "  out[2 * blockIdx.x] = v, out[2 * blockIdx.x + 1] = w;",
            "}",
        ]

    def asked(self) -> list[str]:
        whole = self.random.choice(
            ["", f"b = b && __ballot_sync({self.mask}, 1) == {self.random.choice(['0xffffffff', 'FULL_MASK', '~0u'])};",
             f"b = b && __popc(__activemask()) == {self.size};"]
        )  # fmt: skip
        return [
            f"__shared__ int any_[{self.room}], all_[{self.room}];",
            f"int a = __any_sync({self.mask}, v % 97 == 0), b = __all_sync({self.mask}, v % 5 != 7);",
            *([whole] if whole else []),
            "if (lane == 0) any_[warp] = a, all_[warp] = b;",
            "__syncthreads();",
            "if (threadIdx.x == 0) {",
            f"  for (int i = 0; i < {self.warps}; ++i) a |= any_[i], b &= all_[i];",
            "  out[blockIdx.x] = a * 2 + b;",
            "}",
        ]

    def rows(self) -> list[str]:
        """Code in which a warp is a row of the block."""
        self.shape = f"dim3({self.random.choice(['32', 'kWarp'])}, {self.block // 32})"
        self.lane, self.warp = "threadIdx.x", "threadIdx.y"
        return [
            f"__shared__ unsigned part[{self.block // 32}];",
            f"const unsigned row = threadIdx.y * {self.random.choice(['32', 'blockDim.x'])};",
            f"const unsigned i = blockIdx.x * {self.block} + row + lane;",
            "v = in[i];",
            f"for (int o = {self.half}; o > 0; o >>= 1) v += __shfl_down_sync({self.mask}, v, o);",
            "if (lane == 0) part[warp] = v;",
            "__syncthreads();",
            "if (lane == 0 && warp == 0) {",
            "  v = 0; for (int j = 0; j < blockDim.y; ++j) v += part[j];",
            "  out[blockIdx.x] = v;",
            "}",
        ]

    def tail(self) -> list[str]:
        """The last steps of a tree in shared memory, by one warp."""
        half = self.block // 2
        sync = self.random.choice(["__syncwarp();", "__syncthreads();"])
        lines = [
            f"__shared__ {self.random.choice(['', 'volatile '])}unsigned tree[{self.block}];",
            "tree[threadIdx.x] = v;",
            "__syncthreads();",
        ]
        if sync == "__syncthreads();":
            lines += [
                f"for (int o = {half}; o > 0; o >>= 1) {{",
                "  if (threadIdx.x < o) tree[threadIdx.x] += tree[threadIdx.x + o];",
                f"  {sync}", "}",
            ]  # fmt: skip
        else:
            lines += [
                f"for (int o = {half}; o >= {self.random.choice(['32', self.size])}; o >>= 1) {{",
                "  if (threadIdx.x < o) tree[threadIdx.x] += tree[threadIdx.x + o];", "  __syncthreads();", "}",
                f"if (threadIdx.x < {self.random.choice(['32', 'WARP_SIZE'])}) {{", "  v = tree[threadIdx.x];",
                f"  for (int o = {self.half}; o > 0; o >>= 1) v += __shfl_down_sync({self.mask}, v, o);",
                "  if (threadIdx.x == 0) tree[0] = v;", "}", "__syncthreads();",
            ]  # fmt: skip
        return [*lines, "if (threadIdx.x == 0) out[blockIdx.x] = tree[0];"]

    def tiled(self) -> list[str]:
        size = self.random.choice(["32", "16", "8", "kWarp"])
        return [
            f"__shared__ unsigned part[{self.block} / 8];",
            f"const {self.random.choice(['auto', f'cg::thread_block_tile<{size}>'])} tile = "
            f"cg::tiled_partition<{size}>(cg::this_thread_block());",
            "for (int o = tile.size() / 2; o > 0; o /= 2) v += tile.shfl_down(v, o);",
            f"if (tile.thread_rank() == 0) part[threadIdx.x / {size}] = v;",
            "__syncthreads();",
            "if (threadIdx.x == 0) {",
            f"  v = 0; for (int j = 0; j < {self.block} / {size}; ++j) v += part[j];",
            "  out[blockIdx.x] = v;",
            "}",
        ]

    def templated(self) -> list[str]:
        call = self.random.choice(
            ["summed<32>(v)", "summed<kWarp>(v)", "summed<WARP_SIZE>(v)", "Warp<unsigned>::largest(v)",
             "Warp<unsigned, 32>::largest(v)"]
        )  # fmt: skip
        lane = self.random.choice(["lane == 0", "Warp<int>::lane() == 0"])
        return [
            f"__shared__ unsigned part[{self.room}];",
            f"v = {call};",
            f"if ({lane}) part[warp] = v;",
            "__syncthreads();",
            f"if (warp == 0) {{ v = lane < {self.warps} ? part[lane] : 0; v = {call};",
            "  if (lane == 0) out[blockIdx.x] = v; }",
        ]

    def ranked(self) -> list[str]:
        before = self.random.choice(["before_me()", "(1u << lane) - 1u", "0xffffffffu >> (31 - lane) >> 1"])
        return [
            "__shared__ unsigned next;",
            "if (threadIdx.x == 0) next = 0;",
            "__syncthreads();",
            "const bool p = v % 5 < 2;",
            f"const unsigned votes = __ballot_sync({self.mask}, p);",
            "unsigned base = 0;",
            "if (lane == 0) base = atomicAdd(&next, __popc(votes));",
            f"base = __shfl_sync({self.mask}, base, 0);",
            "__syncthreads();",
            f"if (p) atomicXor(&out[blockIdx.x], base + __popc(votes & ({before})));",
        ]

    def strided(self) -> list[str]:
        """Code in which each warp takes pieces of 32 with a stride."""
        return [
            "__shared__ unsigned total;",
            "if (threadIdx.x == 0) total = 0;",
            "__syncthreads();",
            "v = 0;",
            f"for (int piece = warp; piece < {THREADS} / 32; piece += {self.warps})",
            "  v += in[piece * 32 + lane];",
            f"for (int o = {self.half}; o > 0; o >>= 1) v += __shfl_down_sync({self.mask}, v, o);",
            "if (lane == 0) atomicAdd(&total, v);",
            "__syncthreads();",
            "if (threadIdx.x == 0) out[blockIdx.x] = total;",
        ]


def program(seed: int) -> str:
    """Return a program whose kernel number `argv[1]` prints the results of its blocks."""
    random = Random(seed)
    kernels = [_Kernel(random, number) for number in range(KERNELS)]
    cases = "\n".join(
        f"    case {each.number}: kernel{each.number}<<<{THREADS // each.block}, {each.shape}>>>(in, out); break;"
        for each in kernels
    )
    return _HEAD + "".join(each.text() for each in kernels) + _MAIN % {"threads": THREADS, "cases": cases}


def found(source: Path) -> tuple[int, list[str]]:
    """Port `source` to whole wavefronts; return how many kernels became native, and those with other results."""
    options = CompileOptions(os.environ, optimize="-O1", jobs=1, passes=(inline_ptx.PASS,))
    original = compiling.program([source], "cuda", options).path
    ported = api.rewrite([source], target=Target(warp="native"))
    port = compiling.program(ported, "hip", options, given=[source]).path
    wrong = []
    for number in range(KERNELS):
        first = run(original, number, 32, "forward")
        assert first[0] == 0, first
        for lanes in (32, 64):
            given = run(port, number, lanes, "random:1")
            if given[:2] != first[:2]:
                wrong.append(f"kernel{number}, {lanes} lanes: {given[0]} {given[2][-300:]}")
    native = [
        each for each in ported.reported if each.rule == "native_waves/native" and each.outcome is Outcome.APPLIED
    ]
    return len(native), wrong


if __name__ == "__main__":
    for seed in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"seed{seed}.cu")
            path.write_text(program(seed))
            native, wrong = found(path)
        print(seed, f"native {native}", *wrong, sep="\n  ", flush=True)
