// SPDX-License-Identifier: Apache-2.0
// hip/library_types.h: types that the math libraries share.
#ifndef SIMT_NAME_HIP_LIBRARY_TYPES_H
#define SIMT_NAME_HIP_LIBRARY_TYPES_H

#ifndef SIMT_HIP
#error "hip/library_types.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/runtime_types.h"

#endif
