// SPDX-License-Identifier: Apache-2.0
// hipblas/hipblas.h: hipBLAS's functions; all of them are in simt/blas.h.
#ifndef SIMT_NAME_HIPBLAS_HIPBLAS_H
#define SIMT_NAME_HIPBLAS_HIPBLAS_H

#include "../hip/hip_complex.h"
#include "../simt/blas.h"

typedef hipComplex hipblasComplex;
typedef hipDoubleComplex hipblasDoubleComplex;
typedef __half hipblasHalf;

#endif
