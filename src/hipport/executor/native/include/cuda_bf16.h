// SPDX-License-Identifier: Apache-2.0
// cuda_bf16.h: CUDA's bfloat16.
#ifndef SIMT_NAME_CUDA_BF16_H
#define SIMT_NAME_CUDA_BF16_H

#ifdef SIMT_HIP
#error "cuda_bf16.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/bfloat16.h"

#endif
