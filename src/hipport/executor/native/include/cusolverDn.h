// SPDX-License-Identifier: Apache-2.0
// cusolverDn.h: cuSOLVER's dense functions; all of them are in simt/solver.h.
#ifndef SIMT_NAME_CUSOLVERDN_H
#define SIMT_NAME_CUSOLVERDN_H

#ifdef SIMT_HIP
#error "cusolverDn.h is a header of CUDA, which HIP does not have"
#endif

#include "cublas_v2.h"
#include "simt/solver.h"

#endif
