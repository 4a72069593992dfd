// SPDX-License-Identifier: Apache-2.0
// hipblaslt/hipblaslt.h: hipBLASLt's functions; all of them are in simt/blas_lt.h.
#ifndef SIMT_NAME_HIPBLASLT_H
#define SIMT_NAME_HIPBLASLT_H

#include "../simt/blas_lt.h"

#endif
