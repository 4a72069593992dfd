// SPDX-License-Identifier: Apache-2.0
// hipport/half.h: CUDA's half-precision functions that HIP lacks or computes otherwise, for AMD. Put here by hipport.
//
// Each function has the name and the arguments of the corresponding CUDA function, without the leading underscores, and
// returns the same bits for all arguments, except htanh and h2tanh, whose last bit may differ. Functions that take a
// __half2 and return masks, add, subtract or multiply accept bfloat16 too, and so do all minimum and maximum functions,
// saturating ones, and unordered comparisons.
//
// With nvcc the functions are the native ones.
#ifndef HIPPORT_HALF_H
#define HIPPORT_HALF_H

#if defined(__HIP__) || defined(__CUDACC__)  // nothing here is for host compilers

#if defined(__HIP__)

#include <hip/hip_runtime.h>

#include <hip/hip_fp16.h>

#define HIPPORT_DEVICE static __device__ __forceinline__

namespace hipport {
namespace detail {

HIPPORT_DEVICE _Float16 number(__half value) { return static_cast<__half_raw>(value).data; }
HIPPORT_DEVICE __half half_of(_Float16 number) {
  __half_raw raw;
  raw.data = number;
  return __half(raw);
}
HIPPORT_DEVICE unsigned short half_bits(__half value) {
  unsigned short bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}
HIPPORT_DEVICE __half half_from_bits(unsigned short bits) {
  _Float16 value;
  __builtin_memcpy(&value, &bits, sizeof(bits));
  return half_of(value);
}

/// All bits of a half of the word if `holds` says so.
template <typename T, typename Holds>
HIPPORT_DEVICE unsigned mask_of(T a, T b, Holds holds) {
  return (holds(__low2float(a), __low2float(b)) ? 0xffffu : 0u) |
         (holds(__high2float(a), __high2float(b)) ? 0xffff0000u : 0u);
}

template <typename Operation, typename... Arguments>
HIPPORT_DEVICE __half2 by_half(Operation operation, Arguments... arguments) {
  return __halves2half2(operation(__low2half(arguments)...), operation(__high2half(arguments)...));
}

/// The maximum (or minimum) of two numbers. +0 is greater than -0. A NaN is the result if `nan` is true, or if both are
/// NaN; it has the same bits as in CUDA.
template <bool greatest, bool nan>
HIPPORT_DEVICE __half extreme(__half a, __half b) {
  const float x = __half2float(a), y = __half2float(b);
  const bool no_x = x != x, no_y = y != y;
  if ((no_x && no_y) || (nan && (no_x || no_y))) return half_from_bits(0x7fff);
  if (no_x) return b;
  if (no_y) return a;
  if (x == y) {
    const unsigned both = half_bits(a) & half_bits(b), either = half_bits(a) | half_bits(b);
    return half_from_bits(static_cast<unsigned short>(greatest ? both : either));
  }
  return (x > y) == greatest ? a : b;
}

/// The same for bfloat16, by its bits, because its types differ between releases.
template <bool greatest, bool nan>
HIPPORT_DEVICE unsigned extreme_of_bits(unsigned a, unsigned b) {
  const unsigned bits_a = a << 16, bits_b = b << 16;
  float x, y;
  __builtin_memcpy(&x, &bits_a, sizeof(x));
  __builtin_memcpy(&y, &bits_b, sizeof(y));
  const bool no_x = x != x, no_y = y != y;
  if ((no_x && no_y) || (nan && (no_x || no_y))) return 0x7fff;
  if (no_x) return b;
  if (no_y) return a;
  if (x == y) return greatest ? a & b : a | b;
  return (x > y) == greatest ? a : b;
}
template <bool>
struct enabled {};
template <>
struct enabled<true> {
  using type = void;
};
template <typename T>
T given();
template <typename Half>
char takes(Half);
template <typename Half>
long takes(...);
template <typename T, typename Half>
using if_bfloat16 = typename enabled<__is_class(T) && sizeof(takes<Half>(given<T>())) != 1>::type;
/// For one bfloat16 or two.
template <bool greatest, bool nan, typename T>
HIPPORT_DEVICE T extreme_of_bfloat16(T a, T b) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "of one bfloat16 or of two");
  unsigned x = 0, y = 0;
  __builtin_memcpy(&x, &a, sizeof(T));
  __builtin_memcpy(&y, &b, sizeof(T));
  const unsigned low = extreme_of_bits<greatest, nan>(x & 0xffffu, y & 0xffffu);
  const unsigned both = low | extreme_of_bits<greatest, nan>(x >> 16, y >> 16) << 16;
  __builtin_memcpy(static_cast<void *>(&a), &both, sizeof(T));
  return a;
}

template <typename T>
HIPPORT_DEVICE T of_bits(unsigned bits) {
  T value;
  __builtin_memcpy(static_cast<void *>(&value), &bits, sizeof(T));
  return value;
}
HIPPORT_DEVICE __half saturated(__half value) {
  return extreme<false, false>(extreme<true, false>(value, half_from_bits(0)), half_from_bits(0x3c00));
}
HIPPORT_DEVICE __half2 saturated(__half2 value) {
  return by_half([](__half x) { return saturated(x); }, value);
}
template <typename T>
HIPPORT_DEVICE T saturated(T value) {
  return extreme_of_bfloat16<false, false>(extreme_of_bfloat16<true, false>(value, of_bits<T>(0)),
                                           of_bits<T>(0x3f803f80u));
}

}  // namespace detail

// ---- comparisons: the unordered ones also hold for NaN

#define HIPPORT_MASK(name, ...)                                                  \
  template <typename T>                                                          \
  HIPPORT_DEVICE unsigned name(T a, T b) {                                       \
    return detail::mask_of(a, b, [](float x, float y) { return __VA_ARGS__; });  \
  }
HIPPORT_MASK(heq2_mask, x == y)
HIPPORT_MASK(hequ2_mask, !(x < y || x > y))
HIPPORT_MASK(hne2_mask, x < y || x > y)
HIPPORT_MASK(hneu2_mask, x != y)
HIPPORT_MASK(hle2_mask, x <= y)
HIPPORT_MASK(hleu2_mask, !(x > y))
HIPPORT_MASK(hge2_mask, x >= y)
HIPPORT_MASK(hgeu2_mask, !(x < y))
HIPPORT_MASK(hlt2_mask, x < y)
HIPPORT_MASK(hltu2_mask, !(x >= y))
HIPPORT_MASK(hgt2_mask, x > y)
HIPPORT_MASK(hgtu2_mask, !(x <= y))
#undef HIPPORT_MASK

// ---- arithmetic that does not become part of a fused operation

#define HIPPORT_ROUNDED(name, sign)                                                                       \
  HIPPORT_DEVICE __half h##name##_rn(__half a, __half b) {                                                \
    _Pragma("clang fp contract(off)") return detail::half_of(                                             \
        static_cast<_Float16>(detail::number(a) sign detail::number(b)));                                 \
  }                                                                                                       \
  HIPPORT_DEVICE __half2 h##name##2_rn(__half2 a, __half2 b) {                                            \
    return detail::by_half([](__half x, __half y) { return h##name##_rn(x, y); }, a, b);                  \
  }                                                                                                       \
  template <typename T>                                                                                   \
  HIPPORT_DEVICE T h##name##_rn(T a, T b) {                                                               \
    return __h##name(a, b);                                                                               \
  }                                                                                                       \
  template <typename T>                                                                                   \
  HIPPORT_DEVICE T h##name##2_rn(T a, T b) {                                                              \
    return __h##name##2(a, b);                                                                            \
  }
HIPPORT_ROUNDED(add, +)
HIPPORT_ROUNDED(sub, -)
HIPPORT_ROUNDED(mul, *)
#undef HIPPORT_ROUNDED

/// a * b + c, and 0 if that is less.
HIPPORT_DEVICE __half hfma_relu(__half a, __half b, __half c) {
  return detail::extreme<true, true>(__hfma(a, b, c), detail::half_from_bits(0));
}
HIPPORT_DEVICE __half2 hfma2_relu(__half2 a, __half2 b, __half2 c) {
  return detail::by_half([](__half x, __half y, __half z) { return hfma_relu(x, y, z); }, a, b, c);
}
/// Clamped to the range from 0 to 1, and 0 for NaN, which HIP's keep; HIP has them only for half.
#define HIPPORT_SATURATED(half_type, name, plain, parameters, ...)                                        \
  HIPPORT_DEVICE half_type name(parameters(half_type)) { return detail::saturated(plain(__VA_ARGS__)); } \
  template <typename T, typename = detail::if_bfloat16<T, half_type>>                                    \
  HIPPORT_DEVICE T name(parameters(T)) {                                                                 \
    return detail::saturated(plain(__VA_ARGS__));                                                        \
  }
#define HIPPORT_TWO(type) type a, type b
#define HIPPORT_THREE(type) type a, type b, type c
HIPPORT_SATURATED(__half, hadd_sat, __hadd, HIPPORT_TWO, a, b)
HIPPORT_SATURATED(__half, hsub_sat, __hsub, HIPPORT_TWO, a, b)
HIPPORT_SATURATED(__half, hmul_sat, __hmul, HIPPORT_TWO, a, b)
HIPPORT_SATURATED(__half, hfma_sat, __hfma, HIPPORT_THREE, a, b, c)
HIPPORT_SATURATED(__half2, hadd2_sat, __hadd2, HIPPORT_TWO, a, b)
HIPPORT_SATURATED(__half2, hsub2_sat, __hsub2, HIPPORT_TWO, a, b)
HIPPORT_SATURATED(__half2, hmul2_sat, __hmul2, HIPPORT_TWO, a, b)
HIPPORT_SATURATED(__half2, hfma2_sat, __hfma2, HIPPORT_THREE, a, b, c)
#undef HIPPORT_SATURATED
#undef HIPPORT_TWO
#undef HIPPORT_THREE
// HIP has the following only for half.
template <typename T, typename = detail::if_bfloat16<T, __half>>
HIPPORT_DEVICE T hfma_relu(T a, T b, T c) {
  return detail::extreme_of_bfloat16<true, true>(__hfma(a, b, c), detail::of_bits<T>(0));
}
template <typename T, typename = detail::if_bfloat16<T, __half2>>
HIPPORT_DEVICE T hfma2_relu(T a, T b, T c) {
  return detail::extreme_of_bfloat16<true, true>(__hfma2(a, b, c), detail::of_bits<T>(0));
}
/// 1 for each half for which it holds, also if one is NaN, else 0.
#define HIPPORT_UNORDERED(name)                                                                 \
  HIPPORT_DEVICE __half2 h##name##2(__half2 a, __half2 b) { return __h##name##2(a, b); }        \
  template <typename T, typename = detail::if_bfloat16<T, __half2>>                             \
  HIPPORT_DEVICE T h##name##2(T a, T b) {                                                       \
    return detail::of_bits<T>(h##name##2_mask(a, b) & 0x3f803f80u);                             \
  }
HIPPORT_UNORDERED(equ)
HIPPORT_UNORDERED(neu)
HIPPORT_UNORDERED(leu)
HIPPORT_UNORDERED(geu)
HIPPORT_UNORDERED(ltu)
HIPPORT_UNORDERED(gtu)
#undef HIPPORT_UNORDERED
template <typename T, typename = detail::if_bfloat16<T, __half2>>
HIPPORT_DEVICE T hcmadd(T a, T b, T c) {
  const auto real = __hfma(__low2bfloat16(a), __low2bfloat16(b), __low2bfloat16(c));
  const auto imaginary = __hfma(__low2bfloat16(a), __high2bfloat16(b), __high2bfloat16(c));
  return __halves2bfloat162(__hfma(__hneg(__high2bfloat16(a)), __high2bfloat16(b), real),
                            __hfma(__high2bfloat16(a), __low2bfloat16(b), imaginary));
}
/// A load through the constant cache in CUDA. HIP has it for most types.
template <typename T>
HIPPORT_DEVICE T ldg(const T* address) {
  return *address;
}
/// a * b + c of complex numbers.
HIPPORT_DEVICE __half2 hcmadd(__half2 a, __half2 b, __half2 c) {
  const __half real = __hfma(__low2half(a), __low2half(b), __low2half(c));
  const __half imaginary = __hfma(__low2half(a), __high2half(b), __high2half(c));
  return __halves2half2(__hfma(__hneg(__high2half(a)), __high2half(b), real),
                        __hfma(__high2half(a), __low2half(b), imaginary));
}

// ---- maximum and minimum

#define HIPPORT_EXTREME(name, greatest, nan)                                                               \
  HIPPORT_DEVICE __half name(__half a, __half b) { return detail::extreme<greatest, nan>(a, b); }          \
  HIPPORT_OF_BFLOAT16(__half, name, greatest, nan)
#define HIPPORT_EXTREME2(name, greatest, nan)                                                              \
  HIPPORT_DEVICE __half2 name(__half2 a, __half2 b) {                                                      \
    return detail::by_half([](__half x, __half y) { return detail::extreme<greatest, nan>(x, y); }, a, b); \
  }                                                                                                        \
  HIPPORT_OF_BFLOAT16(__half2, name, greatest, nan)
// A type that converts to half, like PyTorch's, is half.
#define HIPPORT_OF_BFLOAT16(half_type, name, greatest, nan)                     \
  template <typename T, typename = detail::if_bfloat16<T, half_type>>          \
  HIPPORT_DEVICE T name(T a, T b) {                                             \
    return detail::extreme_of_bfloat16<greatest, nan>(a, b);                    \
  }
HIPPORT_EXTREME(hmax, true, false)
HIPPORT_EXTREME(hmin, false, false)
HIPPORT_EXTREME(hmax_nan, true, true)
HIPPORT_EXTREME(hmin_nan, false, true)
HIPPORT_EXTREME2(hmax2, true, false)
HIPPORT_EXTREME2(hmin2, false, false)
HIPPORT_EXTREME2(hmax2_nan, true, true)
HIPPORT_EXTREME2(hmin2_nan, false, true)
#undef HIPPORT_EXTREME
#undef HIPPORT_EXTREME2
#undef HIPPORT_OF_BFLOAT16

// ---- conversions

HIPPORT_DEVICE __half double2half(double value) { return detail::half_of(static_cast<_Float16>(value)); }
/// Towards zero; saturating, and 0 for NaN.
HIPPORT_DEVICE signed char half2char_rz(__half value) {
  const float x = __half2float(value);
  return static_cast<signed char>(x != x ? 0 : x > 127.0f ? 127 : x < -128.0f ? -128 : static_cast<int>(x));
}
HIPPORT_DEVICE unsigned char half2uchar_rz(__half value) {
  const float x = __half2float(value);
  return static_cast<unsigned char>(x > 255.0f ? 255 : x > 0.0f ? static_cast<int>(x) : 0);
}

HIPPORT_DEVICE __half htanh(__half value) { return __float2half(tanhf(__half2float(value))); }
HIPPORT_DEVICE __half2 h2tanh(__half2 value) {
  return detail::by_half([](__half x) { return htanh(x); }, value);
}

}  // namespace hipport

#undef HIPPORT_DEVICE

#else  // nvcc

#include <cuda_fp16.h>

namespace hipport {

#define HIPPORT_NATIVE(name, native)                                                   \
  template <typename... T>                                                             \
  static __device__ __forceinline__ auto name(T... arguments) -> decltype(native(arguments...)) { \
    return native(arguments...);                                                       \
  }
HIPPORT_NATIVE(heq2_mask, __heq2_mask)
HIPPORT_NATIVE(hequ2_mask, __hequ2_mask)
HIPPORT_NATIVE(hne2_mask, __hne2_mask)
HIPPORT_NATIVE(hneu2_mask, __hneu2_mask)
HIPPORT_NATIVE(hle2_mask, __hle2_mask)
HIPPORT_NATIVE(hleu2_mask, __hleu2_mask)
HIPPORT_NATIVE(hge2_mask, __hge2_mask)
HIPPORT_NATIVE(hgeu2_mask, __hgeu2_mask)
HIPPORT_NATIVE(hlt2_mask, __hlt2_mask)
HIPPORT_NATIVE(hltu2_mask, __hltu2_mask)
HIPPORT_NATIVE(hgt2_mask, __hgt2_mask)
HIPPORT_NATIVE(hgtu2_mask, __hgtu2_mask)
HIPPORT_NATIVE(hadd_rn, __hadd_rn)
HIPPORT_NATIVE(hadd2_rn, __hadd2_rn)
HIPPORT_NATIVE(hsub_rn, __hsub_rn)
HIPPORT_NATIVE(hsub2_rn, __hsub2_rn)
HIPPORT_NATIVE(hmul_rn, __hmul_rn)
HIPPORT_NATIVE(hmul2_rn, __hmul2_rn)
HIPPORT_NATIVE(hfma_relu, __hfma_relu)
HIPPORT_NATIVE(hadd_sat, __hadd_sat)
HIPPORT_NATIVE(hsub_sat, __hsub_sat)
HIPPORT_NATIVE(hmul_sat, __hmul_sat)
HIPPORT_NATIVE(hfma_sat, __hfma_sat)
HIPPORT_NATIVE(hadd2_sat, __hadd2_sat)
HIPPORT_NATIVE(hsub2_sat, __hsub2_sat)
HIPPORT_NATIVE(hmul2_sat, __hmul2_sat)
HIPPORT_NATIVE(hfma2_sat, __hfma2_sat)
HIPPORT_NATIVE(hequ2, __hequ2)
HIPPORT_NATIVE(hneu2, __hneu2)
HIPPORT_NATIVE(hleu2, __hleu2)
HIPPORT_NATIVE(hgeu2, __hgeu2)
HIPPORT_NATIVE(hltu2, __hltu2)
HIPPORT_NATIVE(hgtu2, __hgtu2)
HIPPORT_NATIVE(ldg, __ldg)
HIPPORT_NATIVE(hfma2_relu, __hfma2_relu)
HIPPORT_NATIVE(hcmadd, __hcmadd)
HIPPORT_NATIVE(hmax, __hmax)
HIPPORT_NATIVE(hmin, __hmin)
HIPPORT_NATIVE(hmax_nan, __hmax_nan)
HIPPORT_NATIVE(hmin_nan, __hmin_nan)
HIPPORT_NATIVE(hmax2, __hmax2)
HIPPORT_NATIVE(hmin2, __hmin2)
HIPPORT_NATIVE(hmax2_nan, __hmax2_nan)
HIPPORT_NATIVE(hmin2_nan, __hmin2_nan)
HIPPORT_NATIVE(double2half, __double2half)
HIPPORT_NATIVE(half2char_rz, __half2char_rz)
HIPPORT_NATIVE(half2uchar_rz, __half2uchar_rz)
HIPPORT_NATIVE(htanh, ::htanh)
HIPPORT_NATIVE(h2tanh, ::h2tanh)
#undef HIPPORT_NATIVE

}  // namespace hipport

#endif

#endif  // host compilers

#endif  // HIPPORT_HALF_H
