// SPDX-License-Identifier: Apache-2.0

#include "bitonic.h"
#include "warp_bitonic.cuh"

namespace {

constexpr int kRowsPerBlock = 4;

template <typename T>
__device__ __forceinline__ Item<typename Ordered<T>::Key> load(const T* row, int i, int columns, bool descending) {
  using Key = typename Ordered<T>::Key;
  if (i >= columns) return Item<Key>::last();
  const Key key = Ordered<T>::key(row[i]);
  return Item<Key>{descending ? Key(~key) : key, i};
}

// A thread to an element. Partners up to 16 lanes away are in the same warp; those farther away meet in shared memory.
template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads) sort_rows_kernel(const T* x, int columns, bool descending, int* order) {
  using Key = typename Ordered<T>::Key;
  __shared__ Key keys[kThreads];
  __shared__ int indices[kThreads];
  const int t = threadIdx.x;
  const size_t row = static_cast<size_t>(blockIdx.x) * columns;
  Item<Key> mine = load(x + row, t, columns, descending);
#pragma unroll 1
  for (int size = 2; size <= kThreads; size <<= 1) {
    const bool rising = (t & size) == 0;
    int away = size / 2;
    for (; away >= warpSize; away /= 2) {
      __syncthreads();
      keys[t] = mine.key;
      indices[t] = mine.index;
      __syncthreads();
      const Item<Key> other{keys[t ^ away], indices[t ^ away]};
      const bool keep_earlier = ((t & away) == 0) == rising;
      if (other.before(mine) == keep_earlier) mine = other;
    }
    for (; away > 0; away /= 2) warp::exchange(mine, away, ((t & away) == 0) == rising);
  }
  if (t < columns) order[row + t] = mine.index;
}

// A warp to a row, for rows of up to 32.
template <typename T>
__global__ void sort_short_rows_kernel(const T* x, int rows, int columns, bool descending, int* order) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;  // whole warps leave
  auto mine = load(x + static_cast<size_t>(row) * columns, threadIdx.x, columns, descending);
  warp::sort<32>(mine, threadIdx.x);
  if (threadIdx.x < columns) order[static_cast<size_t>(row) * columns + threadIdx.x] = mine.index;
}

// The lanes hold the best 32 so far, sorted. Another 32 are sorted; the better of the lane's and of the opposite lane's
// rise and fall, and are merged.
template <typename T>
__global__ void top_of_rows_kernel(const T* __restrict__ x, int rows, int columns, int k, int* __restrict__ order) {
  using Key = typename Ordered<T>::Key;
  const int lane = threadIdx.x & 31;
  for (int row = blockIdx.x * kRowsPerBlock + threadIdx.x / 32; row < rows; row += gridDim.x * kRowsPerBlock) {
    const T* from = x + static_cast<size_t>(row) * columns;
    Item<Key> best = load(from, lane, columns, true);
    warp::sort<32>(best, lane);
    for (int first = 32; first < columns; first += 32) {
      Item<Key> mine = load(from, first + lane, columns, true);
      // Nothing to do if none is better than the worst of the best.
      Item<Key> worst;
      worst.key = __shfl_sync(0xffffffffU, best.key, 31);
      worst.index = __shfl_sync(0xffffffffU, best.index, 31);
      if (!__any_sync(0xffffffffU, mine.before(worst))) continue;
      warp::sort<32>(mine, lane);
      Item<Key> opposite;
      opposite.key = __shfl_sync(0xffffffffU, mine.key, 31 - lane);
      opposite.index = __shfl_sync(0xffffffffU, mine.index, 31 - lane);
      if (opposite.before(best)) best = opposite;
      warp::merge<32>(best, lane);
    }
    if (lane < k) order[static_cast<size_t>(row) * k + lane] = lane < columns ? best.index : -1;
  }
}

// kWidth lanes to a group: what a lane ends with tells the lane it came from where it stands.
template <typename T, int kWidth>
__global__ void rank_groups_kernel(const T* __restrict__ x, int n, int* __restrict__ ranks) {
  using Key = typename Ordered<T>::Key;
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % kWidth;
  Item<Key> mine = load(x, i, n, false);
  mine.index = lane;
  if (i >= n) mine.key = ~Key(0);
  warp::sort<kWidth>(mine, threadIdx.x % 32);
  int rank = 0;
#pragma unroll
  for (int other = 0; other < kWidth; ++other) {
    if (__shfl_sync(0xffffffffU, mine.index, other, kWidth) == lane) rank = other;
  }
  if (i < n) ranks[i] = rank;
}

}  // namespace

template <typename T>
void sort_rows(const T* x, int rows, int columns, bool descending, int* order, cudaStream_t stream) {
  if (columns <= 32) {
    const dim3 block(32, kRowsPerBlock);
    sort_short_rows_kernel<T>
        <<<(rows + kRowsPerBlock - 1) / kRowsPerBlock, block, 0, stream>>>(x, rows, columns, descending, order);
  } else if (columns <= 64) {
    sort_rows_kernel<T, 64><<<rows, 64, 0, stream>>>(x, columns, descending, order);
  } else if (columns <= 256) {
    sort_rows_kernel<T, 256><<<rows, 256, 0, stream>>>(x, columns, descending, order);
  } else {
    sort_rows_kernel<T, 1024><<<rows, 1024, 0, stream>>>(x, columns, descending, order);
  }
}

template <typename T>
void top_of_rows(const T* x, int rows, int columns, int k, int* order, cudaStream_t stream) {
  // At most two blocks: warps go round.
  const int blocks = rows > kRowsPerBlock ? 2 : 1;
  top_of_rows_kernel<T><<<blocks, kRowsPerBlock * 32, 0, stream>>>(x, rows, columns, k, order);
}

template <typename T>
void rank_groups(const T* x, int n, int width, int* ranks, cudaStream_t stream) {
  const int block = 96, blocks = (n + block - 1) / block;
  switch (width) {
    case 8: rank_groups_kernel<T, 8><<<blocks, block, 0, stream>>>(x, n, ranks); break;
    case 16: rank_groups_kernel<T, 16><<<blocks, block, 0, stream>>>(x, n, ranks); break;
    case 32: rank_groups_kernel<T, 32><<<blocks, block, 0, stream>>>(x, n, ranks); break;
  }
}

#define FOR_TYPE(T)                                                                       \
  template void sort_rows<T>(const T*, int, int, bool, int*, cudaStream_t);               \
  template void top_of_rows<T>(const T*, int, int, int, int*, cudaStream_t);              \
  template void rank_groups<T>(const T*, int, int, int*, cudaStream_t);

FOR_TYPE(float)
FOR_TYPE(double)
FOR_TYPE(c10::Half)
FOR_TYPE(int)
FOR_TYPE(std::int64_t)
