// SPDX-License-Identifier: Apache-2.0
// hip/hip_runtime.h: a HIP header; the prelude declares all of it.
#ifndef SIMT_NAME_HIP_HIP_RUNTIME_H
#define SIMT_NAME_HIP_HIP_RUNTIME_H

#ifndef SIMT_HIP
#error "hip/hip_runtime.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/prelude.h"

#endif
