// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#define LANES 32
#define ALL_LANES 0xFFFFFFFFu

// Before CUDA 9 the votes had no mask.
#if CUDART_VERSION >= 9000
#define WARP_BALLOT(predicate) __ballot_sync(ALL_LANES, (predicate))
#define WARP_SHFL(value, lane) __shfl_sync(ALL_LANES, (value), (lane))
#else
#define WARP_BALLOT(predicate) __ballot(predicate)
#define WARP_SHFL(value, lane) __shfl((value), (lane))
#endif

// One bit for each lane of a warp.
typedef unsigned int lanemask_t;

__device__ __forceinline__ int lane_id() {
  int lane;
  asm("mov.s32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

__device__ __forceinline__ lanemask_t lanemask_lt() {
  lanemask_t mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

// The lane that acts for all lanes of the mask, which is not empty.
__device__ __forceinline__ int elect(lanemask_t lanes) { return __ffs(lanes) - 1; }

__device__ __forceinline__ int rank_in(lanemask_t lanes) { return __popc(lanes & lanemask_lt()); }

// A place at the end of a list for each lane that happens to be here: one atomic for all of them.
__device__ __forceinline__ int append_one(int* count) {
  const lanemask_t here = __activemask();
  const int leader = elect(here);
  int base = 0;
  if (lane_id() == leader) base = atomicAdd(count, __popc(here));
  base = __shfl_sync(here, base, leader);
  return base + rank_in(here);
}
