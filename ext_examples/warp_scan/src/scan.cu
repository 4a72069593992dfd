// SPDX-License-Identifier: Apache-2.0

#include "scan.h"
#include "scan_warp.cuh"

namespace {

// A scan of each warp, a scan of the warps' sums by the first warp, and both together. All threads of the block call it.
template <typename T, int THREADS>
__device__ T scanBlock(T value, T& total) {
  const int WARPS = THREADS / WARP_SIZE;
  __shared__ volatile T padded[WARPS * PADDED_WARP];
  __shared__ volatile T sums[WARP_SIZE];
  const int lane = threadIdx.x & (WARP_SIZE - 1), warp = threadIdx.x >> LOG_WARP_SIZE;

  value = scanWarpPadded<T>(value, padded);
  if (lane == WARP_SIZE - 1) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    const T sum = lane < WARPS ? sums[lane] : T(0);
    __syncwarp();
    scanWarp<T>(sums, sum);
  }
  __syncthreads();
  if (warp > 0) value += sums[warp - 1];
  total = sums[WARPS - 1];
  __syncthreads();
  return value;
}

template <typename T, int THREADS>
__global__ void scanRowsKernel(const T* __restrict__ x, int columns, T* inclusive, T* exclusive) {
  const size_t row = static_cast<size_t>(blockIdx.x) * columns;
  T before = 0;
  for (int first = 0; first < columns; first += THREADS) {
    const int i = first + threadIdx.x;
    const T value = i < columns ? x[row + i] : T(0);
    T total;
    const T sum = before + scanBlock<T, THREADS>(value, total);
    if (i < columns) {
      inclusive[row + i] = sum;
      exclusive[row + i] = sum - value;
    }
    before += total;
  }
}

// Sums and flags go through the array together: a sum is not added to once a flag stands between.
template <typename T>
__global__ void scanSegmentsKernel(const T* __restrict__ x, const int* __restrict__ flags, int n, T* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  volatile T* sums = reinterpret_cast<volatile T*>(memory);
  volatile int* heads = reinterpret_cast<volatile int*>(memory + blockDim.x * sizeof(T));
  const int t = threadIdx.x, lane = t % WARP_SIZE, i = blockIdx.x * blockDim.x + t;
  T sum = i < n ? x[i] : T(0);
  int head = i < n && flags[i] != 0;
  sums[t] = sum;
  heads[t] = head;
  WARP_WAIT();
  for (int distance = 1; distance < WARP_SIZE; distance <<= 1) {
    T before = 0;
    int before_head = 0;
    if (lane >= distance) {
      before = sums[t - distance];
      before_head = heads[t - distance];
    }
    WARP_WAIT();
    if (!head) sum += before;
    head |= before_head;
    sums[t] = sum;
    heads[t] = head;
    WARP_WAIT();
  }
  if (i < n) out[i] = sum;
}

}  // namespace

template <typename T>
cudaError_t scanRows(const T* x, int rows, int columns, T* inclusive, T* exclusive, int block, cudaStream_t stream) {
  switch (block) {
#define BLOCK_OF(THREADS)                                                                          \
  case THREADS:                                                                                    \
    scanRowsKernel<T, THREADS><<<rows, THREADS, 0, stream>>>(x, columns, inclusive, exclusive);    \
    break;
    BLOCK_OF(64)
    BLOCK_OF(128)
    BLOCK_OF(256)
    BLOCK_OF(1024)
#undef BLOCK_OF
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

template <typename T>
cudaError_t scanSegments(const T* x, const int* flags, int n, T* out, int block, cudaStream_t stream) {
  block = (block + WARP_SIZE - 1) & ~(WARP_SIZE - 1);
  const size_t shared = block * (sizeof(T) + sizeof(int));
  scanSegmentsKernel<T><<<(n + block - 1) / block, block, shared, stream>>>(x, flags, n, out);
  return cudaGetLastError();
}

template cudaError_t scanRows<int>(const int*, int, int, int*, int*, int, cudaStream_t);
template cudaError_t scanRows<long long>(const long long*, int, int, long long*, long long*, int, cudaStream_t);
template cudaError_t scanRows<float>(const float*, int, int, float*, float*, int, cudaStream_t);
template cudaError_t scanRows<double>(const double*, int, int, double*, double*, int, cudaStream_t);
template cudaError_t scanSegments<int>(const int*, const int*, int, int*, int, cudaStream_t);
template cudaError_t scanSegments<long long>(const long long*, const int*, int, long long*, int, cudaStream_t);
template cudaError_t scanSegments<float>(const float*, const int*, int, float*, int, cudaStream_t);
template cudaError_t scanSegments<double>(const double*, const int*, int, double*, int, cudaStream_t);
