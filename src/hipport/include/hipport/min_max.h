// SPDX-License-Identifier: Apache-2.0
// hipport/min_max.h: CUDA's min and max of two integer types, for AMD. Put here by hipport.
//
// With HIP min(n, 3u) of an int n is a double, as for all pairs of different types (__clang_hip_cmath.h): it is not a
// valid subscript, a negative n stays negative, and 64 bits become 53. In CUDA both are taken as unsigned, and so is
// the result (crt/math_functions.hpp of CUDA 13.0); types shorter than int become int. These are for device code; host
// code has those of hipport/host_math.h.
#ifndef HIPPORT_MIN_MAX_H
#define HIPPORT_MIN_MAX_H

// hipport's CPU executor has one version for host and device: host_math.h's, if that is included.
#if defined(__HIP__) && !(defined(SIMT_CORE_H) && defined(HIPPORT_HOST_MATH_H))

#include <hip/hip_runtime.h>

#define HIPPORT_DEVICE_MIN_MAX(result, first, second)                                        \
  static __device__ __forceinline__ result(min)(const first a, const second b) {             \
    const result x = static_cast<result>(a), y = static_cast<result>(b);                     \
    return x < y ? x : y;                                                                    \
  }                                                                                          \
  static __device__ __forceinline__ result(max)(const first a, const second b) {             \
    const result x = static_cast<result>(a), y = static_cast<result>(b);                     \
    return x > y ? x : y;                                                                    \
  }
HIPPORT_DEVICE_MIN_MAX(unsigned, int, unsigned)
HIPPORT_DEVICE_MIN_MAX(unsigned, unsigned, int)
HIPPORT_DEVICE_MIN_MAX(unsigned long, long, unsigned long)
HIPPORT_DEVICE_MIN_MAX(unsigned long, unsigned long, long)
HIPPORT_DEVICE_MIN_MAX(unsigned long long, long long, unsigned long long)
HIPPORT_DEVICE_MIN_MAX(unsigned long long, unsigned long long, long long)
#define HIPPORT_DEVICE_MIN_MAX_OF_SHORT(type)      \
  HIPPORT_DEVICE_MIN_MAX(int, type, int)           \
  HIPPORT_DEVICE_MIN_MAX(int, int, type)           \
  HIPPORT_DEVICE_MIN_MAX(unsigned, type, unsigned) \
  HIPPORT_DEVICE_MIN_MAX(unsigned, unsigned, type)
HIPPORT_DEVICE_MIN_MAX_OF_SHORT(bool)
HIPPORT_DEVICE_MIN_MAX_OF_SHORT(char)
HIPPORT_DEVICE_MIN_MAX_OF_SHORT(signed char)
HIPPORT_DEVICE_MIN_MAX_OF_SHORT(unsigned char)
HIPPORT_DEVICE_MIN_MAX_OF_SHORT(short)
HIPPORT_DEVICE_MIN_MAX_OF_SHORT(unsigned short)
#define HIPPORT_DEVICE_MIN_MAX_OF_TWO(first, second) \
  HIPPORT_DEVICE_MIN_MAX(int, first, second)         \
  HIPPORT_DEVICE_MIN_MAX(int, second, first)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(bool, char)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(bool, signed char)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(bool, unsigned char)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(bool, short)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(bool, unsigned short)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(char, signed char)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(char, unsigned char)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(char, short)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(char, unsigned short)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(signed char, unsigned char)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(signed char, short)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(signed char, unsigned short)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(unsigned char, short)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(unsigned char, unsigned short)
HIPPORT_DEVICE_MIN_MAX_OF_TWO(short, unsigned short)
#undef HIPPORT_DEVICE_MIN_MAX_OF_TWO
#undef HIPPORT_DEVICE_MIN_MAX_OF_SHORT
#undef HIPPORT_DEVICE_MIN_MAX

#endif

#endif  // HIPPORT_MIN_MAX_H
