// SPDX-License-Identifier: Apache-2.0
// cuda_runtime_api.h: a CUDA header; the prelude declares all of it.
#ifndef SIMT_NAME_CUDA_RUNTIME_API_H
#define SIMT_NAME_CUDA_RUNTIME_API_H

#ifdef SIMT_HIP
#error "cuda_runtime_api.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
