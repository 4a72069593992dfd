// SPDX-License-Identifier: Apache-2.0
// cuda.h: CUDA's driver API.
#ifndef SIMT_NAME_CUDA_H
#define SIMT_NAME_CUDA_H

#ifdef SIMT_HIP
#error "cuda.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#define __cuda_cuda_h__
#define CUDA_VERSION CUDART_VERSION

#endif
