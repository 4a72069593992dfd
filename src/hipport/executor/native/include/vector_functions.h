// SPDX-License-Identifier: Apache-2.0
// vector_functions.h: CUDA's vectors.
#ifndef SIMT_NAME_VECTOR_FUNCTIONS_H
#define SIMT_NAME_VECTOR_FUNCTIONS_H

#ifdef SIMT_HIP
#error "vector_functions.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/vector_types.h"

#endif
