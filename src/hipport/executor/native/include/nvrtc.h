// SPDX-License-Identifier: Apache-2.0
// nvrtc.h: NVRTC's functions; all of them are in simt/run_time.h.
#ifndef SIMT_NAME_NVRTC_H
#define SIMT_NAME_NVRTC_H

#ifdef SIMT_HIP
#error "nvrtc.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/run_time.h"

#endif
