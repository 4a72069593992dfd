// SPDX-License-Identifier: Apache-2.0
// simt/narrow.h: 16-bit floating-point numbers: half (5 bits of exponent, 10 of fraction) and bfloat16 (8 and 7).
//
// Everything is computed in double, which represents all of them exactly, and rounded once.
#ifndef SIMT_NARROW_H
#define SIMT_NARROW_H

#include <cmath>
#include <limits>

#include "core.h"
#include "define.h"

namespace simt {
namespace detail {

enum class Rounding { nearest, zero, up, down };

inline float integral(float value, Rounding rounding) {
  switch (rounding) {
    case Rounding::zero: return std::trunc(value);
    case Rounding::up: return std::ceil(value);
    case Rounding::down: return std::floor(value);
    default: return std::nearbyint(value);
  }
}

template <int exponent_bits, int fraction_bits>
struct Narrow {
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr unsigned infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  static constexpr unsigned sign = 0x8000;
  /// The NaN that NVIDIA's operations return.
  static constexpr unsigned short nan = 0x7fff;
  static constexpr int fraction = fraction_bits;

  static float to_float(unsigned short bits) {
    if constexpr (exponent_bits == 8) {
      return bits_as<float>(static_cast<std::uint32_t>(bits) << 16);
    } else {
      const std::uint32_t high = static_cast<std::uint32_t>(bits & sign) << 16;
      const std::uint32_t rest = static_cast<std::uint32_t>(bits & 0x7fffu) << (23 - fraction_bits);
      if ((bits & infinity) == infinity) return bits_as<float>(high | 0x7f800000u | rest);
      // Scaling by a power of two converts subnormal numbers correctly, too.
      const float magnitude = bits_as<float>(rest) * bits_as<float>(std::uint32_t(127 + 127 - bias) << 23);
      return bits_as<float>(high | bits_as<std::uint32_t>(magnitude));
    }
  }

  /// The sign and the other bits that fit: the NaN that AMD's GPUs return, and NVIDIA's for a double.
  static unsigned short nan_of(double value) {
    const std::uint64_t bits = bits_as<std::uint64_t>(value);
    const unsigned kept = static_cast<unsigned>(bits >> (52 - fraction_bits)) & ((1u << fraction_bits) - 1);
    return static_cast<unsigned short>((bits >> 48 & sign) | infinity | 1u << (fraction_bits - 1) | kept);
  }

  /// Round to nearest, the most frequent mode, without branches.
  static unsigned short nearest(float value) {
    const std::uint32_t bits = bits_as<std::uint32_t>(value), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return dialect == Dialect::cuda ? nan : nan_of(value);
    constexpr int dropped = 23 - fraction_bits;
    constexpr std::uint32_t least_normal = static_cast<std::uint32_t>(127 - bias + 1) << 23;
    std::uint32_t kept = 0;
    if (exponent_bits == 8 || magnitude >= least_normal) {
      const std::uint32_t moved = magnitude - (static_cast<std::uint32_t>(127 - bias) << 23);
      kept = (moved + (1u << (dropped - 1)) - 1 + (moved >> dropped & 1)) >> dropped;
      if (kept > infinity) kept = infinity;
    } else {
      // The sum's last bit has the value of the smallest number, so the addition rounds.
      constexpr std::uint32_t large = static_cast<std::uint32_t>(127 - bias + 1 + dropped) << 23;
      kept = bits_as<std::uint32_t>(bits_as<float>(magnitude) + bits_as<float>(large)) - large;
    }
    return static_cast<unsigned short>((bits >> 16 & sign) | kept);
  }

  static unsigned short from(double value, Rounding rounding = Rounding::nearest) {
    if (value != value) return dialect == Dialect::cuda ? nan : nan_of(value);
    const std::uint64_t bits = bits_as<std::uint64_t>(value);
    const unsigned negative = static_cast<unsigned>(bits >> 48) & sign;
    const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
    if (magnitude == 0x7ffull << 52) return static_cast<unsigned short>(negative | infinity);
    const int exponent = static_cast<int>(magnitude >> 52) - 1023;
    // Bits of the double's fraction that are dropped: more if the result is subnormal.
    int dropped = 52 - fraction_bits;
    std::uint64_t digits = magnitude & ((std::uint64_t{1} << 52) - 1);
    std::uint64_t kept = 0;
    if (exponent >= 1 - bias) {
      kept = static_cast<std::uint64_t>(exponent + bias) << fraction_bits;
    } else {
      dropped += 1 - bias - exponent;
      digits |= magnitude >> 52 != 0 ? std::uint64_t{1} << 52 : 0;
      if (dropped > 62) dropped = 62;  // all are dropped; the value is far below half of the smallest number
    }
    kept += digits >> dropped;
    const std::uint64_t rest = digits & ((std::uint64_t{1} << dropped) - 1), half = std::uint64_t{1} << (dropped - 1);
    bool up = false;
    switch (rounding) {
      case Rounding::nearest: up = rest > half || (rest == half && (kept & 1) != 0); break;
      case Rounding::zero: break;
      case Rounding::up: up = rest != 0 && negative == 0; break;
      case Rounding::down: up = rest != 0 && negative != 0; break;
    }
    kept += up;
    if (kept >= infinity) {
      const bool stays = rounding == Rounding::zero || (rounding == Rounding::up && negative != 0) ||
                         (rounding == Rounding::down && negative == 0);
      kept = stays ? infinity - 1 : infinity;
    }
    return static_cast<unsigned short>(negative | kept);
  }

  /// Any integer: bits beyond a double's precision are replaced by one sticky bit.
  template <typename T>
  static unsigned short from_integer(T value, Rounding rounding) {
    std::uint64_t magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    if (magnitude >> 53 != 0) magnitude = (magnitude & ~0x7ffull) | ((magnitude & 0x7ff) != 0 ? 0x800 : 0);
    const double number = static_cast<double>(magnitude);
    return from(value < 0 ? -number : number, rounding);
  }
};

using HalfFormat = Narrow<5, 10>;
using BfloatFormat = Narrow<8, 7>;

/// a * b + c as a double whose last bit is set if bits were lost (round to odd), so that rounding again is exact. The
/// product fits a double.
inline double fused_to_odd(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  if (!(std::fabs(sum) <= std::numeric_limits<double>::max())) return sum;
  const double back = sum - product, missing = (product - (sum - back)) + (c - back);
  std::uint64_t bits = bits_as<std::uint64_t>(sum);
  if (missing != 0 && (bits & 1) == 0) bits += (missing > 0) == (sum > 0) ? 1 : std::uint64_t(-1);
  return bits_as<double>(bits);
}

/// The maximum or minimum. +0 is greater than -0. A NaN is the result if `nan` is true, else it loses.
template <typename Format, bool greatest, bool nan>
inline unsigned short extreme(unsigned short a, unsigned short b) {
  const float x = Format::to_float(a), y = Format::to_float(b);
  const bool no_x = x != x, no_y = y != y;
  if ((no_x && no_y) || (nan && (no_x || no_y))) return Format::nan;
  if (no_x) return b;
  if (no_y) return a;
  if (x == y) return static_cast<unsigned short>(greatest ? a & b : a | b);
  return (x > y) == greatest ? a : b;
}

}  // namespace detail
}  // namespace simt

#endif
