// SPDX-License-Identifier: Apache-2.0
// cuda_fp16.h: CUDA's half-precision numbers.
#ifndef SIMT_NAME_CUDA_FP16_H
#define SIMT_NAME_CUDA_FP16_H

#ifdef SIMT_HIP
#error "cuda_fp16.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/half.h"

#endif
