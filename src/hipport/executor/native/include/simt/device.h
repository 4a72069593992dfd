// SPDX-License-Identifier: Apache-2.0
// simt/device.h: everything that device code uses without including a header. Half numbers have their own headers.
#ifndef SIMT_DEVICE_H
#define SIMT_DEVICE_H

#include "core.h"
#include "vector_types.h"

#include "math.h"

#include "intrinsics.h"

#include "atomics.h"
#ifdef SIMT_HIP
#include "warp_hip.h"

#include "amdgcn.h"
#else
#include "warp_cuda.h"
#endif

#endif
