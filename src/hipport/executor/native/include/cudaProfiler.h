// SPDX-License-Identifier: Apache-2.0
// cudaProfiler.h: functions that start and stop a profiler, which do nothing here.
#ifndef SIMT_NAME_CUDAPROFILER_H
#define SIMT_NAME_CUDAPROFILER_H

#ifdef SIMT_HIP
#error "cudaProfiler.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
