// SPDX-License-Identifier: Apache-2.0
// cuda_bf16.hpp: CUDA's bfloat16.
#ifndef SIMT_NAME_CUDA_BF16_HPP
#define SIMT_NAME_CUDA_BF16_HPP

#ifdef SIMT_HIP
#error "cuda_bf16.hpp is a header of CUDA, which HIP does not have"
#endif

#include "simt/bfloat16.h"

#endif
