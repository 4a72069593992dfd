// SPDX-License-Identifier: Apache-2.0
// simt/intrinsics.h: the device's functions for numbers, bits, memory, time and faults.
//
// Results are those in the CUDA math API reference; in cases that it leaves open (numbers that do not fit an integer,
// NaN), those of NVIDIA's GPUs (tests/test_ptx_helpers.json), and for HIP those of its headers. Functions that HIP
// lacks are not declared for it.
#ifndef SIMT_INTRINSICS_H
#define SIMT_INTRINSICS_H

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include <cfenv>
#include <limits>

#include "core.h"
#include "define.h"
#include "math.h"
#include "vector_types.h"

// ------------------------------------------------------------------------------------------- rounding in a direction

namespace simt {
namespace detail {

template <typename T>
struct Hidden {
  volatile T value;
  Hidden(T value) : value(value) {}
};

/// Do `operation` on arguments that are opaque to the compiler, with the processor rounding in `direction`.
template <typename R, typename Operation, typename... T>
__attribute__((noinline)) inline R rounded(int direction, Operation operation, T... arguments) {
  const int before = std::fegetround();
  std::fesetround(direction);
  const std::tuple<Hidden<T>...> kept(arguments...);
  volatile R result = std::apply([&](const auto&... each) { return static_cast<R>(operation(each.value...)); }, kept);
  std::fesetround(before);
  return result;
}

}  // namespace detail
}  // namespace simt

#define SIMT_ROUNDED_1(name, R, A, ...)                                                                    \
  SIMT_ROUNDED_1_TO(name##_rz, FE_TOWARDZERO, R, A, __VA_ARGS__)                                           \
  SIMT_ROUNDED_1_TO(name##_ru, FE_UPWARD, R, A, __VA_ARGS__)                                               \
  SIMT_ROUNDED_1_TO(name##_rd, FE_DOWNWARD, R, A, __VA_ARGS__)
#define SIMT_ROUNDED_1_TO(name, direction, R, A, ...)                                                      \
  SIMT_OVERRIDABLE R name(A a) {                                                                           \
    return ::simt::detail::rounded<R>(direction, [](A x) { return __VA_ARGS__; }, a);                      \
  }
#define SIMT_ROUNDED_2(name, R, A, ...)                                                                    \
  SIMT_ROUNDED_2_TO(name##_rz, FE_TOWARDZERO, R, A, __VA_ARGS__)                                           \
  SIMT_ROUNDED_2_TO(name##_ru, FE_UPWARD, R, A, __VA_ARGS__)                                               \
  SIMT_ROUNDED_2_TO(name##_rd, FE_DOWNWARD, R, A, __VA_ARGS__)
#define SIMT_ROUNDED_2_TO(name, direction, R, A, ...)                                                      \
  SIMT_OVERRIDABLE R name(A a, A b) {                                                                      \
    return ::simt::detail::rounded<R>(direction, [](A x, A y) { return __VA_ARGS__; }, a, b);              \
  }
#define SIMT_ROUNDED_3(name, R, A, ...)                                                                    \
  SIMT_ROUNDED_3_TO(name##_rz, FE_TOWARDZERO, R, A, __VA_ARGS__)                                           \
  SIMT_ROUNDED_3_TO(name##_ru, FE_UPWARD, R, A, __VA_ARGS__)                                               \
  SIMT_ROUNDED_3_TO(name##_rd, FE_DOWNWARD, R, A, __VA_ARGS__)
#define SIMT_ROUNDED_3_TO(name, direction, R, A, ...)                                                      \
  SIMT_OVERRIDABLE R name(A a, A b, A c) {                                                                 \
    return ::simt::detail::rounded<R>(direction, [](A x, A y, A z) { return __VA_ARGS__; }, a, b, c);      \
  }

// With rounding to nearest, the result is stored first, so that it does not become part of a fused operation.
#define SIMT_NEAREST(R, ...)       \
  {                                \
    volatile R result = __VA_ARGS__; \
    return result;                 \
  }
SIMT_OVERRIDABLE float __fadd_rn(float x, float y) SIMT_NEAREST(float, x + y)
SIMT_OVERRIDABLE float __fsub_rn(float x, float y) SIMT_NEAREST(float, x - y)
SIMT_OVERRIDABLE float __fmul_rn(float x, float y) SIMT_NEAREST(float, x * y)
SIMT_OVERRIDABLE float __fdiv_rn(float x, float y) SIMT_NEAREST(float, x / y)
SIMT_OVERRIDABLE float __frcp_rn(float x) SIMT_NEAREST(float, 1.0f / x)
SIMT_OVERRIDABLE float __fsqrt_rn(float x) SIMT_NEAREST(float, std::sqrt(x))
SIMT_OVERRIDABLE float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
SIMT_OVERRIDABLE float __frsqrt_rn(float x) {
  return static_cast<float>(::simt::detail::rsqrt(static_cast<long double>(x)));
}
SIMT_OVERRIDABLE double __dadd_rn(double x, double y) SIMT_NEAREST(double, x + y)
SIMT_OVERRIDABLE double __dsub_rn(double x, double y) SIMT_NEAREST(double, x - y)
SIMT_OVERRIDABLE double __dmul_rn(double x, double y) SIMT_NEAREST(double, x * y)
SIMT_OVERRIDABLE double __ddiv_rn(double x, double y) SIMT_NEAREST(double, x / y)
SIMT_OVERRIDABLE double __drcp_rn(double x) SIMT_NEAREST(double, 1.0 / x)
SIMT_OVERRIDABLE double __dsqrt_rn(double x) SIMT_NEAREST(double, std::sqrt(x))
SIMT_OVERRIDABLE double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }
#undef SIMT_NEAREST
// HIP has the other directions only with this macro.
#if !defined(SIMT_HIP) || defined(OCML_BASIC_ROUNDED_OPERATIONS)
SIMT_ROUNDED_2(__fadd, float, float, x + y)
SIMT_ROUNDED_2(__fsub, float, float, x - y)
SIMT_ROUNDED_2(__fmul, float, float, x * y)
SIMT_ROUNDED_2(__fdiv, float, float, x / y)
SIMT_ROUNDED_1(__frcp, float, float, 1.0f / x)
SIMT_ROUNDED_1(__fsqrt, float, float, std::sqrt(x))
SIMT_ROUNDED_3(__fmaf, float, float, std::fma(x, y, z))
SIMT_ROUNDED_2(__dadd, double, double, x + y)
SIMT_ROUNDED_2(__dsub, double, double, x - y)
SIMT_ROUNDED_2(__dmul, double, double, x * y)
SIMT_ROUNDED_2(__ddiv, double, double, x / y)
SIMT_ROUNDED_1(__drcp, double, double, 1.0 / x)
SIMT_ROUNDED_1(__dsqrt, double, double, std::sqrt(x))
SIMT_ROUNDED_3(__fma, double, double, std::fma(x, y, z))
#endif
#ifndef SIMT_HIP
// Like __fmaf_*, whatever options set for subnormal numbers.
SIMT_OVERRIDABLE float __fmaf_ieee_rn(float x, float y, float z) { return std::fma(x, y, z); }
SIMT_ROUNDED_3(__fmaf_ieee, float, float, std::fma(x, y, z))
#endif

// ---------------------------------------------------------------------------------------------------- conversions

namespace simt {
namespace detail {

/// The integer of To nearest to an integral value.
template <typename To, typename From>
inline To to_integer(From value) {
  using limits = std::numeric_limits<To>;
  const From above = static_cast<From>(limits::max() / 2 + 1) * 2;
  if (value != value) {
    // For 64-bit conversions, NVIDIA's GPUs return the highest bit.
    const bool wide = dialect == Dialect::cuda && (sizeof(From) == 8 || sizeof(To) == 8);
    return wide ? static_cast<To>(word_of<To>(1) << (8 * sizeof(To) - 1)) : To(0);
  }
  if (value >= above) return limits::max();
  return value <= static_cast<From>(limits::min()) ? limits::min() : static_cast<To>(value);
}

}  // namespace detail
}  // namespace simt

#define SIMT_TO_INTEGER(name, To, From)                                                                              \
  SIMT_OVERRIDABLE To name##_rn(From x) { return ::simt::detail::to_integer<To>(std::nearbyint(x)); }                \
  SIMT_OVERRIDABLE To name##_rz(From x) { return ::simt::detail::to_integer<To>(std::trunc(x)); }                    \
  SIMT_OVERRIDABLE To name##_ru(From x) { return ::simt::detail::to_integer<To>(std::ceil(x)); }                     \
  SIMT_OVERRIDABLE To name##_rd(From x) { return ::simt::detail::to_integer<To>(std::floor(x)); }
SIMT_TO_INTEGER(__float2int, int, float)
SIMT_TO_INTEGER(__float2uint, unsigned, float)
SIMT_TO_INTEGER(__float2ll, long long, float)
SIMT_TO_INTEGER(__float2ull, unsigned long long, float)
SIMT_TO_INTEGER(__double2int, int, double)
SIMT_TO_INTEGER(__double2uint, unsigned, double)
SIMT_TO_INTEGER(__double2ll, long long, double)
SIMT_TO_INTEGER(__double2ull, unsigned long long, double)
#undef SIMT_TO_INTEGER

// Zero is a special case: some compilers' conversions of unsigned integers make it negative when rounding down.
#define SIMT_TO_FLOAT(name, To, From)                                         \
  SIMT_OVERRIDABLE To name##_rn(From x) { return static_cast<To>(x); }        \
  SIMT_ROUNDED_1(name, To, From, x == 0 ? To(0) : static_cast<To>(x))
SIMT_TO_FLOAT(__int2float, float, int)
SIMT_TO_FLOAT(__uint2float, float, unsigned)
SIMT_TO_FLOAT(__ll2float, float, long long)
SIMT_TO_FLOAT(__ull2float, float, unsigned long long)
SIMT_TO_FLOAT(__ll2double, double, long long)
SIMT_TO_FLOAT(__ull2double, double, unsigned long long)
#undef SIMT_TO_FLOAT
SIMT_OVERRIDABLE double __int2double_rn(int x) { return x; }
SIMT_OVERRIDABLE double __uint2double_rn(unsigned x) { return x; }
SIMT_OVERRIDABLE float __double2float_rn(double x) { return static_cast<float>(x); }
SIMT_ROUNDED_1(__double2float, float, double, x)

#undef SIMT_ROUNDED_1
#undef SIMT_ROUNDED_2
#undef SIMT_ROUNDED_3
#undef SIMT_ROUNDED_1_TO
#undef SIMT_ROUNDED_2_TO
#undef SIMT_ROUNDED_3_TO

#define SIMT_BITS_AS(name, To, From) \
  SIMT_OVERRIDABLE To name(From x) { return ::simt::detail::bits_as<To>(x); }
SIMT_BITS_AS(__float_as_int, int, float)
SIMT_BITS_AS(__float_as_uint, unsigned, float)
SIMT_BITS_AS(__int_as_float, float, int)
SIMT_BITS_AS(__uint_as_float, float, unsigned)
SIMT_BITS_AS(__double_as_longlong, long long, double)
SIMT_BITS_AS(__longlong_as_double, double, long long)
#undef SIMT_BITS_AS
SIMT_OVERRIDABLE int __double2hiint(double x) {
  return static_cast<int>(::simt::detail::bits_as<std::uint64_t>(x) >> 32);
}
SIMT_OVERRIDABLE int __double2loint(double x) { return static_cast<int>(::simt::detail::bits_as<std::uint64_t>(x)); }
SIMT_OVERRIDABLE double __hiloint2double(int high, int low) {
  const std::uint64_t bits = std::uint64_t(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low);
  return ::simt::detail::bits_as<double>(bits);
}

// ------------------------------------------------------------------------------------------------------- integers

namespace simt {
namespace detail {

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

template <typename T>
inline T reversed(T bits) {
  T mask = static_cast<T>(~T(0));
  for (unsigned half = 4 * sizeof(T); half != 0; half /= 2) {
    mask ^= static_cast<T>(mask << half);
    bits = static_cast<T>((bits >> half & mask) | (bits << half & static_cast<T>(~mask)));
  }
  return bits;
}
inline int low_24(int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; }

/// The `offset`th set bit from `base` on, upwards or, if negative, downwards; ~0 if there is none.
template <typename T>
inline unsigned nth_set_bit(T mask, unsigned base, int offset) {
  const int bits = 8 * sizeof(T), step = offset < 0 ? -1 : 1;
  if (offset == 0) return base < unsigned(bits) && (mask >> base & 1) != 0 ? base : ~0u;
  int left = offset < 0 ? -offset : offset;
  for (int i = static_cast<int>(base); i >= 0 && i < bits; i += step) {
    if ((mask >> i & 1) != 0 && --left == 0) return static_cast<unsigned>(i);
  }
  return ~0u;
}

}  // namespace detail
}  // namespace simt

SIMT_OVERRIDABLE int __popc(unsigned x) { return __builtin_popcount(x); }
SIMT_OVERRIDABLE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
SIMT_OVERRIDABLE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
SIMT_OVERRIDABLE int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
SIMT_OVERRIDABLE int __ffs(int x) { return __builtin_ffs(x); }
SIMT_OVERRIDABLE int __ffsll(long long x) { return __builtin_ffsll(x); }
#ifdef SIMT_HIP
SIMT_OVERRIDABLE int __ffs(unsigned x) { return __builtin_ffs(static_cast<int>(x)); }
SIMT_OVERRIDABLE int __ffsll(unsigned long long x) { return __builtin_ffsll(static_cast<long long>(x)); }
#endif
SIMT_OVERRIDABLE unsigned __brev(unsigned x) { return ::simt::detail::reversed(x); }
SIMT_OVERRIDABLE unsigned long long __brevll(unsigned long long x) { return ::simt::detail::reversed(x); }
SIMT_OVERRIDABLE unsigned __fns(unsigned mask, unsigned base, int offset) {
  return ::simt::detail::nth_set_bit(mask, base, offset);
}
SIMT_OVERRIDABLE int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
SIMT_OVERRIDABLE unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
SIMT_OVERRIDABLE long long __mul64hi(long long x, long long y) {
  return static_cast<long long>((static_cast<::simt::detail::s128>(x) * y) >> 64);
}
SIMT_OVERRIDABLE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>((static_cast<::simt::detail::u128>(x) * y) >> 64);
}
SIMT_OVERRIDABLE int __mul24(int x, int y) {
  return static_cast<int>(static_cast<long long>(::simt::detail::low_24(x)) * ::simt::detail::low_24(y));
}
SIMT_OVERRIDABLE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
SIMT_OVERRIDABLE unsigned __sad(int x, int y, unsigned z) {
  return z + (x < y ? static_cast<unsigned>(y) - static_cast<unsigned>(x)
                    : static_cast<unsigned>(x) - static_cast<unsigned>(y));
}
SIMT_OVERRIDABLE unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x < y ? y - x : x - y); }
SIMT_OVERRIDABLE int __hadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y) >> 1); }
SIMT_OVERRIDABLE int __rhadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1); }
SIMT_OVERRIDABLE unsigned __uhadd(unsigned x, unsigned y) { return static_cast<unsigned>((0ull + x + y) >> 1); }
SIMT_OVERRIDABLE unsigned __urhadd(unsigned x, unsigned y) { return static_cast<unsigned>((1ull + x + y) >> 1); }
SIMT_OVERRIDABLE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((std::uint64_t(high) << 32 | low) << (shift & 31u)) >> 32);
}
SIMT_OVERRIDABLE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
SIMT_OVERRIDABLE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t(high) << 32 | low) >> (shift & 31u));
}
SIMT_OVERRIDABLE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
SIMT_OVERRIDABLE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t(y) << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    result |= static_cast<unsigned>(bytes >> (selector >> 4 * i & 7u) * 8 & 0xff) << 8 * i;
  }
  return result;
}

// ------------------------------------------------------------------------------------------ fields of a word (CUDA)

#ifndef SIMT_HIP

// hipport's definitions, as a host compiler sees them: they need no GPU, and were compared with NVIDIA's results.
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include "../../../include/hipport/simd.h"
#pragma pop_macro("__CUDACC__")

#define SIMT_1(name) \
  SIMT_OVERRIDABLE unsigned __##name(unsigned a) { return ::hipport::name(a); }
#define SIMT_2(T, name) \
  SIMT_OVERRIDABLE T __##name(T a, T b) { return ::hipport::name(a, b); }
#define SIMT_3(T, name) \
  SIMT_OVERRIDABLE T __##name(T a, T b, T c) { return ::hipport::name(a, b, c); }
#define SIMT_1_OF(name) SIMT_1(name##2) SIMT_1(name##4)
#define SIMT_2_OF(name) SIMT_2(unsigned, name##2) SIMT_2(unsigned, name##4)
SIMT_1_OF(vabs)
SIMT_1_OF(vabsss)
SIMT_1_OF(vneg)
SIMT_1_OF(vnegss)
SIMT_2_OF(vabsdiffs)
SIMT_2_OF(vabsdiffu)
SIMT_2_OF(vadd)
SIMT_2_OF(vaddss)
SIMT_2_OF(vaddus)
SIMT_2_OF(vsub)
SIMT_2_OF(vsubss)
SIMT_2_OF(vsubus)
SIMT_2_OF(vavgs)
SIMT_2_OF(vavgu)
SIMT_2_OF(vhaddu)
SIMT_2_OF(vmaxs)
SIMT_2_OF(vmaxu)
SIMT_2_OF(vmins)
SIMT_2_OF(vminu)
SIMT_2_OF(vsads)
SIMT_2_OF(vsadu)
#define SIMT_COMPARISON(name) SIMT_2_OF(vcmp##name) SIMT_2_OF(vset##name)
SIMT_COMPARISON(eq)
SIMT_COMPARISON(ne)
SIMT_COMPARISON(ges)
SIMT_COMPARISON(geu)
SIMT_COMPARISON(gts)
SIMT_COMPARISON(gtu)
SIMT_COMPARISON(les)
SIMT_COMPARISON(leu)
SIMT_COMPARISON(lts)
SIMT_COMPARISON(ltu)
#undef SIMT_COMPARISON
#define SIMT_3_OF(name)               \
  SIMT_3(int, name##_s32)             \
  SIMT_3(unsigned, name##_u32)        \
  SIMT_3(unsigned, name##_s16x2)      \
  SIMT_3(unsigned, name##_u16x2)      \
  SIMT_3(int, name##_s32_relu)        \
  SIMT_3(unsigned, name##_s16x2_relu)
SIMT_3_OF(viaddmax)
SIMT_3_OF(viaddmin)
SIMT_3_OF(vimax3)
SIMT_3_OF(vimin3)
SIMT_2(int, vimax_s32_relu)
SIMT_2(int, vimin_s32_relu)
SIMT_2(unsigned, vimax_s16x2_relu)
SIMT_2(unsigned, vimin_s16x2_relu)
#define SIMT_PICK(name)                                                                                            \
  SIMT_OVERRIDABLE int __##name##_s32(int a, int b, bool* p) { return ::hipport::name##_s32(a, b, p); }            \
  SIMT_OVERRIDABLE unsigned __##name##_u32(unsigned a, unsigned b, bool* p) {                                      \
    return ::hipport::name##_u32(a, b, p);                                                                         \
  }                                                                                                                \
  SIMT_OVERRIDABLE unsigned __##name##_s16x2(unsigned a, unsigned b, bool* high, bool* low) {                      \
    return ::hipport::name##_s16x2(a, b, high, low);                                                               \
  }                                                                                                                \
  SIMT_OVERRIDABLE unsigned __##name##_u16x2(unsigned a, unsigned b, bool* high, bool* low) {                      \
    return ::hipport::name##_u16x2(a, b, high, low);                                                               \
  }
SIMT_PICK(vibmax)
SIMT_PICK(vibmin)
#undef SIMT_PICK
#undef SIMT_3_OF
#undef SIMT_2_OF
#undef SIMT_1_OF
#undef SIMT_3
#undef SIMT_2
#undef SIMT_1

#define SIMT_DOT(name, T, A, B)                                                              \
  SIMT_OVERRIDABLE T __##name(A a, B b, T c) {                                               \
    return ::hipport::name(::simt::detail::bits_as<T>(a), ::simt::detail::bits_as<T>(b), c); \
  }
SIMT_DOT(dp4a, int, int, int)
SIMT_DOT(dp4a, unsigned, unsigned, unsigned)
SIMT_DOT(dp4a, int, char4, char4)
SIMT_DOT(dp4a, unsigned, uchar4, uchar4)
SIMT_DOT(dp2a_lo, int, int, int)
SIMT_DOT(dp2a_lo, unsigned, unsigned, unsigned)
SIMT_DOT(dp2a_lo, int, short2, char4)
SIMT_DOT(dp2a_lo, unsigned, ushort2, uchar4)
SIMT_DOT(dp2a_hi, int, int, int)
SIMT_DOT(dp2a_hi, unsigned, unsigned, unsigned)
SIMT_DOT(dp2a_hi, int, short2, char4)
SIMT_DOT(dp2a_hi, unsigned, ushort2, uchar4)
#undef SIMT_DOT

#endif

// --------------------------------------------------------------------------------------------------------- memory

namespace simt {
namespace detail {

/// The address that the running thread read last. A thread that reads it again with nothing in between waits for
/// others.
struct Looked {
  const void* at;
  uint3 thread, block;
};
inline __thread Looked looked;

// Its state is the executor's own, and not a race of the program.
__attribute__((no_sanitize("thread"), noinline)) inline void look(const void* at, Place place) {
  Looked& last = looked;
  if (last.at == at && last.thread.x == threadIdx.x && last.thread.y == threadIdx.y &&
      last.thread.z == threadIdx.z && last.block.x == blockIdx.x && last.block.y == blockIdx.y &&
      last.block.z == blockIdx.z) {
    if (in_kernel()) yield(place);
  }
  looked = Looked{at, threadIdx, blockIdx};
}

/// The widest word that divides a value of that size.
template <typename T>
using part_of =
    typename unsigned_of<sizeof(T) % 8 == 0 ? 8 : sizeof(T) % 4 == 0 ? 4 : sizeof(T) % 2 == 0 ? 2 : 1>::type;

// Accesses that may be concurrent with others, one word at a time.
template <typename T>
inline T load_words(const T* from) {
  constexpr unsigned count = sizeof(T) / sizeof(part_of<T>);
  part_of<T> words[count];
  for (unsigned i = 0; i < count; ++i) {
    words[i] = __atomic_load_n(reinterpret_cast<const part_of<T>*>(from) + i, __ATOMIC_RELAXED);
  }
  T value;
  std::memcpy(static_cast<void*>(&value), words, sizeof(T));
  return value;
}
template <typename T>
inline void store_words(T* to, const T& value) {
  constexpr unsigned count = sizeof(T) / sizeof(part_of<T>);
  part_of<T> words[count];
  std::memcpy(words, static_cast<const void*>(&value), sizeof(T));
  for (unsigned i = 0; i < count; ++i) {
    __atomic_store_n(reinterpret_cast<part_of<T>*>(to) + i, words[i], __ATOMIC_RELAXED);
  }
}

/// A shared memory address as 32 bits: shared memory is far smaller than this offset to either side.
inline std::uintptr_t shared_window() { return reinterpret_cast<std::uintptr_t>(dynamic_shared()) - 0x80000000u; }

inline void fence(Place place) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  look(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(place.file) + unsigned(place.line)), place);
}

}  // namespace detail
}  // namespace simt

inline void __threadfence(SIMT_HERE) { ::simt::detail::fence(SIMT_THERE); }
inline void __threadfence_block(SIMT_HERE) { ::simt::detail::fence(SIMT_THERE); }
inline void __threadfence_system(SIMT_HERE) { ::simt::detail::fence(SIMT_THERE); }

template <typename T>
inline T __ldg(const T* from) {
  return *from;
}
#ifndef SIMT_HIP
#define SIMT_PLAIN(load, store)                                 \
  template <typename T>                                         \
  inline T load(const T* from) {                                \
    return *from;                                               \
  }                                                             \
  template <typename T>                                         \
  inline void store(T* to, ::simt::detail::same<T> value) {     \
    *to = value;                                                \
  }
SIMT_PLAIN(__ldca, __stwb)
SIMT_PLAIN(__ldcs, __stcs)
#undef SIMT_PLAIN
template <typename T>
inline T __ldlu(const T* from) {
  return *from;
}
// Loads that see stores of other blocks: programs wait with them.
#define SIMT_COHERENT(load, store)                              \
  template <typename T>                                         \
  inline T load(const T* from, SIMT_HERE) {                     \
    ::simt::detail::look(from, SIMT_THERE);                     \
    return ::simt::detail::load_words(from);                    \
  }                                                             \
  template <typename T>                                         \
  inline void store(T* to, ::simt::detail::same<T> value) {     \
    ::simt::detail::store_words(to, value);                     \
  }
SIMT_COHERENT(__ldcg, __stcg)
SIMT_COHERENT(__ldcv, __stwt)
#undef SIMT_COHERENT

SIMT_OVERRIDABLE unsigned __isShared(const void* p) { return ::simt::is_shared(p); }
SIMT_OVERRIDABLE unsigned __isLocal(const void* p) { return ::simt::is_local(p); }
SIMT_OVERRIDABLE unsigned __isGlobal(const void* p) { return !::simt::is_shared(p) && !::simt::is_local(p); }
SIMT_OVERRIDABLE std::size_t __cvta_generic_to_shared(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) - ::simt::detail::shared_window();
}
SIMT_OVERRIDABLE void* __cvta_shared_to_generic(std::size_t address) {
  return reinterpret_cast<void*>(::simt::detail::shared_window() + (address & 0xffffffffu));
}
#define SIMT_CVTA(space)                                                        \
  SIMT_OVERRIDABLE std::size_t __cvta_generic_to_##space(const void* p) {       \
    return reinterpret_cast<std::size_t>(p);                                    \
  }                                                                             \
  SIMT_OVERRIDABLE void* __cvta_##space##_to_generic(std::size_t address) {     \
    return reinterpret_cast<void*>(address);                                    \
  }
SIMT_CVTA(global)
SIMT_CVTA(local)
SIMT_CVTA(constant)
SIMT_CVTA(grid_constant)
#undef SIMT_CVTA
#endif

// ------------------------------------------------------------------------------------------------ time and faults

namespace simt {
namespace detail {

inline std::int64_t host_clock() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (now.tv_sec * 1000000000ll + now.tv_nsec) * CLOCKS_PER_SEC / 1000000000ll;
}

}  // namespace detail
}  // namespace simt

// C's clock() and failed assertions when a kernel's thread calls them: these are the functions behind C's names
// (simt/behind.h).
#define SIMT_BEHIND extern "C" __attribute__((used, visibility("hidden")))
SIMT_BEHIND inline clock_t simt_clock() {
  return static_cast<clock_t>(::simt::in_kernel() ? ::simt::clock() : ::simt::detail::host_clock());
}
SIMT_BEHIND __attribute__((noreturn)) inline void simt_assert_fail(const char* assertion, const char* file,
                                                                   unsigned line, const char* function) {
  if (::simt::in_kernel()) {
    ::simt::fault("assertion", {file, static_cast<int>(line)}, "%s: assertion `%s' failed", function, assertion);
  }
  fflush(stdout);
  fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
  abort();
}
#undef SIMT_BEHIND
#include "simt/behind.h"

inline long long clock64() { return ::simt::clock(); }

inline void __trap(SIMT_HERE) { ::simt::fault("trap", SIMT_THERE, "__trap() was called"); }
inline void __brkpt() {}
#ifndef SIMT_HIP
inline void __nanosleep(unsigned, SIMT_HERE) { ::simt::yield(SIMT_THERE); }
SIMT_OVERRIDABLE void __prof_trigger(int) {}
#endif

// Assumptions for the compiler are checked.
#define SIMT_ASSUMED(...) \
  ((__VA_ARGS__) ? (void)0 : ::simt::fault("assumption", {__FILE__, __LINE__}, "does not hold: %s", #__VA_ARGS__))
#define __builtin_assume(...) SIMT_ASSUMED(__VA_ARGS__)
#define __assume(...) SIMT_ASSUMED(__VA_ARGS__)

#endif
