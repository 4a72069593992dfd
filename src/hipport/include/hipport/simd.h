// SPDX-License-Identifier: Apache-2.0
// hipport/simd.h: CUDA's arithmetic on the halves and bytes of a word, for AMD. Put here by hipport.
//
// Each function has the name and the arguments of the corresponding CUDA function, without the leading underscores, and
// returns the same bits for all arguments. They are plain C++, which AMD's compilers turn into packed instructions if a
// GPU has them; only dp4a is a function of AMD's. Host code can call them too, also without HIP.
//
// With nvcc the functions are the native ones.
#ifndef HIPPORT_SIMD_H
#define HIPPORT_SIMD_H

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#define HIPPORT_DEVICE static __host__ __device__ __forceinline__
#define HIPPORT_VECTORS 1
#define HIPPORT_NATIVE 0
#elif defined(__CUDACC__)
#include <cuda_runtime.h>
#define HIPPORT_DEVICE static __device__ __forceinline__
#define HIPPORT_VECTORS 1
#define HIPPORT_NATIVE 1
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 610
#define HIPPORT_NO_DOT
#endif
#if CUDART_VERSION < 12000
#define HIPPORT_NO_DYNAMIC
#endif
#else
#define HIPPORT_DEVICE static inline
#define HIPPORT_VECTORS 0
#define HIPPORT_NATIVE 0
#endif

// The definition of a function: the first with nvcc, the second otherwise.
#if HIPPORT_NATIVE
#define HIPPORT_DOES(native, ...) \
  { native; }
#else
#define HIPPORT_DOES(native, ...) \
  { __VA_ARGS__; }
#endif

// Programs may define macros with such names, also by -D; these are restored at the end.
#pragma push_macro("s8")
#undef s8
#pragma push_macro("u8")
#undef u8
#pragma push_macro("s16")
#undef s16
#pragma push_macro("u16")
#undef u16
#pragma push_macro("s32")
#undef s32
#pragma push_macro("u32")
#undef u32

namespace hipport {

#if !HIPPORT_NATIVE

namespace detail {

using s8 = signed char;
using u8 = unsigned char;
using s16 = short;
using u16 = unsigned short;
using s32 = int;
using u32 = unsigned;

template <typename To, typename From>
HIPPORT_DEVICE To as(From from) {
  static_assert(sizeof(To) == sizeof(From), "no bit may be lost or made up");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

/// The fields of a word, the lowest first, as a vector of the compiler, so that it finds the packed instructions.
template <typename Field>
struct split {
  typedef Field type __attribute__((vector_size(4)));
};

/// The word whose fields are the results of `operation` on the fields of `words`. Bits that do not fit are lost.
template <typename Field, typename Operation, typename... Words>
HIPPORT_DEVICE unsigned by_field(Operation operation, Words... words) {
  using Fields = typename split<Field>::type;
  Fields result;
  for (unsigned i = 0; i < sizeof(unsigned) / sizeof(Field); ++i) {
    result[i] = static_cast<Field>(operation(as<Fields>(words)[i]...));
  }
  return as<unsigned>(result);
}

/// The sum of the results of `operation` on each pair of fields.
template <typename Field, typename Operation>
HIPPORT_DEVICE unsigned sum(Operation operation, unsigned a, unsigned b) {
  unsigned result = 0;
  for (unsigned bit = 0; bit < 32; bit += 8 * sizeof(Field)) {
    result += static_cast<unsigned>(operation(static_cast<Field>(a >> bit), static_cast<Field>(b >> bit)));
  }
  return result;
}

template <typename T>
HIPPORT_DEVICE T smaller(T x, T y) {
  return y < x ? y : x;
}
template <typename T>
HIPPORT_DEVICE T larger(T x, T y) {
  return x < y ? y : x;
}
/// x + y without the bits that do not fit.
template <typename T>
HIPPORT_DEVICE T wrapped_sum(T x, T y) {
  return static_cast<T>(static_cast<unsigned>(x) + static_cast<unsigned>(y));
}
HIPPORT_DEVICE int distance(int x, int y) { return x < y ? y - x : x - y; }

/// The value of a field nearest to `value`.
template <typename Field>
HIPPORT_DEVICE int saturated(int value) {
  constexpr bool has_sign = static_cast<Field>(-1) < 0;
  constexpr int highest = (1 << (8 * sizeof(Field) - has_sign)) - 1;
  return smaller(larger(value, has_sign ? -highest - 1 : 0), highest);
}

/// c plus the products of four pairs of bytes.
#ifdef __HIP_DEVICE_COMPILE__
// One instruction if the GPU has it, which compilers do not always find in the sum of products.
HIPPORT_DEVICE int dot4(int a, int b, int c) {
  return amd_mixed_dot(as<char4>(a), as<char4>(b), c, false);
}
HIPPORT_DEVICE unsigned dot4(unsigned a, unsigned b, unsigned c) {
  return amd_mixed_dot(as<uchar4>(a), as<uchar4>(b), c, false);
}
#else
HIPPORT_DEVICE unsigned dot4(unsigned a, unsigned b, unsigned c) {
  return c + sum<u8>([](int x, int y) { return x * y; }, a, b);
}
HIPPORT_DEVICE int dot4(int a, int b, int c) {
  const unsigned x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
  return static_cast<int>(static_cast<unsigned>(c) + sum<s8>([](int p, int q) { return p * q; }, x, y));
}
#endif

/// c plus the products of two halves and two bytes, the lowest of `b`.
template <typename Half, typename Byte, typename Word>
HIPPORT_DEVICE Word dot2(Word a, Word b, Word c) {
  const int low = static_cast<Half>(a) * static_cast<Byte>(b);
  const int high = static_cast<Half>(a >> 16) * static_cast<Byte>(b >> 8);
  return static_cast<Word>(static_cast<unsigned>(c) + static_cast<unsigned>(low) + static_cast<unsigned>(high));
}

}  // namespace detail

#endif

// A function of words, by its effect on their fields x, y and z of type `Field`.
#define HIPPORT_1(name, type, ...)                                \
  HIPPORT_DEVICE unsigned name(unsigned a)                        \
  HIPPORT_DOES(return __##name(a), using Field = detail::type;    \
               return detail::by_field<Field>([](Field x) { return __VA_ARGS__; }, a))
#define HIPPORT_2(Word, name, type, ...)                          \
  HIPPORT_DEVICE Word name(Word a, Word b)                        \
  HIPPORT_DOES(return __##name(a, b), using Field = detail::type; \
               return static_cast<Word>(                          \
                   detail::by_field<Field>([](Field x, Field y) { return __VA_ARGS__; }, a, b)))
#define HIPPORT_3(Word, name, type, ...)                             \
  HIPPORT_DEVICE Word name(Word a, Word b, Word c)                   \
  HIPPORT_DOES(return __##name(a, b, c), using Field = detail::type; \
               return static_cast<Word>(                             \
                   detail::by_field<Field>([](Field x, Field y, Field z) { return __VA_ARGS__; }, a, b, c)))

// The same for halves and for bytes, signed (s) or unsigned (u). In expressions they become int, in which nothing
// overflows.
#define HIPPORT_1_OF(name, sign, ...)       \
  HIPPORT_1(name##2, sign##16, __VA_ARGS__) \
  HIPPORT_1(name##4, sign##8, __VA_ARGS__)
#define HIPPORT_2_OF(name, sign, ...)                 \
  HIPPORT_2(unsigned, name##2, sign##16, __VA_ARGS__) \
  HIPPORT_2(unsigned, name##4, sign##8, __VA_ARGS__)

HIPPORT_1_OF(vabs, s, x < 0 ? -x : x)
HIPPORT_1_OF(vabsss, s, detail::saturated<Field>(x < 0 ? -x : x))
HIPPORT_1_OF(vneg, s, -x)
HIPPORT_1_OF(vnegss, s, detail::saturated<Field>(-x))
HIPPORT_2_OF(vabsdiffs, s, detail::distance(x, y))
HIPPORT_2_OF(vabsdiffu, u, detail::distance(x, y))
HIPPORT_2_OF(vadd, u, x + y)
HIPPORT_2_OF(vaddss, s, detail::saturated<Field>(x + y))
HIPPORT_2_OF(vaddus, u, detail::saturated<Field>(x + y))
HIPPORT_2_OF(vsub, u, x - y)
HIPPORT_2_OF(vsubss, s, detail::saturated<Field>(x - y))
HIPPORT_2_OF(vsubus, u, detail::saturated<Field>(x - y))
// Averages: vavg rounds halves away from zero, vhadd down.
HIPPORT_2_OF(vavgs, s, (x + y + (x + y >= 0)) >> 1)
HIPPORT_2_OF(vavgu, u, (x + y + 1) >> 1)
HIPPORT_2_OF(vhaddu, u, (x + y) >> 1)
HIPPORT_2_OF(vmaxs, s, detail::larger(x, y))
HIPPORT_2_OF(vmaxu, u, detail::larger(x, y))
HIPPORT_2_OF(vmins, s, detail::smaller(x, y))
HIPPORT_2_OF(vminu, u, detail::smaller(x, y))

// vcmp sets all bits of a field for which it holds, vset the lowest.
#define HIPPORT_COMPARISON(name, sign, holds) \
  HIPPORT_2_OF(vcmp##name, sign, -int(holds)) \
  HIPPORT_2_OF(vset##name, sign, int(holds))
HIPPORT_COMPARISON(eq, u, x == y)
HIPPORT_COMPARISON(ne, u, x != y)
HIPPORT_COMPARISON(ges, s, x >= y)
HIPPORT_COMPARISON(geu, u, x >= y)
HIPPORT_COMPARISON(gts, s, x > y)
HIPPORT_COMPARISON(gtu, u, x > y)
HIPPORT_COMPARISON(les, s, x <= y)
HIPPORT_COMPARISON(leu, u, x <= y)
HIPPORT_COMPARISON(lts, s, x < y)
HIPPORT_COMPARISON(ltu, u, x < y)
#undef HIPPORT_COMPARISON

#define HIPPORT_SUM(name, type)                        \
  HIPPORT_DEVICE unsigned name(unsigned a, unsigned b) \
  HIPPORT_DOES(return __##name(a, b),                  \
               return detail::sum<detail::type>([](int x, int y) { return detail::distance(x, y); }, a, b))
HIPPORT_SUM(vsads2, s16)
HIPPORT_SUM(vsads4, s8)
HIPPORT_SUM(vsadu2, u16)
HIPPORT_SUM(vsadu4, u8)
#undef HIPPORT_SUM

// CUDA has them since sm_61.
#ifndef HIPPORT_NO_DOT
#define HIPPORT_DOT(name, Word, A, B, ...)   \
  HIPPORT_DEVICE Word name(A a, B b, Word c) \
  HIPPORT_DOES(return __##name(a, b, c), return __VA_ARGS__)
HIPPORT_DOT(dp4a, int, int, int, detail::dot4(a, b, c))
HIPPORT_DOT(dp4a, unsigned, unsigned, unsigned, detail::dot4(a, b, c))
HIPPORT_DOT(dp2a_lo, int, int, int, detail::dot2<detail::s16, detail::s8>(a, b, c))
HIPPORT_DOT(dp2a_lo, unsigned, unsigned, unsigned, detail::dot2<detail::u16, detail::u8>(a, b, c))
HIPPORT_DOT(dp2a_hi, int, int, int, detail::dot2<detail::s16, detail::s8>(a, b >> 16, c))
HIPPORT_DOT(dp2a_hi, unsigned, unsigned, unsigned, detail::dot2<detail::u16, detail::u8>(a, b >> 16, c))
#if HIPPORT_VECTORS
#define HIPPORT_DOT_OF(name, Word, A, B) \
  HIPPORT_DOT(name, Word, A, B, name(detail::as<Word>(a), detail::as<Word>(b), c))
HIPPORT_DOT_OF(dp4a, int, char4, char4)
HIPPORT_DOT_OF(dp4a, unsigned, uchar4, uchar4)
HIPPORT_DOT_OF(dp2a_lo, int, short2, char4)
HIPPORT_DOT_OF(dp2a_lo, unsigned, ushort2, uchar4)
HIPPORT_DOT_OF(dp2a_hi, int, short2, char4)
HIPPORT_DOT_OF(dp2a_hi, unsigned, ushort2, uchar4)
#undef HIPPORT_DOT_OF
#endif
#undef HIPPORT_DOT
#endif

// CUDA has them since 12.0, for the host too.
#ifndef HIPPORT_NO_DYNAMIC
#if HIPPORT_NATIVE
#undef HIPPORT_DEVICE
#define HIPPORT_DEVICE static __host__ __device__ __forceinline__
#endif

#define HIPPORT_3_OF(name, ...)                                               \
  HIPPORT_3(int, name##_s32, s32, __VA_ARGS__)                                \
  HIPPORT_3(unsigned, name##_u32, u32, __VA_ARGS__)                           \
  HIPPORT_3(unsigned, name##_s16x2, s16, __VA_ARGS__)                         \
  HIPPORT_3(unsigned, name##_u16x2, u16, __VA_ARGS__)                         \
  HIPPORT_3(int, name##_s32_relu, s32, detail::larger<Field>(__VA_ARGS__, 0)) \
  HIPPORT_3(unsigned, name##_s16x2_relu, s16, detail::larger<Field>(__VA_ARGS__, 0))
HIPPORT_3_OF(viaddmax, detail::larger(detail::wrapped_sum(x, y), z))
HIPPORT_3_OF(viaddmin, detail::smaller(detail::wrapped_sum(x, y), z))
HIPPORT_3_OF(vimax3, detail::larger(detail::larger(x, y), z))
HIPPORT_3_OF(vimin3, detail::smaller(detail::smaller(x, y), z))
#undef HIPPORT_3_OF

HIPPORT_2(int, vimax_s32_relu, s32, detail::larger(detail::larger(x, y), 0))
HIPPORT_2(int, vimin_s32_relu, s32, detail::larger(detail::smaller(x, y), 0))
HIPPORT_2(unsigned, vimax_s16x2_relu, s16, detail::larger<Field>(detail::larger(x, y), 0))
HIPPORT_2(unsigned, vimin_s16x2_relu, s16, detail::larger<Field>(detail::smaller(x, y), 0))

// The maximum or minimum, and whether it is `a`: for words, or for the high and the low halves.
#define HIPPORT_PICK(Word, name, is)                    \
  HIPPORT_DEVICE Word name(Word a, Word b, bool* first) \
  HIPPORT_DOES(return __##name(a, b, first), *first = a is b; return a is b ? a : b)
#define HIPPORT_PICK_HALVES(name, type, is)                                               \
  HIPPORT_DEVICE unsigned name(unsigned a, unsigned b, bool* first_high, bool* first_low) \
  HIPPORT_DOES(return __##name(a, b, first_high, first_low), using Field = detail::type;  \
               *first_high = static_cast<Field>(a >> 16) is static_cast<Field>(b >> 16);  \
               *first_low = static_cast<Field>(a) is static_cast<Field>(b);               \
               return detail::by_field<Field>([](Field x, Field y) { return x is y ? x : y; }, a, b))
#define HIPPORT_PICK_OF(name, is)            \
  HIPPORT_PICK(int, name##_s32, is)          \
  HIPPORT_PICK(unsigned, name##_u32, is)     \
  HIPPORT_PICK_HALVES(name##_s16x2, s16, is) \
  HIPPORT_PICK_HALVES(name##_u16x2, u16, is)
HIPPORT_PICK_OF(vibmax, >=)
HIPPORT_PICK_OF(vibmin, <=)
#undef HIPPORT_PICK_OF
#undef HIPPORT_PICK_HALVES
#undef HIPPORT_PICK
#endif

#undef HIPPORT_2_OF
#undef HIPPORT_1_OF
#undef HIPPORT_3
#undef HIPPORT_2
#undef HIPPORT_1

}  // namespace hipport

#undef HIPPORT_DOES
#undef HIPPORT_NO_DYNAMIC
#undef HIPPORT_NO_DOT
#undef HIPPORT_NATIVE
#undef HIPPORT_VECTORS
#undef HIPPORT_DEVICE

#pragma pop_macro("s8")
#pragma pop_macro("u8")
#pragma pop_macro("s16")
#pragma pop_macro("u16")
#pragma pop_macro("s32")
#pragma pop_macro("u32")
#endif  // HIPPORT_SIMD_H
