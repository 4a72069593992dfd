// SPDX-License-Identifier: Apache-2.0
// hipport/bindings.h: `auto [x, y] = make_float2(1, 2);` for HIP's vector types. Put here by hipport.
//
// CUDA's are structures, of which C++17 names the members one by one. HIP's have them in a union of a base class, which
// it cannot; so they become what std::tuple is to it: a type with a size, elements and a function get.
#ifndef HIPPORT_BINDINGS_H
#define HIPPORT_BINDINGS_H

#if defined(__HIP__) && __cplusplus >= 201703L

#include <hip/hip_runtime.h>

#include <cstddef>
#include <utility>

namespace std {
template <typename T, unsigned N>
struct tuple_size<HIP_vector_type<T, N>> : integral_constant<size_t, N> {};
template <size_t I, typename T, unsigned N>
struct tuple_element<I, HIP_vector_type<T, N>> {
  using type = T;
};
}  // namespace std

// Found by the type of the argument, whose namespace is the global one.
template <std::size_t I, typename T, unsigned N>
__host__ __device__ constexpr T& get(HIP_vector_type<T, N>& value) {
  if constexpr (I == 0) return value.x;
  else if constexpr (I == 1) return value.y;
  else if constexpr (I == 2) return value.z;
  else return value.w;
}
template <std::size_t I, typename T, unsigned N>
__host__ __device__ constexpr const T& get(const HIP_vector_type<T, N>& value) {
  if constexpr (I == 0) return value.x;
  else if constexpr (I == 1) return value.y;
  else if constexpr (I == 2) return value.z;
  else return value.w;
}
template <std::size_t I, typename T, unsigned N>
__host__ __device__ constexpr T&& get(HIP_vector_type<T, N>&& value) {
  return static_cast<T&&>(get<I>(value));
}

#endif

#endif  // HIPPORT_BINDINGS_H
