// SPDX-License-Identifier: Apache-2.0
// nvToolsExtCudaRt.h: markers for a profiler, which do nothing here.
#ifndef SIMT_NAME_NVTOOLSEXTCUDART_H
#define SIMT_NAME_NVTOOLSEXTCUDART_H

#ifdef SIMT_HIP
#error "nvToolsExtCudaRt.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/markers.h"

#endif
