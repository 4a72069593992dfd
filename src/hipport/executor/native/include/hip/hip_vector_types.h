// SPDX-License-Identifier: Apache-2.0
// hip/hip_vector_types.h: HIP's vectors.
#ifndef SIMT_NAME_HIP_HIP_VECTOR_TYPES_H
#define SIMT_NAME_HIP_HIP_VECTOR_TYPES_H

#ifndef SIMT_HIP
#error "hip/hip_vector_types.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/vector_types.h"

#endif
