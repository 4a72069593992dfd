// SPDX-License-Identifier: Apache-2.0
// sm_32_atomic_functions.h: a CUDA header; the prelude declares all of it.
#ifndef SIMT_NAME_SM_32_ATOMIC_FUNCTIONS_H
#define SIMT_NAME_SM_32_ATOMIC_FUNCTIONS_H

#ifdef SIMT_HIP
#error "sm_32_atomic_functions.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
