// SPDX-License-Identifier: Apache-2.0

static __device__ __inline__ U32 getLaneMaskLt(void) { U32 r; asm("mov.u32 %0, %lanemask_lt;" : "=r"(r)); return r; }

// Inclusive sum over the lanes of a warp; lane is threadIdx.x.
static __device__ __inline__ S32 scanWarp(S32 value) {
#pragma unroll
  for (U32 distance = 1; distance < 32; distance <<= 1) {
    const S32 before = __shfl_up_sync(~0u, value, distance);
    if (threadIdx.x >= distance) value += before;
  }
  return value;
}

// Returns the sum of what the warps before this one counted, and the sum of all in total.
// All threads of the block call it; temp has WARPS + 1 places, which may be used anew after it.
static __device__ __inline__ S32 sumOfWarpsBefore(S32 ofWarp, volatile S32* temp, S32& total) {
  if (threadIdx.x == 0) temp[threadIdx.y] = ofWarp;
  __syncthreads();
  if (threadIdx.y == 0) {
    const S32 own = threadIdx.x < WARPS ? temp[threadIdx.x] : 0;
    const S32 sum = scanWarp(own);
    if (threadIdx.x < WARPS) temp[threadIdx.x] = sum - own;
    if (threadIdx.x == WARPS - 1) temp[WARPS] = sum;
  }
  __syncthreads();
  const S32 before = temp[threadIdx.y];
  total = temp[WARPS];
  __syncthreads();
  return before;
}

// The place of the k-th bit that is set, from 0; there are more than k.
static __device__ __inline__ S32 findSetBit(U64 mask, S32 k) {
  S32 at = 0;
#pragma unroll
  for (S32 width = 32; width > 0; width >>= 1) {
    const S32 count = __popcll(mask >> at & ((U64(1) << width) - 1));
    if (count <= k) {
      k -= count;
      at += width;
    }
  }
  return at;
}

// Twice the area of the triangle of an edge and a point: positive on the inner side.
static __device__ __inline__ S64 edge(const Setup& s, S32 i, S32 px, S32 py) {
  const S32 j = i == 2 ? 0 : i + 1;
  return S64(s.x[j] - s.x[i]) * (py - s.y[i]) - S64(s.y[j] - s.y[i]) * (px - s.x[i]);
}

// Of two triangles that share an edge, one has the points on it.
static __device__ __inline__ S32 edgeBias(const Setup& s, S32 i) {
  const S32 j = i == 2 ? 0 : i + 1;
  const S32 dx = s.x[j] - s.x[i], dy = s.y[j] - s.y[i];
  return dy < 0 || (dy == 0 && dx > 0) ? 0 : -1;
}

static __device__ __inline__ S32 centerOf(S32 pixel) { return (pixel << SUBPIXEL_LOG2) + (1 << (SUBPIXEL_LOG2 - 1)); }

// Whether the triangle may have the center of a pixel from (x, y) up to, but without, (x + size, y + size).
static __device__ __inline__ bool mayTouch(const Setup& s, S32 x, S32 y, S32 size) {
  if (s.loX >= x + size || s.hiX < x || s.loY >= y + size || s.hiY < y) return false;
#pragma unroll
  for (S32 i = 0; i < 3; i++) {
    const S32 j = i == 2 ? 0 : i + 1;
    // The pixel that is farthest inside.
    const S32 cx = s.y[j] < s.y[i] ? x + size - 1 : x, cy = s.x[j] > s.x[i] ? y + size - 1 : y;
    if (edge(s, i, centerOf(cx), centerOf(cy)) + edgeBias(s, i) < 0) return false;
  }
  return true;
}
