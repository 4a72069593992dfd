// SPDX-License-Identifier: Apache-2.0
// roctracer/roctracer_ext.h: markers for a profiler, which do nothing here.
#ifndef SIMT_NAME_ROCTRACER_ROCTRACER_EXT_H
#define SIMT_NAME_ROCTRACER_ROCTRACER_EXT_H

#ifndef SIMT_HIP
#error "roctracer/roctracer_ext.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/markers.h"

#endif
