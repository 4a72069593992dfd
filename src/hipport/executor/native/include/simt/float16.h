// SPDX-License-Identifier: Apache-2.0
// simt/float16.h: clang's _Float16, which HIP code and hipport's headers use, for compilers without it.
#ifndef SIMT_FLOAT16_H
#define SIMT_FLOAT16_H

#include "narrow.h"

// g++ supports it in C++ for aarch64 from version 13 on, but defines the macro before.
#if !defined(__FLT16_MANT_DIG__) || (defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13)
// A number that is computed in float and rounded when stored.
struct _Float16 {
  unsigned short simt_bits;

  _Float16() = default;
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  _Float16(T x) : simt_bits(::simt::detail::HalfFormat::from(static_cast<double>(x))) {}
  operator float() const { return ::simt::detail::HalfFormat::to_float(simt_bits); }

  friend float operator-(_Float16 a) { return -float(a); }
  friend float operator+(_Float16 a, _Float16 b) { return float(a) + float(b); }
  friend float operator-(_Float16 a, _Float16 b) { return float(a) - float(b); }
  friend float operator*(_Float16 a, _Float16 b) { return float(a) * float(b); }
  friend float operator/(_Float16 a, _Float16 b) { return float(a) / float(b); }
  friend bool operator==(_Float16 a, _Float16 b) { return float(a) == float(b); }
  friend bool operator!=(_Float16 a, _Float16 b) { return float(a) != float(b); }
  friend bool operator<(_Float16 a, _Float16 b) { return float(a) < float(b); }
  friend bool operator>(_Float16 a, _Float16 b) { return float(a) > float(b); }
  friend bool operator<=(_Float16 a, _Float16 b) { return float(a) <= float(b); }
  friend bool operator>=(_Float16 a, _Float16 b) { return float(a) >= float(b); }
};
#endif

namespace simt {
namespace detail {

/// Rounded once; the compilers' own function rounds twice on processors without the instruction.
inline _Float16 fused(_Float16 a, _Float16 b, _Float16 c) {
  const double exact = fused_to_odd(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
  return bits_as<_Float16>(HalfFormat::from(exact));
}

}  // namespace detail
}  // namespace simt

#define __builtin_fmaf16(a, b, c) ::simt::detail::fused(a, b, c)

#endif
