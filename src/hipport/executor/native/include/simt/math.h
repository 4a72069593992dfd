// SPDX-License-Identifier: Apache-2.0
// simt/math.h: the device's mathematical functions beyond C's.
//
// Computed in the next wider type and rounded once, so that errors are below those that the CUDA math API reference
// documents for each function ("CUDA C++ Programming Guide", mathematical functions). The fast ones (__expf ...) are
// just as accurate, except for values that their documentation defines otherwise.
#ifndef SIMT_MATH_H
#define SIMT_MATH_H

#include <math.h>
#include <stdlib.h>

#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <limits>

#include "define.h"

namespace simt {
namespace detail {

constexpr long double pi = 3.141592653589793238462643383279502884L;
constexpr long double root_of_2 = 1.414213562373095048801688724209698079L;
constexpr long double root_of_pi = 1.772453850905516027298167483341145183L;

/// The type in which a function of T computes.
template <typename T>
struct wide {
  using type = long double;
};
template <>
struct wide<float> {
  using type = double;
};
template <typename T>
using wide_t = typename wide<T>::type;

template <typename W>
inline W rsqrt(W x) {
  return x == 0 ? std::copysign(std::numeric_limits<W>::infinity(), x) : 1 / std::sqrt(x);
}

/// sin(pi x) and cos(pi x): the multiple of a half turn is subtracted exactly.
template <typename W>
inline void sincospi(W x, W* sine, W* cosine) {
  if (!(std::fabs(x) <= std::numeric_limits<W>::max())) {
    *sine = *cosine = x - x;
    return;
  }
  const W turn = x - 2 * std::rint(x / 2);  // -1 to 1
  const W quarter = std::rint(2 * turn);
  const W angle = static_cast<W>(pi) * (turn - quarter / 2);
  const W s = std::sin(angle), c = std::cos(angle);
  switch (static_cast<int>(quarter) & 3) {
    case 0: *sine = s, *cosine = c; break;
    case 1: *sine = c, *cosine = -s; break;
    case 2: *sine = -s, *cosine = -c; break;
    default: *sine = -c, *cosine = s; break;
  }
  // A zero of the sine has the sign of x, a zero of the cosine is positive.
  if (*sine == 0) *sine = std::copysign(W(0), x);
  if (*cosine == 0) *cosine = 0;
}

/// x with erfc(x) = y, for y up to 1. Start: Abramowitz and Stegun, 26.2.23; then Halley's steps.
template <typename W>
inline W erfc_inverse_up_to_1(W y) {
  const W t = std::sqrt(-2 * std::log(y / 2));
  const W start = t - (W(2.515517L) + t * (W(0.802853L) + t * W(0.010328L))) /
                          (1 + t * (W(1.432788L) + t * (W(0.189269L) + t * W(0.001308L))));
  W x = start / static_cast<W>(root_of_2);
  for (int step = 0; step < 4; ++step) {
    const W slope = -2 / static_cast<W>(root_of_pi) * std::exp(-x * x);
    if (slope == 0) break;
    const W off = (std::erfc(x) - y) / slope;
    x -= off / (1 + x * off);
  }
  return x;
}
template <typename W>
inline W erfcinv(W y) {
  if (!(y >= 0 && y <= 2)) return std::numeric_limits<W>::quiet_NaN();
  if (y == 0) return std::numeric_limits<W>::infinity();
  if (y == 2) return -std::numeric_limits<W>::infinity();
  if (y == 1) return 0;
  return y < 1 ? erfc_inverse_up_to_1(y) : -erfc_inverse_up_to_1(2 - y);
}
template <typename W>
inline W erfinv(W x) {
  if (!(x >= -1 && x <= 1)) return std::numeric_limits<W>::quiet_NaN();
  if (std::fabs(x) == 1) return std::copysign(std::numeric_limits<W>::infinity(), x);
  if (std::fabs(x) >= W(0.5)) return std::copysign(erfc_inverse_up_to_1(1 - std::fabs(x)), x);
  W y = x * static_cast<W>(root_of_pi) / 2;
  for (int step = 0; step < 5; ++step) {
    const W off = (std::erf(y) - x) / (2 / static_cast<W>(root_of_pi) * std::exp(-y * y));
    y -= off / (1 + y * off);
  }
  return x == 0 ? x : y;
}
template <typename W>
inline W erfcx(W x) {
  if (x < 0) return 2 * std::exp(x * x) - erfcx(-x);
  if (x < 10) return std::exp(x * x) * std::erfc(x);
  // The asymptotic series, whose terms decrease for long.
  W sum = 1, term = 1;
  for (int n = 1; n < 25; ++n) {
    term *= -(2 * n - 1) / (2 * x * x);
    sum += term;
  }
  return sum / (x * static_cast<W>(root_of_pi));
}
template <typename W>
inline W normcdf(W x) {
  return std::erfc(-x / static_cast<W>(root_of_2)) / 2;
}
template <typename W>
inline W normcdfinv(W p) {
  return -static_cast<W>(root_of_2) * erfcinv(2 * p);
}
/// The modified Bessel functions, by their series: no term is negative.
template <typename W>
inline W bessel_i(int order, W x) {
  if (x != x) return x;
  W term = order == 0 ? W(1) : x / 2, sum = term;
  const W square = x * x / 4;
  if (!(square <= std::numeric_limits<W>::max())) return order == 0 ? square : std::copysign(square, x);
  for (W k = 1; term != 0; k += 1) {
    term *= square / (k * (k + static_cast<W>(order)));
    const W next = sum + term;
    if (next == sum && k * k > square) break;
    if (!(std::fabs(next) <= std::numeric_limits<W>::max())) return next;
    sum = next;
  }
  return sum;
}
template <typename W>
inline W norm(std::initializer_list<W> parts) {
  W sum = 0;
  bool infinite = false;
  for (W x : parts) {
    infinite = infinite || std::isinf(x);
    sum += x * x;
  }
  return infinite ? std::numeric_limits<W>::infinity() : std::sqrt(sum);
}
template <typename T>
inline wide_t<T> norm(int count, const T* parts) {
  wide_t<T> sum = 0;
  bool infinite = false;
  for (int i = 0; i < count; ++i) {
    infinite = infinite || std::isinf(parts[i]);
    sum += wide_t<T>(parts[i]) * wide_t<T>(parts[i]);
  }
  return infinite ? std::numeric_limits<wide_t<T>>::infinity() : std::sqrt(sum);
}

}  // namespace detail
}  // namespace simt

// For each function the double version, the float version under its own name, and the overload for float.
#define SIMT_MATH_OF(name, T, ...)                       \
  SIMT_OVERRIDABLE T name(T a) {                         \
    using W = ::simt::detail::wide_t<T>;                 \
    const W x = a;                                       \
    return static_cast<T>(__VA_ARGS__);                  \
  }
#define SIMT_MATH(name, ...)                 \
  SIMT_MATH_OF(name, double, __VA_ARGS__)    \
  SIMT_MATH_OF(name, float, __VA_ARGS__)     \
  SIMT_MATH_OF(name##f, float, __VA_ARGS__)
SIMT_MATH(rsqrt, ::simt::detail::rsqrt(x))
SIMT_MATH(rcbrt, 1 / std::cbrt(x))
SIMT_MATH(erfinv, ::simt::detail::erfinv(x))
SIMT_MATH(erfcinv, ::simt::detail::erfcinv(x))
SIMT_MATH(erfcx, ::simt::detail::erfcx(x))
SIMT_MATH(normcdf, ::simt::detail::normcdf(x))
SIMT_MATH(normcdfinv, ::simt::detail::normcdfinv(x))
SIMT_MATH(cyl_bessel_i0, ::simt::detail::bessel_i(0, x))
SIMT_MATH(cyl_bessel_i1, ::simt::detail::bessel_i(1, x))
SIMT_MATH(sinpi, [x] { W s, c; ::simt::detail::sincospi(x, &s, &c); return s; }())
SIMT_MATH(cospi, [x] { W s, c; ::simt::detail::sincospi(x, &s, &c); return c; }())
SIMT_MATH_OF(exp10, float, std::pow(W(10), x))
#undef SIMT_MATH
#undef SIMT_MATH_OF

#define SIMT_MATH_OF(name, T)                                                                                 \
  SIMT_OVERRIDABLE void sincospi##name(T a, T* sine, T* cosine) {                                             \
    ::simt::detail::wide_t<T> s, c;                                                                           \
    ::simt::detail::sincospi<::simt::detail::wide_t<T>>(a, &s, &c);                                           \
    *sine = static_cast<T>(s), *cosine = static_cast<T>(c);                                                   \
  }                                                                                                           \
  SIMT_OVERRIDABLE T rhypot##name(T x, T y) {                                                                 \
    using W = ::simt::detail::wide_t<T>;                                                                      \
    return static_cast<T>(1 / ::simt::detail::norm<W>({x, y}));                                               \
  }                                                                                                           \
  SIMT_OVERRIDABLE T norm3d##name(T x, T y, T z) {                                                            \
    using W = ::simt::detail::wide_t<T>;                                                                      \
    return static_cast<T>(::simt::detail::norm<W>({x, y, z}));                                                \
  }                                                                                                           \
  SIMT_OVERRIDABLE T norm4d##name(T x, T y, T z, T w) {                                                       \
    using W = ::simt::detail::wide_t<T>;                                                                      \
    return static_cast<T>(::simt::detail::norm<W>({x, y, z, w}));                                             \
  }                                                                                                           \
  SIMT_OVERRIDABLE T rnorm3d##name(T x, T y, T z) {                                                           \
    using W = ::simt::detail::wide_t<T>;                                                                      \
    return static_cast<T>(1 / ::simt::detail::norm<W>({x, y, z}));                                            \
  }                                                                                                           \
  SIMT_OVERRIDABLE T rnorm4d##name(T x, T y, T z, T w) {                                                      \
    using W = ::simt::detail::wide_t<T>;                                                                      \
    return static_cast<T>(1 / ::simt::detail::norm<W>({x, y, z, w}));                                         \
  }                                                                                                           \
  SIMT_OVERRIDABLE T norm##name(int count, const T* parts) {                                                  \
    return static_cast<T>(::simt::detail::norm(count, parts));                                                \
  }                                                                                                           \
  SIMT_OVERRIDABLE T rnorm##name(int count, const T* parts) {                                                 \
    return static_cast<T>(1 / ::simt::detail::norm(count, parts));                                            \
  }
SIMT_MATH_OF(, double)
SIMT_MATH_OF(f, float)
#undef SIMT_MATH_OF

SIMT_OVERRIDABLE void sincos(float x, float* sine, float* cosine) { *sine = std::sin(x), *cosine = std::cos(x); }
SIMT_OVERRIDABLE void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
SIMT_OVERRIDABLE float fdividef(float x, float y) { return x / y; }
SIMT_OVERRIDABLE double fdivide(double x, double y) { return x / y; }
SIMT_OVERRIDABLE float fdivide(float x, float y) { return x / y; }

// ---- minimum and maximum: if one argument is unsigned, CUDA takes both as unsigned; a NaN loses

#define SIMT_EXTREMES(result, A, B)                                    \
  SIMT_OVERRIDABLE constexpr result min(A a, B b) {                    \
    const result x = static_cast<result>(a), y = static_cast<result>(b); \
    return y < x ? y : x;                                              \
  }                                                                    \
  SIMT_OVERRIDABLE constexpr result max(A a, B b) {                    \
    const result x = static_cast<result>(a), y = static_cast<result>(b); \
    return x < y ? y : x;                                              \
  }
#ifdef SIMT_HIP
// As for all pairs of different types (__clang_hip_cmath.h of clang 21).
#define SIMT_EXTREMES_MIXED(S, U) \
  SIMT_EXTREMES(double, S, U)     \
  SIMT_EXTREMES(double, U, S)
#else
#define SIMT_EXTREMES_MIXED(S, U) \
  SIMT_EXTREMES(U, S, U)          \
  SIMT_EXTREMES(U, U, S)
#endif
#define SIMT_EXTREMES_OF(S, U) \
  SIMT_EXTREMES(S, S, S)       \
  SIMT_EXTREMES(U, U, U)       \
  SIMT_EXTREMES_MIXED(S, U)
SIMT_EXTREMES_OF(int, unsigned)
SIMT_EXTREMES_OF(long, unsigned long)
SIMT_EXTREMES_OF(long long, unsigned long long)
#ifdef SIMT_HIP
// hipport/min_max.h adds those of one short type and int; without these, two arguments of the short type are ambiguous.
SIMT_EXTREMES(int, bool, bool)
SIMT_EXTREMES(int, char, char)
SIMT_EXTREMES(int, signed char, signed char)
SIMT_EXTREMES(int, unsigned char, unsigned char)
SIMT_EXTREMES(int, short, short)
SIMT_EXTREMES(int, unsigned short, unsigned short)
#endif
#undef SIMT_EXTREMES_OF
#undef SIMT_EXTREMES_MIXED
#undef SIMT_EXTREMES
// +0 is greater than -0, which C leaves open.
#define SIMT_EXTREMES(result, A, B)                                                                             \
  SIMT_OVERRIDABLE result min(A a, B b) {                                                                       \
    const result x = static_cast<result>(a), y = static_cast<result>(b);                                        \
    return x == y ? (std::signbit(x) ? x : y) : std::fmin(x, y);                                                \
  }                                                                                                             \
  SIMT_OVERRIDABLE result max(A a, B b) {                                                                       \
    const result x = static_cast<result>(a), y = static_cast<result>(b);                                        \
    return x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y);                                                \
  }
SIMT_EXTREMES(float, float, float)
SIMT_EXTREMES(double, double, double)
SIMT_EXTREMES(double, float, double)
SIMT_EXTREMES(double, double, float)
#undef SIMT_EXTREMES
SIMT_OVERRIDABLE unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
SIMT_OVERRIDABLE unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
SIMT_OVERRIDABLE long long llmin(long long a, long long b) { return b < a ? b : a; }
SIMT_OVERRIDABLE long long llmax(long long a, long long b) { return a < b ? b : a; }
SIMT_OVERRIDABLE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
SIMT_OVERRIDABLE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }

// ---- fast functions of float

SIMT_DECLARED_BY_LIBC float __sinf(float x) noexcept { return ::sinf(x); }
SIMT_DECLARED_BY_LIBC float __cosf(float x) noexcept { return ::cosf(x); }
SIMT_DECLARED_BY_LIBC float __tanf(float x) noexcept { return ::tanf(x); }
SIMT_DECLARED_BY_LIBC float __tanhf(float x) noexcept { return ::tanhf(x); }
SIMT_DECLARED_BY_LIBC void __sincosf(float x, float* s, float* c) noexcept { *s = ::sinf(x), *c = ::cosf(x); }
SIMT_DECLARED_BY_LIBC float __expf(float x) noexcept { return ::expf(x); }
SIMT_DECLARED_BY_LIBC float __exp10f(float x) noexcept { return static_cast<float>(::pow(10.0, double(x))); }
SIMT_DECLARED_BY_LIBC float __logf(float x) noexcept { return ::logf(x); }
SIMT_DECLARED_BY_LIBC float __log2f(float x) noexcept { return ::log2f(x); }
SIMT_DECLARED_BY_LIBC float __log10f(float x) noexcept { return ::log10f(x); }
#ifdef SIMT_HIP
SIMT_DECLARED_BY_LIBC float __powf(float x, float y) noexcept { return ::powf(x, y); }
SIMT_OVERRIDABLE float __fdividef(float x, float y) { return x / y; }
#else
// exp2f(y * __log2f(x)): NaN for a negative x.
SIMT_DECLARED_BY_LIBC float __powf(float x, float y) noexcept {
  return static_cast<float>(::exp2(static_cast<double>(y) * ::log2(static_cast<double>(x))));
}
/// 0 where |y| is between 2^126 and 2^128.
SIMT_OVERRIDABLE float __fdividef(float x, float y) {
  return std::fabs(y) > 0x1p126f && std::fabs(y) <= FLT_MAX ? x * std::copysign(0.0f, y) : x / y;
}
#endif
SIMT_OVERRIDABLE float __saturatef(float x) { return !(x > 0) ? 0.0f : x > 1 ? 1.0f : x; }

#endif
