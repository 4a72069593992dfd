// SPDX-License-Identifier: Apache-2.0
// simt/vector_types.h: vectors of one to four numbers, with the sizes and alignments of the GPU's.
//
// CUDA's have no operators: programs define their own. HIP's have them; here they are templates, so that a program's
// own are preferred if both match.
#ifndef SIMT_VECTOR_TYPES_H
#define SIMT_VECTOR_TYPES_H

#include "define.h"
#include "types.h"

namespace simt {
namespace detail {

/// A vector's alignment: CUDA aligns to the whole vector of 2 or 4, but to at most 16; HIP always to the whole.
constexpr std::size_t vector_alignment(std::size_t size, unsigned count) {
#ifdef SIMT_HIP
  return count == 3 ? size : size * count;
#else
  return count == 3 ? size : size * count > 16 ? 16 : size * count;
#endif
}

}  // namespace detail
}  // namespace simt

#ifndef SIMT_HIP

#define SIMT_VECTOR(name, T)                                                     \
  struct name##1 {                                                               \
    T x;                                                                         \
  };                                                                             \
  struct alignas(::simt::detail::vector_alignment(sizeof(T), 2)) name##2 {       \
    T x, y;                                                                      \
  };                                                                             \
  SIMT_VECTOR3(name, T)                                                          \
  struct alignas(::simt::detail::vector_alignment(sizeof(T), 4)) name##4 {       \
    T x, y, z, w;                                                                \
  };
#define SIMT_VECTOR3(name, T) \
  struct name##3 {            \
    T x, y, z;                \
  };

#else

template <typename T, unsigned rank>
struct HIP_vector_base;
template <typename T>
struct HIP_vector_base<T, 1> {
  union {
    T data[1];
    struct {
      T x;
    };
  };
};
template <typename T>
struct alignas(::simt::detail::vector_alignment(sizeof(T), 2)) HIP_vector_base<T, 2> {
  union {
    T data[2];
    struct {
      T x, y;
    };
  };
};
template <typename T>
struct HIP_vector_base<T, 3> {
  union {
    T data[3];
    struct {
      T x, y, z;
    };
  };
};
template <typename T>
struct alignas(::simt::detail::vector_alignment(sizeof(T), 4)) HIP_vector_base<T, 4> {
  union {
    T data[4];
    struct {
      T x, y, z, w;
    };
  };
};

template <typename T, unsigned rank>
struct HIP_vector_type : HIP_vector_base<T, rank> {
  using value_type = T;
  HIP_vector_type() = default;
  template <typename U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
  explicit constexpr HIP_vector_type(U x) noexcept : HIP_vector_type(fill{}, static_cast<T>(x)) {}
  template <typename... Us, std::enable_if_t<(rank > 1) && sizeof...(Us) == rank, int> = 0>
  constexpr HIP_vector_type(Us... xs) noexcept : HIP_vector_base<T, rank>{{{static_cast<T>(xs)...}}} {}

  T& operator[](unsigned i) noexcept { return this->data[i]; }
  const T& operator[](unsigned i) const noexcept { return this->data[i]; }

 private:
  struct fill {};
  constexpr HIP_vector_type(fill, T x) noexcept : HIP_vector_base<T, rank>{} {
    for (unsigned i = 0; i < rank; ++i) this->data[i] = x;
  }
};

#define SIMT_VECTOR(name, T)             \
  using name##1 = HIP_vector_type<T, 1>; \
  using name##2 = HIP_vector_type<T, 2>; \
  SIMT_VECTOR3(name, T)                  \
  using name##4 = HIP_vector_type<T, 4>;
#define SIMT_VECTOR3(name, T) using name##3 = HIP_vector_type<T, 3>;

#endif

SIMT_VECTOR(char, signed char)
SIMT_VECTOR(uchar, unsigned char)
SIMT_VECTOR(short, short)
SIMT_VECTOR(ushort, unsigned short)
SIMT_VECTOR(int, int)
SIMT_VECTOR(long, long)
SIMT_VECTOR(ulong, unsigned long)
SIMT_VECTOR(longlong, long long)
SIMT_VECTOR(ulonglong, unsigned long long)
SIMT_VECTOR(float, float)
SIMT_VECTOR(double, double)
#undef SIMT_VECTOR3
#define SIMT_VECTOR3(name, T)  // types.h has it
SIMT_VECTOR(uint, unsigned)
#undef SIMT_VECTOR3
#undef SIMT_VECTOR

#ifndef SIMT_HIP
// CUDA 13 has the vectors of four 8-byte words with either alignment.
#define SIMT_ALIGNED(name, T)                                                                                    \
  struct alignas(16) name##4_16a {                                                                               \
    T x, y, z, w;                                                                                                \
  };                                                                                                             \
  struct alignas(32) name##4_32a {                                                                               \
    T x, y, z, w;                                                                                                \
  };                                                                                                             \
  inline constexpr name##4_16a make_##name##4_16a(T x, T y, T z, T w) { return name##4_16a{x, y, z, w}; }       \
  inline constexpr name##4_32a make_##name##4_32a(T x, T y, T z, T w) { return name##4_32a{x, y, z, w}; }
SIMT_ALIGNED(long, long)
SIMT_ALIGNED(ulong, unsigned long)
SIMT_ALIGNED(longlong, long long)
SIMT_ALIGNED(ulonglong, unsigned long long)
SIMT_ALIGNED(double, double)
#undef SIMT_ALIGNED
#endif

#define SIMT_MAKE(name, T)                                                                           \
  inline constexpr name##1 make_##name##1(T x) { return name##1{x}; }                                \
  inline constexpr name##2 make_##name##2(T x, T y) { return name##2{x, y}; }                        \
  inline constexpr name##3 make_##name##3(T x, T y, T z) { return name##3{x, y, z}; }                \
  inline constexpr name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }
SIMT_MAKE(char, signed char)
SIMT_MAKE(uchar, unsigned char)
SIMT_MAKE(short, short)
SIMT_MAKE(ushort, unsigned short)
SIMT_MAKE(int, int)
SIMT_MAKE(uint, unsigned)
SIMT_MAKE(long, long)
SIMT_MAKE(ulong, unsigned long)
SIMT_MAKE(longlong, long long)
SIMT_MAKE(ulonglong, unsigned long long)
SIMT_MAKE(float, float)
SIMT_MAKE(double, double)
#undef SIMT_MAKE

#ifdef SIMT_HIP

namespace simt {
namespace detail {

/// Facts about a vector that operators need; no member for other types.
template <typename V>
struct vector {};
template <typename T, unsigned rank>
struct vector<HIP_vector_type<T, rank>> {
  using type = HIP_vector_type<T, rank>;
  using element = T;
  static constexpr unsigned count = rank;
  static T& at(type& v, unsigned i) { return v.data[i]; }
  static const T& at(const type& v, unsigned i) { return v.data[i]; }
};
template <>
struct vector<uint3> {
  using type = uint3;
  using element = unsigned;
  static constexpr unsigned count = 3;
  static unsigned& at(uint3& v, unsigned i) { return i == 0 ? v.x : i == 1 ? v.y : v.z; }
  static const unsigned& at(const uint3& v, unsigned i) { return i == 0 ? v.x : i == 1 ? v.y : v.z; }
};
template <typename V>
using vector_type = typename vector<V>::type;
/// V if U converts to an element of it and is not a vector itself.
template <typename V, typename U>
using with_scalar = std::enable_if_t<std::is_convertible_v<U, typename vector<V>::element>, vector_type<V>>;

template <typename V, typename Operation>
inline V by_element(const V& a, const V& b, Operation operation) {
  V result = a;
  for (unsigned i = 0; i < vector<V>::count; ++i) {
    vector<V>::at(result, i) =
        static_cast<typename vector<V>::element>(operation(vector<V>::at(a, i), vector<V>::at(b, i)));
  }
  return result;
}
template <typename V, typename U>
inline V filled(U x) {
  V result{};
  for (unsigned i = 0; i < vector<V>::count; ++i) {
    vector<V>::at(result, i) = static_cast<typename vector<V>::element>(x);
  }
  return result;
}

}  // namespace detail
}  // namespace simt

#define SIMT_OPERATOR(op)                                                                          \
  template <typename V>                                                                            \
  inline ::simt::detail::vector_type<V> operator op(const V& a, const V& b) {                      \
    return ::simt::detail::by_element(a, b, [](auto x, auto y) { return x op y; });                \
  }                                                                                                \
  template <typename V, typename U>                                                                \
  inline ::simt::detail::with_scalar<V, U> operator op(const V& a, U b) {                          \
    return ::simt::detail::by_element(a, ::simt::detail::filled<V>(b),                             \
                                      [](auto x, auto y) { return x op y; });                      \
  }                                                                                                \
  template <typename V, typename U>                                                                \
  inline ::simt::detail::with_scalar<V, U> operator op(U a, const V& b) {                          \
    return ::simt::detail::by_element(::simt::detail::filled<V>(a), b,                             \
                                      [](auto x, auto y) { return x op y; });                      \
  }                                                                                                \
  template <typename V>                                                                            \
  inline ::simt::detail::vector_type<V>& operator op##=(V& a, const V& b) {                        \
    return a = ::simt::detail::by_element(a, b, [](auto x, auto y) { return x op y; });            \
  }                                                                                                \
  template <typename V, typename U>                                                                \
  inline ::simt::detail::with_scalar<V, U>& operator op##=(V& a, U b) {                            \
    return a = ::simt::detail::by_element(a, ::simt::detail::filled<V>(b),                         \
                                          [](auto x, auto y) { return x op y; });                  \
  }
SIMT_OPERATOR(+)
SIMT_OPERATOR(-)
SIMT_OPERATOR(*)
SIMT_OPERATOR(/)
SIMT_OPERATOR(%)
SIMT_OPERATOR(&)
SIMT_OPERATOR(|)
SIMT_OPERATOR(^)
SIMT_OPERATOR(<<)
SIMT_OPERATOR(>>)
#undef SIMT_OPERATOR

template <typename V>
inline ::simt::detail::vector_type<V> operator-(const V& a) {
  return ::simt::detail::by_element(a, a, [](auto x, auto) { return -x; });
}
template <typename V>
inline ::simt::detail::vector_type<V> operator~(const V& a) {
  return ::simt::detail::by_element(a, a, [](auto x, auto) { return ~x; });
}
template <typename V>
inline ::simt::detail::vector_type<V>& operator++(V& a) {
  return a += 1;
}
template <typename V>
inline ::simt::detail::vector_type<V>& operator--(V& a) {
  return a -= 1;
}
template <typename V>
inline ::simt::detail::vector_type<V> operator++(V& a, int) {
  const V before = a;
  a += 1;
  return before;
}
template <typename V>
inline ::simt::detail::vector_type<V> operator--(V& a, int) {
  const V before = a;
  a -= 1;
  return before;
}
template <typename V, typename = ::simt::detail::vector_type<V>>
inline bool operator==(const V& a, const V& b) {
  for (unsigned i = 0; i < ::simt::detail::vector<V>::count; ++i) {
    if (!(::simt::detail::vector<V>::at(a, i) == ::simt::detail::vector<V>::at(b, i))) return false;
  }
  return true;
}
template <typename V, typename U, typename = ::simt::detail::with_scalar<V, U>>
inline bool operator==(const V& a, U b) {
  return a == ::simt::detail::filled<V>(b);
}
template <typename V, typename U, typename = ::simt::detail::with_scalar<V, U>>
inline bool operator==(U a, const V& b) {
  return ::simt::detail::filled<V>(a) == b;
}
template <typename V, typename = ::simt::detail::vector_type<V>>
inline bool operator!=(const V& a, const V& b) {
  return !(a == b);
}
template <typename V, typename U, typename = ::simt::detail::with_scalar<V, U>>
inline bool operator!=(const V& a, U b) {
  return !(a == b);
}
template <typename V, typename U, typename = ::simt::detail::with_scalar<V, U>>
inline bool operator!=(U a, const V& b) {
  return !(a == b);
}

#endif

#endif
