// SPDX-License-Identifier: Apache-2.0
// simt/cuda_std.h: cuda::std is the compiler's own library, apart from what waits.
#ifndef SIMT_CUDA_STD_H
#define SIMT_CUDA_STD_H

// rocThrust includes what it finds of cuda/std, and does not use it.
#if defined(SIMT_HIP) && !defined(SIMT_THRUST_H)
#error "cuda/std and cuda/atomic are libraries of CUDA, which HIP does not have"
#endif

#include "prelude.h"

#ifdef SIMT_LIBCUDACXX  // CUDA's own is on the path, as its Thrust needs it
#include <cuda/std/cstddef>
#elif !defined(SIMT_HIP)
namespace cuda {
// Not another name for it: some classes of it would make a thread of the operating system wait, and are our own.
namespace std {
using namespace ::std;
}
}  // namespace cuda
#endif

#ifndef SIMT_HIP
#include <cuda/cmath>  // some of libcu++'s own headers bring it
#endif

#endif
