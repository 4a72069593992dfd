// SPDX-License-Identifier: Apache-2.0
// simt/cuda_std.h: cuda::std is the compiler's own library.
#ifndef SIMT_CUDA_STD_H
#define SIMT_CUDA_STD_H

#ifdef SIMT_HIP
#error "cuda/std and cuda/atomic are libraries of CUDA, which HIP does not have"
#endif

#include "prelude.h"

namespace cuda {
namespace std = ::std;
}

#endif
