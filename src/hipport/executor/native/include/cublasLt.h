// SPDX-License-Identifier: Apache-2.0
// cublasLt.h: cuBLASLt's functions; all of them are in simt/blas_lt.h.
#ifndef SIMT_NAME_CUBLASLT_H
#define SIMT_NAME_CUBLASLT_H

#ifdef SIMT_HIP
#error "cublasLt.h is a header of CUDA, which HIP does not have"
#endif

#include "cublas_v2.h"
#include "simt/blas_lt.h"

#endif
