// SPDX-License-Identifier: Apache-2.0
#pragma once

typedef unsigned int u32;

#define PTX_UNARY(name, instruction)                            \
  __device__ __forceinline__ u32 name(u32 a) {                  \
    u32 result;                                                 \
    asm(instruction " %0, %1;" : "=r"(result) : "r"(a));        \
    return result;                                              \
  }
#define PTX_BINARY(name, instruction)                                   \
  __device__ __forceinline__ u32 name(u32 a, u32 b) {                   \
    u32 result;                                                         \
    asm(instruction " %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));    \
    return result;                                                      \
  }
#define PTX_TERNARY(name, instruction)                                              \
  __device__ __forceinline__ u32 name(u32 a, u32 b, u32 c) {                        \
    u32 result;                                                                     \
    asm(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));    \
    return result;                                                                  \
  }

PTX_UNARY(brev, "brev.b32")
PTX_UNARY(leading_zeros, "clz.b32")
PTX_UNARY(ones, "popc.b32")
PTX_UNARY(logical_not, "cnot.b32")
PTX_BINARY(add_saturating, "add.sat.s32")
PTX_BINARY(less_signed, "set.lt.u32.s32")
PTX_TERNARY(sad_unsigned, "sad.u32")
PTX_TERNARY(sad_signed, "sad.s32")

__device__ __forceinline__ u32 bfe(u32 value, u32 start, u32 count) {
  u32 r;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(value), "r"(start), "r"(count));
  return r;
}

__device__ __forceinline__ int bfe_signed(int value, u32 start, u32 count) {
  int r;
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(value), "r"(start), "r"(count));
  return r;
}

__device__ __forceinline__ u32 bfi(u32 field, u32 into, u32 start, u32 count) {
  u32 r;
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(field), "r"(into), "r"(start), "r"(count));
  return r;
}

// The place of the highest bit that matters, or all ones.
__device__ __forceinline__ u32 highest_bit(u32 a) { u32 r; asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(a)); return r; }
__device__ __forceinline__ u32 highest_bit_signed(u32 a) { u32 r; asm("bfind.s32 %0, %1;" : "=r"(r) : "r"(a)); return r; }
__device__ __forceinline__ u32 normalizing_shift(u32 a) {
  u32 r;
  asm("bfind.shiftamt.u32 %0, %1;" : "=r"(r) : "r"(a));
  return r;
}

__device__ __forceinline__ u32 permute(u32 a, u32 b, u32 selector) {
  u32 r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
  return r;
}

// The mode is part of the instruction's name.
#define PERMUTE_MODE(mode)                                                                                          \
  __device__ __forceinline__ u32 permute_##mode(u32 a, u32 b, u32 c) {                                              \
    u32 r;                                                                                                          \
    asm("prmt.b32." #mode " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));                                   \
    return r;                                                                                                       \
  }
PERMUTE_MODE(f4e)
PERMUTE_MODE(b4e)
PERMUTE_MODE(rc8)
PERMUTE_MODE(ecl)
PERMUTE_MODE(ecr)
PERMUTE_MODE(rc16)

template <int kTable>
__device__ __forceinline__ u32 lop3(u32 a, u32 b, u32 c) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(c), "n"(kTable));
  return r;
}

__device__ __forceinline__ u32 funnel_left(u32 low, u32 high, u32 count) {
  u32 r;
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(count));
  return r;
}
__device__ __forceinline__ u32 funnel_right(u32 low, u32 high, u32 count) {
  u32 r;
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(count));
  return r;
}
__device__ __forceinline__ u32 funnel_left_clamped(u32 low, u32 high, u32 count) {
  u32 r;
  asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(count));
  return r;
}
__device__ __forceinline__ u32 funnel_right_clamped(u32 low, u32 high, u32 count) {
  u32 r;
  asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(count));
  return r;
}

// a if c is not negative, else b.
__device__ __forceinline__ u32 select_by_sign(u32 a, u32 b, u32 c) {
  u32 r;
  asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}

// c if a is less than b, else 0; by a predicate.
__device__ __forceinline__ u32 if_less(u32 a, u32 b, u32 c) {
  u32 r;
  asm("{\n\t"
      ".reg .pred p;\n\t"
      "setp.lt.u32 p, %1, %2;\n\t"
      "selp.u32 %0, %3, 0, p;\n\t"
      "}"
      : "=r"(r)
      : "r"(a), "r"(b), "r"(c));
  return r;
}

// a + b, unless both are odd: then a - b.
__device__ __forceinline__ u32 add_or_subtract(u32 a, u32 b) {
  u32 r;
  asm("{ .reg .pred odd; .reg .u32 both;"
      "  and.b32 both, %1, %2;"
      "  and.b32 both, both, 1;"
      "  setp.ne.u32 odd, both, 0;"
      "  add.u32 %0, %1, %2;"
      "  @odd sub.u32 %0, %1, %2; }"
      : "=r"(r)
      : "r"(a), "r"(b));
  return r;
}

__device__ __forceinline__ u32 dot4(u32 a, u32 b, u32 c) {
  u32 r;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ __forceinline__ int dot4_mixed(int a, u32 b, int c) {
  int r;
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
