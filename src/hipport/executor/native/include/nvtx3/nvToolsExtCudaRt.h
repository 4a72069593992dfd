// SPDX-License-Identifier: Apache-2.0
// nvtx3/nvToolsExtCudaRt.h: markers for a profiler, which do nothing here.
#ifndef SIMT_NAME_NVTX3_NVTOOLSEXTCUDART_H
#define SIMT_NAME_NVTX3_NVTOOLSEXTCUDART_H

#ifdef SIMT_HIP
#error "nvtx3/nvToolsExtCudaRt.h is a header of CUDA, which HIP does not have"
#endif

#include "../simt/markers.h"

#endif
