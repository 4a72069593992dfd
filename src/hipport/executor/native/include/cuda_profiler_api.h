// SPDX-License-Identifier: Apache-2.0
// cuda_profiler_api.h: functions that start and stop a profiler, which do nothing here.
#ifndef SIMT_NAME_CUDA_PROFILER_API_H
#define SIMT_NAME_CUDA_PROFILER_API_H

#ifdef SIMT_HIP
#error "cuda_profiler_api.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
