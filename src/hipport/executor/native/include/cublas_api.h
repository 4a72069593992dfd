// SPDX-License-Identifier: Apache-2.0
// cublas_api.h: cuBLAS's functions; all of them are in simt/blas.h.
#ifndef SIMT_NAME_CUBLAS_API_H
#define SIMT_NAME_CUBLAS_API_H

#ifdef SIMT_HIP
#error "cublas_api.h is a header of CUDA, which HIP does not have"
#endif

#include "cublas_v2.h"

#endif
