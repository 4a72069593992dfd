// SPDX-License-Identifier: Apache-2.0
// hipport/ptx_float.h: PTX's arithmetic of floating-point numbers. Part of hipport/ptx.h.
// Put here by hipport.
//
// AMD's GPUs round to nearest. They have no instruction that rounds in another direction, and C++ cannot change the
// mode for one operation: then the exact result is computed in integers and rounded here, with subnormals, overflows
// and signed zeros as in PTX. NaNs are NaNs, but their bits are not specified.
//
// Approximations are at least as accurate as PTX promises, but not bit-identical to NVIDIA's GPUs: they are the
// functions of HIP's mathematical library, and for reciprocals with .ftz the GPU's own instruction, which is within 1
// ulp. Measured differences from an H200 are 1 ulp (rcp, rsqrt, sqrt, div, ex2; ex2 and tanh of halves), 2^-22 for lg2
// near 1, 2^-21 for sin and cos up to 2 pi, 2^-11 for tanh, 2^-20 for doubles. For large angles, its sin and cos are
// far off; these are not.
//
// None of this holds with -ffast-math.
#ifndef HIPPORT_PTX_FLOAT_H
#define HIPPORT_PTX_FLOAT_H

#ifndef HIPPORT_PTX
#error "include hipport/ptx.h"
#endif

#include <math.h>

namespace hipport {
namespace ptx {
namespace detail {

// ---- formats

template <typename Word, typename Wide, int bits, int exponent_bits>
struct format {
  using word = Word;
  /// Holds the product of two significands and two more bits.
  using wide = Wide;
  /// Bits of a significand, including the implicit one.
  static constexpr int precision = bits;
  static constexpr Word hidden = static_cast<Word>(Word(1) << (bits - 1));
  static constexpr Word infinity = static_cast<Word>(((Word(1) << exponent_bits) - 1) << (bits - 1));
  static constexpr Word sign = static_cast<Word>(Word(1) << (bits + exponent_bits - 1));
  static constexpr Word one = static_cast<Word>(((Word(1) << (exponent_bits - 1)) - 1) << (bits - 1));
  static constexpr Word nan = static_cast<Word>(sign - 1);
  /// The exponent of the lowest bit of the smallest number.
  static constexpr int lowest = 3 - (1 << (exponent_bits - 1)) - bits;
};
using half_format = format<u16, u64, 11, 5>;
using bfloat_format = format<u16, u64, 8, 8>;
using tensor_format = format<u32, u64, 11, 8>;
using float_format = format<u32, u64, 24, 8>;
using double_format = format<u64, u128, 53, 11>;

template <typename T>
struct format_of;
template <>
struct format_of<f32> {
  using type = float_format;
};
template <>
struct format_of<f64> {
  using type = double_format;
};

template <typename Format>
HIPPORT_DEVICE bool is_finite(typename Format::word a) {
  return (a & Format::infinity) != Format::infinity;
}
template <typename Format>
HIPPORT_DEVICE bool is_nan(typename Format::word a) {
  return (a & (Format::sign - 1)) > Format::infinity;
}
template <typename Format>
HIPPORT_DEVICE bool is_zero(typename Format::word a) {
  return (a & (Format::sign - 1)) == 0;
}
template <typename Format>
HIPPORT_DEVICE bool is_subnormal(typename Format::word a) {
  return !is_zero<Format>(a) && (a & Format::infinity) == 0;
}

// ---- exact results, and rounding

// rn rz rm rp rna
enum rounding { to_nearest, to_zero, down, up, to_nearest_away };

/// The number magnitude * 2^exponent, with a sign.
template <typename Wide>
struct parts {
  bool negative;
  int exponent;
  Wide magnitude;
};

HIPPORT_DEVICE int bits_of(u64 a) { return 64 - static_cast<int>(leading_zeros(a)); }
HIPPORT_DEVICE int bits_of(u128 a) {
  const u64 high = static_cast<u64>(a >> 64);
  return high != 0 ? 64 + bits_of(high) : bits_of(static_cast<u64>(a));
}

/// a / 2^count; the lowest bit is set if bits are lost (sticky), so that later rounding is correct.
template <typename Wide>
HIPPORT_DEVICE Wide jammed(Wide a, int count) {
  constexpr int bits = 8 * sizeof(Wide);
  if (count >= bits) return a != 0;
  const Wide result = a >> count;
  return result | static_cast<Wide>(result << count != a);
}

template <typename Format>
HIPPORT_DEVICE parts<typename Format::wide> split(typename Format::word a) {
  const typename Format::word low = a & (Format::hidden - 1);
  const int exponent = static_cast<int>((a & Format::infinity) >> (Format::precision - 1));
  return {(a & Format::sign) != 0, Format::lowest + (exponent != 0 ? exponent - 1 : 0),
          static_cast<typename Format::wide>(exponent != 0 ? low | Format::hidden : low)};
}

/// The nearest number of the format in the given direction.
template <typename Format, typename Wide>
HIPPORT_DEVICE typename Format::word rounded(parts<Wide> a, rounding direction) {
  using Word = typename Format::word;
  const Word sign = a.negative ? Format::sign : Word(0);
  if (a.magnitude == 0) return sign;
  const int highest_bit = a.exponent + bits_of(a.magnitude) - 1;
  const int lowest_bit = larger(highest_bit - Format::precision + 1, Format::lowest);
  const int lost = lowest_bit - a.exponent;
  // The significand, one more bit for rounding, and a sticky bit.
  const Wide kept = lost > 2 ? jammed(a.magnitude, lost - 2) : a.magnitude << (2 - lost);
  const unsigned rest = static_cast<unsigned>(kept & 3u);
  Word significand = static_cast<Word>(kept >> 2);
  const bool more = direction == to_nearest        ? rest == 3 || (rest == 2 && (significand & 1) != 0)
                    : direction == to_nearest_away ? rest >= 2
                    : direction == up              ? !a.negative && rest != 0
                    : direction == down            ? a.negative && rest != 0
                                                   : false;
  const bool outward = direction == (a.negative ? down : up) || direction == to_nearest || direction == to_nearest_away;
  const int steps = lowest_bit - Format::lowest;
  const Word largest = Format::infinity - 1;
  if (steps >= static_cast<int>(Format::infinity >> (Format::precision - 1)) - 1) {
    return static_cast<Word>(sign | (outward ? Format::infinity : largest));
  }
  // The implicit bit of the significand adds one to the exponent; so does a carry out of it.
  significand = static_cast<Word>(significand + more + (static_cast<Word>(steps) << (Format::precision - 1)));
  if (significand >= Format::infinity) significand = outward ? Format::infinity : largest;
  return static_cast<Word>(sign | significand);
}

/// The sum of two nonzero numbers, or a value that rounds like it.
template <typename Wide>
HIPPORT_DEVICE parts<Wide> sum_of(parts<Wide> x, parts<Wide> y) {
  constexpr int room = 8 * sizeof(Wide) - 1;
  const int x_up = room - bits_of(x.magnitude), y_up = room - bits_of(y.magnitude);
  x = {x.negative, x.exponent - x_up, x.magnitude << x_up};
  y = {y.negative, y.exponent - y_up, y.magnitude << y_up};
  if (x.exponent < y.exponent || (x.exponent == y.exponent && x.magnitude < y.magnitude)) {
    const parts<Wide> other = x;
    x = y;
    y = other;
  }
  y.magnitude = jammed(y.magnitude, x.exponent - y.exponent);
  return {x.negative, x.exponent,
          x.negative == y.negative ? x.magnitude + y.magnitude : x.magnitude - y.magnitude};
}

template <typename Format>
HIPPORT_DEVICE parts<typename Format::wide> product_of(typename Format::word a, typename Format::word b) {
  const parts<typename Format::wide> x = split<Format>(a), y = split<Format>(b);
  return {x.negative != y.negative, x.exponent + y.exponent, x.magnitude * y.magnitude};
}

// The following functions round to the format Result, which may differ from that of the arguments.

/// a * b of finite numbers.
template <typename Format, typename Result = Format>
HIPPORT_DEVICE typename Result::word multiplied(typename Format::word a, typename Format::word b, rounding direction) {
  return rounded<Result>(product_of<Format>(a, b), direction);
}

/// a * b + c of finite numbers.
template <typename Format, typename Result = Format>
HIPPORT_DEVICE typename Result::word fused(typename Format::word a, typename Format::word b, typename Format::word c,
                                           rounding direction) {
  using Parts = parts<typename Format::wide>;
  const Parts x = product_of<Format>(a, b), y = split<Format>(c);
  // The sum of zeros with different signs is the positive one, or with rounding down the negative one.
  const Parts none = {x.negative == y.negative ? x.negative : direction == down, 0, 0};
  if (x.magnitude == 0) return rounded<Result>(y.magnitude == 0 ? none : y, direction);
  if (y.magnitude == 0) return rounded<Result>(x, direction);
  Parts result = sum_of(x, y);
  if (result.magnitude == 0) result.negative = direction == down;
  return rounded<Result>(result, direction);
}

/// a / b of finite nonzero numbers.
template <typename Format, typename Result = Format>
HIPPORT_DEVICE typename Result::word divided(typename Format::word a, typename Format::word b, rounding direction) {
  parts<typename Format::wide> x = split<Format>(a), y = split<Format>(b);
  const int x_up = Format::precision - bits_of(x.magnitude), y_up = Format::precision - bits_of(y.magnitude);
  u64 rest = static_cast<u64>(x.magnitude) << x_up, result = 0;
  const u64 divisor = static_cast<u64>(y.magnitude) << y_up;
  for (int i = 0; i < Format::precision + 3; ++i) {
    const bool in = rest >= divisor;
    result = result << 1 | in;
    rest = (in ? rest - divisor : rest) << 1;
  }
  const parts<u64> quotient = {x.negative != y.negative,
                               x.exponent - x_up - y.exponent + y_up - (Format::precision + 2) - 1,
                               result << 1 | (rest != 0)};
  return rounded<Result>(quotient, direction);
}

/// The square root of a finite positive number.
template <typename Format>
HIPPORT_DEVICE typename Format::word root_of(typename Format::word a, rounding direction) {
  using Wide = typename Format::wide;
  parts<Wide> x = split<Format>(a);
  int up = Format::precision + 1 - bits_of(x.magnitude);
  up += (x.exponent - up) & 1;
  constexpr int more = (Format::precision + 4) / 2 * 2;
  const Wide square = x.magnitude << up << more;
  Wide root = 0;
  for (int bit = (Format::precision + 2 + more) / 2; bit >= 0; --bit) {
    const Wide larger_root = root | Wide(1) << bit;
    if (larger_root * larger_root <= square) root = larger_root;
  }
  const parts<Wide> result = {false, (x.exponent - up - more) / 2 - 1, root << 1 | Wide(root * root != square)};
  return rounded<Format>(result, direction);
}

// ---- operations rounded to nearest, never fused

#if HIPPORT_NVCC
HIPPORT_DEVICE f32 plus(f32 a, f32 b) { return __fadd_rn(a, b); }
HIPPORT_DEVICE f64 plus(f64 a, f64 b) { return __dadd_rn(a, b); }
HIPPORT_DEVICE f32 times(f32 a, f32 b) { return __fmul_rn(a, b); }
HIPPORT_DEVICE f64 times(f64 a, f64 b) { return __dmul_rn(a, b); }
HIPPORT_DEVICE f32 over(f32 a, f32 b) { return __fdiv_rn(a, b); }
HIPPORT_DEVICE f64 over(f64 a, f64 b) { return __ddiv_rn(a, b); }
HIPPORT_DEVICE f32 fused(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
HIPPORT_DEVICE f64 fused(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }
HIPPORT_DEVICE f32 root(f32 a) { return __fsqrt_rn(a); }
HIPPORT_DEVICE f64 root(f64 a) { return __dsqrt_rn(a); }
#else
#if defined(__clang__)
#define HIPPORT_NOT_FUSED _Pragma("clang fp contract(off) reassociate(off)")
#else
#define HIPPORT_NOT_FUSED
#endif
template <typename T>
HIPPORT_DEVICE T plus(T a, T b) {
  HIPPORT_NOT_FUSED
  return a + b;
}
template <typename T>
HIPPORT_DEVICE T times(T a, T b) {
  HIPPORT_NOT_FUSED
  return a * b;
}
template <typename T>
HIPPORT_DEVICE T over(T a, T b) {
  HIPPORT_NOT_FUSED
  return a / b;
}
#undef HIPPORT_NOT_FUSED
HIPPORT_DEVICE f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
HIPPORT_DEVICE f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
HIPPORT_DEVICE f32 root(f32 a) { return ::sqrtf(a); }
HIPPORT_DEVICE f64 root(f64 a) { return ::sqrt(a); }
#endif

// ---- operations in any direction

template <typename T>
using bits_type = typename format_of<T>::type::word;
template <typename T>
HIPPORT_DEVICE bits_type<T> bits(T a) {
  return as<bits_type<T>>(a);
}
template <typename T>
HIPPORT_DEVICE bool finite(T a) {
  return is_finite<typename format_of<T>::type>(bits(a));
}
template <typename T>
HIPPORT_DEVICE bool ordinary(T a) {
  return finite(a) && !is_zero<typename format_of<T>::type>(bits(a));
}

template <rounding direction, typename T>
HIPPORT_DEVICE T fma(T a, T b, T c) {
  using Format = typename format_of<T>::type;
  if (direction == to_nearest || !finite(a) || !finite(b) || !finite(c)) return fused(a, b, c);
  return as<T>(fused<Format>(bits(a), bits(b), bits(c), direction));
}
template <rounding direction, typename T>
HIPPORT_DEVICE T add(T a, T b) {
  return direction == to_nearest ? plus(a, b) : fma<direction>(a, T(1), b);
}
template <rounding direction, typename T>
HIPPORT_DEVICE T mul(T a, T b) {
  using Format = typename format_of<T>::type;
  if (direction == to_nearest || !finite(a) || !finite(b)) return times(a, b);
  return as<T>(multiplied<Format>(bits(a), bits(b), direction));
}
template <rounding direction, typename T>
HIPPORT_DEVICE T div(T a, T b) {
  using Format = typename format_of<T>::type;
  if (direction == to_nearest || !ordinary(a) || !ordinary(b)) return over(a, b);
  return as<T>(divided<Format>(bits(a), bits(b), direction));
}
template <rounding direction, typename T>
HIPPORT_DEVICE T sqrt(T a) {
  using Format = typename format_of<T>::type;
  if (direction == to_nearest || !ordinary(a) || a < 0) return root(a);
  return as<T>(root_of<Format>(bits(a), direction));
}

// ---- .ftz: subnormal arguments and results become 0

HIPPORT_DEVICE f32 flushed(f32 a) {
  const u32 word = as<u32>(a);
  return as<f32>(word & float_format::infinity ? word : word & float_format::sign);
}
template <typename Format>
HIPPORT_DEVICE u16 flushed(u16 a) {
  return static_cast<u16>(a & Format::infinity ? a : a & Format::sign);
}
/// The format with a larger exponent range, so that nothing is subnormal.
template <typename Format>
using roomy = format<u64, typename Format::wide, Format::precision, 11>;

/// Whether a result, rounded so, is below the smallest normal number. NVIDIA's GPUs test that before they let rounding
/// raise the number to that smallest one.
template <typename Format>
HIPPORT_DEVICE bool is_tiny(u64 roomy_word) {
  constexpr u64 least = static_cast<u64>(Format::lowest - roomy<Format>::lowest + 1) << (Format::precision - 1);
  return (roomy_word & (roomy<Format>::sign - 1)) < least;
}
template <typename Format>
HIPPORT_DEVICE bool is_least_normal(typename Format::word a) {
  return (a & (Format::sign - 1)) == Format::hidden;
}
/// The flushed result, if it is not already known to be tiny.
HIPPORT_DEVICE f32 flushed(f32 a, bool tiny) { return tiny ? as<f32>(as<u32>(a) & float_format::sign) : flushed(a); }

template <rounding direction>
HIPPORT_DEVICE f32 add_ftz(f32 a, f32 b) {
  return flushed(add<direction>(flushed(a), flushed(b)));
}
template <rounding direction>
HIPPORT_DEVICE f32 mul_ftz(f32 a, f32 b) {
  a = flushed(a), b = flushed(b);
  const f32 result = mul<direction>(a, b);
  return flushed(result, is_least_normal<float_format>(bits(result)) &&
                             is_tiny<float_format>(
                                 multiplied<float_format, roomy<float_format>>(bits(a), bits(b), direction)));
}
template <rounding direction>
HIPPORT_DEVICE f32 fma_ftz(f32 a, f32 b, f32 c) {
  a = flushed(a), b = flushed(b), c = flushed(c);
  const f32 result = fma<direction>(a, b, c);
  return flushed(result, is_least_normal<float_format>(bits(result)) &&
                             is_tiny<float_format>(
                                 fused<float_format, roomy<float_format>>(bits(a), bits(b), bits(c), direction)));
}
template <rounding direction>
HIPPORT_DEVICE f32 div_ftz(f32 a, f32 b) {
  a = flushed(a), b = flushed(b);
  const f32 result = div<direction>(a, b);
  return flushed(result, is_least_normal<float_format>(bits(result)) &&
                             is_tiny<float_format>(
                                 divided<float_format, roomy<float_format>>(bits(a), bits(b), direction)));
}
template <rounding direction>
HIPPORT_DEVICE f32 sqrt_ftz(f32 a) {
  return sqrt<direction>(flushed(a));
}

// ---- the smaller formats, whose numbers are stored as their bits

#if defined(__HIP_DEVICE_COMPILE__)
HIPPORT_DEVICE f32 widened(half_format, u16 a) { return static_cast<f32>(as<_Float16>(a)); }
HIPPORT_DEVICE u16 fused_nearest(half_format, u16 a, u16 b, u16 c) {
  return as<u16>(static_cast<_Float16>(__builtin_fmaf16(as<_Float16>(a), as<_Float16>(b), as<_Float16>(c))));
}
HIPPORT_DEVICE u16 narrowed_nearest(half_format, f32 a) { return as<u16>(static_cast<_Float16>(a)); }
#else
HIPPORT_DEVICE f32 widened(half_format, u16 a) {
  const f32 sign = a & half_format::sign ? -1.0f : 1.0f;
  if (!is_finite<half_format>(a)) return is_nan<half_format>(a) ? as<f32>(0x7fffffffu) : sign * as<f32>(0x7f800000u);
  return as<f32>(rounded<float_format>(split<half_format>(a), to_zero));
}
#endif
HIPPORT_DEVICE f32 widened(bfloat_format, u16 a) { return as<f32>(static_cast<u32>(a) << 16); }

template <typename Format>
HIPPORT_DEVICE typename Format::word narrowed(f32 a, rounding direction) {
  using Word = typename Format::word;
  const u32 word = as<u32>(a);
  if (is_nan<float_format>(word)) return Format::nan;
  const Word sign = word & float_format::sign ? Format::sign : Word(0);
  if (!is_finite<float_format>(word)) return static_cast<Word>(sign | Format::infinity);
  return rounded<Format>(split<float_format>(word), direction);
}

#if !defined(__HIP_DEVICE_COMPILE__)
HIPPORT_DEVICE u16 narrowed_nearest(half_format, f32 a) { return narrowed<half_format>(a, to_nearest); }
HIPPORT_DEVICE u16 fused_nearest(half_format, u16 a, u16 b, u16 c) {
  if (is_finite<half_format>(a) && is_finite<half_format>(b) && is_finite<half_format>(c)) {
    return fused<half_format>(a, b, c, to_nearest);
  }
  return narrowed<half_format>(fused(widened(half_format(), a), widened(half_format(), b), widened(half_format(), c)),
                               to_nearest);
}
#endif
HIPPORT_DEVICE u16 narrowed_nearest(bfloat_format, f32 a) { return narrowed<bfloat_format>(a, to_nearest); }
HIPPORT_DEVICE u16 fused_nearest(bfloat_format, u16 a, u16 b, u16 c) {
  if (is_finite<bfloat_format>(a) && is_finite<bfloat_format>(b) && is_finite<bfloat_format>(c)) {
    return fused<bfloat_format>(a, b, c, to_nearest);
  }
  return narrowed<bfloat_format>(
      fused(widened(bfloat_format(), a), widened(bfloat_format(), b), widened(bfloat_format(), c)), to_nearest);
}
template <typename Format>
HIPPORT_DEVICE u16 fma(u16 a, u16 b, u16 c) {
  return fused_nearest(Format(), a, b, c);
}
template <typename Format>
HIPPORT_DEVICE u16 fma_ftz(u16 a, u16 b, u16 c) {
  a = flushed<Format>(a), b = flushed<Format>(b), c = flushed<Format>(c);
  const u16 result = fused_nearest(Format(), a, b, c);
  const bool tiny =
      is_least_normal<Format>(result) && is_tiny<Format>(fused<Format, roomy<Format>>(a, b, c, to_nearest));
  return tiny ? static_cast<u16>(result & Format::sign) : flushed<Format>(result);
}
template <typename Format>
HIPPORT_DEVICE u16 negated(u16 a) {
  return static_cast<u16>(a ^ Format::sign);
}

// ---- .sat and .relu

template <typename T>
HIPPORT_DEVICE T same(T a) {
  return a;
}
template <typename Format>
HIPPORT_DEVICE u16 same(u16 a) {
  return a;
}
/// The nearest value in [+0, 1]; 0 for NaN.
template <typename T>
HIPPORT_DEVICE T saturated(T a) {
  return a > T(0) ? (a < T(1) ? a : T(1)) : T(0);
}
template <typename Format>
HIPPORT_DEVICE u16 saturated(u16 a) {
  return is_nan<Format>(a) || (a & Format::sign) ? u16(0) : smaller(a, static_cast<u16>(Format::one));
}
template <typename Format>
HIPPORT_DEVICE u16 not_below_0(u16 a) {
  return is_nan<Format>(a) ? static_cast<u16>(Format::nan) : a & Format::sign ? u16(0) : a;
}

// ---- minimum and maximum: -0 is less than +0

/// An integer that orders numbers other than NaNs.
template <typename Format>
HIPPORT_DEVICE long long rank(typename Format::word a) {
  const long long magnitude = static_cast<long long>(a & (Format::sign - 1));
  return a & Format::sign ? -magnitude - 1 : magnitude;
}
template <typename Format>
HIPPORT_DEVICE typename Format::word chosen(typename Format::word a, typename Format::word b, bool greater,
                                            bool keep_nan) {
  const bool no_a = is_nan<Format>(a), no_b = is_nan<Format>(b);
  if (keep_nan ? no_a || no_b : no_a && no_b) return Format::nan;
  if (no_a || no_b) return no_a ? b : a;
  return (rank<Format>(a) < rank<Format>(b)) == greater ? b : a;
}

template <typename Format>
HIPPORT_DEVICE bool is(unsigned test, typename Format::word a) {
  const bool nan = is_nan<Format>(a), infinite = !nan && !is_finite<Format>(a), subnormal = is_subnormal<Format>(a);
  const bool answers[] = {is_finite<Format>(a), infinite, !nan, nan, !nan && !infinite && !subnormal, subnormal};
  return answers[test];
}

}  // namespace detail

// ---- arithmetic

#define HIPPORT_F32_OF(R, direction, F, S, clamp)                                           \
  HIPPORT_DEVICE f32 add##R##F##S##_f32(f32 a, f32 b) {                                     \
    return detail::clamp(detail::add##F<detail::direction>(a, b));                          \
  }                                                                                         \
  HIPPORT_DEVICE f32 sub##R##F##S##_f32(f32 a, f32 b) { return add##R##F##S##_f32(a, -b); } \
  HIPPORT_DEVICE f32 mul##R##F##S##_f32(f32 a, f32 b) {                                     \
    return detail::clamp(detail::mul##F<detail::direction>(a, b));                          \
  }                                                                                         \
  HIPPORT_DEVICE f32 fma##R##F##S##_f32(f32 a, f32 b, f32 c) {                              \
    return detail::clamp(detail::fma##F<detail::direction>(a, b, c));                       \
  }                                                                                         \
  HIPPORT_DEVICE f32 mad##R##F##S##_f32(f32 a, f32 b, f32 c) { return fma##R##F##S##_f32(a, b, c); }
#define HIPPORT_F32(R, direction)                 \
  HIPPORT_F32_OF(R, direction, , , same)          \
  HIPPORT_F32_OF(R, direction, _ftz, , same)      \
  HIPPORT_F32_OF(R, direction, , _sat, saturated) \
  HIPPORT_F32_OF(R, direction, _ftz, _sat, saturated)
#define HIPPORT_F32_QUOTIENT(R, direction, F)                                                          \
  HIPPORT_DEVICE f32 div##R##F##_f32(f32 a, f32 b) { return detail::div##F<detail::direction>(a, b); } \
  HIPPORT_DEVICE f32 rcp##R##F##_f32(f32 a) { return div##R##F##_f32(1.0f, a); }                       \
  HIPPORT_DEVICE f32 sqrt##R##F##_f32(f32 a) { return detail::sqrt##F<detail::direction>(a); }
#define HIPPORT_F64(R, direction)                                                                          \
  HIPPORT_DEVICE f64 add##R##_f64(f64 a, f64 b) { return detail::add<detail::direction>(a, b); }           \
  HIPPORT_DEVICE f64 sub##R##_f64(f64 a, f64 b) { return detail::add<detail::direction>(a, -b); }          \
  HIPPORT_DEVICE f64 mul##R##_f64(f64 a, f64 b) { return detail::mul<detail::direction>(a, b); }           \
  HIPPORT_DEVICE f64 fma##R##_f64(f64 a, f64 b, f64 c) { return detail::fma<detail::direction>(a, b, c); } \
  HIPPORT_DEVICE f64 mad##R##_f64(f64 a, f64 b, f64 c) { return detail::fma<detail::direction>(a, b, c); }
#define HIPPORT_ROUNDED(R, direction)                                                            \
  HIPPORT_F32(R, direction)                                                                      \
  HIPPORT_F32_QUOTIENT(R, direction, )                                                           \
  HIPPORT_F32_QUOTIENT(R, direction, _ftz)                                                       \
  HIPPORT_F64(R, direction)                                                                      \
  HIPPORT_DEVICE f64 div##R##_f64(f64 a, f64 b) { return detail::div<detail::direction>(a, b); } \
  HIPPORT_DEVICE f64 rcp##R##_f64(f64 a) { return detail::div<detail::direction>(1.0, a); }      \
  HIPPORT_DEVICE f64 sqrt##R##_f64(f64 a) { return detail::sqrt<detail::direction>(a); }
HIPPORT_F32(, to_nearest)
HIPPORT_F64(, to_nearest)
HIPPORT_ROUNDED(_rn, to_nearest)
HIPPORT_ROUNDED(_rz, to_zero)
HIPPORT_ROUNDED(_rm, down)
HIPPORT_ROUNDED(_rp, up)
#undef HIPPORT_ROUNDED
#undef HIPPORT_F64
#undef HIPPORT_F32_QUOTIENT
#undef HIPPORT_F32
#undef HIPPORT_F32_OF

// A function of two halves of words, by the function of one.
#define HIPPORT_X2_1(name)                                                      \
  HIPPORT_DEVICE u32 name##x2(u32 a) {                                          \
    return mov_b32(name(static_cast<u16>(a)), name(static_cast<u16>(a >> 16))); \
  }
#define HIPPORT_X2_2(name)                                                      \
  HIPPORT_DEVICE u32 name##x2(u32 a, u32 b) {                                   \
    return mov_b32(name(static_cast<u16>(a), static_cast<u16>(b)),              \
                   name(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16))); \
  }
#define HIPPORT_X2_3(name)                                                                                 \
  HIPPORT_DEVICE u32 name##x2(u32 a, u32 b, u32 c) {                                                       \
    return mov_b32(name(static_cast<u16>(a), static_cast<u16>(b), static_cast<u16>(c)),                    \
                   name(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16), static_cast<u16>(c >> 16))); \
  }

#define HIPPORT_FMA(type, Format, F, S, clamp)                                     \
  HIPPORT_DEVICE u16 fma_rn##F##S##_##type(u16 a, u16 b, u16 c) {                  \
    return detail::clamp<detail::Format>(detail::fma##F<detail::Format>(a, b, c)); \
  }                                                                                \
  HIPPORT_X2_3(fma_rn##F##S##_##type)
#define HIPPORT_SUMS_OF(type, Format, R, F, S)                                            \
  HIPPORT_DEVICE u16 add##R##F##S##_##type(u16 a, u16 b) {                                \
    return fma_rn##F##S##_##type(a, static_cast<u16>(detail::Format::one), b);            \
  }                                                                                       \
  HIPPORT_DEVICE u16 sub##R##F##S##_##type(u16 a, u16 b) {                                \
    return add##R##F##S##_##type(a, detail::negated<detail::Format>(b));                  \
  }                                                                                       \
  /* The zero takes the product's sign, which the sum must not lose. */                   \
  HIPPORT_DEVICE u16 mul##R##F##S##_##type(u16 a, u16 b) {                                \
    return fma_rn##F##S##_##type(a, b, static_cast<u16>((a ^ b) & detail::Format::sign)); \
  }                                                                                       \
  HIPPORT_X2_2(add##R##F##S##_##type)                                                     \
  HIPPORT_X2_2(sub##R##F##S##_##type)                                                     \
  HIPPORT_X2_2(mul##R##F##S##_##type)
#define HIPPORT_SUMS(type, Format, F, S) \
  HIPPORT_SUMS_OF(type, Format, , F, S)  \
  HIPPORT_SUMS_OF(type, Format, _rn, F, S)
HIPPORT_FMA(f16, half_format, , , same)
HIPPORT_FMA(f16, half_format, , _sat, saturated)
HIPPORT_FMA(f16, half_format, , _relu, not_below_0)
HIPPORT_FMA(f16, half_format, _ftz, , same)
HIPPORT_FMA(f16, half_format, _ftz, _sat, saturated)
HIPPORT_FMA(f16, half_format, _ftz, _relu, not_below_0)
HIPPORT_FMA(bf16, bfloat_format, , , same)
HIPPORT_FMA(bf16, bfloat_format, , _relu, not_below_0)
HIPPORT_SUMS(f16, half_format, , )
HIPPORT_SUMS(f16, half_format, , _sat)
HIPPORT_SUMS(f16, half_format, _ftz, )
HIPPORT_SUMS(f16, half_format, _ftz, _sat)
HIPPORT_SUMS(bf16, bfloat_format, , )
#undef HIPPORT_SUMS
#undef HIPPORT_SUMS_OF
#undef HIPPORT_FMA

// ---- signs, minimum and maximum, classification

HIPPORT_DEVICE f32 abs_f32(f32 a) { return as<f32>(as<u32>(a) & 0x7fffffffu); }
HIPPORT_DEVICE f32 neg_f32(f32 a) { return as<f32>(as<u32>(a) ^ 0x80000000u); }
HIPPORT_DEVICE f32 abs_ftz_f32(f32 a) { return abs_f32(detail::flushed(a)); }
HIPPORT_DEVICE f32 neg_ftz_f32(f32 a) { return neg_f32(detail::flushed(a)); }
HIPPORT_DEVICE f64 abs_f64(f64 a) { return as<f64>(as<u64>(a) & ~(1ull << 63)); }
HIPPORT_DEVICE f64 neg_f64(f64 a) { return as<f64>(as<u64>(a) ^ 1ull << 63); }
HIPPORT_DEVICE f32 copysign_f32(f32 a, f32 b) {
  return as<f32>((as<u32>(a) & 0x80000000u) | (as<u32>(b) & 0x7fffffffu));
}
HIPPORT_DEVICE f64 copysign_f64(f64 a, f64 b) {
  return as<f64>((as<u64>(a) & 1ull << 63) | (as<u64>(b) & ~(1ull << 63)));
}

#define HIPPORT_HALVES(type, Format, F, flush)                                                                       \
  HIPPORT_DEVICE u16 abs##F##_##type(u16 a) { return detail::flush<detail::Format>(static_cast<u16>(a & 0x7fffu)); } \
  HIPPORT_DEVICE u16 neg##F##_##type(u16 a) { return detail::flush<detail::Format>(static_cast<u16>(a ^ 0x8000u)); } \
  HIPPORT_X2_1(abs##F##_##type)                                                                                      \
  HIPPORT_X2_1(neg##F##_##type)
HIPPORT_HALVES(f16, half_format, , same)
HIPPORT_HALVES(f16, half_format, _ftz, flushed)
HIPPORT_HALVES(bf16, bfloat_format, , same)
#undef HIPPORT_HALVES

#define HIPPORT_ORDER(T, Format, N, name, greater, keep_nan)                                           \
  HIPPORT_DEVICE T name##N##_##T(T a, T b) {                                                           \
    return as<T>(detail::chosen<detail::Format>(detail::bits(a), detail::bits(b), greater, keep_nan)); \
  }
#define HIPPORT_ORDER_FTZ(N, name)                                \
  HIPPORT_DEVICE f32 name##_ftz##N##_f32(f32 a, f32 b) {          \
    return name##N##_f32(detail::flushed(a), detail::flushed(b)); \
  }
#define HIPPORT_ORDER_HALVES(type, Format, F, flush, N, name, greater, keep_nan)                          \
  HIPPORT_DEVICE u16 name##F##N##_##type(u16 a, u16 b) {                                                  \
    using detail::Format;                                                                                 \
    return detail::chosen<Format>(detail::flush<Format>(a), detail::flush<Format>(b), greater, keep_nan); \
  }                                                                                                       \
  HIPPORT_X2_2(name##F##N##_##type)
#define HIPPORT_ORDERS(name, greater)                                              \
  HIPPORT_ORDER(f32, float_format, , name, greater, false)                         \
  HIPPORT_ORDER(f32, float_format, _NaN, name, greater, true)                      \
  HIPPORT_ORDER(f64, double_format, , name, greater, false)                        \
  HIPPORT_ORDER_FTZ(, name)                                                        \
  HIPPORT_ORDER_FTZ(_NaN, name)                                                    \
  HIPPORT_ORDER_HALVES(f16, half_format, , same, , name, greater, false)           \
  HIPPORT_ORDER_HALVES(f16, half_format, , same, _NaN, name, greater, true)        \
  HIPPORT_ORDER_HALVES(f16, half_format, _ftz, flushed, , name, greater, false)    \
  HIPPORT_ORDER_HALVES(f16, half_format, _ftz, flushed, _NaN, name, greater, true) \
  HIPPORT_ORDER_HALVES(bf16, bfloat_format, , same, , name, greater, false)        \
  HIPPORT_ORDER_HALVES(bf16, bfloat_format, , same, _NaN, name, greater, true)
HIPPORT_ORDERS(min, false)
HIPPORT_ORDERS(max, true)
#undef HIPPORT_ORDERS
#undef HIPPORT_ORDER_HALVES
#undef HIPPORT_ORDER_FTZ
#undef HIPPORT_ORDER

#define HIPPORT_TEST(name, number)                                                                               \
  HIPPORT_DEVICE bool testp_##name##_f32(f32 a) { return detail::is<detail::float_format>(number, as<u32>(a)); } \
  HIPPORT_DEVICE bool testp_##name##_f64(f64 a) { return detail::is<detail::double_format>(number, as<u64>(a)); }
HIPPORT_TEST(finite, 0)
HIPPORT_TEST(infinite, 1)
HIPPORT_TEST(number, 2)
HIPPORT_TEST(notanumber, 3)
HIPPORT_TEST(normal, 4)
HIPPORT_TEST(subnormal, 5)
#undef HIPPORT_TEST

// ---- comparisons: those with u also hold if there is a NaN

#define HIPPORT_SETP(name, ...)                                                           \
  HIPPORT_DEVICE bool setp_##name##_f32(f32 a, f32 b) { return __VA_ARGS__; }             \
  HIPPORT_DEVICE bool setp_##name##_f64(f64 a, f64 b) { return __VA_ARGS__; }             \
  HIPPORT_DEVICE bool setp_##name##_ftz_f32(f32 a, f32 b) {                               \
    return setp_##name##_f32(detail::flushed(a), detail::flushed(b));                     \
  }                                                                                       \
  HIPPORT_DEVICE bool setp_##name##_f16(u16 a, u16 b) {                                   \
    using Format = detail::half_format;                                                   \
    return setp_##name##_f32(detail::widened(Format(), a), detail::widened(Format(), b)); \
  }                                                                                       \
  HIPPORT_DEVICE bool setp_##name##_ftz_f16(u16 a, u16 b) {                               \
    using Format = detail::half_format;                                                   \
    return setp_##name##_f16(detail::flushed<Format>(a), detail::flushed<Format>(b));     \
  }                                                                                       \
  HIPPORT_DEVICE bool setp_##name##_bf16(u16 a, u16 b) {                                  \
    using Format = detail::bfloat_format;                                                 \
    return setp_##name##_f32(detail::widened(Format(), a), detail::widened(Format(), b)); \
  }
HIPPORT_SETP(eq, a == b)
HIPPORT_SETP(ne, a < b || a > b)
HIPPORT_SETP(lt, a < b)
HIPPORT_SETP(le, a <= b)
HIPPORT_SETP(gt, a > b)
HIPPORT_SETP(ge, a >= b)
HIPPORT_SETP(equ, !(a < b || a > b))
HIPPORT_SETP(neu, !(a == b))
HIPPORT_SETP(ltu, !(a >= b))
HIPPORT_SETP(leu, !(a > b))
HIPPORT_SETP(gtu, !(a <= b))
HIPPORT_SETP(geu, !(a < b))
HIPPORT_SETP(num, a == a && b == b)
HIPPORT_SETP(nan, !(a == a && b == b))
#undef HIPPORT_SETP

// ---- approximations

#define HIPPORT_APPROXIMATE(name, ...)                                \
  HIPPORT_DEVICE f32 name##_approx_f32(f32 a) { return __VA_ARGS__; } \
  HIPPORT_DEVICE f32 name##_approx_ftz_f32(f32 a) { return detail::flushed(name##_approx_f32(detail::flushed(a))); }
HIPPORT_APPROXIMATE(sqrt, ::sqrtf(a))
HIPPORT_APPROXIMATE(sin, ::sinf(a))
HIPPORT_APPROXIMATE(cos, ::cosf(a))
HIPPORT_APPROXIMATE(lg2, ::log2f(a))
HIPPORT_APPROXIMATE(ex2, ::exp2f(a))
#undef HIPPORT_APPROXIMATE
HIPPORT_DEVICE f32 tanh_approx_f32(f32 a) { return ::tanhf(a); }

HIPPORT_DEVICE f32 rcp_approx_f32(f32 a) { return rcp_rn_f32(a); }
HIPPORT_DEVICE f32 rsqrt_approx_f32(f32 a) {
#if defined(__HIP_DEVICE_COMPILE__) || HIPPORT_NVCC
  return ::rsqrtf(a);
#else
  return static_cast<f32>(1.0 / ::sqrt(static_cast<f64>(a)));
#endif
}
#if defined(__HIP_DEVICE_COMPILE__)
HIPPORT_DEVICE f32 rcp_approx_ftz_f32(f32 a) { return detail::flushed(__builtin_amdgcn_rcpf(detail::flushed(a))); }
HIPPORT_DEVICE f32 rsqrt_approx_ftz_f32(f32 a) { return detail::flushed(__builtin_amdgcn_rsqf(detail::flushed(a))); }
#else
HIPPORT_DEVICE f32 rcp_approx_ftz_f32(f32 a) { return rcp_rn_ftz_f32(a); }
HIPPORT_DEVICE f32 rsqrt_approx_ftz_f32(f32 a) { return detail::flushed(rsqrt_approx_f32(detail::flushed(a))); }
#endif
HIPPORT_DEVICE f32 div_full_f32(f32 a, f32 b) { return div_rn_f32(a, b); }
HIPPORT_DEVICE f32 div_full_ftz_f32(f32 a, f32 b) { return div_rn_ftz_f32(a, b); }
// PTX: if b is so large that 1 / b would be subnormal, the quotient is 0, and NaN for infinities.
HIPPORT_DEVICE f32 div_approx_f32(f32 a, f32 b) {
  const f32 magnitude = abs_f32(b);
  const bool great = magnitude > 8.50705917e37f && detail::finite(b);
  return great ? a * copysign_f32(b, 0.0f) : div_rn_f32(a, b);
}
HIPPORT_DEVICE f32 div_approx_ftz_f32(f32 a, f32 b) {
  return detail::flushed(div_approx_f32(detail::flushed(a), detail::flushed(b)));
}

HIPPORT_DEVICE f64 rcp_approx_ftz_f64(f64 a) {
  const bool tiny = detail::is_subnormal<detail::double_format>(as<u64>(a));
  const f64 result = rcp_rn_f64(tiny ? copysign_f64(a, 0.0) : a);
  const u64 word = as<u64>(result);
  if (detail::is_nan<detail::double_format>(word)) return result;
  return as<f64>(detail::is_subnormal<detail::double_format>(word) ? word & 1ull << 63 : word & ~0xffffffffull);
}
HIPPORT_DEVICE f64 rsqrt_approx_f64(f64 a) { return rcp_rn_f64(sqrt_rn_f64(a)); }
HIPPORT_DEVICE f64 rsqrt_approx_ftz_f64(f64 a) {
  const bool tiny = detail::is_subnormal<detail::double_format>(as<u64>(a));
  const f64 result = rcp_rn_f64(sqrt_rn_f64(tiny ? copysign_f64(a, 0.0) : a));
  return detail::is_nan<detail::double_format>(as<u64>(result)) ? result : as<f64>(as<u64>(result) & ~0xffffffffull);
}

#define HIPPORT_APPROXIMATE(name, type, Format, flush, function)                          \
  HIPPORT_DEVICE u16 name##_##type(u16 a) {                                               \
    using detail::Format;                                                                 \
    const f32 argument = detail::widened(Format(), detail::flush<Format>(a));             \
    return detail::flush<Format>(detail::narrowed_nearest(Format(), function(argument))); \
  }                                                                                       \
  HIPPORT_X2_1(name##_##type)
HIPPORT_APPROXIMATE(ex2_approx, f16, half_format, same, ::exp2f)
HIPPORT_APPROXIMATE(tanh_approx, f16, half_format, same, ::tanhf)
HIPPORT_APPROXIMATE(ex2_approx_ftz, bf16, bfloat_format, flushed, ::exp2f)
HIPPORT_APPROXIMATE(tanh_approx, bf16, bfloat_format, same, ::tanhf)
#undef HIPPORT_APPROXIMATE

#undef HIPPORT_X2_3
#undef HIPPORT_X2_2
#undef HIPPORT_X2_1

}  // namespace ptx
}  // namespace hipport

#endif  // HIPPORT_PTX_FLOAT_H
