// SPDX-License-Identifier: Apache-2.0
// sm_30_intrinsics.h: a CUDA header; the prelude declares all of it.
#ifndef SIMT_NAME_SM_30_INTRINSICS_H
#define SIMT_NAME_SM_30_INTRINSICS_H

#ifdef SIMT_HIP
#error "sm_30_intrinsics.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
