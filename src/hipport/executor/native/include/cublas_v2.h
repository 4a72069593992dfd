// SPDX-License-Identifier: Apache-2.0
// cublas_v2.h: cuBLAS's functions; all of them are in simt/blas.h.
#ifndef SIMT_NAME_CUBLAS_V2_H
#define SIMT_NAME_CUBLAS_V2_H

#ifdef SIMT_HIP
#error "cublas_v2.h is a header of CUDA, which HIP does not have"
#endif

#include "cuComplex.h"
#include "simt/blas.h"

#endif
