// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#define WARP_SIZE 32
#define FULL_MASK 0xffffffff

__device__ __forceinline__ int lane_id() { return threadIdx.x & 31; }

// Bits of the lanes before this one.
__device__ __forceinline__ unsigned lanes_before() { return (1u << lane_id()) - 1; }

// Where this lane's item goes if every lane of `keep` appends one to a list: one atomic for the warp, by its first
// such lane. Call it from exactly the lanes of `keep`.
__device__ __forceinline__ int warp_append(int* count, unsigned keep) {
  const int leader = __ffs(keep) - 1;
  int base = 0;
  if (lane_id() == leader) base = atomicAdd(count, __popc(keep));
  base = __shfl_sync(keep, base, leader);
  return base + __popc(keep & lanes_before());
}

__device__ __forceinline__ int warp_inclusive_sum(int value, unsigned mask = FULL_MASK) {
#pragma unroll
  for (int offset = 1; offset < WARP_SIZE; offset *= 2) {
    const int other = __shfl_up_sync(mask, value, offset);
    if (lane_id() >= offset) value += other;
  }
  return value;
}
