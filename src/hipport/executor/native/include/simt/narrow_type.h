// SPDX-License-Identifier: Apache-2.0
// simt/narrow_type.h: a 16-bit number, a pair of them and their functions. No include guard: half.h and bfloat16.h
// include it with these macros set, and it undefines them.
//
//   SIMT_N, SIMT_N2, SIMT_RAW, SIMT_RAW2   the types: __half, __half2, __half_raw, __half2_raw
//   SIMT_FORMAT                            HalfFormat
//   SIMT_NAMED(before, after)              before##half##after
//   SIMT_NAMED2(before, after)             before##half2##after
//   SIMT_CONVERSIONS, SIMT_OPERATORS, SIMT_OPERATORS2   0 if the program disables them
//   SIMT_FUSED(a, b, c)                    a * b + c of floats, which is then rounded to the type

struct SIMT_RAW {
#if defined(SIMT_RAW_NUMBER)
  union {
    unsigned short x;
    SIMT_RAW_NUMBER data;
  };
#else
  unsigned short x;
#endif
};
struct alignas(4) SIMT_RAW2 {
  unsigned short x, y;
};

struct alignas(2) SIMT_N {
  unsigned short __x;

  SIMT_N() = default;
  SIMT_N(const SIMT_N&) = default;
  SIMT_N& operator=(const SIMT_N&) = default;
  constexpr SIMT_N(const SIMT_RAW& raw) : __x(raw.x) {}
  // Templates, so that `{}` does not mean the raw type.
  template <typename Raw>
  std::enable_if_t<std::is_same_v<Raw, SIMT_RAW>, SIMT_N&> operator=(const Raw& raw) {
    __x = raw.x;
    return *this;
  }
  // For volatile variables.
  template <typename Raw>
  std::enable_if_t<std::is_same_v<Raw, SIMT_RAW>, volatile SIMT_N&> operator=(const Raw& raw) volatile {
    __x = raw.x;
    return *this;
  }
  template <typename Raw>
  std::enable_if_t<std::is_same_v<Raw, SIMT_RAW>, volatile SIMT_N&> operator=(const volatile Raw& raw) volatile {
    __x = raw.x;
    return *this;
  }
  operator SIMT_RAW() const {
    SIMT_RAW raw;
    raw.x = __x;
    return raw;
  }
  operator SIMT_RAW() const volatile {
    SIMT_RAW raw;
    raw.x = __x;
    return raw;
  }
#ifdef SIMT_OTHER
  explicit inline SIMT_N(SIMT_OTHER other);
#endif
#ifdef SIMT_TORCH_NUMBER
  // In PyTorch its own number has these; here that was compiled before this type was defined.
  SIMT_TORCH_EXPLICIT SIMT_N(const SIMT_TORCH_NUMBER& number) : __x(number.x) {}
  SIMT_TORCH_EXPLICIT operator SIMT_TORCH_NUMBER() const {
    return SIMT_TORCH_NUMBER(__x, SIMT_TORCH_NUMBER::from_bits());
  }
#endif
#if SIMT_CONVERSIONS
#ifdef SIMT_RAW_NUMBER
  SIMT_N(SIMT_RAW_NUMBER x) : __x(::simt::detail::bits_as<unsigned short>(x)) {}
  operator SIMT_RAW_NUMBER() const { return ::simt::detail::bits_as<SIMT_RAW_NUMBER>(__x); }
#endif
  SIMT_N(float x) : __x(::simt::detail::SIMT_FORMAT::nearest(x)) {}
  SIMT_N(double x) : __x(x != x ? ::simt::detail::SIMT_FORMAT::nan_of(x) : ::simt::detail::SIMT_FORMAT::from(x)) {}
  operator float() const { return ::simt::detail::SIMT_FORMAT::to_float(__x); }
  explicit operator bool() const { return (__x & 0x7fffu) != 0; }
#define SIMT_INTEGER(T)                                                                                       \
  SIMT_N(T x) : __x(::simt::detail::SIMT_FORMAT::from_integer(x, ::simt::detail::Rounding::nearest)) {}       \
  operator T() const { return ::simt::detail::to_integer<T>(std::trunc(static_cast<float>(*this))); }
  SIMT_INTEGER(short)
  SIMT_INTEGER(unsigned short)
  SIMT_INTEGER(int)
  SIMT_INTEGER(unsigned)
  SIMT_INTEGER(long)
  SIMT_INTEGER(unsigned long)
  SIMT_INTEGER(long long)
  SIMT_INTEGER(unsigned long long)
#undef SIMT_INTEGER
  operator signed char() const {
    return ::simt::detail::to_integer<signed char>(std::trunc(static_cast<float>(*this)));
  }
  operator unsigned char() const {
    return ::simt::detail::to_integer<unsigned char>(std::trunc(static_cast<float>(*this)));
  }
  operator char() const { return ::simt::detail::to_integer<char>(std::trunc(static_cast<float>(*this))); }
#endif
};

struct alignas(4) SIMT_N2 {
  SIMT_N x, y;

  SIMT_N2() = default;
  SIMT_N2(const SIMT_N2&) = default;
  SIMT_N2& operator=(const SIMT_N2&) = default;
  constexpr SIMT_N2(const SIMT_N& x, const SIMT_N& y) : x(x), y(y) {}
  SIMT_N2(const SIMT_RAW2& raw) {
    x.__x = raw.x;
    y.__x = raw.y;
  }
  template <typename Raw>
  std::enable_if_t<std::is_same_v<Raw, SIMT_RAW2>, SIMT_N2&> operator=(const Raw& raw) {
    x.__x = raw.x;
    y.__x = raw.y;
    return *this;
  }
  operator SIMT_RAW2() const { return SIMT_RAW2{x.__x, y.__x}; }
#ifdef SIMT_HIP
#if SIMT_CONVERSIONS
  operator float2() const { return float2{static_cast<float>(x), static_cast<float>(y)}; }
#endif
#endif
};

// ------------------------------------------------------------------------------------------- bits and conversions

namespace simt {
namespace detail {

inline SIMT_N make_narrow(unsigned short bits, SIMT_N) {
  SIMT_N result;
  result.__x = bits;
  return result;
}
inline float wide_of(SIMT_N a) { return SIMT_FORMAT::to_float(a.__x); }
inline SIMT_N rounded_to(double value, SIMT_N type, Rounding rounding) {
  return make_narrow(SIMT_FORMAT::from(value, rounding), type);
}
inline SIMT_N rounded_to(double value, SIMT_N type) { return make_narrow(SIMT_FORMAT::from(value), type); }
inline SIMT_N rounded_to(float value, SIMT_N type) { return make_narrow(SIMT_FORMAT::nearest(value), type); }
/// The number clamped to the range from 0 to 1; 0 for NaN.
inline SIMT_N between_0_and_1(SIMT_N a) {
  const float x = wide_of(a);
  return rounded_to(x > 0 ? (x > 1 ? 1.0f : x) : 0.0f, a);
}
template <typename Operation, typename... T>
inline SIMT_N2 by_part(Operation operation, SIMT_N2 first, T... more) {
  return SIMT_N2(operation(first.x, more.x...), operation(first.y, more.y...));
}

}  // namespace detail
}  // namespace simt

inline float SIMT_NAMED(__, 2float)(SIMT_N a) { return ::simt::detail::wide_of(a); }
inline SIMT_N SIMT_NAMED(__float2, )(float a) { return ::simt::detail::rounded_to(a, SIMT_N()); }
inline SIMT_N SIMT_NAMED(__double2, )(double a) {
  using Format = ::simt::detail::SIMT_FORMAT;
  return ::simt::detail::make_narrow(a != a ? Format::nan_of(a) : Format::from(a), SIMT_N());
}
#define SIMT_ROUND(suffix, direction)                                                                              \
  inline SIMT_N SIMT_NAMED(__float2, suffix)(float a) {                                                            \
    return ::simt::detail::rounded_to(a, SIMT_N(), ::simt::detail::Rounding::direction);                           \
  }                                                                                                                \
  SIMT_ROUND_INTEGER(short, short, suffix, direction)                                                              \
  SIMT_ROUND_INTEGER(ushort, unsigned short, suffix, direction)                                                    \
  SIMT_ROUND_INTEGER(int, int, suffix, direction)                                                                  \
  SIMT_ROUND_INTEGER(uint, unsigned, suffix, direction)                                                            \
  SIMT_ROUND_INTEGER(ll, long long, suffix, direction)                                                             \
  SIMT_ROUND_INTEGER(ull, unsigned long long, suffix, direction)
#define SIMT_ROUND_INTEGER(name, T, suffix, direction)                                                             \
  inline SIMT_N SIMT_NAMED(__##name##2, suffix)(T a) {                                                             \
    return ::simt::detail::make_narrow(                                                                            \
        ::simt::detail::SIMT_FORMAT::from_integer(a, ::simt::detail::Rounding::direction), SIMT_N());              \
  }                                                                                                                \
  inline T SIMT_NAMED(__, 2##name##suffix)(SIMT_N a) {                                                             \
    return ::simt::detail::to_integer<T>(                                                                          \
        ::simt::detail::integral(::simt::detail::wide_of(a), ::simt::detail::Rounding::direction));                \
  }
SIMT_ROUND(_rn, nearest)
SIMT_ROUND(_rz, zero)
SIMT_ROUND(_ru, up)
SIMT_ROUND(_rd, down)
#undef SIMT_ROUND_INTEGER
#undef SIMT_ROUND
#ifndef SIMT_HIP
inline signed char SIMT_NAMED(__, 2char_rz)(SIMT_N a) {
  return ::simt::detail::to_integer<signed char>(std::trunc(::simt::detail::wide_of(a)));
}
inline unsigned char SIMT_NAMED(__, 2uchar_rz)(SIMT_N a) {
  return ::simt::detail::to_integer<unsigned char>(std::trunc(::simt::detail::wide_of(a)));
}
#endif
inline short SIMT_NAMED(__, _as_short)(SIMT_N a) { return static_cast<short>(a.__x); }
inline unsigned short SIMT_NAMED(__, _as_ushort)(SIMT_N a) { return a.__x; }
inline SIMT_N SIMT_NAMED(__short_as_, )(short bits) {
  return ::simt::detail::make_narrow(static_cast<unsigned short>(bits), SIMT_N());
}
inline SIMT_N SIMT_NAMED(__ushort_as_, )(unsigned short bits) { return ::simt::detail::make_narrow(bits, SIMT_N()); }

inline SIMT_N2 SIMT_NAMED2(make_, )(SIMT_N x, SIMT_N y) { return SIMT_N2(x, y); }
inline SIMT_N2 SIMT_NAMED2(__halves2, )(SIMT_N low, SIMT_N high) { return SIMT_N2(low, high); }
inline SIMT_N2 SIMT_NAMED_BOTH(SIMT_N a) { return SIMT_N2(a, a); }
inline SIMT_N2 SIMT_NAMED2(__float2, _rn)(float a) {
  return SIMT_N2(::simt::detail::rounded_to(a, SIMT_N()), ::simt::detail::rounded_to(a, SIMT_N()));
}
inline SIMT_N2 SIMT_NAMED2(__floats2, _rn)(float a, float b) {
  return SIMT_N2(::simt::detail::rounded_to(a, SIMT_N()), ::simt::detail::rounded_to(b, SIMT_N()));
}
inline SIMT_N2 SIMT_NAMED2(__float22, _rn)(float2 a) { return SIMT_NAMED2(__floats2, _rn)(a.x, a.y); }
inline float2 SIMT_NAMED2(__, 2float2)(SIMT_N2 a) {
  return float2{::simt::detail::wide_of(a.x), ::simt::detail::wide_of(a.y)};
}
inline float __low2float(SIMT_N2 a) { return ::simt::detail::wide_of(a.x); }
inline float __high2float(SIMT_N2 a) { return ::simt::detail::wide_of(a.y); }
inline SIMT_N SIMT_NAMED(__low2, )(SIMT_N2 a) { return a.x; }
inline SIMT_N SIMT_NAMED(__high2, )(SIMT_N2 a) { return a.y; }
inline SIMT_N2 SIMT_NAMED2(__low2, )(SIMT_N2 a) { return SIMT_N2(a.x, a.x); }
inline SIMT_N2 SIMT_NAMED2(__high2, )(SIMT_N2 a) { return SIMT_N2(a.y, a.y); }
inline SIMT_N2 SIMT_NAMED2(__lows2, )(SIMT_N2 a, SIMT_N2 b) { return SIMT_N2(a.x, b.x); }
inline SIMT_N2 SIMT_NAMED2(__highs2, )(SIMT_N2 a, SIMT_N2 b) { return SIMT_N2(a.y, b.y); }
inline SIMT_N2 __lowhigh2highlow(SIMT_N2 a) { return SIMT_N2(a.y, a.x); }

// ------------------------------------------------------------------------------------------------------ arithmetic

// For one number, and for the pair.
#define SIMT_1(name, name2, ...)                                                                                   \
  inline SIMT_N name(SIMT_N a) {                                                                                   \
    const double x = ::simt::detail::wide_of(a);                                                                   \
    return ::simt::detail::rounded_to(__VA_ARGS__, a);                                                             \
  }                                                                                                                \
  inline SIMT_N2 name2(SIMT_N2 a) {                                                                                \
    return ::simt::detail::by_part([](SIMT_N x) { return name(x); }, a);                                           \
  }
#define SIMT_2(name, name2, T, ...)                                                                                \
  inline SIMT_N name(SIMT_N a, SIMT_N b) {                                                                         \
    const T x = ::simt::detail::wide_of(a), y = ::simt::detail::wide_of(b);                                   \
    return ::simt::detail::rounded_to(__VA_ARGS__, a);                                                             \
  }                                                                                                                \
  inline SIMT_N2 name2(SIMT_N2 a, SIMT_N2 b) {                                                                     \
    return ::simt::detail::by_part([](SIMT_N x, SIMT_N y) { return name(x, y); }, a, b);                           \
  }
// Sums and products of floats are exact, or so precise that rounding twice gives the same as rounding once.
SIMT_2(__hadd, __hadd2, float, x + y)
SIMT_2(__hsub, __hsub2, float, x - y)
SIMT_2(__hmul, __hmul2, float, x* y)
SIMT_2(__hdiv, __h2div, double, x / y)
#define SIMT_SATURATED(name)                                                                                       \
  inline SIMT_N __h##name##_sat(SIMT_N a, SIMT_N b) { return ::simt::detail::between_0_and_1(__h##name(a, b)); }   \
  inline SIMT_N2 __h##name##2_sat(SIMT_N2 a, SIMT_N2 b) {                                                          \
    return ::simt::detail::by_part([](SIMT_N x, SIMT_N y) { return __h##name##_sat(x, y); }, a, b);                \
  }
SIMT_SATURATED(add)
SIMT_SATURATED(sub)
SIMT_SATURATED(mul)
#undef SIMT_SATURATED
inline SIMT_N __hfma(SIMT_N a, SIMT_N b, SIMT_N c) {
  const float x = ::simt::detail::wide_of(a), y = ::simt::detail::wide_of(b), z = ::simt::detail::wide_of(c);
  return ::simt::detail::rounded_to(SIMT_FUSED(x, y, z), a);
}
inline SIMT_N2 __hfma2(SIMT_N2 a, SIMT_N2 b, SIMT_N2 c) {
  return ::simt::detail::by_part([](SIMT_N x, SIMT_N y, SIMT_N z) { return __hfma(x, y, z); }, a, b, c);
}
inline SIMT_N __hfma_sat(SIMT_N a, SIMT_N b, SIMT_N c) { return ::simt::detail::between_0_and_1(__hfma(a, b, c)); }
inline SIMT_N2 __hfma2_sat(SIMT_N2 a, SIMT_N2 b, SIMT_N2 c) {
  return ::simt::detail::by_part([](SIMT_N x, SIMT_N y, SIMT_N z) { return __hfma_sat(x, y, z); }, a, b, c);
}
// For a NaN, NVIDIA's GPUs return the canonical one.
inline SIMT_N __hneg(SIMT_N a) {
  const bool number = ::simt::dialect == ::simt::Dialect::hip || !std::isnan(::simt::detail::wide_of(a));
  return ::simt::detail::make_narrow(static_cast<unsigned short>(number ? a.__x ^ 0x8000u : 0x7fffu), a);
}
inline SIMT_N2 __hneg2(SIMT_N2 a) { return SIMT_N2(__hneg(a.x), __hneg(a.y)); }
inline SIMT_N __habs(SIMT_N a) {
  const bool number = ::simt::dialect == ::simt::Dialect::hip || !std::isnan(::simt::detail::wide_of(a));
  return ::simt::detail::make_narrow(static_cast<unsigned short>(number ? a.__x & 0x7fffu : 0x7fffu), a);
}
inline SIMT_N2 __habs2(SIMT_N2 a) { return SIMT_N2(__habs(a.x), __habs(a.y)); }

#define SIMT_EXTREME(name, name2, greatest, nan)                                                                   \
  inline SIMT_N name(SIMT_N a, SIMT_N b) {                                                                         \
    using namespace ::simt::detail;                                                                                \
    return make_narrow(extreme<SIMT_FORMAT, greatest, nan>(a.__x, b.__x), a);                                      \
  }                                                                                                                \
  SIMT_EXTREME2(name, name2)
#define SIMT_EXTREME2(name, name2)                                                                                 \
  inline SIMT_N2 name2(SIMT_N2 a, SIMT_N2 b) { return SIMT_N2(name(a.x, b.x), name(a.y, b.y)); }
#if defined(SIMT_HIP) && SIMT_LACKS_PAIRS
#undef SIMT_EXTREME2
#define SIMT_EXTREME2(name, name2)
#endif
SIMT_EXTREME(__hmax, __hmax2, true, false)
SIMT_EXTREME(__hmin, __hmin2, false, false)
SIMT_EXTREME(__hmax_nan, __hmax2_nan, true, true)
SIMT_EXTREME(__hmin_nan, __hmin2_nan, false, true)
#undef SIMT_EXTREME2
#undef SIMT_EXTREME

#ifndef SIMT_HIP
SIMT_2(__hadd_rn, __hadd2_rn, float, x + y)
SIMT_2(__hsub_rn, __hsub2_rn, float, x - y)
SIMT_2(__hmul_rn, __hmul2_rn, float, x* y)
inline SIMT_N __hfma_relu(SIMT_N a, SIMT_N b, SIMT_N c) {
  return __hmax_nan(__hfma(a, b, c), ::simt::detail::make_narrow(0, a));
}
inline SIMT_N2 __hfma2_relu(SIMT_N2 a, SIMT_N2 b, SIMT_N2 c) {
  return ::simt::detail::by_part([](SIMT_N x, SIMT_N y, SIMT_N z) { return __hfma_relu(x, y, z); }, a, b, c);
}
/// a * b + c of complex numbers.
inline SIMT_N2 __hcmadd(SIMT_N2 a, SIMT_N2 b, SIMT_N2 c) {
  return SIMT_N2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}
SIMT_1(htanh, h2tanh, std::tanh(x))
SIMT_1(htanh_approx, h2tanh_approx, std::tanh(x))
#endif

SIMT_1(hsqrt, h2sqrt, std::sqrt(x))
SIMT_1(hrsqrt, h2rsqrt, ::simt::detail::rsqrt(x))
SIMT_1(hrcp, h2rcp, 1 / x)
SIMT_1(hexp, h2exp, std::exp(x))
SIMT_1(hexp2, h2exp2, std::exp2(x))
SIMT_1(hexp10, h2exp10, std::pow(10.0, x))
SIMT_1(hlog, h2log, std::log(x))
SIMT_1(hlog2, h2log2, std::log2(x))
SIMT_1(hlog10, h2log10, std::log10(x))
SIMT_1(hsin, h2sin, std::sin(x))
SIMT_1(hcos, h2cos, std::cos(x))
SIMT_1(hceil, h2ceil, std::ceil(x))
SIMT_1(hfloor, h2floor, std::floor(x))
SIMT_1(htrunc, h2trunc, std::trunc(x))
SIMT_1(hrint, h2rint, std::nearbyint(x))
#undef SIMT_1
#undef SIMT_2

// ----------------------------------------------------------------------------------------------------- comparisons

inline bool __hisnan(SIMT_N a) { return std::isnan(::simt::detail::wide_of(a)); }
inline SIMT_N2 __hisnan2(SIMT_N2 a) {
  return ::simt::detail::by_part([](SIMT_N x) { return ::simt::detail::rounded_to(float(__hisnan(x)), x); }, a);
}
/// 1 for infinity, -1 for the negative one, else 0.
inline int __hisinf(SIMT_N a) {
  return (a.__x & 0x7fffu) != ::simt::detail::SIMT_FORMAT::infinity ? 0 : (a.__x & 0x8000u) != 0 ? -1 : 1;
}

#ifdef SIMT_HIP
#define SIMT_MASK(name, ...)
#else
#define SIMT_MASK(name, ...)                                                                                       \
  inline unsigned __h##name##2_mask(SIMT_N2 a, SIMT_N2 b) {                                                        \
    return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);                        \
  }
#endif
// The unordered ones also hold for NaN.
#define SIMT_COMPARE(name, ...)                                                                                    \
  inline bool __h##name(SIMT_N a, SIMT_N b) {                                                                      \
    const float x = ::simt::detail::wide_of(a), y = ::simt::detail::wide_of(b);                                    \
    return __VA_ARGS__;                                                                                            \
  }                                                                                                                \
  inline SIMT_N2 __h##name##2(SIMT_N2 a, SIMT_N2 b) {                                                              \
    return ::simt::detail::by_part(                                                                                \
        [](SIMT_N x, SIMT_N y) { return ::simt::detail::rounded_to(float(__h##name(x, y)), x); }, a, b);           \
  }                                                                                                                \
  inline bool __hb##name##2(SIMT_N2 a, SIMT_N2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }           \
  SIMT_MASK(name)
SIMT_COMPARE(eq, x == y)
SIMT_COMPARE(ne, x < y || x > y)
SIMT_COMPARE(le, x <= y)
SIMT_COMPARE(ge, x >= y)
SIMT_COMPARE(lt, x < y)
SIMT_COMPARE(gt, x > y)
SIMT_COMPARE(equ, !(x < y || x > y))
SIMT_COMPARE(neu, x != y)
SIMT_COMPARE(leu, !(x > y))
SIMT_COMPARE(geu, !(x < y))
SIMT_COMPARE(ltu, !(x >= y))
SIMT_COMPARE(gtu, !(x <= y))
#undef SIMT_COMPARE
#undef SIMT_MASK

// ------------------------------------------------------------------------------------------------------- operators

#define SIMT_OPERATOR(T, op, one)                                                                                  \
  inline T operator op(const T& a, const T& b) { return one(a, b); }                                               \
  inline T& operator op##=(T& a, const T& b) { return a = one(a, b); }
#define SIMT_STEPS(T, op, one, ...)                                                                                \
  inline T& operator op(T& a) { return a = one(a, __VA_ARGS__); }                                                  \
  inline T operator op(T& a, int) {                                                                                \
    const T before = a;                                                                                            \
    a = one(a, __VA_ARGS__);                                                                                       \
    return before;                                                                                                 \
  }
#define SIMT_RELATION(T, op, holds) \
  inline bool operator op(const T& a, const T& b) { return holds(a, b); }
#if SIMT_OPERATORS
SIMT_OPERATOR(SIMT_N, +, __hadd)
SIMT_OPERATOR(SIMT_N, -, __hsub)
SIMT_OPERATOR(SIMT_N, *, __hmul)
SIMT_OPERATOR(SIMT_N, /, __hdiv)
SIMT_STEPS(SIMT_N, ++, __hadd, ::simt::detail::rounded_to(1.0f, a))
SIMT_STEPS(SIMT_N, --, __hsub, ::simt::detail::rounded_to(1.0f, a))
inline SIMT_N operator+(const SIMT_N& a) { return a; }
inline SIMT_N operator-(const SIMT_N& a) { return __hneg(a); }
SIMT_RELATION(SIMT_N, ==, __heq)
SIMT_RELATION(SIMT_N, !=, __hneu)
SIMT_RELATION(SIMT_N, <, __hlt)
SIMT_RELATION(SIMT_N, >, __hgt)
SIMT_RELATION(SIMT_N, <=, __hle)
SIMT_RELATION(SIMT_N, >=, __hge)
#endif
#if SIMT_OPERATORS2
SIMT_OPERATOR(SIMT_N2, +, __hadd2)
SIMT_OPERATOR(SIMT_N2, -, __hsub2)
SIMT_OPERATOR(SIMT_N2, *, __hmul2)
SIMT_OPERATOR(SIMT_N2, /, __h2div)
SIMT_STEPS(SIMT_N2, ++, __hadd2, SIMT_N2(::simt::detail::rounded_to(1.0f, a.x), ::simt::detail::rounded_to(1.0f, a.x)))
SIMT_STEPS(SIMT_N2, --, __hsub2, SIMT_N2(::simt::detail::rounded_to(1.0f, a.x), ::simt::detail::rounded_to(1.0f, a.x)))
inline SIMT_N2 operator+(const SIMT_N2& a) { return a; }
inline SIMT_N2 operator-(const SIMT_N2& a) { return __hneg2(a); }
SIMT_RELATION(SIMT_N2, ==, __hbeq2)
SIMT_RELATION(SIMT_N2, !=, __hbneu2)
SIMT_RELATION(SIMT_N2, <, __hblt2)
SIMT_RELATION(SIMT_N2, >, __hbgt2)
SIMT_RELATION(SIMT_N2, <=, __hble2)
SIMT_RELATION(SIMT_N2, >=, __hbge2)
#endif
#undef SIMT_RELATION
#undef SIMT_STEPS
#undef SIMT_OPERATOR

// ------------------------------------------------------------------------------------------------ lanes and memory

SIMT_SHUFFLES(SIMT_N)
SIMT_SHUFFLES(SIMT_N2)

#ifdef SIMT_HIP
#define SIMT_ADD_ATOMICALLY unsafeAtomicAdd
#else
#define SIMT_ADD_ATOMICALLY atomicAdd
#endif
inline SIMT_N SIMT_ADD_ATOMICALLY(SIMT_N* address, SIMT_N value) {
  return ::simt::detail::update(address, [=](SIMT_N old) { return __hadd(old, value); });
}
inline SIMT_N2 SIMT_ADD_ATOMICALLY(SIMT_N2* address, SIMT_N2 value) {
  return ::simt::detail::update(address, [=](SIMT_N2 old) { return __hadd2(old, value); });
}
#undef SIMT_ADD_ATOMICALLY

#undef SIMT_N
#undef SIMT_N2
#undef SIMT_RAW
#undef SIMT_RAW2
#undef SIMT_RAW_NUMBER
#undef SIMT_OTHER
#undef SIMT_FORMAT
#undef SIMT_NAMED
#undef SIMT_NAMED2
#undef SIMT_NAMED_BOTH
#undef SIMT_CONVERSIONS
#undef SIMT_OPERATORS
#undef SIMT_OPERATORS2
#undef SIMT_FUSED
#undef SIMT_TORCH_NUMBER
#undef SIMT_TORCH_EXPLICIT
#undef SIMT_LACKS_PAIRS
