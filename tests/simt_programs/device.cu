// SPDX-License-Identifier: Apache-2.0
// What device code can call, on inputs that are made here, for tests/test_simt_device.py. Built by nvcc it prints what
// a GPU gives (recorded in test_simt_device.json), built for the executor what that gives: "kind name: results".
//
// Kinds: "same" has the same bits everywhere, "near" has numbers that may be off by some units of the last place, the
// bound of the CUDA math API reference for the function and for what it is compared with.
#include <cstdio>
#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using s64 = long long;
using u64 = unsigned long long;

constexpr int count = 112;

// ---- inputs: first what is special, then bits of all kinds

__host__ __device__ inline unsigned mixed(unsigned i, unsigned salt) {
  unsigned x = i * 0x9e3779b9u + salt * 0x85ebca6bu + 0x1234567u;
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

template <typename To, typename From>
__host__ __device__ inline To as(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

/// An integer: special ones, small ones, any.
__host__ __device__ inline unsigned word(int i, unsigned salt) {
  const unsigned special[] = {
      0, 1, 2, 0xffffffffu, 0x80000000u, 0x7fffffffu, 0x80000001u, 0xff, 0x00010001u, 0x80008000u, 0x7fff7fffu,
      0x80808080u, 0x7f7f7f7fu, 31, 32, 33
  };
  const unsigned x = mixed(i, salt);
  if (i < 48) return special[(i * (salt + 1) + salt) % 16];
  return i % 4 == 0 ? x % 64 : x;
}
__host__ __device__ inline u64 words(int i, unsigned salt) { return u64(word(i, salt)) << 32 | word(i, salt + 7); }

/// A float: the first 48 are special, a third has small exponents, the others any bits.
__host__ __device__ inline float number(int i, unsigned salt) {
  const unsigned special[] = {
      0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0x40200000, 0xc0200000, 0x7f800000,
      0xff800000, 0x7fc00000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x4f000000, 0xcf000000,
      0x4effffff, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x477fe000, 0x477fefff, 0x477ff000, 0x33800000,
      0x33000000, 0x33000001, 0x38800000, 0x387fffff, 0x40490fdb, 0x42280000, 0x3effffff, 0x3f000001, 0x4b000001,
      0x4b7fffff, 0x7e800000, 0x7f000001, 0x3f7fffff
  };
  const unsigned x = mixed(i, salt + 100);
  if (i < 48) return as<float>(special[(i * (2 * salt + 1) + salt) % 40]);
  if (i % 3 == 0) return as<float>((x & 0x80ffffffu) | 0x3f000000u);
  if (i % 3 == 1) return as<float>((x & 0x83ffffffu) | 0x3c000000u);
  return as<float>(x);
}
__host__ __device__ inline double wide(int i, unsigned salt) {
  const u64 special[] = {
      0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000,
      0x4004000000000000, 0xc004000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
      0x0000000000000001, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0x41e0000000000000,
      0xc1e0000000000000, 0x41dfffffffc00000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000,
      0x47efffffe0000000, 0x47effffff0000000, 0x36a0000000000000, 0x3690000000000000, 0x41f0000000000000
  };
  const u64 x = u64(mixed(i, salt + 200)) << 32 | mixed(i, salt + 300);
  if (i < 48) return as<double>(special[(i * (2 * salt + 1) + salt) % 25]);
  if (i % 3 == 0) return as<double>((x & 0x800fffffffffffff) | 0x3fe0000000000000);
  if (i % 3 == 1) return as<double>((x & 0x80ffffffffffffff) | 0x3f00000000000000);
  return as<double>(x);
}
/// From -8 to 8, for functions that are about such.
__host__ __device__ inline float near0(int i, unsigned salt) { return (mixed(i, salt) >> 8) * 0x1p-20f - 8.0f; }
/// From 0 to 1, without the ends.
__host__ __device__ inline float unit(int i, unsigned salt) { return ((mixed(i, salt) >> 9) + 0.5f) * 0x1p-23f; }

__device__ inline __half half_of(int i, unsigned salt) {
  const unsigned short special[] = {
      0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 1, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x3800,
      0x3555, 0x4248
  };
  const unsigned x = mixed(i, salt + 400);
  return __ushort_as_half(i < 48 ? special[(i * (2 * salt + 1) + salt) % 16] : (unsigned short)x);
}
__device__ inline __nv_bfloat16 bfloat_of(int i, unsigned salt) {
  const unsigned short special[] = {
      0, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 1, 0x8001, 0x007f, 0x0080, 0x7f7f, 0xff7f, 0x3f00,
      0x3eab, 0x4049
  };
  const unsigned x = mixed(i, salt + 500);
  return __ushort_as_bfloat16(i < 48 ? special[(i * (2 * salt + 1) + salt) % 16] : (unsigned short)x);
}
__device__ inline __half2 halves_of(int i, unsigned salt) {
  return __halves2half2(half_of(i, salt), half_of(i, salt + 3));
}
__device__ inline __nv_bfloat162 bfloats_of(int i, unsigned salt) {
  return __halves2bfloat162(bfloat_of(i, salt), bfloat_of(i, salt + 3));
}

// ---- results as bits

__device__ inline u64 bits(bool x) { return x; }
__device__ inline u64 bits(int x) { return unsigned(x); }
__device__ inline u64 bits(unsigned x) { return x; }
__device__ inline u64 bits(s64 x) { return u64(x); }
__device__ inline u64 bits(u64 x) { return x; }
__device__ inline u64 bits(short x) { return (unsigned short)x; }
__device__ inline u64 bits(unsigned short x) { return x; }
__device__ inline u64 bits(signed char x) { return (unsigned char)x; }
__device__ inline u64 bits(unsigned char x) { return x; }
// What is no number has many patterns, of which no one is promised.
__device__ inline u64 bits(float x) { return x != x ? 0x7fffffff : as<unsigned>(x); }
__device__ inline u64 bits(double x) { return x != x ? 0x7fffffffffffffff : as<u64>(x); }
__device__ inline u64 bits(__half x) { return __half_as_ushort(x); }
__device__ inline u64 bits(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
__device__ inline u64 bits(__half2 x) { return as<unsigned>(x); }
__device__ inline u64 bits(__nv_bfloat162 x) { return as<unsigned>(x); }

template <typename Case>
__global__ void run(u64* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = bits(Case::call(i));
}

static u64* device_out;

template <typename Case>
void show(const char* kind, const char* name) {
  run<Case><<<4, 32>>>(device_out);
  static u64 out[count];
  cudaMemcpy(out, device_out, sizeof(out), cudaMemcpyDeviceToHost);
  printf("%s %s:", kind, name);
  for (u64 each : out) printf(" %llx", each);
  printf("\n");
}

using Show = void (*)();
static Show shown[1024];
static int shown_count = 0;
struct Registered {
  explicit Registered(Show show) { shown[shown_count++] = show; }
};

#define JOINED(a, b) a##b
#define CASE(kind, name, ...) CASE_AS(__COUNTER__, kind, name, __VA_ARGS__)
#define CASE_AS(number, kind, name, ...) \
  CASE_IS(JOINED(Case, number), JOINED(registered, number), kind, name, __VA_ARGS__)
#define CASE_IS(Case, registered, kind, name, ...)                                                              \
    struct Case {                                                                                               \
      static __device__ inline auto call(int i) {                                                               \
        const float a = number(i, 0), b = number(i, 1), c = number(i, 2);                                       \
        const double d = wide(i, 0), e = wide(i, 1), f = wide(i, 2);                                            \
        const unsigned u = word(i, 0), v = word(i, 1), w = word(i, 2);                                          \
        const int s = int(u), t = int(v), r = int(w);                                                           \
        const u64 ull = words(i, 0), ull2 = words(i, 1);                                                        \
        const s64 ll = s64(ull), ll2 = s64(ull2);                                                               \
        const float x = near0(i, 0), y = near0(i, 1), p = unit(i, 0);                                           \
        const __half h = half_of(i, 0), k = half_of(i, 1), l = half_of(i, 2);                                   \
        const __nv_bfloat16 m = bfloat_of(i, 0), n = bfloat_of(i, 1), o = bfloat_of(i, 2);                      \
        const __half2 h2 = halves_of(i, 0), k2 = halves_of(i, 1), l2 = halves_of(i, 2);                         \
        const __nv_bfloat162 m2 = bfloats_of(i, 0), n2 = bfloats_of(i, 1), o2 = bfloats_of(i, 2);               \
        (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)u, (void)v, (void)w, (void)s, (void)t;      \
        (void)r, (void)ull, (void)ull2, (void)ll, (void)ll2, (void)x, (void)y, (void)p, (void)h, (void)k;       \
        (void)l, (void)m, (void)n, (void)o, (void)h2, (void)k2, (void)l2, (void)m2, (void)n2, (void)o2;         \
        return __VA_ARGS__;                                                                                     \
      }                                                                                                         \
    };                                                                                                          \
    static const Registered registered([] { show<Case>(kind, name); });
#define SAME(...) CASE("same", #__VA_ARGS__, __VA_ARGS__)
#define NEAR(bound, ...) CASE("near " #bound, #__VA_ARGS__, __VA_ARGS__)
#define DIRECTIONS(before, after) \
  SAME(before##_rn after) SAME(before##_rz after) SAME(before##_ru after) SAME(before##_rd after)

DIRECTIONS(__fadd, (a, b))
DIRECTIONS(__fsub, (a, b))
DIRECTIONS(__fmul, (a, b))
DIRECTIONS(__fdiv, (a, b))
DIRECTIONS(__frcp, (a))
DIRECTIONS(__fsqrt, (a))
DIRECTIONS(__fmaf, (a, b, c))
SAME(__frsqrt_rn(a))
DIRECTIONS(__dadd, (d, e))
DIRECTIONS(__dsub, (d, e))
DIRECTIONS(__dmul, (d, e))
DIRECTIONS(__ddiv, (d, e))
DIRECTIONS(__drcp, (d))
DIRECTIONS(__dsqrt, (d))
DIRECTIONS(__fma, (d, e, f))
DIRECTIONS(__float2int, (a))
DIRECTIONS(__float2uint, (a))
DIRECTIONS(__float2ll, (a))
DIRECTIONS(__float2ull, (a))
DIRECTIONS(__double2int, (d))
DIRECTIONS(__double2uint, (d))
DIRECTIONS(__double2ll, (d))
DIRECTIONS(__double2ull, (d))
DIRECTIONS(__int2float, (s))
DIRECTIONS(__uint2float, (u))
DIRECTIONS(__ll2float, (ll))
DIRECTIONS(__ull2float, (ull))
DIRECTIONS(__ll2double, (ll))
DIRECTIONS(__ull2double, (ull))
DIRECTIONS(__double2float, (d))
SAME(__int2double_rn(s))
SAME(__uint2double_rn(u))
SAME(__float_as_int(a))
SAME(__float_as_uint(a))
SAME(__int_as_float(s))
SAME(__uint_as_float(u))
SAME(__double_as_longlong(d))
SAME(__longlong_as_double(ll))
SAME(__double2hiint(d))
SAME(__double2loint(d))
SAME(__hiloint2double(s, t))
SAME(__popc(u))
SAME(__popcll(ull))
SAME(__clz(s))
SAME(__clzll(ll))
SAME(__ffs(s))
SAME(__ffsll(ll))
SAME(__brev(u))
SAME(__brevll(ull))
SAME(__fns(u, v % 32, int(w % 9) - 4))
SAME(__mulhi(s, t))
SAME(__umulhi(u, v))
SAME(__mul64hi(ll, ll2))
SAME(__umul64hi(ull, ull2))
SAME(__mul24(s, t))
SAME(__umul24(u, v))
SAME(__sad(s, t, w))
SAME(__usad(u, v, w))
SAME(__hadd(s, t))
SAME(__rhadd(s, t))
SAME(__uhadd(u, v))
SAME(__urhadd(u, v))
SAME(__funnelshift_l(u, v, w))
SAME(__funnelshift_lc(u, v, w))
SAME(__funnelshift_r(u, v, w))
SAME(__funnelshift_rc(u, v, w))
SAME(__byte_perm(u, v, w))
SAME(min(s, v))
SAME(max(s, v))
SAME(min(s, t))
SAME(min(ll, ull2))
SAME(max(ll, ull2))
SAME(max(ll, ll2))
SAME(min(a, b))
SAME(max(a, b))
SAME(min(d, e))
SAME(max(d, b))
SAME(__saturatef(a))
SAME(__vadd2(u, v))
SAME(__vmaxs4(u, v))
SAME(__vabsdiffu4(u, v))
SAME(__vcmpgts2(u, v))
SAME(__vsadu4(u, v))
SAME(__dp4a(s, t, r))
SAME(__dp4a(u, v, w))
SAME(__dp2a_lo(s, t, r))
SAME(__dp2a_hi(u, v, w))
SAME(__dp4a(make_char4(u, v, w, u >> 8), make_char4(v, w, u, w >> 8), r))
SAME(__dp2a_lo(make_short2(u, v), make_char4(v, w, u, w >> 8), r))
SAME(__viaddmax_s16x2_relu(u, v, w))
SAME(__vimin3_s32(s, t, r))
#define OF_BOTH(function, ...) \
  SAME(function(h, k)) SAME(function(m, n)) SAME(function##2(h2, k2)) SAME(function##2(m2, n2))
OF_BOTH(__hadd)
OF_BOTH(__hsub)
OF_BOTH(__hmul)
OF_BOTH(__hmax)
OF_BOTH(__hmin)
SAME(__hmax_nan(h, k))
SAME(__hmin_nan(m, n))
SAME(__hmax2_nan(m2, n2))
SAME(__hmin2_nan(h2, k2))
SAME(__hadd_sat(h, k))
SAME(__hsub_sat(m, n))
SAME(__hmul2_sat(h2, k2))
SAME(__hadd_rn(h, k))
SAME(__hmul2_rn(m2, n2))
SAME(__hfma(h, k, l))
SAME(__hfma(m, n, o))
SAME(__hfma2(h2, k2, l2))
SAME(__hfma2(m2, n2, o2))
SAME(__hfma_sat(h, k, l))
SAME(__hfma_relu(h, k, l))
SAME(__hfma2_relu(m2, n2, o2))
SAME(__hcmadd(h2, k2, l2))
SAME(__hneg(h))
SAME(__habs(m))
SAME(__hneg2(m2))
SAME(__habs2(h2))
SAME(__hisnan(h))
SAME(__hisinf(m))
SAME(__hisnan2(h2))
#define COMPARISONS(name)                                                                         \
SAME(__h##name(h, k)) SAME(__h##name(m, n)) SAME(__h##name##2(h2, k2)) SAME(__hb##name##2(m2, n2)) \
SAME(__h##name##2_mask(h2, k2))
COMPARISONS(eq)
COMPARISONS(ne)
COMPARISONS(le)
COMPARISONS(gt)
COMPARISONS(equ)
COMPARISONS(neu)
COMPARISONS(ltu)
COMPARISONS(geu)
SAME(h < k)
SAME(m != n)
SAME(h + k)
SAME(m * n)
SAME(-h2)
SAME(h2 == k2)
DIRECTIONS(__float2half, (a))
DIRECTIONS(__float2bfloat16, (a))
SAME(__double2half(d))
SAME(__double2bfloat16(d))
SAME(__double2half(as<double>(0x7ff0000000000001ull | ull)))
SAME(__double2bfloat16(as<double>(0x7ff0000000000001ull | ull)))
SAME(__float2half(as<float>(0x7f800001u | u)))
SAME(__float2bfloat16(as<float>(0x7f800001u | u)))
SAME(__half2float(h))
SAME(__bfloat162float(m))
#define INTEGERS(type, x)                                                                              \
DIRECTIONS(__##type##2half, (x)) DIRECTIONS(__half2##type, (h)) DIRECTIONS(__##type##2bfloat16, (x)) \
DIRECTIONS(__bfloat162##type, (m))
INTEGERS(short, short(s))
INTEGERS(ushort, (unsigned short)(u))
INTEGERS(int, s)
INTEGERS(uint, u)
INTEGERS(ll, ll)
INTEGERS(ull, ull)
SAME(__half2char_rz(h))
SAME(__bfloat162uchar_rz(m))
SAME(__float22half2_rn(make_float2(a, b)))
SAME(__floats2bfloat162_rn(a, b))
SAME(__lowhigh2highlow(h2))
SAME(__lows2half2(h2, k2))
SAME(__highs2bfloat162(m2, n2))
SAME(__half2half2(h))
SAME(__low2half2(h2))
SAME(__high2float(m2))
SAME(hrint(h))
SAME(hfloor(m))
SAME(htrunc(h))
SAME(h2ceil(h2))
SAME(hsqrt(h))
SAME(hrcp(h))
SAME(__half(int(s)))
SAME(int(h))
SAME((unsigned char)(h))
SAME(__half(m))
SAME(__nv_bfloat16(h))
NEAR(2, rsqrtf(p))
NEAR(1, rsqrt(double(p)))
NEAR(1, rcbrtf(x))
NEAR(1, rcbrt(double(x)))
NEAR(2, sinpif(x))
NEAR(2, cospif(x))
NEAR(2, sinpi(double(x)))
NEAR(2, cospi(double(x)))
NEAR(6, normcdff(x))
NEAR(6, normcdf(double(x)))
NEAR(6, normcdfinvf(p))
NEAR(8, normcdfinv(double(p)))
NEAR(3, erfinvf(2 * p - 1))
NEAR(6, erfinv(2 * double(p) - 1))
NEAR(5, erfcinvf(2 * p))
NEAR(7, erfcinv(2 * double(p)))
NEAR(5, erfcxf(x))
NEAR(5, erfcx(double(x)))
NEAR(8, cyl_bessel_i0f(x))
NEAR(8, cyl_bessel_i1f(x))
NEAR(8, cyl_bessel_i0(double(x)))
NEAR(8, cyl_bessel_i1(double(x)))
NEAR(4, norm3df(x, y, p))
NEAR(4, norm4d(x, y, p, 1.0))
NEAR(4, rnorm3df(x, y, p))
NEAR(3, rhypotf(x, y))
NEAR(2, rhypot(double(x), double(y)))
NEAR(3, exp10f(x))
NEAR(4, fdividef(x, y))
NEAR(4, __fdividef(x, y))
SAME(__fdividef(x, as<float>(0x7f000000u | word(i, 5) >> 9)))
SAME(__powf(-p, 2.0f))
// Those of half numbers: off by one in the last place.
NEAR(1, hexp(h))
NEAR(1, hexp2(m))
NEAR(1, hexp10(h))
NEAR(1, hlog(h))
NEAR(1, hlog2(m))
NEAR(1, hlog10(h))
NEAR(1, hrsqrt(h))
NEAR(1, hsqrt(m))
NEAR(1, htanh(h))
NEAR(1, hsin(__float2half(x)))
NEAR(1, hcos(__float2bfloat16(x)))
NEAR(1, h2exp(h2))
NEAR(1, __hdiv(h, k))
NEAR(1, __hdiv(m, n))
NEAR(1, __h2div(h2, k2))

// ---- warps: each lane's results, with all lanes, with some that have exited, and in groups by their mask

struct Words {
  u64 of[32];
};

__device__ inline Words collected(unsigned mask, unsigned lane) {
  Words out = {};
  const unsigned value = mixed(lane, 9);
  int n = 0, all;
  const unsigned other = __shfl_xor_sync(mask, value, 1);  // some come from lanes that take no part
  (void)other;
  out.of[n++] = __ballot_sync(mask, value & 16);
  out.of[n++] = __any_sync(mask, value & 16);
  out.of[n++] = __all_sync(mask, value & 16);
  out.of[n++] = __all_sync(mask, 1);
  out.of[n++] = __uni_sync(mask, value & 16);
  out.of[n++] = __uni_sync(mask, 0);
  out.of[n++] = __match_any_sync(mask, value % 3);
  out.of[n++] = __match_any_sync(mask, double(value % 3));
  out.of[n++] = __match_any_sync(mask, lane % 2 ? 0.0f : -0.0f);
  out.of[n++] = __match_all_sync(mask, value % 3, &all);
  out.of[n++] = all;
  out.of[n++] = __match_all_sync(mask, 7ull, &all);
  out.of[n++] = all;
  out.of[n++] = __reduce_add_sync(mask, value);
  out.of[n++] = bits(__reduce_add_sync(mask, int(value)));
  out.of[n++] = __reduce_min_sync(mask, value);
  out.of[n++] = bits(__reduce_min_sync(mask, int(value)));
  out.of[n++] = __reduce_max_sync(mask, value);
  out.of[n++] = bits(__reduce_max_sync(mask, int(value)));
  out.of[n++] = __reduce_and_sync(mask, value | 0xffff);
  out.of[n++] = __reduce_or_sync(mask, value & 0xf0f);
  out.of[n++] = __reduce_xor_sync(mask, value);
  out.of[n++] = __shfl_sync(mask, value, int(lane));
  out.of[n++] = __shfl_sync(mask, value, int(lane) + 32, 8);
  out.of[n++] = __shfl_xor_sync(mask, value, 0);
  out.of[n++] = __shfl_up_sync(mask, value, 32);
  return out;
}
__global__ void in_context(int context, Words* out) {
  const unsigned lane = threadIdx.x;
  if (context == 0) out[lane] = collected(0xffffffffu, lane);
  if (context == 1) {
    if (lane % 4 == 1) return;
    out[lane] = collected(0xffffffffu, lane);
  }
  if (context == 2) {
    unsigned mask = 0;
    for (unsigned other = 0; other < 32; ++other) mask |= unsigned(other % 3 == lane % 3) << other;
    out[lane] = collected(mask, lane);
  }
}
/// Every way and width of a shuffle among all lanes, of several types.
__global__ void shuffled(int delta, int width, u64* out) {
  const unsigned lane = threadIdx.x, value = mixed(lane, 10);
  u64* own = out + lane * 8;
  own[0] = __shfl_sync(0xffffffffu, value, delta, width);
  own[1] = __shfl_up_sync(0xffffffffu, value, delta, width);
  own[2] = __shfl_down_sync(0xffffffffu, value, delta, width);
  own[3] = __shfl_xor_sync(0xffffffffu, value, delta, width);
  own[4] = bits(__shfl_down_sync(0xffffffffu, double(int(value)), delta, width));
  own[5] = bits(__shfl_xor_sync(0xffffffffu, __ushort_as_half((unsigned short)value), delta, width));
  own[6] = bits(__shfl_up_sync(0xffffffffu, s64(value) << 20, delta, width));
  own[7] = bits(__shfl_sync(0xffffffffu, __floats2bfloat162_rn(float(value), 1.0f), delta, width));
}

void show_words(const char* name, const u64* from, int size) {
  static u64 out[32 * 32];
  cudaMemcpy(out, from, size * sizeof(u64), cudaMemcpyDeviceToHost);
  printf("same %s:", name);
  for (int i = 0; i < size; ++i) printf(" %llx", out[i]);
  printf("\n");
}

void warps() {
  for (int context = 0; context < 3; ++context) {
    cudaMemset(device_out, 0, 32 * sizeof(Words));
    in_context<<<1, 32>>>(context, (Words*)device_out);
    const char* names[] = {"all lanes", "exited lanes", "groups of lanes"};
    show_words(names[context], device_out, 32 * 32);
  }
  for (int width = 32; width != 0; width /= 2) {
    for (int delta : {0, 1, 3, 16, 31, 33, -1}) {
      shuffled<<<1, 32>>>(delta, width, device_out);
      char name[64];
      snprintf(name, sizeof(name), "shuffles by %d in %d", delta, width);
      show_words(name, device_out, 32 * 8);
    }
  }
}

// ---- atomic functions: what memory has at the end, and the sum of what those return that count in turns

__global__ void atomics(int* i32, unsigned* u32, u64* u64s, s64* s64s, float* f32, double* f64, __half2* h2,
                        __nv_bfloat16* b, unsigned short* u16, u64* returned) {
  const int t = threadIdx.x;
  u64 sum = 0;
  atomicAdd(i32, t);
  atomicSub(i32 + 1, t);
  atomicMin(i32 + 2, -t);
  atomicMax(i32 + 3, t);
  atomicAnd(u32, ~(1u << t % 32));
  atomicOr(u32 + 1, 1u << t % 16);
  atomicXor(u32 + 2, t * 3u);
  sum += atomicInc(u32 + 3, 9);
  sum += atomicDec(u32 + 4, 6);
  atomicMin(u32 + 5, unsigned(t) + 5);
  atomicAdd(u64s, 1ull << 33);
  atomicMax(u64s + 1, u64(t) << 40);
  atomicMin(s64s, -s64(t) << 40);
  atomicMax(s64s + 1, s64(t) << 40);
  atomicAdd(f32, 0.5f);
  atomicAdd(f64, 0.25);
  atomicAdd_block(i32 + 4, 2);
  atomicAdd_system(u64s + 2, 3ull);
  atomicExch_block(u32 + 6, 77u);
  atomicAdd(h2, __floats2half2_rn(1.0f, 0.5f));
  atomicAdd(b, __float2bfloat16(1.0f));
  for (unsigned short seen = 0;;) {
    const unsigned short found = atomicCAS(u16, seen, (unsigned short)(seen + 1));
    if (found == seen) break;
    seen = found;
  }
  for (unsigned seen = u32[7];;) {
    const unsigned found = atomicCAS(u32 + 7, seen, seen + 2);
    if (found == seen) break;
    seen = found;
  }
  atomicAdd(returned, sum);
}
void atomic_results() {
  unsigned char* memory;
  cudaMalloc(&memory, 512);
  cudaMemset(memory, 0, 512);
  atomics<<<1, 128>>>((int*)memory, (unsigned*)(memory + 64), (u64*)(memory + 128), (s64*)(memory + 192),
                      (float*)(memory + 256), (double*)(memory + 264), (__half2*)(memory + 272),
                      (__nv_bfloat16*)(memory + 276), (unsigned short*)(memory + 278), (u64*)(memory + 320));
  show_words("atomic functions", (u64*)memory, 64);
}

#define SHOW_LAYOUT(T) printf("same layout of " #T ": %zx %zx\n", sizeof(T), alignof(T));
#define SHOW_LAYOUTS(T) SHOW_LAYOUT(T##1) SHOW_LAYOUT(T##2) SHOW_LAYOUT(T##3)
void layouts() {
  SHOW_LAYOUTS(char) SHOW_LAYOUTS(uchar) SHOW_LAYOUTS(short) SHOW_LAYOUTS(ushort) SHOW_LAYOUTS(int) SHOW_LAYOUTS(uint)
  SHOW_LAYOUTS(long) SHOW_LAYOUTS(ulong) SHOW_LAYOUTS(longlong) SHOW_LAYOUTS(ulonglong) SHOW_LAYOUTS(float)
  SHOW_LAYOUTS(double)
  SHOW_LAYOUT(char4) SHOW_LAYOUT(short4) SHOW_LAYOUT(int4) SHOW_LAYOUT(uint4) SHOW_LAYOUT(float4) SHOW_LAYOUT(dim3)
  SHOW_LAYOUT(__half) SHOW_LAYOUT(__half2) SHOW_LAYOUT(__nv_bfloat16) SHOW_LAYOUT(__nv_bfloat162)
}

int main() {
  cudaMalloc(&device_out, 1 << 16);
  layouts();
  for (int i = 0; i < shown_count; ++i) shown[i]();
  warps();
  atomic_results();
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) printf("error: %s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
