// SPDX-License-Identifier: Apache-2.0
// hip/amd_detail/hip_ldg.h: an internal header of HIP, which hip/hip_runtime.h includes.
#ifndef SIMT_NAME_HIP_AMD_DETAIL_HIP_LDG_H
#define SIMT_NAME_HIP_AMD_DETAIL_HIP_LDG_H

#include "../hip_runtime.h"

#endif
