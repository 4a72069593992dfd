// SPDX-License-Identifier: Apache-2.0
// simt/runtime_api.h: the runtime API for both dialects: written with HIP's names, for which CUDA's are macros in
// CUDA's dialect. Every function behaves as if it waited for all earlier work.
#ifndef SIMT_RUNTIME_API_H
#define SIMT_RUNTIME_API_H

#include "versions.h"

#include "errors.h"
#include "graphs.h"
#include "launch_api.h"
#include "memory_api.h"
#include "properties.h"
#include "streams.h"

#include "driver_api.h"
#include "modules.h"
#include "refused.h"

#ifndef SIMT_HIP
#include "names.h"

// Programs test by these which headers are included, as helper_cuda.h of CUDA's samples does.
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_H__
#define __VECTOR_TYPES_H__
#else
#define HIP_INCLUDE_HIP_DRIVER_TYPES_H
#define HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
#define HIP_INCLUDE_HIP_HIP_RUNTIME_H
#define HIP_INCLUDE_HIP_HIP_VECTOR_TYPES_H
#endif

#endif
