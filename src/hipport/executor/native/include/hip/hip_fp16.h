// SPDX-License-Identifier: Apache-2.0
// hip/hip_fp16.h: HIP's half-precision numbers.
#ifndef SIMT_NAME_HIP_HIP_FP16_H
#define SIMT_NAME_HIP_HIP_FP16_H

#ifndef SIMT_HIP
#error "hip/hip_fp16.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/half.h"

#endif
