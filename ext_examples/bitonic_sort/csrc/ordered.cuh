// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Half.h>

#include <cstdint>

// Keys whose order as unsigned numbers is that of the values; all NaN are the greatest, and both zeros are one.
template <typename T>
struct Ordered;

template <typename Bits>
__device__ __forceinline__ Bits ordered_bits(Bits bits) {
  constexpr Bits sign = Bits(Bits(1) << (sizeof(Bits) * 8 - 1));
  return bits & sign ? Bits(~bits) : Bits(bits | sign);
}

template <>
struct Ordered<float> {
  using Key = std::uint32_t;
  static __device__ Key key(float x) { return x != x ? ~Key(0) : ordered_bits<Key>(__float_as_uint(x == 0.f ? 0.f : x)); }
};
template <>
struct Ordered<double> {
  using Key = unsigned long long;
  static __device__ Key key(double x) {
    return x != x ? ~Key(0) : ordered_bits<Key>(__double_as_longlong(x == 0. ? 0. : x));
  }
};
template <>
struct Ordered<c10::Half> {
  using Key = std::uint32_t;
  static __device__ Key key(c10::Half x) { return Ordered<float>::key(static_cast<float>(x)); }
};
template <>
struct Ordered<int> {
  using Key = std::uint32_t;
  static __device__ Key key(int x) { return static_cast<Key>(x) ^ 0x80000000u; }
};
template <>
struct Ordered<std::int64_t> {
  using Key = unsigned long long;
  static __device__ Key key(std::int64_t x) { return static_cast<Key>(x) ^ (1ull << 63); }
};

// A key and where it came from, which decides between equal keys.
template <typename Key>
struct Item {
  Key key;
  int index;

  __device__ __forceinline__ bool before(const Item& other) const {
    return key < other.key || (key == other.key && index < other.index);
  }
  static __device__ __forceinline__ Item last() { return Item{Key(~Key(0)), 0x7fffffff}; }
};
