# SPDX-License-Identifier: Apache-2.0
"""hipport/groups.h: every function of every kind of group, on simulated wavefronts, compared with CUDA's definition."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
INCLUDE = TESTS.parent / "src/hipport/include"

# How a group is made, and its lanes: `group(lane, words)` returns the lanes of a warp in the order of their ranks, None
# if the lane makes no calls.
SIZES = (32, 16, 8, 4, 2, 1)
PROGRAM = r"""
#include <hip/hip_runtime.h>

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  dim3(unsigned x, unsigned y, unsigned z) : x(x), y(y), z(z) {}
};
static unsigned start, count;
static dim3 thread_of_lane() { return {(start + __lane_id()) % 8, (start + __lane_id()) / 8, 0}; }
#define threadIdx thread_of_lane()
static const dim3 blockIdx(2, 1, 0), gridDim(3, 2, 1);
#define blockDim dim3(8, count / 8, 1)
static int __popc(unsigned word) { return __builtin_popcount(word); }
inline void __syncthreads() {}
inline void __ockl_grid_sync() {}
inline int __ockl_grid_is_valid() { return 1; }

#include "hipport/groups.h"
#include <cstdio>

namespace cg = hipport::cooperative_groups;
static std::vector<unsigned> in;

template <typename Group>
void print(const Group& group, unsigned word, std::string& out) {
  auto say = [&](unsigned long long value) { out += std::to_string(value) + ' '; };
  int predicate = 7;
  const int size = int(group.size());
  say(group.size());
  say(group.num_threads());
  say(group.thread_rank());
  say(group.shfl(word, 1 % size));
  say(group.shfl_up(word, 2));
  say(group.shfl_down(word, 1));
  say(group.ballot(word & 16));
  say(group.any(word & 16));
  say(group.all(word & 48));
  say(group.match_any(word >> 8 & 3));
  say(group.match_all(word >> 30, predicate) | (unsigned long long)(predicate) << 32);
  say(cg::reduce(group, word, cg::plus<unsigned>()));
  say(cg::reduce(group, word, cg::less<unsigned>()));
  say(cg::reduce(group, word, cg::greater<unsigned>()));
  say(cg::reduce(group, word, cg::bit_xor<unsigned>()));
  say(cg::inclusive_scan(group, word));
  say(cg::exclusive_scan(group, word));
  say(cg::inclusive_scan(group, word, cg::greater<unsigned>()));
  say(cg::invoke_one_broadcast(group, [&] { return word; }));
  const cg::coalesced_group labeled = cg::labeled_partition(group, word % 3);
  say(labeled.size());
  say(labeled.thread_rank());
  say(labeled.meta_group_rank());
  say(labeled.meta_group_size());
  const cg::coalesced_group binary = cg::binary_partition(group, word >> 31);
  say(binary.size());
  say(binary.thread_rank());
  say(binary.meta_group_rank());
  say(binary.meta_group_size());
  const cg::thread_group part = cg::tiled_partition(group, unsigned(size) < 4 ? 1 : 4);
  say(part.size());
  say(part.thread_rank());
  unsigned char to[40], from[40];
  for (int i = 0; i < 40; ++i) from[i] = (unsigned char)(i), to[i] = 0;
  // Each lane copies its part of what is its own here.
  cg::memcpy_async(group, to, from, 37);
  unsigned copied = 0;
  for (int i = 0; i < 40; ++i) copied += to[i];
  say(cg::reduce(group, copied, cg::plus<unsigned>()));
}
template <unsigned size>
void tile(unsigned word, std::string& out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto of_block = cg::tiled_partition<size>(block);
  print(of_block, word, out);
  out += std::to_string(of_block.meta_group_rank()) + ' ' + std::to_string(of_block.meta_group_size()) + ' ';
  const auto of_tile = cg::tiled_partition<size>(cg::tiled_partition<32>(block));
  const cg::thread_block_tile<size> plain = of_tile;
  out += std::to_string(plain.meta_group_rank()) + ' ' + std::to_string(plain.meta_group_size()) + ' ';
  out += std::to_string(of_tile.shfl_xor(word, size / 2)) + ' ';
}
static void threads(unsigned word, std::string& out) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_group any = block, whole = grid;
  const cg::thread_group eight = cg::tiled_partition(block, 8);
  const unsigned long long values[] = {block.size(), block.thread_rank(), block.thread_index().y, any.thread_rank(),
                                       any.size(), grid.size(), grid.thread_rank(), whole.thread_rank(),
                                       grid.num_blocks(), grid.block_rank(), eight.size(), eight.thread_rank()};
  for (unsigned long long value : values) out += std::to_string(value) + ' ';
}
static void coalesced(unsigned word, std::string& out) {
  if (word % 4 != 1) print(cg::coalesced_threads(), word, out);
}
static void partition(unsigned word, std::string& out) {
  print(cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), word % 5), word, out);
}

int main(int, char** arguments) {
  const unsigned wave = unsigned(std::atoi(arguments[1]));
  count = unsigned(std::atoi(arguments[2]));
  in.resize(count);
  for (unsigned& word : in) {
    if (std::scanf("%u", &word) != 1) return 1;
  }
  void (*const contexts[])(unsigned, std::string&) = {threads, coalesced, partition, @tiles@};
  for (auto context : contexts) {
    std::vector<std::string> out(count);
    for (start = 0; start < count; start += wave) {
      const unsigned lanes = count - start < wave ? count - start : wave;
      simulated::run(wave, lanes, [&](unsigned lane) { context(in[start + lane], out[start + lane]); });
    }
    for (const std::string& line : out) std::puts(line.c_str());
  }
}
"""


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport/groups.h was not run on simulated wavefronts")
    folder = tmp_path_factory.mktemp("groups")
    text = PROGRAM.replace("@tiles@", ", ".join(f"tile<{size}>" for size in SIZES))
    (folder / "program.cpp").write_text("#include <string>\n" + text)
    # Unoptimized: the simulator relies on return addresses, see there.
    flags = ["-std=c++14", "-O0", "-fno-omit-frame-pointer", "-w", "-D__HIP__"]
    command = ["g++", *flags, f"-I{TESTS / 'simulated_wave'}", f"-I{INCLUDE}", "program.cpp", "-o", "program"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    return folder / "program"


def said(words: list[int], members: list[int], thread: int) -> list[int]:
    """Return the output of `print` for `thread` by CUDA's documentation; `members` by rank."""
    rank, size, word = members.index(thread), len(members), words[thread]
    of = [words[each] for each in members]

    def bits(holds: list[bool]) -> int:
        return sum(1 << i for i, each in enumerate(holds) if each)

    labels = list(dict.fromkeys(each % 3 for each in of))
    same = [each for each in members if words[each] % 3 == word % 3]
    top = word >> 31
    half = [each for each in members if words[each] >> 31 == top]
    parted = len(half) < size
    part = 1 if size < 4 else 4
    own = members[rank // part * part : rank // part * part + part]
    return [
        *(size, size, rank),
        of[1 % size],
        of[rank - 2] if rank >= 2 else word,
        of[rank + 1] if rank + 1 < size else word,
        bits([each & 16 != 0 for each in of]),
        any(each & 16 for each in of),
        all(each & 48 for each in of),
        bits([each >> 8 & 3 == word >> 8 & 3 for each in of]),
        ((1 << size) - 1) | 1 << 32 if len({each >> 30 for each in of}) == 1 else 0,
        sum(of) % (1 << 32),
        *(min(of), max(of)),
        bits([sum(each >> i & 1 for each in of) % 2 == 1 for i in range(32)]),
        sum(of[: rank + 1]) % (1 << 32),
        sum(of[:rank]) % (1 << 32),
        max(of[: rank + 1]),
        of[0],
        *(len(same), same.index(thread), labels.index(word % 3), len(labels)),
        *(len(half), half.index(thread), top if parted else 0, 2 if parted else 1),
        *(len(own), own.index(thread)),
        sum(range(37)),
    ]


@pytest.mark.parametrize("threads", [32, 64, 96])
@pytest.mark.parametrize("wave", [32, 64])
def test_follows_cudas_definition(wave: int, threads: int, simulator: Path) -> None:
    source = random.Random(threads)
    words = [source.getrandbits(32) for _ in range(threads)]
    ran = subprocess.run(
        [str(simulator), str(wave), str(threads)],
        input=" ".join(map(str, words)),
        capture_output=True,
        text=True,
        check=True,
    )
    rows = iter([[int(value) for value in line.split()] for line in ran.stdout.splitlines()])
    block = 5  # In a grid of 3 by 2 blocks, number (2, 1).
    for thread in range(threads):
        place = block * threads + thread
        expected = [threads, thread, thread // 8, thread, threads, 6 * threads, place, place, 6, block, 8, thread % 8]
        assert next(rows) == expected
    for thread, word in enumerate(words):
        warp = range(thread - thread % 32, thread - thread % 32 + 32)
        members = [each for each in warp if words[each] % 4 != 1]
        assert next(rows) == (said(words, members, thread) if word % 4 != 1 else []), f"coalesced, thread {thread}"
    for thread, word in enumerate(words):
        warp = range(thread - thread % 32, thread - thread % 32 + 32)
        members = [each for each in warp if words[each] % 5 == word % 5]
        assert next(rows) == said(words, members, thread), f"partition, thread {thread}"
    for size in SIZES:
        for thread in range(threads):
            members = list(range(thread - thread % size, thread - thread % size + size))
            expected = said(words, members, thread)
            expected += [thread // size, threads // size, thread % 32 // size, 32 // size]
            expected.append(words[members[(thread % size) ^ (size // 2)]])
            assert next(rows) == expected, f"tile of {size}, thread {thread}"
    assert next(rows, None) is None
