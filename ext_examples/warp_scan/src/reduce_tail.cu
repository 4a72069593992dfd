// SPDX-License-Identifier: Apache-2.0
//
// The tail of a reduction: once 64 values are left, one warp goes on without barriers.

#include "scan.h"

namespace {

// Each step waits for the one before.
template <typename T>
__device__ void tailThatWaits(volatile T* s, int t) {
  T value = s[t];
  value += s[t + 32];
  __syncwarp();
  s[t] = value;
  __syncwarp();
  value += s[t + 16];
  __syncwarp();
  s[t] = value;
  __syncwarp();
  value += s[t + 8];
  __syncwarp();
  s[t] = value;
  __syncwarp();
  value += s[t + 4];
  __syncwarp();
  s[t] = value;
  __syncwarp();
  value += s[t + 2];
  __syncwarp();
  s[t] = value;
  __syncwarp();
  value += s[t + 1];
  __syncwarp();
  s[t] = value;
}

// As programs had it before Volta: right only where the 32 lanes run in lockstep, which CUDA no longer promises.
// Lanes above the sum compute what nobody reads.
template <typename T>
__device__ void tailInLockstep(volatile T* s, int t) {
  s[t] += s[t + 32];
  s[t] += s[t + 16];
  s[t] += s[t + 8];
  s[t] += s[t + 4];
  s[t] += s[t + 2];
  s[t] += s[t + 1];
}

template <typename T, unsigned int blockSize, bool lockstep>
__global__ void sumBlocksKernel(const T* __restrict__ x, int n, T* sums) {
  __shared__ T s[blockSize];
  const unsigned int t = threadIdx.x;
  const unsigned int i = blockIdx.x * blockSize + t;
  s[t] = i < n ? x[i] : T(0);
  __syncthreads();
  if (blockSize >= 512) {
    if (t < 256) s[t] += s[t + 256];
    __syncthreads();
  }
  if (blockSize >= 256) {
    if (t < 128) s[t] += s[t + 128];
    __syncthreads();
  }
  if (blockSize >= 128) {
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
  }
  if (t < 32) {
    if (lockstep) {
      tailInLockstep<T>(s, t);
    } else {
      tailThatWaits<T>(s, t);
    }
  }
  if (t == 0) sums[blockIdx.x] = s[0];
}

template <typename T, bool lockstep>
void launchSumBlocks(const T* x, int n, T* sums, int block, cudaStream_t stream) {
  const int blocks = (n + block - 1) / block;
  switch (block) {
    case 64: sumBlocksKernel<T, 64, lockstep><<<blocks, 64, 0, stream>>>(x, n, sums); break;
    case 128: sumBlocksKernel<T, 128, lockstep><<<blocks, 128, 0, stream>>>(x, n, sums); break;
    case 256: sumBlocksKernel<T, 256, lockstep><<<blocks, 256, 0, stream>>>(x, n, sums); break;
    case 512: sumBlocksKernel<T, 512, lockstep><<<blocks, 512, 0, stream>>>(x, n, sums); break;
  }
}

}  // namespace

template <typename T>
cudaError_t sumBlocks(const T* x, int n, T* sums, int block, bool lockstep, cudaStream_t stream) {
  if (block != 64 && block != 128 && block != 256 && block != 512) return cudaErrorInvalidValue;
  if (lockstep) {
    launchSumBlocks<T, true>(x, n, sums, block, stream);
  } else {
    launchSumBlocks<T, false>(x, n, sums, block, stream);
  }
  return cudaGetLastError();
}

template cudaError_t sumBlocks<int>(const int*, int, int*, int, bool, cudaStream_t);
template cudaError_t sumBlocks<long long>(const long long*, int, long long*, int, bool, cudaStream_t);
template cudaError_t sumBlocks<float>(const float*, int, float*, int, bool, cudaStream_t);
template cudaError_t sumBlocks<double>(const double*, int, double*, int, bool, cudaStream_t);
