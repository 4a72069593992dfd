// SPDX-License-Identifier: Apache-2.0
// hip/hip_bf16.h: HIP's bfloat16.
#ifndef SIMT_NAME_HIP_HIP_BF16_H
#define SIMT_NAME_HIP_HIP_BF16_H

#ifndef SIMT_HIP
#error "hip/hip_bf16.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/bfloat16.h"

#endif
