// SPDX-License-Identifier: Apache-2.0
// hip/hiprtc.h: hipRTC's functions; all of them are in simt/run_time.h.
#ifndef SIMT_NAME_HIP_HIPRTC_H
#define SIMT_NAME_HIP_HIPRTC_H

#ifndef SIMT_HIP
#error "hip/hiprtc.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/run_time.h"

#endif
