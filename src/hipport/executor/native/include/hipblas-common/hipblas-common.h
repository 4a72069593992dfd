// SPDX-License-Identifier: Apache-2.0
// hipblas-common/hipblas-common.h: types of hipBLAS; all of it is in simt/blas.h.
#ifndef SIMT_NAME_HIPBLAS_COMMON_HIPBLAS_COMMON_H
#define SIMT_NAME_HIPBLAS_COMMON_HIPBLAS_COMMON_H

#include "../simt/blas.h"

#endif
