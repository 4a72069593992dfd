// SPDX-License-Identifier: Apache-2.0
//
// Groups that are made while the program runs: of the threads that are here, and of those that have the same label.

#include "tile_reduce.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

using namespace cooperative_groups;

namespace {

// One atomic for all threads that are here.
__device__ int next_place(int* size) {
  coalesced_group here = coalesced_threads();
  int first = 0;
  if (here.thread_rank() == 0) first = atomicAdd(size, here.size());
  return here.shfl(first, 0) + here.thread_rank();
}

template <typename T>
__global__ void sumByKeyKernel(
    const int* __restrict__ keys, const T* __restrict__ values, int n, T* sums, int* counts, int* first) {
  const int i = this_grid().thread_rank();
  if (i >= n) return;
  const auto active = coalesced_threads();
  const auto peers = labeled_partition(active, keys[i]);
  const T sum = reduce(peers, values[i], plus<T>());
  const int least = reduce(peers, i, less<int>());
  if (peers.thread_rank() == 0) {
    atomicAdd(sums + keys[i], sum);
    atomicAdd(counts + keys[i], static_cast<int>(peers.num_threads()));
    atomicMin(first + keys[i], least);
  }
}

__global__ void splitKernel(const int* __restrict__ x, int n, int* positive, int* negative, int* sizes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (x[i] > 0) {
    positive[next_place(sizes)] = i;
  } else if (x[i] < 0) {
    negative[next_place(sizes + 1)] = i;
  }
}

__global__ void votesKernel(const int* __restrict__ x, int n, int* __restrict__ out) {
  const auto tile = tiled_partition<16>(this_thread_block());
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;  // whole tiles
  const int value = x[i];
  const unsigned positive = tile.ballot(value > 0);
  const unsigned equal = tile.match_any(value);
  out[0 * n + i] = positive;
  out[1 * n + i] = equal;
  out[2 * n + i] = tile.any(value > 8);
  out[3 * n + i] = tile.all(value > -9);
  const auto alike = binary_partition(tile, (value & 1) != 0);
  int sum = 0;
  for (unsigned rank = 0; rank < alike.size(); ++rank) sum += alike.shfl(value, rank);
  out[4 * n + i] = sum;
}

}  // namespace

template <typename T>
void sumByKey(const int* keys, const T* values, int n, T* sums, int* counts, int* first, int block, cudaStream_t stream) {
  sumByKeyKernel<T><<<(n + block - 1) / block, block, 0, stream>>>(keys, values, n, sums, counts, first);
}

void split(const int* x, int n, int* positive, int* negative, int* sizes, int block, cudaStream_t stream) {
  splitKernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, positive, negative, sizes);
}

void votes(const int* x, int n, int* out, int block, cudaStream_t stream) {
  votesKernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, out);
}

template void sumByKey<float>(const int*, const float*, int, float*, int*, int*, int, cudaStream_t);
template void sumByKey<double>(const int*, const double*, int, double*, int*, int*, int, cudaStream_t);
template void sumByKey<int>(const int*, const int*, int, int*, int*, int*, int, cudaStream_t);
