// SPDX-License-Identifier: Apache-2.0
// hip/hip_profile.h: markers for a profiler, which do nothing here.
#ifndef SIMT_NAME_HIP_HIP_PROFILE_H
#define SIMT_NAME_HIP_HIP_PROFILE_H

#ifndef SIMT_HIP
#error "hip/hip_profile.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/prelude.h"

#define HIP_SCOPED_MARKER(markerName, group)
#define HIP_BEGIN_MARKER(markerName, group)
#define HIP_END_MARKER()

#endif
