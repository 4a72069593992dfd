// SPDX-License-Identifier: Apache-2.0
// cuda_runtime.h: a CUDA header; the prelude declares all of it.
#ifndef SIMT_NAME_CUDA_RUNTIME_H
#define SIMT_NAME_CUDA_RUNTIME_H

#ifdef SIMT_HIP
#error "cuda_runtime.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
