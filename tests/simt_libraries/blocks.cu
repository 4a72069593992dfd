// SPDX-License-Identifier: Apache-2.0
// CUB's algorithms of a block and of a warp, against loops.
#include "check.h"
#ifdef __HIP__
#include <hipcub/hipcub.hpp>
namespace lib = hipcub;
#else
#include <cub/cub.cuh>
namespace lib = cub;
#endif
#include <algorithm>
#include <cstring>

struct Callback {
  Affine running;
  __device__ Affine operator()(Affine aggregate) {
    Affine old = running;
    running = Then()(running, aggregate);
    return old;
  }
};
struct SumCallback {
  int running;
  __device__ int operator()(int aggregate) {
    int old = running;
    running += aggregate;
    return old;
  }
};

template <int X, int Y, int Z, int Items>
__global__ void block_kernel(const Affine* in, Affine* out, int* ints, int valid) {
  constexpr int threads = X * Y * Z;
  using Reduce = lib::BlockReduce<Affine, X, lib::BLOCK_REDUCE_WARP_REDUCTIONS, Y, Z>;
  using Scan = lib::BlockScan<Affine, X, lib::BLOCK_SCAN_RAKING, Y, Z>;
  using IntScan = lib::BlockScan<int, X, lib::BLOCK_SCAN_WARP_SCANS, Y, Z>;
  using Exchange = lib::BlockExchange<Affine, X, Items, false, Y, Z>;
  using Load = lib::BlockLoad<Affine, X, Items, lib::BLOCK_LOAD_TRANSPOSE, Y, Z>;
  using Store = lib::BlockStore<Affine, X, Items, lib::BLOCK_STORE_TRANSPOSE, Y, Z>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
    typename IntScan::TempStorage ints;
    typename Exchange::TempStorage exchange;
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } temp;
  const int t = (threadIdx.z * Y + threadIdx.y) * X + threadIdx.x;
  Affine items[Items];
  Load(temp.load).Load(in, items);
  __syncthreads();
  // row 0: exclusive scan; row 1: inclusive scan; row 2: scan with a callback, twice; row 3: striped and back
  Affine scanned[Items], aggregate;
  Scan(temp.scan).ExclusiveScan(items, scanned, Affine{3, 5}, Then(), aggregate);
  for (int i = 0; i < Items; ++i) out[t * Items + i] = scanned[i];
  __syncthreads();
  Scan(temp.scan).InclusiveScan(items, scanned, Then());
  for (int i = 0; i < Items; ++i) out[threads * Items + t * Items + i] = scanned[i];
  __syncthreads();
  Callback callback{{2, 1}};
  for (int round = 0; round < 2; ++round) {
    Scan(temp.scan).ExclusiveScan(items, scanned, Then(), callback);
    __syncthreads();
  }
  Store(temp.store).Store(out + 2 * threads * Items, scanned, threads * Items);
  __syncthreads();
  Exchange(temp.exchange).BlockedToStriped(items, scanned);
  for (int i = 0; i < Items; ++i) out[3 * threads * Items + i * threads + t] = scanned[i];
  __syncthreads();
  Exchange(temp.exchange).StripedToBlocked(scanned);
  for (int i = 0; i < Items; ++i) out[4 * threads * Items + t * Items + i] = scanned[i];
  __syncthreads();
  Exchange(temp.exchange).BlockedToWarpStriped(items, scanned);
  __syncthreads();
  Exchange(temp.exchange).WarpStripedToBlocked(scanned);
  for (int i = 0; i < Items; ++i) out[5 * threads * Items + t * Items + i] = scanned[i];
  __syncthreads();
  int ranks[Items];
  for (int i = 0; i < Items; ++i) ranks[i] = threads * Items - 1 - (t * Items + i);
  Exchange(temp.exchange).ScatterToBlocked(items, scanned, ranks);
  for (int i = 0; i < Items; ++i) out[6 * threads * Items + t * Items + i] = scanned[i];
  __syncthreads();
  const Affine whole = Reduce(temp.reduce).Reduce(items, Then());
  __syncthreads();
  const Affine part = Reduce(temp.reduce).Reduce(items[0], Then(), valid);
  if (t == 0) {
    out[7 * threads * Items] = whole;
    out[7 * threads * Items + 1] = part;
    out[7 * threads * Items + 2] = aggregate;
  }
  __syncthreads();
  int prefix, total;
  SumCallback sums{1000};
  IntScan(temp.ints).ExclusiveSum(t + 1, prefix, total);
  ints[t] = prefix;
  __syncthreads();
  IntScan(temp.ints).InclusiveSum(t + 1, prefix, sums);
  ints[threads + t] = prefix;
  __syncthreads();
  ints[2 * threads + t] = lib::BlockReduce<int, X, lib::BLOCK_REDUCE_RAKING, Y, Z>().Sum(t, threads);
  if (t == 0) ints[3 * threads] = total;
}

template <int X, int Y, int Z, int Items>
void blocks() {
  constexpr int threads = X * Y * Z, n = threads * Items;
  std::vector<Affine> in(n);
  for (int i = 0; i < n; ++i) in[i] = affine(i);
  Device<Affine> d_in(in), d_out(7 * n + 3);
  Device<int> d_ints(3 * threads + 1);
  const int valid = (threads + 1) / 2;
  block_kernel<X, Y, Z, Items><<<1, dim3(X, Y, Z)>>>(d_in, d_out, d_ints, valid);
  const std::vector<Affine> out = d_out.get();
  const std::vector<int> ints = d_ints.get();
  const auto row = [&](int r) { return out.begin() + r * n; };
  std::vector<Affine> exclusive(n), inclusive(n), second(n), reversed(in.rbegin(), in.rend());
  Affine sum{3, 5}, whole = in[0], part = in[0];
  for (int i = 0; i < n; ++i) {
    exclusive[i] = sum;
    sum = Then()(sum, in[i]);
    if (i > 0) whole = Then()(whole, in[i]);
    inclusive[i] = whole;
  }
  Affine start = Then()(Affine{2, 1}, whole);
  for (int i = 0; i < n; ++i) {
    second[i] = start;
    start = Then()(start, in[i]);
  }
  for (int i = 1; i < valid; ++i) part = Then()(part, in[i * Items]);
  same(row(0), exclusive, "exclusive scan", threads);
  same(row(1), inclusive, "inclusive scan", threads);
  same(row(2), second, "scan with callback", threads);
  same(row(3), in, "blocked to striped", threads);
  same(row(4), in, "striped to blocked", threads);
  same(row(5), in, "warp striped and back", threads);
  same(row(6), reversed, "scatter to blocked", threads);
  check(out[7 * n] == whole, "reduce", threads);
  check(out[7 * n + 1] == part, "reduce of valid", threads);
  check(out[7 * n + 2] == whole, "aggregate", threads);
  for (int t = 0; t < threads; ++t) {
    check(ints[t] == t * (t + 1) / 2, "exclusive sum", t, threads);
    check(ints[threads + t] == 1000 + (t + 1) * (t + 2) / 2, "inclusive sum with callback", t, threads);
  }
  check(ints[2 * threads] == threads * (threads - 1) / 2, "sum", threads);
  check(ints[3 * threads] == threads * (threads + 1) / 2, "total", threads);
}

template <typename Key, int X, int Y, int Items>
__global__ void sort_kernel(const Key* in, Key* out, int* places, int* flags, Key* differences) {
  constexpr int threads = X * Y, n = threads * Items;
  using Sort = lib::BlockRadixSort<Key, X, Items, int, 4, true, lib::BLOCK_SCAN_WARP_SCANS, 0, Y>;
#ifdef __HIP__
  using Merge = lib::BlockMergeSort<Key, X, Items, int, Y>;
#else
  using Merge = lib::BlockMergeSort<Key, X, Items, int, Y>;
#endif
  using Flags = lib::BlockDiscontinuity<Key, X, Y>;
  using Difference = lib::BlockAdjacentDifference<Key, X, Y>;
  using Shuffle = lib::BlockShuffle<Key, X, Y>;
  using Histogram = lib::BlockHistogram<unsigned char, X, Items, 256, lib::BLOCK_HISTO_ATOMIC, Y>;
  __shared__ union {
    typename Sort::TempStorage sort;
    typename Merge::TempStorage merge;
    typename Flags::TempStorage flags;
    typename Difference::TempStorage difference;
    typename Shuffle::TempStorage shuffle;
    typename Histogram::TempStorage histogram;
  } temp;
  __shared__ unsigned counts[256];
  const int t = threadIdx.y * X + threadIdx.x;
  Key keys[Items];
  int values[Items];
  lib::LoadDirectBlocked(t, in, keys);
  for (int i = 0; i < Items; ++i) values[i] = t * Items + i;
  Sort(temp.sort).SortDescending(keys, values);
  lib::StoreDirectBlocked(t, out, keys);
  lib::StoreDirectBlocked(t, places, values);
  __syncthreads();
  lib::LoadDirectBlocked(t, in, keys);
  Merge(temp.merge).Sort(keys, values, [](const Key& a, const Key& b) { return a < b; });
  lib::StoreDirectBlocked(t, out + n, keys);
  __syncthreads();
  Sort(temp.sort).SortBlockedToStriped(keys);
  lib::StoreDirectStriped<threads>(t, out + 2 * n, keys);
  __syncthreads();
  lib::LoadDirectBlocked(t, out + n, keys);
  int heads[Items], tails[Items];
  Flags(temp.flags).FlagHeadsAndTails(heads, tails, keys, lib::Inequality());
  for (int i = 0; i < Items; ++i) flags[t * Items + i] = heads[i] + 2 * tails[i];
  __syncthreads();
  Key left[Items];
  Difference(temp.difference).SubtractLeft(keys, left, [](Key& a, Key& b) { return static_cast<Key>(a - b); });
  lib::StoreDirectBlocked(t, differences, left);
  __syncthreads();
  Shuffle(temp.shuffle).Up(keys, left);
  if (t > 0 || Items > 1) lib::StoreDirectBlocked(t, differences + n, left);
  __syncthreads();
  unsigned char bytes[Items];
  for (int i = 0; i < Items; ++i) bytes[i] = static_cast<unsigned char>((t * Items + i) % 100);
  Histogram(temp.histogram).Histogram(bytes, counts);
  for (int i = t; i < 256; i += threads) flags[n + i] = static_cast<int>(counts[i]);
}

template <typename Key, int X, int Y, int Items>
void sorts(bool negative) {
  constexpr int n = X * Y * Items;
  std::vector<Key> in(n);
  for (int i = 0; i < n; ++i) {
    in[i] = static_cast<Key>(static_cast<int>(number(i) % 50) - (negative ? 25 : 0));
    if (std::is_floating_point_v<Key> && i % 7 == 0) in[i] = -static_cast<Key>(0);
  }
  Device<Key> d_in(in), d_out(3 * n), d_differences(2 * n);
  Device<int> d_places(n), d_flags(n + 256);
  sort_kernel<Key, X, Y, Items><<<1, dim3(X, Y)>>>(d_in, d_out, d_places, d_flags, d_differences);
  const std::vector<Key> out = d_out.get(), differences = d_differences.get();
  const std::vector<int> places = d_places.get(), flags = d_flags.get();
  std::vector<int> order(n), want(n), counts(256);
  for (int i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return in[b] < in[a]; });
  same(places, order, "descending, stable", n);
  std::vector<Key> sorted = in, difference(n);
  std::stable_sort(sorted.begin(), sorted.end());
  same(out.begin() + n, sorted, "merge sort", n);
  same(out.begin() + 2 * n, sorted, "radix sort to striped", n);
  for (int i = 0; i < n; ++i) {
    want[i] = (i == 0 || sorted[i] != sorted[i - 1]) + 2 * (i == n - 1 || sorted[i] != sorted[i + 1]);
    difference[i] = static_cast<Key>(i == 0 ? sorted[0] : sorted[i] - sorted[i - 1]);
    ++counts[i % 100];
  }
  same(flags, want, "heads and tails", n);
  same(differences, difference, "subtract left", n);
  same(flags.begin() + n, counts, "histogram", n);
  for (int i = 1; i < n; ++i) check(X * Y == 1 && Items == 1 ? true : differences[n + i] == sorted[i - 1], "up", i, n);
}

// A logical warp of `Size` lanes, the default if 0.
template <int Size, typename T>
struct Warps {
  using Reduce = lib::WarpReduce<T, Size>;
  using Scan = lib::WarpScan<T, Size>;
};
template <typename T>
struct Warps<0, T> {
  using Reduce = lib::WarpReduce<T>;
  using Scan = lib::WarpScan<T>;
};

template <int Size>
__global__ void warp_kernel(const Affine* in, Affine* out, int size, int blocksize) {
  using Reduce = typename Warps<Size, Affine>::Reduce;
  using Scan = typename Warps<Size, Affine>::Scan;
  __shared__ typename Reduce::TempStorage reduce[64];
  __shared__ typename Scan::TempStorage scan[64];
  const int t = threadIdx.x, w = t / size, rank = t % size;
  const Affine own = in[t];
  out[t] = Reduce(reduce[w]).Reduce(own, Then());
  if (w % 2 == 0) out[blocksize + t] = Reduce(reduce[w]).Reduce(own, Then(), 3 < size ? 3 : size);
  out[2 * blocksize + t] = Reduce(reduce[w]).HeadSegmentedReduce(own, rank % 3 == 0, Then());
  Affine inclusive, exclusive;
  Scan(scan[w]).Scan(own, inclusive, exclusive, Affine{3, 5}, Then());
  out[3 * blocksize + t] = inclusive;
  out[4 * blocksize + t] = exclusive;
  Affine aggregate;
  Scan(scan[w]).InclusiveScan(own, inclusive, Then(), aggregate);
  out[5 * blocksize + t] = aggregate;
  out[6 * blocksize + t] = Scan(scan[w]).Broadcast(own, 1);
}

template <int Size>
void warps(int size, int n) {
  std::vector<Affine> in(n);
  for (int i = 0; i < n; ++i) in[i] = affine(i + 5);
  Device<Affine> d_in(in), d_out(7 * n);
  warp_kernel<Size><<<1, n>>>(d_in, d_out, size, n);
  const std::vector<Affine> out = d_out.get();
  const auto fold = [&](int first, int end) {
    Affine sum = in[first];
    for (int i = first + 1; i < end; ++i) sum = Then()(sum, in[i]);
    return sum;
  };
  for (int t = 0; t < n; ++t) {
    const int first = t / size * size, rank = t - first;
    if (rank == 0) {
      check(out[t] == fold(t, t + size), "warp reduce", t, size);
      if (t / size % 2 == 0) check(out[n + t] == fold(t, t + (3 < size ? 3 : size)), "warp reduce of valid", t, size);
    }
    if (rank % 3 == 0) {
      check(out[2 * n + t] == fold(t, std::min(t + 3, first + size)), "head segments", t, size);
    }
    check(out[3 * n + t] == Then()(Affine{3, 5}, fold(first, t + 1)), "warp inclusive", t, size);
    const Affine exclusive = rank == 0 ? Affine{3, 5} : Then()(Affine{3, 5}, fold(first, t));
    check(out[4 * n + t] == exclusive, "warp exclusive", t, size);
    check(out[5 * n + t] == fold(first, first + size), "warp aggregate", t, size);
    check(out[6 * n + t] == in[first + 1], "warp broadcast", t, size);
  }
}

template <int Size>
__global__ void warp_items_kernel(int* out) {
  using Exchange = lib::WarpExchange<int, 3, Size>;
  using Sort = lib::WarpMergeSort<int, 3, Size>;
  __shared__ typename Exchange::TempStorage exchange[128 / Size];
  __shared__ typename Sort::TempStorage sort[128 / Size];
  const int w = threadIdx.x / Size, rank = threadIdx.x % Size;
  int items[3], moved[3];
  for (int i = 0; i < 3; ++i) items[i] = (rank * 3 + i) * 7 % (3 * Size);
  Exchange(exchange[w]).BlockedToStriped(items, moved);
  for (int i = 0; i < 3; ++i) out[w * 3 * Size + i * Size + rank] = moved[i];
  Sort(sort[w]).Sort(items, [](int a, int b) { return a < b; });
  for (int i = 0; i < 3; ++i) out[3 * 128 + w * 3 * Size + rank * 3 + i] = items[i];
}

template <int Size>
void warp_items() {
  Device<int> d_out(6 * 128);
  warp_items_kernel<Size><<<1, 128>>>(d_out);
  const std::vector<int> out = d_out.get();
  for (int i = 0; i < 3 * 128; ++i) {
    const int at = i % (3 * Size);
    check(out[i] == at * 7 % (3 * Size), "warp exchange", i, Size);
    check(out[3 * 128 + i] == at, "warp merge sort", i, Size);
  }
}

// CUB's order of additions: neighbors, then neighbors of neighbors, then warps of 32.
__global__ void float_kernel(const float* in, float* out) {
  using Reduce = lib::BlockReduce<float, 96>;
  __shared__ typename Reduce::TempStorage temp;
  const float sum = Reduce(temp).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = sum;
}
void float_order() {
  std::vector<float> in(96);
  for (int i = 0; i < 96; ++i) in[i] = static_cast<float>(number(i)) * 1e-7f;
  Device<float> d_in(in), d_out(1);
  float_kernel<<<1, 96>>>(d_in, d_out);
  float want = 0;
  for (int w = 0; w < 3; ++w) {
    std::vector<float> v(in.begin() + 32 * w, in.begin() + 32 * w + 32);
    for (int step = 1; step < 32; step *= 2) {
      for (int i = 0; i + step < 32; ++i) v[i] = v[i] + v[i + step];
    }
    want = w == 0 ? v[0] : want + v[0];
  }
  check(d_out.get()[0] == want, "order of additions");
}

__global__ void smaller_kernel(int* out) {
  using Reduce = lib::BlockReduce<int, 1024>;
  __shared__ typename Reduce::TempStorage temp;
  const int sum = Reduce(temp).Reduce(static_cast<int>(threadIdx.x), lib::Sum(), static_cast<int>(blockDim.x));
  if (threadIdx.x == 0) *out = sum;
}
void smaller() {
  Device<int> out(1);
  smaller_kernel<<<1, 300>>>(out);
  check(out.get()[0] == 300 * 299 / 2, "a block that is smaller than its type says");
}

#ifndef __HIP__
__global__ void masks_kernel(unsigned* out) {
  const unsigned lane = cub::LaneId();
  const unsigned masks[] = {cub::LaneMaskLt(), cub::LaneMaskLe(), cub::LaneMaskGt(), cub::LaneMaskGe(),
                            cub::WarpMask<8>(lane / 8), cub::WarpMask<32>(0), cub::WarpMask<12>(0)};
  cub::WARP_SYNC(0xffffffffu);
  for (unsigned i = 0; i < 7; ++i) out[i * 32 + lane] = masks[i];
  out[7 * 32 + lane] = cub::WARP_BALLOT(lane % 3 == 0, 0xffffffffu);
  out[8 * 32 + lane] = cub::WARP_ANY(lane == 5, 0xffffffffu) != 0 && cub::WARP_ALL(lane < 31, 0xffffffffu) == 0;
}
void masks() {
  Device<unsigned> out(9 * 32);
  masks_kernel<<<1, 32>>>(out);
  const auto got = out.get();
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned below = (1u << lane) - 1, own = 1u << lane;
    const unsigned want[] = {below, below | own, ~(below | own), ~below, 0xffu << lane / 8 * 8, 0xffffffffu, 0xfffu, 0x49249249u, 1u};
    for (unsigned i = 0; i < 9; ++i) check(got[i * 32 + lane] == want[i], "mask of lanes", lane, i);
  }
}
#endif

__global__ void decode_kernel(unsigned* out, unsigned* total_out) {
  using Decode = lib::BlockRunLengthDecode<unsigned, 64, 2, 3>;
  __shared__ typename Decode::TempStorage temp;
  unsigned items[2], lengths[2], total;
  for (unsigned i = 0; i < 2; ++i) {
    items[i] = 10 * (threadIdx.x * 2 + i);
    lengths[i] = 1 + (threadIdx.x * 2 + i) % 4;
  }
  Decode decode(temp, items, lengths, total);
  if (threadIdx.x == 0) *total_out = total;
  for (unsigned from = 0; from < total; from += 64 * 3) {
    unsigned decoded[3];
    decode.RunLengthDecode(decoded, from);
    for (unsigned i = 0; i < 3; ++i) {
      if (from + threadIdx.x * 3 + i < total) out[from + threadIdx.x * 3 + i] = decoded[i];
    }
  }
}
void decode() {
  std::vector<unsigned> want;
  for (unsigned run = 0; run < 128; ++run) want.insert(want.end(), 1 + run % 4, 10 * run);
  Device<unsigned> out(want.size()), total(1);
  decode_kernel<<<1, 64>>>(out, total);
  check(total.get()[0] == want.size(), "decoded size");
  same(out.get(), want, "run-length decode");
}

int main() {
  blocks<1, 1, 1, 1>();
  blocks<33, 1, 1, 2>();
  blocks<96, 1, 1, 1>();
  blocks<1000, 1, 1, 1>();
  blocks<8, 16, 1, 3>();
  blocks<4, 2, 5, 2>();
  sorts<int, 1, 1, 1>(true);
  sorts<int, 33, 1, 3>(true);
  sorts<float, 8, 8, 2>(true);
  sorts<unsigned char, 96, 1, 1>(false);
  sorts<double, 500, 1, 1>(true);
  warps<8>(8, 96);
  warps<16>(16, 64);
  warps<32>(32, 128);
  int wave = 32;
#ifdef __HIP__
  hipDeviceProp_t properties;
  if (hipGetDeviceProperties(&properties, 0) == hipSuccess) wave = properties.warpSize;
  if (wave == 64) warps<64>(64, 128);
#endif
  warps<0>(wave, 192);
  warp_items<8>();
  warp_items<32>();
  float_order();
  smaller();
#ifndef __HIP__
  masks();
#endif
  decode();
  return finish();
}
