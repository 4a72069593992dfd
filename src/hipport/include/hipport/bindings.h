// SPDX-License-Identifier: Apache-2.0
// hipport/bindings.h: `auto [x, y] = make_float2(1, 2);` for HIP's vector types. Put here by hipport.
//
// CUDA's are structures, whose members C++17 can bind. HIP's have their members in a union of a base class, which C++17
// cannot bind. So they get the interface of std::tuple: a size, element types and a function get.
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

// Found by the type of the argument, which is in the global namespace.
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
