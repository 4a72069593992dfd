// SPDX-License-Identifier: Apache-2.0
// Cooperative groups, against what they mean by threads' ranks.
//
// With -DHIPPORT_GROUPS the groups are those of hipport/groups.h, CUDA's on the 32 lanes around a thread.
#include "check.h"
#ifdef HIPPORT_GROUPS
#include <hipport/groups.h>
#elif defined(__HIP__)
#include <hip/hip_cooperative_groups.h>
#else
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#endif
#include <algorithm>
#ifdef HIPPORT_GROUPS
namespace cg = hipport::cooperative_groups;
#else
namespace cg = cooperative_groups;
#endif

template <int Size>
__global__ void tiles(const int* in, long long* out) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<Size> tile = cg::tiled_partition<Size>(block);
  const int t = block.thread_rank(), n = block.size(), v = in[t];
  int row = 0;
  const auto put = [&](long long value) { out[row++ * n + t] = value; };
  put(tile.thread_rank());
  put(tile.meta_group_rank());
  put(tile.shfl(v, 1));
  put(tile.shfl_up(v, 2));
  put(tile.shfl_down(v, 2));
  put(tile.shfl_xor(v, Size / 2));
  put(tile.any(v % 7 == 0));
  put(tile.all(v % 7 != 0));
  put(static_cast<long long>(tile.ballot(v % 2)));
  put(static_cast<long long>(tile.match_any(v % 3)));
  int all;
  put(static_cast<long long>(tile.match_all(t / Size, all)) != 0 && all);
  put(cg::reduce(tile, v, cg::plus<int>()));
  put(cg::reduce(tile, v, cg::greater<int>()));
  put(cg::inclusive_scan(tile, v, cg::plus<int>()));
  put(cg::exclusive_scan(tile, v));
  // A tile of a tile, and one whose size is known only now.
  const auto half = cg::tiled_partition<Size / 2>(tile);
  put(half.meta_group_rank());
  put(cg::reduce(half, v, cg::plus<int>()));
  const cg::thread_group dynamic = cg::tiled_partition(block, Size / 2);
  put(static_cast<long long>(dynamic.thread_rank()));
  dynamic.sync();
  // Labeled and binary partitions, coalesced groups.
  const cg::coalesced_group label = cg::labeled_partition(tile, v % 3);
  put(label.size());
  put(label.thread_rank());
  put(label.meta_group_size());
  put(cg::reduce(label, v, cg::plus<int>()));
  put(label.shfl(v, 0));
  const cg::coalesced_group parity = cg::binary_partition(tile, v % 2 == 0);
  put(parity.shfl_down(v, 1));
  put(static_cast<long long>(parity.ballot(v % 4 < 2)));
  long long sum = -1;
  if (v % 5 < 2) {
    const cg::coalesced_group here = cg::coalesced_threads();
    sum = cg::reduce(here, v, cg::plus<int>()) * 100 + here.size();
    here.sync();
  }
  put(sum);
  double wide[3] = {1.0 * v, 2.0 * v, 3.0 * v};
  struct Wide {
    double x, y, z;
  } w{wide[0], wide[1], wide[2]};
#ifndef __HIP__
  put(static_cast<long long>(tile.shfl(w, 1).z));
#else
  put(static_cast<long long>(tile.shfl(w.z, 1)));
#endif
  put(cg::invoke_one_broadcast(tile, [&] { return v + 1; }));
}

template <int Size>
void tile_test(int n, int wave) {
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = static_cast<int>(number(i) % 1000);
  Device<int> d_in(in);
  Device<long long> d_out(28 * n);
  tiles<Size><<<1, n>>>(d_in, d_out);
  const std::vector<long long> out = d_out.get();
  for (int t = 0; t < n; ++t) {
    const int first = t / Size * Size, rank = t - first, v = in[t];
    int row = 0;
    const auto want = [&](long long value, const char* what) { check(out[row++ * n + t] == value, what, t, Size); };
    const auto sum = [&](int a, int b) {
      long long s = 0;
      for (int i = a; i < b; ++i) s += in[i];
      return s;
    };
    std::uint64_t odd = 0, same = 0;
    int greatest = in[first], any = 0, label_size = 0, label_rank = 0, label_first = -1, labels = 0;
    long long label_sum = 0;
    std::vector<int> parity;
    for (int i = 0; i < Size; ++i) {
      const int x = in[first + i];
      if (x % 2) odd |= 1ull << i;
      if (x % 3 == v % 3) {
        same |= 1ull << i;
        if (label_first < 0) label_first = x;
        label_size++;
        label_sum += x;
        if (i < rank) label_rank++;
      }
      if (x % 2 == v % 2) parity.push_back(first + i);
      greatest = std::max(greatest, x);
      any |= x % 7 == 0;
    }
    for (int l = 0; l < 3; ++l) {
      bool there = false;
      for (int i = 0; i < Size; ++i) there |= in[first + i] % 3 == l;
      labels += there;
    }
    want(rank, "rank in a tile");
    want(t / Size, "rank of a tile");
    want(in[first + 1], "shfl");
    want(rank >= 2 ? in[t - 2] : v, "shfl_up");
    want(rank + 2 < Size ? in[t + 2] : v, "shfl_down");
    want(in[first + (rank ^ (Size / 2))], "shfl_xor");
    want(any, "any");
    want(!any, "all");
    want(static_cast<long long>(odd), "ballot");
    want(static_cast<long long>(same), "match_any");
    want(1, "match_all");
    want(sum(first, first + Size), "reduce");
    want(greatest, "greatest");
    want(sum(first, t + 1), "inclusive scan");
    want(sum(first, t), "exclusive scan");
    want(rank / (Size / 2), "tile of a tile");
    want(sum(t / (Size / 2) * (Size / 2), t / (Size / 2) * (Size / 2) + Size / 2), "reduce of a tile of a tile");
    want(t % (Size / 2), "dynamic tile");
    want(label_size, "size of a labeled part");
    want(label_rank, "rank in a labeled part");
    want(labels, "number of labeled parts");
    want(label_sum, "reduce of a labeled part");
    want(label_first, "shfl of a labeled part");
    std::size_t own = 0;
    while (parity[own] != t) ++own;
    want(own + 1 < parity.size() ? in[parity[own + 1]] : v, "shfl_down of a binary part");
    std::uint64_t packed = 0;
    for (std::size_t i = 0; i < parity.size(); ++i) packed |= std::uint64_t(in[parity[i]] % 4 < 2) << i;
    want(static_cast<long long>(packed), "ballot of a binary part");
    long long together = 0, count = 0;
    const int wave_first = t / wave * wave;
    for (int i = wave_first; i < std::min(wave_first + wave, n); ++i) {
      if (in[i] % 5 < 2) together += in[i], ++count;
    }
    want(v % 5 < 2 ? together * 100 + count : -1, "coalesced threads");
    want(3 * in[first + 1], "shuffle of a struct");
    want(in[first] + 1, "invoke_one_broadcast");
  }
}

__global__ void grid(int* counters, int* seen) {
  cg::grid_group all = cg::this_grid();
  for (int round = 0; round < 3; ++round) {
    atomicAdd(&counters[round], 1);
    all.sync();
    seen[round * all.size() + all.thread_rank()] = counters[round];
    cg::sync(all);
  }
}

__global__ void copies(const int* in, int* out) {
  __shared__ int staged[100];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, staged, in, sizeof staged);
  cg::wait(block);
  out[block.thread_rank()] = staged[99 - block.thread_rank()];
}

#ifndef __HIP__
__global__ void big_tiles(int* out) {
  __shared__ cg::block_tile_memory<256> memory;
  const cg::thread_block block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<64>(block);
  const auto whole = cg::tiled_partition<256>(block);
  const int t = block.thread_rank();
  for (unsigned i = 0; i < tile.meta_group_rank(); ++i) tile.sync();
  out[t] = cg::reduce(tile, t, cg::plus<int>());
  out[256 + t] = tile.any(t == 100) * 2 + tile.all(t < 128);
  out[512 + t] = cg::reduce(whole, t, cg::plus<int>()) + tile.shfl(t, 63);
}
#endif

#ifndef __HIP__
// Barriers in two halves, of a block whose groups have memory of their own, and of a grid.
__global__ void halves(int* out, int rounds) {
  __shared__ cg::block_tile_memory<64> memory;
  __shared__ int cells[64];
  const cg::thread_block block = cg::this_thread_block(memory);
  const cg::grid_group all = cg::this_grid();
  const int t = block.thread_rank(), n = block.size();
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    cells[t] = t + i;
    cg::thread_block::arrival_token token = block.barrier_arrive();
    sum += 1;
    block.barrier_wait(std::move(token));
    sum += cells[n - 1 - t];
    out[all.thread_rank()] = sum;
    auto whole = all.barrier_arrive();
    all.barrier_wait(std::move(whole));
    sum += out[all.num_threads() - 1 - all.thread_rank()];
    all.sync();
  }
  out[all.thread_rank()] = sum;
}
__global__ void updates(int* out) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  cuda::atomic_ref<int, cuda::thread_scope_device> to(*out);
  cg::reduce_update_async(tile, to, int(threadIdx.x), cg::plus<int>());
}
#endif

int main() {
  int wave = 32;
#if defined(__HIP__) && !defined(HIPPORT_GROUPS)
  hipDeviceProp_t properties;
  if (hipGetDeviceProperties(&properties, 0) == hipSuccess) wave = properties.warpSize;
  if (wave == 64) tile_test<64>(192, wave);
#endif
  tile_test<32>(96, wave);
  tile_test<8>(64, wave);
  tile_test<4>(100, wave);
  Device<int> counters(std::vector<int>(3, 0)), seen(3 * 5 * 40);
  int *c = counters, *s = seen;
  void* arguments[] = {&c, &s};
  check(GPU(LaunchCooperativeKernel)((void*)grid, dim3(5), dim3(40), arguments, 0, nullptr) ==
            GPU(Success), "cooperative launch");
  same(seen.get(), std::vector<int>(3 * 5 * 40, 200), "grid sync");
  std::vector<int> in(100), reversed(100);
  for (int i = 0; i < 100; ++i) reversed[99 - i] = in[i] = static_cast<int>(number(i));
  Device<int> d_in(in), d_out(100);
  copies<<<1, 100>>>(d_in, d_out);
  same(d_out.get(), reversed, "memcpy_async");
#ifndef __HIP__
  Device<int> big(768);
  big_tiles<<<1, 256>>>(big);
  const std::vector<int> b = big.get();
  for (int t = 0; t < 256; ++t) {
    const int first = t / 64 * 64;
    check(b[t] == 64 * first + 63 * 32, "reduce of 64", t);
    check(b[256 + t] == (t / 64 == 1) * 2 + (t < 128), "votes of 64", t);
    check(b[512 + t] == 255 * 128 + first + 63, "reduce of 256", t);
  }
#endif
#ifndef __HIP__
  {
    const int n = 64, count = 3 * n, rounds = 4;
    Device<int> out(count);
    int *data = out, turns = rounds;
    void* arguments[] = {&data, &turns};
    cudaLaunchCooperativeKernel((void*)halves, dim3(3), dim3(n), arguments);
    std::vector<int> sums(count), now(count);
    for (int i = 0; i < rounds; ++i) {
      for (int t = 0; t < count; ++t) now[t] = sums[t] += 1 + n - 1 - t % n + i;
      for (int t = 0; t < count; ++t) sums[t] += now[count - 1 - t];
    }
    same(out.get(), sums, "barriers in two halves");
    Device<int> sum(std::vector<int>(1, 5));
    updates<<<1, 64>>>(sum);
    check(sum.get()[0] == 5 + 63 * 32, "reduce_update_async");
  }
#endif
  return finish();
}
