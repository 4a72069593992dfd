// SPDX-License-Identifier: Apache-2.0
// roctx.h: markers for a profiler, which do nothing here.
#ifndef SIMT_NAME_ROCTX_H
#define SIMT_NAME_ROCTX_H

#ifndef SIMT_HIP
#error "roctx.h is a header of HIP, which CUDA does not have"
#endif

#include "simt/markers.h"

#endif
