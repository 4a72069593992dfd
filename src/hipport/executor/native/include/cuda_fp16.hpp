// SPDX-License-Identifier: Apache-2.0
// cuda_fp16.hpp: CUDA's half-precision numbers.
#ifndef SIMT_NAME_CUDA_FP16_HPP
#define SIMT_NAME_CUDA_FP16_HPP

#ifdef SIMT_HIP
#error "cuda_fp16.hpp is a header of CUDA, which HIP does not have"
#endif

#include "simt/half.h"

#endif
