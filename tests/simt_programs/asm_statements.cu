// SPDX-License-Identifier: Apache-2.0
// Asm statements of the kinds that programs have, each beside what the PTX manual says that it does, written out in C++.
// Prints the number of each check that fails, and how often it does.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

__device__ unsigned bfe32(unsigned v, int pos, int len) {
  unsigned r;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(pos), "r"(len));
  return r;
}
__device__ uint64_t bfe64(uint64_t v, int pos, int len) {
  uint64_t r;
  asm("bfe.u64 %0, %1, %2, %3;" : "=l"(r) : "l"(v), "r"(pos), "r"(len));
  return r;
}
__device__ unsigned bfi32(unsigned d, unsigned ins, int pos, int len) {
  unsigned r;
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(ins), "r"(d), "r"(pos), "r"(len));
  return r;
}
__device__ int lane_gt() { unsigned r; asm("mov.u32 %0, %%lanemask_ge;" : "=r"(r)); return r; }
__device__ uint64_t rotl(uint64_t a, int n) {
  uint64_t r;
  asm("{ .reg .b32 lo, hi, t; mov.b64 {lo, hi}, %1; shf.l.wrap.b32 t, lo, hi, %2; shf.l.wrap.b32 hi, hi, lo, %2; mov.b64 %0, {hi, t}; }" : "=l"(r) : "l"(a), "r"(n));
  return r;
}
__device__ uint64_t xor5(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) {
  uint64_t r;
  asm("xor.b64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b));
  asm("xor.b64 %0, %0, %1;" : "+l"(r) : "l"(c));
  asm("xor.b64 %0, %0, %1;" : "+l"(r) : "l"(d));
  asm("xor.b64 %0, %0, %1;" : "+l"(r) : "l"(e));
  return r;
}
__device__ uint64_t chi(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t r;
  asm("{ .reg .u64 t; not.b64 t, %2; and.b64 t, t, %3; xor.b64 %0, t, %1; }" : "=l"(r) : "l"(a), "l"(b), "l"(c));
  return r;
}
__device__ unsigned swab(unsigned x) {
  unsigned r;
  asm("prmt.b32 %0, %1, 0, 0x0123;" : "=r"(r) : "r"(x));
  return r;
}
__device__ uint64_t joined(uint2 x) {
  uint64_t r;
  asm("mov.b64 %0,{%1,%2};" : "=l"(r) : "r"(x.x), "r"(x.y));
  return r;
}
__device__ uint2 parted(uint64_t x) {
  uint2 r;
  asm("mov.b64 {%0,%1},%2;" : "=r"(r.x), "=r"(r.y) : "l"(x));
  return r;
}
__device__ void add128(unsigned *r, const unsigned *a, const unsigned *b) {
  asm("add.cc.u32 %0, %4, %8;\naddc.cc.u32 %1, %5, %9;\naddc.cc.u32 %2, %6, %10;\naddc.u32 %3, %7, %11;"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
      "r"(b[1]), "r"(b[2]), "r"(b[3]));
}
__device__ void mul64(unsigned *r, unsigned a0, unsigned a1, unsigned b0, unsigned b1) {
  asm("{\n\tmul.lo.u32 %0, %4, %6;\nmul.hi.u32 %1, %4, %6;\nmad.lo.cc.u32 %1, %4, %7, %1;\nmadc.hi.u32 %2, %4, %7, 0;\nmad.lo.cc.u32 %1, %5, %6, %1;\nmadc.hi.cc.u32 %2, %5, %6, %2;\naddc.u32 %3, 0, 0;\nmad.lo.cc.u32 %2, %5, %7, %2;\nmadc.hi.u32 %3, %5, %7, %3;\n}" : "=r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]) : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
}
__device__ void sub192(uint64_t *r, const uint64_t *a, const uint64_t *b, unsigned &borrow) {
  asm("sub.cc.u64 %0, %4, %7; subc.cc.u64 %1, %5, %8; subc.cc.u64 %2, %6, %9; subc.u32 %3, 0, 0;" : "=l"(r[0]),
      "=l"(r[1]), "=l"(r[2]), "=r"(borrow) : "l"(a[0]), "l"(a[1]), "l"(a[2]), "l"(b[0]), "l"(b[1]), "l"(b[2]));
}
__device__ uint64_t mul_add_wide(unsigned a, unsigned b, uint64_t c) {
  uint64_t r;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(r) : "r"(a), "r"(b), "l"(c));
  return r;
}
__device__ void mul128(uint64_t a, uint64_t b, uint64_t &lo, uint64_t &hi) {
  asm("mul.lo.u64 %0, %2, %3; mul.hi.u64 %1, %2, %3;" : "=&l"(lo), "=l"(hi) : "l"(a), "l"(b));
}
__device__ void chain2(unsigned *r, unsigned a, unsigned b) {
  asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r[0]) : "r"(a), "r"(b));
  asm volatile("addc.u32 %0, 0, 0;" : "=r"(r[1]));
}
__device__ int halves_added(int a, int b) {
  int v;
  asm("vadd.s32.s32.s32 %0, %1.h0, %2.h1;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ unsigned sum_of_sum(unsigned a, unsigned b, unsigned c) {
  unsigned v;
  asm("vadd.u32.u32.u32.sat.add %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c));
  return v;
}
__device__ int clamp(int a, int b, int c) {
  int v;
  asm("vmax.s32.s32.s32.min %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c));
  return v;
}
__device__ unsigned u8sat(float a) {
  unsigned v;
  asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(v) : "f"(a));
  return v;
}
__device__ float slct(float a, float b, int c) {
  float v;
  asm("slct.f32.s32 %0, %1, %2, %3;" : "=f"(v) : "f"(a), "f"(b), "r"(c));
  return v;
}
__device__ unsigned slct2(unsigned a, unsigned b, float c) {
  unsigned v;
  asm("slct.u32.f32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "f"(c));
  return v;
}
__device__ int at_least(int a, int b) {
  int v;
  asm("set.ge.u32.s32 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ float smaller(float a, float b) {
  float v;
  asm("min.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
  return v;
}
__device__ float nanmax(float a, float b) {
  float v;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
  return v;
}
__device__ unsigned long long cvt(double x) {
  unsigned long long v;
  asm("cvt.rzi.u64.f64 %0, %1;" : "=l"(v) : "d"(x));
  return v;
}
template <int lut> __device__ int lop3(int a, int b, int c) {
  int r;
  asm volatile("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(c), "n"(lut));
  return r;
}
__device__ unsigned sub_halves(unsigned a, unsigned b) {
  unsigned r;
  asm volatile("sub.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ unsigned fma_halves(unsigned a, unsigned b, unsigned c) {
  unsigned r;
  asm volatile("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ unsigned mul_halves(unsigned a, unsigned b) {
  unsigned r;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ unsigned cvtbf(float a, float b) {
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b));
  return r;
}
__device__ unsigned cvtbfrelu(float a, float b) {
  unsigned r;
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b));
  return r;
}
__device__ unsigned cvth2(float a, float b) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b));
  return r;
}
__device__ unsigned tf32(float a) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(a));
  return r;
}
__device__ unsigned short cvtb(float a) {
  unsigned short r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(a));
  return r;
}
__device__ unsigned short cvtbz(float a) {
  unsigned short r;
  asm("cvt.rz.bf16.f32 %0, %1;" : "=h"(r) : "f"(a));
  return r;
}
__device__ float of_half(unsigned short h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
__device__ unsigned elect() {
  unsigned p = 0;
  asm volatile("{\n.reg .pred P1;\nelect.sync _|P1, %1;\nselp.u32 %0, 1, 0, P1;\n}\n" : "=r"(p) : "r"(0xffffffff));
  return p;
}
__device__ float copysgn(float a, float b) {
  float y;
  asm("copysign.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
__device__ unsigned testp(float a) {
  unsigned r;
  asm("{ .reg .pred p; testp.finite.f32 p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "f"(a));
  return r;
}
__device__ int dp4(int a, int b, int c) {
  int r;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ int dp2(int a, int b, int c) {
  int r;
  asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ unsigned sad(unsigned a, unsigned b, unsigned c) {
  unsigned r;
  asm("sad.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ int mul24(int a, int b) {
  int r;
  asm("mul24.lo.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ unsigned vset4(unsigned a, unsigned b) {
  unsigned r;
  asm("vset4.u32.u32.eq %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0));
  return r;
}
__device__ unsigned vabsdiff4(unsigned a, unsigned b, unsigned c) {
  unsigned r;
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ unsigned szext(unsigned a, unsigned n) {
  unsigned r;
  asm("szext.clamp.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(n));
  return r;
}
__device__ unsigned bmsk(unsigned a, unsigned b) {
  unsigned r;
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ unsigned fns(unsigned m, unsigned b, int o) {
  unsigned r;
  asm("fns.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(m), "r"(b), "r"(o));
  return r;
}
__device__ int bfind(int a) { int r; asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r) : "r"(a)); return r; }
__device__ unsigned vote(int p) {
  unsigned r;
  asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.ballot.b32 %0, p; }" : "=r"(r) : "r"(p));
  return r;
}
__device__ unsigned mt(unsigned v, unsigned m) {
  unsigned r;
  asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(m));
  return r;
}
__device__ int redux(int v, unsigned m) {
  int r;
  asm volatile("redux.sync.add.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(m));
  return r;
}

typedef unsigned __int128 u128;
__device__ unsigned bad[128];
#define CHECK(n, a, b) do { if (!((a) == (b))) atomicAdd(&bad[n], 1u); } while (0)
__device__ float f_of(unsigned x) { float f; memcpy(&f, &x, 4); return f; }
__device__ unsigned u_of(float x) { unsigned f; memcpy(&f, &x, 4); return f; }
__device__ uint64_t mix(uint64_t &s) {
  s += 0x9e3779b97f4a7c15ull;
  uint64_t z = s;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
__device__ int64_t clampi(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }
__global__ void test() {
  uint64_t s = 77 + threadIdx.x + blockIdx.x * 1000;
  for (int round = 0; round < 200; ++round) {
    uint64_t x = mix(s), y = mix(s), z = mix(s);
    unsigned a = x, b = x >> 32, c = y, d = y >> 32;
    if (round % 7 == 0) a = 0;
    if (round % 11 == 0) b = 0xffffffffu;
    if (round % 13 == 0) c = 0x80000000u;
    if (round % 5 == 0) {
      a = 0xffffffffu;
    }
    int p = z & 63, n = (z >> 8) & 63;
    {
      unsigned e = (p > 31 || n == 0) ? 0 : (n >= 32 ? a >> p : (a >> p) & ((1ull << n) - 1));
      CHECK(0, bfe32(a, p, n), e);
    }
    {
      int P = z & 127, N = (z >> 8) & 127;
      uint64_t e = 0;
      for (int i = 0; i < 64; ++i) if (i < N && P + i < 64 && ((x >> (P + i)) & 1)) e |= 1ull << i;
      CHECK(1, bfe64(x, P, N), e);
    }
    {
      unsigned e = a;
      for (int i = 0; i < n && p + i < 32; ++i) e = (e & ~(1u << (p + i))) | (((b >> i) & 1) << (p + i));
      CHECK(2, bfi32(a, b, p, n), e);
    }
    {
      int k = n & 31;
      uint64_t e = k ? (x << k) | (x >> (64 - k)) : x;
      uint64_t lo = (unsigned)x, hi = x >> 32;
      unsigned t = k ? (unsigned)((hi << k) | (lo >> (32 - k))) : hi;
      unsigned h2 = k ? (unsigned)((lo << k) | (hi >> (32 - k))) : lo;
      CHECK(3, rotl(x, n), (uint64_t)h2 | (uint64_t)t << 32);
      CHECK(3, rotl(x, k), e);
    }
    CHECK(4, xor5(x, y, z, 1, 2), x ^ y ^ z ^ 3);
    CHECK(5, chi(x, y, z), x ^ (~y & z));
    CHECK(6, swab(a), __builtin_bswap32(a));
    CHECK(7, joined(make_uint2(a, b)), (uint64_t)b << 32 | a);
    {
      uint2 v = parted(x);
      CHECK(7, v.x, (unsigned)x);
      CHECK(7, v.y, (unsigned)(x >> 32));
    }
    {
      unsigned A[4] = {a, b, c, d}, B[4] = {d, a, 0xffffffffu, b}, R[4];
      add128(R, A, B);
      u128 u = 0, w = 0, r = 0;
      for (int i = 3; i >= 0; --i) {
        u = u << 32 | A[i];
        w = w << 32 | B[i];
        r = r << 32 | R[i];
      }
      CHECK(8, r, u + w);
    }
    {
      unsigned R[4];
      mul64(R, a, b, c, d);
      u128 e = (u128)((uint64_t)b << 32 | a) * ((uint64_t)d << 32 | c);
      u128 r = 0;
      for (int i = 3; i >= 0; --i) r = r << 32 | R[i];
      uint64_t m00 = (uint64_t)a * c, m01 = (uint64_t)a * d, m10 = (uint64_t)b * c, m11 = (uint64_t)b * d;
      uint64_t t1 = (m00 >> 32) + (unsigned)m01;
      unsigned w2 = (unsigned)((m01 >> 32) + (t1 >> 32));
      uint64_t t2 = (uint64_t)(unsigned)t1 + (unsigned)m10;
      uint64_t t3 = (m10 >> 32) + w2 + (t2 >> 32);
      uint64_t t4 = (uint64_t)(unsigned)t3 + (unsigned)m11;
      unsigned w3 = (unsigned)((t3 >> 32) + (m11 >> 32) + (t4 >> 32));
      CHECK(9, R[0], (unsigned)m00);
      CHECK(9, R[1], (unsigned)t2);
      CHECK(9, R[2], (unsigned)t4);
      CHECK(9, R[3], w3);
      CHECK(9, r, e);
      }
    {
      uint64_t A[3] = {x, y, z}, B[3] = {y, round % 2 ? y : z, z}, R[3];
      unsigned bo;
      sub192(R, A, B, bo);
      unsigned br = 0;
      bool ok = true;
      for (int i = 0; i < 3; ++i) {
        u128 t = (u128)A[i] - B[i] - br;
        ok &= R[i] == (uint64_t)t;
        br = (t >> 64) ? 1 : 0;
      }
      CHECK(10, ok, true);
      CHECK(10, bo, 0u - br);
    }
    CHECK(11, mul_add_wide(a, b, y), (uint64_t)a * b + y);
    {
      uint64_t lo, hi;
      mul128(x, y, lo, hi);
      CHECK(12, (u128)hi << 64 | lo, (u128)x * y);
    }
    { unsigned R[2]; chain2(R, a, b); CHECK(13, (uint64_t)R[1] << 32 | R[0], (uint64_t)a + b); }
    CHECK(14, halves_added(a, b), (int)(short)a + (int)(short)(b >> 16));
    {
      uint64_t t = (uint64_t)a + b;
      CHECK(15, sum_of_sum(a, b, c), (unsigned)(t > 0xffffffffu ? 0xffffffffu : t) + c);
    }
    { int m = (int)a > (int)b ? a : b; CHECK(16, clamp(a, b, c), m < (int)c ? m : (int)c); }
    {
      float f = f_of(a);
      double r = std::isnan(f) ? 0 : std::nearbyint((double)f);
      unsigned e = r < 0 ? 0 : r > 255 ? 255 : (unsigned)r;
      CHECK(17, u8sat(f), e);
      float g = (int)(a % 520) / 2.0f - 2;
      r = std::nearbyint(g);
      e = r < 0 ? 0 : r > 255 ? 255 : (unsigned)r;
      CHECK(17, u8sat(g), e);
    }
    CHECK(18, slct(1.0f, 2.0f, c), (int)c >= 0 ? 1.0f : 2.0f);
    {
      float f = f_of(c);
      CHECK(19, slct2(a, b, f), f >= 0 ? a : b);
      CHECK(19, slct2(a, b, -0.0f), a);
      CHECK(19, slct2(a, b, NAN), b);
    }
    CHECK(20, at_least(a, b), (int)a >= (int)b ? -1 : 0);
    {
      float f = f_of(a), g = f_of(b);
      float e = std::isnan(f) ? g : std::isnan(g) ? f : fminf(f, g);
      float r = smaller(f, g);
      CHECK(21, std::isnan(e) ? std::isnan(r) : r == e, true);
      float m = nanmax(f, g);
      CHECK(22, (std::isnan(f) || std::isnan(g)) ? u_of(m) == 0x7fffffffu : m == fmaxf(f, g), true);
      CHECK(22, u_of(nanmax(NAN, 1.0f)), 0x7fffffffu);
    }
    {
      double v;
      memcpy(&v, &x, 8);
      uint64_t e = std::isnan(v) ? 0x8000000000000000ull : v <= 0 ? 0 : v >= 18446744073709551616.0 ? ~0ull
          : (uint64_t)v;
      CHECK(23, cvt(v), e);
      double w = (double)(y >> (z & 63)) + 0.75;
      CHECK(23, cvt(w), w >= 18446744073709551616.0 ? ~0ull : (uint64_t)w);
    }
    CHECK(24, (unsigned)lop3<0xea>(a, b, c), (a & b) | c);
    CHECK(24, (unsigned)lop3<0x96>(a, b, c), a ^ b ^ c);
    CHECK(24, (unsigned)lop3<0xca>(a, b, c), (a & b) | (~a & c));
    {
      float f = f_of((a & 0x807fffffu) | ((100 + (b % 60)) << 23));
      unsigned e = (u_of(f) + 0x1000u) & 0xffffe000u;
      CHECK(25, tf32(f) & 0xffffe000u, e);
    }
    {
      float f = f_of((a & 0x807fffffu) | ((1 + b % 250) << 23)), g = f_of((c & 0x807fffffu) | ((1
          + d % 250) << 23));
      auto rb = [](float v) {
        unsigned u = u_of(v);
        return (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
      };
      CHECK(26, cvtbf(f, g), rb(f) << 16 | rb(g));
      CHECK(27, cvtb(f), (unsigned short)rb(f));
      CHECK(28, cvtbz(f), (unsigned short)(u_of(f) >> 16));
      CHECK(29, cvtbfrelu(f, g), (f > 0 ? rb(f) : 0) << 16 | (g > 0 ? rb(g) : 0));
    }
    CHECK(30, u_of(copysgn(f_of(a & 0xff7fffffu), f_of(b & 0xff7fffffu))), (b & 0x7f7fffffu) | (a & 0x80000000u));
    CHECK(31, testp(f_of(a)), (a & 0x7f800000u) != 0x7f800000u ? 1u : 0u);
    {
      int e = c;
      for (int i = 0; i < 4; ++i) e += (int)(signed char)(a >> 8 * i) * (int)(signed char)(b >> 8 * i);
      CHECK(32, dp4(a, b, c), e);
    }
    {
      int e = c;
      for (int i = 0; i < 2; ++i) e += (int)(short)(a >> 16 * i) * (int)(unsigned char)(b >> 8 * i);
      CHECK(33, dp2(a, b, c), e);
    }
    CHECK(34, sad(a, b, c), c + (a < b ? b - a : a - b));
    {
      int64_t p24 = (int64_t)((int)(a << 8) >> 8) * ((int)(b << 8) >> 8);
      CHECK(35, mul24(a, b), (int)p24);
    }
    {
      unsigned e = 0;
      for (int i = 0; i < 4; ++i) e |= ((a >> 8 * i & 255) == (b >> 8 * i & 255) ? 1u : 0u) << 8 * i;
      CHECK(36, vset4(a, b), e);
    }
    {
      unsigned e = c;
      for (int i = 0; i < 4; ++i) {
        int q = (a >> 8 * i & 255) - (b >> 8 * i & 255);
        e += q < 0 ? -q : q;
      }
      CHECK(37, vabsdiff4(a, b, c), e);
    }
    {
      unsigned nn = n;
      unsigned e = nn >= 32 ? a : a & ((1ull << nn) - 1);
      CHECK(38, szext(a, nn), e);
      CHECK(39, bmsk(p, n), p >= 32 ? 0u : (unsigned)(((n >= 32 ? 0xffffffffull
          : (1ull << n) - 1) << p) & 0xffffffffu));
    }
    {
      int o = (int)(z % 9) - 4;
      unsigned base = p & 31;
      unsigned e = 0xffffffffu;
      if (o == 0) e = (a >> base & 1) ? base : e;
      else {
        int left = o < 0 ? -o : o;
        for (int i = base; i >= 0 && i < 32; i += o < 0 ? -1 : 1) if (a >> i & 1) if (--left == 0) {
          e = i;
          break;
        }
      }
      CHECK(40, fns(a, base, o), e);
    }
    { unsigned t = (int)a < 0 ? ~a : a; int e = t == 0 ? -1 : __builtin_clz(t); CHECK(41, bfind(a), e); }
    {
      unsigned q = of_half(0x3c00) == 1.0f && of_half(0x7c00) == INFINITY && of_half(1) == 5.9604644775390625e-8f;
      CHECK(42, q, 1u);
    }
    CHECK(43, cvth2(1.0f, -2.0f), 0x3c00c000u);
    {
      unsigned short h1 = 0x3c00 + (a & 0x1ff), h2 = 0x3800 + (b & 0x1ff);
      float f1 = of_half(h1), f2 = of_half(h2);
      unsigned r = sub_halves((unsigned)h1 << 16 | h2, (unsigned)h2 << 16 | h1);
      CHECK(44, of_half(r >> 16), (float)(_Float16)(f1 - f2));
      CHECK(44, of_half(r & 0xffff), (float)(_Float16)(f2 - f1));
      r = fma_halves((unsigned)h1 << 16 | h2, (unsigned)h2 << 16 | h1, 0x3c003c00u);
      CHECK(45, of_half(r >> 16), (float)(_Float16)(double)((double)f1 * f2 + 1.0));
      r = mul_halves((unsigned)h1 << 16 | h2, (unsigned)h2 << 16 | h1);
      CHECK(46, of_half(r & 0xffff), (float)(_Float16)(f1 * f2));
    }
  }
  CHECK(50, elect(), (threadIdx.x & 31) == 0 ? 1u : 0u);
  CHECK(51, lane_gt(), (int)(0xffffffffu << (threadIdx.x & 31)));
  {
    int v = threadIdx.x & 31;
    CHECK(53, vote(v & 1), 0xaaaaaaaau);
    CHECK(54, mt(v / 8, 0xffffffffu), 0xffu << (v / 8 * 8));
    CHECK(55, redux(v, 0xffffffffu), 496);
  }
}
int main() {
  test<<<2, 64>>>();
  cudaDeviceSynchronize();
  unsigned h[128];
  cudaMemcpyFromSymbol(h, bad, sizeof h);
  for (int i = 0; i < 128; ++i) if (h[i]) printf("%d: %u\n", i, h[i]);
  printf("checked\n");
}
