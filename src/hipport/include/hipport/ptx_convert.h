// SPDX-License-Identifier: Apache-2.0
// hipport/ptx_convert.h: PTX's conversions between numbers. Part of hipport/ptx.h.
// Put here by hipport.
#ifndef HIPPORT_PTX_CONVERT_H
#define HIPPORT_PTX_CONVERT_H

#ifndef HIPPORT_PTX
#error "include hipport/ptx.h"
#endif

namespace hipport {
namespace ptx {
namespace detail {

HIPPORT_DEVICE f32 integral(f32 a, rounding direction) {
  return direction == to_nearest ? ::rintf(a)
         : direction == to_zero  ? ::truncf(a)
         : direction == down     ? ::floorf(a)
                                 : ::ceilf(a);
}
HIPPORT_DEVICE f64 integral(f64 a, rounding direction) {
  return direction == to_nearest ? ::rint(a)
         : direction == to_zero  ? ::trunc(a)
         : direction == down     ? ::floor(a)
                                 : ::ceil(a);
}
/// The nearest integer of To in the given direction.
template <rounding direction, typename To, typename From>
HIPPORT_DEVICE To to_integer(From a) {
  const From value = integral(a, direction);
  const From above = static_cast<From>(highest<To>() / 2 + 1) * 2;
  if (value != value) {
    // A NaN becomes 0; in 64-bit conversions, the highest bit.
    return sizeof(From) == 8 || sizeof(To) == 8 ? static_cast<To>(word_of<To>(1) << (8 * sizeof(To) - 1)) : To(0);
  }
  if (value >= above) return highest<To>();
  return value <= static_cast<From>(lowest<To>()) ? lowest<To>() : static_cast<To>(value);
}

template <typename Format, typename From>
HIPPORT_DEVICE typename Format::word from_integer(From a, rounding direction) {
  const u64 magnitude = is_negative(a) ? 0 - static_cast<u64>(a) : static_cast<u64>(a);
  return rounded<Format>(parts<u64>{is_negative(a), 0, magnitude}, direction);
}

HIPPORT_DEVICE f32 narrowed(f64 a, rounding direction) {
  if (direction == to_nearest || !finite(a)) return static_cast<f32>(a);
  return as<f32>(rounded<float_format>(split<double_format>(as<u64>(a)), direction));
}
// NVIDIA's GPUs turn any NaN, to a half and from one, into all bits but the sign; AMD's keep its upper bits.
HIPPORT_DEVICE u16 halved(f32 a, rounding direction) {
  if (is_nan<float_format>(as<u32>(a))) return half_format::nan;
  return direction == to_nearest ? narrowed_nearest(half_format(), a) : narrowed<half_format>(a, direction);
}
HIPPORT_DEVICE u16 halved(f64 a, rounding direction) {
  if (!finite(a)) return halved(static_cast<f32>(a), direction);
  return rounded<half_format>(split<double_format>(as<u64>(a)), direction);
}
HIPPORT_DEVICE f32 widened(u16 a) {
  return is_nan<half_format>(a) ? as<f32>(float_format::nan) : widened(half_format(), a);
}

HIPPORT_DEVICE u32 tensor_float(f32 a, rounding direction) {
  const u32 word = as<u32>(a);
  if (is_nan<float_format>(word)) return float_format::nan;
  return is_finite<float_format>(word) ? rounded<tensor_format>(split<float_format>(word), direction) << 13 : word;
}

/// Two numbers, each rounded to the nearest one of To, and the bits of `more` that fit above them.
template <typename To>
HIPPORT_DEVICE u32 packed(s32 high, s32 low, u32 more) {
  constexpr unsigned bits = 8 * sizeof(To);
  const u32 x = static_cast<word_of<To>>(nearest_integer<To>(high));
  const u32 y = static_cast<word_of<To>>(nearest_integer<To>(low));
  return shifted_left(more, 2 * bits) | x << bits | y;
}

}  // namespace detail

// ---- integers

#define HIPPORT_FROM(To, From)                                               \
  HIPPORT_DEVICE To cvt_##To##_##From(From a) { return static_cast<To>(a); } \
  HIPPORT_DEVICE To cvt_sat_##To##_##From(From a) { return detail::nearest_integer<To>(a); }
#define HIPPORT_FROM_ALL(To)                  \
  HIPPORT_FROM(To, u8) HIPPORT_FROM(To, s8)   \
  HIPPORT_FROM(To, u16) HIPPORT_FROM(To, s16) \
  HIPPORT_FROM(To, u32) HIPPORT_FROM(To, s32) \
  HIPPORT_FROM(To, u64) HIPPORT_FROM(To, s64)
HIPPORT_FROM_ALL(u8)
HIPPORT_FROM_ALL(s8)
HIPPORT_FROM_ALL(u16)
HIPPORT_FROM_ALL(s16)
HIPPORT_FROM_ALL(u32)
HIPPORT_FROM_ALL(s32)
HIPPORT_FROM_ALL(u64)
HIPPORT_FROM_ALL(s64)
#undef HIPPORT_FROM_ALL
#undef HIPPORT_FROM

// ---- integers and floats

// .sat has no effect if the result is an integer, which is always saturated.
#define HIPPORT_TO_INTEGER_OF(To, R, direction, S)                                                         \
  HIPPORT_DEVICE To cvt##R##S##_##To##_f16(u16 a) {                                                        \
    return detail::to_integer<detail::direction, To>(detail::widened(a));                                  \
  }                                                                                                        \
  HIPPORT_DEVICE To cvt##R##S##_##To##_f32(f32 a) { return detail::to_integer<detail::direction, To>(a); } \
  HIPPORT_DEVICE To cvt##R##S##_##To##_f64(f64 a) { return detail::to_integer<detail::direction, To>(a); } \
  HIPPORT_DEVICE To cvt##R##_ftz##S##_##To##_f32(f32 a) { return cvt##R##_##To##_f32(detail::flushed(a)); }
#define HIPPORT_TO_INTEGER(To)                                                                    \
  HIPPORT_TO_INTEGER_OF(To, _rni, to_nearest, ) HIPPORT_TO_INTEGER_OF(To, _rni, to_nearest, _sat) \
  HIPPORT_TO_INTEGER_OF(To, _rzi, to_zero, ) HIPPORT_TO_INTEGER_OF(To, _rzi, to_zero, _sat)       \
  HIPPORT_TO_INTEGER_OF(To, _rmi, down, ) HIPPORT_TO_INTEGER_OF(To, _rmi, down, _sat)             \
  HIPPORT_TO_INTEGER_OF(To, _rpi, up, ) HIPPORT_TO_INTEGER_OF(To, _rpi, up, _sat)
#define HIPPORT_TO_FLOAT(From, R, direction)                                                               \
  HIPPORT_DEVICE u16 cvt##R##_f16_##From(From a) {                                                         \
    return detail::from_integer<detail::half_format>(a, detail::direction);                                \
  }                                                                                                        \
  HIPPORT_DEVICE f32 cvt##R##_f32_##From(From a) {                                                         \
    if (detail::direction == detail::to_nearest) return static_cast<f32>(a);                               \
    return as<f32>(detail::from_integer<detail::float_format>(a, detail::direction));                      \
  }                                                                                                        \
  HIPPORT_DEVICE f64 cvt##R##_f64_##From(From a) {                                                         \
    if (detail::direction == detail::to_nearest) return static_cast<f64>(a);                               \
    return as<f64>(detail::from_integer<detail::double_format>(a, detail::direction));                     \
  }                                                                                                        \
  HIPPORT_DEVICE u16 cvt##R##_sat_f16_##From(From a) {                                                     \
    return detail::saturated<detail::half_format>(cvt##R##_f16_##From(a));                                 \
  }                                                                                                        \
  HIPPORT_DEVICE f32 cvt##R##_sat_f32_##From(From a) { return detail::saturated(cvt##R##_f32_##From(a)); } \
  HIPPORT_DEVICE f32 cvt##R##_ftz_f32_##From(From a) { return cvt##R##_f32_##From(a); }                    \
  HIPPORT_DEVICE f32 cvt##R##_ftz_sat_f32_##From(From a) { return cvt##R##_sat_f32_##From(a); }            \
  HIPPORT_DEVICE f64 cvt##R##_sat_f64_##From(From a) { return detail::saturated(cvt##R##_f64_##From(a)); }
#define HIPPORT_INTEGER(T)                                               \
  HIPPORT_TO_INTEGER(T)                                                  \
  HIPPORT_TO_FLOAT(T, _rn, to_nearest) HIPPORT_TO_FLOAT(T, _rz, to_zero) \
  HIPPORT_TO_FLOAT(T, _rm, down) HIPPORT_TO_FLOAT(T, _rp, up)
HIPPORT_INTEGER(u8)
HIPPORT_INTEGER(s8)
HIPPORT_INTEGER(u16)
HIPPORT_INTEGER(s16)
HIPPORT_INTEGER(u32)
HIPPORT_INTEGER(s32)
HIPPORT_INTEGER(u64)
HIPPORT_INTEGER(s64)
#undef HIPPORT_INTEGER
#undef HIPPORT_TO_FLOAT
#undef HIPPORT_TO_INTEGER
#undef HIPPORT_TO_INTEGER_OF

// ---- floats of one size, to integral values or unchanged

#define HIPPORT_INTEGRAL(R, ...)                                                                    \
  HIPPORT_DEVICE f32 cvt##R##_f32_f32(f32 a) { return __VA_ARGS__; }                                \
  HIPPORT_DEVICE f64 cvt##R##_f64_f64(f64 a) { return __VA_ARGS__; }                                \
  HIPPORT_DEVICE u16 cvt##R##_f16_f16(u16 a) {                                                      \
    return detail::halved(cvt##R##_f32_f32(detail::widened(a)), detail::to_zero);                   \
  }                                                                                                 \
  HIPPORT_DEVICE f32 cvt##R##_ftz_f32_f32(f32 a) { return cvt##R##_f32_f32(detail::flushed(a)); }   \
  HIPPORT_DEVICE f32 cvt##R##_sat_f32_f32(f32 a) { return detail::saturated(cvt##R##_f32_f32(a)); } \
  HIPPORT_DEVICE f64 cvt##R##_sat_f64_f64(f64 a) { return detail::saturated(cvt##R##_f64_f64(a)); } \
  HIPPORT_DEVICE u16 cvt##R##_sat_f16_f16(u16 a) {                                                  \
    return detail::saturated<detail::half_format>(cvt##R##_f16_f16(a));                             \
  }                                                                                                 \
  HIPPORT_DEVICE f32 cvt##R##_ftz_sat_f32_f32(f32 a) { return cvt##R##_sat_f32_f32(detail::flushed(a)); }
HIPPORT_INTEGRAL(, a)
HIPPORT_INTEGRAL(_rni, detail::integral(a, detail::to_nearest))
HIPPORT_INTEGRAL(_rzi, detail::integral(a, detail::to_zero))
HIPPORT_INTEGRAL(_rmi, detail::integral(a, detail::down))
HIPPORT_INTEGRAL(_rpi, detail::integral(a, detail::up))
#undef HIPPORT_INTEGRAL

// ---- floats of different sizes

#define HIPPORT_CVT(name, To, From, clamp, ...)               \
  HIPPORT_DEVICE To cvt##name(From a) { return __VA_ARGS__; } \
  HIPPORT_DEVICE To cvt_sat##name(From a) { return detail::clamp(__VA_ARGS__); }
HIPPORT_CVT(_f64_f32, f64, f32, saturated, static_cast<f64>(a))
HIPPORT_CVT(_f32_f16, f32, u16, saturated, detail::widened(a))
HIPPORT_CVT(_f64_f16, f64, u16, saturated, static_cast<f64>(detail::widened(a)))
#undef HIPPORT_CVT
HIPPORT_DEVICE f64 cvt_ftz_f64_f32(f32 a) { return static_cast<f64>(detail::flushed(a)); }
HIPPORT_DEVICE f64 cvt_ftz_sat_f64_f32(f32 a) { return detail::saturated(cvt_ftz_f64_f32(a)); }
// No number of f16 is subnormal in f32.
HIPPORT_DEVICE f32 cvt_ftz_f32_f16(u16 a) { return cvt_f32_f16(a); }
HIPPORT_DEVICE f32 cvt_ftz_sat_f32_f16(u16 a) { return cvt_sat_f32_f16(a); }
HIPPORT_DEVICE f32 cvt_f32_bf16(u16 a) { return detail::widened(detail::bfloat_format(), a); }
HIPPORT_DEVICE f32 cvt_ftz_f32_bf16(u16 a) { return detail::flushed(cvt_f32_bf16(a)); }

// To f16, NVIDIA's GPUs do not flush what .ftz should, which is visible with directed rounding.
#define HIPPORT_NARROW(R, direction)                                                                        \
  HIPPORT_DEVICE f32 cvt##R##_f32_f64(f64 a) { return detail::narrowed(a, detail::direction); }             \
  HIPPORT_DEVICE u16 cvt##R##_f16_f64(f64 a) { return detail::halved(a, detail::direction); }               \
  HIPPORT_DEVICE u16 cvt##R##_f16_f32(f32 a) { return detail::halved(a, detail::direction); }               \
  HIPPORT_DEVICE f32 cvt##R##_ftz_f32_f64(f64 a) { return detail::flushed(cvt##R##_f32_f64(a)); }           \
  HIPPORT_DEVICE u16 cvt##R##_ftz_f16_f32(f32 a) { return cvt##R##_f16_f32(a); }                            \
  HIPPORT_DEVICE f32 cvt##R##_sat_f32_f64(f64 a) { return detail::saturated(cvt##R##_f32_f64(a)); }         \
  HIPPORT_DEVICE u16 cvt##R##_sat_f16_f64(f64 a) {                                                          \
    return detail::saturated<detail::half_format>(cvt##R##_f16_f64(a));                                     \
  }                                                                                                         \
  HIPPORT_DEVICE u16 cvt##R##_sat_f16_f32(f32 a) {                                                          \
    return detail::saturated<detail::half_format>(cvt##R##_f16_f32(a));                                     \
  }                                                                                                         \
  HIPPORT_DEVICE f32 cvt##R##_ftz_sat_f32_f64(f64 a) { return detail::saturated(cvt##R##_ftz_f32_f64(a)); } \
  HIPPORT_DEVICE u16 cvt##R##_ftz_sat_f16_f32(f32 a) { return cvt##R##_sat_f16_f32(a); }
HIPPORT_NARROW(_rn, to_nearest)
HIPPORT_NARROW(_rz, to_zero)
HIPPORT_NARROW(_rm, down)
HIPPORT_NARROW(_rp, up)
#undef HIPPORT_NARROW

// ---- pairs, the first in the upper half; and formats other than f16

#define HIPPORT_PAIR(R, direction, P, clamp)                                                                    \
  HIPPORT_DEVICE u16 cvt##R##P##_bf16_f32(f32 a) {                                                              \
    return detail::clamp<detail::bfloat_format>(detail::narrowed<detail::bfloat_format>(a, detail::direction)); \
  }                                                                                                             \
  HIPPORT_DEVICE u32 cvt##R##P##_bf16x2_f32(f32 a, f32 b) {                                                     \
    return mov_b32(cvt##R##P##_bf16_f32(b), cvt##R##P##_bf16_f32(a));                                           \
  }                                                                                                             \
  HIPPORT_DEVICE u32 cvt##R##P##_f16x2_f32(f32 a, f32 b) {                                                      \
    using Format = detail::half_format;                                                                         \
    return mov_b32(detail::clamp<Format>(detail::halved(b, detail::direction)),                                 \
                   detail::clamp<Format>(detail::halved(a, detail::direction)));                                \
  }
HIPPORT_PAIR(_rn, to_nearest, , same)
HIPPORT_PAIR(_rn, to_nearest, _relu, not_below_0)
HIPPORT_PAIR(_rz, to_zero, , same)
HIPPORT_PAIR(_rz, to_zero, _relu, not_below_0)
#undef HIPPORT_PAIR
HIPPORT_DEVICE u16 cvt_rn_relu_f16_f32(f32 a) { return detail::not_below_0<detail::half_format>(cvt_rn_f16_f32(a)); }
HIPPORT_DEVICE u16 cvt_rz_relu_f16_f32(f32 a) { return detail::not_below_0<detail::half_format>(cvt_rz_f16_f32(a)); }

HIPPORT_DEVICE u32 cvt_rna_tf32_f32(f32 a) { return detail::tensor_float(a, detail::to_nearest_away); }
HIPPORT_DEVICE u32 cvt_rn_tf32_f32(f32 a) { return detail::tensor_float(a, detail::to_nearest); }
HIPPORT_DEVICE u32 cvt_rz_tf32_f32(f32 a) { return detail::tensor_float(a, detail::to_zero); }

HIPPORT_DEVICE u32 cvt_pack_sat_u8_s32_b32(s32 a, s32 b, u32 c) { return detail::packed<u8>(a, b, c); }
HIPPORT_DEVICE u32 cvt_pack_sat_s8_s32_b32(s32 a, s32 b, u32 c) { return detail::packed<s8>(a, b, c); }
HIPPORT_DEVICE u32 cvt_pack_sat_u16_s32(s32 a, s32 b) { return detail::packed<u16>(a, b, 0); }
HIPPORT_DEVICE u32 cvt_pack_sat_s16_s32(s32 a, s32 b) { return detail::packed<s16>(a, b, 0); }

}  // namespace ptx
}  // namespace hipport

#endif  // HIPPORT_PTX_CONVERT_H
