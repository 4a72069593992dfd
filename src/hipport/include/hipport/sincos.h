// SPDX-License-Identifier: Apache-2.0
// hipport/sincos.h: CUDA's sincos and sincospi of float, for AMD. Put here by hipport.
//
// CUDA has them for float under these names too, HIP (6.4) only for double. They are templates: if HIP has them, its
// own are preferred. The type behind the pointers decides, as in CUDA.
#ifndef HIPPORT_SINCOS_H
#define HIPPORT_SINCOS_H

#if defined(__HIP__)  // nvcc has them, and plain host compilers never had them

#include <hip/hip_runtime.h>
#include <math.h>

#include <type_traits>

#define HIPPORT_OF_FLOAT(name)                                                                                \
  template <typename T, typename std::enable_if<std::is_same<T, float>::value, int>::type = 0>                \
  static __device__ __forceinline__ void name(typename std::common_type<T>::type angle, T* sine, T* cosine) { \
    name##f(angle, sine, cosine);                                                                             \
  }
HIPPORT_OF_FLOAT(sincos)
HIPPORT_OF_FLOAT(sincospi)
#undef HIPPORT_OF_FLOAT
template <typename T, typename std::enable_if<std::is_same<T, float>::value, int>::type = 0>
static __host__ inline void sincos(typename std::common_type<T>::type angle, T* sine, T* cosine) {
  *sine = ::sinf(angle);
  *cosine = ::cosf(angle);
}

#endif

#endif  // HIPPORT_SINCOS_H
