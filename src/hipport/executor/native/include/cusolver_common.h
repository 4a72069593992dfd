// SPDX-License-Identifier: Apache-2.0
// cusolver_common.h: cuSOLVER's types; all of them are in simt/solver.h.
#ifndef SIMT_NAME_CUSOLVER_COMMON_H
#define SIMT_NAME_CUSOLVER_COMMON_H

#ifdef SIMT_HIP
#error "cusolver_common.h is a header of CUDA, which HIP does not have"
#endif

#include "cusolverDn.h"

#endif
