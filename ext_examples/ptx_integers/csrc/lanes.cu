// SPDX-License-Identifier: Apache-2.0

#include "kernels.h"

#define SPECIAL_REGISTER(name)                               \
  static __device__ __forceinline__ u32 name() {             \
    u32 value;                                               \
    asm volatile("mov.u32 %0, %%" #name ";" : "=r"(value));  \
    return value;                                            \
  }
SPECIAL_REGISTER(laneid)
SPECIAL_REGISTER(lanemask_eq)
SPECIAL_REGISTER(lanemask_lt)
SPECIAL_REGISTER(lanemask_le)
SPECIAL_REGISTER(lanemask_gt)
SPECIAL_REGISTER(lanemask_ge)

namespace {

// The lanes of which the lowest bit is set, and of which it is not.
__device__ u32 ballot_odd(u32 value) {
  u32 lanes;
  asm volatile(
      "{\n\t"
      ".reg .pred odd;\n\t"
      ".reg .b32 lowest;\n\t"
      "and.b32 lowest, %1, 1;\n\t"
      "setp.eq.u32 odd, lowest, 1;\n\t"
      "vote.sync.ballot.b32 %0, odd, 0xffffffff;\n\t"
      "}"
      : "=r"(lanes)
      : "r"(value));
  return lanes;
}
__device__ u32 ballot_even(u32 value) {
  u32 lanes;
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, !p, %2; }"
      : "=r"(lanes)
      : "r"(value & 1), "r"(0xffffffff));
  return lanes;
}

// Whether any lane, all lanes, or all or none have a value other than 0; one bit each.
__device__ u32 votes(u32 value) {
  u32 any, all, uniform;
  asm volatile(
      "{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.any.pred q, p, -1; selp.u32 %0, 1, 0, q; }"
      : "=r"(any) : "r"(value));
  asm volatile(
      "{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.all.pred q, p, -1; selp.u32 %0, 1, 0, q; }"
      : "=r"(all) : "r"(value));
  asm volatile(
      "{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.uni.pred q, p, -1; selp.u32 %0, 1, 0, q; }"
      : "=r"(uniform) : "r"(value));
  return any | all << 1 | uniform << 2;
}

// One step of a scan: the predicate says whether there is a lane so far before this one.
__device__ u32 scan_step(u32 value, int distance, int clamp) {
  asm volatile(
      "{\n\t"
      ".reg .u32 before;\n\t"
      ".reg .pred inside;\n\t"
      "shfl.sync.up.b32 before|inside, %0, %1, %2, 0xffffffff;\n\t"
      "@inside add.u32 %0, before, %0;\n\t"
      "}"
      : "+r"(value)
      : "r"(distance), "r"(clamp));
  return value;
}

template <int kWidth>
__device__ u32 scan(u32 value) {
  constexpr int kClamp = (32 - kWidth) << 8;
#pragma unroll
  for (int distance = 1; distance < kWidth; distance *= 2) value = scan_step(value, distance, kClamp);
  return value;
}

__device__ u32 shuffle_down(u32 value, u32 distance) {
  u32 r;
  asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(value), "r"(distance));
  return r;
}
__device__ u32 shuffle_xor(u32 value, u32 lanes) {
  u32 r;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(r) : "r"(value), "r"(lanes));
  return r;
}
// Of the eight lanes that this one is among; and whether there is such a lane.
__device__ u32 shuffle_in_eight(u32 value, u32 lane, u32& inside) {
  u32 r;
  asm volatile(
      "{ .reg .pred p; shfl.sync.idx.b32 %0|p, %2, %3, 0x181f, 0xffffffff; selp.u32 %1, 1, 0, p; }"
      : "=r"(r), "=r"(inside)
      : "r"(value), "r"(lane));
  return r;
}

__device__ u32 match_any(u32 value) {
  u32 r;
  asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(value));
  return r;
}

#define REDUCE(name, instruction, type)                                                               \
  __device__ type name(type value, u32 lanes) {                                                       \
    type r;                                                                                           \
    asm volatile("redux.sync." instruction " %0, %1, %2;" : "=r"(r) : "r"(value), "r"(lanes));        \
    return r;                                                                                         \
  }
REDUCE(sum_of_lanes, "add.u32", u32)
REDUCE(least_of_lanes, "min.s32", int)
REDUCE(greatest_of_lanes, "max.u32", u32)
REDUCE(common_bits, "and.b32", u32)
REDUCE(different_bits, "xor.b32", u32)

__device__ u32 here() {
  u32 r;
  asm volatile("activemask.b32 %0;" : "=r"(r));
  return r;
}

}  // namespace

__global__ void lanes_kernel(const u32* as, int n, u32* out) {
  __shared__ volatile u32 neighbours[1024];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;  // whole warps
  const u32 a = as[i];
  int row = 0;
  auto put = [&](u32 value) { out[row++ * n + i] = value; };
  put(laneid());
  put(lanemask_eq());
  put(lanemask_lt());
  put(lanemask_le());
  put(lanemask_gt());
  put(lanemask_ge());
  put(ballot_odd(a));
  put(ballot_even(a));
  put(votes(a & 64));
  put(__popc(ballot_odd(a) & lanemask_lt()));
  put(scan<32>(a));
  put(scan<16>(a));
  put(scan<4>(a));
  put(shuffle_down(a, 3));
  put(shuffle_xor(a, 21));
  u32 inside;
  put(shuffle_in_eight(a, a & 15, inside));
  put(inside);
  put(match_any(a & 3));
  put(sum_of_lanes(a, 0xffffffff));
  put(least_of_lanes(a, ~0u));
  put(greatest_of_lanes(a, ~0u));
  put(common_bits(a, 0xffffffff) ^ different_bits(a, 0xffffffff));
  neighbours[threadIdx.x] = a;
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  put(neighbours[threadIdx.x ^ 1]);
  // Lanes in two branches: each sees at least itself.
  u32 seen;
  if (a & 1) {
    seen = here();
  } else {
    seen = here() << 0;
  }
  put((seen & lanemask_eq()) != 0);
}

void launch_lanes(const u32* a, int n, u32* out, int block, cudaStream_t stream) {
  lanes_kernel<<<(n + block - 1) / block, block, 0, stream>>>(a, n, out);
}
