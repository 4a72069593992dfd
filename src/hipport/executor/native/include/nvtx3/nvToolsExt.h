// SPDX-License-Identifier: Apache-2.0
// nvtx3/nvToolsExt.h: markers for a profiler, which do nothing here.
#ifndef SIMT_NAME_NVTX3_NVTOOLSEXT_H
#define SIMT_NAME_NVTX3_NVTOOLSEXT_H

#ifdef SIMT_HIP
#error "nvtx3/nvToolsExt.h is a header of CUDA, which HIP does not have"
#endif

#include "../simt/markers.h"

#endif
