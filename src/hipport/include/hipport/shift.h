// SPDX-License-Identifier: Apache-2.0
// hipport/shift.h: shifts by at least as many bits as a number has. Put here by hipport.
//
// C++ leaves `x << 32` undefined for a 32-bit x. NVIDIA GPUs shift all bits out: the result is 0, or all sign bits for
// a negative number shifted to the right. AMD GPUs shift by the lower five bits of 32, which are 0, and the result is
// x.
#ifndef HIPPORT_SHIFT_H
#define HIPPORT_SHIFT_H

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#endif

#if defined(__HIP__) || defined(__CUDACC__)
#define HIPPORT_SHIFT static __host__ __device__ __forceinline__ constexpr
#else
#define HIPPORT_SHIFT static inline constexpr
#endif

namespace hipport {

/// `x << bits`, and 0 if `x` has at most `bits` bits.
template <typename T, typename Bits>
HIPPORT_SHIFT auto shl(T x, Bits bits) -> decltype(x << 0) {
  return static_cast<unsigned long long>(bits) < 8 * sizeof(x << 0) ? x << bits : 0;
}

/// `x >> bits`, and only sign bits if `x` has at most `bits` bits.
template <typename T, typename Bits>
HIPPORT_SHIFT auto shr(T x, Bits bits) -> decltype(x >> 0) {
  return static_cast<unsigned long long>(bits) < 8 * sizeof(x >> 0) ? x >> bits : x >> (8 * sizeof(x >> 0) - 1) >> 1;
}

}  // namespace hipport

#undef HIPPORT_SHIFT

#endif  // HIPPORT_SHIFT_H
