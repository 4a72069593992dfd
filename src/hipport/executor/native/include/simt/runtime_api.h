// SPDX-License-Identifier: Apache-2.0
// simt/runtime_api.h: the runtime API, once for both spellings: written under HIP's names, which in CUDA's dialect have
// CUDA's as macros. Every function works as if it waited for all that was asked for before.
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

// Programs ask by these what they have included, as helper_cuda.h of CUDA's samples does.
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
