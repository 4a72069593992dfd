// SPDX-License-Identifier: Apache-2.0
// hip/hip_runtime_api.h: a name of HIP; all of it is in the prelude.
#ifndef SIMT_NAME_HIP_HIP_RUNTIME_API_H
#define SIMT_NAME_HIP_HIP_RUNTIME_API_H

#ifndef SIMT_HIP
#error "hip/hip_runtime_api.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/prelude.h"

#endif
