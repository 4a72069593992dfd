// SPDX-License-Identifier: Apache-2.0
// hip/hip_bfloat16.h: HIP's first bfloat16, which computes in float. __hip_bfloat16 is in hip/hip_bf16.h.
#ifndef SIMT_NAME_HIP_HIP_BFLOAT16_H
#define SIMT_NAME_HIP_HIP_BFLOAT16_H

#ifndef SIMT_HIP
#error "hip/hip_bfloat16.h is a header of HIP, which CUDA does not have"
#endif

#include <iosfwd>

#include "../simt/narrow.h"
#include "../simt/prelude.h"

struct hip_bfloat16 {
  std::uint16_t data;

  enum truncate_t { truncate };

  hip_bfloat16() = default;
  explicit hip_bfloat16(float x) : data(rounded(x)) {}
  explicit hip_bfloat16(float x, truncate_t) : data(truncated(x)) {}
  operator float() const { return ::simt::detail::BfloatFormat::to_float(data); }
  hip_bfloat16& operator=(const float& x) {
    data = rounded(x);
    return *this;
  }
  static hip_bfloat16 round_to_bfloat16(float x) { return hip_bfloat16(x); }
  static hip_bfloat16 round_to_bfloat16(float x, truncate_t) { return hip_bfloat16(x, truncate); }

 private:
  // A NaN stays a NaN: its upper bits, and one more bit if these alone would be infinity.
  static std::uint16_t of_nan(float x) {
    const std::uint32_t bits = ::simt::detail::bits_as<std::uint32_t>(x);
    return static_cast<std::uint16_t>((bits >> 16) | ((bits & 0xffff) != 0 ? 1 : 0));
  }
  static std::uint16_t rounded(float x) { return x != x ? of_nan(x) : ::simt::detail::BfloatFormat::from(x); }
  static std::uint16_t truncated(float x) {
    return x != x ? of_nan(x) : ::simt::detail::BfloatFormat::from(x, ::simt::detail::Rounding::zero);
  }
};

template <typename Character, typename Traits>
inline std::basic_ostream<Character, Traits>& operator<<(std::basic_ostream<Character, Traits>& to,
                                                         const hip_bfloat16& x) {
  return to << float(x);
}

inline hip_bfloat16 operator+(hip_bfloat16 a) { return a; }
inline hip_bfloat16 operator-(hip_bfloat16 a) {
  a.data ^= 0x8000;
  return a;
}
#define SIMT_OPERATOR(op)                                                                                            \
  inline hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) op float(b)); }     \
  inline hip_bfloat16& operator op##=(hip_bfloat16& a, hip_bfloat16 b) { return a = a op b; }
SIMT_OPERATOR(+)
SIMT_OPERATOR(-)
SIMT_OPERATOR(*)
SIMT_OPERATOR(/)
#undef SIMT_OPERATOR
#define SIMT_RELATION(op) \
  inline bool operator op(hip_bfloat16 a, hip_bfloat16 b) { return float(a) op float(b); }
SIMT_RELATION(==)
SIMT_RELATION(!=)
SIMT_RELATION(<)
SIMT_RELATION(>)
SIMT_RELATION(<=)
SIMT_RELATION(>=)
#undef SIMT_RELATION
inline hip_bfloat16& operator++(hip_bfloat16& a) { return a += hip_bfloat16(1.0f); }
inline hip_bfloat16& operator--(hip_bfloat16& a) { return a -= hip_bfloat16(1.0f); }
inline hip_bfloat16 operator++(hip_bfloat16& a, int) {
  const hip_bfloat16 before = a;
  ++a;
  return before;
}
inline hip_bfloat16 operator--(hip_bfloat16& a, int) {
  const hip_bfloat16 before = a;
  --a;
  return before;
}
namespace std {
constexpr bool isinf(hip_bfloat16 a) { return (a.data & 0x7fff) == 0x7f80; }
constexpr bool isnan(hip_bfloat16 a) { return (a.data & 0x7fff) > 0x7f80; }
constexpr bool iszero(hip_bfloat16 a) { return (a.data & 0x7fff) == 0; }
}  // namespace std

#endif
