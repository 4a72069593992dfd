// SPDX-License-Identifier: Apache-2.0
// hip/hip_version.h: HIP's release.
#ifndef SIMT_NAME_HIP_HIP_VERSION_H
#define SIMT_NAME_HIP_HIP_VERSION_H

#ifndef SIMT_HIP
#error "hip/hip_version.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/versions.h"

#endif
