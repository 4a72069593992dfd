// SPDX-License-Identifier: Apache-2.0
// hip/amd_detail/amd_hip_math_constants.h: an internal header of HIP, which hip/hip_math_constants.h includes.
#ifndef SIMT_NAME_HIP_AMD_DETAIL_AMD_HIP_MATH_CONSTANTS_H
#define SIMT_NAME_HIP_AMD_DETAIL_AMD_HIP_MATH_CONSTANTS_H

#include "../hip_math_constants.h"

#endif
