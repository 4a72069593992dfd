// SPDX-License-Identifier: Apache-2.0
// hip/amd_detail/amd_hip_complex.h: an internal header of HIP, which hip/hip_complex.h includes.
#ifndef SIMT_NAME_HIP_AMD_DETAIL_AMD_HIP_COMPLEX_H
#define SIMT_NAME_HIP_AMD_DETAIL_AMD_HIP_COMPLEX_H

#include "../hip_complex.h"

#endif
