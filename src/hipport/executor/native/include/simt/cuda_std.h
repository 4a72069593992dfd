// SPDX-License-Identifier: Apache-2.0
// simt/cuda_std.h: cuda::std is the compiler's own library, except the classes that wait.
#ifndef SIMT_CUDA_STD_H
#define SIMT_CUDA_STD_H

// rocThrust includes the cuda/std headers that it finds, and does not use them.
#if defined(SIMT_HIP) && !defined(SIMT_THRUST_H)
#error "cuda/std and cuda/atomic are libraries of CUDA, which HIP does not have"
#endif

#include "prelude.h"

#ifdef SIMT_LIBCUDACXX  // CUDA's own library is on the path, because its Thrust needs it
#include <cuda/std/cstddef>
#elif !defined(SIMT_HIP)
namespace cuda {
// Not a namespace alias: some classes would block a thread of the operating system, and are replaced.
namespace std {
using namespace ::std;
}
}  // namespace cuda
#endif

#ifndef SIMT_HIP
#include <cuda/cmath>  // some of libcu++'s own headers include it
#endif

#endif
