// SPDX-License-Identifier: Apache-2.0
// hipport/host_math.h: the min and max of CUDA's host code, for AMD. Put here by hipport.
//
// nvcc declares them for all types of numbers. HIP has them for int alone, to which others are converted without a word:
// max(0.5f, 0.25f) is 0. These are CUDA's (cuda_runtime.h of CUDA 13.0), for host code; device code keeps HIP's.
#ifndef HIPPORT_HOST_MATH_H
#define HIPPORT_HOST_MATH_H

#if defined(__HIP__)  // nvcc has them, and compilers of host code alone never had

#include <hip/hip_runtime.h>
#include <math.h>

#define HIPPORT_MIN_MAX(result, first, second)                                 \
  static inline __host__ result (min)(const first a, const second b) {           \
    const result x = static_cast<result>(a), y = static_cast<result>(b);       \
    return x < y ? x : y;                                                      \
  }                                                                            \
  static inline __host__ result (max)(const first a, const second b) {           \
    const result x = static_cast<result>(a), y = static_cast<result>(b);       \
    return x > y ? x : y;                                                      \
  }
// A number that is not NaN wins over one that is.
#define HIPPORT_MIN_MAX_OF(result, first, second, suffix)                                                              \
  static inline __host__ result (min)(const first a, const second b) { return __builtin_fmin##suffix(a, b); }            \
  static inline __host__ result (max)(const first a, const second b) { return __builtin_fmax##suffix(a, b); }

// Newer compilers have them too where a program asks for them.
#if !defined(__HIP_DEFINE_EXTENDED_HOST_MIN_MAX__) || !__HIP_DEFINE_EXTENDED_HOST_MIN_MAX__
HIPPORT_MIN_MAX(unsigned, unsigned, unsigned)
HIPPORT_MIN_MAX(long, long, long)
HIPPORT_MIN_MAX(unsigned long, unsigned long, unsigned long)
HIPPORT_MIN_MAX(long long, long long, long long)
HIPPORT_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
HIPPORT_MIN_MAX_OF(float, float, float, f)
HIPPORT_MIN_MAX_OF(double, double, double, )
HIPPORT_MIN_MAX_OF(double, float, double, )
HIPPORT_MIN_MAX_OF(double, double, float, )
#endif
#if !defined(__HIP_DEFINE_MIXED_HOST_MIN_MAX__) || !__HIP_DEFINE_MIXED_HOST_MIN_MAX__
HIPPORT_MIN_MAX(unsigned, int, unsigned)
HIPPORT_MIN_MAX(unsigned, unsigned, int)
HIPPORT_MIN_MAX(unsigned long, long, unsigned long)
HIPPORT_MIN_MAX(unsigned long, unsigned long, long)
HIPPORT_MIN_MAX(unsigned long long, long long, unsigned long long)
HIPPORT_MIN_MAX(unsigned long long, unsigned long long, long long)
#endif

#undef HIPPORT_MIN_MAX
#undef HIPPORT_MIN_MAX_OF

#endif  // __HIP__

#endif  // HIPPORT_HOST_MATH_H
