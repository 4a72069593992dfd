// SPDX-License-Identifier: Apache-2.0
// rocprofiler-sdk-roctx/roctx.h: markers for a profiler, which do nothing here.
#ifndef SIMT_NAME_ROCPROFILER_SDK_ROCTX_ROCTX_H
#define SIMT_NAME_ROCPROFILER_SDK_ROCTX_ROCTX_H

#ifndef SIMT_HIP
#error "rocprofiler-sdk-roctx/roctx.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/markers.h"

#endif
