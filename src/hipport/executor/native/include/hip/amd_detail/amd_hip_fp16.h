// SPDX-License-Identifier: Apache-2.0
// hip/amd_detail/amd_hip_fp16.h: an internal header of HIP, which hip/hip_fp16.h includes.
#ifndef SIMT_NAME_HIP_AMD_DETAIL_AMD_HIP_FP16_H
#define SIMT_NAME_HIP_AMD_DETAIL_AMD_HIP_FP16_H

#include "../hip_fp16.h"

#endif
