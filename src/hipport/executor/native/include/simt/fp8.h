// SPDX-License-Identifier: Apache-2.0
// simt/fp8.h: 8-bit floating-point numbers: 4 bits of exponent and 3 of fraction, or 5 and 2; those of the Open Compute
// Project, which NVIDIA's GPUs have, and AMD's "fnuz" ones, which have no infinity, no negative zero and one NaN.
//
// No include guard: cuda_fp8.h and hip/hip_fp8.h include it with SIMT_FP8(name) as __nv_##name or __hip_##name, and
// SIMT_FP8_ENUM(name) as __NV_##name or __HIP_##name.

typedef unsigned char SIMT_FP8(fp8_storage_t);
typedef unsigned short SIMT_FP8(fp8x2_storage_t);
typedef unsigned SIMT_FP8(fp8x4_storage_t);
enum SIMT_FP8(saturation_t) { SIMT_FP8_ENUM(NOSAT), SIMT_FP8_ENUM(SATFINITE) };
enum SIMT_FP8(fp8_interpretation_t) {
  SIMT_FP8_ENUM(E4M3),
  SIMT_FP8_ENUM(E5M2),
#ifdef SIMT_HIP
  SIMT_FP8_ENUM(E4M3_FNUZ),
  SIMT_FP8_ENUM(E5M2_FNUZ),
#endif
};

namespace simt {
namespace detail {

struct Fp8Format {
  int fraction_bits, bias;
  double greatest;
  bool fnuz;
  unsigned char nan, overflow;  // the patterns of NaN and of an overflow, without sign
};
inline Fp8Format fp8_format(int interpretation) {
  switch (interpretation) {
    case 0: return {3, 7, 448, false, 0x7f, 0x7f};
    case 1: return {2, 15, 57344, false, 0x7f, 0x7c};
    case 2: return {3, 8, 240, true, 0x80, 0x80};
    default: return {2, 16, 57344, true, 0x80, 0x80};
  }
}

inline unsigned char to_fp8(double value, bool saturate, int interpretation) {
  const Fp8Format format = fp8_format(interpretation);
  if (value != value) return format.nan;
  const unsigned sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::fabs(value);
  const double least_step = std::ldexp(1.0, 1 - format.bias - format.fraction_bits);
  double rounded = magnitude;
  if (magnitude <= 2 * format.greatest) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const double step = std::fmax(std::ldexp(1.0, exponent - 1 - format.fraction_bits), least_step);
    rounded = std::nearbyint(magnitude / step) * step;
  }
  if (rounded > format.greatest) {
    if (!saturate) return format.fnuz ? format.nan : static_cast<unsigned char>(sign | format.overflow);
    rounded = format.greatest;
  }
  if (rounded == 0) return static_cast<unsigned char>(format.fnuz ? 0 : sign);
  int exponent = 0;
  const double digits = std::frexp(rounded, &exponent);  // 0.5 to 1
  const int stored = exponent - 1 + format.bias;
  const int ones = 1 << format.fraction_bits;
  const int bits = stored >= 1 ? (stored << format.fraction_bits) + static_cast<int>((2 * digits - 1) * ones)
                               : static_cast<int>(rounded / least_step);
  return static_cast<unsigned char>(sign | static_cast<unsigned>(bits));
}

inline float from_fp8(unsigned char bits, int interpretation) {
  const Fp8Format format = fp8_format(interpretation);
  const unsigned magnitude = bits & 0x7fu;
  const bool negative = (bits & 0x80u) != 0;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (format.fnuz) {
    if (bits == 0x80) return nan;
  } else if (interpretation == 0) {
    if (magnitude == 0x7f) return nan;
  } else if (magnitude >= 0x7c) {
    if (magnitude != 0x7c) return nan;
    return negative ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  }
  const int exponent = static_cast<int>(magnitude >> format.fraction_bits);
  const int ones = 1 << format.fraction_bits, fraction = static_cast<int>(magnitude) & (ones - 1);
  const float value = exponent == 0 ? std::ldexp(float(fraction), 1 - format.bias - format.fraction_bits)
                                    : std::ldexp(float(ones + fraction), exponent - format.bias - format.fraction_bits);
  return negative ? -value : value;
}

}  // namespace detail
}  // namespace simt

inline SIMT_FP8(fp8_storage_t) SIMT_FP8(cvt_double_to_fp8)(double x, SIMT_FP8(saturation_t) saturate,
                                                           SIMT_FP8(fp8_interpretation_t) as) {
  return ::simt::detail::to_fp8(x, saturate != 0, as);
}
inline SIMT_FP8(fp8_storage_t) SIMT_FP8(cvt_float_to_fp8)(float x, SIMT_FP8(saturation_t) saturate,
                                                          SIMT_FP8(fp8_interpretation_t) as) {
  return ::simt::detail::to_fp8(x, saturate != 0, as);
}
inline SIMT_FP8(fp8x2_storage_t) SIMT_FP8(cvt_double2_to_fp8x2)(double2 x, SIMT_FP8(saturation_t) saturate,
                                                                SIMT_FP8(fp8_interpretation_t) as) {
  return static_cast<unsigned short>(::simt::detail::to_fp8(x.x, saturate != 0, as) |
                                     ::simt::detail::to_fp8(x.y, saturate != 0, as) << 8);
}
inline SIMT_FP8(fp8x2_storage_t) SIMT_FP8(cvt_float2_to_fp8x2)(float2 x, SIMT_FP8(saturation_t) saturate,
                                                               SIMT_FP8(fp8_interpretation_t) as) {
  return SIMT_FP8(cvt_double2_to_fp8x2)(double2{x.x, x.y}, saturate, as);
}
inline SIMT_FP8(fp8_storage_t) SIMT_FP8(cvt_halfraw_to_fp8)(__half_raw x, SIMT_FP8(saturation_t) saturate,
                                                            SIMT_FP8(fp8_interpretation_t) as) {
  return ::simt::detail::to_fp8(__half2float(__half(x)), saturate != 0, as);
}
inline SIMT_FP8(fp8x2_storage_t) SIMT_FP8(cvt_halfraw2_to_fp8x2)(__half2_raw x, SIMT_FP8(saturation_t) saturate,
                                                                 SIMT_FP8(fp8_interpretation_t) as) {
  return SIMT_FP8(cvt_float2_to_fp8x2)(__half22float2(__half2(x)), saturate, as);
}
inline SIMT_FP8(fp8_storage_t) SIMT_FP8(cvt_bfloat16raw_to_fp8)(SIMT_BFLOAT(16_raw) x, SIMT_FP8(saturation_t) saturate,
                                                                SIMT_FP8(fp8_interpretation_t) as) {
  return ::simt::detail::to_fp8(__bfloat162float(SIMT_BFLOAT(16)(x)), saturate != 0, as);
}
inline SIMT_FP8(fp8x2_storage_t) SIMT_FP8(cvt_bfloat16raw2_to_fp8x2)(SIMT_BFLOAT(162_raw) x,
                                                                     SIMT_FP8(saturation_t) saturate,
                                                                     SIMT_FP8(fp8_interpretation_t) as) {
  return SIMT_FP8(cvt_float2_to_fp8x2)(__bfloat1622float2(SIMT_BFLOAT(162)(x)), saturate, as);
}
inline __half_raw SIMT_FP8(cvt_fp8_to_halfraw)(SIMT_FP8(fp8_storage_t) x, SIMT_FP8(fp8_interpretation_t) as) {
  return __float2half(::simt::detail::from_fp8(x, as));
}
inline __half2_raw SIMT_FP8(cvt_fp8x2_to_halfraw2)(SIMT_FP8(fp8x2_storage_t) x, SIMT_FP8(fp8_interpretation_t) as) {
  return __floats2half2_rn(::simt::detail::from_fp8(static_cast<unsigned char>(x), as),
                           ::simt::detail::from_fp8(static_cast<unsigned char>(x >> 8), as));
}

// Conversions to these saturate.
#define SIMT_FP8_TYPE(format, suffix)                                                                                \
  struct SIMT_FP8(fp8_##suffix) {                                                                                    \
    SIMT_FP8(fp8_storage_t) __x;                                                                                     \
    SIMT_FP8(fp8_##suffix)() = default;                                                                              \
    template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>                                        \
    explicit SIMT_FP8(fp8_##suffix)(T x)                                                                             \
        : __x(::simt::detail::to_fp8(static_cast<double>(x), true, SIMT_FP8_ENUM(format))) {}                        \
    explicit SIMT_FP8(fp8_##suffix)(__half x)                                                                        \
        : __x(::simt::detail::to_fp8(__half2float(x), true, SIMT_FP8_ENUM(format))) {}                               \
    explicit SIMT_FP8(fp8_##suffix)(SIMT_BFLOAT(16) x)                                                               \
        : __x(::simt::detail::to_fp8(__bfloat162float(x), true, SIMT_FP8_ENUM(format))) {}                           \
    SIMT_FP8_EXPLICIT operator float() const { return ::simt::detail::from_fp8(__x, SIMT_FP8_ENUM(format)); }        \
    explicit operator double() const { return ::simt::detail::from_fp8(__x, SIMT_FP8_ENUM(format)); }                \
    explicit operator __half() const { return __float2half(float(*this)); }                                          \
    explicit operator SIMT_BFLOAT(16)() const { return __float2bfloat16(float(*this)); }                             \
    explicit operator bool() const { return float(*this) != 0; }                                                     \
    explicit operator int() const { return ::simt::detail::to_integer<int>(std::trunc(float(*this))); }              \
  };                                                                                                                 \
  struct alignas(2) SIMT_FP8(fp8x2_##suffix) {                                                                       \
    SIMT_FP8(fp8x2_storage_t) __x;                                                                                   \
    SIMT_FP8(fp8x2_##suffix)() = default;                                                                            \
    explicit SIMT_FP8(fp8x2_##suffix)(double2 x)                                                                     \
        : __x(SIMT_FP8(cvt_double2_to_fp8x2)(x, SIMT_FP8_ENUM(SATFINITE), SIMT_FP8_ENUM(format))) {}                 \
    explicit SIMT_FP8(fp8x2_##suffix)(float2 x) : SIMT_FP8(fp8x2_##suffix)(double2{x.x, x.y}) {}                     \
    explicit SIMT_FP8(fp8x2_##suffix)(__half2 x) : SIMT_FP8(fp8x2_##suffix)(__half22float2(x)) {}                    \
    explicit SIMT_FP8(fp8x2_##suffix)(SIMT_BFLOAT(162) x) : SIMT_FP8(fp8x2_##suffix)(__bfloat1622float2(x)) {}       \
    explicit operator float2() const {                                                                               \
      return float2{::simt::detail::from_fp8(static_cast<unsigned char>(__x), SIMT_FP8_ENUM(format)),                \
                    ::simt::detail::from_fp8(static_cast<unsigned char>(__x >> 8), SIMT_FP8_ENUM(format))};          \
    }                                                                                                                \
    explicit operator __half2() const { return __float22half2_rn(float2(*this)); }                                   \
  };                                                                                                                 \
  struct alignas(4) SIMT_FP8(fp8x4_##suffix) {                                                                       \
    SIMT_FP8(fp8x4_storage_t) __x;                                                                                   \
    SIMT_FP8(fp8x4_##suffix)() = default;                                                                            \
    explicit SIMT_FP8(fp8x4_##suffix)(double4 x)                                                                     \
        : __x(SIMT_FP8(fp8x2_##suffix)(double2{x.x, x.y}).__x |                                                      \
              unsigned(SIMT_FP8(fp8x2_##suffix)(double2{x.z, x.w}).__x) << 16) {}                                    \
    explicit SIMT_FP8(fp8x4_##suffix)(float4 x) : SIMT_FP8(fp8x4_##suffix)(double4{x.x, x.y, x.z, x.w}) {}           \
    SIMT_FP8(fp8x4_##suffix)(__half2 low, __half2 high)                                                              \
        : __x(SIMT_FP8(fp8x2_##suffix)(low).__x | unsigned(SIMT_FP8(fp8x2_##suffix)(high).__x) << 16) {}             \
    SIMT_FP8(fp8x4_##suffix)(SIMT_BFLOAT(162) low, SIMT_BFLOAT(162) high)                                            \
        : __x(SIMT_FP8(fp8x2_##suffix)(low).__x | unsigned(SIMT_FP8(fp8x2_##suffix)(high).__x) << 16) {}             \
    explicit operator float4() const {                                                                               \
      SIMT_FP8(fp8x2_##suffix) low, high;                                                                            \
      low.__x = static_cast<unsigned short>(__x), high.__x = static_cast<unsigned short>(__x >> 16);                 \
      const float2 a(low), b(high);                                                                                  \
      return float4{a.x, a.y, b.x, b.y};                                                                             \
    }                                                                                                                \
  };
SIMT_FP8_TYPE(E4M3, e4m3)
SIMT_FP8_TYPE(E5M2, e5m2)
#ifdef SIMT_HIP
SIMT_FP8_TYPE(E4M3_FNUZ, e4m3_fnuz)
SIMT_FP8_TYPE(E5M2_FNUZ, e5m2_fnuz)
#endif
#undef SIMT_FP8_TYPE
#undef SIMT_FP8
#undef SIMT_FP8_ENUM
#undef SIMT_FP8_EXPLICIT
#undef SIMT_BFLOAT
