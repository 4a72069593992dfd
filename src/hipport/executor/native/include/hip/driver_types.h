// SPDX-License-Identifier: Apache-2.0
// hip/driver_types.h: a name of HIP; all of it is in the prelude.
#ifndef SIMT_NAME_HIP_DRIVER_TYPES_H
#define SIMT_NAME_HIP_DRIVER_TYPES_H

#ifndef SIMT_HIP
#error "hip/driver_types.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/prelude.h"

#endif
