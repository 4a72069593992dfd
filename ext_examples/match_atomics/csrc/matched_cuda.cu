// SPDX-License-Identifier: Apache-2.0
//
// Where many lanes of a warp add to one address, one of them does it for all.

#include "matched.h"
#include "peers.cuh"

namespace matched {

namespace {

__host__ __device__ constexpr int div_up(int a, int b) { return (a + b - 1) / b; }

// Lanes past the end and lanes whose key is out of range are named in no mask. A block need not be whole warps.
__global__ void count_kernel(const int* __restrict__ keys, int n, int bins, int* __restrict__ counts, int* __restrict__ ranks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int key = i < n ? keys[i] : -1;
  const bool counted = key >= 0 && key < bins;
  const mask_t here = __ballot_sync(0xffffffff, counted);
  if (counted) {
    const Peers peers = Peers::of(here, key);
    if (peers.leads()) atomicAdd(counts + key, peers.size());
    ranks[i] = peers.rank();
  } else if (i < n) {
    ranks[i] = -1;
  }
}

template <typename T>
__global__ void accumulate_kernel(
    const int* __restrict__ keys, const T* __restrict__ values, const int* __restrict__ ints, int n, int bins, T* sums,
    int* maxima) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const mask_t inside = __ballot_sync(0xffffffff, i < n && keys[i] >= 0 && keys[i] < bins);
  if (!(inside >> lane() & 1)) return;
  const int key = keys[i];
  // The common case by itself: the whole warp adds to one bin.
  int same;
  __match_all_sync(inside, key, &same);
  if (same) {
    const int greatest = __reduce_max_sync(inside, ints[i]);
    const T sum = sum_of_peers(inside, Peers{inside}, values[i]);
    if (lane() == __ffs(inside) - 1) {
      atomicAdd(sums + key, sum);
      atomicMax(maxima + key, greatest);
    }
    return;
  }
  const Peers peers = Peers::of(inside, key);
  const T sum = sum_of_peers(inside, peers, values[i]);
  const int greatest = __reduce_max_sync(peers.mask, ints[i]);  // lanes of different masks at one call
  if (peers.leads()) {
    atomicAdd(sums + key, sum);
    atomicMax(maxima + key, greatest);
  }
}

// Whichever lanes are here together: each group of them that has one key asks once.
__global__ void places_kernel(const long long* __restrict__ keys, int n, int* __restrict__ next, int* __restrict__ out) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const unsigned here = __activemask();
    const long long key = keys[i];
    const unsigned peers = __match_any_sync(here, key);
    const int leader = __ffs(peers) - 1;
    int base = 0;
    if (lane() == leader) base = atomicAdd(&next[key & 1023], __popc(peers));
    // Groups of peers ask their leaders side by side.
    base = __shfl_sync(peers, base, leader);
    out[i] = base + __popc(peers & lanes_below());
  }
}

template <typename T>
__global__ void alike_kernel(const T* __restrict__ x, int n, int* sizes, int* all) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned inside = __ballot_sync(0xffffffffu, i < n);
  if (i < n) {
    int same = 0;
    const T value = x[i];
    const unsigned agreed = __match_all_sync(inside, value, &same);
    sizes[i] = __popc(__match_any_sync(inside, value));
    if (lane() == 0) all[i / 32] = agreed == inside ? same : -same;
  }
}

}  // namespace

void count(const int* keys, int n, int bins, int* counts, int* ranks, int block, cudaStream_t stream) {
  count_kernel<<<div_up(n, block), block, 0, stream>>>(keys, n, bins, counts, ranks);
}

template <typename T>
void accumulate(
    const int* keys, const T* values, const int* ints, int n, int bins, T* sums, int* maxima, int block,
    cudaStream_t stream) {
  // The ballot names all 32 lanes of a warp.
  const int whole = div_up(block, 32) * 32;
  accumulate_kernel<T><<<div_up(n, whole), whole, 0, stream>>>(keys, values, ints, n, bins, sums, maxima);
}

void places(const long long* keys, int n, int* next, int* out, int block, cudaStream_t stream) {
  places_kernel<<<div_up(n, 3 * block), block, 0, stream>>>(keys, n, next, out);
}

template <typename T>
void alike(const T* x, int n, int* sizes, int* all, int block, cudaStream_t stream) {
  const int whole = div_up(block, 32) * 32;
  alike_kernel<T><<<div_up(n, whole), whole, 0, stream>>>(x, n, sizes, all);
}

template void accumulate(const int*, const float*, const int*, int, int, float*, int*, int, cudaStream_t);
template void accumulate(const int*, const double*, const int*, int, int, double*, int*, int, cudaStream_t);
template void alike(const float*, int, int*, int*, int, cudaStream_t);
template void alike(const double*, int, int*, int*, int, cudaStream_t);
template void alike(const int*, int, int*, int*, int, cudaStream_t);
template void alike(const unsigned long long*, int, int*, int*, int, cudaStream_t);

}  // namespace matched
