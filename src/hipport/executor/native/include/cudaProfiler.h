// SPDX-License-Identifier: Apache-2.0
// cudaProfiler.h: starting and stopping a profiler, which does nothing here.
#ifndef SIMT_NAME_CUDAPROFILER_H
#define SIMT_NAME_CUDAPROFILER_H

#ifdef SIMT_HIP
#error "cudaProfiler.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
