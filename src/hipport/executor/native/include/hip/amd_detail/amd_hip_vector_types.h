// SPDX-License-Identifier: Apache-2.0
// hip/amd_detail/amd_hip_vector_types.h: an internal header of HIP, which hip/hip_vector_types.h includes.
#ifndef SIMT_NAME_HIP_AMD_DETAIL_AMD_HIP_VECTOR_TYPES_H
#define SIMT_NAME_HIP_AMD_DETAIL_AMD_HIP_VECTOR_TYPES_H

#include "../hip_vector_types.h"

#endif
