// SPDX-License-Identifier: Apache-2.0
// hip/amd_detail/amd_warp_functions.h: an internal header of HIP, which hip/hip_runtime.h includes.
#ifndef SIMT_NAME_HIP_AMD_DETAIL_AMD_WARP_FUNCTIONS_H
#define SIMT_NAME_HIP_AMD_DETAIL_AMD_WARP_FUNCTIONS_H

#include "../hip_runtime.h"

#endif
