// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

namespace reductions {

constexpr unsigned kFullMask = 0xffffffff;
constexpr int kWarpSize = 32;
constexpr int kMaxWarps = 1024 / kWarpSize;

template <typename T>
struct Sum {
  static __device__ __forceinline__ T identity() { return T(0); }
  __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};

// NaN wins, as in torch.max.
template <typename T>
struct Max {
  static __device__ __forceinline__ T identity() { return T(-INFINITY); }
  __device__ __forceinline__ T operator()(T a, T b) const { return a != a || a > b ? a : b; }
};

// Halves the distance each time; lane 0 ends with the result of the lanes of `mask`, which are the first of the warp.
template <typename T, typename Op>
__device__ __forceinline__ T warp_reduce(T value, Op op, unsigned mask = kFullMask) {
  const int lane = threadIdx.x % kWarpSize;
#pragma unroll
  for (int offset = kWarpSize >> 1; offset > 0; offset >>= 1) {
    const T other = __shfl_down_sync(mask, value, offset);
    if (lane + offset < __popc(mask)) value = op(value, other);
  }
  return value;
}

// Every lane ends with the result.
template <typename T, typename Op, int kWidth = kWarpSize>
__device__ __forceinline__ T warp_all_reduce(T value, Op op) {
#pragma unroll
  for (int lanes = 1; lanes < kWidth; lanes <<= 1) value = op(value, __shfl_xor_sync(kFullMask, value, lanes, kWidth));
  return value;
}

// The shuffle tree, twice: within each warp, then over what the warps found. Thread 0 has the result.
// Any block of up to 1024 threads, the last warp may have fewer than 32.
template <typename T, typename Op>
__device__ T block_reduce_tree(T value, Op op) {
  __shared__ T of_warp[kMaxWarps];
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const int warps = (blockDim.x + kWarpSize - 1) / kWarpSize;
  const int lanes = min(static_cast<int>(blockDim.x) - warp * kWarpSize, kWarpSize);
  const unsigned mask = lanes == kWarpSize ? kFullMask : (1u << lanes) - 1;
  value = warp_reduce(value, op, mask);
  __syncthreads();  // who called before may still read
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < warps ? of_warp[lane] : Op::identity();
    value = warp_reduce(value, op, mask);
    // A block of less than a warp has just one partial result; one of more has a whole first warp.
  }
  return value;
}

// One slot for each of up to 32 warps, read by the first warp. blockDim.x is a multiple of the warp.
template <typename T, typename Op>
__inline__ __device__ T block_reduce_shared(T value, Op op) {
  static __shared__ T shared[32];
  const int lane = threadIdx.x % warpSize;
  const int wid = threadIdx.x / warpSize;
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value = op(value, __shfl_down_sync(0xffffffff, value, offset));
  if (lane == 0) shared[wid] = value;
  __syncthreads();
  value = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : Op::identity();
  if (wid == 0) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) value = op(value, __shfl_down_sync(0xffffffff, value, offset));
  }
  __syncthreads();
  return value;
}

// Halves the block in shared memory while more than a warp is left, then shuffles. kThreads is a power of two, 64 or more.
template <int kThreads, typename T, typename Op>
__device__ T block_reduce_halving(T value, Op op) {
  static_assert(kThreads >= 64 && (kThreads & (kThreads - 1)) == 0, "a power of two");
  __shared__ T buffer[kThreads];
  const int t = threadIdx.x;
  buffer[t] = value;
  __syncthreads();
#pragma unroll
  for (int half = kThreads / 2; half >= 32; half /= 2) {
    if (t < half) buffer[t] = value = op(value, buffer[t + half]);
    __syncthreads();
  }
  if (t < 32) {
    for (int offset = 16; offset > 0; offset >>= 1) value = op(value, __shfl_down_sync(0xffffffffu, value, offset, 32));
  }
  return value;
}

}  // namespace reductions
