// SPDX-License-Identifier: Apache-2.0
// hip/hip_fp8.h: HIP's 8-bit floating-point numbers.
#ifndef SIMT_NAME_HIP_HIP_FP8_H
#define SIMT_NAME_HIP_HIP_FP8_H

#ifndef SIMT_HIP
#error "hip/hip_fp8.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/bfloat16.h"

#define SIMT_FP8(name) __hip_##name
#define SIMT_FP8_ENUM(name) __HIP_##name
#define SIMT_FP8_EXPLICIT
#define SIMT_BFLOAT(name) __hip_bfloat##name
#include "../simt/fp8.h"

#endif
