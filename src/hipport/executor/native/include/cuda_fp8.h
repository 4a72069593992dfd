// SPDX-License-Identifier: Apache-2.0
// cuda_fp8.h: CUDA's 8-bit floating-point numbers.
#ifndef SIMT_NAME_CUDA_FP8_H
#define SIMT_NAME_CUDA_FP8_H

#ifdef SIMT_HIP
#error "cuda_fp8.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/bfloat16.h"

#define __CUDA_FP8_H__
#define __CUDA_FP8_TYPES_EXIST__
#define SIMT_FP8(name) __nv_##name
#define SIMT_FP8_ENUM(name) __NV_##name
#define SIMT_FP8_EXPLICIT explicit
#define SIMT_BFLOAT(name) __nv_bfloat##name
#include "simt/fp8.h"

#endif
