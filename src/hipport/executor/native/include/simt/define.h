// SPDX-License-Identifier: Apache-2.0
// simt/define.h: macros by which the executor defines functions of the device's library.
#ifndef SIMT_DEFINE_H
#define SIMT_DEFINE_H

#include <cstdint>
#include <cstring>
#include <type_traits>

/// Before a function that programs also define, such as rsqrtf for the host: theirs is not a template, so it is
/// preferred, and neither redefines nor competes.
#define SIMT_OVERRIDABLE template <typename simt_ = void> \
inline

/// Before a function whose name glibc declares for its own use (`__expf`): a declared function cannot become a
/// template.
#define SIMT_DECLARED_BY_LIBC extern "C" inline __attribute__((always_inline))

namespace simt {
namespace detail {

/// A parameter that is converted to `T` and takes no part in its deduction.
template <typename T>
struct as_is {
  using type = T;
};
template <typename T>
using same = typename as_is<T>::type;

template <typename To, typename From>
inline To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "both types need the same size");
  To to;
  std::memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof(to));
  return to;
}

template <typename T, typename... Ts>
struct is_one_of : std::disjunction<std::is_same<T, Ts>...> {};

/// The unsigned integer with that number of bytes.
template <std::size_t size>
struct unsigned_of;
template <>
struct unsigned_of<1> {
  using type = unsigned char;
};
template <>
struct unsigned_of<2> {
  using type = unsigned short;
};
template <>
struct unsigned_of<4> {
  using type = unsigned;
};
template <>
struct unsigned_of<8> {
  using type = unsigned long long;
};
template <typename T>
using word_of = typename unsigned_of<sizeof(T)>::type;

}  // namespace detail
}  // namespace simt

#endif
