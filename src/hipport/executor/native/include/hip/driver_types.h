// SPDX-License-Identifier: Apache-2.0
// hip/driver_types.h: a HIP header; the prelude declares all of it.
#ifndef SIMT_NAME_HIP_DRIVER_TYPES_H
#define SIMT_NAME_HIP_DRIVER_TYPES_H

#ifndef SIMT_HIP
#error "hip/driver_types.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/prelude.h"

#endif
