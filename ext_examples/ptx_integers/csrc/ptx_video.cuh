// SPDX-License-Identifier: Apache-2.0
//
// Additions, comparisons and shifts of bytes and halves of words, with saturation and a second operation.
// What newer GPUs compute differently from what the manual says (an unsigned sum above all words, results put into the
// upper half) is left out.
#pragma once

typedef unsigned int u32;

// clang-format off
__device__ __inline__ int add_us(u32 a, int b)                    { int v; asm("vadd.s32.u32.s32 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b)); return v; }
__device__ __inline__ int add_sat(int a, int b)                   { int v; asm("vadd.s32.s32.s32.sat %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b)); return v; }
__device__ __inline__ int sub_sat(u32 a, u32 b)                   { int v; asm("vsub.s32.u32.u32.sat %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b)); return v; }
__device__ __inline__ int add_bytes_add(u32 a, u32 b, int c)      { int v; asm("vadd.s32.u32.u32.add %0, %1.b0, %2.b3, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ int sub_halves(u32 a, u32 b)                { int v; asm("vsub.s32.s32.s32 %0, %1.h1, %2.h0;" : "=r"(v) : "r"(a), "r"(b)); return v; }
__device__ __inline__ u32 distance(int a, int b)                  { u32 v; asm("vabsdiff.u32.s32.s32 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b)); return v; }
__device__ __inline__ u32 distance_add(u32 a, u32 b, u32 c)       { u32 v; asm("vabsdiff.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ u32 distance_of_bytes(u32 a, u32 b)         { u32 v; asm("vabsdiff.u32.u32.u32 %0, %1.b1, %2.b2;" : "=r"(v) : "r"(a), "r"(b)); return v; }
__device__ __inline__ int max_max(int a, int b, int c)            { int v; asm("vmax.s32.s32.s32.max %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ int min_max(int a, int b, int c)            { int v; asm("vmin.s32.s32.s32.max %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ u32 max_min(u32 a, u32 b, u32 c)            { u32 v; asm("vmax.u32.u32.u32.min %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ u32 less(u32 a, int b)                      { u32 v; asm("vset.u32.s32.lt %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b)); return v; }
__device__ __inline__ u32 not_less_add(u32 a, u32 b, u32 c)       { u32 v; asm("vset.u32.u32.ge.add %0, %1, %2.b1, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ u32 shift_left(u32 a, u32 b)                { u32 v; asm("vshl.u32.u32.u32.clamp %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b)); return v; }
__device__ __inline__ int shift_right(int a, u32 b)               { int v; asm("vshr.s32.s32.u32.wrap %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b)); return v; }
__device__ __inline__ int mad_halves(int a, int b, int c)         { int v; asm("vmad.s32.s32.s32.sat %0, %1.h0, %2.h1, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ int mad_scaled(int a, int b, int c)         { int v; asm("vmad.s32.s32.s32.sat.shr15 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ u32 into_half(u32 a, u32 b, u32 c)          { u32 v; asm("vadd.u32.u32.u32.sat %0.h0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ u32 distance4(u32 a, u32 b, u32 c)          { u32 v; asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c)); return v; }
__device__ __inline__ u32 add2_sat(u32 a, u32 b)                  { u32 v; asm("vadd2.s32.s32.s32.sat %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(0)); return v; }
// clang-format on
