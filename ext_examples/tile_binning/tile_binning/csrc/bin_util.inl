// SPDX-License-Identifier: Apache-2.0

static __device__ __inline__ U32 getLaneMaskLt(void) { U32 r; asm("mov.u32 %0, %lanemask_lt;" : "=r"(r)); return r; }

static __host__ __device__ __inline__ S32 divUp(S32 a, S32 b) { return (a + b - 1) / b; }

// Inclusive sum over the lanes of a warp.
static __device__ __inline__ S32 scanWarp(S32 value) {
#pragma unroll
  for (U32 distance = 1; distance < 32; distance <<= 1) {
    const S32 before = __shfl_up_sync(~0u, value, distance);
    if (threadIdx.x >= distance) value += before;
  }
  return value;
}

// What each warp counted becomes what the warps before it counted, in temp[0 .. 15]; returns the sum of all.
// All threads of the block call it. temp has 17 places; the caller waits before it uses temp anew.
static __device__ __inline__ S32 prefixOfWarps(S32 ofWarp, volatile S32* temp) {
  if (threadIdx.x == 0) temp[threadIdx.y] = ofWarp;
  __syncthreads();
  // 16 lanes of the first warp are enough.
  if (threadIdx.y == 0 && threadIdx.x < BIN_WARPS) {
    S32 sum = temp[threadIdx.x];
    const S32 own = sum;
    for (U32 distance = 1; distance < BIN_WARPS; distance *= 2) {
      const S32 before = __shfl_up_sync(0x0000ffffu, sum, distance, BIN_WARPS);
      if (threadIdx.x >= distance) sum += before;
    }
    temp[threadIdx.x] = sum - own;
    if (threadIdx.x == BIN_WARPS - 1) temp[BIN_WARPS] = sum;
  }
  __syncthreads();
  return temp[BIN_WARPS];
}
