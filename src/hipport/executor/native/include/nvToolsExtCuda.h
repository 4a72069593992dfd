// SPDX-License-Identifier: Apache-2.0
// nvToolsExtCuda.h: markers for a profiler, which do nothing here.
#ifndef SIMT_NAME_NVTOOLSEXTCUDA_H
#define SIMT_NAME_NVTOOLSEXTCUDA_H

#ifdef SIMT_HIP
#error "nvToolsExtCuda.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/markers.h"

#endif
