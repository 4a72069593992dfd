// SPDX-License-Identifier: Apache-2.0

#include "compact_kernels.h"
#include "lanes.cuh"

namespace {

inline int blocks_for(int n, int block) { return (n + block - 1) / block; }
inline int whole_warps(int block) { return (block + LANES - 1) / LANES * LANES; }

template <typename T>
__global__ void count_above_kernel(const T* __restrict__ x, int n, T pivot, int* __restrict__ counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int count = __syncthreads_count(i < n && x[i] > pivot);
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads) split_kernel(
    const T* __restrict__ x, int n, T pivot, const int* __restrict__ ends, int above, T* __restrict__ out,
    int* __restrict__ source) {
  static_assert(kThreads % LANES == 0, "whole warps");
  constexpr int kWarps = kThreads / LANES;
  __shared__ int before[kWarps];

  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int warp = threadIdx.x / LANES;
  const T value = i < n ? x[i] : pivot;
  const bool keep = value > pivot;
  const lanemask_t kept = WARP_BALLOT(keep);
  if (lane_id() == 0) before[warp] = __popc(kept);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const int count = before[w];
      before[w] = sum;
      sum += count;
    }
  }
  __syncthreads();
  if (i >= n) return;
  const int above_before = (blockIdx.x ? ends[blockIdx.x - 1] : 0) + before[warp] + rank_in(kept);
  const int to = keep ? above_before : above + i - above_before;
  out[to] = value;
  source[to] = i;
}

template <typename T>
__global__ void select_kernel(
    const T* __restrict__ x, int n, T low, T high, int* __restrict__ below, int* __restrict__ above, int* sizes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T value = x[i];
  if (value < low) {
    below[append_one(sizes)] = i;
  } else if (value > high) {
    above[append_one(sizes + 1)] = i;
  }
}

// The lanes of a warp agree on one key after the other; the first lane that has it asks for places for all that have it.
__global__ void bucket_kernel(const int* __restrict__ keys, int n, int buckets, int* __restrict__ lists, int* sizes) {
  const int step = gridDim.x * blockDim.x;
  for (int first = blockIdx.x * blockDim.x; first < n; first += step) {
    const int i = first + threadIdx.x;
    const int key = i < n ? keys[i] : -1;
    const bool wanted = key >= 0 && key < buckets;
    lanemask_t todo = WARP_BALLOT(wanted);
    while (todo != 0) {
      const int leader = elect(todo);
      const int chosen = WARP_SHFL(key, leader);
      const lanemask_t peers = WARP_BALLOT(wanted && key == chosen);
      int base = 0;
      if (lane_id() == leader) base = atomicAdd(&sizes[chosen], __popc(peers));
      base = WARP_SHFL(base, leader);
      if (peers >> lane_id() & 1u) lists[static_cast<size_t>(chosen) * n + base + rank_in(peers)] = i;
      todo &= ~peers;
    }
  }
}

__global__ void extent_kernel(const int* __restrict__ x, int n, int* __restrict__ first, int* __restrict__ last) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const lanemask_t set = WARP_BALLOT(i < n && x[i] != 0);
  if (i < n && (threadIdx.x & 31) == 0) {
    first[i / 32] = __clz(__brev(set)) == 32 ? -1 : __clz(__brev(set));
    last[i / 32] = 31 - __clz(set);
  }
}

// A thread has a word to itself: its 32 bits are no lanes.
__global__ void unpack_kernel(
    const int* __restrict__ words, int n_words, const int* __restrict__ starts, unsigned char* __restrict__ bytes,
    int* __restrict__ places) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n_words * 32) bytes[i] = static_cast<unsigned>(words[i >> 5]) >> (i & 31) & 1u;
  if (i >= n_words) return;
  int to = starts[i];
  for (unsigned int word = words[i]; word != 0; word &= word - 1) places[to++] = i * 32 + __ffs(word) - 1;
}

}  // namespace

template <typename T>
void launch_count_above(const T* x, int n, T pivot, int* counts, cudaStream_t stream) {
  count_above_kernel<T><<<blocks_for(n, kSplitThreads), kSplitThreads, 0, stream>>>(x, n, pivot, counts);
}

template <typename T>
void launch_split(const T* x, int n, T pivot, const int* ends, int above, T* out, int* source, cudaStream_t stream) {
  split_kernel<T, kSplitThreads>
      <<<blocks_for(n, kSplitThreads), kSplitThreads, 0, stream>>>(x, n, pivot, ends, above, out, source);
}

template <typename T>
void launch_select(
    const T* x, int n, T low, T high, int* below, int* above, int* sizes, int block, cudaStream_t stream) {
  select_kernel<T><<<blocks_for(n, block), block, 0, stream>>>(x, n, low, high, below, above, sizes);
}

void launch_bucket(const int* keys, int n, int buckets, int* lists, int* sizes, int block, cudaStream_t stream) {
  block = whole_warps(block);
  // Half as many blocks as there is work for: each goes round more than once.
  const int blocks = (blocks_for(n, block) + 1) / 2;
  bucket_kernel<<<blocks, block, 0, stream>>>(keys, n, buckets, lists, sizes);
}

void launch_extent(const int* x, int n, int* first, int* last, int block, cudaStream_t stream) {
  block = whole_warps(block);
  extent_kernel<<<blocks_for(n, block), block, 0, stream>>>(x, n, first, last);
}

void launch_unpack(
    const int* words, int n_words, const int* starts, unsigned char* bytes, int* places, int block, cudaStream_t stream) {
  unpack_kernel<<<blocks_for(n_words * 32, block), block, 0, stream>>>(words, n_words, starts, bytes, places);
}

#define INSTANTIATE(T)                                                                                    \
  template void launch_count_above<T>(const T*, int, T, int*, cudaStream_t);                              \
  template void launch_split<T>(const T*, int, T, const int*, int, T*, int*, cudaStream_t);               \
  template void launch_select<T>(const T*, int, T, T, int*, int*, int*, int, cudaStream_t);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(int)
