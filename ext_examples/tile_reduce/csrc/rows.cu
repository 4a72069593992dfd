// SPDX-License-Identifier: Apache-2.0

#include "tile_reduce.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cfloat>
#include <climits>

namespace cg = cooperative_groups;

template <typename T>
struct Limits;
template <>
struct Limits<float> {
  static __device__ float least() { return -FLT_MAX; }
  static __device__ float greatest() { return FLT_MAX; }
};
template <>
struct Limits<double> {
  static __device__ double least() { return -DBL_MAX; }
  static __device__ double greatest() { return DBL_MAX; }
};
template <>
struct Limits<int> {
  static __device__ int least() { return INT_MIN; }
  static __device__ int greatest() { return INT_MAX; }
};

template <typename T>
struct GreaterMagnitude {
  __device__ T operator()(T a, T b) const { return (a < 0 ? -a : a) < (b < 0 ? -b : b) ? b : a; }
};

template <typename T, int TILE>
__global__ void rowStatsKernel(const T* __restrict__ x, int rows, int columns, RowStats<T> out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<TILE>(block);
  const int row = block.group_index().x * tile.meta_group_size() + tile.meta_group_rank();
  if (row >= rows) return;  // whole tiles leave
  T sum = 0, most = Limits<T>::least(), least = Limits<T>::greatest(), magnitude = 0;
  for (int i = tile.thread_rank(); i < columns; i += tile.size()) {
    const T value = x[static_cast<size_t>(row) * columns + i];
    sum += value;
    most = max(most, value);
    least = min(least, value);
    magnitude = GreaterMagnitude<T>()(magnitude, value < 0 ? -value : value);
  }
  sum = cg::reduce(tile, sum, cg::plus<T>());
  most = cg::reduce(tile, most, cg::greater<T>());
  least = cg::reduce(tile, least, cg::less<T>());
  // An operation of one's own, and the same by hand.
  magnitude = cg::reduce(tile, magnitude, GreaterMagnitude<T>());
  for (int lanes = tile.size() / 2; lanes > 0; lanes /= 2) {
    magnitude = GreaterMagnitude<T>()(magnitude, tile.shfl_xor(magnitude, lanes));
  }
  if (tile.thread_rank() == 0) {
    out.sums[row] = sum;
    out.maxima[row] = most;
    out.minima[row] = least;
    out.magnitudes[row] = magnitude;
  }
}

template <typename T>
__global__ void rowScansKernel(
    const T* __restrict__ x, int rows, int columns, T* __restrict__ inclusive, T* __restrict__ exclusive,
    T* __restrict__ greatest) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  const int warps = gridDim.x * warp.meta_group_size();
  for (int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank(); row < rows; row += warps) {
    const size_t start = static_cast<size_t>(row) * columns;
    T before = 0, most = Limits<T>::least();
    for (int first = 0; first < columns; first += warp.num_threads()) {
      const int i = first + warp.thread_rank();
      const T value = i < columns ? x[start + i] : T(0);
      const T sum = cg::inclusive_scan(warp, value);
      const T sum_before = cg::exclusive_scan(warp, value, cg::plus<T>());
      const T so_far = cg::inclusive_scan(warp, i < columns ? value : Limits<T>::least(), cg::greater<T>());
      if (i < columns) {
        inclusive[start + i] = before + sum;
        exclusive[start + i] = before + sum_before;
        greatest[start + i] = max(most, so_far);
      }
      before += warp.shfl(sum, warp.size() - 1);
      most = max(most, warp.shfl(so_far, warp.size() - 1));
    }
  }
}

// Tiles of tiles: eight threads reduce, then the first of each eight write what the whole block has.
__global__ void blockBitsKernel(const int* __restrict__ x, int n, int* __restrict__ out) {
  __shared__ unsigned partial[3][128];
  cg::thread_block block = cg::this_thread_block();
  auto eight = cg::tiled_partition<8>(block);
  const int i = block.group_index().x * block.size() + block.thread_rank();
  const unsigned bits = i < n ? x[i] : 0u;
  const unsigned all = cg::reduce(eight, i < n ? bits : ~0u, cg::bit_and<unsigned>());
  const unsigned any = cg::reduce(eight, bits, cg::bit_or<unsigned>());
  const unsigned odd = cg::reduce(eight, bits, cg::bit_xor<unsigned>());
  if (eight.thread_rank() == 0) {
    partial[0][eight.meta_group_rank()] = all;
    partial[1][eight.meta_group_rank()] = any;
    partial[2][eight.meta_group_rank()] = odd;
  }
  block.sync();
  if (block.thread_rank() < 3) {
    const int which = block.thread_rank();
    unsigned result = partial[which][0];
    for (unsigned g = 1; g < eight.meta_group_size(); ++g) {
      const unsigned other = partial[which][g];
      result = which == 0 ? result & other : which == 1 ? result | other : result ^ other;
    }
    out[which * gridDim.x + blockIdx.x] = result;
  }
}

template <typename T>
void rowStats(const T* x, int rows, int columns, RowStats<T> out, int tile, int block, cudaStream_t stream) {
  block = (block + tile - 1) / tile * tile;
  const int per_block = block / tile, blocks = (rows + per_block - 1) / per_block;
  if (tile == 8) rowStatsKernel<T, 8><<<blocks, block, 0, stream>>>(x, rows, columns, out);
  else if (tile == 16) rowStatsKernel<T, 16><<<blocks, block, 0, stream>>>(x, rows, columns, out);
  else rowStatsKernel<T, 32><<<blocks, block, 0, stream>>>(x, rows, columns, out);
}

template <typename T>
void rowScans(const T* x, int rows, int columns, T* inclusive, T* exclusive, T* greatest, int block, cudaStream_t stream) {
  block = (block + 31) / 32 * 32;
  rowScansKernel<T><<<(rows * 16 + block - 1) / block, block, 0, stream>>>(x, rows, columns, inclusive, exclusive, greatest);
}

void blockBits(const int* x, int n, int* out, int block, cudaStream_t stream) {
  blockBitsKernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, out);
}

#define INSTANTIATE(T)                                                                           \
  template void rowStats<T>(const T*, int, int, RowStats<T>, int, int, cudaStream_t);            \
  template void rowScans<T>(const T*, int, int, T*, T*, T*, int, cudaStream_t);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(int)
